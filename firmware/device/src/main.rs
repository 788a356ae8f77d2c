//! A device: it reads itself, seals each reading by its class, and publishes it, whatever happens to the broker and to the power.
//!
//! Both boards run this. What differs is the way to the broker: `serial.rs` on the STM32F405, `network.rs` on the AN386.
//! A line of JSON on the host's side tells each event.
#![no_std]
#![no_main]

mod flash;
mod keys;
mod text;
#[cfg(feature = "mps2-an386")]
#[path = "network.rs"]
mod way;
#[cfg(not(feature = "mps2-an386"))]
#[path = "serial.rs"]
mod way;

use keys::Three;
use sealstone_board::{Clock, Peripherals, entry, exit, free_memory, given, line, stack_of, unix_seconds};
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::{Class, Means, TopicMap};
use sealstone_mqtt::mac::{MacKey, Rhythm};
use sealstone_mqtt::number::Numbers;
use sealstone_mqtt::packet::Qos;
use sealstone_mqtt::provision::{Provision, Topics};
use sealstone_mqtt::publisher::{Event, Publisher, Settings, Waiting};
use sealstone_mqtt::sealer::{Chosen, Sealer, Served, Tags};
use sealstone_mqtt::{Error, Filter, Topic, UnixMillis};
use text::Text;

#[entry]
fn main() -> ! {
    if let Err(error) = run() {
        line!("{{\"event\":\"stopped\",\"error\":\"{}\"}}", error);
    }
    exit(false)
}

/// A checkpoint after so many tags, or a minute.
const RHYTHM: Rhythm = Rhythm { every: 10, within_ms: 60_000 };
const TAGS: usize = 32;

fn run() -> Result<(), Error> {
    let given = Provision::parse(given())?;
    let [numbers, ring] = flash::open()?;
    let mut ring = KeyRing::open(ring)?;
    ring.given(given.keys.map(|key| key.id))?;
    let numbers = Numbers::start(numbers)?;
    let epoch = numbers.epoch();
    line!("{{\"event\":\"started\",\"device\":\"{}\",\"epoch\":{}}}", given.device, epoch);

    let peripherals = Peripherals::take().ok_or(Error::KeyState)?;
    let mut clock = Clock::start(peripherals.SYST);
    let mut memory = way::Memory::new();
    let mut transport = way::Way::new(&mut memory, &given);

    let mut names = [const { Text::EMPTY }; 6];
    for (name, end) in names.iter_mut().zip([
        "telemetry/up",
        "status/memory",
        "alert/test",
        "critical/report",
        "telemetry/checkpoint",
        "command/#",
    ]) {
        name.put("device/")?.put(given.device)?.put("/")?.put(end)?;
    }
    let [low, medium, high, critical, checkpoint, commands] = &names;
    let topics = [low.topic()?, medium.topic()?, high.topic()?, critical.topic()?];
    let checkpoint = checkpoint.topic()?;
    let filters = [(Filter::new(commands.as_str())?, Qos::AtLeastOnce)];
    let mut map = [(filters[0].0, Class::High); Topics::MAX];
    let mut known = 0;
    for (entry, filter) in map.iter_mut().zip(given.topics.iter()) {
        *entry = filter;
        known += 1;
    }
    let map = TopicMap::new(map.get(..known).unwrap_or_default());

    let mac_key = MacKey::from_bytes(given.mac_key);
    let mut three = Three::new(&given, epoch);
    three.make()?;
    let mut sealer = Sealer::new(&given.policy, keys::NEED, numbers, ring, &mut three, topics[2]);
    if given.tagged.contains(&true) {
        sealer.tags = Some(Tags::<TAGS> { classes: given.tagged, ..Tags::new(&mac_key, given.mac_key_id) });
    }

    let settings = Settings {
        keepalive_s: given.keepalive_s,
        answer_ms: u64::from(given.answer_ms),
        filters: &filters,
        first_packet_id: (epoch as u16).wrapping_mul(251).max(1),
        ..Settings::new(given.device)
    };
    let (mut queue, mut control, mut came, mut flight) = ([0; 2048], [0; 256], [0; 1024], [0; 5120]);
    let mut publisher = Publisher::new(settings, &mut queue, &mut control, &mut came, [&mut flight]);

    let (mut due, mut round, mut space) = (0, 0u32, [0; 8 + 20 * TAGS]);
    loop {
        let now = clock.now();
        transport.tick(now);
        while let Some(event) =
            publisher.poll(now, epoch.wrapping_mul(0x9e37_79b9) ^ now as u32, &mut transport)
        {
            told(&event);
        }
        let time = UnixMillis(u64::from(unix_seconds()) * 1000);
        if now >= due {
            due = now.saturating_add(u64::from(given.interval_ms));
            for (i, topic) in topics.into_iter().enumerate() {
                // Each class half as often as the one below it.
                if round & ((1 << i) - 1) == 0 {
                    read(&mut publisher, &map, topic, time, now, round);
                }
            }
            round = round.wrapping_add(1);
        }
        // No more than signing really has: what is free below this frame.
        let means = Means { energy: 1000, heat: 0, free: free_memory() };
        let mut serve = || sealer.serve(&mut publisher, means, time, now, &mut chosen);
        let (stack, served) = if cfg!(feature = "measure") { stack_of(&mut serve) } else { (0, serve()) };
        if let Some(served) = served {
            told_served(&served);
            if stack > 0 {
                line!("{{\"event\":\"measured\",\"stack\":{}}}", stack);
            }
        }
        if sealer.tags.as_ref().is_some_and(|tags| tags.checkpoint.is_due(RHYTHM, now))
            && let Some(Err(error)) =
                sealer.checkpoint(&mut publisher, checkpoint, Class::Low, time, &mut space)
        {
            line!("{{\"event\":\"checkpoint waits\",\"error\":\"{}\"}}", error);
        }
    }
}

/// A reading: how long the device is up, how much memory it has, how many rounds it made.
fn read(
    publisher: &mut Publisher<'_, 1>,
    map: &TopicMap<'_>,
    topic: Topic<'_>,
    time: UnixMillis,
    now: u64,
    round: u32,
) {
    let mut text = Text::EMPTY;
    let written = reading(&mut text, now, round);
    let content_type = "application/json";
    let message =
        Waiting { time, content_type, ..Waiting::new(map.class(topic), topic, text.as_str().as_bytes()) };
    let dropped = |ticket: sealstone_mqtt::publisher::Ticket, gone: Waiting<'_>| {
        line!("{{\"event\":\"dropped\",\"ticket\":{},\"class\":\"{}\"}}", ticket.0, gone.class.name());
    };
    if let Err(error) = written.and_then(|()| publisher.push(&message, dropped)) {
        line!("{{\"event\":\"not queued\",\"class\":\"{}\",\"error\":\"{}\"}}", message.class.name(), error);
    }
}

fn reading(text: &mut Text, now: u64, round: u32) -> Result<(), Error> {
    text.put("{\"up\":")?.number(now)?;
    text.put(",\"free\":")?.number(free_memory().into())?;
    text.put(",\"round\":")?.number(round.into())?;
    text.put("}").map(|_| ())
}

fn told(event: &Event<'_>) {
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
            line!("{{\"event\":\"received\",\"topic\":\"{}\",\"bytes\":{}}}", publish.topic, payload.len())
        }
        Event::Skipped(len) => line!("{{\"event\":\"skipped\",\"bytes\":{}}}", len),
        _ => {}
    }
}

fn told_served(served: &Served) {
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
fn chosen(chosen: &Chosen<'_>) {
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
