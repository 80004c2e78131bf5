//! The `prompts` and `prompt_files` tables: prompts from the agents' histories, and how far these were read. No other
//! file writes them.
//!
//! A prompt stays even if the agent trims its history. Whether the log of its session is stored is determined by each
//! query, so that the order of sweeps does not matter.

use transcript::Agent;

use super::cursors::FileStat;
use super::engine::{Engine, Row, Value};
use super::{Reads, StoreError, Tx, paths};
use crate::mask::MaskVersion;

/// Maximum length of a first prompt in a result.
const FIRST_PROMPT_CHARS_MAX: i64 = 500;

/// The source of a prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptSource {
    /// A history with one entry per prompt.
    History,
    /// An index of sessions: the text of a whole session, and its title.
    Index,
}

impl PromptSource {
    fn as_str(self) -> &'static str {
        match self {
            Self::History => "history",
            Self::Index => "index",
        }
    }
}

/// A masked prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptRow {
    pub agent: Agent,
    pub native_session_id: Option<String>,
    pub source: PromptSource,
    pub at_micros: Option<i64>,
    pub project: Option<String>,
    pub title: Option<String>,
    pub text: String,
    pub mask_version: MaskVersion,
}

/// How far a history was read, and how its file is recognized.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFile {
    pub path: String,
    pub stat: FileStat,
    pub read_to: u64,
    pub lines: u64,
    /// `true` if the last line that was read has no line break yet.
    pub ends_mid_line: bool,
    pub head_hash: [u8; 32],
    pub tail_hash: [u8; 32],
}

/// A session of which only prompts are left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptsOnly {
    pub session_uid: String,
    pub flavor: String,
    pub project: Option<String>,
    pub title: Option<String>,
    pub first_micros: Option<i64>,
    pub last_micros: Option<i64>,
    pub prompts: u64,
    pub first_prompt: String,
}

impl PromptRow {
    /// Returns the uid of its session. A prompt without a session id has only the agent in it.
    fn session_uid(&self) -> String {
        let id = self.native_session_id.as_deref().unwrap_or_default();
        format!("{}:{id}", self.agent.as_str())
    }

    /// Returns the key of the prompt. Prompts with equal keys are duplicates.
    fn key(&self) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new();
        let mut add = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        add(self.source.as_str().as_bytes());
        if self.source == PromptSource::History {
            // Without a session id, only the project distinguishes equal prompts at the same time.
            let project = self.project.as_deref().filter(|_| self.native_session_id.is_none());
            add(project.unwrap_or_default().as_bytes());
            add(&self.at_micros.unwrap_or(i64::MIN).to_le_bytes());
            add(self.text.as_bytes());
        }
        let mut key = [0; 16];
        hasher.finalize_xof().fill(&mut key);
        key
    }
}

impl Tx<'_> {
    /// Stores prompts without duplicates. Returns the number of new ones.
    pub fn add_prompts(&self, prompts: &[PromptRow]) -> Result<u64, StoreError> {
        let mut new = 0;
        for prompt in prompts {
            let text = replace_nul(&prompt.text);
            let (project, title) = (
                prompt.project.as_deref().map(replace_nul),
                prompt.title.as_deref().map(replace_nul),
            );
            // A history must not bring back what was evicted or forgotten. An index has one entry per session, of
            // which the newest wins; a prompt of a history never changes.
            let touched = self.engine.execute(
                "INSERT INTO prompts (session_uid, prompt_key, flavor, source, at, project, title, text, mask_version)
                 SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9
                 WHERE NOT EXISTS (SELECT 1 FROM tombstones WHERE tombstones.session_uid = $1)
                    AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.session_uid = $1
                        AND (evicted_at IS NOT NULL OR evicting_at IS NOT NULL))
                 ON CONFLICT (session_uid, prompt_key) DO UPDATE SET at = $5, project = $6, title = $7, text = $8,
                    mask_version = $9
                 WHERE prompts.source = 'index' AND coalesce($5, 0) >= coalesce(prompts.at, 0)
                    AND (prompts.text <> $8 OR coalesce(prompts.title, '') <> coalesce($7, ''))",
                &[
                    Value::Text(&prompt.session_uid()),
                    Value::Blob(&prompt.key()),
                    Value::Text(prompt.agent.as_str()),
                    Value::Text(prompt.source.as_str()),
                    prompt.at_micros.map_or(Value::Null, Value::Int),
                    Value::text_opt(project.as_deref()),
                    Value::text_opt(title.as_deref()),
                    Value::Text(&text),
                    Value::Int(prompt.mask_version.to_int()),
                ],
            )?;
            new += touched as u64;
        }
        Ok(new)
    }

    /// Replaces a prompt that was masked again.
    pub fn replace_prompt(&self, key: &[u8], prompt: PromptRow) -> Result<(), StoreError> {
        self.engine.execute(
            "DELETE FROM prompts WHERE session_uid = $1 AND prompt_key = $2",
            &[Value::Text(&prompt.session_uid()), Value::Blob(key)],
        )?;
        self.add_prompts(&[prompt]).map(|_| ())
    }

    /// Deletes the prompts of a session, because its text is evicted or forgotten.
    pub fn drop_prompts(&self, session_uid: &str) -> Result<(), StoreError> {
        self.engine.execute(
            "DELETE FROM prompts WHERE session_uid = $1",
            &[Value::Text(session_uid)],
        )?;
        Ok(())
    }

    /// Records how far a history was read.
    pub fn put_prompt_file(&self, file: &PromptFile) -> Result<(), StoreError> {
        // The bits of a device or inode number are stored regardless of the sign.
        let bits = |number: u64| Value::Int(number.cast_signed());
        self.engine.execute(
            "INSERT INTO prompt_files (path, device, inode, size, mtime_ns, ctime_ns, read_to, lines, ends_mid_line,
                head_hash, tail_hash)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
             ON CONFLICT (path) DO UPDATE SET device = $2, inode = $3, size = $4, mtime_ns = $5, ctime_ns = $6,
                read_to = $7, lines = $8, ends_mid_line = $9, head_hash = $10, tail_hash = $11",
            &[
                Value::Text(&paths::to_stored(self.engine, &file.path)),
                bits(file.stat.device),
                bits(file.stat.inode),
                Value::count(file.stat.size),
                Value::Int(file.stat.mtime_ns),
                Value::Int(file.stat.ctime_ns),
                Value::count(file.read_to),
                Value::count(file.lines),
                Value::flag(file.ends_mid_line),
                Value::Blob(&file.head_hash),
                Value::Blob(&file.tail_hash),
            ],
        )?;
        Ok(())
    }
}

impl Reads<'_> {
    /// Returns at most `limit` prompts that were masked by older rules, or by other rules of the user, each with its
    /// key.
    pub fn prompts_masked_otherwise(
        &self,
        version: MaskVersion,
        limit: u32,
    ) -> Result<Vec<(Vec<u8>, PromptRow)>, StoreError> {
        self.engine.query(
            "SELECT session_uid, source, at, project, title, text, mask_version, flavor, prompt_key FROM prompts
             WHERE mask_version <> $1 AND mask_version < $2 ORDER BY session_uid, prompt_key LIMIT $3",
            &[
                Value::Int(version.to_int()),
                Value::Int(version.next_rules()),
                Value::Int(i64::from(limit)),
            ],
            |row| Ok((row.blob(8)?, read_prompt(row)?)),
        )
    }

    /// Returns how far each history was read, sorted by path.
    pub fn prompt_files(&self) -> Result<Vec<PromptFile>, StoreError> {
        // A store that an older version created has no such table until the next write.
        if !self.engine.has_table("prompt_files")? {
            return Ok(Vec::new());
        }
        self.engine.query(
            "SELECT path, device, inode, size, mtime_ns, ctime_ns, read_to, lines, ends_mid_line, head_hash, tail_hash
             FROM prompt_files ORDER BY path",
            &[],
            |row| read_prompt_file(self.engine, row),
        )
    }

    /// Returns the sessions that histories name and that have no stored log, sorted by uid.
    pub fn prompts_only(&self) -> Result<Vec<PromptsOnly>, StoreError> {
        if !self.engine.has_table("prompts")? {
            return Ok(Vec::new());
        }
        // Prompts of a history come before the text of an index, and ordinary prompts before commands such as
        // `/exit`.
        self.engine.query(
            "WITH left_over AS (
                SELECT session_uid, min(flavor) AS flavor, min(at) AS first_at, max(at) AS last_at,
                    sum(CASE WHEN source = 'history' THEN 1 ELSE 0 END) AS prompts, max(title) AS title,
                    max(project) AS project
                FROM prompts
                WHERE session_uid <> flavor || ':'
                    AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.session_uid = prompts.session_uid)
                GROUP BY session_uid
             )
             SELECT session_uid, flavor, project, title, first_at, last_at, prompts,
                (SELECT substr(text, 1, $1) FROM prompts WHERE prompts.session_uid = left_over.session_uid
                 ORDER BY source, CASE WHEN substr(text, 1, 1) IN ('/', '!') THEN 1 ELSE 0 END, at NULLS LAST, prompt_key
                 LIMIT 1)
             FROM left_over ORDER BY session_uid",
            &[Value::Int(FIRST_PROMPT_CHARS_MAX)],
            read_prompts_only,
        )
    }

    /// Passes the prompts of sessions without a stored log to `take`, session by session, oldest first: the session,
    /// the time, and the text.
    pub fn each_remaining_prompt(&self, take: &mut dyn FnMut(&str, Option<i64>, &str)) -> Result<(), StoreError> {
        if !self.engine.has_table("prompts")? {
            return Ok(());
        }
        self.engine.each(
            "SELECT session_uid, at, text FROM prompts
             WHERE NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.session_uid = prompts.session_uid)
             ORDER BY session_uid, source, at NULLS LAST, prompt_key",
            &[],
            |row| {
                take(row.text_ref(0)?, row.int_opt(1)?, row.text_ref(2)?);
                Ok(())
            },
        )
    }

    /// Returns the prompts of a session from histories, oldest first.
    pub fn prompts_of(&self, session_uid: &str) -> Result<Vec<(Option<i64>, String)>, StoreError> {
        if !self.engine.has_table("prompts")? {
            return Ok(Vec::new());
        }
        self.engine.query(
            "SELECT at, text FROM prompts WHERE session_uid = $1 ORDER BY source, at NULLS LAST, prompt_key",
            &[Value::Text(session_uid)],
            |row| Ok((row.int_opt(0)?, row.text(1)?)),
        )
    }

    /// Returns the number of prompts of a session from histories.
    pub fn prompt_count(&self, session_uid: &str) -> Result<u64, StoreError> {
        if !self.engine.has_table("prompts")? {
            return Ok(0);
        }
        let count = self.engine.query_opt(
            "SELECT count(*) FROM prompts WHERE session_uid = $1 AND source = 'history'",
            &[Value::Text(session_uid)],
            |row| read_count(row, 0),
        )?;
        Ok(count.unwrap_or_default())
    }
}

fn read_prompts_only(row: &Row<'_>) -> Result<PromptsOnly, StoreError> {
    Ok(PromptsOnly {
        session_uid: row.text(0)?,
        flavor: row.text(1)?,
        project: row.text_opt(2)?,
        title: row.text_opt(3)?,
        first_micros: row.int_opt(4)?,
        last_micros: row.int_opt(5)?,
        prompts: read_count(row, 6)?,
        first_prompt: row.text(7)?,
    })
}

fn read_prompt(row: &Row<'_>) -> Result<PromptRow, StoreError> {
    let uid = row.text(0)?;
    let flavor = row.text(7)?;
    let agent = Agent::ALL.into_iter().find(|agent| agent.as_str() == flavor);
    let native = uid.split_once(':').map_or("", |(_, native)| native);
    Ok(PromptRow {
        agent: agent.ok_or_else(|| StoreError::Unknown {
            what: "agent",
            word: flavor.clone(),
        })?,
        native_session_id: (!native.is_empty()).then(|| native.to_owned()),
        source: match row.text(1)?.as_str() {
            "index" => PromptSource::Index,
            _ => PromptSource::History,
        },
        at_micros: row.int_opt(2)?,
        project: row.text_opt(3)?,
        title: row.text_opt(4)?,
        text: row.text(5)?,
        mask_version: MaskVersion::of_int(row.int(6)?),
    })
}

fn read_prompt_file(engine: &Engine, row: &Row<'_>) -> Result<PromptFile, StoreError> {
    let bits = |column| row.int(column).map(i64::cast_unsigned);
    let hash = |column| row.blob(column).map(|bytes| bytes.try_into().unwrap_or_default());
    Ok(PromptFile {
        path: paths::from_stored(engine, row.text(0)?),
        stat: FileStat {
            device: bits(1)?,
            inode: bits(2)?,
            size: read_count(row, 3)?,
            mtime_ns: row.int(4)?,
            ctime_ns: row.int(5)?,
        },
        read_to: read_count(row, 6)?,
        lines: read_count(row, 7)?,
        ends_mid_line: row.int(8)? != 0,
        head_hash: hash(9)?,
        tail_hash: hash(10)?,
    })
}

fn read_count(row: &Row<'_>, column: usize) -> Result<u64, StoreError> {
    row.int(column).map(|number| u64::try_from(number).unwrap_or_default())
}

/// Replaces NUL characters, because PostgreSQL cannot store them in text.
fn replace_nul(text: &str) -> String {
    text.replace('\0', "\u{2400}")
}
