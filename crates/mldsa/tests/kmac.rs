//! KMAC256 beside NIST's samples, OpenSSL, and cSHAKE256 from other hands.

use sealstone_mldsa::{Error, Kmac256, MacKey, Shake256};
use sha3::digest::{ExtendableOutput, Update, XofReader};
use sha3::{CShake256, CShake256Core};

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

fn tag(key: &[u8], data: &[u8], customization: &[u8], len: usize) -> Vec<u8> {
    let mut out = vec![0; len];
    Kmac256::tag(key, customization, |mac| mac.update(data), &mut out);
    out
}

fn run(from: u8, to: u8) -> Vec<u8> {
    (from..to).collect()
}

/// SP 800-185, KMAC_samples.pdf, samples 4 to 6. OpenSSL 3.0 gives the same.
#[test]
fn samples_of_nist() {
    let key = run(0x40, 0x60);
    let cases = [
        (
            run(0, 4),
            "My Tagged Application",
            "20c570c31346f703c9ac36c61c03cb64c3970d0cfc787e9b79599d273a68d2f7\
             f69d4cc3de9d104a351689f27cf6f5951f0103f33f4f24871024d9c27773a8dd",
        ),
        (
            run(0, 200),
            "",
            "75358cf39e41494e949707927cee0af20a3ff553904c86b08f21cc414bcfd691\
             589d27cf5e15369cbbff8b9a4c2eb17800855d0235ff635da82533ec6b759b69",
        ),
        (
            run(0, 200),
            "My Tagged Application",
            "b58618f71f92e1d56c1b8c55ddd7cd188b97b4ca4d99831eb2699a837da2e4d9\
             70fbacfde50033aea585f1a2708510c32d07880801bd182898fe476876fc8965",
        ),
    ];
    for (data, customization, expected) in cases {
        assert_eq!(tag(&key, &data, customization.as_bytes(), 64), hex(expected));
    }
}

/// openssl mac -macopt hexkey:00..c7 -macopt custom:sealstone-mqtt-v1 -macopt size:32 KMAC-256, data 00..c7
#[test]
fn a_key_longer_than_a_block_as_openssl_has_it() {
    let bytes = run(0, 200);
    assert_eq!(
        tag(&bytes, &bytes, b"sealstone-mqtt-v1", 32),
        hex("164f035af1c1c36f727db4070e85e0fc2d90bf93f95623e13bc7b0d4b9a7b332")
    );
}

fn left_encode(value: usize) -> Vec<u8> {
    let bytes: Vec<u8> = value.to_be_bytes().into_iter().skip_while(|byte| *byte == 0).collect();
    let bytes = if bytes.is_empty() { vec![0] } else { bytes };
    [&[bytes.len() as u8][..], &bytes].concat()
}

fn encode_string(string: &[u8]) -> Vec<u8> {
    [left_encode(8 * string.len()), string.to_vec()].concat()
}

/// SP 800-185, 4.3, word by word, over another crate's cSHAKE256.
fn theirs(key: &[u8], data: &[u8], customization: &[u8], len: usize) -> Vec<u8> {
    let mut padded = [left_encode(136), encode_string(key)].concat();
    padded.resize(padded.len().next_multiple_of(136), 0);
    let mut right = left_encode(8 * len);
    right.rotate_left(1);
    let mut hasher = CShake256::from_core(CShake256Core::new_with_function_name(b"KMAC", customization));
    for part in [&padded[..], data, &right] {
        hasher.update(part);
    }
    let mut out = vec![0; len];
    hasher.finalize_xof().read(&mut out);
    out
}

#[test]
fn every_length_around_a_block_as_another_crate_has_it() {
    let bytes: Vec<u8> = (0..700).map(|i| (i * 7) as u8).collect();
    for key in [0, 1, 31, 32, 130, 131, 132, 133, 134, 136, 300, 600] {
        for data in [0, 1, 135, 136, 137, 500] {
            for customization in [0, 1, 20, 120, 125, 126, 127, 128, 129, 300] {
                let (k, d, s) = (&bytes[..key], &bytes[..data], &bytes[..customization]);
                assert_eq!(tag(k, d, s, 32), theirs(k, d, s, 32), "{key} {data} {customization}");
            }
        }
    }
    for len in [0, 1, 31, 32, 33, 64, 135, 136, 137, 300, 8192] {
        assert_eq!(tag(b"key", b"data", b"", len), theirs(b"key", b"data", b"", len), "{len} bytes");
    }
}

#[test]
fn pieces_make_the_same_tag_and_any_change_another() {
    let key = MacKey::from_bytes(&[9; 32]);
    let data = run(0, 200);
    let mut whole = [0; 32];
    key.tag(b"s", |mac| mac.update(&data), &mut whole);
    let verify = |key: &MacKey, customization: &[u8], tag: &[u8]| {
        key.verify(customization, |mac| mac.update(&data), tag)
    };
    for at in 0..data.len() {
        let pieces = [&data[..at], &data[at..]];
        let fed = key.verify(b"s", |mac| pieces.iter().for_each(|piece| mac.update(piece)), &whole);
        assert_eq!(fed, Ok(()));
    }
    for bit in 0..256 {
        let mut changed = whole;
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(verify(&key, b"s", &changed), Err(Error::BadSignature));
    }
    for len in [0, 1, 31] {
        assert_eq!(verify(&key, b"s", &whole[..len]), Err(Error::BadSignature));
    }
    assert_eq!(verify(&key, b"t", &whole), Err(Error::BadSignature));
    assert_eq!(verify(&MacKey::from_bytes(&[8; 32]), b"s", &whole), Err(Error::BadSignature));
    let mut shown = String::new();
    key.tag(b"", |mac| shown = format!("{key:?}{mac:?}{:?}", Shake256::new()), &mut whole);
    assert_eq!(shown, "MacKey(..)Kmac256(..)Shake256(..)");
}

#[test]
fn shake256_as_another_crate_has_it() {
    let data: Vec<u8> = (0..400).map(|i| i as u8).collect();
    for len in [0, 1, 7, 8, 135, 136, 137, 271, 272, 400] {
        let mut theirs = [0; 200];
        sha3::Shake256::default().chain(&data[..len]).finalize_xof().read(&mut theirs);
        let pieces = [&data[..len / 2], &data[len / 2..len]];
        assert_eq!(Shake256::new().and(pieces[0]).and(pieces[1]).finish(), theirs);
        assert_eq!(Shake256::of(pieces), theirs);
    }
}
