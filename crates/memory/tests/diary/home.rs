//! A home with logs of all agents, and a day that is prepared from it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use memory::diary::{self, Copies, DayWindow, DiaryError, EmptyDay, PrepareRequest, Prepared, PreparedWorkspace};
use memory::mask::{MaskKey, Masker, UserRules};
use memory::sources::LogRoot;
use memory::store::Store;
use serde_json::{Value, json};
use tempfile::TempDir;
use transcript::Agent;

/// Long after every generated day.
pub const NOW: &str = "2026-11-16T12:00:00Z";
pub const DATE: &str = "2026-05-12";

pub struct Home {
    _dir: TempDir,
    pub path: PathBuf,
    pub now: Timestamp,
    pub zone: (TimeZone, String),
    pub is_verbatim: bool,
    pub force: bool,
    pub fallback_roots: BTreeMap<Agent, PathBuf>,
}

impl Home {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap();
        for place in ["claude/projects", "codex/sessions"] {
            fs::create_dir_all(path.join(place)).unwrap();
        }
        Self {
            _dir: dir,
            path,
            now: NOW.parse().unwrap(),
            zone: (TimeZone::UTC, "UTC".to_owned()),
            is_verbatim: true,
            force: false,
            fallback_roots: BTreeMap::new(),
        }
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Writes a log of Claude Code in a project of the same name.
    pub fn claude(&self, name: &str, records: &[Value]) -> PathBuf {
        self.write(&format!("claude/projects/-home-ada/{name}.jsonl"), lines(records))
    }

    pub fn codex(&self, name: &str, records: &[Value]) -> PathBuf {
        self.write(
            &format!("codex/sessions/2026/05/12/rollout-{name}.jsonl"),
            lines(records),
        )
    }

    pub fn roots(&self) -> Vec<LogRoot> {
        let agents = [
            (Agent::Claude, "claude"),
            (Agent::Codex, "codex"),
            (Agent::Grok, "grok"),
        ];
        let root = |(agent, name): (Agent, &str)| LogRoot {
            agent,
            path: self.path.join(name),
            label: None,
        };
        agents.map(root).into()
    }

    pub fn reports(&self) -> PathBuf {
        self.path.join("reports")
    }

    pub fn workspace(&self) -> PathBuf {
        self.reports().join("work").join(DATE)
    }

    pub fn try_prepare(&self, date: &str, store: Option<&Store>) -> Result<Prepared, DiaryError> {
        let window = DayWindow::new(date.parse().unwrap(), &self.zone.0, &self.zone.1, self.now).unwrap();
        let masker = masker();
        let request = PrepareRequest {
            window: &window,
            zone: &self.zone.0,
            now: self.now,
            roots: &self.roots(),
            fallback_roots: self.fallback_roots.clone(),
            reports_root: &self.reports(),
            home: &self.path.join("ada"),
            copies: if self.is_verbatim {
                Copies::Verbatim
            } else {
                Copies::Masked(&masker)
            },
            threads: 3,
            is_ignored: &|_: &Path| false,
            force: self.force,
            empty_day: EmptyDay::Prepare,
        };
        diary::prepare(&request, store)
    }

    pub fn prepare(&self) -> PreparedWorkspace {
        self.prepare_with(None)
    }

    pub fn prepare_with(&self, store: Option<&Store>) -> PreparedWorkspace {
        match self.try_prepare(DATE, store).unwrap() {
            Prepared::Created(made) => made,
            Prepared::Existing(path) => panic!("{} is there already", path.display()),
            Prepared::Empty => panic!("a day without sessions is prepared here"),
        }
    }

    /// Returns all rows of the index, over all projects.
    pub fn rows(&self) -> Vec<Value> {
        let mut rows = Vec::new();
        let projects = fs::read_dir(self.workspace().join("projects")).unwrap();
        let mut projects: Vec<PathBuf> = projects.map(|entry| entry.unwrap().path()).collect();
        projects.sort();
        for project in projects {
            let text = fs::read_to_string(project.join("sessions.index.jsonl")).unwrap();
            rows.extend(text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()));
        }
        rows
    }

    /// Returns the turns of each session: its id, and the first and last line of each turn.
    pub fn turns(&self) -> String {
        let turn = |turn: &Value| format!("{}-{}", turn["turn_start_line"], turn["turn_end_line"]);
        let row = |row: &Value| {
            let turns: Vec<String> = row["turns"].as_array().unwrap().iter().map(turn).collect();
            format!("{} {}", row["source_session_id"].as_str().unwrap(), turns.join(" "))
        };
        self.rows().iter().map(row).collect::<Vec<_>>().join("\n")
    }

    pub fn audit(&self) -> Value {
        let path = self.reports().join("private").join(DATE).join("audit.manifest.json");
        serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
    }
}

pub fn masker() -> Masker {
    Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap()
}

pub fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// Returns a time of the day, by minute.
pub fn at(minute: u32) -> String {
    format!("{DATE}T{:02}:{:02}:00Z", minute / 60, minute % 60)
}

/// Returns a prompt of a user of Claude Code.
pub fn prompt(minute: u32, text: &str) -> Value {
    json!({"type": "user", "timestamp": at(minute), "cwd": "/home/ada/app", "sessionId": "s", "uuid": format!("u{minute}-{text}"),
        "message": {"role": "user", "content": text}})
}

pub fn reply(minute: u32) -> Value {
    json!({"type": "assistant", "timestamp": at(minute), "sessionId": "s", "uuid": format!("a{minute}"),
        "message": {"id": format!("m{minute}"), "role": "assistant", "content": [{"type": "text", "text": "done"}]}})
}

/// Replaces some fields of a record.
pub fn with(mut record: Value, fields: Value) -> Value {
    let fields = fields.as_object().unwrap().clone();
    record.as_object_mut().unwrap().extend(fields);
    record
}

pub fn codex(minute: u32, kind: &str, payload: Value) -> Value {
    json!({"timestamp": at(minute), "type": kind, "payload": payload})
}

pub fn head(id: &str) -> Value {
    codex(
        1,
        "session_meta",
        json!({"id": id, "cwd": "/home/ada/app", "originator": "codex_cli_rs", "source": "cli"}),
    )
}

pub fn item(minute: u32, role: &str, text: &str) -> Value {
    codex(
        minute,
        "response_item",
        json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}),
    )
}

pub fn event(minute: u32, kind: &str, text: &str) -> Value {
    codex(minute, "event_msg", json!({"type": kind, "message": text}))
}
