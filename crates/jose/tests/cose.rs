//! COSE_Key and COSE_Sign1: the examples of RFC 9964 and of the composite draft, round trips, and what must be refused.

use std::fs;
use std::path::PathBuf;

use sealstone_jose::cose::{ContentType, Sign1, Unverified};
use sealstone_jose::{Algorithm, Error, PrivateKey, PublicKey, composite, cose};
use sealstone_mldsa::{Context, any};
use serde_json::Value;

use crate::{Row, assert_refused, hex, row, unhex};

fn folder(name: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from).join("jose").join(name);
    if !folder.is_dir() {
        println!("skipped: vectors of {name} (no folder of vectors)");
        return None;
    }
    Some(folder)
}

fn vector(folder: &std::path::Path, name: &str) -> impl Fn(&str) -> Vec<u8> + use<> {
    let text = fs::read_to_string(folder.join(format!("{name}.cose.json"))).unwrap();
    let vector: Value = serde_json::from_str(&text).unwrap();
    move |member| unhex(vector[member].as_str().unwrap())
}

/// What `key` would sign if it signed deterministically, as only the examples do.
fn deterministic(key: &PrivateKey, message: &[u8]) -> Vec<u8> {
    let seed: [u8; 32] = key.secret().as_slice().try_into().unwrap();
    let key = any::SigningKey::from_seed(key.algorithm().level().unwrap(), &seed);
    key.sign_deterministic(Context::EMPTY, message).unwrap().encode().to_vec()
}

/// RFC 9964 Appendix A.2, for a machine without vectors: thumbprint, SHA-256 of the whole message.
const RFC9964: [(Algorithm, &str, &str); 3] = [
    (
        Algorithm::MlDsa44,
        "b8969ab4b37da9f0684e42647eb8a0be8b5b661ebf5d76f0583bf5b8d3a8059a",
        "662dd8373250badecbbf5f637791cdc81773277cea5b6d237d6a8c1c9a09505c",
    ),
    (
        Algorithm::MlDsa65,
        "b788acf242f1f1d6532926d816e76e1636874267f2a48c84c4e65789ab80cc02",
        "9668576da54152cc578b740106d17e4ada88fb3a28471fd3296c22e606c86812",
    ),
    (
        Algorithm::MlDsa87,
        "d9bc439f97bd6d4093e68f0f3fcf09c9a97adf888ed7308dd565247a166cb4fa",
        "206ce0b57b39dfc1e688ed5a89bd19ca4b8cebb52acc82c3dfd6c86c0de760fa",
    ),
];

#[test]
fn rfc9964_a2_by_digest() {
    for (algorithm, thumbprint, message_digest) in RFC9964 {
        let key = PrivateKey::from_secret(algorithm, &[0; 32]).unwrap();
        assert_eq!(hex(&key.public().cose_thumbprint()), thumbprint, "{algorithm}");
        let sign = |message: &[u8]| Ok(deterministic(&key, message));
        let message = Sign1::new().sign_by(key.public(), b"hello post quantum signatures", sign).unwrap();
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &message);
        assert_eq!(hex(digest.as_ref()), message_digest, "{algorithm}");
    }
}

#[test]
fn rfc9964_a2() {
    let Some(folder) = folder("cose") else { return };
    for algorithm in [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        let vector = vector(&folder, &algorithm.name().replace('-', "_"));
        let key = PrivateKey::from_cose(&vector("key")).unwrap();
        assert_eq!((key.algorithm(), key.secret().as_slice()), (algorithm, vector("priv").as_slice()));
        assert_eq!(key.public().as_bytes(), vector("raw_public_key"));

        let message = vector("sign1");
        let unverified = Unverified::parse(&message).unwrap();
        assert!(unverified.is_tagged() && !unverified.is_detached());
        assert_eq!(unverified.header().kid(), Some(&*key.public().cose_kid()), "the kid is the thumbprint");
        assert_eq!(unverified.header().kid(), Some(&key.public().cose_thumbprint()[..]));
        let verified = unverified.verify(key.public()).unwrap();
        assert_eq!(verified.payload(), b"hello post quantum signatures");

        // The other direction, to the byte.
        let mut signed = Vec::new();
        let ours = Sign1::new()
            .sign_by(key.public(), verified.payload(), |to_be_signed| {
                signed = to_be_signed.to_vec();
                Ok(deterministic(&key, to_be_signed))
            })
            .unwrap();
        assert_eq!(hex(&signed), hex(&vector("raw_to_be_signed")), "{algorithm}");
        assert_eq!(ours, message, "{algorithm}");
        // The example's key has its members in no order; ours has the same members in that of RFC 8949 §4.2.1.
        let written = key.to_cose();
        assert_eq!(written.len(), vector("key").len());
        assert_eq!(PrivateKey::from_cose(&written).unwrap().to_cose(), written);
        assert_refused("as a public key", PublicKey::from_cose(&vector("key")), "private member");
    }
}

#[test]
fn composite_examples() {
    let Some(folder) = folder("cose-composite") else { return };
    for algorithm in composite::Algorithm::ALL {
        let vector = vector(&folder, algorithm.name());
        let key = composite::PrivateKey::from_cose(&vector("key"));
        let message = vector("sign1");
        let unverified = Unverified::parse_composite(&message);
        if algorithm.name().contains("-ES") {
            // Revision -03: named for what it is, not taken.
            let error = key.unwrap_err().to_string();
            assert!(error.contains("-03"), "{error}");
            let raw = unverified.and_then(|message| {
                let now = composite::PrivateKey::generate(algorithm)?;
                message.verify_composite(now.public(), None).map(|_| ())
            });
            assert!(raw.is_err(), "{algorithm}");
            continue;
        }
        let key = key.unwrap();
        let verified = unverified.unwrap().verify_composite(key.public(), None).unwrap();
        assert_eq!(verified.payload(), b"hello post quantum signatures");
        assert_eq!(key.public().as_bytes(), vector("raw_public_key"));
        let ours = key.sign1(&Sign1::new(), b"x").unwrap();
        assert_refused("standard reader", Unverified::parse(&ours), "algorithm unknown");
    }
}

/// What both forms of every key say is the same key.
#[test]
fn keys_round_trip() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        for key in [key.clone(), key.clone().with_kid("k-1"), key.with_kid("é")] {
            let (private, public) = (key.to_cose(), key.public().to_cose());
            let read = PrivateKey::from_cose(&private).unwrap();
            assert_eq!((read.secret(), read.kid()), (key.secret(), key.kid()), "{algorithm}");
            assert_eq!(read.to_cose(), private, "{algorithm}");
            let read = PublicKey::from_cose(&public).unwrap();
            assert_eq!((&read, read.kid()), (key.public(), key.kid()), "{algorithm}");
            assert_eq!(read.to_cose(), public, "{algorithm}");
            assert_eq!(read.to_jwk().to_json(), key.public().to_jwk().to_json());
            assert_refused("the private one as public", PublicKey::from_cose(&private), "private member");
            assert_refused("the public one as private", PrivateKey::from_cose(&public), "key malformed");
            let secret = key.secret();
            assert!(!public.windows(32.min(secret.len())).any(|window| window == &secret[..window.len()]));
        }
    }
    for algorithm in composite::Algorithm::ALL {
        let key = composite::PrivateKey::generate(algorithm).unwrap();
        assert_eq!(composite::PrivateKey::from_cose(&key.to_cose()).unwrap().to_cose(), key.to_cose());
        let public = composite::PublicKey::from_cose(&key.public().to_cose()).unwrap();
        assert_eq!(public.as_bytes(), key.public().as_bytes());
        let form = Sign1::new().detached().external_aad(b"a");
        let message = key.sign1(&form, b"x").unwrap();
        let parse = || Unverified::parse_composite(&message).unwrap();
        assert!(parse().external_aad(b"a").verify_composite(&public, Some(b"x")).is_ok());
        assert_refused("without", parse().verify_composite(&public, Some(b"x")), "signature");
        assert_refused(
            "no payload",
            parse().external_aad(b"a").verify_composite(&public, None),
            "no payload",
        );
    }
}

/// A key id of COSE need not be a text: it is kept, and JSON gets the thumbprint.
#[test]
fn binary_key_ids() {
    let key = PrivateKey::generate(Algorithm::Ed25519).unwrap();
    let named = key.public().to_cose();
    let own = key.public().cose_thumbprint();
    let at = named.windows(32).position(|window| window == own).unwrap();
    let mut other = named.clone();
    other[at..at + 32].copy_from_slice(&[0xff; 32]);
    let read = PublicKey::from_cose(&other).unwrap();
    assert_eq!((&*read.cose_kid(), read.kid()), (&[0xff; 32][..], key.kid()));
    assert_eq!(read.to_cose(), other);
    assert!(!read.to_jwk().to_json().contains('\u{fffd}'));
}

/// RFC 9679 §6: the thumbprint of an EC2 key, whose members come in another order and with others between them.
#[test]
fn rfc9679_example() {
    let bytes = unhex(
        "a50102200121582065eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d2258201e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c\
         0258246d65726961646f632e6272616e64796275636b406275636b6c616e642e6578616d706c65",
    );
    let key = PublicKey::from_cose(&bytes).unwrap();
    assert_eq!(
        hex(&key.cose_thumbprint()),
        "496bd8afadf307e5b08c64b0421bf9dc01528a344a43bda88fadd1669da253ec"
    );
    assert_eq!(key.kid(), "meriadoc.brandybuck@buckland.example");
}

#[test]
fn messages_round_trip() {
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        let forms = [
            Sign1::new(),
            Sign1::new().untagged().content_format(50),
            Sign1::new().detached().external_aad(b"aad").typ("application/x"),
            Sign1::new().without_kid().content_type("text/plain"),
        ];
        for (number, form) in forms.into_iter().enumerate() {
            for payload in [&b""[..], b"x", &[7; 70_000]] {
                let message = form.sign(&key, payload).unwrap();
                let parsed = Unverified::parse(&message).unwrap();
                assert_eq!(parsed.is_tagged(), number != 1);
                let header = parsed.header().clone();
                assert_eq!(header.kid().is_some(), number != 3);
                let types = (header.content_type(), header.typ());
                let media = |media: &str| Some(ContentType::Media(media.into()));
                let expected = match number {
                    0 => (None, None),
                    1 => (Some(ContentType::Format(50)), None),
                    2 => (None, media("application/x")),
                    _ => (media("text/plain"), None),
                };
                assert_eq!(types, expected);
                let verified = match number {
                    2 => parsed.external_aad(b"aad").verify_detached(key.public(), payload),
                    _ => parsed.verify(key.public()),
                };
                assert_eq!(verified.unwrap().payload(), payload, "{algorithm}");
            }
        }
    }
}

/// Every bit of a message counts, and so does what was signed beside it.
#[test]
fn nothing_can_be_changed() {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let message = Sign1::new().content_type("a/b").external_aad(b"aad").sign(&key, b"payload").unwrap();
    let verify = |message: &[u8], aad: &[u8]| {
        Unverified::parse(message).and_then(|it| it.external_aad(aad).verify(key.public()).map(|_| ()))
    };
    assert!(verify(&message, b"aad").is_ok());
    for aad in [&b""[..], b"aa", b"aad "] {
        assert_refused("aad", verify(&message, aad), "signature");
    }
    for bit in 0..message.len() * 8 {
        let mut other = message.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&other, b"aad").is_err(), "bit {bit}");
    }
    for len in 0..message.len() {
        assert!(verify(&message[..len], b"aad").is_err());
    }
}

/// The same in hexadecimal, some items long.
pub(crate) fn key_cases() -> Vec<(String, Vec<u8>, &'static str)> {
    let akp = |more: &str| unhex(&format!("{more}20590520{}", "11".repeat(1312)));
    let ed = "215820d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
    let okp = |head: &str| unhex(&format!("{head}2006{ed}"));
    let ec = |head: &str| {
        unhex(&format!(
            "{head}200121582065eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d2258201e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c"
        ))
    };
    let cases: Vec<(&str, Vec<u8>, &'static str)> = vec![
        ("nothing", vec![], "cbor"),
        ("an array", unhex("80"), "key malformed"),
        ("an empty map", unhex("a0"), "key malformed"),
        ("a JWK", br#"{"kty":"AKP"}"#.to_vec(), "cbor"),
        ("kty a name", akp("a3016341 4b50 03382f".replace(' ', "").as_str()), "key malformed"),
        ("kty 4, symmetric", unhex("a201042041aa"), "key type"),
        ("kty 5, HSS-LMS", unhex("a201052041aa"), "key type"),
        ("kty of 0", unhex("a20100 2041aa".replace(' ', "").as_str()), "key type"),
        ("AKP without alg", akp("a20107"), "key malformed"),
        ("AKP with alg a name", akp("a3010703694d4c2d4453412d3434"), "key malformed"),
        ("AKP with ES256", akp("a301070326"), "key malformed"),
        ("AKP with EdDSA", akp("a301070327"), "key malformed"),
        ("AKP with the alg of another level", akp("a30107033830"), "key malformed"),
        ("AKP with a composite alg", akp("a301070338 35".replace(' ', "").as_str()), "algorithm unknown"),
        ("AKP with alg 0", akp("a301070300"), "algorithm unknown"),
        ("AKP with alg of 65 bits", akp("a30107033bffffffffffffffff"), "algorithm unknown"),
        ("AKP with pub a text", unhex("a3010703382f20626161"), "key malformed"),
        (
            "AKP with pub one byte short",
            unhex(&format!("a3010703382f2059051f{}", "11".repeat(1311))),
            "key malformed",
        ),
        (
            "AKP with pub one byte long",
            unhex(&format!("a3010703382f20590521{}", "11".repeat(1313))),
            "key malformed",
        ),
        ("AKP without pub", unhex("a2010703382f"), "key malformed"),
        ("AKP with a seed", akp(&format!("a4010703382f215820{}", "00".repeat(32))), "private member"),
        ("AKP with a private member of no length", akp("a4010703382f2140"), "private member"),
        ("AKP with a curve behind it", akp("a4010703382f2201"), "key malformed"),
        ("AKP with d of EC2", akp("a4010703382f2341aa"), "key malformed"),
        ("a label twice", akp("a4010701 0703382f".replace(' ', "").as_str()), "cbor"),
        ("kty twice, the other a bignum", akp("a40107c2410101 03382f".replace(' ', "").as_str()), "cbor"),
        ("a label that is an array", akp("a48000010703382f"), "cbor"),
        ("a float", akp("a4010703382f05f93c00"), "cbor"),
        ("an indefinite map", [unhex("bf010703382f"), akp("")[..].to_vec(), vec![0xff]].concat(), "cbor"),
        ("an indefinite string", unhex("a3010703382f205f40ff"), "cbor"),
        ("kty in two bytes", akp("a3 01 1807 03382f".replace(' ', "").as_str()), "cbor"),
        ("a length in four bytes", unhex(&format!("a3010703382f205a00000520{}", "11".repeat(1312))), "cbor"),
        ("a byte behind it", [akp("a3010703382f"), vec![0]].concat(), "cbor"),
        ("cut short", akp("a3010703382f")[..1000].to_vec(), "cbor"),
        ("a map of 2^64 - 1", unhex("bbffffffffffffffff"), "cbor"),
        ("a string of 2^64 - 1 bytes", unhex("a3010703382f205bffffffffffffffff00"), "cbor"),
        ("65 members", unhex("b841"), "cbor"),
        ("1025 items", unhex("990401"), "cbor"),
        (
            "3000 items in arrays of 1000",
            unhex(&format!("83{}", format!("9903e8{}", "00".repeat(1000)).repeat(3))),
            "cbor",
        ),
        ("17 levels", unhex(&format!("{}80", "81".repeat(16))), "cbor"),
        ("10 000 levels", unhex(&"81".repeat(10_000)), "cbor"),
        ("tagged", unhex("c1a0"), "key malformed"),
        ("40 kB", vec![0; 40_000], "too large"),
        ("a text that is not UTF-8", akp("a4010703382f0561ff"), "cbor"),
        ("a reserved head", unhex("1c"), "cbor"),
        ("break alone", unhex("ff"), "cbor"),
        ("kid a text", akp("a4010702616103382f"), "key malformed"),
        ("kid of no bytes", akp("a40107024003382f"), "key malformed"),
        ("kid of 513 bytes", akp(&format!("a4010702590201{}03382f", "aa".repeat(513))), "key malformed"),
        ("key_ops without verify", akp("a4010703382f048101"), "key use"),
        ("key_ops empty", akp("a4010703382f0480"), "key use"),
        ("key_ops a number", akp("a4010703382f0402"), "key malformed"),
        ("key_ops of byte strings", akp("a4010703382f04814102"), "key malformed"),
        ("OKP without a curve", unhex(&format!("a20101{ed}")), "key malformed"),
        ("OKP on X25519", unhex(&format!("a301012004{ed}")), "key type"),
        ("OKP on Ed448", unhex(&format!("a301012007{ed}")), "key type"),
        ("OKP with ES256", okp("a401010326"), "key malformed"),
        ("OKP with ML-DSA-44", okp("a4010103382f"), "key malformed"),
        ("OKP with d", okp("a401012341aa"), "private member"),
        ("OKP with x of 31 bytes", unhex(&format!("a30101200621581f{}", "11".repeat(31))), "key malformed"),
        ("OKP with a member that it has not", okp("a401012441aa"), "key malformed"),
        ("EC2 with ES384 on P-256", ec("a50102033822"), "key malformed"),
        ("EC2 with EdDSA", ec("a501020327"), "key malformed"),
        ("EC2 with d", ec("a501022341aa"), "private member"),
        ("EC2 on secp256k1", unhex("a401022008214100224100"), "key type"),
        (
            "EC2 with a name of a curve",
            unhex("a401022065502d323536214100224100".replace(' ', "").as_str()),
            "key malformed",
        ),
        (
            "EC2 with y a sign",
            unhex("a40102200121582065eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d22f5"),
            "key malformed",
        ),
        (
            "EC2 off the curve",
            unhex(&format!("a401022001215820{}225820{}", "11".repeat(32), "22".repeat(32))),
            "key malformed",
        ),
        (
            "EC2 with x of 33 bytes",
            unhex(&format!("a40102200121582100{}225820{}", "11".repeat(32), "22".repeat(32))),
            "key malformed",
        ),
        (
            "RSA of 1024 bits",
            unhex(&format!("a301032058 80{}2143010001", "ff".repeat(128)).replace(' ', "")),
            "key malformed",
        ),
        ("RSA with e 3", unhex(&format!("a3010320590100{}214103", "ff".repeat(256))), "key malformed"),
        (
            "RSA with a zero in front",
            unhex(&format!("a301032059010100{}2143010001", "ff".repeat(256))),
            "key malformed",
        ),
        (
            "RSA with another prime",
            unhex(&format!("a4010320590100{}21430100012b80", "ff".repeat(256))),
            "key malformed",
        ),
        (
            "RSA with a private exponent",
            unhex(&format!("a4010320590100{}21430100012241aa", "ff".repeat(256))),
            "private member",
        ),
    ];
    cases.into_iter().map(|(name, bytes, expected)| (name.to_owned(), bytes, expected)).collect()
}

/// Messages; what is wrong with them is not the signature, which a good key made over what they say.
pub(crate) fn message_cases(key: &PrivateKey) -> Vec<(String, Vec<u8>, &'static str)> {
    let bstr = |bytes: &[u8]| {
        let len = u16::try_from(bytes.len()).unwrap();
        let head = match len {
            0..24 => vec![0x40 | len as u8],
            24..256 => vec![0x58, len as u8],
            _ => [&[0x59][..], &len.to_be_bytes()].concat(),
        };
        [head, bytes.to_vec()].concat()
    };
    let own = match cose::id(key.algorithm()) {
        id @ -24..0 => vec![0x20 | (-1 - id) as u8],
        id => vec![0x38, (-1 - id) as u8],
    };
    let own = hex(&own);
    let sign = |protected: &[u8]| {
        let message = [unhex("846a5369676e617475726531"), bstr(protected), vec![0x40], bstr(b"x")].concat();
        key.sign(&message).unwrap()
    };
    let with = |protected: &str, unprotected: &str| {
        let protected = unhex(&protected.replace("OWN", &own).replace(' ', ""));
        let unprotected = unhex(&unprotected.replace("OWN", &own).replace(' ', ""));
        [vec![0xd2, 0x84], bstr(&protected), unprotected, bstr(b"x"), bstr(&sign(&protected))].concat()
    };
    let plain = unhex(&format!("a101{own}"));
    let parts = |parts: [Vec<u8>; 4]| [vec![0xd2, 0x84], parts.concat()].concat();
    let good = [bstr(&plain), vec![0xa0], bstr(b"x"), bstr(&sign(&plain))];
    let replaced = |at: usize, by: Vec<u8>| {
        let mut all = good.clone();
        all[at] = by;
        parts(all)
    };
    let tagged = |tag: &str| [unhex(tag), vec![0x84], good.concat()].concat();
    assert!(Unverified::parse(&parts(good.clone())).unwrap().verify(key.public()).is_ok());
    assert!(Unverified::parse(&with("a2 01OWN 02 8101", "a0")).unwrap().verify(key.public()).is_ok());
    let wrong_len = |len: usize| bstr(&vec![1; len]);
    let len = key.public().signature_len();
    let cases: Vec<(&str, Vec<u8>, &'static str)> = vec![
        ("nothing", vec![], "cbor"),
        ("a compact token", b"eyJhbGciOiJFUzI1NiJ9.e30.AAAA".to_vec(), "cbor"),
        ("a number", vec![0], "not sign1"),
        ("a map", vec![0xa0], "not sign1"),
        ("a text", unhex("6161"), "not sign1"),
        ("COSE_Sign", tagged("d862"), "not sign1"),
        ("COSE_Mac0", tagged("d1"), "not sign1"),
        ("COSE_Mac", tagged("d861"), "not sign1"),
        ("COSE_Encrypt0", tagged("d0"), "not sign1"),
        ("COSE_Encrypt", tagged("d860"), "not sign1"),
        ("a CWT", tagged("d83dd2"), "not sign1"),
        ("self-described CBOR", tagged("d9d9f7d2"), "not sign1"),
        ("the tag twice", tagged("d2d2"), "not sign1"),
        ("the tag in two bytes", tagged("d812"), "cbor"),
        ("an array of three", [unhex("d283"), good[..3].concat()].concat(), "not sign1"),
        ("an array of five", [unhex("d285"), good.concat(), vec![0]].concat(), "not sign1"),
        ("an indefinite array", [unhex("d29f"), good.concat(), vec![0xff]].concat(), "cbor"),
        ("a byte behind it", [parts(good.clone()), vec![0]].concat(), "cbor"),
        ("a protected map that is not in bytes", replaced(0, plain.clone()), "not sign1"),
        ("an unprotected array", replaced(1, vec![0x80]), "not sign1"),
        ("an unprotected header in bytes", replaced(1, unhex("41a0")), "not sign1"),
        ("a payload that is a text", replaced(2, unhex("6178")), "not sign1"),
        ("a payload that is undefined", replaced(2, vec![0xf7]), "not sign1"),
        ("a payload in pieces", replaced(2, unhex("5f4178ff")), "cbor"),
        ("a signature that is null", replaced(3, vec![0xf6]), "not sign1"),
        ("no signature", replaced(3, vec![0x40]), "signature length"),
        ("a signature one byte short", replaced(3, wrong_len(len - 1)), "signature length"),
        ("a signature one byte long", replaced(3, wrong_len(len + 1)), "signature length"),
        ("no protected header", with("", "a0"), "header malformed"),
        ("an empty protected header", with("a0", "a0"), "header malformed"),
        ("a protected array", with("80", "a0"), "header malformed"),
        ("a protected text", with("6161", "a0"), "header malformed"),
        ("two protected maps", with("a101OWNa0", "a0"), "cbor"),
        ("alg in the unprotected header", with("a0", "a101OWN"), "header refused"),
        ("alg in both headers", with("a101OWN", "a101OWN"), "header refused"),
        ("alg null", with("a101f6", "a0"), "header malformed"),
        ("alg a byte string", with("a10141aa", "a0"), "header malformed"),
        ("alg the name", with("a101694d4c2d4453412d3434", "a0"), "algorithm unknown"),
        ("alg none of JSON", with("a101646e6f6e65", "a0"), "algorithm unknown"),
        ("alg 0", with("a10100", "a0"), "algorithm unknown"),
        ("alg 5, HMAC", with("a10105", "a0"), "algorithm unknown"),
        ("alg -6, direct", with("a10125", "a0"), "algorithm unknown"),
        ("alg -16, SHA-256", with("a1012f", "a0"), "algorithm unknown"),
        ("alg -46, HSS-LMS", with("a101382d", "a0"), "algorithm unknown"),
        ("alg -47, ES256K", with("a101382e", "a0"), "algorithm unknown"),
        ("alg -53, Ed448", with("a1013834", "a0"), "algorithm unknown"),
        ("alg -57, a composite draft", with("a1013838", "a0"), "algorithm unknown"),
        ("alg of 65 bits", with("a1013bffffffffffffffff", "a0"), "algorithm unknown"),
        ("alg twice", with("a201OWN01OWN", "a0"), "cbor"),
        ("crit unknown", with("a3 01OWN 02 81186f 186f01", "a0"), "header refused"),
        ("crit unknown, a text", with("a3 01OWN 02 81616f 616f01", "a0"), "header refused"),
        ("crit unknown and known", with("a3 01OWN 02 8201186f 186f01", "a0"), "header refused"),
        ("crit empty", with("a2 01OWN 02 80", "a0"), "header refused"),
        ("crit of what is not there", with("a2 01OWN 02 8103", "a0"), "header refused"),
        ("crit of what is unprotected", with("a2 01OWN 02 8104", "a1044161"), "header refused"),
        ("crit a number", with("a2 01OWN 02 01", "a0"), "header malformed"),
        ("crit unprotected", with("a101OWN", "a1028101"), "header refused"),
        ("kid a text", with("a2 01OWN 04 6161", "a0"), "header malformed"),
        ("kid of no bytes", with("a2 01OWN 04 40", "a0"), "header malformed"),
        (
            "kid of 513 bytes",
            with(&format!("a2 01OWN 04 590201{}", "aa".repeat(513)), "a0"),
            "header malformed",
        ),
        ("kid a number, unprotected", with("a101OWN", "a10401"), "header malformed"),
        ("kid in both headers", with("a2 01OWN 04 4161", "a1044162"), "header refused"),
        ("content type a byte string", with("a2 01OWN 03 4161", "a0"), "header malformed"),
        ("content type 65536", with("a2 01OWN 03 1a00010000", "a0"), "header malformed"),
        ("content type negative", with("a2 01OWN 03 20", "a0"), "header malformed"),
        ("typ an array", with("a2 01OWN 10 80", "a0"), "header malformed"),
        ("a label that is a byte string", with("a2 01OWN 4161 01", "a0"), "cbor"),
        ("a float in the header", with("a2 01OWN 05 fb3ff0000000000000", "a0"), "cbor"),
        ("a header of 9 kB", with(&format!("a2 01OWN 05 592328{}", "aa".repeat(9_000)), "a0"), "too large"),
    ];
    cases.into_iter().map(|(name, bytes, expected)| (name.to_owned(), bytes, expected)).collect()
}

pub(crate) fn rows() -> Vec<Row> {
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let keys = key_cases().into_iter().map(|(name, bytes, expected)| {
        row("COSE_Key", &name, expected, PublicKey::from_cose(&bytes).map(drop))
    });
    let read = |bytes: &[u8]| Unverified::parse(bytes)?.verify(key.public()).map(drop);
    let messages = message_cases(&key).into_iter();
    keys.chain(messages.map(|(name, bytes, expected)| row("COSE_Sign1", &name, expected, read(&bytes))))
        .collect()
}

#[test]
fn refusals() {
    let keys = key_cases();
    for (name, bytes, expected) in &keys {
        assert_refused(name, PublicKey::from_cose(bytes), expected);
        assert!(PrivateKey::from_cose(bytes).is_err(), "{name}");
        assert!(composite::PublicKey::from_cose(bytes).is_err(), "{name}");
    }
    let mut messages = 0;
    for algorithm in [Algorithm::Es256, Algorithm::MlDsa44] {
        let key = PrivateKey::generate(algorithm).unwrap();
        for (name, bytes, expected) in message_cases(&key) {
            assert_refused(&name, Unverified::parse(&bytes), expected);
            messages += 1;
        }
    }
    println!("COSE: {} keys and {messages} messages refused", keys.len());
    assert!(keys.len() >= 60 && messages >= 120);
}

#[test]
fn the_key_decides() {
    let keys: Vec<PrivateKey> =
        Algorithm::ALL.into_iter().map(|one| PrivateKey::generate(one).unwrap()).collect();
    for signer in &keys {
        let message = Sign1::new().sign(signer, b"x").unwrap();
        for key in &keys {
            let outcome = Unverified::parse(&message).unwrap().verify(key.public());
            if core::ptr::eq(signer, key) {
                assert!(outcome.is_ok());
            } else if key.algorithm().accepts(signer.algorithm()) {
                assert_refused("another key", outcome, "signature");
            } else {
                assert_refused("another algorithm", outcome, "algorithm mismatch");
            }
        }
    }
    let key = &keys[0];
    let (whole, detached) = (Sign1::new(), Sign1::new().detached());
    let (whole, detached) = (whole.sign(key, b"x").unwrap(), detached.sign(key, b"x").unwrap());
    let parse = |message| Unverified::parse(message).unwrap();
    assert_refused("detached", parse(&detached).verify(key.public()), "no payload");
    assert_refused("not detached", parse(&whole).verify_detached(key.public(), b"x"), "not detached");
    assert_refused("other", parse(&detached).verify_detached(key.public(), b"y"), "signature");
}

/// A private key: one half of another, no seed, the expanded form of FIPS 204.
#[test]
fn private_keys_that_are_refused() {
    let (key, other) = (PrivateKey::generate(Algorithm::MlDsa44), PrivateKey::generate(Algorithm::MlDsa44));
    let (key, other) = (key.unwrap(), other.unwrap());
    let text = key.to_cose();
    let (head, seed) = text.split_at(text.len() - 32);
    let with = |seed: &[u8]| PrivateKey::from_cose(&[head, seed].concat());
    assert!(with(seed).is_ok());
    assert_refused("another seed", with(&other.secret()), "key mismatch");
    let of_len = |len: usize| {
        let head = &head[..head.len() - 2];
        let len_bytes = u16::try_from(len).unwrap().to_be_bytes();
        let shown = match len {
            0..24 => vec![0x40 | len as u8],
            24..256 => vec![0x58, len as u8],
            _ => [&[0x59][..], &len_bytes].concat(),
        };
        PrivateKey::from_cose(&[head, &shown, &vec![7; len]].concat())
    };
    for len in [0, 1, 31, 33, 64, 2560] {
        assert_refused(&format!("{len}"), of_len(len), "key malformed");
    }
    let error = of_len(2560).unwrap_err();
    assert!(error.to_string().contains("expanded"), "{error}");
    assert!(matches!(error, Error::KeyMalformed { member: "priv", .. }));
}

/// Arrays within arrays: each may be long, all together would take thirty times the text in memory.
#[test]
fn a_text_of_too_many_items_is_refused_before_they_are_kept() {
    let thousand = [&[0x99, 0x03, 0xe8][..], &[0; 1000]].concat();
    let message = [&[0x85][..], &thousand.repeat(5)].concat();
    let refusal = cose::Unverified::parse(&message).unwrap_err();
    let Error::BadCbor { problem, offset, .. } = refusal else { panic!("{refusal}") };
    assert_eq!(problem, "more than 2048 items in all");
    assert!(offset > 2000 && offset < message.len(), "{offset}");
}
