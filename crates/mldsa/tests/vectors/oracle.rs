//! Hash functions from other hands: what the engine hashes with its own Keccak is checked against these.

use sealstone_mldsa::PreHash;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512, Sha512_224, Sha512_256};
use sha3::Digest as _;
use sha3::digest::{ExtendableOutput, Update, XofReader};
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512, Shake128, Shake256};

/// SHA-256.
pub fn sha256(parts: &[&[u8]]) -> Vec<u8> {
    parts.iter().fold(Sha256::new(), sha2::Digest::chain_update).finalize().to_vec()
}

/// SHA3-256.
pub fn sha3_256(bytes: &[u8]) -> Vec<u8> {
    Sha3_256::digest(bytes).to_vec()
}

/// SHAKE256 with `N` bytes of output: H of the standard.
pub fn shake256<const N: usize>(parts: &[&[u8]]) -> [u8; N] {
    let mut hash = Shake256::default();
    parts.iter().for_each(|part| Update::update(&mut hash, part));
    let mut out = [0; N];
    hash.finalize_xof().read(&mut out);
    out
}

/// The digest that HashML-DSA signs.
pub fn digest(hash: PreHash, message: &[u8]) -> Vec<u8> {
    match hash {
        PreHash::Sha2_224 => Sha224::digest(message).to_vec(),
        PreHash::Sha2_256 => Sha256::digest(message).to_vec(),
        PreHash::Sha2_384 => Sha384::digest(message).to_vec(),
        PreHash::Sha2_512 => Sha512::digest(message).to_vec(),
        PreHash::Sha2_512_224 => Sha512_224::digest(message).to_vec(),
        PreHash::Sha2_512_256 => Sha512_256::digest(message).to_vec(),
        PreHash::Sha3_224 => Sha3_224::digest(message).to_vec(),
        PreHash::Sha3_256 => Sha3_256::digest(message).to_vec(),
        PreHash::Sha3_384 => Sha3_384::digest(message).to_vec(),
        PreHash::Sha3_512 => Sha3_512::digest(message).to_vec(),
        PreHash::Shake128 => {
            let mut out = vec![0; 32];
            Update::chain(Shake128::default(), message).finalize_xof().read(&mut out);
            out
        }
        PreHash::Shake256 => shake256::<64>(&[message]).to_vec(),
    }
}

/// The last byte of the hash's object identifier 2.16.840.1.101.3.4.2.x.
pub fn oid_arc(hash: PreHash) -> u8 {
    match hash {
        PreHash::Sha2_256 => 1,
        PreHash::Sha2_384 => 2,
        PreHash::Sha2_512 => 3,
        PreHash::Sha2_224 => 4,
        PreHash::Sha2_512_224 => 5,
        PreHash::Sha2_512_256 => 6,
        PreHash::Sha3_224 => 7,
        PreHash::Sha3_256 => 8,
        PreHash::Sha3_384 => 9,
        PreHash::Sha3_512 => 10,
        PreHash::Shake128 => 11,
        PreHash::Shake256 => 12,
    }
}

/// M′ of FIPS 204, Algorithms 2 to 5.
pub fn formatted(context: &[u8], hash: Option<PreHash>, message: &[u8]) -> Vec<u8> {
    let length = u8::try_from(context.len()).expect("a context of the tests fits in 255 bytes");
    let mut bytes = vec![u8::from(hash.is_some()), length];
    bytes.extend_from_slice(context);
    match hash {
        None => bytes.extend_from_slice(message),
        Some(hash) => {
            bytes.extend_from_slice(&[
                0x06,
                0x09,
                0x60,
                0x86,
                0x48,
                0x01,
                0x65,
                0x03,
                0x04,
                0x02,
                oid_arc(hash),
            ]);
            bytes.extend_from_slice(&digest(hash, message));
        }
    }
    bytes
}

/// μ of M′: H(H(pk, 64) || M′, 64).
pub fn mu(public: &[u8], formatted: &[u8]) -> [u8; 64] {
    shake256(&[&shake256::<64>(&[public]), formatted])
}

/// SHAKE128 as a stream in both directions, for the accumulated digests.
#[derive(Default)]
pub struct Accumulator(Shake128);

impl Accumulator {
    /// Absorbs.
    pub fn write(&mut self, bytes: &[u8]) {
        Update::update(&mut self.0, bytes);
    }

    /// The 32-byte digest of everything absorbed.
    pub fn finish(self) -> [u8; 32] {
        let mut out = [0; 32];
        self.0.finalize_xof().read(&mut out);
        out
    }
}

/// The endless output of SHAKE128 on no input.
pub fn seeds() -> impl FnMut() -> [u8; 32] {
    let mut reader = Shake128::default().finalize_xof();
    move || {
        let mut seed = [0; 32];
        reader.read(&mut seed);
        seed
    }
}
