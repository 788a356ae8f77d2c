//! Who is turned away before anything is done: an address that has failed too often, a client or an address that asks too
//! often. docs/limits.md says why each limit is what it is.

use std::net::IpAddr;

use super::App;
use super::answer::{Refusal, Seen};
use super::late::Late;
use crate::config;
use crate::limits::{Meter, Network};
use crate::metrics::{Endpoint, Limit};
use crate::protocol::{Code, discovery};

/// The meters; one that is `None` limits nothing.
#[derive(Debug)]
pub(crate) struct Limiters {
    addresses: Option<Meter>,
    clients: Option<Meter>,
    failures: Option<Meter>,
    pub(super) late: Late,
}

impl Limiters {
    pub(crate) fn new(config: &config::Limits) -> Self {
        Self {
            addresses: Meter::per_minute(config.address_requests_per_minute),
            clients: Meter::per_minute(config.client_requests_per_minute),
            failures: Meter::per_minute(config.address_failures_per_minute),
            late: Late::new(config.failures_per_second),
        }
    }
}

impl App {
    /// Before anything is read.
    /// Errors: `TooMany`.
    pub(super) fn admit(&self, path: Option<&str>, origin: Option<IpAddr>) -> Result<(), Refusal> {
        let Some(network) = origin.filter(|_| self.is_limited(path)).map(Network::of) else { return Ok(()) };
        let now = self.clock.now();
        let too_many = |limit| move |seconds| self.too_many(limit, seconds);
        if let Some(failures) = &self.limiters.failures {
            failures.check(network, now).map_err(too_many(Limit::AddressFailures))?;
        }
        match &self.limiters.addresses {
            Some(addresses) => addresses.take(network, now).map_err(too_many(Limit::AddressRequests)),
            None => Ok(()),
        }
    }

    /// Once a client has proved who it is: a name alone must not use up what is another's.
    /// Errors: `TooMany`.
    pub(super) fn admit_client(&self, client: &str) -> Result<(), Refusal> {
        match &self.limiters.clients {
            Some(clients) => {
                let taken = clients.take(client, self.clock.now());
                taken.map_err(|seconds| self.too_many(Limit::ClientRequests, seconds))
            }
            None => Ok(()),
        }
    }

    /// Whether an answer says that somebody could not prove who they are or what they hold.
    pub(super) fn is_failure(&self, path: Option<&str>, seen: &Seen) -> bool {
        match seen.error.as_ref().map(|error| error.code) {
            Some(Code::InvalidClient | Code::InvalidGrant | Code::InvalidToken) => true,
            // On a page it is a password or a code that was wrong; elsewhere it is a person's answer to a client.
            Some(Code::AccessDenied) => {
                let path = self.below(path);
                ["/login", "/passkey", discovery::DEVICE].into_iter().any(|page| path == Some(page))
            }
            _ => false,
        }
    }

    /// Counts a failure for the address that it is of.
    pub(super) fn count_failure(&self, origin: Option<IpAddr>) {
        if let (Some(failures), Some(origin)) = (&self.limiters.failures, origin) {
            failures.charge(Network::of(origin), self.clock.now());
        }
    }

    fn too_many(&self, limit: Limit, seconds: u64) -> Refusal {
        self.metrics.limited(limit);
        Refusal::TooMany { limit, seconds }
    }

    /// What a request is counted as.
    pub(super) fn endpoint(&self, path: Option<&str>) -> Endpoint {
        self.below(path).map_or(Endpoint::Other, Endpoint::of)
    }

    /// Everything but what anybody may read at any time, and a supervisor.
    fn is_limited(&self, path: Option<&str>) -> bool {
        let open = |path: &str| {
            path == discovery::JWKS || path.contains("/.well-known/") || path.starts_with("/assets/")
        };
        match path {
            Some(path) if path.starts_with("/health/") || path.starts_with("/.well-known/") => false,
            _ => !self.below(path).is_some_and(open),
        }
    }

    fn below<'a>(&self, path: Option<&'a str>) -> Option<&'a str> {
        path.map(|path| path.strip_prefix(self.issuer.path()).unwrap_or(path))
    }
}
