//! The native half of the Python module `sealstone`; the other half is in `python/sealstone`, where names are gathered and JSON
//! becomes dictionaries.
//!
//! Every class is frozen and can be used by any number of threads. What takes time runs without the interpreter's lock.

mod buffer;
mod entries;
mod failure;
#[path = "../../../crates/capi/src/forms.rs"]
mod forms;
mod jose;
mod keys;
mod level;
#[path = "../../../crates/capi/src/side_by_side.rs"]
mod side_by_side;
mod stream;
mod tree;

use pyo3::prelude::*;

/// The native half of `sealstone`. Import that.
#[pymodule]
mod _native {
    #[pymodule_export]
    use super::entries::{Entries, Entry};
    #[pymodule_export]
    use super::jose::{JwkSet, jws_sign, jws_verify, jwt_sign, jwt_verify};
    #[pymodule_export]
    use super::keys::{SigningKey, VerifyingKey, generate, sign_batch, verify_batch};
    #[pymodule_export]
    use super::level::{expanded_key_len, public_key_len, self_test, signature_len};
    #[pymodule_export]
    use super::stream::MuHasher;
    #[pymodule_export]
    use super::tree::{tree_apply, tree_extract, tree_sign, tree_verify};

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
