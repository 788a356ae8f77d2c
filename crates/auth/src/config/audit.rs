//! The part that is about the audit log.

use std::num::NonZeroU64;
use std::path::PathBuf;

use serde::Deserialize;

use super::seconds;

/// `[audit]`: what was decided, in `audit/` below the data directory. [`crate::audit`] says how.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Audit {
    /// Whether there is one.
    pub enabled: bool,
    /// Whether introspections and userinfo answers are written down too: they decide nothing, and there are many.
    pub introspection: bool,
    /// Whether each line goes to the system's journal besides.
    pub journald: bool,
    /// Where the journal listens.
    pub journald_socket: PathBuf,
    /// The size at which a file ends and the next begins; at least 65536.
    pub max_file_bytes: NonZeroU64,
    /// How many requests' events may wait to be written.
    pub queue: NonZeroU64,
    /// The most lines before a block is signed and brought to the disk.
    pub seal_lines: NonZeroU64,
    /// The longest time before that.
    pub seal_seconds: NonZeroU64,
    /// What happens when events can wait no more, or the disk takes none.
    pub when_full: WhenFull,
}

/// What happens when the audit log takes no more.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum WhenFull {
    /// Requests are answered all the same; how many events have no line is said in the next one.
    Drop,
    /// Requests that would decide something are answered with 503 before they do.
    #[default]
    Refuse,
}

impl Default for Audit {
    fn default() -> Self {
        Self {
            enabled: true,
            introspection: false,
            journald: false,
            journald_socket: "/run/systemd/journal/socket".into(),
            max_file_bytes: seconds(64 << 20),
            queue: seconds(16_384),
            seal_lines: seconds(1000),
            seal_seconds: seconds(5),
            when_full: WhenFull::Refuse,
        }
    }
}
