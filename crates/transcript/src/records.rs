//! The JSON objects that stand on one line, however they got there: one, two glued together, half of one
//! before a whole one, or one with a wrong byte in it. What is whole is given out; the rest is told.

use serde_json::value::RawValue;

use crate::repair::repair;

/// How many likely beginnings of a record are tried behind a tear. Each try may run over the rest of the line.
const TRIES_MAX: usize = 32;

/// What could not be read of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Broken {
    pub(crate) reason: String,
    /// Something was read of the line all the same.
    pub(crate) mended: bool,
}

/// Takes off what editors, crashes and other systems leave around a line.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.iter().position(|byte| !is_junk(*byte)).unwrap_or(bytes.len());
    let end = bytes
        .iter()
        .rposition(|byte| !is_junk(*byte))
        .map_or(start, |at| at + 1);
    &bytes[start..end]
}

/// Gives every whole object of a trimmed line to `take`, which parses it before it acts on it. `openings`
/// are the ways a record begins: behind a tear only such a beginning is believed.
pub(crate) fn each(
    bytes: &[u8],
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Option<Broken> {
    let mut at = 0;
    let mut given = false;
    while let Some(start) = bytes[at..].iter().position(|byte| !is_junk(*byte)) {
        at += start;
        let rest = &bytes[at..];
        if rest[0] != b'{' {
            return Some(salvage(
                rest,
                "expected a JSON object".to_owned(),
                given,
                openings,
                take,
            ));
        }
        // Nearly every line is one record: it is parsed once. Only what fails is looked at more closely.
        let Err(error) = take(rest) else { return None };
        let mut objects = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        match objects.next() {
            Some(Ok(object)) if take(object.get().as_bytes()).is_ok() => given = true,
            Some(Ok(_)) => return Some(salvage(rest, error.to_string(), given, openings, take)),
            Some(Err(error)) => return Some(salvage(rest, error.to_string(), given, openings, take)),
            None => return None,
        }
        at += objects.byte_offset();
    }
    None
}

/// Reads what can be read of a line that is broken at its beginning.
fn salvage(
    rest: &[u8],
    reason: String,
    given: bool,
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Broken {
    if let Some(mended) = repair(rest)
        && take_all(&mended, take)
    {
        let reason = format!("mended: {reason}");
        return Broken { reason, mended: true };
    }
    if take_behind_a_tear(rest, openings, take) {
        let reason = format!("torn record skipped: {reason}");
        return Broken { reason, mended: true };
    }
    Broken { reason, mended: given }
}

/// Takes all objects of a mended line, or none of them.
fn take_all(bytes: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>) -> bool {
    let objects = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let Ok(objects) = objects.collect::<Result<Vec<_>, _>>() else {
        return false;
    };
    objects.iter().all(|object| take(object.get().as_bytes()).is_ok())
}

/// A crash can leave the beginning of a record before a whole one on the same line.
fn take_behind_a_tear(
    bytes: &[u8],
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> bool {
    let starts = memchr::memchr_iter(b'{', bytes).filter(|at| *at > 0);
    let likely = starts.filter(|at| {
        openings
            .iter()
            .any(|opening| bytes[*at..].starts_with(opening.as_bytes()))
    });
    likely.take(TRIES_MAX).any(|at| take(&bytes[at..]).is_ok())
}

fn is_junk(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8]) -> (Vec<String>, Option<Broken>) {
        let mut given = Vec::new();
        let broken = each(trim(line), &["{\"n\":"], &mut |bytes| {
            let value: serde_json::Value = serde_json::from_slice(bytes)?;
            given.push(value.to_string());
            Ok(())
        });
        (given, broken)
    }

    #[test]
    fn whole_and_glued_objects_are_all_given() {
        assert_eq!(
            check(b"\xef\xbb\xbf{\"n\":1}\0\0"),
            (vec!["{\"n\":1}".to_owned()], None)
        );
        let (given, broken) = check(b"{\"n\":1}{\"n\":2} {\"n\":3}");
        assert_eq!((given.len(), broken), (3, None));
    }

    #[test]
    fn a_whole_object_behind_a_torn_one_is_given_and_the_tear_is_told() {
        let (given, broken) = check(b"{\"n\":{\"a\":\"{\"n\":2}");
        assert_eq!(given, ["{\"n\":2}"]);
        assert!(broken.is_some_and(|broken| broken.mended && broken.reason.starts_with("torn record skipped")));
    }

    #[test]
    fn a_wrong_byte_is_mended_and_nonsense_is_told() {
        let (given, broken) = check(b"{\"n\":\"\xff\"}");
        assert_eq!(given.len(), 1);
        assert!(broken.is_some_and(|broken| broken.mended));
        let (given, broken) = check(b"[1,2]");
        assert_eq!((given.len(), broken.is_some_and(|broken| !broken.mended)), (0, true));
        let (given, broken) = check(b"{\"n\":1} tail");
        assert_eq!((given.len(), broken.is_some_and(|broken| broken.mended)), (1, true));
    }
}
