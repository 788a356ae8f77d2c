//! Bad keys, each by name, each with the error it must get. The structures are built here, not by the crate.

use sealstone_mldsa::Level;
use sealstone_pki::{Error, KeyAlgorithm, PrivateKeyInfo, PublicKeyInfo, pkcs8, spki};

use crate::{data, unhex, unpem};

/// A value in DER, the length in its shortest form.
pub(crate) fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut out = vec![tag];
    match content.len() {
        short @ 0..=127 => out.push(short as u8),
        middle @ 128..=255 => out.extend([0x81, middle as u8]),
        long => out.extend([0x82, (long >> 8) as u8, long as u8]),
    }
    out.extend(content);
    out
}

const ML_DSA_44: &str = "0609608648016503040311";
const ED25519: &str = "06032b6570";
const EC: &str = "06072a8648ce3d0201";
const P256: &str = "06082a8648ce3d030107";
const NULL: &str = "0500";

fn algorithm(parts: &[&str]) -> Vec<u8> {
    tlv(0x30, &[&unhex(&parts.concat())])
}

fn spki_of(algorithm: &[u8], key: &[u8]) -> Vec<u8> {
    tlv(0x30, &[algorithm, &tlv(0x03, &[&[0], key])])
}

fn pkcs8_of(version: u8, algorithm: &[u8], inner: &[u8], more: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, &[&[2, 1, version], algorithm, &tlv(0x04, &[inner]), &more.concat()])
}

fn ec_key(version: u8, scalar: &[u8], more: &[&[u8]]) -> Vec<u8> {
    tlv(0x30, &[&[2, 1, version], &tlv(0x04, &[scalar]), &more.concat()])
}

/// The same value, its length in one byte more than it needs.
fn long_form(good: &[u8]) -> Vec<u8> {
    assert!(good[1] < 0x80);
    [&[good[0], 0x81], &good[1..]].concat()
}

/// A name for each kind of error, for the table.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::AlgorithmRefused { .. } => "refused by name",
        Error::AlgorithmUnknown { .. } => "algorithm",
        Error::Der { .. } => "der",
        Error::Encrypted => "encrypted",
        Error::Inconsistent { .. } => "inconsistent",
        Error::KeyLength { .. } => "length",
        Error::NoSeed => "no seed",
        Error::Parameters { .. } => "parameters",
        Error::Pem { .. } => "pem",
        Error::PemLabel { .. } => "label",
        Error::PointForm { .. } => "point",
        Error::ScalarRange { .. } => "scalar",
        Error::TooLarge { .. } => "too large",
        Error::TrailingData { .. } => "trailing",
        _ => "other",
    }
}

pub(crate) fn check<T: core::fmt::Debug>(
    cases: Vec<(&str, Vec<u8>, &str)>,
    read: impl Fn(&[u8]) -> Result<T, Error>,
) {
    for (name, bytes, expected) in &cases {
        let error = read(bytes).expect_err(name);
        assert_eq!(kind(&error), *expected, "{name}: {error}");
        let text = error.to_string();
        assert!(!text.ends_with('.') && !text.contains('\n') && text.len() < 200, "{name}: {text}");
    }
    println!("{} cases refused", cases.len());
}

#[test]
fn public_keys() {
    let (pk, point) = (vec![1; 1312], [vec![4], vec![1; 64]].concat());
    let ml_dsa = algorithm(&[ML_DSA_44]);
    let good = spki_of(&ml_dsa, &pk);
    assert!(spki::from_der(&good).is_ok());
    let ec = algorithm(&[EC, P256]);
    assert!(spki::from_der(&spki_of(&ec, &point)).is_ok());
    let ed25519 = algorithm(&[ED25519]);
    assert!(spki::from_der(&spki_of(&ed25519, &[1; 32])).is_ok());

    let with = |at: usize, bytes: &[u8]| {
        let mut changed = good.clone();
        changed.splice(at..at + bytes.len(), bytes.iter().copied());
        changed
    };
    check(
        vec![
            ("nothing", vec![], "der"),
            ("a tag alone", vec![0x30], "der"),
            ("a byte after it", [good.clone(), vec![0]].concat(), "trailing"),
            ("itself twice", good.repeat(2), "trailing"),
            ("a SET instead of a SEQUENCE", with(0, &[0x31]), "der"),
            ("an indefinite length", [vec![0x30, 0x80], good[4..].to_vec(), vec![0, 0]].concat(), "der"),
            ("a length in three bytes", [vec![0x30, 0x83, 0], good[2..].to_vec()].concat(), "der"),
            ("a length of 255 bytes", [vec![0x30, 0xff], vec![1; 300]].concat(), "der"),
            ("a length of eight bytes", [vec![0x30, 0x88], vec![0xff; 40]].concat(), "der"),
            ("a length of 2^32 - 1", [vec![0x30, 0x84], vec![0xff; 40]].concat(), "der"),
            ("a short length in long form", [vec![0x30, 0x81, 5], vec![0; 5]].concat(), "der"),
            ("a short length in long form, all else good", long_form(&spki_of(&ed25519, &[1; 32])), "der"),
            ("a length one too large", with(2, &[0x05, 0x33]), "der"),
            ("a length one too small", with(2, &[0x05, 0x31]), "trailing"),
            ("no algorithm", tlv(0x30, &[&tlv(3, &[&[0], &pk])]), "der"),
            ("no key", tlv(0x30, &[&ml_dsa]), "der"),
            ("an OCTET STRING for the key", tlv(0x30, &[&ml_dsa, &tlv(4, &[&[0], &pk])]), "der"),
            ("a constructed BIT STRING", tlv(0x30, &[&ml_dsa, &tlv(0x23, &[&[0], &pk])]), "der"),
            ("unused bits", tlv(0x30, &[&ml_dsa, &tlv(3, &[&[1], &pk])]), "der"),
            ("an empty BIT STRING", tlv(0x30, &[&ml_dsa, &[3, 0]]), "der"),
            ("a third member", tlv(0x30, &[&ml_dsa, &tlv(3, &[&[0], &pk]), &[5, 0]]), "trailing"),
            ("ML-DSA with NULL", spki_of(&algorithm(&[ML_DSA_44, NULL]), &pk), "parameters"),
            ("ML-DSA with a curve", spki_of(&algorithm(&[ML_DSA_44, P256]), &pk), "parameters"),
            ("Ed25519 with NULL", spki_of(&algorithm(&[ED25519, NULL]), &[1; 32]), "parameters"),
            ("EC without a curve", spki_of(&algorithm(&[EC]), &point), "parameters"),
            ("EC with NULL", spki_of(&algorithm(&[EC, NULL]), &point), "parameters"),
            ("EC with two curves", spki_of(&algorithm(&[EC, P256, P256]), &point), "trailing"),
            ("EC with implicit curve", spki_of(&algorithm(&[EC, "3000"]), &point), "parameters"),
            ("an algorithm without an identifier", spki_of(&[0x30, 0], &pk), "der"),
            (
                "HashML-DSA-44 with SHA-512",
                spki_of(&algorithm(&["0609608648016503040320"]), &pk),
                "refused by name",
            ),
            ("SLH-DSA", spki_of(&algorithm(&["0609608648016503040314"]), &pk), "algorithm"),
            ("an empty identifier", spki_of(&algorithm(&["0600"]), &pk), "algorithm"),
            ("an identifier cut short", spki_of(&algorithm(&["06022b81"]), &pk), "algorithm"),
            (
                "an endless identifier",
                spki_of(&algorithm(&["0614ffffffffffffffffffffffffffffffffffffff7f"]), &pk),
                "algorithm",
            ),
            ("no key bytes", spki_of(&ml_dsa, &[]), "length"),
            ("a key one byte short", spki_of(&ml_dsa, &pk[1..]), "length"),
            ("a key one byte long", spki_of(&ml_dsa, &[pk.clone(), vec![0]].concat()), "length"),
            ("a key of another level", spki_of(&ml_dsa, &[1; 1952]), "length"),
            ("a key inside an OCTET STRING", spki_of(&ml_dsa, &tlv(4, &[&pk])), "length"),
            ("Ed25519 with 33 bytes", spki_of(&ed25519, &[1; 33]), "length"),
            ("a compressed point", spki_of(&ec, &[vec![2], vec![1; 32]].concat()), "point"),
            ("a hybrid point", spki_of(&ec, &[vec![6], vec![1; 64]].concat()), "point"),
            ("the point at infinity", spki_of(&ec, &[0]), "point"),
            ("no point", spki_of(&ec, &[]), "point"),
            ("a point of P-384 on P-256", spki_of(&ec, &[vec![4], vec![1; 96]].concat()), "length"),
            ("a megabyte", vec![0x30; 1 << 20], "too large"),
            ("a private key", unpem(&data("rfc9881/ML-DSA-44-seed.priv")), "der"),
            ("a certificate's first bytes", unhex("308203e03082029ca003020102"), "der"),
            ("text", b"-----BEGIN PUBLIC KEY-----".to_vec(), "der"),
        ],
        spki::from_der,
    );
    for len in 0..good.len() {
        assert!(spki::from_der(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn private_keys() {
    let ml_dsa = algorithm(&[ML_DSA_44]);
    let seed: Vec<u8> = (0..32).collect();
    let good = pkcs8_of(0, &ml_dsa, &tlv(0x80, &[&seed]), &[]);
    assert!(pkcs8::from_der(&good).is_ok());
    let both = unpem(&data("rfc9881/ML-DSA-44-both.priv"));
    let expanded = &both[both.len() - 2560..];
    let forms = |inner: &[u8]| pkcs8_of(0, &ml_dsa, inner, &[]);
    let octets = |content: &[u8]| tlv(4, &[content]);
    assert_eq!(forms(&tlv(0x30, &[&octets(&seed), &octets(expanded)])), both);
    let public = pkcs8::from_der(&good).unwrap().public().unwrap().to_vec();
    let mut wrong = public.clone();
    wrong[1311] ^= 1;
    let bits = |tag: u8, key: &[u8]| tlv(tag, &[&[0], key]);
    assert!(pkcs8::from_der(&pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &public)])).is_ok());
    let flipped = |at: usize| {
        let mut key = expanded.to_vec();
        key[at] ^= 1;
        key
    };

    let ec = algorithm(&[EC, P256]);
    let curve = |oid: &str| tlv(0xa0, &[&unhex(oid)]);
    let point = [vec![4], vec![1; 64]].concat();
    let ec_public = tlv(0xa1, &[&bits(3, &point)]);
    let ec_of = |inner: Vec<u8>| pkcs8_of(0, &ec, &inner, &[]);
    assert!(pkcs8::from_der(&ec_of(ec_key(1, &[1; 32], &[&curve(P256), &ec_public]))).is_ok());
    let n = unhex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
    let mut below = n.clone();
    below[31] -= 1;
    assert!(pkcs8::from_der(&ec_of(ec_key(1, &below, &[]))).is_ok());
    let mut above = n.clone();
    above[31] += 1;
    let ed25519 = algorithm(&[ED25519]);

    check(
        vec![
            ("nothing", vec![], "der"),
            ("a byte after it", [good.clone(), vec![0]].concat(), "trailing"),
            ("version 2", pkcs8_of(2, &ml_dsa, &tlv(0x80, &[&seed]), &[]), "der"),
            ("version -1", pkcs8_of(0xff, &ml_dsa, &tlv(0x80, &[&seed]), &[]), "der"),
            (
                "version in two bytes",
                tlv(0x30, &[&[2, 2, 0, 0], &ml_dsa, &octets(&tlv(0x80, &[&seed]))]),
                "der",
            ),
            ("no version", tlv(0x30, &[&ml_dsa, &octets(&tlv(0x80, &[&seed]))]), "der"),
            (
                "ML-DSA with NULL",
                pkcs8_of(0, &algorithm(&[ML_DSA_44, NULL]), &tlv(0x80, &[&seed]), &[]),
                "parameters",
            ),
            (
                "HashML-DSA",
                pkcs8_of(0, &algorithm(&["0609608648016503040320"]), &seed, &[]),
                "refused by name",
            ),
            (
                "a public key in version 0",
                pkcs8_of(0, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &public)]),
                "trailing",
            ),
            ("no public key in version 1", pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[]), "der"),
            (
                "a public key explicitly tagged",
                pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&tlv(0xa1, &[&bits(3, &public)])]),
                "der",
            ),
            (
                "another public key",
                pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &wrong)]),
                "inconsistent",
            ),
            (
                "a public key one byte short",
                pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &public[1..])]),
                "length",
            ),
            (
                "another public key beside the expanded key",
                pkcs8_of(1, &ml_dsa, &octets(expanded), &[&bits(0x81, &wrong)]),
                "inconsistent",
            ),
            (
                "two public keys",
                pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &public), &bits(0x81, &public)]),
                "trailing",
            ),
            (
                "attributes after the public key",
                pkcs8_of(1, &ml_dsa, &tlv(0x80, &[&seed]), &[&bits(0x81, &public), &[0xa0, 0]]),
                "trailing",
            ),
            (
                "attributes that are none",
                pkcs8_of(0, &ml_dsa, &tlv(0x80, &[&seed]), &[&[0xa0, 2, 5, 0]]),
                "der",
            ),
            ("no private key", forms(&[]), "der"),
            ("a raw seed without a tag", forms(&seed), "der"),
            ("a seed tagged explicitly", forms(&tlv(0xa0, &[&octets(&seed)])), "der"),
            ("a seed in [1]", forms(&tlv(0x81, &[&seed])), "der"),
            ("no seed bytes", forms(&[0x80, 0]), "length"),
            ("a seed of 31 bytes", forms(&tlv(0x80, &[&seed[1..]])), "length"),
            ("a seed of 33 bytes", forms(&tlv(0x80, &[&seed, &[0]])), "length"),
            ("a seed as expanded key", forms(&octets(&seed)), "length"),
            ("an expanded key as seed", forms(&tlv(0x80, &[expanded])), "length"),
            ("an expanded key of another level", forms(&octets(&[0; 4032])), "length"),
            ("an expanded key one byte short", forms(&octets(&expanded[1..])), "length"),
            ("an expanded key one byte long", forms(&octets(&[expanded, &[0]].concat())), "length"),
            ("an expanded key with another rho", forms(&octets(&flipped(0))), "inconsistent"),
            ("an expanded key with another tr", forms(&octets(&flipped(64))), "inconsistent"),
            ("an expanded key with another s1", forms(&octets(&flipped(128))), "inconsistent"),
            (
                "an expanded key with s1 out of range",
                forms(&octets(&[&expanded[..128], &[0xff; 96], &expanded[224..]].concat())),
                "inconsistent",
            ),
            ("an expanded key with another t0", forms(&octets(&flipped(2559))), "inconsistent"),
            ("an expanded key of zeros", forms(&octets(&[0; 2560])), "inconsistent"),
            ("both, another K", forms(&tlv(0x30, &[&octets(&seed), &octets(&flipped(32))])), "inconsistent"),
            (
                "both, another seed",
                forms(&tlv(0x30, &[&octets(&[7; 32]), &octets(expanded)])),
                "inconsistent",
            ),
            ("both, in the other order", forms(&tlv(0x30, &[&octets(expanded), &octets(&seed)])), "length"),
            ("both, seed tagged [0]", forms(&tlv(0x30, &[&tlv(0x80, &[&seed]), &octets(expanded)])), "der"),
            ("both, without the expanded key", forms(&tlv(0x30, &[&octets(&seed)])), "der"),
            ("both, empty", forms(&[0x30, 0]), "der"),
            (
                "both, and something more",
                forms(&tlv(0x30, &[&octets(&seed), &octets(expanded), &[5, 0]])),
                "trailing",
            ),
            ("a seed, and something more", forms(&[tlv(0x80, &[&seed]), vec![0]].concat()), "trailing"),
            ("Ed25519 without the inner OCTET STRING", pkcs8_of(0, &ed25519, &seed, &[]), "der"),
            ("Ed25519 with 31 bytes", pkcs8_of(0, &ed25519, &octets(&seed[1..]), &[]), "length"),
            ("Ed25519 with 64 bytes", pkcs8_of(0, &ed25519, &octets(&[1; 64]), &[]), "length"),
            (
                "Ed25519 with NULL",
                pkcs8_of(0, &algorithm(&[ED25519, NULL]), &octets(&seed), &[]),
                "parameters",
            ),
            (
                "Ed25519, and something more",
                pkcs8_of(0, &ed25519, &[octets(&seed), vec![0]].concat(), &[]),
                "trailing",
            ),
            ("EC version 0", ec_of(ec_key(0, &[1; 32], &[])), "der"),
            ("EC version 2", ec_of(ec_key(2, &[1; 32], &[])), "der"),
            ("EC scalar 0", ec_of(ec_key(1, &[0; 32], &[])), "scalar"),
            ("EC scalar n", ec_of(ec_key(1, &n, &[])), "scalar"),
            ("EC scalar n + 1", ec_of(ec_key(1, &above, &[])), "scalar"),
            ("EC scalar 2^256 - 1", ec_of(ec_key(1, &[0xff; 32], &[])), "scalar"),
            ("EC scalar without its leading zeros", ec_of(ec_key(1, &[1; 31], &[])), "length"),
            (
                "EC scalar with a leading zero too many",
                ec_of(ec_key(1, &[&[0][..], &[1; 32]].concat(), &[])),
                "length",
            ),
            (
                "EC with another curve inside",
                ec_of(ec_key(1, &[1; 32], &[&curve("06052b81040022")])),
                "inconsistent",
            ),
            (
                "EC with an unknown curve inside",
                ec_of(ec_key(1, &[1; 32], &[&curve("06052b8104000a")])),
                "algorithm",
            ),
            ("EC with NULL for the curve", ec_of(ec_key(1, &[1; 32], &[&curve(NULL)])), "der"),
            (
                "EC with a compressed point",
                ec_of(ec_key(1, &[1; 32], &[&tlv(0xa1, &[&bits(3, &[&[2][..], &[1; 32]].concat())])])),
                "point",
            ),
            (
                "EC with a point too short",
                ec_of(ec_key(1, &[1; 32], &[&tlv(0xa1, &[&bits(3, &point[..64])])])),
                "length",
            ),
            (
                "EC public key before the curve",
                ec_of(ec_key(1, &[1; 32], &[&ec_public, &curve(P256)])),
                "trailing",
            ),
            (
                "EC with two different public keys",
                pkcs8_of(
                    1,
                    &ec,
                    &ec_key(1, &[1; 32], &[&ec_public]),
                    &[&bits(0x81, &[&[4][..], &[2; 64]].concat())],
                ),
                "inconsistent",
            ),
            ("EC, and something more", ec_of([ec_key(1, &[1; 32], &[]), vec![0]].concat()), "trailing"),
            ("a bare ECPrivateKey", ec_key(1, &[1; 32], &[&curve(P256)]), "der"),
            ("a public key", unpem(&data("rfc9881/ML-DSA-44.pub")), "der"),
        ],
        pkcs8::from_der,
    );
    for len in 0..both.len() {
        assert!(pkcs8::from_der(&both[..len]).is_err(), "cut at {len}");
    }

    let alone = |inner: &[&[u8]]| ec_key(1, &[1; 32], inner);
    assert!(pkcs8::from_sec1_der(&alone(&[&curve(P256)])).is_ok());
    check(
        vec![
            ("no curve", alone(&[]), "der"),
            ("an unknown curve", alone(&[&curve("06052b8104000a")]), "algorithm"),
            ("P-384 with 32 bytes", alone(&[&curve("06052b81040022")]), "length"),
            ("a byte after it", [alone(&[&curve(P256)]), vec![0]].concat(), "trailing"),
            ("PKCS#8", ec_of(alone(&[])), "der"),
        ],
        pkcs8::from_sec1_der,
    );
}

#[test]
fn pem_blocks() {
    let good = data("rfc9881/ML-DSA-44-seed.priv");
    let lines: Vec<&str> = good.lines().collect();
    let (begin, body, end) = (lines[0], lines[1..lines.len() - 1].concat(), lines[lines.len() - 1]);
    let block = |begin: &str, body: &str, end: &str| format!("{begin}\n{body}\n{end}\n");
    let folded = |width: usize| {
        let body: Vec<&str> =
            (0..body.len()).step_by(width).map(|at| &body[at..body.len().min(at + width)]).collect();
        block(begin, &body.join("\n"), end)
    };
    for (name, text) in [
        ("as written", folded(64)),
        ("CRLF", good.replace('\n', "\r\n")),
        ("no line end at the end", good.trim_end().to_owned()),
        ("blank lines at the end", format!("{good}\n\n")),
        ("lines of 76", folded(76)),
        ("lines of 60", folded(60)),
        ("lines of 7", folded(7)),
        ("one long line", folded(1000)),
    ] {
        assert!(pkcs8::from_pem(&text).is_ok(), "{name}");
    }
    let last = body.char_indices().next_back().unwrap().0;
    assert_eq!(body.len(), 72, "no padding: 54 bytes");
    let ed = data("openssl/Ed25519.spki.pem");
    let cases: Vec<(&str, String, &str)> = vec![
        ("nothing", String::new(), "pem"),
        ("only the BEGIN line", begin.into(), "pem"),
        ("no END line", format!("{begin}\n{body}\n"), "pem"),
        ("no BEGIN line", format!("{body}\n{end}\n"), "pem"),
        ("an empty block", format!("{begin}\n{end}\n"), "pem"),
        ("text before", format!("key:\n{good}"), "pem"),
        ("a blank line before", format!("\n{good}"), "pem"),
        ("a byte order mark", format!("\u{feff}{good}"), "pem"),
        ("text after", format!("{good}text\n"), "pem"),
        ("two blocks", good.repeat(2), "pem"),
        ("labels that differ", block(begin, lines[1], "-----END PUBLIC KEY-----"), "pem"),
        ("a lower-case label", good.replace("PRIVATE KEY", "private key"), "pem"),
        ("an empty label", good.replace("PRIVATE KEY", ""), "pem"),
        ("four hyphens", good.replace("-----BEGIN", "----BEGIN"), "pem"),
        ("spaces at the end of a line", good.replacen('\n', " \n", 1), "pem"),
        ("a space in the base64", block(begin, &format!(" {}", &lines[1][1..]), end), "pem"),
        ("a tab in the base64", block(begin, &format!("\t{}", &lines[1][1..]), end), "pem"),
        ("a blank line inside", good.replacen('\n', "\n\n", 1), "pem"),
        ("a line less", block(begin, lines[1], end), "der"),
        ("a header line", format!("{begin}\nProc-Type: 4,ENCRYPTED\n\n{body}\n{end}\n"), "pem"),
        ("a checksum line", good.replace(end, &format!("=abcd\n{end}")), "pem"),
        ("base64url", block(begin, &format!("{}\n{}-", lines[1], &body[64..last]), end), "pem"),
        (
            "a length that is no base64",
            block(begin, &format!("{}\n{}", lines[1], &body[64..last]), end),
            "pem",
        ),
        ("padding too early", block(begin, &format!("{}=\n{}", &lines[1][..63], &body[64..]), end), "pem"),
        ("three paddings", block(begin, "A===", end), "pem"),
        (
            "three paddings after a good key",
            block(begin, &format!("{}\n{}A===", lines[1], &body[64..]), end),
            "pem",
        ),
        ("only padding", block(begin, "====", end), "pem"),
        ("padding inside a group", block(begin, "AA=A", end), "pem"),
        ("bits under one padding", block(begin, "AAB=", end), "pem"),
        ("bits under two paddings", block(begin, "AB==", end), "pem"),
        ("beyond ASCII", block(begin, "AAAé", end), "pem"),
        ("DER cut short", block(begin, "MDQC", end), "der"),
        ("a public key", ed.clone(), "label"),
        ("a certificate", ed.replace("PUBLIC KEY", "CERTIFICATE"), "label"),
        ("an RSA key", good.replace("PRIVATE KEY", "RSA PRIVATE KEY"), "label"),
        ("an OpenSSH key", good.replace("PRIVATE KEY", "OPENSSH PRIVATE KEY"), "label"),
        ("an encrypted key", good.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"), "encrypted"),
        ("PKCS#8 called SEC 1", good.replace("PRIVATE KEY", "EC PRIVATE KEY"), "der"),
        ("SEC 1 called PKCS#8", data("openssl/P256.sec1.pem").replace("EC PRIVATE", "PRIVATE"), "der"),
        ("a megabyte", "A".repeat(1 << 20), "too large"),
        ("100 000 lines", "\n".repeat(90_000) + "A", "pem"),
    ];
    let bytes = cases.into_iter().map(|(name, text, kind)| (name, text.into_bytes(), kind)).collect();
    check(bytes, |text| pkcs8::from_pem(core::str::from_utf8(text).unwrap()));
}

#[test]
fn raw_keys_of_other_lengths() {
    for algorithm in KeyAlgorithm::ALL {
        for len in 0..140 {
            let mut public = vec![1; len];
            public.iter_mut().take(1).for_each(|form| *form = 4);
            assert_eq!(
                PublicKeyInfo::new(algorithm, &public).is_ok(),
                len == algorithm.public_len(),
                "{algorithm} {len}"
            );
            let secret = PrivateKeyInfo::new(algorithm, &vec![1; len], None);
            assert_eq!(secret.is_ok(), len == algorithm.secret_len(), "{algorithm} {len}");
        }
    }
    let other = PrivateKeyInfo::new(KeyAlgorithm::MlDsa(Level::MlDsa44), &[1; 32], Some(&[0; 1312]));
    assert!(matches!(other, Err(Error::Inconsistent { .. })));
}

/// The bounds of each curve's order, from SEC 2, written down a second time.
#[test]
fn scalars_at_the_order() {
    for (algorithm, order) in [
        (KeyAlgorithm::EcP256, "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551".to_owned()),
        (KeyAlgorithm::EcP384, "f".repeat(48) + "c7634d81f4372ddf581a0db248b0a77aecec196accc52973"),
        (
            KeyAlgorithm::EcP521,
            "01".to_owned()
                + &"f".repeat(65)
                + "a51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409",
        ),
    ] {
        let order = unhex(&order);
        let at = |change: i16| {
            let mut scalar = order.clone();
            *scalar.last_mut().unwrap() = (i16::from(*order.last().unwrap()) + change) as u8;
            PrivateKeyInfo::new(algorithm, &scalar, None)
        };
        assert!(at(-1).is_ok(), "{algorithm}");
        assert!(matches!(at(0), Err(Error::ScalarRange { .. })), "{algorithm}");
        assert!(matches!(at(1), Err(Error::ScalarRange { .. })), "{algorithm}");
    }
}
