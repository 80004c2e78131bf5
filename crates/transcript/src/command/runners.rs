//! Which programs run tests, and with which arguments. The tables come first, the functions that search them after.
//!
//! Sees one program and its arguments only: quotes, pipes and wrappers such as `sudo` or `npx` are already removed. A
//! program that is not listed is judged by its name, because projects call their own scripts `./run-tests.sh`.

use std::borrow::Cow;

use super::is_one_of;
use super::names::{
    is_check_target, is_gradle_test, is_maven_test, is_scala_test, is_test_module, is_test_script, is_test_task,
};
use super::shell::ShellWord;

/// Program, its first arguments after options (`|` separates alternatives), and our name for the runner. Without
/// arguments the program alone is a test run.
#[rustfmt::skip]
const RUNNERS: &[(&str, &str, &str)] = &[
    // Rust
    ("cargo", "test|t", "cargo test"),
    ("cargo", "nextest|n run|r", "cargo nextest"),
    ("cargo-nextest", "nextest run|r", "cargo nextest"),
    ("cargo", "llvm-cov", "cargo llvm-cov"),
    ("cargo-llvm-cov", "llvm-cov", "cargo llvm-cov"),
    ("cargo", "tarpaulin", "cargo tarpaulin"),
    ("cargo-tarpaulin", "", "cargo tarpaulin"),
    ("cargo", "insta test", "cargo insta"),
    ("cargo-insta", "test", "cargo insta"),
    ("cargo", "miri test", "cargo miri"),
    ("cargo", "miri nextest run|r", "cargo miri"),
    ("cargo", "mutants", "cargo mutants"),
    ("cargo", "careful|hack|valgrind|make|xtask|x|leptos test|nextest|t", "cargo test"),
    ("cargo", "test-sbf|test-bpf", "cargo test"),
    ("cross", "test", "cargo test"),
    ("bacon", "test|nextest", "cargo test"),
    ("wasm-pack", "test", "wasm-pack test"),
    // Go
    ("go", "test", "go test"),
    ("go", "tool gotestsum|ginkgo", "go test"),
    ("gotestsum", "", "gotestsum"),
    ("gotest", "", "go test"),
    ("richgo", "test", "go test"),
    ("ginkgo", "", "ginkgo"),
    // Python
    ("pytest", "", "pytest"),
    ("py.test", "", "pytest"),
    ("pytest-watch", "", "pytest"),
    ("ptw", "", "pytest"),
    ("unittest", "", "unittest"),
    ("unittest2", "", "unittest"),
    ("doctest", "", "doctest"),
    ("tox", "", "tox"),
    ("nose2", "", "nose2"),
    ("nose", "", "nose"),
    ("nosetests", "", "nose"),
    ("trial", "", "trial"),
    ("twisted.trial", "", "trial"),
    ("stestr", "run", "stestr"),
    ("green", "", "green"),
    ("behave", "", "behave"),
    ("robot", "", "robot"),
    ("pabot", "", "robot"),
    ("manage.py", "test", "manage.py test"),
    ("django-admin", "test", "manage.py test"),
    ("django", "test", "manage.py test"),
    ("runtests.py", "", "test script"),
    ("setup.py", "test", "setup.py test"),
    ("hatch", "test", "hatch test"),
    ("rye", "test", "rye test"),
    ("mutmut", "run", "mutmut"),
    // JavaScript and TypeScript
    ("jest", "", "jest"),
    ("vitest", "", "vitest"),
    ("mocha", "", "mocha"),
    ("_mocha", "", "mocha"),
    ("ts-mocha", "", "mocha"),
    ("electron-mocha", "", "mocha"),
    ("mochapack", "", "mocha"),
    ("ava", "", "ava"),
    ("tap", "", "tap"),
    ("tape", "", "tape"),
    ("uvu", "", "uvu"),
    ("qunit", "", "qunit"),
    ("poku", "", "poku"),
    ("jasmine", "", "jasmine"),
    ("karma", "start|run", "karma"),
    ("playwright", "test", "playwright"),
    ("playwright-test", "", "playwright"),
    ("cypress", "run", "cypress"),
    ("wdio", "", "wdio"),
    ("nightwatch", "", "nightwatch"),
    ("testcafe", "", "testcafe"),
    ("detox", "test", "detox"),
    ("maestro", "test", "maestro"),
    ("testem", "ci", "testem"),
    ("web-test-runner", "", "web-test-runner"),
    ("wtr", "", "web-test-runner"),
    ("storybook", "test", "storybook test"),
    ("test-storybook", "", "storybook test"),
    ("stryker", "run", "stryker"),
    ("newman", "run", "newman"),
    ("tsd", "", "tsd"),
    ("tstyche", "", "tstyche"),
    ("ng", "test|e2e|t|e", "ng test"),
    ("ember", "test|t", "ember test"),
    ("react-scripts", "test", "react-scripts test"),
    ("react-app-rewired", "test", "react-scripts test"),
    ("craco", "test", "react-scripts test"),
    ("tsdx", "test", "jest"),
    ("kcd-scripts", "test", "jest"),
    ("aegir", "test", "aegir test"),
    ("vue-cli-service", "test:unit|test:e2e", "vue-cli-service test"),
    ("wp-scripts", "test-unit-js|test-e2e|test-playwright", "wp-scripts test"),
    ("meteor", "test", "meteor test"),
    ("bun", "test", "bun test"),
    ("deno", "test", "deno test"),
    ("vp", "test", "vitest"),
    // Ruby
    ("rspec", "", "rspec"),
    ("parallel_rspec", "", "rspec"),
    ("turbo_tests", "", "rspec"),
    ("parallel_test", "", "minitest"),
    ("minitest", "", "minitest"),
    ("rails", "t", "rails test"),
    ("cucumber", "", "cucumber"),
    ("cucumber-js", "", "cucumber"),
    // PHP
    ("phpunit", "", "phpunit"),
    ("simple-phpunit", "", "phpunit"),
    ("paratest", "", "phpunit"),
    ("pest", "", "pest"),
    ("artisan", "test|dusk", "artisan test"),
    ("sail", "test|pest|phpunit|dusk", "artisan test"),
    ("codecept", "run", "codecept"),
    ("phpspec", "run", "phpspec"),
    ("behat", "", "behat"),
    ("infection", "", "infection"),
    // .NET
    ("dotnet", "test|vstest", "dotnet test"),
    ("dotnet", "watch test", "dotnet test"),
    ("vstest.console", "", "vstest"),
    ("nunit3-console", "", "nunit"),
    ("xunit.console", "", "xunit"),
    ("mstest", "", "mstest"),
    // C, C++ and build systems of every language
    ("ctest", "", "ctest"),
    ("ctest3", "", "ctest"),
    ("meson", "test", "meson test"),
    ("bazel", "test|coverage", "bazel test"),
    ("bazelisk", "test|coverage", "bazel test"),
    ("buck", "test", "buck test"),
    ("buck2", "test", "buck2 test"),
    ("pants", "test", "pants test"),
    ("plz", "test", "plz test"),
    ("xmake", "test", "xmake test"),
    ("kyua", "test", "kyua test"),
    ("lit", "", "lit"),
    ("llvm-lit", "", "lit"),
    ("gtester", "", "gtester"),
    ("runtest", "", "dejagnu"),
    ("pio", "test", "pio test"),
    ("platformio", "test", "pio test"),
    ("twister", "", "twister"),
    ("west", "twister", "twister"),
    // Swift, Dart
    ("swift", "test", "swift test"),
    ("xctest", "", "xctest"),
    ("fastlane", "test|tests|scan", "fastlane test"),
    ("flutter", "test|drive", "flutter test"),
    ("dart", "test", "dart test"),
    ("dart", "run test", "dart test"),
    // Elixir, Erlang, Gleam
    ("mix", "test|test.watch|coveralls|coveralls.html|espec", "mix test"),
    ("rebar3", "eunit|ct|proper", "rebar3"),
    ("gleam", "test", "gleam test"),
    // Haskell, OCaml, Clojure, PureScript, Racket
    ("stack", "test", "stack test"),
    ("cabal", "test|v2-test|new-test", "cabal test"),
    ("dune", "test|runtest", "dune test"),
    ("dune", "build @runtest|@test|runtest", "dune test"),
    ("lein", "test|midje|eftest|kaocha|spec", "lein test"),
    ("bb", "test", "bb test"),
    ("kaocha", "", "kaocha"),
    ("spago", "test", "spago test"),
    ("raco", "test", "raco test"),
    // Zig, Nim, Crystal, V, Odin, Elm, D
    ("zig", "test", "zig test"),
    ("nimble", "test", "nimble test"),
    ("testament", "", "testament"),
    ("crystal", "spec", "crystal spec"),
    ("v", "test", "v test"),
    ("odin", "test", "odin test"),
    ("elm-test", "", "elm-test"),
    ("elm-test-rs", "", "elm-test"),
    ("dub", "test", "dub test"),
    ("moon", "test", "moon test"),
    // R, Perl, Lua, shell
    ("r", "CMD check", "R CMD check"),
    ("prove", "", "prove"),
    ("busted", "", "busted"),
    ("bats", "", "bats"),
    ("shellspec", "", "shellspec"),
    ("shunit2", "", "shunit2"),
    ("invoke-pester", "", "pester"),
    // Databases, infrastructure, policies
    ("pg_prove", "", "pg_prove"),
    ("dbt", "test", "dbt test"),
    ("supabase", "test db", "pg_prove"),
    ("terraform", "test", "terraform test"),
    ("tofu", "test", "tofu test"),
    ("helm", "test|unittest", "helm test"),
    ("molecule", "test|verify", "molecule test"),
    ("conftest", "verify|test", "conftest"),
    ("opa", "test", "opa test"),
    ("promtool", "test", "promtool test"),
    ("kitchen", "test|verify", "kitchen test"),
    ("inspec", "exec", "inspec"),
    ("ansible-test", "units|integration|sanity", "ansible-test"),
    ("chainsaw", "test", "chainsaw test"),
    ("earthly", "+test", "earthly test"),
    // Smart contracts
    ("forge", "test|coverage", "forge test"),
    ("hardhat", "test|coverage", "hardhat test"),
    ("truffle", "test", "truffle test"),
    ("anchor", "test", "anchor test"),
    ("snforge", "test", "snforge test"),
    ("scarb", "test", "scarb test"),
    ("aptos", "move test", "aptos test"),
    ("sui", "move test", "sui test"),
    ("ape", "test", "ape test"),
    ("brownie", "test", "brownie test"),
    // A project's own entry point
    ("x", "test", "test script"),
    ("x.py", "test", "test script"),
    ("mach", "test|xpcshell-test|mochitest|gtest|wpt", "test script"),
    ("build", "test", "test script"),
    ("build.sh", "test", "test script"),
    ("dev", "test", "test script"),
    ("dev.sh", "test", "test script"),
    ("run", "test|tests", "test script"),
    ("run.sh", "test|tests", "test script"),
    ("ci.sh", "test|tests", "test script"),
    ("make.sh", "test|tests", "test script"),
    ("make.py", "test|tests", "test script"),
];

/// Programs that run the tasks, goals or scripts named in their arguments: where the names are, and our name for the
/// runner.
#[rustfmt::skip]
const TASK_RUNNERS: &[(&str, TaskPosition, &str)] = &[
    ("make", TaskPosition::Targets, "make test"),
    ("gmake", TaskPosition::Targets, "make test"),
    ("mingw32-make", TaskPosition::Targets, "make test"),
    ("nmake", TaskPosition::Targets, "make test"),
    ("remake", TaskPosition::Targets, "make test"),
    ("ninja", TaskPosition::Targets, "ninja test"),
    ("samu", TaskPosition::Targets, "ninja test"),
    ("cmake", TaskPosition::Targets, "make test"),
    ("ant", TaskPosition::Targets, "ant test"),
    ("just", TaskPosition::First, "just test"),
    ("task", TaskPosition::Any, "task test"),
    ("go-task", TaskPosition::Any, "task test"),
    ("invoke", TaskPosition::First, "invoke test"),
    ("inv", TaskPosition::First, "invoke test"),
    ("rake", TaskPosition::Any, "rake test"),
    ("rails", TaskPosition::First, "rails test"),
    ("thor", TaskPosition::First, "thor test"),
    ("poe", TaskPosition::First, "poe test"),
    ("poethepoet", TaskPosition::First, "poe test"),
    ("taskipy", TaskPosition::First, "taskipy test"),
    ("doit", TaskPosition::Any, "doit test"),
    ("mage", TaskPosition::Any, "mage test"),
    ("gulp", TaskPosition::Any, "gulp test"),
    ("grunt", TaskPosition::Any, "grunt test"),
    ("mise", TaskPosition::Scripts, "mise test"),
    ("devbox", TaskPosition::Scripts, "devbox test"),
    ("hatch", TaskPosition::Scripts, "hatch test"),
    ("pdm", TaskPosition::Scripts, "pdm test"),
    ("rye", TaskPosition::Scripts, "rye test"),
    ("pixi", TaskPosition::Scripts, "pixi test"),
    ("pipenv", TaskPosition::Scripts, "pipenv test"),
    ("melos", TaskPosition::Scripts, "melos test"),
    ("npm", TaskPosition::Scripts, "npm test"),
    ("cnpm", TaskPosition::Scripts, "npm test"),
    ("yarn", TaskPosition::Scripts, "yarn test"),
    ("yarnpkg", TaskPosition::Scripts, "yarn test"),
    ("pnpm", TaskPosition::Scripts, "pnpm test"),
    ("bun", TaskPosition::Scripts, "bun test"),
    ("vp", TaskPosition::Scripts, "vp test"),
    ("nr", TaskPosition::First, "npm test"),
    ("deno", TaskPosition::Scripts, "deno test"),
    ("node", TaskPosition::Flag("--run"), "npm test"),
    ("composer", TaskPosition::Scripts, "composer test"),
    ("lerna", TaskPosition::FirstOrRun, "lerna test"),
    ("rush", TaskPosition::First, "rush test"),
    ("rushx", TaskPosition::First, "rush test"),
    ("turbo", TaskPosition::FirstOrRun, "turbo test"),
    ("moon", TaskPosition::FirstOrRun, "moon test"),
    ("nx", TaskPosition::FirstOrRun, "nx test"),
    ("npm-run-all", TaskPosition::Any, "npm test"),
    ("run-s", TaskPosition::Any, "npm test"),
    ("run-p", TaskPosition::Any, "npm test"),
    ("wireit", TaskPosition::Any, "npm test"),
    ("zig", TaskPosition::After("build"), "zig test"),
    ("lein", TaskPosition::Any, "lein test"),
    ("xcodebuild", TaskPosition::Exactly("test|test-without-building"), "xcodebuild test"),
    ("mvn", TaskPosition::Maven, "mvn test"),
    ("mvnw", TaskPosition::Maven, "mvn test"),
    ("mvnd", TaskPosition::Maven, "mvn test"),
    ("gradle", TaskPosition::Gradle, "gradle test"),
    ("gradlew", TaskPosition::Gradle, "gradle test"),
    ("sbt", TaskPosition::Scala, "sbt test"),
    ("sbtn", TaskPosition::Scala, "sbt test"),
    ("mill", TaskPosition::Scala, "mill test"),
    ("bleep", TaskPosition::Exactly("test"), "bleep test"),
    ("scala-cli", TaskPosition::Exactly("test"), "scala-cli test"),
    ("nox", TaskPosition::Sessions, "nox"),
];

/// Where the task names are among the arguments of a task runner.
#[derive(Clone, Copy)]
enum TaskPosition {
    /// The first argument; the following ones belong to the task.
    First,
    /// Every argument.
    Any,
    /// Every argument, and `check` is a test run by convention.
    Targets,
    /// The first argument, or the one after `run`.
    Scripts,
    /// Every argument after this one.
    After(&'static str),
    /// The argument of this option.
    Flag(&'static str),
    /// Every argument, but only these names.
    Exactly(&'static str),
    /// Phases and `plugin:goal`.
    Maven,
    /// `:module:taskName`.
    Gradle,
    /// `module/testOnly`, `module.test`; arguments are whole commands.
    Scala,
    /// The first argument, or every one if the first is `run` or similar.
    FirstOrRun,
    /// nox runs everything unless `-s` names sessions.
    Sessions,
}

/// Programs that run tests if one of their arguments contains this text.
const CODE_MARKERS: &[(&str, &str, &str)] = &[
    ("python", "pytest.main(", "pytest"),
    ("python", "unittest.main(", "unittest"),
    ("python", "unittest.TextTestRunner", "unittest"),
    ("python", "doctest.testmod(", "doctest"),
    ("r", "devtools::test", "testthat"),
    ("r", "testthat::", "testthat"),
    ("rscript", "devtools::test", "testthat"),
    ("rscript", "devtools::check(", "R CMD check"),
    ("rscript", "rcmdcheck", "R CMD check"),
    ("rscript", "testthat::test", "testthat"),
    ("rscript", "test_dir(", "testthat"),
    ("rscript", "test_file(", "testthat"),
    ("rscript", "tinytest::", "tinytest"),
    ("julia", "Pkg.test(", "julia Pkg.test"),
    ("julia", "pkg\"test", "julia Pkg.test"),
    ("clj", ":test", "clj test"),
    ("clojure", ":test", "clj test"),
    ("clj", "kaocha", "kaocha"),
    ("clojure", "kaocha", "kaocha"),
    ("emacs", "ert-run-tests", "ert"),
    ("nvim", "PlenaryBusted", "plenary"),
    ("nvim", "MiniTest.run", "mini.test"),
    ("java", "org.junit", "junit"),
    ("java", "junit-platform-console", "junit"),
    ("java", "org.testng", "testng"),
    ("stack", "--test", "stack test"),
    ("unity", "-runTests", "unity test"),
    ("godot", "gut_cmdln.gd", "gut"),
    ("ruby", "-Itest", "minitest"),
    ("hurl", "--test", "hurl"),
];

/// Options with which a runner builds, lists or explains tests, but runs none. `*` means every runner. An entry
/// without a dash is a subcommand.
#[rustfmt::skip]
const NO_RUN_OPTIONS: &[(&str, &[&str])] = &[
    ("*", &["--help", "--version", "--collect-only", "--collectonly", "--co", "--listTests", "--list-tests",
        "--list", "--no-run",
        "--dry-run", "--show-config", "--showConfig"]),
    ("pytest", &["-h", "-V", "--fixtures", "--markers", "--cache-show", "--fixtures-per-test", "--setup-plan"]),
    ("unittest", &["-h"]),
    ("tox", &["-h", "-l", "-a", "--listenvs", "--notest", "list", "l", "config", "c", "devenv", "d"]),
    ("nox", &["-h", "-l"]),
    ("behave", &["-h", "-d"]),
    ("cargo test", &["-h", "-V"]),
    ("cargo llvm-cov", &["-h", "report", "clean", "show-env"]),
    ("cargo mutants", &["-h"]),
    ("go test", &["-h", "-c", "-list", "-help"]),
    ("ginkgo", &["-h", "bootstrap", "generate", "build", "help", "outline", "labels", "unfocus", "version"]),
    ("jest", &["-h", "--init", "--clearCache"]),
    ("vitest", &["-h", "-v", "list", "bench", "init"]),
    ("mocha", &["-h", "-V", "init"]),
    ("wdio", &["config", "install"]),
    ("playwright", &["-h"]),
    ("rspec", &["-h", "-v", "--init"]),
    ("rake test", &["-n", "-T", "-P", "--tasks"]),
    ("phpunit", &["-h", "--list-suites", "--list-groups", "--generate-configuration", "--migrate-configuration"]),
    ("pest", &["-h", "--init"]),
    ("ctest", &["-h", "-N", "--show-only", "--print-labels"]),
    ("make test", &["-h", "-n", "-p", "-q", "-v", "--just-print", "--recon", "--question"]),
    ("ninja test", &["-n", "-t"]),
    ("just test", &["-n", "-l", "-s", "--show", "--summary"]),
    ("task test", &["-n", "-l", "--summary", "--dry"]),
    ("gradle test", &["-m", "-h"]),
    ("mvn test", &["-h", "-v", "-DskipTests", "-Dmaven.test.skip"]),
    ("dotnet test", &["-h", "-t"]),
    ("swift test", &["-l", "list"]),
    ("bats", &["-h", "-c", "--count"]),
    ("prove", &["-h", "-D", "--dry"]),
    ("forge test", &["-h", "-l"]),
    ("deno test", &["-h"]),
    ("zig test", &["--test-no-exec"]),
    ("hatch test", &["-s"]),
    ("npm test", &["-h"]),
    ("turbo test", &["--dry", "--graph"]),
    ("nx test", &["--graph"]),
];

/// Options whose next argument is their value, so that it is not mistaken for a subcommand or a task.
#[rustfmt::skip]
const VALUED: &[(&str, &[&str])] = &[
    ("ant", &["-f", "-file", "-buildfile", "-lib", "-logger"]),
    ("bazel", &["--output_base", "--bazelrc", "--output_user_root"]),
    ("bun", &["--cwd", "--filter", "-F", "-c", "--config", "--env-file", "--preload"]),
    ("cargo", &["--manifest-path", "--config", "-Z", "-C", "--color", "-p", "--package", "--features", "-F",
        "--target"]),
    ("cmake", &["--build", "-B", "-S", "-G", "-D", "-j", "--parallel", "--config", "--preset"]),
    ("composer", &["-d", "--working-dir", "--timeout"]),
    ("deno", &["-c", "--config", "--cwd"]),
    ("dotnet", &["--project"]),
    ("dune", &["--root", "--profile", "-p", "-j"]),
    ("go", &["-C"]),
    ("gradle", &["-p", "--project-dir", "-b", "--build-file", "-c", "-I", "--init-script", "-x",
        "--exclude-task", "-g"]),
    ("gradlew", &["-p", "--project-dir", "-b", "--build-file", "-c", "-I", "--init-script", "-x",
        "--exclude-task", "-g"]),
    ("gmake", &["-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W"]),
    ("just", &["-f", "--justfile", "-d", "--working-directory", "--set", "--dotenv-path", "-E"]),
    ("lerna", &["--scope", "--ignore", "--concurrency", "--since"]),
    ("invoke", &["-c", "--collection", "-r", "--search-root", "-f", "--config"]),
    ("inv", &["-c", "--collection", "-r", "--search-root", "-f", "--config"]),
    ("make", &["-C", "--directory", "-f", "--file", "--makefile", "-I", "-o", "-W"]),
    ("mise", &["-C", "--cd", "-E", "--env", "-j"]),
    ("mvn", &["-f", "--file", "-pl", "--projects", "-P", "-s", "--settings", "-T", "-rf", "-l"]),
    ("mvnw", &["-f", "--file", "-pl", "--projects", "-P", "-s", "--settings", "-T", "-rf", "-l"]),
    ("ninja", &["-C", "-f", "-j", "-k", "-l", "-d"]),
    ("npm", &["--prefix", "-C", "-w", "--workspace", "--loglevel", "--userconfig"]),
    ("nx", &["--exclude", "--projects", "-p", "--configuration", "-c", "--base", "--head", "--parallel"]),
    ("pdm", &["-p", "--project", "--venv"]),
    ("pixi", &["-e", "--environment", "--manifest-path"]),
    ("pnpm", &["-C", "--dir", "--filter", "-F", "--filter-prod", "--loglevel", "--workspace-concurrency"]),
    ("rake", &["-f", "--rakefile", "-I", "-r", "--require", "-N"]),
    ("stack", &["--stack-yaml", "--resolver"]),
    ("swift", &["--package-path"]),
    ("task", &["-d", "--dir", "-t", "--taskfile", "-o", "--output"]),
    ("terraform", &["-chdir"]),
    ("turbo", &["--filter", "-F", "--concurrency", "--cwd"]),
    ("xcodebuild", &["-scheme", "-project", "-workspace", "-destination", "-configuration", "-sdk",
        "-derivedDataPath"]),
    ("yarn", &["--cwd"]),
    ("zig", &["--build-file", "--prefix"]),
];

/// Returns the test runner started by `program` with `arguments`, from the tables or by the name of its file.
pub(super) fn runner(program: &str, arguments: &[ShellWord<'_>]) -> Option<&'static str> {
    let name = program_name(program);
    let name = name.as_ref();
    let by_words = (RUNNERS.iter())
        .filter(|row| row.0 == name)
        .find(|row| matches_words(row.1, operands(name, arguments)))
        .map(|row| (row.2, row.1.split_ascii_whitespace().count()));
    let by_task = || {
        let row = TASK_RUNNERS.iter().find(|row| row.0 == name)?;
        names_test_task(row.1, name, arguments).then_some((row.2, 0))
    };
    let by_code = || runner_in_code(name, arguments.iter().map(Cow::as_ref)).map(|found| (found, 0));
    let by_path = || {
        let is_test = is_file_path(program) && is_test_script(program) && !has_subcommand(program, arguments);
        is_test.then_some(("test script", 0))
    };
    let (found, words) = by_words.or_else(by_task).or_else(by_code).or_else(by_path)?;
    (!runs_nothing(found, words, arguments)).then_some(found)
}

/// Returns the runner that the code in one of `texts` starts if `program` runs it: `python -c 'pytest.main()'`.
pub(super) fn runner_in_code<'t>(program: &str, texts: impl Iterator<Item = &'t str>) -> Option<&'static str> {
    let mut texts = texts;
    let rows = || CODE_MARKERS.iter().filter(|row| row.0 == program);
    rows().next()?;
    texts.find_map(|text| rows().find(|row| text.contains(row.1)).map(|row| row.2))
}

/// Returns the runner started by `python -m module` if the module is a test: `app.tests.test_login`.
pub(super) fn module_runner(words: &[ShellWord<'_>]) -> Option<&'static str> {
    let (module, arguments) = words.split_first()?;
    (is_test_module(module) && !runs_nothing("test module", 0, arguments)).then_some("test module")
}

/// Returns the runner started by an interpreter with this file, whatever the file's extension: `bash run_tests`.
pub(super) fn script_runner(words: &[ShellWord<'_>]) -> Option<&'static str> {
    let (file, arguments) = words.split_first()?;
    (is_test_script(file) && !runs_nothing("test script", 0, arguments)).then_some("test script")
}

/// Returns the name of a program as the tables have it: in lower case, without directories, extensions of Windows and
/// of script runtimes, and version numbers. `$PYTHON` is mapped to python.
pub(super) fn program_name(program: &str) -> Cow<'_, str> {
    const ENDINGS: [&str; 9] = [".exe", ".cmd", ".bat", ".ps1", ".com", ".phar", ".js", ".mjs", ".cjs"];
    const VERSIONED: [&str; 8] = ["python", "pypy", "ruby", "php", "lua", "perl", "pytest", "node"];
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file = file.split('@').next().unwrap_or(file); // `npx jest@29`
    let mut name = match file.bytes().any(|byte| byte.is_ascii_uppercase()) {
        true => Cow::Owned(file.to_ascii_lowercase()),
        false => Cow::Borrowed(file),
    };
    if let Some(variable) = name.strip_prefix('$') {
        let variable = variable.trim_matches(['{', '}']);
        let variable = variable.split([':', '-']).next().unwrap_or(variable);
        let is_python = variable.contains("python") || variable.ends_with("py");
        name = Cow::Owned(if is_python { "python" } else { variable }.to_owned());
    }
    if let Some(ending) = ENDINGS.into_iter().find(|ending| name.ends_with(ending)) {
        let length = name.len() - ending.len();
        match &mut name {
            Cow::Borrowed(name) => *name = name.get(..length).unwrap_or_default(),
            Cow::Owned(name) => name.truncate(length),
        }
    }
    let bare = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || matches!(letter, '.' | '-'));
    match VERSIONED
        .into_iter()
        .find(|versioned| *versioned == bare && name.len() > bare.len())
    {
        Some("pypy") => Cow::Borrowed("python"),
        Some(versioned) => Cow::Borrowed(versioned),
        None if name == "py" => Cow::Borrowed("python"),
        None => name,
    }
}

/// Returns the arguments that are neither options nor their values.
fn operands<'w>(program: &str, arguments: &'w [ShellWord<'w>]) -> impl Iterator<Item = &'w str> {
    let valued = VALUED.iter().find(|row| row.0 == program).map_or(&[][..], |row| row.1);
    let mut arguments = arguments.iter().map(Cow::as_ref);
    std::iter::from_fn(move || {
        loop {
            let argument = arguments.next()?;
            if valued.contains(&argument) {
                arguments.next();
            } else if !argument.starts_with(['-', '+']) || argument.starts_with("+test") {
                return Some(argument);
            }
        }
    })
}

/// Returns `true` if a program of this name is a test run with any arguments.
fn is_runner(name: &str) -> bool {
    RUNNERS.iter().any(|row| row.0 == name && row.1.is_empty())
}

fn matches_words<'w>(pattern: &str, mut words: impl Iterator<Item = &'w str>) -> bool {
    pattern
        .split_ascii_whitespace()
        .all(|step| words.next().is_some_and(|word| is_one_of(word, step)))
}

fn names_test_task(tasks: TaskPosition, program: &str, arguments: &[ShellWord<'_>]) -> bool {
    let mut names = operands(program, arguments);
    match tasks {
        TaskPosition::First => names.next().is_some_and(is_test_task),
        TaskPosition::Any => names.any(is_test_task),
        TaskPosition::FirstOrRun => match names.next() {
            Some("run" | "run-many" | "affected") => {
                let targets = arguments.iter().filter_map(|argument| argument.split_once('='));
                let mut targets = targets
                    .filter(|target| is_one_of(target.0, "--target|--targets"))
                    .map(|target| target.1);
                let is_listed = |names: &str| names.split(',').any(is_test_task);
                names.any(is_listed) || targets.any(is_listed)
            }
            name => name.is_some_and(is_test_task),
        },
        TaskPosition::Targets => names.any(|name| is_test_task(name) || is_check_target(name)),
        // `yarn jest` is a wrapped program, and is recognized by its own name.
        TaskPosition::Scripts => script_name(program, names).is_some_and(|name| is_test_task(name) && !is_runner(name)),
        TaskPosition::After(word) => names.next() == Some(word) && names.any(is_test_task),
        TaskPosition::Flag(flag) => {
            let mut rest = arguments.iter().skip_while(|argument| *argument != flag);
            rest.nth(1).is_some_and(|name| is_test_task(name))
        }
        TaskPosition::Exactly(words) => names.any(|name| is_one_of(name, words)),
        TaskPosition::Maven => names.any(is_maven_test),
        TaskPosition::Gradle => names.any(is_gradle_test),
        TaskPosition::Scala => names.any(is_scala_test),
        TaskPosition::Sessions => {
            let mut rest = arguments
                .iter()
                .skip_while(|argument| !is_one_of(argument, "-s|--session|--sessions|-e"));
            rest.next().is_none() || rest.any(|name| is_test_task(name))
        }
    }
}

/// Returns the package script that is run: `yarn test`, `npm run -w web test:unit`, `pnpm -r run test`.
fn script_name<'w>(program: &str, names: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let mut names = names;
    let mut may_run = !matches!(program, "npm" | "cnpm" | "deno" | "pipenv" | "hatch" | "rye");
    loop {
        match names.next()? {
            "workspace" | "w" if program.starts_with("yarn") => drop(names.next()),
            "run" | "run-script" | "rum" | "urn" | "r" | "task" => may_run = true,
            "workspaces" | "foreach" | "recursive" | "multi" | "m" => {}
            "t" | "tst" | "it" | "cit" | "install-test" if matches!(program, "npm" | "pnpm") => return Some("test"),
            name if may_run || name == "test" => return Some(name),
            _ => return None,
        }
    }
}

/// `/tmp/app-test login` is the app itself, built under a temporary name: test binaries have options, not
/// subcommands.
fn has_subcommand(program: &str, arguments: &[ShellWord<'_>]) -> bool {
    let is_word = |word: &ShellWord<'_>| word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    let first = arguments.first().filter(|word| !word.starts_with('-'));
    program.ends_with("-test") && first.is_some_and(is_word)
}

/// Returns `true` if a program is given as a file, because then the project chose its name and not the system.
fn is_file_path(program: &str) -> bool {
    const SCRIPTS: [&str; 12] = [
        ".sh", ".bash", ".py", ".ps1", ".bat", ".cmd", ".exe", ".js", ".mjs", ".ts", ".rb", ".pl",
    ];
    let is_system = ["/usr/bin/", "/bin/", "/usr/sbin/"]
        .iter()
        .any(|directory| program.starts_with(directory));
    let is_path = program.contains(['/', '\\']) || SCRIPTS.iter().any(|ending| program.ends_with(ending));
    is_path && !is_system && !program.contains("://")
}

/// Returns `true` if the runner only lists, builds or explains tests. Its own subcommand follows the `words` that
/// identified it.
fn runs_nothing(runner: &str, words: usize, arguments: &[ShellWord<'_>]) -> bool {
    arguments.iter().enumerate().any(|(index, argument)| {
        let (option, value) = argument.split_once('=').unwrap_or((argument, ""));
        let mut rows = NO_RUN_OPTIONS.iter().filter(|row| row.0 == "*" || row.0 == runner);
        let is_in_place = index == words || argument.starts_with('-');
        is_in_place && value != "false" && rows.any(|row| row.1.contains(&option))
    })
}
