//! Reads databases of the agents from a copy in memory.
//!
//! The original is never opened, because that would lock it and create files beside it. The copy is untrusted: its
//! schema may contain views, triggers and virtual tables that run arbitrary code. Therefore only ordinary tables and
//! columns with known names are queried, the schema is not trusted, and the amount of work is limited.

use std::io;

use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, MAIN_DB, OpenFlags};
use thiserror::Error;

/// The database rejects rows with a value longer than this.
const VALUE_BYTES_MAX: i32 = 64 << 20;
/// Number of virtual machine steps between two calls of the progress handler.
const STEPS_PER_CHECK: i32 = 10_000;
/// Maximum number of such calls, which is enough for a million sessions.
const CHECKS_MAX: u32 = 20_000;
/// Maximum number of sessions.
const ROWS_MAX: usize = 1_000_000;
/// Maximum size of all text, because the result is held in memory.
const TEXT_BYTES_MAX: usize = 256 << 20;

/// Why an agent's database cannot be read. Nothing else is affected.
#[derive(Debug, Error)]
pub(crate) enum ForeignError {
    #[error("not a readable database: {0}")]
    Database(#[from] rusqlite::Error),
    #[error("no table `{0}` with the expected schema")]
    Table(&'static str),
    #[error("it contains more than can be read")]
    TooMuch,
}

/// A session in Grok's search index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct IndexedSession {
    pub(crate) session_id: String,
    pub(crate) cwd: Option<String>,
    /// In seconds.
    pub(crate) updated_at: Option<i64>,
    pub(crate) title: Option<String>,
    pub(crate) content: Option<String>,
}

/// Reads the sessions of Grok's search index from the bytes of its file.
pub(crate) fn indexed_sessions(image: &[u8]) -> Result<Vec<IndexedSession>, ForeignError> {
    const TABLE: &str = "session_docs";
    let connection = open_image(image)?;
    let plain: i64 = connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE name = ?1 AND type = 'table' AND rootpage > 0 AND sql LIKE 'CREATE TABLE%'",
        [TABLE],
        |row| row.get(0),
    )?;
    if plain != 1 {
        return Err(ForeignError::Table(TABLE));
    }
    let mut statement = connection.prepare("SELECT session_id, cwd, updated_at, title, content FROM session_docs")?;
    let mut rows = statement.query([])?;
    let mut sessions = Vec::new();
    let mut text_bytes = 0;
    while let Some(row) = rows.next()? {
        let session = IndexedSession {
            session_id: text_value(row.get_ref(0)?).unwrap_or_default(),
            cwd: text_value(row.get_ref(1)?),
            updated_at: row.get_ref(2)?.as_i64().ok(),
            title: text_value(row.get_ref(3)?),
            content: text_value(row.get_ref(4)?),
        };
        text_bytes += [&session.cwd, &session.title, &session.content]
            .into_iter()
            .flatten()
            .map(String::len)
            .sum::<usize>();
        if sessions.len() >= ROWS_MAX || text_bytes > TEXT_BYTES_MAX {
            return Err(ForeignError::TooMuch);
        }
        sessions.push(session);
    }
    Ok(sessions)
}

/// Opens the copy with a connection that can only run queries.
fn open_image(image: &[u8]) -> Result<Connection, ForeignError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_in_memory_with_flags(flags)?;
    connection.deserialize_read_exact(MAIN_DB, io::Cursor::new(image), image.len(), true)?;
    for (setting, is_on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(setting, is_on)?;
    }
    for (limit, max) in [
        (Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX),
        (Limit::SQLITE_LIMIT_ATTACHED, 0),
        (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
    ] {
        connection.set_limit(limit, max)?;
    }
    connection.pragma_update(None, "query_only", "ON")?;
    connection.pragma_update(None, "cell_size_check", "ON")?;
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    let mut checks = 0;
    connection.progress_handler(
        STEPS_PER_CHECK,
        Some(move || {
            checks += 1;
            checks > CHECKS_MAX
        }),
    )?;
    Ok(connection)
}

fn text_value(value: ValueRef<'_>) -> Option<String> {
    match value {
        ValueRef::Text(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
        _ => None,
    }
}
