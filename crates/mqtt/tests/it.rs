//! Tests of the core: what a device and a gateway share.
#![allow(clippy::unwrap_used)]

mod blob;
mod envelope;
mod level;
mod replay;
#[cfg(feature = "std")]
mod simulate;
mod support;
mod topic;
