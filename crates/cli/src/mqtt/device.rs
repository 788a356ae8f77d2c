//! A device's files: what it is given, its flash, the count of its messages beside it, and its entry in the directory.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sealstone_mldsa::{Level, OsRandom, any};
use sealstone_mqtt::commander::Commander;
use sealstone_mqtt::flash::Flash;
use sealstone_mqtt::gateway::directory::{Entry, MacEntry, StateName, entries, mac_text};
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::Class;
use sealstone_mqtt::number::Numbers;
use sealstone_mqtt::provision::{Provision, Topics};
use sealstone_mqtt::rotation::Rotation;
use sealstone_mqtt::{Filter, KeyId, Number};
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::terminal::Terminal;

/// Larger than what any device is given.
const LIMIT: usize = 64 * 1024;

/// Reads what a device is given.
pub(crate) fn read(path: &Path, terminal: &mut Terminal) -> Result<Zeroizing<Vec<u8>>, Error> {
    let source = Source::Path(path.to_owned());
    let bytes = source.read(LIMIT)?;
    if let Some(mode) = source.wide_mode() {
        let name = shown(path);
        let what = format!("{name} holds private keys and its mode {mode:04o} lets others in");
        terminal.warn(what, &format!("chmod 600 {name}"));
    }
    Ok(bytes)
}

/// What it says.
pub(crate) fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<Provision<'a>, Error> {
    Provision::parse(bytes).map_err(|cause| {
        let hint = match cause {
            sealstone_mqtt::Error::OtherVersion => {
                "take the device out of the gateway's directory and provision it again: file, flash and entry belong together"
            }
            _ => "`sealstone mqtt provision` writes such a file",
        };
        Error::key(&shown(path), format_args!("not what a device is given: {cause}"), Some(hint))
    })
}

/// A new key of a level.
pub(crate) fn key(level: Level) -> Result<any::SigningKey, Error> {
    any::SigningKey::generate_checked(level, &mut OsRandom).map_err(Error::Engine)
}

/// Writes what a device is given, for its owner alone.
pub(crate) fn write(
    given: &Provision<'_>,
    out: &Target,
    force: bool,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let mut bytes = Zeroizing::new(vec![0; Provision::MAX_LEN]);
    let len = given.emit(&mut bytes).map_err(too_long)?;
    out.write(&bytes[..len], Readers::Owner, force, terminal)
}

/// Filters as they are written for a device.
pub(crate) fn topics(filters: &[(String, Class)]) -> Result<Vec<u8>, Error> {
    let mut map = vec![0; filters.iter().map(|(text, _)| text.len() + 3).sum()];
    let mut at = 0;
    for (text, class) in filters {
        let filter =
            Filter::new(text).map_err(|cause| Error::usage(format!("{text:?}: {cause}"), FILTER_HINT))?;
        at += Topics::emit(filter, *class, &mut map[at..]).map_err(too_long)?;
    }
    Ok(map)
}

/// The flash of a device that never ran: pairs of pages for its numbers, the ids of its keys, what it was told, which commands were let go, their
/// template, and the seeds of its own keys (docs/formats/mqtt-device.md).
pub(crate) fn flash(ids: [KeyId; 3]) -> Result<Vec<u8>, Error> {
    let mut pairs: [Pages; 6] = Default::default();
    let [numbers, ring, told, taken, template, seeds] = &mut pairs;
    Numbers::format(numbers, 0)
        .and_then(|()| KeyRing::format(ring, ids))
        .and_then(|()| Commander::<&any::VerifyingKey, _>::format([told, taken, template]))
        .and_then(|()| Rotation::format(seeds))
        .map_err(too_long)?;
    Ok(pairs.map(|pages| pages.0).concat())
}

/// Two pages in memory.
struct Pages(Vec<u8>);

impl Pages {
    const LEN: usize = 1024;
}

impl Default for Pages {
    fn default() -> Self {
        Pages(vec![0xff; 2 * Self::LEN])
    }
}

impl Flash for Pages {
    fn page_len(&self) -> usize {
        Self::LEN
    }

    fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), sealstone_mqtt::Error> {
        let place = self.0.get(page * Self::LEN + at..).and_then(|rest| rest.get(..out.len()));
        out.copy_from_slice(place.ok_or(sealstone_mqtt::Error::FlashFailed)?);
        Ok(())
    }

    fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), sealstone_mqtt::Error> {
        let place = self.0.get_mut(page * Self::LEN + at..).and_then(|rest| rest.get_mut(..bytes.len()));
        place.ok_or(sealstone_mqtt::Error::FlashFailed)?.copy_from_slice(bytes);
        Ok(())
    }

    fn erase(&mut self, page: usize) -> Result<(), sealstone_mqtt::Error> {
        self.write(page, 0, &[0xff; Self::LEN])
    }
}

const FILTER_HINT: &str = "`+` stands for one level and a last `#` for any further ones";

fn too_long(_: sealstone_mqtt::Error) -> Error {
    Error::usage(
        "the name or the topics are too long",
        "a name has at most 255 bytes; a device has room for 16 filters",
    )
}

/// Where the entry of a device is, or will be: a file of its own where the directory is a folder.
pub(crate) fn place(directory: &Path, device: &str) -> PathBuf {
    if directory.extension().is_some_and(|extension| extension == "json") {
        directory.to_owned()
    } else {
        directory.join(format!("{device}.json"))
    }
}

/// The file of the directory that has a device's entry.
pub(crate) fn find(directory: &Path, device: &str) -> Result<PathBuf, Error> {
    let own = place(directory, device);
    if own == directory {
        return Ok(own);
    }
    let mut files = vec![own.clone()];
    if directory.is_dir() {
        let listed = fs::read_dir(directory).and_then(|listed| listed.collect::<Result<Vec<_>, _>>());
        let listed = listed.map_err(|cause| Error::path(directory, "read", cause))?;
        files.extend(listed.into_iter().map(|file| file.path()));
        files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    }
    for file in files {
        if read_entries(&file)?.iter().any(|entry| entry.device == device) {
            return Ok(file);
        }
    }
    Ok(own)
}

/// The entries of a file; none if it is not there.
pub(crate) fn read_entries(file: &Path) -> Result<Vec<Entry>, Error> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).map_err(|cause| Error::path(file, "read", cause))?;
    Ok(entries(file, &text)?)
}

/// Where a shared key of a device is, or will be: DEVICE.ID.mac beside its entry.
pub(crate) fn mac_place(entry: &Path, device: &str, id: KeyId) -> PathBuf {
    entry.with_file_name(format!("{device}.{}.mac", id.0))
}

/// What an entry says of a shared key beside it.
pub(crate) fn mac_entry(place: &Path, id: KeyId, state: StateName) -> MacEntry {
    let file = place.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    MacEntry { id: id.0, state, retired_at: None, file }
}

/// Writes a shared key, for its owner alone.
pub(crate) fn write_mac(
    place: &Path,
    key: &[u8; 32],
    force: bool,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    make_folder(place)?;
    Target::Path(place.to_owned()).write(&*mac_text(key), Readers::Owner, force, terminal)
}

/// The folder of a file.
fn make_folder(file: &Path) -> Result<(), Error> {
    match file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) => fs::create_dir_all(folder).map_err(|cause| Error::path(folder, "made", cause)),
        None => Ok(()),
    }
}

/// Writes the entries of a file, whole or not at all.
pub(crate) fn write_entries(file: &Path, all: &[Entry], terminal: &mut Terminal) -> Result<(), Error> {
    make_folder(file)?;
    let text = match all {
        [one] => serde_json::to_string_pretty(one),
        more => serde_json::to_string_pretty(more),
    };
    let text = text.map_err(|cause| Error::path(file, "written", cause.into()))?;
    Target::Path(file.to_owned()).write(format!("{text}\n").as_bytes(), Readers::All, true, terminal)
}

/// The next number of a key, written down before it is used: in FILE.number beside what the device is given, one line, epoch and sequence.
pub(crate) fn next_number(given: &Path) -> Result<Number, Error> {
    let path = PathBuf::from(format!("{}.number", given.display()));
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
