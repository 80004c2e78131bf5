//! Filters that all verbs over sessions share: agent, place, branch, model, tool, task, tag, writer and time. They are
//! parsed, resolved and applied only here, so that they mean the same everywhere.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, ToSpan};
use memory::annotations::normalize_tag;
use memory::store::{ListedSession, Store, StoreError};
use transcript::Outcome;

use crate::agent_arg::AgentName;
use crate::config::expand_home;
use crate::context::Context;
use crate::day_arg::DayWord;
use crate::error::CommandError;

/// The filters, as the command line has them.
#[derive(clap::Args, Debug, Default)]
pub(crate) struct FilterArgs {
    /// Only sessions of this agent
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Vec<AgentName>,
    /// Only sessions in or below this directory, or in a directory whose path contains this text
    #[arg(long, value_name = "PROJECT")]
    pub(crate) project: Option<String>,
    /// Only sessions of the repository with this name
    #[arg(long, value_name = "REPO")]
    pub(crate) repo: Option<String>,
    /// Only sessions of repositories in this domain, as configured in `session_memory.domains`
    #[arg(long, value_name = "DOMAIN")]
    pub(crate) domain: Option<String>,
    /// Only sessions of the current repository
    #[arg(long)]
    pub(crate) here: bool,
    /// Only sessions on this git branch; `feat/*` matches every branch that begins with `feat/`
    #[arg(long, value_name = "BRANCH")]
    pub(crate) branch: Option<String>,
    /// Only sessions whose branch, title, name or prompts mention this task, such as `ABC-42`
    #[arg(long, value_name = "TASK")]
    pub(crate) task: Option<String>,
    /// Only sessions that used a model whose name contains this text
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// Only sessions that used this tool; a search looks only at its input and output
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only sessions with this outcome, according to their digests
    #[arg(long, value_name = "OUTCOME")]
    pub(crate) outcome: Vec<OutcomeName>,
    /// Only sessions written by this machine, or read from a root with this label, such as another machine's copy
    #[arg(long, value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Only sessions of this user, in a shared memory
    #[arg(long, value_name = "USER")]
    pub(crate) user: Option<String>,
    /// Only sessions with this tag; if repeated, with all of them
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Only activity after this: a date, a time, `today`, `yesterday`, `monday`, `-3d`, `7d`, `12h`
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<When>,
    /// Only what began before this, including that day
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<When>,
}

/// The filters after they are resolved against the context and the store.
#[derive(Debug)]
pub(crate) struct Filters<'a> {
    agents: Vec<&'static str>,
    project: Option<Project>,
    /// In lower case.
    repo: Option<String>,
    /// The repositories of the domain, in lower case.
    domain: Option<HashSet<String>>,
    here: Option<Vec<PathBuf>>,
    branch: Option<&'a str>,
    /// The uids that match the filters on model, tool, task, outcome and machine, which need the store.
    among: Option<HashSet<String>>,
    task: Option<(&'a str, regex::Regex)>,
    tags: Vec<String>,
    since: Option<Timestamp>,
    until: Option<Timestamp>,
    args: &'a FilterArgs,
}

#[derive(Debug)]
enum Project {
    Directory(PathBuf),
    /// In lower case.
    Name(String),
}

impl FilterArgs {
    /// Resolves the filters: relative ones against the context, and those that need more than the list of sessions
    /// against the store. A filter that is not resolved would match everything.
    pub(crate) fn resolve(
        &self,
        context: &Context,
        store: &Store,
        tool: ToolMeans,
    ) -> Result<Filters<'_>, CommandError> {
        let mut filters = self.resolve_bare(context)?;
        filters.look_up(store, tool)?;
        Ok(filters)
    }

    /// Resolves the filters without a memory. Filters that need the store are not applied.
    pub(crate) fn resolve_bare(&self, context: &Context) -> Result<Filters<'_>, CommandError> {
        let places = &context.places;
        let project = self.project.as_deref().map(|text| {
            if text.contains(['/', '\\']) || text.starts_with(['.', '~']) {
                Project::Directory(tidied(&places.current_dir.join(expand_home(text, &places.home))))
            } else {
                Project::Name(text.to_lowercase())
            }
        });
        let at = |when: Option<When>, edge| when.map(|when| when.at(context.now, &context.zone, edge)).transpose();
        Ok(Filters {
            agents: self.agent.iter().map(|name| name.0.as_str()).collect(),
            project,
            repo: self.repo.as_ref().map(|repo| repo.to_lowercase()),
            domain: self.domain.as_deref().map(|domain| {
                let own = context.config.domains.iter();
                let own = own.filter(|(_, known)| known.eq_ignore_ascii_case(domain));
                own.map(|(repo, _)| repo.to_lowercase()).collect()
            }),
            here: self.here.then(|| repository(&places.current_dir)),
            branch: self.branch.as_deref(),
            among: None,
            task: self
                .task
                .as_deref()
                .map(|task| (task, context.config.task_ref.get().clone())),
            tags: self.tag.iter().map(|tag| normalize_tag(tag)).collect(),
            since: at(self.since, Edge::Begin)?,
            until: at(self.until, Edge::End)?,
            args: self,
        })
    }
}

/// An outcome as the command line names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutcomeName {
    Success,
    Fail,
    Abandoned,
    Unknown,
}

impl OutcomeName {
    fn outcome(self) -> Outcome {
        match self {
            Self::Success => Outcome::Success,
            Self::Fail => Outcome::Fail,
            Self::Abandoned => Outcome::Abandoned,
            Self::Unknown => Outcome::Unknown,
        }
    }
}

/// The meaning of `--tool`: a list filters sessions that used it, a search filters its texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolMeans {
    Sessions,
    Texts,
}

impl Filters<'_> {
    /// Resolves the filters that need more than the list of sessions: model, machine, outcome, task and tool.
    fn look_up(&mut self, store: &Store, tool: ToolMeans) -> Result<(), StoreError> {
        let reads = store.reads();
        if let Some(model) = &self.args.model {
            let model = model.to_lowercase();
            let known = reads.models()?.into_iter();
            self.narrow(known.filter(|(_, known)| known.to_lowercase().contains(&model)));
        }
        if let Some(machine) = &self.args.machine {
            let labels = reads.roots_of_sessions()?.into_iter();
            let writers = reads.listed()?.into_iter().filter_map(|session| {
                let machine = session.machine.as_deref()?.to_owned();
                Some((session.session_uid, machine))
            });
            self.narrow(labels.chain(writers).filter(|(_, name)| name == machine));
        }
        if !self.args.outcome.is_empty() {
            let known: HashMap<String, Outcome> = reads
                .digests()?
                .into_iter()
                .map(|row| (row.digest.session_uid, row.digest.outcome.outcome))
                .collect();
            let wanted: Vec<Outcome> = self.args.outcome.iter().map(|name| name.outcome()).collect();
            let listed = reads.listed()?.into_iter();
            // The outcome of a session without a digest is unknown.
            let came_out = |uid: &str| known.get(uid).copied().unwrap_or(Outcome::Unknown);
            let found = listed.filter(|session| wanted.contains(&came_out(&session.session_uid)));
            self.narrow(found.map(|session| (session.session_uid, String::new())));
        }
        if let Some((task, pattern)) = self.task.clone() {
            let prompts = reads.prompts_of_turns()?.into_iter();
            let branches = reads.listed()?.into_iter().map(|session| {
                let own = [&session.title, &session.said.name, &session.first_prompt].map(Option::as_deref);
                let words = own.into_iter().chain([session.branch.as_deref()]).flatten();
                (session.session_uid.clone(), words.collect::<Vec<_>>().join("\n"))
            });
            let is_about = |text: &str| {
                pattern
                    .find_iter(text)
                    .any(|found| found.as_str().eq_ignore_ascii_case(task))
            };
            self.narrow(prompts.chain(branches).filter(|(_, text)| is_about(text)));
        }
        if let Some(name) = self.args.tool.as_ref().filter(|_| tool == ToolMeans::Sessions) {
            let mut known = Vec::new();
            for session in reads.listed()? {
                // Reading the tools of a session is slow, so only sessions that match the other filters are checked.
                if self.take(&session) {
                    let tools = reads.tools_of(&session.session_uid)?;
                    let is_it = tools.iter().any(|tool| tool.eq_ignore_ascii_case(name));
                    known.extend(is_it.then_some((session.session_uid, String::new())));
                }
            }
            self.narrow(known.into_iter());
        }
        Ok(())
    }

    fn narrow(&mut self, found: impl Iterator<Item = (String, String)>) {
        let found: HashSet<String> = found.map(|(uid, _)| uid).collect();
        self.among = Some(match self.among.take() {
            Some(among) => among.intersection(&found).cloned().collect(),
            None => found,
        });
    }

    /// Returns whether a session matches all filters.
    pub(crate) fn take(&self, session: &ListedSession) -> bool {
        let is_agent = self.agents.is_empty() || self.agents.contains(&session.flavor());
        let has_tags = self.tags.iter().all(|tag| session.said.tags.contains(tag));
        let is_among = self
            .among
            .as_ref()
            .is_none_or(|among| among.contains(&session.session_uid));
        let user = self.args.user.as_deref();
        let is_user = user.is_none() || user == session.user.as_deref();
        is_agent && has_tags && is_among && is_user && self.takes_place(session) && self.takes_time(session)
    }

    /// Returns whether a time matches the time filters.
    pub(crate) fn takes_moment(&self, at: Option<Timestamp>) -> bool {
        let is_later = self.since.is_none_or(|since| at.is_some_and(|at| at >= since));
        is_later && self.until.is_none_or(|until| at.is_some_and(|at| at < until))
    }

    /// Returns whether a model matches the model filter.
    pub(crate) fn takes_model(&self, model: Option<&str>) -> bool {
        let wanted = self.args.model.as_ref().map(|model| model.to_lowercase());
        wanted.is_none_or(|wanted| model.is_some_and(|model| model.to_lowercase().contains(&wanted)))
    }

    /// Returns whether any filter is given.
    pub(crate) fn are_given(&self) -> bool {
        let args = self.args;
        let texts = [
            &args.project,
            &args.repo,
            &args.domain,
            &args.branch,
            &args.task,
            &args.model,
            &args.tool,
            &args.machine,
            &args.user,
        ];
        let is_named = !args.agent.is_empty()
            || !args.tag.is_empty()
            || !args.outcome.is_empty()
            || texts.iter().any(|text| text.is_some());
        is_named || args.here || args.since.is_some() || args.until.is_some()
    }

    fn takes_place(&self, session: &ListedSession) -> bool {
        let cwd = session.cwd.as_deref();
        let is_project = match &self.project {
            None => true,
            Some(Project::Directory(directory)) => cwd.is_some_and(|cwd| Path::new(cwd).starts_with(directory)),
            Some(Project::Name(name)) => {
                let holds = |text: Option<&str>| text.is_some_and(|text| text.to_lowercase().contains(name));
                let own = cwd.and_then(|cwd| cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()));
                holds(session.repo.as_deref()) || holds(own)
            }
        };
        let is_here = self.here.as_ref().is_none_or(|here| lies_in(session, here));
        let repo = || session.repo.as_ref().map(|repo| repo.to_lowercase());
        let is_repo = self.repo.is_none() || self.repo == repo();
        let is_domain = self
            .domain
            .as_ref()
            .is_none_or(|repos| repo().is_some_and(|repo| repos.contains(&repo)));
        let is_branch = self.branch.is_none_or(|branch| {
            let own = session.branch.as_deref().unwrap_or_default();
            match branch.strip_suffix('*') {
                Some(beginning) => own.starts_with(beginning),
                None => own == branch,
            }
        });
        is_project && is_here && is_repo && is_domain && is_branch
    }

    /// Returns whether any part of a session is within the time filters.
    fn takes_time(&self, session: &ListedSession) -> bool {
        let started = session.started_micros.or(session.last_micros);
        let is_later = |since: Timestamp| session.last_micros.is_some_and(|at| at >= since.as_microsecond());
        let is_earlier = |until: Timestamp| started.is_some_and(|at| at < until.as_microsecond());
        self.since.is_none_or(is_later) && self.until.is_none_or(is_earlier)
    }
}

/// Returns whether a session worked in one of these directories.
pub(crate) fn lies_in(session: &ListedSession, directories: &[PathBuf]) -> bool {
    let cwd = session.cwd.as_deref().map(Path::new);
    cwd.is_some_and(|cwd| directories.iter().any(|directory| cwd.starts_with(directory)))
}

/// Returns the root of the repository that contains `directory`, or `directory` itself. If the path goes through a
/// symbolic link, the real path is returned as well.
pub(crate) fn repository(directory: &Path) -> Vec<PathBuf> {
    let around = directory.ancestors().find(|path| path.join(".git").exists());
    let root = around.unwrap_or(directory).to_owned();
    let real = root.canonicalize().ok().filter(|real| *real != root);
    std::iter::once(root).chain(real).collect()
}

/// Returns a path without `.` and `..`. The path need not exist.
fn tidied(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => {
                tidy.pop();
            }
            part => tidy.push(part),
        }
    }
    tidy
}

/// A time, as written on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Moment(Timestamp),
    /// A date and time without a zone.
    Local(DateTime),
    Day(DayWord),
    Ago(SignedDuration),
}

/// Whether a day means its start or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Begin,
    End,
}

impl When {
    /// Returns the start of the time that is meant.
    pub(crate) fn begin(self, context: &Context) -> Result<Timestamp, CommandError> {
        self.at(context.now, &context.zone, Edge::Begin)
    }

    /// Returns the exclusive end of the time that is meant.
    pub(crate) fn end(self, context: &Context) -> Result<Timestamp, CommandError> {
        self.at(context.now, &context.zone, Edge::End)
    }

    /// Returns the time. Days are days in `zone`.
    pub(crate) fn at(self, now: Timestamp, zone: &TimeZone, edge: Edge) -> Result<Timestamp, CommandError> {
        let day = |date: Date| {
            let days = if edge == Edge::End { 1 } else { 0 };
            date.checked_add(days.days())?
                .to_zoned(zone.clone())
                .map(|at| at.timestamp())
        };
        let found = match self {
            Self::Moment(at) => Ok(at),
            Self::Local(time) => time.to_zoned(zone.clone()).map(|at| at.timestamp()),
            Self::Day(word) => day(word.date(now.to_zoned(zone.clone()).date())?),
            Self::Ago(span) => now.checked_sub(span),
        };
        found.map_err(|_| CommandError::usage("time out of range"))
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // `7d` means 7 times 24 hours, but `-7d` means a day.
        if let Some(span) = span(text) {
            return Ok(Self::Ago(span));
        }
        if let Ok(day) = text.parse() {
            return Ok(Self::Day(day));
        }
        let at = text.parse().map(Self::Moment);
        // A date alone would also be parsed as a time.
        let at = at.or_else(|error| match text.len() > "2026-04-01".len() {
            true => text.parse().map(Self::Local),
            false => Err(error),
        });
        at.map_err(|_: jiff::Error| {
            "write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`".to_owned()
        })
    }
}

/// Parses a span such as `7d` or `12h`.
fn span(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().next_back()?;
    let number: i64 = text[..text.len() - unit.len_utf8()]
        .parse()
        .ok()
        .filter(|number| *number >= 0)?;
    let hours = match unit.to_ascii_lowercase() {
        'h' => 1,
        'd' => 24,
        'w' => 24 * 7,
        _ => return None,
    };
    number.checked_mul(hours).and_then(SignedDuration::try_from_hours)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        // This is half past midnight in Berlin, which is still the day before in UTC.
        let now: Timestamp = "2026-03-31T22:30:00Z".parse().unwrap();
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        match text.parse::<When>() {
            Ok(when) => {
                let at = |edge| when.at(now, &zone, edge).unwrap();
                format!("{text}: {} {}", at(Edge::Begin), at(Edge::End))
            }
            Err(error) => format!("{text}: {error}"),
        }
    }

    #[test]
    fn moments_are_named_as_people_name_them() {
        let texts = [
            "today",
            "Yesterday",
            "7d",
            "12h",
            "2w",
            "0d",
            "2026-03-29",
            "2026-03-29T10:00",
            "2026-03-29 10:00:30",
            "2026-03-29T10:00:00Z",
            "monday",
            "-7d",
            "tomorrow",
            "7",
            "d",
            "",
            "2026-02-30",
            "9999999999999999d",
            "7д",
        ];
        insta::assert_snapshot!(texts.map(check).join("\n"), @"
        today: 2026-03-31T22:00:00Z 2026-04-01T22:00:00Z
        Yesterday: 2026-03-30T22:00:00Z 2026-03-31T22:00:00Z
        7d: 2026-03-24T22:30:00Z 2026-03-24T22:30:00Z
        12h: 2026-03-31T10:30:00Z 2026-03-31T10:30:00Z
        2w: 2026-03-17T22:30:00Z 2026-03-17T22:30:00Z
        0d: 2026-03-31T22:30:00Z 2026-03-31T22:30:00Z
        2026-03-29: 2026-03-28T23:00:00Z 2026-03-29T22:00:00Z
        2026-03-29T10:00: 2026-03-29T08:00:00Z 2026-03-29T08:00:00Z
        2026-03-29 10:00:30: 2026-03-29T08:00:30Z 2026-03-29T08:00:30Z
        2026-03-29T10:00:00Z: 2026-03-29T10:00:00Z 2026-03-29T10:00:00Z
        monday: 2026-03-29T22:00:00Z 2026-03-30T22:00:00Z
        -7d: 2026-03-24T23:00:00Z 2026-03-25T23:00:00Z
        tomorrow: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        7: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        d: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        : write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        2026-02-30: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        9999999999999999d: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        7д: write a date like `2026-04-01`, a time, `today`, `yesterday`, `monday`, `-3d`, `7d` or `12h`
        ");
    }

    #[test]
    fn a_path_needs_no_disk_to_be_tidy() {
        assert_eq!(
            tidied(Path::new("/home/ada/./app/../site")),
            Path::new("/home/ada/site")
        );
    }
}
