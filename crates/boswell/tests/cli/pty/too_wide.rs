//! Invocations over synthetic logs whose text is wider than the terminal: the width of the widest line at 60, 80 and
//! 200 columns, or 0 if it fits. Remove an invocation once its text fits, and never raise a width.

/// Invocations and the widths of their widest lines.
pub const TOO_WIDE: &[(&str, [usize; 3])] = &[];
