//! The firmware on two emulated boards, a real Mosquitto between, and every envelope verified.
//!
//! Needs qemu-system-arm, mosquitto and the target thumbv7em-none-eabihf; `./dev test` installs them where it may.

mod commands;
#[cfg(feature = "std")]
mod goes_on;
mod saying;
#[cfg(feature = "std")]
mod tags;
pub(crate) use saying::decoded;

use crate::flash::{Chance, Chip};
use crate::support::topic;
use rumqttc::v5::mqttbytes::QoS;
use rumqttc::v5::mqttbytes::v5::Packet;
use rumqttc::v5::{Client, Event, MqttOptions};
use rustix::process::{Pid, Signal, kill_process};
use sealstone_mldsa::{Level, any};
use sealstone_mqtt::commander::Commander;
use sealstone_mqtt::form::By;
use sealstone_mqtt::keyring::{Announcement, KeyRing};
use sealstone_mqtt::level::{Class, Policy};
use sealstone_mqtt::mac::{Checkpointed, MacKey};
use sealstone_mqtt::number::Numbers;
use sealstone_mqtt::open::Envelope;
#[cfg(feature = "std")]
use sealstone_mqtt::packet::{Properties, Qos, Version, Will};
use sealstone_mqtt::provision::{CommanderKey, Key, Provision, Saying, Topics, first_key_id};
#[cfg(feature = "std")]
use sealstone_mqtt::publisher::{Closed, Publisher, Settings, Transport, Waiting};
use sealstone_mqtt::rotation::Rotation;
use sealstone_mqtt::{Filter, Form, KeyId, Kind, Number};
use std::collections::{HashMap, HashSet};
#[cfg(feature = "std")]
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

/// How long anything may take that happens within seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(180);
/// The boards share the machine: one test at a time.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

const SEEDS: [[u8; 32]; 3] = [[0x44; 32], [0x65; 32], [0x87; 32]];
const MAC_KEY: [u8; 32] = [0x4d; 32];
/// The key of whoever commands the devices.
const COMMANDER: ([u8; 32], KeyId) = ([0xc0; 32], KeyId(8701));
const CLASSES: [(&str, Class); 4] = [
    ("device/+/telemetry/#", Class::Low),
    ("device/+/status/#", Class::Medium),
    ("device/+/alert/#", Class::High),
    ("device/+/critical/#", Class::Critical),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Board {
    /// An STM32F405; USART2 and a modem that passes bytes through.
    Netduinoplus2,
    /// A Cortex-M4 with TCP/IP of its own.
    Mps2An386,
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_publishes_at_all_levels_and_survives_its_broker() {
    publishes(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_publishes_at_all_levels_and_survives_its_broker() {
    publishes(Board::Mps2An386);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_uses_no_number_twice_whenever_its_power_is_cut() {
    killed(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_uses_no_number_twice_whenever_its_power_is_cut() {
    killed(Board::Mps2An386);
}

/// The publisher by itself at a real broker, in both versions: each quality, a long message, what it is subscribed to, a broker that goes
/// and comes, a will.
#[test]
#[cfg(feature = "std")]
fn both_versions_of_mqtt_at_a_real_broker() {
    for version in [Version::V311, Version::V5] {
        let place = Place::bare(&format!("{version:?}"));
        let mut broker = place.broker();
        let came = subscribe(place.port);
        let filters = [(Filter::new("device/7/command/#").unwrap(), Qos::AtLeastOnce)];
        let settings = Settings { version, filters: &filters, answer_ms: 3_000, ..Settings::new("seven") };
        let (mut queue, mut control, mut buffer) = ([0; 12_000], [0; 256], [0; 8_000]);
        let (mut one, mut two) = ([0; 6_000], [0; 6_000]);
        let flights = [&mut one[..], &mut two[..]];
        let mut publisher = Publisher::new(settings, &mut queue, &mut control, &mut buffer, flights);
        let will = Will {
            topic: topic("device/7/alert/gone"),
            payload: b"last words",
            qos: Qos::AtLeastOnce,
            retain: false,
            delay_s: 0,
            properties: Properties::NONE,
        };
        publisher.set_will(Some(will));
        let mut line = Line { port: place.port, stream: None };
        let begun = Instant::now();
        let (mut wanted, mut got) = (HashSet::new(), HashSet::new());
        for round in 0..2u8 {
            for (qos, len) in [(0, 5), (1, 4_700), (2, 300), (1, 2), (2, 4_700)] {
                let payload = [&[round, qos, len as u8][..], &vec![0xa5; len]].concat();
                let qos = Qos::ALL[usize::from(qos)];
                let message =
                    Waiting { qos, ..Waiting::new(Class::Low, topic("device/7/command/x"), &payload) };
                publisher.push(&message, |_, _| panic!("dropped")).unwrap();
                wanted.insert(payload);
            }
            let (mut delivered, mut received, mut sessions) = (0, 0, Vec::new());
            // A broker keeps no message of QoS 0 for a gateway that is still on its way back.
            let missing = |got: &HashSet<Vec<u8>>| wanted.iter().any(|one| one[1] > 0 && !got.contains(one));
            while delivered < 5 || received < 5 || missing(&got) {
                assert!(
                    begun.elapsed() < PATIENCE,
                    "{version:?}: {delivered} delivered, {received} came back"
                );
                match publisher.poll(begun.elapsed().as_millis() as u64, 7, &mut line) {
                    Some(sealstone_mqtt::publisher::Event::Delivered(_)) => delivered += 1,
                    Some(sealstone_mqtt::publisher::Event::Received(publish, payload)) => {
                        assert_eq!(publish.topic, topic("device/7/command/x"));
                        assert!(wanted.contains(payload));
                        received += 1;
                    }
                    Some(sealstone_mqtt::publisher::Event::Connected { session_present }) => {
                        sessions.push(session_present)
                    }
                    _ => {}
                }
                // The payload is the envelope: what is tried is the way, not the seal.
                if let Some(turn) = publisher.turn(begun.elapsed().as_millis() as u64) {
                    let len = turn.message().unwrap().payload.len();
                    let copy = |message: &Waiting<'_>, out: &mut [u8]| {
                        out.copy_from_slice(message.payload);
                        Ok(len)
                    };
                    turn.send(len, copy).unwrap();
                }
                got.extend(came.try_iter().map(|(_, payload, _)| payload));
                std::thread::sleep(Duration::from_millis(1));
            }
            assert_eq!(sessions, [round == 1], "{version:?}: the session outlives the broker");
            if round == 0 {
                broker.stop();
                broker = place.broker();
            }
        }
        line.stream = None; // gone without a word
        let (_, last, _) = std::iter::from_fn(|| Some(came.recv_timeout(PATIENCE).unwrap()))
            .find(|(name, ..)| name == "device/7/alert/gone")
            .unwrap();
        assert_eq!(last, b"last words");
    }
}

/// Mosquitto (2.0.11, 2.0.21) takes each message that is larger than a device said for one under way, for ever: after as many as the
/// device's receive maximum it sends no more. So a device does not say it, and skips them.
#[test]
#[cfg(feature = "std")]
fn messages_that_are_too_large_do_not_silence_a_device() {
    use sealstone_mqtt::publisher::Event;
    for version in [Version::V311, Version::V5] {
        let place = Place::bare(&format!("large-{version:?}"));
        let _broker = place.broker();
        let filters = [(Filter::new("device/7/command").unwrap(), Qos::AtLeastOnce)];
        let settings = Settings { version, filters: &filters, answer_ms: 3_000, ..Settings::new("seven") };
        let (mut queue, mut control, mut buffer) = ([0; 100], [0; 256], [0; 1_000]);
        let mut publisher = Publisher::<1>::new(settings, &mut queue, &mut control, &mut buffer, [&mut []]);
        let mut line = Line { port: place.port, stream: None };
        let (begun, mut skipped) = (Instant::now(), 0);
        loop {
            assert!(begun.elapsed() < Duration::from_secs(60), "{version:?}: {skipped} skipped, and no more");
            match publisher.poll(begun.elapsed().as_millis() as u64, 7, &mut line) {
                Some(Event::Subscribed { .. }) => {
                    let (client, mut connection) =
                        Client::new(MqttOptions::new("operator", "127.0.0.1", place.port), 64);
                    for payload in (0..20).map(|_| vec![1; 3_000]).chain([b"close".to_vec()]) {
                        client.publish("device/7/command", QoS::AtLeastOnce, false, payload).unwrap();
                    }
                    std::thread::spawn(move || connection.iter().take_while(Result::is_ok).for_each(drop));
                }
                Some(Event::Skipped(len)) => {
                    assert!(len > 3_000);
                    skipped += 1;
                }
                Some(Event::Received(_, payload)) => {
                    assert_eq!((payload, skipped), (&b"close"[..], 20), "{version:?}");
                    break;
                }
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }
}

/// A TCP connection that never waits.
#[cfg(feature = "std")]
struct Line {
    port: u16,
    stream: Option<TcpStream>,
}

#[cfg(feature = "std")]
impl Transport for Line {
    fn connect(&mut self) -> Result<bool, Closed> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|_| Closed)?;
        stream.set_nonblocking(true).map_err(|_| Closed)?;
        self.stream = Some(stream);
        Ok(true)
    }
    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        some(self.stream.as_mut().ok_or(Closed)?.write(bytes))
    }
    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
        match self.stream.as_mut().ok_or(Closed)?.read(out) {
            Ok(0) => Err(Closed),
            other => some(other),
        }
    }
    fn close(&mut self) {
        self.stream = None;
    }
}

#[cfg(feature = "std")]
fn some(done: std::io::Result<usize>) -> Result<usize, Closed> {
    match done {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Ok(0),
        other => other.map_err(|_| Closed),
    }
}

/// Three levels, tags and a checkpoint over them; then the broker goes and comes, and all of it again.
fn publishes(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::new(board, "publishes");
    let mut broker = place.broker();
    let came = subscribe(place.port);
    let mut device = place.power_on();
    let mut gateway = Gateway::default();
    gateway.until(&came, &mut device, |seen| seen.complete());
    let epoch = gateway.numbers.keys().next().unwrap().0;
    let before = gateway.numbers.len();
    broker.stop();
    drop(broker);
    let _broker = place.broker();
    gateway.begin_again();
    gateway.until(&came, &mut device, |seen| seen.complete());
    assert!(gateway.numbers.len() > before);
    assert!(
        gateway.numbers.keys().all(|(of, _)| *of == epoch),
        "the device went on, and did not start again"
    );
    eprintln!("{board:?}: {} messages, {:?}", gateway.numbers.len(), gateway.sealed_by);
}

/// The emulator is killed twenty times, at any point: what came was sealed once a number.
fn killed(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::new(board, "killed");
    let _broker = place.broker();
    let came = subscribe(place.port);
    let mut gateway = Gateway::default();
    let mut chance = Chance(0x6b11 + board as u64);
    for _ in 0..20 {
        let mut device = place.power_on();
        // Now and then within the first milliseconds, where the epoch is written.
        let wait = if chance.below(3) == 0 { chance.below(60) } else { chance.below(2_500) };
        std::thread::sleep(Duration::from_millis(wait));
        device.cut_the_power();
        gateway.take(&came);
    }
    // A last life, whole: everything works still.
    let mut device = place.power_on();
    gateway.begin_again();
    gateway.until(&came, &mut device, |seen| seen.complete());
    let epochs: HashSet<u32> = gateway.numbers.keys().map(|(epoch, _)| *epoch).collect();
    assert!(epochs.len() > 5, "{} lives were long enough to publish", epochs.len());
    eprintln!("{board:?}: {} messages of {} epochs, no number twice", gateway.numbers.len(), epochs.len());
}

/// Topic, payload, and the user property that holds a detached envelope.
type Came = (String, Vec<u8>, Option<String>);

/// What a gateway makes of what comes.
#[derive(Default)]
struct Gateway {
    /// The keys that were announced, by id.
    announced: HashMap<u16, (Level, Vec<u8>)>,
    /// The newest id that signed at a level, and the number that it began with.
    newest: HashMap<Level, (u16, (u32, u32))>,
    /// The bytes that came under each number.
    numbers: HashMap<(u32, u32), Vec<u8>>,
    sealed_by: HashMap<String, usize>,
    tagged: HashMap<(u32, u32), Vec<u8>>,
    checkpointed: usize,
    /// Since the last beginning.
    seals: HashSet<By>,
    kinds: HashSet<Kind>,
    /// How many came, and how many beside their payload.
    came: usize,
    apart: usize,
    /// The latest envelope on the `/$sig` of a topic.
    sigs: HashMap<String, Vec<u8>>,
    /// Readings of each batch.
    batches: Vec<usize>,
    /// The value of each number that said it in full, and the numbers that "unchanged" named.
    full: HashMap<Number, Vec<u8>>,
    unchanged: Vec<Number>,
}

impl Gateway {
    fn complete(&self) -> bool {
        let all = Level::ALL.map(By::Signature).into_iter().chain([By::Mac]);
        all.into_iter().all(|by| self.seals.contains(&by)) && self.kinds.contains(&Kind::Checkpoint)
    }

    fn begin_again(&mut self) {
        self.seals.clear();
        self.kinds.clear();
    }

    fn until(&mut self, came: &mpsc::Receiver<Came>, device: &mut Device, enough: impl Fn(&Self) -> bool) {
        let begin = Instant::now();
        while !enough(self) {
            let told = || std::fs::read_to_string(&device.log).unwrap_or_default();
            assert!(begin.elapsed() < PATIENCE, "waited in vain: {:?}\n{}", self.seals, told());
            assert!(device.process.try_wait().unwrap().is_none(), "the device stopped\n{}", told());
            if let Ok(one) = came.recv_timeout(Duration::from_millis(100)) {
                self.message(one);
            }
        }
    }

    fn take(&mut self, came: &mpsc::Receiver<Came>) {
        while let Ok(one) = came.try_recv() {
            self.message(one);
        }
    }

    /// Verifies: nothing comes that does not.
    fn message(&mut self, (name, bytes, seal): Came) {
        let name = name.as_str();
        if name.contains("/command") || name.ends_with("/confirmed") {
            return; // what devices are told
        }
        if let Some(topic) = name.strip_suffix("/$sig") {
            self.sigs.insert(topic.to_owned(), bytes);
            return;
        }
        let seal = seal.map(|text| saying::decoded(&text)).or_else(|| self.sigs.remove(name));
        let (apart, seal) = (seal.is_some(), seal.unwrap_or_default());
        let envelope = match apart {
            true => Envelope::parse_detached(topic(name), &bytes, &seal),
            false => Envelope::parse(Form::V1, topic(name), &bytes),
        };
        let envelope = envelope.unwrap();
        let (id, number) = (envelope.claimed().key_id, envelope.claimed().number.unwrap());
        let message = match envelope.by() {
            By::Signature(level) => envelope.verify(&self.key(level, id)).unwrap(),
            By::Mac => envelope.verify_mac(&MacKey::from_bytes(&MAC_KEY)).unwrap(),
        };
        let number = (number.epoch, number.sequence);
        if let By::Signature(level) = envelope.by() {
            let (newest, since) = *self.newest.entry(level).or_insert((id.0, number));
            assert!(id.0 >= newest || number < since, "key {} signs after key {newest}", id.0);
            if id.0 > newest {
                self.newest.insert(level, (id.0, number));
            }
        }
        if name.ends_with("/critical/key") {
            let said = Announcement::parse(message.payload).unwrap();
            let key = (said.level, said.public_key.to_vec());
            let before = self.announced.insert(said.key_id.0, key.clone());
            assert!(before.is_none_or(|before| before == key), "two keys with the id {}", said.key_id.0);
        }
        // With QoS 1 the same envelope may come twice; another one under its number may not.
        let whole = [&bytes[..], &seal].concat();
        let before = self.numbers.insert(number, whole.clone());
        assert!(before.is_none_or(|before| before == whole), "two envelopes with the number {number:?}");
        self.apart += usize::from(apart);
        self.said(name, &message);
        let floor = match name.split('/').nth(2).unwrap() {
            "telemetry" | "status" => Level::MlDsa44,
            "alert" => Level::MlDsa65,
            _ => Level::MlDsa87,
        };
        match envelope.by() {
            By::Signature(level) => assert!(level >= floor, "{name} at {level}"),
            By::Mac => {
                assert!(name.contains("telemetry"), "{name} has a tag");
                self.tagged.insert(number, envelope.seal().to_vec());
            }
        }
        if message.kind == Kind::Checkpoint {
            let named = Checkpointed::parse(message.payload).unwrap();
            for (sequence, tag) in named.tags() {
                if let Some(whole) = self.tagged.get(&(named.epoch, sequence)) {
                    assert!(whole.starts_with(tag), "a checkpoint names another tag");
                    self.checkpointed += 1;
                }
            }
        }
        *self.sealed_by.entry(format!("{:?}", envelope.by())).or_default() += 1;
        self.seals.insert(envelope.by());
        self.kinds.insert(message.kind);
    }
}

impl Gateway {
    /// A key that was given or announced.
    fn key(&self, level: Level, id: KeyId) -> any::VerifyingKey {
        if id == first_key_id(level) {
            return any::SigningKey::from_seed(level, &SEEDS[level as usize]).verifying_key();
        }
        let (of, public) = self.announced.get(&id.0).expect("no key that nobody announced");
        assert_eq!(*of, level);
        any::VerifyingKey::decode(level, public).unwrap()
    }
}

/// Subscribes to everything of devices, in a session that outlives the broker.
fn subscribe(port: u16) -> mpsc::Receiver<Came> {
    let mut options = MqttOptions::new("gateway", "127.0.0.1", port);
    options.set_clean_start(false).set_session_expiry_interval(Some(3_600));
    let (client, mut connection) = Client::new(options, 64);
    let (send, came) = mpsc::channel();
    let (ready, is_ready) = mpsc::channel();
    std::thread::spawn(move || {
        for event in connection.iter() {
            match event {
                Ok(Event::Incoming(Packet::SubAck(_))) => drop(ready.send(())),
                Ok(Event::Incoming(Packet::ConnAck(answer))) if !answer.session_present => {
                    client.try_subscribe("device/#", QoS::AtLeastOnce).unwrap();
                }
                Ok(Event::Incoming(Packet::Publish(publish))) => {
                    let name = String::from_utf8(publish.topic.to_vec()).unwrap();
                    let said = publish.properties.map(|properties| properties.user_properties);
                    let seal = said.unwrap_or_default().into_iter().find(|(name, _)| name == "sealstone");
                    let seal = seal.map(|(_, value)| value);
                    if send.send((name, publish.payload.to_vec(), seal)).is_err() {
                        return;
                    }
                }
                Ok(_) => {}
                Err(_) => std::thread::sleep(Duration::from_millis(200)), // the broker is away
            }
        }
    });
    is_ready.recv_timeout(PATIENCE).unwrap();
    came
}

/// A folder with what a device and a broker have.
struct Place {
    board: Board,
    folder: PathBuf,
    image: PathBuf,
    port: u16,
}

impl Place {
    /// For a broker alone.
    fn bare(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("sealstone-mqtt-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Place { board: Board::Netduinoplus2, folder, image: PathBuf::new(), port }
    }

    /// For a device that takes no commands.
    fn new(board: Board, name: &str) -> Self {
        Self::with(board, name, Saying::PLAIN, false)
    }

    fn with(board: Board, name: &str, saying: Saying, commanded: bool) -> Self {
        let mut place = Place::bare(&format!("{board:?}-{name}"));
        (place.board, place.image) = (board, image(board));
        // docs/formats/mqtt-device.md, "The flash of a device". Who takes no commands needs no more than the first four pages.
        let mut pairs = [(); 6].map(|()| Chip::new(1024));
        let [numbers, ring, told, taken, template, seeds] = &mut pairs;
        Numbers::format(numbers, 0).unwrap();
        KeyRing::format(ring, Level::ALL.map(first_key_id)).unwrap();
        Commander::<&any::VerifyingKey, _>::format([told, taken, template]).unwrap();
        Rotation::format(seeds).unwrap();
        let pairs = &pairs[..if commanded { 6 } else { 2 }];
        let flash: Vec<u8> = pairs.iter().flat_map(|pair| pair.bytes.clone()).collect();
        std::fs::write(place.folder.join("flash.bin"), flash).unwrap();
        let commander = any::SigningKey::from_seed(Level::MlDsa87, &COMMANDER.0).verifying_key();
        let commander =
            CommanderKey { level: Level::MlDsa87, id: COMMANDER.1, public_key: commander.encode() };
        let mut topics = Vec::new();
        for (filter, class) in CLASSES {
            let mut entry = [0; 64];
            let len = Topics::emit(Filter::new(filter).unwrap(), class, &mut entry).unwrap();
            topics.extend(&entry[..len]);
        }
        let given = Provision {
            device: "7",
            keys: Level::ALL.map(|level| Key { id: first_key_id(level), seed: &SEEDS[level as usize] }),
            mac_key_id: KeyId(9),
            mac_key: &MAC_KEY,
            tagged: [true, false, false, false],
            address: [10, 0, 2, 2],
            port: place.port,
            keepalive_s: 10,
            answer_ms: 4_000,
            interval_ms: 100,
            policy: Policy::MAINS,
            saying,
            topics: Topics::new(&topics).unwrap(),
            commander: commanded.then_some(commander),
        };
        let mut page = [0xff; 4096];
        given.emit(&mut page).unwrap();
        std::fs::write(place.folder.join("given.bin"), page).unwrap();
        place
    }

    /// Mosquitto on the place's port, with sessions that outlive it.
    fn broker(&self) -> Broker {
        let settings = format!(
            "listener {} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {}/\nuser root\n",
            self.port,
            self.folder.display()
        );
        let file = self.folder.join("mosquitto.conf");
        std::fs::write(&file, settings).unwrap();
        let program = ["/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto"]
            .into_iter()
            .find(|path| Path::new(path).exists())
            .unwrap_or("mosquitto");
        let log = std::fs::File::create(self.folder.join("mosquitto.log")).unwrap();
        let command = Command::new(program).arg("-c").arg(&file).stdout(Stdio::null()).stderr(log).spawn();
        let mut broker = Broker(command.expect("mosquitto starts"));
        let begin = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(begin.elapsed() < PATIENCE && broker.0.try_wait().unwrap().is_none(), "no broker");
            std::thread::sleep(Duration::from_millis(20));
        }
        broker
    }

    fn power_on(&self) -> Device {
        let log = self.folder.join("device.log");
        let told = std::fs::File::create(&log).unwrap();
        let errors = told.try_clone().unwrap();
        let mut command = Command::new("qemu-system-arm");
        command.args(["-display", "none", "-monitor", "none", "-serial", "null"]);
        command.args(["-semihosting-config", "enable=on,target=native"]);
        match self.board {
            Board::Netduinoplus2 => {
                let modem = format!("socket,id=modem,host=127.0.0.1,port={},reconnect=1", self.port);
                command.args(["-M", "netduinoplus2", "-chardev", &modem, "-serial", "chardev:modem"]);
                command.args(["-device", "loader,file=given.bin,addr=0x080e0000,force-raw=on"]);
            }
            Board::Mps2An386 => {
                command.args(["-M", "mps2-an386", "-nic", "user,model=lan9118"]);
                command.args(["-device", "loader,file=given.bin,addr=0x003e0000,force-raw=on"]);
            }
        }
        command.arg("-kernel").arg(&self.image);
        command.current_dir(&self.folder).stdin(Stdio::null()).stdout(told).stderr(errors);
        Device { process: command.spawn().expect("QEMU starts"), log }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

struct Broker(Child);

impl Broker {
    /// In good order, so that it stores its sessions.
    fn stop(&mut self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Device {
    process: Child,
    log: PathBuf,
}

impl Device {
    fn cut_the_power(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Builds the firmware for a board; says where it is.
fn image(board: Board) -> PathBuf {
    let firmware = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware");
    let target = firmware.join("target").join(format!("device-{board:?}"));
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(&firmware).args(["build", "-q", "--release", "--locked", "-p", "sealstone-device"]);
    if board == Board::Mps2An386 {
        command.args(["--features", "mps2-an386"]);
    }
    // The settings of this test run are not the firmware's.
    let command = command.env_remove("RUSTFLAGS").arg("--target-dir").arg(&target);
    assert!(command.status().unwrap().success(), "the firmware does not build");
    target.join("thumbv7em-none-eabihf/release/sealstone-device")
}
