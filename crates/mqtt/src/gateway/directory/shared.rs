//! Keys for tags, which device and gateway share: each in a file of its own, for the gateway alone.
//!
//! A file has 64 hexadecimal digits, and a line feed if one likes: 32 bytes. Its mode lets nobody in but its owner.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sealstone_mldsa::MacKey;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::stamp::Stamp;
use super::{Entry, RETIRED_HINT, State, StateName, state_of, unreadable};
use crate::gateway::Error;
use crate::message::{KeyId, UnixMillis};

/// One key for tags of a device. `Debug` does not show it, and it is wiped when the last one lets go of it.
#[derive(Debug)]
pub struct Mac {
    /// Its id. No key of the device has the same one.
    pub id: KeyId,
    /// Whether it counts.
    pub state: State,
    pub(in crate::gateway) key: MacKey,
}

/// A key for tags as the file of its device has it: where it is, and not what.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MacEntry {
    /// The id, 0 to 65535. A new key has a new one.
    pub id: u16,
    /// `active` or `retired`. Nobody announces a key that is shared.
    #[serde(default)]
    pub state: StateName,
    /// When it is retired, in milliseconds since 1970; without it, from the beginning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired_at: Option<u64>,
    /// The file with the key, as seen from the folder of the file that names it.
    pub file: String,
}

impl Mac {
    /// Whether its tags count.
    pub fn counts(&self, now: UnixMillis) -> bool {
        self.state.counts(now)
    }

    /// The key, to check an envelope with.
    pub fn key(&self) -> &MacKey {
        &self.key
    }

    /// What tells one key from another, and tells nothing else: a tag for this purpose alone.
    pub(super) fn mark(&self) -> [u8; 32] {
        let mut mark = [0; 32];
        self.key.tag(b"sealstone-mqtt-directory", |_| (), &mut mark);
        mark
    }
}

/// The text of a file with a key.
pub fn mac_text(key: &[u8; 32]) -> Zeroizing<[u8; TEXT_LEN + 1]> {
    let mut text = Zeroizing::new([b'\n'; TEXT_LEN + 1]);
    for (digits, byte) in text.chunks_exact_mut(2).zip(key) {
        digits.copy_from_slice(&[digit(byte >> 4), digit(byte & 15)]);
    }
    text
}

/// Hexadecimal digits of a key.
const TEXT_LEN: usize = 64;

/// Reads the key of an entry. Errors: `Directory` with the entry's file or the key's; never a byte of what stands there.
pub(super) fn load(mac: &MacEntry, entry: &Entry, file: &Path) -> Result<(Mac, Stamp), Error> {
    let (device, id) = (&entry.device, mac.id);
    let fault = |what, hint| Err(Error::Directory { file: file.to_owned(), what, hint });
    if entry.keys.iter().any(|key| key.id == id) || entry.macs.iter().filter(|mac| mac.id == id).count() > 1 {
        return fault(format!("device {device:?}: key {id} is there twice"), "a new key has a new id");
    }
    if mac.state == StateName::Announced {
        let what = format!("device {device:?}, key {id}: a shared key cannot be announced");
        return fault(what, "`active` or `retired`");
    }
    let Some(state) = state_of(mac.state, mac.retired_at) else {
        let what = format!("device {device:?}, key {id}: `retired_at` without being retired");
        return fault(what, RETIRED_HINT);
    };
    let place = file.parent().unwrap_or(Path::new("")).join(&mac.file);
    let (key, stamp) = read(&place)?;
    Ok((Mac { id: KeyId(id), state, key }, stamp))
}

/// A key for tags and what tells that its file changed. Errors: `Directory`: not there, not a file, others may look in, not 64
/// digits.
fn read(file: &Path) -> Result<(MacKey, Stamp), Error> {
    let fault = |what: String, hint| Error::Directory { file: file.to_owned(), what, hint };
    let failed = |cause| unreadable(file, cause);
    // A pipe would be waited for.
    if !std::fs::metadata(file).map_err(failed)?.is_file() {
        return Err(fault("it is no file".into(), KEY_HINT));
    }
    let mut opened = File::open(file).map_err(failed)?;
    let found = opened.metadata().map_err(failed)?;
    let mode = found.permissions().mode();
    if mode & 0o077 != 0 {
        let what = format!("mode {:04o} lets others in, 0600 expected", mode & 0o7777);
        return Err(fault(what, "chmod 600, and a new key: others may have read this one"));
    }
    // One byte more than the longest that is right.
    let mut text = Zeroizing::new([0; TEXT_LEN + 2]);
    let mut len = 0;
    while let Some(rest) = text.get_mut(len..).filter(|rest| !rest.is_empty()) {
        match opened.read(rest) {
            Ok(0) => break,
            Ok(count) => len += count,
            Err(cause) if cause.kind() == std::io::ErrorKind::Interrupted => {}
            Err(cause) => return Err(failed(cause)),
        }
    }
    let whole = len == TEXT_LEN || len == TEXT_LEN + 1 && text[TEXT_LEN] == b'\n';
    let key = text.first_chunk().filter(|_| whole).and_then(decode);
    let key = key.ok_or_else(|| fault("it is not 64 hexadecimal digits".into(), KEY_HINT))?;
    Ok((key, Stamp::new(file, &found)))
}

const KEY_HINT: &str =
    "a shared key is 32 bytes as 64 hexadecimal digits; `sealstone mqtt provision` writes such files";

/// The key of 64 digits of either case. No branch and no index depends on a digit; that all are digits is known at the end.
fn decode(text: &[u8; TEXT_LEN]) -> Option<MacKey> {
    let mut key = Zeroizing::new([0; 32]);
    let mut good = u8::MAX;
    for (byte, digits) in key.iter_mut().zip(text.chunks_exact(2)) {
        for &digit in digits {
            let (value, is_digit) = value(digit);
            *byte = *byte << 4 | value;
            good &= is_digit;
        }
    }
    (good == u8::MAX).then(|| MacKey::from_bytes(&key))
}

/// The value of a digit, 0 to 15, and 255 if it is one, else 0.
fn value(digit: u8) -> (u8, u8) {
    // 255 where a <= x < a + len, without a branch: the subtraction borrows, or not.
    let within = |x: u8, from: u8, len: u8| {
        let at = u16::from(x.wrapping_sub(from));
        (at.wrapping_sub(u16::from(len)) >> 8) as u8
    };
    let (number, letter) = (within(digit, b'0', 10), within(digit | 0x20, b'a', 6));
    let value =
        number & digit.wrapping_sub(b'0') | letter & (digit | 0x20).wrapping_sub(b'a').wrapping_add(10);
    (value & 15, number | letter)
}

/// The digit of 0 to 15, without a table.
fn digit(value: u8) -> u8 {
    let letter = (9_u8.wrapping_sub(value) >> 7).wrapping_neg();
    b'0' + value + (letter & (b'a' - b'0' - 10))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn digits_of_all_bytes_are_read_as_the_standard_library_reads_them() {
        for byte in 0..=u8::MAX {
            let (found, good) = value(byte);
            let known = char::from(byte).to_digit(16);
            assert_eq!((good == 255).then_some(u32::from(found)), known, "{byte}");
            assert!(good == 255 || good == 0);
        }
        assert_eq!((0..16).map(|value| char::from(digit(value))).collect::<String>(), "0123456789abcdef");
        let key: [u8; 32] = std::array::from_fn(|at| (at * 37) as u8);
        let text = mac_text(&key);
        let mac = |key: &MacKey| {
            let mut tag = [0; 32];
            key.tag(b"", |_| (), &mut tag);
            tag
        };
        let read = decode(text.first_chunk().unwrap()).unwrap();
        assert_eq!(mac(&read), mac(&MacKey::from_bytes(&key)));
    }
}
