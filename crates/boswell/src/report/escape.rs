//! Text and sentences as HTML. All text from logs is escaped.

use std::collections::BTreeMap;
use std::fmt::Write;

use memory::report::{Citation, DayReport, SentencePart, Statement};
pub(super) use render::escape_html as escape;

/// The targets of citations in a page.
pub(super) struct Places {
    /// Projects by their key, in the order of the page.
    projects: BTreeMap<String, usize>,
    /// The lines of each turn that the page shows.
    shown: BTreeMap<String, Vec<u64>>,
}

impl Places {
    pub(super) fn of(day: &DayReport) -> Self {
        let keys = day.projects.iter().map(|project| project.project_key.clone());
        let mut places = Self {
            projects: keys.zip(0..).collect(),
            shown: BTreeMap::new(),
        };
        for excerpt in &day.excerpts {
            let lines = excerpt.lines.iter().map(|line| line.line).collect();
            places.shown.insert(places.turn(&excerpt.citation), lines);
        }
        places
    }

    pub(super) fn project(&self, key: &str) -> usize {
        self.projects.get(key).copied().unwrap_or_default()
    }

    /// Returns the id of a turn in the page.
    pub(super) fn turn(&self, citation: &Citation) -> String {
        let project = self.project(&citation.project_key);
        let safe = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
        format!(
            "t{project}-{}-{}",
            safe(&citation.session_ref),
            safe(&citation.turn_ref)
        )
    }

    /// Returns whether the page shows a turn.
    pub(super) fn has_turn(&self, citation: &Citation) -> bool {
        self.shown.contains_key(&self.turn(citation))
    }

    /// Returns the id of the first shown line of a citation, or that of its turn.
    fn target(&self, citation: &Citation) -> Option<String> {
        let turn = self.turn(citation);
        let lines = self.shown.get(&turn)?;
        let wanted = citation.first_line..=citation.last_line;
        let is_first = lines.contains(&citation.first_line);
        let line = match is_first {
            true => Some(citation.first_line),
            false => lines.iter().copied().find(|line| wanted.contains(line)),
        };
        Some(line.map_or_else(|| turn.clone(), |line| format!("{turn}-L{line}")))
    }

    /// Returns a sentence with its citations.
    pub(super) fn sentence(&self, statement: &Statement) -> String {
        let mut html = words(&statement.words);
        for citation in &statement.citations {
            html.push(' ');
            html += &self.citation(citation);
        }
        html
    }

    fn citation(&self, citation: &Citation) -> String {
        let Citation {
            session_ref, turn_ref, ..
        } = citation;
        let lines = match citation.first_line == citation.last_line {
            true => citation.first_line.to_string(),
            false => format!("{}-{}", citation.first_line, citation.last_line),
        };
        let (whole, short) = (
            escape(&citation.text()),
            escape(&format!("{session_ref} {turn_ref} {lines}")),
        );
        match self.target(citation) {
            Some(target) => format!("<a class=\"cite\" href=\"#{target}\" title=\"{whole}\">{short}</a>"),
            None => format!("<span class=\"cite\" title=\"{whole}\">{short}</span>"),
        }
    }

    /// Returns a list of sentences.
    pub(super) fn list(&self, statements: &[Statement]) -> String {
        let mut html = "<ul>".to_owned();
        for statement in statements {
            _ = write!(html, "<li>{}</li>", self.sentence(statement));
        }
        html + "</ul>"
    }
}

/// Returns the text of a sentence.
pub(super) fn words(words: &[SentencePart]) -> String {
    let word = |word: &SentencePart| match word {
        SentencePart::Say(text) => escape(text),
        SentencePart::Code(text) => format!("<code>{}</code>", escape(text)),
        SentencePart::Quote(text) => format!("<q>{}</q>", escape(text)),
    };
    words.iter().map(word).collect()
}
