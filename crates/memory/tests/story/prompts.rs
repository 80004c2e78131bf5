//! Prompts outlive logs: the prompts of histories are stored once, masked, and replaced when the log of the session
//! appears.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::sources::LogRoot;
use memory::store::{PromptsOnly, Store};
use memory::sweep::{Sweep, SweepReport, dry_run, run};
use rusqlite::Connection;
use tempfile::TempDir;
use transcript::Agent;

use super::home::{WAIT, place, run_sql};

/// A home with the roots of all agents, a second root for one of them, and a store.
struct Home {
    directory: TempDir,
    masker: Masker,
}

impl Home {
    fn new() -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            masker: Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn append(&self, name: &str, text: &str) {
        let mut file = fs::OpenOptions::new().append(true).open(self.path(name)).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Sweeps while an agent may still be writing.
    fn sweep(&self) -> SweepReport {
        self.sweep_at(Timestamp::now(), |sweep| run(sweep, WAIT))
    }

    /// Sweeps at a time one hour after all files were written.
    fn sweep_later(&self) -> SweepReport {
        self.sweep_at(Timestamp::now() + SignedDuration::from_hours(1), |sweep| {
            run(sweep, WAIT)
        })
    }

    fn sweep_at<T>(&self, now: Timestamp, how: fn(&Sweep<'_>) -> Result<T, memory::store::StoreError>) -> T {
        let root = |agent, name| LogRoot {
            agent,
            path: self.path(name),
            label: None,
        };
        let roots = [
            root(Agent::Claude, ".claude"),
            root(Agent::Claude, "laptop/.claude"),
            root(Agent::Codex, ".codex"),
            root(Agent::Grok, ".grok"),
        ];
        let directory = place(&self.path("store"));
        let sweep = Sweep {
            is_ignored: &|path| path.ends_with("ignored/prompt_history.jsonl"),
            ..Sweep::new(&directory, &roots, &self.masker, now)
        };
        how(&sweep).unwrap()
    }

    fn store(&self) -> Store {
        Store::open(place(&self.path("store"))).unwrap()
    }

    fn prompts_only(&self) -> Vec<PromptsOnly> {
        self.store().reads().prompts_only().unwrap()
    }

    /// Returns one line for each session of which only prompts are known.
    fn listed(&self) -> Vec<String> {
        let line = |session: PromptsOnly| {
            let seconds =
                |micros: Option<i64>| micros.map_or("-".to_owned(), |micros| (micros / 1_000_000).to_string());
            format!(
                "{} {} {}..{} {} {:?}",
                session.session_uid,
                session.project.as_deref().unwrap_or("-"),
                seconds(session.first_micros),
                seconds(session.last_micros),
                session.prompts,
                session.first_prompt
            )
        };
        self.prompts_only().into_iter().map(line).collect()
    }

    fn texts(&self, uid: &str) -> Vec<String> {
        let prompts = self.store().reads().prompts_of(uid).unwrap();
        prompts.into_iter().map(|(_, text)| text).collect()
    }
}

const CLAUDE: &str = ".claude/history.jsonl";
const CODEX: &str = ".codex/history.jsonl";
const GROK: &str = ".grok/sessions/%2Fhome%2Fada%2Fapp/prompt_history.jsonl";
const INDEX: &str = ".grok/sessions/session_search.sqlite";

/// A time in 2026.
const BASE: i64 = 1_787_000_000;

fn claude(id: &str, seconds: i64, text: &str) -> String {
    let record = serde_json::json!({
        "display": text, "pastedContents": {}, "timestamp": (BASE + seconds) * 1000, "project": "/home/ada/app", "sessionId": id,
    });
    format!("{record}\n")
}

fn codex(id: &str, seconds: i64, text: &str) -> String {
    format!(
        "{}\n",
        serde_json::json!({ "session_id": id, "ts": BASE + seconds, "text": text })
    )
}

fn grok(id: &str, at: &str, text: &str) -> String {
    let record = serde_json::json!({ "timestamp": at, "session_id": id, "prompt": text, "is_bash": false });
    format!("{record}\n")
}

/// Creates a search index as Grok does, in WAL mode, with its connection still open.
fn index(path: &Path) -> Connection {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let index = Connection::open(path).unwrap();
    index
        .execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;
             CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
             CREATE TABLE session_docs (session_id TEXT PRIMARY KEY, cwd TEXT NOT NULL, updated_at INTEGER NOT NULL,
                title TEXT NOT NULL, content TEXT NOT NULL, content_hash TEXT NOT NULL);
             CREATE VIRTUAL TABLE session_docs_fts USING fts5(title, content, content = 'session_docs',
                content_rowid = 'rowid');
             CREATE TRIGGER session_docs_ai AFTER INSERT ON session_docs BEGIN
                INSERT INTO session_docs_fts(rowid, title, content) VALUES (new.rowid, new.title, new.content); END;",
        )
        .unwrap();
    index
}

fn add_doc(index: &Connection, id: &str, content: &str) {
    index
        .execute(
            "INSERT OR REPLACE INTO session_docs VALUES (?1, '/home/ada/app', 1787000000, 'A title', ?2, 'hash')",
            [id, content],
        )
        .unwrap();
}

/// Returns the names and bytes of all files in a directory.
fn snapshot(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries
        .filter(|path| path.is_file())
        .map(|path| (path.clone(), fs::read(&path).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn sessions_whose_logs_are_gone_are_listed_with_their_prompts() {
    let home = Home::new();
    home.write(
        CLAUDE,
        claude("5e55", 100, "/model") + &claude("5e55", 110, "fix it") + &claude("beef", 90, "other"),
    );
    home.write(CODEX, codex("c0de", 200, "build it"));
    home.write(GROK, grok("0199", "2026-08-18T10:00:00Z", "draw it"));
    let report = home.sweep();
    assert_eq!(
        (report.prompts, report.files_read, report.faults),
        (5, 3, 0),
        "{report:?}"
    );
    insta::assert_snapshot!(home.listed().join("\n"), @r#"
    claude:5e55 /home/ada/app 1787000100..1787000110 2 "fix it"
    claude:beef /home/ada/app 1787000090..1787000090 1 "other"
    codex:c0de - 1787000200..1787000200 1 "build it"
    grok:0199 /home/ada/app 1787047200..1787047200 1 "draw it"
    "#);
    assert_eq!(home.texts("claude:5e55"), ["/model", "fix it"]);
}

#[test]
fn a_second_sweep_reads_no_byte_and_changes_nothing() {
    let home = Home::new();
    home.write(CLAUDE, claude("5e55", 100, "fix it"));
    home.write(GROK, grok("0199", "2026-08-18T10:00:00Z", "draw it"));
    drop(index(&home.path(INDEX)));
    assert!(home.sweep().bytes_read > 0);
    let (listed, operations) = (home.listed(), home.store().reads().operations(100).unwrap());
    let second = home.sweep();
    assert_eq!(
        (second.bytes_read, second.files_read, second.prompts),
        (0, 0, 0),
        "{second:?}"
    );
    assert_eq!((second.files_seen, second.files_unchanged), (3, 3));
    assert_eq!(home.listed(), listed);
    assert_eq!(home.store().reads().operations(100).unwrap(), operations);
}

#[test]
fn a_dry_run_counts_and_writes_nothing() {
    let home = Home::new();
    home.write(CLAUDE, claude("5e55", 100, "fix it"));
    let report = home.sweep_at(Timestamp::now(), dry_run);
    assert_eq!(
        (report.files_read, report.bytes_read),
        (1, claude("5e55", 100, "fix it").len() as u64)
    );
    assert!(!home.path("store").exists());
    home.sweep();
    assert_eq!(home.sweep_at(Timestamp::now(), dry_run).files_read, 0);
}

#[test]
fn a_session_is_complete_once_its_log_appears_and_stays_complete() {
    let home = Home::new();
    let log = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";
    let id = "5e550000-0000-4000-8000-000000000001";
    home.write(CLAUDE, claude(id, 100, "fix it"));
    home.sweep();
    assert_eq!(home.prompts_only().len(), 1);
    let record = format!("{{\"type\":\"user\",\"sessionId\":\"{id}\",\"message\":{{\"content\":\"fix it\"}}}}\n");
    home.write(log, record);
    home.sweep_later();
    assert_eq!(home.prompts_only(), []);
    home.append(CLAUDE, &claude(id, 120, "and this"));
    home.sweep();
    assert_eq!(home.prompts_only(), []);
    assert_eq!(home.texts(&format!("claude:{id}")), ["fix it", "and this"]);
    // The log is deleted, and the session stays stored.
    fs::remove_file(home.path(log)).unwrap();
    home.sweep();
    assert_eq!(home.prompts_only(), []);
}

#[test]
fn only_what_was_appended_is_read() {
    let home = Home::new();
    home.write(CODEX, codex("c0de", 100, "one"));
    home.sweep();
    let more = codex("c0de", 110, "two");
    home.append(CODEX, &more);
    let report = home.sweep();
    assert_eq!((report.bytes_read, report.prompts), (more.len() as u64, 1));
    assert_eq!(home.texts("codex:c0de"), ["one", "two"]);
}

#[test]
fn a_trimmed_or_rewritten_history_is_read_again_and_its_stored_prompts_stay() {
    let home = Home::new();
    home.write(CODEX, codex("c0de", 100, "one") + &codex("c0de", 110, "two"));
    home.sweep();
    // Codex removes the oldest prompts when its history grows too long.
    home.write(CODEX, codex("c0de", 110, "two"));
    assert_eq!(home.sweep().prompts, 0);
    home.write(
        CODEX,
        codex("c0de", 110, "two") + &codex("c0de", 120, "three") + &codex("c0de", 130, "four"),
    );
    assert_eq!(home.sweep().prompts, 2);
    home.write(
        CODEX,
        codex(
            "c0de",
            140,
            "quite another beginning, longer than all that was there before "
                .repeat(9)
                .trim(),
        ),
    );
    assert_eq!(home.sweep().prompts, 1);
    assert_eq!(home.texts("codex:c0de").len(), 5);
    home.write(CODEX, "");
    assert_eq!(home.sweep().prompts, 0);
    assert_eq!(home.texts("codex:c0de").len(), 5);
}

#[test]
fn secrets_are_masked_before_they_reach_the_disk() {
    let home = Home::new();
    let secret = ["ghp", "_", "16C7e42F292c6912E7710c838347Ae178B4a"].concat();
    home.write(CLAUDE, claude("5e55", 100, &format!("use {secret} to log in")));
    let docs = index(&home.path(INDEX));
    add_doc(&docs, "0199", &format!("use {secret} to draw"));
    let report = home.sweep();
    assert_eq!(report.redactions, 2, "{report:?}");
    for uid in ["claude:5e55", "grok:0199"] {
        let text = home.texts(uid).concat();
        assert!(text.starts_with("use [REDACTED:") && text.contains("] to "), "{text}");
    }
    let mut open = vec![home.path("store")];
    while let Some(path) = open.pop() {
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            let bytes = fs::read(&path).unwrap();
            assert!(
                !bytes.windows(secret.len()).any(|window| window == secret.as_bytes()),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn a_torn_last_line_waits_until_it_is_complete() {
    let home = Home::new();
    let (whole, torn) = (claude("5e55", 100, "whole"), claude("5e55", 110, "torn"));
    home.write(CLAUDE, whole + &torn[..40]);
    assert_eq!(home.sweep().faults, 0);
    assert_eq!(home.texts("claude:5e55"), ["whole"]);
    home.append(CLAUDE, &torn[40..]);
    let report = home.sweep();
    assert_eq!((report.faults, report.bytes_read), (0, torn.len() as u64), "{report:?}");
    assert_eq!(home.texts("claude:5e55"), ["whole", "torn"]);
}

#[test]
fn a_last_line_without_a_line_break_is_read_once_the_file_is_quiet() {
    let home = Home::new();
    let lines = claude("5e55", 100, "one") + claude("5e55", 110, "two").trim_end();
    home.write(CLAUDE, lines);
    home.sweep();
    assert_eq!(home.texts("claude:5e55"), ["one"]);
    assert_eq!(home.sweep_later().prompts, 1);
    assert_eq!(home.sweep_later().bytes_read, 0);
    let more = "\n".to_owned() + &claude("5e55", 120, "three") + "{\"torn\n";
    home.append(CLAUDE, &more);
    let report = home.sweep();
    assert_eq!(
        (report.prompts, report.bytes_read),
        (1, more.len() as u64),
        "{report:?}"
    );
    assert!(report.unread[0].reason.starts_with("line 4: "), "{report:?}");
    assert_eq!(home.texts("claude:5e55"), ["one", "two", "three"]);
}

#[test]
fn a_torn_line_that_is_continued_later_is_read_again() {
    let home = Home::new();
    let (whole, torn) = (claude("5e55", 100, "whole"), claude("5e55", 110, "torn"));
    home.write(CLAUDE, whole + &torn[..40]);
    assert_eq!(home.sweep_later().faults, 1);
    home.append(CLAUDE, &torn[40..]);
    let report = home.sweep();
    assert_eq!((report.prompts, report.faults), (1, 0), "{report:?}");
    assert_eq!(home.texts("claude:5e55"), ["whole", "torn"]);
}

#[test]
fn a_prompt_in_two_files_is_stored_once() {
    let home = Home::new();
    let lines = claude("5e55", 100, "fix it") + &claude("5e55", 100, "fix it") + &claude("5e55", 100, "fix that");
    home.write(CLAUDE, &lines);
    home.write("laptop/.claude/history.jsonl", &lines);
    assert_eq!(home.sweep().prompts, 2);
    assert_eq!(home.texts("claude:5e55").len(), 2);
}

#[test]
fn an_old_prompt_that_names_no_session_is_kept_once_per_project_and_is_no_session() {
    let home = Home::new();
    let old = |project: &str| format!("{{\"display\":\"hi\",\"timestamp\":100000,\"project\":\"{project}\"}}\n");
    home.write(
        CLAUDE,
        old("/home/ada/app") + &old("/home/ada/app") + &old("/home/ada/site"),
    );
    assert_eq!(home.sweep().prompts, 2);
    assert_eq!(home.prompts_only(), []);
    assert_eq!(home.texts("claude:"), ["hi", "hi"]);
}

#[test]
fn a_bad_line_is_reported_with_its_number_and_only_that_line_is_lost() {
    let home = Home::new();
    home.write(
        CODEX,
        codex("c0de", 100, "one") + "{\"session_id\n" + &codex("c0de", 110, "two"),
    );
    let report = home.sweep();
    assert_eq!((report.prompts, report.faults), (2, 1));
    let reason = &report.unread[0].reason;
    assert!(reason.starts_with("line 2: "), "{reason}");
}

#[test]
fn a_history_ignored_by_the_settings_is_not_read() {
    let home = Home::new();
    home.write(
        ".grok/sessions/ignored/prompt_history.jsonl",
        grok("0199", "2026-08-18T10:00:00Z", "draw it"),
    );
    let report = home.sweep();
    assert_eq!((report.files_seen, report.prompts), (0, 0));
}

#[test]
fn a_search_index_is_read_with_its_write_ahead_log_and_never_changed() {
    let home = Home::new();
    let path = home.path(INDEX);
    let docs = index(&path);
    add_doc(&docs, "0199", "draw a house");
    docs.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    add_doc(&docs, "0200", "paint it");
    let before = snapshot(path.parent().unwrap());
    assert!(
        before
            .iter()
            .any(|(path, bytes)| path.to_string_lossy().ends_with("-wal") && !bytes.is_empty())
    );
    let report = home.sweep();
    assert_eq!((report.prompts, report.unread.as_slice()), (2, [].as_slice()));
    assert_eq!(snapshot(path.parent().unwrap()), before);
    insta::assert_snapshot!(home.listed().join("\n"), @r#"
    grok:0199 /home/ada/app 1787000000..1787000000 0 "draw a house"
    grok:0200 /home/ada/app 1787000000..1787000000 0 "paint it"
    "#);
    assert_eq!(home.prompts_only()[0].title.as_deref(), Some("A title"));
    // The agent exits, and SQLite checkpoints its log: nothing is new, and no file is created.
    drop(docs);
    let before = snapshot(path.parent().unwrap());
    assert_eq!(before.len(), 1);
    assert_eq!(home.sweep().prompts, 0);
    assert_eq!(snapshot(path.parent().unwrap()), before);
    assert_eq!(home.sweep().bytes_read, 0);
}

#[test]
fn a_write_ahead_log_is_applied_up_to_its_last_complete_transaction_without_older_frames() {
    let home = Home::new();
    let path = home.path(INDEX);
    let docs = index(&path);
    for n in 0..200 {
        add_doc(&docs, &format!("0{n}"), &"old words ".repeat(40));
    }
    // The write-ahead log restarts at its head, and old pages stay behind the new ones.
    docs.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(()))
        .unwrap();
    add_doc(&docs, "new", "new words");
    add_doc(&docs, "newer", "newer words");
    let wal = home.path(&format!("{INDEX}-wal"));
    assert!(fs::metadata(&wal).unwrap().len() > 200_000);
    assert_eq!((home.sweep().prompts, home.prompts_only().len()), (202, 202));

    let docs = index(&home.path("other.sqlite"));
    add_doc(&docs, "one", "first");
    let whole = fs::metadata(home.path("other.sqlite-wal")).unwrap().len() as usize;
    add_doc(&docs, "two", "second");
    let bytes = fs::read(home.path("other.sqlite-wal")).unwrap();
    let torn = bytes[..(whole + bytes.len()) / 2].to_vec();
    let mut wrong = bytes.clone();
    wrong[whole + 2000] ^= 1;
    for log in [torn, wrong] {
        let cut = Home::new();
        cut.write(INDEX, fs::read(home.path("other.sqlite")).unwrap());
        cut.write(&format!("{INDEX}-wal"), &log);
        let report = cut.sweep();
        assert_eq!((report.prompts, report.unread.as_slice()), (1, [].as_slice()));
        assert_eq!(cut.texts("grok:one"), ["first"]);
    }
}

#[test]
fn an_index_entry_of_a_session_is_replaced_and_its_prompts_are_counted_separately() {
    let home = Home::new();
    let docs = index(&home.path(INDEX));
    add_doc(&docs, "0199", "draw a house");
    home.sweep();
    add_doc(&docs, "0199", "draw a house with a door");
    home.write(GROK, grok("0199", "2026-08-18T10:00:00Z", "draw it"));
    home.sweep();
    assert_eq!(home.texts("grok:0199"), ["draw it", "draw a house with a door"]);
    let session = &home.prompts_only()[0];
    assert_eq!((session.prompts, session.first_prompt.as_str()), (1, "draw it"));
}

#[test]
fn a_damaged_or_hostile_index_is_reported_and_only_that_file_is_lost() {
    let home = Home::new();
    home.write(CLAUDE, claude("5e55", 100, "fix it"));
    let path = home.path(INDEX);
    let make: [(&str, &dyn Fn()); 6] = [
        ("text", &|| home.write(INDEX, "no database at all".repeat(99))),
        ("empty", &|| home.write(INDEX, "")),
        ("cut", &|| {
            let docs = index(&path);
            for n in 0..500 {
                add_doc(&docs, &format!("0{n}"), &"many words ".repeat(50));
            }
            drop(docs);
            let bytes = fs::read(&path).unwrap();
            fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("no table", &|| {
            drop(Connection::open(&path).unwrap().execute_batch("CREATE TABLE other (a)"))
        }),
        ("view", &|| {
            let docs = Connection::open(&path).unwrap();
            // This view never ends if it is queried.
            let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
            docs.execute_batch(&format!(
                "CREATE VIEW session_docs AS SELECT i AS session_id, i AS cwd, i AS updated_at, i AS title, i AS content
                 FROM ({endless})"
            ))
            .unwrap();
        }),
        ("virtual", &|| {
            let docs = Connection::open(&path).unwrap();
            docs.execute_batch(
                "CREATE VIRTUAL TABLE session_docs USING fts5(session_id, cwd, updated_at, title, content)",
            )
            .unwrap();
        }),
    ];
    for (name, make) in make {
        _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        make();
        let report = home.sweep();
        assert_eq!(report.unread.len(), 1, "{name}: {report:?}");
        assert_eq!(report.unread[0].path, path, "{name}");
        assert_eq!(home.prompts_only().len(), 1, "{name}");
    }
}

#[test]
fn odd_values_of_an_index_only_lose_themselves() {
    let home = Home::new();
    let path = home.path(INDEX);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let docs = Connection::open(&path).unwrap();
    docs.execute_batch(
        "CREATE TABLE session_docs (session_id, cwd, updated_at, title, content);
         INSERT INTO session_docs VALUES (NULL, 1, 'x', x'00', 2), ('a b', '', 1, '', ''), ('0199', 7, 'soon', NULL, NULL);",
    )
    .unwrap();
    let report = home.sweep();
    assert_eq!((report.prompts, report.unread.as_slice()), (1, [].as_slice()));
    assert_eq!(home.listed(), ["grok:0199 - -..- 0 \"\""]);
}

#[cfg(unix)]
#[test]
fn a_pipe_a_directory_and_a_link_out_of_the_root_are_reported_and_not_opened() {
    let home = Home::new();
    fs::create_dir_all(home.path(".claude")).unwrap();
    // Opening a pipe would wait for a writer that never comes.
    let made = std::process::Command::new("mkfifo")
        .arg(home.path(CLAUDE))
        .status()
        .unwrap();
    assert!(made.success());
    fs::create_dir_all(home.path(CODEX)).unwrap();
    home.write("elsewhere.jsonl", claude("5e55", 100, "not yours"));
    fs::create_dir_all(home.path("laptop/.claude")).unwrap();
    std::os::unix::fs::symlink(home.path("elsewhere.jsonl"), home.path("laptop/.claude/history.jsonl")).unwrap();
    let report = home.sweep();
    let mut told: Vec<String> = report.unread.iter().map(|unread| unread.reason.clone()).collect();
    told.sort();
    assert_eq!(
        told,
        [
            "a link points outside the tree",
            "not a regular file",
            "not a regular file"
        ]
    );
    assert_eq!((report.prompts, report.faults), (0, 3));
    let dry = home.sweep_at(Timestamp::now(), dry_run);
    assert_eq!((dry.files_read, dry.unread.len()), (0, 3));
}

#[test]
fn a_long_history_is_stored_in_several_batches() {
    let home = Home::new();
    let lines: String = (0..10_000).map(|n| codex("c0de", n, &format!("prompt {n}"))).collect();
    home.write(CODEX, &lines);
    assert_eq!(home.sweep().prompts, 10_000);
    assert_eq!(home.sweep().bytes_read, 0);
    assert_eq!(home.prompts_only()[0].prompts, 10_000);
}

#[test]
fn a_store_without_tables_for_prompts_can_be_queried() {
    let home = Home::new();
    home.write(CLAUDE, claude("5e55", 100, "fix it"));
    drop(home.store());
    run_sql(&home.path("store"), "DROP TABLE prompts; DROP TABLE prompt_files");
    assert_eq!(home.sweep_at(Timestamp::now(), dry_run).files_read, 1);
    let store = Store::open_existing(place(&home.path("store"))).unwrap().unwrap();
    assert_eq!(store.reads().listed().unwrap(), []);
    assert_eq!(store.reads().counted("claude:5e55").unwrap().prompts, 0);
    assert_eq!(store.reads().prompts_of("claude:5e55").unwrap(), []);
}
