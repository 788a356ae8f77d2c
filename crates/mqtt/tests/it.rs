//! Tests of the core: what a device and a gateway share.
#![allow(clippy::unwrap_used)]

mod envelope;
mod flash;
mod keyring;
mod level;
mod packet;
mod publisher;
mod replay;
mod sealer;
mod support;
mod topic;
