//! Tests of the core: what a device and a gateway share.
#![allow(clippy::unwrap_used)]

mod blob;
mod envelope;
mod flash;
mod keyring;
mod level;
mod packet;
mod publisher;
mod replay;
mod sealer;
#[cfg(feature = "std")]
mod simulate;
mod support;
mod topic;
