//! Signatures forged without a private key. A public key with t1 = 0 takes the challenge out of the verification
//! equation: w' = A·z. So whatever z and hint a faulty decoder would see, the commitment hash that goes with them
//! can be computed, and the signature is accepted by exactly the verifier that forgot the check.

use sealstone_mldsa::Level;

use crate::model::{self, Poly};
use crate::vectors::oracle;
use crate::vectors::shape::{Shape, shape};
use crate::vectors::subject::{Input, Sealstone, Subject, Trouble};

pub const MESSAGE: &[u8] = b"nobody signed this";

/// A public key with t1 = 0.
pub struct Forge {
    pub level: Level,
    pub shape: Shape,
    pub public: Vec<u8>,
    pub a_hat: Vec<Vec<Poly>>,
    pub mu: [u8; 64],
}

/// The places of the ones, polynomial by polynomial, in the order in which they are written.
pub type Places = Vec<Vec<u8>>;

impl Forge {
    pub fn new(level: Level) -> Self {
        let shape = shape(level);
        let mut public = vec![0x5e; 32];
        let a_hat = model::expand_a(&shape, &public);
        public.resize(shape.public_key, 0);
        let mu = oracle::mu(&public, &oracle::formatted(&[], None, MESSAGE));
        Self { level, shape, public, a_hat, mu }
    }

    /// Some z well within its bound.
    pub fn z(&self, salt: i32) -> Vec<Poly> {
        let value = |poly: i32, i: i32| (poly * 7919 + i * 104_729 + salt * 31) % 100_000 - 50_000;
        (0..self.shape.l)
            .map(|poly| std::array::from_fn(|i| value(poly.try_into().unwrap(), i.try_into().unwrap())))
            .collect()
    }

    /// No ones at all.
    pub fn no_places(&self) -> Places {
        vec![Vec::new(); self.shape.k]
    }

    /// The honest encoding of the places: FIPS 204, Algorithm 20.
    pub fn hint_bytes(&self, places: &Places) -> Vec<u8> {
        let mut bytes: Vec<u8> = places.concat();
        bytes.resize(self.shape.omega, 0);
        let mut count = 0;
        for poly in places {
            count += poly.len();
            bytes.push(u8::try_from(count).unwrap());
        }
        bytes
    }

    /// The signature for z and the hint that a decoder sees, with these bytes in the place of the hint.
    pub fn sign(&self, z: &[Poly], seen: &Places, hint_bytes: &[u8]) -> Vec<u8> {
        let ones = |places: &Vec<u8>| (0..=255_u8).map(|place| places.contains(&place)).collect();
        let hints: Vec<Vec<bool>> = seen.iter().map(ones).collect();
        let w = model::product(&self.a_hat, z);
        self.assemble(&model::commitment(&self.shape, &self.mu, &w, &hints), z, hint_bytes)
    }

    /// c̃ || z || h.
    pub fn assemble(&self, c_tilde: &[u8], z: &[Poly], hint_bytes: &[u8]) -> Vec<u8> {
        let signature = [c_tilde, &model::z_encode(&self.shape, z), hint_bytes].concat();
        assert_eq!(signature.len(), self.shape.signature);
        signature
    }

    /// The verdict of the engine.
    pub fn verdict(&self, signature: &[u8]) -> Result<(), Trouble> {
        Sealstone.verify(self.level, &self.public, Input::Pure { context: &[], message: MESSAGE }, signature)
    }

    #[track_caller]
    pub fn accepted(&self, what: &str, signature: &[u8]) {
        assert_eq!(self.verdict(signature), Ok(()), "{}: {what}", self.shape.name);
    }

    #[track_caller]
    pub fn refused(&self, what: &str, signature: &[u8]) {
        let verdict = self.verdict(signature);
        assert!(matches!(verdict, Err(Trouble::Refused(_))), "{}: {what}: {verdict:?}", self.shape.name);
    }

    /// Honest bytes for these places are accepted; it shows that a refusal is due to the bytes and nothing else.
    #[track_caller]
    pub fn accepted_places(&self, what: &str, places: &Places) {
        self.accepted(what, &self.sign(&self.z(1), places, &self.hint_bytes(places)));
    }

    /// These bytes are refused, although the hash is right for a decoder that sees these places in them.
    #[track_caller]
    pub fn refused_bytes(&self, what: &str, seen: &Places, bytes: &[u8]) {
        self.refused(what, &self.sign(&self.z(1), seen, bytes));
    }
}
