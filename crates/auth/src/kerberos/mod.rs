//! Kerberos: who holds a ticket for this service.
//!
//! | file | what | document |
//! |---|---|---|
//! | `acceptor` | what a token proves | RFC 4120 §3.2.3, RFC 4121 §4.1 |
//! | `spnego` | the token around it | RFC 4178, RFC 2743 §3.1 |
//! | `message` | AP-REQ, AP-REP and what is sealed in them | RFC 4120 §5 |
//! | `crypto` | AES with HMAC | RFC 3961, RFC 3962, RFC 8009 |
//! | `keytab` | the keys of the service | MIT Kerberos, keytab format 2 |
//!
//! Nothing here waits: no KDC is asked, no name is looked up, no file is read after the start. Time and chance are passed
//! in. That a token is used once is not decided here, but by the store (`protocol::client_kerberos`).
//!
//! It is built with the feature `kerberos`. Without it an [`Acceptor`] cannot be had, and a configuration that asks for
//! one is refused.

#[cfg(feature = "kerberos")]
mod acceptor;
#[cfg(feature = "kerberos")]
pub mod crypto;
#[cfg(feature = "kerberos")]
mod keytab;
#[cfg(feature = "kerberos")]
mod message;
#[cfg(feature = "kerberos")]
mod spnego;

use sealstone_jose::UnixSeconds;

use crate::client::Principal;

#[cfg(feature = "kerberos")]
pub use acceptor::Acceptor;

/// Whether this build has it.
pub const BUILT: bool = cfg!(feature = "kerberos");
/// Most bytes of a token: a ticket with a large PAC fits, and the whole head of a request holds 24 KiB.
pub const MAX_TOKEN: usize = 16_384;
/// How far the client's clock may be off, RFC 4120 §3.2.3.
pub const CLOCK_SKEW_SECONDS: u64 = 300;
/// How much chance an answer takes: the confounder and the sequence number.
pub const CHANCE: usize = 20;

/// What a token proves, if it is used for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// When the authenticator was made. It is refused [`CLOCK_SKEW_SECONDS`] later.
    pub made_at: UnixSeconds,
    /// Who made it.
    pub principal: Principal,
    /// What shows the client that it speaks with the service, RFC 4178 §4.2.2.
    pub reply: Vec<u8>,
    /// The SHA-256 of the sealed authenticator. Whatever is wrapped around it anew, this stays.
    pub seal: [u8; 32],
}

/// None, for a build without Kerberos.
#[cfg(not(feature = "kerberos"))]
#[derive(Debug)]
pub enum Acceptor {}

#[cfg(not(feature = "kerberos"))]
impl Acceptor {
    /// There is none.
    /// Errors: none.
    pub fn load(_: &crate::config::Kerberos) -> Result<Option<Self>, crate::Error> {
        Ok(None)
    }

    /// Never called.
    pub(crate) fn accept(
        &self,
        _: &[u8],
        _: UnixSeconds,
        _: [u8; CHANCE],
    ) -> Result<Accepted, std::borrow::Cow<'static, str>> {
        match *self {}
    }
}
