//! The vector runner itself: what is wrong with a file must not go unnoticed.

use std::path::{Path, PathBuf};

use sealstone_mldsa::Level;
use serde_json::{Value, json};

use crate::vectors::examiner::Examiner;
use crate::vectors::report::Report;
use crate::vectors::subject::{Input, Sealstone, Secret, Subject};
use crate::vectors::{self, Options, bytes};

/// A folder of its own for each test, gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("sealstone-runner-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

fn run(path: &Path) -> Report {
    let examiner = Examiner::new(&Sealstone).unwrap();
    vectors::run(&examiner, &[path.to_owned()], Options::default(), &mut |_| ())
}

/// A file of one right sigGen case, external and pure.
fn sig_gen() -> Value {
    let (public, private) = Sealstone.keygen(Level::MlDsa44, &[1; 32]).unwrap();
    let input = Input::Pure { context: &[0xc0], message: &[1, 2, 3] };
    let signature = Sealstone.sign(Level::MlDsa44, Secret::Expanded(&private), input, &[0; 32]).unwrap();
    json!({
        "vsId": 42, "algorithm": "ML-DSA", "mode": "sigGen", "revision": "FIPS204", "isSample": false,
        "testGroups": [{
            "tgId": 1, "testType": "AFT", "parameterSet": "ML-DSA-44", "deterministic": true,
            "signatureInterface": "external", "preHash": "pure", "externalMu": false,
            "tests": [{
                "tcId": 1, "message": "010203", "context": "C0", "pk": bytes::encode(&public),
                "sk": bytes::encode(&private), "signature": bytes::encode(&signature), "hashAlg": "none",
            }],
        }],
    })
}

#[test]
fn right_file_passes_under_any_name() {
    let folder = Folder::new("right");
    folder.write("README.md", "# not a vector");
    let path = folder.write("misleading-keyGen.json", sig_gen().to_string());
    assert!(run(&path).is_good());
    let report = run(&folder.0);
    assert!(report.is_good());
    assert_eq!((report.passed(), report.failed(), report.files.len()), (1, 0, 2));
    assert!(report.total().ends_with("\n1 passed, 0 failed\n"));
}

#[test]
fn gzip_is_seen_by_content() {
    use std::io::Write;
    let folder = Folder::new("gzip");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(sig_gen().to_string().as_bytes()).unwrap();
    let whole = gzip.finish().unwrap();
    assert_eq!(run(&folder.write("plain.json", &whole)).passed(), 1);
    let cut = run(&folder.write("cut.json.gz", &whole[..whole.len() - 9]));
    assert!(!cut.is_good());
}

/// Each alteration of a right file is an error of the file, with no case passed over in silence.
#[test]
fn altered_files_fail() {
    let folder = Folder::new("altered");
    let group = "/testGroups/0";
    let case = "/testGroups/0/tests/0";
    for (what, place, member, value) in [
        ("unknown field at the top", "", "extra", json!(1)),
        ("unknown field of a group", group, "extra", json!(1)),
        ("unknown field of a case", case, "extra", json!(1)),
        ("unknown mode", "", "mode", json!("sigFoo")),
        ("unknown algorithm", "", "algorithm", json!("ML-KEM")),
        ("unknown revision", "", "revision", json!("FIPS205")),
        ("unknown test type", group, "testType", json!("MCT")),
        ("unknown parameter set", group, "parameterSet", json!("ML-DSA-43")),
        ("unknown interface", group, "signatureInterface", json!("sideways")),
        ("unknown pre-hash kind", group, "preHash", json!("postHash")),
        ("external interface with external μ", group, "externalMu", json!(true)),
        ("hash in a pure case", case, "hashAlg", json!("SHA2-256")),
        ("rnd in a deterministic case", case, "rnd", json!("00")),
        ("not hexadecimal", case, "message", json!("0x")),
        ("half a byte", case, "message", json!("012")),
        ("no groups", "", "testGroups", json!([])),
        ("no cases", group, "tests", json!([])),
    ] {
        let mut file = sig_gen();
        file.pointer_mut(place).unwrap()[member] = value;
        let report = run(&folder.write("altered.json", file.to_string()));
        assert!(!report.is_good() && report.passed() == 0, "{what}: {}", report.total());
        assert!(report.files[0].broken.is_some(), "{what}");
    }
    for (what, place, member) in [
        ("no message", case, "message"),
        ("no context", case, "context"),
        ("no signature", case, "signature"),
        ("no level", group, "parameterSet"),
    ] {
        let mut file = sig_gen();
        file.pointer_mut(place).unwrap().as_object_mut().unwrap().remove(member);
        assert!(!run(&folder.write("altered.json", file.to_string())).is_good(), "{what}");
    }
}

#[test]
fn wrong_answers_fail() {
    let folder = Folder::new("wrong");
    for member in ["message", "context", "pk", "sk", "signature"] {
        let mut file = sig_gen();
        let value = &mut file["testGroups"][0]["tests"][0][member];
        let mut text = value.as_str().unwrap().to_owned();
        let last = text.pop().unwrap();
        text.push(if last == '0' { '1' } else { '0' });
        *value = json!(text);
        let report = run(&folder.write("wrong.json", file.to_string()));
        assert_eq!((report.passed(), report.failed()), (0, 1), "{member}");
        assert!(!report.is_good());
    }
}

/// A quarantined signature that does come out means that the quarantine, or the engine, is wrong.
#[test]
fn quarantined_signature_that_is_reproduced_fails() {
    let folder = Folder::new("quarantine");
    let mut group = sig_gen()["testGroups"][0].clone();
    let reproduced = json!({"why": "a test", "group": group});
    let report = run(&folder.write("right.json", reproduced.to_string()));
    assert_eq!((report.failed(), report.not_reproduced()), (1, 0));
    group["tests"][0]["signature"] = json!("00".repeat(2420));
    let report = run(&folder.write("wrong.json", json!({"why": "a test", "group": group}).to_string()));
    assert_eq!((report.passed(), report.failed(), report.not_reproduced()), (0, 0, 1));
    assert!(report.is_good());
}

#[test]
fn nothing_is_not_success() {
    let folder = Folder::new("nothing");
    assert!(!run(&folder.0.join("absent.json")).is_good());
    assert!(!run(&folder.0).is_good(), "empty folder");
    folder.write("notes.txt", "no vectors here");
    assert!(!run(&folder.0).is_good(), "folder without vectors");
    for text in ["", "[]", "{}", "[1]", "[[]]", "null", "[{\"a\":1}]", "{\"a\":1}", "[\"unfinished"] {
        assert!(!run(&folder.write("odd.json", text)).is_good(), "{text:?}");
    }
    assert!(!Report::default().is_good());
}

/// A case given twice under one name is read by nobody: a repeated member is refused.
#[test]
fn repeated_member_is_refused() {
    let folder = Folder::new("repeated");
    let text = sig_gen().to_string().replacen("\"tcId\":1", "\"tcId\":1,\"tcId\":2", 1);
    assert!(!run(&folder.write("repeated.json", text)).is_good());
}
