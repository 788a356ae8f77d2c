//! Signatures of files as the Linux kernel keeps and checks them: the extended attribute `security.ima` (Linux 7.2,
//! Integrity Measurement Architecture), version 3 with ML-DSA.
//!
//! | file | what |
//! |---|---|
//! | `record` | the bytes of the attribute |
//! | `file_id` | what of a file is signed |
//! | `appraise`, `classical` | whether a record stands for a file, by the kernel's rules |
//! | `verity` | digests of files as fs-verity has them |
//! | `keys` | what signs, what is trusted, and the id by which the kernel finds a key |
//! | `tree`, `sign`, `verify` | all files of a tree: signed, verified, their signatures moved |
//! | `beneath`, `walk`, `rules`, `file` | which files these are, opened so that no link leads elsewhere |
//! | `manifest` | digests and signatures in one signed file |
//! | `file_system`, `kernel` | what keeps and what checks attributes, and why one was refused |
//! | `forecast`, `census`, `geometry` | what signatures cost: the model, what a tree holds, how its disk is laid out |
//! | `preflight` | what is looked at before anything is written |
//! | `pipeline` | threads in bounded memory |
//!
//! ```
//! use sealstone_mldsa::{Context, Level, any};
//! use sealstone_tree::{Appraiser, FileId, HashAlgorithm, Key, KeyId, Kind, Record};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // SHA-256 of an empty file.
//! let digest = [
//!     0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14, 0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24, 0x27, 0xae, 0x41, 0xe4, 0x64,
//!     0x9b, 0x93, 0x4c, 0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55,
//! ];
//! let file = FileId::new(Kind::File, HashAlgorithm::Sha256, &digest)?;
//!
//! let key = any::SigningKey::from_seed(Level::MlDsa65, &[7; 32]);
//! let signature = key.sign_deterministic(Context::EMPTY, file.as_bytes())?;
//! let record = Record::of(&file, KeyId(0x3762_d430), signature.encode())?;
//! let attribute = record.to_bytes();
//! assert_eq!(&attribute[..9], [0x03, 0x03, 0x04, 0x37, 0x62, 0xd4, 0x30, 0x0c, 0xed]);
//!
//! let mut appraiser = Appraiser::new();
//! appraiser.trust(KeyId(0x3762_d430), Key::MlDsa(key.verifying_key().expand()));
//! appraiser.appraise(&Record::parse(&attribute)?, &file)?;
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod appraise;
mod beneath;
mod census;
mod classical;
mod digest;
mod error;
mod file;
mod file_id;
mod file_system;
pub mod forecast;
mod geometry;
mod kernel;
mod keys;
pub mod manifest;
mod pipeline;
mod preflight;
mod record;
mod remedy;
mod replica;
mod rules;
mod sign;
mod tree;
mod verify;
mod verity;
mod walk;

pub use appraise::{Appraiser, Key};
pub use census::{Census, Group, Remembered};
pub use classical::Classical;
pub use error::Error;
pub use file_id::{FileId, HashAlgorithm, Kind};
pub use file_system::{FileSystem, Room};
pub use geometry::Ground;
pub use kernel::Kernel;
pub use keys::{Signer, Subject, TrustedKey};
pub use manifest::Manifest;
pub use preflight::Preflight;
pub use record::{KeyId, Record, Version};
pub use rules::{Patterns, Rules};
pub use sign::{SignOptions, Signing};
pub use tree::{Count, Entry, SECURITY_IMA, Tree, USER_IMA};
pub use verify::{Applying, Verification};
pub use walk::Left;
