//! Renders the index of many session pages: sessions by day and project, with a search that needs no server.
//!
//! A page that is opened from disk cannot load other files, so the index contains all search data, compressed: for each session its
//! prompts and answers, and a list of every other word in it. The list finds a word in a tool's output; the session's own page
//! then shows where it is.

mod word_set;

use std::io::{self, Write};
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use self::word_set::WordSet;
use crate::escape::{escape, one_line};
use crate::html::icons::THEME;
use crate::html::{compress_base64, csp_hash, title, write_page_head};
use crate::input::Transcript;
use crate::measure::{clock, count, dollars, duration, plural};
use crate::steps::{StepKind, steps};

const SCRIPT: &str = include_str!("site/site.js");
static SCRIPT_HASH: LazyLock<String> = LazyLock::new(|| csp_hash(SCRIPT));
/// Prompts and answers beyond this size are searched by word only, without showing the text around a hit.
const SAID_BYTES_MAX: usize = 256 << 10;

/// A session as an entry of the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteSession {
    /// The link to its page, relative to the index.
    pub file: String,
    pub session_uid: String,
    pub agent: String,
    pub title: String,
    pub project: Option<String>,
    pub branch: Option<String>,
    pub started_at: Option<Timestamp>,
    pub took_ms: Option<u64>,
    pub turns: u64,
    pub steps: u64,
    pub errors: u64,
    pub tokens: u64,
    pub cost_micros: Option<u64>,
    pub outcome: String,
}

impl SiteSession {
    /// Summarises a session for the index.
    pub fn of(transcript: &Transcript, file: String) -> Self {
        let head = &transcript.head;
        let session = &head.session;
        let steps = steps(transcript);
        let cost = &session.cost;
        let took = session
            .started_at
            .zip(session.ended_at)
            .map(|(from, to)| to.duration_since(from).as_millis());
        let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
        let project = session.repo.clone().or_else(|| session.cwd.as_deref().map(last));
        Self {
            file,
            session_uid: session.session_uid.to_string(),
            agent: session.flavor.as_str().to_owned(),
            title: one_line(&title(transcript), 160),
            project,
            branch: session.git_branch.clone(),
            started_at: session.started_at,
            took_ms: took.and_then(|ms| u64::try_from(ms).ok()),
            turns: transcript.turns.len() as u64,
            steps: steps.len() as u64,
            errors: head.numbers.map_or_else(
                || steps.iter().filter(|step| step.is_error()).count() as u64,
                |numbers| numbers.errors,
            ),
            tokens: cost.input_tokens + cost.output_tokens + cost.cache_tokens,
            cost_micros: head.money.map(|cost| cost.micros),
            outcome: match head.outcome {
                transcript::Outcome::Unknown => "",
                outcome => outcome.as_str(),
            }
            .to_owned(),
        }
    }
}

/// Returns the compressed search data of a session: its prompts and answers, a NUL, and the words of everything else.
pub fn site_search_data(transcript: &Transcript) -> String {
    let mut said = String::new();
    let mut words = WordSet::default();
    collect_text(transcript, &mut said, &mut words);
    said.push('\0');
    words.push_sorted(&mut said);
    compress_base64(said.as_bytes())
}

fn collect_text<'t>(transcript: &'t Transcript, said: &mut String, words: &mut WordSet<'t>) {
    for step in steps(transcript) {
        let is_said = matches!(step.kind(), StepKind::Prompt | StepKind::Answer);
        let text = step.entry.text();
        if is_said && said.len() + text.len() < SAID_BYTES_MAX {
            said.push_str(text);
            said.push('\n');
        } else {
            words.add(text);
        }
        if let Some(result) = step.result {
            words.add(result.text());
        }
    }
    for subagent in &transcript.subagents {
        collect_text(&subagent.transcript, said, words);
    }
}

/// Writes the index page. Each session comes with its [`site_search_data`]. Returns an error only if `out` does.
pub fn site_index(sessions: &[(SiteSession, String)], zone: &TimeZone, out: &mut dyn Write) -> io::Result<()> {
    write_page_head(out, "Sessions", &SCRIPT_HASH)?;
    writeln!(out, "<body class=\"site\">")?;
    out.write_all(top_bar(sessions).as_bytes())?;
    out.write_all(b"<div id=\"page\">\n")?;
    out.write_all(project_list(sessions).as_bytes())?;
    out.write_all(b"<main id=\"main\" tabindex=\"-1\">\n")?;
    out.write_all(day_sections(sessions, zone).as_bytes())?;
    out.write_all(b"<p class=\"none\" id=\"nothing\" hidden>Nothing found</p>\n</main>\n</div>\n")?;
    writeln!(out, "<script>{SCRIPT}</script>")?;
    for (at, (_, packed)) in sessions.iter().enumerate() {
        writeln!(out, "<script type=\"text/plain\" id=\"w{at}\">{packed}</script>")?;
    }
    out.write_all(b"</body>\n</html>\n")
}

fn top_bar(sessions: &[(SiteSession, String)]) -> String {
    let tokens: u64 = sessions.iter().map(|(session, _)| session.tokens).sum();
    let cost: u64 = sessions.iter().filter_map(|(session, _)| session.cost_micros).sum();
    let mut facts = vec![plural(sessions.len() as u64, "session")];
    facts.extend((tokens > 0).then(|| format!("{} tokens", count(tokens))));
    facts.extend((cost > 0).then(|| dollars(cost)));
    format!(
        "<a class=\"skip\" href=\"#main\">Skip to the sessions</a>\n<header id=\"bar\"><div class=\"line\">\
         <span class=\"name\">Sessions <small>{}</small></span>\
         <form id=\"find\" role=\"search\"><input id=\"q\" type=\"search\" placeholder=\"Search all sessions\" aria-label=\"Search all sessions\" autocomplete=\"off\" spellcheck=\"false\">\
         <output id=\"hits\" aria-live=\"polite\"></output></form>\
         <select id=\"agent\" aria-label=\"Agent\"><option value=\"\">all agents</option></select>\
         <button id=\"theme\" title=\"Light or dark\">{THEME}<span class=\"sr\"> Light or dark</span></button></div></header>\n",
        facts.join(" · ")
    )
}

fn project_list(sessions: &[(SiteSession, String)]) -> String {
    let mut known: Vec<(&str, usize)> = Vec::new();
    for (session, _) in sessions {
        let project = session.project.as_deref().unwrap_or("no project");
        match known.iter_mut().find(|(name, _)| *name == project) {
            Some((_, count)) => *count += 1,
            None => known.push((project, 1)),
        }
    }
    known.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
    let mut html = "<nav id=\"outline\" aria-label=\"Projects\">\n<ol>\n".to_owned();
    for (name, count) in known {
        let name = escape(name);
        html.push_str(&format!(
            "<li><button class=\"project\" aria-pressed=\"false\" data-p=\"{name}\"><span>{name}</span> <small>{count}</small></button></li>\n"
        ));
    }
    html + "</ol>\n</nav>\n"
}

fn day_sections(sessions: &[(SiteSession, String)], zone: &TimeZone) -> String {
    let day = |session: &SiteSession| {
        let at = session.started_at.map(|at| at.to_zoned(zone.clone()));
        at.map_or_else(|| "Some day".to_owned(), |at| at.strftime("%A, %-d %B %Y").to_string())
    };
    let mut html = String::new();
    let mut last = None;
    for (at, (session, _)) in sessions.iter().enumerate() {
        let day = day(session);
        if last.as_ref() != Some(&day) {
            if last.is_some() {
                html.push_str("</ul></section>\n");
            }
            html.push_str(&format!("<section class=\"day\"><h2>{day}</h2><ul>\n"));
            last = Some(day);
        }
        html.push_str(&session_row(at, session, zone));
    }
    if last.is_some() {
        html.push_str("</ul></section>\n");
    }
    html
}

fn session_row(at: usize, session: &SiteSession, zone: &TimeZone) -> String {
    let project = session.project.as_deref().unwrap_or("no project");
    let mut facts = vec![escape(project)];
    facts.extend(session.branch.as_deref().map(escape));
    facts.extend(session.started_at.map(|at| clock(at, zone)));
    facts.extend(session.took_ms.map(duration));
    facts.push(plural(session.turns, "turn"));
    facts.extend((session.tokens > 0).then(|| format!("{} tokens", count(session.tokens))));
    facts.extend(session.cost_micros.filter(|micros| *micros > 0).map(dollars));
    facts.extend((session.errors > 0).then(|| format!("<b class=\"no\">{}</b>", plural(session.errors, "error"))));
    let outcome = match session.outcome.as_str() {
        "" => String::new(),
        word => format!(
            " <span class=\"outcome {}\">{}</span>",
            if word == "success" { "good" } else { "" },
            escape(word)
        ),
    };
    // The agent's name becomes a CSS class, so only known names are used.
    let agent = transcript::Agent::ALL
        .into_iter()
        .find(|known| known.as_str() == session.agent);
    let (class, agent) = agent.map_or(("", "agent"), |agent| (agent.as_str(), agent.title()));
    format!(
        "<li class=\"session\" id=\"s{at}\" data-a=\"{class}\" data-p=\"{}\"><a href=\"{}\"><span class=\"agent {class}\">{agent}</span> \
         <b>{}</b>{outcome}</a><p>{}</p><p class=\"snip\" hidden></p></li>\n",
        escape(project),
        escape(&session.file),
        escape(&session.title),
        facts.join(" · ")
    )
}
