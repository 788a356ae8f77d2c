//! Certificates of a path against revocation lists (RFC 5280 §6.3, for complete lists of the issuer itself).

use super::super::extension::oids;
use super::super::key_usage::KeyUsage;
use super::super::{Certificate, Crl};
use super::{Refusal, Search};
use crate::sign::VerifyingKey;

/// Whether revocation lists are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// They are not.
    Ignored,
    /// Every certificate below the trusted one must be covered by a list that is usable and of now.
    Required,
    /// Those of the issuer that are given must be usable and of now; where none is given, none is missed.
    WherePresent,
}

impl<'a> Search<'a, '_> {
    /// Looks the certificate up in the lists of its issuer.
    pub(super) fn check_revocation(
        &mut self,
        certificate: &Certificate,
        issuer: &Certificate,
        key: &VerifyingKey,
    ) -> Result<(), Refusal> {
        let policy = self.policy;
        if policy.revocation == Revocation::Ignored {
            return Ok(());
        }
        let (mut fresh, mut problem) = (false, None);
        for (index, crl) in policy.crls.iter().enumerate().filter(|(_, crl)| is_of(crl, issuer)) {
            match self.check_list(index, crl, issuer, key) {
                Ok(()) => fresh = true,
                Err(Refusal::TooMuchWork) => return Err(Refusal::TooMuchWork),
                // A list that is too old still knows what was revoked by then.
                Err(why @ Refusal::StaleCrl { .. }) => {
                    problem.get_or_insert(why);
                }
                // One that cannot be trusted knows nothing.
                Err(why) => {
                    problem.get_or_insert(why);
                    continue;
                }
            }
            if let Some(entry) = crl.find(certificate.serial()) {
                return Err(Refusal::Revoked { date: entry.date, reason: entry.reason });
            }
        }
        match (fresh, problem, policy.revocation) {
            (true, ..) => Ok(()),
            (false, Some(problem), _) => Err(problem),
            (false, None, Revocation::Required) => Err(Refusal::NoCrl),
            (false, None, _) => Ok(()),
        }
    }

    /// Whether a list can be used at all, and is of now.
    fn check_list(
        &mut self,
        index: usize,
        crl: &Crl,
        issuer: &Certificate,
        key: &VerifyingKey,
    ) -> Result<(), Refusal> {
        let unusable = |why: &str| Refusal::UnusableCrl { why: why.into() };
        if issuer.key_usage().is_some_and(|usage| !usage.has(KeyUsage::CRL_SIGN)) {
            return Err(unusable("its issuer's key usage is without cRLSign"));
        }
        let known = |oid: &[u8]| matches!(oid, oids::AUTHORITY_KEY_ID | oids::CRL_NUMBER);
        if let Some(other) = crl.extensions().all.iter().find(|one| one.critical && !known(one.oid.content()))
        {
            let name = other.oid.name().map_or_else(|| other.oid.to_string(), str::to_owned);
            return Err(unusable(&format!("its critical extension {name} is not processed here")));
        }
        if crl.revoked().any(|(_, entry)| entry.unknown_critical) {
            return Err(unusable("an entry has a critical extension that is not processed here"));
        }
        let algorithm = crl.signature_algorithm().map_err(|cause| unusable(&cause.to_string()))?;
        self.check_algorithm(algorithm)?;
        if !self.signature_holds(index, crl, key, issuer)? {
            return Err(unusable("its signature does not verify"));
        }
        if is_fresh(crl, self.policy.now) {
            return Ok(());
        }
        match crl.next_update() {
            _ if crl.this_update() > self.policy.now => Err(unusable("it is from the future")),
            due => Err(Refusal::StaleCrl { due }),
        }
    }

    /// Checks the signature once for each key.
    fn signature_holds(
        &mut self,
        index: usize,
        crl: &Crl,
        key: &VerifyingKey,
        issuer: &Certificate,
    ) -> Result<bool, Refusal> {
        let known = self.usable.iter().find(|(of, by, _)| *of == index && by == issuer.public_key());
        if let Some((_, _, holds)) = known {
            return Ok(*holds);
        }
        self.spend()?;
        let holds = crl.verify_signature(key).is_ok();
        self.usable.push((index, issuer.public_key().to_vec(), holds));
        Ok(holds)
    }

    /// Whether each certificate below the trusted one was looked up in a usable list.
    pub(super) fn covers(&self, path: &[&'a Certificate]) -> bool {
        self.policy.revocation != Revocation::Ignored
            && path.windows(2).all(|pair| {
                let holds = |index: usize| {
                    self.usable
                        .iter()
                        .any(|(of, by, holds)| *of == index && by == pair[1].public_key() && *holds)
                };
                self.policy
                    .crls
                    .iter()
                    .enumerate()
                    .any(|(index, crl)| is_of(crl, pair[1]) && is_fresh(crl, self.policy.now) && holds(index))
            })
    }
}

/// By name and, where both say them, identifiers.
fn is_of(crl: &Crl, issuer: &Certificate) -> bool {
    crl.issuer() == issuer.subject()
        && match (crl.authority_key_id(), issuer.subject_key_id()) {
            (Some(wanted), Some(found)) => wanted == found,
            _ => true,
        }
}

/// §5.1.2.5: a list says until when it holds.
fn is_fresh(crl: &Crl, now: i64) -> bool {
    crl.this_update() <= now && crl.next_update().is_some_and(|due| now <= due)
}
