//! Shows the linker the memory map of the board. `compact`: the program is built for size.

fn main() {
    let folder = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let board = match std::env::var_os("CARGO_FEATURE_MPS2_AN386") {
        Some(_) => "mps2-an386",
        None => "netduinoplus2",
    };
    println!("cargo::rustc-link-search={folder}/{board}");
    println!("cargo::rustc-link-search={folder}");
    println!("cargo::rerun-if-changed={board}/memory.x");
    println!("cargo::rerun-if-changed=device.x");
    println!("cargo::rustc-check-cfg=cfg(compact)");
    if std::env::var("OPT_LEVEL").is_ok_and(|level| ["s", "z"].contains(&level.as_str())) {
        println!("cargo::rustc-cfg=compact");
    }
}
