//! People: who they are, how they prove it, and what their browsers hold afterwards. No HTTP here.
//!
//! | file | what it holds |
//! |---|---|
//! | [`user`] | the record behind a username |
//! | [`password`] | argon2id in a bounded number of threads |
//! | [`passkey`], [`cose`] | Web Authentication, and its keys |
//! | [`session`] | what a browser holds after somebody has signed in |
//! | [`throttle`] | how often somebody may guess |
//! | [`browser`] | form tokens, and which browsers are known |
//! | [`login`] | one attempt, from what was typed to a session |

pub mod browser;
pub mod cose;
pub mod login;
pub mod passkey;
pub mod password;
pub mod session;
pub mod throttle;
pub mod user;

use crate::Error;
use crate::config::Config;
use crate::issuer::Issuer;
use crate::keys::Sealer;

pub use browser::BrowserKeys;
pub use passkey::{Passkey, RelyingParty};
pub use password::{Cost, Password, PasswordHash, Passwords};
pub use session::Session;
pub use throttle::Throttle;
pub use user::{User, normalised};

/// What signing in needs besides the store.
#[derive(Debug)]
pub struct People {
    /// Form tokens and known browsers.
    pub browsers: BrowserKeys,
    /// Who has to wait before another user code, RFC 8628 §5.1.
    pub codes: Throttle,
    /// Who asks authenticators; `None` where the issuer's host is an address.
    pub party: Option<RelyingParty>,
    /// The threads that compute hashes.
    pub passwords: Passwords,
    /// How long sessions last.
    pub sessions: session::Limits,
    /// Who has to wait.
    pub throttle: Throttle,
}

/// How many counts the throttle keeps: some 5 MB when it is full.
const MOST_COUNTS: usize = 100_000;

impl People {
    /// By the configuration, for an issuer, with keys of the store's sealer.
    /// Errors: `Sealed`.
    pub fn new(config: &Config, issuer: &Issuer, sealer: &Sealer) -> Result<Self, Error> {
        Ok(Self {
            browsers: BrowserKeys::derive(sealer)?,
            codes: Throttle::new(MOST_COUNTS),
            party: RelyingParty::of(issuer),
            passwords: config.passwords.pool(),
            sessions: session::Limits {
                absolute_seconds: config.sessions.absolute_seconds.get(),
                idle_seconds: config.sessions.idle_seconds.get(),
            },
            throttle: Throttle::new(MOST_COUNTS),
        })
    }
}
