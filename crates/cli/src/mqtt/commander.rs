//! The key of whoever may tell a device something: the public half as a device is given it, and the private one for the gateway, which
//! confirms with it.

use std::ffi::OsString;
use std::path::Path;

use sealstone_mldsa::{Level, OsRandom, any};
use sealstone_mqtt::KeyId;
use sealstone_mqtt::gateway::config::Announcements;
use sealstone_mqtt::gateway::directory::{Directory, entries};
use sealstone_mqtt::gateway::{Commander, Config};
use sealstone_mqtt::provision::{CommanderKey, first_key_id};

use super::{device, options};
use crate::error::Error;
use crate::files::{Source, shown};
use crate::keyfile;
use crate::terminal::Terminal;

/// A commander's key with its id.
pub(crate) struct Named {
    id: KeyId,
    key: any::VerifyingKey,
}

impl Named {
    /// As a device is given it.
    pub(crate) fn key(&self) -> CommanderKey<'_> {
        CommanderKey { level: self.key.level(), id: self.id, public_key: self.key.encode() }
    }
}

/// Reads an entry of the gateway's directory, of which the active key of the highest level counts, or a public key in any form.
pub(crate) fn read(file: &OsString, id: Option<u16>, terminal: &mut Terminal) -> Result<Named, Error> {
    if let Some(named) = of_entry(Path::new(file), id)? {
        return Ok(named);
    }
    let source = Source::from(file.clone());
    let key = keyfile::Key::load(&source, terminal)?;
    let hint = "commands are signed with ML-DSA: `sealstone key generate` makes such a key";
    let key = keyfile::verifying_key(key.public())
        .ok_or_else(|| Error::key(&source.name(), "this key is of another algorithm", Some(hint)))?;
    Ok(Named { id: id.map_or(first_key_id(key.level()), KeyId), key })
}

/// The key of an entry; none if the file is none.
fn of_entry(file: &Path, id: Option<u16>) -> Result<Option<Named>, Error> {
    let Ok(text) = std::fs::read_to_string(file) else { return Ok(None) };
    let Ok(all) = entries(file, &text) else { return Ok(None) };
    let [entry] = &all[..] else {
        let what = format!("{} has {} entries", shown(file), all.len());
        return Err(Error::usage(what, "a commander has a file of its own"));
    };
    let directory = Directory::load(file)?;
    let now = options::now();
    let counts = |level: &Level| {
        let ids = entry.keys.iter().map(|key| key.id).filter(|known| id.is_none_or(|id| id == *known));
        let mut keys = ids.filter_map(|id| directory.device(&entry.device)?.key(KeyId(id)));
        keys.find(|key| key.level == *level && key.counts(now)).cloned()
    };
    let key = Level::ALL.into_iter().rev().find_map(|level| counts(&level)).ok_or_else(|| {
        let what = format!("{} has no such key that counts", shown(file));
        Error::usage(what, "`sealstone mqtt rotate` gives it a new one")
    })?;
    Ok(Some(Named { id: key.id, key: key.verifying_key().map_err(Error::Engine)? }))
}

/// The commander of a configuration; none where nothing is confirmed. Its key is the one of level 87, which is the
/// one that devices are given.
pub(super) fn load(config: &Config, terminal: &mut Terminal) -> Result<Option<Commander>, Error> {
    let path = match (&config.keys.commander, config.keys.announcements) {
        (Some(path), Announcements::Confirm) => path,
        _ => return Ok(None),
    };
    if let Some(mode) = Source::Path(path.clone()).wide_mode() {
        let name = shown(path);
        let what = format!("its mode {mode:04o} lets others in, 0600 expected");
        return Err(Error::key(
            &name,
            what,
            Some(&format!("chmod 600 {name}, and make new keys if others read it")),
        ));
    }
    let bytes = device::read(path, terminal)?;
    let given = device::parse(path, &bytes)?;
    let level = Level::MlDsa87;
    let key = given.key(level);
    let signer = any::SigningKey::from_seed(level, key.seed).expand();
    let file = path.clone();
    let numbers = move || {
        device::next_number(&file).map_err(|cause| sealstone_mqtt::gateway::Error::Data {
            path: file.clone(),
            what: cause.to_string(),
            hint: "its numbers are kept beside it, in FILE.number: look at owner, mode and free space",
        })
    };
    Ok(Some(Commander::new(key.id, signer, Box::new(numbers), Box::new(OsRandom))))
}
