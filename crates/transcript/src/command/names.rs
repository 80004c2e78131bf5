//! Whether a task, a module or a script with a given name runs tests.
//!
//! Only names are known here, and they are sometimes misleading, so each rule states the convention it follows.

use super::is_one_of;

/// Returns `true` if a script or target of this name runs tests. Names have segments: `test:unit`, `unit-tests`,
/// `ci.test`.
pub(super) fn is_test_task(name: &str) -> bool {
    // `nx run @app/web:test` and `turbo run web#test` have the project before the task.
    let name = name.rsplit(['/', '#']).next().unwrap_or(name);
    if is_test_word(name) || matches!(name, "coverage" | "cov") {
        return true;
    }
    if name.contains(['=', ' ']) {
        return false;
    }
    let (Some(first), Some(last)) = (segments(name).next(), segments(name).next_back()) else {
        return false;
    };
    if is_test_word(first) {
        return !segments(name).any(is_support);
    }
    is_test_word(last) && !is_preparation(first) && !segments(name).any(|part| is_one_of(part, "lint|build|typecheck"))
}

/// Returns `true` for `check`, which is a test run for make and similar tools, unless the name says what else it
/// checks.
pub(super) fn is_check_target(name: &str) -> bool {
    const OTHER_CHECKS: &str = "\
        format|fmt|lint|style|types|type|typecheck|typing|code|license|licenses|deps|docs|spelling|\
        generated|tidy|vet|clean|diff|env|tools|version|headers|links|security|imports|mypy|ruff|black|clippy|manifest";
    match name {
        "check" | "distcheck" | "installcheck" | "checkall" | "check-all" => true,
        name => {
            name.starts_with("check-")
                && !segments(name).any(|part| is_one_of(part, OTHER_CHECKS))
                && !name.contains(['=', '/', '.'])
        }
    }
}

/// Gradle names tasks in camel case, prefixed by their project: `:app:testDebugUnitTest`.
pub(super) fn is_gradle_test(task: &str) -> bool {
    const PREPARATIONS: [&str; 8] = [
        "compile", "assemble", "process", "build", "package", "lint", "clean", "ktlint",
    ];
    let task = task.rsplit(':').next().unwrap_or(task);
    match task {
        "test" | "check" => true,
        "testClasses" | "testJar" | "testFixturesJar" => false,
        task if PREPARATIONS.iter().any(|verb| task.starts_with(verb)) => false,
        task => {
            task.ends_with("Test")
                || task.ends_with("Tests")
                || task.ends_with("Check") && task.starts_with("connected")
                || task.starts_with("test") && task.as_bytes().get(4).is_some_and(u8::is_ascii_uppercase)
        }
    }
}

/// Maven has phases, and `plugin:goal`.
pub(super) fn is_maven_test(goal: &str) -> bool {
    is_one_of(goal, "test|verify|integration-test") || goal.starts_with("surefire:") || goal.starts_with("failsafe:")
}

/// `core/testOnly example.Spec` for sbt and `core.test` for mill.
pub(super) fn is_scala_test(command: &str) -> bool {
    const TASKS: &str = "test|testOnly|testQuick|testForked|Test|IntegrationTest";
    let is_test = |command: &str| {
        let task = command.split_ascii_whitespace().next().unwrap_or_default();
        let steps = || task.split(['/', ':', '.']);
        let only_builds = steps().any(|step| step.starts_with("compile") || step.starts_with("run"));
        steps().any(|step| is_one_of(step, TASKS)) && !only_builds
    };
    command.split(';').any(is_test)
}

/// Returns `true` if `python -m module` runs tests because the module is one: `app.tests.test_login`.
pub(super) fn is_test_module(module: &str) -> bool {
    let is_test = |part: &str| {
        is_one_of(part, "test|tests|selftest|unittests|runtests")
            || part.starts_with("test_")
            || part.ends_with("_test")
            || part.ends_with("_tests")
    };
    module.split('.').any(is_test)
}

/// Returns `true` if the file at `path` is a test, or a script that runs tests, by its name or its directory.
pub(super) fn is_test_script(path: &str) -> bool {
    // Data files, and sources whose tests are only run by their own tool: `go run /tmp/test_it.go` is not a test run.
    const EXTENSIONS_OF_OTHERS: &[&str] = &[
        "log", "txt", "json", "yaml", "yml", "toml", "xml", "md", "csv", "html", "env", "ini", "sql", "go",
    ];
    let is_below_target = path.starts_with("target/") || path.contains("/target/");
    if is_below_target && path.contains("/deps/") {
        return true; // cargo's own test binaries
    }
    let mut parts = path.rsplit(['/', '\\']);
    let file = parts.next().unwrap_or_default();
    let (stem, extension) = file.split_once('.').unwrap_or((file, ""));
    let last_extension = extension.rsplit('.').next().unwrap_or_default();
    if stem.is_empty() || EXTENSIONS_OF_OTHERS.contains(&last_extension) {
        return false;
    }
    if last_extension == "t" || extension.starts_with("test.") || extension.starts_with("spec.") {
        return true; // `t/basic.t`, `login.test.ts`
    }
    if name_says_test(stem, last_extension) {
        return true;
    }
    // An absolute path has many directories: `/tmp/test/` is a scratch directory, `/srv/app/tests/` is not.
    let is_relative = !path.starts_with(['/', '~']) && !path.contains(":\\");
    let in_tests = parts.any(|part| match part {
        "tests" | "__tests__" | "spec" | "specs" | "unittests" | "e2e" => true,
        "test" => is_relative,
        _ => false,
    });
    in_tests && !segments(stem).any(is_support)
}

/// Returns `true` if a file's name says that it is a test or runs tests: `run-tests.sh`, `test_login.py`,
/// `login_test`.
fn name_says_test(stem: &str, extension: &str) -> bool {
    const WORDS: &str = "test|tests|unittest|unittests|e2e|testsuite|selftest|smoketest|runtest|runtests|Test|Tests";
    const PREPARATIONS: &str =
        "build|setup|create|generate|gen|make|new|add|deploy|install|prepare|write|download|clean|fix|lint|format";
    let is_camel = |ending: &str| {
        stem.strip_suffix(ending)
            .is_some_and(|rest| rest.ends_with(char::is_alphanumeric))
    };
    if is_camel("Test") || is_camel("Tests") || is_camel("Spec") || stem.starts_with("test_") {
        return true;
    }
    let (Some(first), Some(last)) = (segments(stem).next(), segments(stem).next_back()) else {
        return false;
    };
    if is_one_of(last, WORDS) || is_one_of(last, "spec|specs") && first != last {
        // A compiled `build_test` tests the build; a script of that name builds the test.
        return matches!(extension, "" | "exe") || !is_one_of(first, PREPARATIONS);
    }
    let says_test = is_one_of(first, WORDS) || first == "run" && segments(stem).any(|part| is_one_of(part, WORDS));
    says_test && !segments(stem).any(is_support)
}

/// Returns the segments of a name: `test:unit`, `run-tests`, `test_login`.
fn segments(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.split([':', '-', '_', '.', '#', '+'])
        .filter(|part| !part.is_empty())
}

/// Returns `true` for words that mean tests in the name of a task.
fn is_test_word(word: &str) -> bool {
    const WORDS: &str = "test|tests|testing|spec|specs|unit|units|unittest|unittests|e2e|testsuite|selftest|selftests|\
        smoketest|smoketests|integrationtest|integration|jest|vitest|pytest|rspec|phpunit|playwright|cypress|mocha";
    is_one_of(word, WORDS)
}

/// Returns `true` for segments that name supporting files of tests: `test-data`, `tests/setup.sh`.
fn is_support(part: &str) -> bool {
    const WORDS: &str = "\
        data|fixture|fixtures|dep|deps|dependencies|env|setup|teardown|clean|cleanup|install|image|images|\
        cert|certs|key|keys|config|conftest|helper|helpers|util|utils|generate|generator|gen|seed|lint|report|results|\
        typecheck|types|format|fmt|docs|list|compile|open|common|server|mock|mocks|stub|stubs";
    is_one_of(part, WORDS)
}

/// Returns `true` for first segments that say that tests are prepared or shown, not run: `build:test`, `new-test`.
fn is_preparation(part: &str) -> bool {
    const WORDS: &str = "\
        build|compile|lint|format|fmt|typecheck|type|types|tsc|clean|install|setup|prepare|generate|gen|make|\
        create|new|add|docker|deploy|pre|post|seed|download|fetch|reset|start|stop|up|down|serve|update|list|show|write|\
        publish|pretest|posttest|open|edit|check|fix";
    is_one_of(part, WORDS)
}
