//! Programs that run another program: where in their arguments the other one is.
//!
//! Only positions are known here, not what the inner command does. An extra row does no harm because what it finds is
//! judged like any other command: `sudo grep` is still a grep.

use std::borrow::Cow;

use self::InnerPosition::{Script, ScriptAfter, Scripts, TextAfter, TextAfterWithout, Words, WordsAfter};
use super::is_one_of;
use super::shell::ShellWord;

/// The command inside a wrapper.
pub(super) enum InnerCommand<'w> {
    /// A program and its arguments.
    Words(&'w [ShellWord<'w>]),
    /// A script for a shell.
    Script(Cow<'w, str>),
}

struct WrapperRule {
    program: &'static str,
    /// The arguments that must follow the program, ignoring options; `|` separates alternatives.
    words: &'static str,
    /// Options whose next argument is their value, separated by spaces.
    valued: &'static str,
    inside: InnerPosition,
}

/// Where the inner command is.
#[derive(Clone, Copy)]
enum InnerPosition {
    /// After options and this many operands.
    Words(usize),
    /// The same, but the words are joined and parsed by a shell.
    Script(usize),
    /// Every operand is a script of its own.
    Scripts,
    /// The words after one of these.
    WordsAfter(&'static str),
    /// All words after one of these are joined into a script.
    ScriptAfter(&'static str),
    /// The one word after one of these is a script.
    TextAfter(&'static str),
    /// The one word after one of these is a script without its first word: `cargo watch -x test`.
    TextAfterWithout(&'static str, &'static str),
}

const fn row(program: &'static str, words: &'static str, valued: &'static str, inside: InnerPosition) -> WrapperRule {
    WrapperRule {
        program,
        words,
        valued,
        inside,
    }
}

const CONTAINER: &str = "\
    -e --env -v --volume -w --workdir -u --user --name --network --net -p --publish --mount --env-file \
    --entrypoint --hostname -m --memory --cpus --platform --add-host -l --label --shm-size --ulimit --cap-add \
    --security-opt --device --gpus --ipc --tmpfs --pull --restart --runtime --link --volumes-from --dns --pid --cidfile \
    --context -H --host --detach-keys --index -f --file --profile --project-name --project-directory --userns";
const PYTHON_PROJECT: &str = "\
    --with --with-editable --with-requirements --python -p --extra --group --only-group --no-group \
    --project --directory --env-file --index-url --index --package --from --refresh-package --active-env -C -P -n --name \
    --prefix --cwd -e --env --manifest-path --color";
const PACKAGE_MANAGER: &str =
    "-p --package --prefix -C --dir --filter -F --cwd -w --workspace --node-options --workspace-concurrency --loglevel";

#[rustfmt::skip]
const WRAPPERS: &[WrapperRule] = &[
    // The system
    row("sudo", "", "-u --user -g --group -h -p -C -D -R -T -U -r -t --chdir --prompt", Words(0)),
    row("doas", "", "-u -C", Words(0)),
    row("su", "", "", TextAfter("-c|--command")),
    row("env", "", "-u --unset -C --chdir", Words(0)),
    row("env", "", "", ScriptAfter("-S|--split-string")),
    row("timeout", "", "-k --kill-after -s --signal", Words(1)),
    row("gtimeout", "", "-k --kill-after -s --signal", Words(1)),
    row("nice", "", "-n --adjustment", Words(0)),
    row("ionice", "", "-c --class -n --classdata", Words(0)),
    row("chrt", "", "", Words(1)),
    row("taskset", "", "", Words(1)),
    row("prlimit", "", "", Words(0)),
    row("systemd-run", "", "-p --property -u --unit -E --setenv", Words(0)),
    row("flock", "", "-w --timeout -E", Words(1)),
    row("flock", "", "", TextAfter("-c|--command")),
    row("time", "", "-f --format -o --output", Words(0)),
    row("nohup", "", "", Words(0)),
    row("setsid", "", "", Words(0)),
    row("stdbuf", "", "-i -o -e --input --output --error", Words(0)),
    row("unbuffer", "", "", Words(0)),
    row("chronic", "", "", Words(0)),
    row("script", "", "", TextAfter("-c|--command|-qc|-qec|-qefc|-qfc|-eqc|-efqc")),
    row("script", "", "-t -T -I -O -B -E", Words(1)),
    row("xvfb-run", "", "-e -f -n -p -s -w --server-args --server-num --error-file --auth-file", Words(0)),
    row("dbus-run-session", "", "", Words(0)),
    row("caffeinate", "", "-t -w", Words(0)),
    row("arch", "", "", Words(0)),
    row("strace", "", "-e -o -s -p -P", Words(0)),
    row("valgrind", "", "", Words(0)),
    row("perf", "stat|record", "-e -o -F -g", Words(0)),
    row("rr", "record", "", Words(0)),
    row("gdb", "", "", WordsAfter("--args")),
    row("lldb", "", "", WordsAfter("--")),
    row("catchsegv", "", "", Words(0)),
    row("command", "", "", Words(0)),
    row("builtin", "", "", Words(0)),
    row("exec", "", "-a", Words(0)),
    row("eval", "", "", Script(0)),
    row("trap", "", "", Scripts),
    row("watch", "", "-n --interval -q --equexit", Script(0)),
    row("watchexec", "", "-e --exts -w --watch -i --ignore -f --filter -d --debounce -s --signal", Script(0)),
    row("entr", "", "", Words(0)),
    row("nodemon", "", "-w --watch -e --ext -i --ignore", Words(0)),
    row("nodemon", "", "", TextAfter("-x|--exec")),
    row("chokidar", "", "", TextAfter("-c|--command")),
    row("xargs", "", "-n -I -P -L -d -s -a -E --max-args --max-procs --delimiter --replace --arg-file", Words(0)),
    row("parallel", "", "-j --jobs -a --arg-file -n -N -S --colsep --timeout --joblog --delay", Script(0)),
    row("find", "", "", WordsAfter("-exec|-execdir|-ok")),
    row("fd", "", "", WordsAfter("-x|-X|--exec|--exec-batch")),
    row("git", "bisect run", "-C", Words(0)),
    row("git", "submodule foreach", "-C", Script(0)),
    row("git", "rebase", "", TextAfter("-x|--exec")),
    row("rtk", "test|proxy|err|summary", "", Words(0)),
    row("rtk", "", "", Words(0)),
    row("hyperfine", "", "-w --warmup -r --runs -m -M -n -p --prepare", Scripts),
    // Other shells and machines
    row("cmd", "", "", ScriptAfter("/c|/C|/k|/K|//c|//C")),
    row("powershell", "", "", ScriptAfter("-Command|-command|-c|-C")),
    row("pwsh", "", "", ScriptAfter("-Command|-command|-c|-C")),
    row("powershell", "", "-ExecutionPolicy -Version", WordsAfter("-File|-file|-f")),
    row("pwsh", "", "-ExecutionPolicy -Version", WordsAfter("-File|-file|-f")),
    row("wsl", "", "", WordsAfter("-e|--exec")),
    row("wsl", "", "", ScriptAfter("--")),
    row("wsl", "", "-d --distribution -u --user --cd", Script(0)),
    row("ssh", "", "-p -i -o -l -F -J -L -R -D -b -c -E -e -I -m -Q -S -W -w", Script(1)),
    row("sshpass", "", "-p -f", Words(0)),
    row("vagrant", "ssh", "", TextAfter("-c|--command")),
    row("tmux", "send-keys|send", "-t -N", Scripts),
    row("tmux", "new-session|new|new-window|neww|split-window|splitw|respawn-pane", "-s -n -c -t -x -y -e -l -F",
        Scripts),
    row("screen", "", "-S -X -p -c", Words(0)),
    row("docker", "exec", CONTAINER, Words(1)),
    row("docker", "run", CONTAINER, Words(1)),
    row("docker", "container exec|run", CONTAINER, Words(1)),
    row("docker", "compose exec|run", CONTAINER, Words(1)),
    row("docker-compose", "exec|run", CONTAINER, Words(1)),
    row("podman", "exec|run", CONTAINER, Words(1)),
    row("podman", "compose exec|run", CONTAINER, Words(1)),
    row("podman-compose", "exec|run", CONTAINER, Words(1)),
    row("nerdctl", "exec|run", CONTAINER, Words(1)),
    row("container", "exec|run", CONTAINER, Words(1)),
    row("distrobox", "enter", "", WordsAfter("--|-e")),
    row("toolbox", "run", "-c --container", Words(0)),
    row("devcontainer", "exec", "--workspace-folder --config", Words(0)),
    row("kubectl", "", "", WordsAfter("--")),
    row("oc", "", "", WordsAfter("--")),
    row("ddev", "exec", "-s -d", Words(0)),
    row("ddev", "", "", Words(0)),
    row("lando", "", "", Words(0)),
    row("sail", "", "", Words(0)),
    row("heroku", "run", "-a --app", Words(0)),
    row("fly", "ssh console", "", TextAfter("-C|--command")),
    // Environments
    row("mise", "exec|x", "", WordsAfter("--")),
    row("mise", "exec|x", "", ScriptAfter("-c|--command")),
    row("mise", "run|r", "", Words(0)),
    row("rtx", "exec|x", "", WordsAfter("--")),
    row("asdf", "exec", "", Words(0)),
    row("direnv", "exec", "", Words(1)),
    row("dotenv", "", "-e -f -c -v --file", Words(0)),
    row("dotenv", "run", "-e -f", Words(0)),
    row("dotenvx", "run", "", WordsAfter("--")),
    row("doppler", "run", "", WordsAfter("--")),
    row("doppler", "run", "", TextAfter("--command")),
    row("op", "run", "", WordsAfter("--")),
    row("infisical", "run", "", WordsAfter("--")),
    row("aws-vault", "exec", "", WordsAfter("--")),
    row("chamber", "exec", "", WordsAfter("--")),
    row("nix", "develop|shell", "", WordsAfter("-c|--command")),
    row("nix", "run", "", WordsAfter("--")),
    row("nix-shell", "", "", TextAfter("--run|--command")),
    row("devenv", "shell", "", Words(0)),
    row("devbox", "run", "-c --config", Words(0)),
    row("pixi", "run", PYTHON_PROJECT, Words(0)),
    row("guix", "shell", "", WordsAfter("--")),
    row("opam", "exec", "", WordsAfter("--")),
    row("esy", "", "", Words(0)),
    row("stack", "exec", "", WordsAfter("--")),
    row("cabal", "exec", "", WordsAfter("--")),
    row("rustup", "run", "", Words(1)),
    row("fvm", "", "", Words(0)),
    row("xcrun", "", "--sdk --toolchain", Words(0)),
    row("nvm", "exec|run", "", Words(1)),
    row("fnm", "exec", "--using", Words(0)),
    row("volta", "run", "--node --npm --yarn", Words(0)),
    row("corepack", "", "", Words(0)),
    row("conda", "run", PYTHON_PROJECT, Words(0)),
    row("mamba", "run", PYTHON_PROJECT, Words(0)),
    row("micromamba", "run", PYTHON_PROJECT, Words(0)),
    row("uv", "run", PYTHON_PROJECT, Words(0)),
    row("uv", "run", PYTHON_PROJECT, WordsAfter("-m|--module")),
    row("uv", "tool run", PYTHON_PROJECT, Words(0)),
    row("uvx", "", PYTHON_PROJECT, Words(0)),
    row("pipx", "run", "--spec --python", Words(0)),
    row("poetry", "run", PYTHON_PROJECT, Words(0)),
    row("pipenv", "run", "", Words(0)),
    row("pdm", "run", "-p --project", Words(0)),
    row("hatch", "", "-e --env", WordsAfter("run")),
    row("rye", "run", "", Words(0)),
    row("pyenv", "exec", "", Words(0)),
    row("rbenv", "exec", "", Words(0)),
    row("rvm", "do", "", Words(0)),
    row("bundle", "exec", "", Words(0)),
    row("bundler", "exec", "", Words(0)),
    row("appraisal", "", "", Words(1)),
    row("spring", "", "", Words(0)),
    row("composer", "exec", "", Words(0)),
    row("lerna", "exec", "", WordsAfter("--")),
    row("lerna", "exec", "", Words(0)),
    // Package managers, which also run the binaries of packages
    row("npx", "", "-p --package", Words(0)),
    row("npx", "", "", TextAfter("-c|--call")),
    row("pnpx", "", "-p --package", Words(0)),
    row("bunx", "", "-p --package", Words(0)),
    row("nlx", "", "", Words(0)),
    row("npm", "exec|x", PACKAGE_MANAGER, Words(0)),
    row("npm", "run|run-script", PACKAGE_MANAGER, Words(0)),
    row("pnpm", "exec|dlx|x", PACKAGE_MANAGER, Words(0)),
    row("pnpm", "run", PACKAGE_MANAGER, Words(0)),
    row("pnpm", "", PACKAGE_MANAGER, Words(0)),
    row("yarn", "exec|dlx|run", PACKAGE_MANAGER, Words(0)),
    row("yarn", "workspace", PACKAGE_MANAGER, Words(1)),
    row("yarn", "", PACKAGE_MANAGER, Words(0)),
    row("bun", "x|run", "--cwd --filter -F -c --config --preload -r --env-file", Words(0)),
    row("nyc", "", "-r --reporter -x --exclude -n --include --report-dir", Words(0)),
    row("c8", "", "-r --reporter -x --exclude -n --include -o --reports-dir", Words(0)),
    row("cross-env", "", "", Words(0)),
    row("cross-env-shell", "", "", Script(0)),
    row("concurrently", "", "-n --names -c", Scripts),
    row("start-server-and-test", "", "", Scripts),
    row("retry", "", "-n -d -t --times", Words(0)),
    // Compilers' drivers
    row("cargo", "watch|w", "", TextAfterWithout("-x|--exec", "cargo")),
    row("cargo", "watch|w", "", TextAfter("-s|--shell")),
    row("cargo", "watch|w", "", WordsAfter("--")),
    row("go", "run", "-C -mod -tags -modfile -exec", Words(0)),
    row("memray", "run", "-o", Words(0)),
    row("py-spy", "record|top", "", WordsAfter("--")),
    row("opencppcoverage", "", "", WordsAfter("--")),
    row("kcov", "", "", Words(1)),
    row("bashcov", "", "", Words(0)),
];

/// Returns every command inside `program` with `arguments`. Rows overlap if a program has several forms.
pub(super) fn inner_commands<'w>(program: &str, arguments: &'w [ShellWord<'w>]) -> Vec<InnerCommand<'w>> {
    let mut found = Vec::new();
    for wrapper in WRAPPERS.iter().filter(|wrapper| wrapper.program == program) {
        let mut rest = arguments;
        let mut steps = wrapper.words.split_ascii_whitespace();
        let matches = steps.all(|step| {
            rest = skip_options(rest, wrapper.valued);
            let matches = rest.first().is_some_and(|word| is_one_of(word, step));
            rest = rest.get(1..).unwrap_or_default();
            matches
        });
        if matches {
            wrapper.inside.collect(rest, wrapper.valued, &mut found);
        }
    }
    found
}

impl InnerPosition {
    fn collect<'w>(self, words: &'w [ShellWord<'w>], valued: &str, found: &mut Vec<InnerCommand<'w>>) {
        let operands = |count: usize| {
            let rest = skip_options(words, valued).get(count..).unwrap_or_default();
            // `--` may separate the wrapper's operands from the command: `kubectl exec pod -- …`.
            if rest.first().is_some_and(|word| word == "--") {
                rest.get(1..).unwrap_or_default()
            } else {
                rest
            }
        };
        let after = |flags: &str| {
            let at = words.iter().position(|word| is_one_of(word, flags))?;
            words.get(at + 1..).filter(|rest| !rest.is_empty())
        };
        match self {
            Words(count) => found.push(InnerCommand::Words(operands(count))),
            Script(count) => found.push(InnerCommand::Script(operands(count).join(" ").into())),
            Scripts => found.extend(
                operands(0)
                    .iter()
                    .map(|word| InnerCommand::Script(Cow::Borrowed(word.as_ref()))),
            ),
            WordsAfter(flags) => found.extend(after(flags).map(InnerCommand::Words)),
            ScriptAfter(flags) => found.extend(after(flags).map(|rest| InnerCommand::Script(rest.join(" ").into()))),
            TextAfter(flags) => {
                let text = after(flags).and_then(<[ShellWord<'_>]>::first);
                found.extend(text.map(|text| InnerCommand::Script(Cow::Borrowed(text.as_ref()))));
            }
            TextAfterWithout(flags, first) => {
                let text = after(flags).and_then(<[ShellWord<'_>]>::first);
                found.extend(text.map(|text| InnerCommand::Script(format!("{first} {text}").into())));
            }
        }
    }
}

/// Skips options, and the values of those in `valued`. `--` ends them.
pub(super) fn skip_options<'w>(words: &'w [ShellWord<'w>], valued: &str) -> &'w [ShellWord<'w>] {
    let mut rest = words;
    while let Some((word, others)) = rest.split_first() {
        if word == "--" {
            return others;
        }
        if !word.starts_with(['-', '+']) || word.len() < 2 {
            break;
        }
        let takes_value = valued.split_ascii_whitespace().any(|option| option == word);
        rest = others.get(usize::from(takes_value)..).unwrap_or_default();
    }
    rest
}
