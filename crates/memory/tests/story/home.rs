//! A home directory with the agents' roots and a store, for all stories.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use jiff::Timestamp;
use memory::kept;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::session_text::SessionTexts;
use memory::sources::LogRoot;
use memory::store::{DatabaseServer, FilterRow, LockWait, SessionScope, Store, StoreLocation};
use memory::sweep::{Sweep, SweepReport, rebuild, run};
use tempfile::TempDir;
use testkit::postgres::Postgres;
use testkit::truth;
use transcript::Agent;

/// Returns `true` if these tests run with a memory on a server.
pub fn is_on_server() -> bool {
    env!("CARGO_CRATE_NAME") == "story_postgres" && Postgres::shared().is_some()
}

/// Returns the store in a directory or, on a server, the database that replaces it.
pub fn place(directory: &Path) -> StoreLocation {
    static DATABASES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    let Some(server) = Postgres::shared().filter(|_| is_on_server()) else {
        return directory.into();
    };
    let mut databases = DATABASES.lock().unwrap();
    let url = databases
        .entry(directory.to_owned())
        .or_insert_with(|| server.database());
    StoreLocation::on_server(directory, DatabaseServer::of_url(url).unwrap())
}

/// Executes SQL on the database of a memory behind its back.
pub fn run_sql(directory: &Path, sql: &str) {
    let place = place(directory);
    let Some(server) = place.server().and(Postgres::shared()) else {
        let database = rusqlite::Connection::open(directory.join("store.db")).unwrap();
        return database.execute_batch(sql).unwrap();
    };
    let url = place.to_string();
    server.run_in(url.rsplit('/').next().unwrap(), &sql.replace("x'00ff'", r"'\x00ff'"));
}

/// Checks that the pack files are exactly those that rows name.
pub fn assert_packs(store: &Store) {
    let used: Vec<String> = store
        .reads()
        .packs_in_use()
        .unwrap()
        .into_iter()
        .map(|(pack, _)| pack)
        .collect();
    let mut there = memory::packs::list_packs(&store.packs());
    there.sort();
    assert!(
        is_on_server() || used == there,
        "packs without rows, or rows without packs: {used:?}, {there:?}"
    );
}

/// A home directory with the agents' roots and a store.
pub struct Home {
    directory: TempDir,
    pub masker: Masker,
}

impl Home {
    pub fn new() -> Self {
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        Self {
            directory: tempfile::tempdir().unwrap(),
            masker,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn place(&self) -> StoreLocation {
        place(&self.path("store"))
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Sweeps at a time one hour after all files were written.
    pub fn sweep(&self) -> SweepReport {
        let now = Timestamp::now() + jiff::SignedDuration::from_hours(1);
        self.sweep_at(now)
    }

    pub fn sweep_at(&self, now: Timestamp) -> SweepReport {
        let roots = self.roots();
        let directory = self.place();
        let sweep = Sweep {
            threads: 2,
            ..Sweep::new(&directory, &roots, &self.masker, now)
        };
        run(&sweep, WAIT).unwrap()
    }

    pub fn roots(&self) -> [LogRoot; 3] {
        let root = |agent, name| LogRoot {
            agent,
            path: self.path(name),
            label: None,
        };
        [
            root(Agent::Claude, ".claude"),
            root(Agent::Codex, ".codex"),
            root(Agent::Grok, ".grok"),
        ]
    }

    pub fn rebuild(&self) -> SweepReport {
        let directory = self.place();
        rebuild(&Sweep::new(&directory, &[], &self.masker, Timestamp::now()), WAIT).unwrap()
    }

    pub fn store(&self) -> Store {
        Store::open(self.place()).unwrap()
    }

    /// Returns the texts of a store's sessions. No log is ignored.
    pub fn texts<'t>(&'t self, store: &'t Store) -> SessionTexts<'t> {
        SessionTexts {
            store,
            masker: &self.masker,
            is_ignored: &|_| false,
        }
    }

    pub fn cat(&self, uid: &str) -> String {
        self.cat_part(uid, "log")
    }

    pub fn cat_part(&self, uid: &str, part: &str) -> String {
        let mut out = Vec::new();
        kept::write_part(&self.store(), uid, part, &mut out).unwrap().unwrap();
        String::from_utf8(out).unwrap()
    }

    /// Returns all filters, in order.
    pub fn filters(&self) -> Vec<FilterRow> {
        let mut filters = self.store().reads().filters(SessionScope::All).unwrap();
        filters.sort_by(|a, b| (&a.session_uid, &a.part, a.frame_no).cmp(&(&b.session_uid, &b.part, b.frame_no)));
        filters
    }

    pub fn rows(&self) -> Vec<String> {
        self.store().reads().derived_rows().unwrap()
    }
}

pub const WAIT: LockWait<'static> = LockWait::Wait(&|| {});
pub const LOG: &str = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";
pub const UID: &str = "claude:5e550000-0000-4000-8000-000000000001";

pub fn prompt(text: &str) -> String {
    format!("{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"content\":\"{text}\"}}}}\n")
}

/// Creates a home with generated logs that contain every known trap.
pub fn full_home() -> Home {
    let home = Home::new();
    for (path, bytes) in truth::claude(1, 8).files {
        home.write(&format!(".claude/{path}"), bytes);
    }
    for (path, bytes) in truth::grok(1, 4).files {
        home.write(&format!(".grok/{path}"), bytes);
    }
    home
}
