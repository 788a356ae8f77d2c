//! The command as people and scripts meet it: whole sessions in a shell, and a server that is really started.

#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs, unreachable_pub)]

mod admin;
mod auditing;
mod backup;
mod disk;
mod kill;
mod mqtt;
mod orders;
mod pages;
#[path = "../../mqtt/tests/peer.rs"]
mod peer;
mod progress;
mod published;
mod races;
mod real;
mod room;
mod serving;
mod transcript;
