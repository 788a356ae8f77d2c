//! How a device connects.

use crate::packet::{Qos, Version};
use crate::topic::Filter;

/// How a device connects.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The version of MQTT.
    pub version: Version,
    /// Who it is. The session belongs to this name.
    pub client_id: &'a str,
    /// The user name.
    pub user_name: Option<&'a str>,
    /// The password.
    pub password: Option<Password<'a>>,
    /// Whether the broker drops an earlier session at the first connection.
    pub clean: bool,
    /// Seconds that the broker keeps the session (MQTT 5.0).
    pub session_expiry_s: u32,
    /// The keep-alive; 0 turns it off.
    pub keepalive_s: u16,
    /// Milliseconds to wait for an answer of any kind.
    pub answer_ms: u64,
    /// Milliseconds before the first new try to connect; twice as many before each further one.
    pub backoff_ms: u64,
    /// The most of them.
    pub backoff_max_ms: u64,
    /// After so many tries without success, [`super::Event::Unreachable`]; and again after as many.
    pub tries: u16,
    /// What is subscribed to, with QoS 0 or 1.
    pub filters: &'a [(Filter<'a>, Qos)],
    /// The first packet id. With QoS 2, two starts in a row must not begin alike: the broker may remember an id of the life before.
    pub first_packet_id: u16,
}

/// A password, which `Debug` does not show.
#[derive(Clone, Copy)]
pub struct Password<'a>(pub &'a [u8]);

impl core::fmt::Debug for Password<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Password(..)")
    }
}

impl<'a> Settings<'a> {
    /// The paper's, as ruled: keep-alive 300 s, answers within 30 s, back-off from 1 s, told after 3 tries, session kept.
    pub const fn new(client_id: &'a str) -> Self {
        Settings {
            version: Version::V5,
            client_id,
            user_name: None,
            password: None,
            clean: false,
            session_expiry_s: 86_400,
            keepalive_s: 300,
            answer_ms: 30_000,
            backoff_ms: 1_000,
            backoff_max_ms: 60_000,
            tries: 3,
            filters: &[],
            first_packet_id: 1,
        }
    }
}
