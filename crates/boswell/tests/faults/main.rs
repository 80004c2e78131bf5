//! Faults under the real binary: crashes at every call, full and broken disks, logs that change during a read,
//! concurrent sweeps, clocks that go back, and credential files that must never be opened.
//!
//! By default a test with many points tries a sample and prints its size; `BOSWELL_FAULTS=all` tries every point.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod clock;
mod crash;
mod damage;
mod disk;
mod evict;
mod home;
mod hooks;
mod interrupt;
mod kill;
mod moving;
mod prepare;
mod settings;
mod slow;
mod soak;
mod stores;
mod together;
mod trap;
mod users;
mod work;
