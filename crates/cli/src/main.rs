//! The `sealstone` command.

fn main() {}
