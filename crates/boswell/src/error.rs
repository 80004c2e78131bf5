//! The errors of commands: the one place that assigns blame, hint and exit code.
//!
//! Libraries describe what failed. This module decides who has to act (the user, the author of the configuration, or
//! us) and which stable code an agent may branch on.

use std::fmt;
use std::io;
use std::path::Path;

use memory::store::{FailureCause, ServerErrorKind, Store, StoreError};

use crate::answers::error::{ErrorAnswer, ErrorRecord};
use memory::logs::LogError;

/// Who has to act so that the next run succeeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Blame {
    /// The request cannot be fulfilled: a file does not exist, is not readable, or exists already.
    User,
    /// The requested object does not exist. This is not a mistake, but there is no answer either.
    NotFound,
    /// A configuration file, variable or `--config` has an invalid value.
    Config,
    /// The command line is invalid.
    Usage,
    /// A bug in Boswell.
    Internal,
    /// The reader of our output closed it (`boswell … | head -1`). No action is needed.
    Nobody,
}

/// How a successful command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "the exit codes are a contract; a verb may use any of them")]
pub(crate) enum Outcome {
    Done,
    NothingFound,
    /// Done, and the examined object is damaged, as the answer says.
    Damaged,
    /// Done, but raw data was lost by overflow, and the command has reported it.
    DataLost,
    /// The exit code of a command that was run on behalf of the user.
    Exit(u8),
}

impl Outcome {
    pub(crate) fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NothingFound => 1,
            Self::Damaged => 2,
            Self::DataLost => 3,
            Self::Exit(code) => code,
        }
    }
}

/// Why a command failed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CommandError {
    pub(crate) blame: Blame,
    /// Agents rely on it: once released, a code keeps its meaning.
    pub(crate) code: &'static str,
    /// A lowercase phrase without a full stop.
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// Whether the same command may succeed later without any change by the user.
    pub(crate) retryable: bool,
}

impl CommandError {
    pub(crate) fn user(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Blame::User, code, message)
    }

    /// Returns an error for a request that matches nothing.
    pub(crate) fn not_found(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Blame::NotFound, code, message)
    }

    pub(crate) fn config(code: &'static str, message: impl fmt::Display) -> Self {
        Self::new(Blame::Config, code, message)
    }

    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self::new(Blame::Usage, "usage", message)
    }

    /// Returns an error for a bug in Boswell. `message` names the assumption that does not hold.
    pub(crate) fn internal(message: impl fmt::Display) -> Self {
        Self::new(Blame::Internal, "internal", message)
            .with_hint("this is a bug in boswell; please report it with the command you ran")
    }

    pub(crate) fn with_hint(mut self, hint: impl fmt::Display) -> Self {
        self.hint = Some(hint.to_string());
        self
    }

    /// Marks the error as retryable: the same command may succeed later without any change by the user.
    pub(crate) fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Returns whether something was not found.
    pub(crate) fn is_not_found(&self) -> bool {
        self.blame == Blame::NotFound
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.blame {
            Blame::Nobody => 0,
            Blame::NotFound => 1,
            Blame::User | Blame::Config | Blame::Usage | Blame::Internal => 2,
        }
    }

    /// Returns the error for `--json`.
    pub(crate) fn answer(&self) -> ErrorAnswer<'_> {
        ErrorAnswer {
            error: ErrorRecord {
                code: self.code,
                message: &self.message,
                hint: self.hint.as_deref(),
                retryable: self.retryable,
            },
        }
    }

    /// Adds the path of a damaged database to the message, because only the code that opened the store knows it.
    pub(crate) fn in_store(mut self, directory: &Path) -> Self {
        if self.code == DATABASE_DAMAGED {
            let path = directory.join(Store::DATABASE);
            self.message = format!("`{}`: {}", path.display(), self.message);
        }
        self
    }

    fn new(blame: Blame, code: &'static str, message: impl fmt::Display) -> Self {
        Self {
            blame,
            code,
            message: message.to_string(),
            hint: None,
            retryable: false,
        }
    }
}

/// Writing to stdout failed. It is separate from [`io::Error`], so that no other closed pipe is mistaken for it.
#[derive(Debug)]
pub(crate) struct OutputError(io::Error);

impl From<io::Error> for OutputError {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

impl From<OutputError> for CommandError {
    fn from(OutputError(error): OutputError) -> Self {
        let message = format!("cannot write to stdout: {error}");
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::new(Blame::Nobody, "output", message),
            _ => Self::user("output", message),
        }
    }
}

/// The error code of a damaged database file.
const DATABASE_DAMAGED: &str = "database-damaged";

/// Returns the error for a log that cannot be read, with a hint.
pub(crate) fn log_error(error: LogError) -> CommandError {
    match &error {
        LogError::Io { .. } => CommandError::user("log-unreadable", &error),
        LogError::UnknownAgent { .. } => CommandError::user("log-unknown", &error)
            .with_hint("name the agent with `--agent claude`, if you know that it is one"),
    }
}

impl From<StoreError> for CommandError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::TooNew { .. } => Self::user("store-too-new", &error).with_hint("update this boswell; nothing was changed"),
            StoreError::Headless => Self::user("database-gone", &error).with_hint(
                "`boswell doctor --repair` makes a new database of the packs and of the agents' own logs",
            ),
            _ if error.is_damage() => Self::user(DATABASE_DAMAGED, format_args!("the file is damaged; {error}")).with_hint(
                "the packs and the agents' own logs are not touched by this; `boswell doctor --deep` says more, and \
                 `boswell doctor --repair` makes a new database of what can be read, of the packs and of the logs",
            ),
            _ if error.failure_cause().is_some() => {
                let hint = match error.failure_cause() {
                    Some(FailureCause::DiskFull) => "there is no room on the disk; nothing that was kept is lost, and the next sweep goes on",
                    Some(FailureCause::NotWritable) => "the data directory and the files in it must be yours to write",
                    _ => "no room on the disk, an I/O error, or a data directory that is not yours; nothing that was kept is lost",
                };
                Self::user("store-unusable", &error).with_hint(hint)
            }
            StoreError::Busy => Self::user("store-busy", &error)
                .with_hint("try again when it is done")
                .retryable(),
            StoreError::Io { .. } => Self::user("store-unusable", &error)
                .with_hint("the data directory must be yours to write, with room on its disk"),
            StoreError::HasOthers { .. } => Self::user("hub-not-empty", &error)
                .with_hint("`boswell hub push` adds to a memory that holds others, too"),
            StoreError::Differs { .. } => Self::user("hub-differs", &error)
                .with_hint("run it again: what is the same is not carried twice"),
            StoreError::DamagedFrame { .. } => Self::user("store-damaged", &error)
                .with_hint("the other frames are whole; the agent may still have the log"),
            StoreError::DamagedRow { .. } => {
                Self::user("store-damaged", &error).with_hint("`boswell rebuild` makes it again from what is kept")
            }
            StoreError::Server(told) => match told.kind() {
                ServerErrorKind::Unavailable => Self::user("store-away", &error)
                    .with_hint("is the server up, and can it be reached from here?")
                    .retryable(),
                ServerErrorKind::Denied => Self::user("store-denied", &error)
                    .with_hint("the password comes from `store.password_file` or `hub.password_file`, `PGPASSWORD` or `~/.pgpass`, and the role must be allowed to do it; see docs/hub.md"),
                ServerErrorKind::DiskFull | ServerErrorKind::Other => Self::user("store-failed", &error),
            },
            StoreError::Database(_) | StoreError::Unknown { .. } => Self::user("store-failed", &error)
                .with_hint("is the data directory yours to read? `boswell doctor --deep` says more"),
        }
    }
}

impl From<clap::Error> for CommandError {
    fn from(error: clap::Error) -> Self {
        let text = error.render().to_string();
        let first = text.split("\n\n").next().unwrap_or_default();
        let words = first.split_whitespace().collect::<Vec<_>>().join(" ");
        let message = match words.strip_prefix("error: ") {
            Some(message) => message.to_owned(),
            // Where clap shows help instead of an error, the text begins with the command's title.
            None => "a command is missing".to_owned(),
        };
        let line = |label| text.lines().find_map(|line| line.trim().strip_prefix(label));
        let usage = || line("Usage: ").map(|usage| format!("usage: `{usage}`"));
        let hint = line("tip: ").map(str::to_owned).or_else(usage);
        Self::usage(message).with_hint(hint.unwrap_or_else(|| "see `boswell help`".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_nobodys_fault_and_a_full_disk_is_an_error() {
        let closed = CommandError::from(OutputError(io::ErrorKind::BrokenPipe.into()));
        assert_eq!((closed.blame, closed.exit_code()), (Blame::Nobody, 0));
        let full = CommandError::from(OutputError(io::ErrorKind::StorageFull.into()));
        assert_eq!((full.blame, full.exit_code()), (Blame::User, 2));
    }

    #[test]
    fn exit_codes_are_those_of_the_contract() {
        let outcomes = [
            Outcome::Done,
            Outcome::NothingFound,
            Outcome::Damaged,
            Outcome::DataLost,
        ];
        assert_eq!(outcomes.map(Outcome::exit_code), [0, 1, 2, 3]);
        assert_eq!(CommandError::internal("x").exit_code(), 2);
        assert_eq!(CommandError::not_found("x", "x").exit_code(), 1);
    }

    #[test]
    fn an_error_as_json_has_all_four_fields() {
        let error = CommandError::user("store-busy", "another sweep is running").retryable();
        insta::assert_snapshot!(serde_json::to_string(&error.answer()).unwrap(), @r#"{"error":{"code":"store-busy","message":"another sweep is running","hint":null,"retryable":true}}"#);
    }
}
