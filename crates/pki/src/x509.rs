//! Certificates (RFC 5280 §4), as far as they say who somebody is: the subject, its other names, the public key and
//! the time of validity. Nothing is verified here: neither a signature nor a chain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;

/// id-ce-subjectAltName, 2.5.29.17.
const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 0x11];

const VERSION: Tag = Tag { byte: 0xa0, name: "a version" };
const EXTENSIONS: Tag = Tag { byte: 0xa3, name: "extensions" };
const ISSUER_UNIQUE_ID: Tag = Tag { byte: 0x81, name: "an issuer's id" };
const SUBJECT_UNIQUE_ID: Tag = Tag { byte: 0x82, name: "a subject's id" };
const BOOLEAN: Tag = Tag { byte: 0x01, name: "a BOOLEAN" };

/// What a certificate says of its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    alt_names: Vec<AltName>,
    not_after: i64,
    not_before: i64,
    public_key: Vec<u8>,
    subject: Name,
}

/// A name beside the subject, RFC 5280 §4.2.1.6.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AltName {
    /// dNSName, as it stands: a wildcard is one of its letters.
    Dns(String),
    /// rfc822Name.
    Email(String),
    /// iPAddress.
    Ip(IpAddr),
    /// A form that is not read.
    Other,
    /// uniformResourceIdentifier.
    Uri(String),
}

impl Certificate {
    /// Reads a certificate.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let mut whole = Reader::new(bytes)?;
        let mut certificate = whole.take(der::SEQUENCE)?;
        whole.end()?;
        let mut fields = certificate.take(der::SEQUENCE)?;
        certificate.take(der::SEQUENCE)?;
        certificate.take_bits(der::BIT_STRING)?;
        certificate.end()?;

        if let Some(mut version) = fields.take_optional(VERSION)? {
            version.take_version(&[1, 2], "version 2 or 3")?;
            version.end()?;
        }
        fields.take(der::INTEGER)?;
        fields.take(der::SEQUENCE)?;
        fields.take(der::SEQUENCE)?;
        let mut validity = fields.take(der::SEQUENCE)?;
        let (not_before, not_after) = (time(&mut validity)?, time(&mut validity)?);
        validity.end()?;
        let subject = Name::read(fields.take(der::SEQUENCE)?)?;
        let public_key = fields.take_whole(der::SEQUENCE)?.to_vec();
        fields.take_optional(ISSUER_UNIQUE_ID)?;
        fields.take_optional(SUBJECT_UNIQUE_ID)?;
        let mut alt_names = Vec::new();
        if let Some(mut extensions) = fields.take_optional(EXTENSIONS)? {
            let list = extensions.take(der::SEQUENCE)?;
            extensions.end()?;
            alt_names = subject_alt_names(list)?;
        }
        fields.end()?;
        Ok(Self { alt_names, not_after, not_before, public_key, subject })
    }

    /// The names beside the subject.
    pub fn alt_names(&self) -> &[AltName] {
        &self.alt_names
    }

    /// The last second in which it is valid, counted from 1970.
    pub fn not_after(&self) -> i64 {
        self.not_after
    }

    /// The first second in which it is valid, counted from 1970.
    pub fn not_before(&self) -> i64 {
        self.not_before
    }

    /// The whole SubjectPublicKeyInfo, for [`spki::from_der`](crate::spki::from_der) or to be compared.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// Whom it is about.
    pub fn subject(&self) -> &Name {
        &self.subject
    }
}

/// RFC 5280 §4.2: no extension stands twice.
fn subject_alt_names(mut extensions: Reader<'_>) -> Result<Vec<AltName>, Error> {
    let mut seen: Vec<&[u8]> = Vec::new();
    let mut names = Vec::new();
    while extensions.peek().is_some() {
        let at = extensions.clone();
        let mut extension = extensions.take(der::SEQUENCE)?;
        let oid = extension.take(der::OBJECT_IDENTIFIER)?.rest();
        if seen.contains(&oid) {
            return Err(at.refusal("each extension once", der::dotted(oid)));
        }
        seen.push(oid);
        extension.take_optional(BOOLEAN)?;
        let mut value = extension.take(der::OCTET_STRING)?;
        extension.end()?;
        if oid == SUBJECT_ALT_NAME {
            let mut list = value.take(der::SEQUENCE)?;
            value.end()?;
            while list.peek().is_some() {
                names.push(AltName::read(&mut list)?);
            }
        }
    }
    Ok(names)
}

impl AltName {
    /// One GeneralName, by its tag.
    fn read(list: &mut Reader<'_>) -> Result<Self, Error> {
        let (tag, at) = (list.peek(), list.clone());
        let content = list.take_next("a name")?.rest();
        let text = || match content.is_ascii() {
            true => Ok(content.iter().copied().map(char::from).collect()),
            false => Err(at.refusal("a name in ASCII", "other bytes".into())),
        };
        Ok(match tag {
            Some(0x81) => Self::Email(text()?),
            Some(0x82) => Self::Dns(text()?),
            Some(0x86) => Self::Uri(text()?),
            Some(0x87) => match (<[u8; 4]>::try_from(content), <[u8; 16]>::try_from(content)) {
                (Ok(v4), _) => Self::Ip(Ipv4Addr::from(v4).into()),
                (_, Ok(v6)) => Self::Ip(Ipv6Addr::from(v6).into()),
                _ => return Err(at.refusal("an address of 4 or 16 bytes", content.len().to_string())),
            },
            _ => Self::Other,
        })
    }
}

/// Time ::= CHOICE { UTCTime, GeneralizedTime }, RFC 5280 §4.1.2.5: to the second, in UTC.
fn time(fields: &mut Reader<'_>) -> Result<i64, Error> {
    let at = fields.clone();
    let tag = fields.peek();
    let content = fields.take_next("a time")?.rest();
    let refusal = || at.refusal("a time as YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ", "another form".into());
    let digits = match (tag, content.split_last()) {
        (Some(0x17), Some((b'Z', digits))) if digits.len() == 12 => digits,
        (Some(0x18), Some((b'Z', digits))) if digits.len() == 14 => digits,
        _ => return Err(refusal()),
    };
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(refusal());
    }
    let number = |digits: &[u8]| digits.iter().fold(0, |n, digit| n * 10 + i64::from(digit - b'0'));
    let (year, rest) = digits.split_at(digits.len() - 10);
    let year = match (number(year), year.len()) {
        (year, 4) => year,
        (year @ 50.., _) => 1900 + year,
        (year, _) => 2000 + year,
    };
    let field = |index: usize| number(&rest[2 * index..2 * index + 2]);
    let (month, day, hour, minute, second) = (field(0), field(1), field(2), field(3), field(4));
    let in_calendar = (1..=12).contains(&month) && (1..=days_of(month, year)).contains(&day);
    if !in_calendar || hour > 23 || minute > 59 || second > 59 {
        return Err(refusal());
    }
    Ok(((days_from_1970(year, month, day) * 24 + hour) * 60 + minute) * 60 + second)
}

fn days_of(month: i64, year: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days of the Gregorian calendar. Years begin in March, so that the leap day ends one; 719 468 is the day number of
/// 1970-01-01 counted from 0000-03-01.
fn days_from_1970(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - 719_468
}
