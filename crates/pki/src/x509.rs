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
        let (not_before, not_after) = (validity.take_time()?, validity.take_time()?);
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
