//! Passwords in command lines and in the files that commands read: `curl -u`, `mysql -p`, `.netrc`, `.pgpass`.
//!
//! As in `places.rs`, the place is the evidence; only ports, file names and placeholders are excluded.

use super::Tier;
use super::judge;
use super::named::Named;
use super::places::is_real_password;
use super::text::{is_word, skip};
use std::ops::Range;

/// Maximum number of bytes after the name of a command in which its flags are searched.
pub(super) const BYTES_MAX: usize = 1024;
/// Maximum number of bytes before `password` in which `machine` or `login` is searched.
const NETRC_BYTES_MAX: usize = 256;

/// Finds the password in `curl … -u user:password`; `end` is where `curl` ends.
pub(super) fn curl(text: &[u8], end: usize) -> Option<Named> {
    let command = command_at(text, end);
    let flags: [&[u8]; 3] = [b" -u", b" --user ", b" --user="];
    let (flag, at) = flags
        .iter()
        .find_map(|flag| Some((flag.len(), memchr::memmem::find(command, flag)?)))?;
    let pair = argument(command, at + flag);
    let colon = pair.start + memchr::memchr(b':', &command[pair.clone()])?;
    let range = colon + 1..pair.end;
    is_real_password(&command[pair.start..colon], &command[range.clone()]).then_some(Named {
        rule: "curl-password",
        tier: Tier::B,
        range: end + range.start..end + range.end,
    })
}

/// Finds the password among the flags of the command whose name is `start..end`.
pub(super) fn password_flag(text: &[u8], start: usize, end: usize) -> Option<Named> {
    // `mysql` parses the next word as the database, so its password must follow the flag directly.
    let (flag, may_be_apart) = match &text[start..end] {
        b"sshpass" | b"mongo" => (b" -p", true),
        b"redis-cli" => (b" -a", true),
        _ => (b" -p", false),
    };
    let command = command_at(text, end);
    let at = memchr::memmem::find_iter(command, flag).find_map(|at| {
        let from = at + flag.len();
        let is_apart = command.get(from).is_some_and(u8::is_ascii_whitespace);
        (may_be_apart || !is_apart).then_some(from)
    })?;
    let range = argument(command, at);
    let value = &command[range.clone()];
    let is_port = value
        .iter()
        .all(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b'/'));
    let is_flag = value.first() == Some(&b'-');
    (!is_port && !is_flag && is_real_password(b"", value)).then_some(Named {
        rule: "command-password",
        tier: Tier::B,
        range: end + range.start..end + range.end,
    })
}

/// Returns the rest of a command: up to the end of its line, or to the next command on it.
fn command_at(text: &[u8], from: usize) -> &[u8] {
    let rest = &text[from..text.len().min(from + BYTES_MAX)];
    let mut quote = None;
    let mut backslashes = 0;
    for (at, byte) in rest.iter().enumerate() {
        let is_escaped_break = matches!(byte, b'n' | b'r') && backslashes % 2 == 1;
        match byte {
            b'\n' if backslashes % 2 == 0 => return &rest[..at],
            // With two more backslashes it is a shell line continuation, so the command goes on after the line break.
            _ if is_escaped_break && backslashes < 3 => return &rest[..at - 1],
            b'|' | b';' if quote.is_none() => return &rest[..at],
            b'"' | b'\'' if quote == Some(*byte) => quote = None,
            b'"' | b'\'' if quote.is_none() => quote = Some(*byte),
            _ => {}
        }
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
    }
    rest
}

/// Returns the shell word at or after `at`, without its quotes.
fn argument(command: &[u8], at: usize) -> Range<usize> {
    let start = skip(command, at, 8, |byte| {
        matches!(byte, b' ' | b'"' | b'\'' | b'\\' | b'=')
    });
    let end = skip(command, start, 256, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'<')
    });
    start..end
}

/// Returns `true` if the `password` at `start` may belong to a `.netrc`. The text may be raw.
pub(super) fn is_netrc(text: &[u8], start: usize) -> bool {
    let Some(rest) = text[start..].strip_prefix(b"password") else {
        return false;
    };
    let before = &text[start.saturating_sub(NETRC_BYTES_MAX)..start];
    matches!(rest.first(), Some(b' ' | b'\t' | b'\n' | b'\r' | b'\\'))
        && (memchr::memmem::find(before, b"machine").is_some() || memchr::memmem::find(before, b"default").is_some())
}

/// Finds the password after the word `password` at `start`, in `machine h login u password p`.
pub(super) fn netrc(text: &[u8], start: usize) -> Option<Named> {
    if !is_netrc(text, start) {
        return None;
    }
    let before = &text[start.saturating_sub(NETRC_BYTES_MAX)..start];
    let mut words = before
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .rev();
    // `login` and `machine` also occur in prose: only this order indicates a `.netrc`.
    let user = words.next()?;
    // A quote or an escaped line break may precede the word.
    let word = words.next()?;
    let is_netrc = word.ends_with(b"machine")
        || word.ends_with(b"login")
            && words
                .take(2)
                .any(|word| word.ends_with(b"machine") || word.ends_with(b"default"));
    is_netrc.then(|| netrc_value(text, start, user))?
}

/// Finds the password in a line of a `.netrc` that has its `machine` on an earlier line.
pub(super) fn netrc_line(line: &[u8]) -> Option<Named> {
    let start = skip(line, 0, line.len(), |byte| byte.is_ascii_whitespace());
    line[start..]
        .starts_with(b"password ")
        .then(|| netrc_value(line, start, b""))?
}

/// Returns `true` if the line belongs to a `.netrc` and the next line may hold its password.
pub(super) fn begins_netrc(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    line.starts_with(b"machine ") || line.starts_with(b"login ")
}

fn netrc_value(text: &[u8], start: usize, user: &[u8]) -> Option<Named> {
    let is_gap = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let value = skip(text, start + b"password".len(), 16, is_gap);
    let end = skip(text, value, 256, |byte| {
        byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'<')
    });
    let range = value..end;
    let password = &text[range.clone()];
    let is_word = password.iter().all(u8::is_ascii_lowercase);
    (!is_word && is_real_password(user, password)).then_some(Named {
        rule: "netrc-password",
        tier: Tier::A,
        range,
    })
}

/// Finds the password in a line of `.pgpass`, `host:port:database:user:password`; `at..end` is the port.
pub(super) fn password_file(text: &[u8], at: usize, end: usize) -> Option<Named> {
    let is_field = |byte: u8| is_word(byte) || matches!(byte, b'.' | b'-' | b'*');
    let host = text[..at]
        .iter()
        .rev()
        .take(128)
        .take_while(|byte| is_field(**byte))
        .count();
    let before = text[..at - host].last();
    if host == 0 || matches!(before, Some(b'/' | b':' | b'@')) {
        return None;
    }
    let database = skip(text, end, 63, is_field);
    let user = skip(text, database + 1, 63, is_field);
    let is_line = database > end && user > database + 1 && text.get(database) == Some(&b':');
    if !is_line || text.get(user) != Some(&b':') {
        return None;
    }
    let value = user + 1;
    let mut until = value;
    loop {
        until = skip(text, until, 256, |byte| {
            byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b'`' | b'<')
        });
        // A colon in the password is escaped with a backslash.
        if !text[until..].starts_with(b"\\:") {
            break;
        }
        until += 2;
    }
    let password = &text[value..until];
    let has_letter = judge::Classes::of(password).letter();
    (has_letter && is_real_password(&text[database + 1..user], password)).then_some(Named {
        rule: "pgpass-password",
        tier: Tier::A,
        range: value..until,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(text: &str, named: Option<Named>) -> Option<&str> {
        named.map(|named| &text[named.range])
    }

    #[test]
    fn the_password_of_curl_is_found() {
        for (text, expected) in [
            ("curl -s -u bob:k3Jf9x https://h", Some("k3Jf9x")),
            ("curl --user 'bob:k3Jf9x' h", Some("k3Jf9x")),
            ("curl -s \\\n  -H 'a|b' \\\n  -u bob:k3Jf9x h", Some("k3Jf9x")),
            ("curl -u \"$USER:$PASS\" h", None),
            ("curl h | sort -u a:bcdef", None),
            ("curl h\nsort -u a:bcdef", None),
        ] {
            assert_eq!(text_of(text, curl(text.as_bytes(), 4)), expected, "{text}");
        }
    }

    #[test]
    fn passwords_in_flags_of_one_letter_are_found_and_ports_are_not() {
        for (text, expected) in [
            ("sshpass -p k3Jf9x ssh ada@h", Some("k3Jf9x")),
            ("sshpass -p'k3Jf9x' ssh ada@h", Some("k3Jf9x")),
            ("mysql -u root -pk3Jf9x app", Some("k3Jf9x")),
            ("mysqldump -uroot -p\"k3Jf9x\" app", Some("k3Jf9x")),
            ("mongosh -u ada -p k3Jf9x", Some("k3Jf9x")),
            ("redis-cli -h h -a k3Jf9x ping", Some("k3Jf9x")),
            ("mysql -u root -p app", None),
            ("mysql -u root -p\"$PASS\" app", None),
            ("mysql -p3306:3306", None),
            ("mysql: none | docker run -pk3Jf9x", None),
            ("sshpass -p -e", None),
        ] {
            let end = text.find(|c: char| !c.is_ascii_lowercase() && c != '-').unwrap();
            let end = ["mysql", "mongo"]
                .iter()
                .find(|name| text.starts_with(*name))
                .map_or(end, |name| name.len());
            assert_eq!(
                text_of(text, password_flag(text.as_bytes(), 0, end)),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn passwords_of_netrc_and_pgpass_are_found() {
        for (text, expected) in [
            ("machine h login ada password k3Jf9x", Some("k3Jf9x")),
            ("machine h\n  login ada\n  password k3Jf9x\n", Some("k3Jf9x")),
            ("machine h login ada password password", None),
            ("the machine: its login and password fields", None),
            ("the login needs a password k3Jf9x", None),
            ("the login machine takes your password again", None),
        ] {
            let at = text.find("password").unwrap();
            assert_eq!(text_of(text, netrc(text.as_bytes(), at)), expected, "{text}");
        }
        for (text, expected) in [
            ("db.host:5432:app:ada:k3Jf9x", Some("k3Jf9x")),
            ("*:5432:*:ada:k3\\:Jf9x\nb", Some("k3\\:Jf9x")),
            ("localhost:5432:5432:a", None),
            ("src/a.rs:5432:a:b:cdef1", None),
            ("h:5432:app:ada:password", None),
            ("line:5432: error: x:abcd", None),
        ] {
            let at = text.find(":5432:").unwrap();
            assert_eq!(
                text_of(text, password_file(text.as_bytes(), at, at + 6)),
                expected,
                "{text}"
            );
        }
    }
}
