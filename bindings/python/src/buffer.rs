//! Bytes as Python gives them: `bytes`, or anything else that lends a buffer, such as `bytearray` and `memoryview`.

use pyo3::buffer::PyBuffer;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView, PySlice};
use zeroize::Zeroizing;

/// So much of a buffer that others may write to is read at a time.
const PIECE: usize = 1 << 16;

/// An argument that is bytes.
pub(crate) enum Input<'py> {
    /// These never change, so they are read where they are, without the lock.
    Fixed(Bound<'py, PyBytes>),
    /// These may change while others have the lock: pieces are copied under it and used without it. The view keeps the owner
    /// from becoming longer or shorter.
    Lent(Bound<'py, PyMemoryView>, usize),
}

impl<'py> Input<'py> {
    /// Errors: `TypeError` for what lends no bytes.
    pub(crate) fn of(name: &str, given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(bytes) = given.cast::<PyBytes>() {
            return Ok(Self::Fixed(bytes.clone()));
        }
        let lent = || -> PyResult<Self> {
            let view = PyMemoryView::from(given)?;
            // Bytes, in one dimension.
            let len = PyBuffer::<u8>::get(&view)?.item_count();
            if view.getattr("ndim")?.extract::<usize>()? != 1 {
                return Err(PyTypeError::new_err("not one row of bytes"));
            }
            Ok(Self::Lent(view, len))
        };
        lent().map_err(|_| {
            let kind = given.get_type().name();
            let kind = kind.map_or_else(|_| "something else".into(), |name| name.to_string());
            PyTypeError::new_err(format!("{name}: expected bytes, bytearray or memoryview, found {kind}"))
        })
    }

    /// How many.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Fixed(bytes) => bytes.as_bytes().len(),
            Self::Lent(_, len) => *len,
        }
    }

    /// Gives all bytes to `take`, in pieces, which runs without the interpreter's lock.
    pub(crate) fn read(&self, py: Python<'_>, mut take: impl FnMut(&[u8]) + Send) -> PyResult<()> {
        match self {
            Self::Fixed(bytes) => {
                let bytes = bytes.as_bytes();
                py.detach(|| take(bytes));
            }
            Self::Lent(view, len) => {
                let mut piece = Zeroizing::new(vec![0; PIECE.min(*len)]);
                for start in (0..*len).step_by(PIECE) {
                    let piece = &mut piece[..PIECE.min(*len - start)];
                    copy(view, start, piece)?;
                    py.detach(|| take(piece));
                }
            }
        }
        Ok(())
    }

    /// A copy, for what is small; wiped, for it may be secret.
    pub(crate) fn copy(&self) -> PyResult<Zeroizing<Vec<u8>>> {
        match self {
            Self::Fixed(bytes) => Ok(Zeroizing::new(bytes.as_bytes().to_vec())),
            Self::Lent(view, len) => {
                let mut all = Zeroizing::new(vec![0; *len]);
                copy(view, 0, &mut all)?;
                Ok(all)
            }
        }
    }
}

/// Copies so many bytes from `start` on.
fn copy(view: &Bound<'_, PyMemoryView>, start: usize, out: &mut [u8]) -> PyResult<()> {
    let range = PySlice::new(view.py(), start as isize, (start + out.len()) as isize, 1);
    PyBuffer::get(&view.get_item(range)?)?.copy_to_slice(view.py(), out)
}

/// A small argument that is bytes.
pub(crate) fn small(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
    Input::of(name, given)?.copy()
}

/// A small argument that is bytes or text.
pub(crate) fn text(name: &str, given: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
    match given.extract::<String>().map(Zeroizing::new) {
        Ok(text) => Ok(Zeroizing::new(text.as_bytes().to_vec())),
        Err(_) => small(name, given),
    }
}

/// A context, or the empty one.
pub(crate) fn context(given: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u8>> {
    given.map_or(Ok(Vec::new()), |given| Ok(small("context", given)?.to_vec()))
}
