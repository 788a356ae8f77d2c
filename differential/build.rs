//! Compiles mldsa-native as its crate does with the feature `native`: the same files, definitions and flags, without the
//! question at run time whether the processor has AVX2.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let source = mldsa_native();
    let harness = source.join("mldsa-build-harness");
    let mut build = cc::Build::new();
    build
        .std("c99")
        .opt_level(3)
        .warnings(false)
        .flag("-fomit-frame-pointer")
        .flag("-mavx2")
        .flag("-mbmi2")
        .define("_GNU_SOURCE", None)
        .define("MLD_CONFIG_NAMESPACE_PREFIX", "mldsa")
        .define("MLD_FORCE_X86_64", None)
        .define("MLD_CONFIG_USE_NATIVE_BACKEND_ARITH", None)
        .define("MLD_CONFIG_USE_NATIVE_BACKEND_FIPS202", None)
        .include(source.join("mldsa-native/mldsa"))
        .include(&harness)
        .include(harness.join("mldsa"))
        .file(harness.join("mldsa_native_all.c"))
        .file(harness.join("mldsa_native_asm_all.S"))
        .file("src/randombytes.c")
        .compile("mldsa-native");
    println!("cargo::rerun-if-changed=src/randombytes.c");
    println!("cargo::rerun-if-changed=Cargo.lock");
}

fn mldsa_native() -> PathBuf {
    let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO for build scripts");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", "Cargo.toml"])
        .output()
        .expect("cargo runs, for it runs this");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let mut packages = metadata["packages"].as_array().expect("metadata lists packages").iter();
    let package = packages.find(|package| package["name"] == "mldsa-native-rs").expect("it is a dependency");
    let manifest = package["manifest_path"].as_str().expect("every package has a manifest");
    Path::new(manifest).parent().expect("a manifest lies in a folder").to_owned()
}
