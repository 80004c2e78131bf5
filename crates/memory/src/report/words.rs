//! Builds sentences, shortens quotations, and numbers masked secrets.

use std::sync::LazyLock;

use regex::Regex;

use super::fields::{Citation, DayReport, SentencePart, Statement};
use crate::excerpt::one_line;
use crate::mask::Numbering;

/// Maximum number of citations of a sentence.
const CITATIONS_MAX: usize = 4;

/// A sentence under construction.
#[derive(Debug, Default)]
pub(super) struct Sentence {
    words: Vec<SentencePart>,
    citations: Vec<Citation>,
}

impl Sentence {
    pub(super) fn say(mut self, text: impl Into<String>) -> Self {
        let text = text.into();
        if text.is_empty() {
            return self;
        }
        match self.words.last_mut() {
            Some(SentencePart::Say(before)) => *before += &text,
            _ => self.words.push(SentencePart::Say(text)),
        }
        self
    }

    pub(super) fn code(mut self, text: impl Into<String>) -> Self {
        self.words.push(SentencePart::Code(text.into()));
        self
    }

    pub(super) fn quote(mut self, text: impl Into<String>) -> Self {
        self.words.push(SentencePart::Quote(text.into()));
        self
    }

    /// Adds names, separated by commas.
    pub(super) fn codes(self, names: impl IntoIterator<Item = String>) -> Self {
        let mut sentence = self;
        for (at, name) in names.into_iter().enumerate() {
            if at > 0 {
                sentence = sentence.say(", ");
            }
            sentence = sentence.code(name);
        }
        sentence
    }

    pub(super) fn words(mut self, words: &[SentencePart]) -> Self {
        self.words.extend_from_slice(words);
        self
    }

    /// Ends the sentence with its citations. If there are too many, the first ones and the last one are kept.
    pub(super) fn cite(mut self, citations: impl IntoIterator<Item = Citation>) -> Statement {
        for citation in citations {
            if !self.citations.contains(&citation) {
                self.citations.push(citation);
            }
        }
        if self.citations.len() > CITATIONS_MAX {
            let last = self.citations.split_off(self.citations.len() - 1);
            self.citations.truncate(CITATIONS_MAX - 1);
            self.citations.extend(last);
        }
        Statement {
            words: self.words,
            citations: self.citations,
        }
    }
}

/// Starts a sentence.
pub(super) fn say(text: impl Into<String>) -> Sentence {
    Sentence::default().say(text)
}

/// Returns a count with its noun: `1 file`, `2 files`.
pub(super) fn count_noun(count: usize, word: &str) -> String {
    match (count, word.strip_suffix('y')) {
        (1, _) => format!("1 {word}"),
        (count, Some(stem)) if !stem.ends_with(['a', 'e', 'o']) => format!("{count} {stem}ies"),
        (count, _) => format!("{count} {word}s"),
    }
}

/// Returns a number of repetitions: `once`, `twice`, `3 times`.
pub(super) fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    }
}

/// Returns a text on one line, shortened at the end of a word.
pub(super) fn shorten_quote(text: &str, chars_max: usize) -> String {
    let line = one_line(&strip_hidden(text), chars_max);
    let Some(cut) = line.strip_suffix('…').map(|cut| cut.trim_end_matches('…')) else {
        return line;
    };
    if text.trim_end().ends_with('…') && cut.chars().count() < chars_max {
        return line;
    }
    match cut.rfind(' ') {
        // A long word without a space is cut in the middle.
        Some(at) if cut.len() - at < 30 => format!("{}…", cut[..at].trim_end_matches([',', ';', ':', '.', '-'])),
        _ => line,
    }
}

/// Removes invisible characters: control characters, and those that change the direction of the text.
pub(super) fn strip_hidden(text: &str) -> String {
    let is_hidden = |c: char| {
        (c.is_control() && !c.is_whitespace())
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
    };
    text.chars().filter(|c| !is_hidden(*c)).collect()
}

/// Returns the first sentence of a prompt as a title.
pub(super) fn make_title(text: &str) -> String {
    const CHARS_MAX: usize = 90;
    const SHORT_CHARS: usize = 20;
    static END: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[^\d\s][.!?](?:\s|$)|[。！？]").expect("the expression is valid"));
    let mut lines = text.lines().map(str::trim).filter(|line| has_words(line));
    let mut first = lines.next().unwrap_or_default().to_owned();
    // "Implement this plan:" says nothing without the next line, and neither does the first item of a list.
    while first.chars().count() < SHORT_CHARS || first.ends_with(':') {
        let Some(next) = lines.next().filter(|_| first.chars().count() < CHARS_MAX) else {
            break;
        };
        match next.strip_prefix('#').filter(|_| first.ends_with(':')) {
            Some(heading) => first = heading.trim_start_matches(['#', ' ']).to_owned(),
            None => first = format!("{first} {next}"),
        }
    }
    let line = first.trim_start_matches(['#', '>', '-', '*', ' ']);
    let end = END
        .find_iter(line)
        .map(|found| found.end())
        .find(|end| *end >= SHORT_CHARS);
    let first = end.map_or(line, |end| line[..end].trim_end().trim_end_matches(['.', '。']));
    shorten_quote(first, CHARS_MAX)
}

/// Returns `true` if a text begins with something that is pasted, not typed: a tag, a code fence, a shell prompt or a
/// slash command.
pub(super) fn is_pasted(text: &str) -> bool {
    static PASTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:<[A-Za-z][\w-]*[\s/>]|```|[$❯%] |/[\w:-]+(?:\s|$)|[\w.-]+@[\w.-]+:[^\s]*[$#] )")
            .expect("the expression is valid")
    });
    PASTED.is_match(text)
}

fn has_words(line: &str) -> bool {
    line.chars().any(char::is_alphanumeric) && !line.starts_with("```")
}

/// Returns the full text of a prompt, without the context that an editor adds before it.
pub(super) fn prompt_text(summary: &str, text: &str) -> String {
    const REQUEST: &str = "## My request for Codex:";
    // The reader has already extracted commands and the like. Their raw text is only an envelope.
    let whole = match text.starts_with(summary.trim_end_matches('…')) {
        true => text,
        false => summary,
    };
    let request = whole.split_once(REQUEST).map(|(_, request)| request);
    request.unwrap_or(whole).trim().to_owned()
}

/// Returns the first paragraphs of an answer, without Markdown markers at the start of lines.
pub(super) fn answer_start(text: &str, chars_max: usize) -> String {
    let lines = text.lines().map(|line| line.trim().trim_start_matches(['#', '>', ' ']));
    let mut start = String::new();
    let mut in_code = false;
    for line in lines {
        if line.starts_with("```") {
            in_code = !in_code;
            continue;
        }
        // A table is unreadable on one line.
        if in_code || line.starts_with('|') || !line.chars().any(char::is_alphanumeric) {
            continue;
        }
        if !start.is_empty() {
            start.push(' ');
        }
        start += &line.replace("**", "");
        if start.chars().count() > chars_max {
            break;
        }
    }
    shorten_quote(&start, chars_max)
}

/// Returns the question with which an answer ends, if it ends with one.
pub(super) fn final_question(text: &str) -> Option<String> {
    let is_line = |line: &&str| line.chars().any(char::is_alphanumeric);
    let last = text.lines().map(str::trim).rfind(is_line)?;
    let last = last.trim_end_matches(['*', '_', ')', '"', '”', '`']).trim_end();
    if !last.ends_with(['?', '？']) {
        return None;
    }
    let body = last.trim_end_matches(['?', '？']);
    let start = body.rfind(['.', '!', '?', '。', '？', ':']).map_or(0, |at| at + 1);
    let start = last.ceil_char_boundary(start);
    let asked = last[start..].trim().trim_start_matches(['*', '_', '-', ')', ' ']);
    // One or two words after a colon are not a complete question.
    let asked = if asked.split_whitespace().count() < 3 {
        last
    } else {
        asked
    };
    Some(shorten_quote(asked, 200))
}

/// Numbers the masked secrets of a day in order of appearance, so that equal secrets can be recognized without their
/// fingerprints.
pub(super) fn number_secrets(mut day: DayReport) -> DayReport {
    let mut numbering = Numbering::default();
    let mut number = |text: &mut String| {
        if let std::borrow::Cow::Owned(numbered) = numbering.renumber_str(text) {
            *text = numbered;
        }
    };
    let mut statement = |statement: &mut Statement| {
        for word in &mut statement.words {
            let (SentencePart::Say(text) | SentencePart::Code(text) | SentencePart::Quote(text)) = word;
            number(text);
        }
    };
    day.summary.iter_mut().for_each(&mut statement);
    for project in &mut day.projects {
        for work in &mut project.works {
            statement(&mut work.title);
            let lists = [
                &mut work.asked,
                &mut work.done,
                &mut work.came,
                &mut work.open,
                &mut work.decided,
            ];
            lists.into_iter().flatten().for_each(&mut statement);
        }
        project
            .folded
            .iter_mut()
            .for_each(|folded| statement(&mut folded.statement));
    }
    let whole = &mut day.whole;
    let lists = [&mut whole.corrected, &mut whole.repeated, &mut whole.worked];
    lists.into_iter().flatten().for_each(&mut statement);
    let lines = day.excerpts.iter_mut().flat_map(|excerpt| &mut excerpt.lines);
    lines.for_each(|line| number(&mut line.text));
    day
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_sentence_that_contains_words() {
        assert_eq!(
            make_title("fix the login of the app. Then deploy."),
            "fix the login of the app"
        );
        assert_eq!(
            make_title("Yes to all. We also need Cura."),
            "Yes to all. We also need Cura"
        );
        assert_eq!(
            make_title("```\nstack\n```\nwhy does this crash?"),
            "stack why does this crash?"
        );
        assert_eq!(make_title("# Plan\n\nmore"), "Plan more");
        assert_eq!(
            make_title("Implement this plan:\n\n# Plan: repair the login\n\nmore"),
            "Plan: repair the login"
        );
        assert_eq!(
            make_title("1. lint\n2. tests\n3. ship it"),
            "1. lint 2. tests 3. ship it"
        );
        assert_eq!(
            make_title("e.g. this one is long enough. And more"),
            "e.g. this one is long enough"
        );
        assert_eq!(make_title(""), "");
    }

    #[test]
    fn pasted_text_is_distinguished_from_typed_text() {
        for pasted in [
            "<bash-input>ls</bash-input>",
            "$ cargo test",
            "```\nstack",
            "/review 12",
            "ada@box:~/app$ make",
        ] {
            assert!(is_pasted(pasted), "{pasted}");
        }
        for typed in [
            "fix the login",
            "a < b is wrong",
            "<3 this, but",
            "/ is missing",
            "$5 are too much",
            "# Plan",
        ] {
            assert!(!is_pasted(typed), "{typed}");
        }
    }

    #[test]
    fn a_question_at_the_end_is_found() {
        let check = |text| final_question(text);
        assert_eq!(
            check("Done. Shall I push the branch?").as_deref(),
            Some("Shall I push the branch?")
        );
        assert_eq!(
            check("**Do you want that too?**").as_deref(),
            Some("Do you want that too?")
        );
        assert_eq!(check("Is it? Yes."), None);
        assert_eq!(check("要继续吗？").as_deref(), Some("要继续吗？"));
        assert_eq!(check("好。是？要继续吗？").as_deref(), Some("好。是？要继续吗？"));
        assert_eq!(check("??"), None);
    }

    #[test]
    fn quotations_are_cut_between_words_and_lose_hidden_characters() {
        assert_eq!(shorten_quote("one two three", 9), "one two…");
        assert_eq!(shorten_quote("a\u{202e}b\u{1b}[31m\tc", 99), "ab[31m c");
        assert_eq!(shorten_quote("short", 99), "short");
    }

    proptest::proptest! {
        #[test]
        fn every_quotation_keeps_its_length_limit(text in "(?s).{0,300}|[?？!。.:\\s`*#>|…a]{0,60}", most in 1_usize..80) {
            for short in [shorten_quote(&text, most), answer_start(&text, most)] {
                proptest::prop_assert!(short.chars().count() <= most + 1, "{}", short);
                let is_hidden = short.contains(['\n', '\u{1b}', '\u{202e}']);
                proptest::prop_assert!(!is_hidden);
            }
            proptest::prop_assert!(make_title(&text).chars().count() <= 91);
            proptest::prop_assert!(final_question(&text).is_none_or(|asked| asked.chars().count() <= 201));
            _ = prompt_text("", &text);
        }
    }
}
