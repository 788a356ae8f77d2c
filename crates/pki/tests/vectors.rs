//! Vectors that do not come with the repository.

use std::fs;

use sealstone_pki::{Error, pkcs8, spki};

use crate::{unpem, vectors};

/// Every key of RFC 9881 Appendix C, all levels, all forms.
#[test]
fn rfc9881() {
    let Some(folder) = vectors().map(|folder| folder.join("x509/rfc9881")) else {
        println!("skipped: rfc9881 (no folder of vectors)");
        return;
    };
    let mut counts = [0; 3];
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        if name.ends_with(".pub") {
            let key = spki::from_pem(&text).unwrap();
            assert_eq!(spki::to_der(&key), unpem(&text), "{name}");
            assert!(name.starts_with(key.algorithm().name()));
            counts[0] += 1;
        } else if name.starts_with("bad-") {
            let error = pkcs8::from_pem(&text).unwrap_err();
            assert!(matches!(error, Error::Inconsistent { .. }), "{name}: {error}");
            counts[1] += 1;
        } else if name.ends_with(".priv") {
            let key = pkcs8::from_pem(&text).unwrap();
            let public = path.with_file_name(format!("{}.pub", key.algorithm()));
            let public = spki::from_pem(&fs::read_to_string(public).unwrap()).unwrap();
            assert_eq!(key.public(), Some(public.key()), "{name}");
            assert_eq!(key.raw().is_ok(), !name.contains("expanded"), "{name}");
            counts[2] += 1;
        }
    }
    println!("rfc9881: {} public, {} inconsistent, {} private", counts[0], counts[1], counts[2]);
    assert_eq!(counts, [3, 3, 9]);
}

/// Wycheproof: `publicKeyDer` and `privateKeyPkcs8` of every ML-DSA group, against the raw key beside them.
#[test]
fn wycheproof_key_encodings() {
    let Some(folder) = vectors().map(|folder| folder.join("wycheproof")) else {
        println!("skipped: wycheproof key encodings (no folder of vectors)");
        return;
    };
    let (mut public, mut private) = (0, 0);
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if !(name.starts_with("mldsa") && name.ends_with(".json")) {
                continue;
            }
            let text = fs::read_to_string(&path).unwrap();
            for (der, raw) in members(&text, "publicKeyDer").zip(members(&text, "publicKey")) {
                check_public(&der, &raw);
                public += 1;
            }
            for group in text.split("\"privateSeed\"").skip(1) {
                let seed = crate::unhex(group.split('"').nth(1).unwrap());
                for der in members(group, "privateKeyPkcs8").filter(|der| !der.is_empty()) {
                    check_private(&der, &seed, &members(group, "publicKey").next().unwrap());
                    private += 1;
                }
            }
        }
    }
    println!("wycheproof: {public} publicKeyDer, {private} privateKeyPkcs8");
    assert_eq!((public, private), (70, 58));
}

/// Every hexadecimal value of a member, wherever it is: enough JSON for these files.
fn members<'t>(text: &'t str, name: &str) -> impl Iterator<Item = Vec<u8>> + 't {
    let key = format!("\"{name}\"");
    let starts: Vec<usize> = text.match_indices(&key).map(|(at, found)| at + found.len()).collect();
    starts.into_iter().map(|start| crate::unhex(text[start..].split('"').nth(1).unwrap()))
}

fn check_public(der: &[u8], raw: &[u8]) {
    match spki::from_der(der) {
        Ok(key) => {
            assert_eq!(key.key(), raw);
            assert_eq!(spki::to_der(&key), der);
        }
        // Groups about keys of the wrong length bring such keys in DER, too.
        Err(Error::KeyLength { expected, found, .. }) => {
            assert!(found == raw.len() && found != expected);
        }
        Err(other) => panic!("{other}"),
    }
}

fn check_private(der: &[u8], seed: &[u8], public: &[u8]) {
    let key = pkcs8::from_der(der).unwrap();
    assert_eq!(key.raw().unwrap(), seed);
    assert_eq!(key.public(), Some(public));
    assert_eq!(*pkcs8::to_der(&key).unwrap(), der);
}
