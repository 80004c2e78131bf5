//! Decides whether a command line that an agent ran is a test run, looking through wrappers such as `timeout 60 bash
//! -c`.
//!
//! Knows command lines only: nothing of agents, logs, tools or output. It judges by names in untrusted text: a
//! project may call anything `test`, and a script of another name may run all tests. No text can make it fail or make
//! it slow, because only a prefix is examined.

mod git;
mod interpreters;
mod names;
mod runners;
mod shell;
mod wrappers;

pub use git::{CommitCommand, GitCommit, announced_commits, commit_command, may_announce_commits};
use interpreters::{InterpreterSource, ScriptLanguage};
use shell::{ShellWord, SimpleCommand};
use wrappers::InnerCommand;

/// Agents write whole files through here-documents, and test commands come before those.
const EXAMINED_BYTES_MAX: usize = 16 * 1024;

/// Maximum depth of nested wrappers. Real ones are three or four deep.
const DEPTH_MAX: u8 = 16;

/// Maximum cost of one call, in bytes lexed, because a script may be read once for each wrapper around it.
const COST_MAX: usize = 8 * EXAMINED_BYTES_MAX;

/// Cost of matching one simple command against the tables, in the same unit.
const COST_OF_COMMAND: usize = 64;

/// Returns the test runner that `command` starts, if it starts one: `cargo test`, `pytest`, …
///
/// Each runner has one short name, however it is called; of several runners, the first is returned. Building, listing
/// and explaining tests is not a test run.
pub fn test_runner(command: &str) -> Option<&'static str> {
    let end = command.floor_char_boundary(EXAMINED_BYTES_MAX);
    let mut search = TestRunSearch { cost_left: COST_MAX };
    search.script(command.get(..end).unwrap_or_default(), 0)
}

struct TestRunSearch {
    cost_left: usize,
}

impl TestRunSearch {
    fn script(&mut self, text: &str, depth: u8) -> Option<&'static str> {
        if depth >= DEPTH_MAX {
            return None;
        }
        self.cost_left = self.cost_left.checked_sub(text.len())?;
        shell::simple_commands(text)
            .iter()
            .find_map(|command| self.simple_command(command, depth))
    }

    fn simple_command(&mut self, command: &SimpleCommand<'_>, depth: u8) -> Option<&'static str> {
        let mut substitutions = command.substitutions.iter();
        self.words(&command.words, command.stdin.as_deref(), depth)
            .or_else(|| substitutions.find_map(|script| self.script(script, depth + 1)))
    }

    fn words(&mut self, words: &[ShellWord<'_>], stdin: Option<&str>, depth: u8) -> Option<&'static str> {
        if depth >= DEPTH_MAX {
            return None;
        }
        self.cost_left = self.cost_left.checked_sub(COST_OF_COMMAND)?;
        let (program, arguments) = skip_prefixes(words).split_first()?;
        if let Some(runner) = runners::runner(program, arguments) {
            return Some(runner);
        }
        let name = runners::program_name(program);
        if only_queries(&name, arguments) {
            return None;
        }
        self.interpreter(&name, arguments, stdin, depth).or_else(|| {
            let inner = wrappers::inner_commands(&name, arguments);
            // A remote shell without a command reads its standard input: `ssh host <<EOF`.
            let remote = if name == "ssh" && arguments.len() == 1 {
                stdin
            } else {
                None
            };
            inner
                .into_iter()
                .find_map(|inner| match inner {
                    InnerCommand::Words(words) => self.words(words, stdin, depth + 1),
                    InnerCommand::Script(script) => self.joined_script(&script, stdin, depth + 1),
                })
                .or_else(|| self.script(remote?, depth + 1))
        })
    }

    /// Searches a script that was joined from words: its only command reads the wrapper's standard input.
    fn joined_script(&mut self, script: &str, stdin: Option<&str>, depth: u8) -> Option<&'static str> {
        let runner = self.script(script, depth);
        if runner.is_some() || stdin.is_none() {
            return runner;
        }
        let commands = shell::simple_commands(script);
        commands
            .last()
            .and_then(|command| self.words(&command.words, stdin, depth))
    }

    fn interpreter(
        &mut self,
        name: &str,
        arguments: &[ShellWord<'_>],
        stdin: Option<&str>,
        depth: u8,
    ) -> Option<&'static str> {
        let (interpreter, arguments) = interpreters::interpreter(name, arguments)?;
        match interpreter.source(arguments)? {
            InterpreterSource::Tests => Some("node --test"),
            InterpreterSource::Script(script) => self.script(script, depth + 1),
            InterpreterSource::Module(words) => self
                .words(words, stdin, depth + 1)
                .or_else(|| runners::module_runner(words)),
            InterpreterSource::File(words) => self
                .words(words, stdin, depth + 1)
                .or_else(|| runners::script_runner(words)),
            InterpreterSource::Stdin if interpreter.language == ScriptLanguage::Shell => self.script(stdin?, depth + 1),
            InterpreterSource::Stdin => runners::runner_in_code(interpreter.program, stdin.into_iter()),
        }
    }
}

/// Skips what may precede a program: keywords, `A=1`, and PowerShell's `$output =`.
fn skip_prefixes<'w>(words: &'w [ShellWord<'w>]) -> &'w [ShellWord<'w>] {
    const KEYWORDS: [&str; 11] = [
        "if", "then", "elif", "else", "while", "until", "do", "!", "{", "}", "coproc",
    ];
    let mut rest = words;
    while let Some((word, others)) = rest.split_first() {
        let is_powershell_assignment = word.starts_with('$') && others.first().is_some_and(|word| word == "=");
        rest = if KEYWORDS.contains(&word.as_ref()) || is_assignment(word) {
            others
        } else if is_powershell_assignment || word == "function" {
            others.get(1..).unwrap_or_default()
        } else {
            break;
        };
    }
    rest
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split('[').next().unwrap_or(name);
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.bytes().all(is_letter) && !name.starts_with(|first: char| first.is_ascii_digit())
}

/// Returns `true` if `word` is one of `alternatives`, which are separated by `|`.
fn is_one_of(word: &str, alternatives: &str) -> bool {
    alternatives.split('|').any(|alternative| alternative == word)
}

/// Returns `true` if a wrapper only prints information about a program: `command -v pytest`.
fn only_queries(name: &str, arguments: &[ShellWord<'_>]) -> bool {
    name == "command"
        && arguments
            .first()
            .is_some_and(|option| matches!(option.as_ref(), "-v" | "-V"))
}

#[cfg(test)]
mod tests {
    use super::test_runner;

    /// One case per line: the runner, a colon, the command.
    const TEST_RUNS: &str = r#"
cargo test: cargo test
cargo test: cargo t
cargo test: cargo +nightly test --workspace
cargo test: cargo test -p core -- --nocapture login
cargo test: cargo --manifest-path app/Cargo.toml test
cargo test: cargo -C app test
cargo test: RUST_BACKTRACE=1 RUST_LOG=debug cargo test
cargo test: cargo build && cargo test
cargo test: cargo fmt; cargo clippy; cargo test 2>&1 | tail -20
cargo test: cargo test >out.txt 2>&1
cargo test: cargo test &> out.txt
cargo test: cargo test --doc
cargo test: cargo hack test --feature-powerset
cargo test: cargo xtask test
cargo test: cargo watch -x test
cargo test: cargo watch -q -x 'test --lib'
cargo test: cargo watch -s 'cargo test'
cargo test: cross test --target aarch64-unknown-linux-gnu
cargo test: bacon test
cargo nextest: cargo nextest run
cargo nextest: cargo nextest run --workspace --no-fail-fast
cargo nextest: cargo +stable nextest r
cargo llvm-cov: cargo llvm-cov --html
cargo llvm-cov: cargo llvm-cov nextest
cargo tarpaulin: cargo tarpaulin --out Html
cargo insta: cargo insta test --review
cargo miri: cargo +nightly miri test
cargo mutants: cargo mutants -j 2
wasm-pack test: wasm-pack test --headless --firefox
test script: ./target/debug/deps/app-0123456789abcdef login
go test: go test ./...
go test: go test -race -run 'TestA|TestB' ./pkg/... 2>&1 | grep -E '^(ok|FAIL)'
go test: go -C server test ./...
go test: CGO_ENABLED=0 go test -v -count=1 .
go test: go vet ./... && go test ./...
go test: go clean -testcache; go test ./...
gotestsum: go run gotest.tools/gotestsum@latest --format dots
gotestsum: gotestsum --format testname -- -race ./...
gotestsum: $(go env GOPATH)/bin/gotestsum
ginkgo: ginkgo -r -v
pytest: pytest
pytest: pytest -q tests/test_login.py::test_ok
pytest: py.test
pytest: pytest-3 -x
pytest: pytest -k "not slow" -m unit
pytest: python -m pytest
pytest: python3 -m pytest -x --tb=short
pytest: python3.12 -m pytest
pytest: python -W ignore -m pytest
pytest: python -X dev -u -m pytest
pytest: .venv/bin/python -m pytest tests
pytest: ./venv/bin/pytest
pytest: source .venv/bin/activate && pytest -q
pytest: . venv/bin/activate; pytest
pytest: $PYTHON -m pytest
pytest: "${PYTHON:-python3}" -m pytest
pytest: "$VENV/bin/python" -m pytest
pytest: py -3 -m pytest
pytest: coverage run -m pytest
pytest: coverage run --source app -m pytest && coverage report
pytest: python -m coverage run -m pytest
pytest: uv run pytest
pytest: uv run --with pytest --extra dev pytest -q
pytest: uv run --with pytest-xdist python -m pytest
pytest: uv run -m pytest
pytest: uvx --with pytest-cov pytest
pytest: uv tool run pytest
pytest: poetry run pytest --cov
pytest: poetry run python -m pytest
pytest: pipenv run pytest
pytest: pdm run pytest
pytest: hatch run pytest
pytest: rye run pytest
pytest: pipx run pytest
pytest: conda run -n env pytest tests/
pytest: conda run --no-capture-output -p ./env python -m pytest
pytest: micromamba run -n env pytest
pytest: PYTHONPATH=. timeout 120 pytest -x
pytest: python -c "import pytest; pytest.main(['-q'])"
pytest: docker run --rm -v "$PWD:/app" -w /app python:3.12 pytest -q
pytest: docker exec -it -e CI=1 web pytest
pytest: docker compose exec -T web pytest
pytest: docker compose -f docker-compose.dev.yml run --rm web pytest
pytest: docker-compose exec web python -m pytest
pytest: podman run --rm image pytest
pytest: kubectl exec -it pod/web -n dev -- pytest
pytest: kubectl exec web -c app -- bash -c 'pytest -q'
tox: tox -e py312 || pytest
pytest: result=$(pytest -q 2>&1); echo "$result"
pytest: echo "$(pytest -q | tail -1)"
pytest: x=`pytest -q`
pytest: (cd app && pytest)
pytest: { pytest; }
pytest: if pytest; then echo ok; fi
pytest: if ! pytest -q; then exit 1; fi
pytest: for i in 1 2 3; do pytest -x || break; done
pytest: while true; do pytest; sleep 1; done
pytest: ! pytest
pytest: diff <(pytest -q) expected.txt
pytest: pytest # the whole suite
pytest: find . -name 'test_*.py' -exec pytest {} +
pytest: ls tests/*.py | xargs -n 1 pytest
pytest: parallel -j 4 pytest ::: tests/a tests/b
pytest: git bisect run pytest -x
unittest: python -m unittest
unittest: python3 -m unittest discover -s tests
nose2: python -m nose2
tox: tox
tox: tox -e py311 -- -k login
tox: python -m tox
nox: nox
nox: nox -s tests-3.12
manage.py test: python manage.py test app.tests
manage.py test: ./manage.py test
manage.py test: uv run python manage.py test --parallel
manage.py test: coverage run manage.py test
test module: python -m app.tests
test module: python -m tests.test_login
test script: python test_login.py
test script: python3 tests/smoke.py --fast
test script: python -u /srv/app/tests/check_all.py
test script: uv run tests/smoke.py
test script: python run_tests.py
behave: behave features/
npm test: npm test
npm test: npm t
npm test: npm test -- --watch=false
npm test: npm run test
npm test: npm run test:unit
npm test: npm run test:build
npm test: npm run unit-test
npm test: npm run e2e
npm test: npm run ci:test
npm test: npm --prefix web run test
npm test: npm run -w web test
npm test: npm run test --workspace=web
npm test: CI=1 npm test
npm test: set CI=1&& npm test
npm test: node --run test
yarn test: yarn test
yarn test: yarn run test:e2e
yarn test: yarn --cwd web test
yarn test: yarn workspace web test
yarn test: yarn workspaces foreach -A run test
pnpm test: pnpm test
pnpm test: pnpm -r test
pnpm test: pnpm --filter web test
pnpm test: pnpm -C web run test:unit
bun test: bun test
bun test: bun run test
bun test: bun --cwd web test
bun test: rtk bun run test
deno test: deno test -A
deno test: deno task test
jest: jest --ci
jest: npx jest
jest: npx -y jest@29 || npx jest
jest: npx --package jest -- jest
jest: npm exec -- jest
jest: npm exec jest
jest: pnpm exec jest
jest: pnpm dlx jest
jest: pnpm jest
jest: pnpm --filter web exec jest
jest: yarn jest
jest: yarn run jest
jest: yarn exec jest
jest: bunx jest
jest: bun x jest
jest: bun run jest
jest: ./node_modules/.bin/jest
jest: node_modules/.bin/jest src/a.test.ts
jest: node --experimental-vm-modules node_modules/jest/bin/jest.js
jest: NODE_ENV=test npx jest
jest: cross-env CI=1 jest
jest: npm run jest
jest: npx jest@29 --ci
vitest: npx vitest run
vitest: pnpm vitest run src/login.test.ts
vitest: c8 vitest run
mocha: npx mocha -r ts-node/register 'test/**/*.ts'
mocha: nyc --reporter text mocha
ava: npx ava
tap: npx tap
jasmine: npx jasmine
karma: karma start --single-run
playwright: npx playwright test --project=chromium
playwright: xvfb-run -a npx playwright test
cypress: npx cypress run
node --test: node --test
node --test: node --import tsx --test src/*.ts
node --test: tsx --test src/a.ts
test script: node test.js
test script: node src/login.test.mjs
test script: npx tsx tests/smoke.ts
test script: bun src/login.spec.ts
ng test: ng test --watch=false
ng test: npx ng test
react-scripts test: react-scripts test --watchAll=false
web-test-runner: wtr "src/**/*.test.js"
storybook test: npx test-storybook
lerna test: lerna run test
lerna test: npx lerna run test --scope web
nx test: nx test web
nx test: npx nx run web:test
nx test: nx run-many -t test
nx test: nx run-many --target=test --all
nx test: nx affected -t lint,test
turbo test: turbo run test
turbo test: turbo test --filter web
turbo test: pnpm turbo run build test
rush test: rush test
rspec: rspec
rspec: bundle exec rspec spec/models
rspec: bin/rspec
rspec: rbenv exec bundle exec rspec
rake test: rake test
rake test: bundle exec rake spec
rails test: rails test
rails test: rails t
rails test: bin/rails test test/models
rails test: RAILS_ENV=test bundle exec rails test:system
minitest: ruby -Itest test/login_test.rb
test script: ruby test/login_test.rb
cucumber: bundle exec cucumber
phpunit: phpunit
phpunit: ./vendor/bin/phpunit --filter Login
phpunit: php vendor/bin/phpunit
phpunit: php -d memory_limit=-1 vendor/bin/phpunit
pest: ./vendor/bin/pest
artisan test: php artisan test
artisan test: ./vendor/bin/sail test
composer test: composer test
composer test: composer run test
composer test: composer run-script test:unit
codecept: vendor/bin/codecept run
mvn test: mvn test
mvn test: mvn -q -pl core -am test
mvn test: ./mvnw verify
mvn test: mvn -Dtest=LoginTest surefire:test
mvn test: mvn clean test -DskipTests=false
gradle test: gradle test
gradle test: ./gradlew test --tests LoginTest
gradle test: ./gradlew :app:testDebugUnitTest
gradle test: ./gradlew clean check
gradle test: ./gradlew connectedAndroidTest
gradle test: .\gradlew.bat test
gradle test: cd app; .\gradlew test
sbt test: sbt test
sbt test: sbt "core/testOnly example.LoginSpec"
sbt test: sbt clean coverage test
mill test: ./mill core.test
ant test: ant test
dotnet test: dotnet test
dotnet test: dotnet test src/App.Tests/App.Tests.csproj --filter Login
dotnet test: dotnet watch --project App test
vstest: vstest.console.exe App.Tests.dll
ctest: ctest --test-dir build
ctest: cd build && ctest -V
ctest: cmake --build build && ctest
make test: make test
make test: make -C app test
make test: make -j4 check
make test: make test_unit
make test: make unit-test
make test: make tests
make test: make lint test
make test: cmake --build build --target test
ninja test: ninja -C build test
meson test: meson test -C build
bazel test: bazel test //...
bazel test: bazel --output_base /tmp/o test //app:all
buck2 test: buck2 test //...
test script: ./build/foo_test
test script: ./build/foo_test --gtest_filter='Login*'
test script: ./run_tests
test script: build/LoginTests
swift test: swift test
swift test: xcrun swift test
xcodebuild test: xcodebuild test -scheme App -destination 'platform=iOS Simulator,name=iPhone 15' | xcpretty
xcodebuild test: xcodebuild -scheme App test
flutter test: flutter test
flutter test: fvm flutter test
dart test: dart test
mix test: mix test
mix test: MIX_ENV=test mix test test/login_test.exs:12
rebar3: rebar3 eunit
stack test: stack test
stack test: stack build --test
cabal test: cabal test all
dune test: dune runtest
dune test: opam exec -- dune test
dune test: dune build @runtest
lein test: lein test
clj test: clj -X:test
clj test: clojure -M:test:runner
zig test: zig test src/main.zig
zig test: zig build test --summary all
nimble test: nimble test
testament: testament all
crystal spec: crystal spec
julia Pkg.test: julia --project -e 'using Pkg; Pkg.test()'
R CMD check: R CMD check .
testthat: Rscript -e 'devtools::test()'
prove: prove -lr t
test script: perl -Ilib t/basic.t
busted: busted
bats: bats test/
shellspec: shellspec
pg_prove: pg_prove -h localhost -d app tests/*.sql
terraform test: terraform test
helm test: helm test release
molecule test: molecule test
conftest: conftest verify -p policy
opa test: opa test policy/
forge test: forge test -vvv
hardhat test: npx hardhat test
truffle test: truffle test
elm-test: npx elm-test
pester: Invoke-Pester -Path ./tests
pester: pwsh -Command "Invoke-Pester"
pester: pwsh -NoProfile -c Invoke-Pester -Output Detailed
just test: just test
just test: just -f dev.just test
just test: just test-all
task test: task test
task test: task backend:test
invoke test: invoke test
mise test: mise run test
mise test: mise run test:ci
mise test: mise r test
go test: mise exec -- go test ./...
go test: mise x go@1.22 -- go test ./...
test script: ./test
test script: ./test.sh
test script: ./run-tests.sh --fast
test script: scripts/test.sh
test script: bin/test
test script: tests/run.sh
test script: bash tests/run.sh
test script: bash -x ./scripts/run_tests.sh
test script: sh test.sh
test script: bash run_tests
test script: .\run-tests.ps1
test script: chmod +x test.sh && ./test.sh
test script: ./scripts/test-login-e2e.sh --keep 2>&1 | tail -100
test script: ./x.py test
cargo test: bash -c 'cargo test'
cargo test: bash -lc "cd app && cargo test"
cargo test: /bin/zsh -lc 'cargo test -- '"'"'a|b'"'"' --nocapture'
cargo test: sh -ec 'set -x; cargo test'
cargo test: bash -euo pipefail -c 'cargo test | tee log'
cargo test: fish -c "cargo test"
cargo test: bash -c $'cd app\ncargo test'
cargo test: bash -c "bash -c 'cargo test'"
cargo test: bash <<< "cargo test"
cargo test: env -i PATH="$PATH" cargo test
cargo test: env -u HOME RUST_LOG=debug cargo test
cargo test: /usr/bin/env cargo test
cargo test: sudo -E -u ci cargo test
cargo test: timeout 30s cargo test
cargo test: timeout -k 5 -s KILL 30s cargo test
cargo test: timeout --signal=KILL 300 bash -c 'cargo test 2>&1'
cargo test: gtimeout 60 cargo test
cargo test: nice -n 19 cargo test
cargo test: nice -10 ionice -c 3 cargo test
cargo test: time cargo test
cargo test: time -p cargo test
cargo test: /usr/bin/time -v cargo test
cargo test: nohup cargo test > log 2>&1 &
cargo test: setsid cargo test
cargo test: stdbuf -oL cargo test
cargo test: unbuffer cargo test | less
cargo test: script -qec "cargo test" /dev/null
cargo test: script -q /dev/null cargo test
cargo test: caffeinate -i cargo test
cargo test: command cargo test
cargo test: exec cargo test
cargo test: eval "cargo test"
cargo test: eval cargo test
cargo test: watch -n 5 cargo test
cargo test: watchexec -e rs cargo test
cargo test: direnv exec . cargo test
cargo test: dotenv -- cargo test
cargo test: dotenv -f .env.test cargo test
cargo test: doppler run -- cargo test
cargo test: op run --env-file=.env -- cargo test
cargo test: asdf exec cargo test
cargo test: nix develop -c cargo test
cargo test: nix develop .#ci --command bash -c 'cargo test'
cargo test: nix-shell --run 'cargo test'
cargo test: devbox run cargo test
cargo test: devbox run -- cargo test
cargo test: rustup run nightly cargo test
cargo test: docker run --rm -it --name x -e A=B rust:1 sh -c 'cargo test'
cargo test: docker compose run --rm -e CI=1 app cargo test
cargo test: ssh build.example 'cd app && cargo test'
cargo test: ssh -p 2222 -i key user@host cargo test --workspace
cargo test: wsl cargo test
cargo test: wsl -d Ubuntu -- cargo test
cargo test: wsl -e bash -lc "cargo test"
cargo test: cmd /c "cd app && cargo test"
cargo test: cmd.exe /C cargo test
cargo test: powershell -NoProfile -Command "cd app; cargo test"
cargo test: & "C:\Users\me\.cargo\bin\cargo.exe" test
cargo test: C:\tools\cargo.exe test
cargo test: $out = cargo test 2>&1
cargo test: $env:RUST_LOG = "debug"; cargo test
cargo test: tmux send-keys -t main 'cargo test' Enter
cargo test: tmux new-session -d -s t 'cargo test'
cargo test: \cargo test
cargo test: "cargo" 'test'
cargo test: car"go" te\st || cargo test
cargo test: echo start;cargo test
cargo test: true&&cargo test
cargo test: cat log|cargo test
cargo test: A="x y" B='z' cargo test
cargo test: ARR=(a b) cargo test
cargo test: git stash && cargo test; git stash pop
cargo test: function f { cargo test; }; f
cargo test: check() { cargo test; }; check
cargo test: case "$1" in a) cargo test;; esac
cargo test: [ -f Cargo.toml ] && cargo test
cargo test: test -f Cargo.toml && cargo test
cargo test: echo "it's" && cargo test
cargo test: git commit -m "don't (yet" && cargo test
cargo test: trap 'rm -f x' EXIT; cargo test
"#;

    const OTHER_COMMANDS: &str = r#"

ls
cat test.py
cat tests/run.sh | head
grep -r "cargo test" .
rg -n 'pytest|jest' .
echo pytest
echo "cargo test"
echo 'run: cargo test && pytest'
printf 'cargo test\n'
git commit -m "run cargo test"
git commit -am 'Fix; cargo test passes'
git commit -m "go test ./... && npm test"
git checkout test
git checkout -b test/login
git log --grep test
git add tests/test_login.py
git diff -- tests/
git stash push -m "cargo test"
git rebase -i main
gh pr create --title "Add tests" --body "- [x] cargo test; pytest"
vim tests/x.py
code tests
pip install pytest
pip3 install -U pytest tox
python -m pip install pytest
uv pip install pytest
uv add --dev pytest
uv sync --extra test
poetry add --group dev pytest
npm install jest
npm i -D vitest
npm ls jest
npm view jest versions
npm run
npm run lint
npm run build
npm run build:test
npm run lint:test
npm run test:setup
npm run check
npm run typecheck
npm run pretest
npm run latest
npm ci
yarn add jest
yarn why jest
yarn
yarn build
pnpm add -D vitest
pnpm install
pnpm typecheck
pnpm --filter test build
bun install
bun add -d vitest
bun run lint
bun run build
deno task build
which pytest
command -v pytest
command -V cargo
type pytest
whereis pytest
man pytest
pytest --version
python test_login.py --help
bash run_tests --help
pytest -V
pytest --help
pytest -h
pytest --collect-only
pytest --co -q
pytest --fixtures
python -m pytest --version
python test_login.py --help
bash run_tests --help
python -m pytest --collect-only -q
cargo test --help
cargo test --no-run
cargo test --no-run --message-format=json
cargo test -- --list
cargo help test
cargo build --tests
cargo build
cargo check --tests
cargo clippy --all-targets
cargo bench
cargo run -- test
cargo add --dev proptest
cargo install cargo-nextest
cargo nextest list
cargo nextest --version
cargo insta review
cargo insta accept
cargo llvm-cov report
cargo watch -x check
cargo fmt --check
go vet ./...
go build ./...
go test -list .
go test -list=. ./...
go test -c -o /tmp/a.test ./a
go help test
go run ./cmd/test-server
go run /tmp/test_parse.go
go install gotest.tools/gotestsum@latest
gofmt -l a_test.go
jest --listTests
jest --showConfig
npx jest --version
npx jest --init
npx playwright test --list
npx playwright install
npx playwright show-report
npx cypress open
npx cypress install
npx eslint tests/
npx tsc --noEmit
npx create-jest
npx prettier --write test.js
vitest list
tox -l
tox list
nox -l
nox -s lint
ctest -N
make
make all
make test-data
make test-fixtures
make build-test
make check-format
make -n test
make clean
make install TEST=1
make lint
make VERBOSE=1 build
cmake -S . -B build-test -DBUILD_TESTING=ON
cmake --build build
ninja -C build-test
ninja -C build
just
just check
just --list
just build
task --list
task lint
mise run lint
mise run fmt:check
mise install
mise exec -- shellcheck tests/run.sh
gradle build -x test
./gradlew assembleDebug
./gradlew compileTestJava
./gradlew testClasses
./gradlew tasks
gradle test --dry-run
mvn package -DskipTests
mvn verify -DskipTests
mvn clean install
mvn -v
sbt compile
sbt Test/compile
dotnet build App.Tests
dotnet test --list-tests
dotnet new xunit -o App.Tests
swift build --build-tests
swift test list
xcodebuild build-for-testing -scheme App
xcodebuild -scheme AppTests build
flutter pub get
terraform plan -var env=test
terraform apply -target=module.test
helm install test ./chart
helm upgrade test ./chart
kubectl get pods -n test
kubectl logs -f test-pod
kubectl exec web -- ls tests
docker build -t test .
docker run --rm test
docker run --name pytest redis:7
docker exec web ls tests
docker compose up test-db
docker compose -f docker-compose.test.yml up -d
docker ps | grep test
ssh test uptime
ssh -p 22 test.example ls
test -f x
test -d tests && ls tests
[ -f test.sh ]
[[ -x ./test.sh && -f tests ]]
test "$a" = "$b"
ls tests
ls -la test/
cd tests
rm -rf tests
mkdir tests
mkdir -p test && touch test/a.py
mv test.py tests/test.py
cp tests/a.py tests/b.py
touch tests/__init__.py
chmod +x test.sh
chmod +x ./run_tests.sh scripts/test.sh
tail -f test.log
tail -n 20 tests/out.txt
sed -n 1p tests/run.sh
sed -i 's/pytest/unittest/' tests/run.sh
awk '/test/ {print}' x
head -5 test_login.py
wc -l tests/*.py
find . -name '*_test.go'
find tests -type f -exec cat {} \;
find . -name '*test*' -delete
fd test
diff tests/a tests/b
curl http://localhost/test
curl -s https://example.com/tests/run.sh
wget https://example.com/test.sh
jq .test package.json
ps aux | grep pytest
pkill -f pytest
pgrep jest
kill $(pgrep -f "cargo test")
sleep 5
export TEST=pytest
alias t='cargo test'
TEST=pytest
tests=(pytest jest)
source tests.env
source test/common.sh
source .venv/bin/activate
bash -n tests/run.sh
bash -c 'echo cargo test'
bash -lc "rg 'cargo test'"
bash --version
sh build.sh
bash scripts/setup-test-env.sh
shellcheck tests/run.sh
shfmt -d test.sh
node --check test.js
node build.js --test
node -e "console.log('jest')"
node playwright-login.js
node scripts/build.js
python -c "print('pytest')"
python -m py_compile tests/test_a.py
python -m black tests
python -m mypy tests/
python script.py tests/
python /tmp/test/build.py
python tests/fixtures/generate_data.py
python manage.py migrate
python manage.py makemigrations test
python setup.py build
ruff check tests/
black tests/test_a.py
mypy tests
pre-commit run --all-files
php -l tests/LoginTest.php
ruby -c test/login_test.rb
php artisan migrate --env=testing
composer install
bundle install
bundle exec rails console -e test
bundle exec rake db:migrate RAILS_ENV=test
rake -T
rails generate model Test
mix deps.get
mix format --check-formatted test/a.exs
zig build
psql -d test -c 'select 1'
psql test < tests/schema.sql
createdb test
redis-cli -n 1 get test
sqlite3 test.db .tables
open coverage/index.html
less tests/README.md
/usr/bin/test -f x
/bin/test -d x
/tmp/app-test login --user me
/tmp/app-test hooks start
./latest
./contest.sh
./testdata/gen.sh
./bin/attest --sign
./scripts/build.sh
./scripts/create-test-db.sh
./tests/setup.sh
sudo apt-get install -y python3-pytest
sudo systemctl status test
brew install bats-core
apt install shellspec
time sleep 1
timeout 5 ls tests
xargs grep test
watch -n 1 ls tests
env
env FOO=test
env | grep TEST
sudo
timeout
timeout 5
npx
bash
bash -c
docker exec
docker run
ssh
eval
nx build web-e2e
nx run web:build
nx graph
turbo run build
turbo run lint --filter test
lerna run build
rush build
tmux new-session -d -s test
tmux send-keys -t test C-c
tmux kill-session -t test
cmd /c dir tests
Get-ChildItem tests
Select-String -Path tests\*.ps1 -Pattern pytest
Write-Host "cargo test"
Remove-Item -Recurse .\tests
Test-Path ./tests
Test-NetConnection localhost
# cargo test
ls # cargo test
echo a#b
echo "a; cargo test"
echo 'a
echo \; cargo test
cat <<< "cargo test"
cargo
go
npm
"#;

    #[test]
    fn test_runs_are_found_under_their_wrappers() {
        let cases = TEST_RUNS.lines().filter(|line| !line.is_empty());
        let wrong: Vec<_> = (cases.map(|line| line.split_once(": ").expect("a case is `runner: command`")))
            .map(|(runner, command)| (command, runner, test_runner(command)))
            .filter(|(_, runner, found)| *found != Some(*runner))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn text_about_tests_is_not_a_test_run() {
        let cases = OTHER_COMMANDS.lines().map(|command| (command, test_runner(command)));
        let wrong: Vec<_> = cases.filter(|(_, found)| found.is_some()).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn a_heredoc_is_data_unless_a_shell_reads_it() {
        assert_eq!(test_runner("cat > run.sh <<'EOF'\ncargo test\nEOF\n"), None);
        assert_eq!(test_runner("cat <<EOF\ncargo test\nEOF"), None);
        assert_eq!(test_runner("cat <<EOF\ncargo test"), None);
        assert_eq!(
            test_runner("cat <<-\tEOF\n\tit's\n\tEOF\ncargo test"),
            Some("cargo test")
        );
        assert_eq!(
            test_runner("cat <<A <<'B C'\npytest\nA\njest\nB C\ncargo test"),
            Some("cargo test")
        );
        assert_eq!(test_runner("bash <<EOF\ncd app\ncargo test\nEOF"), Some("cargo test"));
        assert_eq!(test_runner("bash -s <<'EOF'\ncargo test\nEOF"), Some("cargo test"));
        assert_eq!(test_runner("ssh host <<'EOF'\ncargo test\nEOF"), Some("cargo test"));
        assert_eq!(
            test_runner("ssh host bash -s <<'EOF'\ncargo test\nEOF"),
            Some("cargo test")
        );
        assert_eq!(test_runner("docker exec -i web sh <<EOF\npytest\nEOF"), Some("pytest"));
        assert_eq!(
            test_runner("python - <<EOF\nimport pytest\npytest.main()\nEOF"),
            Some("pytest")
        );
        assert_eq!(test_runner("python3 <<'EOF'\ntests = ['pytest']\nEOF"), None);
        assert_eq!(
            test_runner("cat <<EOF > test.sh && chmod +x test.sh\ncargo test\nEOF\nls"),
            None
        );
        assert_eq!(test_runner("echo $((1 << 2))\ncargo test"), Some("cargo test"));
    }

    #[test]
    fn a_commit_message_in_a_substitution_does_not_hide_what_follows() {
        let message = "git commit -m \"$(cat <<'EOF'\nFix (don't run `cargo test`\n\n- it's: pytest\nEOF\n)\"";
        assert_eq!(test_runner(message), None);
        assert_eq!(test_runner(&format!("{message} && npm test")), Some("npm test"));
        assert_eq!(
            test_runner("git commit -m \"$(cat <<'EOF'\nit's\nEOF)\" && npm test"),
            Some("npm test")
        );
    }

    #[test]
    fn a_command_continues_after_an_escaped_newline() {
        assert_eq!(test_runner("cargo \\\n  test"), Some("cargo test"));
        assert_eq!(test_runner("cargo \\\r\n  test"), Some("cargo test"));
        assert_eq!(test_runner("cargo `\n  test"), Some("cargo test"));
        assert_eq!(test_runner("cd app\r\ncargo test\r\n"), Some("cargo test"));
        assert_eq!(test_runner("cargo\ntest"), None);
    }

    #[test]
    fn the_first_of_several_runners_is_returned() {
        assert_eq!(test_runner("cargo test && pytest"), Some("cargo test"));
        assert_eq!(test_runner("pytest; cargo test"), Some("pytest"));
        assert_eq!(test_runner("cargo test --no-run && pytest"), Some("pytest"));
    }

    #[test]
    fn hostile_text_causes_neither_a_panic_nor_a_long_run() {
        // No clock here: these six thousand texts take seconds, and a quadratic search would take minutes.
        #[rustfmt::skip]
        let pieces = [
            "(", ")", "$(", "${", "`", "'", "\"", "\\", "$'", "<<", "<<E\n", "<<'", "<<<", "<(", "&>", "{", "((",
            "$((", "#", ";", "|", "&", "\n", "\0", "é", "\u{202e}", "😀", "\\é", "A=(", "sudo ", "env A=1 ",
            "bash -c ", "bash -c \"$(", "eval ", "ssh h ", "npx ", "timeout 1 ", "yarn ", "uv run ", "cmd /c ", "a;",
            "a b ", "find -exec ", "-", "--", "=", "[", "/", ".", "test ", "$", "make ", "python ", "wsl wsl ",
            "parallel ", "tmux send-keys a b ",
        ];
        for first in pieces {
            test_runner(&first.repeat(1024 * 1024 / first.len()));
            for second in pieces {
                test_runner(&format!("{first}{second}"));
                test_runner(&format!("{}{}", first.repeat(10), second.repeat(10)));
            }
        }
    }

    #[test]
    fn every_prefix_of_a_command_parses() {
        let command =
            "cd é && env A='ü' bash -lc \"$(cat <<'EÖF'\nx😀\nEÖF\n) `a` ${b} $'\\n\\é' <(c) && cargo test\" 2>&1";
        for (start, _) in command.char_indices() {
            for (end, _) in command.char_indices().filter(|(end, _)| *end >= start) {
                test_runner(&command[start..end]);
            }
        }
    }

    #[test]
    fn only_the_start_of_a_long_command_is_examined() {
        let padding = "é".repeat(super::EXAMINED_BYTES_MAX);
        assert_eq!(test_runner(&format!("cargo test {padding}")), Some("cargo test"));
        assert_eq!(test_runner(&format!("echo {padding}; cargo test")), None);
        assert_eq!(
            test_runner(&format!("echo {}; cargo test", "x".repeat(8000))),
            Some("cargo test")
        );
    }
}
