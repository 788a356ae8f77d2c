//! A client that blocks its thread: over HTTPS, to public addresses unless told otherwise, within bounds of time and size, and
//! without being sent on.

use core::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustls::crypto::aws_lc_rs;
use ureq::config::Config;
use ureq::http::header::{AGE, CACHE_CONTROL, CONTENT_ENCODING, ETAG, IF_NONE_MATCH};
use ureq::http::{HeaderMap, StatusCode, Uri};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::{Cache, Lifetime, Outcome, Policy, Step, Ticket, address};
use crate::error::{Error, shown};
use crate::jwk::JwkSet;
use crate::jws::{Unverified, Verified};
use crate::jwt::UnixSeconds;

/// The most bytes of an answer's head.
const MAX_HEAD: usize = 16 * 1024;

/// How a [`Client`] is to be.
///
/// ```
/// use std::time::Duration;
///
/// use sealstone_jose::remote::{Client, Policy};
/// use sealstone_jose::{Error, UnixSeconds};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let authority = rcgen::KeyPair::generate().expect("there is randomness");
/// # let authority = rcgen::CertificateParams::default().self_signed(&authority).expect("it signs").pem();
/// // Of a server inside the house, with an authority of the house.
/// let keys = Client::builder("https://127.0.0.1:1/jwks")
///     .roots(authority.as_bytes())
///     .allow_private_addresses()
///     .policy(Policy { cooldown: Duration::from_secs(10), ..Policy::default() })
///     .time_limit(Duration::from_secs(2))
///     .max_bytes(64 * 1024)
///     .build()?;
/// assert_eq!(keys.url(), "https://127.0.0.1:1/jwks");
///
/// // Nobody answers there.
/// assert!(matches!(keys.keys(None, UnixSeconds(1_800_000_000)), Err(Error::Unreachable { .. })));
/// assert!(matches!(keys.document(), Err(Error::Unreachable { .. })));
///
/// // Keys that anybody on the way could exchange are no keys.
/// let plain = Client::builder("http://id.example/jwks").roots(authority.as_bytes()).build();
/// assert!(matches!(plain, Err(Error::UrlRefused { .. })));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Builder {
    url: String,
    policy: Policy,
    allow_private: bool,
    time_limit: Duration,
    max_bytes: usize,
    roots: Option<Vec<u8>>,
}

impl Builder {
    /// For how long what is fetched is believed.
    #[must_use]
    pub fn policy(self, policy: Policy) -> Self {
        Self { policy, ..self }
    }

    /// Loopback, private and other special addresses may be connected to. Not for an address that comes from outside.
    #[must_use]
    pub fn allow_private_addresses(self) -> Self {
        Self { allow_private: true, ..self }
    }

    /// Within what time the whole of an answer must be here: 5 s.
    #[must_use]
    pub fn time_limit(self, limit: Duration) -> Self {
        Self { time_limit: limit, ..self }
    }

    /// The most bytes of a document, at most and by default a mebibyte.
    #[must_use]
    pub fn max_bytes(self, bytes: usize) -> Self {
        Self { max_bytes: bytes.min(1 << 20), ..self }
    }

    /// The certificates of the authorities to trust, in PEM, and no others: without this, those of the system.
    #[must_use]
    pub fn roots(self, pem: &[u8]) -> Self {
        Self { roots: Some(pem.to_vec()), ..self }
    }

    /// The client. Nothing is fetched yet.
    ///
    /// # Errors
    /// [`Error::UrlRefused`] for what is not an `https` address of a host; [`Error::Unreachable`] if there is no authority to
    /// trust.
    pub fn build(self) -> Result<Client, Error> {
        let refused = |reason| Error::UrlRefused { url: shown(&self.url), reason };
        let uri: Uri = self.url.parse().map_err(|_| refused("it is not a URL"))?;
        if uri.scheme_str() != Some("https") {
            return Err(refused("it does not begin with https://"));
        }
        let authority = uri.authority().ok_or_else(|| refused("it names no host"))?;
        if authority.as_str().contains('@') {
            return Err(refused("it holds a user or password"));
        }
        if authority.host().is_empty() {
            return Err(refused("it names no host"));
        }
        let unreachable = |cause: &str| Error::Unreachable { url: shown(&self.url), cause: cause.to_owned() };
        let roots = match &self.roots {
            Some(pem) => parse_pem(pem)
                .filter_map(|item| match item {
                    Ok(PemItem::Certificate(certificate)) => Some(Ok(certificate)),
                    Ok(_) => None,
                    Err(cause) => Some(Err(unreachable(&cause.to_string()))),
                })
                .collect::<Result<Vec<_>, _>>()?,
            None => {
                let system = rustls_native_certs::load_native_certs().certs;
                system.iter().map(|certificate| Certificate::from_der(certificate).to_owned()).collect()
            }
        };
        if roots.is_empty() {
            return Err(unreachable("there is no authority to trust"));
        }
        let tls = TlsConfig::builder()
            .provider(TlsProvider::Rustls)
            .root_certs(RootCerts::new_with_certs(&roots))
            .unversioned_rustls_crypto_provider(Arc::new(aws_lc_rs::default_provider()))
            .build();
        let config = Config::builder()
            .https_only(true)
            .http_status_as_error(false)
            // A redirect is an answer that is not a document: nothing is followed.
            .max_redirects(0)
            .max_redirects_will_error(false)
            // A proxy would resolve the name itself, and connect to whatever it likes.
            .proxy(None)
            .accept("application/jwk-set+json, application/json")
            .accept_encoding("identity")
            .user_agent("sealstone")
            .max_response_header_size(MAX_HEAD)
            // The address is looked at for each connection, so each fetch makes one.
            .max_idle_connections(0)
            .timeout_global(Some(self.time_limit))
            .tls_config(tls)
            .build();
        let resolver = Public { inner: DefaultResolver::default(), allow_private: self.allow_private };
        let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), resolver);
        let cache = Mutex::new(Cache::new(self.policy));
        Ok(Client { url: self.url, agent, max_bytes: self.max_bytes, cache, done: Condvar::new() })
    }
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("url", &self.url)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// What an address answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The text, which should be a key set.
    pub bytes: Vec<u8>,
    /// Its `ETag`.
    pub etag: Option<String>,
    /// Its `Cache-Control`.
    pub cache_control: Option<String>,
    /// For how long it may be believed.
    pub lifetime: Lifetime,
}

/// The key set at one address, shared by any number of threads.
///
/// ```no_run
/// use sealstone_jose::UnixSeconds;
/// use sealstone_jose::remote::Client;
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// # let (token, now) = ("", UnixSeconds(1_800_000_000));
/// let keys = Client::builder("https://id.example/jwks").build()?;
/// let verified = keys.verify(token, now)?; // the first token fetches the set, the next thousand do not
/// # Ok(())
/// # }
/// ```
pub struct Client {
    url: String,
    agent: ureq::Agent,
    max_bytes: usize,
    cache: Mutex<Cache<JwkSet>>,
    done: Condvar,
}

impl Client {
    /// For the set at `url`, with the default [`Policy`].
    pub fn builder(url: &str) -> Builder {
        Builder {
            url: url.to_owned(),
            policy: Policy::default(),
            allow_private: false,
            time_limit: Duration::from_secs(5),
            max_bytes: 1 << 20,
            roots: None,
        }
    }

    /// The address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The set, fetched if it must be. With the `kid` that is looked for, an older one is asked for anew if it does not hold
    /// that; if the newest that may be asked for does not either, it is returned as it is.
    ///
    /// # Errors
    /// [`Error::Unreachable`] if there is none, neither from the address nor from before.
    pub fn keys(&self, kid: Option<&str>, now: UnixSeconds) -> Result<Arc<JwkSet>, Error> {
        let has = |keys: &JwkSet| kid.is_none_or(|kid| keys.find(kid).is_some());
        let mut cause = "an attempt was made just now".to_owned();
        let mut cache = self.lock();
        loop {
            match cache.next(now, kid, has) {
                Step::Use(keys) => return Ok(keys),
                Step::Unavailable => return Err(Error::Unreachable { url: shown(&self.url), cause }),
                Step::Wait => {
                    cache = self
                        .done
                        .wait_timeout(cache, Duration::from_secs(1))
                        .unwrap_or_else(PoisonError::into_inner)
                        .0;
                }
                Step::Fetch(ticket) => {
                    drop(cache);
                    let mut flight = Flight { client: self, ticket, now, outcome: Outcome::Failed };
                    match self.fetch(flight.ticket.etag()) {
                        Ok(outcome) => flight.outcome = outcome,
                        Err(why) => cause = why,
                    }
                    drop(flight);
                    cache = self.lock();
                }
            }
        }
    }

    /// Checks a token with the key of the set that its `kid` names.
    ///
    /// # Errors
    /// Those of [`Unverified::parse`], [`keys`](Self::keys) and [`Unverified::verify_with_set`].
    pub fn verify(&self, token: &str, now: UnixSeconds) -> Result<Verified, Error> {
        // What cannot be a token is no reason to ask anybody.
        let token = Unverified::parse(token)?;
        let keys = self.keys(token.header().kid(), now)?;
        token.verify_with_set(&keys)
    }

    /// One request, past the cache: for whoever wants to see what is published. The keys in it are not checked.
    ///
    /// # Errors
    /// [`Error::Unreachable`].
    pub fn document(&self) -> Result<Document, Error> {
        let unreachable = |cause| Error::Unreachable { url: shown(&self.url), cause };
        let (headers, bytes) = self.get(None).map_err(unreachable)?;
        let bytes = bytes.ok_or_else(|| unreachable("status 304, and nothing was known".to_owned()))?;
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (lifetime, etag, cache_control) = (lifetime(&headers), text(ETAG), text(CACHE_CONTROL));
        Ok(Document { bytes, etag, cache_control, lifetime })
    }

    /// One request, whatever is known. Errors: for the operator, what went wrong.
    fn fetch(&self, etag: Option<&str>) -> Result<Outcome<JwkSet>, String> {
        let (headers, body) = self.get(etag)?;
        let lifetime = lifetime(&headers);
        let Some(body) = body else { return Ok(Outcome::Unchanged { lifetime }) };
        let keys = JwkSet::parse(&body).map_err(|cause| cause.to_string())?;
        let etag = headers.get(ETAG).and_then(|value| value.to_str().ok()).map(str::to_owned);
        Ok(Outcome::Document { keys, etag, lifetime })
    }

    /// The head and the body; no body if it is still that of `etag`. Errors: as above.
    fn get(&self, etag: Option<&str>) -> Result<(HeaderMap, Option<Vec<u8>>), String> {
        let said = |cause: ureq::Error| cause.to_string();
        let mut request = self.agent.get(&self.url);
        if let Some(etag) = etag {
            request = request.header(IF_NONE_MATCH, etag);
        }
        let (head, body) = request.call().map_err(said)?.into_parts();
        match head.status {
            StatusCode::OK => {}
            StatusCode::NOT_MODIFIED if etag.is_some() => return Ok((head.headers, None)),
            status if status.is_redirection() => {
                return Err(format!("status {status}, and nothing is followed"));
            }
            status => return Err(format!("status {status}")),
        }
        // None was asked for, and what is small on the wire may be large here.
        if head.headers.get(CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
            return Err("it is compressed".into());
        }
        // One byte more is asked for, to see that there is one.
        let limit = self.max_bytes as u64 + 1;
        let body = body.into_with_config().limit(limit).read_to_vec().map_err(|cause| match cause {
            ureq::Error::BodyExceedsLimit(_) => format!("it has more than {} bytes", self.max_bytes),
            other => other.to_string(),
        })?;
        if body.len() > self.max_bytes {
            return Err(format!("it has more than {} bytes", self.max_bytes));
        }
        Ok((head.headers, Some(body)))
    }

    /// A thread that panicked leaves a state that is whole: each change of it is one call.
    fn lock(&self) -> MutexGuard<'_, Cache<JwkSet>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("url", &self.url).finish_non_exhaustive()
    }
}

/// A fetch under way: its end is reported whatever happens, so that nobody waits for ever.
struct Flight<'c> {
    client: &'c Client,
    ticket: Ticket,
    now: UnixSeconds,
    outcome: Outcome<JwkSet>,
}

impl Drop for Flight<'_> {
    fn drop(&mut self) {
        let outcome = core::mem::replace(&mut self.outcome, Outcome::Failed);
        self.client.lock().done(&self.ticket, self.now, outcome);
        self.client.done.notify_all();
    }
}

fn lifetime(headers: &HeaderMap) -> Lifetime {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let all: Vec<&str> =
        headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok()).collect();
    Lifetime::of(&all.join(","), text(AGE))
}

/// The system's resolver, and of its addresses those that may be connected to. What it gives is what is connected to: no name
/// is resolved a second time, so that it cannot say one thing to the check and another to the connection (DNS rebinding).
#[derive(Debug)]
struct Public {
    inner: DefaultResolver,
    allow_private: bool,
}

impl Resolver for Public {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.inner.resolve(uri, config, timeout)?;
        let mut allowed = self.empty();
        let mut refused: Option<IpAddr> = None;
        for address in found.iter() {
            match address::is_allowed(address.ip(), self.allow_private) {
                true => allowed.push(*address),
                false => refused = Some(address.ip()),
            }
        }
        match (allowed.is_empty(), refused) {
            (true, Some(refused)) => {
                let cause = format!("its address {refused} is not public");
                Err(ureq::Error::Io(io::Error::new(io::ErrorKind::PermissionDenied, cause)))
            }
            (true, None) => Err(ureq::Error::HostNotFound),
            (false, _) => Ok(allowed),
        }
    }
}
