//! How long a document says that it may be believed: RFC 9111 §4.2 and §5.2.2.

use core::time::Duration;

/// What an answer's head says of its freshness.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime(Option<Duration>);

impl Lifetime {
    /// The server says nothing.
    pub const UNSAID: Self = Self(None);

    /// From the text of `Cache-Control` and of `Age`. `no-store` and `no-cache` are no time at all; of several `max-age`, and of
    /// what cannot be read, the least. `s-maxage` is for caches that many share, which this is not.
    ///
    /// ```
    /// use core::time::Duration;
    /// use sealstone_jose::remote::Lifetime;
    ///
    /// assert_eq!(Lifetime::of("public, max-age=600", Some("100")).get(), Some(Duration::from_secs(500)));
    /// assert_eq!(Lifetime::of("no-store", None).get(), Some(Duration::ZERO));
    /// assert_eq!(Lifetime::of("public", None), Lifetime::UNSAID);
    /// ```
    pub fn of(cache_control: &str, age: Option<&str>) -> Self {
        let mut least: Option<u64> = None;
        for directive in cache_control.split(',') {
            let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
            let seconds = match name.trim().to_ascii_lowercase().as_str() {
                "no-store" | "no-cache" => 0,
                "max-age" => seconds(value),
                _ => continue,
            };
            least = Some(least.map_or(seconds, |other| other.min(seconds)));
        }
        let age = age.map_or(0, |age| age.trim().parse().unwrap_or(0));
        Self(least.map(|seconds| Duration::from_secs(seconds.saturating_sub(age))))
    }

    /// The time, if the server names one.
    pub fn get(self) -> Option<Duration> {
        self.0
    }
}

/// RFC 9111 §1.2.2: digits, and what is too large is very long. §4.2.1: what cannot be read is over.
fn seconds(value: &str) -> u64 {
    let value = value.trim().trim_matches('"');
    match value.is_empty() || !value.bytes().all(|digit| digit.is_ascii_digit()) {
        true => 0,
        false => value.parse().unwrap_or(1 << 31),
    }
}
