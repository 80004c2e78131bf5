//! The server itself: encrypted connections, roles, many machines that start at once, and evictions one at a time.

use std::sync::Barrier;
use std::thread;

use jiff::Timestamp;
use memory::hub::{self, PushScope};
use memory::store::{ServerErrorKind, Store, StoreError};
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, assert_same, contents, database};

#[test]
fn the_server_must_prove_its_name_and_connections_are_encrypted() {
    let Some(server) = Postgres::start_encrypted() else {
        return;
    };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    let name = database(&url);
    let good = machine.at(&server.encrypted_url("localhost", "ca", name));
    machine.sweep(&good).unwrap();
    let store = Store::open(&good).unwrap();
    assert!(!store.reads().sessions().unwrap().is_empty());
    let encrypted =
        "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'boswell'";
    assert_eq!(server.run_in(name, encrypted), "t");
    drop(store);
    // The certificate is for another name, or signed by another authority.
    for (host, authority) in [("127.0.0.1", "ca"), ("localhost", "other")] {
        let place = machine.at(&server.encrypted_url(host, authority, name));
        let refused = Store::open(&place).err();
        let contents = refused.map(|error| error.to_string()).unwrap_or_default();
        assert!(contents.contains("certificate"), "{host} {authority}: {contents}");
    }
    // An unencrypted connection is not accepted as an encrypted one.
    let plain = server
        .encrypted_url("localhost", "ca", name)
        .replace("require", "disable");
    let plain = Store::open(machine.at(&plain)).unwrap();
    assert_eq!(server.run_in(name, encrypted), "f");
    drop(plain);
}

#[test]
fn twenty_machines_that_start_at_once_create_one_memory() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.database();
    let machines: Vec<Machine> = (0..20).map(|number| Machine::new(&format!("m{number}"))).collect();
    let barrier = Barrier::new(machines.len());
    thread::scope(|scope| {
        let started: Vec<_> = machines
            .iter()
            .map(|machine| {
                scope.spawn(|| {
                    barrier.wait();
                    Store::open(machine.at(&url)).map(|store| store.reads().sessions().unwrap().len())
                })
            })
            .collect();
        for one in started {
            assert_eq!(one.join().unwrap().unwrap(), 0);
        }
    });
    assert_eq!(
        server.run_in(database(&url), "SELECT count(*) FROM schema_version"),
        "1"
    );
    let machine = Machine::full("desk", 1);
    machine.sweep(&machine.at(&url)).unwrap();
}

/// Executes statements with one of the roles and returns the result or the error.
fn as_role(server: &Postgres, url: &str, role: &str) -> String {
    let user = format!("{role}_{}", database(url));
    server.run_in(
        database(url),
        &format!("CREATE ROLE {user} LOGIN IN ROLE boswell_{role}"),
    );
    url.replace("postgres@", &format!("{user}@"))
}

#[test]
fn a_reader_cannot_write_and_a_writer_cannot_drop() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    let owner = Store::open(machine.at(&url)).unwrap();
    assert_eq!(
        owner.make_roles().unwrap(),
        ["boswell_owner", "boswell_writer", "boswell_reader"]
    );
    let (writer, reader) = (as_role(server, &url, "writer"), as_role(server, &url, "reader"));
    let report = machine.sweep(&machine.at(&writer)).unwrap();
    assert!(report.sessions_new > 0);
    let there = Store::open_existing(machine.at(&reader)).unwrap().unwrap();
    let sessions_read = report.sessions_new + report.subagents_new;
    assert_eq!(there.reads().sessions().unwrap().len() as u64, sessions_read);
    assert_eq!(contents(&there), contents(&owner));

    let other = Machine::full("lap", 2);
    let denied = |done: Result<(), StoreError>| match done {
        Err(StoreError::Server(error)) => assert_eq!(error.kind(), ServerErrorKind::Denied, "{error}"),
        done => panic!("{done:?}"),
    };
    denied(other.sweep(&other.at(&reader)).map(|_| ()));
    // Statements that try to change the server itself.
    let tries = |url: &str, sql: &str| {
        let user = url.trim_start_matches("postgres://").split('@').next().unwrap();
        let sql = format!(
            "SET ROLE {user}; DO $$ BEGIN {sql}; RAISE 'done'; EXCEPTION WHEN insufficient_privilege THEN NULL; END $$"
        );
        server.run_in(database(&url.replace("postgres://", "")), &sql);
    };
    for sql in [
        "DROP TABLE sessions",
        "TRUNCATE frames",
        "ALTER TABLE sessions DROP COLUMN machine",
        "CREATE TABLE own (a INT)",
    ] {
        tries(&writer, sql);
        tries(&reader, sql);
    }
    for sql in [
        "DELETE FROM sessions",
        "UPDATE sessions SET machine = NULL",
        "INSERT INTO keeps VALUES (''x'', 1)",
    ] {
        tries(&reader, &sql.replace("''", "'"));
    }
}

#[test]
fn two_machines_that_evict_at_once_evict_each_session_once() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.database();
    let (desk, lap) = (Machine::full("desk", 1), Machine::full("lap", 2));
    for machine in [&desk, &lap] {
        machine.sweep_and_digest(&machine.at(&url));
    }
    let sessions = Store::open(desk.at(&url)).unwrap().reads().sessions().unwrap().len();
    // While one process has the lock, another one does nothing.
    let held = Store::open(desk.at(&url)).unwrap();
    let right = held.lock_retention().unwrap();
    assert!(right.is_some());
    assert!(Store::open(lap.at(&url)).unwrap().lock_retention().unwrap().is_none());
    assert_eq!(lap.evict_all(&lap.at(&url)).drops.len(), 0);
    drop(right);
    let barrier = Barrier::new(2);
    let done: Vec<usize> = thread::scope(|scope| {
        let both: Vec<_> = [&desk, &lap]
            .map(|machine| {
                let (barrier, url) = (&barrier, &url);
                scope.spawn(move || {
                    barrier.wait();
                    machine.evict_all(&machine.at(url)).drops.len()
                })
            })
            .into_iter()
            .collect();
        both.into_iter().map(|one| one.join().unwrap()).collect()
    });
    desk.evict_all(&desk.at(&url));
    let store = Store::open(desk.at(&url)).unwrap();
    assert_eq!(store.reads().raw_cache_bytes().unwrap(), 0);
    assert_eq!(store.reads().unfinished_evictions().unwrap(), 0);
    assert!(done.iter().sum::<usize>() <= sessions, "{done:?} of {sessions}");
    let sentences = server.run_in(database(&url), "SELECT count(*) FROM sessions WHERE evicted_at IS NULL");
    assert_eq!(sentences, "0");
}

#[test]
fn an_interrupted_move_back_continues() {
    let Some(server) = Postgres::start() else { return };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    machine.sweep(&machine.at(&url)).unwrap();
    let there = Store::open(machine.at(&url)).unwrap();
    let mut back = Store::open(machine.local()).unwrap();
    // The server stops in the middle of the move.
    let cut = hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|done, _| {
        if done == 2 {
            server.restart();
        }
    });
    assert!(cut.is_err(), "{cut:?}");
    drop(there);
    let there = Store::open(machine.at(&url)).unwrap();
    let moved = hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert!(moved.unchanged >= 2 && moved.sessions > 0, "{moved:?}");
    assert_same(&there, &back);
    // The same in the other direction, into another database.
    let other = server.database();
    let mut target = Store::open(machine.at(&other)).unwrap();
    let cut = hub::move_store(&back, &mut target, Timestamp::now(), WAIT, &|done, _| {
        if done == 2 {
            server.run(&format!(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{}'",
                database(&other)
            ));
        }
    });
    // If the connection is cut between two sessions, it is opened again. If it is cut within a session, only that
    // session fails.
    if cut.is_err() {
        hub::move_store(&back, &mut target, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    }
    assert_same(&back, &Store::open(machine.at(&other)).unwrap());
    let full = |_: &str| Ok(PushScope::Full);
    let pushed = hub::push_sessions(&back, &mut target, &full, Timestamp::now(), WAIT).unwrap();
    assert_eq!(pushed.sessions, 0, "{pushed:?}");
}
