//! Moving a whole memory, and pushing from one.

use jiff::Timestamp;
use memory::hub::{self, PushScope};
use memory::store::{Store, StoreError};
use testkit::postgres::Postgres;

use super::world::{Machine, WAIT, assert_same, database};

#[test]
fn a_memory_moves_to_a_server_and_back_and_is_the_same() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    machine.sweep(&machine.local()).unwrap();
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(&url)).unwrap();
    let moved = hub::move_store(&local, &mut there, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    let sessions = local.reads().sessions().unwrap();
    assert_eq!((moved.sessions, moved.unchanged), (sessions.len() as u64, 0));
    assert_same(&local, &there);
    // A machine whose memory was moved there reads nothing again.
    assert_eq!(machine.sweep(&machine.at(&url)).unwrap().bytes_read, 0);

    let again = hub::move_store(&local, &mut there, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert_eq!((again.sessions, again.unchanged), (0, moved.sessions));

    let other = Machine::new("desk");
    let mut back = Store::open(other.local()).unwrap();
    hub::move_store(&there, &mut back, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert_same(&local, &back);
}

#[test]
fn an_interrupted_move_continues_and_one_that_would_mix_two_memories_is_refused() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    machine.sweep(&machine.local()).unwrap();
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(&url)).unwrap();
    hub::move_store(&local, &mut there, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    // As if the move was interrupted before two sessions and a frame of a third was damaged.
    let uids: Vec<String> = local
        .reads()
        .sessions()
        .unwrap()
        .into_iter()
        .map(|row| row.session_uid)
        .collect();
    server.run_in(
        database(&url),
        &format!(
            "DELETE FROM sessions WHERE session_uid IN ('{}', '{}')",
            uids[0], uids[1]
        ),
    );
    server.run_in(
        database(&url),
        r"UPDATE frames SET bytes = '\x00' WHERE frame_no = 0 AND part = 'log'",
    );
    let again = hub::move_store(&local, &mut there, Timestamp::now(), WAIT, &|_, _| {}).unwrap();
    assert!(again.sessions >= 3, "{again:?}");
    assert_same(&local, &there);

    let stranger = Machine::full("other", 2);
    stranger.sweep(&stranger.local()).unwrap();
    let stranger = Store::open(stranger.local()).unwrap();
    let refused = hub::move_store(&stranger, &mut there, Timestamp::now(), WAIT, &|_, _| {});
    assert!(matches!(refused, Err(StoreError::HasOthers { .. })), "{refused:?}");
}

#[test]
fn pushed_digests_contain_no_prompt_and_no_line_and_have_the_same_numbers() {
    let Some(server) = Postgres::shared() else { return };
    let (machine, url) = (Machine::full("desk", 1), server.database());
    machine.write(
        ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl",
        "{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{\"content\":\"the canary sings\"}}\n",
    );
    machine.sweep(&machine.local()).unwrap();
    let local = Store::open(machine.local()).unwrap();
    let mut there = Store::open(machine.at(&url)).unwrap();
    let digests = |_: &str| Ok(PushScope::Digests);
    let pushed = hub::push_sessions(&local, &mut there, &digests, Timestamp::now(), WAIT).unwrap();
    assert_eq!(pushed.sessions as usize, local.reads().sessions().unwrap().len());
    assert_eq!(there.reads().calls().unwrap(), local.reads().calls().unwrap());
    assert_eq!(there.reads().raw_cache_bytes().unwrap(), 0);
    let all = server.run_in(
        database(&url),
        "SELECT string_agg(turns::text, '') || string_agg(views::text, '') FROM turns, views",
    );
    assert!(!all.contains("canary"), "{all}");
    let again = hub::push_sessions(&local, &mut there, &digests, Timestamp::now(), WAIT).unwrap();
    assert_eq!((again.sessions, again.unchanged), (0, pushed.sessions));
    // Later, all of it may be sent.
    let full = |_: &str| Ok(PushScope::Full);
    let pushed = hub::push_sessions(&local, &mut there, &full, Timestamp::now(), WAIT).unwrap();
    assert_eq!(pushed.sessions as usize, local.reads().sessions().unwrap().len());
    assert_same(&local, &there);
}

#[test]
fn the_longer_log_of_two_machines_with_one_session_is_stored() {
    let Some(server) = Postgres::shared() else { return };
    let url = server.database();
    let log = ".claude/projects/-home-ada-app/5e550000-0000-4000-8000-000000000001.jsonl";
    let line =
        |word: &str| format!("{{\"type\":\"user\",\"sessionId\":\"s\",\"message\":{{\"content\":\"{word}\"}}}}\n");
    let uid = "claude:5e550000-0000-4000-8000-000000000001";
    let (desk, lap) = (Machine::new("desk"), Machine::new("lap"));
    desk.write(log, line("one") + &line("two") + &line("three"));
    lap.write(log, line("one") + &line("two"));
    let full = |_: &str| Ok(PushScope::Full);
    for machine in [&desk, &lap] {
        machine.sweep(&machine.local()).unwrap();
    }
    let mut there = Store::open(desk.at(&url)).unwrap();
    for machine in [&lap, &desk, &lap] {
        let local = Store::open(machine.local()).unwrap();
        hub::push_sessions(&local, &mut there, &full, Timestamp::now(), WAIT).unwrap();
    }
    let mut bytes = Vec::new();
    memory::kept::write_part(&there, uid, "log", &mut bytes)
        .unwrap()
        .unwrap();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        line("one") + &line("two") + &line("three")
    );
    // If both machines sweep into one memory, the result is the same, and in the end neither reads anything twice.
    let url = server.database();
    for machine in [&lap, &desk, &lap, &desk] {
        machine.sweep(&machine.at(&url)).unwrap();
    }
    for machine in [&lap, &desk] {
        assert_eq!(
            machine.sweep(&machine.at(&url)).unwrap().bytes_read,
            0,
            "{}",
            machine.name
        );
    }
    let mut bytes = Vec::new();
    let there = Store::open(desk.at(&url)).unwrap();
    memory::kept::write_part(&there, uid, "log", &mut bytes)
        .unwrap()
        .unwrap();
    assert_eq!(
        String::from_utf8(bytes).unwrap(),
        line("one") + &line("two") + &line("three")
    );
}
