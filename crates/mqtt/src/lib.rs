//! Signed MQTT messages with ML-DSA (FIPS 204), from a microcontroller to a verifying gateway.
//!
//! MQTT hands a message from a publisher to a broker and from there to subscribers, who cannot tell who wrote it. Here each
//! message carries a seal over everything that matters: topic, payload, level, key id, epoch and sequence number,
//! time, and the properties that a request needs. Any broker carries it; none has to be trusted.
//!
//! ```
//! use sealstone_mldsa::{Level, OsRandom, any};
//! use sealstone_mqtt::{Form, Keyed, KeyId, Message, Number, Topic, UnixMillis, open, seal};
//!
//! # fn main() -> Result<(), sealstone_mqtt::Error> {
//! // On the device.
//! let key = any::SigningKey::generate(Level::MlDsa44, &mut OsRandom)?;
//! let signer = key.expand();
//! let message = Message {
//!     key_id: KeyId(1),
//!     number: Some(Number { epoch: 1, sequence: 0 }),
//!     time: UnixMillis(1_800_000_000_000),
//!     ..Message::new(Topic::new("device/7/telemetry/temp")?, b"21.5")
//! };
//! let mut wire = [0; 2600];
//! let len = seal::seal(Form::V1, &message, &mut Keyed::new(&signer, &mut OsRandom), &mut wire)?;
//!
//! // At the gateway, which got the bytes on this topic.
//! let envelope = open::Envelope::parse(Form::V1, Topic::new("device/7/telemetry/temp")?, &wire[..len])?;
//! let opened = envelope.verify(&key.verifying_key())?;
//! assert_eq!(opened.payload, b"21.5");
//! # Ok(())
//! # }
//! ```
//!
//! - [`open`] and [`seal`]: the four forms of an envelope, byte for byte in docs/formats/mqtt.md.
//! - [`level`]: which level a message is signed with, by its class and the device's means.
//! - [`flash`] and [`number`]: lasting memory that survives power cuts, and numbers that are given out once.
//! - [`device`]: signing in little memory.
//! - [`packet`]: MQTT control packets.
//! - [`provision`]: what a device is given once.
//! - [`publisher`]: a device's connection to a broker.
//! - [`keyring`], [`sealer`]: which key signs, and what becomes of each message.
//! - [`mac`]: tags instead of signatures, and checkpoints over them.
//! - [`batch`], [`cache`], [`template`]: several readings in one, values that did not change, commands signed beforehand.
//! - [`commander`], [`rotation`]: what a device is told, and keys that it makes itself.
//! - [`replay`]: each number is accepted once.
//! - `gateway`, with the feature `std`: what verifies between a broker and those who read.
//!
//! No allocation, no panic on any input, no clock and no socket: time and bytes are passed in.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

mod base64url;
pub mod batch;
pub mod cache;
mod cbor;
pub mod commander;
pub mod device;
mod error;
pub mod flash;
pub mod form;
#[cfg(feature = "std")]
pub mod gateway;
pub mod keyring;
pub mod level;
pub mod mac;
mod message;
pub mod number;
pub mod open;
pub mod packet;
pub mod provision;
pub mod publisher;
pub mod replay;
pub mod rotation;
pub mod seal;
pub mod sealer;
#[cfg(feature = "std")]
pub mod simulate;
pub mod template;
mod topic;

pub use error::{Error, Field};
pub use form::Form;
pub use message::{KeyId, Kind, Message, Number, UnixMillis};
pub use seal::{Keyed, Signer};
pub use topic::{Filter, Topic};
