//! Stories of a memory that many machines share: moved there and back, delivered to, and written by many at once while connections
//! are cut. The server is a real one.

#![allow(clippy::unwrap_used)]

mod hostile;
mod index;
mod moving;
mod removals;
mod server;
mod sharing;
mod world;
mod writers;
