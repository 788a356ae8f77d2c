//! The words of a manifest's lines. Each thing has one spelling.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Header, Line};
use crate::file_id::HashAlgorithm;
use crate::rules::Rules;

/// Lower-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: &u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if !text.len().is_multiple_of(2) {
        return None;
    }
    text.chunks(2).map(|pair| Some(digit(&pair[0])? << 4 | digit(&pair[1])?)).collect()
}

/// A number in decimal without zeros before it.
pub(super) fn number(text: &[u8]) -> Option<u64> {
    let number: u64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == text).then_some(number)
}

/// Bytes as RFC 3986 §2.1 has them: what is not a letter, digit or mark of ASCII becomes `%` and two digits.
pub(super) fn escaped(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for byte in bytes {
        match byte {
            b'!'..=b'~' if *byte != b'%' => text.push(char::from(*byte)),
            other => text += &format!("%{other:02x}"),
        }
    }
    text
}

pub(super) fn unescaped(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let (digits, after) = rest.split_at_checked(2)?;
        bytes.extend(unhex(digits)?);
        rest = after;
    }
    (escaped(&bytes).as_bytes() == text).then_some(bytes)
}

/// Reads a file's line. The error is what was expected.
pub(super) fn line(text: &[u8], hash: HashAlgorithm) -> Result<Line, &'static str> {
    let mut words = text.split(|byte| *byte == b' ');
    let mut word = || words.next().ok_or("digest, size, mode, attribute and path");
    let digest = unhex(word()?).filter(|digest| digest.len() == hash.digest_len()).ok_or("a digest")?;
    let size = number(word()?).ok_or("a size")?;
    let mode = word()?;
    let bits = std::str::from_utf8(mode).ok().and_then(|mode| u32::from_str_radix(mode, 8).ok());
    let mode =
        bits.filter(|bits| *bits <= 0o7777 && format!("{bits:04o}").as_bytes() == mode).ok_or("a mode")?;
    let attribute = match word()? {
        b"-" => None,
        value => Some(STANDARD.decode(value).map_err(|_| "an attribute in base64, or -")?),
    };
    let path = unescaped(word()?).filter(|path| is_inside(path)).ok_or("a path within the tree")?;
    if words.next().is_some() {
        return Err("nothing after the path");
    }
    Ok(Line { digest, size, mode, attribute, path })
}

/// Relative, and without a part that means another place.
fn is_inside(path: &[u8]) -> bool {
    !path.contains(&0) && path.split(|byte| *byte == b'/').all(|part| !matches!(part, b"" | b"." | b".."))
}

/// The lines of a header, each at most once where that makes sense, in their order.
#[derive(Default)]
pub(super) struct Fields {
    created: Option<i64>,
    label: Option<Vec<u8>>,
    hash: Option<HashAlgorithm>,
    key: Option<(String, [u8; 32])>,
    cross_mounts: bool,
    only_executable: bool,
    min_size: u64,
    exclude: Vec<String>,
    include: Vec<String>,
    /// Of the line before: the order is part of the format.
    rank: u8,
}

impl Fields {
    pub(super) fn take(&mut self, line: &[u8]) -> Result<(), &'static str> {
        let (word, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(at) => (&line[..at], Some(&line[at + 1..])),
            None => (line, None),
        };
        let pattern =
            |value| unescaped(value).and_then(|value| String::from_utf8(value).ok()).ok_or("a rule in UTF-8");
        let rank = match (word, value) {
            (b"created", Some(value)) => {
                let seconds = number(value).and_then(|seconds| i64::try_from(seconds).ok());
                self.created = Some(seconds.ok_or("seconds since 1970")?);
                1
            }
            (b"tree", Some(value)) => {
                self.label = Some(unescaped(value).ok_or("the name of the tree")?);
                2
            }
            (b"hash", Some(value)) => {
                let hash = HashAlgorithm::ALL.into_iter().find(|hash| hash.name().as_bytes() == value);
                self.hash = Some(hash.ok_or("the name of a hash function")?);
                3
            }
            (b"key", Some(value)) => {
                let expected = "an algorithm, and the SHA-256 of its key";
                let text = std::str::from_utf8(value).map_err(|_| expected)?;
                let (algorithm, digits) = text.split_once(' ').ok_or(expected)?;
                let fingerprint = unhex(digits.as_bytes()).and_then(|bytes| bytes.try_into().ok());
                self.key = Some((algorithm.to_owned(), fingerprint.ok_or(expected)?));
                4
            }
            (b"cross-mounts", None) => {
                self.cross_mounts = true;
                5
            }
            (b"only-executable", None) => {
                self.only_executable = true;
                6
            }
            (b"min-size", Some(value)) => {
                self.min_size = number(value).filter(|size| *size > 0).ok_or("a size")?;
                7
            }
            (b"exclude", Some(value)) => {
                self.exclude.push(pattern(value)?);
                8
            }
            (b"include", Some(value)) => {
                self.include.push(pattern(value)?);
                9
            }
            _ => return Err("a line of the header, or files"),
        };
        // Rules may come many times, everything else once.
        if rank < self.rank || rank == self.rank && rank < 8 {
            return Err("the lines of the header in their order");
        }
        self.rank = rank;
        Ok(())
    }

    pub(super) fn header(self) -> Result<Header, &'static str> {
        let mut rules = Rules::new(self.exclude, self.include).map_err(|_| "rules as .gitignore has them")?;
        rules.only_executable = self.only_executable;
        rules.min_size = self.min_size;
        Ok(Header {
            created: self.created.ok_or("created")?,
            label: self.label.ok_or("tree")?,
            hash: self.hash.ok_or("hash")?,
            key: self.key,
            rules,
            cross_mounts: self.cross_mounts,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_has_one_spelling() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(unescaped(escaped(&all).as_bytes()).unwrap(), all);
        for other in ["%41", "a b", "%0A", "%", "%0", "\u{e9}"] {
            assert_eq!(unescaped(other.as_bytes()), None, "{other}");
        }
    }

    #[test]
    fn a_path_stays_in_the_tree() {
        for path in ["..", "a/..", "../a", "/a", "a//b", "a/", ".", "a/./b", "a%00b", ""] {
            let digest = "00".repeat(32);
            let text = format!("{digest} 1 0644 - {path}");
            assert_eq!(line(text.as_bytes(), HashAlgorithm::Sha256), Err("a path within the tree"), "{path}");
        }
    }
}
