//! Compiles BoringSSL's ML-DSA as its own release build does: the same sources, language, and flags.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let boringssl = boring_sys().join("deps/boringssl");
    let mut build = cc::Build::new();
    build
        .cpp(true)
        .std("c++17")
        .opt_level(3)
        .define("NDEBUG", None)
        .include(&boringssl)
        .include(boringssl.join("include"))
        .warnings(false);
    let flags =
        ["-fno-strict-aliasing", "-fno-common", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"];
    flags.iter().for_each(|flag| {
        build.flag(flag);
    });
    build.file("src/shim.cc");
    for file in ["crypto/bytestring/cbs.cc", "crypto/bytestring/cbb.cc", "crypto/mem.cc"] {
        build.file(boringssl.join(file));
    }
    build.cpp_link_stdlib(None).compile("boringssl-mldsa");
    println!("cargo::rerun-if-changed=src/shim.cc");
    println!("cargo::rerun-if-changed=Cargo.lock");
}

fn boring_sys() -> PathBuf {
    let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO for build scripts");
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path", "Cargo.toml"])
        .output()
        .expect("cargo runs, for it runs this");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let mut packages = metadata["packages"].as_array().expect("metadata lists packages").iter();
    let package =
        packages.find(|package| package["name"] == "boring-sys").expect("boring-sys is a dependency");
    let manifest = package["manifest_path"].as_str().expect("every package has a manifest");
    Path::new(manifest).parent().expect("a manifest lies in a folder").to_owned()
}
