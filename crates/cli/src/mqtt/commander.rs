//! The key of whoever may tell a device something.

use std::ffi::OsString;
use std::path::Path;

use sealstone_mldsa::{Level, any};
use sealstone_mqtt::KeyId;
use sealstone_mqtt::gateway::directory::{Directory, entries};
use sealstone_mqtt::provision::{CommanderKey, first_key_id};

use super::options;
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
