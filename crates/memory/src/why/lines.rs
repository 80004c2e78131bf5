//! A file's lines, each with the edit that wrote it, and the matching of lines between two versions of a text.
//!
//! Lines are compared without whitespace, because a formatter moves lines but does not write them. A line keeps its
//! writer as long as it can be matched through every change of the text. A line that matches nothing before it was
//! written outside of all sessions.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Up to this many pairs, the lines of two texts are compared pairwise; above it, only lines that are unique in both
/// texts are matched first.
const PAIRS_MAX: usize = 4_000_000;
/// Weight of a distinctive line compared with a brace or an empty line.
const DISTINCTIVE_WEIGHT: u32 = 8;

/// A line and the edit that wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AttributedLine {
    /// Shared because candidate texts are cloned for every edit.
    pub(super) text: Rc<str>,
    /// The text without whitespace.
    pub(super) unspaced: Rc<str>,
    /// The number of the edit, or `None` if the line was written outside of all sessions.
    pub(super) writer: Option<usize>,
    /// True if its spacing was changed outside of all sessions since.
    pub(super) is_respaced: bool,
}

/// A text whose lines have writers.
#[derive(Debug, Clone, Default)]
pub(super) struct AttributedText {
    pub(super) lines: Vec<AttributedLine>,
    /// Lines removed outside of sessions, which may return, for example by a change of branch or a stash.
    removed: HashMap<Rc<str>, Vec<RemovedLine>>,
}

/// A removed line with its neighbours, by which it is recognized if it returns.
#[derive(Debug, Clone)]
struct RemovedLine {
    writer: Option<usize>,
    before: Option<Rc<str>>,
    after: Option<Rc<str>>,
}

impl AttributedLine {
    fn new(text: &str, writer: Option<usize>) -> Self {
        Self {
            unspaced: strip_spacing(text).into(),
            text: text.into(),
            writer,
            is_respaced: false,
        }
    }
}

/// Returns the lines of a text without their line endings.
pub(super) fn split_lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// Returns a line without whitespace.
pub(super) fn strip_spacing(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

impl AttributedText {
    /// Creates a text whose lines all have the same writer.
    pub(super) fn new(lines: &[String], writer: Option<usize>) -> Self {
        Self {
            lines: lines.iter().map(|line| AttributedLine::new(line, writer)).collect(),
            removed: HashMap::new(),
        }
    }

    pub(super) fn bare_lines(&self) -> Vec<Rc<str>> {
        self.lines.iter().map(|line| Rc::clone(&line.unspaced)).collect()
    }

    /// Replaces the whole text.
    pub(super) fn set_text(&mut self, lines: &[String], writer: Option<usize>) {
        self.replace(0..self.lines.len(), lines, writer);
    }

    /// Replaces a range of lines. Lines that occur in both versions keep their writer.
    pub(super) fn replace(&mut self, place: Range<usize>, new: &[String], writer: Option<usize>) {
        let old: Vec<Rc<str>> = self.lines[place.clone()]
            .iter()
            .map(|line| Rc::clone(&line.unspaced))
            .collect();
        let mut new: Vec<AttributedLine> = new.iter().map(|line| AttributedLine::new(line, writer)).collect();
        let new_bare: Vec<Rc<str>> = new.iter().map(|line| Rc::clone(&line.unspaced)).collect();
        let pairs = match_lines(&old, &new_bare);
        let mut is_kept = vec![false; new.len()];
        for (at, then) in &pairs {
            let (before, line) = (&self.lines[place.start + at], &mut new[*then]);
            line.writer = before.writer;
            line.is_respaced = before.is_respaced || before.text.trim_end() != line.text.trim_end();
            is_kept[*then] = true;
        }
        if writer.is_none() {
            self.remember_removed(&place, &old, &pairs);
            for at in (0..new.len()).filter(|at| !is_kept[*at]) {
                new[at].writer = self.writer_of_returned_line(at, &new_bare);
            }
        }
        self.lines.splice(place, new);
    }

    fn remember_removed(&mut self, place: &Range<usize>, old: &[Rc<str>], pairs: &[(usize, usize)]) {
        let stay: HashSet<usize> = pairs.iter().map(|(old, _)| *old).collect();
        for at in (0..old.len()).filter(|at| !stay.contains(at)) {
            let writer = self.lines[place.start + at].writer;
            if writer.is_some() {
                let removed = RemovedLine {
                    writer,
                    before: at.checked_sub(1).map(|at| Rc::clone(&old[at])),
                    after: old.get(at + 1).cloned(),
                };
                self.removed.entry(Rc::clone(&old[at])).or_default().push(removed);
            }
        }
    }

    /// Returns the writer of a line that was removed and is back, or `None` if the line is new.
    fn writer_of_returned_line(&self, at: usize, new: &[Rc<str>]) -> Option<usize> {
        let before = at.checked_sub(1).map(|at| &new[at]);
        let after = new.get(at + 1);
        let is_same_place = |removed: &&RemovedLine| {
            let sides = (removed.before.as_ref() == before, removed.after.as_ref() == after);
            match is_distinctive(&new[at]) {
                true => sides.0 || sides.1,
                false => sides.0 && sides.1,
            }
        };
        let known = self.removed.get(&new[at]).into_iter().flatten();
        known.rev().find(is_same_place).and_then(|removed| removed.writer)
    }
}

/// Returns `true` if a line is more than a few braces.
pub(super) fn is_distinctive(unspaced: &str) -> bool {
    unspaced.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

/// Returns the pairs of lines that two texts have in common, in order, with the highest total weight.
pub(super) fn match_lines<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let mut ids: HashMap<&str, u32> = HashMap::new();
    let mut number = |line| {
        let next = ids.len() as u32;
        *ids.entry(line).or_insert(next)
    };
    let a: Vec<u32> = old.iter().map(|line| number(line.as_ref())).collect();
    let b: Vec<u32> = new.iter().map(|line| number(line.as_ref())).collect();
    let mut weights = vec![0; ids.len()];
    for (line, id) in &ids {
        weights[*id as usize] = if is_distinctive(line) { DISTINCTIVE_WEIGHT } else { 1 };
    }
    let mut found = Vec::new();
    match_range(&a, &b, (0, 0), &weights, &mut found);
    found
}

/// Matches the common head and tail first, because most texts differ only in the middle.
fn match_range(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&rest_a[..rest_a.len() - tail], &rest_b[..rest_b.len() - tail]);
    found.extend((0..head).map(|step| (at.0 + step, at.1 + step)));
    let inside = (at.0 + head, at.1 + head);
    if !mid_a.is_empty() && !mid_b.is_empty() {
        match mid_a.len().saturating_mul(mid_b.len()) <= PAIRS_MAX {
            true => match_heaviest(mid_a, mid_b, inside, weights, found),
            false => match_by_unique_lines(mid_a, mid_b, inside, weights, found),
        }
    }
    let (end_a, end_b) = (inside.0 + mid_a.len(), inside.1 + mid_b.len());
    found.extend((0..tail).map(|step| (end_a + step, end_b + step)));
}

/// Finds the heaviest common subsequence with a table of the best weight reachable from each pair of lines.
fn match_heaviest(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let width = b.len() + 1;
    let mut best_weights = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let skip = best_weights[(i + 1) * width + j].max(best_weights[i * width + j + 1]);
            let take = match a[i] == b[j] {
                true => best_weights[(i + 1) * width + j + 1] + weights[a[i] as usize],
                false => 0,
            };
            best_weights[i * width + j] = skip.max(take);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let here = best_weights[i * width + j];
        if a[i] == b[j] && here == best_weights[(i + 1) * width + j + 1] + weights[a[i] as usize] {
            found.push((at.0 + i, at.1 + j));
            (i, j) = (i + 1, j + 1);
        } else if here == best_weights[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Splits long texts at lines that are unique in both, as far as they have the same order, and matches the pieces.
fn match_by_unique_lines(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let unique = |lines: &[u32]| {
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            places
                .entry(*line)
                .and_modify(|place| *place = None)
                .or_insert(Some(at));
        }
        places
    };
    let (in_a, in_b) = (unique(a), unique(b));
    let mut both: Vec<(usize, usize)> = in_a
        .iter()
        .filter_map(|(line, at)| Some(((*at)?, (*in_b.get(line)?)?)))
        .collect();
    both.sort_unstable();
    let cuts = longest_increasing_run(&both);
    if cuts.is_empty() {
        return;
    }
    let (mut i, mut j) = (0, 0);
    for (cut_a, cut_b) in cuts.into_iter().chain([(a.len(), b.len())]) {
        if cut_a > i && cut_b > j && cut_a - i + (cut_b - j) < a.len() + b.len() {
            match_range(&a[i..cut_a], &b[j..cut_b], (at.0 + i, at.1 + j), weights, found);
        }
        if cut_a < a.len() && cut_b < b.len() {
            found.push((at.0 + cut_a, at.1 + cut_b));
        }
        (i, j) = (cut_a + 1, cut_b + 1);
    }
}

/// Returns the longest run of pairs whose second numbers increase with the first.
fn longest_increasing_run(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = vec![None; pairs.len()];
    for at in 0..pairs.len() {
        let place = ends.partition_point(|end| pairs[*end].1 < pairs[at].1);
        before[at] = place.checked_sub(1).map(|place| ends[place]);
        match place < ends.len() {
            true => ends[place] = at,
            false => ends.push(at),
        }
    }
    let mut rise = Vec::new();
    let mut next = ends.last().copied();
    while let Some(at) = next {
        rise.push(pairs[at]);
        next = before[at];
    }
    rise.reverse();
    rise
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.split('|').map(str::to_owned).collect()
    }

    fn print_writers(text: &AttributedText) -> String {
        let writers = text.lines.iter().map(|line| match (line.writer, line.is_respaced) {
            (Some(writer), true) => format!("{writer}~"),
            (Some(writer), false) => writer.to_string(),
            (None, _) => "-".to_owned(),
        });
        writers.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_line_keeps_its_writer_when_it_is_moved_or_respaced() {
        let mut text = AttributedText::new(&lines("one {|}|two {|}"), Some(0));
        text.set_text(&lines("zero {|}|one {|}|two {|}"), None);
        assert_eq!(print_writers(&text), "- - 0 0 0 0");
        text.set_text(&lines("zero {|}|if x {|  one {|  }|}|two {|}"), Some(1));
        assert_eq!(print_writers(&text), "- - 1 0~ 1 0 0 0");
        text.set_text(&lines("two {|}"), None);
        assert_eq!(print_writers(&text), "0 0");
    }

    #[test]
    fn a_removed_line_that_returns_keeps_its_writer() {
        let mut text = AttributedText::new(&lines("a one|a two|a three"), Some(3));
        text.set_text(&lines("a one|a three"), None);
        text.set_text(&lines("a one|a two|a three"), None);
        assert_eq!(print_writers(&text), "3 3 3");
        text.set_text(&lines("a one|a two|a human|a three"), None);
        assert_eq!(print_writers(&text), "3 3 - 3");
    }

    #[test]
    fn long_texts_are_compared_by_their_single_lines() {
        let many: Vec<String> = (0..3000).map(|at| format!("line {at}")).collect();
        let mut other: Vec<String> = many.iter().rev().take(10).cloned().collect();
        other.extend(many.iter().map(|line| line.replace("line 7", "row 7")));
        other.push("the end".to_owned());
        let found = match_lines(&many, &other);
        assert!(found.len() > 2600, "{}", found.len());
        assert!(found.iter().all(|(a, b)| many[*a] == other[*b]));
        assert!(found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
    }
}
