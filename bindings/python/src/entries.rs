//! What becomes of the files of a tree, on its way to Python: a thread of its own hands entries over, and an iterator gives them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use pyo3::prelude::*;
use sealstone_tree::{Applying, Error, Verification};

use crate::failure::Failure;

/// Entries that wait for whoever takes them: beyond that the work waits.
const AHEAD: usize = 256;
/// So long nobody hears of Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(100);

/// What became of one thing in a tree.
#[pyclass(frozen, module = "sealstone.tree")]
pub(crate) struct Entry {
    path: OsString,
    status: &'static str,
    reason: Option<&'static str>,
    message: Option<String>,
    key_id: Option<String>,
    bytes: u64,
}

#[pymethods]
impl Entry {
    /// The path relative to the tree. What is no UTF-8 in it is as os.fsdecode has it.
    #[getter]
    fn path(&self) -> &OsString {
        &self.path
    }

    /// "good", "allowed-unsigned", "signed", "kept", "listed", "would-sign", "extracted", "applied", "unsigned" where that was
    /// allowed; "skipped" for what is not meant; "bad".
    #[getter]
    fn status(&self) -> &'static str {
        self.status
    }

    /// Whether it is not as it should be.
    #[getter]
    fn bad(&self) -> bool {
        self.status == "bad"
    }

    /// Why it is bad or skipped: a word of the command's lists, such as "does-not-verify" or "symbolic link". Of a good one,
    /// "no-verity": it is signed for fs-verity, which is not enabled for it, so that no kernel takes it as it is.
    #[getter]
    fn reason(&self) -> Option<&'static str> {
        self.reason
    }

    /// The same in a sentence, for what is bad.
    #[getter]
    fn message(&self) -> Option<&str> {
        self.message.as_deref()
    }

    /// The key that signed it, as "id:3762d430".
    #[getter]
    fn key_id(&self) -> Option<&str> {
        self.key_id.as_deref()
    }

    /// Bytes that were read.
    #[getter]
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn __repr__(&self) -> String {
        let why = self.message.as_deref().or(self.reason).map_or(String::new(), |why| format!(": {why}"));
        format!("<sealstone.tree.Entry {:?} {}{why}>", self.path.display().to_string(), self.status)
    }
}

impl Entry {
    pub(crate) fn new(path: Vec<u8>, status: &'static str, bytes: u64, key_id: Option<String>) -> Self {
        Self { path: OsString::from_vec(path), status, reason: None, message: None, key_id, bytes }
    }

    pub(crate) fn left(path: Vec<u8>, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..Self::new(path, "skipped", 0, None) }
    }

    pub(crate) fn failed(path: Vec<u8>, why: &Error) -> Self {
        Self { reason: Some(why.code()), message: Some(why.to_string()), ..Self::new(path, "bad", 0, None) }
    }

    pub(crate) fn applied(path: Vec<u8>, bytes: u64, outcome: Applying) -> Self {
        match outcome {
            Applying::Applied(key_id) => Self::new(path, "applied", bytes, Some(key_id.to_string())),
            Applying::Failed(why) => Self::failed(path, &why),
            Applying::Kept(key_id) => Self::new(path, "kept", bytes, Some(key_id.to_string())),
            // Kinds that later versions of the crate may have are not known to be signed.
            _ => Self::failed(path, &Error::Unsigned),
        }
    }

    pub(crate) fn of(path: Vec<u8>, bytes: u64, outcome: Verification, good: &'static str) -> Self {
        match outcome {
            Verification::Good(key_id) => Self::new(path, good, bytes, key_id.map(|id| id.to_string())),
            Verification::GoodWithoutVerity(key_id) => {
                let message =
                    "signed for fs-verity, which is not enabled for it: no kernel takes it as it is";
                Self {
                    reason: Some(Error::NoVerity.code()),
                    message: Some(message.to_owned()),
                    ..Self::new(path, good, bytes, Some(key_id.to_string()))
                }
            }
            Verification::Left(why) => Self::left(path, why.name()),
            Verification::Bad(why) => Self::failed(path, &why),
            // Kinds that later versions of the crate may have are not good.
            _ => Self::failed(path, &Error::BadSignature),
        }
    }
}

/// Entries as they come, in the order of the tree. Leaving them ends the work after the files that are at hand: close() waits for
/// that.
#[pyclass(frozen, module = "sealstone.tree")]
pub(crate) struct Entries {
    entries: Mutex<Option<Receiver<Entry>>>,
    work: Mutex<Option<JoinHandle<Result<(), Failure>>>>,
}

/// Nobody wants more entries.
pub(crate) struct Left;

impl Entries {
    /// Begins `work` in a thread. It hands entries over through what it is given, which tells it when to stop.
    pub(crate) fn begin(work: impl FnOnce(&Taker) -> Result<(), Failure> + Send + 'static) -> Self {
        let (give, entries) = sync_channel(AHEAD);
        let work = std::thread::spawn(move || work(&Taker(give)));
        Self { entries: Mutex::new(Some(entries)), work: Mutex::new(Some(work)) }
    }

    /// How the work ended; once.
    fn ended(&self, py: Python<'_>) -> PyResult<()> {
        while lock(&self.work).as_ref().is_some_and(|work| !work.is_finished()) {
            py.detach(|| std::thread::sleep(Duration::from_millis(1)));
            py.check_signals()?;
        }
        let Some(work) = lock(&self.work).take() else { return Ok(()) };
        match py.detach(|| work.join()) {
            Ok(done) => Ok(done?),
            Err(_) => Err(Failure::new("FaultDetected", "the work on the tree broke off").into()),
        }
    }
}

#[pymethods]
impl Entries {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Entry>> {
        loop {
            let next = py.detach(|| match &*lock(&self.entries) {
                Some(entries) => entries.recv_timeout(PATIENCE),
                None => Err(RecvTimeoutError::Disconnected),
            });
            match next {
                Ok(entry) => return Ok(Some(entry)),
                Err(RecvTimeoutError::Timeout) => py.check_signals()?,
                Err(RecvTimeoutError::Disconnected) => return self.ended(py).map(|()| None),
            }
        }
    }

    /// Ends the work, and waits until no file is touched any more: for those that are being read now.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        py.detach(|| drop(lock(&self.entries).take()));
        self.ended(py)
    }
}

/// Where work hands its entries over.
pub(crate) struct Taker(SyncSender<Entry>);

impl Taker {
    pub(crate) fn take(&self, entry: Entry) -> Result<(), Left> {
        self.0.send(entry).map_err(|_| Left)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What they hold is taken or left whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
