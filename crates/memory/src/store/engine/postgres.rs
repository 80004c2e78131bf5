//! PostgreSQL: one connection that is shared within a process. It knows nothing about the tables.
//!
//! A connection can be lost at any time. It is reopened automatically unless a transaction is open or a lock is held.
//! In that case the loss is an error, because the server has rolled back and released both.

mod copy;
mod row;
mod tls;
mod words;

use std::collections::{HashMap, HashSet};
use std::error::Error as _;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use postgres::error::SqlState;
use postgres::types::{ToSql, Type};
use postgres::{Client, Statement};
use thiserror::Error;

pub(super) use self::row::RowExt;
use super::{Access, ROLLBACK, Right, Value};
use crate::store::place::DatabaseServer;
use crate::store::{FrameRow, StoreError};

/// An error of the driver or the server. It never contains the statement, so that rows and passwords do not get into
/// messages.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct ServerError {
    message: String,
    kind: ServerErrorKind,
}

/// What kind of failure it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerErrorKind {
    /// The server does not answer, or the connection was lost. A later attempt may succeed.
    Unavailable,
    /// The server rejects our credentials, or we lack a privilege.
    Denied,
    /// The server's disk is full.
    DiskFull,
    Other,
}

impl ServerError {
    pub fn kind(&self) -> ServerErrorKind {
        self.kind
    }

    /// Returns the error for a column with an unexpected value.
    pub(super) fn value(column: usize) -> Self {
        Self {
            message: format!("column {column} of a result has an unexpected value"),
            kind: ServerErrorKind::Other,
        }
    }

    fn of(error: &postgres::Error) -> Self {
        let (message, kind) = match error.as_db_error() {
            Some(error) => (error.message().to_owned(), error_kind(error.code())),
            None => {
                let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
                let is_ours = error.to_string().contains("serializing");
                let kind = if is_ours {
                    ServerErrorKind::Other
                } else {
                    ServerErrorKind::Unavailable
                };
                (format!("{error}{cause}"), kind)
            }
        };
        let message = limit_to_one_line(&message);
        Self { message, kind }
    }
}

/// Limits a message of the server to one line of limited length, because the server is not trusted.
fn limit_to_one_line(message: &str) -> String {
    const CHARS_MAX: usize = 300;
    let mut line: String = message
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(CHARS_MAX)
        .collect();
    if message.chars().nth(CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}

fn error_kind(code: &SqlState) -> ServerErrorKind {
    let class = code.code().get(..2).unwrap_or_default();
    match class {
        // Connection errors, and servers that are shutting down or starting.
        "08" | "57" => ServerErrorKind::Unavailable,
        "28" => ServerErrorKind::Denied,
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE || *code == SqlState::INVALID_CATALOG_NAME => {
            ServerErrorKind::Denied
        }
        _ if *code == SqlState::DISK_FULL => ServerErrorKind::DiskFull,
        _ => ServerErrorKind::Other,
    }
}

impl From<postgres::Error> for StoreError {
    fn from(error: postgres::Error) -> Self {
        Self::Server(ServerError::of(&error))
    }
}

/// A statement is prepared once for each text and the types of its values.
type Key = (String, Vec<u32>);

/// One connection and its state.
struct Connection {
    server: DatabaseServer,
    access: Access,
    client: Client,
    statements: HashMap<Key, Statement>,
    is_in_transaction: bool,
    /// Number of rights that are held through it.
    held: usize,
}

impl Connection {
    fn connect(server: &DatabaseServer, access: Access) -> Result<Client, StoreError> {
        let mut config = server.config().clone();
        let mut options = config.get_options().unwrap_or_default().to_owned();
        // Notices are for interactive users, and our queries are too small to be compiled.
        options.push_str(" -c client_min_messages=warning -c jit=off");
        if access != Access::ReadWrite {
            options.push_str(" -c default_transaction_read_only=on");
        }
        config.options(options.trim_start());
        match config.get_ssl_mode() {
            postgres::config::SslMode::Disable => Ok(config.connect(postgres::NoTls)?),
            _ => Ok(config.connect(tls::connector(server.roots())?)?),
        }
    }

    /// Returns `true` if no state would be lost by reconnecting.
    fn has_no_state(&self) -> bool {
        !self.is_in_transaction && self.held == 0
    }

    fn reconnect(&mut self) -> Result<(), StoreError> {
        self.client = Self::connect(&self.server, self.access)?;
        self.statements.clear();
        Ok(())
    }

    fn statement(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Statement, StoreError> {
        let types: Vec<Type> = values
            .iter()
            .take(count_parameters(sql))
            .map(row::declared_type)
            .collect();
        let key = (sql.to_owned(), types.iter().map(Type::oid).collect());
        if let Some(known) = self.statements.get(&key) {
            return Ok(known.clone());
        }
        let statement = self.client.prepare_typed(sql, &types)?;
        self.statements.insert(key, statement.clone());
        Ok(statement)
    }
}

/// Returns the number of parameters of a statement: the highest number after a `$`.
fn count_parameters(sql: &str) -> usize {
    let numbers = sql.split('$').skip(1).map(|rest| {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        rest[..digits].parse().unwrap_or_default()
    });
    numbers.max().unwrap_or_default()
}

fn lock(connection: &Mutex<Connection>) -> MutexGuard<'_, Connection> {
    connection.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(in crate::store) struct Postgres {
    connection: Arc<Mutex<Connection>>,
    /// Tables that were found. They are never dropped.
    tables: Mutex<HashSet<String>>,
}

/// An exclusive right that this process holds until the value is dropped.
pub(in crate::store) struct HeldLock {
    connection: Arc<Mutex<Connection>>,
    right: Right,
}

impl Drop for HeldLock {
    fn drop(&mut self) {
        let mut connection = lock(&self.connection);
        connection.held = connection.held.saturating_sub(1);
        let sql = format!("SELECT pg_advisory_unlock({})", lock_key(self.right));
        // If the connection is lost, the server has released the right already.
        _ = connection.client.simple_query(&sql);
    }
}

/// Returns the key of a right. It includes the schema, so that stores in different schemas of one database do not
/// wait for each other.
fn lock_key(right: Right) -> String {
    format!("hashtextextended('boswell {right:?} ' || current_schema(), 0)")
}

/// Reads frames that are rows, from any thread.
#[derive(Clone)]
pub(in crate::store) struct RowReader {
    connection: Arc<Mutex<Connection>>,
}

impl RowReader {
    /// Reads the compressed bytes of a frame. The checksum is part of the key, because two sessions that are derived
    /// at the same time may use the same pack name.
    pub(in crate::store) fn read(&self, frame: &FrameRow, packed: &mut Vec<u8>) -> io::Result<()> {
        let values = [
            Value::Text(&frame.pack),
            Value::count(frame.start),
            Value::Blob(&frame.checksum),
        ];
        let sql =
            "SELECT bytes FROM frames WHERE pack = $1 AND start = $2 AND checksum = $3 AND bytes IS NOT NULL LIMIT 1";
        let found = query(&self.connection, sql, &values).map_err(io::Error::other)?;
        let bytes = found.first().map(|row| row.blob_opt(0)).transpose();
        let bytes = bytes.map_err(io::Error::other)?.flatten();
        packed.clear();
        packed.extend_from_slice(bytes.ok_or(io::ErrorKind::NotFound)?);
        Ok(())
    }
}

/// Runs `work` on the connection. If the connection is lost and had no state, it is reopened and `work` runs again.
fn with_connection<T>(
    connection: &Mutex<Connection>,
    mut work: impl FnMut(&mut Connection) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    let mut connection = lock(connection);
    if connection.has_no_state() && connection.client.is_closed() {
        connection.reconnect()?;
    }
    match work(&mut connection) {
        Err(StoreError::Server(error)) if error.kind == ServerErrorKind::Unavailable && connection.has_no_state() => {
            connection.reconnect()?;
            work(&mut connection)
        }
        done => done,
    }
}

fn query(connection: &Mutex<Connection>, sql: &str, values: &[Value<'_>]) -> Result<Vec<postgres::Row>, StoreError> {
    with_connection(connection, |connection| {
        let statement = connection.statement(sql, values)?;
        Ok(connection.client.query(&statement, &sql_params(&statement, values))?)
    })
}

impl Postgres {
    pub(super) fn connect(server: &DatabaseServer, access: Access) -> Result<Self, StoreError> {
        let connection = Connection {
            client: Connection::connect(server, access)?,
            server: server.clone(),
            access,
            statements: HashMap::new(),
            is_in_transaction: false,
            held: 0,
        };
        Ok(Self {
            connection: Arc::new(Mutex::new(connection)),
            tables: Mutex::default(),
        })
    }

    pub(super) fn rows(&self) -> RowReader {
        RowReader {
            connection: self.connection.clone(),
        }
    }

    fn with_connection<T>(&self, work: impl FnMut(&mut Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        with_connection(&self.connection, work)
    }

    pub(super) fn is_idle(&self) -> bool {
        !lock(&self.connection).is_in_transaction
    }

    pub(super) fn begin(&self, mode: &str) -> Result<(), StoreError> {
        let sql = format!("BEGIN ISOLATION LEVEL {mode}");
        self.with_connection(|connection| {
            connection.client.batch_execute(&sql)?;
            Ok(())
        })?;
        lock(&self.connection).is_in_transaction = true;
        Ok(())
    }

    pub(super) fn commit(&self) -> Result<(), StoreError> {
        // PostgreSQL answers a COMMIT of a failed transaction by rolling it back without an error. The statement
        // before it fails in that case.
        self.end_transaction("SELECT 1; COMMIT")
    }

    pub(super) fn end_transaction(&self, how: &str) -> Result<(), StoreError> {
        let mut connection = lock(&self.connection);
        let result = connection.client.simple_query(how);
        connection.is_in_transaction = result.is_err() && how != ROLLBACK;
        result?;
        Ok(())
    }

    /// Acquires a right, and waits for it if `is_waiting` is `true`. Returns `None` if another connection holds it.
    pub(super) fn acquire(&self, right: Right, is_waiting: bool) -> Result<Option<HeldLock>, StoreError> {
        let key = lock_key(right);
        let sql = match is_waiting {
            true => format!("SELECT 1 FROM (SELECT pg_advisory_lock({key})) AS had"),
            false => format!("SELECT 1 WHERE pg_try_advisory_lock({key})"),
        };
        let has = self.with_connection(|connection| Ok(!connection.client.query(&sql, &[])?.is_empty()))?;
        if !has {
            return Ok(None);
        }
        lock(&self.connection).held += 1;
        Ok(Some(HeldLock {
            connection: self.connection.clone(),
            right,
        }))
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value<'_>]) -> Result<usize, StoreError> {
        self.with_connection(|connection| {
            let statement = connection.statement(sql, values)?;
            let touched = connection.client.execute(&statement, &sql_params(&statement, values))?;
            Ok(usize::try_from(touched).unwrap_or(usize::MAX))
        })
    }

    pub(super) fn query(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<postgres::Row>, StoreError> {
        query(&self.connection, sql, values)
    }

    pub(super) fn script(&self, sql: &str) -> Result<(), StoreError> {
        self.with_connection(|connection| Ok(connection.client.batch_execute(sql)?))
    }

    pub(super) fn dialect(ddl: &str) -> String {
        ddl.replace("{int}", "BIGINT")
            .replace("{blob}", "BYTEA")
            .replace("{text}", "TEXT")
            .replace(" TEXT", " TEXT COLLATE \"C\"")
            .replace("{clustered}", "")
            .replace("{strict}", "")
    }

    pub(super) fn lock_schema(&self) -> Result<(), StoreError> {
        self.script("SELECT pg_advisory_xact_lock(hashtextextended('boswell schema ' || current_schema(), 0))")
    }

    /// Creates functions that make the common SQL text work here, and the indexes for finding frames by position.
    pub(super) fn create_extras(&self) -> Result<(), StoreError> {
        self.script(
            "CREATE OR REPLACE FUNCTION instr(TEXT, TEXT) RETURNS INTEGER
                LANGUAGE sql IMMUTABLE STRICT AS 'SELECT strpos($1, $2)';
             CREATE OR REPLACE FUNCTION substr(TEXT, BIGINT, BIGINT) RETURNS TEXT
                LANGUAGE sql IMMUTABLE STRICT AS 'SELECT substr($1, $2::INTEGER, $3::INTEGER)';
             CREATE INDEX IF NOT EXISTS frames_by_pack ON frames (pack, start);
             CREATE INDEX IF NOT EXISTS cursors_by_path ON cursors (path);
             ALTER TABLE frames ALTER COLUMN bytes SET STORAGE EXTERNAL;
             ALTER TABLE tails ALTER COLUMN bytes SET STORAGE EXTERNAL;
             ALTER TABLE events ALTER COLUMN bytes SET STORAGE EXTERNAL;
             ALTER TABLE filters ALTER COLUMN bytes SET STORAGE EXTERNAL;
             ALTER TABLE trigrams ALTER COLUMN bytes SET STORAGE EXTERNAL;
             ALTER TABLE readers ALTER COLUMN state SET STORAGE EXTERNAL;",
        )?;
        self.create_word_indexes()
    }

    pub(super) fn make_roles(&self) -> Result<Vec<&'static str>, StoreError> {
        // The extension may have been installed since the tables were created.
        self.create_word_indexes()?;
        const ROLES: [(&str, &str); 3] = [
            ("boswell_owner", "ALL"),
            ("boswell_writer", "SELECT, INSERT, UPDATE, DELETE"),
            ("boswell_reader", "SELECT"),
        ];
        for (role, rights) in ROLES {
            self.script(&format!(
                "DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
                 DO $$ BEGIN
                    EXECUTE format('GRANT USAGE ON SCHEMA %I TO {role}', current_schema());
                    EXECUTE format('GRANT {rights} ON ALL TABLES IN SCHEMA %I TO {role}', current_schema());
                    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT {rights} ON TABLES TO {role}', current_schema());
                 END $$"
            ))?;
        }
        Ok(ROLES.map(|(role, _)| role).to_vec())
    }

    fn has_rows(&self, sql: &str, values: &[Value<'_>]) -> Result<bool, StoreError> {
        Ok(!self.query(sql, values)?.is_empty())
    }

    pub(super) fn has_table(&self, name: &str) -> Result<bool, StoreError> {
        if self
            .tables
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name)
        {
            return Ok(true);
        }
        // Queries the catalog, because `to_regclass` may use a snapshot from before a lock was acquired.
        let is_there = self.has_rows(
            "SELECT 1 FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_namespace.oid = relnamespace
             WHERE relname = $1 AND nspname = ANY(current_schemas(false))",
            &[Value::Text(name)],
        )?;
        if is_there {
            let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
            tables.insert(name.to_owned());
        }
        Ok(is_there)
    }

    pub(super) fn version(&self) -> Result<i64, StoreError> {
        if !self.has_table("schema_version")? {
            return Ok(0);
        }
        let found = self.query("SELECT max(version) FROM schema_version", &[])?;
        Ok(found
            .first()
            .map_or(Ok(None), |row| row.int_opt(0))?
            .unwrap_or_default())
    }

    pub(super) fn set_version(&self, version: i64) -> Result<(), StoreError> {
        self.script(&format!(
            "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL PRIMARY KEY);
             DELETE FROM schema_version;
             INSERT INTO schema_version (version) VALUES ({version});"
        ))
    }

    /// Frees space in the tables. Deleted rows stay in the server's files until their space is reused, and in its
    /// write-ahead log. Both belong to the server, and docs/hub.md says so.
    pub(super) fn scrub(&self) -> Result<bool, StoreError> {
        // Vacuuming another user's table is only a warning on the server, not an error.
        self.script("VACUUM frames")?;
        for table in [
            "tails", "events", "filters", "trigrams", "words", "readers", "turns", "views", "prompts",
        ] {
            self.script(&format!("VACUUM {table}"))?;
        }
        Ok(true)
    }

    pub(super) fn sizes(&self) -> Result<(u64, u64), StoreError> {
        let found = self.query(
            "SELECT coalesce(sum(CASE WHEN relname = 'frames' THEN pg_total_relation_size(oid) END), 0),
                coalesce(sum(CASE WHEN relname <> 'frames' THEN pg_total_relation_size(oid) END), 0)
             FROM pg_class WHERE relkind = 'r' AND relnamespace = current_schema()::regnamespace",
            &[],
        )?;
        let row = found.first().ok_or_else(|| ServerError::value(0))?;
        let size = |column| Ok::<_, StoreError>(row.int_opt(column)?.unwrap_or_default().unsigned_abs());
        Ok((size(0)?, size(1)?))
    }
}

/// Returns as many values as the statement has parameters.
fn sql_params<'v>(statement: &Statement, values: &'v [Value<'_>]) -> Vec<&'v (dyn ToSql + Sync)> {
    let takes = statement.params().len();
    values
        .iter()
        .take(takes)
        .map(|value| value as &(dyn ToSql + Sync))
        .collect()
}
