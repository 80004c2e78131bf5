//! Lists and single sessions among ten thousand, compared with a process that does nothing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::bench::{Bench, CLAUDE, Entrant};
use crate::figures::Job;
use crate::seeded::{cache, kept};

pub fn job(bench: &mut Bench) -> Job {
    let many = bench.size(10_000, 300);
    let memory = bench
        .memory(&many_sessions(many), cache().join("peers-list"), CLAUDE)
        .swept();
    let session = format!("00000000-0000-4000-8000-{:012}", many * 7 / 9);
    let rounds = bench.rounds(15);
    let asked: [(&str, String, Vec<&str>); 3] = [
        (
            "sessions",
            format!("The newest 50 of {many} sessions"),
            vec!["sessions", "--no-sweep"],
        ),
        (
            "show",
            format!("One of {many} sessions"),
            vec!["show", "--no-sweep", &session],
        ),
        ("version", "Nothing but its version".to_owned(), vec!["--version"]),
    ];
    let contests = asked
        .iter()
        .map(|(name, what, words)| {
            let entrants = vec![
                Entrant::new(&format!("boswell {}", words[0]), || memory.command(words)),
                Entrant::new("/bin/true", || Command::new("/bin/true")),
            ];
            bench.contest(name, what, entrants, rounds)
        })
        .collect();
    _ = fs::remove_dir_all(&memory.data);
    Job {
        contests,
        ..Job::default()
    }
}

/// Returns a home with very many very short sessions.
fn many_sessions(many: u64) -> PathBuf {
    kept(&format!("many-{many}"), |home| {
        for number in 0..many {
            let uid = format!("00000000-0000-4000-8000-{number:012}");
            let folder = home.join(format!(".claude/projects/-home-ada-project-{}", number % 50));
            fs::create_dir_all(&folder).expect("the build directory can be written");
            fs::write(folder.join(format!("{uid}.jsonl")), session(number, &uid))
                .expect("the build directory can be written");
        }
    })
}

fn session(number: u64, uid: &str) -> String {
    let (month, day) = (1 + number % 12, 1 + number % 28);
    let (hour, minute) = (number % 24, number % 60);
    let common = |id: u64| {
        format!(
            r#""uuid":"{id:08}-{number:024}","timestamp":"2026-{month:02}-{day:02}T{hour:02}:{minute:02}:{id:02}Z","sessionId":"{uid}","cwd":"/home/ada/project-{}","version":"2.1.0""#,
            number % 50
        )
    };
    let prompt = format!(
        r#"{{"type":"user","message":{{"role":"user","content":"fix number{number}x"}},{}}}"#,
        common(1)
    );
    let answer = format!(
        r#"{{"type":"assistant","message":{{"id":"m{number}","role":"assistant","model":"claude","content":[{{"type":"text","text":"done"}}],"usage":{{"input_tokens":1,"output_tokens":1}}}},{}}}"#,
        common(2)
    );
    format!("{prompt}\n{answer}\n")
}
