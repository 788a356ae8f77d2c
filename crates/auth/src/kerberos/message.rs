//! AP-REQ and AP-REP, and what is sealed in them, RFC 4120 §5. DER (X.690), read strictly.
//!
//! What stands in a message outside of what is sealed is believed by nobody: it chooses the key.

use sealstone_jose::UnixSeconds;
use sealstone_pki::Error;
use sealstone_pki::der::{self, BIT_STRING, INTEGER, OCTET_STRING, Reader, SEQUENCE, Tag};
use zeroize::Zeroizing;

use super::crypto::Key;
use crate::client::Principal;

const GENERAL_STRING: Tag = Tag { byte: 0x1b, name: "a KerberosString" };
const TICKET: Tag = Tag { byte: 0x61, name: "a Ticket" };
const AUTHENTICATOR: Tag = Tag { byte: 0x62, name: "an Authenticator" };
const ENC_TICKET_PART: Tag = Tag { byte: 0x63, name: "an EncTicketPart" };
const AP_REQ: Tag = Tag { byte: 0x6e, name: "an AP-REQ" };
const AP_REP: Tag = Tag { byte: 0x6f, name: "an AP-REP" };
const ENC_AP_REP_PART: Tag = Tag { byte: 0x7b, name: "an EncAPRepPart" };

/// The member with this number.
const fn member(number: u8) -> Tag {
    Tag { byte: 0xa0 | number, name: "a member of the sequence" }
}

/// AP-REQ, RFC 4120 §5.5.1: a ticket, and who shows that it is theirs.
pub(super) struct ApReq<'a> {
    pub(super) authenticator: EncryptedData<'a>,
    /// Whether the client wants an AP-REP.
    pub(super) mutual: bool,
    pub(super) ticket: EncryptedData<'a>,
    /// The principal that the ticket is for.
    pub(super) service: Principal,
    /// Whether the ticket is sealed with the key of another ticket (user to user).
    pub(super) use_session_key: bool,
}

impl<'a> ApReq<'a> {
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        let mut fields = only(bytes, AP_REQ)?;
        version(&mut fields, 0, 5)?;
        version(&mut fields, 1, 14)?;
        let options = flags(&mut fields, 2)?;
        let mut ticket = whole(fields.take(member(3))?, TICKET)?;
        let mut ticket = sequence(&mut ticket)?;
        version(&mut ticket, 0, 5)?;
        let realm = text(ticket.take(member(1))?)?;
        let service = Principal::from_parts(name(ticket.take(member(2))?)?, realm);
        let sealed = EncryptedData::read(ticket.take(member(3))?)?;
        ticket.end()?;
        let authenticator = EncryptedData::read(fields.take(member(4))?)?;
        fields.end()?;
        Ok(Self {
            authenticator,
            mutual: bit(&options, 2),
            ticket: sealed,
            service,
            use_session_key: bit(&options, 1),
        })
    }
}

/// EncryptedData, RFC 4120 §5.2.9.
pub(super) struct EncryptedData<'a> {
    pub(super) cipher: &'a [u8],
    pub(super) etype: i64,
    pub(super) kvno: Option<u32>,
}

impl<'a> EncryptedData<'a> {
    fn read(mut field: Reader<'a>) -> Result<Self, Error> {
        let mut fields = sequence(&mut field)?;
        let etype = number(fields.take(member(0))?)?;
        let kvno = fields.take_optional(member(1))?.map(number).transpose()?;
        let cipher = octets(fields.take(member(2))?)?;
        fields.end()?;
        // A version is an UInt32, and old implementations write the upper half as negative numbers.
        Ok(Self { cipher, etype, kvno: kvno.map(|kvno| kvno as u32) })
    }
}

/// EncTicketPart, RFC 4120 §5.3: what the KDC says of the client.
pub(super) struct TicketPart {
    pub(super) client: Principal,
    pub(super) ends_at: UnixSeconds,
    /// Whether something in it must be understood that is not.
    pub(super) has_unknown_data: bool,
    /// Whether it is not yet to be used.
    pub(super) invalid: bool,
    /// `None`: its type is not used here.
    pub(super) session_key: Option<Key>,
    pub(super) starts_at: UnixSeconds,
    /// Whether realms lie between the client's and ours that the KDC has not judged, RFC 4120 §2.7.
    pub(super) transited_unchecked: bool,
}

impl TicketPart {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut fields = only(bytes, ENC_TICKET_PART)?;
        let flags = flags(&mut fields, 0)?;
        let session_key = key(fields.take(member(1))?)?;
        let realm = text(fields.take(member(2))?)?;
        let client = Principal::from_parts(name(fields.take(member(3))?)?, realm);
        let mut transited = fields.take(member(4))?;
        let mut encoding = sequence(&mut transited)?;
        number(encoding.take(member(0))?)?;
        let between = octets(encoding.take(member(1))?)?;
        encoding.end()?;
        let authenticated_at = time(fields.take(member(5))?)?;
        let starts_at = fields.take_optional(member(6))?.map(time).transpose()?;
        let ends_at = time(fields.take(member(7))?)?;
        fields.take_optional(member(8))?;
        fields.take_optional(member(9))?;
        let has_unknown_data = unknown_data(&mut fields, 10)?;
        fields.end()?;
        Ok(Self {
            client,
            ends_at,
            has_unknown_data,
            invalid: bit(&flags, 7),
            session_key,
            starts_at: starts_at.unwrap_or(authenticated_at),
            transited_unchecked: !between.is_empty() && !bit(&flags, 12),
        })
    }
}

/// Authenticator, RFC 4120 §5.5.1: that the client holds the ticket's key, now.
pub(super) struct Authenticator {
    pub(super) client: Principal,
    /// Its type and content.
    pub(super) checksum: Option<(i64, Vec<u8>)>,
    pub(super) has_unknown_data: bool,
    pub(super) made_at: UnixSeconds,
    /// ctime and cusec as they stand there, for the AP-REP.
    stamp: [Vec<u8>; 2],
}

impl Authenticator {
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut fields = only(bytes, AUTHENTICATOR)?;
        version(&mut fields, 0, 5)?;
        let realm = text(fields.take(member(1))?)?;
        let client = Principal::from_parts(name(fields.take(member(2))?)?, realm);
        let checksum = fields.take_optional(member(3))?.map(checksum).transpose()?;
        let cusec = fields.take_whole(member(4))?;
        let ctime = fields.take_whole(member(5))?;
        number(Reader::new(cusec)?.take(member(4))?)?;
        let made_at = time(Reader::new(ctime)?.take(member(5))?)?;
        fields.take_optional(member(6))?;
        fields.take_optional(member(7))?;
        let has_unknown_data = unknown_data(&mut fields, 8)?;
        fields.end()?;
        // The members have other numbers in EncAPRepPart; what is in them is the same.
        let stamp = [ctime, cusec].map(<[u8]>::to_vec);
        let [mut ctime, mut cusec] = stamp;
        (ctime[0], cusec[0]) = (member(0).byte, member(1).byte);
        Ok(Self { client, checksum, has_unknown_data, made_at, stamp: [ctime, cusec] })
    }

    /// The EncAPRepPart that answers it, RFC 4120 §5.5.2, to be sealed. The sequence number is the first of messages that
    /// nobody sends.
    pub(super) fn answer(&self, sequence_number: [u8; 4]) -> Zeroizing<Vec<u8>> {
        // Positive, and without zeros in front.
        let number =
            [sequence_number[0] & 0x3f | 0x40, sequence_number[1], sequence_number[2], sequence_number[3]];
        let number = der::write(member(3), &[&der::write(INTEGER, &[&number])]);
        let [ctime, cusec] = &self.stamp;
        der::write(ENC_AP_REP_PART, &[&der::write(SEQUENCE, &[ctime, cusec, &number])])
    }
}

/// AP-REP, RFC 4120 §5.5.2, around what was sealed.
pub(super) fn ap_rep(etype: i64, sealed: &[u8]) -> Vec<u8> {
    // The types that are used here have numbers of one byte.
    let number = |value: i64| der::write(INTEGER, &[&[value as u8 & 0x7f]]);
    let cipher = der::write(OCTET_STRING, &[sealed]);
    let data = [der::write(member(0), &[&number(etype)]), der::write(member(2), &[&cipher])];
    let data = der::write(member(2), &[&der::write(SEQUENCE, &[&data[0], &data[1]])]);
    let head = [der::write(member(0), &[&number(5)]), der::write(member(1), &[&number(15)])];
    der::write(AP_REP, &[&der::write(SEQUENCE, &[&head[0], &head[1], &data])]).to_vec()
}

/// The members of the one structure that the bytes are.
fn only(bytes: &[u8], tag: Tag) -> Result<Reader<'_>, Error> {
    sequence(&mut whole(Reader::new(bytes)?, tag)?)
}

/// The one value of a field.
fn whole<'a>(mut field: Reader<'a>, tag: Tag) -> Result<Reader<'a>, Error> {
    let value = field.take(tag)?;
    field.end()?;
    Ok(value)
}

/// A sequence with nothing behind it.
fn sequence<'a>(field: &mut Reader<'a>) -> Result<Reader<'a>, Error> {
    let members = field.take(SEQUENCE)?;
    field.clone().end()?;
    Ok(members)
}

fn version(fields: &mut Reader<'_>, index: u8, expected: u8) -> Result<(), Error> {
    let mut field = fields.take(member(index))?;
    field.take_version(&[expected], "the version and type of a Kerberos 5 message")?;
    field.end()
}

/// An INTEGER of at most 8 bytes.
fn number(field: Reader<'_>) -> Result<i64, Error> {
    let at = field.clone();
    let bytes = whole(field, INTEGER)?.rest();
    match bytes {
        [] | [_, _, _, _, _, _, _, _, _, ..] => {
            Err(at.refusal("an INTEGER of 1 to 8 bytes", "another".into()))
        }
        [first, ..] => {
            let sign = if *first < 0x80 { 0 } else { -1 };
            Ok(bytes.iter().fold(sign, |value, byte| value << 8 | i64::from(*byte)))
        }
    }
}

fn octets(field: Reader<'_>) -> Result<&[u8], Error> {
    Ok(whole(field, OCTET_STRING)?.rest())
}

fn time(mut field: Reader<'_>) -> Result<UnixSeconds, Error> {
    let at = field.clone();
    if field.peek() != Some(0x18) {
        return Err(at.refusal("a KerberosTime", "another value".into()));
    }
    let seconds = field.take_time()?;
    field.end()?;
    u64::try_from(seconds)
        .map(UnixSeconds)
        .map_err(|_| at.refusal("a time since 1970", "an earlier one".into()))
}

fn text(field: Reader<'_>) -> Result<String, Error> {
    let at = field.clone();
    let bytes = whole(field, GENERAL_STRING)?.rest();
    let text = String::from_utf8(bytes.to_vec());
    text.map_err(|_| at.refusal("a KerberosString in UTF-8", "other bytes".into()))
}

/// PrincipalName, RFC 4120 §5.2.2: its parts. The type is a hint.
fn name(mut field: Reader<'_>) -> Result<Vec<String>, Error> {
    let mut fields = sequence(&mut field)?;
    number(fields.take(member(0))?)?;
    let mut list = fields.take(member(1))?;
    fields.end()?;
    let mut strings = sequence(&mut list)?;
    let mut parts = Vec::new();
    while strings.peek().is_some() {
        let part = strings.clone();
        let taken = strings.take(GENERAL_STRING)?.rest();
        let taken = String::from_utf8(taken.to_vec());
        parts.push(taken.map_err(|_| part.refusal("a KerberosString in UTF-8", "other bytes".into()))?);
    }
    Ok(parts)
}

/// KerberosFlags, RFC 4120 §5.2.8: at least 32 bits, the first one in the highest place.
fn flags<'a>(fields: &mut Reader<'a>, index: u8) -> Result<Vec<u8>, Error> {
    let mut field = fields.take(member(index))?;
    let bits = field.take_bits(BIT_STRING)?;
    match bits.len() {
        4.. => field.end().map(|()| bits.to_vec()),
        _ => Err(field.refusal("flags of 32 bits", bits.len().to_string())),
    }
}

fn bit(flags: &[u8], index: usize) -> bool {
    flags.get(index / 8).is_some_and(|byte| byte << (index % 8) & 0x80 != 0)
}

/// EncryptionKey, RFC 4120 §5.2.9.
fn key(mut field: Reader<'_>) -> Result<Option<Key>, Error> {
    let mut fields = sequence(&mut field)?;
    let etype = number(fields.take(member(0))?)?;
    let value = octets(fields.take(member(1))?)?;
    fields.end()?;
    Ok(Key::new(etype, value))
}

/// Checksum, RFC 4120 §5.2.9.
fn checksum(mut field: Reader<'_>) -> Result<(i64, Vec<u8>), Error> {
    let mut fields = sequence(&mut field)?;
    let kind = number(fields.take(member(0))?)?;
    let value = octets(fields.take(member(1))?)?;
    fields.end()?;
    Ok((kind, value.to_vec()))
}

/// AuthorizationData, RFC 4120 §5.2.6: whoever does not understand an element must refuse, unless it is wrapped in
/// AD-IF-RELEVANT (1). Nothing in it is used here.
fn unknown_data(fields: &mut Reader<'_>, index: u8) -> Result<bool, Error> {
    let Some(mut field) = fields.take_optional(member(index))? else { return Ok(false) };
    let mut elements = sequence(&mut field)?;
    let mut unknown = false;
    while elements.peek().is_some() {
        let mut element = elements.take(SEQUENCE)?;
        unknown |= number(element.take(member(0))?)? != 1;
        octets(element.take(member(1))?)?;
        element.end()?;
    }
    Ok(unknown)
}
