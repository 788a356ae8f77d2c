//! How a client knows people, OpenID Connect Core 1.0 §8.

use serde::{Deserialize, Serialize};

use super::{HttpsUri, RedirectUri};

/// What a client sees of a person's `sub`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "subject_type", rename_all = "snake_case", deny_unknown_fields)]
pub enum SubjectType {
    /// The same as every other client with this type.
    #[default]
    Public,
    /// Another one than the clients of other sectors, §8.1.
    Pairwise {
        /// Who shares it: a host, in lower case.
        sector: String,
        /// Where the redirect URIs of the sector are listed, if they have several hosts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sector_identifier_uri: Option<HttpsUri>,
    },
}

impl SubjectType {
    /// Whether it is the same for all.
    pub fn is_public(&self) -> bool {
        *self == Self::Public
    }

    /// Its name, OpenID Connect Dynamic Client Registration 1.0 §2.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Pairwise { .. } => "pairwise",
        }
    }
}

/// The sector of redirect URIs that name one: the one host of `https` URIs. Addresses of the person's own machine and
/// schemes of applications name nobody, so that unrelated applications do not share a sector.
/// §8.1. Errors: what is wrong, to follow "the redirect URIs".
pub(crate) fn sector(uris: &[RedirectUri]) -> Result<String, &'static str> {
    let mut hosts = uris.iter().map(RedirectUri::https_host);
    let first = hosts.next().ok_or("are none")?;
    match first {
        None => Err("have no host that names a sector"),
        Some(host) if hosts.all(|other| other.as_deref() == Some(host.as_str())) => Ok(host),
        Some(_) => Err("have several hosts"),
    }
}
