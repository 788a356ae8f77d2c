//! An OAuth 2.0 authorization server whose tokens are signed with ML-DSA.
//!
//! ```no_run
//! # async fn example() -> Result<(), sealstone_auth::Error> {
//! use sealstone_auth::{Config, NewClient, Server, World};
//!
//! let server = Server::bind(Config::default(), World::default()).await?;
//! let (client, secret) = server.admin().add_client(NewClient::default()).await?;
//! println!("{} may ask {}/token with its new secret", client.id, server.issuer());
//! # assert!(secret.is_some());
//! server.run(std::future::pending()).await;
//! # Ok(())
//! # }
//! ```
//!
//! Servers are stateless; all truth is in one compare-and-set [`Store`]. A token request reads a snapshot by one atomic
//! load, takes no lock and writes nothing: see [`snapshot`] and [`protocol::token_client`].
//!
//! | room | what it holds | what it must not know |
//! |---|---|---|
//! | [`protocol`] | the flows, as functions of request, snapshot, time and chance | HTTP, sockets, clocks |
//! | `http` | addresses, methods, headers, statuses, connections | what a flow decides |
//! | [`snapshot`] | what the token path reads | who asks |
//! | [`store`] | versioned records | what they mean |
//! | [`outbound`] | what a client publishes elsewhere | what it is for |
//! | `metrics` | what was counted | whose it was |
//! | [`limits`] | how often somebody may ask | who it is |
//! | [`signers`] | signatures side by side | what is signed |
//! | [`verifiers`] | threads for the signatures of others | whose they are |
//! | [`kerberos`] | what a ticket proves | HTTP, clients, the store |
//! | [`people`] | users, passwords, sessions | HTTP, clients |
//! | [`keys`] | the life of signing keys, and how they are sealed | who signs what |
//! | [`trusted`] | issuers whose assertions are taken | what a flow makes of them |
//! | [`audit`] | what was decided, in lines that hold each other | who decides, and why |
//! | [`config`], [`tls`], [`log`], [`admin`], [`backup`] | the operator's side | requests |

#![forbid(unsafe_code)]

pub mod admin;
pub mod audit;
pub mod backup;
pub mod client;
pub mod clock;
pub mod config;
mod data_dir;
mod error;
mod http;
mod issuer;
pub mod kerberos;
pub mod keys;
pub mod limits;
pub mod log;
mod metrics;
pub mod outbound;
pub mod people;
pub mod protocol;
mod run;
pub mod signers;
pub mod snapshot;
pub mod store;
pub mod tls;
pub mod trusted;
pub mod verifiers;

pub use admin::{Admin, NewAuthentication, NewClient, NewSubject, NewUser};
pub use client::{
    About, AssertionAudience, AssertionKeys, AuthMethod, Authentication, CertificateName, Client, ClientKeys,
    ClientSecret, CodeFlow, Consent, Exchange, Grant, HttpsUri, KeySource, Logout, Origin, Principal,
    Profile, RedirectUri, RefreshLifetime, SharedSecret, SubjectType,
};
pub use clock::{Clock, Randomness};
pub use config::Config;
pub use error::{ConfigError, Error};
pub use issuer::Issuer;
pub use people::{Password, Session, User};
pub use run::{Server, World, run};
pub use store::Store;
pub use trusted::{SubjectRule, TrustedIssuer};
