//! The edits of a file made again, oldest first, so that each line is known by the edit that wrote it.
//!
//! The text is taken from where it is known: what a tool saw before its edit, a whole text that was written, what git has. An
//! edit that does not fit shows that somebody else was there; the text is then asked of git, or taken from what stands around
//! the edit. What fits nowhere is looked for in the present text at the end: only whole, and only at one place.

use std::ops::Range;
use std::rc::Rc;

use jiff::Timestamp;
use transcript::{Change, How, Hunk, Replacement, Row, Side};

use super::lines::{Followed, bare, pairs, says_something, split};

/// A text that is shorter can stand anywhere by chance.
const PIECE_CHARS_MIN: usize = 12;

/// An edit as it is made again.
#[derive(Debug)]
pub(super) struct Made<'e> {
    pub(super) at: Option<Timestamp>,
    /// The file's text before, where the tool told it.
    pub(super) before: Option<&'e str>,
    pub(super) change: &'e Change,
}

/// Who wrote a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Writer {
    /// The number of the edit.
    pub(super) edit: usize,
    /// Whether only its spacing was changed since by somebody else.
    pub(super) is_respaced: bool,
    /// Whether the line was followed from the edit to now; else the edit's text was found in the present one.
    pub(super) is_followed: bool,
}

/// A text of the file that was committed, with the number of the commit.
pub(super) type Committed = (usize, String);

/// Says of each line of the present text which edit wrote it. `text_at` gives the newest text that was committed before a
/// moment, unless it is of the commit that is known already.
pub(super) fn writers(
    edits: &[Made<'_>],
    present: &[String],
    text_at: &mut dyn FnMut(Option<Timestamp>, Option<usize>) -> Option<Committed>,
) -> Vec<Option<Writer>> {
    let mut text: Option<Followed> = None;
    let mut known = None;
    let mut loose = Vec::new();
    for (number, edit) in edits.iter().enumerate() {
        let mut states = Vec::new();
        if let Some((commit, committed)) = text_at(edit.at, known) {
            let mut then = text.clone();
            become_text(&mut then, &split(&committed), None);
            states.extend(then);
            known = Some(commit);
        }
        // What was committed may be less than what was there: then the edit tells which of both it met.
        states.extend(text.take());
        if let Some(before) = edit.before {
            let mut then = states.into_iter().next();
            become_text(&mut then, &split(before), None);
            states = then.into_iter().collect();
        }
        let (made, fits) = make(states, number, edit);
        text = made;
        if !fits {
            loose.push(number);
        }
    }
    become_text(&mut text, present, None);
    let followed = text.unwrap_or_default();
    let mut writers: Vec<Option<Writer>> = followed
        .lines
        .iter()
        .map(|line| {
            Some(Writer {
                edit: line.by?,
                is_respaced: line.is_respaced,
                is_followed: true,
            })
        })
        .collect();
    let bare_lines: Vec<String> = present.iter().map(|line| bare(line)).collect();
    for number in loose.into_iter().rev() {
        for at in found_now(edits[number].change, present, &bare_lines) {
            writers[at].get_or_insert(Writer {
                edit: number,
                is_respaced: false,
                is_followed: false,
            });
        }
    }
    writers
}

fn become_text(text: &mut Option<Followed>, lines: &[String], by: Option<usize>) {
    match text {
        Some(text) => text.become_text(lines, by),
        None => *text = Some(Followed::new(lines, by)),
    }
}

/// Makes one edit again, on the first of the texts that it fits. Says whether it found its place.
fn make(mut states: Vec<Followed>, number: usize, edit: &Made<'_>) -> (Option<Followed>, bool) {
    let whole = match &edit.change.how {
        How::Whole(whole) => Some(split(whole)),
        How::Deleted => Some(Vec::new()),
        How::Replaced(_) | How::Patched(_) => None,
    };
    if let Some(whole) = whole {
        let bare_lines: Vec<Rc<str>> = whole.iter().map(|line| bare(line).into()).collect();
        let alike = |state: &Followed| pairs(&state.bare_lines(), &bare_lines).len();
        // Of equal ones the last is taken: the order is turned, so that the first is.
        let mut text = states.into_iter().rev().max_by_key(alike);
        become_text(&mut text, &whole, Some(number));
        return (text, true);
    }
    for at in 0..states.len() {
        if fits(&mut states[at], number, &edit.change.how) {
            return (Some(states.swap_remove(at)), true);
        }
    }
    let Some(mut text) = states.into_iter().next() else {
        return (None, false);
    };
    let hunks = pieces(&edit.change.how);
    let is_squeezed = hunks.iter().all(|hunk| squeeze(&mut text, number, hunk));
    (Some(text), is_squeezed)
}

/// Makes a change where all of it has its place; else nothing.
fn fits(text: &mut Followed, number: usize, how: &How) -> bool {
    let mut tried = text.clone();
    let fits = match how {
        How::Replaced(all) => all.iter().all(|one| substitute(&mut tried, number, one)),
        How::Patched(hunks) => {
            let (mut from, mut moved) = (0, 0);
            hunks
                .iter()
                .all(|hunk| patch(&mut tried, number, hunk, &mut from, &mut moved))
        }
        How::Whole(_) | How::Deleted => false,
    };
    if fits {
        *text = tried;
    }
    fits
}

/// Puts one text in the place of another, within lines and over them.
fn substitute(text: &mut Followed, number: usize, one: &Replacement) -> bool {
    let old = one.old.replace("\r\n", "\n");
    let new = one.new.replace("\r\n", "\n");
    let mut from = 0;
    let mut is_found = false;
    loop {
        let whole: String = text.lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        // The last line may have no break that the old text could name.
        let found = whole.get(from..).and_then(|rest| rest.find(&old)).map(|at| from + at);
        let Some(at) = found.filter(|_| !old.is_empty()) else {
            return is_found;
        };
        let behind = at + old.len();
        // Where both end with their line, the next one is not touched.
        let is_whole = old.ends_with('\n') && new.ends_with('\n');
        let end = match is_whole {
            true => behind - 1,
            false => whole[behind..].find('\n').map_or(whole.len(), |step| behind + step),
        };
        let line_of = |at: usize| whole[..at].matches('\n').count();
        let start = whole[..at].rfind('\n').map_or(0, |at| at + 1);
        let tail = whole.get(behind..end).unwrap_or_default();
        let changed = format!(
            "{}{}{tail}",
            &whole[start..at],
            new.strip_suffix('\n').filter(|_| is_whole).unwrap_or(&new)
        );
        let place = line_of(at)..(line_of(end) + 1).min(text.lines.len());
        let is_gone = changed.is_empty() && behind >= whole.len();
        let changed = changed.split('\n').filter(|_| !is_gone).map(str::to_owned);
        text.replace(place, &changed.collect::<Vec<_>>(), Some(number));
        (is_found, from) = (true, at + new.len());
        if !one.everywhere {
            return true;
        }
    }
}

/// Makes one hunk where its old lines stand: at the line it tells, else behind the hunk before.
fn patch(text: &mut Followed, number: usize, hunk: &Hunk, from: &mut usize, moved: &mut isize) -> bool {
    let old: Vec<Rc<str>> = hunk.old().map(|line| bare(line).into()).collect();
    let new: Vec<String> = hunk.new_lines().map(str::to_owned).collect();
    let lines = text.bare_lines();
    let told = hunk
        .old_line
        .map(|line| usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1));
    let told = told.map(|line| line.saturating_add_signed(*moved));
    let below = hunk.below.as_deref().map(bare).and_then(|below| {
        let at = lines.iter().skip(*from).position(|line| **line == *below)?;
        Some(*from + at + 1)
    });
    let place = match (old.is_empty(), told) {
        (true, Some(line)) => Some(line.min(lines.len())),
        (true, None) => Some(below.unwrap_or(lines.len())),
        (false, Some(line)) => nearest(&lines, &old, line),
        (false, None) => first(&lines, &old, below.unwrap_or(*from)).or_else(|| first(&lines, &old, 0)),
    };
    let Some(at) = place else { return false };
    *moved += new.len().cast_signed() - old.len().cast_signed();
    *from = at + new.len();
    text.replace(at..at + old.len(), &new, Some(number));
    true
}

fn first(lines: &[Rc<str>], wanted: &[Rc<str>], from: usize) -> Option<usize> {
    let rest = lines.get(from..)?;
    rest.windows(wanted.len())
        .position(|window| window == wanted)
        .map(|at| from + at)
}

/// Where lines stand that are expected at `line`: as near to it as can be.
fn nearest(lines: &[Rc<str>], wanted: &[Rc<str>], line: usize) -> Option<usize> {
    let windows = lines.windows(wanted.len()).enumerate();
    let found = windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at);
    found.min_by_key(|at| at.abs_diff(line))
}

/// A change as hunks of whole lines.
fn pieces(how: &How) -> Vec<Hunk> {
    match how {
        How::Patched(hunks) => hunks.clone(),
        How::Replaced(all) => all.iter().map(as_hunk).collect(),
        How::Whole(_) | How::Deleted => Vec::new(),
    }
}

/// A replacement as rows: what both sides have, what went, and what came.
pub(super) fn as_hunk(one: &Replacement) -> Hunk {
    let (old, new) = (split(&one.old), split(&one.new));
    Hunk {
        rows: rows(&old, &new),
        ..Hunk::default()
    }
}

/// The difference of two texts as rows.
pub(super) fn rows(old: &[String], new: &[String]) -> Vec<Row> {
    let row = |side, text: &String| Row {
        side,
        text: text.clone(),
    };
    let (mut i, mut j) = (0, 0);
    let mut rows = Vec::new();
    for (a, b) in pairs(old, new).into_iter().chain([(old.len(), new.len())]) {
        rows.extend(old[i..a].iter().map(|line| row(Side::Old, line)));
        rows.extend(new[j..b].iter().map(|line| row(Side::New, line)));
        rows.extend(new.get(b).map(|line| row(Side::Both, line)));
        (i, j) = (a + 1, b + 1);
    }
    rows
}

/// Makes a hunk where most of its old lines stand: somebody changed the others before.
fn squeeze(text: &mut Followed, number: usize, hunk: &Hunk) -> bool {
    let old: Vec<Rc<str>> = hunk.old().map(|line| bare(line).into()).collect();
    let lines = text.bare_lines();
    if old.len() < 2 || lines.len() < old.len() {
        return false;
    }
    let alike = |at: usize| {
        let both = lines[at..at + old.len()].iter().zip(&old);
        both.filter(|(a, b)| a == b && says_something(a)).count()
    };
    let places: Vec<(usize, usize)> = (0..=lines.len() - old.len()).map(|at| (alike(at), at)).collect();
    let best = places.iter().map(|(alike, _)| *alike).max().unwrap_or_default();
    let mut best_places = places.iter().filter(|(alike, _)| *alike == best);
    let telling = old.iter().filter(|line| says_something(line)).count();
    let (Some((_, at)), None) = (best_places.next(), best_places.next()) else {
        return false;
    };
    if best == 0 || best * 2 < telling {
        return false;
    }
    let place: Range<usize> = *at..at + old.len();
    let own = |lines: &mut dyn Iterator<Item = &str>| lines.map(str::to_owned).collect::<Vec<_>>();
    text.replace(place.clone(), &own(&mut hunk.old()), None);
    text.replace(place, &own(&mut hunk.new_lines()), Some(number));
    true
}

/// The lines of the present text that a change wrote, where its new text stands there whole and once.
fn found_now(change: &Change, present: &[String], bare_lines: &[String]) -> Vec<usize> {
    let mut found = Vec::new();
    if let How::Replaced(all) = &change.how {
        for one in all {
            found.extend(piece_now(one, present));
        }
    }
    for hunk in pieces(&change.how) {
        let new: Vec<String> = hunk.new_lines().map(bare).collect();
        // A few characters can stand anywhere.
        if new.iter().map(|line| line.chars().count()).sum::<usize>() < PIECE_CHARS_MIN {
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

/// The one line in which the new piece of a line stands.
fn piece_now(one: &Replacement, present: &[String]) -> Option<usize> {
    let new = one.new.trim();
    if new.contains('\n') || new.chars().count() < PIECE_CHARS_MIN || one.old.contains(new) {
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

    /// Who wrote each line of `present`: the number of the edit, with `?` where it was not followed.
    fn check(edits: &[(Option<&str>, Change)], present: &str, git: Option<&str>) -> String {
        let mut commits = git.map(|text| (0, text.to_owned()));
        let made: Vec<Made<'_>> = edits
            .iter()
            .map(|(before, change)| Made {
                at: None,
                before: *before,
                change,
            })
            .collect();
        let writers = writers(&made, &split(present), &mut |_, _| commits.take());
        let told = writers.into_iter().map(|writer| match writer {
            None => "-".to_owned(),
            Some(writer) if !writer.is_followed => format!("{}?", writer.edit),
            Some(writer) => writer.edit.to_string(),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn texts_are_replaced_within_lines_and_over_them() {
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
    fn what_stood_there_before_all_edits_is_nobodys() {
        let seen = (Some("human\nline\n"), replaced("line", "edited", false));
        assert_eq!(check(&[seen], "human\nedited\n", None), "- 0");
        // The same where only git knows what was there.
        let unseen = || (None, replaced("line", "edited", false));
        assert_eq!(check(&[unseen()], "human\nedited\n", Some("human\nline\n")), "- 0");
        // Without it a short piece could stand anywhere.
        assert_eq!(check(&[unseen()], "human\nedited\n", None), "- -");
        let long = (None, replaced("line", "edited by an agent", false));
        assert_eq!(check(&[long], "human\nedited by an agent\n", None), "- 0?");
    }

    #[test]
    fn somebody_else_may_change_the_file_between_two_edits() {
        let whole = (None, change(How::Whole("first()\nsecond()\nthird()\n".to_owned())));
        let patch = (None, patched(" first()\n human()\n-third()\n+fourth()"));
        assert_eq!(check(&[whole, patch], "first()\nhuman()\nfourth()\n", None), "0 - 1");
    }

    #[test]
    fn a_patch_whose_text_nobody_knows_is_found_only_where_it_stands_whole_and_once() {
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
    fn equal_lines_are_told_apart_by_what_stands_around_them() {
        let whole = (None, change(How::Whole("fn a() {\n    same();\n}\n".to_owned())));
        let more = (None, replaced("}\n", "}\nfn b() {\n    same();\n}\n", false));
        let present = "fn a() {\n    same();\n}\nfn b() {\n    same();\n}\n";
        assert_eq!(check(&[whole, more], present, None), "0 0 0 1 1 1");
    }
}
