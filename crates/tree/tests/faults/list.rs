//! What is done to a manifest, to a tree that has one, and by a manifest whose signatures are copied to a tree.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_mldsa::{Context, Level, any};
use sealstone_tree::{Manifest, Rules, SignOptions, USER_IMA};

use super::{CONTENT, Row};
use crate::trees::{apply, by_manifest, manifest, stored};
use crate::world::{open, sign, signer, trusting, user};

/// What was done, in words; what must be said; how it is done to a manifest.
type Forgery = (&'static str, &'static str, fn(&str) -> String);

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("below")).unwrap();
    for (name, content) in [("file", CONTENT), ("other", b"another"), ("below/third", b"3")] {
        fs::write(folder.path().join(name), content).unwrap();
        fs::set_permissions(folder.path().join(name), fs::Permissions::from_mode(0o644)).unwrap();
    }
    folder
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = forged();
    rows.extend(changed_trees());
    rows.extend(copied());
    rows
}

/// The line that ends so, changed.
fn line(text: &str, end: &str, change: impl Fn(&str) -> String) -> String {
    text.split_inclusive('\n')
        .map(|line| if line.trim_end().ends_with(end) { change(line) } else { line.to_owned() })
        .collect()
}

fn start(text: &str, start: &str, instead: &str) -> String {
    text.split_inclusive('\n')
        .map(|line| if line.starts_with(start) { instead.to_owned() } else { line.to_owned() })
        .collect()
}

/// All that is signed, with a signature that was made in another way.
fn signed_again(text: &str, number: u8, ctx: &[u8]) -> String {
    let signed = &text[..text.find("signature ").unwrap()];
    let key = any::SigningKey::from_seed(Level::MlDsa44, &[number; 32]);
    let signature = key.sign_deterministic(Context::new(ctx).unwrap(), signed.as_bytes()).unwrap();
    format!("{signed}signature {}\n", STANDARD.encode(signature.encode()))
}

fn forgeries() -> Vec<Forgery> {
    vec![
        ("nothing", "good", str::to_owned),
        ("a digit of a digest", "manifest", |text| line(text, " file", |line| line.replacen('a', "b", 1))),
        ("a size", "manifest", |text| line(text, " file", |line| line.replace(" 23 ", " 24 "))),
        ("a mode", "manifest", |text| line(text, " file", |line| line.replace("0644", "4755"))),
        ("a name", "manifest", |text| line(text, " file", |line| line.replace("file", "filf"))),
        ("a line taken out", "manifest", |text| line(text, " other", |_| String::new())),
        ("a line twice", "manifest", |text| line(text, " other", |line| line.repeat(2))),
        ("two lines in the other order", "manifest", |text| {
            let (mut lines, at) = lines_and(text, "file");
            lines.swap(at, at + 1);
            lines.concat()
        }),
        ("the number of files", "manifest", |text| start(text, "end ", "end 2\n")),
        ("the time", "manifest", |text| start(text, "created ", "created 1\n")),
        ("the name of the tree", "manifest", |text| start(text, "tree ", "tree etc\n")),
        ("another hash function", "manifest", |text| start(text, "hash ", "hash sha3-256\n")),
        ("another algorithm of the key", "manifest", |text| text.replace("ML-DSA-44", "ML-DSA-65")),
        ("another key", "key", |text| {
            line(text, "", |line| if line.starts_with("key ") { flip_last(line) } else { line.to_owned() })
        }),
        ("no key", "manifest", |text| start(text, "key ", "")),
        ("a rule put in", "manifest", |text| text.replacen("files\n", "exclude other\nfiles\n", 1)),
        ("a word that is no word", "manifest", |text| text.replacen("files\n", "colour red\nfiles\n", 1)),
        ("version 2 of the format", "manifest", |text| text.replacen("manifest 1", "manifest 2", 1)),
        ("lines that end as on Windows", "manifest", |text| text.replace('\n', "\r\n")),
        ("a space more", "manifest", |text| line(text, " file", |line| line.replace(" 0644", "  0644"))),
        ("a digest in capitals", "manifest", |text| {
            line(text, " file", |line| format!("{}{}", line[..64].to_uppercase(), &line[64..]))
        }),
        ("the signature taken away", "manifest", |text| text[..text.find("signature ").unwrap()].to_owned()),
        ("a bit of the signature", "manifest", |text| {
            let at = text.find("signature ").unwrap() + 50;
            let other = if &text[at..=at] == "A" { "B" } else { "A" };
            format!("{}{other}{}", &text[..at], &text[at + 1..])
        }),
        ("the signature twice", "manifest", |text| {
            format!("{text}{}", &text[text.find("signature ").unwrap()..])
        }),
        ("a line behind the signature", "manifest", |text| format!("{text}\n")),
        ("the end of the last line", "manifest", |text| text[..text.len() - 1].to_owned()),
        ("the second half", "manifest", |text| text[..text.len() / 2].to_owned()),
        ("emptied", "manifest", |_| String::new()),
        ("signed without a manifest's context", "manifest", |text| signed_again(text, 1, b"")),
        ("signed with another context", "manifest", |text| {
            signed_again(text, 1, b"sealstone-tree-manifest-v2")
        }),
        ("signed by another key in this one's name", "manifest", |text| {
            signed_again(text, 2, sealstone_tree::manifest::CONTEXT)
        }),
        ("signed again by this key: good", "good", |text| {
            signed_again(text, 1, sealstone_tree::manifest::CONTEXT)
        }),
    ]
}

fn lines_and(text: &str, end: &str) -> (Vec<String>, usize) {
    let lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let at = lines.iter().position(|line| line.trim_end().ends_with(end)).unwrap();
    (lines, at)
}

fn flip_last(line: &str) -> String {
    let digits = line.trim_end();
    let other = if digits.ends_with('0') { "1" } else { "0" };
    format!("{}{other}\n", &digits[..digits.len() - 1])
}

fn forged() -> Vec<Row> {
    let (folder, key) = (tree(), signer(Level::MlDsa44, 1));
    let text = manifest(folder.path(), Rules::default(), Some(&key), SignOptions::default(), &key);
    let text = String::from_utf8(text).unwrap();
    let row = |(what, expected, forge): Forgery| {
        let forged = forge(&text);
        assert!(forged != text || what == "nothing", "{what}: nothing was done");
        let found = match by_manifest(folder.path(), forged.as_bytes(), &[&key]) {
            Err(why) => why.code().to_owned(),
            Ok(found) => {
                assert!(found.len() == 3 && found.values().all(|word| word == "good"), "{what}: {found:?}");
                "good".to_owned()
            }
        };
        Row { of: "the manifest", what, expected, found: Some(found) }
    };
    forgeries().into_iter().map(row).collect()
}

/// The same for a tree whose manifest is good.
type Change = (&'static str, &'static str, &'static str, fn(&Path));

fn changes() -> Vec<Change> {
    vec![
        ("one bit of a file", "content-differs", "file", |at| {
            let mut content = CONTENT.to_vec();
            content[5] ^= 1;
            fs::write(at.join("file"), content).unwrap();
        }),
        ("a byte appended", "content-differs", "file", |at| {
            fs::write(at.join("file"), [CONTENT, b"\n"].concat()).unwrap();
        }),
        ("another mode", "mode-differs", "file", |at| {
            fs::set_permissions(at.join("file"), fs::Permissions::from_mode(0o664)).unwrap();
        }),
        ("the bit of set-user-id", "mode-differs", "file", |at| {
            fs::set_permissions(at.join("file"), fs::Permissions::from_mode(0o4644)).unwrap();
        }),
        ("a file taken away", "missing", "file", |at| fs::remove_file(at.join("file")).unwrap()),
        ("a file put in", "unlisted", "fine", |at| fs::write(at.join("fine"), "x").unwrap()),
        ("an empty file put in", "unlisted", "below/.x", |at| fs::write(at.join("below/.x"), "").unwrap()),
        ("a file renamed: the old name", "missing", "file", |at| {
            fs::rename(at.join("file"), at.join("new")).unwrap();
        }),
        ("a file renamed: the new name", "unlisted", "new", |at| {
            fs::rename(at.join("file"), at.join("new")).unwrap();
        }),
        ("a link in a file's place", "not-regular", "file", |at| {
            fs::rename(at.join("file"), at.join("moved")).unwrap();
            symlink("moved", at.join("file")).unwrap();
        }),
        ("a named pipe in a file's place", "not-regular", "file", |at| {
            fs::remove_file(at.join("file")).unwrap();
            let mode = rustix::fs::Mode::from_raw_mode(0o644);
            let kind = rustix::fs::FileType::Fifo;
            rustix::fs::mknodat(rustix::fs::CWD, at.join("file"), kind, mode, 0).unwrap();
        }),
        ("a directory in a file's place", "missing", "file", |at| {
            fs::remove_file(at.join("file")).unwrap();
            fs::create_dir(at.join("file")).unwrap();
        }),
        ("a link in a directory's place", "missing", "below/third", |at| {
            fs::rename(at.join("below"), at.join("elsewhere")).unwrap();
            symlink("elsewhere", at.join("below")).unwrap();
        }),
        ("two files changed about", "content-differs", "file", |at| {
            fs::rename(at.join("file"), at.join("x")).unwrap();
            fs::rename(at.join("other"), at.join("file")).unwrap();
            fs::rename(at.join("x"), at.join("other")).unwrap();
        }),
        ("a file written again as it was", "good", "file", |at| fs::write(at.join("file"), CONTENT).unwrap()),
    ]
}

fn changed_trees() -> Vec<Row> {
    let key = signer(Level::MlDsa44, 1);
    let row = |(what, expected, path, change): Change| {
        let folder = tree();
        let text = manifest(folder.path(), Rules::default(), Some(&key), SignOptions::default(), &key);
        change(folder.path());
        let found = by_manifest(folder.path(), &text, &[&key]).unwrap().remove(path.as_bytes());
        let found = Some(found.unwrap_or_else(|| "nothing".into()));
        Row { of: "a tree with a manifest", what, expected, found }
    };
    changes().into_iter().map(row).collect()
}

/// What was done, in words; what must be said of which path; how it is done to the manifest and the tree.
type Copied = (&'static str, &'static str, &'static str, fn(&str, &Path) -> String);

/// The attribute of a line.
fn attribute(text: &str, end: &str) -> String {
    let (lines, at) = lines_and(text, end);
    lines[at].split(' ').nth(3).unwrap().to_owned()
}

fn with_attribute(text: &str, value: &str) -> String {
    text.replace(&attribute(text, " file"), value)
}

fn renamed(text: &str, path: &str) -> String {
    // Alone in its list, so that the order is not what is refused.
    let (lines, at) = lines_and(text, " file");
    let line = lines[at].replace(" file", &format!(" {path}"));
    let head: String = text.split_inclusive("files\n").next().unwrap().to_owned();
    format!("{head}{line}end 1\n")
}

fn copies() -> Vec<Copied> {
    vec![
        ("nothing", "good", "file", |text, _| text.to_owned()),
        ("another file's signature", "does-not-verify", "file", |text, _| {
            with_attribute(text, &attribute(text, " other"))
        }),
        ("no signature", "unsigned", "file", |text, _| with_attribute(text, "-")),
        ("a signature that nobody can read", "malformed", "file", |text, _| with_attribute(text, "AAAA")),
        ("another key's signature", "unknown-key", "file", |text, _| {
            let mut value = STANDARD.decode(attribute(text, " file")).unwrap();
            value[5] ^= 1;
            with_attribute(text, &STANDARD.encode(value))
        }),
        ("a name that leads out", "manifest", "", |text, _| renamed(text, "../file")),
        ("a name that leads out on the way", "manifest", "", |text, _| renamed(text, "below/../../file")),
        ("a name from the root", "manifest", "", |text, _| renamed(text, "/etc/passwd")),
        ("an empty name", "manifest", "", |text, _| renamed(text, "")),
        ("a name with a zero byte", "manifest", "", |text, _| renamed(text, "fi%00le")),
        ("a name through a link", "not-regular", "link/file", |text, at| {
            symlink(".", at.join("link")).unwrap();
            renamed(text, "link/file")
        }),
        ("a name that is a link", "not-regular", "link", |text, at| {
            symlink("file", at.join("link")).unwrap();
            renamed(text, "link")
        }),
        ("a name that is a directory", "not-regular", "below", |text, _| renamed(text, "below")),
        ("a name that is not there", "unreadable", "none", |text, _| renamed(text, "none")),
        ("a name that is longer than any", "unreadable", LONG, |text, _| renamed(text, LONG)),
        ("the file changed", "does-not-verify", "file", |text, at| {
            fs::write(at.join("file"), "changed").unwrap();
            text.to_owned()
        }),
        ("the file has another key's signature", "other-key", "file", |text, at| {
            sign(&open(at), &signer(Level::MlDsa44, 2), user());
            text.to_owned()
        }),
        ("the file has a good signature by the same key", "kept", "file", |text, at| {
            sign(&open(at), &signer(Level::MlDsa44, 1), user());
            text.to_owned()
        }),
        ("the file has the same key's signature over what it was", "good", "file", |text, at| {
            fs::write(at.join("file"), "before").unwrap();
            sign(&open(at), &signer(Level::MlDsa44, 1), user());
            fs::write(at.join("file"), CONTENT).unwrap();
            text.to_owned()
        }),
        ("the file has a bare digest that IMA wrote", "good", "file", |text, at| {
            let bare = [&[4, 4][..], &[9; 32]].concat();
            rustix::fs::setxattr(at.join("file"), USER_IMA, &bare, rustix::fs::XattrFlags::empty()).unwrap();
            text.to_owned()
        }),
        ("the file's attribute is none of ours", "occupied", "file", |text, at| {
            let flags = rustix::fs::XattrFlags::empty();
            rustix::fs::setxattr(at.join("file"), USER_IMA, b"mine", flags).unwrap();
            text.to_owned()
        }),
    ]
}

/// A part of 256 bytes.
const LONG: &str = concat!(
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
);

fn copied() -> Vec<Row> {
    let key = signer(Level::MlDsa44, 1);
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let row = |(what, expected, path, change): Copied| {
        let folder = tree();
        let text = manifest(folder.path(), Rules::default(), None, keep, &key);
        let text = change(std::str::from_utf8(&text).unwrap(), folder.path());
        let manifest = Manifest::unverified(stored(text.as_bytes())).unwrap();
        let found = apply(folder.path(), manifest, &trusting(&[&key])).remove(path.as_bytes());
        let found = Some(found.unwrap_or_else(|| "nothing".into()));
        Row { of: "signatures copied by a manifest", what, expected, found }
    };
    copies().into_iter().map(row).collect()
}
