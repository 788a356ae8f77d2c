//! evmctl of ima-evm-utils, a second hand: it reads our version 2 signatures, and we read its; evmctl 1.4 of Debian 12 has no other
//! version for files, so OpenSSL stands in for version 3. Keys and certificates are
//! OpenSSL's.

use std::convert::Infallible;
use std::fs;
use std::path::Path;

use sealstone_pki::{Certificate, pkcs8};
use sealstone_tree::{Appraiser, Signer, TrustedKey, USER_IMA, Version};

use crate::world::{digest, open, run, sign, user, verify};

/// When the tests live, for certificates that were made a moment ago.
pub(crate) fn now() -> i64 {
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

pub(crate) fn trusting(certificate: &Certificate) -> Appraiser {
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

/// Version 3 on P-384, which evmctl 1.4 does not know: OpenSSL verifies the signature over SHA-384 of `ima_file_id`, and we verify
/// its.
#[test]
fn openssl_and_we_read_each_other_in_version_3() {
    let keys = tempfile::tempdir().unwrap();
    let kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-384"];
    let Some((pem, certificate)) = key(keys.path(), &kind) else { return };
    let at = |name: &str| keys.path().join(name);
    assert!(run("openssl", &[&"pkey", &"-in", &at("key.pem"), &"-pubout", &"-out", &at("public.pem")]));
    let ours = Signer::new(&pkcs8::from_pem(&pem).unwrap(), Some(&certificate), now()).unwrap();
    let tree = tempfile::tempdir().unwrap();
    let file = tree.path().join("file");
    fs::write(&file, "content").unwrap();
    let id = |kind: u8| [&[kind, 5][..], &digest("sha384sum", b"content")].concat();

    assert_eq!(sign(&open(tree.path()), &ours, user())[&b"file"[..]], "signed");
    let mut value = vec![0; 8192];
    let len = rustix::fs::getxattr(&file, USER_IMA, &mut value[..]).unwrap();
    value.truncate(len);
    assert_eq!(value[..3], [3, 3, 5]);
    let verifies = |message: &[u8]| {
        fs::write(at("message"), message).unwrap();
        fs::write(at("signature"), &value[9..]).unwrap();
        let given: [&dyn AsRef<std::ffi::OsStr>; 7] = [
            &"dgst",
            &"-sha384",
            &"-verify",
            &at("public.pem"),
            &"-signature",
            &at("signature"),
            &at("message"),
        ];
        run("openssl", &given)
    };
    assert!(verifies(&id(3)) && !verifies(&id(6)));

    let verdict = |message: &[u8]| {
        fs::write(at("message"), message).unwrap();
        let given: [&dyn AsRef<std::ffi::OsStr>; 7] =
            [&"dgst", &"-sha384", &"-sign", &at("key.pem"), &"-out", &at("signature"), &at("message")];
        assert!(run("openssl", &given));
        let signature = fs::read(at("signature")).unwrap();
        let value = [&value[..7], &(signature.len() as u16).to_be_bytes(), &signature].concat();
        rustix::fs::setxattr(&file, USER_IMA, &value, rustix::fs::XattrFlags::empty()).unwrap();
        verify(&open(tree.path()), &trusting(&certificate))[&b"file"[..]].clone()
    };
    assert_eq!(verdict(&id(3)), "good");
    assert_eq!(verdict(&id(6)), "does-not-verify");
}
