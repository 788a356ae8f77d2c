//! A keytab of MIT Kerberos, format 2: the keys of services on this machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use zeroize::Zeroizing;

use super::crypto::Key;
use crate::client::Principal;

/// Most bytes of a keytab: hundreds of services.
const MAX: u64 = 1 << 20;

/// The keys of one service, of every version that the file has.
#[derive(Debug)]
pub(super) struct Keys(Vec<(u32, Key)>);

impl Keys {
    /// Reads the keys of `service`.
    /// Errors: what is wrong with the file, and what to do.
    pub(super) fn load(path: &Path, service: &Principal) -> Result<Self, (String, String)> {
        const READABLE: &str =
            "the server's user must be able to read it, and not everyone: chown, and chmod 0600 or 0640";
        let failed = |cause: std::io::Error| (cause.to_string(), READABLE.to_owned());
        let file = fs::File::open(path).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if metadata.mode() & 0o007 != 0 {
            let what = format!("mode {:04o} lets everyone in", metadata.mode() & 0o7777);
            return Err((what, READABLE.to_owned()));
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(metadata.len().min(MAX) as usize + 1));
        file.take(MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
        let shows = format!("`klist -ke {}` shows what is in it", path.display());
        if bytes.len() as u64 > MAX {
            return Err((format!("it has more than {MAX} bytes"), shows));
        }
        let entries =
            entries(&bytes).ok_or_else(|| ("it is no keytab of format 2".to_owned(), shows.clone()))?;
        let keys: Vec<(u32, Key)> = entries
            .iter()
            .filter(|entry| entry.principal == *service)
            .filter_map(|entry| Some((entry.kvno, Key::new(entry.etype, entry.key)?)))
            .collect();
        if keys.is_empty() {
            let others: BTreeSet<String> = entries.iter().map(|entry| entry.principal.to_string()).collect();
            let others: Vec<String> = others.into_iter().take(8).collect();
            let what = format!("it has no AES key of {service}; it has keys of: {}", others.join(", "));
            return Err((what, format!("{shows}; `kadmin ktadd` puts keys in; RC4 and DES are not used")));
        }
        Ok(Self(keys))
    }

    /// Those with which a ticket may be sealed; one that names no version is tried with each.
    pub(super) fn for_ticket(&self, etype: i64, kvno: Option<u32>) -> impl Iterator<Item = &Key> {
        let fits =
            move |(known, key): &&(u32, Key)| key.etype() == etype && kvno.is_none_or(|kvno| kvno == *known);
        self.0.iter().filter(fits).map(|(_, key)| key)
    }
}

struct Entry<'a> {
    etype: i64,
    key: &'a [u8],
    kvno: u32,
    principal: Principal,
}

/// Every entry, or `None` if the file is not whole.
fn entries(bytes: &[u8]) -> Option<Vec<Entry<'_>>> {
    let mut rest = bytes.strip_prefix(&[5, 2])?;
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let size = i32::from_be_bytes(array(&mut rest)?);
        // A hole is what a removed entry leaves; nothing at all ends the list.
        if size == 0 {
            break;
        }
        let content = take(&mut rest, usize::try_from(size.unsigned_abs()).ok()?)?;
        if size > 0 {
            entries.push(entry(content)?);
        }
    }
    Some(entries)
}

fn entry(mut rest: &[u8]) -> Option<Entry<'_>> {
    let count = u16::from_be_bytes(array(&mut rest)?);
    let realm = text(&mut rest)?;
    let components = (0..count).map(|_| text(&mut rest)).collect::<Option<Vec<_>>>()?;
    let _name_type: [u8; 4] = array(&mut rest)?;
    let _written_at: [u8; 4] = array(&mut rest)?;
    let [short] = array(&mut rest)?;
    let etype = i64::from(i16::from_be_bytes(array(&mut rest)?));
    let key = counted(&mut rest)?;
    // The version in 32 bits, where there is room for it and it is said.
    let long = array(&mut rest).map_or(0, u32::from_be_bytes);
    let kvno = if long == 0 { u32::from(short) } else { long };
    Some(Entry { etype, key, kvno, principal: Principal::from_parts(components, realm) })
}

fn text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(counted(rest)?.to_vec()).ok()
}

fn counted<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u16::from_be_bytes(array(rest)?);
    take(rest, usize::from(len))
}

fn array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    take(rest, N)?.try_into().ok()
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, left) = rest.split_at_checked(len)?;
    *rest = left;
    Some(taken)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::entries;

    #[test]
    fn no_bytes_are_read_beyond_the_end() {
        // One entry of `a@R`, version 3 in 8 bits and 259 in 32, after a hole of two bytes.
        let mut entry = vec![0, 1, 0, 1, b'R', 0, 1, b'a', 0, 0, 0, 1, 0, 0, 0, 0, 3, 0, 17, 0, 16];
        entry.extend_from_slice(&[9; 16]);
        entry.extend_from_slice(&[0, 0, 1, 3]);
        let whole = [&[5, 2, 0xff, 0xff, 0xff, 0xfe, 0, 0, 0, 0, 0, entry.len() as u8][..], &entry].concat();
        let read = entries(&whole).unwrap();
        assert_eq!((read.len(), read[0].kvno, read[0].etype, read[0].key), (1, 259, 17, &[9; 16][..]));
        assert_eq!(read[0].principal.to_string(), "a@R");
        for cut in 0..whole.len() {
            let before_an_entry = [2, 8].contains(&cut);
            assert_eq!(entries(&whole[..cut]).is_some(), before_an_entry, "{cut} bytes");
        }
        for at in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut altered = whole.clone();
                altered[at] = value;
                let _ = entries(&altered);
            }
        }
    }
}
