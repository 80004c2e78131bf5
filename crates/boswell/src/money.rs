//! What API calls cost, as text.

use memory::usage::UsageSum;
use render::dollars;

/// Money for people. What has no price is said, and never shown as nothing.
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
