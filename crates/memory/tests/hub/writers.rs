//! Many concurrent writers while connections are cut and the server restarts: in the end, the result is the same as if
//! they had run one after the other.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use memory::store::Store;
use testkit::postgres::Postgres;

use super::world::{Machine, contents, database};

/// If a machine needs more attempts than this, something else is wrong.
const TRIES_MAX: usize = 200;

/// Creates machines with overlapping logs: each has some that others have, too, and some of which it has only the
/// beginning.
fn machines() -> Vec<Machine> {
    let machines: Vec<Machine> = (0..8)
        .map(|number| Machine::full(&format!("m{number}"), number / 2 + 1))
        .collect();
    for (number, machine) in machines.iter().enumerate() {
        let line = |at: usize| {
            format!("{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"content\":\"word {at}\"}}}}\n")
        };
        let log: String = (0..=number * 3).map(line).collect();
        machine.write(
            ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl",
            log,
        );
    }
    machines
}

#[test]
fn eight_writers_with_cut_connections_leave_the_same_memory_as_sequential_ones() {
    let Some(server) = Postgres::start() else { return };
    let machines = machines();
    let serial = server.database();
    for _ in 0..2 {
        for machine in &machines {
            machine.sweep(&machine.at(&serial)).unwrap();
        }
    }
    let expected = contents(&Store::open(machines[0].at(&serial)).unwrap());

    let shared = server.database();
    let (is_over, failures) = (AtomicBool::new(false), AtomicUsize::new(0));
    thread::scope(|scope| {
        let writers: Vec<_> = machines
            .iter()
            .map(|machine| {
                scope.spawn(|| {
                    let place = machine.at(&shared);
                    let mut whole = 0;
                    for _ in 0..TRIES_MAX {
                        match machine.sweep(&place) {
                            Ok(_) => whole += 1,
                            Err(_) => _ = failures.fetch_add(1, Ordering::Relaxed),
                        }
                        if whole == 3 {
                            return;
                        }
                    }
                    panic!("{} never came to an end", machine.name);
                })
            })
            .collect();
        scope.spawn(|| {
            for round in 0.. {
                if is_over.load(Ordering::Relaxed) {
                    return;
                }
                if round == 12 {
                    server.restart();
                }
                let database = database(&shared);
                server.run(&format!(
                    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                     WHERE datname = '{database}' AND random() < 0.15 AND {round} < 40"
                ));
            }
        });
        for writer in writers {
            writer.join().unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert!(failures.load(Ordering::Relaxed) > 0, "nothing was ever cut");
    // What was skipped because another machine was faster is read by the next sweep.
    for machine in &machines {
        machine.sweep(&machine.at(&shared)).unwrap();
    }
    let found = contents(&Store::open(machines[0].at(&shared)).unwrap());
    assert_eq!(found, expected);
}
