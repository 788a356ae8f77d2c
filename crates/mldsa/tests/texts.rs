//! What values say of themselves: names without contents, and what was expected where a name is unknown.

use sealstone_mldsa::{Context, Level, Mu, PreHash, UnknownPreHash, any};

/// Names, and not nothing: an empty text would show no secret either.
#[test]
fn debug_names_the_type() {
    let public = any::SigningKey::from_seed(Level::MlDsa44, &[1; 32]).verifying_key();
    assert_eq!(format!("{:?}", Mu::from_bytes([7; 64])), "Mu(..)");
    assert_eq!(format!("{:?}", public.message(Context::EMPTY)), "MuHasher(..)");
}

#[test]
fn unknown_prehash_lists_the_known() {
    for name in ["", "SHA2", "SHA2-512/25", "sha2-256", "SHAKE-128 "] {
        assert_eq!(name.parse::<PreHash>(), Err(UnknownPreHash), "{name:?}");
    }
    let text = UnknownPreHash.to_string();
    assert!(text.starts_with("expected one of "), "{text}");
    let names: Vec<_> = text.split(' ').skip(3).collect();
    assert_eq!(names, PreHash::ALL.map(PreHash::name));
}

/// The bytes go in and come out.
#[test]
fn external_mu_is_kept() {
    let bytes: [u8; 64] = std::array::from_fn(|i| u8::try_from(i).unwrap());
    assert_eq!(Mu::from_bytes(bytes).as_bytes(), &bytes);
    assert_eq!(Mu::decode(&bytes).unwrap().as_bytes(), &bytes);
    assert!(Mu::from_bytes(bytes) != Mu::from_bytes([0; 64]));
}
