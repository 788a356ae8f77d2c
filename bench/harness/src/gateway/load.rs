//! What is sent and what arrives: a plain MQTT client over a few connections, and a subscriber that counts.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use sealstone_mqtt::gateway::link::{Connection, Options, Writer};
use sealstone_mqtt::gateway::wire::{Connect, Packet, Properties, Publish, Qos, Version};

use super::pool::{Messages, Signed, number_of};
use super::servers::Layout;

/// Connections that publish.
pub(super) const CONNECTIONS: usize = 4;
/// Messages that are sent and have not arrived, where the highest rate is looked for.
const UNDER_WAY: u64 = 512;
/// Of one connection without an answer of the broker: below what it allows (servers.rs).
const UNANSWERED: u64 = 250;
/// Without an arrival for so long, what is missing is lost.
const PATIENCE: Duration = Duration::from_secs(20);
/// After the last message, for one that comes twice.
const AFTERMATH: Duration = Duration::from_millis(300);
/// A look at whether there is room to send.
const PAUSE: Duration = Duration::from_micros(200);

/// Connected, and subscribed to everything that the gateway publishes.
pub(super) struct Load {
    writers: Mutex<Vec<Writer>>,
    reader: Writer,
    shared: Arc<Shared>,
    layout: Layout,
}

/// A batch that has arrived, each message once.
pub(super) struct Ran {
    begun: Instant,
    /// When each was due to be sent, and when it arrived.
    times: Vec<(Instant, Instant)>,
}

/// Milliseconds, rising.
pub(super) struct Latencies(Vec<f64>);

#[derive(Default)]
struct Shared {
    answered: [AtomicU64; CONNECTIONS],
    arrived: AtomicU64,
    arrivals: Mutex<Arrivals>,
    fault: Mutex<Option<String>>,
    closing: AtomicBool,
}

/// Which messages of a batch have arrived, and when.
#[derive(Default)]
struct Arrivals {
    first: u64,
    at: Vec<Option<Instant>>,
}

impl Load {
    /// Connects to a broker on loopback. Errors: of the network, as text.
    pub(super) fn connect(port: u16, layout: &Layout) -> Result<Self, String> {
        let fault = |why: std::io::Error| format!("the load's connection: {why}");
        let shared = Arc::new(Shared::default());
        let mut writers = Vec::new();
        for number in 0..CONNECTIONS {
            let opened = Connection::open(&options(port, &format!("load-{number}")));
            let (mut connection, _) = opened.map_err(fault)?;
            writers.push(connection.writer().map_err(fault)?);
            let (shared, layout) = (Arc::clone(&shared), layout.clone());
            thread::spawn(move || {
                layout.pin_load();
                shared.follow(&mut connection, |packet| shared.answer(number, packet));
            });
        }
        let (mut connection, _) = Connection::open(&options(port, "reader")).map_err(fault)?;
        let (reader, mut acknowledge) =
            (connection.writer().map_err(fault)?, connection.writer().map_err(fault)?);
        let filters = ["clean/#", "marked/#", "dead-letters/#"].map(|filter| (filter.to_owned(), 1));
        acknowledge.send(&[Packet::Subscribe { id: 1, filters: filters.to_vec() }]).map_err(fault)?;
        if !matches!(connection.read().map_err(fault)?, Packet::SubAck { .. }) {
            return Err("the broker did not answer the subscription".to_owned());
        }
        let (counts, layout_there) = (Arc::clone(&shared), layout.clone());
        thread::spawn(move || {
            layout_there.pin_load();
            counts.follow(&mut connection, |packet| counts.arrive(packet, &mut acknowledge));
        });
        Ok(Load { writers: Mutex::new(writers), reader, shared, layout: layout.clone() })
    }

    /// Sends as fast as messages arrive: so many under way at a time.
    pub(super) fn closed(&self, messages: Messages) -> Result<Ran, String> {
        self.run(messages, |shared, sent, _| {
            while sent as u64 - shared.arrived.load(Ordering::Relaxed) >= UNDER_WAY {
                shared.check()?;
                sleep(PAUSE);
            }
            Ok(Instant::now())
        })
    }

    /// Sends so many a second, whatever arrives, while something else is done. A message that is late counts from when it was due.
    pub(super) fn paced(
        &self,
        messages: Messages,
        rate: f64,
        meanwhile: impl FnOnce() -> Result<(), String> + Send,
    ) -> Result<Ran, String> {
        thread::scope(|scope| {
            let other = scope.spawn(meanwhile);
            let ran = self.run(messages, |shared, sent, begun| {
                let due = begun + Duration::from_secs_f64(sent as f64 / rate);
                shared.check()?;
                sleep(due.saturating_duration_since(Instant::now()));
                Ok(due)
            });
            other.join().unwrap_or_else(|_| Err("a thread has panicked".to_owned()))?;
            ran
        })
    }

    /// `turn` waits for each message's turn and says when it was due.
    fn run(
        &self,
        messages: Messages,
        turn: impl Fn(&Shared, usize, Instant) -> Result<Instant, String> + Sync,
    ) -> Result<Ran, String> {
        let Messages { first, packets } = messages;
        let count = packets.len();
        *lock(&self.shared.arrivals) = Arrivals { first, at: vec![None; count] };
        self.shared.arrived.store(0, Ordering::Relaxed);
        let begun = Instant::now();
        let due = thread::scope(|scope| {
            let sender = scope.spawn(|| {
                self.layout.pin_load();
                self.send(&packets, |sent| turn(&self.shared, sent, begun))
            });
            sender.join().unwrap_or_else(|_| Err("the thread that sends has panicked".to_owned()))
        })?;
        let (mut seen, mut seen_at) = (0, Instant::now());
        loop {
            self.shared.check()?;
            let arrived = self.shared.arrived.load(Ordering::Relaxed);
            if arrived == count as u64 {
                break;
            }
            if arrived != seen {
                (seen, seen_at) = (arrived, Instant::now());
            } else if seen_at.elapsed() > PATIENCE {
                return Err(lock(&self.shared.arrivals).missing());
            }
            sleep(Duration::from_millis(2));
        }
        sleep(AFTERMATH);
        self.shared.check()?;
        let arrivals = std::mem::take(&mut *lock(&self.shared.arrivals));
        let times: Vec<_> = due.into_iter().zip(arrivals.at.into_iter().flatten()).collect();
        Ok(Ran { begun, times })
    }

    fn send(
        &self,
        packets: &[Signed],
        turn: impl Fn(usize) -> Result<Instant, String>,
    ) -> Result<Vec<Instant>, String> {
        let mut writers = lock(&self.writers);
        let before: Vec<u64> =
            self.shared.answered.iter().map(|answered| answered.load(Ordering::Relaxed)).collect();
        let mut sent = [0_u64; CONNECTIONS];
        let mut due = Vec::with_capacity(packets.len());
        for (at, Signed { connection, packet }) in packets.iter().enumerate() {
            due.push(turn(at)?);
            let answered = || self.shared.answered[*connection].load(Ordering::Relaxed) - before[*connection];
            while sent[*connection] - answered() >= UNANSWERED {
                self.shared.check()?;
                sleep(PAUSE);
            }
            sent[*connection] += 1;
            let written = writers[*connection].send(std::slice::from_ref(packet));
            written.map_err(|why| format!("the load could not send: {why}"))?;
        }
        Ok(due)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::Relaxed);
        self.reader.close();
        lock(&self.writers).iter().for_each(Writer::close);
    }
}

impl Ran {
    /// Messages a second, from the first that was sent to the last that arrived.
    pub(super) fn rate(&self) -> f64 {
        let last = self.times.iter().map(|(_, arrived)| *arrived).max().unwrap_or(self.begun);
        self.times.len() as f64 / (last - self.begun).as_secs_f64().max(1e-9)
    }

    pub(super) fn latencies(&self) -> Latencies {
        let milliseconds = |(due, arrived): &(Instant, Instant)| {
            arrived.saturating_duration_since(*due).as_secs_f64() * 1000.0
        };
        let mut all: Vec<f64> = self.times.iter().map(milliseconds).collect();
        all.sort_by(f64::total_cmp);
        Latencies(all)
    }
}

impl Latencies {
    /// The latency that this part of all messages does not exceed: 0.5 for the median, 1 for the slowest.
    pub(super) fn at(&self, part: f64) -> f64 {
        let place = (part * self.0.len() as f64).ceil() as usize;
        self.0.get(place.saturating_sub(1)).copied().unwrap_or(f64::NAN)
    }
}

impl Shared {
    /// Reads until the end, or a fault.
    fn follow(&self, connection: &mut Connection, mut each: impl FnMut(Packet) -> Result<(), String>) {
        loop {
            let done = connection.read().map_err(|why| format!("the broker: {why}")).and_then(&mut each);
            if let Err(why) = done {
                if !self.closing.load(Ordering::Relaxed) {
                    lock(&self.fault).get_or_insert(why);
                }
                return;
            }
        }
    }

    fn answer(&self, connection: usize, packet: Packet) -> Result<(), String> {
        match packet {
            Packet::PubAck { reason, .. } if reason < 0x80 => {
                self.answered[connection].fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            Packet::PingResp => Ok(()),
            other => Err(format!("the broker answers a message with {other:?}")),
        }
    }

    fn arrive(&self, packet: Packet, acknowledge: &mut Writer) -> Result<(), String> {
        let now = Instant::now();
        let Packet::Publish(publish) = packet else { return Ok(()) };
        let Publish { topic, payload, id, qos, .. } = *publish;
        if !topic.starts_with("clean/") {
            return Err(format!("a message did not arrive clean, but on {topic}"));
        }
        lock(&self.arrivals).note(number_of(&payload), now)?;
        self.arrived.fetch_add(1, Ordering::Relaxed);
        match qos {
            Qos::AtMostOnce => Ok(()),
            _ => acknowledge.send(&[Packet::PubAck { id, reason: 0 }]).map_err(|why| why.to_string()),
        }
    }

    fn check(&self) -> Result<(), String> {
        lock(&self.fault).clone().map_or(Ok(()), Err)
    }
}

impl Arrivals {
    fn note(&mut self, number: Option<u64>, now: Instant) -> Result<(), String> {
        let number = number.ok_or("a message has no number")?;
        let place = number.checked_sub(self.first).and_then(|place| usize::try_from(place).ok());
        match place.and_then(|place| self.at.get_mut(place)) {
            Some(free @ None) => {
                *free = Some(now);
                Ok(())
            }
            Some(Some(_)) => Err(format!("message {number} arrived twice")),
            None => Err(format!("message {number} arrived, which is not of this batch")),
        }
    }

    fn missing(&self) -> String {
        let missing: Vec<u64> = self
            .at
            .iter()
            .zip(self.first..)
            .filter(|(at, _)| at.is_none())
            .map(|(_, number)| number)
            .collect();
        format!(
            "{} of {} messages are lost, the first is {:?}",
            missing.len(),
            self.at.len(),
            missing.first()
        )
    }
}

fn options(port: u16, name: &str) -> Options {
    Options {
        address: format!("127.0.0.1:{port}"),
        tls: None,
        version: Version::V5,
        max_packet_bytes: 1 << 20,
        connect: Connect {
            client_id: name.to_owned(),
            clean_start: true,
            // Nothing is said between batches, while the next ones are signed.
            keep_alive_s: 0,
            properties: Properties { receive_maximum: Some(u16::MAX), ..Properties::default() },
            ..Connect::default()
        },
    }
}

/// A thread that panicked left nothing half done: each section is one step.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{Arrivals, Latencies};
    use std::time::Instant;

    fn three() -> Arrivals {
        Arrivals { first: 10, at: vec![None; 3] }
    }

    #[test]
    fn a_message_that_arrives_twice_is_a_fault() {
        let (mut arrivals, now) = (three(), Instant::now());
        assert_eq!(arrivals.note(Some(11), now), Ok(()));
        assert_eq!(arrivals.note(Some(11), now), Err("message 11 arrived twice".to_owned()));
    }

    #[test]
    fn a_message_of_another_batch_is_a_fault() {
        for number in [Some(9), Some(13), None] {
            assert!(three().note(number, Instant::now()).is_err(), "{number:?}");
        }
    }

    #[test]
    fn what_did_not_arrive_is_counted() {
        let mut arrivals = three();
        assert_eq!(arrivals.note(Some(10), Instant::now()), Ok(()));
        assert_eq!(arrivals.missing(), "2 of 3 messages are lost, the first is Some(11)");
    }

    #[test]
    fn percentiles_are_of_the_messages_that_there_were() {
        let thousand = Latencies((1..=1000).map(f64::from).collect());
        assert_eq!([0.5, 0.99, 0.999, 1.0].map(|part| thousand.at(part)), [500.0, 990.0, 999.0, 1000.0]);
    }
}
