//! Who somebody is in a Kerberos realm, RFC 4120 §6.

use std::fmt;

/// A principal and its realm, as in `host/ci.example.org@EXAMPLE.ORG`.
///
/// Compared part by part and letter for letter: nothing stands for something else, and `a/b` as one part is not `a` and
/// `b`. The type of a name is a hint and no part of it (RFC 4120 §6.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    components: Vec<String>,
    realm: String,
}

impl Principal {
    /// Reads `part/part@REALM`, each part and the realm not empty.
    /// Errors: what is wrong with it, to follow "the principal".
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        const FORM: &str = "is not of the form host/ci.example.org@EXAMPLE.ORG";
        if text.len() > 512 || !text.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\') {
            return Err("is not 1 to 512 printable ASCII characters without spaces and backslashes");
        }
        if text.contains('*') {
            return Err("has a wildcard, which matches nothing here");
        }
        let (name, realm) = text.split_once('@').ok_or(FORM)?;
        let components: Vec<String> = name.split('/').map(str::to_owned).collect();
        if components.iter().any(String::is_empty) || realm.is_empty() || realm.contains(['@', '/']) {
            return Err(FORM);
        }
        Ok(Self { components, realm: realm.to_owned() })
    }

    /// From what a message says, whatever letters it has.
    #[cfg(feature = "kerberos")]
    pub(crate) fn from_parts(components: Vec<String>, realm: String) -> Self {
        Self { components, realm }
    }

    /// The realm.
    pub fn realm(&self) -> &str {
        &self.realm
    }
}

impl fmt::Display for Principal {
    /// RFC 1964 §2.1.1: what separates is escaped where it is a letter, and what cannot be printed too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let written = |f: &mut fmt::Formatter<'_>, part: &str| {
            part.chars().try_for_each(|letter| match letter {
                '/' | '@' | '\\' => write!(f, "\\{letter}"),
                letter => write!(f, "{}", letter.escape_debug()),
            })
        };
        for (index, component) in self.components.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { "/" })?;
            written(f, component)?;
        }
        f.write_str("@")?;
        written(f, &self.realm)
    }
}
