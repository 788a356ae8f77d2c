//! Keys, key sets and tokens in JSON and CBOR: what anybody may send.

use std::sync::LazyLock;

use sealstone_jose::jws::{self, Detached, General, Header, Unverified};
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::{Algorithm, Jwk, JwkSet, PrivateKey, PublicKey, UnixSeconds, composite, cose, legacy};

static SIGNER: LazyLock<PrivateKey> = LazyLock::new(|| key(Algorithm::Ed25519));
static KEYS: LazyLock<Vec<PublicKey>> = LazyLock::new(|| {
    let algorithms =
        [Algorithm::Ed25519, Algorithm::Es256, Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87];
    algorithms.map(|algorithm| key(algorithm).public().clone()).to_vec()
});

fn key(algorithm: Algorithm) -> PrivateKey {
    PrivateKey::from_secret(algorithm, &[7; 32]).expect("a seed and a scalar in range")
}

/// Any text as a token of each kind; and as the header and payload of one whose signature is as long as it must be: no panic,
/// and nothing verifies. As the payload of a good one: what is written is read, and claims are those that were signed.
pub fn jws(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    token(&text);
    let (header, payload) =
        input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len() / 2));
    for len in [64, 2_420] {
        token(&format!("{}.{}.{}", b64(header), b64(payload), b64(&vec![0; len])));
        token(&format!("{}..{}", b64(header), b64(&vec![0; len])));
        let document = format!(
            "{{\"payload\":\"{}\",\"protected\":\"{}\",\"signature\":\"{}\"}}",
            b64(payload),
            b64(header),
            b64(&vec![0; len])
        );
        token(&document);
    }

    let typ = String::from_utf8_lossy(header);
    if let Ok(token) = jws::encode(&SIGNER, &Header::new().typ(&typ), payload) {
        let read = Unverified::parse(&token).expect("what is written is read");
        let verified = read.verify(SIGNER.public()).expect("and its signature is good");
        assert_eq!((verified.payload(), verified.header().typ()), (payload, Some(&*typ)));
        let rules = Rules::new().any_issuer().any_audience().any_typ().without_expiry();
        if let Ok(token) = rules.check(verified, UnixSeconds(1_800_000_000)) {
            let written = token.claims().to_json();
            assert_eq!(&Claims::parse(&written).expect("written by us"), token.claims());
        }
    }
}

fn token(text: &str) {
    let rules = Rules::new();
    for key in &*KEYS {
        if let Ok(token) = Unverified::parse(text) {
            let alone = Unverified::parse(text).and_then(|token| token.verify(key).map(|_| ()));
            let together = Unverified::verify_all(vec![(token, key)]).remove(0);
            assert_eq!(alone, together.as_ref().map(|_| ()).map_err(Clone::clone));
            let checked = together.and_then(|verified| rules.check(verified, UnixSeconds(0)).map(|_| ()));
            assert!(checked.is_err());
        }
        if let Ok(token) = Detached::parse(text) {
            assert!(token.verify(key, b"payload").is_err());
        }
    }
    if let Ok(document) = General::parse(text) {
        let document = if document.has_payload() { Ok(document) } else { document.with_payload(b"payload") };
        let document = document.expect("it had none");
        assert!(KEYS.iter().all(|key| document.verify(key).is_err()));
        let set = JwkSet::new(KEYS.iter().cloned()).expect("five keys");
        assert!(document.verify_any(&set).is_err() && document.verify_all(&set).is_err());
    }
    let _ = Unverified::parse_mac(text).map(|token| token.header().algorithm());
    let _ = Unverified::parse_composite(text).map(|token| token.header().algorithm());
    let _ = Unverified::parse_hybrid(text).map(|token| token.header().algorithm());
}

/// Any text as a key: no panic; what is read is written in JSON and in CBOR, and read from both as the same key.
pub fn jwk(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    if let Ok(key) = PublicKey::from_jwk(&text) {
        let written = key.to_jwk().to_json();
        let again = PublicKey::from_jwk(&written).expect("written by us");
        assert_eq!((&again, again.kid(), again.to_jwk().to_json()), (&key, key.kid(), written));
        assert_eq!(PublicKey::from_cose(&key.to_cose()).as_ref(), Ok(&key));
        assert!(PrivateKey::from_jwk(&text).is_err());
    }
    if let Ok(key) = PrivateKey::from_jwk(&text) {
        let again = PrivateKey::from_jwk(&key.to_jwk().to_json()).expect("written by us");
        assert_eq!((again.secret(), again.kid()), (key.secret(), key.kid()));
        let again = PrivateKey::from_cose(&key.to_cose()).expect("written by us");
        assert_eq!(again.secret(), key.secret());
        assert!(PublicKey::from_jwk(&text).is_err());
    }
    if let Ok(key) = composite::PublicKey::from_jwk(&text) {
        let again = composite::PublicKey::from_jwk(&key.to_jwk().to_json()).expect("written by us");
        assert_eq!((again.as_bytes(), again.kid()), (key.as_bytes(), key.kid()));
    }
    let _ = composite::PrivateKey::from_jwk(&text).map(|key| key.to_jwk());
    let _ = legacy::ExpandedKey::from_jwk(&text);
}

/// Any bytes as a set: no panic; what is read is written again, and every key of it is found by its names.
pub fn jwks(input: &[u8]) {
    let Ok(set) = JwkSet::parse(input) else { return };
    let written = set.to_json();
    let again = JwkSet::parse(written.as_bytes()).expect("written by us");
    assert_eq!((again.keys(), again.ignored().len(), again.to_json()), (set.keys(), 0, written));
    for key in set.keys() {
        assert_eq!(set.find(key.kid()), Some(key));
        assert!(set.by_thumbprint(key.thumbprint()).is_some());
        let json: Jwk = key.to_jwk();
        for member in ["\"d\":", "\"priv\":", "\"k\":", "\"seed\":"] {
            assert!(!json.to_json().contains(member));
        }
    }
}

/// Any bytes as a key and as a message in CBOR: no panic; a key that is read is written again as the same key, deterministically;
/// no message verifies, and one that is signed over them does.
pub fn cose(input: &[u8]) {
    if let Ok(key) = PublicKey::from_cose(input) {
        let written = key.to_cose();
        let again = PublicKey::from_cose(&written).expect("written by us");
        assert_eq!((&again, again.cose_kid(), again.to_cose()), (&key, key.cose_kid(), written));
        assert!(PublicKey::from_jwk(&key.to_jwk().to_json()).is_ok());
    }
    if let Ok(key) = PrivateKey::from_cose(input) {
        let written = key.to_cose();
        assert_eq!(PrivateKey::from_cose(&written).expect("written by us").to_cose(), written);
    }
    let _ = composite::PublicKey::from_cose(input).map(|key| key.to_cose());
    for key in &*KEYS {
        if let Ok(message) = cose::Unverified::parse(input) {
            let header = message.header();
            for (label, value) in header.protected().iter().chain(header.unprotected()) {
                assert!(!format!("{label}{value}").is_empty());
            }
            let verified = match message.is_detached() {
                true => message.verify_detached(key, b"payload"),
                false => message.verify(key),
            };
            assert!(verified.is_err());
        }
    }
    let (aad, payload) = input.split_at(input.len() / 2);
    let signed = cose::Sign1::new().external_aad(aad).sign(&SIGNER, payload).expect("no limit is near");
    let verify = |aad| {
        cose::Unverified::parse(&signed).expect("written by us").external_aad(aad).verify(SIGNER.public())
    };
    assert_eq!(verify(aad).expect("its signature is good").payload(), payload);
    assert!(aad.is_empty() || verify(&[]).is_err());
}

/// RFC 4648 §5, without padding.
fn b64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len() * 4 / 3 + 3);
    for group in bytes.chunks(3) {
        let bits =
            group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        (0..=group.len())
            .for_each(|at| text.push(char::from(ALPHABET[(bits >> (18 - 6 * at) & 63) as usize])));
    }
    text
}
