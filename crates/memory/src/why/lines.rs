//! A file's lines, each with the edit that wrote it, and how lines of one text are found again in another.
//!
//! Lines are compared without their spacing: a formatter moves lines and writes none. Who wrote a line is kept by what is
//! followed through every change of the text; a line that comes from nowhere was written outside of all sessions.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::rc::Rc;

/// Lines of two texts are compared one by one up to so many pairs; above that only by lines that stand in each once.
const PAIRS_MAX: usize = 4_000_000;
/// What a line that says something weighs against a brace or an empty line.
const WORDS_WEIGHT: u32 = 8;

/// A line and who wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Owned {
    /// Texts are tried and thrown away often: lines are shared between them.
    pub(super) text: Rc<str>,
    /// The same without its spacing.
    pub(super) bare: Rc<str>,
    /// The number of the edit; none where it was written outside of sessions.
    pub(super) by: Option<usize>,
    /// Whether its spacing was changed by somebody else since.
    pub(super) is_respaced: bool,
}

/// A text whose lines are followed.
#[derive(Debug, Clone, Default)]
pub(super) struct Followed {
    pub(super) lines: Vec<Owned>,
    /// Lines that went away outside of sessions. They may come back, as from a branch or a stash.
    gone: HashMap<Rc<str>, Vec<Gone>>,
}

#[derive(Debug, Clone)]
struct Gone {
    by: Option<usize>,
    before: Option<Rc<str>>,
    behind: Option<Rc<str>>,
}

impl Owned {
    fn new(text: &str, by: Option<usize>) -> Self {
        Self {
            bare: bare(text).into(),
            text: text.into(),
            by,
            is_respaced: false,
        }
    }
}

/// A text as lines, without what ends them.
pub(super) fn split(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}

/// A line without its spacing.
pub(super) fn bare(line: &str) -> String {
    line.chars().filter(|c| !c.is_whitespace()).collect()
}

impl Followed {
    /// A text that somebody wrote.
    pub(super) fn new(lines: &[String], by: Option<usize>) -> Self {
        Self {
            lines: lines.iter().map(|line| Owned::new(line, by)).collect(),
            gone: HashMap::new(),
        }
    }

    pub(super) fn bare_lines(&self) -> Vec<Rc<str>> {
        self.lines.iter().map(|line| Rc::clone(&line.bare)).collect()
    }

    /// The text is this now, by whomever.
    pub(super) fn become_text(&mut self, lines: &[String], by: Option<usize>) {
        self.replace(0..self.lines.len(), lines, by);
    }

    /// Puts lines in the place of others. Those that are found again keep their writer.
    pub(super) fn replace(&mut self, place: Range<usize>, new: &[String], by: Option<usize>) {
        let old: Vec<Rc<str>> = self.lines[place.clone()]
            .iter()
            .map(|line| Rc::clone(&line.bare))
            .collect();
        let mut new: Vec<Owned> = new.iter().map(|line| Owned::new(line, by)).collect();
        let new_bare: Vec<Rc<str>> = new.iter().map(|line| Rc::clone(&line.bare)).collect();
        let pairs = pairs(&old, &new_bare);
        let mut is_kept = vec![false; new.len()];
        for (at, then) in &pairs {
            let (before, line) = (&self.lines[place.start + at], &mut new[*then]);
            line.by = before.by;
            line.is_respaced = before.is_respaced || before.text.trim_end() != line.text.trim_end();
            is_kept[*then] = true;
        }
        if by.is_none() {
            self.remember_gone(&place, &old, &pairs);
            for at in (0..new.len()).filter(|at| !is_kept[*at]) {
                new[at].by = self.who_came_back(at, &new_bare);
            }
        }
        self.lines.splice(place, new);
    }

    fn remember_gone(&mut self, place: &Range<usize>, old: &[Rc<str>], pairs: &[(usize, usize)]) {
        let stay: HashSet<usize> = pairs.iter().map(|(old, _)| *old).collect();
        for at in (0..old.len()).filter(|at| !stay.contains(at)) {
            let by = self.lines[place.start + at].by;
            if by.is_some() {
                let gone = Gone {
                    by,
                    before: at.checked_sub(1).map(|at| Rc::clone(&old[at])),
                    behind: old.get(at + 1).cloned(),
                };
                self.gone.entry(Rc::clone(&old[at])).or_default().push(gone);
            }
        }
    }

    /// The writer of a line that went away and came back; none where it was written outside of sessions.
    fn who_came_back(&self, at: usize, new: &[Rc<str>]) -> Option<usize> {
        let before = at.checked_sub(1).map(|at| &new[at]);
        let behind = new.get(at + 1);
        let is_it = |gone: &&Gone| {
            let sides = (gone.before.as_ref() == before, gone.behind.as_ref() == behind);
            match says_something(&new[at]) {
                true => sides.0 || sides.1,
                false => sides.0 && sides.1,
            }
        };
        let known = self.gone.get(&new[at]).into_iter().flatten();
        known.rev().find(is_it).and_then(|gone| gone.by)
    }
}

/// Whether a line is more than a brace or two.
pub(super) fn says_something(bare: &str) -> bool {
    bare.chars().filter(|c| c.is_alphanumeric()).count() >= 3
}

/// Which lines of one text are found again in another, in order: those that weigh most together.
pub(super) fn pairs<T: AsRef<str>>(old: &[T], new: &[T]) -> Vec<(usize, usize)> {
    let mut ids: HashMap<&str, u32> = HashMap::new();
    let mut number = |line| {
        let next = ids.len() as u32;
        *ids.entry(line).or_insert(next)
    };
    let a: Vec<u32> = old.iter().map(|line| number(line.as_ref())).collect();
    let b: Vec<u32> = new.iter().map(|line| number(line.as_ref())).collect();
    let mut weights = vec![0; ids.len()];
    for (line, id) in &ids {
        weights[*id as usize] = if says_something(line) { WORDS_WEIGHT } else { 1 };
    }
    let mut found = Vec::new();
    pair(&a, &b, (0, 0), &weights, &mut found);
    found
}

fn pair(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let tail = rest_a.iter().rev().zip(rest_b.iter().rev());
    let tail = tail.take_while(|(a, b)| a == b).count();
    let (mid_a, mid_b) = (&rest_a[..rest_a.len() - tail], &rest_b[..rest_b.len() - tail]);
    found.extend((0..head).map(|step| (at.0 + step, at.1 + step)));
    let inside = (at.0 + head, at.1 + head);
    if !mid_a.is_empty() && !mid_b.is_empty() {
        match mid_a.len().saturating_mul(mid_b.len()) <= PAIRS_MAX {
            true => heaviest(mid_a, mid_b, inside, weights, found),
            false => by_single_lines(mid_a, mid_b, inside, weights, found),
        }
    }
    let (end_a, end_b) = (inside.0 + mid_a.len(), inside.1 + mid_b.len());
    found.extend((0..tail).map(|step| (end_a + step, end_b + step)));
}

/// The heaviest common lines, by a table of what is left to win from each pair of lines on.
fn heaviest(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let width = b.len() + 1;
    let mut wins = vec![0_u32; (a.len() + 1) * width];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            let skip = wins[(i + 1) * width + j].max(wins[i * width + j + 1]);
            let take = match a[i] == b[j] {
                true => wins[(i + 1) * width + j + 1] + weights[a[i] as usize],
                false => 0,
            };
            wins[i * width + j] = skip.max(take);
        }
    }
    let (mut i, mut j) = (0, 0);
    while i < a.len() && j < b.len() {
        let here = wins[i * width + j];
        if a[i] == b[j] && here == wins[(i + 1) * width + j + 1] + weights[a[i] as usize] {
            found.push((at.0 + i, at.1 + j));
            (i, j) = (i + 1, j + 1);
        } else if here == wins[(i + 1) * width + j] {
            i += 1;
        } else {
            j += 1;
        }
    }
}

/// Long texts are cut at lines that stand in both of them once, as far as these come in the same order.
fn by_single_lines(a: &[u32], b: &[u32], at: (usize, usize), weights: &[u32], found: &mut Vec<(usize, usize)>) {
    let single = |lines: &[u32]| {
        let mut places: HashMap<u32, Option<usize>> = HashMap::new();
        for (at, line) in lines.iter().enumerate() {
            places
                .entry(*line)
                .and_modify(|place| *place = None)
                .or_insert(Some(at));
        }
        places
    };
    let (in_a, in_b) = (single(a), single(b));
    let mut both: Vec<(usize, usize)> = in_a
        .iter()
        .filter_map(|(line, at)| Some(((*at)?, (*in_b.get(line)?)?)))
        .collect();
    both.sort_unstable();
    let cuts = longest_rise(&both);
    if cuts.is_empty() {
        return;
    }
    let (mut i, mut j) = (0, 0);
    for (cut_a, cut_b) in cuts.into_iter().chain([(a.len(), b.len())]) {
        if cut_a > i && cut_b > j && cut_a - i + (cut_b - j) < a.len() + b.len() {
            pair(&a[i..cut_a], &b[j..cut_b], (at.0 + i, at.1 + j), weights, found);
        }
        if cut_a < a.len() && cut_b < b.len() {
            found.push((at.0 + cut_a, at.1 + cut_b));
        }
        (i, j) = (cut_a + 1, cut_b + 1);
    }
}

/// The longest run of pairs in which the second rises with the first.
fn longest_rise(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
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

    fn told(text: &Followed) -> String {
        let told = text.lines.iter().map(|line| match (line.by, line.is_respaced) {
            (Some(by), true) => format!("{by}~"),
            (Some(by), false) => by.to_string(),
            (None, _) => "-".to_owned(),
        });
        told.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_line_keeps_its_writer_wherever_it_goes_and_however_it_is_spaced() {
        let mut text = Followed::new(&lines("one {|}|two {|}"), Some(0));
        text.become_text(&lines("zero {|}|one {|}|two {|}"), None);
        assert_eq!(told(&text), "- - 0 0 0 0");
        text.become_text(&lines("zero {|}|if x {|  one {|  }|}|two {|}"), Some(1));
        assert_eq!(told(&text), "- - 1 0~ 1 0 0 0");
        text.become_text(&lines("two {|}"), None);
        assert_eq!(told(&text), "0 0");
    }

    #[test]
    fn a_line_that_went_and_came_back_is_still_its_writers() {
        let mut text = Followed::new(&lines("a one|a two|a three"), Some(3));
        text.become_text(&lines("a one|a three"), None);
        text.become_text(&lines("a one|a two|a three"), None);
        assert_eq!(told(&text), "3 3 3");
        text.become_text(&lines("a one|a two|a human|a three"), None);
        assert_eq!(told(&text), "3 3 - 3");
    }

    #[test]
    fn long_texts_are_compared_by_their_single_lines() {
        let many: Vec<String> = (0..3000).map(|at| format!("line {at}")).collect();
        let mut other: Vec<String> = many.iter().rev().take(10).cloned().collect();
        other.extend(many.iter().map(|line| line.replace("line 7", "row 7")));
        other.push("the end".to_owned());
        let found = pairs(&many, &other);
        assert!(found.len() > 2600, "{}", found.len());
        assert!(found.iter().all(|(a, b)| many[*a] == other[*b]));
        assert!(found.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 < two[1].1));
    }
}
