//! `[kerberos]`: clients that show a ticket, RFC 4559.

use std::path::PathBuf;

use serde::Deserialize;

use super::reading::Fault;
use crate::client::Principal;
use crate::kerberos::BUILT;

/// `[kerberos]`: clients that show a ticket. Off unless a keytab is named, and only in a build with the feature `kerberos`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Kerberos {
    /// The file with the keys of `service`, format 2. It is read once, at the start.
    pub keytab: Option<PathBuf>,
    /// The realms whose principals may be clients. Without it: that of `service`.
    pub realms: Vec<String>,
    /// What this server is called in its realm, as in `HTTP/auth.example.org@EXAMPLE.ORG`. It goes with `keytab`.
    pub service: Option<String>,
}

impl Kerberos {
    /// The principal of the service.
    /// Errors: what is wrong with it, to follow its name.
    pub(crate) fn service(&self) -> Result<Principal, &'static str> {
        Principal::parse(self.service.as_deref().ok_or("is missing")?)
    }

    /// The realms whose principals are known.
    pub(crate) fn realms(&self) -> Vec<String> {
        match self.realms.is_empty() {
            true => self.service().map(|service| service.realm().to_owned()).into_iter().collect(),
            false => self.realms.clone(),
        }
    }

    /// What belongs together, and what this build can do.
    pub(super) fn check(&self) -> Result<(), Fault> {
        let fault =
            |key, what: &str, hint| Err(Fault { section: "kerberos", key, what: what.to_owned(), hint });
        if self.keytab.is_none() {
            return match (&self.service, &*self.realms) {
                (None, []) => Ok(()),
                (Some(_), _) => fault("service", "`service` is set, and `keytab` is not", TOGETHER),
                (None, _) => fault("realms", "`realms` is set, and `keytab` is not", TOGETHER),
            };
        }
        if !BUILT {
            let what = "`keytab` is set, and this build of the server has no Kerberos";
            return fault("keytab", what, "build it with `--features kerberos`, or leave `[kerberos]` away");
        }
        match self.service() {
            Ok(_) => {}
            Err(_) if self.service.is_none() => {
                return fault("keytab", "`keytab` is set, and `service` is not", TOGETHER);
            }
            Err(what) => {
                let hint = "one principal of the keytab, as in HTTP/auth.example.org@EXAMPLE.ORG";
                return fault("service", &format!("`service` {what}"), hint);
            }
        }
        match self.realms.iter().any(|realm| Principal::parse(&format!("a@{realm}")).is_err()) {
            true => {
                fault("realms", "one of `realms` is no realm", "names as in EXAMPLE.ORG, letter for letter")
            }
            false => Ok(()),
        }
    }
}

const TOGETHER: &str =
    "`keytab` names the file and `service` the principal in it, as in HTTP/auth.example.org@EXAMPLE.ORG";
