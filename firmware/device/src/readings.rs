//! What a device reads of itself, and how it says it: one by one, several of the class low in one message, or as "unchanged".

use crate::text::Text;
use sealstone_board::{free_memory, line};
use sealstone_mqtt::batch::Batch;
use sealstone_mqtt::cache::{self, Cache, Pace, Say};
use sealstone_mqtt::level::{Class, TopicMap};
use sealstone_mqtt::provision::Saying;
use sealstone_mqtt::publisher::{Event, Publisher, Ticket, Waiting};
use sealstone_mqtt::sealer::{Apart, Served};
use sealstone_mqtt::{Error, Kind, Topic, UnixMillis};

/// Bytes for the readings of one message; when they are full it goes, however many were wanted.
pub(crate) const MEMORY: usize = 1_024;
const JSON: &str = "application/json";

/// The forms of its envelopes.
pub(crate) type Forms = Apart;

/// The form of its envelopes.
pub(crate) fn forms(saying: Saying) -> Forms {
    saying.form
}

pub(crate) struct Readings<'a> {
    saying: Saying,
    batch: Batch<'a>,
    memory: Cached,
}

/// The value of one topic that is not said when it did not change.
struct Cached {
    cache: Cache<64>,
    /// What waits to be sealed; none for "unchanged".
    waits: Option<(Ticket, Option<Text>)>,
    /// What was said in full last.
    full: Option<Ticket>,
}

impl<'a> Readings<'a> {
    pub(crate) fn new(saying: Saying, memory: &'a mut [u8; MEMORY]) -> Self {
        let [silence_ms, full_ms] =
            [saying.silence_s, saying.full_s].map(|seconds| u64::from(seconds) * 1000);
        let cache = Cache::new(Pace { silence_ms, full_ms });
        Readings { saying, batch: Batch::new(memory), memory: Cached { cache, waits: None, full: None } }
    }

    /// Reads everything that is due in a round: each topic half as often as the one before it.
    pub(crate) fn round(
        &mut self,
        publisher: &mut Publisher<'_, 1>,
        (topics, map): ([Topic<'_>; 4], &TopicMap<'_>),
        time: UnixMillis,
        now: u64,
        round: u32,
    ) {
        for (i, topic) in topics.into_iter().enumerate() {
            if round & ((1 << i) - 1) != 0 {
                continue;
            }
            let class = map.class(topic);
            let mut text = Text::EMPTY;
            // Memory is what may stay the same; so where that counts, it is read alone.
            let alone = i == 1 && self.saying.silence_s > 0;
            let written = if alone { free(&mut text) } else { crate::reading(&mut text, now, round) };
            let plain =
                Waiting { time, content_type: JSON, ..Waiting::new(class, topic, text.as_str().as_bytes()) };
            let said = match written {
                Err(error) => Err(error),
                Ok(()) if alone => self.steady(publisher, &plain, now),
                Ok(()) if class == Class::Low && self.saying.batch > 1 => self.gather(publisher, &plain),
                Ok(()) => self.push(publisher, &plain).map(|_| ()),
            };
            if let Err(error) = said {
                line!("{{\"event\":\"not queued\",\"class\":\"{}\",\"error\":\"{}\"}}", class.name(), error);
            }
        }
    }

    /// A message was sealed: what it said is what the next value is compared with.
    pub(crate) fn served(&mut self, served: &Served, now: u64) {
        let (Served::Sent(ticket, _, Some(number)), Cached { cache, waits, full }) =
            (served, &mut self.memory)
        else {
            return;
        };
        match waits {
            Some((waiting, said)) if waiting == ticket => {
                match said {
                    Some(value) => {
                        cache.said_full(value.as_str().as_bytes(), *number, now);
                        *full = Some(*ticket);
                    }
                    None => cache.said_unchanged(now),
                }
                *waits = None;
            }
            _ => {}
        }
    }

    /// A value that the broker did not take was not said.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        if let Event::Refused(ticket, _) = event
            && self.memory.full == Some(*ticket)
        {
            self.memory.cache.forget();
        }
    }

    /// Adds a reading to the others, and lets them go when there are as many as wanted, or no more fit.
    fn gather(&mut self, publisher: &mut Publisher<'_, 1>, plain: &Waiting<'_>) -> Result<(), Error> {
        let added = self.batch.add(plain.time, plain.payload);
        if added.is_ok() && self.batch.len() < usize::from(self.saying.batch) {
            return Ok(());
        }
        let payload = self.batch.take(plain.time)?;
        let batch = Waiting { kind: Kind::Batch, content_type: "", payload, ..*plain };
        let pushed = push(publisher, &batch, &mut self.memory);
        if added.is_err() {
            self.batch.add(plain.time, plain.payload)?;
        }
        pushed.map(|_| ())
    }

    /// Says a value in full, that it did not change, or nothing.
    fn steady(
        &mut self,
        publisher: &mut Publisher<'_, 1>,
        plain: &Waiting<'_>,
        now: u64,
    ) -> Result<(), Error> {
        if self.memory.waits.is_some() {
            return Ok(()); // the last one was not sealed yet; the next one is compared with it
        }
        let said = match self.memory.cache.what(plain.payload, now) {
            Say::Nothing => return Ok(()),
            Say::Full => {
                let mut value = Text::EMPTY;
                value.put(core::str::from_utf8(plain.payload).unwrap_or_default())?;
                (self.push(publisher, plain)?, Some(value))
            }
            Say::Unchanged(number) => {
                let payload = &cache::emit(number);
                let unchanged = Waiting { kind: Kind::Unchanged, content_type: "", payload, ..*plain };
                (self.push(publisher, &unchanged)?, None)
            }
        };
        self.memory.waits = Some(said);
        Ok(())
    }

    fn push(&mut self, publisher: &mut Publisher<'_, 1>, message: &Waiting<'_>) -> Result<Ticket, Error> {
        push(publisher, message, &mut self.memory)
    }
}

fn free(text: &mut Text) -> Result<(), Error> {
    text.put("{\"free\":")?.number(free_memory().into())?.put("}").map(|_| ())
}

/// Lets a message wait. A value that had to go for it was not said.
fn push(
    publisher: &mut Publisher<'_, 1>,
    message: &Waiting<'_>,
    cached: &mut Cached,
) -> Result<Ticket, Error> {
    publisher.push(message, |ticket, gone| {
        line!("{{\"event\":\"dropped\",\"ticket\":{},\"class\":\"{}\"}}", ticket.0, gone.class.name());
        if cached.waits.as_ref().is_some_and(|(waiting, _)| *waiting == ticket) {
            cached.waits = None;
            cached.cache.forget();
        }
    })
}
