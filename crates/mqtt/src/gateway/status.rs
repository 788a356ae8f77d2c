//! What the page and the metrics show: counts, and the devices as they were last seen.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::alerts::{Alert, AlertKind};
use super::observe::{Event, Observer};
use super::verify::Effect;
use crate::form::By;
use crate::message::UnixMillis;

/// Seconds of the chart.
pub const SECONDS: usize = 120;
/// Alerts that are kept for the page.
const ALERTS: usize = 20;

/// An observer that remembers. Its lock is held for the length of a look.
#[derive(Debug, Default)]
pub struct Status(Mutex<Now>);

/// How it is.
#[derive(Clone, Debug, Default)]
pub struct Now {
    /// The broker's connection stands.
    pub connected: bool,
    /// Connections that were made.
    pub connections: u64,
    /// Of them, those for which the broker had no session.
    pub new_sessions: u64,
    /// Devices in the directory.
    pub directory: usize,
    /// Directories that were not taken because of a fault.
    pub directory_faults: u64,
    /// Messages that came, and bytes of their payloads.
    pub received: (u64, u64),
    /// Messages of QoS 0 that were let go.
    pub dropped: u64,
    /// Messages that passed clean, and with a mark.
    pub passed: (u64, u64),
    /// Copies that the broker has, and those that it did not want.
    pub delivered: (u64, u64),
    /// Keys of devices that were confirmed.
    pub confirmed: u64,
    /// Commands of templates that were let go.
    pub released: u64,
    /// Refused messages by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// Messages with tags: those that were `taken`, and what became of them, by the names of [`super::Tally::counts`].
    pub tags: BTreeMap<&'static str, u64>,
    /// Alerts by kind.
    pub alerts: BTreeMap<&'static str, u64>,
    /// The latest alerts, latest first.
    pub latest: VecDeque<Alert>,
    /// What was seen of each device. Only those that signed something are here.
    pub devices: BTreeMap<Box<str>, Device>,
    /// Messages in each of the last seconds, which ended with the second `until`.
    pub seconds: VecDeque<u32>,
    /// The second that is counted.
    pub until: u64,
}

/// A device as it was last seen.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// When a message of it passed.
    pub seen: UnixMillis,
    /// What sealed it.
    pub by: Option<By>,
    /// Messages that passed.
    pub passed: u64,
    /// Messages on its topics that were refused, by reason.
    pub refused: BTreeMap<&'static str, u64>,
    /// What became of its tags.
    pub tags: BTreeMap<&'static str, u64>,
}

impl Default for UnixMillis {
    /// 1970: not known.
    fn default() -> Self {
        UnixMillis(0)
    }
}

impl Status {
    /// A copy, with the seconds until now.
    pub fn now(&self, now: UnixMillis) -> Now {
        let mut status = self.lock();
        status.tick(now);
        status.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Now> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Now {
    /// Moves the seconds on.
    fn tick(&mut self, now: UnixMillis) {
        let second = now.0.div_euclid(1000);
        let passed = usize::try_from(second.saturating_sub(self.until)).unwrap_or(SECONDS).min(SECONDS);
        for _ in 0..passed {
            self.seconds.push_back(0);
        }
        while self.seconds.len() > SECONDS {
            self.seconds.pop_front();
        }
        self.until = self.until.max(second);
    }

    fn count(&mut self, now: UnixMillis) {
        self.tick(now);
        if let Some(last) = self.seconds.back_mut() {
            *last = last.saturating_add(1);
        }
    }
}

impl Observer for Status {
    fn note(&self, event: &Event<'_>) {
        let status = &mut *self.lock();
        match event {
            Event::Started { devices, .. } | Event::Directory { devices } => status.directory = *devices,
            Event::Connected { session_present } => {
                status.connected = true;
                status.connections += 1;
                status.new_sessions += u64::from(!session_present);
            }
            Event::Disconnected { .. } | Event::Stopped { .. } => status.connected = false,
            Event::Received { bytes } => {
                status.received.0 += 1;
                status.received.1 += *bytes as u64;
            }
            Event::Dropped => status.dropped += 1,
            Event::Passed { message, now } => {
                status.count(*now);
                if message.marks.any() {
                    status.passed.1 += 1;
                } else {
                    status.passed.0 += 1;
                }
                match message.effect {
                    Effect::Confirmed(_) => status.confirmed += 1,
                    Effect::Released { .. } => status.released += 1,
                    _ => {}
                }
                if let Some(signer) = &message.signer {
                    let device = status.devices.entry(signer.device.clone()).or_default();
                    (device.seen, device.by) = (*now, Some(signer.by));
                    device.passed += 1;
                    if signer.by == By::Mac {
                        *status.tags.entry("taken").or_default() += 1;
                    }
                }
            }
            Event::Refused { reason, device, now, .. } => {
                status.count(*now);
                *status.refused.entry(reason.name()).or_default() += 1;
                if let Some(device) = device.and_then(|device| status.devices.get_mut(device)) {
                    *device.refused.entry(reason.name()).or_default() += 1;
                }
            }
            Event::Tags { device, tally, .. } => {
                let counts = tally.counts().into_iter().filter(|(_, count)| *count > 0);
                for (name, count) in counts {
                    *status.tags.entry(name).or_default() += count;
                    if let Some(device) = status.devices.get_mut(*device) {
                        *device.tags.entry(name).or_default() += count;
                    }
                }
            }
            Event::Delivered => status.delivered.0 += 1,
            Event::CopyRefused { .. } => status.delivered.1 += 1,
            Event::DirectoryFault { .. } => status.directory_faults += 1,
            Event::Alert { alert } => {
                *status.alerts.entry(AlertKind::name(alert.kind)).or_default() += 1;
                status.latest.push_front((*alert).clone());
                status.latest.truncate(ALERTS);
            }
            Event::Subscribed => {}
        }
    }
}
