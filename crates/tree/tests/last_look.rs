//! The last look: a file that is written after its digest was taken and before its attribute is written gets a signature of what
//! it is, or none. inotify tells the writer where the signer is. An attempt whose write came too late proves nothing and is made
//! again; on an idle machine the first attempts do.

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, Reader, WatchFlags};
use sealstone_mldsa::{Level, any};
use sealstone_tree::{Appraiser, Key, Manifest, Rules, SignOptions, Tree, USER_IMA};

use crate::trees::{apply, by_manifest, manifest, stored};
use crate::world::{open, sign, signer, trusting, user, verify};

/// Attempts until one came in time.
const ATTEMPTS: usize = 300;

/// What happens to a file, seen from outside.
struct Watch(std::os::fd::OwnedFd);

impl Watch {
    fn of(path: &Path, events: WatchFlags) -> Self {
        let fd = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&fd, path, events).unwrap();
        Self(fd)
    }

    /// Whether something has happened since the last time this was asked.
    fn saw(&self) -> bool {
        let mut buffer = [MaybeUninit::uninit(); 1024];
        let mut events = Reader::new(&self.0, &mut buffer);
        std::iter::from_fn(|| events.next().ok().map(drop)).count() > 0
    }

    /// Until something happens, or nothing will any more.
    fn wait(&self, over: &AtomicBool) -> bool {
        while !self.saw() {
            if over.load(Ordering::Relaxed) {
                return false;
            }
            std::hint::spin_loop();
        }
        true
    }
}

/// One byte in place: nothing but the times tells.
fn rewrite(path: &Path, byte: u8) {
    fs::File::options().write(true).open(path).unwrap().write_at(&[byte], 0).unwrap();
}

/// What came of each attempt in time, `Some` of whether it ended well: more must than must not. Between the last look and the
/// attribute lie two system calls, and a write that falls between them is noticed by nobody.
fn mostly(attempt: impl FnMut(usize) -> Option<bool>) {
    let ended: Vec<bool> = (0..ATTEMPTS).filter_map(attempt).take(5).collect();
    let well = ended.iter().filter(|well| **well).count();
    assert!(!ended.is_empty(), "the writer always came too late");
    assert!(2 * well > ended.len(), "{well} of {} writes in time were noticed", ended.len());
}

/// A tree of two files, of which `a` is read first, then `b`, and only then is anything written; how it was signed, and what the
/// writer said.
fn signed_beside<T: Send>(
    tree: &Path,
    large: u64,
    write: impl FnOnce(&Path, &Path, &AtomicBool) -> T + Send,
) -> (String, T) {
    let (a, b) = (tree.join("a"), tree.join("b"));
    fs::write(&a, "first").unwrap();
    fs::File::create(&b).unwrap().set_len(large).unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| write(&a, &b, &over));
        let tree = Tree::open(tree, Rules::default(), false, 1).unwrap();
        let found = sign(&tree, &signer(Level::MlDsa65, 1), user());
        over.store(true, Ordering::Relaxed);
        (found[&b"a"[..]].clone(), writer.join().unwrap())
    })
}

/// While `b` is read, `a` changes: it is read again, and its signature is of what it is.
#[test]
fn a_file_that_changes_behind_its_digest_is_signed_as_it_is() {
    let appraiser = trusting(&[&signer(Level::MlDsa65, 1)]);
    mostly(|_| {
        let tree = tempfile::tempdir().unwrap();
        let (word, in_time) = signed_beside(tree.path(), 64 << 20, |a, b, over| {
            let (read, signed) = (Watch::of(b, WatchFlags::ACCESS), Watch::of(a, WatchFlags::ATTRIB));
            let seen = read.wait(over);
            rewrite(a, b'F');
            seen && !signed.saw()
        });
        assert_eq!(word, "signed");
        // A signature of what the file was does not verify.
        in_time.then(|| verify(&open(tree.path()), &appraiser)[&b"a"[..]] == "good")
    });
}

/// A file that changes while it is read for a list is read once more: the list is of what it is.
#[test]
fn a_file_that_changes_while_it_is_listed_is_listed_as_it_is() {
    let (tree, key) = (tempfile::tempdir().unwrap(), signer(Level::MlDsa44, 1));
    let at = tree.path().join("file");
    mostly(|attempt| {
        fs::File::create(&at).unwrap().set_len(64 << 20).unwrap();
        let over = AtomicBool::new(false);
        let read = Watch::of(&at, WatchFlags::ACCESS);
        let (text, in_time) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let seen = read.wait(&over);
                // Its first bytes are read by now, and the last are not.
                rewrite(&at, attempt as u8 | 1);
                seen && !over.load(Ordering::Relaxed)
            });
            let text = manifest(tree.path(), Rules::default(), Some(&key), SignOptions::default(), &key);
            over.store(true, Ordering::Relaxed);
            (text, writer.join().unwrap())
        });
        in_time.then(|| by_manifest(tree.path(), &text, &[&key]).unwrap()[&b"file"[..]] == "good")
    });
}

/// And while it is signed for the second time, it changes again: then it is left unsigned.
#[test]
fn a_file_that_goes_on_changing_is_not_signed() {
    let noticed = (0..ATTEMPTS).any(|_| {
        let tree = tempfile::tempdir().unwrap();
        let (word, ()) = signed_beside(tree.path(), 16 << 20, |a, b, over| {
            let (read, again) = (Watch::of(b, WatchFlags::ACCESS), Watch::of(a, WatchFlags::ACCESS));
            read.wait(over);
            again.saw();
            rewrite(a, b'F');
            if again.wait(over) {
                rewrite(a, b'G');
            }
        });
        assert!(word == "signed" || word == "changed", "{word}");
        word == "changed" && verify(&open(tree.path()), &trusting(&[]))[&b"a"[..]] == "unsigned"
    });
    assert!(noticed, "nothing saw the second change");
}

/// A file that changes between the digest and the attribute that is copied to it does not get that attribute.
#[test]
fn a_file_that_changes_behind_its_digest_is_given_no_signature() {
    let (folder, key) = (tempfile::tempdir().unwrap(), signer(Level::MlDsa65, 1));
    let a = folder.path().join("a");
    fs::write(&a, "first").unwrap();
    let keep = SignOptions { keep_signatures: true, ..SignOptions::default() };
    let text = manifest(folder.path(), Rules::default(), None, keep, &key);
    // Many keys of one id, each of which is tried before the right one: time to write in.
    let mut appraiser = Appraiser::new();
    for number in 0..100 {
        let other = any::SigningKey::from_seed(Level::MlDsa65, &[100 + number; 32]);
        appraiser.trust(key.public().key_id, Key::MlDsa(other.verifying_key().expand()));
    }
    key.public().trusted_by(&mut appraiser).unwrap();
    mostly(|_| {
        let _ = rustix::fs::removexattr(&a, USER_IMA);
        rewrite(&a, b'f');
        let over = AtomicBool::new(false);
        let (read, written) = (Watch::of(&a, WatchFlags::ACCESS), Watch::of(&a, WatchFlags::ATTRIB));
        let (word, in_time) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let seen = read.wait(&over);
                std::thread::sleep(Duration::from_millis(1));
                rewrite(&a, b'F');
                seen && !written.saw()
            });
            let manifest = Manifest::unverified(stored(&text)).unwrap();
            let word = apply(folder.path(), manifest, &appraiser)[&b"a"[..]].clone();
            over.store(true, Ordering::Relaxed);
            (word, writer.join().unwrap())
        });
        let unsigned = || verify(&open(folder.path()), &appraiser)[&b"a"[..]] == "unsigned";
        in_time.then(|| word == "does-not-verify" && unsigned())
    });
}
