//! What must not verify. A half alone, halves of two signatures, the same halves under another label: nothing of it is a signature.

use std::sync::OnceLock;

use proptest::prelude::*;
use sealstone_composite::{Algorithm, Error, Message, PrivateKey, PublicKey};

const MESSAGE: &[u8] = b"a message";

/// Two keys of each algorithm, made once: RSA takes its time.
fn keys(algorithm: Algorithm) -> [&'static PrivateKey; 2] {
    static KEYS: [OnceLock<[PrivateKey; 2]>; 16] = [const { OnceLock::new() }; 16];
    let place = Algorithm::ALL.iter().position(|known| *known == algorithm).unwrap();
    KEYS[place].get_or_init(|| [(); 2].map(|()| PrivateKey::generate(algorithm).unwrap())).each_ref()
}

fn halves(algorithm: Algorithm, signature: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let (first, second) = signature.split_at(algorithm.level().signature_len());
    (first.to_vec(), second.to_vec())
}

#[test]
fn every_algorithm_there_and_back() {
    for algorithm in Algorithm::ALL {
        let [key, _] = keys(algorithm);
        match algorithm.name().contains("RSA") {
            true => {
                assert!((algorithm.secret_len() - 8..=algorithm.secret_len()).contains(&key.encode().len()))
            }
            false => assert_eq!(key.encode().len(), algorithm.secret_len()),
        }
        assert_eq!(key.public().encode().len(), algorithm.public_len());
        let again = PrivateKey::decode(algorithm, key.encode()).unwrap();
        assert_eq!(again.public(), key.public());
        let public = PublicKey::decode(algorithm, key.public().encode()).unwrap();
        for context in [&b""[..], b"context", &[7; 255]] {
            let signature = again.sign(context, MESSAGE).unwrap();
            assert_eq!(public.verify(context, MESSAGE, &signature), Ok(()), "{algorithm}");
            let mut pieces = Message::new(algorithm, context).unwrap();
            MESSAGE.chunks(2).for_each(|piece| pieces.update(piece));
            assert_eq!(public.verify_message(pieces, &signature), Ok(()), "{algorithm}");
        }
        assert_eq!(key.sign(&[7; 256], MESSAGE), Err(Error::ContextTooLong));
        assert!(!format!("{key:?}").contains("secret"));
    }
}

#[test]
fn a_half_that_is_bad_is_a_signature_that_is_bad() {
    for algorithm in Algorithm::ALL {
        let [key, other] = keys(algorithm);
        let public = key.public();
        let (first, second) = halves(algorithm, &key.sign(b"", MESSAGE).unwrap());
        let (first_of_other, second_of_other) = halves(algorithm, &other.sign(b"", MESSAGE).unwrap());
        let (first_of_next, second_of_next) = halves(algorithm, &key.sign(b"", b"another").unwrap());
        let forged = [
            ("first half of another key", [&first_of_other[..], &second].concat()),
            ("second half of another key", [&first[..], &second_of_other].concat()),
            ("first half of another message", [&first_of_next[..], &second].concat()),
            ("second half of another message", [&first[..], &second_of_next].concat()),
            ("both of another key", [first_of_other, second_of_other].concat()),
        ];
        for (name, signature) in forged {
            assert_eq!(
                public.verify(b"", MESSAGE, &signature),
                Err(Error::BadSignature),
                "{algorithm}: {name}"
            );
        }
        assert_eq!(
            public.verify(b"x", MESSAGE, &[first.clone(), second.clone()].concat()),
            Err(Error::BadSignature)
        );
        // Halves of one and the same message by one and the same key mix: each is a signature of its own.
        let (first_again, _) = halves(algorithm, &key.sign(b"", MESSAGE).unwrap());
        assert_eq!(public.verify(b"", MESSAGE, &[&first_again[..], &second].concat()), Ok(()));
        for cut in [0, 1, first.len(), first.len() + 1, first.len() + second.len() - 1] {
            let signature = &[first.clone(), second.clone()].concat()[..cut];
            assert!(public.verify(b"", MESSAGE, signature).is_err(), "{algorithm}: {cut} bytes");
        }
        let longer = [first.clone(), second.clone(), vec![0]].concat();
        assert!(public.verify(b"", MESSAGE, &longer).is_err(), "{algorithm}: a byte behind");
    }
}

/// The same two keys under another label sign something else: nobody moves a signature from one algorithm to another.
#[test]
fn an_algorithm_is_not_another() {
    let mut tried = Vec::new();
    for one in Algorithm::ALL {
        for other in Algorithm::ALL.into_iter().filter(|other| *other != one) {
            let [key, _] = keys(one);
            let Ok(relabelled) = PublicKey::decode(other, key.public().encode()) else { continue };
            let signature = key.sign(b"", MESSAGE).unwrap();
            assert_eq!(relabelled.verify(b"", MESSAGE, &signature), Err(Error::BadSignature));
            tried.push((one, other));
        }
    }
    // Keys of the same shape: the two paddings of each RSA, to and fro.
    assert_eq!(tried.len(), 6, "{tried:?}");
    let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519).unwrap();
    let foreign = || Message::new(Algorithm::MlDsa44Ed25519, b"").unwrap();
    assert_eq!(key.sign_message(foreign()), Err(Error::Provider));
    let signature = key.sign(b"", b"").unwrap();
    assert_eq!(key.public().verify_message(foreign(), &signature), Err(Error::BadSignature));
}

/// Neither half is a signature of the message itself by the half's key.
#[test]
fn no_half_can_be_taken_out() {
    use sealstone_mldsa::{Context, Level, any};
    let key = PrivateKey::generate(Algorithm::MlDsa65Ed25519).unwrap();
    let (first, second) = halves(Algorithm::MlDsa65Ed25519, &key.sign(b"", MESSAGE).unwrap());
    let (ml_dsa, ed25519) = key.public().encode().split_at(Level::MlDsa65.verifying_key_len());
    let ml_dsa = any::VerifyingKey::decode(Level::MlDsa65, ml_dsa).unwrap();
    let first = any::Signature::decode(Level::MlDsa65, &first).unwrap();
    assert!(ml_dsa.verify(Context::EMPTY, MESSAGE, &first).is_err());
    let label = Context::new(b"COMPSIG-MLDSA65-Ed25519-SHA512").unwrap();
    assert!(ml_dsa.verify(label, MESSAGE, &first).is_err());
    let ed25519 = aws_lc_rs::signature::UnparsedPublicKey::new(&aws_lc_rs::signature::ED25519, ed25519);
    assert!(ed25519.verify(MESSAGE, &second).is_err());
}

#[test]
fn malformed_keys() {
    for algorithm in Algorithm::ALL {
        let [key, _] = keys(algorithm);
        let (secret, public) = (key.encode(), key.public().encode());
        let ec = algorithm.name().contains("ECDSA");
        for len in [0, 31, 32, secret.len() - 1, secret.len() + 1] {
            let cut: Vec<u8> = secret.iter().copied().chain([0]).take(len).collect();
            assert!(PrivateKey::decode(algorithm, &cut).is_err(), "{algorithm}: private key of {len} bytes");
        }
        for len in [0, 1, public.len() - 2, public.len() + 1] {
            let cut: Vec<u8> = public.iter().copied().chain([0]).take(len).collect();
            assert!(PublicKey::decode(algorithm, &cut).is_err(), "{algorithm}: public key of {len} bytes");
        }
        if ec {
            let refused = Err(Error::KeyMalformed { algorithm });
            // Every byte around the scalar is as the draft has it.
            let around = (32..39).chain(secret.len() - 9..secret.len());
            for at in around {
                let mut secret = secret.to_vec();
                secret[at] ^= 1;
                assert_eq!(
                    PrivateKey::decode(algorithm, &secret).map(drop),
                    refused,
                    "{algorithm}: byte {at}"
                );
            }
            let mut zero = secret.to_vec();
            let end = zero.len() - if algorithm.name().contains("P256") { 12 } else { 9 };
            zero[39..end].fill(0);
            assert_eq!(PrivateKey::decode(algorithm, &zero).map(drop), refused, "{algorithm}: scalar 0");
            zero[39..end].fill(0xff);
            assert_eq!(
                PrivateKey::decode(algorithm, &zero).map(drop),
                refused,
                "{algorithm}: scalar past the order"
            );
            let point = algorithm.level().verifying_key_len();
            for (at, bit, name) in
                [(point, 2, "hybrid form"), (point, 4, "no form"), (public.len() - 1, 1, "off the curve")]
            {
                let mut public = public.to_vec();
                public[at] ^= bit;
                assert_eq!(PublicKey::decode(algorithm, &public).map(drop), refused, "{algorithm}: {name}");
            }
        }
    }
}

/// What is an RSA key, and not one of these algorithms.
#[test]
fn rsa_keys_have_one_shape() {
    for algorithm in Algorithm::ALL.into_iter().filter(|algorithm| algorithm.name().contains("RSA")) {
        let [key, other] = keys(algorithm);
        let (public, secret) = (key.public().encode(), key.encode());
        let first = algorithm.level().verifying_key_len();
        let refused = Err(Error::KeyMalformed { algorithm });
        let decode = |bytes: &[u8]| PublicKey::decode(algorithm, bytes).map(drop);
        let end = public.len() - 1;
        // Each header, the sign, the first bit of the modulus, the exponent 65539, an even modulus.
        for (at, bit) in (0..9).map(|at| (first + at, 1)).chain([(first + 9, 0x80), (end, 2), (end - 5, 1)]) {
            let mut changed = public.to_vec();
            changed[at] ^= bit;
            assert_eq!(decode(&changed), refused, "{algorithm}: byte {}", at - first);
        }
        let modulus = public[first + 9..end - 4].to_vec();
        // An exponent of 3, and of four bytes: other lengths.
        for exponent in [&[2, 1, 3][..], &[2, 4, 1, 0, 0, 1]] {
            let changed = [&public[..first + 9], &modulus, exponent].concat();
            assert!(matches!(decode(&changed), Err(Error::KeyLength { .. })), "{algorithm}");
        }
        // Numbers of two keys, and numbers that are changed, belong together no more.
        let private = |bytes: &[u8]| PrivateKey::decode(algorithm, bytes).map(drop);
        assert_eq!(private(secret), Ok(()));
        let n = 32 + 4 + 3 + 4;
        let swapped =
            [&secret[..n], &other.public().encode()[first + 8..end - 4], &secret[n + 1 + modulus.len()..]];
        assert_eq!(private(&swapped.concat()), refused, "{algorithm}: a modulus of another key");
        for at in [n + modulus.len() / 2, n + modulus.len() * 3 / 2, secret.len() - modulus.len() / 4] {
            let mut changed = secret.to_vec();
            changed[at] ^= 4;
            assert_eq!(private(&changed), refused, "{algorithm}: byte {at}");
        }
        // A key of another size.
        for foreign in Algorithm::ALL.into_iter().filter(|one| one.name().contains("RSA")) {
            if foreign.public_len() - foreign.level().verifying_key_len() != public.len() - first {
                let bytes = [&secret[..32], &keys(foreign)[0].encode()[32..]].concat();
                assert!(private(&bytes).is_err(), "{algorithm}: a key of {foreign}");
            }
        }
    }
}

/// S + L says the same as S: a second spelling of a signature, which RFC 8032 forbids (5.1.7, 5.2.7).
#[test]
fn rfc8032_a_scalar_past_the_order() {
    let order_25519: Vec<u8> =
        [0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14]
            .into_iter()
            .chain([0; 15])
            .chain([0x10])
            .collect();
    let order_448: Vec<u8> = [
        0xf3, 0x44, 0x58, 0xab, 0x92, 0xc2, 0x78, 0x23, 0x55, 0x8f, 0xc5, 0x8d, 0x72, 0xc2, 0x6c, 0x21, 0x90,
        0x36, 0xd6, 0xae, 0x49, 0xdb, 0x4e, 0xc4, 0xe9, 0x23, 0xca, 0x7c,
    ]
    .into_iter()
    .chain([0xff; 27])
    .chain([0x3f, 0])
    .collect();
    for (algorithm, order) in [(Algorithm::MlDsa44Ed25519, order_25519), (Algorithm::MlDsa87Ed448, order_448)]
    {
        let key = PrivateKey::generate(algorithm).unwrap();
        let mut signature = key.sign(b"", MESSAGE).unwrap();
        let at = signature.len() - order.len();
        let mut carry = 0;
        for (byte, order) in signature[at..].iter_mut().zip(order) {
            let sum = u16::from(*byte) + u16::from(order) + carry;
            (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
        }
        assert_eq!(key.public().verify(b"", MESSAGE, &signature), Err(Error::BadSignature), "{algorithm}");
    }
}

/// Whatever a flipped bit makes of a signature, it is none.
#[test]
fn flipped_bits() {
    for algorithm in Algorithm::ALL {
        let [key, _] = keys(algorithm);
        let signature = key.sign(b"", MESSAGE).unwrap();
        let first = algorithm.level().signature_len();
        for at in (0..first).step_by(97).chain(first..signature.len()) {
            for bit in [0x01, 0x80] {
                let mut signature = signature.clone();
                signature[at] ^= bit;
                assert!(key.public().verify(b"", MESSAGE, &signature).is_err(), "{algorithm}: byte {at}");
            }
        }
    }
}

proptest! {
    /// Any bytes are a key or refused, a signature or refused, and nothing panics.
    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), which in 0..Algorithm::ALL.len()) {
        let algorithm = Algorithm::ALL[which];
        let _ = (PrivateKey::decode(algorithm, &bytes).is_ok(), PublicKey::decode(algorithm, &bytes).is_ok());
    }
}
