//! Messages in pieces, on their way to μ (FIPS 204, step 6 of Algorithm 7).

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::buffer::Input;

/// Takes a message in pieces and gives its representative mu, 64 bytes, for the key and context that it was made for. Works
/// like the objects of hashlib.
///
/// >>> key = generate("ML-DSA-44")
/// >>> hasher = key.verifying_key.mu_hasher()
/// >>> hasher.update(b"in ")
/// >>> hasher.update(b"pieces")
/// >>> signature = key.sign_mu(hasher.digest())
/// >>> key.verifying_key.verify(b"in pieces", signature)
#[pyclass(frozen, module = "sealstone")]
pub(crate) struct MuHasher(Mutex<sealstone_mldsa::MuHasher>);

impl MuHasher {
    pub(crate) fn of(hasher: sealstone_mldsa::MuHasher) -> Self {
        Self(Mutex::new(hasher))
    }

    fn lock(&self) -> MutexGuard<'_, sealstone_mldsa::MuHasher> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl MuHasher {
    /// The next piece of the message. Large pieces are read without the interpreter's lock.
    #[pyo3(signature = (piece, /))]
    fn update(&self, piece: &Bound<'_, PyAny>) -> PyResult<()> {
        // Locked in each piece and not around all: whoever waits here for the interpreter holds nothing that others wait for.
        Input::of("piece", piece)?.read(piece.py(), |piece| self.lock().update(piece))
    }

    /// The mu of all pieces so far; more may follow.
    fn digest<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.lock().clone().finish().as_bytes())
    }

    /// Another hasher that has read the same pieces.
    fn copy(&self) -> Self {
        Self::of(self.lock().clone())
    }

    fn __repr__(&self) -> &'static str {
        "<sealstone.MuHasher>"
    }
}
