//! Parts that certificates, requests and lists are written from.

use super::extension::{AuthorityKeyId, BasicConstraints, Extension, Extensions, NameConstraints, Oid, oids};
use super::general_name::{GeneralName, Subtree};
use super::key_usage::KeyUsage;
use crate::der::{self, Tag};
use crate::error::Error;

const UTC_TIME: Tag = Tag { byte: 0x17, name: "a UTCTime" };
const GENERALIZED_TIME: Tag = Tag { byte: 0x18, name: "a GeneralizedTime" };

/// What a certificate says, or a request asks for, besides name, key and time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Names beside the subject.
    pub alt_names: Vec<GeneralName>,
    /// Whether and how deep it may sign certificates; written critical.
    pub basic_constraints: Option<BasicConstraints>,
    /// Object identifiers of policies.
    pub certificate_policies: Vec<Oid>,
    /// URIs of revocation lists.
    pub crl_distribution_points: Vec<String>,
    /// Purposes of the key.
    pub ext_key_usage: Vec<Oid>,
    /// What the key may do; written critical.
    pub key_usage: Option<KeyUsage>,
    /// Which names may follow; written critical, and in certificates of authorities only.
    pub name_constraints: NameConstraints,
    /// Others, as they are to stand.
    pub other: Vec<Extension>,
}

impl Profile {
    /// An authority: signs certificates and lists, with at most so many authorities below it.
    pub fn authority(path_len: Option<u32>) -> Self {
        Self {
            basic_constraints: Some(BasicConstraints { ca: true, path_len }),
            key_usage: Some(KeyUsage::KEY_CERT_SIGN.with(KeyUsage::CRL_SIGN)),
            ..Self::default()
        }
    }

    /// An end entity: signs, but no certificates.
    pub fn end_entity() -> Self {
        Self {
            basic_constraints: Some(BasicConstraints::default()),
            key_usage: Some(KeyUsage::DIGITAL_SIGNATURE),
            ..Self::default()
        }
    }

    /// What a request asks for. The one who issues decides what of it is granted.
    pub fn requested(extensions: &Extensions) -> Self {
        let uri = |name: &GeneralName| match name {
            GeneralName::Uri(uri) => Some(uri.clone()),
            _ => None,
        };
        Self {
            alt_names: extensions.subject_alt_names.clone().unwrap_or_default(),
            basic_constraints: extensions.basic_constraints,
            certificate_policies: extensions.certificate_policies.clone().unwrap_or_default(),
            crl_distribution_points: extensions
                .crl_distribution_points
                .iter()
                .flatten()
                .filter_map(uri)
                .collect(),
            ext_key_usage: extensions.ext_key_usage.clone().unwrap_or_default(),
            key_usage: extensions.key_usage,
            name_constraints: extensions.name_constraints.clone().unwrap_or_default(),
            other: Vec::new(),
        }
    }

    /// Writes the extensions, one after the other, in the order of RFC 5280 §4.2.1.
    pub(crate) fn extensions(
        &self,
        authority: Option<&[u8]>,
        key_id: Option<&[u8]>,
        without_subject: bool,
    ) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let mut put = |oid, critical, value: &[u8]| out.extend(extension(oid, critical, value));
        if let Some(id) = authority {
            let id = AuthorityKeyId { key_id: Some(id.to_vec()), names_issuer: false };
            put(oids::AUTHORITY_KEY_ID, false, &id.to_der());
        }
        if let Some(id) = key_id {
            put(oids::SUBJECT_KEY_ID, false, &der::write(der::OCTET_STRING, &[id]));
        }
        if let Some(usage) = self.key_usage {
            put(oids::KEY_USAGE, true, &usage.to_der());
        }
        if !self.certificate_policies.is_empty() {
            let policies: Vec<_> = self
                .certificate_policies
                .iter()
                .map(|oid| der::write(der::SEQUENCE, &[&write_oid(oid)]).to_vec())
                .collect();
            put(oids::CERTIFICATE_POLICIES, false, &sequence(&policies));
        }
        if !self.alt_names.is_empty() {
            let names = self.alt_names.iter().map(GeneralName::to_der).collect::<Result<Vec<_>, _>>()?;
            // RFC 5280 §4.1.2.6: with an empty subject they are all there is.
            put(oids::SUBJECT_ALT_NAME, without_subject, &sequence(&names));
        }
        if let Some(constraints) = self.basic_constraints {
            put(oids::BASIC_CONSTRAINTS, true, &constraints.to_der());
        }
        if self.name_constraints != NameConstraints::default() {
            put(oids::NAME_CONSTRAINTS, true, &self.name_constraints.to_der()?);
        }
        if !self.ext_key_usage.is_empty() {
            let purposes: Vec<_> = self.ext_key_usage.iter().map(write_oid).collect();
            put(oids::EXT_KEY_USAGE, false, &sequence(&purposes));
        }
        if !self.crl_distribution_points.is_empty() {
            let points = self.crl_distribution_points.iter().map(|uri| {
                let name = GeneralName::Uri(uri.clone()).to_der()?;
                let full = der::write(Tag { byte: 0xa0, name: "a full name" }, &[&name]);
                let point = der::write(Tag { byte: 0xa0, name: "a distribution point" }, &[&full]);
                Ok(der::write(der::SEQUENCE, &[&point]).to_vec())
            });
            put(oids::CRL_DISTRIBUTION_POINTS, false, &sequence(&points.collect::<Result<Vec<_>, Error>>()?));
        }
        for Extension { critical, oid, value } in &self.other {
            put(oid.content(), *critical, value);
        }
        Ok(out)
    }
}

pub(crate) fn extension(oid: &[u8], critical: bool, value: &[u8]) -> Vec<u8> {
    let oid = der::write(der::OBJECT_IDENTIFIER, &[oid]);
    let critical: &[u8] = if critical { &[0x01, 0x01, 0xff] } else { &[] };
    der::write(der::SEQUENCE, &[&oid, critical, &der::write(der::OCTET_STRING, &[value])]).to_vec()
}

pub(crate) fn sequence(parts: &[Vec<u8>]) -> Vec<u8> {
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    der::write(der::SEQUENCE, &parts).to_vec()
}

fn write_oid(oid: &Oid) -> Vec<u8> {
    der::write(der::OBJECT_IDENTIFIER, &[oid.content()]).to_vec()
}

/// An INTEGER that is not negative.
pub(crate) fn unsigned(number: &[u8]) -> Vec<u8> {
    let significant = &number[number.iter().take_while(|byte| **byte == 0).count()..];
    let sign: &[u8] = if significant.first().is_none_or(|byte| *byte >= 0x80) { &[0] } else { &[] };
    der::write(der::INTEGER, &[sign, significant]).to_vec()
}

/// RFC 5280 §4.1.2.5: UTCTime from 1950 to 2049, GeneralizedTime otherwise. Seconds are counted from 1970.
pub(crate) fn time(seconds: i64) -> Result<Vec<u8>, Error> {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // 0000-01-01 to 9999-12-31.
    if !(-719_528..=2_932_896).contains(&days) {
        return Err(Error::Value { what: "a time", expected: "one before the year 10000" });
    }
    let (year, month, day) = der::date(days);
    let rest = format!("{month:02}{day:02}{:02}{:02}{:02}Z", second / 3600, second / 60 % 60, second % 60);
    Ok(match year {
        1950..=2049 => der::write(UTC_TIME, &[format!("{:02}{rest}", year % 100).as_bytes()]).to_vec(),
        _ => der::write(GENERALIZED_TIME, &[format!("{year:04}{rest}").as_bytes()]).to_vec(),
    })
}

impl AuthorityKeyId {
    pub(crate) fn to_der(&self) -> Vec<u8> {
        let id = self.key_id.as_deref().unwrap_or_default();
        let id = der::write(Tag { byte: 0x80, name: "a key identifier" }, &[id]);
        der::write(der::SEQUENCE, &[&id]).to_vec()
    }
}

impl BasicConstraints {
    /// Writes the extension's value.
    pub fn to_der(self) -> Vec<u8> {
        let ca: &[u8] = if self.ca { &[0x01, 0x01, 0xff] } else { &[] };
        let path_len = self.path_len.map_or(Vec::new(), |limit| unsigned(&limit.to_be_bytes()));
        der::write(der::SEQUENCE, &[ca, &path_len]).to_vec()
    }
}

impl NameConstraints {
    /// Writes the extension's value.
    ///
    /// # Errors
    /// As [`Subtree::to_der`].
    pub fn to_der(&self) -> Result<Vec<u8>, Error> {
        let list = |byte, subtrees: &[Subtree]| -> Result<Vec<u8>, Error> {
            if subtrees.is_empty() {
                return Ok(Vec::new());
            }
            let all = subtrees.iter().map(Subtree::to_der).collect::<Result<Vec<_>, _>>()?;
            let all: Vec<&[u8]> = all.iter().map(Vec::as_slice).collect();
            Ok(der::write(Tag { byte, name: "subtrees" }, &all).to_vec())
        };
        Ok(der::write(der::SEQUENCE, &[&list(0xa0, &self.permitted)?, &list(0xa1, &self.excluded)?]).to_vec())
    }
}
