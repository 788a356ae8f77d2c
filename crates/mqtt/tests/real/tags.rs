//! The firmware's tags and checkpoints at the gateway itself: what it covers, what it says of somebody who has the shared key, and of
//! tags whose checkpoint a power cut has swallowed.

use super::*;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry, MacEntry, StateName, mac_text};
use sealstone_mqtt::gateway::wire::{Publish, Qos};
use sealstone_mqtt::gateway::{Config, Error, Event, Gateway, Observer, Stop, client, link};
use sealstone_mqtt::mac::Tagger;
use sealstone_mqtt::{Message, Number, UnixMillis, seal};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, MutexGuard};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_is_covered_and_whoever_has_its_shared_key_is_found_out() {
    covered(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_is_covered_and_whoever_has_its_shared_key_is_found_out() {
    covered(Board::Mps2An386);
}

fn covered(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::new(board, "tags");
    let _broker = place.broker();
    directory(&place);
    let gateway = Running::start(&place, 3_600);
    let mut device = place.power_on();
    let told = |device: &Device| std::fs::read_to_string(&device.log).unwrap_or_default();
    gateway.until(&told(&device), |seen| seen.covered >= 30 && seen.signed >= 5);
    {
        let seen = gateway.seen();
        assert_eq!((seen.lost, seen.contradicted, seen.uncovered), (0, 0, 0), "an honest device");
        assert_eq!(seen.refused, Vec::<&str>::new());
    }

    // Somebody else has the shared key, and is faster under the next numbers.
    let last = gateway.seen().last.unwrap();
    for ahead in 10..30 {
        forge(&place, Number { sequence: last.sequence + ahead, ..last });
    }
    gateway.until(&told(&device), |seen| seen.contradicted > 0 && seen.alerts.contains(&"contradicted"));
    gateway.until(&told(&device), |seen| seen.refused.contains(&"replay"));

    // Past the forger's numbers; then the power goes between a tag and its checkpoint.
    gateway.until(&told(&device), |seen| seen.last.unwrap().sequence > last.sequence + 60);
    let covered = gateway.seen().covered;
    gateway.until(&told(&device), |seen| seen.covered > covered);
    let taken = gateway.seen().taken;
    gateway.until(&told(&device), |seen| seen.taken > taken);
    device.cut_the_power();
    assert_eq!(gateway.seen().uncovered, 0);
    gateway.stop().unwrap();
    // Another gateway reads from the journal what waits, and is less patient.
    let gateway = Running::start(&place, 1);
    gateway.until("", |seen| seen.uncovered > 0 && seen.alerts.contains(&"uncovered"));
    let device = place.power_on();
    gateway.until(&told(&device), |seen| seen.covered >= 10 && seen.last.unwrap().epoch > last.epoch);
    let seen = gateway.seen();
    eprintln!("{board:?}: {} tags taken in the second life, {} covered", seen.taken, seen.covered);
    drop(seen);
    gateway.stop().unwrap();
}

/// The device's entry, and its shared key.
fn directory(place: &Place) {
    let file = place.folder.join("7.9.mac");
    std::fs::write(&file, *mac_text(&MAC_KEY)).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
    let key = |level| any::SigningKey::from_seed(level, &SEEDS[level as usize]).verifying_key();
    let entry = Entry {
        device: "7".into(),
        topics: vec![],
        keys: Level::ALL.map(|level| KeyEntry::new(first_key_id(level), &key(level))).to_vec(),
        macs: vec![MacEntry { id: 9, state: StateName::Active, retired_at: None, file: "7.9.mac".into() }],
    };
    std::fs::write(place.folder.join("devices.json"), serde_json::to_string(&entry).unwrap()).unwrap();
}

fn now() -> UnixMillis {
    UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64)
}

/// Publishes what the device did not say, under a number that it has not yet given.
fn forge(place: &Place, number: Number) {
    let name = "device/7/telemetry/up";
    let said = Message {
        key_id: KeyId(9),
        number: Some(number),
        time: now(),
        ..Message::new(topic(name), b"{\"up\":0}")
    };
    let mut wire = [0; 200];
    let len = seal::seal(Form::V1, &said, &mut Tagger(&MacKey::from_bytes(&MAC_KEY)), &mut wire).unwrap();
    let mut broker = Config::default().broker;
    (broker.address, broker.client_id) = (format!("127.0.0.1:{}", place.port), "forger".into());
    let mut client = client::Client::connect(&link::Options::of(&broker).unwrap()).unwrap().0;
    let (topic, payload) = (name.into(), wire[..len].to_vec());
    client.publish(Publish { qos: Qos::AtLeastOnce, topic, payload, ..Publish::default() }).unwrap();
    client.disconnect().unwrap();
}

/// What a gateway said of itself.
#[derive(Default)]
struct Seen {
    subscribed: bool,
    taken: u64,
    signed: u64,
    /// Of the latest tag.
    last: Option<Number>,
    covered: u64,
    lost: usize,
    contradicted: usize,
    uncovered: usize,
    refused: Vec<&'static str>,
    alerts: Vec<&'static str>,
}

#[derive(Default)]
struct Watch(Mutex<Seen>);

impl Observer for Watch {
    fn note(&self, event: &Event<'_>) {
        let mut seen = self.0.lock().unwrap();
        match event {
            Event::Subscribed => seen.subscribed = true,
            Event::Passed { message, .. } => {
                match message.signer.as_ref().map(|signer| (signer.by, signer.number)) {
                    Some((By::Mac, number)) => {
                        seen.taken += 1;
                        seen.last = number;
                    }
                    _ => seen.signed += 1,
                }
            }
            Event::Refused { reason, .. } => seen.refused.push(reason.name()),
            Event::Alert { alert } => seen.alerts.push(alert.kind.name()),
            Event::Tags { tally, .. } => {
                seen.covered += tally.covered;
                seen.lost += tally.lost.len();
                seen.contradicted += tally.contradicted.len();
                seen.uncovered += tally.uncovered.len();
            }
            _ => {}
        }
    }
}

/// A gateway in a thread of its own.
struct Running {
    stop: Stop,
    watch: Arc<Watch>,
    thread: Option<JoinHandle<Result<(), Error>>>,
}

impl Running {
    fn start(place: &Place, within_s: u32) -> Self {
        let text = format!(
            "data_dir = {:?}\ndirectory = {:?}\npolicy.checkpoint_within_s = {within_s}\nbroker.address = \"127.0.0.1:{}\"\n",
            place.folder.join("data"),
            place.folder.join("devices.json"),
            place.port
        );
        let gateway = Gateway::new(Config::parse(&text, None).unwrap());
        let (stop, watch) = (gateway.stopper(), Arc::new(Watch::default()));
        let watching = Arc::clone(&watch);
        let thread = Some(std::thread::spawn(move || gateway.run(now, &watching)));
        let running = Running { stop, watch, thread };
        running.until("", |seen| seen.subscribed);
        running
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.watch.0.lock().unwrap()
    }

    fn until(&self, told: &str, enough: impl Fn(&Seen) -> bool) {
        let begin = Instant::now();
        while !enough(&self.seen()) {
            assert!(begin.elapsed() < PATIENCE, "waited in vain\n{told}");
            assert!(!self.thread.as_ref().unwrap().is_finished(), "the gateway ended");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn stop(mut self) -> Result<(), Error> {
        self.stop.stop();
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.stop();
    }
}
