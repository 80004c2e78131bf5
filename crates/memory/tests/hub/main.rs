//! Stories of a memory shared by many machines: moved there and back, pushed to, and written concurrently while
//! connections are cut. The server is a real one.

#![allow(clippy::unwrap_used)]

mod hostile;
mod index;
mod moving;
mod removals;
mod server;
mod sharing;
mod world;
mod writers;
