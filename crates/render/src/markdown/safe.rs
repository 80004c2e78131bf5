//! Strangers' text inside our Markdown: it keeps its form and cannot leave its place.

/// A text in a fence that no line of it can close.
pub(super) fn fence(language: &str, text: &str) -> String {
    let marks = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{marks}{language}\n{text}{end}{marks}")
}

/// A text as code inside a line.
pub(super) fn code_span(text: &str) -> String {
    if text.is_empty() {
        return String::new();
    }
    let marks = "`".repeat(longest_run(text) + 1);
    let space = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{marks}{space}{text}{space}{marks}")
}

fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`').map(str::len);
    runs.max().unwrap_or_default()
}

/// Markdown of somebody else: headings stand below ours, tags stay text, and what is opened is closed.
pub(super) fn settled(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        match (fence_mark(line), open) {
            (Some((mark, length)), None) => open = Some((mark, length)),
            (Some((mark, length)), Some((opened, least))) if mark == opened && length >= least && is_bare(line) => {
                open = None;
            }
            _ => {}
        }
        match open {
            None if fence_mark(line).is_none() => {
                if line.starts_with('#') {
                    out.push_str("##");
                }
                push_tamed(&mut out, line);
            }
            _ => out.push_str(line),
        }
        out.push('\n');
    }
    if let Some((mark, length)) = open {
        out.extend(std::iter::repeat_n(mark, length));
        out.push('\n');
    }
    out.trim_end_matches('\n').to_owned()
}

/// The same, of our own text that was cut.
pub(super) fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        match (fence_mark(line), open) {
            (Some(mark), None) => open = Some(mark),
            (Some((mark, length)), Some((opened, least))) if mark == opened && length >= least && is_bare(line) => {
                open = None;
            }
            _ => {}
        }
    }
    let close: String = open
        .map(|(mark, length)| std::iter::repeat_n(mark, length).collect())
        .unwrap_or_default();
    format!("{}\n{close}", text.trim_end_matches('`'))
}

/// The mark of a fence and its length, where a line is one.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start_matches([' ', '>']);
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && !(mark == '`' && line[length..].contains('`'))).then_some((mark, length))
}

fn is_bare(line: &str) -> bool {
    line.trim().trim_matches(['`', '~', '>', ' ']).is_empty()
}

/// A line in which no tag is one, and no link leads where a page could be made to do something.
fn push_tamed(out: &mut String, line: &str) {
    let mut in_code = 0;
    let mut rest = line;
    while let Some(at) = rest.find(['<', '`', ':']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with('`') {
            let run = rest.len() - rest.trim_start_matches('`').len();
            in_code = match in_code {
                0 if rest[run..].contains(&rest[..run]) => run,
                open if open == run => 0,
                open => open,
            };
            out.push_str(&rest[..run]);
            rest = &rest[run..];
            continue;
        }
        if in_code == 0 {
            let next = rest[1..].chars().next();
            let is_tag = rest.starts_with('<') && next.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c));
            let is_address = rest.starts_with("<http://") || rest.starts_with("<https://");
            if is_tag && !is_address {
                out.push('\\');
            }
            if rest.starts_with(':') && ends_in_power(out) {
                out.push('\u{200b}');
            }
        }
        out.push_str(&rest[..1]);
        rest = &rest[1..];
    }
    out.push_str(rest);
}

/// Whether a text ends in the name of a scheme that runs something.
fn ends_in_power(text: &str) -> bool {
    ["javascript", "vbscript", "data"].into_iter().any(|word| {
        let at = text.len().checked_sub(word.len());
        let found = at
            .and_then(|at| text.get(at..))
            .is_some_and(|end| end.eq_ignore_ascii_case(word));
        let before = at
            .and_then(|at| text.get(..at))
            .and_then(|before| before.chars().next_back());
        found && before.is_some_and(|c| "(<[\"".contains(c))
    })
}

/// A text as a quotation: every line of it, so that nothing ends it early.
pub(super) fn quoted(text: &str) -> String {
    let settled = settled(text);
    let mut out = String::with_capacity(settled.len() + 16);
    for line in settled.lines() {
        out.push_str(if line.is_empty() { ">" } else { "> " });
        out.push_str(line);
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_survives_fences_inside_it() {
        assert_eq!(fence("", "a"), "```\na\n```");
        assert_eq!(fence("md", "```\na\n```\n"), "````md\n```\na\n```\n````");
        assert_eq!(code_span("a`b"), "``a`b``");
        assert_eq!(code_span("`"), "`` ` ``");
    }

    #[test]
    fn somebody_elses_markdown_stays_in_its_place() {
        let cases = [
            ("# Big\ntext", "### Big\ntext"),
            ("```sh\n# no heading\n<b>", "```sh\n# no heading\n<b>\n```"),
            ("~~~\n```\n", "~~~\n```\n~~~"),
            (
                "a <script>x</script> `<b>` 1 < 2",
                "a \\<script>x\\</script> `<b>` 1 < 2",
            ),
            ("[x](javascript:a())", "[x](javascript\u{200b}:a())"),
            ("see <https://x.test>", "see <https://x.test>"),
        ];
        for (text, expected) in cases {
            assert_eq!(settled(text), expected);
        }
        assert_eq!(quoted("a\n\n```\nb"), "> a\n>\n> ```\n> b\n> ```\n");
        assert_eq!(closed("x\n```sh\nls"), "x\n```sh\nls\n```");
    }
}
