//! Which sector a client belongs to, OpenID Connect Core 1.0 §8.1: found out once, when it is registered.

use super::{Admin, NewClient};
use crate::Error;
use crate::client::{HttpsUri, SubjectType, sector};
use crate::outbound::Fetched;

/// What a client to be registered is to see of a person's `sub`.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NewSubject {
    /// Another one than the clients of other sectors, §8.1.
    Pairwise {
        /// Where the redirect URIs of the sector are listed. Without it they must have one host, which is the sector.
        sector_identifier_uri: Option<HttpsUri>,
    },
    /// The same as every other client with this type.
    #[default]
    Public,
}

impl Admin {
    /// The type, with the sector.
    /// Errors: `ClientInvalid`.
    pub(super) async fn subject(&self, new: &NewClient) -> Result<SubjectType, Error> {
        let uris = &new.code_flow.redirect_uris;
        let invalid = |what: String, hint: &str| {
            Err(Error::ClientInvalid { field: "sector", what, hint: hint.to_owned() })
        };
        let uri = match &new.subject {
            NewSubject::Public => return Ok(SubjectType::Public),
            NewSubject::Pairwise { sector_identifier_uri: None } => {
                return match sector(uris) {
                    Ok(sector) => Ok(SubjectType::Pairwise { sector, sector_identifier_uri: None }),
                    Err(what) => invalid(
                        format!("its redirect URIs {what}"),
                        "a sector_identifier_uri names the sector",
                    ),
                };
            }
            NewSubject::Pairwise { sector_identifier_uri: Some(uri) } => uri,
        };
        self.check_address("sector_identifier_uri", uri)?;
        let hint = "a JSON array of the redirect URIs of every client of the sector";
        let listed = match self.outbound.get(uri, None).await {
            Ok(Fetched::Document { body, .. }) => serde_json::from_slice::<Vec<String>>(&body),
            Ok(Fetched::Unchanged) => return invalid("its list cannot be read".into(), hint),
            Err(cause) => return invalid(format!("its list cannot be fetched: {cause}"), hint),
        };
        let Ok(listed) = listed else { return invalid("its list is not one".into(), hint) };
        match uris.iter().find(|uri| !listed.iter().any(|known| known == uri.as_str())) {
            Some(missing) => invalid(format!("its list does not have {missing}"), hint),
            None => Ok(SubjectType::Pairwise {
                sector: uri.host().to_ascii_lowercase(),
                sector_identifier_uri: Some(uri.clone()),
            }),
        }
    }
}
