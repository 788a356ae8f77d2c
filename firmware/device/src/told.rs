//! What the host is told: a line of JSON for each event.

use core::fmt::Write as _;
use sealstone_board::line;
use sealstone_mqtt::publisher::Event;
use sealstone_mqtt::sealer::{Chosen, Served};

pub(crate) fn told(event: &Event<'_>) {
    match event {
        Event::Connected { session_present } => {
            line!("{{\"event\":\"connected\",\"session\":{}}}", session_present)
        }
        Event::Disconnected { cause, again_at } => {
            line!("{{\"event\":\"disconnected\",\"cause\":\"{:?}\",\"again_at\":{}}}", cause, again_at)
        }
        Event::Unreachable { tries } => line!("{{\"event\":\"unreachable\",\"tries\":{}}}", tries),
        Event::Delivered(ticket) => line!("{{\"event\":\"delivered\",\"ticket\":{}}}", ticket.0),
        Event::Refused(ticket, reason) => {
            line!("{{\"event\":\"refused\",\"ticket\":{},\"reason\":{}}}", ticket.0, reason)
        }
        Event::Subscribed { refused } => line!("{{\"event\":\"subscribed\",\"refused\":{}}}", refused),
        Event::Received(publish, payload) => {
            let topic = Plain(publish.topic.as_str());
            line!("{{\"event\":\"received\",\"topic\":\"{}\",\"bytes\":{}}}", topic, payload.len())
        }
        Event::Skipped(len) => line!("{{\"event\":\"skipped\",\"bytes\":{}}}", len),
        _ => {}
    }
}

pub(crate) fn told_served(served: &Served) {
    match served {
        Served::Sent(ticket, by, Some(number)) => line!(
            "{{\"event\":\"sealed\",\"ticket\":{},\"by\":\"{:?}\",\"epoch\":{},\"sequence\":{}}}",
            ticket.0,
            by,
            number.epoch,
            number.sequence
        ),
        Served::Sent(ticket, by, None) => {
            line!("{{\"event\":\"sealed\",\"ticket\":{},\"by\":\"{:?}\"}}", ticket.0, by)
        }
        Served::Refused(ticket, refusal, alert) => line!(
            "{{\"event\":\"waits\",\"ticket\":{},\"refusal\":\"{:?}\",\"alert\":{}}}",
            ticket.0,
            refusal,
            alert.is_some()
        ),
        Served::Failed(ticket, error) => {
            line!("{{\"event\":\"failed\",\"ticket\":{},\"error\":\"{}\"}}", ticket.0, error)
        }
    }
}

/// Every decision, with what it came from.
pub(crate) fn chosen(chosen: &Chosen<'_>) {
    let decision = &chosen.decision;
    line!(
        "{{\"event\":\"chosen\",\"topic\":\"{}\",\"class\":\"{}\",\"score\":{},\"free\":{},\"level\":\"{:?}\",\"by\":\"{:?}\"}}",
        chosen.topic,
        decision.class.name(),
        decision.score,
        chosen.means.free,
        decision.level,
        chosen.by
    );
}

/// A text from elsewhere, within a string of JSON: what is not a visible character of ASCII, or has a meaning there, is a question mark.
pub(crate) struct Plain<'a>(pub(crate) &'a str);

impl core::fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        self.0.bytes().try_for_each(|byte| f.write_char(if plain(byte) { byte as char } else { '?' }))
    }
}
