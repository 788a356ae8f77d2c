//! Tests of the core: what a device and a gateway share.
#![allow(clippy::unwrap_used)]

mod batch;
mod commander;
mod envelope;
mod flash;
mod keyring;
mod level;
mod packet;
mod provision;
mod publisher;
mod real;
mod replay;
mod rotation;
mod sealer;
#[cfg(feature = "std")]
mod simulate;
mod support;
mod template;
mod topic;
