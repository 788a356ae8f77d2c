//! Every length from 0 to two more than the right one, at every door. Botan PR 5475 took seeds of any length,
//! AWS-LC PR 2841 an external μ, AWS-LC PR 3538 a context, mldsa-native PR 1241 a pre-hash digest.

use sealstone_mldsa::any::{ExpandedSigningKey, Signature, SigningKey, VerifyingKey};
use sealstone_mldsa::{Context, Error, MlDsa44, MlDsa65, MlDsa87, Mu, PreHash};

use crate::vectors::shape::{LEVELS, shape};

/// `door` takes `right` bytes and no other number.
fn only<T>(right: usize, what: &str, door: impl Fn(&[u8]) -> Result<T, Error>) {
    let bytes = vec![0; right + 3];
    for len in (0..=right + 2).chain([right * 2, 65_536 + right]) {
        let longer;
        let given = if len < bytes.len() {
            &bytes[..len]
        } else {
            longer = vec![0; len];
            &longer
        };
        match door(given) {
            Ok(_) => assert_eq!(len, right, "{what}: took {len} bytes"),
            Err(Error::WrongLength { expected, found }) => {
                assert_eq!((expected, found), (right, len), "{what}");
                assert_ne!(len, right, "{what}");
            }
            Err(error) => assert_eq!(len, right, "{what}: {error:?} at {len} bytes"),
        }
    }
}

#[test]
fn seeds() {
    for level in LEVELS {
        only(32, "seed", |bytes| SigningKey::try_from_seed(level, bytes));
        assert!(SigningKey::try_from_seed(level, &[0; 32]).is_ok());
    }
    // The doors with the level as a type have their own way to a seed.
    only(32, "seed", sealstone_mldsa::SigningKey::<MlDsa44>::try_from_seed);
    only(32, "seed", sealstone_mldsa::SigningKey::<MlDsa65>::try_from_seed);
    only(32, "seed", sealstone_mldsa::SigningKey::<MlDsa87>::try_from_seed);
}

#[test]
fn verifying_keys() {
    for level in LEVELS {
        only(shape(level).public_key, "public key", |bytes| VerifyingKey::decode(level, bytes));
        assert!(VerifyingKey::decode(level, &vec![0; shape(level).public_key]).is_ok());
    }
}

#[test]
fn signatures() {
    for level in LEVELS {
        only(shape(level).signature, "signature", |bytes| Signature::decode(level, bytes));
        assert!(Signature::decode(level, &vec![0; shape(level).signature]).is_ok());
    }
}

#[test]
fn expanded_keys() {
    for level in LEVELS {
        only(shape(level).private_key, "expanded key", |bytes| ExpandedSigningKey::decode(level, bytes));
        let key = SigningKey::from_seed(level, &[1; 32]).expand();
        let good = {
            let mut bytes = vec![0; shape(level).private_key];
            key.encode(&mut bytes).unwrap();
            bytes
        };
        assert!(ExpandedSigningKey::decode(level, &good).is_ok());
        for len in [0, 32, good.len() - 1] {
            assert!(ExpandedSigningKey::decode(level, &good[..len]).is_err());
        }
        assert!(ExpandedSigningKey::decode(level, &[&good[..], &[0]].concat()).is_err());
    }
}

#[test]
fn room_for_an_expanded_key() {
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[1; 32]).expand();
        only(shape(level).private_key, "room for an expanded key", |bytes| {
            let mut room = bytes.to_vec();
            let done = key.encode(&mut room);
            assert!(done.is_ok() || room == bytes, "written although refused");
            done
        });
    }
}

#[test]
fn message_representatives() {
    only(64, "μ", Mu::decode);
    assert!(Mu::decode(&[0; 64]).is_ok());
}

#[test]
fn contexts() {
    let bytes = [0x2a; 300];
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[2; 32]).expand();
        let public = key.verifying_key().expand();
        let mut before: Option<Signature> = None;
        for len in 0..=257 {
            let context = Context::new(&bytes[..len]);
            if len > 255 {
                assert_eq!(context, Err(Error::ContextTooLong), "{len}");
                continue;
            }
            let context = context.unwrap();
            if level == LEVELS[0] || !(3..=253).contains(&len) {
                let signature = key.sign_deterministic(context, b"").unwrap();
                assert_eq!(public.verify(context, b"", &signature), Ok(()));
                if let Some(before) = before.replace(signature) {
                    assert_eq!(public.verify(context, b"", &before), Err(Error::BadSignature), "{len}");
                }
            }
        }
    }
}

/// The context is separated from the message: moving a byte from one to the other is another message.
#[test]
fn context_and_message_run_together() {
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[3; 32]).expand();
        let public = key.verifying_key();
        let signature = key.sign_deterministic(Context::new(b"ab").unwrap(), b"cd").unwrap();
        for (context, message) in [(&b"abc"[..], &b"d"[..]), (b"a", b"bcd"), (b"", b"abcd"), (b"abcd", b"")] {
            let context = Context::new(context).unwrap();
            assert_eq!(public.verify(context, message, &signature), Err(Error::BadSignature));
        }
        assert_eq!(public.verify(Context::new(b"ab").unwrap(), b"cd", &signature), Ok(()));
    }
}

#[test]
fn prehash_digests() {
    for level in LEVELS {
        let key = SigningKey::from_seed(level, &[4; 32]).expand();
        let public = key.verifying_key();
        let expanded = public.expand();
        for hash in PreHash::ALL {
            only(hash.digest_len(), hash.name(), |digest| key.prehashed(Context::EMPTY, hash, digest));
            only(hash.digest_len(), hash.name(), |digest| public.prehashed(Context::EMPTY, hash, digest));
            only(hash.digest_len(), hash.name(), |digest| expanded.prehashed(Context::EMPTY, hash, digest));
        }
    }
}
