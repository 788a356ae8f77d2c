//! Making SignedData (RFC 5652 §5, RFC 9882).

use sealstone_mldsa::{Context, MuHasher, OsRandom, PreHasher};

use super::attributes::{SignedAttributes, set_of};
use super::digest::DigestAlgorithm;
use super::error::Error;
use super::signed::{Identifier, limit};
use super::verify::check_algorithm;
use super::{MAX_CERTIFICATES, MAX_MESSAGE, MAX_SIGNERS, close, oid};
use crate::der::{self, Tag};
use crate::sign::{Signer as _, SigningKey};
use crate::signature::{Hash, SignatureAlgorithm};
use crate::x509::{Certificate, KeyUsage};

const CONTENT: Tag = Tag { byte: 0xa0, name: "the content in [0]" };
const CERTIFICATES: Tag = Tag { byte: 0xa0, name: "certificates in [0]" };
const CRLS: Tag = Tag { byte: 0xa1, name: "revocation lists in [1]" };
const SIGNED_ATTRIBUTES: Tag = Tag { byte: 0xa0, name: "signed attributes in [0]" };

/// Someone who signs: a certificate and its key, with signed attributes unless they are left out.
///
/// ```
/// use sealstone_pki::cms::{DigestAlgorithm, Error, Identifier, Signer, Signing, Unverified};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
/// let signer = Signer::new(&alice, &alice_key)?
///     .digest(DigestAlgorithm::Sha3_256)?
///     .signing_time(1_800_000_000)
///     .by_key_id();
/// let message = Unverified::from_der(&Signing::new(signer.clone()).attached(b"the harbour at nine")?)?;
/// assert!(matches!(message.signers()[0].identifier(), Identifier::KeyId(_)));
/// assert_eq!(message.signers()[0].digest()?, DigestAlgorithm::Sha3_256);
///
/// // Without attributes it is the content itself that is signed, and the digest is SHA-512 or none.
/// assert_eq!(signer.without_attributes().err(), Some(Error::DigestFixed { found: "SHA3-256" }));
/// let plain = Signer::new(&alice, &alice_key)?.without_attributes()?;
/// let message = Unverified::from_der(&Signing::new(plain).attached(b"the harbour at nine")?)?;
/// assert!(message.signers()[0].attributes().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Signer<'k> {
    algorithm: SignatureAlgorithm,
    attributes: bool,
    by_key_id: bool,
    certificate: &'k Certificate,
    digest: DigestAlgorithm,
    key: &'k SigningKey,
    signing_time: Option<i64>,
}

impl<'k> Signer<'k> {
    /// Named by issuer and serial number, with SHA-512 for ML-DSA and Ed25519 and the curve's own hash for ECDSA.
    ///
    /// # Errors
    /// [`Error::CertificateMismatch`] for a certificate of another key, [`Error::KeyUsage`] for one that is not for
    /// signatures.
    pub fn new(certificate: &'k Certificate, key: &'k SigningKey) -> Result<Self, Error> {
        if certificate.public_key() != key.spki() {
            return Err(Error::CertificateMismatch);
        }
        let may =
            |usage: KeyUsage| usage.has(KeyUsage::DIGITAL_SIGNATURE) || usage.has(KeyUsage::NON_REPUDIATION);
        if certificate.key_usage().is_some_and(|usage| !may(usage)) {
            return Err(Error::KeyUsage { expected: "digitalSignature or nonRepudiation" });
        }
        let algorithm = key.algorithm();
        check_algorithm(algorithm)?;
        let digest = match algorithm {
            SignatureAlgorithm::Ecdsa(Hash::Sha256) => DigestAlgorithm::Sha256,
            SignatureAlgorithm::Ecdsa(Hash::Sha384) => DigestAlgorithm::Sha384,
            _ => DigestAlgorithm::Sha512,
        };
        Ok(Self {
            algorithm,
            attributes: true,
            by_key_id: false,
            certificate,
            digest,
            key,
            signing_time: None,
        })
    }

    /// Named by the certificate's subjectKeyIdentifier, if it has one.
    #[must_use]
    pub fn by_key_id(self) -> Self {
        Self { by_key_id: true, ..self }
    }

    /// With this digest of the content.
    ///
    /// # Errors
    /// [`Error::DigestWeak`], [`Error::DigestMismatch`] for one that does not go with the key, and
    /// [`Error::DigestFixed`] without signed attributes.
    pub fn digest(self, digest: DigestAlgorithm) -> Result<Self, Error> {
        digest.check(self.algorithm)?;
        Self { digest, ..self }.checked()
    }

    /// With this time as its own, in seconds from 1970.
    #[must_use]
    pub fn signing_time(self, seconds: i64) -> Self {
        Self { signing_time: Some(seconds), ..self }
    }

    /// Without signed attributes: the content itself is signed, and the digest is SHA-512 for ML-DSA (RFC 9882 §3).
    ///
    /// # Errors
    /// [`Error::DigestFixed`] if another digest was chosen.
    pub fn without_attributes(self) -> Result<Self, Error> {
        Self { attributes: false, signing_time: None, ..self }.checked()
    }

    fn checked(self) -> Result<Self, Error> {
        let fixed = matches!(self.algorithm, SignatureAlgorithm::MlDsa(_)) && !self.attributes;
        match self.digest {
            DigestAlgorithm::Sha512 => Ok(self),
            other if fixed => Err(Error::DigestFixed { found: other.name() }),
            _ => Ok(self),
        }
    }

    /// DER of its SignerInfo (RFC 5652 §5.3).
    fn info(&self, attributes: Option<&[u8]>, signature: &[u8]) -> Vec<u8> {
        let id = Identifier::write(self.certificate, self.by_key_id);
        let by_key_id = id.first() != Some(&der::SEQUENCE.byte);
        let version = der::write(der::INTEGER, &[&[if by_key_id { 3 } else { 1 }]]);
        let attributes = match attributes {
            // The same content as was signed, with another tag (§5.4).
            Some(signed) => der::write(SIGNED_ATTRIBUTES, &[content_of(signed)]).to_vec(),
            None => Vec::new(),
        };
        let signature = der::write(der::OCTET_STRING, &[signature]);
        let parts: [&[u8]; 6] =
            [&version, &id, &self.digest.write(), &attributes, &self.algorithm.to_der(), &signature];
        der::write(der::SEQUENCE, &parts).to_vec()
    }
}

/// What a value holds, of which tag and length are known to be right.
fn content_of(value: &[u8]) -> &[u8] {
    let long =
        value.get(1).map_or(0, |length| if length & 0x80 == 0 { 0 } else { usize::from(length & 0x7f) });
    value.get(2 + long..).unwrap_or_default()
}

/// A signed message in the making.
///
/// ```
/// use sealstone_pki::cms::{Policy, Signer, Signing, Trust, Unverified};
/// use sealstone_pki::der;
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
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
/// // `bob` and `bob_key`: another certificate for signatures and its key.
/// # let bob_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[8; 32], None)?;
/// # let bob_key = sealstone_pki::sign::SigningKey::from_info(&bob_key)?;
/// # let bob = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=bob".parse()?,
/// # }.self_sign(&bob_key)?;
/// # let list = sealstone_pki::x509::CrlBuilder {
/// #     next_update: 1_800_600_000, number: 1, revoked: Default::default(), this_update: 1_800_000_000,
/// # }.sign(&root, &root_key)?;
/// // `list`: the authority's revocation list.
/// // Two signers, and what a reader needs to look at them: a certificate and a revocation list beside their own.
/// let message = Signing::new(Signer::new(&alice, &alice_key)?)
///     .signer(Signer::new(&bob, &bob_key)?)
///     .certificate(&root)
///     .crl(list.der())
///     .attached(b"the harbour at nine")?;
/// let message = Unverified::from_der(&message)?;
/// assert_eq!((message.signers().len(), message.certificates().len(), message.crls().len()), (2, 3, 1));
///
/// // Small: the reader has the certificate. And not plain data but a type of its own.
/// let kind = der::undotted("1.3.6.1.4.1.32473.7").expect("digits and dots");
/// let small = Signing::new(Signer::new(&alice, &alice_key)?)
///     .without_certificates()
///     .content_type(&kind)
///     .attached(b"the harbour at nine")?;
/// let small = Unverified::from_der(&small)?;
/// assert_eq!(small.content_type(), "1.3.6.1.4.1.32473.7");
/// assert!(small.certificates().is_empty());
/// small.verify(Trust::Certificates(&[alice]), Policy::All)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Signing<'k> {
    certificates: Vec<Vec<u8>>,
    content_type: Vec<u8>,
    crls: Vec<Vec<u8>>,
    signers: Vec<Signer<'k>>,
    with_certificates: bool,
}

impl<'k> Signing<'k> {
    /// Of plain data, with one signer, whose certificate goes with it.
    pub fn new(signer: Signer<'k>) -> Self {
        Self {
            certificates: Vec::new(),
            content_type: oid::DATA.to_vec(),
            crls: Vec::new(),
            signers: vec![signer],
            with_certificates: true,
        }
    }

    /// With one more signer.
    #[must_use]
    pub fn signer(mut self, signer: Signer<'k>) -> Self {
        self.signers.push(signer);
        self
    }

    /// With one more certificate, such as that of who issued the signer's.
    #[must_use]
    pub fn certificate(mut self, certificate: &Certificate) -> Self {
        self.certificates.push(certificate.der().to_vec());
        self
    }

    /// With a revocation list in DER, which is not looked at.
    #[must_use]
    pub fn crl(mut self, crl: &[u8]) -> Self {
        self.crls.push(crl.to_vec());
        self
    }

    /// Without the signers' own certificates: the reader has them.
    #[must_use]
    pub fn without_certificates(self) -> Self {
        Self { with_certificates: false, ..self }
    }

    /// Of content of another type than plain data: the content of its object identifier.
    #[must_use]
    pub fn content_type(self, oid: &[u8]) -> Self {
        Self { content_type: oid.to_vec(), ..self }
    }

    /// Signs content that goes into the message.
    ///
    /// # Errors
    /// [`Error::TooLarge`] if the message has more than [`MAX_MESSAGE`] bytes; else as [`Stream::finish`].
    pub fn attached(&self, content: &[u8]) -> Result<Vec<u8>, Error> {
        limit("bytes of content", MAX_MESSAGE, content.len())?;
        let mut stream = self.detached()?;
        stream.update(content)?;
        stream.finish_with(Some(content))
    }

    /// Signs content that goes another way, in pieces.
    ///
    /// # Errors
    /// [`Error::AttributesRequired`], [`Error::TooLarge`] for too many signers or certificates.
    pub fn detached(&self) -> Result<Stream<'_, 'k>, Error> {
        limit("signers", MAX_SIGNERS, self.signers.len())?;
        limit("certificates", MAX_CERTIFICATES, self.certificates.len() + self.signers.len())?;
        limit("revocation lists", MAX_CERTIFICATES, self.crls.len())?;
        if self.content_type != oid::DATA && self.signers.iter().any(|signer| !signer.attributes) {
            return Err(Error::AttributesRequired { content_type: der::dotted(&self.content_type) });
        }
        let mut stream = Stream { digests: Vec::new(), signing: self, states: Vec::new(), whole: None };
        for signer in &self.signers {
            let state = match signer.key.ml_dsa() {
                _ if signer.attributes => {
                    if !stream.digests.iter().any(|(known, _)| *known == signer.digest) {
                        stream.digests.push((signer.digest, signer.digest.begin()));
                    }
                    State::Attributes
                }
                Some(key) => State::Mu(Box::new(key.message(Context::EMPTY))),
                None => {
                    stream.whole.get_or_insert_with(Vec::new);
                    State::Whole
                }
            };
            stream.states.push(state);
        }
        Ok(stream)
    }
}

/// A message that waits for its content, which is read once, in constant memory; only without signed attributes and
/// with another algorithm than ML-DSA it is held, and must then have at most [`MAX_MESSAGE`] bytes.
///
/// ```
/// use sealstone_pki::cms::{Policy, Signer, Signing, Trust, Unverified};
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `alice` and `alice_key`: a certificate for signatures and its key.
/// # let alice_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[7; 32], None)?;
/// # let alice_key = sealstone_pki::sign::SigningKey::from_info(&alice_key)?;
/// # let alice = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=alice".parse()?,
/// # }.self_sign(&alice_key)?;
/// # let pieces = [b"the harbour ".as_slice(), b"at nine"];
/// // A signature in a file of its own, beside a file of any size.
/// let signing = Signing::new(Signer::new(&alice, &alice_key)?);
/// let mut stream = signing.detached()?;
/// for piece in pieces {
///     stream.update(piece)?;
/// }
/// let signature = stream.finish()?;
/// assert!(Unverified::from_der(&signature)?.is_detached());
///
/// let mut check = Unverified::from_der(&signature)?.over(Trust::Certificates(&[alice]), Policy::All)?;
/// check.update(b"the harbour at nine")?;
/// let verified = check.finish()?;
/// assert_eq!(verified.content(), None); // it is the caller who has it
/// # Ok(())
/// # }
/// ```
pub struct Stream<'s, 'k> {
    digests: Vec<(DigestAlgorithm, PreHasher)>,
    signing: &'s Signing<'k>,
    /// One for each signer.
    states: Vec<State>,
    whole: Option<Vec<u8>>,
}

enum State {
    Attributes,
    Mu(Box<MuHasher>),
    Whole,
}

impl Stream<'_, '_> {
    /// The next piece of the content.
    ///
    /// # Errors
    /// [`Error::TooLarge`], where the content must be held.
    pub fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.digests.iter_mut().for_each(|(_, hasher)| hasher.update(piece));
        for state in &mut self.states {
            if let State::Mu(hasher) = state {
                hasher.update(piece);
            }
        }
        if let Some(whole) = &mut self.whole {
            limit("bytes of content that is signed as it is", MAX_MESSAGE, whole.len() + piece.len())?;
            whole.extend_from_slice(piece);
        }
        Ok(())
    }

    /// The message in DER.
    ///
    /// # Errors
    /// [`Error::Time`], and [`Error::Encoding`] if there is no randomness.
    pub fn finish(self) -> Result<Vec<u8>, Error> {
        self.finish_with(None)
    }

    fn finish_with(self, content: Option<&[u8]>) -> Result<Vec<u8>, Error> {
        let Self { digests, signing, states, whole } = self;
        let digests: Vec<_> =
            digests.into_iter().map(|(algorithm, hasher)| (algorithm, hasher.finish())).collect();
        let mut infos = Vec::new();
        for (signer, state) in signing.signers.iter().zip(states) {
            infos.push(match state {
                State::Attributes => {
                    let digest = digests.iter().find(|(of, _)| *of == signer.digest);
                    let digest = digest.map(|(_, bytes)| bytes.as_ref()).unwrap_or_default();
                    let attributes = SignedAttributes::write(
                        &signing.content_type,
                        digest,
                        signer.signing_time,
                        signer.digest,
                        &signer.algorithm.to_der(),
                    )?;
                    signer.info(Some(&attributes), &signer.key.sign(&attributes)?)
                }
                State::Mu(hasher) => {
                    let key = signer.key.ml_dsa().ok_or(crate::Error::Provider)?;
                    let mu = hasher.finish();
                    let signature = key.sign_mu(&mut OsRandom, &mu).map_err(|_| crate::Error::Provider)?;
                    signer.info(None, signature.encode())
                }
                State::Whole => signer.info(None, &signer.key.sign(whole.as_deref().unwrap_or_default())?),
            });
        }
        let message = signing.write(content, infos);
        limit("bytes of the message", MAX_MESSAGE, message.len())?;
        Ok(message)
    }
}

impl Signing<'_> {
    /// SignedData in its ContentInfo (RFC 5652 §5.1).
    fn write(&self, content: Option<&[u8]>, infos: Vec<Vec<u8>>) -> Vec<u8> {
        // Version 3 if the content is no plain data or a signer is named by its key; without other certificates than
        // those of X.509, else version 1.
        let named_by_key = |info: &Vec<u8>| content_of(info).starts_with(&[0x02, 0x01, 0x03]);
        let version = if self.content_type != oid::DATA || infos.iter().any(named_by_key) { 3 } else { 1 };
        let mut digests: Vec<Vec<u8>> = self.signers.iter().map(|signer| signer.digest.write()).collect();
        digests.sort();
        digests.dedup();
        let content = match content {
            Some(content) => der::write(CONTENT, &[&der::write(der::OCTET_STRING, &[content])]).to_vec(),
            None => Vec::new(),
        };
        let content_type = der::write(der::OBJECT_IDENTIFIER, &[&self.content_type]);
        let encapsulated = der::write(der::SEQUENCE, &[&content_type, &content]);
        let mut certificates = self.certificates.clone();
        if self.with_certificates {
            certificates.extend(self.signers.iter().map(|signer| signer.certificate.der().to_vec()));
        }
        let signed = der::write(
            der::SEQUENCE,
            &[
                &der::write(der::INTEGER, &[&[version]]),
                &set_of(digests),
                &encapsulated,
                &implicit_set(CERTIFICATES, certificates),
                &implicit_set(CRLS, self.crls.clone()),
                &set_of(infos),
            ],
        );
        close(oid::SIGNED_DATA, &signed)
    }
}

/// A SET OF with another tag, each element once; nothing at all where there is no element.
fn implicit_set(tag: Tag, mut elements: Vec<Vec<u8>>) -> Vec<u8> {
    elements.sort();
    elements.dedup();
    match elements.is_empty() {
        true => Vec::new(),
        false => der::write(tag, &[content_of(&set_of(elements))]).to_vec(),
    }
}
