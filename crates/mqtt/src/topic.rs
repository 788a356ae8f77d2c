//! Topic names and filters (MQTT 5.0, 4.7; the same in MQTT 3.1.1).

use crate::error::Error;
use core::fmt;

/// Longest topic name or filter, in bytes (MQTT 5.0, 1.5.4).
const TOPIC_MAX: usize = 65_535;

/// A topic name: 1 to 65535 bytes of UTF-8 without U+0000 and without wildcards (MQTT 5.0, 4.7.1 and 4.7.3).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Topic<'a>(&'a str);

impl<'a> Topic<'a> {
    /// Takes a topic name. Errors: `BadTopic`.
    pub fn new(name: &'a str) -> Result<Self, Error> {
        let whole = (1..=TOPIC_MAX).contains(&name.len());
        if !whole || name.bytes().any(|b| matches!(b, 0 | b'+' | b'#')) {
            return Err(Error::BadTopic);
        }
        Ok(Topic(name))
    }

    /// The same, from bytes. Errors: `BadTopic`.
    pub fn from_bytes(name: &'a [u8]) -> Result<Self, Error> {
        core::str::from_utf8(name).map_err(|_| Error::BadTopic).and_then(Self::new)
    }

    /// The name.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// The levels between the slashes.
    pub fn levels(self) -> impl Iterator<Item = &'a str> {
        self.0.split('/')
    }
}

/// A topic filter: `+` stands for one level, a last `#` for any further ones (MQTT 5.0, 4.7.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Filter<'a>(&'a str);

impl<'a> Filter<'a> {
    /// Takes a filter. Errors: `BadTopic`: empty, longer than 65535 bytes, U+0000, or a wildcard that does not fill its
    /// level, or a `#` that is not the last.
    pub fn new(filter: &'a str) -> Result<Self, Error> {
        if !(1..=TOPIC_MAX).contains(&filter.len()) {
            return Err(Error::BadTopic);
        }
        let (mut before, mut rest) = (b'/', filter.as_bytes());
        while let [byte, after @ ..] = rest {
            let fills_its_level = before == b'/' && after.first().is_none_or(|next| *next == b'/');
            let good = match byte {
                0 => false,
                b'+' => fills_its_level,
                b'#' => fills_its_level && after.is_empty(),
                _ => true,
            };
            if !good {
                return Err(Error::BadTopic);
            }
            (before, rest) = (*byte, after);
        }
        Ok(Filter(filter))
    }

    /// The filter's text.
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether the filter takes the topic. A wildcard in the first place takes no topic that begins with `$`
    /// (MQTT 5.0, 4.7.2); `a/#` takes `a` too.
    pub fn matches(self, topic: Topic<'_>) -> bool {
        if topic.0.starts_with('$') && !self.0.starts_with('$') {
            return false;
        }
        let (mut filter, mut topic) = (level_bytes(self.0), level_bytes(topic.0));
        loop {
            match (filter.next(), topic.next()) {
                (Some(b"#"), _) | (None, None) => return true,
                (Some(b"+"), Some(_)) => {}
                (Some(wanted), Some(found)) if wanted == found => {}
                _ => return false,
            }
        }
    }

    /// What stands in the topic where the filter has its first `+`: the device of `device/+/#`.
    /// None if the filter does not take the topic, has no `+`, or the level is empty.
    pub fn first_wild<'t>(self, topic: Topic<'t>) -> Option<&'t str> {
        if !self.matches(topic) {
            return None;
        }
        let (_, level) = self.0.split('/').zip(topic.levels()).find(|(wanted, _)| *wanted == "+")?;
        (!level.is_empty()).then_some(level)
    }
}

/// The levels between the slashes, as bytes: to search a text for a character takes more code, and `/` is part of no other one
/// (RFC 3629, 3).
fn level_bytes(text: &str) -> impl Iterator<Item = &[u8]> {
    text.as_bytes().split(|byte| *byte == b'/')
}

impl fmt::Display for Topic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Topic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

impl fmt::Debug for Filter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
