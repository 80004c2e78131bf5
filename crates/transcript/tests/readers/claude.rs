//! Fixtures of ours, shaped like real logs.
