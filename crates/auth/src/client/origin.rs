//! Where a client's registration comes from.

use serde::{Deserialize, Serialize};

/// Who decides about a client.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration (`static_clients`): it is changed there and nowhere else.
    Configured,
    /// Who registered it: an administrator, or the client itself.
    #[default]
    Registered,
    /// It was of the configuration and is there no more. It is disabled, as if there were no such client, and comes back
    /// as it was when the configuration names it again.
    Withdrawn,
}

impl Origin {
    /// Whether somebody else than the configuration may change it.
    pub(crate) fn is_registered(&self) -> bool {
        *self == Origin::Registered
    }
}
