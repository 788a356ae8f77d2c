//! Values of options that several commands share: how they are read, and what a wrong one is told.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sealstone_auth::{AuthMethod, Grant, HttpsUri, Profile, RedirectUri};
use sealstone_jose::mac::MacAlgorithm;
use sealstone_jose::{Algorithm, UnixSeconds};
use sealstone_mldsa::{CONTEXT_MAX, PreHash};

/// An algorithm of a server's tokens by its registered name, in any case.
pub(crate) fn algorithm() -> impl TypedValueParser<Value = Algorithm> {
    PossibleValuesParser::new(Algorithm::ALL.map(Algorithm::name)).try_map(|name| {
        let known = Algorithm::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(&name));
        known.ok_or("unknown algorithm")
    })
}

/// A client's authentication method by its registered name.
pub(crate) fn auth_method() -> impl TypedValueParser<Value = AuthMethod> {
    PossibleValuesParser::new(AuthMethod::ALL.map(AuthMethod::name)).try_map(|name| {
        let known = AuthMethod::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or("unknown method")
    })
}

/// A client's profile by its name.
pub(crate) fn profile() -> impl TypedValueParser<Value = Profile> {
    PossibleValuesParser::new(Profile::ALL.map(Profile::name)).try_map(|name| {
        let known = Profile::ALL.into_iter().find(|known| known.name() == name);
        known.ok_or("unknown profile")
    })
}

/// The MAC of a client's assertions by its registered name.
pub(crate) fn mac() -> impl TypedValueParser<Value = MacAlgorithm> {
    PossibleValuesParser::new(MacAlgorithm::ALL.map(MacAlgorithm::name))
        .try_map(|name| name.parse::<MacAlgorithm>().map_err(|_| "unknown MAC"))
}

/// A grant by its registered name, or by the last word of one that is a URN.
pub(crate) fn grant() -> impl TypedValueParser<Value = Grant> {
    let last = |grant: Grant| grant.name().rsplit(':').next().unwrap_or_default();
    PossibleValuesParser::new(Grant::ALL.map(|grant| PossibleValue::new(grant.name()).alias(last(grant))))
        .try_map(move |name| {
            let known = Grant::ALL.into_iter().find(|known| known.name() == name || last(*known) == name);
            known.ok_or("unknown grant")
        })
}

/// An address that the server asks or tells something.
pub(crate) fn https_uri(text: &str) -> Result<HttpsUri, String> {
    HttpsUri::parse(text).map_err(|what| format!("it {what}"))
}

/// An address that people may be sent back to.
pub(crate) fn redirect_uri(text: &str) -> Result<RedirectUri, String> {
    RedirectUri::parse(text).map_err(|what| format!("it {what}"))
}

/// A pre-hash function by NIST's name, in any case.
pub(crate) fn pre_hash() -> impl TypedValueParser<Value = PreHash> {
    PossibleValuesParser::new(PreHash::ALL.map(PreHash::name)).try_map(|name| {
        let known = PreHash::ALL.into_iter().find(|known| known.name().eq_ignore_ascii_case(&name));
        known.ok_or("unknown pre-hash function")
    })
}

/// A context string of ML-DSA (FIPS 204, 5.2): the bytes of a text, or of hexadecimal digits after `hex:`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ContextBytes(pub(crate) Vec<u8>);

pub(crate) fn context(text: &str) -> Result<ContextBytes, String> {
    let bytes = match text.strip_prefix("hex:") {
        Some(digits) => hex(digits).ok_or("expected an even number of hexadecimal digits after hex:")?,
        None => text.as_bytes().to_vec(),
    };
    if bytes.len() > CONTEXT_MAX {
        return Err(format!("expected at most {CONTEXT_MAX} bytes, found {}", bytes.len()));
    }
    Ok(ContextBytes(bytes))
}

/// Bytes from hexadecimal digits.
pub(crate) fn hex(digits: &str) -> Option<Vec<u8>> {
    let value = |digit: u8| char::from(digit).to_digit(16).map(|value| value as u8);
    let digits = digits.as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    digits.chunks(2).map(|pair| Some(value(pair[0])? << 4 | value(pair[1])?)).collect()
}

/// A time in seconds since 1970.
pub(crate) fn unix_seconds(text: &str) -> Result<UnixSeconds, String> {
    text.parse().map(UnixSeconds).map_err(|_| "expected seconds since 1970, as `date +%s` prints".to_owned())
}
