//! All integration tests of the crate, in one binary.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod certificates;
mod chains;
mod cms;
mod issuing;
mod known;
mod mixed;
mod names;
mod properties;
mod refusals;
mod refused_structures;
mod vectors;

use std::path::PathBuf;

/// A file of `tests/data`.
fn data(path: &str) -> String {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// The folder of vectors that does not come with the repository: `SEALSTONE_VECTORS`, or `shared/vectors` beside it.
fn vectors() -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// The content of a PEM block, without any of our own code.
fn unpem(text: &str) -> Vec<u8> {
    let symbols: Vec<u32> = text
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .flat_map(str::bytes)
        .filter(|byte| *byte != b'=')
        .map(|byte| {
            let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
            alphabet.iter().position(|symbol| *symbol == byte).unwrap() as u32
        })
        .collect();
    let mut out = Vec::new();
    for group in symbols.chunks(4) {
        let bits = group.iter().fold(0, |bits, symbol| bits << 6 | symbol) << (6 * (4 - group.len()));
        out.extend_from_slice(&bits.to_be_bytes()[1..group.len()]);
    }
    out
}

fn unhex(text: &str) -> Vec<u8> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}
