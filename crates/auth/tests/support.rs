//! A house to test in: a clock set by hand, a store in memory, and a client that speaks to a real socket.

use std::collections::BTreeSet;
use std::future::Future;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use sealstone_auth::admin::{Admin, NewClient};
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::keys::{Policy, Sealer, Secret};
use sealstone_auth::outbound::{KeySets, Outbound, SystemResolver};
use sealstone_auth::protocol::access_token::OwnToken;
use sealstone_auth::protocol::client_auth::{Means, Proof, Shown};
use sealstone_auth::protocol::client_certificate::{Anchors, PeerCertificate};
use sealstone_auth::protocol::token::{Ground, TokenResponse};
use sealstone_auth::protocol::{Authenticated, Confirmation, OAuthError, Parameters};
use sealstone_auth::protocol::{access_token, client_auth, introspect, revoke, token};
use sealstone_auth::signers::Signers;
use sealstone_auth::snapshot::{Live, Snapshot};
use sealstone_auth::store::{
    Answer as Kept, Kind, NewRecord, Record, Sqlite, Use, Version, Versions, Write as Written,
};
use sealstone_auth::verifiers::Verifiers;
use sealstone_auth::{Clock, Config, Error, Issuer, Server, Store, World};
use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds};
use serde_json::Value;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::oneshot;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

pub const START: u64 = 1_800_000_000;

/// A clock that stands still until it is moved.
#[derive(Debug)]
pub struct ManualClock(AtomicU64);

impl ManualClock {
    pub fn new() -> Arc<Self> {
        Arc::new(Self(AtomicU64::new(START)))
    }

    pub fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::SeqCst);
    }

    pub fn set_back(&self, seconds: u64) {
        self.0.fetch_sub(seconds, Ordering::SeqCst);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> UnixSeconds {
        UnixSeconds(self.0.load(Ordering::SeqCst))
    }
}

pub fn policy() -> Policy {
    Policy { active_seconds: 10_000, publish_seconds: 1_000, retire_seconds: 2_000 }
}

pub fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

/// The flows over a store in memory, without HTTP.
pub struct House {
    pub anchors: Anchors,
    pub admin: Admin,
    pub clock: Arc<ManualClock>,
    pub issuer: Issuer,
    pub key_sets: KeySets,
    pub live: Live,
    pub signers: Signers,
    pub store: Arc<dyn Store>,
    pub verifiers: Verifiers,
}

impl House {
    pub async fn build() -> Self {
        Self::with(Arc::new(Sqlite::in_memory().unwrap()), &[Algorithm::Es256, Algorithm::MlDsa65]).await
    }

    pub async fn with(store: Arc<dyn Store>, algorithms: &[Algorithm]) -> Self {
        let clock = ManualClock::new();
        let mut config = Config::default();
        cheap_passwords(&mut config);
        config.tokens.algorithms = algorithms.to_vec();
        // Only an administrator looks at whether there is one: the house has its anchors itself.
        config.tls.client_ca = Some("clients.pem".into());
        let admin = Admin::new(&config, store.clone(), clock.clone(), Arc::new(OsRandomness));
        let sealer = Arc::new(Sealer::from_key(&[7; 32]).unwrap());
        let admin = admin.with_sealer(sealer.clone());
        let live = Live::open(
            store.clone(),
            sealer,
            algorithms.to_vec(),
            policy(),
            Arc::new(OsRandomness),
            clock.now(),
        )
        .await
        .unwrap();
        let issuer = Issuer::parse("https://auth.example.org", false).unwrap();
        let outbound = Outbound::new(&config.outbound, Arc::new(SystemResolver));
        let (key_sets, verifiers) = (KeySets::new(Arc::new(outbound)), Verifiers::new(1));
        let signers = Signers::new(std::num::NonZeroUsize::MIN);
        Self { anchors: Anchors::default(), admin, clock, issuer, key_sets, live, signers, store, verifiers }
    }

    /// Registers a client and takes it into the snapshot.
    pub async fn client(&self, new: NewClient) -> Credentials {
        let (client, secret) = self.admin.add_client(new).await.unwrap();
        self.refresh().await;
        Credentials { id: client.id, secret: secret.map(|s| s.reveal().to_owned()).unwrap_or_default() }
    }

    /// Registers a client that has no secret.
    pub async fn enrol(&self, new: NewClient) {
        self.admin.add_client(new).await.unwrap();
        self.refresh().await;
    }

    /// A client with ES256 tokens: quick in tests that are not about the algorithm.
    pub async fn es256(&self) -> Credentials {
        self.client(NewClient { algorithm: Algorithm::Es256, ..NewClient::default() }).await
    }

    pub async fn refresh(&self) {
        self.live.refresh(self.clock.now()).await.unwrap();
    }

    /// The token endpoint's flow, by client_secret_basic.
    pub fn ask(&self, who: &Credentials, form: &str) -> Result<TokenResponse, OAuthError> {
        self.ask_with(who, form, Confirmation::default())
    }

    /// The same, where the request shows to hold keys.
    pub fn ask_with(
        &self,
        who: &Credentials,
        form: &str,
        confirmation: Confirmation,
    ) -> Result<TokenResponse, OAuthError> {
        // Client credentials and token exchange wait for nothing.
        let mut answer = pin!(self.wait_with(who, form, confirmation));
        match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answer) => answer,
            Poll::Pending => panic!("the flow waits"),
        }
    }

    /// The same, for a grant that waits for the store.
    pub async fn wait_with(
        &self,
        who: &Credentials,
        form: &str,
        confirmation: Confirmation,
    ) -> Result<TokenResponse, OAuthError> {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(form.as_bytes())?;
        let caller = self.caller(who, &parameters, &snapshot)?;
        token::answer(&caller, &parameters, self.ground(&snapshot, &confirmation)).await
    }

    /// What a flow stands on.
    pub fn ground<'a>(&'a self, snapshot: &'a Snapshot, confirmation: &'a Confirmation) -> Ground<'a> {
        Ground {
            confirmation,
            issuer: &self.issuer,
            max_lifetime_seconds: 86_400,
            now: self.clock.now(),
            pairwise_key: &self.live.flow_keys().pairwise,
            randomness: self.live.randomness(),
            refresh_key: &self.live.flow_keys().refresh,
            signers: &self.signers,
            snapshot,
            store: &*self.store,
        }
    }

    /// The token endpoint's flow for whoever the form says it is, waiting for the store.
    pub async fn ask_waiting(&self, who: &Credentials, form: &str) -> Result<TokenResponse, OAuthError> {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(form.as_bytes())?;
        let caller = self.caller(who, &parameters, &snapshot)?;
        let bearer = Confirmation::default();
        token::answer(&caller, &parameters, self.ground(&snapshot, &bearer)).await
    }

    /// Who asks, by client_secret_basic, or a public client: without the store.
    pub fn caller(
        &self,
        who: &Credentials,
        parameters: &Parameters,
        snapshot: &Snapshot,
    ) -> Result<Authenticated, OAuthError> {
        let basic = who.basic();
        let headers = [basic.as_bytes()];
        let authorization = if who.secret.is_empty() { &[] } else { &headers[..] };
        let shown = Shown { authorization, certificate: None, parameters };
        match at_once(client_auth::authenticate(shown, self.means(snapshot)))? {
            Proof::Complete(caller) => Ok(caller),
            Proof::Once(_) => panic!("a secret is no assertion"),
        }
    }

    /// What clients' proofs are checked with.
    pub fn means<'a>(&'a self, snapshot: &'a Snapshot) -> Means<'a> {
        Means {
            anchors: &self.anchors,
            clients: &snapshot.clients,
            issuer: &self.issuer,
            kerberos: None,
            key_sets: &self.key_sets,
            now: self.clock.now(),
            randomness: self.live.randomness(),
            sealer: self.live.sealer(),
            verifiers: &self.verifiers,
        }
    }

    /// Who asks, by whatever a request shows.
    pub async fn authenticate(
        &self,
        authorization: &[&[u8]],
        certificate: Option<&Arc<PeerCertificate>>,
        form: &str,
    ) -> Result<String, OAuthError> {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(form.as_bytes())?;
        let shown = Shown { authorization, certificate, parameters: &parameters };
        let proof = client_auth::authenticate(shown, self.means(&snapshot)).await?;
        Ok(proof.complete(&*self.store, self.clock.now()).await?.client().id.clone())
    }

    pub fn token(&self, who: &Credentials) -> String {
        self.ask(who, "grant_type=client_credentials").unwrap().access_token
    }

    pub fn introspect(&self, who: &Credentials, token: &str) -> Value {
        let snapshot = self.live.snapshot();
        let parameters = Parameters::parse(format!("token={token}").as_bytes()).unwrap();
        let caller = self.caller(who, &parameters, &snapshot).unwrap();
        let bearer = Confirmation::default();
        at_once(introspect::answer(&caller, &parameters, self.ground(&snapshot, &bearer))).unwrap()
    }

    /// The same for a token that the store knows.
    pub async fn introspect_waiting(&self, who: &Credentials, token: &str) -> Value {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(format!("token={token}").as_bytes()).unwrap();
        let caller = self.caller(who, &parameters, &snapshot).unwrap();
        let bearer = Confirmation::default();
        introspect::answer(&caller, &parameters, self.ground(&snapshot, &bearer)).await.unwrap()
    }

    /// The server's own ES256 key, as only the server can open it.
    pub async fn signing_key(&self) -> PrivateKey {
        let records = self.store.list(Kind::SigningKey, Version::ZERO, self.clock.now()).await.unwrap();
        let record = records.iter().find(|record| record.id == "ES256/1").unwrap();
        let body: Value = serde_json::from_slice(&record.body).unwrap();
        let sealed = URL_SAFE_NO_PAD.decode(body["sealed"].as_str().unwrap()).unwrap();
        let secret = self.live.sealer().open_sealed(Secret::SigningKey, &record.id, &sealed).unwrap();
        PrivateKey::from_secret(Algorithm::Es256, &secret).unwrap()
    }

    pub async fn revoke(&self, who: &Credentials, form: &str) -> Result<Option<String>, OAuthError> {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(form.as_bytes())?;
        let caller = self.caller(who, &parameters, &snapshot)?;
        let bearer = Confirmation::default();
        let done = revoke::answer(&caller, &parameters, self.ground(&snapshot, &bearer)).await;
        self.refresh().await;
        done
    }

    pub fn check(&self, token: &str) -> Option<OwnToken> {
        access_token::check(token, &self.live.snapshot(), &self.issuer, self.clock.now()).ok()
    }
}

/// What a flow answers that waits for nothing, as with a secret and client credentials.
pub fn at_once<T>(flow: impl Future<Output = T>) -> T {
    match pin!(flow).as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("the flow waits"),
    }
}

/// A client's id and secret, as its operator holds them.
#[derive(Clone)]
pub struct Credentials {
    pub id: String,
    pub secret: String,
}

impl Credentials {
    pub fn basic(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.id, self.secret)))
    }
}

/// A real server on loopback, over TLS, and the way to stop it.
pub struct Running {
    pub address: SocketAddr,
    pub certificate_pem: String,
    pub issuer: String,
    pub metrics: Option<SocketAddr>,
    pub admin: Admin,
    pub who: Credentials,
    stop: Option<oneshot::Sender<()>>,
    done: Option<tokio::task::JoinHandle<()>>,
}

/// A configuration for a test: a port from the system, a directory of its own.
pub fn config(data_dir: &Path) -> Config {
    let mut config = Config { data_dir: data_dir.join("data"), ..Config::default() };
    config.listen.set_port(0);
    config.store.poll_milliseconds = std::num::NonZeroU64::new(20).unwrap();
    cheap_passwords(&mut config);
    config
}

/// The least that a password may cost.
pub fn cheap_passwords(config: &mut Config) {
    (config.passwords.lanes, config.passwords.memory_kib, config.passwords.passes) = (1, 7168, 5);
}

impl Running {
    /// Starts a server with one client, whose tokens are ES256.
    pub async fn start(config: Config) -> Self {
        Self::start_in(config, World::default()).await
    }

    pub async fn start_in(config: Config, world: World) -> Self {
        log_capture();
        let server = Server::bind(config, world).await.unwrap();
        let admin = server.admin();
        let new = NewClient { algorithm: Algorithm::Es256, ..NewClient::default() };
        let (client, secret) = admin.add_client(new).await.unwrap();
        server.refresh().await.unwrap();
        let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
        let (address, issuer) = (server.local_addr(), server.issuer().to_string());
        let certificate_pem = server.certificate_pem().unwrap_or_default().to_owned();
        let metrics = server.metrics_addr();
        let (stop, stopped) = oneshot::channel::<()>();
        let done = tokio::spawn(server.run(async {
            let _ = stopped.await;
        }));
        Self { address, certificate_pem, issuer, metrics, admin, who, stop: Some(stop), done: Some(done) }
    }

    /// Registers a client and waits until the server has noticed it.
    pub async fn enrol(&self, new: NewClient) {
        self.admin.add_client(new).await.unwrap();
        // Clients are taken in as a whole: who sees a later one sees this one.
        let (probe, secret) = self.admin.add_client(NewClient::default()).await.unwrap();
        let who = Credentials { id: probe.id, secret: secret.unwrap().reveal().to_owned() };
        let known = async || {
            let mut request = self.form("/introspect", "token=x");
            request.headers_mut().insert("authorization", who.basic().parse().unwrap());
            self.send(request).await.status == 200
        };
        let noticed = async {
            while !known().await {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), noticed).await.unwrap();
    }

    /// Asks the server to end, without waiting.
    pub fn begin_stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }

    /// Waits until the server has ended.
    pub async fn ended(&mut self) {
        self.done.take().unwrap().await.unwrap();
    }

    pub async fn stop(mut self) {
        self.begin_stop();
        self.ended().await;
    }

    /// How a client of this server speaks TLS.
    pub fn tls(
        &self,
        alpn: &str,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> rustls::ClientConfig {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.certificate_pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![alpn.as_bytes().to_vec()];
        config
    }

    pub async fn connect(&self, alpn: &str) -> TlsStream<TcpStream> {
        self.connect_from("127.0.0.1", alpn).await.unwrap()
    }

    /// The same from another address of the loopback network: somebody else, as far as the server knows.
    /// Errors: the server closed the connection before TLS had begun.
    pub async fn connect_from(&self, from: &str, alpn: &str) -> std::io::Result<TlsStream<TcpStream>> {
        let config = self.tls(alpn, &[&rustls::version::TLS13]);
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
        let stream = socket.connect(self.address).await.unwrap();
        let name = ServerName::try_from("127.0.0.1").unwrap();
        TlsConnector::from(Arc::new(config)).connect(name, stream).await
    }

    /// One request on a connection of its own from another address.
    pub async fn send_from(&self, from: &str, request: Request<Full<Bytes>>) -> Answer {
        let io = TokioIo::new(self.connect_from(from, "http/1.1").await.unwrap());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        Answer::read(sender.send_request(request).await.unwrap()).await
    }

    /// One request on a connection of its own, HTTP/1.1.
    pub async fn send(&self, request: Request<Full<Bytes>>) -> Answer {
        let io = TokioIo::new(self.connect("http/1.1").await);
        let (mut sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
        tokio::spawn(connection);
        Answer::read(sender.send_request(request).await.unwrap()).await
    }

    /// The same over HTTP/2.
    pub async fn send_h2(&self, request: Request<Full<Bytes>>) -> Answer {
        let io = TokioIo::new(self.connect("h2").await);
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
        tokio::spawn(connection);
        Answer::read(sender.send_request(request).await.unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path).body(Full::default()).unwrap()).await
    }

    /// A form to `path`, authenticated by client_secret_basic.
    pub async fn post(&self, path: &str, form: &str) -> Answer {
        self.send(self.form(path, form)).await
    }

    pub fn form(&self, path: &str, form: &str) -> Request<Full<Bytes>> {
        self.request("POST", path)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("authorization", self.who.basic())
            .body(Full::from(form.to_owned()))
            .unwrap()
    }

    pub fn request(&self, method: &str, path: &str) -> hyper::http::request::Builder {
        Request::builder()
            .method(method)
            .uri(format!("https://{}{path}", self.address))
            .header("host", self.issuer_host())
    }

    fn issuer_host(&self) -> &str {
        self.issuer.split("://").nth(1).unwrap()
    }

    pub async fn token(&self) -> String {
        let answer = self.post("/token", "grant_type=client_credentials").await;
        answer.json()["access_token"].as_str().unwrap().to_owned()
    }

    pub async fn is_active(&self, token: &str) -> bool {
        self.post("/introspect", &format!("token={token}")).await.json()["active"] == true
    }
}

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub headers: hyper::HeaderMap,
    pub body: Bytes,
    pub version: hyper::Version,
}

impl Answer {
    pub async fn read(response: Response<hyper::body::Incoming>) -> Self {
        let (head, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        Self { status: head.status, headers: head.headers, body, version: head.version }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The status and the OAuth error code.
    pub fn refusal(&self) -> (u16, String) {
        (self.status.as_u16(), self.json()["error"].as_str().unwrap().to_owned())
    }
}

/// The logs of this process, at their most talkative, from the first call on.
pub fn log_capture() -> &'static Captured {
    static LOGS: OnceLock<Captured> = OnceLock::new();
    LOGS.get_or_init(|| {
        let captured = Captured::default();
        let sink = captured.clone();
        let config = sealstone_auth::config::Log {
            format: sealstone_auth::config::LogFormat::Json,
            level: sealstone_auth::config::LogLevel::Debug,
        };
        let dispatch = sealstone_auth::log::subscriber(&config, move || sink.clone());
        tracing::dispatcher::set_global_default(dispatch).unwrap();
        captured
    })
}

#[derive(Clone, Default)]
pub struct Captured(Arc<Mutex<Vec<u8>>>);

impl Captured {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A store in memory that counts its calls and can be told to misbehave.
pub struct Guarded {
    inner: Sqlite,
    mood: AtomicU8,
    calls: AtomicU64,
}

/// What a [`Guarded`] store does when it is called.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mood {
    Serve,
    Panic,
    Hang,
    Fail,
}

impl Guarded {
    pub fn new() -> Arc<Self> {
        let inner = Sqlite::in_memory().unwrap();
        Arc::new(Self { inner, mood: AtomicU8::new(Mood::Serve as u8), calls: AtomicU64::new(0) })
    }

    pub fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }

    fn pass<'a, T: 'a>(&'a self, call: impl FnOnce(&'a Sqlite) -> Kept<'a, T>) -> Kept<'a, T> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let mood = self.mood.load(Ordering::SeqCst);
        assert_ne!(mood, Mood::Panic as u8, "the store was asked");
        if mood == Mood::Hang as u8 {
            return Box::pin(std::future::pending());
        }
        if mood == Mood::Fail as u8 {
            let cause = "the disk is gone".to_owned();
            return Box::pin(async { Err(Error::Store { what: "anything", cause }) });
        }
        call(&self.inner)
    }
}

impl Store for Guarded {
    fn versions(&self) -> Kept<'_, Versions> {
        self.pass(|store| store.versions())
    }

    fn list(&self, kind: Kind, after: Version, now: UnixSeconds) -> Kept<'_, Vec<Record>> {
        self.pass(|store| store.list(kind, after, now))
    }

    fn read(&self, kind: Kind, id: &str, now: UnixSeconds) -> Kept<'_, Option<Record>> {
        self.pass(|store| store.read(kind, id, now))
    }

    fn insert(&self, new: NewRecord, now: UnixSeconds) -> Kept<'_, Written> {
        self.pass(|store| store.insert(new, now))
    }

    fn replace(&self, new: NewRecord, expected: Version, now: UnixSeconds) -> Kept<'_, Written> {
        self.pass(|store| store.replace(new, expected, now))
    }

    fn remove(&self, kind: Kind, id: &str, expected: Version) -> Kept<'_, Written> {
        self.pass(|store| store.remove(kind, id, expected))
    }

    fn consume(&self, kind: Kind, id: &str, now: UnixSeconds) -> Kept<'_, Use> {
        self.pass(|store| store.consume(kind, id, now))
    }

    fn prune(&self, now: UnixSeconds) -> Kept<'_, u64> {
        self.pass(|store| store.prune(now))
    }
}
