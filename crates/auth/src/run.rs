//! The server as a whole: bound, then run.

use std::future::Future;
use std::net::SocketAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use sealstone_jose::UnixSeconds;
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::admin::{self, Admin};
use crate::audit::{Audit, Book, Event, What};
use crate::clock::{Clock, OsRandomness, Randomness, SystemClock};
use crate::config::{Config, Fault, TlsMode};
use crate::http::{self, App, Gate, Limiters, Limits, Origins};
use crate::issuer::Issuer;
use crate::kerberos::Acceptor;
use crate::keys::{Policy, Stage};
use crate::metrics::{Measured, Metrics};
use crate::outbound::{KeySets, Logouts, Outbound, Resolver, SystemResolver};
use crate::people::People;
use crate::protocol::dpop::Dpop;
use crate::signers::Signers;
use crate::snapshot::Live;
use crate::store::{Sqlite, Store};
use crate::tls::{self, Identity, Terms};
use crate::verifiers::Verifiers;
use crate::{Error, data_dir, trusted};

/// The parts of the world that a server needs and a test replaces.
#[derive(Clone)]
pub struct World {
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Chance.
    pub randomness: Arc<dyn Randomness>,
    /// Finds the addresses of hosts.
    pub resolver: Arc<dyn Resolver>,
    /// The truth; `None` opens SQLite in the data directory.
    pub store: Option<Arc<dyn Store>>,
}

impl Default for World {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            randomness: Arc::new(OsRandomness),
            resolver: Arc::new(SystemResolver),
            store: None,
        }
    }
}

impl std::fmt::Debug for World {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("World")
    }
}

/// Binds and runs a server until `shutdown` is ready and everything in flight is answered.
pub async fn run(config: Config, shutdown: impl Future<Output = ()>) -> Result<(), Error> {
    Server::bind(config, World::default()).await?.run(shutdown).await;
    Ok(())
}

/// A server that listens and has its keys, but does not serve yet.
pub struct Server {
    app: Arc<App>,
    certificate_pem: Option<String>,
    config: Config,
    listener: TcpListener,
    local_addr: SocketAddr,
    monitoring: Option<TcpListener>,
    store: Arc<dyn Store>,
    tls: Option<Terms>,
    world: World,
}

impl Server {
    /// Checks the configuration, opens the data directory, binds, and makes what is missing: signing keys, the key that
    /// seals them, a self-signed certificate.
    pub async fn bind(config: Config, world: World) -> Result<Self, Error> {
        config.check()?;
        data_dir::create(&config.data_dir)?;
        let listen = |cause| Error::Listen { address: config.listen, cause };
        let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
        let local_addr = listener.local_addr().map_err(listen)?;
        let issuer = issuer(&config, local_addr)?;
        let identity = identity(&config, &issuer, local_addr)?;
        let certificate_pem = identity.as_ref().map(|identity| identity.certificate_pem().to_owned());
        let tls = identity.map(|own| own.terms(config.tls.client_certificates)).transpose()?;
        let anchors = config.tls.client_ca.as_deref().map(tls::anchors).transpose()?.unwrap_or_default();

        let kerberos = Acceptor::load(&config.kerberos)?;

        let store = match &world.store {
            Some(store) => Arc::clone(store),
            None => Arc::new(Sqlite::open(&data_dir::store(&config.data_dir))?),
        };
        let metrics = Arc::new(Metrics::default());
        let store: Arc<dyn Store> = match config.metrics.listen {
            Some(_) => Arc::new(Measured::new(store, Arc::clone(&metrics))),
            None => store,
        };
        let monitoring = match config.metrics.listen {
            Some(address) => {
                Some(TcpListener::bind(address).await.map_err(|cause| Error::Listen { address, cause })?)
            }
            None => None,
        };
        let now = world.clock.now();
        let sealer = admin::sealer(&config.data_dir, &*store, &*world.randomness, now).await?;
        let (clock, chance) = (Arc::clone(&world.clock), Arc::clone(&world.randomness));
        let audit = Audit::open(&config.audit, &config.data_dir, &sealer, clock, chance)?.map(Arc::new);
        let algorithms = config.tokens.algorithms.clone();
        let (policy, randomness) = (Policy::of(&config), Arc::clone(&world.randomness));
        let now = world.clock.now();
        let people = People::new(&config, &issuer, &sealer)?;
        let live = Live::open(Arc::clone(&store), sealer, algorithms, policy, randomness, now).await?;
        let stored = Arc::clone(&live.snapshot().trusted);
        let live = live.trusting(trusted::configured(&config.trusted_issuers, &stored, issuer.as_str())?);

        let (clock, randomness) = (Arc::clone(&world.clock), Arc::clone(&world.randomness));
        let book = audit.as_ref().map(Book::of_server);
        let outbound = Outbound::new(&config.outbound, Arc::clone(&world.resolver));
        let admin = Admin::new(&config, Arc::clone(&store), clock, randomness).with_book(book);
        let admin = admin.with_sealer(Arc::clone(live.sealer())).with_outbound(outbound);
        let before = live.snapshot().clients.configured();
        admin.apply_static(&config.static_clients, &before).await?;
        live.refresh(world.clock.now()).await?;
        let app = Arc::new(App {
            admin,
            admin_api: config.admin.api,
            anchors,
            audit,
            clock: Arc::clone(&world.clock),
            device: config.device.clone(),
            dpop: Dpop::new(&config.dpop, live.sealer(), live.randomness())?,
            kerberos,
            key_sets: KeySets::new(Arc::new(Outbound::new(&config.outbound, Arc::clone(&world.resolver)))),
            live: Arc::new(live),
            max_body_bytes: usize::try_from(config.http.max_body_bytes.get()).unwrap_or(usize::MAX),
            max_lifetime_seconds: config.tokens.max_lifetime_seconds.get(),
            limiters: Limiters::new(&config.limits),
            gate: Arc::new(gate(&config)),
            origins: Origins {
                header: config.http.proxy_header,
                // Where TLS ends before us, what connects is a proxy, known or not.
                peers: config.tls.mode != TlsMode::PlainBehindProxy,
                proxies: config.http.proxies.clone(),
            },
            par_lifetime_seconds: config.par.lifetime_seconds.get(),
            people,
            metadata: http::metadata(&issuer, &config),
            metrics,
            ready: AtomicBool::new(true),
            refreshed_at: AtomicU64::new(now.0),
            registration: config.registration.clone(),
            request_timeout: seconds(config.http.request_timeout_seconds),
            signers: Signers::new(config.tokens.sign_together),
            verifiers: Verifiers::for_this_machine(),
            issuer,
        });
        tracing::info!(issuer = %app.issuer, address = %local_addr, tls = tls.is_some(), "listening");
        Ok(Self { app, certificate_pem, config, listener, local_addr, monitoring, store, tls, world })
    }

    /// The address that is listened on.
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// The address at which monitoring is answered, if it is.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.monitoring.as_ref().and_then(|listener| listener.local_addr().ok())
    }

    /// The issuer identifier, also the base of every endpoint.
    pub fn issuer(&self) -> &Issuer {
        &self.app.issuer
    }

    /// The certificate chain that the server presents, for clients that are to trust it; `None` without TLS.
    pub fn certificate_pem(&self) -> Option<&str> {
        self.certificate_pem.as_deref()
    }

    /// An administrator of the server's store. What it changes is noticed at the next poll, or at once by
    /// [`refresh`](Self::refresh).
    pub fn admin(&self) -> Admin {
        let (clock, randomness) = (Arc::clone(&self.world.clock), Arc::clone(&self.world.randomness));
        let admin = Admin::new(&self.config, Arc::clone(&self.store), clock, randomness);
        let book = Book::of(&self.config.audit, &self.config.data_dir, Arc::clone(&self.world.randomness));
        let outbound = Outbound::new(&self.config.outbound, Arc::clone(&self.world.resolver));
        admin.with_sealer(Arc::clone(self.app.live.sealer())).with_outbound(outbound).with_book(book)
    }

    /// Takes in at once what changed in the store.
    pub async fn refresh(&self) -> Result<(), Error> {
        self.app.live.refresh(self.world.clock.now()).await
    }

    /// Serves until `shutdown` is ready and everything in flight is answered.
    pub async fn run(self, shutdown: impl Future<Output = ()>) {
        let limits = Limits {
            connections: u32::try_from(self.config.http.max_connections.get()).unwrap_or(u32::MAX),
            grace: Duration::from_secs(self.config.shutdown.grace_seconds),
            header_timeout: seconds(self.config.http.header_timeout_seconds),
            idle_timeout: seconds(self.config.http.idle_timeout_seconds),
        };
        // A set, because it ends its task when it is dropped: also when this future is.
        let mut beside = JoinSet::new();
        beside.spawn(upkeep(Arc::clone(&self.app), Arc::clone(&self.world.clock), poll(&self.config)));
        let logouts = Logouts {
            clock: Arc::clone(&self.world.clock),
            issuer: self.app.issuer.clone(),
            live: Arc::clone(&self.app.live),
            outbound: Arc::new(Outbound::new(&self.config.outbound, Arc::clone(&self.world.resolver))),
        };
        beside.spawn(send_logouts(logouts, poll(&self.config)));
        if let Some(listener) = self.monitoring {
            beside.spawn(http::measured::serve(listener, Arc::clone(&self.app)));
        }
        let announce = Duration::from_secs(self.config.shutdown.announce_seconds);
        if let Some(audit) = &self.app.audit {
            let mut stages: Vec<String> =
                self.app.live.snapshot().keys.stages().iter().map(state_of).collect();
            stages.sort();
            let started = Event::new(What::ServerStarted, self.world.clock.now());
            let started = started.with("issuer", self.app.issuer.as_str()).with("keys", &stages.join(", "));
            audit.note(vec![started.with("version", env!("CARGO_PKG_VERSION"))]);
        }
        let app = Arc::clone(&self.app);
        let ending = async move {
            shutdown.await;
            tracing::info!("shutting down");
            app.ready.store(false, Ordering::Release);
            tokio::time::sleep(announce).await;
        };
        let served = Arc::clone(&self.app);
        http::serve(self.listener, self.tls, self.app, limits, ending).await;
        beside.shutdown().await;
        if served.audit.is_some() {
            let now = self.world.clock.now();
            let _ = tokio::task::spawn_blocking(move || {
                if let Some(audit) = &served.audit {
                    audit.note(vec![Event::new(What::ServerStopped, now)]);
                    audit.close();
                }
            })
            .await;
        }
        tracing::info!("stopped");
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").field("local_addr", &self.local_addr).finish_non_exhaustive()
    }
}

/// How often what has ended is deleted from the store.
const PRUNE_EVERY_SECONDS: u64 = 60;

/// Notices what others changed, moves keys on, and deletes what has ended. A store that does not answer leaves the
/// last snapshot in force and is asked again.
async fn upkeep(app: Arc<App>, clock: Arc<dyn Clock>, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut pruned = clock.now();
    let mut stages = app.live.snapshot().keys.stages().to_vec();
    loop {
        ticks.tick().await;
        let now = clock.now();
        let mut done = app.live.refresh(now).await;
        if done.is_ok() {
            app.refreshed_at.store(now.0, Ordering::Relaxed);
        }
        if done.is_ok() {
            done = app.live.rotate(now).await;
        }
        if done.is_ok() && now.0.saturating_sub(pruned.0) >= PRUNE_EVERY_SECONDS {
            done = app.live.store().prune(now).await.map(|gone| {
                tracing::debug!(gone, "pruned");
                pruned = now;
            });
        }
        if let Err(cause) = done {
            tracing::error!(%cause, hint = cause.hint(), "the store could not be followed");
        }
        let snapshot = app.live.snapshot();
        if let Some(audit) = &app.audit
            && snapshot.keys.stages() != stages
        {
            audit.note(moved(&stages, snapshot.keys.stages(), now));
            stages = snapshot.keys.stages().to_vec();
        }
    }
}

/// Tells clients that sessions have ended.
async fn send_logouts(logouts: Logouts, every: Duration) {
    let mut ticks = tokio::time::interval(every);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if let Err(cause) = logouts.round().await {
            tracing::error!(%cause, hint = cause.hint(), "clients could not be told that sessions have ended");
        }
    }
}

/// What became of the signing keys, whoever did it: this server, another one on the store, or an administrator.
fn moved(before: &[Stage], after: &[Stage], now: UnixSeconds) -> Vec<Event> {
    let new = after.iter().filter(|stage| !before.contains(stage));
    let event = |stage: &Stage| Event::new(What::KeyMoved, now).with("key", &state_of(stage));
    new.map(event).collect()
}

/// `ML-DSA-65/1 active`: the key's record and where it stands.
fn state_of(stage: &Stage) -> String {
    let state = stage.state.name();
    format!("{}/{} {state}", stage.algorithm.name(), stage.sequence)
}

fn gate(config: &Config) -> Gate {
    let size = |n: NonZeroU64| usize::try_from(n.get()).unwrap_or(usize::MAX);
    let http = &config.http;
    Gate::new(
        size(http.max_requests),
        size(http.max_requests_per_address),
        size(http.max_connections_per_address),
    )
}

fn issuer(config: &Config, address: SocketAddr) -> Result<Issuer, Error> {
    let plain = config.tls.mode == TlsMode::PlainLoopback;
    let derived = format!("{}://{address}", if plain { "http" } else { "https" });
    let text = config.issuer.as_deref().unwrap_or(&derived);
    Issuer::parse(text, plain).map_err(|what| Fault::issuer(what).into())
}

fn identity(config: &Config, issuer: &Issuer, address: SocketAddr) -> Result<Option<Identity>, Error> {
    match (config.tls.mode, &config.tls.certificate, &config.tls.key) {
        (TlsMode::Files, Some(certificate), Some(key)) => Identity::load(certificate, key).map(Some),
        (TlsMode::PlainBehindProxy | TlsMode::PlainLoopback, ..) => Ok(None),
        _ => {
            let identity = tls::self_signed(&tls::names(&issuer.host(), address.ip()))?;
            let path = config.data_dir.join("tls-self-signed.pem");
            std::fs::write(&path, identity.certificate_pem()).map_err(|cause| Error::data(&path, cause))?;
            Ok(Some(identity))
        }
    }
}

fn poll(config: &Config) -> Duration {
    Duration::from_millis(config.store.poll_milliseconds.get())
}

/// At most a century, so that times can be added and doubled.
fn seconds(n: NonZeroU64) -> Duration {
    Duration::from_secs(n.get().min(100 * 366 * 86_400))
}
