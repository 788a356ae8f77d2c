//! Sets `armv7em` where the target has the instructions of ARMv7E-M (Cortex-M4 and M7): stable Rust does not say so by
//! itself, and on ARMv7-M (Cortex-M3) long products take a time that depends on their operands.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(armv7em)");
    if std::env::var("TARGET").is_ok_and(|target| target.starts_with("thumbv7em-")) {
        println!("cargo::rustc-cfg=armv7em");
    }
}
