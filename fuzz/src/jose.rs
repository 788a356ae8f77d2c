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

/// What mutators put in the place of a leaf: names that readers know.
pub const JSON_WORDS: &[&[u8]] = &[
    b"alg",
    b"b64",
    b"crit",
    b"cty",
    b"crv",
    b"d",
    b"e",
    b"enc",
    b"ext",
    b"header",
    b"jku",
    b"jwk",
    b"k",
    b"key_ops",
    b"keys",
    b"kid",
    b"kty",
    b"n",
    b"p",
    b"payload",
    b"priv",
    b"protected",
    b"pub",
    b"signature",
    b"signatures",
    b"typ",
    b"use",
    b"x",
    b"x5c",
    b"x5t#S256",
    b"y",
    b"zip",
    b"iss",
    b"sub",
    b"aud",
    b"exp",
    b"nbf",
    b"iat",
    b"jti",
    b"AKP",
    b"EC",
    b"OKP",
    b"RSA",
    b"oct",
    b"P-256",
    b"P-384",
    b"P-521",
    b"secp256k1",
    b"Ed25519",
    b"Ed448",
    b"X25519",
    b"ML-DSA-44",
    b"ML-DSA-65",
    b"ML-DSA-87",
    b"ES256",
    b"ES384",
    b"ES512",
    b"EdDSA",
    b"RS256",
    b"PS256",
    b"HS256",
    b"none",
    b"dir",
    b"ML-DSA-44-Ed25519",
    b"ML-DSA-65-Ed25519",
    b"ML-DSA-87-Ed448",
    b"ML-DSA-44-ES256",
    b"EdDSA+ML-DSA-65",
    b"pq_alg",
    b"JWT",
    b"at+jwt",
    b"sig",
    b"sign",
    b"verify",
    b"true",
    b"false",
    b"null",
    b"0",
    b"-1",
    b"1e400",
    b"1.5",
    b"1800000300",
    b"9007199254740993",
    b"18446744073709551616",
    b"{}",
    b"[]",
    b"\\u0000",
    b"\\ud800",
    b"\\u0061",
    b"AA",
    b"AA==",
    b"e30",
    b"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
];

/// Numbers of COSE, eight bytes each, and names.
pub const CBOR_WORDS: &[&[u8]] = &[
    &[0; 8],
    &word(1),
    &word(2),
    &word(3),
    &word(4),
    &word(5),
    &word(6),
    &word(7),
    &word(15),
    &word(16),
    &word(18),
    &word(23),
    &word(24),
    &word(25),
    &word(47),
    &word(48),
    &word(49),
    &word(53),
    &word(60),
    &word(65_535),
    &word(65_536),
    &word(u64::MAX),
    b"Signature1",
    b"text/plain",
    b"application/cwt",
    b"",
    b"\xff",
    &[0xa0],
    &[0x11; 32],
    &[0; 64],
];

const fn word(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

/// A number of the input: what it decides is decided in the same way each time. FNV-1a.
fn number(input: &[u8]) -> u64 {
    let hash = input.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash >> 32
}

/// Whether signatures are computed with for this input: for one of 64. They take a hundred times as long as all else.
fn chosen(input: &[u8]) -> bool {
    number(input) % 64 == 0
}

/// Any text as a token of each kind, and as the header and payload of one whose signature is as long as it must be: no panic,
/// and nothing verifies. As the payload of a good one: what is written is read, and claims are those that were signed.
pub fn jws(input: &[u8]) {
    let chosen = chosen(input);
    let (header, payload) =
        input.split_at(input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len() / 2));
    token(&String::from_utf8_lossy(input), chosen);
    // Long signatures are rare: what is looked for is not in them.
    let len = if number(input) / 64 % 8 == 0 { 2_420 } else { 64 };
    let (head, body, signature) = (b64(header), b64(payload), b64(&vec![0; len]));
    match number(input) / 512 % 3 {
        0 => token(&format!("{head}.{body}.{signature}"), chosen),
        1 => token(&format!("{head}..{signature}"), chosen),
        _ => {
            let members =
                format!("\"payload\":\"{body}\",\"protected\":\"{head}\",\"signature\":\"{signature}\"");
            token(&format!("{{{members}}}"), chosen);
        }
    }
    if let Ok(claims) =
        std::str::from_utf8(payload).map_err(drop).and_then(|text| Claims::parse(text).map_err(drop))
    {
        assert_eq!(Claims::parse(&claims.to_json()).expect("written by us"), claims);
    }
    let typ = String::from_utf8_lossy(header);
    if chosen && let Ok(token) = jws::encode(&SIGNER, &Header::new().typ(&typ), payload) {
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

fn token(text: &str, chosen: bool) {
    if let Ok(token) = Unverified::parse(text) {
        assert!(!token.header().algorithm().name().is_empty());
    }
    let _ = Detached::parse(text);
    let document = General::parse(text);
    let _ = Unverified::parse_mac(text).map(|token| token.header().algorithm());
    let _ = Unverified::parse_composite(text).map(|token| token.header().algorithm());
    let _ = Unverified::parse_hybrid(text).map(|token| token.header().algorithm());
    if !chosen {
        return;
    }
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
    if let Ok(document) = document {
        let document = if document.has_payload() { Ok(document) } else { document.with_payload(b"payload") };
        let document = document.expect("it had none");
        assert!(KEYS.iter().all(|key| document.verify(key).is_err()));
        let set = JwkSet::new(KEYS.iter().cloned()).expect("five keys");
        assert!(document.verify_any(&set).is_err() && document.verify_all(&set).is_err());
    }
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
    let _ = cose::Unverified::parse_composite(input).map(|message| message.header().algorithm());
    if let Ok(message) = cose::Unverified::parse(input) {
        let header = message.header();
        for (label, value) in header.protected().iter().chain(header.unprotected()) {
            assert!(!format!("{label}{value}").is_empty());
        }
    }
    if !chosen(input) {
        return;
    }
    for key in &*KEYS {
        if let Ok(message) = cose::Unverified::parse(input) {
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
