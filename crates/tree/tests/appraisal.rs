//! Who is believed about what.

use sealstone_mldsa::{Context, Level};
use sealstone_tree::{Appraiser, Error, FileId, HashAlgorithm, Key, KeyId, Kind, Record};

use crate::{EMPTY_256, EMPTY_512, empty_file, hex, key, signed};

const LEVELS: [Level; 3] = [Level::MlDsa44, Level::MlDsa65, Level::MlDsa87];
const ID: KeyId = KeyId(0x3762_d430);

fn trusting(level: Level, number: u8) -> Appraiser {
    let mut appraiser = Appraiser::new();
    appraiser.trust(ID, Key::MlDsa(key(level, number).verifying_key().expand()));
    appraiser
}

fn verdict(appraiser: &Appraiser, value: &[u8], file: &FileId) -> Result<(), Error> {
    appraiser.appraise(&Record::parse(value).unwrap(), file)
}

#[test]
fn a_good_record_stands_for_its_file_alone() {
    for level in LEVELS {
        let file = empty_file(Kind::File);
        let value = signed(&key(level, 1), ID, &file);
        let appraiser = trusting(level, 1);
        assert_eq!(verdict(&appraiser, &value, &file), Ok(()));

        let mut digest = hex(EMPTY_256);
        digest[31] ^= 1;
        let other = FileId::new(Kind::File, HashAlgorithm::Sha256, &digest).unwrap();
        assert_eq!(verdict(&appraiser, &value, &other), Err(Error::BadSignature));
        assert_eq!(verdict(&trusting(level, 2), &value, &file), Err(Error::BadSignature));
        for at in [9, value.len() / 2, value.len() - 1] {
            let mut changed = value.clone();
            changed[at] ^= 1;
            assert_eq!(verdict(&appraiser, &changed, &file), Err(Error::BadSignature), "{at}");
        }
    }
}

#[test]
fn a_key_that_nobody_trusts_is_named() {
    let file = empty_file(Kind::File);
    let value = signed(&key(Level::MlDsa65, 1), KeyId(0x3762_d431), &file);
    let refusal = verdict(&trusting(Level::MlDsa65, 1), &value, &file).unwrap_err();
    assert_eq!(refusal, Error::UnknownKey { key_id: KeyId(0x3762_d431) });
    assert_eq!(refusal.to_string(), "no trusted key has id:3762d431");
}

#[test]
fn a_key_of_another_level_is_refused() {
    let file = empty_file(Kind::File);
    for made in LEVELS {
        for trusted in LEVELS.into_iter().filter(|level| *level != made) {
            let value = signed(&key(made, 1), ID, &file);
            assert_eq!(verdict(&trusting(trusted, 1), &value, &file), Err(Error::BadSignature));
        }
    }
}

/// Two keys whose identifiers end alike: the kernel takes the first that it finds, a tree may hold signatures of both.
#[test]
fn keys_with_one_id_are_both_tried() {
    let file = empty_file(Kind::File);
    let mut appraiser = trusting(Level::MlDsa65, 1);
    appraiser.trust(ID, Key::MlDsa(key(Level::MlDsa44, 2).verifying_key().expand()));
    for (level, number, expected) in [
        (Level::MlDsa65, 1, Ok(())),
        (Level::MlDsa44, 2, Ok(())),
        (Level::MlDsa44, 3, Err(Error::BadSignature)),
    ] {
        let value = signed(&key(level, number), ID, &file);
        assert_eq!(verdict(&appraiser, &value, &file), expected);
    }
}

/// The kind and the hash function are inside what is signed: changing them in the header does not help, and neither does
/// changing what is asked.
#[test]
fn kinds_and_hash_functions_are_not_mixed_up() {
    let (appraiser, signer) = (trusting(Level::MlDsa65, 1), key(Level::MlDsa65, 1));
    let file = empty_file(Kind::File);
    let mut value = signed(&signer, ID, &file);
    let verity = empty_file(Kind::Verity);
    assert_eq!(
        verdict(&appraiser, &value, &verity),
        Err(Error::Kind { expected: Kind::Verity, found: Kind::File })
    );
    value[0] = 6;
    assert_eq!(verdict(&appraiser, &value, &verity), Err(Error::BadSignature));

    let mut value = signed(&signer, ID, &file);
    let long = FileId::new(Kind::File, HashAlgorithm::Sha512, &hex(EMPTY_512)).unwrap();
    let differs = Error::HashDiffers { expected: HashAlgorithm::Sha512, found: HashAlgorithm::Sha256 };
    assert_eq!(verdict(&appraiser, &value, &long), Err(differs));
    value[2] = 20;
    let same_length = FileId::new(Kind::File, HashAlgorithm::Sha3_256, &hex(EMPTY_256)).unwrap();
    assert_eq!(verdict(&appraiser, &value, &same_length), Err(Error::BadSignature));
}

/// A version 2 signature is over the digest, so that one made for version 3 could never pass as it; the kernel takes none by
/// ML-DSA at all.
#[test]
fn version_2_is_not_for_ml_dsa() {
    let file = empty_file(Kind::File);
    let signer = key(Level::MlDsa65, 1);
    let over_digest = signer.sign_deterministic(Context::EMPTY, file.digest()).unwrap();
    let mut value = Record::of(&file, ID, over_digest.encode()).unwrap().to_bytes();
    let appraiser = trusting(Level::MlDsa65, 1);
    assert_eq!(verdict(&appraiser, &value, &file), Err(Error::BadSignature));
    value[1] = 2;
    assert_eq!(verdict(&appraiser, &value, &file), Err(Error::ClassicalRules));
}

/// Pure ML-DSA with an empty context: neither a context nor HashML-DSA passes.
#[test]
fn a_context_is_not_empty() {
    let file = empty_file(Kind::File);
    let signer = key(Level::MlDsa65, 1);
    let context = Context::new(b"ima").unwrap();
    let signature = signer.sign_deterministic(context, file.as_bytes()).unwrap();
    let value = Record::of(&file, ID, signature.encode()).unwrap().to_bytes();
    assert_eq!(verdict(&trusting(Level::MlDsa65, 1), &value, &file), Err(Error::BadSignature));
}

#[test]
fn an_appraiser_is_shared_between_threads() {
    fn shared<T: Send + Sync>(_: &T) {}
    shared(&Appraiser::new());
}
