//! Passkeys: Web Authentication Level 3, the part of the relying party.
//!
//! No attestation is asked for, so that nobody learns which authenticator somebody has; a passkey is what the person
//! says it is. Every passkey is discoverable and verifies the person (by PIN, finger or face), so that it alone signs in.
//!
//! A challenge is made without a record: a time, chance, and a MAC over them, the purpose and the secret of the browser's
//! form cookie. It ends after [`CHALLENGE_SECONDS`]; signing in with it marks it as used in the store.

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::UnixSeconds;
use serde::{Deserialize, Serialize};

use super::browser::BrowserKeys;
use super::cose::CoseKey;
use crate::Error;
use crate::clock::{CLOCK_SLACK_SECONDS, Randomness, later};
use crate::issuer::Issuer;
use crate::store::{Kind, NewRecord, Store, Write};

/// How long a page with a challenge may stay open.
pub const CHALLENGE_SECONDS: u64 = 600;
/// The most passkeys of one person.
pub const MOST: usize = 16;
/// The longest name of a passkey, in bytes.
pub const NAME_MAX: usize = 64;
/// The longest credential id, WebAuthn §4.
const ID_MAX: usize = 1023;

/// A public key of a person, and what is known of the private one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Passkey {
    /// When it was added.
    pub created_at: u64,
    /// The credential id, in base64url.
    pub id: String,
    /// The COSE_Key, in base64url.
    pub key: String,
    /// What the person calls it.
    pub name: String,
    /// How often it has signed, where it counts: WebAuthn §6.1.1.
    pub sign_count: u32,
}

/// Who asks authenticators: WebAuthn §4, relying party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// The RP ID: the issuer's host.
    pub id: String,
    origin: String,
}

/// What an authenticator and a browser say, for the first time or again.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    /// `authenticatorData`.
    pub authenticator_data: &'a [u8],
    /// `clientDataJSON`.
    pub client_data: &'a [u8],
}

/// Whose challenge it is.
#[derive(Clone, Copy, Debug)]
pub struct Bound<'a> {
    /// What for.
    pub purpose: &'a str,
    /// The secret of the browser's form cookie.
    pub secret: &'a str,
}

impl RelyingParty {
    /// The one of an issuer; `None` where its host is an address, which WebAuthn does not allow (§5.1.3: a domain).
    pub fn of(issuer: &Issuer) -> Option<Self> {
        let host = issuer.host().to_ascii_lowercase();
        let is_domain =
            !host.is_empty() && !host.starts_with('[') && host.parse::<std::net::IpAddr>().is_err();
        is_domain.then(|| Self { id: host, origin: issuer.origin() })
    }

    /// Registers a passkey. WebAuthn §7.1, steps 6 to 21 without attestation.
    /// Errors: what is wrong, for the log.
    pub fn register(
        &self,
        said: Said<'_>,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<Registered, &'static str> {
        self.client_data(said.client_data, "webauthn.create", is_ours)?;
        let data = self.authenticator_data(said.authenticator_data)?;
        if data.flags & ATTESTED == 0 {
            return Err("the authenticator sent no key");
        }
        let malformed = "the authenticator's key cannot be read";
        // aaguid (16 bytes), the id's length (2), the id, the key: WebAuthn §6.5.1.
        let (length, rest) =
            data.rest.get(16..).and_then(|rest| rest.split_first_chunk()).ok_or(malformed)?;
        let (id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length))).ok_or(malformed)?;
        if id.is_empty() || id.len() > ID_MAX {
            return Err(malformed);
        }
        let (_, behind) = CoseKey::parse(rest).ok_or(malformed)?;
        if !behind.is_empty() && data.flags & EXTENDED == 0 {
            return Err(malformed);
        }
        let key = &rest[..rest.len() - behind.len()];
        Ok(Registered {
            id: URL_SAFE_NO_PAD.encode(id),
            key: URL_SAFE_NO_PAD.encode(key),
            sign_count: data.sign_count,
        })
    }

    /// Checks an assertion of a passkey. WebAuthn §7.2, steps 10 to 21. Returns how often it has signed.
    /// Errors: what is wrong, for the log.
    pub fn assert(
        &self,
        passkey: &Passkey,
        said: Said<'_>,
        signature: &[u8],
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<u32, &'static str> {
        self.client_data(said.client_data, "webauthn.get", is_ours)?;
        let data = self.authenticator_data(said.authenticator_data)?;
        let key = URL_SAFE_NO_PAD.decode(&passkey.key).map_err(|_| "the passkey's key is not one")?;
        let (key, _) = CoseKey::parse(&key).ok_or("the passkey's key is not one")?;
        let hash = digest::digest(&digest::SHA256, said.client_data);
        if !key.verifies(&[said.authenticator_data, hash.as_ref()].concat(), signature) {
            return Err("the signature is not the passkey's");
        }
        // §6.1.1: one that counts must count on; otherwise there are two of it.
        if (data.sign_count, passkey.sign_count) != (0, 0) && data.sign_count <= passkey.sign_count {
            return Err("the passkey has signed less often than before: there may be a copy");
        }
        Ok(data.sign_count)
    }

    /// §5.8.1: what the browser saw.
    fn client_data(
        &self,
        json: &[u8],
        what: &str,
        is_ours: impl Fn(&str) -> bool,
    ) -> Result<(), &'static str> {
        let data: ClientData =
            serde_json::from_slice(json).map_err(|_| "the browser's data cannot be read")?;
        if data.what != what {
            return Err("the browser did something else");
        }
        if data.origin != self.origin || data.cross_origin || data.top_origin.is_some() {
            return Err("the browser was at another site");
        }
        match is_ours(&data.challenge) {
            true => Ok(()),
            false => Err("the challenge is not this browser's, or the page was open for too long"),
        }
    }

    /// §6.1: what the authenticator saw.
    fn authenticator_data<'a>(&self, bytes: &'a [u8]) -> Result<AuthenticatorData<'a>, &'static str> {
        let malformed = "the authenticator's data cannot be read";
        let (rp, rest) = bytes.split_first_chunk::<32>().ok_or(malformed)?;
        let (&flags, rest) = rest.split_first().ok_or(malformed)?;
        let (count, rest) = rest.split_first_chunk().ok_or(malformed)?;
        if rp != digest::digest(&digest::SHA256, self.id.as_bytes()).as_ref() {
            return Err("the authenticator was asked by another site");
        }
        if flags & (PRESENT | VERIFIED) != PRESENT | VERIFIED {
            return Err("the authenticator did not verify the person");
        }
        if flags & (ELIGIBLE | BACKED_UP) == BACKED_UP {
            return Err(malformed);
        }
        Ok(AuthenticatorData { flags, rest, sign_count: u32::from_be_bytes(*count) })
    }
}

/// What a registration brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// The credential id, in base64url.
    pub id: String,
    /// The COSE_Key, in base64url.
    pub key: String,
    /// How often it has signed.
    pub sign_count: u32,
}

/// The flags of §6.1.
const PRESENT: u8 = 1;
const VERIFIED: u8 = 1 << 2;
const ELIGIBLE: u8 = 1 << 3;
const BACKED_UP: u8 = 1 << 4;
const ATTESTED: u8 = 1 << 6;
const EXTENDED: u8 = 1 << 7;

struct AuthenticatorData<'a> {
    flags: u8,
    rest: &'a [u8],
    sign_count: u32,
}

/// §5.8.1. Members that are not known are to be ignored.
#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    what: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
    #[serde(rename = "topOrigin")]
    top_origin: Option<String>,
}

/// A challenge for a page: base64url of time (8 bytes), chance (16) and MAC (32).
/// Errors: `Randomness`.
pub fn challenge(
    keys: &BrowserKeys,
    bound: Bound<'_>,
    now: UnixSeconds,
    randomness: &dyn Randomness,
) -> Result<String, Error> {
    let mut bytes = [0; 24];
    let (time, chance) = bytes.split_at_mut(8);
    time.copy_from_slice(&now.0.to_be_bytes());
    randomness.fill(chance)?;
    let mac = keys.sign_challenge(bound.secret, bound.purpose, &bytes);
    Ok(URL_SAFE_NO_PAD.encode([&bytes, mac.as_ref()].concat()))
}

/// Whether a challenge is one of ours for this browser and purpose, and still holds.
pub fn is_ours(keys: &BrowserKeys, bound: Bound<'_>, challenge: &str, now: UnixSeconds) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(challenge) else { return false };
    let Some((head, mac)) = bytes.split_first_chunk::<24>() else { return false };
    let Some((time, _)) = head.split_first_chunk::<8>() else { return false };
    let made = UnixSeconds(u64::from_be_bytes(*time));
    made <= later(now, CLOCK_SLACK_SECONDS)
        && now < later(made, CHALLENGE_SECONDS)
        && keys.check_challenge(bound.secret, bound.purpose, head, mac)
}

/// Whether the passkey can be on several devices, by the flags of an assertion that was checked: WebAuthn §6.1.3.
pub(super) fn is_synced(said: Said<'_>) -> bool {
    said.authenticator_data.get(32).is_some_and(|flags| flags & ELIGIBLE != 0)
}

/// Marks the challenge in the browser's data as used. `false`: it was used before.
/// Errors: `Store`.
pub async fn spend(client_data: &[u8], store: &dyn Store, now: UnixSeconds) -> Result<bool, Error> {
    let Ok(ClientData { challenge, .. }) = serde_json::from_slice(client_data) else { return Ok(false) };
    let named = [b"sealstone passkey challenge v1\0", challenge.as_bytes()].concat();
    let mark = NewRecord {
        kind: Kind::SingleUse,
        id: URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, &named)),
        // The challenge was made before now, give or take the clock of another node, so it ends before this.
        expires_at: Some(later(now, CHALLENGE_SECONDS + 2 * CLOCK_SLACK_SECONDS)),
        body: Vec::new(),
    };
    Ok(matches!(store.insert(mark, now).await?, Write::Done(_)))
}
