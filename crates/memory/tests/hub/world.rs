//! Machines with logs, and a server.

use std::fs;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use memory::digest::DigestSettings;
use memory::mask::{MaskKey, Masker, UserRules};
use memory::retention::{self, Retention, RetentionPolicy};
use memory::sources::LogRoot;
use memory::store::{DatabaseServer, LockWait, Store, StoreError, StoreLocation, WriterIdentity};
use memory::sweep::{Sweep, SweepReport, run};
use tempfile::TempDir;
use testkit::postgres::Postgres;
use testkit::truth;
use transcript::Agent;

pub const WAIT: LockWait<'static> = LockWait::Wait(&|| {});

/// A machine with the logs of agents.
pub struct Machine {
    directory: TempDir,
    pub name: String,
}

impl Machine {
    pub fn new(name: &str) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            name: name.to_owned(),
        }
    }

    /// Creates a machine with generated logs that contain every known trap.
    pub fn full(name: &str, seed: u64) -> Self {
        let machine = Self::new(name);
        for (path, bytes) in truth::claude(seed, 6).files {
            machine.write(&format!(".claude/{path}"), bytes);
        }
        for (path, bytes) in truth::grok(seed, 3).files {
            machine.write(&format!(".grok/{path}"), bytes);
        }
        machine
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    /// Returns the machine's own memory.
    pub fn local(&self) -> StoreLocation {
        StoreLocation::from(self.path("store")).written_by(self.writer())
    }

    /// Returns the memory at a URL, with this machine's files beside it.
    pub fn at(&self, url: &str) -> StoreLocation {
        StoreLocation::on_server(&self.path("beside"), DatabaseServer::of_url(url).unwrap()).written_by(self.writer())
    }

    fn writer(&self) -> WriterIdentity {
        WriterIdentity {
            machine: self.name.clone(),
            user: format!("{}-user", self.name),
        }
    }

    /// Sweeps and makes the digests of all quiet sessions.
    pub fn sweep_and_digest(&self, place: &StoreLocation) -> SweepReport {
        let now = Timestamp::now() + SignedDuration::from_hours(1);
        let task_pattern = regex::Regex::new("T-[0-9]+").unwrap();
        let digests = DigestSettings {
            now,
            task_pattern: &task_pattern,
        };
        self.sweep_with(place, now, Some(digests)).unwrap()
    }

    pub fn sweep(&self, place: &StoreLocation) -> Result<SweepReport, StoreError> {
        self.sweep_with(place, Timestamp::now() + SignedDuration::from_hours(1), None)
    }

    /// Rebuilds all derived rows.
    pub fn rebuild(&self, place: &StoreLocation) {
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        memory::sweep::rebuild(&Sweep::new(place, &[], &masker, Timestamp::now()), WAIT).unwrap();
    }

    /// Evicts all raw text.
    pub fn evict_all(&self, place: &StoreLocation) -> retention::EvictionSummary {
        let mut done = retention::EvictionSummary::default();
        let now = Timestamp::now() + SignedDuration::from_hours(24 * 90);
        let task_pattern = regex::Regex::new("T-[0-9]+").unwrap();
        let order = Retention {
            policy: RetentionPolicy {
                raw_soft_cap_bytes: 0,
                raw_hard_cap_bytes: 0,
                raw_max_age_days: Some(1),
                distilled_cap_bytes: u64::MAX,
                today_began: now,
            },
            digests: DigestSettings {
                now,
                task_pattern: &task_pattern,
            },
        };
        let command = retention::EvictionCommand {
            name: "evict",
            sentence: &retention::EvictionSummary::sentence,
        };
        let mut store = Store::open(place).unwrap();
        retention::enforce_policy(&mut store, WAIT, &order, &command, &|_| false, &mut done).unwrap();
        retention::finish_evictions(&mut store, WAIT, now, &command, &mut done).unwrap();
        done
    }

    fn sweep_with(
        &self,
        place: &StoreLocation,
        now: Timestamp,
        digests: Option<DigestSettings<'_>>,
    ) -> Result<SweepReport, StoreError> {
        let root = |agent, name| LogRoot {
            agent,
            path: self.path(name),
            label: None,
        };
        let roots = [
            root(Agent::Claude, ".claude"),
            root(Agent::Codex, ".codex"),
            root(Agent::Grok, ".grok"),
        ];
        let masker = Masker::new(&MaskKey::new([7; 32]), &UserRules::default()).unwrap();
        let sweep = Sweep {
            threads: 2,
            digests,
            ..Sweep::new(place, &roots, &masker, now)
        };
        run(&sweep, WAIT)
    }
}

/// Returns everything derived from all sessions, and their lines.
pub fn contents(store: &Store) -> Vec<String> {
    let mut contents = store.reads().derived_rows().unwrap();
    for session in store.reads().sessions().unwrap() {
        for part in store.reads().parts(&session.session_uid).unwrap() {
            let mut bytes = Vec::new();
            memory::kept::write_part(store, &session.session_uid, &part, &mut bytes)
                .unwrap()
                .unwrap();
            contents.push(format!(
                "{} {part} {}",
                session.session_uid,
                blake3::hash(&bytes).to_hex()
            ));
        }
    }
    contents
}

/// Returns the name of the database at the end of a URL.
pub fn database(url: &str) -> &str {
    Path::new(url).file_name().unwrap().to_str().unwrap()
}

/// Checks that two memories have the same content.
pub fn assert_same(one: &Store, other: &Store) {
    let (one, other) = (contents(one), contents(other));
    let differs = one.iter().zip(&other).find(|(one, other)| one != other);
    assert_eq!(differs, None);
    assert_eq!(one.len(), other.len());
}

/// Returns the content of all tables, one line for each row.
pub fn dump(server: &Postgres, url: &str) -> String {
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1";
    let tables = server.run_in(database(url), tables);
    let dump = |table: &str| server.run_in(database(url), &format!("SELECT '{table} ', t.* FROM {table} t"));
    tables.lines().map(dump).collect::<Vec<_>>().join("\n")
}
