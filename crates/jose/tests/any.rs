//! Signatures of composite keys in every form but compact: detached, streamed, unencoded, in JSON, alone and beside standard ones;
//! and that a reader of standard signatures takes none of them.

use sealstone_composite as pair;
use sealstone_jose::any::{self, JwkSet, PublicKey};
use sealstone_jose::jws::{self, Detached, General, Header, Signer};
use sealstone_jose::{Algorithm, Error, PrivateKey, composite};
use serde_json::{Value, json};

use crate::{assert_refused, b64, unb64};

fn composite_key(algorithm: composite::Algorithm) -> any::PrivateKey {
    composite::PrivateKey::generate(algorithm).unwrap().into()
}

fn standard_key(algorithm: Algorithm) -> any::PrivateKey {
    PrivateKey::generate(algorithm).unwrap().into()
}

fn headers() -> [Header; 2] {
    [Header::new(), Header::new().unencoded()]
}

#[test]
fn every_form_there_and_back_and_no_other_payload() {
    for algorithm in composite::Algorithm::ALL {
        let key = composite_key(algorithm);
        let (public, set) = (key.public(), JwkSet::new([key.public()]).unwrap());
        for header in headers() {
            let whole = jws::encode_detached(&key, &header, b"a report").unwrap();
            let mut signer = Signer::new(&key, &header).unwrap();
            for piece in [&b"a r"[..], b"", b"epo", b"rt"] {
                signer.update(piece);
            }
            for token in [whole, signer.finish().unwrap()] {
                let read = || Detached::parse_any(&token).unwrap();
                assert_eq!(read().header().algorithm().name(), algorithm.name());
                assert_eq!(read().key_in(&set).unwrap(), &public);
                assert_eq!(read().verify(&public, b"a report").unwrap().kid(), Some(public.kid()));
                assert_eq!(read().verify(&public, b"a repord").map(drop), Err(Error::BadSignature));
                let mut verifier = read().verifier(&public).unwrap();
                verifier.update(b"a re");
                verifier.update(b"port");
                assert!(verifier.finish().is_ok(), "{algorithm}");
                let mut verifier = read().verifier(&public).unwrap();
                verifier.update(b"a repor");
                assert_eq!(verifier.finish().map(drop), Err(Error::BadSignature));
                assert_refused("a standard reader", Detached::parse(&token), "algorithm unknown");
            }
            for text in [
                General::flattened(&key, &header, b"twelve pears").unwrap(),
                General::sign(b"twelve pears", &[(&key, &header)]).unwrap(),
            ] {
                let document = General::parse_any(&text).unwrap();
                assert_eq!(document.verify(&public).unwrap().0, b"twelve pears");
                assert_eq!(document.verify_all(&set).unwrap(), b"twelve pears");
                assert_refused("a standard reader", General::parse(&text), "algorithm unknown");
                let mut other: Value = serde_json::from_str(&text).unwrap();
                other["payload"] = match header == Header::new() {
                    true => b64("twelve bears").into(),
                    false => "twelve bears".into(),
                };
                let document = General::parse_any(&other.to_string()).unwrap();
                assert_refused("another payload", document.verify_all(&set), "signature");
            }
        }
    }
}

#[test]
fn both_halves_are_needed_and_neither_is_enough() {
    for algorithm in [composite::Algorithm::MlDsa65Ed25519, composite::Algorithm::MlDsa44Es256] {
        let key = composite_key(algorithm);
        let token = jws::encode_detached(&key, &Header::new(), b"x").unwrap();
        let other = jws::encode_detached(&key, &Header::new(), b"y").unwrap();
        let (head, signature) = token.rsplit_once('.').unwrap();
        let (signature, other) = (unb64(signature), unb64(other.rsplit_once('.').unwrap().1));
        let cut = algorithm.pair().level().signature_len();
        // A good half of each message: what a verifier that looks at one of them would take.
        let halves =
            [[&signature[..cut], &other[cut..]].concat(), [&other[..cut], &signature[cut..]].concat()];
        for mixed in halves {
            let token = Detached::parse_any(&format!("{head}.{}", b64(mixed))).unwrap();
            assert_eq!(token.verify(&key.public(), b"x").map(drop), Err(Error::BadSignature), "{algorithm}");
        }
        assert_refused(
            "one half",
            Detached::parse_any(&format!("{head}.{}", b64(&signature[..cut]))),
            "composite",
        );
    }
}

/// The algorithm is the key's: a token that names another, of either kind, is refused before its signature is looked at.
#[test]
fn no_key_checks_what_names_another_algorithm() {
    let keys = [
        composite_key(composite::Algorithm::MlDsa44Ed25519),
        composite_key(composite::Algorithm::MlDsa44Es256),
        standard_key(Algorithm::MlDsa44),
        standard_key(Algorithm::Ed25519),
    ];
    for (at, signer) in keys.iter().enumerate() {
        let token = jws::encode_detached(signer, &Header::new(), b"x").unwrap();
        let text = General::flattened(signer, &Header::new(), b"x").unwrap();
        for (other, reader) in keys.iter().enumerate() {
            let (public, document) = (reader.public(), General::parse_any(&text).unwrap());
            let read = || Detached::parse_any(&token).unwrap();
            if other == at {
                assert!(read().verify(&public, b"x").is_ok() && document.verify(&public).is_ok());
                continue;
            }
            let expected = if at >= 2 && other >= 2 { "algorithm mismatch" } else { "kind mismatch" };
            assert_refused("whole", read().verify(&public, b"x"), expected);
            if public.takes_pieces() {
                assert_refused("in pieces", read().verifier(&public).map(|_| ()), expected);
            }
            assert_refused("in JSON", document.verify(&public).map(drop), "none verifies");
        }
    }
}

/// ML-DSA alone does not pass for the half of a composite key, though its bytes are the same key.
#[test]
fn a_half_of_a_key_signs_nothing_for_the_whole() {
    let seed = [7; 32];
    let half = PrivateKey::from_secret(Algorithm::MlDsa65, &seed).unwrap();
    let whole = composite::PrivateKey::from_secret(composite::Algorithm::MlDsa65Ed25519, &[7; 64]).unwrap();
    assert_eq!(half.public().as_bytes(), &whole.public().as_bytes()[..1952]);
    let token = jws::encode_detached(&any::PrivateKey::from(half), &Header::new(), b"x").unwrap();
    let (_, signature) = token.rsplit_once('.').unwrap();
    let mine = jws::encode_detached(&any::PrivateKey::from(whole.clone()), &Header::new(), b"x").unwrap();
    let (head, composite) = mine.rsplit_once('.').unwrap();
    let forged = [unb64(signature), unb64(composite)[3309..].to_vec()].concat();
    let forged = Detached::parse_any(&format!("{head}.{}", b64(forged))).unwrap();
    let public = PublicKey::from(whole.public().clone());
    assert_eq!(forged.verify(&public, b"x").map(drop), Err(Error::BadSignature));
}

#[test]
fn composite_and_standard_signatures_side_by_side() {
    let (old, new) = (standard_key(Algorithm::Es256), composite_key(composite::Algorithm::MlDsa65Ed25519));
    let header = Header::new().cty("text/plain");
    let text = General::sign(b"of both worlds", &[(&old, &header), (&new, &header)]).unwrap();
    let document = General::parse_any(&text).unwrap();
    assert_eq!(
        document.headers().map(|header| header.algorithm().name()).collect::<Vec<_>>(),
        ["ES256", "ML-DSA-65-Ed25519"]
    );
    let set = JwkSet::new([new.public(), old.public()]).unwrap();
    assert_eq!(document.verify_all(&set).unwrap(), b"of both worlds");
    let alone = JwkSet::new([new.public()]).unwrap();
    assert_refused("all, and one is missing", document.verify_all(&alone), "unknown kid");
    assert_eq!(document.verify_any(&alone).unwrap().1.algorithm(), new.algorithm());
    assert_refused("a standard reader", General::parse(&text), "algorithm unknown");
}

#[test]
fn keys_are_found_by_id_or_as_the_only_one() {
    let [first, second] = [0, 1].map(|_| composite_key(composite::Algorithm::MlDsa44Ed25519));
    let standard = standard_key(Algorithm::MlDsa44);
    let token = jws::encode_detached(&first, &Header::new().without_kid(), b"x").unwrap();
    let token = || Detached::parse_any(&token).unwrap();
    let one = JwkSet::new([standard.public(), first.public()]).unwrap();
    assert_eq!(token().key_in(&one).unwrap(), &first.public());
    let two = JwkSet::new([second.public(), first.public()]).unwrap();
    assert_eq!(token().key_in(&two).map(drop), Err(Error::AmbiguousKey { candidates: 2 }));
    let none = JwkSet::new([standard.public()]).unwrap();
    assert_eq!(token().key_in(&none).map(drop), Err(Error::AmbiguousKey { candidates: 0 }));
    let named = jws::encode_detached(&first, &Header::new(), b"x").unwrap();
    let named = Detached::parse_any(&named).unwrap();
    assert_eq!(named.key_in(&two).unwrap(), &first.public());
    assert_refused("unknown", named.key_in(&none), "unknown kid");
}

#[test]
fn sets_hold_both_kinds_each_id_once() {
    let (old, new) = (standard_key(Algorithm::MlDsa44), composite_key(composite::Algorithm::MlDsa44Es256));
    let twice = JwkSet::new([new.public(), new.public()]);
    assert_refused("twice", twice, "duplicate kid");
    let same = match new.clone() {
        any::PrivateKey::Composite(key) => any::PrivateKey::from(key.with_kid(old.kid())),
        any::PrivateKey::Standard(_) => unreachable!(),
    };
    assert_refused("one id for two kinds", JwkSet::new([old.public(), same.public()]), "duplicate kid");

    let jwk =
        |key: &any::PrivateKey| -> Value { serde_json::from_str(&key.public().to_jwk().to_json()).unwrap() };
    let short = json!({"kty": "AKP", "alg": "ML-DSA-44-ES256", "pub": "AAAA"});
    let foreign = json!({"kty": "AKP", "alg": "SLH-DSA-SHA2-128s", "pub": "AAAA"});
    let text = json!({"keys": [short, jwk(&new), foreign, jwk(&old)]}).to_string();
    let set = JwkSet::parse(text.as_bytes()).unwrap();
    assert_eq!(set.keys(), [old.public(), new.public()]);
    assert_eq!(set.standard().keys().len(), 1);
    let ignored: Vec<_> = set.ignored().iter().map(|one| (one.index, crate::kind(&one.reason))).collect();
    assert_eq!(ignored, [(0, "composite"), (2, "algorithm unknown")]);
    let any::PrivateKey::Composite(private) = &new else { unreachable!() };
    let private: Value = serde_json::from_str(&private.to_jwk()).unwrap();
    let text = json!({"keys": [private]}).to_string();
    assert_refused("a private key in a set", JwkSet::parse(text.as_bytes()), "private member");
}

/// A signature in the encoding of revision -03 is named, streamed or not.
#[test]
fn the_encoding_of_an_older_revision_is_named() {
    let key = composite_key(composite::Algorithm::MlDsa44Es256);
    let token = jws::encode_detached(&key, &Header::new(), b"x").unwrap();
    let (head, signature) = token.rsplit_once('.').unwrap();
    let mut raw = unb64(signature)[..2420].to_vec();
    raw.extend_from_slice(&[1; 64]);
    let token = format!("{head}.{}", b64(raw));
    let expected =
        Err(Error::Composite(pair::Error::RawEcdsa { algorithm: pair::Algorithm::MlDsa44EcdsaP256 }));
    assert_eq!(Detached::parse_any(&token).unwrap().verify(&key.public(), b"x").map(drop), expected);
    let mut verifier = Detached::parse_any(&token).unwrap().verifier(&key.public()).unwrap();
    verifier.update(b"x");
    assert_eq!(verifier.finish().map(drop), expected);
}
