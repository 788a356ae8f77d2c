//! A device's files: the blob with its key, the count of its messages beside it, and its entry in the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sealstone_mldsa::{Level, OsRandom, any};
use sealstone_mqtt::blob::{Blob, Topics};
use sealstone_mqtt::gateway::directory::{Entry, entries};
use sealstone_mqtt::level::{Class, Policy};
use sealstone_mqtt::{Filter, KeyId, Number};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::terminal::Terminal;

/// Larger than any blob.
const LIMIT: usize = 128 * 1024;

/// Reads a blob.
pub(crate) fn read(path: &Path, terminal: &mut Terminal) -> Result<Zeroizing<Vec<u8>>, Error> {
    let source = Source::Path(path.to_owned());
    let bytes = source.read(LIMIT)?;
    if let Some(mode) = source.wide_mode() {
        let name = shown(path);
        let what = format!("{name} holds a private key and its mode {mode:04o} lets others in");
        terminal.warn(what, &format!("chmod 600 {name}"));
    }
    Ok(bytes)
}

/// What a blob says.
pub(crate) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Blob<'a>, Error> {
    Blob::parse(bytes).map_err(|cause| {
        let hint = "`sealstone mqtt provision` writes such a file";
        Error::key(&shown(path), format_args!("not what a device is given: {cause}"), Some(hint))
    })
}

/// Makes a key and writes the blob around it. Returns the public key.
pub(crate) fn make(
    (device, key_id, level): (&str, KeyId, Level),
    policy: Policy,
    filters: &[(String, Class)],
    out: &Target,
    force: bool,
    terminal: &mut Terminal,
) -> Result<any::VerifyingKey, Error> {
    let key = any::SigningKey::generate_checked(level, &mut OsRandom).map_err(Error::Engine)?;
    let mut map = vec![0; filters.iter().map(|(text, _)| text.len() + 3).sum()];
    let mut at = 0;
    for (text, class) in filters {
        let filter =
            Filter::new(text).map_err(|cause| Error::usage(format!("{text:?}: {cause}"), FILTER_HINT))?;
        at += Topics::emit(filter, *class, &mut map[at..]).map_err(too_long)?;
    }
    let topics = Topics::new(&map).map_err(too_long)?;
    let blob = Blob { device, key_id, level, seed: key.seed(), policy, topics };
    let mut bytes = Zeroizing::new(vec![0; LIMIT]);
    let len = blob.emit(&mut bytes).map_err(too_long)?;
    out.write(&bytes[..len], Readers::Owner, force, terminal)?;
    Ok(key.verifying_key())
}

const FILTER_HINT: &str = "`+` stands for one level and a last `#` for any further ones";

fn too_long(_: sealstone_mqtt::Error) -> Error {
    Error::usage("the name or the topics are too long", "a name has at most 255 bytes, all topics 65535")
}

/// Where the entry of a device is, or will be: a file of its own where the directory is a folder.
pub(crate) fn place(directory: &Path, device: &str) -> PathBuf {
    if directory.extension().is_some_and(|extension| extension == "json") {
        directory.to_owned()
    } else {
        directory.join(format!("{device}.json"))
    }
}

/// The entries of a file; none if it is not there.
pub(crate) fn read_entries(file: &Path) -> Result<Vec<Entry>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).map_err(|cause| Error::path(file, "read", cause))?;
    Ok(entries(file, &text)?)
}

/// Writes the entries of a file, whole or not at all.
pub(crate) fn write_entries(file: &Path, all: &[Entry], terminal: &mut Terminal) -> Result<(), Error> {
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|cause| Error::path(folder, "made", cause))?;
    }
    let text = match all {
        [one] => serde_json::to_string_pretty(one),
        more => serde_json::to_string_pretty(more),
    };
    let text = text.map_err(|cause| Error::path(file, "written", cause.into()))?;
    Target::Path(file.to_owned()).write(format!("{text}\n").as_bytes(), Readers::All, true, terminal)
}

/// The next number of a key, written down before it is used: in FILE.number beside the blob, one line, epoch and sequence.
pub(crate) fn next_number(blob: &Path) -> Result<Number, Error> {
    let path = PathBuf::from(format!("{}.number", blob.display()));
    let failed = |action| move |cause| (action, cause);
    let take = || -> Result<Number, (&'static str, std::io::Error)> {
        let mut options = OpenOptions::new();
        let mut file: File = options
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(failed("opened"))?;
        file.lock().map_err(failed("locked"))?;
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed("read"))?;
        let number = match text.trim() {
            "" => Number { epoch: 1, sequence: 0 },
            text => {
                let parsed = text.split_once('.').and_then(|(epoch, sequence)| {
                    Some(Number { epoch: epoch.parse().ok()?, sequence: sequence.parse().ok()? })
                });
                parsed.ok_or(("read", std::io::Error::other("it is not a number as in 1.17")))?
            }
        };
        let after = match number.sequence.checked_add(1) {
            Some(sequence) => Number { sequence, ..number },
            None => Number { epoch: number.epoch.saturating_add(1), sequence: 0 },
        };
        // The line only grows, but for the step to a new epoch, where it is padded.
        let line = format!("{:<22}\n", format!("{}.{}", after.epoch, after.sequence));
        file.seek(SeekFrom::Start(0)).map_err(failed("written"))?;
        file.write_all(line.as_bytes()).and_then(|()| file.sync_all()).map_err(failed("written"))?;
        Ok(number)
    };
    take().map_err(|(action, cause)| Error::path(&path, action, cause))
}
