//! An attribute as file systems store it: what is left of its name, and the form of its value.

/// An attribute of a file, as far as its place matters.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Attribute {
    /// With its prefix, such as `security.ima`.
    pub name: Vec<u8>,
    /// Bytes of the value, as getxattr gives them.
    pub len: usize,
    /// The same for equal values. `None` for a value that no other file has, as a signature is.
    pub content: Option<u64>,
}

/// Names by which ext4, XFS and f2fs store access control lists in a form of their own.
const ACL: [&[u8]; 2] = [b"system.posix_acl_access", b"system.posix_acl_default"];

impl Attribute {
    /// One whose value no other file has.
    pub fn unique(name: &str, len: usize) -> Self {
        Self { name: name.as_bytes().to_vec(), len, content: None }
    }

    /// One whose value all files share that have one of this length.
    pub fn shared(name: &str, len: usize) -> Self {
        Self { name: name.as_bytes().to_vec(), len, content: Some(len as u64) }
    }

    pub(super) fn is_acl(&self) -> bool {
        ACL.contains(&&self.name[..])
    }

    /// The name behind its prefix, which ext4, XFS and f2fs keep as a number.
    pub(super) fn suffix(&self) -> &[u8] {
        let prefixes: [&[u8]; 4] = [b"user.", b"trusted.", b"security.", b"system."];
        prefixes.iter().find_map(|prefix| self.name.strip_prefix(*prefix)).unwrap_or(&self.name)
    }

    /// Entries of an access control list: four bytes of version, and eight for each.
    pub(super) fn acl_entries(&self) -> usize {
        self.len.saturating_sub(4) / 8
    }

    /// Bytes of name and value as ext4 and f2fs store them. Of a list the name is a number alone, and entries that name
    /// nobody have 4 bytes, others 8 (fs/ext4/acl.h): four of the entries name nobody where there are more than three.
    pub(super) fn stored(&self) -> (u64, u64) {
        if !self.is_acl() {
            return (self.suffix().len() as u64, self.len as u64);
        }
        let entries = self.acl_entries();
        (0, (4 + entries.min(4) * 4 + entries.saturating_sub(4) * 8) as u64)
    }
}
