//! `boswell secrets`: finds secrets in the agents' own logs.

use std::path::{Path, PathBuf};
use std::str::FromStr;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use memory::mask::Masker;
use memory::secrets::{Place, Search, Secret, Secrets, search};

use crate::agent_arg::AgentName;
use crate::answers::ask::{SecretPlace, SecretRecord, SecretsAnswer};
use crate::answers::shared::UnreadFile;
use crate::context::Context;
use crate::error::{CommandError, Outcome};
use crate::render::text::plural;
use crate::root_arg::{ExtraRoot, roots};
use crate::ui::{FAINT, Format, STRONG, Ui, escape, measure};

/// Maximum number of places of one secret that are shown without `--all`.
const PLACES_SHOWN: usize = 5;

/// Find secrets in the agents' own logs
///
/// Searches logs, the files next to them, spilled results and prompt histories, and changes nothing. A secret is
/// identified by its rule and its fingerprint, the eight hex digits that are also in the tag that replaces it; the
/// secret itself is never shown. Exits with 0 if secrets were found, and with 1 if none were.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  boswell secrets
  boswell secrets --agent codex --since 7d
  boswell secrets --all > places.txt        one line per location: path:line, rule, fingerprint
  boswell secrets notes.txt ~/backup/.claude")]
pub(crate) struct SecretsArgs {
    /// Files and directories to search instead of the agents' roots
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Only this agent's logs
    #[arg(long)]
    agent: Vec<AgentName>,
    /// Also search this directory, labelled by the text after `=`; can be repeated
    #[arg(long, value_name = "DIR=LABEL")]
    root: Vec<ExtraRoot>,
    /// Only files modified since then: a date, `today`, `yesterday`, `7d` or `12h`
    #[arg(long, value_name = "WHEN")]
    since: Option<Since>,
    /// Print every location, one per line
    #[arg(long)]
    all: bool,
}

pub(crate) fn run(ui: &mut Ui, context: &Context, args: &SecretsArgs) -> Result<Outcome, CommandError> {
    // The fingerprints have to match those of the tags in the memory, so the key is created if there is none.
    let masker = context.masker(true)?;
    let bar = ProgressBar::with_draw_target(None, ui.progress_target());
    bar.set_style(
        ProgressStyle::with_template("Looking into files {wide_bar} {pos}/{len} {eta}")
            .unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    let paths: Vec<PathBuf> = args
        .paths
        .iter()
        .map(|path| context.places.current_dir.join(path))
        .collect();
    let found = search(&Search {
        roots: &roots(context, &args.agent, &args.root),
        paths: &paths,
        masker: &masker,
        since: args.since.map(|since| since.at(context)),
        threads: context.threads,
        places_max: if args.all { usize::MAX } else { PLACES_SHOWN },
        is_ignored: &|path| context.is_ignored(path),
        progress: &|done, all| {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
        },
    });
    bar.finish_and_clear();
    if let Some(unread) = found.unread.first().filter(|_| !paths.is_empty() && found.files == 0) {
        let path = shown(&unread.path, &masker);
        return Err(CommandError::user(
            "log-unreadable",
            format_args!("cannot read {path}: {}", unread.reason),
        ));
    }
    match ui.format {
        Format::Json => ui.answer(&to_answer(&found, &masker))?,
        Format::Text if args.all => show_all(ui, &found, &masker)?,
        Format::Text => show(ui, &found, &masker)?,
    }
    conclude(ui, &found, &masker);
    Ok(if found.secrets.is_empty() {
        Outcome::NothingFound
    } else {
        Outcome::Done
    })
}

/// Prints each secret once, with its first places.
fn show(ui: &mut Ui, found: &Secrets, masker: &Masker) -> Result<(), CommandError> {
    for secret in &found.secrets {
        ui.row(format_args!(
            "{}  {}  {}",
            ui.paint(STRONG, escape(&secret.rule)),
            secret.fingerprint,
            plural(secret.count, "place")
        ))?;
        for place in &secret.places {
            ui.row(format_args!("  {}", ui.path(&told(place, masker))))?;
        }
        let more = secret.count.saturating_sub(secret.places.len() as u64);
        if more > 0 {
            ui.row(ui.paint(FAINT, format_args!("  and {} more; see `--all`", measure::count(more))))?;
        }
    }
    Ok(())
}

/// Prints one line per place, for other programs.
fn show_all(ui: &mut Ui, found: &Secrets, masker: &Masker) -> Result<(), CommandError> {
    for secret in &found.secrets {
        let Secret { rule, fingerprint, .. } = secret;
        for place in &secret.places {
            ui.row(format_args!("{}  {}  {fingerprint}", told(place, masker), escape(rule)))?;
        }
    }
    Ok(())
}

fn told(place: &Place, masker: &Masker) -> String {
    format!("{}:{}", shown(&place.path, masker), place.line)
}

/// Returns a path that is safe to print. Paths can contain secrets and control characters, too.
fn shown(path: &Path, masker: &Masker) -> String {
    let text = path.display().to_string();
    escape(&masker.mask_str(&text, &mut Vec::new())).into_owned()
}

fn conclude(ui: &mut Ui, found: &Secrets, masker: &Masker) {
    for unread in &found.unread {
        ui.warning(format_args!("{}: {}", shown(&unread.path, masker), unread.reason));
    }
    if found.left_out > 0 {
        let places = plural(found.left_out, "place");
        ui.warning(format_args!("{places} of further secrets are only counted"));
    }
    ui.status(format_args!(
        "{} in {}; looked into {}, {}",
        plural(found.secrets.len() as u64, "secret"),
        plural(found.total, "place"),
        plural(found.files, "file"),
        measure::bytes(found.bytes)
    ));
    if !found.secrets.is_empty() {
        ui.hint("replace secrets that are still valid; Boswell does not change the agents' logs");
        ui.hint("list false alarms in `session_memory.masking.allow`");
    }
}

fn to_answer(found: &Secrets, masker: &Masker) -> SecretsAnswer {
    let path = |path: &Path| {
        masker
            .mask_str(&path.display().to_string(), &mut Vec::new())
            .into_owned()
    };
    let place = |place: &Place| SecretPlace {
        path: path(&place.path),
        line: place.line,
        agent: place.agent.map(transcript::Agent::as_str),
    };
    let secret = |secret: &Secret| SecretRecord {
        fingerprint: secret.fingerprint.to_string(),
        rule: secret.rule.clone(),
        count: secret.count,
        places: secret.places.iter().map(place).collect(),
    };
    let unread = found.unread.iter().map(|unread| UnreadFile {
        path: path(&unread.path),
        reason: unread.reason.to_string(),
    });
    SecretsAnswer {
        secrets: found.secrets.iter().map(secret).collect(),
        total: found.total,
        left_out: found.left_out,
        files: found.files,
        bytes: found.bytes,
        unread: unread.collect(),
    }
}

/// A time in the past, as a user writes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Since {
    Day(Date),
    /// This many days before today.
    DaysAgo(u32),
    HoursAgo(u32),
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |unit: char| text.strip_suffix(unit).and_then(|number| number.parse().ok());
        let told = match text {
            "today" => Some(Self::DaysAgo(0)),
            "yesterday" => Some(Self::DaysAgo(1)),
            _ => (text.parse().ok().map(Self::Day))
                .or_else(|| number('d').map(Self::DaysAgo))
                .or_else(|| number('h').map(Self::HoursAgo)),
        };
        told.ok_or_else(|| "a time is written like `2026-04-01`, `today`, `yesterday`, `7d` or `12h`".to_owned())
    }
}

impl Since {
    /// Returns the start of the day, or the hour. If it is out of range, returns the minimum, so that nothing is
    /// filtered out.
    fn at(self, context: &Context) -> Timestamp {
        let ago = |hours: u32| context.now.checked_sub(SignedDuration::from_hours(hours.into())).ok();
        let start = |date: Date| date.to_zoned(context.zone.clone()).ok().map(|at| at.timestamp());
        let told = match self {
            Self::Day(date) => start(date),
            Self::DaysAgo(days) => {
                let day = days.checked_mul(24).and_then(ago);
                day.and_then(|at| start(at.to_zoned(context.zone.clone()).date()))
            }
            Self::HoursAgo(hours) => ago(hours),
        };
        told.unwrap_or(Timestamp::MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_word_or_a_span() {
        let read = |text: &str| text.parse::<Since>().ok();
        assert_eq!(read("today"), Some(Since::DaysAgo(0)));
        assert_eq!(read("7d"), Some(Since::DaysAgo(7)));
        assert_eq!(read("12h"), Some(Since::HoursAgo(12)));
        assert_eq!(read("2026-04-01"), Some(Since::Day(jiff::civil::date(2026, 4, 1))));
        for wrong in ["", "d", "-1d", "1w", "tomorrow", "2026-13-01"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
