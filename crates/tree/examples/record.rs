//! The bytes of `security.ima`, in two steps, for a signature that is made elsewhere: by a device, by another machine.
//!
//! ```sh
//! record id file sha256 DIGEST > id           # what is to be signed: 34 bytes
//! sealstone sign --key my.pem id              # writes id.sig
//! record of file sha256 DIGEST 3762d430 id.sig > value
//! setfattr -n security.ima -v 0x$(xxd -p -c0 value) FILE
//! ```

use std::error::Error;
use std::io::Write as _;

use sealstone_tree::{FileId, HashAlgorithm, KeyId, Kind, Record};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let bytes = match words[..] {
        ["id", kind, hash, digest] => file_id(kind, hash, digest)?.as_bytes().to_vec(),
        ["of", kind, hash, digest, key_id, signature] => {
            let signature = std::fs::read(signature)?;
            let key_id = KeyId(u32::from_str_radix(key_id, 16)?);
            Record::of(&file_id(kind, hash, digest)?, key_id, &signature)?.to_bytes()
        }
        _ => return Err("record id KIND HASH DIGEST, or record of KIND HASH DIGEST KEYID SIGNATURE".into()),
    };
    std::io::stdout().write_all(&bytes)?;
    Ok(())
}

/// `KIND` is file, attributes or verity; `HASH` as the kernel names it; `DIGEST` in hexadecimal.
fn file_id(kind: &str, hash: &str, digest: &str) -> Result<FileId, Box<dyn Error>> {
    let kind = match kind {
        "file" => Kind::File,
        "attributes" => Kind::Attributes,
        "verity" => Kind::Verity,
        _ => return Err("a kind is file, attributes or verity".into()),
    };
    let hash =
        HashAlgorithm::ALL.into_iter().find(|one| one.name() == hash).ok_or("no such hash function")?;
    let digest: Vec<u8> = digest.as_bytes().chunks(2).map(byte).collect::<Result<_, _>>()?;
    Ok(FileId::new(kind, hash, &digest)?)
}

fn byte(digits: &[u8]) -> Result<u8, Box<dyn Error>> {
    Ok(u8::from_str_radix(std::str::from_utf8(digits)?, 16)?)
}
