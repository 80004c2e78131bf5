//! The command line as people and agents use it: the real binary, in a home of its own.

#![allow(clippy::unwrap_used)]

mod agreement;
mod alerts;
mod annotations;
mod catch_up;
mod config;
mod contract;
mod defects;
mod demo;
mod diary;
mod digest;
mod evict;
mod films;
mod finder;
mod forget;
mod generated;
mod hook_bursts;
mod hooks;
mod hub;
mod hub_corpus;
mod hub_team;
mod keep;
mod masking;
mod picture;
#[cfg(unix)]
mod printed_commands;
#[cfg(unix)]
mod pty;
mod read;
mod render;
mod report;
mod report_pages;
mod restore;
mod sandbox;
#[cfg(unix)]
mod schedule;
mod schemas;
mod search;
mod secrets;
mod sessions;
mod setup;
mod show;
mod sources;
mod split_tokens;
mod stats;
mod status;
mod usage;
mod verbs;
mod watch;
mod why;
