//! Embeds untrusted text in our Markdown so that it cannot change the document around it.

/// Returns the text as a fenced block whose fence is longer than any run of backticks inside.
pub(super) fn fence(language: &str, text: &str) -> String {
    let marks = "`".repeat(longest_run(text).max(2) + 1);
    let end = if text.ends_with('\n') || text.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{marks}{language}\n{text}{end}{marks}")
}

/// Returns the text as an inline code span.
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

/// Returns untrusted Markdown that can stay Markdown: headings are moved below ours, HTML tags are escaped, and an open fence is closed.
pub(super) fn contained(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        match (fence_mark(line), open) {
            (Some((mark, length)), None) => open = Some((mark, length)),
            (Some((mark, length)), Some((opened, least)))
                if mark == opened && length >= least && is_fence_only(line) =>
            {
                open = None;
            }
            _ => {}
        }
        match open {
            None if fence_mark(line).is_none() => {
                if line.starts_with('#') {
                    out.push_str("##");
                }
                push_escaped(&mut out, line);
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

/// Closes the fence that is left open if our own Markdown was truncated.
pub(super) fn close_fence(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        match (fence_mark(line), open) {
            (Some(mark), None) => open = Some(mark),
            (Some((mark, length)), Some((opened, least)))
                if mark == opened && length >= least && is_fence_only(line) =>
            {
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

/// Returns the fence character and its length if the line opens or closes a fence.
fn fence_mark(line: &str) -> Option<(char, usize)> {
    let line = line.trim_start_matches([' ', '>']);
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    (length >= 3 && !(mark == '`' && line[length..].contains('`'))).then_some((mark, length))
}

fn is_fence_only(line: &str) -> bool {
    line.trim().trim_matches(['`', '~', '>', ' ']).is_empty()
}

/// Appends a line with HTML tags escaped and the colon of script URLs separated, so that a viewer neither renders nor follows them.
fn push_escaped(out: &mut String, line: &str) {
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
            if rest.starts_with(':') && ends_in_script_scheme(out) {
                out.push('\u{200b}');
            }
        }
        out.push_str(&rest[..1]);
        rest = &rest[1..];
    }
    out.push_str(rest);
}

/// Whether the text ends with the name of a URL scheme that can run code.
fn ends_in_script_scheme(text: &str) -> bool {
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

/// Returns the text as a block quote. Every line is prefixed, so that no line can end the quote.
pub(super) fn quote(text: &str) -> String {
    let contained = contained(text);
    let mut out = String::with_capacity(contained.len() + 16);
    for line in contained.lines() {
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
    fn untrusted_markdown_cannot_change_the_document() {
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
            assert_eq!(contained(text), expected);
        }
        assert_eq!(quote("a\n\n```\nb"), "> a\n>\n> ```\n> b\n> ```\n");
        assert_eq!(close_fence("x\n```sh\nls"), "x\n```sh\nls\n```");
    }
}
