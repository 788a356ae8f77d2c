//! Which tokens a client may exchange, and for what: RFC 8693.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// A client's policy. By default it may exchange nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Exchange {
    /// The audiences whose tokens it may exchange: as a rule those that it answers for.
    pub from: BTreeSet<String>,
    /// Whether it may leave itself out of the new token (impersonation, RFC 8693 §1.1).
    pub impersonation: bool,
    /// The audiences that it may ask for.
    pub to: BTreeSet<String>,
}

impl Exchange {
    /// Whether there is none.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// Whether some token can be exchanged for some audience.
    pub fn is_whole(&self) -> bool {
        !self.from.is_empty() && !self.to.is_empty()
    }
}
