//! What to do about a refusal, and a verdict's name in one word for other programs.

use crate::error::Error;
use crate::file_system::FileSystem;

impl Error {
    /// What can be done, where that is known.
    ///
    /// ```
    /// use sealstone_tree::Error;
    ///
    /// let refused = Error::NotPermitted { name: "security.ima".into() };
    /// assert_eq!(refused.code(), "not-permitted");
    /// assert!(refused.remedy().is_some_and(|remedy| remedy.contains("needs root")));
    ///
    /// // A file that is not what was signed has no remedy.
    /// assert_eq!(Error::BadSignature.remedy(), None);
    /// ```
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::Changed => "sign a tree that nobody writes to, or sign the file again later",
            Self::Certificate { .. } => {
                "issue one with a subject key identifier and keyUsage digitalSignature, for this key"
            }
            Self::DiskFull | Self::Quota => {
                "make room: `sealstone tree sign --dry-run` says how much is needed"
            }
            Self::Immutable => "lsattr shows it, chattr -i takes it away",
            Self::KernelCannotCheck { .. } => {
                "Linux 7.2 with CONFIG_CRYPTO_MLDSA checks it; --i-have-tested signs for another machine"
            }
            Self::ManifestUnsigned => "`sealstone tree apply --cert` checks each signature in it by itself",
            Self::NoAttributes { .. } => "--store manifest keeps the signatures beside the tree",
            Self::NoRoom { .. } => {
                "make room, take a smaller level, or --store manifest; nothing was written"
            }
            Self::NoVerity => {
                "`fsverity enable` enables it where the file system can; --digest future-verity signs what that will be, by blocks of 4 KiB without salt"
            }
            Self::NotPermitted { name } if name.starts_with("security.") => {
                "security.ima needs root (CAP_SYS_ADMIN); --store user-xattr or --store manifest needs nothing"
            }
            Self::NotPermitted { .. } => {
                "it takes leave to write the file itself: its owner can give that with chmod u+w"
            }
            Self::Occupied | Self::OtherKey { .. } => "--replace overwrites it",
            Self::ReadOnly => {
                "mount it for writing, or sign the tree before its image is made; --store manifest needs no writing"
            }
            Self::RefusedByKernel => {
                "the policy limits hash functions (appraise_algos), or the kernel knows another format: see `sealstone tree doctor`"
            }
            Self::TooLarge { file_system: FileSystem::Ext4, bytes, .. } if *bytes <= 4040 => {
                "blocks of 1 KiB hold 968 bytes, and other attributes share a block of 4 KiB: make it with mke2fs -b 4096, or with -O ea_inode (tune2fs -O ea_inode, unmounted)"
            }
            Self::TooLarge { file_system: FileSystem::Ext4, .. } => {
                "sign with ML-DSA-65, or make it with mke2fs -O ea_inode (tune2fs -O ea_inode, unmounted); old kernels and boot loaders may not read that"
            }
            Self::TooLarge { file_system: FileSystem::Btrfs, .. } => {
                "nodes of 4 KiB hold 3928 bytes: make it with mkfs.btrfs -n 16384, or sign with ML-DSA-65"
            }
            Self::TooLarge { file_system: FileSystem::F2fs, .. } => {
                "sign with ML-DSA-65, or --store manifest"
            }
            Self::TooLarge { .. } => "a smaller level, or --store manifest",
            Self::Unsigned => "`sealstone tree sign` signs it",
            Self::VerityHash { .. } => {
                "fs-verity has sha256 and sha512: --hash takes the one that it was enabled with"
            }
            Self::UnknownKey { .. } => "give the certificate of that key too with --cert",
            _ => return None,
        })
    }

    /// The verdict of a verification, or the reason of a failure: one word of a fixed list, for programs.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::BadSignature => "does-not-verify",
            Self::Certificate { .. } | Self::Key { .. } | Self::KeyIdentifier { .. } => "key",
            Self::Changed => "changed",
            Self::ClassicalRules | Self::ClassicalUnsupported { .. } => "classical-not-checked",
            Self::DigestDiffers => "content-differs",
            Self::DigestLength { .. }
            | Self::Hash { .. }
            | Self::HashDiffers { .. }
            | Self::Kind { .. }
            | Self::NotSigned { .. }
            | Self::SignatureLength { .. }
            | Self::Truncated { .. } => "malformed",
            Self::DiskFull => "disk-full",
            Self::Engine(_) => "engine",
            Self::Immutable => "immutable",
            Self::KernelCannotCheck { .. } => "kernel-cannot-check",
            Self::Manifest { .. } | Self::ManifestSignature | Self::ManifestUnsigned | Self::Rule { .. } => {
                "manifest"
            }
            Self::Missing => "missing",
            Self::ModeDiffers { .. } => "mode-differs",
            Self::NoAttributes { .. } => "no-attributes",
            Self::NoRoom { .. } => "no-room",
            Self::NoVerity => "no-verity",
            Self::NotPermitted { .. } => "not-permitted",
            Self::NotRegular => "not-regular",
            Self::Occupied => "occupied",
            Self::OtherKey { .. } => "other-key",
            Self::Quota => "quota",
            Self::ReadOnly => "read-only",
            Self::RefusedByKernel => "refused-by-kernel",
            Self::System { .. } => "unreadable",
            Self::TooLarge { .. } => "too-large",
            Self::UnknownKey { .. } => "unknown-key",
            Self::Unlisted => "unlisted",
            Self::Unsigned => "unsigned",
            Self::VerityHash { .. } => "verity-hash",
            Self::Version { .. } => "unsupported-version",
        }
    }
}

/// The system's words for an error, in lower case and without its number.
pub(crate) fn words(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => format!("{}{}", first.to_ascii_lowercase(), letters.as_str()),
        None => format!("error {errno}"),
    }
}
