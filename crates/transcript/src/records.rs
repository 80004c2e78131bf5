//! Finds the JSON objects on one line: one, two without a line break between them, half of one before a whole one, or
//! one with an invalid byte. Whole objects are passed on; the rest is reported.

use serde_json::value::RawValue;

use crate::repair::repair;

/// Maximum number of attempts to find a record after a torn one, because each attempt may scan the rest of the line.
const TRIES_MAX: usize = 32;

/// What could not be parsed of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BrokenLine {
    pub(crate) reason: String,
    /// True if some of the line was read.
    pub(crate) mended: bool,
}

/// Removes what editors, crashes and other systems leave around a line.
pub(crate) fn trim(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let start = bytes.iter().position(|byte| !is_junk(*byte)).unwrap_or(bytes.len());
    let end = bytes
        .iter()
        .rposition(|byte| !is_junk(*byte))
        .map_or(start, |at| at + 1);
    &bytes[start..end]
}

/// Passes every whole object of a trimmed line to `take`, which must parse it before it acts on it. `openings` are
/// the prefixes of a record: after a torn record, only such a prefix is accepted.
pub(crate) fn each_object(
    bytes: &[u8],
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Option<BrokenLine> {
    let mut at = 0;
    let mut passed_any = false;
    while let Some(start) = bytes[at..].iter().position(|byte| !is_junk(*byte)) {
        at += start;
        let rest = &bytes[at..];
        if rest[0] != b'{' {
            return Some(salvage(
                rest,
                "expected a JSON object".to_owned(),
                passed_any,
                openings,
                take,
            ));
        }
        // Nearly every line is one record, which is parsed once. Only a failure is examined further.
        let Err(error) = take(rest) else { return None };
        let mut objects = serde_json::Deserializer::from_slice(rest).into_iter::<&RawValue>();
        match objects.next() {
            Some(Ok(object)) if take(object.get().as_bytes()).is_ok() => passed_any = true,
            Some(Ok(_)) => return Some(salvage(rest, error.to_string(), passed_any, openings, take)),
            Some(Err(error)) => return Some(salvage(rest, error.to_string(), passed_any, openings, take)),
            None => return None,
        }
        at += objects.byte_offset();
    }
    None
}

/// Reads what can be read of a line that is broken at its start.
fn salvage(
    rest: &[u8],
    reason: String,
    passed_any: bool,
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> BrokenLine {
    if let Some(mended) = repair(rest)
        && pass_all(&mended, take)
    {
        let reason = format!("mended: {reason}");
        return BrokenLine { reason, mended: true };
    }
    if pass_after_tear(rest, openings, take) {
        let reason = format!("torn record skipped: {reason}");
        return BrokenLine { reason, mended: true };
    }
    BrokenLine {
        reason,
        mended: passed_any,
    }
}

/// Passes on all objects of a repaired line, or none of them.
fn pass_all(bytes: &[u8], take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>) -> bool {
    let objects = serde_json::Deserializer::from_slice(bytes).into_iter::<&RawValue>();
    let Ok(objects) = objects.collect::<Result<Vec<_>, _>>() else {
        return false;
    };
    objects.iter().all(|object| take(object.get().as_bytes()).is_ok())
}

/// Finds the record after a torn one: a crash can leave the start of a record in front of a whole one on the same
/// line.
fn pass_after_tear(
    bytes: &[u8],
    openings: &[&str],
    take: &mut dyn FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> bool {
    let starts = memchr::memchr_iter(b'{', bytes).filter(|at| *at > 0);
    let candidates = starts.filter(|at| {
        openings
            .iter()
            .any(|opening| bytes[*at..].starts_with(opening.as_bytes()))
    });
    candidates.take(TRIES_MAX).any(|at| take(&bytes[at..]).is_ok())
}

fn is_junk(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &[u8]) -> (Vec<String>, Option<BrokenLine>) {
        let mut passed_any = Vec::new();
        let broken = each_object(trim(line), &["{\"n\":"], &mut |bytes| {
            let value: serde_json::Value = serde_json::from_slice(bytes)?;
            passed_any.push(value.to_string());
            Ok(())
        });
        (passed_any, broken)
    }

    #[test]
    fn whole_and_adjacent_objects_are_all_passed_on() {
        assert_eq!(
            check(b"\xef\xbb\xbf{\"n\":1}\0\0"),
            (vec!["{\"n\":1}".to_owned()], None)
        );
        let (passed_any, broken) = check(b"{\"n\":1}{\"n\":2} {\"n\":3}");
        assert_eq!((passed_any.len(), broken), (3, None));
    }

    #[test]
    fn a_whole_object_after_a_torn_one_is_passed_on_and_the_fault_is_reported() {
        let (passed_any, broken) = check(b"{\"n\":{\"a\":\"{\"n\":2}");
        assert_eq!(passed_any, ["{\"n\":2}"]);
        assert!(broken.is_some_and(|broken| broken.mended && broken.reason.starts_with("torn record skipped")));
    }

    #[test]
    fn an_invalid_byte_is_repaired_and_nonsense_is_reported() {
        let (passed_any, broken) = check(b"{\"n\":\"\xff\"}");
        assert_eq!(passed_any.len(), 1);
        assert!(broken.is_some_and(|broken| broken.mended));
        let (passed_any, broken) = check(b"[1,2]");
        assert_eq!(
            (passed_any.len(), broken.is_some_and(|broken| !broken.mended)),
            (0, true)
        );
        let (passed_any, broken) = check(b"{\"n\":1} tail");
        assert_eq!(
            (passed_any.len(), broken.is_some_and(|broken| broken.mended)),
            (1, true)
        );
    }
}
