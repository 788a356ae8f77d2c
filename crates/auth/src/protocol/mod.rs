//! The flows, one file each, named as their RFCs name them. Each is a function of the request, the snapshot (and the
//! store, where it writes), the time and chance; it knows nothing of HTTP, sockets or clocks.
//!
//! | file | what | RFC |
//! |---|---|---|
//! | [`parameters`] | the parameters of a request | 6749 §3.2, Appendix B |
//! | [`client_auth`] | who asks | 6749 §2.3, 7617 |
//! | [`client_assertion`] | who asks, by a signed token | 7521, 7523, OpenID Connect Core §9 |
//! | [`token`] | the token endpoint: which grant | 6749 §3.2 |
//! | [`confirmation`] | what binds a token to its holder | 7800, 8705, 9449 |
//! | [`dpop`] | who holds the key of a token, by a signed proof | 9449 |
//! | [`token_client`] | client credentials grant | 6749 §4.4, 8707 §2 |
//! | [`token_exchange`] | token exchange | 8693 |
//! | [`jwt_bearer`] | assertions of others as a grant | 7521, 7523 |
//! | [`access_token`] | what a token says, and whether one still holds | 9068 |
//! | [`introspect`] | token introspection | 7662 |
//! | [`revoke`] | token revocation | 7009 |
//! | [`discovery`] | metadata | 8414, OpenID Connect Discovery 1.0 |
//! | [`error`] | what a peer is told | 6749 §5.2 |

pub mod access_token;
pub mod client_assertion;
pub mod client_auth;
pub mod confirmation;
pub mod discovery;
pub mod dpop;
pub mod error;
pub mod introspect;
pub mod jwt_bearer;
pub mod parameters;
pub mod revoke;
pub mod token;
pub mod token_client;
pub mod token_exchange;

pub use client_auth::Authenticated;
pub use confirmation::Confirmation;
pub use error::{Code, OAuthError};
pub use parameters::Parameters;
