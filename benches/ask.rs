//! How long a question takes from the shell: whole commands, process start included, beside a process that does nothing;
//! and a first sweep beside that of agentsview, where it can be had.

#![allow(clippy::print_stdout, clippy::disallowed_methods)]

mod process;
mod rival;
mod seeded;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde_json::Value;

/// Tiny sessions for lists.
const MANY: usize = 10_000;

fn main() {
    let binary = seeded::binary();
    let (home, written) = seeded::corpus();
    println!("{} files, {} bytes{}", written.files, written.bytes, written.speed());
    let seeded = Memory::swept(&binary, &home);
    let many = Memory::swept(&binary, &many_sessions());
    let rounds = seeded::number("BOSWELL_BENCH_ROUNDS", 30) as usize;
    println!();
    println!(
        "| command | best, ms | median, ms | CPU, ms, mean | wanted, ms | | `/bin/true`, median | sessions found | frames read |"
    );
    println!("|---|---:|---:|---:|---:|---|---:|---:|---:|");
    let words = Words::of(&seeded);
    for (name, memory, args, wanted_ms) in questions(&words, &many) {
        let memory = if memory == Corpus::Seeded { &seeded } else { &many };
        measure(name, memory, &args, wanted_ms, rounds);
    }
    println!();
    rival::beside(&home, &binary);
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Corpus {
    Seeded,
    Many,
}

type Asked = (&'static str, Corpus, Vec<String>, f64);

fn questions(words: &Words, many: &Memory) -> Vec<Asked> {
    let search = |args: &[&str]| {
        let all = ["search", "--no-sweep", "--json"].iter().chain(args);
        all.map(|arg| (*arg).to_owned()).collect::<Vec<_>>()
    };
    let plain = |args: &[&str]| args.iter().map(|arg| (*arg).to_owned()).collect::<Vec<_>>();
    let mut asked = vec![
        ("nothing: `--version`", Corpus::Seeded, plain(&["--version"]), 10.0),
        ("`search` rare word", Corpus::Seeded, search(&[&words.rare]), 10.0),
        (
            "`search` word that is nowhere",
            Corpus::Seeded,
            search(&["zqxjkvw"]),
            10.0,
        ),
        (
            "`search self`, newest 20",
            Corpus::Seeded,
            search(&["self", "--limit", "20"]),
            20.0,
        ),
        (
            "`search --exact`, selective",
            Corpus::Seeded,
            search(&["--exact", &words.exact]),
            100.0,
        ),
        (
            "`search --regex`, with a literal",
            Corpus::Seeded,
            search(&["--regex", &words.regex]),
            100.0,
        ),
        (
            r"`search --regex '\d{3}:\d{2}'`, newest 20",
            Corpus::Seeded,
            search(&["--regex", r"\d{3}:\d{2}", "--limit", "20"]),
            500.0,
        ),
        (
            r"`search --regex '\d{9}-\d{7}'`, nowhere, all is read",
            Corpus::Seeded,
            search(&["--regex", r"\d{9}-\d{7}"]),
            500.0,
        ),
        (
            "`sessions`, of 10,000",
            Corpus::Many,
            plain(&["sessions", "--no-sweep"]),
            30.0,
        ),
        (
            "`sessions --json`, of 10,000",
            Corpus::Many,
            plain(&["sessions", "--no-sweep", "--json"]),
            30.0,
        ),
        (
            "`search` rare word in 10,000",
            Corpus::Many,
            search(&["number7777x"]),
            10.0,
        ),
    ];
    let show = plain(&["show", "--no-sweep", "00000000-0000-4000-8000-000000007777"]);
    if many.output(&show).is_some() {
        asked.push(("`show`, of 10,000", Corpus::Many, show, 30.0));
    } else {
        println!("(no `show` in this binary)");
    }
    asked
}

/// Times a command and a process that does nothing, by turns.
fn measure(name: &str, memory: &Memory, args: &[String], wanted_ms: f64, rounds: usize) {
    let (mut own, mut nothing) = (Vec::new(), Vec::new());
    let mut cpu_seconds = 0.0;
    for _ in 0..rounds {
        let before = process::children_cpu_seconds().unwrap_or(f64::NAN);
        own.push(timed(&mut memory.command(args)));
        cpu_seconds += process::children_cpu_seconds().unwrap_or(f64::NAN) - before;
        nothing.push(timed(&mut Command::new("/bin/true")));
    }
    // The clock of a busy machine tells of the neighbours; CPU time tells of us, in ticks of 10 ms that even out.
    let cpu_ms = cpu_seconds * 1e3 / rounds as f64;
    let told: Option<Value> = memory
        .output(args)
        .and_then(|output| serde_json::from_slice(&output).ok());
    let number = |name: &str| {
        let number = told.as_ref().and_then(|told| told[name].as_u64());
        number.map_or("–".to_owned(), |number| number.to_string())
    };
    let (best, median) = (best(&own), middle(&mut own));
    let verdict = if best <= wanted_ms { "holds" } else { "**missed**" };
    println!(
        "| {name} | {best:.1} | {median:.1} | {cpu_ms:.1} | {wanted_ms:.0} | {verdict} | {:.1} | {} | {} |",
        middle(&mut nothing),
        number("sessions"),
        number("frames_read"),
    );
}

fn timed(command: &mut Command) -> f64 {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let status = command.status().expect("the program runs");
    let took = start.elapsed().as_secs_f64() * 1e3;
    // 1 is "nothing found".
    assert!(matches!(status.code(), Some(0 | 1)), "{command:?}: {status}");
    took
}

fn best(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

fn middle(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// A home that was swept into a memory which is kept between runs.
struct Memory {
    binary: PathBuf,
    home: PathBuf,
    data: PathBuf,
}

impl Memory {
    fn swept(binary: &Path, home: &Path) -> Self {
        let mut name = home.file_name().unwrap_or_default().to_owned();
        name.push("-memory");
        let memory = Self {
            binary: binary.to_owned(),
            home: home.to_owned(),
            data: home.with_file_name(name),
        };
        let start = Instant::now();
        memory.output(&["sweep".to_owned()]).expect("the sweep succeeds");
        println!("{}: swept in {:.1} s", home.display(), start.elapsed().as_secs_f64());
        memory
    }

    fn command(&self, args: &[String]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(args)
            .env("HOME", &self.data)
            .env("BOSWELL_HOME", &self.data)
            .env_remove("XDG_CONFIG_HOME");
        for (name, folder) in [
            ("CLAUDE_CONFIG_DIR", ".claude"),
            ("CODEX_HOME", ".codex"),
            ("GROK_HOME", ".grok"),
        ] {
            command.env(name, self.home.join(folder));
        }
        command
    }

    fn output(&self, args: &[String]) -> Option<Vec<u8>> {
        let output = self.command(args).output().expect("the program runs");
        matches!(output.status.code(), Some(0 | 1)).then_some(output.stdout)
    }

    /// In how many sessions something stands, counted to four.
    fn sessions(&self, args: &[&str]) -> u64 {
        let all = ["search", "--no-sweep", "--json", "--limit", "4"].iter().chain(args);
        let args: Vec<String> = all.map(|arg| (*arg).to_owned()).collect();
        let told: Value = self
            .output(&args)
            .and_then(|told| serde_json::from_slice(&told).ok())
            .unwrap_or_default();
        told["sessions"].as_u64().unwrap_or_default()
    }
}

/// What is asked of the seeded corpus: drawn from its own texts, so that it is there, and seldom.
struct Words {
    rare: String,
    exact: String,
    regex: String,
}

impl Words {
    fn of(memory: &Memory) -> Self {
        let mut files = Vec::new();
        seeded::files_below(&memory.home.join(".claude/projects"), &mut files);
        let seldom = |word: &str| (1..=3).contains(&memory.sessions(&[word]));
        let rare = files.iter().skip(files.len() / 2).find_map(|path| {
            let log = fs::read_to_string(path).expect("a log can be read");
            let words = log.split(|c: char| !c.is_ascii_alphanumeric());
            let long = words.filter(|word| (10..30).contains(&word.len())).take(200);
            long.map(str::to_owned).find(|word| seldom(word))
        });
        let rare = rare.expect("a corpus has rare words");
        // An expression and characters that cut the word, so that words cannot help.
        let cut = &rare[1..rare.len() - 1];
        let regex = format!("{}[a-z0-9]{}", &cut[..4], &cut[5..]);
        println!("rare word: `{rare}`, characters: `{cut}`, expression: `{regex}`");
        Self {
            rare: rare.clone(),
            exact: cut.to_owned(),
            regex,
        }
    }
}

/// A home with very many very short sessions.
fn many_sessions() -> PathBuf {
    seeded::kept(&format!("many-{MANY}"), |home| {
        for number in 0..MANY {
            let uid = format!("00000000-0000-4000-8000-{number:012}");
            let folder = home.join(format!(".claude/projects/-home-ada-project-{}", number % 50));
            fs::create_dir_all(&folder).expect("the build directory can be written");
            let at = |second: usize| {
                format!(
                    "2026-{:02}-{:02}T{:02}:{:02}:{second:02}Z",
                    1 + number % 12,
                    1 + number % 28,
                    number % 24,
                    number % 60
                )
            };
            let common = |id: usize, second: usize| {
                format!(
                    r#""uuid":"{id:08}-{number:024}","timestamp":"{}","sessionId":"{uid}","cwd":"/home/ada/project-{}","version":"2.1.0""#,
                    at(second),
                    number % 50
                )
            };
            let prompt = format!(
                r#"{{"type":"user","message":{{"role":"user","content":"fix number{number}x"}},{}}}"#,
                common(1, 1)
            );
            let answer = format!(
                r#"{{"type":"assistant","message":{{"id":"m{number}","role":"assistant","model":"claude","content":[{{"type":"text","text":"done"}}],"usage":{{"input_tokens":1,"output_tokens":1}}}},{}}}"#,
                common(2, 2)
            );
            fs::write(folder.join(format!("{uid}.jsonl")), format!("{prompt}\n{answer}\n"))
                .expect("the build directory can be written");
        }
    })
}
