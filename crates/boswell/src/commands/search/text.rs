//! Search results as text: one block per session, with the command that opens it.

use std::collections::BTreeMap;

use jiff::Timestamp;
use memory::find::Found;
use memory::session_text::TextOrigin;
use memory::store::{SessionStatus, Store};

use super::LEFT_OUT_CHARS;
use crate::context::Context;
use crate::error::CommandError;
use crate::render::budget::visible_chars;
use crate::render::text::plural;
use crate::session_ids::{abbreviated_id, short_id};
use crate::ui::{BAD, FAINT, STRONG, Ui, escape, in_one_line, measure, shell_word};

/// Turns shown of one session.
const TURNS_SHOWN_MAX: usize = 3;

/// Returns the id of each session as its command names it, by uid. Logs without a memory are opened by their paths.
pub(super) fn ids(store: Option<&Store>, shown: &[&Vec<&Found>]) -> Result<BTreeMap<String, String>, CommandError> {
    let mut ids = BTreeMap::new();
    for session in shown.iter().map(|block| &block[0].session) {
        let id = match store {
            Some(store) => short_id(store, &session.session_uid)?,
            None => abbreviated_id(&session.session_uid),
        };
        ids.insert(session.session_uid.clone(), id);
    }
    Ok(ids)
}

/// Prints as many blocks as fit, and how many are left out.
pub(super) fn show(
    ui: &mut Ui,
    context: &Context,
    shown: &[&Vec<&Found>],
    ids: &BTreeMap<String, String>,
    room_chars: usize,
) -> Result<(), CommandError> {
    let mut room = room_chars;
    for (at, block) in shown.iter().enumerate() {
        let mut lines = block_lines(ui, context, block, &ids[&block[0].session.session_uid]);
        if at > 0 {
            lines.insert(0, String::new());
        }
        let chars: usize = lines.iter().map(|line| visible_chars(line)).sum();
        if chars.saturating_add(LEFT_OUT_CHARS) > room {
            let left_out = plural((shown.len() - at) as u64, "session");
            ui.row(ui.paint(FAINT, format!("… {left_out} left out")))?;
            return Ok(());
        }
        room -= chars;
        for line in lines {
            ui.row(line)?;
        }
    }
    Ok(())
}

fn block_lines(ui: &Ui, context: &Context, block: &[&Found], id: &str) -> Vec<String> {
    let session = &block[0].session;
    let project = session.repo.as_deref().unwrap_or("-");
    let at = session.last_micros.and_then(|at| Timestamp::from_microsecond(at).ok());
    let age = at.map(|at| measure::age(context.now, at)).unwrap_or_default();
    let title = session.said.name.as_deref().or(session.title.as_deref());
    let title = title.map(in_one_line).unwrap_or_default();
    let is_from_log = is_evicted_source(block);
    let mark = if is_from_log { "  evicted, found in its log" } else { "" };
    let head = format!("{}  {}  {age}{mark}", session.flavor(), escape(project));
    let room = ui
        .columns()
        .unwrap_or(usize::MAX)
        .saturating_sub(id.len() + head.len() + 4);
    let title = measure::fit(&title, room);
    let id = escape(id);
    let line = format!("{}  {head}  {}", ui.paint(STRONG, &id), ui.paint(FAINT, title));
    let mut lines = vec![line.trim_end().to_owned()];
    for one in block.iter().take(TURNS_SHOWN_MAX) {
        lines.extend(turn_lines(ui, one));
    }
    if block.len() > TURNS_SHOWN_MAX {
        let more = plural((block.len() - TURNS_SHOWN_MAX) as u64, "more turn");
        lines.push(ui.paint(FAINT, format!("  {more}")).to_string());
    }
    let turn = block.iter().find_map(|one| one.turn);
    let turns = turn.map(|turn| format!(" --turns {turn}")).unwrap_or_default();
    let open = match &block[0].path {
        Some(path) if !is_from_log => format!(
            "  boswell read {}{turns}",
            ui.path(&shell_word(&path.to_string_lossy()))
        ),
        _ => format!("  boswell show {id}{turns}"),
    };
    lines.push(ui.paint(FAINT, open).to_string());
    lines
}

/// Returns whether a turn of an evicted session was found in its log; `boswell show` reads it from there.
fn is_evicted_source(block: &[&Found]) -> bool {
    let is_from_log = |one: &&Found| one.text_from() == TextOrigin::Source;
    block[0].session.status == SessionStatus::Evicted && block.iter().any(is_from_log)
}

fn turn_lines(ui: &Ui, found: &Found) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(turn) = found.turn {
        let turn = format!("turn {turn}");
        let room = ui.columns().unwrap_or(120).saturating_sub(turn.len() + 4);
        let prompt = in_one_line(found.prompt.as_deref().unwrap_or_default());
        let head = format!("  {turn}  {}", measure::fit(&prompt, room));
        lines.push(ui.paint(FAINT, head.trim_end()).to_string());
    }
    let copies = match found.copies {
        0 => String::new(),
        1 => " (and in a copy of it)".to_owned(),
        copies => format!(" (and in {copies} copies of it)"),
    };
    let place = escape(found.place()).into_owned();
    lines.push(format!("    {place}: {}{copies}", marked(ui, found)));
    lines
}

/// Returns the snippet with its matches marked, by colour if the output has colours.
fn marked(ui: &Ui, found: &Found) -> String {
    let snippet = &found.snippet;
    let mut told = String::new();
    let mut from = 0;
    for mark in &snippet.marks {
        told += &escape(&snippet.text[from..mark.start]);
        told += &ui.paint(BAD, escape(&snippet.text[mark.clone()])).to_string();
        from = mark.end;
    }
    told += &escape(&snippet.text[from..]);
    told
}
