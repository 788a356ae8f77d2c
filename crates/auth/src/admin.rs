//! What an administrator does to a store: clients, trusted issuers and users come and go. Running servers on the same store
//! notice by themselves,
//! within `store.poll_milliseconds`.

mod configured;
mod issuers;
mod profile;
mod sectors;
mod sessions;
mod signing_keys;
mod users;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sealstone_jose::mac::MacAlgorithm;
use sealstone_jose::{Algorithm, UnixSeconds};

use zeroize::Zeroizing;

use crate::Error;
use crate::audit::{Book, Event, What};
use crate::client::{
    self, AssertionAudience, AssertionKeys, AuthMethod, Authentication, CertificateName, Client,
    ClientSecret, CodeFlow, Exchange, Grant, HttpsUri, KeySource, Logout, Origin, Principal, Profile,
    SecretHash, SharedSecret, SubjectType,
};
use crate::clock::{Clock, OsRandomness, Randomness, SystemClock, random_id, random_secret};
use crate::config::Config;
use crate::data_dir;
use crate::keys::{Policy, Sealer};
use crate::outbound::{self, Outbound, SystemResolver};
use crate::people::Passwords;
use crate::protocol::target::is_scope_token;
use crate::store::{Kind, NewRecord, Sqlite, Store, Version, Write};
use crate::trusted::SubjectRule;

pub use sectors::NewSubject;
pub use signing_keys::SigningKey;
pub use users::NewUser;

/// The lifetime of tokens where a client names none.
pub const DEFAULT_TOKEN_LIFETIME_SECONDS: u64 = 900;

/// A store in an administrator's hands. Cloning shares it.
#[derive(Clone)]
pub struct Admin {
    /// The client that acts, where it is not somebody at this machine.
    actor: Option<String>,
    algorithms: Vec<Algorithm>,
    allow_private_addresses: bool,
    auth_methods: Vec<AuthMethod>,
    /// Where changes are written down, if they are.
    book: Option<Book>,
    /// Whether this server's listener asks for certificates.
    certificates: bool,
    clock: Arc<dyn Clock>,
    /// The trusted issuers of the configuration, and what their subjects are called.
    configured: Vec<(String, SubjectRule)>,
    data_dir: PathBuf,
    /// Who this server is, as far as the configuration says.
    issuer: Option<String>,
    key_policy: Policy,
    /// The realms whose principals can be clients.
    kerberos_realms: Vec<String>,
    max_lifetime_seconds: u64,
    outbound: Arc<Outbound>,
    passwords: Passwords,
    randomness: Arc<dyn Randomness>,
    /// Without it, that of the data directory, once there is something to seal.
    sealer: Option<Arc<Sealer>>,
    store: Arc<dyn Store>,
}

/// The sealer of a data directory, which is made where the store has nothing sealed yet.
/// Errors: those of [`Sealer::open`].
pub(crate) async fn sealer(
    data_dir: &Path,
    store: &dyn Store,
    randomness: &dyn Randomness,
    now: UnixSeconds,
) -> Result<Sealer, Error> {
    let keys = store.versions().await?.signing_keys;
    let nothing_sealed = keys == Version::ZERO && !client::any_sealed(store, now).await?;
    Sealer::open(data_dir, nothing_sealed, randomness)
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
    /// What it may do at the authorization endpoint.
    pub code_flow: CodeFlow,
    /// Whether each of its token requests must come with a DPoP proof.
    pub dpop_bound_access_tokens: bool,
    /// Which tokens it may exchange, and for what. Goes with [`Grant::TokenExchange`].
    pub exchange: Exchange,
    /// Whether its tokens are bound to the certificate of its connection, RFC 8705 §3. Any client can have them so,
    /// whatever its method.
    pub tls_client_certificate_bound_access_tokens: bool,
    /// What it may ask the token endpoint for.
    pub grants: BTreeSet<Grant>,
    /// Its identifier; `None` draws one.
    pub id: Option<String>,
    /// What signs introspections that it asks for as JWTs, RFC 9701 §6; `None`: what signs its tokens.
    pub introspection_signed_response_alg: Option<Algorithm>,
    /// How it takes part when a person signs out.
    pub logout: Logout,
    /// A name for people.
    pub name: String,
    /// What it is to be held to besides.
    pub profile: Option<Profile>,
    /// The audiences it answers for as a resource server.
    pub resources: Vec<String>,
    /// The scopes it may have.
    pub scopes: BTreeSet<String>,
    /// What it sees of a person's `sub`.
    pub subject: NewSubject,
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
    /// `client_secret_jwt`, with the MAC of its assertions and what their `aud` must be.
    ClientSecretJwt(MacAlgorithm, AssertionAudience),
    /// `client_secret_post`.
    ClientSecretPost,
    /// `kerberos_client_auth`, with the principal of the client's tickets.
    KerberosClientAuth(Principal),
    /// `none`: a client that cannot keep a secret.
    None,
    /// `private_key_jwt`, with the client's public keys.
    PrivateKeyJwt(AssertionKeys),
    /// `self_signed_tls_client_auth`, with the client's certificates or their keys.
    SelfSignedTlsClientAuth(KeySource),
    /// `tls_client_auth`, with the name that its certificates bear.
    TlsClientAuth(CertificateName),
}

impl NewAuthentication {
    /// The method.
    pub const fn method(&self) -> AuthMethod {
        match self {
            NewAuthentication::ClientSecretBasic => AuthMethod::ClientSecretBasic,
            NewAuthentication::ClientSecretJwt(..) => AuthMethod::ClientSecretJwt,
            NewAuthentication::ClientSecretPost => AuthMethod::ClientSecretPost,
            NewAuthentication::KerberosClientAuth(_) => AuthMethod::KerberosClientAuth,
            NewAuthentication::None => AuthMethod::None,
            NewAuthentication::PrivateKeyJwt(_) => AuthMethod::PrivateKeyJwt,
            NewAuthentication::SelfSignedTlsClientAuth(_) => AuthMethod::SelfSignedTlsClientAuth,
            NewAuthentication::TlsClientAuth(_) => AuthMethod::TlsClientAuth,
        }
    }
}

/// What a server must have to see a client's certificate.
const CERTIFICATES_NEED: &str = "this server must end TLS itself (`tls.mode`) and ask for certificates (`tls.client_certificates = \"ask\"`)";
/// What a server must have to accept tickets.
const KERBEROS_NEEDS: &str =
    "it goes with `kerberos.keytab` in the configuration, and a build with the feature `kerberos`";
/// The most keys a client may register: enough for a rotation of each algorithm.
const MOST_KEYS: usize = 16;

impl Default for NewClient {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::MlDsa65,
            audiences: Vec::new(),
            authentication: NewAuthentication::default(),
            code_flow: CodeFlow::default(),
            dpop_bound_access_tokens: false,
            exchange: Exchange::default(),
            tls_client_certificate_bound_access_tokens: false,
            grants: BTreeSet::from([Grant::ClientCredentials]),
            id: None,
            introspection_signed_response_alg: None,
            logout: Logout::default(),
            name: String::new(),
            profile: None,
            resources: Vec::new(),
            scopes: BTreeSet::new(),
            subject: NewSubject::default(),
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
        let admin = Self::new(config, Arc::new(store), Arc::new(SystemClock), Arc::new(OsRandomness));
        Ok(admin.with_book(Book::of(&config.audit, &config.data_dir, Arc::new(OsRandomness))))
    }

    /// An administrator of a store that is open already.
    pub fn new(
        config: &Config,
        store: Arc<dyn Store>,
        clock: Arc<dyn Clock>,
        randomness: Arc<dyn Randomness>,
    ) -> Self {
        Self {
            actor: None,
            algorithms: config.tokens.algorithms.clone(),
            allow_private_addresses: config.outbound.allow_private_addresses,
            auth_methods: config.auth_methods(),
            book: None,
            certificates: config.asks_for_certificates(),
            clock,
            configured: config.trusted_issuers.iter().map(|one| (one.issuer.clone(), one.rule())).collect(),
            data_dir: config.data_dir.clone(),
            issuer: config.issuer.clone(),
            key_policy: Policy::of(config),
            kerberos_realms: config.kerberos.realms(),
            max_lifetime_seconds: config.tokens.max_lifetime_seconds.get(),
            outbound: Arc::new(Outbound::new(&config.outbound, Arc::new(SystemResolver))),
            passwords: config.passwords.pool(),
            randomness,
            sealer: None,
            store,
        }
    }

    /// With a sealer that is open already.
    #[must_use]
    pub fn with_sealer(self, sealer: Arc<Sealer>) -> Self {
        Self { sealer: Some(sealer), ..self }
    }

    /// With the way to what clients publish that a server has.
    #[must_use]
    pub(crate) fn with_outbound(self, outbound: Outbound) -> Self {
        Self { outbound: Arc::new(outbound), ..self }
    }

    /// Whose changes are written down in `book`.
    #[must_use]
    pub fn with_book(self, book: Option<Book>) -> Self {
        Self { book, ..self }
    }

    /// The same, for a client: what it changes is written down with its id.
    #[must_use]
    pub(crate) fn acting_for(&self, client: &str) -> Self {
        Self { actor: Some(client.to_owned()), ..self.clone() }
    }

    /// That what is about to be changed can be written down. If it cannot, nothing is changed.
    async fn can_note(&self) -> Result<(), Error> {
        let Some(book) = self.book.clone() else { return Ok(()) };
        let (sealer, now) = (self.sealer().await?, self.clock.now());
        blocking(move || book.check(&sealer, now)).await
    }

    /// Writes down what was changed: who, in the member `name`.
    async fn note(&self, what: What, name: &'static str, who: &str) -> Result<(), Error> {
        let Some(book) = self.book.clone() else { return Ok(()) };
        let event = Event::new(what, self.clock.now()).with(name, who).with_some("by", self.actor.as_deref());
        let sealer = self.sealer().await?;
        blocking(move || book.write(event, &sealer)).await
    }

    /// Registers a client and draws its secret, where its method has one. The secret is not kept and cannot be shown
    /// again.
    /// Errors: `ClientInvalid`, `ClientExists`.
    pub async fn add_client(&self, new: NewClient) -> Result<(Client, Option<ClientSecret>), Error> {
        self.insert_client(new, None).await
    }

    /// Registers a client that comes by itself, and draws what it will manage its registration with, RFC 7592 §3.
    /// Errors: those of [`add_client`](Self::add_client).
    pub(crate) async fn register_client(
        &self,
        new: NewClient,
    ) -> Result<(Client, Option<ClientSecret>, Zeroizing<String>), Error> {
        let token = random_secret(&*self.randomness, 32)?;
        let (client, secret) = self.insert_client(new, Some(SecretHash::of(&token))).await?;
        Ok((client, secret, token))
    }

    /// Registers a client in another way. It keeps its id and its secret, which is drawn anew only for another method.
    /// Of two changes at once the later one counts.
    /// Errors: `ClientConfigured`, `ClientInvalid`, `ClientUnknown`.
    pub(crate) async fn change_client(
        &self,
        id: &str,
        new: NewClient,
    ) -> Result<(Client, Option<ClientSecret>), Error> {
        self.check(id, &new)?;
        self.can_note().await?;
        let subject = self.subject(&new).await?;
        loop {
            let now = self.clock.now();
            let found = self.store.read(Kind::Client, id, now).await?;
            let record = found.ok_or_else(|| Error::ClientUnknown { id: id.to_owned() })?;
            let was = Client::from_record(&record)?;
            changeable(&was)?;
            let has_secret =
                was.authentication.secret_hash().is_some() || was.authentication.shared_secret().is_some();
            let keeps = has_secret && new.authentication.method() == was.authentication.method();
            let (authentication, secret) = match keeps {
                true => (was.authentication, None),
                false => self.enrol(id, new.authentication.clone()).await?,
            };
            let client =
                made(id, new.clone(), authentication, was.registration, subject.clone(), was.created_at);
            let body = client.to_body()?;
            let next = NewRecord { kind: Kind::Client, id: id.to_owned(), expires_at: None, body };
            if let Write::Done(_) = self.store.replace(next, record.version, now).await? {
                self.note(What::ClientChanged, "client", id).await?;
                return Ok((client, secret));
            }
        }
    }

    /// Draws a new secret for a client; the old one is over.
    /// Errors: `ClientConfigured`, `ClientUnknown`; `ClientInvalid` for a client whose method has none.
    pub async fn renew_secret(&self, id: &str) -> Result<(Client, ClientSecret), Error> {
        self.can_note().await?;
        loop {
            let now = self.clock.now();
            let found = self.store.read(Kind::Client, id, now).await?;
            let record = found.ok_or_else(|| Error::ClientUnknown { id: id.to_owned() })?;
            let was = Client::from_record(&record)?;
            changeable(&was)?;
            let again = match &was.authentication {
                Authentication::ClientSecretBasic(_) => NewAuthentication::ClientSecretBasic,
                Authentication::ClientSecretPost(_) => NewAuthentication::ClientSecretPost,
                Authentication::ClientSecretJwt(shared) => {
                    NewAuthentication::ClientSecretJwt(shared.algorithm, shared.audience)
                }
                _ => NewAuthentication::None,
            };
            let (authentication, secret) = self.enrol(id, again).await?;
            let Some(secret) = secret else {
                let what = format!("{} has none", was.authentication.method().name());
                let hint = "only a client that authenticates with a secret can be given a new one".to_owned();
                return Err(Error::ClientInvalid { field: "secret", what, hint });
            };
            let client = Client { authentication, ..was };
            let next = NewRecord {
                kind: Kind::Client,
                id: id.to_owned(),
                expires_at: None,
                body: client.to_body()?,
            };
            if let Write::Done(_) = self.store.replace(next, record.version, now).await? {
                self.note(What::SecretRenewed, "client", id).await?;
                return Ok((client, secret));
            }
        }
    }

    async fn insert_client(
        &self,
        new: NewClient,
        registration: Option<SecretHash>,
    ) -> Result<(Client, Option<ClientSecret>), Error> {
        let id = match &new.id {
            Some(id) => self.nobodys_subject(id).await?.clone(),
            None => random_id(&*self.randomness)?,
        };
        self.check(&id, &new)?;
        let subject = self.subject(&new).await?;
        self.can_note().await?;
        let (authentication, secret) = self.enrol(&id, new.authentication.clone()).await?;
        let now = self.clock.now();
        let client = made(&id, new, authentication, registration, subject, now);
        let record =
            NewRecord { kind: Kind::Client, id: id.clone(), expires_at: None, body: client.to_body()? };
        match self.store.insert(record, now).await? {
            Write::Done(_) => {
                self.note(What::ClientRegistered, "client", &id).await?;
                Ok((client, secret))
            }
            Write::Refused => Err(Error::ClientExists { id }),
        }
    }

    /// Draws what is to be drawn.
    async fn enrol(
        &self,
        id: &str,
        new: NewAuthentication,
    ) -> Result<(Authentication, Option<ClientSecret>), Error> {
        let by_secret = |keep: fn(_) -> Authentication| {
            let secret = ClientSecret::generate(&*self.randomness)?;
            Ok((keep(secret.hash()), Some(secret)))
        };
        match new {
            NewAuthentication::ClientSecretBasic => by_secret(Authentication::ClientSecretBasic),
            NewAuthentication::ClientSecretJwt(algorithm, audience) => {
                let secret = ClientSecret::generate_for(algorithm, &*self.randomness)?;
                let sealed = secret.seal(id, &*self.sealer().await?, &*self.randomness)?;
                let shared = SharedSecret { algorithm, audience, sealed };
                Ok((Authentication::ClientSecretJwt(shared), Some(secret)))
            }
            NewAuthentication::ClientSecretPost => by_secret(Authentication::ClientSecretPost),
            NewAuthentication::KerberosClientAuth(principal) => {
                Ok((Authentication::KerberosClientAuth(principal), None))
            }
            NewAuthentication::None => Ok((Authentication::None, None)),
            NewAuthentication::PrivateKeyJwt(keys) => Ok((Authentication::PrivateKeyJwt(keys), None)),
            NewAuthentication::SelfSignedTlsClientAuth(keys) => {
                Ok((Authentication::SelfSignedTlsClientAuth(keys), None))
            }
            NewAuthentication::TlsClientAuth(name) => Ok((Authentication::TlsClientAuth(name), None)),
        }
    }

    async fn sealer(&self) -> Result<Arc<Sealer>, Error> {
        match &self.sealer {
            Some(sealer) => Ok(Arc::clone(sealer)),
            None => {
                let now = self.clock.now();
                sealer(&self.data_dir, &*self.store, &*self.randomness, now).await.map(Arc::new)
            }
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
    /// Errors: `ClientUnknown`, also when another change came first; `ClientConfigured`.
    pub async fn remove_client(&self, id: &str, expected: Option<Version>) -> Result<(), Error> {
        let unknown = || Error::ClientUnknown { id: id.to_owned() };
        let record = self.store.read(Kind::Client, id, self.clock.now()).await?.ok_or_else(unknown)?;
        let was = Client::from_record(&record)?;
        if was.origin == Origin::Configured {
            return changeable(&was);
        }
        let expected = expected.unwrap_or(record.version);
        self.can_note().await?;
        match self.store.remove(Kind::Client, id, expected).await? {
            Write::Done(_) => self.note(What::ClientRemoved, "client", id).await,
            Write::Refused => Err(unknown()),
        }
    }

    /// That the method is one of this server's, and that what stands beside it can be used.
    fn check_authentication(&self, new: &NewClient) -> Result<(), Error> {
        let invalid = |field, what: String, hint: &str| {
            Err(Error::ClientInvalid { field, what, hint: hint.to_owned() })
        };
        let method = new.authentication.method();
        if !self.auth_methods.contains(&method) {
            let hint = match (method, self.certificates) {
                (AuthMethod::KerberosClientAuth, _) => KERBEROS_NEEDS,
                (_, true) => {
                    "`tls.client_ca` in the configuration names the authorities that certify clients"
                }
                (_, false) => CERTIFICATES_NEED,
            };
            return invalid("authentication method", format!("{} is not possible here", method.name()), hint);
        }
        if new.tls_client_certificate_bound_access_tokens && !self.certificates {
            let what = "tokens cannot be bound to certificates here".into();
            return invalid("certificate", what, CERTIFICATES_NEED);
        }
        match &new.authentication {
            NewAuthentication::KerberosClientAuth(principal) => {
                let realm = principal.realm();
                match self.kerberos_realms.iter().any(|known| known == realm) {
                    true => Ok(()),
                    false => invalid(
                        "principal",
                        format!("{principal} is of a realm that is not known here"),
                        "`kerberos.realms` in the configuration lists the realms; without it, that of the service is the only one",
                    ),
                }
            }
            NewAuthentication::PrivateKeyJwt(AssertionKeys { keys: KeySource::Url(uri), .. })
            | NewAuthentication::SelfSignedTlsClientAuth(KeySource::Url(uri)) => {
                self.check_address("jwks_uri", uri)
            }
            NewAuthentication::PrivateKeyJwt(AssertionKeys { keys: KeySource::Value(keys), .. }) => {
                let set = keys.set();
                if (1..=MOST_KEYS).contains(&set.keys().len()) {
                    return Ok(());
                }
                let unused =
                    set.ignored().first().map(|first| format!("; the first unused one: {}", first.reason));
                let what = format!("{} usable keys{}", set.keys().len(), unused.unwrap_or_default());
                invalid("JWK set", what, "1 to 16 public keys (EC, Ed25519 or ML-DSA) in `keys`")
            }
            NewAuthentication::SelfSignedTlsClientAuth(KeySource::Value(keys)) => {
                if (1..=MOST_KEYS).contains(&keys.certificates()) {
                    return Ok(());
                }
                let what = format!("{} certificates or keys of certificates", keys.certificates());
                invalid(
                    "JWK set",
                    what,
                    "1 to 16 keys in `keys`, each with `x5c`, `x5t#S256` or of a known type",
                )
            }
            _ => Ok(()),
        }
    }

    /// That the server may be sent to an address.
    fn check_address(&self, field: &'static str, uri: &HttpsUri) -> Result<(), Error> {
        let private = self.allow_private_addresses;
        match uri.address().filter(|address| !outbound::address::is_allowed(*address, private)) {
            None => Ok(()),
            Some(address) => Err(Error::ClientInvalid {
                field,
                what: format!("{address} is not a public address"),
                hint: "`outbound.allow_private_addresses` in the configuration lets the server connect to it"
                    .into(),
            }),
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
        self.check_authentication(new)?;
        if let Some(uri) = &new.logout.backchannel_logout_uri {
            self.check_address("backchannel_logout_uri", uri)?;
        }
        check_grants(new)?;
        profile::check(new)?;
        profile::check_request_objects(new)?;
        let signing = [
            Some(new.algorithm),
            new.code_flow.userinfo_signed_response_alg,
            new.introspection_signed_response_alg,
        ];
        if let Some(missing) = signing.into_iter().flatten().find(|one| !self.algorithms.contains(one)) {
            let enabled: Vec<_> = self.algorithms.iter().map(|algorithm| algorithm.name()).collect();
            let hint = format!(
                "enabled are {}; `tokens.algorithms` in the configuration enables more",
                enabled.join(", ")
            );
            return invalid("algorithm", format!("{} is not enabled", missing.name()), &hint);
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

/// What waits for the disk, or for another process: not on a thread that others' requests wait for.
async fn blocking(work: impl FnOnce() -> Result<(), Error> + Send + 'static) -> Result<(), Error> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|cause| Err(Error::store("write the audit log", cause)))
}

/// That the configuration does not decide about the client.
/// Errors: `ClientConfigured`.
fn changeable(client: &Client) -> Result<(), Error> {
    match client.origin {
        Origin::Registered => Ok(()),
        origin => {
            Err(Error::ClientConfigured { id: client.id.clone(), withdrawn: origin == Origin::Withdrawn })
        }
    }
}

/// The client that `new` asks for.
fn made(
    id: &str,
    new: NewClient,
    authentication: Authentication,
    registration: Option<SecretHash>,
    subject: SubjectType,
    created_at: UnixSeconds,
) -> Client {
    Client {
        algorithm: new.algorithm,
        audiences: new.audiences,
        authentication,
        code_flow: new.code_flow,
        tls_client_certificate_bound_access_tokens: new.tls_client_certificate_bound_access_tokens,
        created_at,
        dpop_bound_access_tokens: new.dpop_bound_access_tokens,
        exchange: new.exchange,
        grants: new.grants,
        id: id.to_owned(),
        introspection_signed_response_alg: new.introspection_signed_response_alg,
        logout: new.logout,
        name: new.name,
        origin: Origin::Registered,
        profile: new.profile,
        registration,
        resources: new.resources,
        scopes: new.scopes,
        subject,
        token_lifetime_seconds: new.token_lifetime_seconds,
    }
}

/// What a client may ask for must fit together.
fn check_grants(new: &NewClient) -> Result<(), Error> {
    let invalid = |what: &str, hint: &str| {
        Err(Error::ClientInvalid { field: "grants", what: what.to_owned(), hint: hint.to_owned() })
    };
    let has = |grant| new.grants.contains(&grant);
    let public = matches!(new.authentication, NewAuthentication::None);
    if public && (has(Grant::TokenExchange) || has(Grant::JwtBearer)) {
        let hint = "these grants are for clients that prove who they are";
        return invalid("a public client that brings tokens of others", hint);
    }
    let exchanges = has(Grant::TokenExchange);
    if (exchanges, exchanges) != (new.exchange.is_whole(), !new.exchange.is_none()) {
        let hint = "the grant, audiences whose tokens it may exchange, and audiences that it may ask for";
        return Err(Error::ClientInvalid {
            field: "exchange",
            what: "something of what goes together is missing".to_owned(),
            hint: hint.to_owned(),
        });
    }
    if public && has(Grant::ClientCredentials) {
        let hint = "RFC 6749 §4.4: client_credentials is for clients that prove who they are";
        return invalid("a public client with client_credentials", hint);
    }
    if has(Grant::AuthorizationCode) == new.code_flow.redirect_uris.is_empty() {
        let hint = "authorization_code and redirect URIs go together";
        return invalid("one of authorization_code and redirect URIs without the other", hint);
    }
    if new.code_flow.nonce_optional && !new.code_flow.pkce_optional {
        let hint = "`nonce_optional` says what a request without PKCE may do without besides";
        return invalid("a nonce that is optional where PKCE is not", hint);
    }
    if public && new.code_flow.pkce_optional {
        return invalid("a public client without PKCE", "RFC 9700 §2.1.1: a public client must use PKCE");
    }
    Ok(())
}

impl std::fmt::Debug for Admin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admin").finish_non_exhaustive()
    }
}
