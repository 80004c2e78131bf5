//! Search on a server uses its own index and returns the same results as in a directory.

use std::collections::BTreeSet;

use jiff::Timestamp;
use memory::find::{Question, find};
use memory::search::{HitTarget, Query};
use memory::store::{DatabaseServer, Store, WordIndex};
use testkit::logs::ClaudeLog;
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, database};

const SESSION: &str = "5e550000-0000-4000-8000-000000000001";

/// Makes the server log its query plans.
const LOG_QUERY_PLANS: &str =
    "?options=-c%20session_preload_libraries%3Dauto_explain%20-c%20auto_explain.log_min_duration%3D0";

fn machine() -> Machine {
    let machine = Machine::full("desk", 1);
    let log = ClaudeLog::new(SESSION)
        .prompt("rename ParseConfig in src/main.rs, 文件名 größer")
        .reply(&format!("it is {} now", "0123456789abcdef".repeat(6)))
        .prompt("and the migrations")
        .reply("игра done, http_no_proxy=1");
    machine.write(&format!(".claude/projects/-home-ada-app/{SESSION}.jsonl"), log.jsonl());
    machine
}

/// Returns queries of every kind: words, phrases, prefixes, exclusions, substrings, regular expressions, and scripts
/// without spaces.
fn queries() -> Vec<Query> {
    let words = [
        "parse",
        "config",
        "ParseConfig",
        "main.rs",
        "migr*",
        "session",
        "error -session",
        "文件",
        "größer",
        "игра",
        "\"and the migrations\"",
        "nowhere",
        "tool:Bash ls",
        "s* e*",
        "kind:error",
        "-session config",
    ];
    let exact = ["arseConf", "9abcdef01", "c/main", "гр", "名", "ss", "o_pr"];
    let regexes = ["http_(all|no)_proxy", "migr|parse", "m[ai]in", r"\d{3}", "^and"];
    let words = words.into_iter().map(Query::words);
    let rest = exact
        .into_iter()
        .map(Query::exact)
        .chain(regexes.into_iter().map(Query::regex));
    words.chain(rest).map(Result::unwrap).collect()
}

/// Returns all results, regardless of their rank.
fn find_all(store: &Store, query: &Query) -> BTreeSet<String> {
    let question = Question {
        query,
        now: Timestamp::now(),
        threads: 2,
        enough: HitTarget::of(usize::MAX),
        takes: &|_| true,
        behind: None,
        is_cancelled: &|| false,
    };
    let findings = find(store, &question).unwrap();
    assert_eq!(findings.unreadable, Vec::<String>::new());
    let contents = |one: &memory::find::Found| {
        let uid = &one.session.session_uid;
        format!("{uid} {:?} {:?} {:?} {:?}", one.turn, one.part, one.line, one.snippet)
    };
    findings.found.iter().map(contents).collect()
}

fn assert_same_results(here: &Store, there: &Store, how: &str) {
    let mut hits = 0;
    for query in queries() {
        let (ours, theirs) = (find_all(here, &query), find_all(there, &query));
        assert_eq!(ours, theirs, "{how}: {:?}", query.terms.first().map(|term| &term.typed));
        hits += ours.len();
    }
    assert!(hits > 30, "{hits}");
}

#[test]
fn a_search_on_a_server_uses_its_index_and_finds_the_same_as_in_a_directory() {
    let Some(server) = Postgres::start() else { return };
    let (machine, url) = (machine(), server.database());
    // If there are this many sessions, the newest are searched separately.
    for number in 100..250 {
        let log = ClaudeLog::new(&format!("5e550000-0000-4000-8000-000000000{number}"));
        let log = log.prompt(&format!("parse the {number} migrations"));
        machine.write(&format!(".claude/{}", log.path()), log.jsonl());
    }
    machine.sweep(&machine.local()).unwrap();
    machine.sweep(&machine.at(&url)).unwrap();
    let here = Store::open(machine.local()).unwrap();
    let there = Store::open(machine.at(&format!("{url}{LOG_QUERY_PLANS}"))).unwrap();
    assert_eq!(there.reads().index().unwrap(), WordIndex::Pieces);
    assert_same_results(&here, &there, "all indexes");
    let log = server.log();
    let asked = "SELECT session_uid, part, frame_no FROM words WHERE";
    let plans: Vec<&str> = log
        .split("Query Text: ")
        .filter(|contents| contents.starts_with(asked))
        .collect();
    for index in ["words_by_word", "words_by_piece"] {
        let scan = format!("Bitmap Index Scan on {index}");
        assert!(plans.iter().any(|plan| plan.contains(&scan)), "{index} is not asked");
    }
    assert!(
        !plans.iter().any(|plan| plan.contains("Seq Scan")),
        "all words are read"
    );
    let filters = "SELECT session_uid, part, frame_no, bytes FROM filters";
    let asked = log.matches(filters).count();
    find_all(&there, &Query::words("parse").unwrap());
    assert_eq!(
        server.log().matches(filters).count(),
        asked,
        "a word is looked for by filters"
    );
}

#[test]
fn with_an_incomplete_index_filters_find_the_same() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (machine(), server.database());
    machine.sweep(&machine.local()).unwrap();
    machine.sweep(&machine.at(&url)).unwrap();
    let here = Store::open(machine.local()).unwrap();
    for (sql, index) in [
        ("DROP INDEX words_by_piece", WordIndex::Words),
        (
            "DELETE FROM words WHERE session_uid = (SELECT max(session_uid) FROM words)",
            WordIndex::None,
        ),
        ("DROP INDEX words_by_word", WordIndex::None),
    ] {
        server.run_in(database(&url), sql);
        let there = Store::open(machine.at(&url)).unwrap();
        assert_eq!(there.reads().index().unwrap(), index, "{sql}");
        assert_same_results(&here, &there, sql);
    }
    // Set up again and rebuilt, the index is complete.
    let there = Store::open(machine.at(&url)).unwrap();
    there.make_roles().unwrap();
    machine.rebuild(&machine.at(&url));
    let there = Store::open(machine.at(&url)).unwrap();
    assert_eq!(there.reads().index().unwrap(), WordIndex::Pieces);
    assert_same_results(&here, &there, "made anew");
}

#[test]
fn indexed_words_follow_their_frames_in_a_move_and_in_an_eviction() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (machine(), server.database());
    machine.sweep(&machine.local()).unwrap();
    machine.sweep(&machine.at(&url)).unwrap();
    let all = |url: &str| {
        server.run_in(
            database(url),
            "SELECT * FROM words ORDER BY session_uid, part, frame_no",
        )
    };
    let (swept, moved) = (all(&url), server.database());
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(&moved)).unwrap();
    memory::hub::move_store(&local, &mut there, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert_eq!(swept, all(&moved));
    assert!(swept.contains("parseconfig"), "{swept}");
    let sql = "SELECT count(*) FROM words JOIN sessions USING (session_uid) WHERE evicted_at IS NOT NULL";
    machine.evict_all(&machine.at(&url));
    assert!(!all(&url).contains("parseconfig"));
    assert_eq!(server.run_in(database(&url), sql), "0");
    // A URL with its own options is still valid.
    assert!(DatabaseServer::of_url(&format!("{url}{LOG_QUERY_PLANS}")).is_ok());
}
