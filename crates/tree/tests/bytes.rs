//! Golden bytes, and what is no record.

use proptest::prelude::*;
use sealstone_mldsa::Level;
use sealstone_tree::{Error, FileId, HashAlgorithm, KeyId, Kind, Record, Version};

use crate::{EMPTY_256, EMPTY_512, empty_file, hex, key, signed};

#[test]
fn an_empty_file_is_these_bytes() {
    assert_eq!(empty_file(Kind::File).as_bytes(), hex(&format!("0304{EMPTY_256}")));
    let long = FileId::new(Kind::File, HashAlgorithm::Sha512, &hex(EMPTY_512)).unwrap();
    assert_eq!(long.as_bytes(), hex(&format!("0306{EMPTY_512}")));
    assert_eq!(empty_file(Kind::Verity).as_bytes(), hex(&format!("0604{EMPTY_256}")));
}

/// Headers of ML-DSA keys as other tools write them for Linux 7.2, and the length of the whole.
#[test]
fn headers_are_those_of_the_kernel() {
    for (level, key_id, header, len) in [
        (Level::MlDsa44, 0x7f76_04d6, "0303047f7604d60974", 2429),
        (Level::MlDsa65, 0x3762_d430, "0303043762d4300ced", 3318),
        (Level::MlDsa87, 0x0000_0001, "030304000000011213", 4636),
    ] {
        let value = signed(&key(level, 1), KeyId(key_id), &empty_file(Kind::File));
        assert_eq!((&value[..9], value.len()), (&hex(header)[..], len));
        assert_eq!(value.len(), Record::len_for(level.signature_len()));
        let record = Record::parse(&value).unwrap();
        assert_eq!(
            (record.version(), record.kind(), record.hash()),
            (Version::V3, Kind::File, HashAlgorithm::Sha256)
        );
        assert_eq!((record.key_id(), record.to_bytes()), (KeyId(key_id), value.clone()));
    }
}

#[test]
fn every_value_that_is_cut_or_longer_is_refused() {
    let value = signed(&key(Level::MlDsa44, 1), KeyId(7), &empty_file(Kind::File));
    for len in 0..9 {
        assert_eq!(Record::parse(&value[..len]), Err(Error::Truncated { expected: 9, found: len }), "{len}");
    }
    for len in 9..value.len() {
        let refusal = Error::SignatureLength { said: Some(2420), found: len - 9 };
        assert_eq!(Record::parse(&value[..len]), Err(refusal), "{len}");
    }
    let longer = [&value[..], &[0]].concat();
    assert_eq!(Record::parse(&longer), Err(Error::SignatureLength { said: Some(2420), found: 2421 }));
    assert_eq!(
        Record::parse(&hex("030304000000070000")),
        Err(Error::SignatureLength { said: Some(0), found: 0 })
    );
}

/// All 256 values of each byte that means something by itself.
#[test]
fn kinds_versions_and_hash_functions_are_known_or_refused() {
    let value = signed(&key(Level::MlDsa44, 1), KeyId(7), &empty_file(Kind::File));
    let with = |at: usize, byte: u8| {
        let mut changed = value.clone();
        changed[at] = byte;
        Record::parse(&changed).map(|record| record.to_bytes() == changed)
    };
    for byte in 0..=255 {
        let kind = if [3, 5, 6].contains(&byte) { Ok(true) } else { Err(Error::NotSigned { kind: byte }) };
        assert_eq!(with(0, byte), kind);
        let version = if [2, 3].contains(&byte) { Ok(true) } else { Err(Error::Version { found: byte }) };
        assert_eq!(with(1, byte), version);
        let known = [2, 4, 5, 6, 7, 20, 21, 22].contains(&byte);
        assert_eq!(with(2, byte), if known { Ok(true) } else { Err(Error::Hash { number: byte }) });
    }
}

#[test]
fn digests_have_the_length_of_their_function() {
    for hash in HashAlgorithm::ALL {
        let len = hash.digest_len();
        assert_eq!(FileId::new(Kind::File, hash, &vec![1; len]).unwrap().as_bytes().len(), 2 + len);
        for found in [0, len - 1, len + 1] {
            let refusal = Error::DigestLength { hash, expected: len, found };
            assert_eq!(FileId::new(Kind::File, hash, &vec![1; found]), Err(refusal));
        }
    }
}

#[test]
fn a_signature_that_no_length_field_can_say_is_refused() {
    let file = empty_file(Kind::File);
    for len in [0, 65_536] {
        let signature = vec![1; len];
        let refusal = Error::SignatureLength { said: None, found: len };
        assert_eq!(Record::of(&file, KeyId(1), &signature), Err(refusal));
    }
    let longest = vec![1; 65_535];
    let value = Record::of(&file, KeyId(1), &longest).unwrap().to_bytes();
    assert_eq!(Record::parse(&value).unwrap().signature(), longest);
}

#[test]
fn a_key_id_is_the_end_of_an_identifier() {
    let identifier = hex("12b40102030405060708090a0b0c0d0e7f5315ed");
    assert_eq!(KeyId::of(&identifier).unwrap().to_string(), "id:7f5315ed");
    assert_eq!(KeyId::of(&[0, 0, 0, 10]).unwrap().to_string(), "id:0000000a");
    assert_eq!(KeyId::of(&[1, 2, 3]), Err(Error::KeyIdentifier { found: 3 }));
}

proptest! {
    #[test]
    fn what_is_read_is_what_was_written(value in proptest::collection::vec(any::<u8>(), 0..64)) {
        if let Ok(record) = Record::parse(&value) {
            prop_assert_eq!(record.to_bytes(), value);
        }
    }

    /// Nearly right, so that more than the first byte is looked at.
    #[test]
    fn nearly_right_values_are_read_or_refused(head in proptest::array::uniform7(0_u8..8), signature in proptest::collection::vec(any::<u8>(), 0..64)) {
        let value = [&head[..], &(signature.len() as u16).to_be_bytes(), &signature].concat();
        if let Ok(record) = Record::parse(&value) {
            prop_assert_eq!(record.to_bytes(), value);
        }
    }
}
