//! All integration tests of the crate, in one binary.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod matrix;
