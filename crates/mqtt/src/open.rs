//! From bytes to a message that is believed: [`Envelope::parse`], then [`Envelope::verify`], and no way around it.

use crate::cbor::{self, Reader};
use crate::error::{Error, Field};
use crate::form::{By, Covered, DETACHED_MARK, Form, V1_MARK};
use crate::mac::{self, MacKey};
use crate::message::{KeyId, Kind, Message, Number, UnixMillis};
use crate::topic::Topic;
use sealstone_mldsa::{Level, Mu, MuHasher, any};

/// An envelope that is well formed, and not yet believed.
#[derive(Clone, Copy)]
pub struct Envelope<'a> {
    claimed: Message<'a>,
    by: By,
    seal: &'a [u8],
    covered: Covered<'a>,
}

impl<'a> Envelope<'a> {
    /// Reads an envelope that came on a topic.
    ///
    /// Errors: `Truncated`, `TrailingBytes`, `Unknown`, `NotCanonical`, `NotText`, `BadTopic` (the response topic);
    /// `Unsupported(Payload)` for the form `detached`, which [`Self::parse_detached`] reads.
    pub fn parse(form: Form, topic: Topic<'a>, bytes: &'a [u8]) -> Result<Self, Error> {
        match form {
            Form::Paper => paper(topic, bytes),
            Form::V1 => fixed(V1_MARK, topic, bytes, None),
            Form::Cose => cose(topic, bytes),
            Form::Detached => Err(Error::Unsupported(Field::Payload)),
        }
    }

    /// Reads an envelope that came apart from its payload. Errors: as [`Self::parse`].
    pub fn parse_detached(topic: Topic<'a>, payload: &'a [u8], bytes: &'a [u8]) -> Result<Self, Error> {
        fixed(DETACHED_MARK, topic, bytes, Some(payload))
    }

    /// What the message says of itself. To look up its key and to refuse it early; not to be acted upon.
    pub fn claimed(&self) -> &Message<'a> {
        &self.claimed
    }

    /// What the seal is made of, by the envelope's own word; [`Self::verify`] holds it to the key's.
    pub fn by(&self) -> By {
        self.by
    }

    /// The form.
    pub fn form(&self) -> Form {
        self.covered.form
    }

    /// The seal's bytes.
    pub fn seal(&self) -> &'a [u8] {
        self.seal
    }

    /// The bytes under the seal.
    pub fn covered(&self) -> Covered<'a> {
        self.covered
    }

    /// μ of what the seal covers, for a hasher that the key began with [`Covered::context`]: for those who verify many at a
    /// time, with [`Self::believed_after`].
    pub fn mu(&self, mut hasher: MuHasher) -> Mu {
        self.covered.feed(|part| hasher.update(part));
        hasher.finish()
    }

    /// Checks the signature. Errors: `BadSignature`, also if the key is of another level than the envelope says.
    pub fn verify(&self, key: &any::VerifyingKey) -> Result<Message<'a>, Error> {
        if self.by != By::Signature(key.level()) {
            return Err(Error::BadSignature);
        }
        let signature = any::Signature::decode(key.level(), self.seal)?;
        let verdict = key.verify_mu(&self.mu(key.message(self.covered.context())), &signature);
        self.believed_after(verdict)
    }

    /// Checks a tag, in a time that does not depend on its bytes. Errors: `BadSignature`, also if the envelope has a signature.
    pub fn verify_mac(&self, key: &MacKey) -> Result<Message<'a>, Error> {
        if self.by != By::Mac {
            return Err(Error::BadSignature);
        }
        self.believed_after(mac::verify(key, &self.covered, self.seal))
    }

    /// The message, once somebody has verified its μ and signature with a key of the level that the envelope says.
    pub fn believed_after(&self, verdict: Result<(), sealstone_mldsa::Error>) -> Result<Message<'a>, Error> {
        verdict.map_err(|_| Error::BadSignature)?;
        Ok(self.claimed)
    }
}

/// The payload of an unsigned message in the paper's layout: type 0x00, payload length, payload, and nothing more.
/// Errors: `Unknown(Form)` for another type, `Truncated`, `TrailingBytes`.
pub fn unsigned(bytes: &[u8]) -> Result<&[u8], Error> {
    let mut rest = Bytes(bytes);
    if rest.u8()? != 0x00 {
        return Err(Error::Unknown(Field::Form));
    }
    let len = rest.u16()?;
    let payload = rest.take(usize::from(len))?;
    rest.end()?;
    Ok(payload)
}

/// Reads big-endian fields off the front of bytes.
pub(crate) struct Bytes<'a>(pub(crate) &'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(Error::Truncated)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Error::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(u32::from_be_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_be_bytes)
    }

    pub(crate) fn end(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::TrailingBytes) }
    }
}

/// Key id and number of a detached envelope, whose payload is elsewhere. None for what is no such envelope.
#[cfg(feature = "std")]
pub(crate) fn detached_number(bytes: &[u8]) -> Option<(KeyId, Number)> {
    let mut rest = Bytes(bytes);
    let first = rest.take(4).ok()?;
    let key_id = KeyId(rest.u16().ok()?);
    let number = Number { epoch: rest.u32().ok()?, sequence: rest.u32().ok()? };
    (Form::of(first) == Some(Form::Detached)).then_some((key_id, number))
}

/// The text of a field. Errors: `NotText`.
fn text(bytes: &[u8], field: Field) -> Result<&str, Error> {
    core::str::from_utf8(bytes).map_err(|_| Error::NotText(field))
}

/// The response topic, if there is one. Errors: `BadTopic`.
fn response(bytes: &[u8]) -> Result<Option<Topic<'_>>, Error> {
    if bytes.is_empty() { Ok(None) } else { Topic::from_bytes(bytes).map(Some) }
}

/// The paper's layout (seed 002, 4.5): type, payload length, payload, algorithm, key id, time, signature length, signature.
fn paper<'a>(topic: Topic<'a>, bytes: &'a [u8]) -> Result<Envelope<'a>, Error> {
    let mut rest = Bytes(bytes);
    if rest.u8()? != 0x01 {
        return Err(Error::Unknown(Field::Form));
    }
    let len = rest.u16()?;
    let payload = rest.take(usize::from(len))?;
    let by = match By::of(rest.u8()?) {
        Some(by @ By::Signature(_)) => by,
        _ => return Err(Error::Unknown(Field::Algorithm)),
    };
    let key_id = KeyId(rest.u16()?);
    let time = UnixMillis(u64::from(rest.u32()?) * 1000);
    if usize::from(rest.u16()?) != by.len() {
        return Err(Error::NotCanonical);
    }
    let seal = rest.take(by.len())?;
    rest.end()?;
    let head = &bytes[..bytes.len() - seal.len()];
    Ok(Envelope {
        claimed: Message { key_id, time, ..Message::new(topic, payload) },
        by,
        seal,
        covered: Covered { form: Form::Paper, topic, head, payload: &[] },
    })
}

/// `v1`, and `detached`, which has the payload elsewhere.
fn fixed<'a>(
    mark: u8,
    topic: Topic<'a>,
    bytes: &'a [u8],
    apart: Option<&'a [u8]>,
) -> Result<Envelope<'a>, Error> {
    let mut rest = Bytes(bytes);
    if rest.u8()? != mark {
        return Err(Error::Unknown(Field::Form));
    }
    let by = By::of(rest.u8()?).ok_or(Error::Unknown(Field::Seal))?;
    let kind = Kind::of(rest.u8()?)?;
    let content_type_len = usize::from(rest.u8()?);
    let key_id = KeyId(rest.u16()?);
    let number = Number { epoch: rest.u32()?, sequence: rest.u32()? };
    let time = UnixMillis(rest.u64()?);
    let response_len = usize::from(rest.u16()?);
    let correlation_len = usize::from(rest.u16()?);
    let payload_len = usize::try_from(rest.u32()?).map_err(|_| Error::Truncated)?;
    let content_type = text(rest.take(content_type_len)?, Field::ContentType)?;
    let response_topic = response(rest.take(response_len)?)?;
    let correlation_data = rest.take(correlation_len)?;
    let (form, payload, after) = match apart {
        None => (Form::V1, rest.take(payload_len)?, &[][..]),
        Some(payload) if payload.len() == payload_len => (Form::Detached, payload, payload),
        Some(_) => return Err(Error::Truncated),
    };
    let seal = rest.take(by.len())?;
    rest.end()?;
    let head = &bytes[..bytes.len() - seal.len()];
    let claimed = Message {
        topic,
        payload,
        kind,
        key_id,
        number: Some(number),
        time,
        content_type,
        response_topic,
        correlation_data,
    };
    Ok(Envelope { claimed, by, seal, covered: Covered { form, topic, head, payload: after } })
}

/// COSE_Sign1 (RFC 9052, 4.2), with or without its tag 18, in the deterministic encoding.
fn cose<'a>(topic: Topic<'a>, bytes: &'a [u8]) -> Result<Envelope<'a>, Error> {
    let mut rest = Reader(bytes);
    let mut first = rest.head()?;
    if first == (cbor::TAG, 18) {
        first = rest.head()?;
    }
    if first != (cbor::ARRAY, 4) {
        return Err(Error::Unknown(Field::Form));
    }
    let head = rest.string(cbor::BYTES)?;
    // Nothing unprotected is taken: it is not signed.
    if rest.expect(cbor::MAP)? != 0 {
        return Err(Error::Unknown(Field::Header));
    }
    let payload = rest.string(cbor::BYTES)?;
    let seal = rest.string(cbor::BYTES)?;
    if !rest.0.is_empty() {
        return Err(Error::TrailingBytes);
    }
    let (claimed, by) = protected(head, Message::new(topic, payload))?;
    if seal.len() != by.len() {
        return Err(if seal.len() < by.len() { Error::Truncated } else { Error::TrailingBytes });
    }
    Ok(Envelope { claimed, by, seal, covered: Covered { form: Form::Cose, topic, head, payload } })
}

/// The protected header of a COSE_Sign1: what it says is added to the message. Labels come in the order of section 4.2.1 of
/// RFC 8949, each once; one that is not known here is refused, whether it is called critical or not.
fn protected<'a>(head: &'a [u8], mut message: Message<'a>) -> Result<(Message<'a>, By), Error> {
    let mut rest = Reader(head);
    let (mut by, mut key_id) = (None, None);
    let mut before: &[u8] = &[];
    for _ in 0..rest.expect(cbor::MAP)? {
        let at = rest.0;
        let label = Label::read(&mut rest)?;
        let encoded = &at[..at.len() - rest.0.len()];
        if encoded <= before {
            return Err(Error::NotCanonical);
        }
        before = encoded;
        match label {
            Label::Number(1) => by = Some(By::Signature(cose_level(rest.expect(cbor::NEGATIVE)?)?)),
            Label::Number(3) => {
                message.content_type = text(said(rest.string(cbor::TEXT)?)?, Field::ContentType)?
            }
            Label::Number(4) => {
                let id = rest.string(cbor::BYTES)?.try_into().map_err(|_| Error::Unknown(Field::Header))?;
                key_id = Some(KeyId(u16::from_be_bytes(id)));
            }
            Label::Number(15) => claims(&mut rest, &mut message)?,
            Label::Text(b"cd") => message.correlation_data = said(rest.string(cbor::BYTES)?)?,
            Label::Text(b"kd") => {
                let kind =
                    u8::try_from(rest.expect(cbor::UNSIGNED)?).map_err(|_| Error::Unknown(Field::Kind))?;
                message.kind = match Kind::of(kind)? {
                    Kind::Plain => return Err(Error::NotCanonical),
                    kind => kind,
                };
            }
            Label::Text(b"rt") => message.response_topic = response(said(rest.string(cbor::TEXT)?)?)?,
            _ => return Err(Error::Unknown(Field::Header)),
        }
    }
    if !rest.0.is_empty() {
        return Err(Error::TrailingBytes);
    }
    message.key_id = key_id.ok_or(Error::Missing(Field::KeyId))?;
    Ok((message, by.ok_or(Error::Missing(Field::Algorithm))?))
}

/// A string that is there must say something: what is empty is left out. Errors: `NotCanonical`.
fn said(string: &[u8]) -> Result<&[u8], Error> {
    if string.is_empty() { Err(Error::NotCanonical) } else { Ok(string) }
}

/// The label of a header: a number or a text.
enum Label<'a> {
    Number(u64),
    Text(&'a [u8]),
}

impl<'a> Label<'a> {
    fn read(rest: &mut Reader<'a>) -> Result<Self, Error> {
        let mut ahead = *rest;
        match ahead.head()? {
            (cbor::UNSIGNED, label) => {
                *rest = ahead;
                Ok(Label::Number(label))
            }
            (cbor::TEXT, _) => rest.string(cbor::TEXT).map(Label::Text),
            _ => Err(Error::Unknown(Field::Header)),
        }
    }
}

/// CWT claims in a header (RFC 9597): 6 is iat, in seconds; 7 is cti, here epoch and sequence in eight bytes.
fn claims<'a>(rest: &mut Reader<'a>, message: &mut Message<'a>) -> Result<(), Error> {
    let mut before = 0;
    let count = rest.expect(cbor::MAP)?;
    if count == 0 {
        return Err(Error::NotCanonical);
    }
    for _ in 0..count {
        let claim = rest.expect(cbor::UNSIGNED)?;
        if claim <= before {
            return Err(Error::NotCanonical);
        }
        before = claim;
        match claim {
            6 => {
                let millis = rest.expect(cbor::UNSIGNED)?.checked_mul(1000).filter(|millis| *millis > 0);
                message.time = UnixMillis(millis.ok_or(Error::Unknown(Field::Time))?);
            }
            7 => {
                let cti: [u8; 8] =
                    rest.string(cbor::BYTES)?.try_into().map_err(|_| Error::Unknown(Field::Number))?;
                let cti = u64::from_be_bytes(cti);
                message.number = Some(Number { epoch: (cti >> 32) as u32, sequence: cti as u32 });
            }
            _ => return Err(Error::Unknown(Field::Header)),
        }
    }
    Ok(())
}

/// The level of `-1 - n`: -48, -49 and -50 (RFC 9964, 3).
fn cose_level(n: u64) -> Result<Level, Error> {
    match n {
        47 => Ok(Level::MlDsa44),
        48 => Ok(Level::MlDsa65),
        49 => Ok(Level::MlDsa87),
        _ => Err(Error::Unknown(Field::Algorithm)),
    }
}
