//! Parses any bytes as the index of a workspace and as the log it names: the report is written or refused, and reads
//! nothing outside of the workspace.

#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::prices::PriceTable;
use memory::{diary, report};

const OUTSIDE: &str = "words that nobody may read";

struct Desk {
    workspace: PathBuf,
    masker: Masker,
    prices: PriceTable,
}

static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let place = std::env::temp_dir().join(format!("boswell-fuzz-index-{}", std::process::id()));
    let workspace = place.join("day");
    fs::create_dir_all(workspace.join("projects/one")).expect("there is room");
    fs::create_dir_all(workspace.join("sessions/claude-code")).expect("there is room");
    fs::write(place.join("outside.jsonl"), OUTSIDE).expect("there is room");
    let metadata = r#"{"schema_version":2,"report_date":"2026-04-01","timezone":"UTC","status":"final","start_utc":"2026-04-01T00:00:00Z","end_utc":"2026-04-02T00:00:00Z"}"#;
    fs::write(workspace.join("metadata.json"), metadata).expect("there is room");
    let project = r#"{"project_key":"one","label":"one","root":"/home/ada/one"}"#;
    fs::write(workspace.join("projects/one/project.json"), project).expect("there is room");
    Desk {
        workspace,
        masker: Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).expect("the rules are sound"),
        prices: PriceTable::default(),
    }
});

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (index, log) = input;
    let desk = &*DESK;
    fs::write(desk.workspace.join("projects/one/sessions.index.jsonl"), index).expect("there is room");
    fs::write(desk.workspace.join("sessions/claude-code/a.jsonl"), log).expect("there is room");
    _ = diary::workspace_sessions(&desk.workspace);
    let ask = report::ReportRequest {
        workspace: &desk.workspace,
        masker: &desk.masker,
        prices: &desk.prices,
        store: None,
        home: &desk.workspace,
        only: None,
    };
    if let Ok(day) = report::write_default(&ask) {
        let told = serde_json::to_string(&day).expect("a day is plain data");
        assert!(!told.contains(OUTSIDE), "{told}");
    }
});
