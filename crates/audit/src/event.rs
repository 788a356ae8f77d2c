//! What is written down: one event, and how it becomes the members of a line.

use std::borrow::Cow;
use std::net::IpAddr;

use sealstone_jose::UnixSeconds;

/// The most bytes of a text in an event; what is longer ends in `…`.
pub const MAX_TEXT: usize = 256;

/// A kind of event: the value of the member `event`, and whether it tells of something that was refused or is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Its name, as in `audit.seal`.
    pub name: &'static str,
    /// Whether the system's journal gets it as a warning.
    pub warning: bool,
}

/// A block ends.
pub const SEAL: Kind = Kind { name: "audit.seal", warning: false };
/// A writer began.
pub const OPENED: Kind = Kind { name: "audit.opened", warning: false };
/// Lines are missing, for want of room.
pub const LOST: Kind = Kind { name: "audit.lost", warning: true };

/// One event. No secret belongs into it: no token, no code, no password, no cookie.
///
/// ```
/// use sealstone_audit::{Event, Kind};
/// use sealstone_jose::UnixSeconds;
///
/// const REFUSED: Kind = Kind { name: "door.refused", warning: true };
///
/// let badge = None;
/// let event = Event::new(REFUSED, UnixSeconds(1_800_000_000))
///     .with_name("door", "north")
///     .with("visitor", "what somebody typed, of any length")
///     .with_some("badge", badge)
///     .with_address("from", [192, 0, 2, 7].into())
///     .with_number("attempts", 3);
/// assert_eq!(event.kind(), REFUSED);
/// assert_eq!(event.time(), UnixSeconds(1_800_000_000));
/// ```
#[derive(Clone, Debug)]
pub struct Event {
    kind: Kind,
    members: Vec<(&'static str, Said)>,
    time: UnixSeconds,
}

impl Event {
    /// An event at `time`, about nothing yet.
    pub fn new(kind: impl Into<Kind>, time: UnixSeconds) -> Self {
        Self { kind: kind.into(), members: Vec::with_capacity(8), time }
    }

    /// With a text, of which [`MAX_TEXT`] bytes are kept.
    #[must_use]
    pub fn with(mut self, name: &'static str, text: &str) -> Self {
        self.members.push((name, Said::Text(bounded(text).into())));
        self
    }

    /// With a text of ours.
    #[must_use]
    pub fn with_name(mut self, name: &'static str, text: &'static str) -> Self {
        debug_assert!(text.len() <= MAX_TEXT);
        self.members.push((name, Said::Text(text.into())));
        self
    }

    /// With an address.
    #[must_use]
    pub fn with_address(mut self, name: &'static str, address: IpAddr) -> Self {
        self.members.push((name, Said::Address(address)));
        self
    }

    /// With a text, if there is one.
    #[must_use]
    pub fn with_some(self, name: &'static str, text: Option<&str>) -> Self {
        match text {
            Some(text) => self.with(name, text),
            None => self,
        }
    }

    /// With a number.
    #[must_use]
    pub fn with_number(mut self, name: &'static str, number: u64) -> Self {
        self.members.push((name, Said::Number(number)));
        self
    }

    /// What happened.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// When.
    pub fn time(&self) -> UnixSeconds {
        self.time
    }

    /// The line with the number `n` after a line whose hash is `prev`, without its end.
    pub(crate) fn line(&self, n: u64, prev: &str) -> Vec<u8> {
        let mut line = Vec::with_capacity(320);
        line.extend_from_slice(
            format!("{{\"n\":{n},\"prev\":\"{prev}\",\"time\":{}", self.time.0).as_bytes(),
        );
        line.extend_from_slice(format!(",\"event\":\"{}\"", self.kind.name).as_bytes());
        for (name, value) in &self.members {
            line.extend_from_slice(format!(",\"{name}\":{}", value.json()).as_bytes());
        }
        line.push(b'}');
        line
    }
}

/// The value of a member.
#[derive(Clone, Debug)]
enum Said {
    Address(IpAddr),
    Number(u64),
    Text(Cow<'static, str>),
}

impl Said {
    fn json(&self) -> String {
        match self {
            Said::Address(address) => format!("\"{address}\""),
            Said::Number(number) => number.to_string(),
            Said::Text(text) => serde_json::Value::from(text.as_ref()).to_string(),
        }
    }
}

/// The first [`MAX_TEXT`] bytes, or a few less so that no character is cut.
fn bounded(text: &str) -> String {
    if text.len() <= MAX_TEXT {
        return text.to_owned();
    }
    const CUT: &str = "…";
    format!("{}{CUT}", &text[..text.floor_char_boundary(MAX_TEXT - CUT.len())])
}
