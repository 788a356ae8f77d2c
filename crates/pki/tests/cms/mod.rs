//! Messages (CMS), keys for encryption and keys under a password.

mod ber;
mod encrypted;
mod ml_kem;
mod pbes2;
mod refusals;
mod signed;
mod support;
