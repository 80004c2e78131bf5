//! The schema as an append-only list of steps. An older version must be able to use a newer store, so a step only
//! adds, and never removes a column or changes its meaning.
//!
//! Primary tables contain what cannot be read from logs again: `operations`, `sessions`, `cursors`, `frames`,
//! `tails`, `shared_files`, `prompts`, `prompt_files`, `tags`, `annotations`, `digests`, `decisions`, `keeps`,
//! `tombstones`, `copies`, `facts`. All other tables are derived: they can be dropped and derived from the packs
//! again, and a test does so. Times are microseconds since 1970. The key of every table of a session starts with
//! `session_uid`.

use super::StoreError;
use super::engine::Engine;

/// Each step with its reason. A released step must not change.
const STEPS: &[&str] = &[
    // The first tables.
    "CREATE TABLE operations (
        operation_id {int} PRIMARY KEY,
        at {int} NOT NULL,
        command TEXT NOT NULL,
        sentence TEXT NOT NULL
    ) {strict};
    CREATE TABLE sessions (
        session_uid TEXT NOT NULL PRIMARY KEY,
        flavor TEXT NOT NULL,
        native_session_id TEXT NOT NULL,
        discovered_at {int} NOT NULL,
        ingested_at {int} NOT NULL,
        analyzed_at {int},
        evicted_at {int},
        stands_for TEXT
    ) {clustered};
    CREATE TABLE cursors (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        path TEXT NOT NULL,
        root TEXT NOT NULL,
        device {int} NOT NULL,
        inode {int} NOT NULL,
        size {int} NOT NULL,
        mtime_ns {int} NOT NULL,
        ctime_ns {int} NOT NULL,
        read_to {int} NOT NULL,
        lines {int} NOT NULL,
        ends_mid_line {int} NOT NULL,
        head_hash {blob} NOT NULL,
        tail_hash {blob} NOT NULL,
        PRIMARY KEY (session_uid, part, path)
    ) {clustered};
    CREATE TABLE frames (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        frame_no {int} NOT NULL,
        first_line {int} NOT NULL,
        lines {int} NOT NULL,
        raw_bytes {int} NOT NULL,
        pack TEXT NOT NULL,
        start {int} NOT NULL,
        length {int} NOT NULL,
        checksum {blob} NOT NULL,
        mask_version {int} NOT NULL,
        PRIMARY KEY (session_uid, part, frame_no)
    ) {clustered};
    CREATE TABLE tails (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        first_line {int} NOT NULL,
        lines {int} NOT NULL,
        raw_bytes {int} NOT NULL,
        bytes {blob} NOT NULL,
        mask_version {int} NOT NULL,
        PRIMARY KEY (session_uid, part)
    ) {strict};
    CREATE TABLE shared_files (
        path TEXT NOT NULL PRIMARY KEY,
        device {int} NOT NULL,
        inode {int} NOT NULL,
        size {int} NOT NULL,
        mtime_ns {int} NOT NULL,
        ctime_ns {int} NOT NULL
    ) {clustered};
    CREATE TABLE readers (
        session_uid TEXT NOT NULL PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        version {int} NOT NULL,
        state {blob} NOT NULL
    ) {strict};
    CREATE TABLE views (
        session_uid TEXT NOT NULL PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        started_at {int},
        ended_at {int},
        repo TEXT,
        cwd TEXT,
        title TEXT,
        branch TEXT,
        is_subagent {int} NOT NULL,
        is_hidden {int} NOT NULL,
        view TEXT NOT NULL
    ) {strict};
    CREATE TABLE filters (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        frame_no {int} NOT NULL,
        bytes {blob} NOT NULL,
        PRIMARY KEY (session_uid, part, frame_no)
    ) {strict};
    CREATE TABLE events (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        page {int} NOT NULL,
        events {int} NOT NULL,
        first_line {int} NOT NULL,
        last_line {int} NOT NULL,
        bytes {blob} NOT NULL,
        PRIMARY KEY (session_uid, page)
    ) {strict};
    CREATE TABLE turns (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        turn {int} NOT NULL,
        trigger_seq {int} NOT NULL,
        start_line {int} NOT NULL,
        end_line {int} NOT NULL,
        started_at {int},
        ended_at {int},
        prompt TEXT NOT NULL,
        events {int} NOT NULL,
        tool_calls {int} NOT NULL,
        errors {int} NOT NULL,
        is_rewound {int} NOT NULL,
        PRIMARY KEY (session_uid, turn)
    ) {clustered};
    CREATE TABLE calls (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        call_key {int} NOT NULL,
        message {int} NOT NULL,
        request {int},
        seq {int},
        turn {int},
        line {int} NOT NULL,
        model TEXT,
        first_ts {int},
        ts {int},
        input {int} NOT NULL,
        output {int} NOT NULL,
        cache_read {int} NOT NULL,
        cache_write_5m {int} NOT NULL,
        cache_write_1h {int} NOT NULL,
        reasoning {int} NOT NULL,
        speed TEXT,
        web_searches {int} NOT NULL,
        cost_usd_ticks {int},
        is_sidechain {int} NOT NULL,
        is_echo {int} NOT NULL,
        PRIMARY KEY (session_uid, call_key)
    ) {clustered};
    CREATE TABLE faults (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        line {int} NOT NULL,
        reason TEXT NOT NULL,
        is_mended {int} NOT NULL,
        PRIMARY KEY (session_uid, part, line, reason)
    ) {clustered};
    CREATE TABLE unknown (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        record TEXT NOT NULL,
        version TEXT NOT NULL,
        count {int} NOT NULL,
        PRIMARY KEY (session_uid, record, version)
    ) {clustered};",
    // Prompts that outlive logs. An agent's histories name sessions whose logs are gone, so these rows do not refer
    // to `sessions` and cannot be derived again.
    "CREATE TABLE prompts (
        session_uid TEXT NOT NULL,
        prompt_key {blob} NOT NULL,
        flavor TEXT NOT NULL,
        source TEXT NOT NULL,
        at {int},
        project TEXT,
        title TEXT,
        text TEXT NOT NULL,
        mask_version {int} NOT NULL,
        PRIMARY KEY (session_uid, prompt_key)
    ) {clustered};
    CREATE TABLE prompt_files (
        path TEXT NOT NULL PRIMARY KEY,
        device {int} NOT NULL,
        inode {int} NOT NULL,
        size {int} NOT NULL,
        mtime_ns {int} NOT NULL,
        ctime_ns {int} NOT NULL,
        read_to {int} NOT NULL,
        lines {int} NOT NULL,
        ends_mid_line {int} NOT NULL,
        head_hash {blob} NOT NULL,
        tail_hash {blob} NOT NULL
    ) {clustered};",
    // Annotations by the user. They are in no log, and a session may be deleted and read again, so they refer only to
    // its uid.
    "CREATE TABLE tags (
        session_uid TEXT NOT NULL,
        tag TEXT NOT NULL,
        at {int} NOT NULL,
        mask_version {int} NOT NULL,
        PRIMARY KEY (session_uid, tag)
    ) {clustered};
    CREATE TABLE annotations (
        session_uid TEXT NOT NULL,
        kind TEXT NOT NULL,
        text TEXT NOT NULL,
        at {int} NOT NULL,
        mask_version {int} NOT NULL,
        PRIMARY KEY (session_uid, kind)
    ) {clustered};",
    // What outlives raw text, and the user's decisions about it. A digest is made again while the packs exist and is
    // sealed when they are deleted. A tombstone names a session that must never come back, so it does not refer to
    // `sessions`. A decision does not either, because it may concern no session.
    "CREATE TABLE digests (
        session_uid TEXT NOT NULL PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        version {int} NOT NULL,
        made_at {int} NOT NULL,
        is_sealed {int} NOT NULL,
        digest TEXT NOT NULL
    ) {strict};
    CREATE TABLE decisions (
        decision_id {int} PRIMARY KEY,
        session_uid TEXT,
        at {int} NOT NULL,
        text TEXT NOT NULL,
        mask_version {int} NOT NULL
    ) {strict};
    CREATE TABLE keeps (
        session_uid TEXT NOT NULL PRIMARY KEY,
        at {int} NOT NULL
    ) {clustered};
    CREATE TABLE tombstones (
        session_uid TEXT NOT NULL PRIMARY KEY,
        at {int} NOT NULL
    ) {clustered};
    ALTER TABLE sessions ADD COLUMN evicting_at {int};
    ALTER TABLE sessions ADD COLUMN generation {int} NOT NULL DEFAULT 0;",
    // Files that were made from sessions outside the store, so that forgetting can name them. Also the reason of an
    // eviction, which is shown to a user who asks for the text.
    "CREATE TABLE copies (
        session_uid TEXT NOT NULL,
        path TEXT NOT NULL,
        kind TEXT NOT NULL,
        at {int} NOT NULL,
        PRIMARY KEY (session_uid, path)
    ) {clustered};
    ALTER TABLE sessions ADD COLUMN evicted_for TEXT;",
    // What hooks and wrapped commands report once: how a session ended and with which error. A hook may report before
    // the log was read, so these rows refer only to the uid.
    "CREATE TABLE facts (
        session_uid TEXT NOT NULL,
        fact_key TEXT NOT NULL,
        agent TEXT NOT NULL,
        at {int} NOT NULL,
        event TEXT NOT NULL,
        reason TEXT,
        error TEXT,
        exit_code {int},
        PRIMARY KEY (session_uid, fact_key)
    ) {clustered};",
    // The calls of an inactive session again, as one blob, because statistics over all sessions are computed often.
    "CREATE TABLE packed_calls (
        session_uid TEXT NOT NULL PRIMARY KEY REFERENCES sessions ON DELETE CASCADE,
        analyzed_at {int} NOT NULL,
        bytes {blob} NOT NULL
    ) {clustered};",
    // Several machines share one database. Frames are rows there, and a session records who wrote it.
    "ALTER TABLE frames ADD COLUMN bytes {blob};
    ALTER TABLE sessions ADD COLUMN machine TEXT;
    ALTER TABLE sessions ADD COLUMN user_name TEXT;",
    // The words of frames, for a database with its own index. Without one, filters are used and this table is empty.
    "CREATE TABLE words (
        session_uid TEXT NOT NULL REFERENCES sessions ON DELETE CASCADE,
        part TEXT NOT NULL,
        frame_no {int} NOT NULL,
        words TEXT NOT NULL,
        PRIMARY KEY (session_uid, part, frame_no)
    ) {strict};",
    // Words exclude most frames, so the trigrams, which are the larger half of a filter, are stored separately and
    // are read only if the words did not.
    "CREATE TABLE trigrams (
        session_uid TEXT NOT NULL,
        part TEXT NOT NULL,
        frame_no {int} NOT NULL,
        bytes {blob} NOT NULL,
        PRIMARY KEY (session_uid, part, frame_no),
        FOREIGN KEY (session_uid, part, frame_no) REFERENCES filters (session_uid, part, frame_no)
            ON DELETE CASCADE ON UPDATE CASCADE
    ) {strict};",
];

/// Returns an error if the store requires a newer version. By default a newer store can be used, because steps only
/// add. If a future step cannot work that way, it raises the required version, which all versions since this one
/// check.
pub(super) fn check_required_version(engine: &Engine) -> Result<(), StoreError> {
    let (needs, knows) = (engine.required_version()?, STEPS.len() as i64);
    match needs > knows {
        true => Err(StoreError::TooNew { needs, knows }),
        false => Ok(()),
    }
}

/// Migrates a store to the newest version in one transaction.
pub(super) fn migrate(engine: &mut Engine) -> Result<(), StoreError> {
    let newest = STEPS.len() as i64;
    // A newer version may have migrated it. What that added does not matter here.
    if engine.version()? >= newest {
        return Ok(());
    }
    engine.transaction(|engine| {
        engine.lock_schema()?;
        // Another process may have migrated it in the meantime, so the version is read again under the lock.
        let at = engine.version()?;
        if at >= newest {
            return Ok(());
        }
        for step in STEPS.iter().skip(usize::try_from(at).unwrap_or_default()) {
            engine.script(&engine.dialect(step))?;
        }
        engine.create_extras()?;
        engine.set_version(newest)
    })
}

/// Returns `true` if a table is missing because the store is of an older version.
pub(super) fn is_older_than(engine: &Engine, table: &str, error: &StoreError) -> bool {
    let is_missing = error.to_string().contains("no such table");
    is_missing
        && engine
            .version()
            .is_ok_and(|version| version > 0 && version < version_of_table(table))
}

/// Returns the version that added a table.
fn version_of_table(table: &str) -> i64 {
    let made = format!("CREATE TABLE {table} (");
    let at = STEPS.iter().position(|step| step.contains(&made));
    at.map_or(0, |at| at as i64 + 1)
}
