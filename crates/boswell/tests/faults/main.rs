//! What tries to break a sweep: crashes at every call, full and broken disks, logs that change while they are read,
//! sweeps beside each other, clocks that go back, and credential files that must stay closed. On the real binary.
//!
//! By default where there are many points some are taken, and said; `BOSWELL_FAULTS=all` takes every one.

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
