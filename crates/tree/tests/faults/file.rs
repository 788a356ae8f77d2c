//! What is done to a file that is signed.

use std::fs;
use std::path::Path;

use sealstone_tree::USER_IMA;

use super::CONTENT;

/// What was done, in words; what must be said; how it is done to a file.
pub(super) type Change = (&'static str, &'static str, fn(&Path));

/// What happens to the file after it was signed.
pub(super) fn changes() -> Vec<Change> {
    vec![
        ("nothing", "good", |_| ()),
        ("one bit of the content", "does-not-verify", |at| {
            let mut content = CONTENT.to_vec();
            content[5] ^= 1;
            fs::write(at, content).unwrap();
        }),
        ("a byte appended", "does-not-verify", |at| fs::write(at, [CONTENT, b"\0"].concat()).unwrap()),
        ("a byte cut off", "does-not-verify", |at| fs::write(at, &CONTENT[1..]).unwrap()),
        ("emptied", "does-not-verify", |at| fs::write(at, "").unwrap()),
        ("a hole of 1 MiB appended", "does-not-verify", |at| {
            fs::File::options().write(true).open(at).unwrap().set_len(1 << 20).unwrap();
        }),
        ("signature taken away", "unsigned", |at| rustix::fs::removexattr(at, USER_IMA).unwrap()),
        ("replaced by a new file", "unsigned", |at| {
            fs::remove_file(at).unwrap();
            fs::write(at, CONTENT).unwrap();
        }),
        ("replaced by a link to itself elsewhere", "symbolic link", |at| {
            let other = at.with_extension("moved");
            fs::rename(at, &other).unwrap();
            std::os::unix::fs::symlink(&other, at).unwrap();
        }),
        ("replaced by a named pipe", "named pipe", |at| {
            fs::remove_file(at).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(rustix::fs::CWD, at, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        }),
        ("written again as it was", "good", |at| fs::write(at, CONTENT).unwrap()),
        ("renamed and back, other times, other mode", "good", |at| {
            use std::os::unix::fs::PermissionsExt as _;
            fs::rename(at, at.with_extension("moved")).unwrap();
            fs::rename(at.with_extension("moved"), at).unwrap();
            fs::set_permissions(at, fs::Permissions::from_mode(0o751)).unwrap();
            fs::File::options().write(true).open(at).unwrap().set_modified(std::time::UNIX_EPOCH).unwrap();
        }),
        ("signature of another file of the tree", "does-not-verify", |at| {
            let other = at.with_extension("other");
            let mut value = vec![0; 8192];
            let len = rustix::fs::getxattr(&other, USER_IMA, &mut value[..]).unwrap();
            rustix::fs::setxattr(at, USER_IMA, &value[..len], rustix::fs::XattrFlags::empty()).unwrap();
        }),
    ]
}
