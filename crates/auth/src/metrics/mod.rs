//! What an operator's monitoring reads: counters and histograms in Prometheus' text format.
//!
//! Every series there can be is there from the start, in arrays of atomics that an enum indexes: counting takes one or two
//! additions and no lock, and no label can be made by a peer. (The well-known client libraries lock a histogram, or a
//! table of label sets, for each observation.) docs/metrics.md lists the series.

mod store;
mod text;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use sealstone_jose::Algorithm;

use crate::client::Grant;
pub(crate) use store::Measured;
pub(crate) use text::Text;

/// What is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    limited: [AtomicU64; Limit::ALL.len()],
    requests: [[AtomicU64; STATUSES.len()]; Endpoint::ALL.len()],
    seconds: [Histogram; Endpoint::ALL.len()],
    store: store::Counts,
    tokens: [[AtomicU64; Algorithm::ALL.len()]; Grant::ALL.len()],
}

impl Default for Metrics {
    fn default() -> Self {
        let zero = || AtomicU64::new(0);
        Self {
            limited: std::array::from_fn(|_| zero()),
            requests: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
            seconds: std::array::from_fn(|_| Histogram::default()),
            store: store::Counts::default(),
            tokens: std::array::from_fn(|_| std::array::from_fn(|_| zero())),
        }
    }
}

/// The statuses that the server gives; 0 stands for every other.
const STATUSES: [u16; 18] =
    [200, 201, 204, 303, 304, 400, 401, 403, 404, 405, 408, 409, 413, 415, 429, 500, 503, 0];

impl Metrics {
    /// A request was answered.
    pub(crate) fn answered(&self, endpoint: Endpoint, status: u16, took: Duration) {
        let known = STATUSES.iter().position(|known| *known == status).unwrap_or(STATUSES.len() - 1);
        self.requests[endpoint as usize][known].fetch_add(1, Ordering::Relaxed);
        self.seconds[endpoint as usize].observe(took);
    }

    /// A request or a connection was turned away.
    pub(crate) fn limited(&self, limit: Limit) {
        self.limited[limit as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// An access token was issued.
    pub(crate) fn issued(&self, grant: Option<Grant>, algorithm: Algorithm) {
        let grant = Grant::ALL.iter().position(|known| Some(*known) == grant);
        let algorithm = Algorithm::ALL.iter().position(|known| *known == algorithm);
        if let (Some(grant), Some(algorithm)) = (grant, algorithm) {
            self.tokens[grant][algorithm].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Everything that was counted. A series that is still zero is left out where there are many.
    pub(crate) fn write(&self, text: &mut Text) {
        text.family("sealstone_http_requests_total", "counter", "Requests that were answered.");
        for endpoint in Endpoint::ALL {
            for (at, status) in STATUSES.iter().enumerate() {
                let count = self.requests[endpoint as usize][at].load(Ordering::Relaxed);
                let status = if *status == 0 { "other".to_owned() } else { status.to_string() };
                text.unless_zero(&[("endpoint", endpoint.name()), ("status", &status)], count);
            }
        }
        let help = "From a request's head to its answer.";
        text.family("sealstone_http_request_duration_seconds", "histogram", help);
        for endpoint in Endpoint::ALL {
            self.seconds[endpoint as usize].write(text, &[("endpoint", endpoint.name())]);
        }
        text.family("sealstone_tokens_issued_total", "counter", "Access tokens that were issued.");
        for (grant, by_algorithm) in Grant::ALL.iter().zip(&self.tokens) {
            for (algorithm, count) in Algorithm::ALL.iter().zip(by_algorithm) {
                let labels = [("grant", grant.name()), ("algorithm", algorithm.name())];
                text.unless_zero(&labels, count.load(Ordering::Relaxed));
            }
        }
        let help = "Requests and connections that were turned away.";
        text.family("sealstone_limited_total", "counter", help);
        for limit in Limit::ALL {
            text.sample(&[("limit", limit.name())], self.limited[limit as usize].load(Ordering::Relaxed));
        }
        self.store.write(text);
    }
}

/// The limits that turn somebody away, by their names in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    AddressFailures,
    AddressRequests,
    ClientRequests,
    Connections,
    Requests,
}

impl Limit {
    const ALL: [Limit; 5] = [
        Limit::AddressFailures,
        Limit::AddressRequests,
        Limit::ClientRequests,
        Limit::Connections,
        Limit::Requests,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Limit::AddressFailures => "limits.address_failures_per_minute",
            Limit::AddressRequests => "limits.address_requests_per_minute",
            Limit::ClientRequests => "limits.client_requests_per_minute",
            Limit::Connections => "http.max_connections_per_address",
            Limit::Requests => "http.max_requests",
        }
    }
}

/// Where requests go, by their paths below the issuer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Admin,
    Assets,
    Authorize,
    Consent,
    Device,
    DeviceAuthorization,
    EndSession,
    Health,
    Introspect,
    Jwks,
    Login,
    Logout,
    Metadata,
    Other,
    Par,
    Passkey,
    Passkeys,
    Register,
    Revoke,
    Token,
    Userinfo,
}

impl Endpoint {
    const ALL: [Endpoint; 21] = [
        Endpoint::Admin,
        Endpoint::Assets,
        Endpoint::Authorize,
        Endpoint::Consent,
        Endpoint::Device,
        Endpoint::DeviceAuthorization,
        Endpoint::EndSession,
        Endpoint::Health,
        Endpoint::Introspect,
        Endpoint::Jwks,
        Endpoint::Login,
        Endpoint::Logout,
        Endpoint::Metadata,
        Endpoint::Other,
        Endpoint::Par,
        Endpoint::Passkey,
        Endpoint::Passkeys,
        Endpoint::Register,
        Endpoint::Revoke,
        Endpoint::Token,
        Endpoint::Userinfo,
    ];

    const fn name(self) -> &'static str {
        match self {
            Endpoint::Admin => "admin",
            Endpoint::Assets => "assets",
            Endpoint::Authorize => "authorize",
            Endpoint::Consent => "consent",
            Endpoint::Device => "device",
            Endpoint::DeviceAuthorization => "device_authorization",
            Endpoint::EndSession => "end_session",
            Endpoint::Health => "health",
            Endpoint::Introspect => "introspect",
            Endpoint::Jwks => "jwks",
            Endpoint::Login => "login",
            Endpoint::Logout => "logout",
            Endpoint::Metadata => "metadata",
            Endpoint::Other => "other",
            Endpoint::Par => "par",
            Endpoint::Passkey => "passkey",
            Endpoint::Passkeys => "passkeys",
            Endpoint::Register => "register",
            Endpoint::Revoke => "revoke",
            Endpoint::Token => "token",
            Endpoint::Userinfo => "userinfo",
        }
    }

    /// The endpoint of a route, below the issuer: its first word.
    pub(crate) fn of(route: &str) -> Self {
        let first = route.trim_start_matches('/').split('/').next().unwrap_or_default();
        if first == ".well-known" || route.contains("/.well-known/") {
            return Endpoint::Metadata;
        }
        Endpoint::ALL.into_iter().find(|endpoint| endpoint.name() == first).unwrap_or(Endpoint::Other)
    }
}

/// The upper bounds of a histogram's buckets, in microseconds.
const BOUNDS: [u64; 16] = [
    100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000,
];

/// How long something took, in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    /// Those up to each bound and above the one before; the last are above all.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Nothing while nothing was observed.
    pub(crate) fn write(&self, text: &mut Text, labels: &[(&str, &str)]) {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Ordering::Relaxed)).collect();
        let all: u64 = counts.iter().sum();
        if all == 0 {
            return;
        }
        let mut below = 0;
        for (bound, count) in BOUNDS.iter().map(Some).chain([None]).zip(counts) {
            below += count;
            let bound = bound.map_or("+Inf".to_owned(), |bound| (*bound as f64 / 1e6).to_string());
            text.part("_bucket", &[labels, &[("le", bound.as_str())]].concat(), below as f64);
        }
        text.part("_sum", labels, self.micros.load(Ordering::Relaxed) as f64 / 1e6);
        text.part("_count", labels, all as f64);
    }
}
