//! The parts of a page around the steps: the search bar, the outline of prompts, the summary of the session, the player.

use serde::Serialize;
use transcript::Outcome;

use super::blocks::PageBlocks;
use super::icons::{self, CLOSE, DOWN, MENU, NEXT, PAUSE, PLAY, PREVIOUS, THEME, UP};
use crate::escape::{escape, one_line};
use crate::highlights::HighlightKind;
use crate::input::{SessionNumbers, Transcript};
use crate::markdown_html;
use crate::measure::{count, date_time, dollars, duration, plural};
use crate::steps::StepKind;

/// Returns the title of a session: the user's name for it, else the agent's title, else the first prompt, else the uid.
pub fn title(transcript: &Transcript) -> String {
    let head = &transcript.head;
    let named = head.name.clone().or_else(|| head.session.title.clone());
    let named = named.filter(|name| !name.trim().is_empty());
    let asked = || transcript.turns.first().map(|turn| one_line(&turn.prompt, 100));
    let asked = || asked().filter(|asked| !asked.is_empty());
    named
        .or_else(asked)
        .unwrap_or_else(|| head.session.session_uid.to_string())
}

/// Returns the bar at the top: link to the index, title, search, filters, player, theme.
pub(super) fn bar(title: &str, index: Option<&str>) -> String {
    let home = index.map(|index| {
        format!(
            "<a class=\"home\" href=\"{}\" title=\"All sessions\">{}<span class=\"sr\"> All sessions</span></a>",
            escape(index),
            icons::HOME
        )
    });
    let kinds = [
        ("p", "Prompts"),
        ("a", "Answers"),
        ("t", "Thinking"),
        ("s", "Shell"),
        ("v", "Tests"),
        ("e", "Edits"),
        ("o", "Tools"),
        ("g", "Agents"),
        ("n", "Harness"),
    ];
    let chips: String = kinds
        .map(|(letter, word)| {
            format!("<label class=\"chip k{letter}\"><input type=\"checkbox\" checked data-k=\"{letter}\"><i></i>{word} <small></small></label>")
        })
        .concat();
    format!(
        "<a class=\"skip\" href=\"#main\">Skip to the session</a>\n<header id=\"bar\">\n<div class=\"line\">{}\
         <button id=\"menu\" aria-label=\"Outline\" aria-expanded=\"false\" aria-controls=\"outline\">{MENU}</button>\
         <span class=\"name\">{title}</span>\
         <form id=\"find\" role=\"search\"><input id=\"q\" type=\"search\" placeholder=\"Search the whole session\" aria-label=\"Search the whole session\" autocomplete=\"off\" spellcheck=\"false\">\
         <button type=\"button\" id=\"re\" aria-pressed=\"false\" title=\"Regular expression\">.*</button>\
         <button type=\"button\" id=\"cs\" aria-pressed=\"false\" title=\"Match case\">Aa</button>\
         <output id=\"hits\" aria-live=\"polite\"></output>\
         <button type=\"button\" id=\"prev\" aria-label=\"Previous hit\" disabled>{UP}</button>\
         <button type=\"button\" id=\"next\" aria-label=\"Next hit\" disabled>{DOWN}</button></form>\
         <button id=\"filter\" aria-expanded=\"false\" aria-controls=\"filters\">Filter</button>\
         <button id=\"fold\" aria-pressed=\"false\" title=\"Open or close everything (x)\">Open all</button>\
         <button id=\"play\" title=\"Play the session (p)\">{PLAY}<span class=\"sr\"> Play</span></button>\
         <button id=\"theme\" title=\"Light or dark (t)\">{THEME}<span class=\"sr\"> Light or dark</span></button>\
         <button id=\"help\" title=\"Keys (?)\">?<span class=\"sr\"> Keys</span></button></div>\n\
         <div id=\"filters\" hidden><div class=\"chips\" role=\"group\" aria-label=\"Kinds of steps\">{chips}</div>\
         <label>Tool <select id=\"tool\"><option value=\"-1\">all</option></select></label>\
         <label class=\"tick\"><input type=\"checkbox\" id=\"mine\"> Only my words</label>\
         <label class=\"tick\"><input type=\"checkbox\" id=\"errors\"> Only errors</label>\
         <label class=\"tick\"><input type=\"checkbox\" id=\"only\"> Only hits</label>\
         <button type=\"button\" id=\"all\">Show all</button> <output id=\"shown\" aria-live=\"polite\"></output></div>\n\
         <canvas id=\"strip\" height=\"10\" aria-label=\"Activity: one cell per step; the outline leads to the same places\" role=\"img\"></canvas>\n\
         </header>\n",
        home.unwrap_or_default()
    )
}

/// Returns the outline: every prompt as a link to its turn.
pub(super) fn outline(transcript: &Transcript, blocks: &PageBlocks) -> String {
    let mut html = "<nav id=\"outline\" aria-label=\"Prompts\">\n<ol>\n".to_owned();
    for mark in &blocks.turns {
        let class = if mark.is_rewound { " class=\"rewound\"" } else { "" };
        let errors = match mark.errors {
            0 => String::new(),
            some => format!(
                " <b class=\"no\" title=\"{0}\">{some}<span class=\"sr\"> errors</span></b>",
                plural(some.into(), "error")
            ),
        };
        let prompt = if mark.prompt.is_empty() { "…" } else { &mark.prompt };
        html.push_str(&format!(
            "<li{class}><a href=\"#t{turn}\"><span class=\"no-t\">{turn}</span> <span class=\"ask-t\">{prompt}</span>{errors}</a></li>\n",
            turn = mark.turn
        ));
    }
    html.push_str("</ol>\n");
    if blocks.turns.is_empty() {
        html.push_str("<p class=\"none\">no prompts</p>\n");
    }
    let uid = escape(transcript.head.session.session_uid.as_str());
    html.push_str(&format!("<p class=\"uid\">{uid}</p>\n</nav>\n"));
    html
}

/// Returns the summary above the turns.
pub(super) fn head(transcript: &Transcript, blocks: &PageBlocks) -> String {
    let head = &transcript.head;
    let agent = head.session.flavor;
    let mut html = format!(
        "<header class=\"head\">\n<p class=\"who\"><span class=\"agent {}\">{}</span>{}</p>\n<h1>{}</h1>\n<dl>\n",
        agent.as_str(),
        agent.title(),
        outcome(head.outcome),
        escape(&one_line(&title(transcript), 200))
    );
    for (name, value) in facts(transcript, blocks) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            html.push_str(&format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
        }
    }
    html.push_str("</dl>\n");
    html.push_str(&commit_list(blocks));
    let mut notes = Vec::new();
    if head.masked > 0 {
        notes.push(format!("{} masked", plural(head.masked, "secret")));
    }
    if head.faults > 0 {
        notes.push(format!("{} of the log could not be read", plural(head.faults, "place")));
    }
    if !notes.is_empty() {
        html.push_str(&format!("<p class=\"notes\">{}</p>\n", notes.join(" · ")));
    }
    html.push_str("</header>\n");
    html.push_str(&numbers(transcript));
    html
}

/// The numbers of a session in its page.
#[derive(Serialize)]
struct PageNumbers<'a> {
    session_uid: &'a str,
    numbers: SessionNumbers,
    input_tokens: u64,
    output_tokens: u64,
    cache_tokens: u64,
    cost_microusd: Option<u64>,
}

/// Returns the numbers of the session as JSON, unrounded, for programs that read the page.
fn numbers(transcript: &Transcript) -> String {
    let head = &transcript.head;
    let Some(numbers) = head.numbers else {
        return String::new();
    };
    let cost = &head.session.cost;
    let numbers = PageNumbers {
        session_uid: head.session.session_uid.as_str(),
        numbers,
        input_tokens: cost.input_tokens,
        output_tokens: cost.output_tokens,
        cache_tokens: cost.cache_tokens,
        cost_microusd: head.money.map(|money| money.micros),
    };
    let json = serde_json::to_value(numbers).unwrap_or_default();
    // `</script>` inside a JSON string would end the element, so `<` is written as a JSON escape.
    let json = json.to_string().replace('<', "\\u003c");
    format!("<script type=\"application/json\" id=\"numbers\">{json}</script>\n")
}

/// Returns the labelled facts of the session as HTML; `None` for those that are unknown.
fn facts(transcript: &Transcript, blocks: &PageBlocks) -> [(&'static str, Option<String>); 11] {
    let head = &transcript.head;
    let session = &head.session;
    let text = |text: &Option<String>| text.as_deref().map(escape);
    let project_of = |cwd: &str| {
        let name = session.repo.as_deref().unwrap_or_else(|| project(cwd));
        format!("<span title=\"{}\">{}</span>", escape(cwd), escape(name))
    };
    let took = session
        .started_at
        .zip(session.ended_at)
        .map(|(from, to)| to.duration_since(from).as_millis());
    let shown = || {
        blocks.count(&[
            StepKind::Shell,
            StepKind::Test,
            StepKind::Edit,
            StepKind::Tool,
            StepKind::Agent,
        ]) as u64
    };
    let tools = head.numbers.map_or_else(shown, |numbers| numbers.tool_calls);
    let errors = match head
        .numbers
        .map_or_else(|| blocks.errors() as u64, |numbers| numbers.errors)
    {
        0 => String::new(),
        errors => format!(", <b class=\"no\">{errors} failed</b>"),
    };
    let active = head.numbers.map(|numbers| duration(numbers.active_s * 1000));
    let cost = &session.cost;
    let all = cost.input_tokens + cost.output_tokens + cost.cache_tokens;
    let (input, output, cached) = (
        count(cost.input_tokens),
        count(cost.output_tokens),
        count(cost.cache_tokens),
    );
    let tokens = format!(
        "<span title=\"{input} in, {output} out, {cached} cached\">{}</span>",
        count(all)
    );
    let price = head.money.map(|cost| {
        let more = if cost.is_partial { " +" } else { "" };
        format!("{}{more}", dollars(cost.micros))
    });
    [
        ("Model", text(&session.model)),
        ("Project", session.cwd.as_deref().map(project_of)),
        ("Branch", text(&session.git_branch)),
        ("Started", session.started_at.map(|at| date_time(at, &head.zone))),
        // If the log contains a single timestamp, the duration is unknown rather than 0.
        (
            "Took",
            took.and_then(|ms| u64::try_from(ms).ok())
                .filter(|ms| *ms > 0)
                .map(duration),
        ),
        ("Active", active),
        ("Turns", Some(blocks.turns.len().to_string())),
        ("Tool calls", Some(format!("{tools}{errors}"))),
        ("Tokens", (all > 0).then_some(tokens)),
        ("Cost", price),
        ("Version", text(&session.agent_version)),
    ]
}

/// Returns the list of commits and pull requests, each with a link to the step that made it.
fn commit_list(blocks: &PageBlocks) -> String {
    if blocks.highlights.is_empty() {
        return String::new();
    }
    let mut html = "<ul class=\"made\" aria-label=\"Commits and pull requests\">\n".to_owned();
    for one in &blocks.highlights {
        let jump = format!("<a class=\"jump\" href=\"#e{}\">step</a>", one.seq);
        match &one.kind {
            HighlightKind::Commit { sha, subject } => {
                let id = match &blocks.repository_url {
                    Some(url) => format!(
                        "{}<code>{sha}</code></a>",
                        markdown_html::link(&format!("{url}/commit/{sha}"))
                    ),
                    None => format!("<code>{sha}</code>"),
                };
                html.push_str(&format!("<li>{id} {} {jump}</li>\n", escape(&one_line(subject, 120))));
            }
            HighlightKind::Request { url } => {
                html.push_str(&format!(
                    "<li>{}{}</a> {jump}</li>\n",
                    markdown_html::link(url),
                    escape(url)
                ));
            }
        }
    }
    html.push_str("</ul>\n");
    html
}

fn outcome(outcome: Outcome) -> String {
    let class = match outcome {
        Outcome::Success => "outcome good",
        Outcome::Fail => "outcome bad",
        Outcome::Abandoned => "outcome",
        Outcome::Unknown => return String::new(),
    };
    format!(" <span class=\"{class}\">{}</span>", outcome.as_str())
}

/// Returns the last part of a path, which names the project if its repository is unknown.
fn project(path: &str) -> &str {
    let path = path.trim_end_matches(['/', '\\']);
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Returns the player and the list of keys. Both are hidden until the script shows them.
pub(super) fn player_and_keys() -> String {
    format!(
        "<footer id=\"player\" hidden aria-label=\"Player\"><button id=\"pback\" aria-label=\"Previous turn\">{PREVIOUS}</button>\
     <button id=\"ppause\" aria-label=\"Play or pause\">{PLAY}{PAUSE}</button><button id=\"pnext\" aria-label=\"Next turn\">{NEXT}</button>\
     <input id=\"pos\" type=\"range\" min=\"0\" value=\"0\" aria-label=\"Place in the session\"><output id=\"when\"></output>\
     <label>Speed <select id=\"speed\"><option value=\"0.5\">½×</option><option value=\"1\" selected>1×</option><option value=\"2\">2×</option>\
     <option value=\"4\">4×</option><option value=\"16\">16×</option></select></label>\
     <button id=\"pstop\" aria-label=\"Close the player\">{CLOSE}</button></footer>\n\
     <dialog id=\"keys\" aria-label=\"Keys\"><h2>Keys</h2><dl>\
     <dt>/</dt><dd>search</dd><dt>n N</dt><dd>next, previous hit</dd><dt>j k</dt><dd>next, previous step</dd>\
     <dt>J K</dt><dd>next, previous turn</dd><dt>o</dt><dd>open or close the step</dd><dt>x</dt><dd>open or close everything</dd>\
     <dt>e</dt><dd>next error</dd><dt>f</dt><dd>filters</dd><dt>m</dt><dd>only my words</dd><dt>p</dt><dd>play, pause</dd><dt>t</dt><dd>light, dark</dd>\
     <dt>?</dt><dd>this list</dd><dt>Esc</dt><dd>close, clear</dd></dl><form method=\"dialog\"><button>Close</button></form></dialog>\n"
    )
}
