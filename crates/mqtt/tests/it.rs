//! Tests of the core: what a device and a gateway share.
#![allow(clippy::unwrap_used)]

mod blob;
mod envelope;
mod level;
mod replay;
mod support;
mod topic;
