//! What an administrator does to a store: clients and trusted issuers come and go. Running servers on the same store notice by themselves,
//! within `store.poll_milliseconds`.

use std::collections::BTreeSet;
use std::sync::Arc;

use sealstone_jose::Algorithm;

use crate::Error;
use crate::client::{AssertionKeys, Authentication, Client, ClientSecret, Exchange, Grant};
use crate::clock::{CLOCK_SLACK_SECONDS, Clock, OsRandomness, Randomness, SystemClock, later, random_id};
use crate::config::Config;
use crate::data_dir;
use crate::protocol::token_client::is_scope_token;
use crate::store::{Kind, NewRecord, Sqlite, Store, Version, Write};
use crate::trusted::{Fault, SubjectRule, TrustedIssuer, confused};

/// The lifetime of tokens where a client names none.
pub const DEFAULT_TOKEN_LIFETIME_SECONDS: u64 = 900;

/// A store in an administrator's hands.
pub struct Admin {
    algorithms: Vec<Algorithm>,
    clock: Arc<dyn Clock>,
    /// The trusted issuers of the configuration, and what their subjects are called.
    configured: Vec<(String, SubjectRule)>,
    /// Who this server is, as far as the configuration says.
    issuer: Option<String>,
    max_lifetime_seconds: u64,
    randomness: Arc<dyn Randomness>,
    store: Arc<dyn Store>,
}

/// A client to be registered. `NewClient::default()` may get ML-DSA-65 tokens for 15 minutes by client credentials,
/// without scopes, for the issuer as audience, and sends its secret by `client_secret_basic`.
#[derive(Clone, Debug)]
pub struct NewClient {
    /// The algorithm of its tokens: one of `tokens.algorithms`.
    pub algorithm: Algorithm,
    /// The audiences of its tokens. Empty: the issuer.
    pub audiences: Vec<String>,
    /// How it proves who it is.
    pub authentication: NewAuthentication,
    /// Whether each of its token requests must come with a DPoP proof.
    pub dpop_bound_access_tokens: bool,
    /// Which tokens it may exchange, and for what. Goes with [`Grant::TokenExchange`].
    pub exchange: Exchange,
    /// What it may ask the token endpoint for.
    pub grants: BTreeSet<Grant>,
    /// Its identifier; `None` draws one.
    pub id: Option<String>,
    /// A name for people.
    pub name: String,
    /// The audiences it answers for as a resource server.
    pub resources: Vec<String>,
    /// The scopes it may have.
    pub scopes: BTreeSet<String>,
    /// How long its tokens live.
    pub token_lifetime_seconds: u64,
}

/// How a client to be registered will prove who it is. A secret is drawn by the server.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub enum NewAuthentication {
    /// `client_secret_basic`.
    #[default]
    ClientSecretBasic,
    /// `client_secret_post`.
    ClientSecretPost,
    /// `private_key_jwt`, with the client's public keys.
    PrivateKeyJwt(AssertionKeys),
}

/// The most keys a client may register: enough for a rotation of each algorithm.
const MOST_KEYS: usize = 16;

impl Default for NewClient {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::MlDsa65,
            audiences: Vec::new(),
            authentication: NewAuthentication::default(),
            dpop_bound_access_tokens: false,
            exchange: Exchange::default(),
            grants: BTreeSet::from([Grant::ClientCredentials]),
            id: None,
            name: String::new(),
            resources: Vec::new(),
            scopes: BTreeSet::new(),
            token_lifetime_seconds: DEFAULT_TOKEN_LIFETIME_SECONDS,
        }
    }
}

impl Admin {
    /// Opens the store of a configuration's data directory, whether or not a server runs on it.
    pub fn open(config: &Config) -> Result<Self, Error> {
        config.check()?;
        data_dir::create(&config.data_dir)?;
        let store = Sqlite::open(&data_dir::store(&config.data_dir))?;
        Ok(Self::new(config, Arc::new(store), Arc::new(SystemClock), Arc::new(OsRandomness)))
    }

    /// An administrator of a store that is open already.
    pub fn new(
        config: &Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self {
            algorithms: config.tokens.algorithms.clone(),
            clock,
            configured: config.trusted_issuers.iter().map(|one| (one.issuer.clone(), one.rule())).collect(),
            issuer: config.issuer.clone(),
            max_lifetime_seconds: config.tokens.max_lifetime_seconds.get(),
            randomness,
            store,
        }
    }

    /// Registers a client and draws its secret, where its method has one. The secret is not kept and cannot be shown
    /// again.
    /// Errors: `ClientInvalid`, `ClientExists`.
    pub async fn add_client(&self, new: NewClient) -> Result<(Client, Option<ClientSecret>), Error> {
        let id = match &new.id {
            Some(id) => id.clone(),
            None => random_id(&*self.randomness)?,
        };
        self.check(&id, &new)?;
        let (authentication, secret) = self.enrol(new.authentication)?;
        let now = self.clock.now();
        let client = Client {
            algorithm: new.algorithm,
            audiences: new.audiences,
            authentication,
            created_at: now,
            dpop_bound_access_tokens: new.dpop_bound_access_tokens,
            exchange: new.exchange,
            grants: new.grants,
            id: id.clone(),
            name: new.name,
            resources: new.resources,
            scopes: new.scopes,
            token_lifetime_seconds: new.token_lifetime_seconds,
        };
        let record =
            NewRecord { kind: Kind::Client, id: id.clone(), expires_at: None, body: client.to_body()? };
        match self.store.insert(record, now).await? {
            Write::Done(_) => Ok((client, secret)),
            Write::Refused => Err(Error::ClientExists { id }),
        }
    }

    /// Draws what is to be drawn.
    fn enrol(&self, new: NewAuthentication) -> Result<(Authentication, Option<ClientSecret>), Error> {
        let by_secret = |keep: fn(_) -> Authentication| {
            let secret = ClientSecret::generate(&*self.randomness)?;
            Ok((keep(secret.hash()), Some(secret)))
        };
        match new {
            NewAuthentication::ClientSecretBasic => by_secret(Authentication::ClientSecretBasic),
            NewAuthentication::ClientSecretPost => by_secret(Authentication::ClientSecretPost),
            NewAuthentication::PrivateKeyJwt(keys) => Ok((Authentication::PrivateKeyJwt(keys), None)),
        }
    }

    /// The registered clients, by id, each with the version of its record.
    pub async fn list_clients(&self) -> Result<Vec<(Client, Version)>, Error> {
        let records = self.store.list(Kind::Client, Version::ZERO, self.clock.now()).await?;
        let clients = records.iter().map(|record| Ok((Client::from_record(record)?, record.version)));
        let mut clients = clients.collect::<Result<Vec<_>, Error>>()?;
        clients.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        Ok(clients)
    }

    /// Removes a client; its tokens cease to be active. With `expected`, only if its record still has that version.
    /// Errors: `ClientUnknown`, also when another change came first.
    pub async fn remove_client(&self, id: &str, expected: Option<Version>) -> Result<(), Error> {
        let unknown = || Error::ClientUnknown { id: id.to_owned() };
        let expected = match expected {
            Some(version) => version,
            None => self.store.read(Kind::Client, id, self.clock.now()).await?.ok_or_else(unknown)?.version,
        };
        match self.store.remove(Kind::Client, id, expected).await? {
            Write::Done(_) => Ok(()),
            Write::Refused => Err(unknown()),
        }
    }

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
        match self.store.insert(record, self.clock.now()).await? {
            Write::Done(_) => Ok(issuer),
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
        // The tokens first: what stops half way leaves an issuer without tokens, and not tokens without an issuer.
        if let Some(family) = TrustedIssuer::from_record(&record)?.family {
            let last = later(now, self.max_lifetime_seconds.saturating_add(CLOCK_SLACK_SECONDS));
            let mark =
                NewRecord { kind: Kind::Revocation, id: family, expires_at: Some(last), body: Vec::new() };
            let (Write::Done(_) | Write::Refused) = self.store.insert(mark, now).await?;
        }
        match self.store.remove(Kind::TrustedIssuer, issuer, record.version).await? {
            Write::Done(_) => Ok(()),
            Write::Refused => Err(unknown()),
        }
    }

    /// Every bound of a client's fields.
    fn check(&self, id: &str, new: &NewClient) -> Result<(), Error> {
        let invalid = |field, what: String, hint: &str| {
            Err(Error::ClientInvalid { field, what, hint: hint.to_owned() })
        };
        if id.is_empty() || id.len() > 128 || !id.bytes().all(|byte| byte.is_ascii_graphic()) {
            return invalid(
                "id",
                format!("{} bytes", id.len()),
                "1 to 128 printable ASCII characters without spaces",
            );
        }
        if new.name.len() > 256 || new.name.chars().any(char::is_control) {
            return invalid(
                "name",
                "too long or with control characters".into(),
                "at most 256 bytes on one line",
            );
        }
        if let Some(scope) = new.scopes.iter().find(|scope| scope.len() > 128 || !is_scope_token(scope)) {
            let hint = "printable ASCII without space, quotation mark or backslash, as in orders:read";
            return invalid("scope", format!("`{}`", scope.escape_debug()), hint);
        }
        let exchange: Vec<String> = new.exchange.from.union(&new.exchange.to).cloned().collect();
        for (field, names) in
            [("audience", &new.audiences), ("resource", &new.resources), ("exchange", &exchange)]
        {
            let wrong = |name: &&String| {
                name.is_empty() || name.len() > 512 || !name.bytes().all(|b| b.is_ascii_graphic())
            };
            if let Some(name) = names.iter().find(wrong) {
                let hint = "printable ASCII without spaces, as in https://orders.example.org";
                return invalid(field, format!("`{}`", name.escape_debug()), hint);
            }
        }
        if let NewAuthentication::PrivateKeyJwt(AssertionKeys { keys, .. }) = &new.authentication
            && !(1..=MOST_KEYS).contains(&keys.keys().len())
        {
            let unused =
                keys.ignored().first().map(|first| format!("; the first unused one: {}", first.reason));
            let what = format!("{} usable keys{}", keys.keys().len(), unused.unwrap_or_default());
            return invalid("JWK set", what, "1 to 16 public keys (EC, Ed25519 or ML-DSA) in `keys`");
        }
        let exchanges = new.grants.contains(&Grant::TokenExchange);
        if (exchanges, exchanges) != (new.exchange.is_whole(), !new.exchange.is_none()) {
            let hint = "the grant, audiences whose tokens it may exchange, and audiences that it may ask for";
            return invalid("exchange", "something of what goes together is missing".into(), hint);
        }
        if !self.algorithms.contains(&new.algorithm) {
            let enabled: Vec<_> = self.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let hint = format!(
                "enabled are {}; `tokens.algorithms` in the configuration enables more",
                enabled.join(", ")
            );
            return invalid("algorithm", format!("{} is not enabled", new.algorithm.name()), &hint);
        }
        if new.token_lifetime_seconds == 0 || new.token_lifetime_seconds > self.max_lifetime_seconds {
            let hint = format!(
                "1 to {} seconds; `tokens.max_lifetime_seconds` sets the bound",
                self.max_lifetime_seconds
            );
            return invalid("token lifetime", format!("{} seconds", new.token_lifetime_seconds), &hint);
        }
        Ok(())
    }
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}
