//! The flows, one file each, named as their RFCs name them. Each is a function of the request, the snapshot (and the
//! store, where it writes), the time and chance; it knows nothing of HTTP, sockets or clocks.
//!
//! | file | what | RFC |
//! |---|---|---|
//! | [`parameters`] | the parameters of a request | 6749 §3.2, Appendix B |
//! | [`client_auth`] | who asks | 6749 §2.3, 7617 |
//! | [`client_assertion`] | who asks, by a signed token | 7521, 7523, OpenID Connect Core §9 |
//! | [`client_certificate`] | who asks, by mutual TLS; certificate-bound tokens | 8705 |
//! | [`client_kerberos`] | who asks, by a Kerberos ticket | 4120, 4178, 4559 |
//! | [`asked`], [`par`] | where a request of a client comes from; pushed requests | 9126 |
//! | [`request_object`] | requests that the client has signed | 9101 |
//! | [`authorize`], [`redirect`] | what a client asks of a person, and the way back | 6749 §3.1 and §4.1, 7636, 9207, OpenID Connect Core §3.1.2 |
//! | [`granted`] | what a person has granted: code, family, tokens | 6749 §4.1.2 |
//! | [`token`] | the token endpoint: which grant | 6749 §3.2 |
//! | [`confirmation`] | what binds a token to its holder | 7800, 8705, 9449 |
//! | [`dpop`] | who holds the key of a token, by a signed proof | 9449 |
//! | `claims_request` | what a client cannot do without | OpenID Connect Core §5.5 |
//! | `subject` | what a client sees of a person | OpenID Connect Core §8 |
//! | `target` | what a token is good for | 6749 §3.3, 8707 |
//! | [`token_client`] | client credentials grant | 6749 §4.4, 8707 §2 |
//! | [`token_exchange`] | token exchange | 8693 |
//! | [`jwt_bearer`] | assertions of others as a grant | 7521, 7523 |
//! | [`token_code`] | authorization code grant | 6749 §4.1.3, 7636 §4.6 |
//! | [`device`], [`token_device`] | device authorization grant | 8628 |
//! | [`token_refresh`] | refresh token grant, rotation | 6749 §6, 9700 §4.14 |
//! | [`session_clients`], [`backchannel_logout`] | clients are told that a session has ended | OpenID Connect Back-Channel Logout 1.0 |
//! | [`end_session`] | a client sends a person here to sign out | OpenID Connect RP-Initiated Logout 1.0 |
//! | `id_token`, [`userinfo`] | who signed in | OpenID Connect Core §2 and §5.3 |
//! | [`access_token`] | what a token says, and whether one still holds | 9068 |
//! | [`introspect`] | token introspection | 7662, 9701 |
//! | [`revoke`] | token revocation | 7009 |
//! | [`registration`] | clients that register themselves | 7591, 7592 |
//! | [`discovery`] | metadata | 8414, OpenID Connect Discovery 1.0 |
//! | [`error`] | what a peer is told | 6749 §5.2 |

pub mod access_token;
pub mod asked;
pub mod authorize;
pub mod backchannel_logout;
pub(crate) mod claims_request;
pub mod client_assertion;
pub mod client_auth;
pub mod client_certificate;
pub mod client_kerberos;
pub mod confirmation;
pub mod device;
pub mod discovery;
pub mod dpop;
pub mod end_session;
pub mod error;
pub mod granted;
pub(crate) mod id_token;
pub mod introspect;
pub mod jwt_bearer;
pub mod par;
pub mod parameters;
pub mod redirect;
pub mod registration;
pub mod request_object;
pub mod revoke;
pub mod session_clients;
pub(crate) mod subject;
pub(crate) mod target;
pub mod token;
pub mod token_client;
pub mod token_code;
pub mod token_device;
pub mod token_exchange;
pub mod token_refresh;
pub mod userinfo;

pub use client_auth::Authenticated;
pub use confirmation::Confirmation;
pub use error::{Code, OAuthError};
pub use parameters::Parameters;
