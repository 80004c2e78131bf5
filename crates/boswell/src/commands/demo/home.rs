//! The made-up home: logs of three agents, dated the day before.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};

/// The day on which the made-up sessions take place; they are moved to the day before today.
const MADE_UP_DAY: &str = "2026-04-01";

/// The files of the made-up home.
const FILES: &[(&str, &str)] = &[
    (CLAUDE_LOG, include_str!("../../demo/claude.jsonl")),
    (
        ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa/subagents/agent-a0ada5e55.jsonl",
        include_str!("../../demo/claude-subagent.jsonl"),
    ),
    (
        ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa/subagents/agent-a0ada5e55.meta.json",
        include_str!("../../demo/claude-subagent.meta.json"),
    ),
    (CODEX_LOG, include_str!("../../demo/codex.jsonl")),
    (GROK_LOG, include_str!("../../demo/grok-updates.jsonl")),
    (
        ".grok/sessions/%2Fhome%2Fada%2Fshop/019d4710-0000-7000-8000-00000000600d/summary.json",
        include_str!("../../demo/grok-summary.json"),
    ),
];

const CLAUDE_LOG: &str = ".claude/projects/-home-ada-shop/5e55a0ad-0001-4000-8000-0000000000aa.jsonl";
const CODEX_LOG: &str =
    ".codex/sessions/2026/04/01/rollout-2026-04-01T10-00-00-019d4700-0000-7000-8000-00000000c0de.jsonl";
const GROK_LOG: &str = ".grok/sessions/%2Fhome%2Fada%2Fshop/019d4710-0000-7000-8000-00000000600d/updates.jsonl";

/// Writes the logs and returns their paths, starting with that of Claude Code. The sessions take place yesterday.
pub(super) fn write(home: &Path, now: Timestamp) -> io::Result<Vec<PathBuf>> {
    let yesterday = now - SignedDuration::from_hours(24);
    let day = yesterday.strftime("%Y-%m-%d").to_string();
    for (name, text) in FILES {
        let path = home.join(on_day(name, &day));
        let directory = path.parent().unwrap_or(home);
        fs::create_dir_all(directory)?;
        fs::write(&path, on_day(text, &day))?;
    }
    let logs = [CLAUDE_LOG, CODEX_LOG, GROK_LOG];
    Ok(logs.iter().map(|name| home.join(on_day(name, &day))).collect())
}

/// Returns the text with its times moved to `day`: dates, and the counts of seconds in Grok's log.
fn on_day(text: &str, day: &str) -> String {
    let start = |day: &str| {
        format!("{day}T00:00:00Z")
            .parse::<Timestamp>()
            .map(Timestamp::as_second)
    };
    let text = text
        .replace(MADE_UP_DAY, day)
        .replace("2026/04/01", &day.replace('-', "/"));
    let (Ok(from), Ok(to)) = (start(MADE_UP_DAY), start(day)) else {
        return text;
    };
    move_seconds(&text, from, to)
}

/// Moves every number of seconds or milliseconds that falls on the made-up day.
fn move_seconds(text: &str, from: i64, to: i64) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = rest[at..]
            .find(|c: char| !c.is_ascii_digit())
            .map_or(rest.len() - at, |length| length);
        out.push_str(&rest[..at]);
        let number = &rest[at..at + digits];
        let unit = match digits {
            10 => 1,
            13 => 1000,
            _ => 0,
        };
        let seconds = number
            .parse::<i64>()
            .ok()
            .filter(|_| unit > 0)
            .map(|number| number / unit);
        match seconds.filter(|seconds| (from..from + 86_400).contains(seconds)) {
            Some(seconds) => out.push_str(&((seconds + to - from) * unit).to_string()),
            None => out.push_str(number),
        }
        rest = &rest[at + digits..];
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_up_day_moves_in_every_notation() {
        let text = r#"{"a":"2026-04-01T09:00:00Z","b":1775041200,"c":1775041200000,"d":12345678901}"#;
        let moved = on_day(text, "2026-04-02");
        assert_eq!(
            moved,
            r#"{"a":"2026-04-02T09:00:00Z","b":1775127600,"c":1775127600000,"d":12345678901}"#
        );
    }
}
