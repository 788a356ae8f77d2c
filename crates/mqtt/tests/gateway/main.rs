//! The gateway, with brokers that are really there.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

mod apart;
mod broker;
mod checkpoint;
mod flow;
mod hostile;
mod learned;
mod negative;
mod orders;
mod page;
#[path = "../peer.rs"]
mod peer;
mod place;
mod restarts;
mod second;
mod shared;
mod state;
#[path = "../support.rs"]
#[allow(dead_code, reason = "shared with the tests of the core")]
mod support;
mod tagged;
mod tls;
