//! Levels and sizes (FIPS 204, Tables 1 and 2), and the self test.

use pyo3::prelude::*;
use sealstone_mldsa::Level;

use crate::failure::Failure;

/// The parameter set of a name.
pub(crate) fn level(name: &str) -> Result<Level, Failure> {
    name.parse().map_err(|unknown| Failure::new("UnknownAlgorithm", format!("level {name:?}: {unknown}")))
}

/// Bytes of an encoded verifying key: 1312, 1952 or 2592.
///
/// >>> public_key_len("ML-DSA-65")
/// 1952
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn public_key_len(level: &str) -> PyResult<usize> {
    Ok(self::level(level)?.verifying_key_len())
}

/// Bytes of an encoded expanded signing key: 2560, 4032 or 4896.
///
/// >>> expanded_key_len("ML-DSA-65")
/// 4032
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn expanded_key_len(level: &str) -> PyResult<usize> {
    Ok(self::level(level)?.signing_key_len())
}

/// Bytes of a signature: 2420, 3309 or 4627.
///
/// >>> signature_len("ML-DSA-65")
/// 3309
#[pyfunction]
#[pyo3(signature = (level, /))]
pub(crate) fn signature_len(level: &str) -> PyResult<usize> {
    Ok(self::level(level)?.signature_len())
}

/// Signs and verifies known answers at each level, in every vector room that this CPU has: what FIPS 140-3 calls a
/// cryptographic algorithm self-test. Raises FaultDetected.
#[pyfunction]
pub(crate) fn self_test(py: Python<'_>) -> PyResult<()> {
    Ok(py.detach(sealstone_mldsa::self_test).map_err(Failure::from)?)
}
