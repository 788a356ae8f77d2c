//! OpenSSL as a second hand on ML-DSA: it verifies what we sign, and we verify what it signs, over the 34 bytes of a SHA-256 and the
//! 66 of a SHA-512 digest, which are put together here by hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::XattrFlags;
use sealstone_mldsa::Level;
use sealstone_pki::{Certificate, pkcs8};
use sealstone_tree::{HashAlgorithm, KeyId, Signer, USER_IMA};

use crate::oracle::{now, trusting};
use crate::world::{digest, open, sign, user, verify};

/// OpenSSL from 3.5 on: `$SEALSTONE_OPENSSL`, the one that `./dev interop` builds, or the system's.
fn openssl() -> Option<PathBuf> {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/openssl/target/apps/openssl");
    let named = std::env::var_os("SEALSTONE_OPENSSL").map(PathBuf::from);
    let found = named.into_iter().chain([built, "openssl".into()]).find(|openssl| {
        let listed = Command::new(openssl).args(["list", "-signature-algorithms"]).output();
        listed.is_ok_and(|listed| String::from_utf8_lossy(&listed.stdout).contains("ML-DSA-65"))
    });
    if found.is_none() {
        eprintln!("skipped: no OpenSSL here knows ML-DSA: `./dev interop --require-all` builds one");
    }
    found
}

struct Folder<'a> {
    openssl: &'a Path,
    folder: tempfile::TempDir,
}

impl Folder<'_> {
    fn at(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn put(&self, name: &str, bytes: &[u8]) -> String {
        fs::write(self.at(name), bytes).unwrap();
        self.at(name)
    }

    fn run(&self, arguments: &[&str]) -> bool {
        // Without the system's configuration, which is another version's.
        let nothing = self.put("openssl.cnf", b"");
        let done = Command::new(self.openssl).args(arguments).env("OPENSSL_CONF", nothing).output();
        done.unwrap().status.success()
    }

    fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let (message, signature) = (self.put("message", message), self.put("signature", signature));
        let key = self.at("public.pem");
        let given = ["-pubin", "-inkey", &key, "-in", &message, "-sigfile", &signature];
        self.run(&[&["pkeyutl", "-verify", "-rawin"], &given[..]].concat())
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        let (message, key, signature) =
            (self.put("message", message), self.at("key.pem"), self.at("signature"));
        assert!(
            self.run(&["pkeyutl", "-sign", "-rawin", "-inkey", &key, "-in", &message, "-out", &signature])
        );
        fs::read(signature).unwrap()
    }
}

#[test]
fn openssl_and_we_read_each_other_at_three_levels() {
    let Some(openssl) = openssl() else { return };
    // On any file system: what ext4 cannot hold is not the question here.
    let place = ["/dev/shm", "/tmp"].map(Path::new).into_iter().find(|at| holds(at, 4636));
    let Some(place) = place else {
        eprintln!("skipped: nothing here holds attributes of 4636 bytes");
        return;
    };
    for level in Level::ALL {
        let keys = Folder { openssl: &openssl, folder: tempfile::tempdir().unwrap() };
        let (key, cert, public) = (keys.at("key.pem"), keys.at("cert.pem"), keys.at("public.pem"));
        assert!(keys.run(&["genpkey", "-algorithm", level.name(), "-out", &key]));
        let subject = ["-subj", "/CN=files", "-days", "2", "-addext", "keyUsage=digitalSignature"];
        let identifier = ["-addext", "subjectKeyIdentifier=hash", "-out", &cert];
        assert!(keys.run(&[&["req", "-x509", "-key", &key], &subject[..], &identifier].concat()));
        assert!(keys.run(&["pkey", "-in", &key, "-pubout", "-out", &public]));
        let certificate = Certificate::from_pem(&fs::read_to_string(&cert).unwrap()).unwrap();
        let key_id = KeyId::of(certificate.subject_key_id().unwrap()).unwrap();

        for (hash, tool) in [(HashAlgorithm::Sha256, "sha256sum"), (HashAlgorithm::Sha512, "sha512sum")] {
            let info = pkcs8::from_pem(&fs::read_to_string(&key).unwrap()).unwrap();
            let mut ours = Signer::new(&info, Some(&certificate), now()).unwrap();
            ours.set_hash(hash).unwrap();
            let tree = tempfile::tempdir_in(place).unwrap();
            let file = tree.path().join("file");
            fs::write(&file, "content").unwrap();
            let id = |kind: u8| [&[kind, hash.number()][..], &digest(tool, b"content")].concat();
            let message = id(3);
            assert_eq!(message.len(), 2 + hash.digest_len());

            // Ours, by theirs.
            assert_eq!(sign(&open(tree.path()), &ours, user())[&b"file"[..]], "signed");
            let mut value = vec![0; 8192];
            let len = rustix::fs::getxattr(&file, USER_IMA, &mut value[..]).unwrap();
            let signature = &value[9..len];
            assert_eq!(signature.len(), level.signature_len());
            assert!(keys.verifies(&message, signature), "OpenSSL refuses ours, {level}, {hash}");
            assert!(!keys.verifies(&id(6), signature), "OpenSSL takes everything");
            let mut changed = signature.to_vec();
            changed[100] ^= 1;
            assert!(!keys.verifies(&message, &changed), "OpenSSL takes everything");

            // Theirs, by ours.
            let header = [&[3, 3, hash.number()][..], &key_id.0.to_be_bytes()].concat();
            let verdict = |signature: &[u8]| {
                let len = (signature.len() as u16).to_be_bytes();
                let value = [&header[..], &len, signature].concat();
                rustix::fs::setxattr(&file, USER_IMA, &value, XattrFlags::empty()).unwrap();
                verify(&open(tree.path()), &trusting(&certificate))[&b"file"[..]].clone()
            };
            let theirs = keys.sign(&message);
            assert_eq!(verdict(&theirs), "good", "we refuse OpenSSL's, {level}, {hash}");
            assert_eq!(verdict(&keys.sign(&id(6))), "does-not-verify");
            assert_eq!(verdict(&keys.sign(&digest(tool, b"content"))), "does-not-verify");
            assert_eq!(verdict(&theirs), "good");
            fs::write(&file, "changed").unwrap();
            let found = verify(&open(tree.path()), &trusting(&certificate));
            assert_eq!(found[&b"file"[..]], "does-not-verify");
        }
    }
}

fn holds(at: &Path, bytes: usize) -> bool {
    let Ok(file) = tempfile::NamedTempFile::new_in(at) else { return false };
    rustix::fs::setxattr(file.path(), USER_IMA, &vec![0; bytes], XattrFlags::empty()).is_ok()
}
