//! A device: it reads itself, seals each reading by its class, and publishes it, whatever happens to the broker and to the power.
//!
//! Both boards run this. What differs is the way to the broker: `serial.rs` on the STM32F405, `network.rs` on the AN386.
//! A line of JSON on the host's side tells each event.
#![no_std]
#![no_main]

#[cfg(feature = "commands")]
mod commands;
#[cfg(not(feature = "commands"))]
#[path = "deaf.rs"]
mod commands;
mod flash;
mod keys;
#[cfg(feature = "compact")]
mod readings;
#[cfg(not(feature = "compact"))]
#[path = "one_by_one.rs"]
mod readings;
mod text;
mod told;
#[cfg(feature = "mps2-an386")]
#[path = "network.rs"]
mod way;
#[cfg(not(feature = "mps2-an386"))]
#[path = "serial.rs"]
mod way;

use commands::Commands;
use flash::Pair;
use keys::Three;
use readings::Readings;
use sealstone_board::{Clock, Peripherals, entry, exit, free_memory, given, line, stack_of, unix_seconds};
use sealstone_mldsa::Level;
use sealstone_mqtt::keyring::KeyRing;
use sealstone_mqtt::level::{Class, Means, TopicMap};
use sealstone_mqtt::mac::{MacKey, Rhythm};
use sealstone_mqtt::number::Numbers;
use sealstone_mqtt::packet::Qos;
use sealstone_mqtt::provision::{Provision, Topics};
use sealstone_mqtt::publisher::{Publisher, Settings};
use sealstone_mqtt::sealer::{Sealer, Tags};
use sealstone_mqtt::{Error, Filter, UnixMillis};
use text::Text;
use told::{chosen, told, told_served};

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
    let mut ring = KeyRing::open(flash::open(Pair::KeyIds)?)?;
    let mut template = [0; commands::TEMPLATE];
    let mut commands = Commands::open(&given, &mut ring, &mut template)?;
    let numbers = Numbers::start(flash::open(Pair::Numbers)?)?;
    let epoch = numbers.epoch();
    line!("{{\"event\":\"started\",\"device\":\"{}\",\"epoch\":{}}}", given.device, epoch);

    let peripherals = Peripherals::take().ok_or(Error::KeyState)?;
    let mut clock = Clock::start(peripherals.SYST);
    let mut memory = way::Memory::new();
    let mut transport = way::Way::new(&mut memory, &given);

    let mut names = [const { Text::EMPTY }; 8];
    for (name, end) in names.iter_mut().zip([
        "telemetry/up",
        "status/memory",
        "alert/test",
        "critical/report",
        "telemetry/checkpoint",
        "critical/key",
        "critical/key/confirmed",
        "command/#",
    ]) {
        name.put("device/")?.put(given.device)?.put("/")?.put(end)?;
    }
    let [low, medium, high, critical, checkpoint, key, confirmed, command] = &names;
    let topics = [low.topic()?, medium.topic()?, high.topic()?, critical.topic()?];
    let (checkpoint, key) = (checkpoint.topic()?, key.topic()?);
    let filters = [command, confirmed].map(|name| Filter::new(name.as_str()));
    let [command, confirmed] = filters;
    let filters = [(command?, Qos::AtLeastOnce), (confirmed?, Qos::AtLeastOnce)];
    let mut map = [(filters[0].0, Class::High); Topics::MAX];
    let mut known = 0;
    for (entry, filter) in map.iter_mut().zip(given.topics.iter()) {
        *entry = filter;
        known += 1;
    }
    let map = TopicMap::new(map.get(..known).unwrap_or_default());

    let mac_key = MacKey::from_bytes(given.mac_key);
    let mut three = Three::new(&given, epoch);
    for level in Level::ALL {
        let id = ring.active(level);
        three.make(level, id, commands.seed(level, id).unwrap_or(given.key(level).seed))?;
    }
    let mut sealer = Sealer::of(
        readings::forms(given.saying),
        &given.policy,
        keys::NEED,
        numbers,
        ring,
        &mut three,
        topics[2],
    );
    if given.tagged.contains(&true) {
        sealer.tags = Some(Tags::<TAGS> { classes: given.tagged, ..Tags::new(&mac_key, given.mac_key_id) });
    }

    let settings = Settings {
        keepalive_s: given.keepalive_s,
        answer_ms: u64::from(given.answer_ms),
        filters: if given.commander.is_some() { &filters } else { &[] },
        first_packet_id: (epoch as u16).wrapping_mul(251).max(1),
        ..Settings::new(given.device)
    };
    let (mut queue, mut control) = ([0; commands::QUEUE], [0; 512]);
    let (mut came, mut flight) = ([0; commands::CAME], [0; commands::FLIGHT]);
    let mut publisher = Publisher::new(settings, &mut queue, &mut control, &mut came, [&mut flight]);

    let mut gathered = [0; readings::MEMORY];
    let mut readings = Readings::new(given.saying, &mut gathered);
    let (mut read_at, mut round, mut space) = (None::<u64>, 0u32, [0; 8 + 20 * TAGS]);
    loop {
        let now = clock.now();
        let time = UnixMillis(u64::from(unix_seconds()) * 1000);
        transport.tick(now);
        while let Some(event) =
            publisher.poll(now, epoch.wrapping_mul(0x9e37_79b9) ^ now as u32, &mut transport)
        {
            told(&event);
            readings.event(&event);
            commands.event(&event, &mut sealer, time, now, clock.fraction())?;
        }
        commands.step(&mut publisher, &mut sealer, (key, &map), time, now)?;
        let interval_ms = u64::from(commands.interval_ms().unwrap_or(given.interval_ms));
        if read_at.is_none_or(|at| now >= at.saturating_add(interval_ms)) {
            read_at = Some(now);
            readings.round(&mut publisher, (topics, &map), time, now, round);
            round = round.wrapping_add(1);
        }
        // No more than signing really has: what is free below this frame.
        let means = Means { energy: 1000, heat: 0, free: free_memory() };
        let mut serve = || sealer.serve(&mut publisher, means, time, now, &mut chosen);
        let (stack, served) = if cfg!(feature = "measure") { stack_of(&mut serve) } else { (0, serve()) };
        if let Some(served) = served {
            told_served(&served);
            readings.served(&served, now);
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

/// How long the device is up, how much memory it has, how many rounds it made.
fn reading(text: &mut Text, now: u64, round: u32) -> Result<(), Error> {
    text.put("{\"up\":")?.number(now)?;
    text.put(",\"free\":")?.number(free_memory().into())?;
    text.put(",\"round\":")?.number(round.into())?;
    text.put("}").map(|_| ())
}
