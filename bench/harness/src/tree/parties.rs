//! Who signs and verifies trees, and with which words.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::run::{Taken, output, timed};

/// Bytes of file names that one command is given: half of what Linux takes.
const WORDS: usize = 1 << 20;

/// A way to sign a tree and to verify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Party {
    /// `sealstone tree` with one job, and one of [`KEYS`].
    Ours(&'static str),
    /// ima-evm-utils with P-384, as Debian has it.
    Evmctl,
    /// One process that calls OpenSSL for ML-DSA-65 and nothing else.
    OpenSsl,
    /// A process of OpenSSL's command for each file.
    OpenSslCommand,
}

/// Keys of ours, by the names that rows have.
pub(crate) const KEYS: [(&str, &str); 4] =
    [("44", "ML-DSA-44"), ("65", "ML-DSA-65"), ("87", "ML-DSA-87"), ("p384", "P-384")];

impl Party {
    pub(crate) fn name(self) -> String {
        match self {
            Self::Ours(key) => format!("sealstone-{key}"),
            Self::Evmctl => "evmctl".to_owned(),
            Self::OpenSsl => "openssl".to_owned(),
            Self::OpenSslCommand => "openssl-command".to_owned(),
        }
    }
}

/// Programs and keys.
pub(crate) struct Hands {
    sealstone: PathBuf,
    openssl_tree: PathBuf,
    openssl: PathBuf,
    folder: PathBuf,
    /// How signatures name the ML-DSA-65 key.
    key_id: String,
}

impl Hands {
    /// Makes keys in a folder. Programs must be there: `./dev bench tree` builds them.
    pub(crate) fn new(root: &Path, folder: &Path) -> Result<Self, String> {
        let mut hands = Self {
            sealstone: root.join("target/release/sealstone"),
            openssl_tree: root.join("bench/tree/peers/openssl/target/tree"),
            openssl: root.join("interop/openssl/target/apps/openssl"),
            folder: folder.to_owned(),
            key_id: String::new(),
        };
        let settings = folder.join("openssl.cnf");
        fs::write(&settings, "[req]\ndistinguished_name = name\n[name]\n")
            .map_err(|why| format!("{}: {why}", settings.display()))?;
        for (key, algorithm) in KEYS {
            let (private, public) = (hands.private(key), hands.public(key));
            let mut make = hands.openssl();
            match algorithm.strip_prefix("P-") {
                Some(_) => {
                    make.args(["genpkey", "-algorithm", "EC", "-pkeyopt"]).arg(format!("group:{algorithm}"))
                }
                None => make.args(["genpkey", "-algorithm", algorithm]),
            };
            output(make.arg("-out").arg(&private))?;
            let only_owner = std::os::unix::fs::PermissionsExt::from_mode(0o600);
            fs::set_permissions(&private, only_owner)
                .map_err(|why| format!("{}: {why}", private.display()))?;
            output(hands.openssl().args(["pkey", "-pubout", "-in"]).arg(&private).arg("-out").arg(&public))?;
        }
        // evmctl takes the public half from a certificate alone.
        let mut certificate = hands.openssl();
        certificate.args(["req", "-x509", "-new", "-subj", "/CN=tree", "-days", "2", "-outform", "DER"]);
        certificate.args(["-addext", "subjectKeyIdentifier=hash", "-key"]).arg(hands.private("p384"));
        output(certificate.arg("-out").arg(hands.certificate()))?;
        let probe = folder.join("probe");
        fs::create_dir_all(&probe).map_err(|why| format!("{}: {why}", probe.display()))?;
        let mut dry = hands.ours("sign", "65", 1, &probe);
        let said = output(dry.args(["--dry-run", "--json", "--store", "user-xattr"]))?;
        let last = said.lines().last().and_then(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let key_id = last.as_ref().and_then(|last| last["summary"]["key_id"].as_str());
        let key_id = key_id.ok_or("sealstone does not name its key")?;
        hands.key_id = key_id.trim_start_matches("id:").to_owned();
        Ok(hands)
    }

    /// The programs' own names and versions; those that are missing are not there.
    pub(crate) fn versions(&self) -> Vec<(&'static str, String)> {
        let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
        let said = |command: &mut Command| output(command).map(first).ok();
        let mut versions = vec![("sealstone", said(Command::new(&self.sealstone).arg("--version")))];
        versions.push(("evmctl", said(Command::new("evmctl").arg("--version"))));
        versions.push(("openssl", said(self.openssl().arg("version"))));
        versions.into_iter().filter_map(|(name, version)| Some((name, version?))).collect()
    }

    /// Whether a party's program is there.
    pub(crate) fn has(&self, party: Party) -> bool {
        match party {
            Party::Ours(_) => self.sealstone.exists(),
            Party::Evmctl => output(Command::new("evmctl").arg("--version")).is_ok(),
            Party::OpenSsl => self.openssl_tree.exists(),
            Party::OpenSslCommand => self.openssl.exists(),
        }
    }

    fn private(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.key"))
    }

    fn public(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{key}.pub"))
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("p384.der")
    }

    /// OpenSSL's command, which has no settings of the machine.
    pub(crate) fn openssl(&self) -> Command {
        let mut command = Command::new(&self.openssl);
        command.env("OPENSSL_CONF", self.folder.join("openssl.cnf"));
        command
    }

    /// `sealstone tree sign` or `verify`, without the store.
    pub(crate) fn ours(&self, what: &str, key: &str, jobs: usize, tree: &Path) -> Command {
        let mut command = Command::new(&self.sealstone);
        command.args(["tree", what, "--jobs", &jobs.to_string(), "--key"]);
        command.arg(if what == "sign" { self.private(key) } else { self.public(key) }).arg(tree);
        command
    }

    /// Signs all files of a tree. `files` are its files for those who take no tree.
    pub(crate) fn sign(&self, party: Party, tree: &Path, files: &[PathBuf]) -> Result<Taken, String> {
        match party {
            Party::Ours(key) => timed(self.ours("sign", key, 1, tree).args(["--store", "xattr"])),
            // With a relative path of the key it would sign nothing, and say that all is well.
            Party::Evmctl => timed(
                Command::new("evmctl")
                    .args(["ima_sign", "-a", "sha256", "-r", "--key"])
                    .arg(self.private("p384"))
                    .arg(tree),
            ),
            Party::OpenSsl => timed(&mut self.openssl_tree("sign", &self.private("65"), tree)),
            Party::OpenSslCommand => self.each(files, "sign"),
        }
    }

    /// Verifies all files of a tree that the same party signed.
    pub(crate) fn verify(&self, party: Party, tree: &Path, files: &[PathBuf]) -> Result<Taken, String> {
        match party {
            Party::Ours(key) => timed(&mut self.ours("verify", key, 1, tree)),
            Party::Evmctl => self.evmctl_verify(files),
            Party::OpenSsl => timed(&mut self.openssl_tree("verify", &self.public("65"), tree)),
            Party::OpenSslCommand => self.each(files, "verify"),
        }
    }

    /// Reads what another party wrote.
    pub(crate) fn check(&self, party: Party, tree: &Path) -> Result<(), String> {
        let key = match party {
            Party::Evmctl => "p384",
            Party::OpenSsl => "65",
            Party::Ours(_) | Party::OpenSslCommand => return Ok(()),
        };
        timed(&mut self.ours("verify", key, 1, tree)).map(drop)
    }

    fn openssl_tree(&self, what: &str, key: &Path, tree: &Path) -> Command {
        let mut command = Command::new(&self.openssl_tree);
        command.arg(what).arg(key).arg(&self.key_id).arg(tree);
        command
    }

    /// It takes files, as many as a command line holds.
    fn evmctl_verify(&self, files: &[PathBuf]) -> Result<Taken, String> {
        let mut taken = Taken::default();
        let mut rest = files;
        while !rest.is_empty() {
            let mut words = 0;
            let fits = rest.iter().take_while(|file| {
                words += file.as_os_str().len() + 9;
                words < WORDS
            });
            let count = fits.count().max(1);
            let mut command = Command::new("evmctl");
            command.args(["ima_verify", "-k"]).arg(self.certificate()).args(&rest[..count]);
            taken = taken.plus(timed(&mut command)?);
            rest = &rest[count..];
        }
        Ok(taken)
    }

    /// Two processes for a file: its digest, and the signature over 34 bytes. Writing those is not timed, and the attribute is not
    /// written.
    fn each(&self, files: &[PathBuf], what: &str) -> Result<Taken, String> {
        let (id, signature) = (self.folder.join("id"), self.folder.join("signature"));
        let mut taken = Taken::default();
        for file in files {
            let digest = self.folder.join("digest");
            let mut hash = self.openssl();
            hash.args(["dgst", "-sha256", "-binary", "-out"]).arg(&digest).arg(file);
            taken = taken.plus(timed(&mut hash)?);
            let digest = fs::read(&digest).map_err(|why| format!("{}: {why}", digest.display()))?;
            fs::write(&id, [&[3, 4], &digest[..]].concat())
                .map_err(|why| format!("{}: {why}", id.display()))?;
            let mut sign = self.pkeyutl(&id);
            sign.args(["-sign", "-inkey"]).arg(self.private("65")).arg("-out").arg(&signature);
            let signed = timed(&mut sign)?;
            if what == "sign" {
                taken = taken.plus(signed);
                continue;
            }
            let mut verify = self.pkeyutl(&id);
            verify
                .args(["-verify", "-pubin", "-inkey"])
                .arg(self.public("65"))
                .arg("-sigfile")
                .arg(&signature);
            taken = taken.plus(timed(&mut verify)?);
        }
        Ok(taken)
    }

    fn pkeyutl(&self, input: &Path) -> Command {
        let mut command = self.openssl();
        command.args(["pkeyutl", "-rawin", "-in"]).arg(input);
        command
    }
}
