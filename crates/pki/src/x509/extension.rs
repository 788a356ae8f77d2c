//! Extensions of certificates, requests and lists (RFC 5280 §4.2): those that are known here taken apart, and all of
//! them as they stand.

use core::fmt;

use super::general_name::{GeneralName, Subtree};
use super::key_usage::KeyUsage;
use crate::der::{self, Reader, Tag};
use crate::error::Error;

pub(crate) const BOOLEAN: Tag = Tag { byte: 0x01, name: "a BOOLEAN" };

/// An object identifier.
///
/// ```
/// use sealstone_pki::x509::{Oid, oids};
///
/// let purpose = Oid::parse("1.3.6.1.5.5.7.3.1").expect("digits and dots");
/// assert_eq!(purpose.name(), Some("serverAuth"));
/// assert_eq!(purpose.content(), oids::SERVER_AUTH);
/// assert_eq!(purpose.to_string(), "1.3.6.1.5.5.7.3.1");
/// assert_eq!(oids::ext_key_usage("serverAuth"), Some(purpose));
/// assert_eq!(Oid::parse("1.3.06"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Oid(Vec<u8>);

impl Oid {
    /// Of a dotted text such as `1.3.6.1.5.5.7.3.1`.
    pub fn parse(text: &str) -> Option<Self> {
        der::undotted(text).map(Self)
    }

    /// Of the content of an OBJECT IDENTIFIER.
    pub const fn content(&self) -> &Vec<u8> {
        &self.0
    }

    pub(crate) fn of(content: &[u8]) -> Self {
        Self(content.to_vec())
    }

    /// The name of RFC 5280, where it has one and it is known here.
    pub fn name(&self) -> Option<&'static str> {
        oids::NAMES.iter().find(|(content, _)| *content == self.0).map(|(_, name)| *name)
    }
}

/// Dotted.
impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&der::dotted(&self.0))
    }
}

impl fmt::Debug for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&der::dotted(&self.0))
    }
}

/// Object identifiers by name: the content, without tag and length.
pub mod oids {
    /// id-ce-subjectKeyIdentifier.
    pub const SUBJECT_KEY_ID: &[u8] = &[0x55, 0x1d, 14];
    /// id-ce-keyUsage.
    pub const KEY_USAGE: &[u8] = &[0x55, 0x1d, 15];
    /// id-ce-subjectAltName.
    pub const SUBJECT_ALT_NAME: &[u8] = &[0x55, 0x1d, 17];
    /// id-ce-basicConstraints.
    pub const BASIC_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 19];
    /// id-ce-cRLNumber.
    pub const CRL_NUMBER: &[u8] = &[0x55, 0x1d, 20];
    /// id-ce-cRLReasons.
    pub const CRL_REASON: &[u8] = &[0x55, 0x1d, 21];
    /// id-ce-nameConstraints.
    pub const NAME_CONSTRAINTS: &[u8] = &[0x55, 0x1d, 30];
    /// id-ce-cRLDistributionPoints.
    pub const CRL_DISTRIBUTION_POINTS: &[u8] = &[0x55, 0x1d, 31];
    /// id-ce-certificatePolicies.
    pub const CERTIFICATE_POLICIES: &[u8] = &[0x55, 0x1d, 32];
    /// id-ce-authorityKeyIdentifier.
    pub const AUTHORITY_KEY_ID: &[u8] = &[0x55, 0x1d, 35];
    /// id-ce-extKeyUsage.
    pub const EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37];
    /// anyExtendedKeyUsage.
    pub const ANY_EXT_KEY_USAGE: &[u8] = &[0x55, 0x1d, 37, 0];
    /// id-kp-serverAuth.
    pub const SERVER_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 1];
    /// id-kp-clientAuth.
    pub const CLIENT_AUTH: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 2];
    /// id-kp-codeSigning.
    pub const CODE_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 3];
    /// id-kp-emailProtection.
    pub const EMAIL_PROTECTION: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 4];
    /// id-kp-timeStamping.
    pub const TIME_STAMPING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 8];
    /// id-kp-OCSPSigning.
    pub const OCSP_SIGNING: &[u8] = &[0x2b, 6, 1, 5, 5, 7, 3, 9];

    pub(super) const NAMES: [(&[u8], &str); 24] = [
        (SUBJECT_KEY_ID, "subjectKeyIdentifier"),
        (KEY_USAGE, "keyUsage"),
        (&[0x55, 0x1d, 18], "issuerAltName"),
        (SUBJECT_ALT_NAME, "subjectAltName"),
        (BASIC_CONSTRAINTS, "basicConstraints"),
        (CRL_NUMBER, "cRLNumber"),
        (CRL_REASON, "reasonCode"),
        (&[0x55, 0x1d, 27], "deltaCRLIndicator"),
        (&[0x55, 0x1d, 28], "issuingDistributionPoint"),
        (NAME_CONSTRAINTS, "nameConstraints"),
        (CRL_DISTRIBUTION_POINTS, "cRLDistributionPoints"),
        (CERTIFICATE_POLICIES, "certificatePolicies"),
        (&[0x55, 0x1d, 33], "policyMappings"),
        (AUTHORITY_KEY_ID, "authorityKeyIdentifier"),
        (&[0x55, 0x1d, 36], "policyConstraints"),
        (EXT_KEY_USAGE, "extKeyUsage"),
        (ANY_EXT_KEY_USAGE, "anyExtendedKeyUsage"),
        (SERVER_AUTH, "serverAuth"),
        (CLIENT_AUTH, "clientAuth"),
        (CODE_SIGNING, "codeSigning"),
        (EMAIL_PROTECTION, "emailProtection"),
        (TIME_STAMPING, "timeStamping"),
        (OCSP_SIGNING, "OCSPSigning"),
        (&[0x2b, 6, 1, 5, 5, 7, 1, 1], "authorityInfoAccess"),
    ];

    /// The extended key usage of this name, in any case.
    pub fn ext_key_usage(name: &str) -> Option<super::Oid> {
        let uses = [
            ANY_EXT_KEY_USAGE,
            SERVER_AUTH,
            CLIENT_AUTH,
            CODE_SIGNING,
            EMAIL_PROTECTION,
            TIME_STAMPING,
            OCSP_SIGNING,
        ];
        let named = |content: &&&[u8]| {
            super::Oid::of(content).name().is_some_and(|known| known.eq_ignore_ascii_case(name))
        };
        uses.iter().find(named).map(|content| super::Oid::of(content))
    }
}

/// An extension as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Whether who does not know it must refuse the certificate.
    pub critical: bool,
    /// Which it is.
    pub oid: Oid,
    /// The content of its OCTET STRING.
    pub value: Vec<u8>,
}

/// Extensions: those known here, and all as they stand.
///
/// ```
/// use sealstone_pki::x509::{KeyUsage, oids};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // `root` and `root_key`: an authority's certificate and its key.
/// # let root_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[1; 32], None)?;
/// # let root_key = sealstone_pki::sign::SigningKey::from_info(&root_key)?;
/// # let root = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::authority(None),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=Example Root".parse()?,
/// # }.self_sign(&root_key)?;
/// let extensions = root.extensions();
/// assert!(extensions.has(oids::BASIC_CONSTRAINTS) && extensions.is_critical(oids::BASIC_CONSTRAINTS));
/// assert!(extensions.has(oids::SUBJECT_KEY_ID) && !extensions.is_critical(oids::SUBJECT_KEY_ID));
/// assert!(!extensions.has(oids::EXT_KEY_USAGE));
///
/// // Those that are known here are taken apart.
/// assert!(extensions.basic_constraints.is_some_and(|constraints| constraints.ca));
/// assert!(extensions.key_usage.is_some_and(|usage| usage.has(KeyUsage::CRL_SIGN)));
///
/// // All of them, by name.
/// let names: Vec<_> = extensions.all.iter().filter_map(|extension| extension.oid.name()).collect();
/// assert_eq!(names, ["authorityKeyIdentifier", "subjectKeyIdentifier", "keyUsage", "basicConstraints"]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    /// All, in their order.
    pub all: Vec<Extension>,
    /// Which key signed (§4.2.1.1).
    pub authority_key_id: Option<AuthorityKeyId>,
    /// Whether and how deep it may sign certificates (§4.2.1.9).
    pub basic_constraints: Option<BasicConstraints>,
    /// Under which policies it was issued (§4.2.1.4).
    pub certificate_policies: Option<Vec<Oid>>,
    /// Where revocation lists are, the URIs of each (§4.2.1.13).
    pub crl_distribution_points: Option<Vec<GeneralName>>,
    /// For which purposes the key is (§4.2.1.12).
    pub ext_key_usage: Option<Vec<Oid>>,
    /// What the key may do (§4.2.1.3).
    pub key_usage: Option<KeyUsage>,
    /// Which names may follow (§4.2.1.10).
    pub name_constraints: Option<NameConstraints>,
    /// Names beside the subject (§4.2.1.6).
    pub subject_alt_names: Option<Vec<GeneralName>>,
    /// The key's identifier (§4.2.1.2).
    pub subject_key_id: Option<Vec<u8>>,
}

/// authorityKeyIdentifier.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuthorityKeyId {
    /// The subjectKeyIdentifier of who signed.
    pub key_id: Option<Vec<u8>>,
    /// Whether it also names issuer and serial number of who signed.
    pub names_issuer: bool,
}

/// basicConstraints.
///
/// ```
/// use sealstone_pki::x509::BasicConstraints;
///
/// // An authority with no other below it: SEQUENCE { TRUE, 0 }.
/// let constraints = BasicConstraints { ca: true, path_len: Some(0) };
/// assert_eq!(constraints.to_der(), [0x30, 6, 0x01, 1, 0xff, 0x02, 1, 0]);
///
/// // Who is no authority says nothing.
/// assert_eq!(BasicConstraints::default().to_der(), [0x30, 0]);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BasicConstraints {
    /// Whether it may sign certificates.
    pub ca: bool,
    /// How many certificates, not counting self-issued ones, may stand between it and the last.
    pub path_len: Option<u32>,
}

/// nameConstraints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameConstraints {
    /// Names of these are refused.
    pub excluded: Vec<Subtree>,
    /// Of each form that stands here, only these names may be.
    pub permitted: Vec<Subtree>,
}

impl Extensions {
    /// Whether this one is there.
    pub fn has(&self, oid: &[u8]) -> bool {
        self.all.iter().any(|extension| extension.oid.0 == oid)
    }

    /// Whether this one is there and critical.
    pub fn is_critical(&self, oid: &[u8]) -> bool {
        self.all.iter().any(|extension| extension.oid.0 == oid && extension.critical)
    }

    /// Reads what is left of the SEQUENCE. RFC 5280 §4.2: no extension stands twice; §4.1.2.9: there is one at least.
    pub(crate) fn read(mut list: Reader<'_>) -> Result<Self, Error> {
        let mut all = Self::default();
        if list.peek().is_none() {
            return Err(list.refusal("one extension at least", "none".into()));
        }
        // Sorted, so that many extensions cost n log n.
        let mut seen = std::collections::BTreeSet::new();
        while list.peek().is_some() {
            let at = list.clone();
            let mut extension = list.take(der::SEQUENCE)?;
            let oid = extension.take(der::OBJECT_IDENTIFIER)?.rest();
            if !seen.insert(oid) {
                return Err(at.refusal("each extension once", der::dotted(oid)));
            }
            let critical = read_default_false(&mut extension)?;
            let value = extension.take(der::OCTET_STRING)?;
            extension.end()?;
            let raw = value.clone().rest().to_vec();
            all.read_known(oid, value)?;
            all.all.push(Extension { critical, oid: Oid::of(oid), value: raw });
        }
        Ok(all)
    }

    fn read_known(&mut self, oid: &[u8], mut value: Reader<'_>) -> Result<(), Error> {
        match oid {
            oids::AUTHORITY_KEY_ID => self.authority_key_id = Some(AuthorityKeyId::read(&mut value)?),
            oids::BASIC_CONSTRAINTS => self.basic_constraints = Some(BasicConstraints::read(&mut value)?),
            oids::CERTIFICATE_POLICIES => {
                let mut policies = Vec::new();
                let mut list = value.take(der::SEQUENCE)?;
                loop {
                    let mut policy = list.take(der::SEQUENCE)?;
                    let at = policy.clone();
                    let oid = Oid::of(policy.take(der::OBJECT_IDENTIFIER)?.rest());
                    if policies.contains(&oid) {
                        return Err(at.refusal("each policy once", oid.to_string()));
                    }
                    policies.push(oid);
                    if let Some(mut qualifiers) = policy.take_optional(der::SEQUENCE)? {
                        while qualifiers.peek().is_some() {
                            qualifiers.take(der::SEQUENCE)?;
                        }
                    }
                    policy.end()?;
                    if list.peek().is_none() {
                        break;
                    }
                    // Work stays linear in the size of what is read.
                    if policies.len() > 100 {
                        return Err(list.refusal("at most 100 policies", "more".into()));
                    }
                }
                self.certificate_policies = Some(policies);
            }
            oids::CRL_DISTRIBUTION_POINTS => {
                self.crl_distribution_points = Some(read_distribution_points(value.take(der::SEQUENCE)?)?);
            }
            oids::EXT_KEY_USAGE => {
                let mut list = value.take(der::SEQUENCE)?;
                let mut purposes = Vec::new();
                loop {
                    purposes.push(Oid::of(list.take(der::OBJECT_IDENTIFIER)?.rest()));
                    if list.peek().is_none() {
                        break;
                    }
                }
                self.ext_key_usage = Some(purposes);
            }
            oids::KEY_USAGE => self.key_usage = Some(KeyUsage::read(&mut value)?),
            oids::NAME_CONSTRAINTS => {
                self.name_constraints = Some(NameConstraints::read(value.take(der::SEQUENCE)?)?);
            }
            oids::SUBJECT_ALT_NAME => {
                self.subject_alt_names = Some(GeneralName::read_list(value.take(der::SEQUENCE)?)?);
            }
            oids::SUBJECT_KEY_ID => {
                let at = value.clone();
                let id = value.take(der::OCTET_STRING)?.rest();
                if id.is_empty() || id.len() > 64 {
                    return Err(at.refusal("a key identifier of 1 to 64 bytes", id.len().to_string()));
                }
                self.subject_key_id = Some(id.to_vec());
            }
            _ => return Ok(()),
        }
        value.end()
    }
}

/// `BOOLEAN DEFAULT FALSE`: X.690 §11.1, §11.5, TRUE is ff and FALSE is left out.
pub(crate) fn read_default_false(fields: &mut Reader<'_>) -> Result<bool, Error> {
    let at = fields.clone();
    match fields.take_optional(BOOLEAN)?.map(Reader::rest) {
        None => Ok(false),
        Some([0xff]) => Ok(true),
        Some([0]) => Err(at.refusal("TRUE, or nothing for FALSE", "FALSE".into())),
        Some(_) => Err(at.refusal("a BOOLEAN in DER", "another".into())),
    }
}

/// An INTEGER from 0 to 2^32 - 1 in its shortest form.
pub(crate) fn read_u32(fields: &mut Reader<'_>) -> Result<u32, Error> {
    let at = fields.clone();
    let content = fields.take(der::INTEGER)?.rest();
    let refusal = |found: &str| at.refusal("an INTEGER from 0 to 4294967295", found.into());
    match content {
        [] => Err(refusal("none")),
        [first, ..] if *first >= 0x80 => Err(refusal("a negative one")),
        [0, second, ..] if *second < 0x80 => Err(refusal("one in a longer form")),
        [0, rest @ ..] if rest.len() <= 4 => Ok(rest.iter().fold(0, |n, byte| n << 8 | u32::from(*byte))),
        rest if rest.len() <= 4 => Ok(rest.iter().fold(0, |n, byte| n << 8 | u32::from(*byte))),
        _ => Err(refusal("a larger one")),
    }
}

impl AuthorityKeyId {
    fn read(value: &mut Reader<'_>) -> Result<Self, Error> {
        const KEY_ID: Tag = Tag { byte: 0x80, name: "a key identifier in [0]" };
        const ISSUER: Tag = Tag { byte: 0xa1, name: "an issuer in [1]" };
        const SERIAL: Tag = Tag { byte: 0x82, name: "a serial number in [2]" };
        let mut fields = value.take(der::SEQUENCE)?;
        let at = fields.clone();
        let key_id = fields.take_optional(KEY_ID)?.map(|id| id.rest().to_vec());
        if key_id.as_ref().is_some_and(|id| id.is_empty() || id.len() > 64) {
            return Err(at.refusal("a key identifier of 1 to 64 bytes", "another length".into()));
        }
        let issuer = fields.take_optional(ISSUER)?;
        let serial = fields.take_optional(SERIAL)?;
        // RFC 5280 §4.2.1.1: both or neither.
        if issuer.is_some() != serial.is_some() {
            return Err(at.refusal("issuer and serial number, or neither", "one of them".into()));
        }
        fields.end()?;
        if let Some(issuer) = &issuer {
            GeneralName::read_list(issuer.clone())?;
        }
        Ok(Self { key_id, names_issuer: issuer.is_some() })
    }
}

impl BasicConstraints {
    fn read(value: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = value.take(der::SEQUENCE)?;
        let ca = read_default_false(&mut fields)?;
        let at = fields.clone();
        let path_len = if fields.peek().is_some() { Some(read_u32(&mut fields)?) } else { None };
        fields.end()?;
        if path_len.is_some() && !ca {
            return Err(at.refusal("a path length only with cA", "one without".into()));
        }
        Ok(Self { ca, path_len })
    }
}

impl NameConstraints {
    fn read(mut fields: Reader<'_>) -> Result<Self, Error> {
        const PERMITTED: Tag = Tag { byte: 0xa0, name: "permitted subtrees in [0]" };
        const EXCLUDED: Tag = Tag { byte: 0xa1, name: "excluded subtrees in [1]" };
        let at = fields.clone();
        let mut list = |tag| -> Result<Vec<Subtree>, Error> {
            let mut found = Vec::new();
            if let Some(mut list) = fields.take_optional(tag)? {
                loop {
                    found.push(Subtree::read(&mut list)?);
                    if list.peek().is_none() {
                        break;
                    }
                }
            }
            Ok(found)
        };
        let (permitted, excluded) = (list(PERMITTED)?, list(EXCLUDED)?);
        fields.end()?;
        if permitted.is_empty() && excluded.is_empty() {
            return Err(at.refusal("one subtree at least", "none".into()));
        }
        Ok(Self { excluded, permitted })
    }
}

/// Of each DistributionPoint the names of its fullName; reasons and cRLIssuer are passed over.
fn read_distribution_points(mut list: Reader<'_>) -> Result<Vec<GeneralName>, Error> {
    const POINT: Tag = Tag { byte: 0xa0, name: "a distribution point in [0]" };
    const FULL_NAME: Tag = Tag { byte: 0xa0, name: "a full name in [0]" };
    const REASONS: Tag = Tag { byte: 0x81, name: "reasons in [1]" };
    const ISSUER: Tag = Tag { byte: 0xa2, name: "an issuer in [2]" };
    let mut names = Vec::new();
    loop {
        let mut point = list.take(der::SEQUENCE)?;
        if point.peek().is_none() {
            return Err(point.refusal("a distribution point or an issuer", "neither".into()));
        }
        if let Some(mut name) = point.take_optional(POINT)? {
            match name.take_optional(FULL_NAME)? {
                Some(full) => names.extend(GeneralName::read_list(full)?),
                // nameRelativeToCRLIssuer, which RFC 5280 advises against.
                None => {
                    name.take_next("a full name")?;
                }
            }
            name.end()?;
        }
        point.take_optional(REASONS)?;
        point.take_optional(ISSUER)?;
        point.end()?;
        if list.peek().is_none() {
            return Ok(names);
        }
    }
}
