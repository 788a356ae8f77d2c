//! Certificate requests: PKCS#10, RFC 2986, with the extensions asked for (RFC 2985 §5.4.2).

use super::Signed;
use super::extension::Extensions;
use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;
use crate::pem;
use crate::signature::SignatureAlgorithm;

const ATTRIBUTES: Tag = Tag { byte: 0xa0, name: "attributes in [0]" };
/// pkcs-9-at-extensionRequest, 1.2.840.113549.1.9.14.
const EXTENSION_REQUEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 14];

/// A certificate request, taken apart.
///
/// ```
/// use sealstone_pki::x509::{CertificateBuilder, Csr, Profile, Serial, oids};
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
/// // `service_key`: the key of a service.
/// # let service_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[2; 32], None)?;
/// # let service_key = sealstone_pki::sign::SigningKey::from_info(&service_key)?;
/// // Whoever wants a certificate asks with the key that it shall be about.
/// let wanted = Profile { alt_names: vec!["dns:billing.example.org".parse()?], ..Profile::end_entity() };
/// let file = Csr::new(&"CN=billing".parse()?, &wanted, &service_key)?.to_pem();
///
/// // The authority looks at what is asked for, and grants what it thinks right.
/// let request = Csr::from_pem(&file)?;
/// assert_eq!(Csr::from_der(request.der())?.subject(), request.subject());
/// assert_eq!(request.signature_algorithm()?.name(), "ML-DSA-44");
/// request.verify()?;
/// assert_eq!(request.subject().common_name(), Some("billing"));
/// assert!(request.extensions().has(oids::SUBJECT_ALT_NAME));
/// let asked = Profile::requested(request.extensions());
/// assert_eq!(asked.alt_names, ["dns:billing.example.org".parse()?]);
///
/// let certificate = CertificateBuilder {
///     not_after: 1_800_000_000 + 90 * 86_400,
///     not_before: 1_800_000_000,
///     profile: Profile { alt_names: asked.alt_names, ..Profile::end_entity() },
///     serial: Serial::random(&mut sealstone_mldsa::OsRandom)?,
///     subject: request.subject().clone(),
/// }
/// .issue(request.public_key(), &root, &root_key)?;
/// assert_eq!(certificate.subject(), request.subject());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Csr {
    body: Signed,
    extensions: Extensions,
    public_key: Vec<u8>,
    subject: Name,
}

impl Csr {
    /// Reads a request. Nothing is verified: [`verify`](Self::verify) does.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_der(bytes: &[u8]) -> Result<Self, Error> {
        let (body, mut fields) = Signed::read(bytes, Reader::new(bytes)?)?;
        fields.take_version(&[0], "version 1")?;
        let subject = Name::read(fields.take(der::SEQUENCE)?)?;
        let public_key = fields.take_whole(der::SEQUENCE)?.to_vec();
        let mut attributes = fields.take(ATTRIBUTES)?;
        fields.end()?;
        let mut extensions = None;
        let mut seen = std::collections::BTreeSet::new();
        while attributes.peek().is_some() {
            let at = attributes.clone();
            let mut attribute = attributes.take(der::SEQUENCE)?;
            let oid = attribute.take(der::OBJECT_IDENTIFIER)?.rest();
            let mut values = attribute.take(der::SET)?;
            attribute.end()?;
            if !seen.insert(oid) {
                return Err(at.refusal("each attribute once", der::dotted(oid)));
            }
            if oid == EXTENSION_REQUEST {
                extensions = Some(Extensions::read(values.take(der::SEQUENCE)?)?);
                values.end()?;
            }
        }
        Ok(Self { body, extensions: extensions.unwrap_or_default(), public_key, subject })
    }

    /// Reads a PEM block `CERTIFICATE REQUEST` (RFC 7468 §7), or one with `NEW` before it.
    ///
    /// # Errors
    /// The first thing that is wrong with it, and where.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        Self::from_der(&pem::decode(text, "CERTIFICATE REQUEST or NEW CERTIFICATE REQUEST")?.1)
    }

    /// Writes a PEM block `CERTIFICATE REQUEST`.
    pub fn to_pem(&self) -> String {
        pem::encode("CERTIFICATE REQUEST", &self.body.der).to_string()
    }

    /// All of it.
    pub fn der(&self) -> &[u8] {
        &self.body.der
    }

    /// The extensions that it asks for.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// The SubjectPublicKeyInfo.
    pub fn public_key(&self) -> &[u8] {
        &self.public_key
    }

    /// How it was signed.
    ///
    /// # Errors
    /// As [`SignatureAlgorithm::from_der`].
    pub fn signature_algorithm(&self) -> Result<SignatureAlgorithm, Error> {
        SignatureAlgorithm::from_der(&self.body.algorithm)
    }

    /// Whom the certificate shall be about.
    pub fn subject(&self) -> &Name {
        &self.subject
    }

    /// Checks that it was signed by the key that it holds: that whoever asks has the private key.
    ///
    /// # Errors
    /// As [`VerifyingKey::from_spki`](crate::sign::VerifyingKey::from_spki) and
    /// [`VerifyingKey::verify`](crate::sign::VerifyingKey::verify).
    #[cfg(feature = "certificates")]
    pub fn verify(&self) -> Result<(), Error> {
        self.body.verify(&crate::sign::VerifyingKey::from_spki(&self.public_key)?)
    }

    /// Makes a request.
    ///
    /// # Errors
    /// [`Error::Value`], [`Error::Provider`].
    #[cfg(feature = "certificates")]
    pub fn new(
        subject: &Name,
        profile: &super::Profile,
        key: &dyn crate::sign::Signer,
    ) -> Result<Self, Error> {
        let extensions = profile.extensions(None, None, subject.is_empty())?;
        let mut attributes = Vec::new();
        if !extensions.is_empty() {
            let oid = der::write(der::OBJECT_IDENTIFIER, &[EXTENSION_REQUEST]);
            let values = der::write(der::SET, &[&der::write(der::SEQUENCE, &[&extensions])]);
            attributes = der::write(der::SEQUENCE, &[&oid, &values]).to_vec();
        }
        let attributes = der::write(ATTRIBUTES, &[&attributes]);
        let tbs = der::write(der::SEQUENCE, &[&[2, 1, 0], &subject.to_der()?, key.spki(), &attributes]);
        let request = Self::from_der(&super::build::signed(&tbs, &key.algorithm().to_der(), key)?)?;
        request.verify()?;
        Ok(request)
    }
}
