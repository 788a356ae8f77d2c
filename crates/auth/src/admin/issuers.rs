//! The issuers whose assertions are taken for a grant.

use super::Admin;
use crate::Error;
use crate::audit::What;
use crate::clock::{CLOCK_SLACK_SECONDS, later, random_id};
use crate::store::{Kind, NewRecord, Version, Write};
use crate::trusted::{Fault, TrustedIssuer, confused};

impl Admin {
    /// Trusts an issuer from now on; its `family` is drawn.
    /// Errors: `IssuerInvalid`, also if its subjects could be taken for those of another one; `IssuerExists`.
    pub async fn add_issuer(&self, new: TrustedIssuer) -> Result<TrustedIssuer, Error> {
        let issuer = TrustedIssuer { family: Some(random_id(&*self.randomness)?), ..new };
        let invalid = |Fault { field, what, hint }| Error::IssuerInvalid { field, what, hint: hint.into() };
        issuer.check(self.issuer.as_deref()).map_err(invalid)?;
        let stored = self.list_issuers().await?;
        let rules = stored.iter().map(|(other, _)| (&*other.issuer, &other.subject));
        let rules = rules.chain(self.configured.iter().map(|(other, rule)| (&**other, rule)));
        if let Some(other) = confused(&issuer.issuer, &issuer.subject, rules) {
            let what = format!("its subjects could be taken for those of {other}");
            return Err(invalid(Fault { field: "subject", what, hint: "no prefix that begins another" }));
        }
        let (kind, id, body) = (Kind::TrustedIssuer, issuer.issuer.clone(), issuer.to_body()?);
        let record = NewRecord { kind, id, expires_at: None, body };
        self.can_note().await?;
        match self.store.insert(record, self.clock.now()).await? {
            Write::Done(_) => {
                self.note(What::IssuerTrusted, "issuer", &issuer.issuer).await?;
                Ok(issuer)
            }
            Write::Refused => Err(Error::IssuerExists { issuer: issuer.issuer }),
        }
    }

    /// The trusted issuers of the store, by identifier.
    pub async fn list_issuers(&self) -> Result<Vec<(TrustedIssuer, Version)>, Error> {
        let records = self.store.list(Kind::TrustedIssuer, Version::ZERO, self.clock.now()).await?;
        let issuers = records.iter().map(|record| Ok((TrustedIssuer::from_record(record)?, record.version)));
        let mut issuers = issuers.collect::<Result<Vec<_>, Error>>()?;
        issuers.sort_by(|(a, _), (b, _)| a.issuer.cmp(&b.issuer));
        Ok(issuers)
    }

    /// Trusts an issuer no more; the tokens for its subjects cease to be active.
    /// Errors: `IssuerUnknown`, also when another change came first.
    pub async fn remove_issuer(&self, issuer: &str) -> Result<(), Error> {
        let (now, unknown) = (self.clock.now(), || Error::IssuerUnknown { issuer: issuer.to_owned() });
        let record = self.store.read(Kind::TrustedIssuer, issuer, now).await?.ok_or_else(unknown)?;
        self.can_note().await?;
        // The tokens first: what stops half way leaves an issuer without tokens, and not tokens without an issuer.
        if let Some(family) = TrustedIssuer::from_record(&record)?.family {
            let last = later(now, self.max_lifetime_seconds.saturating_add(CLOCK_SLACK_SECONDS));
            let mark =
                NewRecord { kind: Kind::Revocation, id: family, expires_at: Some(last), body: Vec::new() };
            let (Write::Done(_) | Write::Refused) = self.store.insert(mark, now).await?;
        }
        match self.store.remove(Kind::TrustedIssuer, issuer, record.version).await? {
            Write::Done(_) => self.note(What::IssuerRemoved, "issuer", issuer).await,
            Write::Refused => Err(unknown()),
        }
    }
}
