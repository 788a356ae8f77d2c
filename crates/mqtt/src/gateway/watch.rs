//! The thread that reads the device directory when it changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::directory::Directory;
use super::inbox::Inbox;

/// How long lies between two looks at the files.
const EVERY: Duration = Duration::from_millis(500);

/// Reads the directory again when its files change. With many devices that takes as long as hundreds of messages, so it is
/// not done between them.
pub(super) fn run(inbox: &Inbox, path: &Path, mut current: Arc<Directory>) {
    // The one from before is let go one look later: when the loop, too, has the new one, and need not take it apart.
    let mut _before = None;
    while !inbox.pause(EVERY) {
        let read =
            current.changed(path).and_then(|changed| changed.then(|| Directory::load(path)).transpose());
        match read {
            Ok(None) => _before = None,
            Ok(Some(directory)) => {
                let directory = Arc::new(directory);
                inbox.directory(Ok(Arc::clone(&directory)));
                _before = Some(std::mem::replace(&mut current, directory));
            }
            Err(cause) => inbox.directory(Err(cause)),
        }
    }
}
