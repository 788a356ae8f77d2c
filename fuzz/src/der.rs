//! Readers of DER: certificates, requests, revocation lists, keys.

use sealstone_pki::x509::path::{self, Policy};
use sealstone_pki::x509::{Crl, Csr};
use sealstone_pki::{Certificate, SignatureAlgorithm, composite, pkcs8, spki};

/// What mutators put in the place of a leaf: object identifiers that readers know, and what stands beside them.
pub const DER_WORDS: &[&[u8]] = &[
    b"\x60\x86\x48\x01\x65\x03\x04\x03\x11", // ML-DSA-44
    b"\x60\x86\x48\x01\x65\x03\x04\x03\x12", // ML-DSA-65
    b"\x60\x86\x48\x01\x65\x03\x04\x03\x13", // ML-DSA-87
    b"\x60\x86\x48\x01\x65\x03\x04\x04\x01", // ML-KEM-512
    b"\x60\x86\x48\x01\x65\x03\x04\x04\x02", // ML-KEM-768
    b"\x60\x86\x48\x01\x65\x03\x04\x02\x01", // SHA-256
    b"\x60\x86\x48\x01\x65\x03\x04\x02\x03", // SHA-512
    b"\x60\x86\x48\x01\x65\x03\x04\x01\x2e", // AES-256-GCM
    b"\x60\x86\x48\x01\x65\x03\x04\x01\x2a", // AES-256-CBC
    b"\x2b\x06\x01\x05\x05\x07\x06\x27",     // MLDSA44-Ed25519-SHA512
    b"\x2b\x65\x70",                         // Ed25519
    b"\x2a\x86\x48\xce\x3d\x02\x01",         // id-ecPublicKey
    b"\x2a\x86\x48\xce\x3d\x03\x01\x07",     // P-256
    b"\x2a\x86\x48\xce\x3d\x04\x03\x02",     // ecdsa-with-SHA256
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01", // rsaEncryption
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a", // RSASSA-PSS
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", // sha256WithRSAEncryption
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x05\x0d", // PBES2
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x01", // id-data
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02", // id-signedData
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x03", // contentType
    b"\x2a\x86\x48\x86\xf7\x0d\x01\x09\x04", // messageDigest
    b"\x55\x1d\x0e",                         // subjectKeyIdentifier
    b"\x55\x1d\x0f",                         // keyUsage
    b"\x55\x1d\x11",                         // subjectAltName
    b"\x55\x1d\x13",                         // basicConstraints
    b"\x55\x1d\x1e",                         // nameConstraints
    b"\x55\x1d\x1f",                         // cRLDistributionPoints
    b"\x55\x1d\x24",                         // policyConstraints
    b"\x55\x04\x03",                         // commonName
    b"",
    b"\x00",
    b"\x01",
    b"\xff",
    b"\x80",
    b"20261122000000Z",
    b"261122000000Z",
    b"99991231235959Z",
    b"a.example",
    b"\x7f\xff\xff\xff\xff\xff\xff\xff",
];

/// 2026-11-22 00:00:00 UTC.
const NOW: i64 = 1_795_305_600;

/// Any bytes to every reader: no panic, what is read is what was there, and nothing unsigned is found good.
pub fn der(input: &[u8]) {
    if let Ok(certificate) = Certificate::from_der(input) {
        assert_eq!(certificate.der(), input);
        assert!(certificate.tbs().len() < input.len());
        let again = Certificate::from_pem(&certificate.to_pem()).expect("it was read before");
        assert_eq!(again, certificate);
        // A name is written as it was read, or not at all.
        if let Ok(name) = certificate.subject().to_der() {
            assert!(name.starts_with(&[0x30]));
        }
        let own = [certificate.clone()];
        let trusted = Policy { draft: true, ..Policy::new(&own, NOW) };
        let _ = path::verify(&certificate, &trusted);
        // Below itself only if it signed itself, which the fuzzer cannot.
        let between = Policy { draft: true, intermediates: &own, ..Policy::new(&[], NOW) };
        assert!(path::verify(&certificate, &between).is_err());
    }
    if let Ok(request) = Csr::from_der(input) {
        assert_eq!(Csr::from_pem(&request.to_pem()).expect("it was read before"), request);
        let _ = request.verify();
    }
    if let Ok(list) = Crl::from_der(input) {
        assert_eq!(Crl::from_pem(&list.to_pem()).expect("it was read before"), list);
        list.revoked().for_each(|(serial, _)| assert!(list.find(serial).is_some()));
    }
    if let Ok(key) = spki::from_der(input) {
        assert_eq!(spki::to_der(&key), input);
    }
    if let Ok(key) = composite::from_spki(input) {
        assert_eq!(composite::to_spki(&key), input);
    }
    if let Ok(algorithm) = SignatureAlgorithm::from_der(input) {
        assert_eq!(SignatureAlgorithm::from_der(&algorithm.to_der()), Ok(algorithm));
    }
    let _ = pkcs8::from_der(input);
    let _ = pkcs8::from_sec1_der(input);
    let _ = composite::from_pkcs8(input);
    let _ = spki::rsa_from_der(input);
    if let Ok(text) = std::str::from_utf8(input) {
        let _ = Certificate::all_from_pem(text);
        let _ = text.parse::<sealstone_pki::Name>();
        let _ = text.parse::<sealstone_pki::x509::Subtree>();
    }
}
