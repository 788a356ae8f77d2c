//! Keys for tags in the directory: whose they are, who may read them, and that nothing shows them.

use crate::place::{shared, write_key};
use crate::support::public;
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, StateName, mac_text};
use sealstone_mqtt::gateway::{Directory, Error};
use sealstone_mqtt::{KeyId, UnixMillis};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const KEY: [u8; 32] = [0xa5; 32];

/// A folder with the device "7": key 1 signs, 17 is shared.
fn folder() -> (tempfile::TempDir, PathBuf, Entry) {
    let folder = tempfile::tempdir().unwrap();
    let entry = Entry {
        device: "7".into(),
        topics: vec![],
        keys: vec![KeyEntry::new(KeyId(1), public(Level::MlDsa44))],
        macs: vec![shared(folder.path(), 17, &KEY, StateName::Active)],
    };
    let path = folder.path().join("devices.json");
    write(&path, std::slice::from_ref(&entry));
    (folder, path, entry)
}

fn write(path: &Path, entries: &[Entry]) {
    std::fs::write(path, serde_json::to_string(entries).unwrap()).unwrap();
}

fn refused(path: &Path, what: &str) -> Error {
    let cause = Directory::load(path).unwrap_err();
    assert!(cause.to_string().contains(what), "{cause}, expected {what}");
    cause
}

#[test]
fn a_shared_key_is_read_and_shown_by_nothing() {
    let (_folder, path, _) = folder();
    let directory = Directory::load(&path).unwrap();
    let device = directory.device("7").unwrap();
    let now = UnixMillis(1);
    assert!(device.mac(KeyId(17)).unwrap().counts(now) && device.mac(KeyId(1)).is_none());
    assert!(device.key(KeyId(17)).is_none());
    let shown = format!("{directory:?}");
    assert!(
        shown.contains("MacKey(..)") && !shown.contains("a5a5") && !shown.contains("165, 165"),
        "{shown}"
    );
}

/// States are those of keys; a shared key that counts makes a device one that must seal.
#[test]
fn a_shared_key_retires_as_others_do() {
    let (folder, path, mut entry) = folder();
    entry.keys.clear();
    entry.macs[0].state = StateName::Retired;
    entry.macs[0].retired_at = Some(1000);
    entry.macs.push(shared(folder.path(), 18, &[1; 32], StateName::Retired));
    write(&path, &[entry.clone()]);
    let directory = Directory::load(&path).unwrap();
    let device = directory.device("7").unwrap();
    let counts = |id, at| device.mac(KeyId(id)).unwrap().counts(UnixMillis(at));
    assert!(counts(17, 999) && !counts(17, 1000) && !counts(18, 1));
    assert!(device.can_sign(UnixMillis(999)) && !device.can_sign(UnixMillis(1000)));

    entry.macs[0].state = StateName::Active;
    write(&path, &[entry.clone()]);
    refused(&path, "key 17: `retired_at` without being retired");
    entry.macs[0].state = StateName::Announced;
    write(&path, &[entry]);
    refused(&path, "key 17: a shared key cannot be announced");
}

#[test]
fn ids_are_given_once_and_keys_to_one_device() {
    let (folder, path, entry) = folder();
    let mut twice = entry.clone();
    twice.macs.push(shared(folder.path(), 17, &[1; 32], StateName::Retired));
    write(&path, &[twice]);
    refused(&path, "device \"7\": key 17 is there twice");
    let mut clash = entry.clone();
    clash.macs[0].id = 1;
    write(&path, &[clash]);
    refused(&path, "device \"7\": key 1 is there twice");
    // The same bytes elsewhere: whoever has them could tag as either.
    let other = Entry {
        device: "8".into(),
        keys: vec![],
        macs: vec![shared(folder.path(), 20, &KEY, StateName::Retired)],
        ..entry.clone()
    };
    write(&path, &[entry, other]);
    refused(&path, "device \"8\", key 20: this shared key is there already");
}

/// A mode that lets anybody else in is refused, each bit of it.
#[test]
fn who_else_may_look_in_is_refused() {
    let (folder, path, entry) = folder();
    let file = folder.path().join(&entry.macs[0].file);
    for mode in [0o400, 0o600, 0o700] {
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        assert!(Directory::load(&path).is_ok(), "{mode:o}");
    }
    for bit in 0..6 {
        let mode = 0o600 | 1 << bit;
        std::fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        let cause = refused(&path, &format!("mode {mode:04o} lets others in"));
        assert!(cause.hint().contains("chmod 600"), "{}", cause.hint());
    }
}

/// Whatever stands in the file: no panic, and no byte of it in the error.
#[test]
fn what_is_no_key_is_refused_and_not_repeated() {
    let (folder, path, entry) = folder();
    let file = folder.path().join(&entry.macs[0].file);
    let good = mac_text(&KEY).to_vec();
    let upper = good.to_ascii_uppercase();
    for text in [&good[..], &good[..64], &upper] {
        write_key(&file, text, 0o600);
        assert!(Directory::load(&path).is_ok());
    }
    let bad: [&[u8]; 9] = [
        b"",
        b"\n",
        &good[..63],
        &good[1..],
        &[&good[..], b"\n"].concat(),
        &[&good[..64], b"\r\n"].concat(),
        &[b" ", &good[..]].concat(),
        &[&good[..63], b"g\n"].concat(),
        &KEY,
    ];
    for text in bad {
        write_key(&file, text, 0o600);
        let cause = refused(&path, "it is not 64 hexadecimal digits");
        let said = format!("{cause} {} {cause:?}", cause.hint());
        assert!(!said.contains("a5a5") && !said.contains("165, 165"), "{said}");
    }
    write_key(&file, &vec![b'a'; 1 << 20], 0o600);
    refused(&path, "it is not 64 hexadecimal digits");
    std::fs::remove_file(&file).unwrap();
    refused(&path, "no such file");
    std::fs::create_dir(&file).unwrap();
    refused(&path, "it is no file");
    std::fs::remove_dir(&file).unwrap();
    assert!(std::process::Command::new("mkfifo").args(["-m", "600"]).arg(&file).status().unwrap().success());
    refused(&path, "it is no file"); // and it is not waited for
}

/// The file is found from the folder of the file that names it.
#[test]
fn a_path_is_seen_from_the_entry() {
    let (folder, path, mut entry) = folder();
    std::fs::create_dir(folder.path().join("keys")).unwrap();
    let name = entry.macs[0].file.clone();
    std::fs::rename(folder.path().join(&name), folder.path().join("keys").join(&name)).unwrap();
    refused(&path, "no such file");
    entry.macs[0].file = format!("keys/{name}");
    write(&path, &[entry.clone()]);
    assert!(Directory::load(&path).is_ok());
    // A folder as the directory: the same, and the keys are not taken for entries.
    assert_eq!(Directory::load(folder.path()).unwrap().len(), 1);
}

/// Another key of the same length, a wider mode, no file: each is a change.
#[test]
fn a_changed_key_is_seen() {
    let (folder, path, entry) = folder();
    let file = folder.path().join(&entry.macs[0].file);
    let directory = Directory::load(&path).unwrap();
    assert!(!directory.changed(&path).unwrap());
    write_key(&file, &*mac_text(&[1; 32]), 0o600);
    assert!(directory.changed(&path).unwrap(), "another key");
    let directory = Directory::load(&path).unwrap();
    assert!(!directory.changed(&path).unwrap());
    std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
    assert!(directory.changed(&path).unwrap(), "another mode");
    std::fs::remove_file(&file).unwrap();
    assert!(directory.changed(&path).is_err(), "no file");
}
