//! Why no path holds, as sentences.

use core::fmt;

use sealstone_mldsa::Level;

use super::super::crl::Reason;
use super::super::extension::Oid;
use super::super::key_usage::KeyUsage;
use crate::der;
use crate::error::Error;

/// Why a certificate of a path was refused. Times are counted from 1970.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A name below an authority that its constraints exclude or do not permit.
    Constraint {
        /// The name.
        name: String,
        /// The constraint that excludes it; none if none permits it.
        excluded_by: Option<String>,
    },
    /// A composite, which is a draft, and drafts were not asked for.
    Draft,
    /// Its time is over.
    Expired {
        /// The last second.
        since: i64,
    },
    /// The key cannot be used.
    Key(Box<Error>),
    /// A list was asked for, and there is none of this issuer.
    NoCrl,
    /// Nothing at hand has the name and identifier of the issuer.
    NoIssuer {
        /// Its name.
        issuer: String,
    },
    /// The issuer's name is empty.
    NoIssuerName,
    /// The issuer is no authority: basicConstraints do not say cA.
    NotAuthority,
    /// It is its own issuer, and not among the trusted ones.
    NotTrusted,
    /// Its time has not come.
    NotYetValid {
        /// The first second.
        from: i64,
    },
    /// It does not have the name that was asked for.
    OtherName {
        /// That name.
        expected: String,
    },
    /// More authorities below one than it allows.
    PathLength {
        /// How many it allows.
        limit: u32,
        /// How many there are.
        found: usize,
    },
    /// The key is not for this.
    Purpose {
        /// What was asked for.
        needed: Oid,
    },
    /// It was revoked.
    Revoked {
        /// When.
        date: i64,
        /// Why.
        reason: Reason,
    },
    /// Its signature does not verify, or is by an algorithm that is not used.
    Signature(Box<Error>),
    /// The only lists of the issuer are not of now.
    StaleCrl {
        /// When the newest of them was to be replaced; none if it does not say.
        due: Option<i64>,
    },
    /// More certificates than are followed.
    TooLong {
        /// How many are.
        limit: usize,
    },
    /// More signatures or names than are looked at.
    TooMuchWork,
    /// A critical extension that is not known here.
    UnknownCritical {
        /// Which.
        oid: Oid,
    },
    /// The only lists of the issuer cannot be used, and why.
    UnusableCrl {
        /// In words.
        why: String,
    },
    /// The key may not be used for this.
    Usage {
        /// For what.
        needed: KeyUsage,
    },
    /// The key only signs, and its key usage says other things (RFC 9881 §5).
    UsageOfSigner {
        /// What it says.
        found: KeyUsage,
    },
    /// Below the level that was asked for.
    Weak {
        /// The algorithm.
        found: &'static str,
        /// That level.
        minimum: Level,
    },
}

impl Refusal {
    /// What the reader of the message could do, where that is known.
    ///
    /// ```
    /// use sealstone_pki::Error;
    /// use sealstone_pki::x509::path::{self, Policy, Refusal};
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
    /// // Nothing is trusted: the root that signed itself is not, either.
    /// let Err(Error::Path { subject, why }) = path::verify(&root, &Policy::new(&[], 1_800_000_000)) else {
    ///     panic!("nothing is trusted");
    /// };
    /// assert_eq!(subject, "CN=Example Root");
    /// assert_eq!(*why, Refusal::NotTrusted);
    /// assert_eq!(why.to_string(), "it signed itself, and is not trusted");
    /// assert_eq!(why.hint(), Some("if you know it to be right, name it as trusted"));
    /// # Ok(())
    /// # }
    /// ```
    pub const fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Constraint { .. } => {
                "an authority above it has name constraints: ask it for a certificate of a name that it may certify"
            }
            Self::Draft => {
                "composites are as draft-ietf-lamps-pq-composite-sigs-19 has them: allow drafts to take them"
            }
            Self::Expired { .. } => "ask for a new certificate",
            Self::NoCrl => "give the issuer's revocation list",
            Self::NoIssuer { .. } => "give the certificates between, and the root that you trust",
            Self::NotAuthority => "only a certificate with basicConstraints cA may sign others",
            Self::NotTrusted => "if you know it to be right, name it as trusted",
            Self::NotYetValid { .. } => "compare the clocks",
            Self::StaleCrl { .. } => "fetch the issuer's list again",
            Self::UsageOfSigner { .. } => {
                "RFC 9881 §5: digitalSignature, nonRepudiation, keyCertSign or cRLSign, and no other"
            }
            _ => return None,
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constraint { name, excluded_by: Some(by) } => {
                write!(f, "the name {name} is excluded by the constraint {by}")
            }
            Self::Constraint { name, excluded_by: None } => {
                write!(f, "the name {name} is not among those that its authority may certify")
            }
            Self::Draft => {
                f.write_str("a composite by draft-ietf-lamps-pq-composite-sigs-19, which is a draft")
            }
            Self::Expired { since } => write!(f, "expired at {}", Time(*since)),
            Self::Key(cause) => write!(f, "its key: {cause}"),
            Self::NoCrl => f.write_str("there is no revocation list of its issuer"),
            Self::NoIssuer { issuer } => write!(f, "its issuer is not at hand: {issuer}"),
            Self::NoIssuerName => f.write_str("its issuer has no name"),
            Self::NotAuthority => f.write_str("it is no authority, and signed a certificate"),
            Self::NotTrusted => f.write_str("it signed itself, and is not trusted"),
            Self::NotYetValid { from } => write!(f, "not valid before {}", Time(*from)),
            Self::OtherName { expected } => write!(f, "it is not about {expected}"),
            Self::PathLength { limit, found } => {
                write!(f, "it allows {limit} authorities below it, found {found}")
            }
            Self::Purpose { needed } => {
                write!(
                    f,
                    "its extended key usage is without {}",
                    needed.name().unwrap_or("the one asked for")
                )
            }
            Self::Revoked { date, reason: Reason::Unspecified } => write!(f, "revoked at {}", Time(*date)),
            Self::Revoked { date, reason } => write!(f, "revoked at {}: {reason}", Time(*date)),
            Self::Signature(cause) => match &**cause {
                Error::BadSignature => f.write_str("its signature does not verify"),
                cause => write!(f, "its signature: {cause}"),
            },
            Self::StaleCrl { due: Some(due) } => {
                write!(f, "the revocation list of its issuer was to be replaced at {}", Time(*due))
            }
            Self::StaleCrl { due: None } => {
                f.write_str("the revocation list of its issuer does not say when it is to be replaced")
            }
            Self::TooLong { limit } => write!(f, "more than {limit} certificates in the path"),
            Self::TooMuchWork => {
                f.write_str("more signatures or names than are looked at for one certificate")
            }
            Self::UnknownCritical { oid } => match oid.name() {
                Some(name) => write!(f, "the critical extension {name} ({oid}) is not processed here"),
                None => write!(f, "the critical extension {oid} is not known"),
            },
            Self::UnusableCrl { why } => write!(f, "the revocation list of its issuer cannot be used: {why}"),
            Self::Usage { needed } => write!(f, "its key usage is without {needed}"),
            Self::UsageOfSigner { found } => write!(f, "its key only signs, and its key usage says {found}"),
            Self::Weak { found, minimum } => write!(f, "{found} is below {minimum}, the least that is taken"),
        }
    }
}

/// A time as `2026-11-22 04:00:00 UTC`.
struct Time(i64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (year, month, day) = der::date(self.0.div_euclid(86_400));
        let second = self.0.rem_euclid(86_400);
        let (hour, minute) = (second / 3600, second / 60 % 60);
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{:02} UTC", second % 60)
    }
}
