//! Names for what the code asks of its target.
//!
//! `armv7em`: it has the instructions of ARMv7E-M (Cortex-M4 and M7). Stable Rust does not say so by itself, and on ARMv7-M
//! (Cortex-M3) long products take a time that depends on their operands.
//! `one_room`: there is no room but that target's own; with `hazmat` there is the portable one beside it.
//! `compact`: that target's room is compiled for size (`opt-level = "s"` or `"z"`), so it takes the shorter of two ways.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(armv7em, compact, one_room)");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv7em-")) {
        println!("cargo::rustc-cfg=armv7em");
        if std::env::var("OPT_LEVEL").is_ok_and(|level| ["s", "z"].contains(&level.as_str())) {
            println!("cargo::rustc-cfg=compact");
        }
        if std::env::var_os("CARGO_FEATURE_HAZMAT").is_none() {
            println!("cargo::rustc-cfg=one_room");
        }
    }
}
