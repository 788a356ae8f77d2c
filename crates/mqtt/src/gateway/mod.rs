//! The verifying gateway: it subscribes at a broker, verifies each message, and publishes what is genuine under a clean prefix.
//! Everything else goes to a dead letter topic that names the reason.
//!
//! Data walks one way: [`wire`] (bytes to PUBLISH), [`verify`] (to a verdict), [`state`] (accepted once, and owed), back to the
//! broker. [`run`] is the loop around them and the only place with threads, sockets and clocks. docs/mqtt-gateway.md is the
//! operator's page and has the argument why nothing is lost or doubled.

mod alerts;
pub mod announce;
mod budget;
pub mod client;
mod commander;
pub mod commands;
pub mod config;
pub mod directory;
mod error;
mod inbox;
mod journal;
pub mod known;
pub mod learned;
pub mod link;
pub mod metrics;
mod observe;
pub mod page;
mod pair;
mod reason;
pub mod run;
pub mod state;
pub mod status;
pub mod tags;
pub mod tls;
pub mod verify;
mod watch;
pub mod wire;
mod workers;

pub use alerts::{Alert, AlertKind};
pub use commander::{Commander, Numbers};
pub use config::Config;
pub use directory::Directory;
pub use error::Error;
pub use observe::{Event, Observer};
pub use reason::{Marks, Reason};
pub use run::{Gateway, Stop};
pub use status::Status;
pub use tags::Tally;
