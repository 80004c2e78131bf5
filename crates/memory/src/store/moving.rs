//! Exports all rows of one session, and all rows that belong to no session, so that they can be inserted into another
//! database. Rows are copied unchanged. Each table is otherwise still written by only one file.
//!
//! A session is transferred completely or not at all, so that an interrupted transfer can be repeated.

use std::collections::HashMap;

use super::engine::{Engine, Row, Value};
use super::{FrameRow, Reads, StoreError, Tx, paths, schema};

/// A table and its columns, each prefixed by its type: `i` for a number, `t` for text, `b` for bytes, `p` for a path
/// on some machine.
pub(super) type Table = (&'static str, &'static str);

/// Returns the columns of a table, each with its type.
pub(super) fn columns(table: &Table) -> impl Iterator<Item = (&'static str, char)> {
    let parts = table
        .1
        .split_ascii_whitespace()
        .filter_map(|column| column.split_once(':'));
    parts.map(|(kind, name)| (name, kind.chars().next().unwrap_or('t')))
}

fn names(table: &Table) -> Vec<&'static str> {
    columns(table).map(|(name, _)| name).collect()
}

/// The tables of a session, with referenced tables first. Frames are transferred separately from their bytes.
pub(super) const SESSION_TABLES: &[Table] = &[
    (
        "sessions",
        "t:session_uid t:flavor t:native_session_id i:discovered_at i:ingested_at i:analyzed_at i:evicted_at \
         t:stands_for i:evicting_at i:generation t:evicted_for t:machine t:user_name",
    ),
    (
        "cursors",
        "t:session_uid t:part p:path t:root i:device i:inode i:size i:mtime_ns i:ctime_ns i:read_to i:lines \
         i:ends_mid_line b:head_hash b:tail_hash",
    ),
    (
        "tails",
        "t:session_uid t:part i:first_line i:lines i:raw_bytes b:bytes i:mask_version",
    ),
    ("readers", "t:session_uid i:version b:state"),
    (
        "views",
        "t:session_uid i:started_at i:ended_at t:repo t:cwd t:title t:branch i:is_subagent i:is_hidden t:view",
    ),
    ("filters", "t:session_uid t:part i:frame_no b:bytes"),
    ("trigrams", "t:session_uid t:part i:frame_no b:bytes"),
    (
        "events",
        "t:session_uid i:page i:events i:first_line i:last_line b:bytes",
    ),
    (
        "turns",
        "t:session_uid i:turn i:trigger_seq i:start_line i:end_line i:started_at i:ended_at t:prompt i:events \
         i:tool_calls i:errors i:is_rewound",
    ),
    (
        "calls",
        "t:session_uid i:call_key i:message i:request i:seq i:turn i:line t:model i:first_ts i:ts i:input \
         i:output i:cache_read i:cache_write_5m i:cache_write_1h i:reasoning t:speed i:web_searches \
         i:cost_usd_ticks i:is_sidechain i:is_echo",
    ),
    ("faults", "t:session_uid t:part i:line t:reason i:is_mended"),
    ("unknown", "t:session_uid t:record t:version i:count"),
    ("digests", "t:session_uid i:version i:made_at i:is_sealed t:digest"),
    ("packed_calls", "t:session_uid i:analyzed_at b:bytes"),
];

/// The tables that do not depend on a row of `sessions`.
pub(super) const OTHER_TABLES: &[Table] = &[
    ("operations", "i:operation_id i:at t:command t:sentence"),
    ("shared_files", "p:path i:device i:inode i:size i:mtime_ns i:ctime_ns"),
    (
        "prompts",
        "t:session_uid b:prompt_key t:flavor t:source i:at t:project t:title t:text i:mask_version",
    ),
    (
        "prompt_files",
        "p:path i:device i:inode i:size i:mtime_ns i:ctime_ns i:read_to i:lines i:ends_mid_line b:head_hash \
         b:tail_hash",
    ),
    ("tags", "t:session_uid t:tag i:at i:mask_version"),
    ("annotations", "t:session_uid t:kind t:text i:at i:mask_version"),
    ("decisions", "i:decision_id t:session_uid i:at t:text i:mask_version"),
    ("keeps", "t:session_uid i:at"),
    ("tombstones", "t:session_uid i:at"),
    ("copies", "t:session_uid p:path t:kind i:at"),
    (
        "facts",
        "t:session_uid t:fact_key t:agent i:at t:event t:reason t:error i:exit_code",
    ),
];

/// The `frames` table without the bytes of frames, as a store in a directory has it, because its packs are files.
pub(super) const FRAMES_TABLE: Table = (
    "frames",
    "t:session_uid t:part i:frame_no i:first_line i:lines i:raw_bytes t:pack i:start i:length b:checksum i:mask_version",
);

/// A value of any column during a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum ColumnValue {
    Null,
    Int(i64),
    Text(String),
    Blob(Vec<u8>),
}

impl ColumnValue {
    pub(super) fn as_value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Int(number) => Value::Int(*number),
            Self::Text(text) => Value::Text(text),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// Exported rows of one table.
pub struct TableRows {
    table: &'static Table,
    rows: Vec<Vec<ColumnValue>>,
}

/// The exported rows of one session, without the bytes of its frames.
pub struct SessionRows {
    pub session_uid: String,
    loads: Vec<TableRows>,
    /// Each frame with its part.
    pub frames: Vec<(String, FrameRow)>,
}

impl SessionRows {
    /// Returns a hash of the session that does not depend on the database. The writer is left out, because an older
    /// store does not record it.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        self.loads.iter().for_each(|load| load.hash(&mut hasher));
        for (part, frame) in &self.frames {
            hasher.update(part.as_bytes());
            hasher.update(&frame.frame_no.to_le_bytes());
            hasher.update(&frame.first_line.to_le_bytes());
            hasher.update(&frame.checksum);
        }
        *hasher.finalize().as_bytes()
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> u64 {
        let rows: usize = self.loads.iter().map(|load| load.rows.len()).sum();
        (rows + self.frames.len()) as u64
    }
}

impl TableRows {
    /// Returns the name of the table and the number of rows.
    pub fn told(&self) -> (&'static str, u64) {
        (self.table.0, self.rows.len() as u64)
    }

    /// Returns a hash of the rows.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        self.hash(&mut hasher);
        *hasher.finalize().as_bytes()
    }

    fn hash(&self, hasher: &mut blake3::Hasher) {
        hasher.update(self.table.0.as_bytes());
        for row in &self.rows {
            for (value, (name, _)) in row.iter().zip(columns(self.table)) {
                if matches!(name, "machine" | "user_name") {
                    continue;
                }
                let (mark, bytes) = match value {
                    ColumnValue::Null => (0, Vec::new()),
                    ColumnValue::Int(number) => (1, number.to_le_bytes().to_vec()),
                    ColumnValue::Text(text) => (2, text.as_bytes().to_vec()),
                    ColumnValue::Blob(bytes) => (3, bytes.clone()),
                };
                hasher.update(&[mark]);
                hasher.update(&(bytes.len() as u64).to_le_bytes());
                hasher.update(&bytes);
            }
        }
    }
}

impl Reads<'_> {
    /// Exports one session, without the bytes of its frames.
    pub fn export_session(&self, session_uid: &str) -> Result<SessionRows, StoreError> {
        let uid = [Value::Text(session_uid)];
        let loads = SESSION_TABLES
            .iter()
            .map(|table| read_table(self.engine, table, " WHERE session_uid = $1", &uid))
            .collect::<Result<_, _>>()?;
        let mut frames = Vec::new();
        for part in self.parts(session_uid)? {
            frames.extend(
                self.frames(session_uid, &part)?
                    .into_iter()
                    .map(|frame| (part.clone(), frame)),
            );
        }
        Ok(SessionRows {
            session_uid: session_uid.to_owned(),
            loads,
            frames,
        })
    }

    /// Exports the tables that refer to sessions by uid only and can be merged.
    pub fn export_annotation_tables(&self) -> Result<Vec<TableRows>, StoreError> {
        let beside = OTHER_TABLES.iter().filter(|table| conflict_clause(table.0).is_some());
        beside.map(|table| read_table(self.engine, table, "", &[])).collect()
    }

    /// Exports the tables that belong to no session.
    pub fn export_other_tables(&self) -> Result<Vec<TableRows>, StoreError> {
        OTHER_TABLES
            .iter()
            .map(|table| read_table(self.engine, table, "", &[]))
            .collect()
    }
}

impl Tx<'_> {
    /// Replaces the rows of a session. The caller adds the frames, because it has their bytes.
    pub fn import_session(&self, session: &SessionRows) -> Result<(), StoreError> {
        self.drop_session(&session.session_uid)?;
        session
            .loads
            .iter()
            .try_for_each(|load| insert_rows(self.engine, load, ""))?;
        self.fill_writer(&session.session_uid)
    }

    /// Merges rows that refer to uids. If two have the same key, the newer one wins.
    pub fn merge_rows(&self, news: &TableRows) -> Result<(), StoreError> {
        insert_rows(self.engine, news, conflict_clause(news.table.0).unwrap_or_default())
    }

    /// Replaces all rows of a table that belongs to no session.
    pub fn replace_table(&self, other: &TableRows) -> Result<(), StoreError> {
        self.engine.execute(&format!("DELETE FROM {}", other.table.0), &[])?;
        insert_rows(self.engine, other, "")
    }
}

fn read_table(
    engine: &Engine,
    table: &'static Table,
    which: &str,
    values: &[Value<'_>],
) -> Result<TableRows, StoreError> {
    let sql = format!("SELECT {} FROM {}{which}", names(table).join(", "), table.0);
    let columns: Vec<_> = columns(table).collect();
    let rows = engine.query(&sql, values, |row| read_columns(engine, row, &columns));
    let mut rows = match rows {
        // A read-only store is not migrated, so it is exported as an older version left it.
        Err(error) if schema::is_older_than(engine, table.0, &error) => Vec::new(),
        rows => rows?,
    };
    // Sorted by content, so that the order does not depend on the database or the machine.
    rows.sort_by(|a, b| format!("{a:?}").cmp(&format!("{b:?}")));
    Ok(TableRows { table, rows })
}

/// Converts a row according to the types of its columns.
pub(super) fn read_columns(
    engine: &Engine,
    row: &Row<'_>,
    columns: &[(&str, char)],
) -> Result<Vec<ColumnValue>, StoreError> {
    let value = |(at, (_, kind)): (usize, &(&str, char))| {
        let found = match kind {
            'i' => row.int_opt(at)?.map(ColumnValue::Int),
            'b' => row.blob_ref_opt(at)?.map(|bytes| ColumnValue::Blob(bytes.to_owned())),
            'p' => row
                .text_opt(at)?
                .map(|path| ColumnValue::Text(paths::from_stored(engine, path))),
            // PostgreSQL cannot store NUL in text, so both databases get the same replacement.
            _ => row
                .text_ref_opt(at)?
                .map(|text| ColumnValue::Text(text.replace('\0', "\u{2400}"))),
        };
        Ok(found.unwrap_or(ColumnValue::Null))
    };
    columns.iter().enumerate().map(value).collect()
}

/// Returns the conflict clause of a table, or `None` if rows of the table cannot be merged.
fn conflict_clause(table: &str) -> Option<&'static str> {
    Some(match table {
        "tags" => "ON CONFLICT (session_uid, tag) DO NOTHING",
        "keeps" => "ON CONFLICT (session_uid) DO NOTHING",
        "annotations" => {
            "ON CONFLICT (session_uid, kind) DO UPDATE SET text = excluded.text, at = excluded.at,
                mask_version = excluded.mask_version WHERE annotations.at < excluded.at"
        }
        "facts" => {
            "ON CONFLICT (session_uid, fact_key) DO UPDATE SET at = excluded.at, reason = excluded.reason,
                error = excluded.error, exit_code = excluded.exit_code WHERE facts.at < excluded.at"
        }
        _ => return None,
    })
}

/// Returns the statement that inserts one row into a table.
pub(super) fn insert_statement(table: &str, names: &[&str]) -> String {
    let places: Vec<String> = (1..=names.len()).map(|at| format!("${at}")).collect();
    format!(
        "INSERT INTO {} ({}) VALUES ({})",
        table,
        names.join(", "),
        places.join(", ")
    )
}

fn insert_rows(engine: &Engine, load: &TableRows, conflict: &str) -> Result<(), StoreError> {
    let sql = format!("{} {conflict}", insert_statement(load.table.0, &names(load.table)));
    let kept: Vec<Vec<Option<String>>> = load
        .rows
        .iter()
        .map(|row| {
            let path = |(value, (_, kind)): (&ColumnValue, (&str, char))| match value {
                // A path of another machine already includes the name of that machine.
                ColumnValue::Text(path) if kind == 'p' && path.starts_with('/') => {
                    Some(paths::to_stored(engine, path).into_owned())
                }
                _ => None,
            };
            row.iter().zip(columns(load.table)).map(path).collect()
        })
        .collect();
    let rows = load.rows.iter().zip(&kept).map(|(row, kept)| {
        row.iter()
            .zip(kept)
            .map(|(value, path)| path.as_deref().map_or_else(|| value.as_value(), Value::Text))
            .collect()
    });
    engine.bulk(&sql, rows)
}

fn int_or_zero(value: &ColumnValue) -> i64 {
    match value {
        ColumnValue::Int(number) => *number,
        _ => 0,
    }
}

impl SessionRows {
    /// Returns `true` if it contains raw text.
    pub fn has_text(&self) -> bool {
        let is_tails = |load: &TableRows| load.table.0 == "tails" && !load.rows.is_empty();
        !self.frames.is_empty() || self.loads.iter().any(is_tails)
    }

    /// Removes everything except what a digest contains: numbers, turns, and the two given texts. The result is a
    /// session whose raw text was evicted.
    pub fn without_text(mut self, view: Option<&str>, digest: Option<&str>, evicted_for: &str) -> Self {
        const STAY: [&str; 7] = [
            "sessions",
            "cursors",
            "views",
            "turns",
            "calls",
            "digests",
            "packed_calls",
        ];
        self.frames.clear();
        self.loads.retain(|load| STAY.contains(&load.table.0));
        let text = |text: &str| ColumnValue::Text(text.to_owned());
        let ingested = self.loads.first().and_then(|load| load.first_value("ingested_at"));
        for load in &mut self.loads {
            match (load.table.0, view, digest) {
                ("sessions", ..) => {
                    load.set_column("evicted_at", &ingested.clone().unwrap_or(ColumnValue::Int(0)));
                    load.set_column("evicted_for", &text(evicted_for));
                }
                ("turns", ..) => load.set_column("prompt", &text("")),
                ("views", Some(view), _) => {
                    load.set_column("title", &ColumnValue::Null);
                    load.set_column("view", &text(view));
                }
                ("digests", _, Some(digest)) => {
                    load.set_column("is_sealed", &ColumnValue::Int(1));
                    load.set_column("digest", &text(digest));
                }
                ("views" | "digests", ..) => load.rows.clear(),
                _ => {}
            }
        }
        self
    }
}

/// A predicate on session uids.
type UidPredicate<'a> = dyn Fn(&str) -> Result<bool, StoreError> + 'a;

impl TableRows {
    /// Keeps the rows of the sessions for which `is_kept` returns `true`.
    pub fn retain(&mut self, is_kept: impl Fn(&str) -> Result<bool, StoreError>) -> Result<(), StoreError> {
        let mut kept = Vec::new();
        for row in std::mem::take(&mut self.rows) {
            if self.matches_uid(&row, &is_kept)? {
                kept.push(row);
            }
        }
        self.rows = kept;
        Ok(())
    }

    /// Sets the given columns to null in the rows of the sessions for which `is_meant` returns `true`.
    pub fn blank(
        &mut self,
        columns: &[&str],
        is_meant: impl Fn(&str) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let places: Vec<usize> = columns.iter().filter_map(|column| self.column_index(column)).collect();
        for at in 0..self.rows.len() {
            if self.matches_uid(&self.rows[at], &is_meant)? {
                places
                    .iter()
                    .for_each(|place| self.rows[at][*place] = ColumnValue::Null);
            }
        }
        Ok(())
    }

    /// Keeps the rows that `there` does not have, or has in an older version.
    pub fn retain_newer(&mut self, there: &Self) {
        // All other tables have the second column in their key.
        let is_keyed_by_two = self.table.0 != "keeps";
        let key = |row: &[ColumnValue]| (row[0].clone(), is_keyed_by_two.then(|| row[1].clone()));
        let place = self.column_index("at").unwrap_or_default();
        let is_replaced = matches!(self.table.0, "annotations" | "facts");
        let known: HashMap<_, i64> = there
            .rows
            .iter()
            .map(|row| (key(row), int_or_zero(&row[place])))
            .collect();
        self.rows.retain(|row| match known.get(&key(row)) {
            Some(at) => is_replaced && *at < int_or_zero(&row[place]),
            None => true,
        });
    }

    fn matches_uid(&self, row: &[ColumnValue], is_meant: &UidPredicate<'_>) -> Result<bool, StoreError> {
        match row.first() {
            Some(ColumnValue::Text(uid)) => is_meant(uid),
            _ => Ok(false),
        }
    }

    fn column_index(&self, column: &str) -> Option<usize> {
        columns(self.table).position(|(name, _)| name == column)
    }

    fn first_value(&self, column: &str) -> Option<ColumnValue> {
        let at = self.column_index(column)?;
        self.rows.first().and_then(|row| row.get(at)).cloned()
    }

    fn set_column(&mut self, column: &str, value: &ColumnValue) {
        let Some(at) = self.column_index(column) else { return };
        for row in &mut self.rows {
            row[at] = value.clone();
        }
    }
}
