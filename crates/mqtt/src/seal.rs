//! From a message to bytes: [`seal`] writes an envelope into a buffer and has it sealed.

use crate::cbor;
use crate::error::{Error, Field};
use crate::form::{By, Covered, DETACHED_MARK, Form, V1_MARK};
use crate::message::{Kind, Message, Number};
#[cfg(feature = "alloc")]
use sealstone_mldsa::any;
use sealstone_mldsa::{Context, ExpandedSigningKey, Level, Mu, MuHasher, ParameterSet, Randomness};

/// Something that seals: a key with a source of randomness, a key in a device's flash, a shared key.
pub trait Signer {
    /// What its seals are made of.
    fn by(&self) -> By;
    /// Writes the seal of what is covered. Shapes: `seal` has `by().len()` bytes. Errors: the signer's.
    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error>;
}

/// Writes the envelope of a message to `out`; returns how many bytes it has. In the form `detached` these do not hold the
/// payload.
///
/// Errors: `TooLong` if a part is too long for its length field, or `out` too short; `Unsupported` if the form has no
/// place for what the message holds; those of the signer. `out` holds nothing of use then.
pub fn seal(
    form: Form,
    message: &Message<'_>,
    signer: &mut impl Signer,
    out: &mut [u8],
) -> Result<usize, Error> {
    let by = signer.by();
    let mut to = Writer { out, at: 0 };
    let (head, payload) = match form {
        Form::Paper => (0..paper(message, by, &mut to)?, &[][..]),
        Form::V1 => {
            fixed(V1_MARK, message, by, &mut to)?;
            to.put(message.payload)?;
            (0..to.at, &[][..])
        }
        Form::Detached => {
            fixed(DETACHED_MARK, message, by, &mut to)?;
            (0..to.at, message.payload)
        }
        Form::Cose => (cose(message, by, &mut to)?, message.payload),
    };
    let at = to.at;
    let (before, after) = to.out.split_at_mut(at);
    let seal = after.get_mut(..by.len()).ok_or(Error::TooLong)?;
    let covered = Covered { form, topic: message.topic, head: &before[head], payload };
    signer.seal(&covered, seal)?;
    Ok(at + by.len())
}

/// Bytes that an envelope adds to a payload, seal included; for `detached`, the bytes of the envelope itself.
/// Errors: as [`seal`].
pub fn overhead(form: Form, message: &Message<'_>, by: By) -> Result<usize, Error> {
    let texts = message.content_type.len() + message.response_text().len() + message.correlation_data.len();
    match form {
        Form::Paper => Ok(12 + by.len()),
        Form::V1 | Form::Detached => Ok(FIXED_LEN + texts + by.len()),
        Form::Cose => {
            let header = protected_len(message, by)?;
            let strings = [header, message.payload.len(), by.len()];
            let heads = strings.iter().map(|len| cbor::head(cbor::BYTES, *len as u64).1).sum::<usize>();
            Ok(2 + heads + header + 1 + by.len())
        }
    }
}

/// A key with a source of randomness: every signature is hedged (FIPS 204, 3.4).
pub struct Keyed<'a, K, R> {
    key: &'a K,
    rng: &'a mut R,
}

impl<'a, K, R> Keyed<'a, K, R> {
    /// The two together.
    pub fn new(key: &'a K, rng: &'a mut R) -> Self {
        Keyed { key, rng }
    }
}

impl<P: ParameterSet, R: Randomness> Signer for Keyed<'_, ExpandedSigningKey<P>, R> {
    fn by(&self) -> By {
        By::Signature(P::LEVEL)
    }

    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        let mu = mu(covered, |ctx| self.key.message(ctx));
        seal.copy_from_slice(self.key.sign_mu(self.rng, &mu)?.encode());
        Ok(())
    }
}

#[cfg(feature = "alloc")]
impl<R: Randomness> Signer for Keyed<'_, any::ExpandedSigningKey, R> {
    fn by(&self) -> By {
        By::Signature(self.key.level())
    }

    fn seal(&mut self, covered: &Covered<'_>, seal: &mut [u8]) -> Result<(), Error> {
        let mu = mu(covered, |ctx| self.key.message(ctx));
        seal.copy_from_slice(self.key.sign_mu(self.rng, &mu)?.encode());
        Ok(())
    }
}

/// μ of what is covered, by a hasher that `begin` makes for its context.
pub fn mu(covered: &Covered<'_>, begin: impl FnOnce(Context<'_>) -> MuHasher) -> Mu {
    let mut hasher = begin(covered.context());
    covered.feed(|part| hasher.update(part));
    hasher.finish()
}

/// Bytes before the texts in `v1` and `detached`.
pub(crate) const FIXED_LEN: usize = 30;

/// A buffer that is written from the front.
pub(crate) struct Writer<'a> {
    pub(crate) out: &'a mut [u8],
    pub(crate) at: usize,
}

impl Writer<'_> {
    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let to =
            self.out.get_mut(self.at..).and_then(|rest| rest.get_mut(..bytes.len())).ok_or(Error::TooLong)?;
        to.copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(())
    }

    fn head(&mut self, major: u8, value: usize) -> Result<(), Error> {
        let (head, len) = cbor::head(major, value as u64);
        self.put(&head[..len])
    }
}

/// See `open::paper`. Returns the bytes before the signature.
fn paper(message: &Message<'_>, by: By, to: &mut Writer<'_>) -> Result<usize, Error> {
    let Message {
        payload, kind, key_id, number, time, content_type, response_topic, correlation_data, ..
    } = *message;
    let missing = [
        (kind != Kind::Plain, Field::Kind),
        (number.is_some(), Field::Number),
        (!content_type.is_empty(), Field::ContentType),
        (response_topic.is_some(), Field::ResponseTopic),
        (!correlation_data.is_empty(), Field::CorrelationData),
        (by == By::Mac, Field::Seal),
    ];
    if let Some((_, field)) = missing.into_iter().find(|(said, _)| *said) {
        return Err(Error::Unsupported(field));
    }
    let len = u16::try_from(payload.len()).map_err(|_| Error::TooLong)?;
    let seconds = u32::try_from(time.seconds()).map_err(|_| Error::Unsupported(Field::Time))?;
    to.put(&[0x01])?;
    to.put(&len.to_be_bytes())?;
    to.put(payload)?;
    to.put(&[by.byte()])?;
    to.put(&key_id.0.to_be_bytes())?;
    to.put(&seconds.to_be_bytes())?;
    to.put(&(by.len() as u16).to_be_bytes())?; // at most 4627
    Ok(to.at)
}

/// See `open::fixed`: everything before the payload.
fn fixed(mark: u8, message: &Message<'_>, by: By, to: &mut Writer<'_>) -> Result<(), Error> {
    let number = message.number.ok_or(Error::Unsupported(Field::Number))?;
    let response = message.response_text();
    let content_type_len = u8::try_from(message.content_type.len()).map_err(|_| Error::TooLong)?;
    let response_len = u16::try_from(response.len()).map_err(|_| Error::TooLong)?;
    let correlation_len = u16::try_from(message.correlation_data.len()).map_err(|_| Error::TooLong)?;
    let payload_len = u32::try_from(message.payload.len()).map_err(|_| Error::TooLong)?;
    to.put(&[mark, by.byte(), message.kind.byte(), content_type_len])?;
    to.put(&message.key_id.0.to_be_bytes())?;
    to.put(&number.epoch.to_be_bytes())?;
    to.put(&number.sequence.to_be_bytes())?;
    to.put(&message.time.0.to_be_bytes())?;
    to.put(&response_len.to_be_bytes())?;
    to.put(&correlation_len.to_be_bytes())?;
    to.put(&payload_len.to_be_bytes())?;
    to.put(message.content_type.as_bytes())?;
    to.put(response.as_bytes())?;
    to.put(message.correlation_data)
}

/// See `open::cose`: everything before the signature. Returns where the protected header is.
fn cose(message: &Message<'_>, by: By, to: &mut Writer<'_>) -> Result<core::ops::Range<usize>, Error> {
    let header = protected_len(message, by)?;
    to.put(&[0xd2])?; // tag 18
    to.head(cbor::ARRAY, 4)?;
    to.head(cbor::BYTES, header)?;
    let start = to.at;
    protected(message, by, |bytes| to.put(bytes))?;
    let end = to.at;
    to.head(cbor::MAP, 0)?;
    to.head(cbor::BYTES, message.payload.len())?;
    to.put(message.payload)?;
    to.head(cbor::BYTES, by.len())?;
    Ok(start..end)
}

/// Bytes of the protected header.
fn protected_len(message: &Message<'_>, by: By) -> Result<usize, Error> {
    let mut len = 0;
    protected(message, by, |bytes| {
        len += bytes.len();
        Ok(())
    })?;
    Ok(len)
}

/// The protected header, in the deterministic encoding: labels in the order of their bytes, nothing that is empty.
fn protected(
    message: &Message<'_>,
    by: By,
    put: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let By::Signature(level) = by else { return Err(Error::Unsupported(Field::Seal)) };
    let claims = u64::from(message.time.is_known()) + u64::from(message.number.is_some());
    let said = [
        !message.content_type.is_empty(),
        claims > 0,
        !message.correlation_data.is_empty(),
        message.kind != Kind::Plain,
        message.response_topic.is_some(),
    ];
    let mut to = Cbor(put);
    to.head(cbor::MAP, 2 + said.iter().filter(|said| **said).count() as u64)?;
    // alg (RFC 9964, 3)
    to.head(cbor::UNSIGNED, 1)?;
    to.head(cbor::NEGATIVE, cose_alg(level))?;
    if !message.content_type.is_empty() {
        to.head(cbor::UNSIGNED, 3)?;
        to.string(cbor::TEXT, message.content_type.as_bytes())?;
    }
    // kid
    to.head(cbor::UNSIGNED, 4)?;
    to.string(cbor::BYTES, &message.key_id.0.to_be_bytes())?;
    if claims > 0 {
        // CWT claims (RFC 9597): iat and cti
        to.head(cbor::UNSIGNED, 15)?;
        to.head(cbor::MAP, claims)?;
        if message.time.is_known() {
            to.head(cbor::UNSIGNED, 6)?;
            to.head(cbor::UNSIGNED, message.time.seconds())?;
        }
        if let Some(Number { epoch, sequence }) = message.number {
            to.head(cbor::UNSIGNED, 7)?;
            to.string(cbor::BYTES, &(u64::from(epoch) << 32 | u64::from(sequence)).to_be_bytes())?;
        }
    }
    if !message.correlation_data.is_empty() {
        to.string(cbor::TEXT, b"cd")?;
        to.string(cbor::BYTES, message.correlation_data)?;
    }
    if message.kind != Kind::Plain {
        to.string(cbor::TEXT, b"kd")?;
        to.head(cbor::UNSIGNED, u64::from(message.kind.byte()))?;
    }
    if let Some(topic) = message.response_topic {
        to.string(cbor::TEXT, b"rt")?;
        to.string(cbor::TEXT, topic.as_str().as_bytes())?;
    }
    Ok(())
}

/// Writes items of CBOR to whoever takes bytes.
struct Cbor<F>(F);

impl<F: FnMut(&[u8]) -> Result<(), Error>> Cbor<F> {
    fn head(&mut self, major: u8, value: u64) -> Result<(), Error> {
        let (head, len) = cbor::head(major, value);
        self.0(&head[..len])
    }

    fn string(&mut self, major: u8, bytes: &[u8]) -> Result<(), Error> {
        self.head(major, bytes.len() as u64)?;
        self.0(bytes)
    }
}

/// `alg` as CBOR has it, -1 - n: -48, -49 and -50 (RFC 9964, 3).
fn cose_alg(level: Level) -> u64 {
    match level {
        Level::MlDsa44 => 47,
        Level::MlDsa65 => 48,
        Level::MlDsa87 => 49,
    }
}
