//! What somebody should look at: many downgrades, means that stay low, replays, keys that nobody knows. Pure: the time is passed in.

use std::collections::HashMap;

use super::config;
use super::reason::Reason;
use super::tags::Tally;
use super::verify::Passed;
use crate::level::{BANDS, Class};
use crate::message::UnixMillis;
use sealstone_mldsa::Level;

/// A kind of alert.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AlertKind {
    /// A device announced a key, and the configuration takes none from there.
    Announcement,
    /// A number has two tags, one by the gateway's memory and one by the device's signed word: somebody else has the shared key.
    Contradicted,
    /// A device signed more messages below the default of their class within an hour than the bound allows.
    Downgrades,
    /// A device has two keys under one id: it announced another one than before, or the directory has another one than was confirmed.
    KeyConflict,
    /// Everything that a device signed for so many minutes was below the default: its energy, memory or temperature is low, or
    /// somebody makes it believe so.
    LowMeans,
    /// A number that was accepted came again.
    Replay,
    /// Messages with tags were accepted, and no checkpoint of the device names them: it lost its power or its memory of them, or
    /// somebody else has the shared key.
    Uncovered,
    /// A message of a device, signed with a key that it does not have.
    UnknownKey,
}

impl AlertKind {
    /// All kinds.
    pub const ALL: [AlertKind; 8] = [
        AlertKind::Announcement,
        AlertKind::Contradicted,
        AlertKind::Downgrades,
        AlertKind::KeyConflict,
        AlertKind::LowMeans,
        AlertKind::Replay,
        AlertKind::Uncovered,
        AlertKind::UnknownKey,
    ];

    /// The name in topics, logs and metrics.
    pub const fn name(self) -> &'static str {
        match self {
            AlertKind::Announcement => "announcement",
            AlertKind::Contradicted => "contradicted",
            AlertKind::Downgrades => "downgrades",
            AlertKind::KeyConflict => "key-conflict",
            AlertKind::LowMeans => "low-means",
            AlertKind::Replay => "replay",
            AlertKind::Uncovered => "uncovered",
            AlertKind::UnknownKey => "unknown-key",
        }
    }
}

/// An alert.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alert {
    /// What.
    pub kind: AlertKind,
    /// About which device.
    pub device: Box<str>,
    /// When.
    pub time: UnixMillis,
}

/// What was seen of the devices. Only names that are in the directory get here, so it does not grow with forgeries.
#[derive(Debug)]
pub(super) struct Alerts {
    downgrades_per_hour: u32,
    low_means_ms: u64,
    cooldown_ms: u64,
    devices: HashMap<Box<str>, Seen>,
    told: HashMap<(AlertKind, Box<str>), UnixMillis>,
}

#[derive(Debug, Default)]
struct Seen {
    /// When the hour began that downgrades are counted in, and how many.
    hour: UnixMillis,
    downgrades: u32,
    /// Since when everything was below the default.
    low_since: Option<UnixMillis>,
}

impl Alerts {
    pub(super) fn new(config: &config::Alerts) -> Self {
        Alerts {
            downgrades_per_hour: config.downgrades_per_hour.get(),
            low_means_ms: u64::from(config.low_means_minutes.get()) * 60_000,
            cooldown_ms: u64::from(config.cooldown_s.get()) * 1000,
            devices: HashMap::new(),
            told: HashMap::new(),
        }
    }

    /// A message passed.
    pub(super) fn passed(&mut self, passed: &Passed, now: UnixMillis) -> Option<Alert> {
        let (signer, class) = (passed.signer.as_ref()?, passed.class?);
        // A tag is no downgrade, and says nothing about means.
        let level = signer.by.level()?;
        let seen = self.devices.entry(signer.device.clone()).or_default();
        if level >= default(class) {
            // A class whose default is the least level says nothing about means.
            if default(class) > Level::MlDsa44 {
                seen.low_since = None;
            }
            return None;
        }
        if now.0.saturating_sub(seen.hour.0) >= 3_600_000 {
            (seen.hour, seen.downgrades) = (now, 0);
        }
        seen.downgrades = seen.downgrades.saturating_add(1);
        let since = *seen.low_since.get_or_insert(now);
        if seen.downgrades > self.downgrades_per_hour {
            return self.tell(AlertKind::Downgrades, &signer.device, now);
        }
        if now.0.saturating_sub(since.0) >= self.low_means_ms {
            return self.tell(AlertKind::LowMeans, &signer.device, now);
        }
        None
    }

    /// A message was refused; `device` is in the directory.
    pub(super) fn refused(&mut self, reason: Reason, device: &str, now: UnixMillis) -> Option<Alert> {
        match reason {
            Reason::AnnouncedOtherwise => self.tell(AlertKind::KeyConflict, device, now),
            Reason::Announcement => self.tell(AlertKind::Announcement, device, now),
            Reason::Contradicted => self.tell(AlertKind::Contradicted, device, now),
            Reason::Replay => self.tell(AlertKind::Replay, device, now),
            Reason::UnknownKey => self.tell(AlertKind::UnknownKey, device, now),
            _ => None,
        }
    }

    /// Something became of tags; the device was in the directory when they were accepted.
    pub(super) fn tags(&mut self, device: &str, tally: &Tally, now: UnixMillis) -> [Option<Alert>; 2] {
        [(AlertKind::Contradicted, &tally.contradicted), (AlertKind::Uncovered, &tally.uncovered)]
            .map(|(kind, which)| if which.is_empty() { None } else { self.tell(kind, device, now) })
    }

    /// The directory has another key under an id than was confirmed to a device.
    pub(super) fn key_conflict(&mut self, device: &str, now: UnixMillis) -> Option<Alert> {
        self.tell(AlertKind::KeyConflict, device, now)
    }

    /// An alert, unless the same was told a short time ago.
    fn tell(&mut self, kind: AlertKind, device: &str, now: UnixMillis) -> Option<Alert> {
        let told = self.told.entry((kind, device.into())).or_insert(UnixMillis(0));
        if told.is_known() && now.0.saturating_sub(told.0) < self.cooldown_ms {
            return None;
        }
        *told = now;
        Some(Alert { kind, device: device.into(), time: now })
    }
}

/// The default of a class: the paper's Table 3.
fn default(class: Class) -> Level {
    BANDS[class as usize].default
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::form::{By, Form};
    use crate::gateway::tags::Tagged;
    use crate::gateway::verify::{Effect, Signer};
    use crate::gateway::{Config, Marks};
    use crate::message::{KeyId, Kind, Number};

    fn signed(level: Level, class: Class) -> Passed {
        Passed {
            topic: "device/7/x".into(),
            payload: vec![],
            properties: Default::default(),
            marks: Marks::default(),
            signer: Some(Signer {
                device: "7".into(),
                key: KeyId(1),
                by: By::Signature(level),
                form: Form::V1,
                number: None,
                time: UnixMillis(0),
                kind: Kind::Plain,
            }),
            class: Some(class),
            tags: Tally::default(),
            effect: Effect::Nothing,
        }
    }

    fn alerts(text: &str) -> Alerts {
        Alerts::new(&Config::parse(text, None).unwrap().alerts)
    }

    #[test]
    fn downgrades_above_the_bound_are_told_once_an_hour() {
        let mut alerts = alerts("[alerts]\ndowngrades_per_hour = 3\nlow_means_minutes = 1000\n");
        let low = signed(Level::MlDsa65, Class::High);
        let told: Vec<bool> =
            (0..10).map(|at| alerts.passed(&low, UnixMillis(10_000_000 + at)).is_some()).collect();
        assert_eq!(told.iter().position(|told| *told), Some(3));
        assert_eq!(told.iter().filter(|told| **told).count(), 1);
        let later = UnixMillis(10_000_000 + 3_600_000);
        assert_eq!((0..4).filter(|at| alerts.passed(&low, UnixMillis(later.0 + at)).is_some()).count(), 1);
        assert_eq!(alerts.passed(&signed(Level::MlDsa87, Class::High), later), None);
    }

    #[test]
    fn means_that_stay_low_are_told_and_telemetry_says_nothing_about_them() {
        let mut alerts = alerts("[alerts]\nlow_means_minutes = 30\ndowngrades_per_hour = 1000\n");
        let (low, high) = (signed(Level::MlDsa65, Class::High), signed(Level::MlDsa87, Class::High));
        let minute = |minutes: u64| UnixMillis(10_000_000 + minutes * 60_000);
        assert_eq!(alerts.passed(&low, minute(0)), None);
        assert_eq!(alerts.passed(&signed(Level::MlDsa44, Class::Low), minute(10)), None);
        assert_eq!(alerts.passed(&low, UnixMillis(minute(30).0 - 1)), None);
        let told = alerts.passed(&low, minute(30)).unwrap();
        assert_eq!((told.kind, &*told.device), (AlertKind::LowMeans, "7"));
        assert_eq!(alerts.passed(&high, minute(31)), None);
        assert_eq!(alerts.passed(&low, minute(200)), None);
        assert_eq!(alerts.passed(&low, minute(229)), None);
        assert_eq!(alerts.passed(&low, minute(230)).unwrap().kind, AlertKind::LowMeans);
    }

    #[test]
    fn replays_and_unknown_keys_are_told_once_for_each_device() {
        let mut alerts = alerts("");
        let now = UnixMillis(10_000_000);
        for (reason, kind) in [
            (Reason::Contradicted, AlertKind::Contradicted),
            (Reason::Replay, AlertKind::Replay),
            (Reason::UnknownKey, AlertKind::UnknownKey),
        ] {
            let told = alerts.refused(reason, "7", now).unwrap();
            assert_eq!((told.kind, &*told.device, told.time), (kind, "7", now));
            assert!(alerts.refused(reason, "7", now).is_none());
            assert!(alerts.refused(reason, "8", now).is_some());
        }
        assert!(alerts.refused(Reason::Stale, "7", now).is_none());
        assert!(alerts.refused(Reason::Replay, "7", UnixMillis(now.0 + 3_599_999)).is_none());
        assert!(alerts.refused(Reason::Replay, "7", UnixMillis(now.0 + 3_600_000)).is_some());
    }

    #[test]
    fn tags_that_are_contradicted_or_uncovered_are_told_and_others_are_not() {
        let mut alerts = alerts("");
        let now = UnixMillis(10_000_000);
        let one = Tagged { key: KeyId(17), number: Number { epoch: 1, sequence: 2 } };
        let good = Tally { covered: 9, lost: vec![one], forgotten: 1, ..Tally::default() };
        assert_eq!(alerts.tags("7", &good, now), [None, None]);
        let bad = Tally { contradicted: vec![one], uncovered: vec![one], ..Tally::default() };
        let kinds = |told: [Option<Alert>; 2]| told.map(|told| told.map(|told| told.kind));
        let both = [Some(AlertKind::Contradicted), Some(AlertKind::Uncovered)];
        assert_eq!(kinds(alerts.tags("7", &bad, now)), both);
        assert_eq!(kinds(alerts.tags("7", &bad, now)), [None, None]);
        assert_eq!(kinds(alerts.tags("8", &bad, now)), both);
        let only = Tally { uncovered: vec![one], ..Tally::default() };
        assert_eq!(kinds(alerts.tags("9", &only, now)), [None, Some(AlertKind::Uncovered)]);
    }

    /// A tag is no downgrade, in whatever class, and does not say that means are well again.
    #[test]
    fn a_tag_says_nothing_about_means() {
        let mut alerts = alerts("[alerts]\ndowngrades_per_hour = 1\nlow_means_minutes = 30\n");
        let mut tagged = signed(Level::MlDsa44, Class::Medium);
        tagged.signer.as_mut().unwrap().by = By::Mac;
        let minute = |minutes: u64| UnixMillis(10_000_000 + minutes * 60_000);
        for at in 0..100 {
            assert_eq!(alerts.passed(&tagged, minute(at)), None);
        }
        assert_eq!(alerts.passed(&signed(Level::MlDsa44, Class::Medium), minute(100)), None);
        assert_eq!(alerts.passed(&tagged, minute(110)), None);
        // The hour is over, so this is the first downgrade of the next one, half an hour after the first of all.
        let told = alerts.passed(&signed(Level::MlDsa44, Class::Medium), minute(161)).unwrap();
        assert_eq!(told.kind, AlertKind::LowMeans);
    }
}
