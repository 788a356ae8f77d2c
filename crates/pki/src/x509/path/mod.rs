//! From a certificate up to one that is trusted: RFC 5280 §6, with signatures, times, what each authority may do, names
//! and revocation lists.
//!
//! The time is passed in, and so are the lists: nothing is fetched. Work is bounded whatever is handed over: so many
//! certificates in a path, so many signatures, so many comparisons of names. Policies are read and not processed; a
//! critical policyConstraints or inhibitAnyPolicy is refused as unknown.
//!
//! ```
//! use sealstone_pki::Error;
//! use sealstone_pki::x509::path::{self, Policy, Refusal};
//! use sealstone_pki::x509::{CertificateBuilder, Profile, Serial, oids};
//!
//! # fn main() -> Result<(), sealstone_pki::Error> {
//! // `root` and `root_key`: an authority's certificate and its key.
//! # let root_key = sealstone_pki::PrivateKeyInfo::new(
//! #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[1; 32], None)?;
//! # let root_key = sealstone_pki::sign::SigningKey::from_info(&root_key)?;
//! # let root = sealstone_pki::x509::CertificateBuilder {
//! #     not_after: 1_900_000_000,
//! #     not_before: 1_700_000_000,
//! #     profile: sealstone_pki::x509::Profile::authority(None),
//! #     serial: sealstone_pki::x509::Serial::random(&mut sealstone_mldsa::OsRandom)?,
//! #     subject: "CN=Example Root".parse()?,
//! # }.self_sign(&root_key)?;
//! // `service_key`: the key of a service.
//! # let service_key = sealstone_pki::PrivateKeyInfo::new(
//! #     sealstone_pki::KeyAlgorithm::MlDsa(sealstone_mldsa::Level::MlDsa44), &[2; 32], None)?;
//! # let service_key = sealstone_pki::sign::SigningKey::from_info(&service_key)?;
//! # let leaf = CertificateBuilder {
//! #     not_after: 1_900_000_000,
//! #     not_before: 1_700_000_000,
//! #     profile: Profile { alt_names: vec!["dns:billing.example.org".parse()?], ..Profile::end_entity() },
//! #     serial: Serial::random(&mut sealstone_mldsa::OsRandom)?,
//! #     subject: "CN=billing".parse()?,
//! # }.issue(&sealstone_pki::spki::to_der(service_key.public()), &root, &root_key)?;
//! // Is this certificate that of billing.example.org, for a server, now?
//! let anchors = [root];
//! let mut policy = Policy::new(&anchors, 1_800_000_000);
//! policy.name = Some("dns:billing.example.org".parse()?);
//! policy.purpose = oids::ext_key_usage("serverAuth");
//! let path = path::verify(&leaf, &policy)?;
//! assert_eq!(path.certificates.len(), 2);
//! assert!(!path.revocation_checked, "no list was given");
//!
//! // It is not that of another host.
//! policy.name = Some("dns:orders.example.org".parse()?);
//! let Err(Error::Path { why, .. }) = path::verify(&leaf, &policy) else { panic!("another host") };
//! assert_eq!(*why, Refusal::OtherName { expected: "dns:orders.example.org".into() });
//! # Ok(())
//! # }
//! ```

mod names;
mod refusal;
mod revocation;

pub use names::matches_host;
pub use refusal::Refusal;
pub use revocation::Revocation;

use sealstone_mldsa::Level;

use super::extension::{Oid, oids};
use super::general_name::GeneralName;
use super::key_usage::KeyUsage;
use super::{Certificate, Crl};
use crate::error::Error;
use crate::sign::VerifyingKey;
use crate::signature::SignatureAlgorithm;

/// Most certificates in a path, the first and the trusted one included.
pub const MAX_DEPTH: usize = 10;
/// Most signatures that are checked for one certificate.
pub const MAX_SIGNATURES: usize = 64;
/// Most names that are compared with constraints.
pub const MAX_COMPARISONS: usize = 250_000;

/// What a path must be like.
#[derive(Clone, Debug)]
pub struct Policy<'a> {
    /// Trusted certificates. Their names, keys, times and constraints count; their signatures do not.
    pub anchors: &'a [Certificate],
    /// Revocation lists, of any issuers.
    pub crls: &'a [Crl],
    /// Whether composites are taken, which are a draft.
    pub draft: bool,
    /// Certificates that may stand between, in any order.
    pub intermediates: &'a [Certificate],
    /// The least ML-DSA level of every signature and of the first certificate's key; with it nothing classical is taken.
    pub minimum_level: Option<Level>,
    /// A name that the first certificate must have.
    pub name: Option<GeneralName>,
    /// The time for which the path must hold, counted from 1970.
    pub now: i64,
    /// What the first certificate's key must be for, by extKeyUsage where there is one.
    pub purpose: Option<Oid>,
    /// Whether lists are looked at.
    pub revocation: Revocation,
    /// What the first certificate's key must be allowed to do, by keyUsage where there is one.
    pub usage: Option<KeyUsage>,
}

impl<'a> Policy<'a> {
    /// These anchors at this time, and nothing else asked for.
    pub fn new(anchors: &'a [Certificate], now: i64) -> Self {
        Self {
            anchors,
            crls: &[],
            draft: false,
            intermediates: &[],
            minimum_level: None,
            name: None,
            now,
            purpose: None,
            revocation: Revocation::WherePresent,
            usage: None,
        }
    }
}

/// A path that holds: the first certificate, those between, and the trusted one.
#[derive(Clone, Debug)]
pub struct Path<'a> {
    /// In this order, one at least.
    pub certificates: Vec<&'a Certificate>,
    /// Whether every certificate below the trusted one was looked up in a list that is usable.
    pub revocation_checked: bool,
}

/// Finds a path from a certificate to a trusted one and checks it.
///
/// # Errors
/// [`Error::Path`] with the reason of the attempt that came farthest.
pub fn verify<'a>(leaf: &'a Certificate, policy: &Policy<'a>) -> Result<Path<'a>, Error> {
    let mut search = Search { comparisons: 0, farthest: None, policy, signatures: 0, usable: Vec::new() };
    search.check_first(leaf).map_err(|why| refused(leaf, why))?;
    let mut path = vec![leaf];
    match search.climb(&mut path) {
        Ok(true) => {
            let revocation_checked = search.covers(&path);
            Ok(Path { certificates: path, revocation_checked })
        }
        Ok(false) => {
            let (_, at, why) = search
                .farthest
                .unwrap_or_else(|| (0, leaf, Refusal::NoIssuer { issuer: leaf.issuer().to_string() }));
            Err(refused(at, why))
        }
        Err(why) => Err(refused(leaf, why)),
    }
}

fn refused(at: &Certificate, why: Refusal) -> Error {
    let subject = match at.subject().is_empty() {
        true => at.alt_names_text(),
        false => at.subject().to_string(),
    };
    Error::Path { subject, why: Box::new(why) }
}

struct Search<'a, 'p> {
    comparisons: usize,
    farthest: Option<(usize, &'a Certificate, Refusal)>,
    policy: &'p Policy<'a>,
    signatures: usize,
    /// Lists whose signature has been checked, with the key that did.
    usable: Vec<(usize, Vec<u8>, bool)>,
}

impl<'a> Search<'a, '_> {
    /// Goes up from the last certificate of the path. `Err` ends the search: too much work.
    fn climb(&mut self, path: &mut Vec<&'a Certificate>) -> Result<bool, Refusal> {
        let policy = self.policy;
        let Some(last) = path.last().copied() else { return Ok(false) };
        if policy.anchors.iter().any(|anchor| anchor.der() == last.der()) {
            return Ok(true);
        }
        let trusted = policy.anchors.iter().map(|issuer| (issuer, true));
        let between = policy.intermediates.iter().map(|issuer| (issuer, false));
        let mut seen = false;
        for (issuer, is_trusted) in trusted.chain(between) {
            if !may_have_issued(issuer, last) || (path.len() > 1 && same_key(path, issuer)) {
                continue;
            }
            seen = true;
            if path.len() == MAX_DEPTH {
                self.note(path.len(), last, Refusal::TooLong { limit: MAX_DEPTH });
                continue;
            }
            match self.step(path, last, issuer, is_trusted) {
                Ok(()) => {}
                Err((_, why @ Refusal::TooMuchWork)) => return Err(why),
                Err((at, why)) => {
                    self.note(path.len(), at, why);
                    continue;
                }
            }
            path.push(issuer);
            if is_trusted || self.climb(path)? {
                return Ok(true);
            }
            path.pop();
        }
        if !seen {
            let issuer = last.issuer().to_string();
            let why = match last.is_self_issued() {
                true => Refusal::NotTrusted,
                false => Refusal::NoIssuer { issuer },
            };
            self.note(path.len(), last, why);
        }
        Ok(false)
    }

    /// Keeps the reason of the attempt that came farthest, and of those the first.
    fn note(&mut self, depth: usize, at: &'a Certificate, why: Refusal) {
        if self.farthest.as_ref().is_none_or(|(farthest, ..)| depth > *farthest) {
            self.farthest = Some((depth, at, why));
        }
    }

    /// Whether `issuer` may stand above the path, and did sign its last certificate. Cheap things first. Errors: with
    /// the certificate that is at fault.
    fn step(
        &mut self,
        path: &[&'a Certificate],
        last: &'a Certificate,
        issuer: &'a Certificate,
        is_trusted: bool,
    ) -> Result<(), (&'a Certificate, Refusal)> {
        self.check_issuer(path, issuer, is_trusted).map_err(|why| (issuer, why))?;
        if let Some(constraints) = &issuer.extensions().name_constraints {
            for (depth, below) in path.iter().enumerate() {
                // §6.1.3 (b): self-issued ones are exempt, but the first.
                if depth == 0 || !below.is_self_issued() {
                    names::check(below, constraints, &mut self.comparisons).map_err(|why| (*below, why))?;
                }
            }
        }
        let key = VerifyingKey::from_spki(issuer.public_key())
            .map_err(|cause| (issuer, Refusal::Key(Box::new(cause))))?;
        self.check_signature(last, &key).map_err(|why| (last, why))?;
        self.check_revocation(last, issuer, &key).map_err(|why| (last, why))
    }

    /// What is asked of whoever signs certificates.
    fn check_issuer(
        &self,
        path: &[&Certificate],
        issuer: &Certificate,
        is_trusted: bool,
    ) -> Result<(), Refusal> {
        self.check_any(issuer)?;
        check_authority(issuer, is_trusted)?;
        // §6.1.4 (l): self-issued certificates do not count.
        let between = path[1..].iter().filter(|one| !one.is_self_issued()).count();
        let limit = issuer.extensions().basic_constraints.and_then(|constraints| constraints.path_len);
        if let Some(limit) = limit
            && between > limit as usize
        {
            return Err(Refusal::PathLength { limit, found: between });
        }
        match &self.policy.purpose {
            Some(purpose) => check_purpose(issuer, purpose),
            None => Ok(()),
        }
    }

    fn check_signature(&mut self, signed: &Certificate, key: &VerifyingKey) -> Result<(), Refusal> {
        let algorithm = signed.signature_algorithm().map_err(|cause| Refusal::Signature(Box::new(cause)))?;
        self.check_algorithm(algorithm)?;
        self.spend()?;
        signed.verify_signature(key).map_err(|cause| Refusal::Signature(Box::new(cause)))
    }

    fn spend(&mut self) -> Result<(), Refusal> {
        self.signatures += 1;
        if self.signatures > MAX_SIGNATURES { Err(Refusal::TooMuchWork) } else { Ok(()) }
    }

    /// What is asked of the first certificate alone.
    fn check_first(&mut self, leaf: &Certificate) -> Result<(), Refusal> {
        self.check_any(leaf)?;
        if let Some(purpose) = &self.policy.purpose {
            check_purpose(leaf, purpose)?;
        }
        if let (Some(wanted), Some(allowed)) = (self.policy.usage, leaf.key_usage())
            && !allowed.has(wanted)
        {
            return Err(Refusal::Usage { needed: wanted });
        }
        if let Some(name) = &self.policy.name
            && !names::has_name(leaf, name)
        {
            return Err(Refusal::OtherName { expected: name.to_string() });
        }
        if let Some(minimum) = self.policy.minimum_level {
            let key =
                VerifyingKey::from_spki(leaf.public_key()).map_err(|cause| Refusal::Key(Box::new(cause)))?;
            if key.level().is_none_or(|level| level < minimum) {
                return Err(Refusal::Weak { found: key.algorithm_name(), minimum });
            }
        }
        Ok(())
    }

    /// What is asked of every certificate.
    fn check_any(&self, certificate: &Certificate) -> Result<(), Refusal> {
        let policy = self.policy;
        if policy.now < certificate.not_before() {
            return Err(Refusal::NotYetValid { from: certificate.not_before() });
        }
        if policy.now > certificate.not_after() {
            return Err(Refusal::Expired { since: certificate.not_after() });
        }
        if let Some(unknown) =
            certificate.extensions().all.iter().find(|one| one.critical && !is_processed(one.oid.content()))
        {
            return Err(Refusal::UnknownCritical { oid: unknown.oid.clone() });
        }
        if certificate.issuer().is_empty() {
            return Err(Refusal::NoIssuerName);
        }
        self.check_key(certificate)
    }

    /// RFC 9881 §5: a key that only signs says so, if it says anything.
    fn check_key(&self, certificate: &Certificate) -> Result<(), Refusal> {
        let only_signs = match key_of(certificate.public_key()) {
            Ok(KeyKind::Composite) if !self.policy.draft => return Err(Refusal::Draft),
            Ok(kind) => kind != KeyKind::Classical,
            Err(cause) => return Err(Refusal::Key(Box::new(cause))),
        };
        match certificate.key_usage() {
            Some(usage) if only_signs && !usage.is_for_signatures_only() => {
                Err(Refusal::UsageOfSigner { found: usage })
            }
            _ => Ok(()),
        }
    }

    fn check_algorithm(&self, algorithm: SignatureAlgorithm) -> Result<(), Refusal> {
        #[cfg(feature = "composite")]
        if matches!(algorithm, SignatureAlgorithm::Composite(_)) && !self.policy.draft {
            return Err(Refusal::Draft);
        }
        match self.policy.minimum_level {
            Some(minimum) if algorithm.level().is_none_or(|level| level < minimum) => {
                Err(Refusal::Weak { found: algorithm.name(), minimum })
            }
            _ => Ok(()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Classical,
    #[cfg_attr(
        not(feature = "composite"),
        allow(dead_code, reason = "a build without composites meets none")
    )]
    Composite,
    MlDsa,
}

/// What kind of key it is, without arithmetic; keys of other kinds, as those of key encapsulation, are as classical ones:
/// nothing is known of them.
fn key_of(spki: &[u8]) -> Result<KeyKind, Error> {
    match crate::spki::from_der(spki) {
        Ok(info) if matches!(info.algorithm(), crate::KeyAlgorithm::MlDsa(_)) => Ok(KeyKind::MlDsa),
        Ok(_) => Ok(KeyKind::Classical),
        Err(Error::AlgorithmUnknown { .. }) => {
            #[cfg(feature = "composite")]
            if let Some(read) = crate::composite::from_spki_if(spki) {
                return read.map(|_| KeyKind::Composite);
            }
            Ok(KeyKind::Classical)
        }
        Err(other) => Err(other),
    }
}

/// §6.1.4 (k), (n): it may sign certificates. A trusted one of version 1 has no way to say so.
fn check_authority(issuer: &Certificate, is_trusted: bool) -> Result<(), Refusal> {
    let old_root = is_trusted && issuer.version() == 1;
    if !issuer.is_ca() && !old_root {
        return Err(Refusal::NotAuthority);
    }
    match issuer.key_usage() {
        Some(usage) if !usage.has(KeyUsage::KEY_CERT_SIGN) => {
            Err(Refusal::Usage { needed: KeyUsage::KEY_CERT_SIGN })
        }
        _ => Ok(()),
    }
}

/// Names and, where both say them, identifiers.
fn may_have_issued(issuer: &Certificate, below: &Certificate) -> bool {
    issuer.subject() == below.issuer()
        && match (below.authority_key_id(), issuer.subject_key_id()) {
            (Some(wanted), Some(found)) => wanted == found,
            _ => true,
        }
}

/// A key and name that stand in the path already would only go round.
fn same_key(path: &[&Certificate], issuer: &Certificate) -> bool {
    path.iter().any(|one| one.public_key() == issuer.public_key() && one.subject() == issuer.subject())
}

/// §4.2.1.12: where there is an extKeyUsage it lists the purpose, or any. Of authorities too, as is custom.
fn check_purpose(certificate: &Certificate, purpose: &Oid) -> Result<(), Refusal> {
    let listed = certificate.extensions().ext_key_usage.as_ref();
    let any = |found: &Oid| found == purpose || found.content() == oids::ANY_EXT_KEY_USAGE;
    match listed {
        Some(list) if !list.iter().any(any) => Err(Refusal::Purpose { needed: purpose.clone() }),
        _ => Ok(()),
    }
}

/// Extensions that are looked at, so that they may be critical.
fn is_processed(oid: &[u8]) -> bool {
    matches!(
        oid,
        oids::BASIC_CONSTRAINTS
            | oids::KEY_USAGE
            | oids::SUBJECT_ALT_NAME
            | oids::NAME_CONSTRAINTS
            | oids::EXT_KEY_USAGE
            | oids::CERTIFICATE_POLICIES
            | oids::AUTHORITY_KEY_ID
            | oids::SUBJECT_KEY_ID
            | oids::CRL_DISTRIBUTION_POINTS
    )
}
