//! All integration tests of the crate, in one binary.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod any;
mod batch;
mod cases;
mod claims;
mod composite;
mod cose;
mod detached;
mod keys;
mod legacy;
mod mac;
mod matrix;
mod properties;
mod refusals;
mod remote;
mod rsa;
mod sets;
mod sizes;
mod standards;
mod tokens;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_jose::{Error, PrivateKey};

fn b64(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

fn unb64(text: &str) -> Vec<u8> {
    URL_SAFE_NO_PAD.decode(text).unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    assert!(text.len().is_multiple_of(2), "{text}");
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

/// A token of exactly these bytes, with a signature that is good: whatever is wrong with it is elsewhere.
fn signed(key: &PrivateKey, header: impl AsRef<[u8]>, payload: impl AsRef<[u8]>) -> String {
    let input = format!("{}.{}", b64(header), b64(payload));
    let signature = key.sign(input.as_bytes()).unwrap();
    format!("{input}.{}", b64(signature))
}

/// A name for each kind of error, for the tables.
fn kind(error: &Error) -> &'static str {
    match error {
        Error::AlgorithmMismatch { .. } => "algorithm mismatch",
        Error::AlgorithmUnknown { .. } => "algorithm unknown",
        Error::AmbiguousKey { .. } => "ambiguous key",
        Error::AudienceMismatch { .. } => "audience",
        Error::BadBase64 { .. } => "base64",
        Error::BadCbor { .. } => "cbor",
        Error::BadJson { .. } => "json",
        Error::BadSignature => "signature",
        Error::ClaimMalformed { .. } => "claim malformed",
        Error::ClaimMissing { .. } => "claim missing",
        Error::Composite(_) => "composite",
        Error::DuplicateKid { .. } => "duplicate kid",
        Error::Expired { .. } => "expired",
        Error::HeaderMalformed { .. } => "header malformed",
        Error::HeaderRefused { .. } => "header refused",
        Error::IssuedInFuture { .. } => "issued in future",
        Error::IssuerMismatch { .. } => "issuer",
        Error::Jwe => "jwe",
        Error::JsonSerialization => "json serialization",
        Error::KeyMalformed { .. } => "key malformed",
        Error::KeyMismatch { .. } => "key mismatch",
        Error::KeyTypeUnknown { .. } => "key type",
        Error::KeyUseRefused { .. } => "key use",
        Error::KindMismatch { .. } => "kind mismatch",
        Error::NestedToken => "nested",
        Error::NoPayload => "no payload",
        Error::NoneVerifies { .. } => "none verifies",
        Error::NotCompact { .. } => "not compact",
        Error::NotDetached => "not detached",
        Error::NotSign1 { .. } => "not sign1",
        Error::NotStreamable { .. } => "not streamable",
        Error::NotYetValid { .. } => "not yet valid",
        Error::PrivateMember { .. } => "private member",
        Error::SignatureLength { .. } => "signature length",
        Error::TooLarge { .. } => "too large",
        Error::TooOld { .. } => "too old",
        Error::TypMismatch { .. } => "typ",
        Error::UnknownKid { .. } => "unknown kid",
        Error::Unreachable { .. } => "unreachable",
        Error::UrlRefused { .. } => "url",
        _ => "other",
    }
}

/// A case of the table of refusals: where it is given to, what it is called, the kind of its error, and what became of it.
struct Row {
    place: &'static str,
    name: String,
    expected: &'static str,
    outcome: Result<(), Error>,
}

fn row(place: &'static str, name: &str, expected: &'static str, outcome: Result<(), Error>) -> Row {
    Row { place, name: name.to_owned(), expected, outcome }
}

impl Row {
    fn check(&self) {
        assert_refused(&format!("{}, {}", self.place, self.name), self.outcome.clone(), self.expected);
    }
}

/// The error is of this kind, and says so on one line without a full stop.
fn assert_refused<T: core::fmt::Debug>(name: &str, outcome: Result<T, Error>, expected: &str) {
    let error = outcome.expect_err(name);
    assert_eq!(kind(&error), expected, "{name}: {error}");
    let text = error.to_string();
    assert!(
        !text.ends_with('.') && !text.chars().any(char::is_control) && text.len() < 400,
        "{name}: {text}"
    );
}
