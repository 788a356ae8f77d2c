//! OneAsymmetricKey (RFC 5958 §2), which all private keys are wrapped in, and the three forms of a key that grows from a seed
//! (RFC 9881 §6, RFC 9935 §6). Knows no algorithm: whoever reads gives the reader of its AlgorithmIdentifier.

use zeroize::Zeroizing;

use crate::der::{self, Reader, Tag};
use crate::error::Error;

const ATTRIBUTES: Tag = Tag { byte: 0xa0, name: "attributes in [0]" };
const PUBLIC_KEY: Tag = Tag { byte: 0x81, name: "the public key in [1]" };
/// `seed [0] OCTET STRING`, implicitly tagged.
const SEED: Tag = Tag { byte: 0x80, name: "a seed in [0]" };

/// What stands in the wrapping, unread.
pub(crate) struct Wrapped<'a, A> {
    pub algorithm: A,
    /// The content of the OCTET STRING `privateKey`.
    pub private: Reader<'a>,
    /// Not compared with the private key yet.
    pub public: Option<&'a [u8]>,
}

/// Reads `SEQUENCE { version, AlgorithmIdentifier, OCTET STRING, [0] attributes, [1] public key }`. Attributes are passed over.
pub(crate) fn read<'a, A>(
    bytes: &'a [u8],
    algorithm: impl FnOnce(&mut Reader<'a>) -> Result<A, Error>,
) -> Result<Wrapped<'a, A>, Error> {
    let mut whole = Reader::new(bytes)?;
    let mut fields = whole.take(der::SEQUENCE)?;
    whole.end()?;
    let version = fields.take_version(&[0, 1], "version 0 or 1")?;
    let algorithm = algorithm(&mut fields)?;
    let private = fields.take(der::OCTET_STRING)?;
    if let Some(mut attributes) = fields.take_optional(ATTRIBUTES)? {
        while attributes.peek().is_some() {
            attributes.take(der::SEQUENCE)?;
        }
    }
    // Version 1 says that a public key follows, version 0 that none does.
    let public = if version == 1 { Some(fields.take_bits(PUBLIC_KEY)?) } else { None };
    fields.end()?;
    Ok(Wrapped { algorithm, private, public })
}

/// Writes version 0, without attributes and public key, around an AlgorithmIdentifier and a private key.
pub(crate) fn write(algorithm: &[u8], private: &[u8]) -> Zeroizing<Vec<u8>> {
    let version = der::write(der::INTEGER, &[&[0]]);
    der::write(der::SEQUENCE, &[&version, algorithm, &der::write(der::OCTET_STRING, &[private])])
}

/// What is there of a private key that grows from a seed. Lengths, and whether both are one key, are not checked.
pub(crate) enum Forms<'a> {
    Seed(&'a [u8]),
    Expanded(&'a [u8]),
    Both { seed: &'a [u8], expanded: &'a [u8] },
}

/// The tag alone decides which of the three forms it is.
pub(crate) fn read_forms(mut private: Reader<'_>) -> Result<Forms<'_>, Error> {
    let forms = match private.peek() {
        Some(tag) if tag == SEED.byte => Forms::Seed(private.take(SEED)?.rest()),
        Some(tag) if tag == der::OCTET_STRING.byte => {
            Forms::Expanded(private.take(der::OCTET_STRING)?.rest())
        }
        Some(tag) if tag == der::SEQUENCE.byte => {
            let mut both = private.take(der::SEQUENCE)?;
            let seed = both.take(der::OCTET_STRING)?.rest();
            let expanded = both.take(der::OCTET_STRING)?.rest();
            both.end()?;
            Forms::Both { seed, expanded }
        }
        other => {
            let found = other.map_or("the end".into(), |tag| format!("tag {tag:#04x}"));
            return Err(
                private.refusal("a seed [0], an expandedKey OCTET STRING or both in a SEQUENCE", found)
            );
        }
    };
    private.end()?;
    Ok(forms)
}

/// Writes one of them.
pub(crate) fn write_forms(forms: &Forms<'_>) -> Zeroizing<Vec<u8>> {
    match forms {
        Forms::Seed(seed) => der::write(SEED, &[seed]),
        Forms::Expanded(expanded) => der::write(der::OCTET_STRING, &[expanded]),
        Forms::Both { seed, expanded } => {
            let parts = [seed, expanded].map(|part| der::write(der::OCTET_STRING, &[part]));
            der::write(der::SEQUENCE, &[&parts[0], &parts[1]])
        }
    }
}

/// The expanded key that came beside a seed must be the one that the seed gives. Compares without stopping at the first difference.
pub(crate) fn same_key(given: &[u8], found: &[u8]) -> Result<(), Error> {
    let differences = given.iter().zip(found).fold(0, |bits, (a, b)| bits | (a ^ b));
    match given.len() == found.len() && differences == 0 {
        true => Ok(()),
        false => Err(Error::Inconsistent { parts: "the seed does not give the expanded key" }),
    }
}
