//! Certificates, keys and signatures of others: RFC 9881, the LAMPS draft, OpenSSL.

use sealstone_mldsa::{Context, Level, any};
use sealstone_pki::sign::{Signer, SigningKey, VerifyingKey};
use sealstone_pki::x509::KeyUsage;
use sealstone_pki::{
    Certificate, Error, Hash, KeyAlgorithm, PrivateKeyInfo, SignatureAlgorithm, composite, pkcs8, spki,
};

use crate::{data, vectors};

#[test]
fn rfc9881_certificates_verify_and_are_signed_alike() {
    let Some(folder) = vectors() else {
        println!("SKIPPED: no vectors");
        return;
    };
    for (level, name) in
        [(Level::MlDsa44, "ML-DSA-44"), (Level::MlDsa65, "ML-DSA-65"), (Level::MlDsa87, "ML-DSA-87")]
    {
        let file =
            |end: &str| std::fs::read_to_string(folder.join(format!("x509/rfc9881/{name}{end}"))).unwrap();
        let certificate = Certificate::from_pem(&file(".crt")).unwrap();
        assert_eq!(certificate.to_pem().lines().next(), Some("-----BEGIN CERTIFICATE-----"));
        assert_eq!(certificate.signature_algorithm().unwrap(), SignatureAlgorithm::MlDsa(level));
        assert!(certificate.is_self_issued() && certificate.is_ca());
        assert!(certificate.key_usage().unwrap().has(KeyUsage::KEY_CERT_SIGN));
        assert_eq!(certificate.subject_key_id().unwrap().len(), 20);
        assert_eq!(certificate.public_key(), spki::to_der(&spki::from_pem(&file(".pub")).unwrap()));

        let key = VerifyingKey::from_spki(certificate.public_key()).unwrap();
        certificate.verify_signature(&key).unwrap();
        for form in ["seed", "expanded", "both"] {
            let info = pkcs8::from_pem(&file(&format!("-{form}.priv"))).unwrap();
            let signing = SigningKey::from_info(&info).unwrap();
            assert_eq!(signing.spki(), certificate.public_key(), "{form}");
            let signature = signing.sign(certificate.tbs()).unwrap();
            assert_ne!(signature, certificate.signature(), "{form}: signing is hedged");
            key.verify(signing.algorithm(), certificate.tbs(), &signature).unwrap();
        }
        // The example was signed by the deterministic variant.
        let seed: Vec<u8> = (0..32).collect();
        let deterministic = any::SigningKey::try_from_seed(level, &seed)
            .unwrap()
            .sign_deterministic(Context::EMPTY, certificate.tbs())
            .unwrap();
        assert_eq!(deterministic.encode(), certificate.signature());
    }
    for number in 1..=3 {
        let text = std::fs::read_to_string(folder.join(format!("x509/rfc9881/bad-ML-DSA-44-{number}.priv")))
            .unwrap();
        assert!(matches!(pkcs8::from_pem(&text), Err(Error::Inconsistent { .. })), "{number}");
    }
}

#[test]
fn lamps_composites_of_the_draft() {
    let Some(folder) = vectors() else {
        println!("SKIPPED: no vectors");
        return;
    };
    let text = std::fs::read_to_string(folder.join("x509/lamps-composite/testvectors.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let bytes = |value: &serde_json::Value| crate::unpem(value.as_str().unwrap());
    let message = bytes(&all["m"]);
    let (mut taken, mut refused) = (0, 0);
    for case in all["tests"].as_array().unwrap() {
        let name = case["tcId"].as_str().unwrap();
        let certificate = Certificate::from_der(&bytes(&case["x5c"])).unwrap();
        let key = match VerifyingKey::from_spki(certificate.public_key()) {
            Ok(key) => key,
            Err(Error::AlgorithmRefused { oid, name: refused_name, .. }) => {
                assert!(oid.starts_with("1.3.6.1.5.5.7.6."), "{name}");
                assert!(name.ends_with(refused_name), "{name} is called {refused_name}");
                assert!(matches!(
                    certificate.signature_algorithm(),
                    Err(Error::AlgorithmRefused { oid: again, .. }) if again == oid
                ));
                refused += 1;
                continue;
            }
            Err(other) => panic!("{name}: {other}"),
        };
        taken += 1;
        certificate.verify_signature(&key).unwrap();
        let algorithm = certificate.signature_algorithm().unwrap();
        key.verify(algorithm, &message, &bytes(&case["s"])).unwrap();
        let mut other = message.clone();
        other[0] ^= 1;
        assert_eq!(key.verify(algorithm, &other, &bytes(&case["s"])), Err(Error::BadSignature), "{name}");
        let der = bytes(&case["sk_pkcs8"]);
        if let SignatureAlgorithm::Composite(composite_algorithm) = algorithm {
            let private = composite::from_pkcs8(&der).unwrap();
            assert_eq!(private.public().algorithm(), composite_algorithm);
            assert_eq!(*composite::to_pkcs8(&private), der, "{name}");
            assert_eq!(private.encode(), bytes(&case["sk"]), "{name}");
            assert_eq!(private.public().encode(), bytes(&case["pk"]), "{name}");
            assert_eq!(composite::to_spki(private.public()), certificate.public_key(), "{name}");
            let signing = composite::CompositeKey::new(private);
            let signature = signing.sign(&message).unwrap();
            key.verify(signing.algorithm(), &message, &signature).unwrap();
            // Neither half alone, nor the halves of two signatures of different messages.
            let ml_dsa = composite_algorithm.level().signature_len();
            assert!(key.verify(algorithm, &message, &signature[..ml_dsa]).is_err());
            let of_other = signing.sign(&other).unwrap();
            let mixed = [&signature[..ml_dsa], &of_other[ml_dsa..]].concat();
            assert_eq!(key.verify(algorithm, &message, &mixed), Err(Error::BadSignature));
        } else {
            let private = pkcs8::from_der(&der).unwrap();
            assert_eq!(SigningKey::from_info(&private).unwrap().spki(), certificate.public_key());
        }
    }
    assert_eq!((taken, refused), (3 + 16, 2));
    println!("{taken} taken, {refused} refused by name");
}

#[test]
fn keys_sign_and_verify() {
    for algorithm in KeyAlgorithm::ALL {
        let secret = vec![1; algorithm.secret_len()];
        let mut secret = secret;
        secret[0] = 0;
        let key = SigningKey::from_info(&PrivateKeyInfo::new(algorithm, &secret, None).unwrap()).unwrap();
        let signature = key.sign(b"twelve pears").unwrap();
        let verifying = VerifyingKey::from_info(key.public()).unwrap();
        let shared = verifying.clone();
        std::thread::spawn(move || shared.verify(key.algorithm(), b"twelve pears", &signature).unwrap())
            .join()
            .unwrap();
        assert_eq!(verifying.algorithm_name(), algorithm.name());
        let wrong = if algorithm == KeyAlgorithm::Ed25519 {
            SignatureAlgorithm::Ecdsa(Hash::Sha256)
        } else {
            SignatureAlgorithm::Ed25519
        };
        assert!(matches!(verifying.verify(wrong, b"", &[]), Err(Error::AlgorithmMismatch { .. })));
    }
    let names = Certificate::from_pem(&data("openssl/names.crt")).unwrap();
    names.verify_signature(&VerifyingKey::from_spki(names.public_key()).unwrap()).unwrap();
}

#[test]
fn signature_algorithms_are_written_as_they_are_read() {
    let hashes = [Hash::Sha256, Hash::Sha384, Hash::Sha512];
    let levels = [Level::MlDsa44, Level::MlDsa65, Level::MlDsa87];
    let mut all = vec![SignatureAlgorithm::Ed25519];
    all.extend(hashes.map(SignatureAlgorithm::Ecdsa));
    all.extend(hashes.map(SignatureAlgorithm::RsaPkcs1));
    let salts = [0, 1, 19, 20, 21, 32, 127, 128, 222, 255, 256, 990];
    all.extend(hashes.into_iter().flat_map(|hash| salts.map(|salt| SignatureAlgorithm::RsaPss(hash, salt))));
    all.extend(levels.map(SignatureAlgorithm::MlDsa));
    all.extend(sealstone_composite::Algorithm::ALL.map(SignatureAlgorithm::Composite));
    for algorithm in all {
        assert_eq!(SignatureAlgorithm::from_der(&algorithm.to_der()), Ok(algorithm), "{algorithm}");
    }
}
