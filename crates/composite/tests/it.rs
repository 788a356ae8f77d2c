//! Composite signatures against the vectors of the drafts, and against who cuts, swaps and relabels them.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod forgeries;
mod vectors;
