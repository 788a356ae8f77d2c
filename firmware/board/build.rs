//! Shows the linker the memory map of the board.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let board = match std::env::var_os("CARGO_FEATURE_MPS2_AN386") {
        Some(_) => "mps2-an386",
        None => "netduinoplus2",
    };
    println!("cargo::rustc-link-search={folder}/{board}");
    println!("cargo::rerun-if-changed={board}/memory.x");
}
