//! base64url as RFC 7515 §2 wants it: no padding, no whitespace, no line ends, one encoding per value.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, DecodeSliceError};
use base64_simd as wide;
use zeroize::Zeroizing;

use crate::error::Error;

pub(crate) fn encode(bytes: &[u8]) -> String {
    wide::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

pub(crate) fn encode_into(bytes: &[u8], out: &mut String) {
    wide::URL_SAFE_NO_PAD.encode_append(bytes, out);
}

/// Encodes a secret into memory that is wiped: straight into it, with no buffer between.
pub(crate) fn encode_secret(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut text = Zeroizing::new(vec![0; encoded_len(bytes.len())]);
    URL_SAFE_NO_PAD.encode_slice(bytes, &mut text).expect("the room is computed from the length");
    text
}

/// Characters that `bytes` bytes become.
pub(crate) const fn encoded_len(bytes: usize) -> usize {
    bytes / 3 * 4 + [0, 2, 3][bytes % 3]
}

/// Decodes `text`; `place` names it in the error. Trailing bits that are not zero are refused: they would give one
/// value several spellings (RFC 4648 §3.5).
pub(crate) fn decode(place: &'static str, text: &str) -> Result<Vec<u8>, Error> {
    // What the quick reader refuses, the other one explains.
    wide::URL_SAFE_NO_PAD
        .decode_to_vec(text)
        .or_else(|_| URL_SAFE_NO_PAD.decode(text))
        .map_err(|error| refusal(place, text, error))
}

/// Decodes a secret of exactly `len` bytes into memory that is wiped.
pub(crate) fn decode_secret(
    place: &'static str,
    text: &str,
    len: usize,
) -> Result<Zeroizing<Vec<u8>>, Error> {
    if text.len() != encoded_len(len) {
        return Err(Error::KeyMalformed {
            member: place,
            expected: format!("{len} bytes in {} base64url characters", encoded_len(len)),
            found: format!("{} characters", text.len()),
        });
    }
    let mut secret = Zeroizing::new(vec![0; len]);
    match URL_SAFE_NO_PAD.decode_slice(text, &mut secret) {
        Ok(_) => Ok(secret),
        Err(DecodeSliceError::DecodeError(error)) => Err(refusal(place, text, error)),
        Err(DecodeSliceError::OutputSliceTooSmall) => {
            Err(Error::BadBase64 { place, offset: text.len(), problem: "the text is too long" })
        }
    }
}

fn refusal(place: &'static str, text: &str, error: DecodeError) -> Error {
    match error {
        DecodeError::InvalidByte(offset, byte) => {
            let problem = match byte {
                b'=' => "padding is not allowed",
                b'+' | b'/' => "this is plain base64, base64url uses - and _",
                b' ' | b'\t' | b'\r' | b'\n' => "whitespace is not allowed",
                _ => "not a base64url character",
            };
            Error::BadBase64 { place, offset, problem }
        }
        DecodeError::InvalidLastSymbol { offset, .. } => {
            Error::BadBase64 { place, offset, problem: "the last character has bits that must be zero" }
        }
        DecodeError::InvalidLength(_) => {
            Error::BadBase64 { place, offset: text.len(), problem: "no byte string has this length" }
        }
        DecodeError::InvalidPadding => {
            Error::BadBase64 { place, offset: text.len(), problem: "padding is not allowed" }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quick reader and the exact one: one verdict and one value for every text, and one text for every value.
    #[test]
    fn both_readers_agree() {
        let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let mut state = 7_u64;
        let mut number = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let mut taken = 0;
        for round in 0..60_000 {
            let len = number(if round % 50 == 0 { 5_000 } else { 100 });
            let mut text: Vec<u8> = (0..len).map(|_| alphabet[number(64)]).collect();
            // Most have a stranger somewhere, or end in bits that no byte takes.
            if len > 0 && round % 3 > 0 {
                let at = if round % 3 == 1 { len - 1 } else { number(len) };
                text[at] = number(128) as u8;
            }
            let text = String::from_utf8(text).expect("all of it is ASCII");
            let exact = URL_SAFE_NO_PAD.decode(&text).ok();
            assert_eq!(wide::URL_SAFE_NO_PAD.decode_to_vec(&text).ok(), exact, "{text}");
            if let Some(bytes) = exact {
                taken += 1;
                assert_eq!(encode(&bytes), text);
                let mut out = String::from("a.");
                encode_into(&bytes, &mut out);
                assert_eq!(out, format!("a.{text}"));
            }
        }
        assert!((1_000..50_000).contains(&taken), "{taken}");
        for last in 0..=u8::MAX {
            for front in ["", "A", "AA", "AAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"] {
                let Ok(text) = String::from_utf8([front.as_bytes(), &[last]].concat()) else { continue };
                assert_eq!(
                    wide::URL_SAFE_NO_PAD.decode_to_vec(&text).ok(),
                    URL_SAFE_NO_PAD.decode(&text).ok()
                );
            }
        }
    }
}
