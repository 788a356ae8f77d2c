//! Messages signed and read again, with every key, digest and form; and those of RFC 9882.

use sealstone_mldsa::Level;
use sealstone_pki::KeyAlgorithm;
use sealstone_pki::cms::{
    Check, DigestAlgorithm, Error, Identifier, Policy, Signer, Signing, Trust, Unverified, Verified,
};
use sealstone_pki::sign::{SigningKey, VerifyingKey};
use sealstone_pki::x509::Certificate;

use super::support::{Node, Said, certificate, certificate_of, key, ml_dsa};
use crate::vectors;

const CONTENT: &[u8] = b"the harbour at nine";

fn exact(message: &[u8], certificate: &Certificate) -> Result<Verified, Error> {
    Unverified::from_der(message)?.verify(Trust::Certificates(std::slice::from_ref(certificate)), Policy::All)
}

fn over(mut check: Check, content: &[u8]) -> Result<Verified, Error> {
    for piece in content.chunks(7) {
        check.update(piece)?;
    }
    check.finish()
}

/// Every algorithm that signs here, with a certificate.
fn signers() -> Vec<(SigningKey, Certificate)> {
    let with = |key: SigningKey| {
        let certificate = certificate(&key);
        (key, certificate)
    };
    KeyAlgorithm::ALL.into_iter().map(|algorithm| with(key(algorithm, 7))).collect()
}

/// RFC 9882, Appendix B, by the keys of RFC 9881, Appendix C.
#[test]
fn rfc9882_examples() {
    let Some(folder) = vectors() else {
        println!("not run: the folder of vectors is not there");
        return;
    };
    for level in ["44", "65", "87"] {
        let text =
            std::fs::read_to_string(folder.join(format!("x509/rfc9882-cms/mldsa{level}-signed-attrs.pem")))
                .unwrap();
        let pem = std::fs::read_to_string(folder.join(format!("x509/rfc9881/ML-DSA-{level}.crt"))).unwrap();
        // The text of the certificate stands before its block.
        let [certificate] = <[Certificate; 1]>::try_from(Certificate::all_from_pem(&pem).unwrap()).unwrap();
        let key = VerifyingKey::from_spki(certificate.public_key()).unwrap();
        let expected = format!("ML-DSA-{level} signed-data example with signed attributes");

        let message = Unverified::from_pem(&text).unwrap();
        assert!(!message.is_detached());
        assert!(message.certificates().is_empty());
        let verified = message.verify(Trust::Certificates(&[certificate]), Policy::All).unwrap();
        assert_eq!(verified.content(), Some(expected.as_bytes()));
        let [signer] = verified.signers() else { panic!("one signer") };
        assert_eq!(signer.algorithm().name(), format!("ML-DSA-{level}"));
        assert_eq!(signer.digest(), Some(DigestAlgorithm::Sha512));
        assert_eq!(signer.attributes().unwrap().signing_time(), None);

        let by_key = Unverified::from_pem(&text).unwrap().verify(Trust::Keys(&[key]), Policy::All).unwrap();
        assert_eq!(by_key.content(), Some(expected.as_bytes()));
        assert!(by_key.signers()[0].certificate().is_none());
    }
}

#[test]
fn every_key_in_every_form() {
    for (key, certificate) in signers() {
        let trusted = [certificate.clone()];
        let trust = Trust::Certificates(&trusted);
        let plain = Signer::new(&certificate, &key).unwrap();
        let forms = [
            plain.clone(),
            plain.clone().signing_time(1_790_000_000),
            plain.clone().by_key_id(),
            plain.clone().without_attributes().unwrap(),
            plain.without_attributes().unwrap().by_key_id(),
        ];
        for signer in forms {
            let signing = Signing::new(signer);
            let verified = exact(&signing.attached(CONTENT).unwrap(), &certificate).unwrap();
            assert_eq!(verified.content(), Some(CONTENT), "{key:?}");
            assert_eq!(verified.signers()[0].certificate(), Some(&certificate));

            let mut stream = signing.detached().unwrap();
            CONTENT.chunks(3).for_each(|piece| stream.update(piece).unwrap());
            let detached = stream.finish().unwrap();
            let message = Unverified::from_der(&detached).unwrap();
            assert!(message.is_detached());
            assert_eq!(over(message.over(trust, Policy::All).unwrap(), CONTENT).unwrap().content(), None);
            let other =
                over(Unverified::from_der(&detached).unwrap().over(trust, Policy::All).unwrap(), b"at ten");
            assert!(matches!(other, Err(Error::ContentMismatch | Error::BadSignature)), "{key:?}: {other:?}");
            assert!(matches!(exact(&detached, &certificate), Err(Error::ContentMissing)));
        }
    }
}

/// RFC 9882 §4, Table 1.
#[test]
fn digests_are_as_strong_as_the_key() {
    let table = [
        (DigestAlgorithm::Sha256, [true, false, false]),
        (DigestAlgorithm::Sha384, [true, true, false]),
        (DigestAlgorithm::Sha512, [true, true, true]),
        (DigestAlgorithm::Sha3_256, [true, false, false]),
        (DigestAlgorithm::Sha3_384, [true, true, false]),
        (DigestAlgorithm::Sha3_512, [true, true, true]),
        (DigestAlgorithm::Shake128, [true, false, false]),
        (DigestAlgorithm::Shake256, [true, true, true]),
    ];
    for (level, index) in [(Level::MlDsa44, 0), (Level::MlDsa65, 1), (Level::MlDsa87, 2)] {
        let key = ml_dsa(level);
        let certificate = certificate(&key);
        for (digest, allowed) in table {
            let signer = Signer::new(&certificate, &key).unwrap().digest(digest);
            if !allowed[index] {
                assert!(matches!(signer, Err(Error::DigestWeak { .. })), "{level:?} {digest}");
                continue;
            }
            let message = Signing::new(signer.unwrap()).attached(CONTENT).unwrap();
            let verified = exact(&message, &certificate).unwrap();
            assert_eq!(verified.signers()[0].digest(), Some(digest));
            let len = if digest == DigestAlgorithm::Shake256 { 64 } else { 0 };
            let found = verified.signers()[0].attributes().unwrap().message_digest().len();
            assert!(len == 0 || found == len);
        }
        // RFC 9882 §3: without signed attributes it is SHA-512.
        let without = Signer::new(&certificate, &key).unwrap().digest(DigestAlgorithm::Shake256).unwrap();
        assert!(matches!(without.without_attributes(), Err(Error::DigestFixed { .. })));
    }
}

#[test]
fn attributes_say_what_was_given() {
    let key = ml_dsa(Level::MlDsa65);
    let certificate = certificate(&key);
    for seconds in
        [-631_152_000, 0, 951_782_400, 1_790_000_000, 2_524_607_999, 2_524_608_000, 253_402_300_799]
    {
        let signer = Signer::new(&certificate, &key).unwrap().signing_time(seconds);
        let message = Signing::new(signer).attached(CONTENT).unwrap();
        let verified = exact(&message, &certificate).unwrap();
        let attributes = verified.signers()[0].attributes().unwrap();
        assert_eq!(attributes.signing_time(), Some(seconds));
        assert!(attributes.protects_algorithms());
    }
    for seconds in [-631_152_001, 253_402_300_800, i64::MIN, i64::MAX] {
        let signer = Signer::new(&certificate, &key).unwrap().signing_time(seconds);
        assert!(matches!(Signing::new(signer).attached(CONTENT), Err(Error::Time { .. })));
    }
}

/// The order of structures, by hand: RFC 5652 §5.1 and §5.3.
#[test]
fn the_structure_is_that_of_the_rfc() {
    let key = ml_dsa(Level::MlDsa44);
    let certificate = certificate(&key);
    let signer = Signer::new(&certificate, &key).unwrap();
    let mut message = Node::parse(&Signing::new(signer.clone()).attached(CONTENT).unwrap());
    assert_eq!(message.at(&[1, 0, 0]).content(), &[1]);
    assert_eq!(message.at(&[1, 0, 2, 1, 0]).content(), CONTENT);
    assert_eq!(message.at(&[1, 0, 3, 0]).bytes(), certificate.der());
    let info = message.at(&[1, 0, 4, 0]);
    assert_eq!(info.at(&[0]).content(), &[1]);
    // SHA-512 with its parameters absent; the signature's too.
    assert_eq!(info.at(&[2]).bytes(), [0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2, 3]);
    assert_eq!(info.at(&[4]).bytes(), [0x30, 11, 6, 9, 0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 0x11]);
    let attributes: Vec<Vec<u8>> = info.at(&[3]).children().iter().map(Node::bytes).collect();
    assert!(attributes.is_sorted());
    // The signature is over the SET OF, 0x31, and not over what stands there, 0xa0.
    let mut signed = info.at(&[3]).bytes();
    signed[0] = 0x31;
    let signature = info.at(&[5]).content().clone();
    let public = VerifyingKey::from_spki(certificate.public_key()).unwrap();
    public.verify(key.algorithm(), &signed, &signature).unwrap();

    let mut by_key = Node::parse(&Signing::new(signer.by_key_id()).attached(CONTENT).unwrap());
    assert_eq!(by_key.at(&[1, 0, 0]).content(), &[3]);
    assert_eq!(by_key.at(&[1, 0, 4, 0, 0]).content(), &[3]);
    assert_eq!(by_key.at(&[1, 0, 4, 0, 1]).bytes(), super::support::tlv(0x80, b"the key of a signer"));
}

#[test]
fn several_signers_all_or_any() {
    let (old, new) = (key(KeyAlgorithm::EcP256, 3), ml_dsa(Level::MlDsa87));
    let old_certificate = certificate_of(
        sealstone_pki::sign::Signer::spki(&old),
        &Said { name: "old", serial: 2, key_id: Some(b"old"), ..Said::default() },
        &old,
    );
    let new_certificate = certificate(&new);
    let signing = Signing::new(Signer::new(&old_certificate, &old).unwrap())
        .signer(Signer::new(&new_certificate, &new).unwrap())
        .certificate(&new_certificate);
    let message = signing.attached(CONTENT).unwrap();
    let read = || Unverified::from_der(&message).unwrap();
    assert_eq!(read().certificates().len(), 2, "each once");
    let both = [old_certificate.clone(), new_certificate.clone()];
    assert_eq!(read().verify(Trust::Certificates(&both), Policy::All).unwrap().signers().len(), 2);

    let only = [new_certificate];
    assert!(matches!(read().verify(Trust::Certificates(&only), Policy::All), Err(Error::Untrusted { .. })));
    let any = read().verify(Trust::Certificates(&only), Policy::Any).unwrap();
    assert_eq!(any.signers().len(), 1);
    assert_eq!(any.signers()[0].algorithm().name(), "ML-DSA-87");
    assert!(matches!(any.refused(), [(Identifier::IssuerAndSerial { .. }, Error::Untrusted { .. })]));
    assert!(matches!(read().verify(Trust::Certificates(&[]), Policy::Any), Err(Error::Untrusted { .. })));

    // Keys, whatever the message calls the signers; with attributes and without.
    let keys = both.each_ref().map(|certificate| VerifyingKey::from_spki(certificate.public_key()).unwrap());
    assert_eq!(read().verify(Trust::Keys(&keys), Policy::All).unwrap().signers().len(), 2);
    let plain = Signing::new(Signer::new(&old_certificate, &old).unwrap().without_attributes().unwrap())
        .signer(Signer::new(&only[0], &new).unwrap().without_attributes().unwrap())
        .attached(CONTENT)
        .unwrap();
    let verified = Unverified::from_der(&plain).unwrap().verify(Trust::Keys(&keys), Policy::All).unwrap();
    assert_eq!(verified.signers().len(), 2);
    assert!(matches!(
        Unverified::from_der(&plain).unwrap().verify(Trust::Keys(&keys[..1]), Policy::All),
        Err(Error::BadSignature)
    ));
}

#[test]
fn a_chain_is_asked_about_the_signer_and_given_the_others() {
    let (root, key) = (key(KeyAlgorithm::Ed25519, 9), ml_dsa(Level::MlDsa65));
    let root_certificate = certificate_of(
        sealstone_pki::sign::Signer::spki(&root),
        &Said { name: "root", key_id: Some(b"root"), usage: Some(&[2, 0x04]), ..Said::default() },
        &root,
    );
    let leaf = certificate(&key);
    let message = Signing::new(Signer::new(&leaf, &key).unwrap())
        .certificate(&root_certificate)
        .attached(CONTENT)
        .unwrap();
    let good = |signer: &Certificate, others: &[Certificate]| {
        assert_eq!(signer, &leaf);
        assert!(others.contains(&root_certificate));
        Ok(())
    };
    let bad = |_: &Certificate, _: &[Certificate]| Err(sealstone_pki::Error::BadSignature);
    let read = || Unverified::from_der(&message).unwrap();
    assert_eq!(read().verify(Trust::Chain(&good), Policy::All).unwrap().content(), Some(CONTENT));
    let refused = read().verify(Trust::Chain(&bad), Policy::All);
    assert!(matches!(refused, Err(Error::Untrusted { cause: Some(_), .. })));
    // Nothing is asked about a signer whose certificate did not come.
    let bare =
        Signing::new(Signer::new(&leaf, &key).unwrap()).without_certificates().attached(CONTENT).unwrap();
    let refused = Unverified::from_der(&bare).unwrap().verify(Trust::Chain(&good), Policy::All);
    assert!(matches!(refused, Err(Error::CertificateMissing { .. })));
}

#[test]
fn content_of_another_type_and_revocation_lists() {
    let key = ml_dsa(Level::MlDsa44);
    let certificate = certificate(&key);
    let signer = Signer::new(&certificate, &key).unwrap();
    let tst = sealstone_pki::der::undotted("1.2.840.113549.1.9.16.1.4").unwrap();
    let crl = super::support::seq(&[b"\x02\x01\x05"]);
    let message = Signing::new(signer.clone()).content_type(&tst).crl(&crl).attached(CONTENT).unwrap();
    assert_eq!(Node::parse(&message).at(&[1, 0, 0]).content(), &[3]);
    let verified = exact(&message, &certificate).unwrap();
    assert_eq!(verified.content_type(), "1.2.840.113549.1.9.16.1.4");
    assert_eq!(verified.crls(), [crl]);
    let without = Signing::new(signer.without_attributes().unwrap()).content_type(&tst).attached(CONTENT);
    assert!(matches!(without, Err(Error::AttributesRequired { .. })));
}

/// OpenSSL and BouncyCastle stream in BER: indefinite lengths and strings in pieces.
#[test]
fn streamed_forms_are_read() {
    for (key, certificate) in signers() {
        let signer = Signer::new(&certificate, &key).unwrap();
        let message = Signing::new(signer).attached(CONTENT).unwrap();
        for size in [1, 5, 100] {
            let streamed = Node::parse(&message).streamed(size);
            assert_ne!(streamed, message);
            assert_eq!(exact(&streamed, &certificate).unwrap().content(), Some(CONTENT));
        }
    }
}

#[test]
fn the_digest_counts_for_nothing_without_attributes() {
    let key = ml_dsa(Level::MlDsa87);
    let certificate = certificate(&key);
    let signer = Signer::new(&certificate, &key).unwrap().without_attributes().unwrap();
    let mut message = Node::parse(&Signing::new(signer).attached(CONTENT).unwrap());
    // SHA-256, which would be too weak, and one that does not exist.
    for arc in [1, 99] {
        *message.at(&[1, 0, 4, 0, 2, 0]).content().last_mut().unwrap() = arc;
        let verified = exact(&message.bytes(), &certificate).unwrap();
        assert_eq!(verified.signers()[0].digest(), None);
    }
}

/// The corpus of the fuzzer (fuzz/src/cms.rs): all of it is good, so that the fuzzer begins behind every check.
/// `CORPUS=write` writes it anew.
#[test]
fn the_corpus_of_the_fuzzer_is_good() {
    use sealstone_pki::cms::{Accept, Cipher, Message, Recipient, encrypt};
    use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/cms");
    let signing_key = key(KeyAlgorithm::EcP256, 7);
    let recipient = DecapsulationKey::from_seed(MlKem::MlKem512, &[7; 64]);
    if std::env::var_os("CORPUS").is_some_and(|mode| mode == "write") {
        let certificate = certificate(&signing_key);
        let signer = Signer::new(&certificate, &signing_key).unwrap();
        let attached = Signing::new(signer.clone().signing_time(1_790_000_000)).attached(b"fuzz").unwrap();
        let plain =
            Signing::new(signer.clone().by_key_id().without_attributes().unwrap()).attached(b"fuzz").unwrap();
        let bare = Signing::new(signer).without_certificates();
        let mut stream = bare.detached().unwrap();
        stream.update(b"fuzz").unwrap();
        let to = [Recipient::key(&recipient.encapsulation_key()).unwrap()];
        let sealed = |cipher| encrypt(b"fuzz", &to, cipher, &mut sealstone_mldsa::OsRandom).unwrap();
        let gcm = sealed(Cipher::Aes256Gcm);
        let files = [
            ("signed", attached.clone()),
            ("signed-ber", Node::parse(&attached).streamed(2)),
            ("signed-plain", plain),
            ("signed-detached", stream.finish().unwrap()),
            ("sealed-gcm", gcm.clone()),
            ("sealed-gcm-ber", Node::parse(&gcm).streamed(2)),
            ("sealed-cbc", sealed(Cipher::Aes256Cbc)),
        ];
        for (name, bytes) in files {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let bytes = std::fs::read(file.unwrap().path()).unwrap();
        let keys = [VerifyingKey::from_info(signing_key.public()).unwrap()];
        match Message::from_der(&bytes).unwrap() {
            Message::Signed(message) if message.is_detached() => {
                over(message.over(Trust::Keys(&keys), Policy::All).unwrap(), b"fuzz").unwrap();
            }
            Message::Signed(message) => {
                assert_eq!(
                    message.verify(Trust::Keys(&keys), Policy::All).unwrap().content(),
                    Some(&b"fuzz"[..])
                );
            }
            Message::Encrypted(message) => {
                let opened = message.decrypt(&recipient, None, Accept::Unauthenticated).unwrap();
                assert_eq!(opened.content(), b"fuzz");
            }
            _ => unreachable!("two kinds"),
        }
        count += 1;
    }
    assert_eq!(count, 7);
}
