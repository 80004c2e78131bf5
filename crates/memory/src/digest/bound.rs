//! Keeps a digest small: lists are cut to their most telling entries until it fits, and what was left out is counted.

use super::BYTES_MAX;
use super::fields::Digest;

/// How many entries each list has at first.
const ENTRIES: usize = 16;
/// Hours are the longest list of all; a session may go on for weeks.
const HOURS: usize = 48;

/// Cuts a digest until it is no larger than it may be.
pub(super) fn fit(mut digest: Digest) -> Digest {
    // All commits stay, so their size does not count.
    let commits = std::mem::take(&mut digest.commits);
    let mut share = 8;
    loop {
        cut(&mut digest, share);
        let bytes = serde_json::to_string(&digest).map_or(0, |text| text.len());
        if bytes <= BYTES_MAX || share == 0 {
            return Digest { commits, ..digest };
        }
        share -= 1;
    }
}

/// Leaves `share` eighths of each list.
fn cut(digest: &mut Digest, share: usize) {
    let entries = ENTRIES * share / 8;
    let mut left_out = 0;
    left_out += cut_list(&mut digest.tools, entries);
    left_out += cut_list(&mut digest.files, entries);
    left_out += cut_list(&mut digest.commands, entries);
    left_out += cut_list(&mut digest.errors.kinds, entries.div_ceil(3));
    left_out += cut_list(&mut digest.tokens.by_model, entries.div_ceil(2));
    // The newest hours tell more than the oldest.
    let hours = HOURS * share / 8;
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
