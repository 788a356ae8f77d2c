//! DPoP: proof that the sender of a request holds a private key, RFC 9449.
//!
//! A proof is a token that the client signs for one request and sends in the `DPoP` header, with its public key inside.
//! The access token then names that key's thumbprint ([`Confirmation::jkt`](super::Confirmation)), and whoever steals
//! the token alone can do nothing with it.
//!
//! # Why a proof is used once without asking the store
//!
//! Single use is otherwise the store's to decide, for it is the one thing that every node shares. A proof is different:
//! the node that is to accept it must have handed out its nonce (§8), and so can bind it to itself.
//!
//! - A nonce is the time in minutes and a MAC over it and the node's *epoch*, 128 bits that are drawn when the process
//!   starts. No other node has this epoch, and neither has this one after a restart: a proof that comes to any of them
//!   has a foreign nonce and is answered with `use_dpop_nonce`.
//! - A nonce is good in its own minute and the next. The memory holds the proofs of just these two minutes, all of them.
//!   So each proof that the node could accept again is there, and is refused.
//! - The clock may be set back. Then a nonce whose proofs are forgotten would be good once more; so a new epoch is drawn,
//!   with which no nonce from before is good.
//! - The memory is bounded. When it is full, the answer is 503, and nothing is forgotten. Once it is half full, a client
//!   that holds a sixteenth of it gets this answer alone.
//!
//! The price: a client that comes to another node, or after more than a minute, needs a second request to get a nonce.
//!
//! With `dpop.replay = "shared"` all nodes accept the nonces of all, and the store decides about each proof
//! ([`Kind::SingleUse`]). The price: one durable write for each request with a proof, where
//! the grant itself may need none, and a store that does not answer stops these requests. Only there can nonces be left
//! away (`dpop.nonces = false`), for clients that do not know them; then a client can sign proofs for later, and `iat`
//! alone says when.

mod htu;
mod nonce;
mod replay;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::jws::Unverified;
use sealstone_jose::jwt::Rules;
use sealstone_jose::{Algorithm, Error as JoseError, PublicKey, UnixSeconds};
use serde::Deserialize;
use serde_json::Value;
use std::time::Duration;

use super::{Code, OAuthError};
use crate::Error;
use crate::client::Client;
use crate::clock::{CLOCK_SLACK_SECONDS, Randomness, later};
use crate::config;
use crate::keys::Sealer;
use crate::store::{Kind, NewRecord, Store, Write};
use nonce::{Epoch, Nonces};
use replay::{Memory, Spent};

pub use nonce::NONCE_SECONDS;

/// The media type of a proof, §4.2.
pub const TYP: &str = "dpop+jwt";
/// Most bytes of a proof: one with an ML-DSA-87 key takes 4,700 for its header and 6,170 for its signature.
pub const MAX_PROOF: usize = 12_288;
/// How far ahead a proof's `iat` may lie. FAPI 2.0 §5.3.2.1: 10 seconds are accepted, more than 60 are not.
pub const IAT_AHEAD_SECONDS: u64 = 60;
/// How far back a proof's `iat` may lie: it bounds how long a shared store remembers it. With nonces, these say when.
pub const IAT_BEHIND_SECONDS: u64 = 300;
/// What proofs may be signed with, those first that every client knows. Not RS256, which FAPI 2.0 §5.4 leaves out.
pub const ALGORITHMS: [Algorithm; 9] = [
    Algorithm::Es256,
    Algorithm::Ps256,
    Algorithm::Ed25519,
    Algorithm::EdDsa,
    Algorithm::Es384,
    Algorithm::Es512,
    Algorithm::MlDsa44,
    Algorithm::MlDsa65,
    Algorithm::MlDsa87,
];

/// A request that may come with a proof.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The client that makes it, authenticated or, at a protected resource, named by the token.
    pub client: &'a str,
    /// Its method, as `POST`.
    pub method: &'a str,
    /// The values of every `DPoP` header.
    pub proofs: &'a [&'a [u8]],
    /// The access token that it is made with, at a protected resource.
    pub token: Option<BoundToken<'a>>,
    /// The address that it is made to, as the server knows it: not as the request's `Host` says.
    pub url: &'a str,
}

/// An access token that its holder must prove to hold.
#[derive(Clone, Copy)]
pub struct BoundToken<'a> {
    /// Its `cnf.jkt`, [`Confirmation::jkt`](super::Confirmation).
    pub jkt: &'a str,
    /// The token as it was sent.
    pub text: &'a str,
}

impl std::fmt::Debug for BoundToken<'_> {
    /// Everything but the token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("BoundToken").field("jkt", &self.jkt).finish_non_exhaustive()
    }
}

/// What one node needs to check proofs. See the module for what it remembers, and why.
#[derive(Debug)]
pub struct Dpop {
    /// `None`: proofs need no nonce.
    nonces: Option<Nonces>,
    /// `None`: the store remembers.
    memory: Option<Memory>,
}

impl Dpop {
    /// Derives the key of the nonces and draws the node's epoch.
    /// Errors: `Sealed`, `Randomness`.
    pub fn new(config: &config::Dpop, sealer: &Sealer, randomness: &dyn Randomness) -> Result<Self, Error> {
        let nonces = config.nonces.then(|| Nonces::new(sealer)).transpose()?;
        let memory = match config.replay {
            config::Replay::Node => Some(Memory::new(config.max_proofs.get(), randomness)?),
            config::Replay::Shared => None,
        };
        Ok(Self { nonces, memory })
    }

    /// The nonce for proofs to come, §8: good for this minute and the next. `None` if the configuration has none.
    /// Errors: `Randomness`.
    pub fn nonce(&self, now: UnixSeconds, randomness: &dyn Randomness) -> Result<Option<String>, Error> {
        let Some(nonces) = &self.nonces else { return Ok(None) };
        let (epoch, newest) = self.epoch(now, randomness)?;
        Ok(Some(nonces.write(&epoch, newest)))
    }

    /// Checks the proof of a request and uses it up. The thumbprint of its key is returned; `None` without a proof,
    /// where the request has no bound token either.
    /// RFC 9449 §4.3: all twelve checks, the signature after every one that costs less.
    ///
    /// Errors: `invalid_dpop_proof`; `use_dpop_nonce`, to be sent with [`nonce`](Self::nonce); `temporarily_unavailable`
    /// while the memory is full; `server_error` if the store fails.
    pub async fn check(
        &self,
        request: Request<'_>,
        store: &dyn Store,
        randomness: &dyn Randomness,
        now: UnixSeconds,
    ) -> Result<Option<String>, OAuthError> {
        let proof = match (request.proofs, request.token) {
            ([], None) => return Ok(None),
            ([], Some(_)) => return Err(missing()),
            ([proof], _) => proof,
            _ => return Err(wrong("there is more than one DPoP header")),
        };
        let proof = self.verify(proof, &request, randomness, now)?;
        self.spend(&proof, request.client, store, now).await?;
        Ok(Some(proof.key.thumbprint().to_owned()))
    }

    /// Every check but that the proof was not used before.
    fn verify(
        &self,
        proof: &[u8],
        request: &Request<'_>,
        randomness: &dyn Randomness,
        now: UnixSeconds,
    ) -> Result<Proof, OAuthError> {
        let malformed = "the DPoP proof is not a well-formed JWT";
        let text = std::str::from_utf8(proof).map_err(|_| wrong(malformed))?;
        if text.len() > MAX_PROOF {
            return Err(wrong("the DPoP proof is longer than any that could be accepted"));
        }
        let unverified = Unverified::parse(text).map_err(|cause| match cause {
            JoseError::AlgorithmUnknown { .. } => wrong("the DPoP proof's `alg` is not a supported one"),
            cause => wrong(malformed).hint(cause.to_string()),
        })?;
        let claimed: Claimed = serde_json::from_slice(unverified.peek_payload_untrusted())
            .map_err(|_| wrong("a claim of the DPoP proof is missing or malformed"))?;
        let header = unverified.header();
        if !header.typ().is_some_and(|typ| typ.eq_ignore_ascii_case(TYP)) {
            return Err(wrong("the DPoP proof's `typ` is not dpop+jwt"));
        }
        if !ALGORITHMS.contains(&header.algorithm()) {
            return Err(wrong("the DPoP proof's `alg` is not a supported one"));
        }
        let Some(Value::Object(jwk)) = header.get("jwk") else {
            return Err(wrong("the DPoP proof has no `jwk`"));
        };
        claimed.check(request)?;
        let nonce = self.check_nonce(claimed.nonce.as_deref(), randomness, now)?;
        claimed.check_time(now)?;
        claimed.check_token(request.token)?;

        let key = PublicKey::from_members(jwk).map_err(|cause| match cause {
            JoseError::PrivateMember { .. } => wrong("the DPoP proof's `jwk` holds a private key"),
            cause => wrong("the DPoP proof's `jwk` is not a public key").hint(cause.to_string()),
        })?;
        if request.token.is_some_and(|token| token.jkt != key.thumbprint()) {
            return Err(wrong("the DPoP proof's key is not the one that the token is bound to"));
        }
        let verified = unverified.verify(&key).map_err(|_| wrong("the DPoP proof's signature is wrong"))?;
        let rules = Rules::new().any_issuer().any_audience().typ(TYP).without_expiry();
        rules
            .leeway(Duration::from_secs(IAT_AHEAD_SECONDS))
            .check(verified, now)
            .map_err(|cause| wrong("the DPoP proof's claims do not hold").hint(cause.to_string()))?;
        Ok(Proof { id: claimed.id(&key), iat: claimed.iat, key, nonce })
    }

    /// §4.3, item 10, and §8.
    fn check_nonce(
        &self,
        nonce: Option<&str>,
        randomness: &dyn Randomness,
        now: UnixSeconds,
    ) -> Result<Option<(Epoch, u64)>, OAuthError> {
        let Some(nonces) = &self.nonces else { return Ok(None) };
        let again = |what| Err(OAuthError::new(Code::UseDpopNonce, what));
        let Some(nonce) = nonce else { return again("the DPoP proof must have a nonce") };
        let (epoch, newest) = self.epoch(now, randomness)?;
        // Another node's clock may be ahead. A memory knows no time after its newest.
        let latest = if self.memory.is_some() { newest } else { newest.saturating_add(1) };
        match nonces.read(&epoch, nonce) {
            Some(minute) if (newest.saturating_sub(1)..=latest).contains(&minute) => {
                Ok(Some((epoch, minute)))
            }
            _ => again("the DPoP proof's nonce is over, or not from here"),
        }
    }

    /// Whose nonces are good, and the minute of the newest.
    fn epoch(&self, now: UnixSeconds, randomness: &dyn Randomness) -> Result<(Epoch, u64), Error> {
        match &self.memory {
            Some(memory) => memory.turn(nonce::minute(now), randomness),
            None => Ok((Epoch::SHARED, nonce::minute(now))),
        }
    }

    /// Of any number of requests with one proof, exactly one goes on.
    async fn spend(
        &self,
        proof: &Proof,
        client: &str,
        store: &dyn Store,
        now: UnixSeconds,
    ) -> Result<(), OAuthError> {
        let again = || Err(wrong("the DPoP proof was used before"));
        let (Some(memory), Some((epoch, minute))) = (&self.memory, &proof.nonce) else {
            let over = UnixSeconds(proof.iat.max(0.0) as u64 + IAT_BEHIND_SECONDS + 1);
            let mark = NewRecord {
                kind: Kind::SingleUse,
                id: URL_SAFE_NO_PAD.encode(proof.id),
                expires_at: Some(later(over, CLOCK_SLACK_SECONDS)),
                body: Vec::new(),
            };
            return match store.insert(mark, now).await? {
                Write::Done(_) => Ok(()),
                Write::Refused => again(),
            };
        };
        match memory.spend(epoch, *minute, client, proof.id) {
            Spent::First => Ok(()),
            Spent::Again => again(),
            Spent::Over => {
                Err(OAuthError::new(Code::UseDpopNonce, "the DPoP proof's nonce is over, or not from here"))
            }
            Spent::Full => Err(OAuthError::new(Code::TemporarilyUnavailable, "too many DPoP proofs")
                .hint("the memory of used DPoP proofs is full; `dpop.max_proofs` sets its size")),
        }
    }
}

/// Whether the client's profile has the algorithms of these proofs. [`Dpop::check`] looks at everything else.
/// FAPI 2.0 Security Profile §5.4.1.
/// Errors: `invalid_dpop_proof`.
pub(crate) fn check_profile(client: &Client, proofs: &[&[u8]]) -> Result<(), OAuthError> {
    let algorithm = |proof: &&[u8]| {
        let text = std::str::from_utf8(proof).ok().filter(|text| text.len() <= MAX_PROOF)?;
        Some(Unverified::parse(text).ok()?.header().algorithm())
    };
    let foreign = |proof| algorithm(proof).is_some_and(|algorithm| !client.may_use(algorithm));
    match client.profile.is_some() && proofs.iter().any(foreign) {
        true => Err(wrong("the DPoP proof's `alg` is not one of the client's profile")),
        false => Ok(()),
    }
}

/// What a client that must send a proof is told when it sends none.
pub(super) fn missing() -> OAuthError {
    wrong("a DPoP proof is missing")
}

/// A proof that holds, if it is used for the first time.
struct Proof {
    id: [u8; 32],
    iat: f64,
    key: PublicKey,
    /// Who made its nonce, and in which minute.
    nonce: Option<(Epoch, u64)>,
}

/// The claims of a proof, §4.2. They are read before the signature, and can only refuse.
#[derive(Deserialize)]
struct Claimed {
    ath: Option<String>,
    htm: String,
    htu: String,
    iat: f64,
    jti: String,
    nonce: Option<String>,
}

impl Claimed {
    /// §4.3, items 8 and 9, and that there is an id.
    fn check(&self, request: &Request<'_>) -> Result<(), OAuthError> {
        if self.jti.is_empty() {
            return Err(wrong("the DPoP proof's `jti` is empty"));
        }
        if self.htm != request.method {
            return Err(wrong("the DPoP proof's `htm` is not the method of the request"));
        }
        let expected = htu::normal(request.url);
        if expected.is_none() || htu::normal(&self.htu) != expected {
            let error = wrong("the DPoP proof's `htu` is not the address of the request");
            return Err(error.hint(format!("it must be {}, as the issuer is configured", request.url)));
        }
        Ok(())
    }

    /// §4.3, item 11, and §11.1.
    fn check_time(&self, now: UnixSeconds) -> Result<(), OAuthError> {
        let age = now.0 as f64 - self.iat;
        match (-(IAT_AHEAD_SECONDS as f64)..=IAT_BEHIND_SECONDS as f64).contains(&age) {
            true => Ok(()),
            false => Err(wrong("the DPoP proof's `iat` is too far from the time here")),
        }
    }

    /// §4.3, item 12, its first half.
    fn check_token(&self, token: Option<BoundToken<'_>>) -> Result<(), OAuthError> {
        let Some(token) = token else { return Ok(()) };
        match self.ath.as_deref() == Some(&ath(token.text)) {
            true => Ok(()),
            false => Err(wrong("the DPoP proof's `ath` is not the hash of the access token")),
        }
    }

    /// What a used proof is remembered by. A thumbprint has one length, so no two pairs have one text. The key is part
    /// of it, so that nobody uses up the id of another's proof.
    fn id(&self, key: &PublicKey) -> [u8; 32] {
        let text =
            [b"sealstone dpop proof v1\0", key.thumbprint().as_bytes(), b"\0", self.jti.as_bytes()].concat();
        let mut id = [0; 32];
        id.copy_from_slice(digest::digest(&digest::SHA256, &text).as_ref());
        id
    }
}

/// The hash of an access token that a proof names, §4.2: base64url of SHA-256.
pub fn ath(token: &str) -> String {
    URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, token.as_bytes()))
}

/// Whether the key of a token request is the one that an authorization request asked the code to be bound to, §10.
/// `dpop_jkt` is that parameter, `shown` what [`Dpop::check`] returned. Without the parameter every key will do.
pub fn is_bound_key(dpop_jkt: Option<&str>, shown: Option<&str>) -> bool {
    dpop_jkt.is_none_or(|bound| shown == Some(bound))
}

/// Whether a text can be a thumbprint: 32 bytes in their one base64url form, RFC 7638 §3.1. What an authorization
/// request sends as `dpop_jkt` and is none is `invalid_request`.
pub fn is_thumbprint(text: &str) -> bool {
    URL_SAFE_NO_PAD.decode(text).is_ok_and(|bytes| bytes.len() == digest::SHA256_OUTPUT_LEN)
}

fn wrong(what: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidDpopProof, what)
}
