//! What a policy costs: time, bytes and energy of a workload, under rules that are fixed, the paper's, or ours.
//!
//! The paper gives three workloads and prints four tables of them (seed 002, Tables 9 and 12 to 14). Each figure stands here
//! three times: as printed, as the paper's own rules give it, and as our rules give it with costs that were measured.
//! Everything is a pure function of tables; docs/mqtt-paper.md has the results.

pub mod measured;
pub mod paper;

use std::borrow::ToOwned as _;
use std::string::String;
use std::vec;

use crate::form::{By, Form};
use crate::level::{Class, Downgrades, Means, Need, Policy, choose};
use crate::message::{Message, Number, UnixMillis};
use crate::seal::overhead;
use crate::topic::Topic;
use sealstone_mldsa::Level;

/// What a device sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Its name.
    pub name: String,
    /// Shares of the classes, in the order of [`Class::ALL`]. They sum up to 1.
    pub shares: [f64; 4],
    /// Messages a day.
    pub per_day: f64,
    /// Bytes of a payload.
    pub payload: usize,
}

impl Workload {
    /// The paper's three (7.4.1), with its 100 messages a day and 50 bytes.
    pub fn papers() -> [Workload; 3] {
        [
            ("environmental", [0.80, 0.15, 0.04, 0.01]),
            ("industrial", [0.60, 0.20, 0.15, 0.05]),
            ("security", [0.40, 0.30, 0.20, 0.10]),
        ]
        .map(|(name, shares)| Workload {
            name: name.to_owned(),
            shares,
            per_day: 100.0,
            payload: 50,
        })
    }
}

/// What a device has: the paper's three states.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// R ≥ 0.7.
    High,
    /// R ≈ 0.5.
    Medium,
    /// R < 0.4.
    Low,
}

impl State {
    /// All three.
    pub const ALL: [State; 3] = [State::High, State::Medium, State::Low];

    /// The name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            State::High => "high",
            State::Medium => "medium",
            State::Low => "low",
        }
    }

    /// The score R that stands for it.
    pub const fn score(self) -> f64 {
        match self {
            State::High => 0.8,
            State::Medium => 0.5,
            State::Low => 0.3,
        }
    }
}

/// Who chooses the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Always the same.
    Fixed(Level),
    /// The paper's Algorithm 8, with enough memory.
    Paper,
    /// Ours, with a policy, what each level takes, and the free memory of the device.
    Ours {
        /// The rules.
        policy: Policy,
        /// Bytes that signing takes.
        need: Need,
        /// Bytes that are free.
        free: u32,
    },
}

impl Rule {
    /// The level for a class, or none where nothing may be signed.
    pub fn level(&self, class: Class, state: State) -> Option<Level> {
        match self {
            Rule::Fixed(level) => Some(*level),
            Rule::Paper => Some(paper::algorithm_8(class, state.score(), 1.0)),
            Rule::Ours { policy, need, free } => {
                // Energy and temperature that give the state's score, whatever the weights and the memory are.
                let at = |energy: u16| Means { energy, heat: 1000 - energy, free: *free };
                let score = |energy| crate::level::score(policy.weights, at(energy), need);
                let wanted = (state.score() * 1000.0) as u16;
                let energy = (0..=1000).find(|energy| score(*energy) >= wanted).unwrap_or(1000);
                // Each message is looked at alone: how many downgrades came before is another question.
                let mut none = Downgrades::NONE;
                choose(policy, class, at(energy), need, &mut none, UnixMillis(0))
                    .level
                    .ok()
                    .map(|(level, _)| level)
            }
        }
    }
}

/// What signing costs, per level in the order of [`Level::ALL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Costs {
    /// Milliseconds of a signature, mean.
    pub sign_ms: [f64; 3],
    /// Milliseconds of a tag.
    pub tag_ms: f64,
    /// Power while computing, in milliwatts.
    pub cpu_mw: f64,
}

/// What sending and waiting costs. [`Link::SILENT`] is the paper's: nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Power while sending, in milliwatts.
    pub radio_mw: f64,
    /// Milliseconds that the radio is on around a message.
    pub wake_ms: f64,
    /// Power while asleep, in milliwatts.
    pub sleep_mw: f64,
}

impl Link {
    /// Nothing is sent and nothing sleeps: signing is all that draws current (seed 002, 7.5.2).
    pub const SILENT: Link = Link { bytes_per_s: f64::INFINITY, radio_mw: 0.0, wake_ms: 0.0, sleep_mw: 0.0 };
    /// The paper's UART at 115,200 baud to a modem that draws 330 mW (assumed: 100 mA at 3.3 V), 50 ms awake a message
    /// (assumed), and 33 µW asleep (assumed: 10 µA at 3.3 V).
    pub const MODEM: Link = Link { bytes_per_s: 11_520.0, radio_mw: 330.0, wake_ms: 50.0, sleep_mw: 0.033 };
}

/// What a rule comes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Milliseconds of signing a message, mean.
    pub sign_ms: f64,
    /// Shares of the levels.
    pub levels: [f64; 3],
    /// The share that may not be signed.
    pub refused: f64,
    /// Mean of the levels' security categories, 2, 3 and 5, over what is signed.
    pub category: f64,
    /// Bytes of an envelope, mean.
    pub bytes: f64,
    /// Joules a day: signing.
    pub sign_j: f64,
    /// Joules a day: sending.
    pub radio_j: f64,
    /// Joules a day: sleeping.
    pub sleep_j: f64,
}

impl Outcome {
    /// Joules a day.
    pub fn joules(&self) -> f64 {
        self.sign_j + self.radio_j + self.sleep_j
    }

    /// Days that a battery lasts.
    pub fn days(&self, battery_j: f64) -> f64 {
        battery_j / self.joules()
    }
}

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;

/// Runs a workload under a rule. With `tagged`, the share of messages of class low that get a tag instead of a signature
/// (the paper's hybrid authentication, 7.5.3).
pub fn run(
    workload: &Workload,
    state: State,
    rule: &Rule,
    form: Form,
    costs: &Costs,
    link: &Link,
    tagged: f64,
) -> Outcome {
    let (mut levels, mut refused, mut category, mut sign_ms, mut bytes) = ([0.0; 3], 0.0, 0.0, 0.0, 0.0);
    for (class, share) in Class::ALL.into_iter().zip(workload.shares) {
        let tag = if class == Class::Low { tagged } else { 0.0 };
        sign_ms += share * tag * costs.tag_ms;
        bytes += share * tag * envelope(form, workload.payload, By::Mac);
        let signed = share * (1.0 - tag);
        match rule.level(class, state) {
            None => refused += signed,
            Some(level) => {
                levels[level as usize] += signed;
                category += signed * CATEGORIES[level as usize];
                sign_ms += signed * costs.sign_ms[level as usize];
                bytes += signed * envelope(form, workload.payload, By::Signature(level));
            }
        }
    }
    let signed: f64 = levels.iter().sum();
    let sent_s = bytes / link.bytes_per_s + link.wake_ms / 1000.0;
    Outcome {
        sign_ms,
        levels,
        refused,
        category: category / signed.max(f64::MIN_POSITIVE),
        bytes,
        sign_j: workload.per_day * sign_ms * costs.cpu_mw / 1e6,
        radio_j: workload.per_day * sent_s * link.radio_mw / 1e3,
        sleep_j: DAY_S * link.sleep_mw / 1e3,
    }
}

/// The level that a policy chooses for a class, with the energy and the free memory that are there and no heat; none where
/// nothing may be signed. The first message: no downgrade came before.
pub fn level_at(policy: &Policy, need: &Need, class: Class, energy: u16, free: u32) -> Option<Level> {
    let mut none = Downgrades::NONE;
    let means = Means { energy, heat: 0, free };
    choose(policy, class, means, need, &mut none, UnixMillis(0)).level.ok().map(|(level, _)| level)
}

/// Bytes a reading, of `readings` readings of `payload` bytes each in one envelope: as they are for one, as a batch for more.
pub fn bytes_per_reading(form: Form, level: Level, payload: usize, readings: usize) -> f64 {
    let readings = readings.max(1);
    let together = if readings == 1 { payload } else { BATCH_HEAD + readings * (BATCH_ENTRY + payload) };
    envelope(form, together, By::Signature(level)) / readings as f64
}

/// Bytes of a batch before its readings, and before each of them (docs/formats/mqtt.md).
const BATCH_HEAD: usize = 2;
const BATCH_ENTRY: usize = 6;

/// NIST's security categories of the levels (FIPS 204, Table 1).
const CATEGORIES: [f64; 3] = [2.0, 3.0, 5.0];

/// Bytes of an envelope with its payload. What a form cannot hold counts as `v1`: tags in the forms `paper` and `cose`.
pub fn envelope(form: Form, payload: usize, by: By) -> f64 {
    let Ok(topic) = Topic::new("device/7/telemetry/temp") else { return 0.0 };
    let bytes = vec![0; payload];
    let number = (form != Form::Paper).then_some(Number { epoch: 1, sequence: 1 });
    let message = Message { number, time: UnixMillis(1_800_000_000_000), ..Message::new(topic, &bytes) };
    let (form, message) = match (form, by) {
        (Form::Paper | Form::Cose, By::Mac) => {
            (Form::V1, Message { number: Some(Number { epoch: 1, sequence: 1 }), ..message })
        }
        _ => (form, message),
    };
    overhead(form, &message, by).map_or(0.0, |overhead| (overhead + payload) as f64)
}
