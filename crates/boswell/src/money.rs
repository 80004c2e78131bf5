//! The cost of API calls as text.

use memory::usage::UsageSum;
use render::dollars;

/// Formats a cost. Calls without a price are named, and never shown as zero.
pub(crate) fn cost(sum: &UsageSum) -> String {
    let Some(micros) = sum.micros() else {
        return "unpriced".to_owned();
    };
    let is_reported = sum.reported.micros() > 0;
    let mut told = dollars(micros);
    if is_reported {
        told.push('*');
    }
    if sum.unpriced_calls > 0 {
        told += " + unpriced";
    }
    told
}
