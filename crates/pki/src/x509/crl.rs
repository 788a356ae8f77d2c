//! Certificate revocation lists, RFC 5280 §5: complete lists of one issuer about its own certificates. Delta lists and
//! indirect lists are recognised by their critical extensions, and refused where a list is used.

use core::fmt;
use std::collections::BTreeMap;

use super::extension::{Extensions, oids};
use super::{Signed, read_serial};
use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;
use crate::pem;
use crate::signature::SignatureAlgorithm;

/// Most bytes of a list: some 400 000 entries.
const MAX: usize = 16 << 20;
const EXTENSIONS: Tag = Tag { byte: 0xa0, name: "extensions in [0]" };
const ENUMERATED: Tag = Tag { byte: 0x0a, name: "an ENUMERATED" };

/// Why a certificate was revoked, §5.3.1.
///
/// ```
/// use sealstone_pki::x509::Reason;
///
/// assert_eq!(Reason::by_name("keycompromise"), Some(Reason::KeyCompromise));
/// assert_eq!(Reason::KeyCompromise.name(), "keyCompromise");
/// assert_eq!(Reason::by_name("stolen"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// unspecified (0), which is written by leaving it out.
    Unspecified,
    /// keyCompromise (1).
    KeyCompromise,
    /// cACompromise (2).
    CaCompromise,
    /// affiliationChanged (3).
    AffiliationChanged,
    /// superseded (4).
    Superseded,
    /// cessationOfOperation (5).
    CessationOfOperation,
    /// certificateHold (6).
    CertificateHold,
    /// removeFromCRL (8), in delta lists only.
    RemoveFromCrl,
    /// privilegeWithdrawn (9).
    PrivilegeWithdrawn,
    /// aACompromise (10).
    AaCompromise,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 10] = [
        Self::Unspecified,
        Self::KeyCompromise,
        Self::CaCompromise,
        Self::AffiliationChanged,
        Self::Superseded,
        Self::CessationOfOperation,
        Self::CertificateHold,
        Self::RemoveFromCrl,
        Self::PrivilegeWithdrawn,
        Self::AaCompromise,
    ];

    /// The name of the standard.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unspecified => "unspecified",
            Self::KeyCompromise => "keyCompromise",
            Self::CaCompromise => "cACompromise",
            Self::AffiliationChanged => "affiliationChanged",
            Self::Superseded => "superseded",
            Self::CessationOfOperation => "cessationOfOperation",
            Self::CertificateHold => "certificateHold",
            Self::RemoveFromCrl => "removeFromCRL",
            Self::PrivilegeWithdrawn => "privilegeWithdrawn",
            Self::AaCompromise => "aACompromise",
        }
    }

    const fn code(self) -> u8 {
        match self {
            Self::Unspecified => 0,
            Self::KeyCompromise => 1,
            Self::CaCompromise => 2,
            Self::AffiliationChanged => 3,
            Self::Superseded => 4,
            Self::CessationOfOperation => 5,
            Self::CertificateHold => 6,
            Self::RemoveFromCrl => 8,
            Self::PrivilegeWithdrawn => 9,
            Self::AaCompromise => 10,
        }
    }

    /// The reason of this name, in any case.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.name().eq_ignore_ascii_case(name))
    }
}

/// The name.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A revoked certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Revoked {
    /// When, counted from 1970.
    pub date: i64,
    /// Why.
    pub reason: Reason,
    /// Whether its entry has a critical extension that is not known here.
    pub unknown_critical: bool,
}

/// A revocation list, taken apart.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use sealstone_pki::x509::{Crl, CrlBuilder, Reason, Revoked, oids};
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
/// let stolen = Revoked { date: 1_800_000_000, reason: Reason::KeyCompromise, unknown_critical: false };
/// let list = CrlBuilder {
///     next_update: 1_800_600_000,
///     number: 7,
///     revoked: BTreeMap::from([(vec![0x2a], stolen)]),
///     this_update: 1_800_000_000,
/// }
/// .sign(&root, &root_key)?;
///
/// // Published as a file, and read by whoever wants to know.
/// let list = Crl::from_pem(&list.to_pem())?;
/// assert_eq!(Crl::from_der(list.der())?.der(), list.der());
/// assert_eq!(list.issuer(), root.subject());
/// assert_eq!(list.authority_key_id(), root.subject_key_id());
/// assert_eq!(list.number(), Some([7].as_slice()));
/// assert!(list.extensions().has(oids::CRL_NUMBER));
/// assert_eq!((list.this_update(), list.next_update()), (1_800_000_000, Some(1_800_600_000)));
///
/// let key = sealstone_pki::sign::VerifyingKey::from_spki(root.public_key())?;
/// assert_eq!(list.signature_algorithm()?.name(), "ML-DSA-44");
/// list.verify_signature(&key)?;
///
/// assert_eq!(list.find(&[0x2a]).map(|entry| entry.reason), Some(Reason::KeyCompromise));
/// assert!(list.find(root.serial()).is_none());
/// assert_eq!(list.revoked().len(), 1);
/// for (serial, entry) in list.revoked() {
///     assert_eq!((serial, entry.date), ([0x2a].as_slice(), 1_800_000_000));
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crl {
    body: Signed,
    extensions: Extensions,
    issuer: Name,
    next_update: Option<i64>,
    number: Option<Vec<u8>>,
    revoked: BTreeMap<Vec<u8>, Revoked>,
    this_update: i64,
}

impl Crl {
    /// Reads a list of at most 16 MiB. Nothing is verified.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MAX {
            return Err(Error::TooLarge { limit: MAX, found: bytes.len() });
        }
        let (body, mut fields) = Signed::read(bytes, Reader::within(bytes, 0))?;
        // §5.1.2.1: version 2 is 1; without it there are no extensions.
        let second = fields.peek() == Some(der::INTEGER.byte);
        if second {
            fields.take_version(&[1], "version 2")?;
        }
        body.same_algorithm(&mut fields)?;
        let issuer = Name::read(fields.take(der::SEQUENCE)?)?;
        let this_update = fields.take_time()?;
        let next_update = match fields.peek() {
            Some(0x17 | 0x18) => Some(fields.take_time()?),
            _ => None,
        };
        let mut revoked = BTreeMap::new();
        if let Some(mut list) = fields.take_optional(der::SEQUENCE)? {
            // §5.1.2.6: without entries the list is left out.
            loop {
                let at = list.clone();
                let (serial, entry) = read_entry(&mut list, second)?;
                if revoked.insert(serial, entry).is_some() {
                    return Err(at.refusal("each serial number once", "one twice".into()));
                }
                if list.peek().is_none() {
                    break;
                }
            }
        }
        let mut extensions = Extensions::default();
        if second && let Some(mut explicit) = fields.take_optional(EXTENSIONS)? {
            extensions = Extensions::read(explicit.take(der::SEQUENCE)?)?;
            explicit.end()?;
        }
        fields.end()?;
        let mut number = None;
        if let Some(extension) = extensions.all.iter().find(|one| one.oid.content() == oids::CRL_NUMBER) {
            let mut value = Reader::new(&extension.value)?;
            number = Some(read_serial(&mut value)?);
            value.end()?;
        }
        Ok(Self { body, extensions, issuer, next_update, number, revoked, this_update })
    }

    /// Reads a PEM block `X509 CRL` (RFC 7468 §6).
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode_large(text, "X509 CRL", MAX)?.1)
    }

    /// Writes a PEM block `X509 CRL`.
    pub fn to_pem(&self) -> String {
        pem::encode("X509 CRL", &self.body.der).to_string()
    }

    /// The key that signed it, by its identifier, if it says so.
    pub fn authority_key_id(&self) -> Option<&[u8]> {
        self.extensions.authority_key_id.as_ref()?.key_id.as_deref()
    }

    /// All of it.
    pub fn der(&self) -> &[u8] {
        &self.body.der
    }

    /// Its extensions.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Who signed it.
    pub fn issuer(&self) -> &Name {
        &self.issuer
    }

    /// When the next one is there at the latest, counted from 1970.
    pub fn next_update(&self) -> Option<i64> {
        self.next_update
    }

    /// Its number (§5.2.3), which grows from list to list.
    pub fn number(&self) -> Option<&[u8]> {
        self.number.as_deref()
    }

    /// Every entry, by serial number.
    pub fn revoked(&self) -> impl ExactSizeIterator<Item = (&[u8], &Revoked)> {
        self.revoked.iter().map(|(serial, entry)| (serial.as_slice(), entry))
    }

    /// The entry of a serial number.
    pub fn find(&self, serial: &[u8]) -> Option<&Revoked> {
        self.revoked.get(serial)
    }

    /// How it was signed.
    ///
    /// # Errors
    /// As [`SignatureAlgorithm::from_der`].
    pub fn signature_algorithm(&self) -> Result<SignatureAlgorithm, Error> {
        SignatureAlgorithm::from_der(&self.body.algorithm)
    }

    /// When it was issued, counted from 1970.
    pub fn this_update(&self) -> i64 {
        self.this_update
    }

    /// Checks its signature. Nothing else is looked at.
    ///
    /// # Errors
    /// As [`VerifyingKey::verify`](crate::sign::VerifyingKey::verify), and for an algorithm that is not used here.
    #[cfg(feature = "certificates")]
    pub fn verify_signature(&self, key: &crate::sign::VerifyingKey) -> Result<(), Error> {
        self.body.verify(key)
    }
}

fn read_entry(list: &mut Reader<'_>, second: bool) -> Result<(Vec<u8>, Revoked), Error> {
    let mut fields = list.take(der::SEQUENCE)?;
    let serial = read_serial(&mut fields)?;
    let date = fields.take_time()?;
    let (mut reason, mut unknown_critical) = (Reason::Unspecified, false);
    if second && fields.peek().is_some() {
        let extensions = Extensions::read(fields.take(der::SEQUENCE)?)?;
        for extension in &extensions.all {
            if extension.oid.content() == oids::CRL_REASON {
                let mut value = Reader::new(&extension.value)?;
                let at = value.clone();
                let code = value.take(ENUMERATED)?.rest();
                value.end()?;
                let known = Reason::ALL.into_iter().find(|reason| code == [reason.code()]);
                reason = known.ok_or_else(|| at.refusal("a reason, 0 to 6 or 8 to 10", "another".into()))?;
            } else if extension.critical {
                unknown_critical = true;
            }
        }
    }
    fields.end()?;
    Ok((serial, Revoked { date, reason, unknown_critical }))
}

/// A list to be.
#[cfg(feature = "certificates")]
#[derive(Clone, Debug)]
pub struct CrlBuilder {
    /// When the next one will be there at the latest, counted from 1970.
    pub next_update: i64,
    /// Its number, larger than that of the list before.
    pub number: u64,
    /// What was revoked, by serial number.
    pub revoked: BTreeMap<Vec<u8>, Revoked>,
    /// When it is issued, counted from 1970.
    pub this_update: i64,
}

#[cfg(feature = "certificates")]
impl CrlBuilder {
    /// Signs it as `issuer`.
    ///
    /// # Errors
    /// [`Error::Value`] for what RFC 5280 does not allow; [`Error::Issuer`] if the key is not the issuer's, or the issuer
    /// may not sign lists; [`Error::Provider`].
    pub fn sign(&self, issuer: &super::Certificate, key: &dyn crate::sign::Signer) -> Result<Crl, Error> {
        use super::AuthorityKeyId;
        use super::write::{extension, sequence, time, unsigned};
        super::build::check_issuer(issuer, key, super::KeyUsage::CRL_SIGN)?;
        if self.next_update <= self.this_update {
            return Err(Error::Value { what: "a revocation list", expected: "a next update after this one" });
        }
        let mut entries = Vec::new();
        for (serial, entry) in &self.revoked {
            let mut parts = vec![unsigned(serial), time(entry.date)?];
            // §5.3.1: unspecified is said by saying nothing; removal is for delta lists.
            if entry.reason == Reason::RemoveFromCrl {
                return Err(Error::Value {
                    what: "removeFromCRL",
                    expected: "a delta list, which is not made here",
                });
            }
            if entry.reason != Reason::Unspecified {
                let code = der::write(ENUMERATED, &[&[entry.reason.code()]]);
                parts.push(sequence(&[extension(oids::CRL_REASON, false, &code)]));
            }
            entries.push(sequence(&parts));
        }
        let computed = super::subject_key_id(issuer.public_key())?;
        let id = issuer.subject_key_id().unwrap_or(&computed);
        let authority = AuthorityKeyId { key_id: Some(id.to_vec()), names_issuer: false };
        let extensions = sequence(&[
            extension(oids::AUTHORITY_KEY_ID, false, &authority.to_der()),
            extension(oids::CRL_NUMBER, false, &unsigned(&self.number.to_be_bytes())),
        ]);
        let algorithm = key.algorithm().to_der();
        let tbs = sequence(&[
            vec![2, 1, 1],
            algorithm.clone(),
            issuer.subject_der().to_vec(),
            time(self.this_update)?,
            time(self.next_update)?,
            if entries.is_empty() { Vec::new() } else { sequence(&entries) },
            der::write(EXTENSIONS, &[&extensions]).to_vec(),
        ]);
        let crl = Crl::from_der(&super::build::signed(&tbs, &algorithm, key)?)?;
        crl.verify_signature(&crate::sign::VerifyingKey::from_spki(key.spki())?)?;
        Ok(crl)
    }
}
