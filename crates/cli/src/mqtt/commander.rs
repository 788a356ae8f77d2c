//! The commander's key for the gateway: read once, from a file that nobody else can read.

use sealstone_mldsa::{OsRandom, any};
use sealstone_mqtt::gateway::config::Announcements;
use sealstone_mqtt::gateway::{Commander, Config};
use sealstone_mqtt::level::Class;

use super::device;
use crate::error::Error;
use crate::files::{Source, shown};
use crate::terminal::Terminal;

/// The commander of a configuration; none where nothing is confirmed. Its key is the one of the level that the class critical demands.
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
    let level = config.class.floor(Class::Critical);
    let key = given.key(level);
    let signer = Box::new(any::SigningKey::from_seed(level, key.seed).expand());
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
