//! Readers of DER: certificates, requests, revocation lists, keys.

use sealstone_pki::x509::path::{self, Policy};
use sealstone_pki::x509::{Crl, Csr};
use sealstone_pki::{Certificate, SignatureAlgorithm, composite, pkcs8, spki};

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
