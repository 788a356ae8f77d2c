//! All integration tests of the crate that need no C compiler. What a C program sees is tested by `tests/c`, against the
//! packaged library.
#![allow(clippy::unwrap_used)]

mod doors;
mod header;
