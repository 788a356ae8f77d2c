//! The command as people and scripts meet it: whole sessions in a shell, and a server that is really started.

#![allow(clippy::unwrap_used)]

mod auditing;
mod serving;
mod transcript;
