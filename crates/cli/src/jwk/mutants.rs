//! `jwk check` against the library: of thousands of keys that were good and of which something was changed, it finds a fault in exactly
//! those that the library refuses.

use sealstone_jose::{Algorithm, Error as Refusal, JwkSet, PrivateKey, PublicKey, composite};
use serde_json::{Map, Value, json};

use super::check::{Report, examine};
use crate::keyfile::any::Gates;

const SHUT: Gates = Gates { draft: false, legacy: false };
const DRAFT: Gates = Gates { draft: true, legacy: false };

/// SplitMix64 (Steele, Lea, Flood 2014): small, and the same on every machine.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, count: usize) -> usize {
        usize::try_from(self.next() % count as u64).unwrap()
    }

    fn of<'t, T>(&mut self, all: &'t [T]) -> &'t T {
        &all[self.below(all.len())]
    }
}

/// Good keys of every kind, private and public.
fn good() -> Vec<Value> {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();
    let mut all = Vec::new();
    for algorithm in Algorithm::ALL {
        let key = PrivateKey::generate(algorithm).unwrap();
        all.extend([read(&key.public().to_jwk().to_json()), read(&key.to_jwk().to_json())]);
    }
    for algorithm in [composite::Algorithm::MlDsa44Ed25519, composite::Algorithm::MlDsa44Es256] {
        let key = composite::PrivateKey::generate(algorithm).unwrap();
        all.extend([read(&key.public().to_jwk().to_json()), read(&key.to_jwk())]);
    }
    all
}

const NAMES: [&str; 24] = [
    "kty", "alg", "pub", "priv", "seed", "crv", "x", "y", "d", "n", "e", "p", "q", "dp", "dq", "qi", "oth",
    "k", "kid", "use", "key_ops", "ext", "x5c", "X",
];

fn some_value(chance: &mut Chance, others: &Map<String, Value>) -> Value {
    let mine: Vec<&Value> = others.values().collect();
    let fixed = [
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!([]),
        json!({}),
        json!(""),
        json!("A"),
        json!("AA"),
        json!("AB"),
        json!("AA=="),
        json!("A A"),
        json!("+/"),
        json!("sig"),
        json!("enc"),
        json!("AKP"),
        json!("EC"),
        json!("OKP"),
        json!("RSA"),
        json!("oct"),
        json!("akp"),
        json!("ML-DSA-44"),
        json!("ML-DSA-65"),
        json!("ml-dsa-44"),
        json!("ML-DSA-44-ES256"),
        json!("ES256"),
        json!("EdDSA"),
        json!("Ed25519"),
        json!("P-256"),
        json!("P-384"),
        json!("none"),
        json!("RS256"),
        json!("PS256"),
        json!(["sign"]),
        json!(["verify"]),
        json!(["sign", "verify"]),
        json!(["sign", "sign"]),
        json!(["verify", "verify"]),
        json!(["verify", 1]),
        json!(["encrypt"]),
        json!("a\u{0}b"),
        json!("\u{7f}"),
        json!("k".repeat(512)),
        json!("k".repeat(513)),
        json!("A".repeat(43)),
        json!("A".repeat(1750)),
    ];
    match chance.below(4) {
        0 if !mine.is_empty() => (*chance.of(&mine)).clone(),
        _ => chance.of(&fixed).clone(),
    }
}

/// Changes a text in one place.
fn scratch(chance: &mut Chance, text: &mut String) {
    const SYMBOLS: [char; 10] = ['A', 'B', '_', '-', '+', '/', '=', ' ', '\n', 'é'];
    let mut all: Vec<char> = text.chars().collect();
    let at = chance.below(all.len() + 1);
    match chance.below(5) {
        0 => all.insert(at, *chance.of(&SYMBOLS)),
        1 if at < all.len() => drop(all.remove(at)),
        2 if !all.is_empty() => *all.last_mut().unwrap() = *chance.of(&SYMBOLS),
        3 => all.truncate(at),
        _ if at < all.len() => all[at] = *chance.of(&SYMBOLS),
        _ => all.push('='),
    }
    *text = all.into_iter().collect();
}

/// A key of which one to three things were changed.
fn mutant(chance: &mut Chance, good: &[Value]) -> Map<String, Value> {
    let mut map = chance.of(good).as_object().unwrap().clone();
    for _ in 0..1 + chance.below(3) {
        let names: Vec<String> = map.keys().cloned().collect();
        if names.is_empty() {
            break;
        }
        let name = chance.of(&names).clone();
        match chance.below(7) {
            0 => drop(map.remove(&name)),
            1 => {
                let value = map.remove(&name).unwrap();
                map.insert((*chance.of(&NAMES)).to_owned(), value);
            }
            2 => {
                let value = some_value(chance, &map);
                map.insert((*chance.of(&NAMES)).to_owned(), value);
            }
            3 => {
                let value = some_value(chance, &map);
                map.insert(name, value);
            }
            4 => {
                // A member of another key.
                let other = chance.of(good).as_object().unwrap();
                if let Some(value) = other.get(&name) {
                    map.insert(name, value.clone());
                }
            }
            _ => {
                if let Some(Value::String(text)) = map.get_mut(&name) {
                    scratch(chance, text);
                }
            }
        }
    }
    map
}

/// The text of a key, sometimes with a member twice, or damaged as text.
fn written(chance: &mut Chance, map: &Map<String, Value>) -> String {
    let mut text = Value::Object(map.clone()).to_string();
    match chance.below(40) {
        0 => {
            let names: Vec<&String> = map.keys().collect();
            if let (Some(name), Some(end)) = (names.first(), text.pop()) {
                text.push_str(&format!(",\"{name}\":1{end}"));
            }
        }
        1 => {
            let at = chance.below(text.len() + 1);
            text = text.chars().take(at).collect();
        }
        2 => text.push('x'),
        3 => text.insert(0, '\u{feff}'),
        4 => text = format!(" \n{text}\r\n "),
        _ => {}
    }
    text
}

fn faults(text: &str, gates: Gates) -> usize {
    examine(text, gates).iter().map(Report::faults).sum()
}

/// What commands do with a key: public, or else private, or else, with the gate open, composite.
fn read(text: &str, gates: Gates) -> Result<(), Refusal> {
    let standard = match PublicKey::from_jwk(text) {
        Err(Refusal::PrivateMember { .. }) => PrivateKey::from_jwk(text).map(drop),
        read => read.map(drop),
    };
    match standard {
        Err(Refusal::AlgorithmUnknown { .. }) if gates.draft => match composite::PublicKey::from_jwk(text) {
            Err(Refusal::PrivateMember { .. }) => composite::PrivateKey::from_jwk(text).map(drop),
            read => read.map(drop),
        },
        standard => standard,
    }
}

#[test]
fn a_fault_is_found_exactly_where_the_library_refuses() {
    let (good, mut chance, mut wrong) = (good(), Chance(20_261_122), Vec::new());
    let mut counts = [0_usize; 2];
    for gates in [SHUT, DRAFT] {
        for _ in 0..6_000 {
            let map = mutant(&mut chance, &good);
            let text = written(&mut chance, &map);
            let (found, refused) = (faults(&text, gates), read(&text, gates));
            counts[usize::from(refused.is_err())] += 1;
            if (found > 0) != refused.is_err() {
                let findings = examine(&text, gates);
                wrong.push(format!("{findings:?}, and the library: {refused:?}\n{text:.300}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
    assert!(counts.iter().all(|count| *count > 1_000), "both verdicts: {counts:?}");
}

/// A set is good if it can be read whole.
#[test]
fn a_set_has_a_fault_exactly_where_it_cannot_be_read_whole() {
    let (good, mut chance, mut wrong) = (good(), Chance(7), Vec::new());
    let mut counts = [0_usize; 2];
    for _ in 0..3_000 {
        let count = chance.below(4);
        let keys: Vec<Value> = (0..count)
            .map(|_| match chance.below(8) {
                0 => Value::Object(mutant(&mut chance, &good)),
                1 => some_value(&mut chance, &Map::new()),
                // Public ones of standards stand at even places.
                _ => good[2 * chance.below(Algorithm::ALL.len())].clone(),
            })
            .collect();
        let map = json!({"keys": keys}).as_object().unwrap().clone();
        let text = written(&mut chance, &map);
        let (found, refused) = (faults(&text, SHUT), JwkSet::parse_whole(text.as_bytes()).map(drop));
        counts[usize::from(refused.is_err())] += 1;
        if (found > 0) != refused.is_err() {
            wrong.push(format!("{found} faults, and the library: {refused:?}\n{text:.600}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} of {counts:?}:\n{}", wrong.len(), wrong[..wrong.len().min(8)].join("\n"));
    assert!(counts.iter().all(|count| *count > 500), "both verdicts: {counts:?}");
}

#[test]
fn what_is_no_key_at_all_is_a_fault() {
    for text in [
        "",
        " ",
        "null",
        "[]",
        "{}",
        "7",
        "\"AKP\"",
        "{\"keys\":7}",
        "{\"keys\":[[]]}",
        "{\"kty\":{}}",
        "\u{0}",
    ] {
        assert!(faults(text, SHUT) > 0, "{text:?}");
        assert!(read(text, SHUT).is_err(), "{text:?}");
    }
}
