//! Keeps a digest small: cuts its lists until it fits, and counts the entries that were cut.

use super::BYTES_MAX;
use crate::digest_fields::Digest;

/// Maximum number of entries of each list.
const ENTRIES_MAX: usize = 16;
/// The list of hours has its own limit, because a session can last for weeks.
const HOURS_MAX: usize = 48;

/// Cuts a digest until its JSON is at most [`BYTES_MAX`] long.
pub(super) fn cut_to_limit(mut digest: Digest) -> Digest {
    // All commits are kept, so their size does not count.
    let commits = std::mem::take(&mut digest.commits);
    let mut share = 8;
    loop {
        cut_lists(&mut digest, share);
        let bytes = serde_json::to_string(&digest).map_or(0, |text| text.len());
        if bytes <= BYTES_MAX || share == 0 {
            return Digest { commits, ..digest };
        }
        share -= 1;
    }
}

/// Cuts each list to `share` eighths of its maximum.
fn cut_lists(digest: &mut Digest, share: usize) {
    let entries = ENTRIES_MAX * share / 8;
    let mut left_out = 0;
    left_out += cut_list(&mut digest.tools, entries);
    left_out += cut_list(&mut digest.files, entries);
    left_out += cut_list(&mut digest.commands, entries);
    left_out += cut_list(&mut digest.errors.kinds, entries.div_ceil(3));
    left_out += cut_list(&mut digest.tokens.by_model, entries.div_ceil(2));
    // Recent hours matter more than old ones.
    let hours = HOURS_MAX * share / 8;
    let surplus = digest.tokens.by_hour.len().saturating_sub(hours);
    digest.tokens.by_hour.drain(..surplus);
    left_out += surplus as u64;
    let evidence = share.div_ceil(3);
    for signal in &mut digest.signals {
        signal.evidence.truncate(evidence);
    }
    digest.left_out += left_out;
}

fn cut_list<T>(list: &mut Vec<T>, entries: usize) -> u64 {
    let surplus = list.len().saturating_sub(entries);
    list.truncate(entries);
    surplus as u64
}
