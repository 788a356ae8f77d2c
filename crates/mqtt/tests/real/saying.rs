//! How a device says its readings, on both boards: several in one message, what did not change, beside payloads that stay as they are.

use super::*;
use sealstone_mqtt::Message;
use sealstone_mqtt::batch::Readings;
use sealstone_mqtt::cache;
use sealstone_mqtt::sealer::Apart;

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_stm32f405_says_much_in_little() {
    spares(Board::Netduinoplus2);
}

#[test]
#[ignore = "needs QEMU and Mosquitto: ./dev test mqtt"]
fn the_an386_says_much_in_little() {
    spares(Board::Mps2An386);
}

/// Batches of five and unchanged values, in each form; and after the power was cut, a value in full before it is unchanged.
fn spares(board: Board) {
    let _one = ONE_AT_A_TIME.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for form in [Apart::Not, Apart::Property, Apart::Topic] {
        let saying = Saying { form, batch: 5, silence_s: 1, full_s: 4 };
        let place = Place::with(board, &format!("spares-{form:?}"), saying, true);
        let _broker = place.broker();
        let came = subscribe(place.port);
        let mut gateway = Gateway::default();
        for life in 0..2 {
            let mut device = place.power_on();
            gateway.begin_again();
            let (batches, unchanged, full) =
                (gateway.batches.len(), gateway.unchanged.len(), gateway.full.len());
            gateway.until(&came, &mut device, |seen| {
                seen.batches.len() >= batches + 3
                    && seen.unchanged.len() >= unchanged + 3
                    && seen.full.len() >= full + 2
                    && seen.kinds.contains(&Kind::Checkpoint)
            });
            device.cut_the_power();
            gateway.take(&came);
            assert!(
                gateway.batches.iter().all(|readings| *readings == 5),
                "life {life}: {:?}",
                gateway.batches
            );
        }
        assert_eq!(gateway.apart, if form == Apart::Not { 0 } else { gateway.came });
        // Three or four rounds of silence to one that is said, so what came is far less than what was read.
        assert!(
            gateway.unchanged.len() + gateway.full.len() < gateway.batches.len() * 5,
            "{:?}",
            gateway.kinds
        );
        eprintln!(
            "{board:?}, {form:?}: {} messages, {} batches, {} values in full, {} unchanged",
            gateway.numbers.len(),
            gateway.batches.len(),
            gateway.full.len(),
            gateway.unchanged.len()
        );
    }
}

impl Gateway {
    /// What a verified message says of readings.
    pub(super) fn said(&mut self, name: &str, message: &Message<'_>) {
        self.came += 1;
        match message.kind {
            Kind::Plain if name.contains("/status/") => {
                self.full.insert(message.number.unwrap(), message.payload.to_vec());
            }
            Kind::Plain if name.contains("/telemetry/") => {
                assert!(message.payload.starts_with(b"{\"up\":"), "a payload as it was");
            }
            Kind::Batch => {
                assert!(name.contains("/telemetry/"));
                let readings: Vec<_> = Readings::parse(message.payload).unwrap().collect();
                assert!(
                    readings.iter().all(|one| one.bytes.starts_with(b"{\"up\":") && one.before_ms < 60_000)
                );
                self.batches.push(readings.len());
            }
            Kind::Unchanged => {
                let of = cache::parse(message.payload).unwrap();
                let number = message.number.unwrap();
                assert!(of.epoch == number.epoch && of.sequence < number.sequence, "{of:?} in {number:?}");
                assert!(self.full.contains_key(&of), "unchanged since {of:?}, which said no value");
                self.unchanged.push(of);
            }
            _ => {}
        }
    }
}

/// base64url without padding (RFC 4648, 5), read digit by digit.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => panic!("no digit: {byte}"),
    };
    let bits: Vec<u8> =
        text.bytes().flat_map(|byte| (0..6).rev().map(move |bit| digit(byte) >> bit & 1)).collect();
    bits.chunks_exact(8).map(|bits| bits.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}
