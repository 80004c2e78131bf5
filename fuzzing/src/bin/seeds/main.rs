//! Writes the seed corpus: small synthetic logs, states, heads and commands. The output is always the same.
//!
//! `cargo run --manifest-path fuzzing/Cargo.toml --bin seeds`, after a change of a reader's state or of the builders.

use std::fs;
use std::path::{Path, PathBuf};

use boswell_fuzz::Input;
use testkit::logs::ClaudeLog;
use testkit::truth;
use transcript::{Agent, Origin, State};

use self::stories::stories;

mod stories;

/// Larger seeds slow the fuzzer down without finding more.
const SEED_BYTES_MAX: usize = 8 << 10;

/// Commands with wrappers, quotes and substitutions.
const COMMANDS: &[&str] = &[
    "cargo test -p app -- --nocapture",
    "cd app && RUST_LOG=debug timeout 60 bash -lc 'npx vitest run' 2>&1 | tail -5",
    "env -u A B=1 nice -n 5 python3 -m pytest -q tests/ || true",
    "cat <<'EOF' | bash\nset -e\ngo test ./...\nEOF",
    "ssh host <<EOF\nmake check\nEOF",
    "docker compose run --rm web sh -c \"bundle exec rspec $(git diff --name-only)\"",
    "if ! mvn -q test; then echo `date`; fi",
    "for f in *; do node --test \"$f\"; done",
    "$out = dotnet test; powershell -Command \"Invoke-Pester\"",
    "bash -c \"bash -c \\\"bash -c 'ctest -j2'\\\"\"",
    "diff <(pytest -q) <(cat x) >out 2>&1",
    "tests=(unit pytest); echo ${tests[1]} $((1+2)) \\",
];

/// Heads of logs of each agent, and paths.
const HEADS: &[&str] = &[
    "{\"type\":\"summary\",\"summary\":\"x\",\"leafUuid\":\"u\"}\n",
    "{\"timestamp\":\"t\",\"type\":\"session_meta\",\"payload\":{}}\n",
    "{\"id\":\"x\",\"timestamp\":\"t\",\"instructions\":null}\n{\"record_type\":\"state\"}\n",
    "{\"timestamp\":1,\"method\":\"session/update\",\"params\":{\"update\":{\"sessionUpdate\":\"tool_call\"}}}\n",
    "{\"ts\":\"t\",\"type\":\"turn_started\"}\n",
    "torn{\n\n\u{feff}{\"parentUuid\":\"s\"",
    "projects/-home-ada-app/5e55/subagents/workflows/wf_1/agent-a1.jsonl",
    "C:\\Users\\ada\\agent-b2.jsonl.gz",
    "com1.txt",
];

fn main() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let room = |target: &str| -> PathBuf {
        let room = corpus.join(target);
        fs::create_dir_all(&room).expect("the corpus can be written");
        room
    };
    let put = |path: PathBuf, bytes: &[u8]| fs::write(path, bytes).expect("the corpus can be written");

    let mut logs: Vec<(String, Vec<u8>)> = stories()
        .into_iter()
        .map(|(name, log)| (name.to_owned(), log))
        .collect();
    let traps = truth::claude(7, 12);
    let small = traps
        .files
        .into_iter()
        .filter(|(_, bytes)| bytes.len() <= SEED_BYTES_MAX);
    logs.extend(
        small
            .take(12)
            .enumerate()
            .map(|(n, (_, bytes))| (format!("traps-{n:02}"), bytes)),
    );

    for (n, (name, log)) in logs.iter().enumerate() {
        // Printable letters for cuts and path, so that a seed is readable.
        let head = [b'@', b'P', b'p', b'z', b'0' + (n % 8) as u8];
        let bytes = [&head[..], log].concat();
        let input = Input::of(Agent::Claude, &bytes).expect("a seed has a head");
        let (_, state) = input.read_whole();
        put(room("claude").join(name), &bytes);
        if state.to_bytes().len() < 2_048 {
            put(room("state").join(name), &state.to_bytes()[2..]);
        }
    }
    let fresh = State::new(Agent::Claude, Origin::default());
    put(room("state").join("fresh"), &fresh.to_bytes());
    for (n, head) in HEADS.iter().enumerate() {
        put(room("detect").join(format!("head-{n:02}")), head.as_bytes());
    }
    let log = ClaudeLog::new("5e551000-0000-4000-8000-000000000001").prompt("hello");
    put(room("detect").join("claude"), log.jsonl().as_bytes());
    for (n, command) in COMMANDS.iter().enumerate() {
        put(room("command").join(format!("command-{n:02}")), command.as_bytes());
    }
}
