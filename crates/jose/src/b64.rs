//! base64url as RFC 7515 §2 wants it: no padding, no whitespace, no line ends, one encoding per value.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::{DecodeError, DecodeSliceError};
use zeroize::Zeroizing;

use crate::error::Error;

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

pub(crate) fn encode_into(bytes: &[u8], out: &mut String) {
    URL_SAFE_NO_PAD.encode_string(bytes, out);
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
    URL_SAFE_NO_PAD.decode(text).map_err(|error| refusal(place, text, error))
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
