//! How much may be under way at once, in sum and for one address.
//!
//! A request that is under way holds at most its head, its body and its answer, so that a bound on their number bounds
//! what peers can make the server keep, whatever connections and streams they spread it over. The share of one address
//! leaves room for the others.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::limits::Network;

/// The bounds and what counts towards them.
#[derive(Debug)]
pub(crate) struct Gate {
    connections_per_address: usize,
    in_flight: AtomicUsize,
    most: usize,
    most_per_address: usize,
    /// One for each address that has a connection, so no more than there may be connections.
    shares: Mutex<HashMap<Network, Share>>,
}

/// What one address has under way.
#[derive(Debug)]
struct Share {
    connections: usize,
    requests: Arc<AtomicUsize>,
}

impl Gate {
    pub(crate) fn new(most: usize, most_per_address: usize, connections_per_address: usize) -> Self {
        let (in_flight, shares) = (AtomicUsize::new(0), Mutex::default());
        Self { connections_per_address, in_flight, most, most_per_address, shares }
    }

    /// A connection from an address; `None` if it has enough of them.
    pub(crate) fn connect(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        let network = Network::of(address);
        let mut shares = self.shares();
        let share = shares.entry(network);
        let share = share.or_insert_with(|| Share { connections: 0, requests: Arc::default() });
        if share.connections >= self.connections_per_address {
            return None;
        }
        share.connections += 1;
        let requests = Arc::clone(&share.requests);
        Some(Seat { gate: Arc::clone(self), network, requests })
    }

    /// A request, with what its address has under way if that is counted; `None` if there is no room.
    pub(crate) fn enter(&self, share: Option<Arc<AtomicUsize>>) -> Option<Entered<'_>> {
        let entered = Entered { gate: self, share };
        // Counted first and looked at then: together they never are more than the bounds, and leaving takes it back.
        let all = self.in_flight.fetch_add(1, Ordering::AcqRel);
        let of_address = entered.share.as_ref().map_or(0, |share| share.fetch_add(1, Ordering::AcqRel));
        (all < self.most && of_address < self.most_per_address).then_some(entered)
    }

    /// Requests that are under way.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Acquire)
    }

    fn shares(&self) -> MutexGuard<'_, HashMap<Network, Share>> {
        self.shares.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection of an address.
#[derive(Debug)]
pub(crate) struct Seat {
    gate: Arc<Gate>,
    network: Network,
    requests: Arc<AtomicUsize>,
}

impl Seat {
    /// What its address has under way.
    pub(crate) fn requests(&self) -> Arc<AtomicUsize> {
        Arc::clone(&self.requests)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut shares = self.gate.shares();
        if let Some(share) = shares.get_mut(&self.network) {
            share.connections -= 1;
            if share.connections == 0 {
                shares.remove(&self.network);
            }
        }
    }
}

/// A request that is under way.
#[derive(Debug)]
pub(crate) struct Entered<'a> {
    gate: &'a Gate,
    share: Option<Arc<AtomicUsize>>,
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.gate.in_flight.fetch_sub(1, Ordering::AcqRel);
        if let Some(share) = &self.share {
            share.fetch_sub(1, Ordering::AcqRel);
        }
    }
}
