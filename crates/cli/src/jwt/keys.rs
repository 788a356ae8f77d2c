//! The keys that a token is signed and checked with: one, two (what jwt-pq calls hybrid), or a set.

use std::ffi::OsString;

use sealstone_jose::jws::{Unverified, Verified};
use sealstone_jose::jwt::{Rules, Token};
use sealstone_jose::legacy::{self, HybridAlgorithm, HybridPrivateKey, HybridPublicKey};
use sealstone_jose::{Error as Refusal, PrivateKey, PublicKey, UnixSeconds, composite};
use serde_json::{Map, Value};

use crate::error::Error;
use crate::files::Source;
use crate::jwks::set::KeySet;
use crate::keyfile::any::{AnyKey, AnyPublic, Composite, Gates};
use crate::keyfile::{Key, Private, not_private};
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// What a hybrid token needs, for who gave something else.
const PAIR: &str = "a token of jwt-pq's hybrid kind takes an Ed25519 key and an ML-DSA key: --legacy --key ed25519.pem --key ml-dsa.pem";

/// What signs a token.
pub(super) enum Signer {
    Composite(composite::PrivateKey),
    Expanded(legacy::ExpandedKey),
    Hybrid(HybridPrivateKey),
    Standard(PrivateKey),
}

impl Signer {
    /// One key, or with `--legacy` two.
    pub(super) fn load(
        files: &[OsString],
        password: &PasswordFile,
        gates: Gates,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        let private = |file: &OsString, terminal: &mut Terminal| {
            let source = Source::from(file.clone());
            let key = AnyKey::load(&source, password, gates, terminal)?;
            if key.is_private() {
                return Ok(key);
            }
            Err(not_private(&source.name()))
        };
        match files {
            [file] => Self::of_one(private(file, terminal)?),
            [first, second] => {
                check_pair(gates)?;
                let keys = [private(first, terminal)?, private(second, terminal)?];
                Self::of_two(keys)
            }
            _ => Err(too_many(files.len())),
        }
    }

    fn of_one(key: AnyKey) -> Result<Self, Error> {
        match key {
            AnyKey::Composite { key: Composite::Private(key), .. } => Ok(Self::Composite(key)),
            AnyKey::Standard(Key::Private(Private::Expanded { key, .. })) => {
                Private::expanded(&key).map(Self::Expanded)
            }
            AnyKey::Standard(Key::Private(Private::Whole { key, .. })) => Ok(Self::Standard(key)),
            _ => Err(Error::usage("a public key signs nothing", "give a private one")),
        }
    }

    /// In any order: which is which is seen.
    fn of_two([first, second]: [AnyKey; 2]) -> Result<Self, Error> {
        let refused = |cause: Refusal| Error::usage(cause.to_string(), PAIR);
        let (ed25519, ml_dsa) = if is_ml_dsa(first.public()) { (second, first) } else { (first, second) };
        let hybrid = match (Self::of_one(ed25519)?, Self::of_one(ml_dsa)?) {
            (Self::Standard(ed25519), Self::Standard(ml_dsa)) => HybridPrivateKey::new(ed25519, ml_dsa),
            (Self::Standard(ed25519), Self::Expanded(ml_dsa)) => {
                HybridPrivateKey::with_expanded(ed25519, ml_dsa)
            }
            _ => return Err(Error::usage("these two keys make no hybrid token", PAIR)),
        };
        hybrid.map(Self::Hybrid).map_err(refused)
    }
}

/// What checks a token.
pub(super) enum Keys {
    Hybrid(Box<HybridPublicKey>),
    One(Box<AnyKey>),
    Set(Box<KeySet>),
}

impl Keys {
    /// One key, or with `--legacy` two.
    pub(super) fn load(
        files: &[OsString],
        password: &PasswordFile,
        gates: Gates,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        let mut read = |file: &OsString| AnyKey::load(&Source::from(file.clone()), password, gates, terminal);
        match files {
            [file] => Ok(Keys::One(Box::new(read(file)?))),
            [first, second] => {
                check_pair(gates)?;
                let (first, second) = (read(first)?, read(second)?);
                let (AnyPublic::Standard(first), AnyPublic::Standard(second)) =
                    (first.public(), second.public())
                else {
                    return Err(Error::usage("these two keys check no hybrid token", PAIR));
                };
                let (ed25519, ml_dsa) =
                    if first.algorithm().level().is_some() { (second, first) } else { (first, second) };
                let key = HybridPublicKey::new(ed25519.clone(), ml_dsa.clone());
                let key = key.map_err(|cause| Error::usage(cause.to_string(), PAIR))?;
                Ok(Keys::Hybrid(Box::new(key)))
            }
            _ => Err(too_many(files.len())),
        }
    }

    /// Checks each: what standard keys signed side by side, the rest one by one. Each gets what [`check`](Self::check) would say.
    pub(super) fn check_all(
        &self,
        texts: &[&str],
        rules: &Rules,
        now: UnixSeconds,
    ) -> Vec<Result<Checked, Error>> {
        let (mut together, mut pairs) = (Vec::with_capacity(texts.len()), Vec::new());
        for text in texts {
            let pair = Unverified::parse(text).ok().and_then(|token| {
                let key = self.standard(&token)?;
                Some((token, key))
            });
            together.push(pair.is_some());
            pairs.extend(pair);
        }
        let mut verified = Unverified::verify_all(pairs).into_iter();
        let check = |(text, together): (&&str, bool)| match together.then(|| verified.next()).flatten() {
            Some(verified) => Checked::of_standard(verified, rules, now),
            None => self.check(text, rules, now),
        };
        texts.iter().zip(together).map(check).collect()
    }

    /// The standard key for a token, if there is one.
    fn standard(&self, token: &Unverified<'_>) -> Option<&PublicKey> {
        match self {
            Keys::Hybrid(_) => None,
            Keys::One(key) => match key.public() {
                AnyPublic::Composite(_) => None,
                AnyPublic::Standard(key) => Some(key),
            },
            Keys::Set(set) => token.key_in(set.standard()).ok(),
        }
    }

    /// Checks signature and claims.
    pub(super) fn check(&self, text: &str, rules: &Rules, now: UnixSeconds) -> Result<Checked, Error> {
        match self {
            Keys::Hybrid(key) => {
                let token = Unverified::parse_hybrid(text)
                    .map_err(|cause| kind(text, "the two keys are for jwt-pq's hybrid", cause))?;
                let name = token.header().algorithm().name();
                Checked::of(name, token.verify_hybrid(key), rules, now)
            }
            Keys::One(key) => match key.public() {
                AnyPublic::Composite(key) => check_composite(text, key, rules, now),
                AnyPublic::Standard(key) => {
                    let token = Unverified::parse(text)
                        .map_err(|cause| kind(text, &is_for(key.algorithm().name()), cause))?;
                    Checked::of_standard(token.verify(key), rules, now)
                }
            },
            Keys::Set(set) => match Unverified::parse(text) {
                Ok(token) => Checked::of_standard(token.verify_with_set(set.standard()), rules, now),
                Err(cause) if set.composite().next().is_none() => {
                    Err(kind(text, "no key of the set is for it", cause))
                }
                Err(cause) => {
                    let Ok(token) = Unverified::parse_composite(text) else {
                        return Err(kind(text, "no key of the set is for it", cause));
                    };
                    let key = composite_in(set, &token).map_err(Error::Token)?;
                    check_composite(text, key, rules, now)
                }
            },
        }
    }
}

/// The key that `kid` names, or, if it names none, the only one of the token's algorithm.
fn composite_in<'s>(
    set: &'s KeySet,
    token: &Unverified<'_, composite::Algorithm>,
) -> Result<&'s composite::PublicKey, Refusal> {
    if let Some(kid) = token.header().kid() {
        let key = set.composite().find(|key| key.kid() == kid);
        return key.ok_or_else(|| Refusal::UnknownKid { kid: format!("\"{}\"", kid.escape_debug()) });
    }
    let mut fits = set.composite().filter(|key| key.algorithm() == token.header().algorithm());
    match (fits.next(), fits.count()) {
        (Some(key), 0) => Ok(key),
        (first, more) => Err(Refusal::AmbiguousKey { candidates: usize::from(first.is_some()) + more }),
    }
}

fn check_composite(
    text: &str,
    key: &composite::PublicKey,
    rules: &Rules,
    now: UnixSeconds,
) -> Result<Checked, Error> {
    let token = Unverified::parse_composite(text)
        .map_err(|cause| kind(text, &is_for(key.algorithm().name()), cause))?;
    let found = token.header().algorithm();
    if found != key.algorithm() {
        let what = format!("the key is for {}, the token's header says {found}", key.algorithm());
        let hint = "give the key that signed the token; its kid is in the header";
        return Err(Error::TokenKind { what, hint: Some(hint.to_owned()) });
    }
    Checked::of(found.name(), token.verify_composite(key), rules, now)
}

/// A token whose signature and claims are good.
pub(super) struct Checked {
    pub(super) algorithm: &'static str,
    pub(super) header: Map<String, Value>,
    pub(super) claims: Map<String, Value>,
}

impl Checked {
    fn of_standard(
        verified: Result<Verified, Refusal>,
        rules: &Rules,
        now: UnixSeconds,
    ) -> Result<Self, Error> {
        let name = verified.as_ref().map_or("", |verified| verified.header().algorithm().name());
        Self::of(name, verified, rules, now)
    }

    fn of<A>(
        algorithm: &'static str,
        verified: Result<Verified<A>, Refusal>,
        rules: &Rules,
        now: UnixSeconds,
    ) -> Result<Self, Error> {
        let token: Token<A> = verified.and_then(|token| rules.check(token, now)).map_err(Error::Token)?;
        let (header, claims) = (token.header().members().clone(), token.claims().members().clone());
        Ok(Self { algorithm, header, claims })
    }
}

/// What an unknown algorithm is, where it is one of another kind than the key's.
fn kind(text: &str, keys: &str, cause: Refusal) -> Error {
    if !matches!(cause, Refusal::AlgorithmUnknown { .. }) {
        return Error::Token(cause);
    }
    let (what, hint) = if let Ok(token) = Unverified::parse_composite(text) {
        let found = token.header().algorithm();
        let what =
            format!("it is signed with {found}, composite, of a draft ({}); {keys}", composite::REVISION);
        (what, "give the composite key, and allow it with --draft")
    } else if let Ok(token) = Unverified::parse_hybrid(text) {
        let found: HybridAlgorithm = token.header().algorithm();
        let what = format!(
            "it is signed with {}, the hybrid of jwt-pq, which no standard has; {keys}",
            found.name()
        );
        (what, PAIR)
    } else if let Ok(token) = Unverified::parse(text) {
        let what = format!("it is signed with {}; {keys}", token.header().algorithm());
        (what, "give the key that signed the token; its kid is in the header")
    } else {
        return Error::Token(cause);
    };
    Error::TokenKind { what, hint: Some(hint.to_owned()) }
}

fn is_for(name: &str) -> String {
    format!("the key is for {name}")
}

fn is_ml_dsa(key: AnyPublic<'_>) -> bool {
    matches!(key, AnyPublic::Standard(key) if key.algorithm().level().is_some())
}

fn check_pair(gates: Gates) -> Result<(), Error> {
    if gates.legacy {
        return Ok(());
    }
    Err(Error::usage(
        "two keys make a hybrid token of jwt-pq, in which no half is bound to the other",
        "--legacy allows it; a composite key (--draft) is what came instead",
    ))
}

fn too_many(count: usize) -> Error {
    Error::usage(format!("expected one key, or two with --legacy, found {count}"), "--jwks takes a set")
}
