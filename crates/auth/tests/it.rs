//! Every test of the server, in one binary. Names carry the section of the RFC that a test reads for the second time.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod assertions;
mod authority;
mod client_secret_jwt;
mod config;
mod flows;
mod http;
mod jwks_uri;
mod keys;
mod logs;
mod mtls;
mod mtls_wire;
mod properties;
mod publisher;
mod restart;
mod shutdown;
mod store;
mod support;
mod tls;
mod upkeep;
mod verifiers;
