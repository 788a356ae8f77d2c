//! Keys in JSON: standard ones, composite ones, and those of jwt-pq.

use sealstone_jose::{Error as Refusal, JwkSet, PrivateKey, PublicKey, composite, legacy};

use super::any::{AnyAlgorithm, AnyKey, Composite, Gates, shut};
use super::{Key, Private};
use crate::error::Error;
use crate::terminal::Terminal;

/// What is told to whoever meets a private JWK of jwt-pq with the gate shut.
const JWT_PQ: &str = "jwt-pq writes such keys: --legacy reads it. A standard JWK holds the 32-byte seed";

pub(super) fn parse(
    name: &str,
    text: &str,
    gates: Gates,
    elsewhere: &str,
    terminal: &mut Terminal,
) -> Result<AnyKey, Error> {
    let refused = |cause: &Refusal| Error::key(name, cause, cause.hint());
    let standard = match PublicKey::from_jwk(text) {
        Ok(key) => return Ok(AnyKey::Standard(Key::Public { key, encoding: "JWK" })),
        Err(Refusal::PrivateMember { .. }) => match PrivateKey::from_jwk(text) {
            Ok(key) => {
                return Ok(AnyKey::Standard(Key::Private(Private::Whole { key, encoding: "JWK" })));
            }
            Err(cause) => cause,
        },
        Err(cause) => cause,
    };
    match &standard {
        Refusal::AlgorithmUnknown { .. } => match parse_composite(text) {
            Some(Ok(key)) if gates.draft => Ok(AnyKey::Composite { key, encoding: "JWK" }),
            Some(Ok(key)) => Err(shut(name, AnyAlgorithm::Composite(key.public().algorithm()), elsewhere)),
            Some(Err(cause)) => Err(refused(&cause)),
            None => Err(refused(&standard)),
        },
        // The seed is not what is there: perhaps the expanded key is.
        Refusal::KeyMalformed { member: "priv", .. } => match legacy::ExpandedKey::from_jwk(text) {
            Ok(key) if gates.legacy => {
                terminal.warn(
                    format_args!("{name} holds the expanded key as `priv`, as jwt-pq writes it: RFC 9964 has no such JWK"),
                    "the seed cannot be computed back: make a new key, and keep this one's public half until its tokens are over",
                );
                let level = key.public().algorithm().level().ok_or_else(|| refused(&standard))?;
                let key =
                    super::standard::expanded(name, level, key.as_bytes(), "JWK of jwt-pq, expanded key")?;
                Ok(AnyKey::Standard(key))
            }
            Ok(_) => Err(Error::key(name, &standard, Some(JWT_PQ))),
            Err(_) => Err(refused(&standard)),
        },
        _ if JwkSet::parse(text.as_bytes()).is_ok() => Err(Error::key(
            name,
            "this is a key set, expected one key",
            Some(
                "`sealstone jwks find` takes one key out of it, and `sealstone jwt verify` takes the set with --jwks",
            ),
        )),
        _ => Err(refused(&standard)),
    }
}

/// `None` for a key that is not composite either.
fn parse_composite(text: &str) -> Option<Result<Composite, Refusal>> {
    let key = match composite::PublicKey::from_jwk(text) {
        Err(Refusal::PrivateMember { .. }) => composite::PrivateKey::from_jwk(text).map(Composite::Private),
        read => read.map(Composite::Public),
    };
    match key {
        Err(Refusal::AlgorithmUnknown { .. }) => None,
        key => Some(key),
    }
}
