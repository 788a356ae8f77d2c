//! What the running kernel will do with signed files: whether it can check ML-DSA, and whether a policy makes it refuse what it
//! cannot check.

use std::fs;
use std::path::Path;

use crate::error::Error;

/// Facts of a running kernel. What cannot be read is not known, and what is not known is not there.
///
/// ```
/// use sealstone_tree::Kernel;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let root = folder.path();
/// # for (path, text) in [
/// #     ("proc/sys/kernel/osrelease", "7.1.9\n"),
/// #     ("boot/config-7.1.9", "CONFIG_IMA_APPRAISE=y\n"),
/// #     ("sys/kernel/security/ima/policy", "appraise func=BPRM_CHECK appraise_type=imasig\n"),
/// # ] {
/// #     std::fs::create_dir_all(root.join(path).parent().ok_or("no folder")?)?;
/// #     std::fs::write(root.join(path), text)?;
/// # }
/// // A system with Linux 7.1 and a policy; `/` would be this one.
/// let kernel = Kernel::read(root);
/// assert_eq!(kernel.version, Some((7, 1)));
/// assert_eq!(kernel.active, ["policy: appraise func=BPRM_CHECK appraise_type=imasig"]);
///
/// // Whoever signs its programs with ML-DSA now cannot start them any more.
/// assert!(!kernel.checks_ml_dsa());
/// assert!(kernel.would_refuse_ml_dsa());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// As `uname -r` says.
    pub release: String,
    /// The kernel's version, from its release.
    pub version: Option<(u32, u32)>,
    /// Whether it was built with `CONFIG_CRYPTO_MLDSA`; `None` if nothing says so.
    pub ml_dsa: Option<bool>,
    /// Whether it was built with `CONFIG_IMA_APPRAISE`; `None` if nothing says so.
    pub appraise: Option<bool>,
    /// What makes it refuse files: the policy's lines, or words of its command line.
    pub active: Vec<String>,
    /// Whether there is a keyring `_ima` or `.ima`; `None` if the list cannot be read.
    pub keyring: Option<bool>,
}

impl Kernel {
    /// Reads what the system under `root` says: `/` for this machine.
    pub fn read(root: &Path) -> Self {
        let text =
            |path: &str| fs::read(root.join(path)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        let release = text("proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
        let config = text(&format!("boot/config-{release}"))
            .or_else(|_| text(&format!("lib/modules/{release}/config")))
            .or_else(|_| text(&format!("usr/lib/modules/{release}/config")))
            .ok();
        let says = |option: &str| {
            let config = config.as_deref()?;
            let set = |value: &str| config.lines().any(|line| line == format!("{option}={value}"));
            Some(set("y") || set("m"))
        };
        // An algorithm that is built in is listed; a module only once it is loaded.
        let listed = text("proc/crypto").is_ok_and(|list| list.contains("mldsa"));
        let mut active = Vec::new();
        if let Ok(policy) = text("sys/kernel/security/ima/policy") {
            let lines = policy.lines().map(str::trim).filter(|line| line.starts_with("appraise"));
            active.extend(lines.map(|line| format!("policy: {line}")));
        }
        let words = text("proc/cmdline").unwrap_or_default();
        let kernel_has_ima = root.join("sys/kernel/security/ima").exists();
        let enforcing = |word: &&str| {
            matches!(*word, "ima_appraise=enforce" | "ima_appraise_tcb" | "ima_appraise=log")
                || word.starts_with("ima_policy=")
                    && (word.contains("appraise_tcb") || word.contains("secure_boot"))
        };
        let asked: Vec<String> =
            words.split_whitespace().filter(enforcing).map(|word| format!("command line: {word}")).collect();
        // Without IMA these words mean nothing.
        if kernel_has_ima || says("CONFIG_IMA_APPRAISE") == Some(true) {
            active.extend(asked);
        }
        let keyring = text("proc/keys").ok();
        let keyring = keyring.map(|keys| {
            keys.lines().any(|line| {
                line.contains(" keyring ") && (line.contains(" _ima:") || line.contains(" .ima:"))
            })
        });
        Self {
            version: version(&release),
            ml_dsa: if listed { Some(true) } else { says("CONFIG_CRYPTO_MLDSA") },
            appraise: if kernel_has_ima { Some(true) } else { says("CONFIG_IMA_APPRAISE") },
            active,
            keyring,
            release,
        }
    }

    /// Whether it checks ML-DSA signatures of files: Linux 7.2 and later, with `CONFIG_CRYPTO_MLDSA`. What is not known is no.
    pub fn checks_ml_dsa(&self) -> bool {
        self.version.is_some_and(|version| version >= (7, 2)) && self.ml_dsa == Some(true)
    }

    /// Whether files signed with ML-DSA would not run any more: a policy is active, and the kernel cannot check them.
    pub fn would_refuse_ml_dsa(&self) -> bool {
        !self.active.is_empty() && !self.checks_ml_dsa()
    }

    pub(crate) fn takes_ml_dsa(&self) -> Result<(), Error> {
        match self.active.first() {
            Some(policy) if self.would_refuse_ml_dsa() => {
                Err(Error::KernelCannotCheck { release: self.release.clone(), policy: policy.clone() })
            }
            _ => Ok(()),
        }
    }
}

fn version(release: &str) -> Option<(u32, u32)> {
    let (major, rest) = release.split_once('.')?;
    let minor: String = rest.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, minor.parse().ok()?))
}
