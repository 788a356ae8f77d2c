//! From [`Unverified`] to [`Verified`]: whose key signed, whether that someone is trusted, and whether the content is
//! what was signed.

use core::fmt;

use sealstone_mldsa::{Context, MuHasher, PreHasher, any};

use super::attributes::SignedAttributes;
use super::digest::DigestAlgorithm;
use super::error::Error;
use super::signed::{Identifier, SignerInfo, Unverified, limit};
use super::{MAX_MESSAGE, oid};
use crate::der;
use crate::sign::VerifyingKey;
use crate::signature::SignatureAlgorithm;
use crate::x509::{Certificate, KeyUsage};

/// Follows a signer's certificate up to one that is trusted; the other certificates are those of the message, of which
/// nothing is known.
pub type Chain<'t> = dyn Fn(&Certificate, &[Certificate]) -> Result<(), crate::Error> + 't;

/// Whose signatures count.
#[non_exhaustive]
#[derive(Clone, Copy)]
pub enum Trust<'t> {
    /// Those of certificates that this function finds good.
    Chain(&'t Chain<'t>),
    /// Those of exactly these certificates, at any time: neither their validity nor who issued them is looked at.
    Certificates(&'t [Certificate]),
    /// Those of exactly these keys, however the message names the signer.
    Keys(&'t [VerifyingKey]),
}

/// How many of a message's signers must be good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    /// All of them.
    #[default]
    All,
    /// One at least; for messages that are signed side by side, with an old algorithm and a new one.
    Any,
}

/// A message whose signatures have been checked.
///
/// ```
/// use sealstone_pki::cms::{Error, Policy, Signer, Signing, Trust, Unverified};
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
/// // `eve` and `eve_key`: another certificate for signatures and its key.
/// # let eve_key = sealstone_pki::PrivateKeyInfo::new(
/// #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[8; 32], None)?;
/// # let eve_key = sealstone_pki::sign::SigningKey::from_info(&eve_key)?;
/// # let eve = sealstone_pki::x509::CertificateBuilder {
/// #     not_after: 1_900_000_000,
/// #     not_before: 1_700_000_000,
/// #     profile: sealstone_pki::x509::Profile::end_entity(),
/// #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
/// #     subject: "CN=eve".parse()?,
/// # }.self_sign(&eve_key)?;
/// let message = Signing::new(Signer::new(&alice, &alice_key)?)
///     .signer(Signer::new(&eve, &eve_key)?)
///     .attached(b"the harbour at nine")?;
///
/// // Nobody knows Eve. If all must be trusted, the message is refused; if one is enough, Eve does not count.
/// let trusted = [alice];
/// let all = Unverified::from_der(&message)?.verify(Trust::Certificates(&trusted), Policy::All);
/// assert!(matches!(all, Err(Error::Untrusted { .. })));
/// let verified = Unverified::from_der(&message)?.verify(Trust::Certificates(&trusted), Policy::Any)?;
/// assert_eq!((verified.signers().len(), verified.refused().len()), (1, 1));
/// let (who, why) = &verified.refused()[0];
/// assert!(who.fits(&eve) && matches!(why, Error::Untrusted { .. }));
///
/// assert_eq!(verified.content_type(), "1.2.840.113549.1.7.1");
/// assert!(verified.crls().is_empty());
/// assert_eq!(verified.content(), Some(b"the harbour at nine".as_slice()));
/// assert_eq!(verified.into_content(), Some(b"the harbour at nine".to_vec()));
/// # Ok(())
/// # }
/// ```
pub struct Verified {
    content: Option<Vec<u8>>,
    content_type: Vec<u8>,
    crls: Vec<Vec<u8>>,
    signers: Vec<VerifiedSigner>,
    refused: Vec<(Identifier, Error)>,
}

/// Someone who is trusted and did sign.
///
/// ```
/// use sealstone_mldsa::Level;
/// use sealstone_pki::{Certificate, SignatureAlgorithm};
/// use sealstone_pki::cms::{DigestAlgorithm, Policy, Signer, Signing, Trust, Unverified};
/// use sealstone_pki::x509::path;
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
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
/// # }.issue(&sealstone_pki::spki::to_der(alice_key.public()), &root, &root_key)?;
/// let message = Signing::new(Signer::new(&alice, &alice_key)?).attached(b"the harbour at nine")?;
///
/// // Trusted is who has a certificate of this root, now.
/// let anchors = [root];
/// let follow = |certificate: &Certificate, between: &[Certificate]| {
///     let mut policy = path::Policy::new(&anchors, 1_800_000_000);
///     policy.intermediates = between;
///     path::verify(certificate, &policy).map(|_| ())
/// };
/// let verified = Unverified::from_der(&message)?.verify(Trust::Chain(&follow), Policy::All)?;
///
/// let [signer] = verified.signers() else { panic!("one signer") };
/// let certificate = signer.certificate().expect("a chain was followed");
/// assert_eq!(certificate.subject().common_name(), Some("alice"));
/// assert!(signer.identifier().fits(certificate));
/// assert_eq!(signer.algorithm(), SignatureAlgorithm::MlDsa(Level::MlDsa44));
/// assert_eq!(signer.digest(), Some(DigestAlgorithm::Sha512));
/// assert!(signer.attributes().is_some_and(|attributes| attributes.signing_time().is_none()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct VerifiedSigner {
    algorithm: SignatureAlgorithm,
    attributes: Option<SignedAttributes>,
    certificate: Option<Certificate>,
    digest: Option<DigestAlgorithm>,
    id: Identifier,
}

impl Verified {
    /// What was signed, if it was in the message; else it is what was given to [`Check::update`].
    pub fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    /// The same, taken out.
    pub fn into_content(self) -> Option<Vec<u8>> {
        self.content
    }

    /// What the content is, dotted: `1.2.840.113549.1.7.1` for plain data.
    pub fn content_type(&self) -> String {
        der::dotted(&self.content_type)
    }

    /// Revocation lists that came with the message, in DER. They are not signed by its signers.
    pub fn crls(&self) -> &[Vec<u8>] {
        &self.crls
    }

    /// Who signed: one at least.
    pub fn signers(&self) -> &[VerifiedSigner] {
        &self.signers
    }

    /// Signers that do not count, and why, with [`Policy::Any`].
    pub fn refused(&self) -> &[(Identifier, Error)] {
        &self.refused
    }
}

/// Who signed; the content not.
impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verified").field("signers", &self.signers).finish_non_exhaustive()
    }
}

impl VerifiedSigner {
    /// How it signed.
    pub fn algorithm(&self) -> SignatureAlgorithm {
        self.algorithm
    }

    /// What it signed in place of the content, if it did so.
    pub fn attributes(&self) -> Option<&SignedAttributes> {
        self.attributes.as_ref()
    }

    /// Its certificate, which was found good; none where a key was trusted.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    /// The digest of the content; none where the content itself was signed.
    pub fn digest(&self) -> Option<DigestAlgorithm> {
        self.digest
    }

    /// How the message names it.
    pub fn identifier(&self) -> &Identifier {
        &self.id
    }
}

impl Unverified {
    /// Checks a message that has its content in it.
    ///
    /// # Errors
    /// [`Error::ContentMissing`] for a detached one; else what is wrong with the first signer, or with
    /// [`Policy::Any`] with the first of all that are wrong.
    pub fn verify(mut self, trust: Trust<'_>, policy: Policy) -> Result<Verified, Error> {
        let content = self.content.take().ok_or(Error::ContentMissing)?;
        let mut check = self.over(trust, policy)?;
        check.update(&content)?;
        Ok(Verified { content: Some(content), ..check.finish()? })
    }

    /// Checks a message whose content is beside it, and will come in pieces. What can be known before the content is
    /// read is checked at once: who signed, who is trusted, and the signatures over signed attributes.
    ///
    /// # Errors
    /// [`Error::ContentPresent`] if the message has its own content; else as [`verify`](Self::verify).
    pub fn over(self, trust: Trust<'_>, policy: Policy) -> Result<Check, Error> {
        if self.content.is_some() {
            return Err(Error::ContentPresent);
        }
        let mut check = Check {
            content_type: self.content_type.clone(),
            crls: self.crls.clone(),
            digests: Vec::new(),
            head: None,
            pending: Vec::new(),
            policy,
            refused: Vec::new(),
            whole: None,
        };
        for signer in &self.signers {
            match check.begin(&self, signer, trust) {
                Ok(()) => {}
                Err(cause) => check.refuse(signer.id.clone(), cause)?,
            }
        }
        check.some_left(check.pending.is_empty())?;
        Ok(check)
    }

    /// The certificates or keys that a signer may have used.
    fn candidates(&self, signer: &SignerInfo, trust: Trust<'_>) -> Result<Vec<Candidate>, Error> {
        let named = || signer.id.to_string();
        let fitting = |list: &[Certificate]| -> Vec<Certificate> {
            list.iter().filter(|certificate| signer.id.fits(certificate)).cloned().collect()
        };
        let certificate = match trust {
            Trust::Keys(keys) => {
                let of_key = |key: &VerifyingKey| Candidate { certificate: None, key: key.clone() };
                return Ok(keys.iter().map(of_key).collect());
            }
            Trust::Certificates(trusted) => match <[Certificate; 1]>::try_from(fitting(trusted)) {
                Ok([certificate]) => certificate,
                Err(none) if none.is_empty() => {
                    return Err(Error::Untrusted { signer: named(), cause: None });
                }
                Err(_) => return Err(Error::CertificateAmbiguous { signer: named() }),
            },
            Trust::Chain(chain) => match <[Certificate; 1]>::try_from(fitting(&self.certificates)) {
                Ok([certificate]) => {
                    chain(&certificate, &self.certificates).map_err(|cause| Error::Untrusted {
                        signer: named(),
                        cause: Some(Box::new(cause)),
                    })?;
                    certificate
                }
                Err(none) if none.is_empty() => return Err(Error::CertificateMissing { signer: named() }),
                Err(_) => return Err(Error::CertificateAmbiguous { signer: named() }),
            },
        };
        // RFC 9882 §5, RFC 5280 §4.2.1.3.
        let signing = KeyUsage::DIGITAL_SIGNATURE;
        if certificate
            .key_usage()
            .is_some_and(|usage| !usage.has(signing) && !usage.has(KeyUsage::NON_REPUDIATION))
        {
            return Err(Error::KeyUsage { expected: "digitalSignature or nonRepudiation" });
        }
        let key = VerifyingKey::from_spki(certificate.public_key())?;
        Ok(vec![Candidate { certificate: Some(certificate), key }])
    }
}

/// Most bytes of signed attributes that content is compared with.
const MAX_ATTRIBUTES: usize = 65_536;

/// Someone who may have signed.
struct Candidate {
    certificate: Option<Certificate>,
    key: VerifyingKey,
}

/// A check that waits for the content. It is read once, in constant memory; only without signed attributes and with
/// another algorithm than ML-DSA it is held, and must then have at most [`MAX_MESSAGE`] bytes.
///
/// ```
/// use sealstone_pki::cms::{Error, Policy, Signer, Signing, Trust, Unverified};
/// use sealstone_pki::sign::VerifyingKey;
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
/// # let signing = Signing::new(Signer::new(&alice, &alice_key)?);
/// # let mut stream = signing.detached()?;
/// # stream.update(b"the harbour at nine")?;
/// # let signature = stream.finish()?;
/// // Whose signatures count is said by keys here: certificates do not matter then.
/// let keys = [VerifyingKey::from_info(alice_key.public())?];
/// let mut check = Unverified::from_der(&signature)?.over(Trust::Keys(&keys), Policy::All)?;
/// for piece in [b"the harbour ".as_slice(), b"at nine"] {
///     check.update(piece)?;
/// }
/// assert!(check.finish()?.signers()[0].certificate().is_none());
///
/// // Other content was not signed.
/// let mut check = Unverified::from_der(&signature)?.over(Trust::Keys(&keys), Policy::All)?;
/// check.update(b"the harbour at ten")?;
/// assert_eq!(check.finish().err(), Some(Error::ContentMismatch));
/// # Ok(())
/// # }
/// ```
pub struct Check {
    content_type: Vec<u8>,
    crls: Vec<Vec<u8>>,
    /// One for each digest in use.
    digests: Vec<(DigestAlgorithm, PreHasher)>,
    /// The content, as far as it could be an encoding of signed attributes, where none are there.
    head: Option<Vec<u8>>,
    pending: Vec<Pending>,
    policy: Policy,
    refused: Vec<(Identifier, Error)>,
    /// The content, where it is needed whole.
    whole: Option<Vec<u8>>,
}

/// A signer, and what is left to be done.
struct Pending {
    signer: VerifiedSigner,
    signature: Vec<u8>,
    work: Work,
}

enum Work {
    /// The signature over the attributes is good: the content must have their digest.
    Digest(DigestAlgorithm),
    /// FIPS 204 in pieces, with each key that it might be.
    Mu(Vec<(MuHasher, VerifyingKey)>),
    /// The signature is over the content as it is.
    Whole(Vec<VerifyingKey>),
}

impl Check {
    /// The next piece of the content.
    ///
    /// # Errors
    /// [`Error::TooLarge`], where the content must be held.
    pub fn update(&mut self, piece: &[u8]) -> Result<(), Error> {
        self.digests.iter_mut().for_each(|(_, hasher)| hasher.update(piece));
        for pending in &mut self.pending {
            if let Work::Mu(candidates) = &mut pending.work {
                candidates.iter_mut().for_each(|(hasher, _)| hasher.update(piece));
            }
        }
        if let Some(head) = &mut self.head {
            // One byte more than counts, so that longer content is seen to be longer.
            let room = (MAX_ATTRIBUTES + 1).saturating_sub(head.len());
            head.extend_from_slice(&piece[..piece.len().min(room)]);
        }
        if let Some(whole) = &mut self.whole {
            limit("bytes of content that is signed as it is", MAX_MESSAGE, whole.len() + piece.len())?;
            whole.extend_from_slice(piece);
        }
        Ok(())
    }

    /// The verdict.
    ///
    /// # Errors
    /// As [`Unverified::verify`].
    pub fn finish(mut self) -> Result<Verified, Error> {
        let digests: Vec<_> =
            self.digests.drain(..).map(|(algorithm, hasher)| (algorithm, hasher.finish())).collect();
        let whole = self.whole.take().unwrap_or_default();
        let head = self.head.take().filter(|head| head.len() <= MAX_ATTRIBUTES);
        let as_content = head.is_some_and(|head| SignedAttributes::could_be(&head));
        let mut signers = Vec::new();
        for Pending { signer, signature, work } in core::mem::take(&mut self.pending) {
            let algorithm = signer.algorithm;
            let good = match work {
                Work::Mu(_) | Work::Whole(_) if as_content => Err(Error::AttributesAsContent),
                Work::Digest(digest) => {
                    let found = digests.iter().find(|(of, _)| *of == digest).map(|(_, bytes)| bytes.as_ref());
                    let signed = signer.attributes.as_ref().map(SignedAttributes::message_digest);
                    if signed.is_some() && found == signed { Ok(()) } else { Err(Error::ContentMismatch) }
                }
                Work::Mu(candidates) => {
                    let good = candidates.into_iter().any(|(hasher, key)| {
                        let Some((key, level)) = key.ml_dsa() else { return false };
                        any::Signature::decode(level, &signature)
                            .is_ok_and(|signature| key.verify_mu(&hasher.finish(), &signature).is_ok())
                    });
                    if good { Ok(()) } else { Err(Error::BadSignature) }
                }
                Work::Whole(keys) => {
                    let good = keys.iter().any(|key| key.verify(algorithm, &whole, &signature).is_ok());
                    if good { Ok(()) } else { Err(Error::BadSignature) }
                }
            };
            match good {
                Ok(()) => signers.push(signer),
                Err(cause) => self.refuse(signer.id, cause)?,
            }
        }
        self.some_left(signers.is_empty())?;
        let Self { content_type, crls, refused, .. } = self;
        Ok(Verified { content: None, content_type, crls, signers, refused })
    }

    /// Everything about a signer that does not need the content.
    fn begin(&mut self, message: &Unverified, signer: &SignerInfo, trust: Trust<'_>) -> Result<(), Error> {
        let algorithm = signer.algorithm()?;
        check_algorithm(algorithm)?;
        let candidates = message.candidates(signer, trust)?;
        let mut verified = VerifiedSigner {
            algorithm,
            attributes: signer.attributes.clone(),
            certificate: candidates.first().and_then(|candidate| candidate.certificate.clone()),
            digest: None,
            id: signer.id.clone(),
        };
        let work = match (&signer.attributes, algorithm) {
            (Some(attributes), _) => {
                let digest = signer.digest()?;
                digest.check(algorithm)?;
                attributes.check(&message.content_type, &signer.digest_der, &signer.signature_der)?;
                one_verifies(&candidates, algorithm, &attributes.signed, &signer.signature)?;
                verified.digest = Some(digest);
                if !self.digests.iter().any(|(known, _)| *known == digest) {
                    self.digests.push((digest, digest.begin()));
                }
                Work::Digest(digest)
            }
            (None, SignatureAlgorithm::MlDsa(level)) => {
                let of_level = |candidate: Candidate| {
                    let (key, of) = candidate.key.ml_dsa()?;
                    let hasher = key.message(Context::EMPTY);
                    (of == level).then_some((hasher, candidate.key.clone()))
                };
                let candidates: Vec<_> = candidates.into_iter().filter_map(of_level).collect();
                if candidates.is_empty() {
                    return Err(Error::BadSignature);
                }
                Work::Mu(candidates)
            }
            (None, algorithm) => {
                // RFC 5754 §3: the digest is the signature's own. RFC 8419 §3.2: Ed25519 has none.
                if algorithm != SignatureAlgorithm::Ed25519 {
                    signer.digest()?.check(algorithm)?;
                }
                self.whole.get_or_insert_with(Vec::new);
                Work::Whole(candidates.into_iter().map(|candidate| candidate.key).collect())
            }
        };
        if signer.attributes.is_none() {
            self.head.get_or_insert_with(Vec::new);
        }
        debug_assert!(
            message.content_type == oid::DATA || verified.attributes.is_some(),
            "checked when it was read"
        );
        self.pending.push(Pending { signer: verified, signature: signer.signature.clone(), work });
        Ok(())
    }

    /// One signer does not count: that is the end, or one less.
    fn refuse(&mut self, signer: Identifier, cause: Error) -> Result<(), Error> {
        match self.policy {
            Policy::All => Err(cause),
            Policy::Any => {
                self.refused.push((signer, cause));
                Ok(())
            }
        }
    }

    fn some_left(&self, none: bool) -> Result<(), Error> {
        match (none, self.refused.first()) {
            (true, Some((_, cause))) => Err(cause.clone()),
            (true, None) => Err(Error::None { what: "signer" }),
            (false, _) => Ok(()),
        }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Check").field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Composite signatures have no place in messages yet.
pub(super) fn check_algorithm(algorithm: SignatureAlgorithm) -> Result<(), Error> {
    match algorithm {
        SignatureAlgorithm::Ecdsa(_)
        | SignatureAlgorithm::Ed25519
        | SignatureAlgorithm::MlDsa(_)
        | SignatureAlgorithm::RsaPkcs1(_)
        | SignatureAlgorithm::RsaPss(..) => Ok(()),
        #[allow(unreachable_patterns, reason = "composites are there with their feature alone")]
        other => Err(Error::Unsupported {
            part: "the signature",
            expected: "ML-DSA, ECDSA, Ed25519 or RSA",
            found: other.name().into(),
        }),
    }
}

/// That a key is of another algorithm says no more than that it did not sign.
fn one_verifies(
    candidates: &[Candidate],
    algorithm: SignatureAlgorithm,
    message: &[u8],
    signature: &[u8],
) -> Result<(), Error> {
    match candidates.iter().any(|candidate| candidate.key.verify(algorithm, message, signature).is_ok()) {
        true => Ok(()),
        false => Err(Error::BadSignature),
    }
}
