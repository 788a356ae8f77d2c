//! Key sets that others publish at an address (`jwks_uri`): how long one is believed, when it is asked for again, and which
//! addresses may be asked.
//!
//! [`Cache`] decides and does nothing: it is told the time and what a fetch brought, and knows no socket and no clock. So it
//! serves a blocking client (the feature `remote` has one, `Client`) and an asynchronous server alike.
//!
//! ```
//! use sealstone_jose::remote::{Cache, Lifetime, Outcome, Policy, Step};
//! use sealstone_jose::{Algorithm, JwkSet, PrivateKey, UnixSeconds};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! # let published = JwkSet::new([PrivateKey::generate(Algorithm::MlDsa44)?.public().clone().with_kid("k1")])?.to_json();
//! let mut cache = Cache::new(Policy::default());
//! let now = UnixSeconds(1_800_000_000);
//! let has = |keys: &JwkSet| keys.find("k1").is_some();
//!
//! let Step::Fetch(ticket) = cache.next(now, Some("k1"), has) else { panic!("nothing is known yet") };
//! // … get the document, with `If-None-Match: ` and `ticket.etag()` if there is one …
//! let keys = JwkSet::parse(published.as_bytes())?;
//! cache.done(&ticket, now, Outcome::Document { keys, etag: None, lifetime: Lifetime::of("max-age=600", None) });
//!
//! assert!(matches!(cache.next(UnixSeconds(now.0 + 599), Some("k1"), has), Step::Use(_)));
//! assert!(matches!(cache.next(UnixSeconds(now.0 + 600), Some("k1"), has), Step::Fetch(_)));
//! # Ok(())
//! # }
//! ```

pub mod address;
mod cache;
#[cfg(feature = "remote")]
mod client;
mod lifetime;

pub use cache::{Cache, Outcome, Policy, Step, Ticket};
#[cfg(feature = "remote")]
pub use client::{Builder, Client, Document};
pub use lifetime::Lifetime;
