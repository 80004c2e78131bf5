//! Replays the edits of a file, oldest first, so that each line is attributed to the edit that wrote it.
//!
//! The starting text comes from what a tool saw before its edit, from an edit that wrote the whole file, or from git.
//! If an edit does not apply, the file was changed outside of all sessions in between. The text is then taken from git,
//! or the edit is placed by its context. An edit that cannot be placed at all is searched for in the present text at
//! the end, and counts only if its text occurs there unchanged and exactly once.

use std::ops::Range;
use std::rc::Rc;

use jiff::Timestamp;
use transcript::{Change, How, Hunk, Replacement, Row, Side};

use super::lines::{AttributedText, is_distinctive, match_lines, split_lines, strip_spacing};

/// A shorter text could occur anywhere by chance.
const UNIQUE_CHARS_MIN: usize = 12;

/// An edit to replay.
#[derive(Debug)]
pub(super) struct ReplayedEdit<'e> {
    pub(super) at: Option<Timestamp>,
    /// The file's text before the edit, if the tool reported it.
    pub(super) before: Option<&'e str>,
    pub(super) change: &'e Change,
}

/// The edit that wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineWriter {
    /// The number of the edit.
    pub(super) edit: usize,
    /// True if only its spacing was changed since, outside of all sessions.
    pub(super) is_respaced: bool,
    /// True if the line was followed from the edit to the present text, false if the edit's text was only found in the
    /// present text.
    pub(super) is_followed: bool,
}

/// A committed text of the file, with the number of the commit.
pub(super) type CommittedText = (usize, String);

/// Returns, for each line of the present text, the edit that wrote it. `text_at` returns the newest text that was
/// committed before a time, or `None` if that commit is the one already known.
pub(super) fn attribute_lines(
    edits: &[ReplayedEdit<'_>],
    present: &[String],
    text_at: &mut dyn FnMut(Option<Timestamp>, Option<usize>) -> Option<CommittedText>,
) -> Vec<Option<LineWriter>> {
    let mut text: Option<AttributedText> = None;
    let mut known = None;
    let mut unplaced = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        let mut states = Vec::new();
        if let Some((commit, committed)) = text_at(edit.at, known) {
            let mut candidate = text.clone();
            set_text(&mut candidate, &split_lines(&committed), None);
            states.extend(candidate);
            known = Some(commit);
        }
        // The working tree may have been ahead of the commit, so both texts are candidates and the edit applies to one
        // of them.
        states.extend(text.take());
        if let Some(before) = edit.before {
            let mut candidate = states.into_iter().next();
            set_text(&mut candidate, &split_lines(before), None);
            states = candidate.into_iter().collect();
        }
        let (replayed, fits) = replay_edit(states, number, edit);
        text = replayed;
        if !fits {
            unplaced.push(number);
        }
    }
    set_text(&mut text, present, None);
    let attributed = text.unwrap_or_default();
    let mut writers: Vec<Option<LineWriter>> = attributed
        .lines
        .iter()
        .map(|line| {
            Some(LineWriter {
                edit: line.writer?,
                is_respaced: line.is_respaced,
                is_followed: true,
            })
        })
        .collect();
    let bare_lines: Vec<String> = present.iter().map(|line| strip_spacing(line)).collect();
    for number in unplaced.into_iter().rev() {
        for at in lines_in_present(edits[number].change, present, &bare_lines) {
            writers[at].get_or_insert(LineWriter {
                edit: number,
                is_respaced: false,
                is_followed: false,
            });
        }
    }
    writers
}

fn set_text(text: &mut Option<AttributedText>, lines: &[String], writer: Option<usize>) {
    match text {
        Some(text) => text.set_text(lines, writer),
        None => *text = Some(AttributedText::new(lines, writer)),
    }
}

/// Replays one edit on the first candidate text to which it applies. The second value is `false` if it applies to none.
fn replay_edit(
    mut states: Vec<AttributedText>,
    number: usize,
    edit: &ReplayedEdit<'_>,
) -> (Option<AttributedText>, bool) {
    let whole = match &edit.change.how {
        How::Whole(whole) => Some(split_lines(whole)),
        How::Deleted => Some(Vec::new()),
        How::Replaced(_) | How::Patched(_) => None,
    };
    if let Some(whole) = whole {
        let bare_lines: Vec<Rc<str>> = whole.iter().map(|line| strip_spacing(line).into()).collect();
        let matches = |state: &AttributedText| match_lines(&state.bare_lines(), &bare_lines).len();
        // `max_by_key` returns the last of equal candidates, so the order is reversed to get the first.
        let mut text = states.into_iter().rev().max_by_key(matches);
        set_text(&mut text, &whole, Some(number));
        return (text, true);
    }
    for at in 0..states.len() {
        if try_change(&mut states[at], number, &edit.change.how) {
            return (Some(states.swap_remove(at)), true);
        }
    }
    let Some(mut text) = states.into_iter().next() else {
        return (None, false);
    };
    let hunks = change_hunks(&edit.change.how);
    let is_applied = hunks.iter().all(|hunk| apply_hunk_loosely(&mut text, number, hunk));
    (Some(text), is_applied)
}

/// Applies a change if all of its parts apply. Otherwise `text` is unchanged and the result is `false`.
fn try_change(text: &mut AttributedText, number: usize, how: &How) -> bool {
    let mut tried = text.clone();
    let fits = match how {
        How::Replaced(all) => all.iter().all(|one| replace_text(&mut tried, number, one)),
        How::Patched(hunks) => {
            let (mut from, mut moved) = (0, 0);
            hunks
                .iter()
                .all(|hunk| apply_hunk(&mut tried, number, hunk, &mut from, &mut moved))
        }
        How::Whole(_) | How::Deleted => false,
    };
    if fits {
        *text = tried;
    }
    fits
}

/// Replaces one text by another, within a line or across lines.
fn replace_text(text: &mut AttributedText, number: usize, one: &Replacement) -> bool {
    let old = one.old.replace("\r\n", "\n");
    let new = one.new.replace("\r\n", "\n");
    let mut from = 0;
    let mut is_found = false;
    loop {
        let whole: String = text.lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        // The last line of the file may lack a line break that the old text contains.
        let found = whole.get(from..).and_then(|rest| rest.find(&old)).map(|at| from + at);
        let Some(at) = found.filter(|_| !old.is_empty()) else {
            return is_found;
        };
        let end_of_old = at + old.len();
        // If both texts end with a line break, the next line is untouched.
        let is_whole = old.ends_with('\n') && new.ends_with('\n');
        let end = match is_whole {
            true => end_of_old - 1,
            false => whole[end_of_old..]
                .find('\n')
                .map_or(whole.len(), |step| end_of_old + step),
        };
        let line_of = |at: usize| whole[..at].matches('\n').count();
        let start = whole[..at].rfind('\n').map_or(0, |at| at + 1);
        let tail = whole.get(end_of_old..end).unwrap_or_default();
        let changed = format!(
            "{}{}{tail}",
            &whole[start..at],
            new.strip_suffix('\n').filter(|_| is_whole).unwrap_or(&new)
        );
        let place = line_of(at)..(line_of(end) + 1).min(text.lines.len());
        let is_gone = changed.is_empty() && end_of_old >= whole.len();
        let changed = changed.split('\n').filter(|_| !is_gone).map(str::to_owned);
        text.replace(place, &changed.collect::<Vec<_>>(), Some(number));
        (is_found, from) = (true, at + new.len());
        if !one.everywhere {
            return true;
        }
    }
}

/// Applies one hunk at its line number, or after the previous hunk if it has none.
fn apply_hunk(text: &mut AttributedText, number: usize, hunk: &Hunk, from: &mut usize, moved: &mut isize) -> bool {
    let old: Vec<Rc<str>> = hunk.old().map(|line| strip_spacing(line).into()).collect();
    let new: Vec<String> = hunk.new_lines().map(str::to_owned).collect();
    let lines = text.bare_lines();
    let expected = hunk
        .old_line
        .map(|line| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1));
    let expected = expected.map(|line| line.saturating_add_signed(*moved));
    let below = hunk.below.as_deref().map(strip_spacing).and_then(|below| {
        let at = lines.iter().skip(*from).position(|line| **line == *below)?;
        Some(*from + at + 1)
    });
    let place = match (old.is_empty(), expected) {
        (true, Some(line)) => Some(line.min(lines.len())),
        (true, None) => Some(below.unwrap_or(lines.len())),
        (false, Some(line)) => find_nearest(&lines, &old, line),
        (false, None) => find_first(&lines, &old, below.unwrap_or(*from)).or_else(|| find_first(&lines, &old, 0)),
    };
    let Some(at) = place else { return false };
    *moved += new.len().cast_signed() - old.len().cast_signed();
    *from = at + new.len();
    text.replace(at..at + old.len(), &new, Some(number));
    true
}

/// Returns the first position of the wanted lines, starting at `from`.
fn find_first(lines: &[Rc<str>], wanted: &[Rc<str>], from: usize) -> Option<usize> {
    let rest = lines.get(from..)?;
    rest.windows(wanted.len())
        .position(|window| window == wanted)
        .map(|at| from + at)
}

/// Returns the position of the wanted lines that is nearest to `line`.
fn find_nearest(lines: &[Rc<str>], wanted: &[Rc<str>], line: usize) -> Option<usize> {
    let windows = lines.windows(wanted.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at);
    found.min_by_key(|at| at.abs_diff(line))
}

/// Returns a change as hunks of whole lines.
fn change_hunks(how: &How) -> Vec<Hunk> {
    match how {
        How::Patched(hunks) => hunks.clone(),
        How::Replaced(all) => all.iter().map(replacement_hunk).collect(),
        How::Whole(_) | How::Deleted => Vec::new(),
    }
}

/// Returns a replacement as a hunk with common, removed and added rows.
pub(super) fn replacement_hunk(one: &Replacement) -> Hunk {
    let (old, new) = (split_lines(&one.old), split_lines(&one.new));
    Hunk {
        rows: diff_rows(&old, &new),
        ..Hunk::default()
    }
}

/// Returns the difference between two texts as rows.
pub(super) fn diff_rows(old: &[String], new: &[String]) -> Vec<Row> {
    let row = |side, text: &String| Row {
        side,
        text: text.clone(),
    };
    let (mut i, mut j) = (0, 0);
    let mut rows = Vec::new();
    for (a, b) in match_lines(old, new).into_iter().chain([(old.len(), new.len())]) {
        rows.extend(old[i..a].iter().map(|line| row(Side::Old, line)));
        rows.extend(new[j..b].iter().map(|line| row(Side::New, line)));
        rows.extend(new.get(b).map(|line| row(Side::Both, line)));
        (i, j) = (a + 1, b + 1);
    }
    rows
}

/// Applies a hunk where most of its old lines match, because some of them may have been changed outside of all
/// sessions. Does nothing if there is no best position.
fn apply_hunk_loosely(text: &mut AttributedText, number: usize, hunk: &Hunk) -> bool {
    let old: Vec<Rc<str>> = hunk.old().map(|line| strip_spacing(line).into()).collect();
    let lines = text.bare_lines();
    if old.len() < 2 || lines.len() < old.len() {
        return false;
    }
    let matches = |at: usize| {
        let both = lines[at..at + old.len()].iter().zip(&old);
        both.filter(|(a, b)| a == b && is_distinctive(a)).count()
    };
    let places: Vec<(usize, usize)> = (0..=lines.len() - old.len()).map(|at| (matches(at), at)).collect();
    let best = places.iter().map(|(matches, _)| *matches).max().unwrap_or_default();
    let mut best_places = places.iter().filter(|(matches, _)| *matches == best);
    let distinctive = old.iter().filter(|line| is_distinctive(line)).count();
    let (Some((_, at)), None) = (best_places.next(), best_places.next()) else {
        return false;
    };
    if best == 0 || best * 2 < distinctive {
        return false;
    }
    let place: Range<usize> = *at..at + old.len();
    let own = |lines: &mut dyn Iterator<Item = &str>| lines.map(str::to_owned).collect::<Vec<_>>();
    text.replace(place.clone(), &own(&mut hunk.old()), None);
    text.replace(place, &own(&mut hunk.new_lines()), Some(number));
    true
}

/// Returns the lines of the present text that a change wrote, if its new text occurs there unchanged and exactly once.
fn lines_in_present(change: &Change, present: &[String], bare_lines: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    if let How::Replaced(all) = &change.how {
        for one in all {
            found.extend(line_in_present(one, present));
        }
    }
    for hunk in change_hunks(&change.how) {
        let new: Vec<String> = hunk.new_lines().map(strip_spacing).collect();
        // A few characters could occur anywhere by chance.
        if new.iter().map(|line| line.chars().count()).sum::<usize>() < UNIQUE_CHARS_MIN {
            continue;
        }
        let mut places = bare_lines
            .windows(new.len())
            .enumerate()
            .filter(|(_, window)| *window == new);
        if let (Some((at, _)), None) = (places.next(), places.next()) {
            let sides = hunk.rows.iter().filter(|row| row.side != Side::Old).enumerate();
            found.extend(
                sides
                    .filter(|(_, row)| row.side == Side::New)
                    .map(|(step, _)| at + step),
            );
        }
    }
    found
}

/// Returns the only line that contains the new text of a replacement.
fn line_in_present(one: &Replacement, present: &[String]) -> Option<usize> {
    let new = one.new.trim();
    if new.contains('\n') || new.chars().count() < UNIQUE_CHARS_MIN || one.old.contains(new) {
        return None;
    }
    let mut places = present.iter().enumerate().filter(|(_, line)| line.contains(new));
    match (places.next(), places.next()) {
        (Some((at, _)), None) => Some(at),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(old: &str, new: &str, everywhere: bool) -> Change {
        let one = Replacement {
            old: old.to_owned(),
            new: new.to_owned(),
            everywhere,
        };
        change(How::Replaced(vec![one]))
    }

    fn change(how: How) -> Change {
        Change {
            path: "a".to_owned(),
            moved_to: None,
            how,
        }
    }

    fn patched(rows: &str) -> Change {
        let rows = rows.lines().map(|row| Row {
            side: match &row[..1] {
                "+" => Side::New,
                "-" => Side::Old,
                _ => Side::Both,
            },
            text: row[1..].to_owned(),
        });
        change(How::Patched(vec![Hunk {
            rows: rows.collect(),
            ..Hunk::default()
        }]))
    }

    /// Prints the writer of each line of `present`: the number of the edit, with `?` if the line was not followed.
    fn check(edits: &[(Option<&str>, Change)], present: &str, git: Option<&str>) -> String {
        let mut commits = git.map(|text| (0, text.to_owned()));
        let edits: Vec<ReplayedEdit<'_>> = edits
            .iter()
            .map(|(before, change)| ReplayedEdit {
                at: None,
                before: *before,
                change,
            })
            .collect();
        let writers = attribute_lines(&edits, &split_lines(present), &mut |_, _| commits.take());
        let printed = writers.into_iter().map(|writer| match writer {
            None => "-".to_owned(),
            Some(writer) if !writer.is_followed => format!("{}?", writer.edit),
            Some(writer) => writer.edit.to_string(),
        });
        printed.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_replaced_within_and_across_lines() {
        let whole = || (None, change(How::Whole("one\ntwo two\nthree\n".to_owned())));
        let after = |change: Change, present: &str| check(&[whole(), (None, change)], present, None);
        assert_eq!(after(replaced("two two", "2", false), "one\n2\nthree\n"), "0 1 0");
        assert_eq!(after(replaced("wo", "oo", true), "one\ntoo too\nthree\n"), "0 1 0");
        assert_eq!(
            after(replaced("one\n", "one\nmore\n", false), "one\nmore\ntwo two\nthree\n"),
            "0 1 0 0"
        );
        assert_eq!(after(replaced("two two\n", "", false), "one\nthree\n"), "0 0");
        assert_eq!(after(replaced("three\n", "", false), "one\ntwo two\n"), "0 0");
        assert_eq!(after(replaced("ne\ntwo t", "ld t", false), "old two\nthree\n"), "1 0");
        assert_eq!(after(replaced("one", "", false), "\ntwo two\nthree\n"), "1 0 0");
    }

    #[test]
    fn text_older_than_all_edits_has_no_writer() {
        let seen = (Some("human\nline\n"), replaced("line", "edited", false));
        assert_eq!(check(&[seen], "human\nedited\n", None), "- 0");
        // The same if only git knows the previous text.
        let unseen = || (None, replaced("line", "edited", false));
        assert_eq!(check(&[unseen()], "human\nedited\n", Some("human\nline\n")), "- 0");
        // Without git, a short text could occur anywhere.
        assert_eq!(check(&[unseen()], "human\nedited\n", None), "- -");
        let long = (None, replaced("line", "edited by an agent", false));
        assert_eq!(check(&[long], "human\nedited by an agent\n", None), "- 0?");
    }

    #[test]
    fn a_file_may_be_changed_outside_of_sessions_between_two_edits() {
        let whole = (None, change(How::Whole("first()\nsecond()\nthird()\n".to_owned())));
        let patch = (None, patched(" first()\n human()\n-third()\n+fourth()"));
        assert_eq!(check(&[whole, patch], "first()\nhuman()\nfourth()\n", None), "0 - 1");
    }

    #[test]
    fn a_patch_without_a_known_text_is_found_only_if_it_occurs_unchanged_and_once() {
        let patch = || (None, patched(" before();\n+added();\n behind();"));
        assert_eq!(
            check(&[patch()], "x\nbefore();\nadded();\nbehind();\n", None),
            "- - 0? -"
        );
        assert_eq!(check(&[patch()], "before();\nadded();\nelse();\n", None), "- - -");
        let twice = "before();\nadded();\nbehind();\n".repeat(2);
        assert_eq!(check(&[patch()], &twice, None), "- - - - - -");
    }

    #[test]
    fn equal_lines_are_distinguished_by_their_neighbours() {
        let whole = (None, change(How::Whole("fn a() {\n    same();\n}\n".to_owned())));
        let more = (None, replaced("}\n", "}\nfn b() {\n    same();\n}\n", false));
        let present = "fn a() {\n    same();\n}\nfn b() {\n    same();\n}\n";
        assert_eq!(check(&[whole, more], present, None), "0 0 0 1 1 1");
    }
}
