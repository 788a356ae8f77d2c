//! Faults by name: what was done to a file, its signature, a manifest or the system, what must be said, and what was said. The
//! table goes to docs/tree-faults.md: `TREE_FAULTS=write cargo test -p sealstone-tree faults` writes it, as root.

mod file;
mod list;
mod system;
mod value;

use std::fs;
use std::path::Path;

use sealstone_mldsa::Level;
use sealstone_tree::{KeyId, USER_IMA};

use crate::world::{open, sign, signer, trusting, user, verify};

const CONTENT: &[u8] = b"the content of the file";

/// A case: of what it is, what was done, what must be said, and what was said; nothing where it could not be done.
struct Row {
    of: &'static str,
    what: &'static str,
    expected: &'static str,
    found: Option<String>,
}

#[test]
fn faults_are_called_by_their_names() {
    let mut rows = of_a_file();
    rows.extend(list::rows());
    rows.extend(system::rows());
    assert!(rows.len() >= 150, "{} cases", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter(|row| row.found.as_ref().is_some_and(|found| found != row.expected))
        .map(|row| format!("{}: {}: expected {}, found {:?}", row.of, row.what, row.expected, row.found))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");

    let mut page = "# Faults of signed trees\n\nWhat was done to a file that is signed with ML-DSA-65, to the value of its \
        attribute, to a manifest, and to the system around the\nsigner; what must be said, and what was said. Where it says two \
        things, the first is of signing and the second of verifying\nafterwards. `TREE_FAULTS=write cargo test -p \
        sealstone-tree faults` makes this table, as root. Swaps, kills and writes while a\nfile is read are in the tests \
        `races` and `last_look` of the same crate.\n\n| of | what was done | expected | found |\n|---|---|---|---|\n"
        .to_owned();
    let mut left_out = 0;
    for row in &rows {
        left_out += usize::from(row.found.is_none());
        let found = row.found.as_deref().unwrap_or(row.expected);
        page += &format!("| {} | {} | {} | {found} |\n", row.of, row.what, row.expected);
    }
    println!("{} faults, 0 wrong verdicts, {left_out} of them could not be made here", rows.len());
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tree-faults.md");
    if std::env::var_os("TREE_FAULTS").is_some_and(|mode| mode == "write") {
        assert_eq!(left_out, 0, "a page of what was not done");
        fs::write(&place, &page).unwrap();
    }
    assert_eq!(fs::read_to_string(&place).unwrap_or_default(), page, "docs/tree-faults.md is another");
}

fn of_a_file() -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("file");
    let key = signer(Level::MlDsa65, 1);
    let appraiser = trusting(&[&key]);
    let fresh = || {
        let _ = fs::remove_file(&at);
        fs::write(&at, CONTENT).unwrap();
        fs::write(at.with_extension("other"), "another").unwrap();
        let found = sign(&open(folder.path()), &key, user());
        assert_eq!(found[&b"file"[..]], "signed");
    };
    let mut rows = Vec::new();
    fresh();
    let mut value = vec![0; 8192];
    let len = rustix::fs::getxattr(&at, USER_IMA, &mut value[..]).unwrap();
    value.truncate(len);
    assert_ne!(KeyId::of(&value[3..7]).unwrap(), KeyId(0));
    for (what, expected, forge) in value::forgeries() {
        rustix::fs::setxattr(&at, USER_IMA, &forge(&value), rustix::fs::XattrFlags::empty()).unwrap();
        let found = verify(&open(folder.path()), &appraiser).remove(&b"file"[..]);
        rows.push(Row { of: "the value", what, expected, found });
    }
    for (what, expected, change) in file::changes() {
        fresh();
        change(&at);
        let found = verify(&open(folder.path()), &appraiser).remove(&b"file"[..]);
        rows.push(Row { of: "the file", what, expected, found });
    }
    rows
}
