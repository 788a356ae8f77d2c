//! The C library. `include/sealstone.h` is its door and says all that a caller needs; this crate is what stands behind it.
//!
//! | file | holds |
//! |---|---|
//! | `door.rs` | how a call comes in and goes out: pointers, panics, outputs, errors in words |
//! | `status.rs` | the numbers that a call can return, and which error of the other crates is which |
//! | `handle.rs` | keys behind pointers that C cannot look into |
//! | `engine.rs`, `stream.rs` | ML-DSA itself: keys, signatures, messages in pieces |
//! | `batch.rs`, `side_by_side.rs` | many signatures at once |
//! | `forms.rs`, `keys.rs` | keys in PEM, DER and JWK (feature `jose`) |
//! | `jose.rs` | JWS, JWT, JWK sets (feature `jose`) |
//!
//! Each function has one shape: its outputs become an `Output`, its inputs become slices inside the closure of
//! [`door::enter`], and whatever happens in there, a panic included, comes out as a number with all outputs zeroed.
//! A test reads the header and the sources and compares them, declaration by declaration.

// A panic is caught at the door; where it ends the process there is nothing to catch.
#[cfg(panic = "abort")]
compile_error!("sealstone-capi turns panics into error codes: build it with panic = \"unwind\"");

mod batch;
mod door;
mod engine;
#[cfg(feature = "jose")]
mod forms;
mod handle;
#[cfg(feature = "jose")]
mod jose;
#[cfg(feature = "jose")]
mod keys;
mod side_by_side;
mod status;
mod stream;

pub use batch::*;
pub use engine::*;
pub use handle::{Handle, MuHasher, PrivateKey, PublicKey};
#[cfg(feature = "jose")]
pub use jose::*;
#[cfg(feature = "jose")]
pub use keys::*;
pub use status::*;
pub use stream::*;
