//! The clients of the configuration, brought into the store when a server starts.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use super::{Admin, NewAuthentication, NewSubject, made};
use crate::Error;
use crate::audit::What;
use crate::client::{Authentication, Client, ClientSecret, Origin, SharedSecret, SubjectType};
use crate::config::{SecretSource, StaticClient, Wanted};
use crate::store::{Kind, NewRecord, Write};

/// A static client that could be written.
struct Ready<'a> {
    at: &'a StaticClient,
    secret: Option<ClientSecret>,
    wanted: Wanted,
}

impl Admin {
    /// Writes the clients of the configuration, and disables those of `before` that it has no more. Each write is
    /// conditional, so that servers that start together agree; of two configurations that of the last start counts.
    /// Nothing is written if one of them is wrong.
    /// Errors: `Config`, with the line; those of the store.
    pub(crate) async fn apply_static(
        &self,
        clients: &[StaticClient],
        before: &[String],
    ) -> Result<(), Error> {
        let (mut ready, mut ids) = (Vec::new(), BTreeSet::new());
        for at in clients {
            let ready_one = self.ready(at).await?;
            if !ids.insert(ready_one.wanted.id.clone()) {
                return Err(at.fault("client_id", "it is there twice", "each id stands once"));
            }
            ready.push(ready_one);
        }
        if ready.is_empty() && before.is_empty() {
            return Ok(());
        }
        self.can_note().await?;
        for one in &ready {
            self.put(one).await?;
        }
        for id in before.iter().filter(|id| !ids.contains(*id)) {
            self.withdraw(id).await?;
        }
        Ok(())
    }

    /// Checks everything that can be checked before something is written.
    async fn ready<'a>(&self, at: &'a StaticClient) -> Result<Ready<'a>, Error> {
        let wanted = at.wanted()?;
        self.check(&wanted.id, &wanted.new).map_err(|cause| at.at(cause))?;
        let method = &wanted.new.authentication;
        let has_secret = matches!(
            method,
            NewAuthentication::ClientSecretBasic
                | NewAuthentication::ClientSecretPost
                | NewAuthentication::ClientSecretJwt(..)
        );
        let name = method.method().name();
        let secret = match (&wanted.secret, has_secret) {
            (SecretSource::None, false) => None,
            (SecretSource::None, true) => {
                let what = format!("{name} needs a secret");
                let hint =
                    "`client_secret_file` or `client_secret_sha256`, or another `token_endpoint_auth_method`";
                return Err(at.fault("token_endpoint_auth_method", &what, hint));
            }
            (_, false) => {
                let what = format!("a client with {name} has no secret");
                let hint = "leave `client_secret_file` and `client_secret_sha256` away";
                return Err(at.fault("token_endpoint_auth_method", &what, hint));
            }
            (SecretSource::Hash(_), true) => {
                if matches!(method, NewAuthentication::ClientSecretJwt(..)) {
                    let hint = "`client_secret_file`: the server must know it to check a MAC";
                    return Err(at.fault(
                        "client_secret_sha256",
                        "client_secret_jwt needs the secret itself",
                        hint,
                    ));
                }
                None
            }
            (SecretSource::File(file), true) => {
                let mode = std::fs::metadata(file).map_or(0, |found| found.permissions().mode());
                if mode & 0o007 != 0 {
                    tracing::warn!(
                        file = %file.display(),
                        hint = "chmod 600, for the server alone",
                        "everybody on this machine may read the secret of a static client"
                    );
                }
                Some(ClientSecret::given(at.secret(file)?))
            }
        };
        if let (NewAuthentication::ClientSecretJwt(mac, _), Some(secret)) = (method, &secret)
            && secret.reveal().len() < mac.mac_len()
        {
            let what =
                format!("the secret is shorter than {} bytes, the MAC of {}", mac.mac_len(), mac.name());
            return Err(at.fault(
                "client_secret_file",
                &what,
                "`openssl rand -hex 64` makes one that is long enough",
            ));
        }
        Ok(Ready { at, secret, wanted })
    }

    async fn put(&self, ready: &Ready<'_>) -> Result<(), Error> {
        let Wanted { id, new, .. } = &ready.wanted;
        loop {
            let now = self.clock.now();
            let record = self.store.read(Kind::Client, id, now).await?;
            let was = record.as_ref().map(Client::from_record).transpose()?;
            if was.as_ref().is_some_and(|was| was.origin.is_registered()) {
                let hint = "remove it (`sealstone client remove`), or give the static client another id";
                return Err(ready.at.fault("client_id", "a client with this id is registered already", hint));
            }
            let authentication = self.proof(ready, was.as_ref()).await?;
            let subject = match was.as_ref().filter(|was| is_sector_known(was, ready)) {
                Some(was) => was.subject.clone(),
                None => self.subject(new).await.map_err(|cause| ready.at.at(cause))?,
            };
            let created_at = was.as_ref().map_or(now, |was| was.created_at);
            let client = made(id, new.clone(), authentication, None, subject, created_at);
            let client = Client { origin: Origin::Configured, ..client };
            if was.as_ref() == Some(&client) {
                return Ok(());
            }
            let body = client.to_body()?;
            let next = NewRecord { kind: Kind::Client, id: id.clone(), expires_at: None, body };
            let (what, done) = match &record {
                Some(record) => (What::ClientChanged, self.store.replace(next, record.version, now).await?),
                None => (What::ClientRegistered, self.store.insert(next, now).await?),
            };
            if let Write::Done(_) = done {
                tracing::info!(client = %id, "a static client is as the configuration says");
                return self.note(what, "client", id).await;
            }
        }
    }

    /// How it proves who it is. What is sealed already stays as it is, so that nothing changes where nothing has changed.
    async fn proof(&self, ready: &Ready<'_>, was: Option<&Client>) -> Result<Authentication, Error> {
        let hash = match (&ready.wanted.secret, &ready.secret) {
            (SecretSource::Hash(hash), _) => Some(*hash),
            (_, Some(secret)) => Some(secret.hash()),
            _ => None,
        };
        Ok(match (ready.wanted.new.authentication.clone(), hash, &ready.secret) {
            (NewAuthentication::ClientSecretBasic, Some(hash), _) => Authentication::ClientSecretBasic(hash),
            (NewAuthentication::ClientSecretPost, Some(hash), _) => Authentication::ClientSecretPost(hash),
            (NewAuthentication::ClientSecretJwt(algorithm, audience), _, Some(secret)) => {
                let (id, sealer) = (&ready.wanted.id, self.sealer().await?);
                let kept = was.and_then(|was| was.authentication.shared_secret());
                let sealed = match kept.filter(|kept| kept.holds(id, secret, &sealer)) {
                    Some(kept) => kept.sealed.clone(),
                    None => secret.seal(id, &sealer, &*self.randomness)?,
                };
                Authentication::ClientSecretJwt(SharedSecret { algorithm, audience, sealed })
            }
            (other, ..) => self.enrol(&ready.wanted.id, other).await?.0,
        })
    }

    /// Disables a client that the configuration has no more: its tokens are not active, and nobody can use its id.
    async fn withdraw(&self, id: &str) -> Result<(), Error> {
        loop {
            let now = self.clock.now();
            let Some(record) = self.store.read(Kind::Client, id, now).await? else { return Ok(()) };
            let was = Client::from_record(&record)?;
            if was.origin != Origin::Configured {
                return Ok(());
            }
            let body = Client { origin: Origin::Withdrawn, ..was }.to_body()?;
            let next = NewRecord { kind: Kind::Client, id: id.to_owned(), expires_at: None, body };
            if let Write::Done(_) = self.store.replace(next, record.version, now).await? {
                tracing::warn!(
                    client = %id,
                    hint = "put it back into `static_clients`, or remove it with `sealstone client remove`",
                    "a static client is not in the configuration any more: it is disabled"
                );
                return self.note(What::ClientDisabled, "client", id).await;
            }
        }
    }
}

/// Whether its sector was found out for the same redirect URIs: a list that cannot be fetched must not keep a server from
/// starting twice.
fn is_sector_known(was: &Client, ready: &Ready<'_>) -> bool {
    let NewSubject::Pairwise { sector_identifier_uri: Some(uri) } = &ready.wanted.new.subject else {
        return false;
    };
    let same = matches!(
        &was.subject,
        SubjectType::Pairwise { sector_identifier_uri: Some(known), .. } if known == uri
    );
    same && was.code_flow.redirect_uris == ready.wanted.new.code_flow.redirect_uris
}
