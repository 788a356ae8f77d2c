//! What a device reads of itself, each reading in a message: the same door as `readings.rs`.

use crate::text::Text;
use sealstone_board::line;
use sealstone_mqtt::level::TopicMap;
use sealstone_mqtt::provision::Saying;
use sealstone_mqtt::publisher::{Event, Publisher, Waiting};
use sealstone_mqtt::sealer::{Served, V1};
use sealstone_mqtt::{Topic, UnixMillis};

pub(crate) const MEMORY: usize = 0;

/// The forms of its envelopes.
pub(crate) type Forms = V1;

pub(crate) fn forms(_: Saying) -> Forms {
    V1
}

pub(crate) struct Readings;

impl Readings {
    pub(crate) fn new(saying: Saying, _: &mut [u8; MEMORY]) -> Self {
        if saying != Saying::PLAIN {
            line!("{{\"event\":\"plain\",\"why\":\"built without compact\"}}");
        }
        Readings
    }

    pub(crate) fn round(
        &mut self,
        publisher: &mut Publisher<'_, 1>,
        (topics, map): ([Topic<'_>; 4], &TopicMap<'_>),
        time: UnixMillis,
        now: u64,
        round: u32,
    ) {
        for (i, topic) in topics.into_iter().enumerate() {
            // Each class half as often as the one below it.
            if round & ((1 << i) - 1) != 0 {
                continue;
            }
            let class = map.class(topic);
            let mut text = Text::EMPTY;
            let written = crate::reading(&mut text, now, round);
            let content_type = "application/json";
            let message =
                Waiting { time, content_type, ..Waiting::new(class, topic, text.as_str().as_bytes()) };
            let pushed = written.and_then(|()| {
                publisher.push(&message, |ticket, gone| {
                    line!(
                        "{{\"event\":\"dropped\",\"ticket\":{},\"class\":\"{}\"}}",
                        ticket.0,
                        gone.class.name()
                    );
                })
            });
            if let Err(error) = pushed {
                line!("{{\"event\":\"not queued\",\"class\":\"{}\",\"error\":\"{}\"}}", class.name(), error);
            }
        }
    }

    pub(crate) fn served(&mut self, _: &Served, _: u64) {}

    pub(crate) fn event(&mut self, _: &Event<'_>) {}
}
