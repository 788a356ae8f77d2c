//! The configuration: TOML, every value defaulted, nothing unknown let through.
//! `Config::default()` runs: loopback, a self-signed certificate, a data directory beside the caller.

mod audit;
mod kerberos;
mod reading;
mod static_clients;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;

use sealstone_jose::Algorithm;
use serde::Deserialize;

use crate::people::{self, Cost};
use crate::trusted;

pub use crate::http::{Block, ProxyHeader};
pub use audit::{Audit, WhenFull};
pub use kerberos::Kerberos;
pub(crate) use reading::Fault;
pub use static_clients::StaticClient;
pub(crate) use static_clients::{SecretSource, Wanted};

/// How long a JWK set may be cached; a key is published at least twice as long before its first use.
pub(crate) const JWKS_MAX_AGE_SECONDS: u64 = 300;

/// The whole configuration. See each part for its keys.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The admin API.
    pub admin: Admin,
    /// The audit log.
    pub audit: Audit,
    /// Where everything that must survive is kept; created with mode 0700.
    pub data_dir: PathBuf,
    /// Devices that ask for a person's answer.
    pub device: Device,
    /// Proofs of possession.
    pub dpop: Dpop,
    /// Limits of HTTP.
    pub http: Http,
    /// The issuer identifier, RFC 8414 §2. Without it: `https://` and the bound address.
    pub issuer: Option<String>,
    /// Clients with Kerberos tickets.
    pub kerberos: Kerberos,
    /// The rotation of signing keys.
    pub keys: Keys,
    /// How often somebody may ask.
    pub limits: Limits,
    /// The address to listen on; port 0 lets the system choose.
    pub listen: SocketAddr,
    /// The logs.
    pub log: Log,
    /// What monitoring reads.
    pub metrics: Metrics,
    /// What the server fetches.
    pub outbound: Outbound,
    /// Pushed authorization requests.
    pub par: Par,
    /// The cost of passwords.
    pub passwords: Passwords,
    /// Clients that register themselves.
    pub registration: Registration,
    /// How long people stay signed in.
    pub sessions: Sessions,
    /// How the server ends.
    pub shutdown: Shutdown,
    /// The clients that are listed here, besides those of the store.
    pub static_clients: Vec<StaticClient>,
    /// The store.
    pub store: Store,
    /// The transport.
    pub tls: Tls,
    /// The access tokens.
    pub tokens: Tokens,
    /// The issuers whose assertions are taken for a grant, besides those of the store.
    pub trusted_issuers: Vec<trusted::Configured>,
}

/// `[device]`: the device authorization grant, RFC 8628.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Device {
    /// How many seconds a device lets pass between two questions, at most 60.
    pub interval_seconds: NonZeroU64,
    /// How long its codes hold, at most an hour: the longer, the more codes there are to be guessed.
    pub lifetime_seconds: NonZeroU64,
}

/// `[admin]`: the admin API, for clients whose scopes make them administrators.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Admin {
    /// Whether it is there.
    pub api: bool,
}

/// `[dpop]`: how a proof is used once. [`crate::protocol::dpop`] says what each choice costs.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Dpop {
    /// The most proofs that a node remembers, some 40 bytes each. When it is reached, proofs are answered with 503.
    pub max_proofs: NonZeroU64,
    /// Whether proofs need a nonce of the server.
    pub nonces: bool,
    /// Who remembers used proofs.
    pub replay: Replay,
}

/// Who remembers used proofs.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Replay {
    /// Each node its own; it accepts no nonce but its own.
    #[default]
    Node,
    /// The store, for all nodes: one durable write per proof.
    Shared,
}

/// `[http]`: what a peer may take of us before it has proved anything.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Http {
    /// From the first byte of a connection to the end of the TLS handshake, and then to the end of the request's head.
    pub header_timeout_seconds: NonZeroU64,
    /// How long an HTTP/2 connection may go without a request (HTTP/1.1 must send its next head in the time above), and
    /// then how long any connection may leave an answer unread.
    pub idle_timeout_seconds: NonZeroU64,
    /// The largest request body.
    pub max_body_bytes: NonZeroU64,
    /// Connections at a time; the next ones wait in the system's queue.
    pub max_connections: NonZeroU64,
    /// Those of one address, which leave room for others; one more is closed at once.
    pub max_connections_per_address: NonZeroU64,
    /// Requests under way at a time, over all connections; one more is answered with 503. With the largest head and body
    /// it bounds what peers can make the server keep.
    pub max_requests: NonZeroU64,
    /// Those of one address.
    pub max_requests_per_address: NonZeroU64,
    /// The addresses of proxies, and blocks of them, which are believed about for whom they ask.
    pub proxies: Vec<Block>,
    /// The header in which they say so.
    pub proxy_header: ProxyHeader,
    /// From a request's head to the end of its body, and then to its answer.
    pub request_timeout_seconds: NonZeroU64,
}

/// `[keys]`: a key is published, then active, then retiring, then gone.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    /// How long a key signs.
    pub active_seconds: NonZeroU64,
    /// How long a key is in the JWK set before it signs.
    pub publish_seconds: NonZeroU64,
}

/// `[limits]`: how often somebody may ask; 0 is no limit. docs/limits.md says why they are what they are.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// How many wrong secrets, codes, tokens and passwords an address may show in a minute. One that has shown more is
    /// answered with 429.
    pub address_failures_per_minute: u64,
    /// How many requests an address may make in a minute.
    pub address_requests_per_minute: u64,
    /// How many requests a client may make in a minute, counted once it has proved who it is.
    pub client_requests_per_minute: u64,
    /// How many failures a second, of everybody together, are answered at once; the others are a quarter of a second later.
    pub failures_per_second: u64,
}

/// `[log]`: lines on standard error.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Log {
    /// For people or for machines.
    pub format: LogFormat,
    /// The least important level that is written.
    pub level: LogLevel,
}

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// One readable line.
    #[default]
    Text,
}

/// The importance of a log line.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum LogLevel {
    /// What failed.
    Error,
    /// And what needs attention.
    Warn,
    /// And each request.
    #[default]
    Info,
    /// And each connection.
    Debug,
}

/// `[metrics]`: what monitoring reads (docs/metrics.md).
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Metrics {
    /// Where `GET /metrics` is answered, over plain HTTP and to whoever asks: as a rule a loopback address, as in
    /// `127.0.0.1:9464`. Without it, nowhere.
    pub listen: Option<SocketAddr>,
}

/// `[outbound]`: what the server fetches because a client's registration says so (`jwks_uri`). Over HTTPS and TLS 1.3,
/// without a proxy.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outbound {
    /// Whether addresses of this machine and of private networks may be fetched from. Whoever registers a client then
    /// chooses what this server asks within.
    pub allow_private_addresses: bool,
    /// The authorities that certify those servers, PEM. Without it, those that the system trusts.
    pub ca: Option<PathBuf>,
    /// From a fetch's beginning to its end.
    pub timeout_seconds: NonZeroU64,
}

/// `[par]`: requests that clients push, RFC 9126.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Par {
    /// How long a pushed request may be opened, from 5 to 599 (FAPI 2.0 Security Profile §5.3.2.2). Once opened, it holds
    /// while the person signs in, for 10 minutes more.
    pub lifetime_seconds: NonZeroU64,
}

/// `[passwords]`: argon2id, RFC 9106. A password set at another cost is hashed anew when its user next signs in.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Passwords {
    /// How many are hashed at once, each in `memory_kib` of its own. Without it: half as many as there are cores, at least
    /// one, so that a flood of logins leaves room for tokens.
    pub at_once: Option<NonZeroU64>,
    /// Argon2's p. One thread computes all lanes, so this changes little for the server.
    pub lanes: u32,
    /// Argon2's m.
    pub memory_kib: u32,
    /// Argon2's t.
    pub passes: u32,
    /// How many more wait for their turn; who comes then is told to come later.
    pub waiting: u64,
}

/// `[registration]`: clients that register themselves, RFC 7591. Off unless it is enabled.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Registration {
    /// Whether there is a registration endpoint.
    pub enabled: bool,
    /// The most clients that may have registered themselves.
    pub most: NonZeroUsize,
    /// Whether anybody may register. Without it: who has an access token with the scope `sealstone:register`.
    pub open: bool,
    /// Whether such clients, if they keep a secret, may do without PKCE: for clients that do not know it.
    pub pkce_optional: bool,
    /// The scopes that they may have.
    pub scopes: BTreeSet<String>,
    /// Whether their assertions may name the token endpoint as audience, for clients that know no other (RFC 7523 §3).
    pub token_endpoint_audience: bool,
}

/// `[sessions]`: how long people stay signed in.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sessions {
    /// From signing in to the end, whatever happens between.
    pub absolute_seconds: NonZeroU64,
    /// From one request to the end, if no other comes.
    pub idle_seconds: NonZeroU64,
}

/// `[shutdown]`: first announce, then finish, then cut.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shutdown {
    /// How long the server goes on serving after it says that it is not ready, so that a balancer turns away.
    pub announce_seconds: u64,
    /// How long requests in flight have to finish before they are cut.
    pub grace_seconds: u64,
}

/// `[store]`: the truth.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Store {
    /// How often the store is asked whether something changed: the bound on how long a change made by another process
    /// (a client removed, a token revoked) goes unnoticed.
    pub poll_milliseconds: NonZeroU64,
}

/// `[tls]`: TLS 1.3, or plain HTTP where that is said out loud.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tls {
    /// The certificate chain, PEM. Demanded by mode `files`.
    pub certificate: Option<PathBuf>,
    /// The authorities that certify clients of `tls_client_auth`, PEM. Without it no client can have that method.
    pub client_ca: Option<PathBuf>,
    /// Whether clients are asked for a certificate.
    pub client_certificates: ClientCertificates,
    /// The certificate's private key, PEM. Demanded by mode `files`.
    pub key: Option<PathBuf>,
    /// Where the certificate comes from, or why there is none.
    pub mode: TlsMode,
}

/// Whether clients are asked for a certificate, RFC 8705 §5. Only this server's own listener can ask: behind a proxy
/// that ends TLS there are no client certificates, for what such a proxy writes into a header anybody could write.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ClientCertificates {
    /// Asked for, not demanded. A browser whose user has certificates may ask which one to send.
    #[default]
    Ask,
    /// Not asked for: no client can be known by one, and no token can be bound to one.
    Never,
}

/// Where the certificate comes from, or why there is none.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum TlsMode {
    /// From `tls.certificate` and `tls.key`.
    Files,
    /// No TLS: a proxy in front terminates it. The issuer must be given, and be `https`.
    PlainBehindProxy,
    /// No TLS, for a trial on this machine. The address must be a loopback one.
    PlainLoopback,
    /// Made at each start; its certificate is written to `tls-self-signed.pem` in the data directory.
    #[default]
    SelfSigned,
}

/// `[tokens]`: what is issued.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tokens {
    /// The algorithms that have keys. Only these are in the JWK set, and only these can be chosen for a client.
    #[serde(deserialize_with = "reading::algorithms")]
    pub algorithms: Vec<Algorithm>,
    /// The longest lifetime that a client may have; also how long a retiring key stays published.
    pub max_lifetime_seconds: NonZeroU64,
    /// How many ML-DSA tokens of requests that are answered at the same time are signed side by side at most; 1 signs each
    /// alone.
    pub sign_together: NonZeroUsize,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            admin: Admin::default(),
            audit: Audit::default(),
            data_dir: "sealstone-data".into(),
            device: Device::default(),
            dpop: Dpop::default(),
            http: Http::default(),
            issuer: None,
            kerberos: Kerberos::default(),
            keys: Keys::default(),
            limits: Limits::default(),
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8443),
            log: Log::default(),
            metrics: Metrics::default(),
            outbound: Outbound::default(),
            par: Par::default(),
            passwords: Passwords::default(),
            registration: Registration::default(),
            sessions: Sessions::default(),
            shutdown: Shutdown::default(),
            static_clients: Vec::new(),
            store: Store::default(),
            tls: Tls::default(),
            tokens: Tokens::default(),
            trusted_issuers: Vec::new(),
        }
    }
}

impl Default for Device {
    fn default() -> Self {
        Self { interval_seconds: seconds(5), lifetime_seconds: seconds(600) }
    }
}

impl Default for Dpop {
    fn default() -> Self {
        Self { max_proofs: seconds(1 << 20), nonces: true, replay: Replay::default() }
    }
}

impl Default for Http {
    fn default() -> Self {
        Self {
            header_timeout_seconds: seconds(10),
            idle_timeout_seconds: seconds(60),
            max_body_bytes: seconds(64 * 1024),
            max_connections: seconds(1000),
            max_connections_per_address: seconds(500),
            max_requests: seconds(2048),
            max_requests_per_address: seconds(1024),
            proxies: Vec::new(),
            proxy_header: ProxyHeader::default(),
            request_timeout_seconds: seconds(15),
        }
    }
}

impl Default for Keys {
    fn default() -> Self {
        Self { active_seconds: seconds(90 * 86_400), publish_seconds: seconds(86_400) }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            address_failures_per_minute: 6_000,
            address_requests_per_minute: 0,
            client_requests_per_minute: 0,
            failures_per_second: 100,
        }
    }
}

impl Default for Outbound {
    fn default() -> Self {
        Self { allow_private_addresses: false, ca: None, timeout_seconds: seconds(5) }
    }
}

impl Default for Registration {
    fn default() -> Self {
        let most = NonZeroUsize::new(1_000).unwrap_or(NonZeroUsize::MIN);
        let scopes = ["email", "offline_access", "openid", "profile"].map(str::to_owned).into();
        Self {
            enabled: false,
            most,
            open: false,
            pkce_optional: false,
            scopes,
            token_endpoint_audience: false,
        }
    }
}

impl Default for Par {
    fn default() -> Self {
        Self { lifetime_seconds: seconds(60) }
    }
}

impl Default for Passwords {
    fn default() -> Self {
        let Cost { lanes, memory_kib, passes } = Cost::default();
        Self { at_once: None, lanes, memory_kib, passes, waiting: 32 }
    }
}

impl Passwords {
    pub(crate) fn cost(&self) -> Cost {
        Cost { lanes: self.lanes, memory_kib: self.memory_kib, passes: self.passes }
    }

    pub(crate) fn pool(&self) -> people::Passwords {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let half = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get).div_ceil(2);
        let at_once = self.at_once.map_or_else(half, |n| size(n.get()));
        people::Passwords::new(self.cost(), at_once, size(self.waiting))
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self { absolute_seconds: seconds(12 * 3600), idle_seconds: seconds(3600) }
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { announce_seconds: 0, grace_seconds: 30 }
    }
}

impl Default for Store {
    fn default() -> Self {
        Self { poll_milliseconds: seconds(1000) }
    }
}

impl Default for Tokens {
    fn default() -> Self {
        Self {
            algorithms: vec![Algorithm::MlDsa65, Algorithm::Es256],
            max_lifetime_seconds: seconds(86_400),
            sign_together: NonZeroUsize::MIN.saturating_add(31),
        }
    }
}

const fn seconds(n: u64) -> NonZeroU64 {
    match NonZeroU64::new(n) {
        Some(n) => n,
        None => panic!("a default is not zero"),
    }
}
