//! Every test of the server, in one binary. Names carry the section of the RFC that a test reads for the second time.
#![allow(clippy::unwrap_used, missing_docs, unreachable_pub)]

mod assertions;
mod authority;
mod client_secret_jwt;
mod code;
mod config;
mod dpop;
mod dpop_http;
mod dpop_replay;
mod exchange;
mod flows;
mod http;
mod jwks_uri;
mod jwt_bearer;
mod keys;
mod logs;
mod mtls;
mod mtls_wire;
mod passkeys;
mod people;
mod properties;
mod publisher;
mod refresh;
mod restart;
mod rotation;
mod shutdown;
mod signin;
mod store;
mod support;
mod sweeps;
mod tls;
mod upkeep;
mod verifiers;
mod whole_flow;
