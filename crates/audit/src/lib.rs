//! A log that cannot be changed unseen: lines of JSON that carry each other's hashes, in blocks that end with a signature.
//!
//! | file | what |
//! |---|---|
//! | `event` | what is written down |
//! | `log` | a chain with the thread that writes it |
//! | `chain` | one chain: how it grows, and how it goes on after whatever happened |
//! | `journal` | the system's journal |
//! | `verify`, `links` | checking chains |
//! | `part` | reading some lines |
//!
//! ```
//! use sealstone_audit::{CONTEXT, Chain, ChainFiles, Error, Event, Key, Kind, Manner};
//! use sealstone_jose::{Algorithm, PublicKey, UnixSeconds};
//! use sealstone_mldsa::{Context, Level, OsRandom, any};
//! use std::sync::Arc;
//!
//! /// A key in memory; one that lasts is sealed on the disk.
//! struct InMemory(any::SigningKey, PublicKey);
//!
//! impl Key for InMemory {
//!     fn kid(&self) -> &str {
//!         self.1.kid()
//!     }
//!     fn sign(&self, line: &[u8]) -> Result<Vec<u8>, Error> {
//!         let failed = |cause: sealstone_mldsa::Error| Error::Key { what: cause.to_string() };
//!         let context = Context::new(CONTEXT).map_err(failed)?;
//!         self.0.sign(&mut OsRandom, context, line).map(|signature| signature.encode().to_vec()).map_err(failed)
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = any::SigningKey::generate(Level::MlDsa65, &mut OsRandom)?;
//! let public = PublicKey::from_public(Algorithm::MlDsa65, key.verifying_key().encode())?;
//! let key = Arc::new(InMemory(key, public.clone()));
//! # let place = std::env::temp_dir().join(format!("sealstone-audit-{}", std::process::id()));
//! let now = UnixSeconds(1_800_000_000);
//! let names = ["doors".to_owned()];
//! let opened = Chain::open(&place, &names, key, 1 << 20, Manner::Lasting, now)?;
//! let (mut chain, _) = opened.ok_or("somebody else writes")?;
//! chain.append(&Event::new(Kind { name: "door.opened", warning: false }, now).with("door", "north"));
//! chain.seal("command", now)?;
//! chain.settle()?;
//! drop(chain);
//!
//! let report = ChainFiles::of(&place.join("doors"))?.ok_or("no chain")?.verify(&public)?;
//! assert!(report.is_good());
//! assert_eq!((report.lines, report.seals), (3, 1));
//! # std::fs::remove_dir_all(place)?;
//! # Ok(())
//! # }
//! ```
//!
//! Which events there are, and where the key comes from, is for whoever writes a log. The bytes are in
//! docs/formats/audit.md.

#![forbid(unsafe_code)]

mod chain;
mod error;
mod event;
mod journal;
mod links;
mod log;
mod part;
mod verify;

pub use chain::{Chain, Head, Manner};
pub use error::Error;
pub use event::{Event, Kind, LOST, MAX_TEXT, OPENED, SEAL};
pub use journal::Journal;
pub use log::{Log, Settings};
pub use part::Part;
pub use verify::{ChainFiles, Fault, Finding, MAX_LINE, Report};

/// What a signature is over besides the line (FIPS 204, 5.2): it is one for no other purpose.
pub const CONTEXT: &[u8] = b"sealstone audit v1";

/// The key that signs the blocks of a log, and nothing else.
pub trait Key: Send + Sync {
    /// Its name in the log: the thumbprint of RFC 7638.
    fn kid(&self) -> &str;
    /// A signature of ML-DSA over the bytes of a line, under [`CONTEXT`]. Errors: `Key`.
    fn sign(&self, line: &[u8]) -> Result<Vec<u8>, Error>;
}
