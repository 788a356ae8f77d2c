//! evmctl of ima-evm-utils, a second hand: it reads our version 2 signatures, and we read its. Keys and certificates are
//! OpenSSL's.

use std::convert::Infallible;
use std::fs;
use std::path::Path;

use sealstone_pki::{Certificate, pkcs8};
use sealstone_tree::{Appraiser, Signer, TrustedKey, USER_IMA, Version};

use crate::world::{open, run, sign, user, verify};

/// When the tests live, for certificates that were made a moment ago.
fn now() -> i64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() as i64
}

/// A key and its certificate; `None` without the tools.
fn key(at: &Path, kind: &[&str]) -> Option<(String, Certificate)> {
    let (key, cert) = (at.join("key.pem"), at.join("cert.pem"));
    let mut arguments: Vec<&dyn AsRef<std::ffi::OsStr>> = vec![&"req", &"-x509", &"-nodes", &"-days", &"2"];
    arguments.extend(kind.iter().map(|word| word as &dyn AsRef<std::ffi::OsStr>));
    arguments.extend::<[&dyn AsRef<std::ffi::OsStr>; 10]>([
        &"-subj",
        &"/CN=files",
        &"-addext",
        &"keyUsage=digitalSignature",
        &"-keyout",
        &key,
        &"-out",
        &cert,
        &"-sha384",
        &"-batch",
    ]);
    if !run("openssl", &arguments) || !run("evmctl", &[&"--help"]) {
        eprintln!("skipped: openssl or evmctl (ima-evm-utils) is not installed");
        return None;
    }
    assert!(run("openssl", &[&"x509", &"-in", &cert, &"-outform", &"DER", &"-out", &at.join("cert.der")]));
    let certificate = Certificate::from_pem(&fs::read_to_string(&cert).unwrap()).unwrap();
    Some((fs::read_to_string(&key).unwrap(), certificate))
}

fn trusting(certificate: &Certificate) -> Appraiser {
    let mut appraiser = Appraiser::new();
    TrustedKey::of_certificate(certificate, now()).unwrap().trusted_by(&mut appraiser).unwrap();
    appraiser
}

#[test]
fn evmctl_and_we_read_each_other_on_p384_and_p256() {
    for curve in ["P-384", "P-256"] {
        let keys = tempfile::tempdir().unwrap();
        let curve = format!("ec_paramgen_curve:{curve}");
        let Some((pem, certificate)) = key(keys.path(), &["-newkey", "ec", "-pkeyopt", &curve]) else {
            return;
        };
        let mut ours = Signer::new(&pkcs8::from_pem(&pem).unwrap(), Some(&certificate), now()).unwrap();
        ours.set_version(Version::V2).unwrap();
        let tree = tempfile::tempdir().unwrap();
        let file = tree.path().join("file");
        fs::write(&file, "content").unwrap();
        assert_eq!(sign(&open(tree.path()), &ours, user())[&b"file"[..]], "signed");
        let (private, public) = (keys.path().join("key.pem"), keys.path().join("cert.der"));
        let theirs = || run("evmctl", &[&"ima_verify", &"--xattr-user", &"-k", &public, &file]);
        assert!(theirs(), "evmctl refuses ours, {curve}");
        fs::write(&file, "changed").unwrap();
        assert!(!theirs(), "evmctl takes everything");

        // It hashes with SHA-256 whatever the curve.
        let keyid = keys.path().join("cert.pem");
        let keyid = format!("--keyid-from-cert={}", keyid.display());
        assert!(run(
            "evmctl",
            &[&"ima_sign", &"--xattr-user", &"-a", &"sha256", &keyid, &"-k", &private, &file]
        ));
        let found = verify(&open(tree.path()), &trusting(&certificate));
        assert_eq!(found[&b"file"[..]], "good", "{curve}");
        fs::write(&file, "changed again").unwrap();
        assert_eq!(verify(&open(tree.path()), &trusting(&certificate))[&b"file"[..]], "does-not-verify");
    }
}

#[test]
fn rsa_trees_of_evmctl_are_read() {
    let keys = tempfile::tempdir().unwrap();
    let Some((_, certificate)) = key(keys.path(), &["-newkey", "rsa:2048"]) else { return };
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("file");
    fs::write(&file, "content").unwrap();
    let keyid = format!("--keyid-from-cert={}", keys.path().join("cert.pem").display());
    let private = keys.path().join("key.pem");
    for (hash, expected) in [("sha256", "good"), ("sha512", "good"), ("sha1", "classical-not-checked")] {
        if !run("evmctl", &[&"ima_sign", &"--xattr-user", &"-a", &hash, &keyid, &"-k", &private, &file]) {
            eprintln!("skipped: this evmctl does not sign with {hash}");
            continue;
        }
        let found = verify(&open(tree.path()), &trusting(&certificate));
        assert_eq!(found[&b"file"[..]], expected, "{hash}");
    }
}

/// The id of a key without a certificate is that of evmctl, and of OpenSSL's certificates.
#[test]
fn a_key_alone_has_the_id_of_its_certificate() {
    let keys = tempfile::tempdir().unwrap();
    let Some((_, certificate)) = key(keys.path(), &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"])
    else {
        return;
    };
    let named = TrustedKey::of_certificate(&certificate, now()).unwrap();
    assert_eq!(TrustedKey::of_spki(certificate.public_key()).unwrap().key_id, named.key_id);
    let early = TrustedKey::of_certificate(&certificate, 0).unwrap_err();
    assert_eq!(early.to_string(), "the certificate cannot be used: it is not valid yet");
    assert!(TrustedKey::of_certificate(&certificate, now() + 86_400 * 3).is_err());
    let other = tempfile::tempdir().unwrap();
    let Some((pem, _)) = key(other.path(), &["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"]) else {
        return;
    };
    let mismatch = Signer::new(&pkcs8::from_pem(&pem).unwrap(), Some(&certificate), now()).unwrap_err();
    assert_eq!(mismatch.to_string(), "the certificate cannot be used: it is of another key");
    let tree = tempfile::tempdir().unwrap();
    let Ok(()) = open(tree.path()).verify(&Appraiser::new(), USER_IMA, |_| Ok::<(), Infallible>(()));
}
