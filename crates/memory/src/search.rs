//! Search.
pub mod filter;
pub mod fold;
pub mod words;
