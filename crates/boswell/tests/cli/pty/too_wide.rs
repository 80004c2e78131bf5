//! Text that is wider than its terminal: the widest line on terminals of 60, 80 and 200 columns, over made-up logs; 0 if it fits. An invocation
//! whose text fits must leave the list, and its figures may only become smaller.

/// Invocations and how wide their widest lines are.
pub const TOO_WIDE: &[(&str, [usize; 3])] = &[];
