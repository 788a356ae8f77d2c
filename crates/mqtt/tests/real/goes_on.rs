//! The whole way of a rotation: an operator's word, the key that the device makes, the gateway that confirms it, and what is signed
//! with it then.

use super::commands::{COMMAND, Operator};
use super::*;
use sealstone_mldsa::OsRandom;
use sealstone_mqtt::gateway::directory::{Entry, KeyEntry};
use sealstone_mqtt::gateway::{Commander as Confirming, Config, Event as Said, Gateway, Observer};
use sealstone_mqtt::{Number, UnixMillis};
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_goes_on_to_its_next_keys_with_a_gateway() {
    goes_on(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_goes_on_to_its_next_keys_with_a_gateway() {
    goes_on(Board::Mps2An386);
}

/// What the gateway lets pass: by which key.
struct Keys(Mutex<mpsc::Sender<KeyId>>);

impl Observer for Keys {
    fn note(&self, event: &Said<'_>) {
        if let Said::Passed { message, .. } = event
            && let Some(signer) = message.signer.as_ref().filter(|signer| &*signer.device == "7")
        {
            let _ = self.0.lock().unwrap().send(signer.key);
        }
    }
}

fn goes_on(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let place = Place::with(board, "goes-on", Saying::PLAIN, true);
    let _broker = place.broker();
    let public = |level: Level, seed: &[u8; 32]| any::SigningKey::from_seed(level, seed).verifying_key();
    let own =
        Level::ALL.map(|level| KeyEntry::new(first_key_id(level), &public(level, &SEEDS[level as usize])));
    let commander = KeyEntry::new(COMMANDER.1, &public(Level::MlDsa87, &COMMANDER.0));
    let entry = |device: &str, keys| Entry { device: device.into(), topics: vec![], keys, macs: vec![] };
    let entries = [entry("7", own.to_vec()), entry("commander", vec![commander])];
    std::fs::write(place.folder.join("devices.json"), serde_json::to_string(&entries).unwrap()).unwrap();
    let text = format!(
        "data_dir = {:?}\ndirectory = {:?}\nbroker.address = \"127.0.0.1:{}\"\n[keys]\nannouncements = \"confirm\"\ncommander = \"-\"\n",
        place.folder.join("data"),
        place.folder.join("devices.json"),
        place.port,
    );
    let signer = any::SigningKey::from_seed(Level::MlDsa87, &COMMANDER.0).expand();
    let mut sequence = 0;
    // The operator of this test counts in epoch 1.
    let numbers = move || {
        sequence += 1;
        Ok(Number { epoch: 2, sequence })
    };
    let confirming = Confirming::new(COMMANDER.1, signer, Box::new(numbers), Box::new(OsRandom));
    let gateway = Gateway::new(Config::parse(&text, None).unwrap()).with_commander(confirming);
    let stop = gateway.stopper();
    let (sender, passed) = mpsc::channel();
    let now = || UnixMillis(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64);
    let running = std::thread::spawn(move || gateway.run(now, &Keys(Mutex::new(sender))));

    let mut device = place.power_on();
    let mut operator = Operator::new(place.port);
    for (level, name) in [(Level::MlDsa65, "65"), (Level::MlDsa87, "87")] {
        let (old, new) = (first_key_id(level), KeyId(first_key_id(level).0 + 1));
        let until = |wanted: KeyId| {
            let begin = Instant::now();
            while passed.recv_timeout(PATIENCE).unwrap() != wanted {
                assert!(begin.elapsed() < PATIENCE, "{board:?}: nothing by {wanted:?}");
            }
        };
        until(old);
        let rotate = operator.sealed(COMMAND, Kind::Plain, format!("rotate {name}").as_bytes());
        operator.send(COMMAND, &rotate);
        until(new);
    }
    device.says("\"rotated\"", 2);
    device.cut_the_power();
    stop.stop();
    running.join().unwrap().unwrap();
}
