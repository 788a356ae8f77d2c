//! What the gateway says: clean copies, answers to devices, dead letters, alerts.

use super::Turn;
use crate::form::By;
use crate::gateway::Error;
use crate::gateway::alerts::Alert;
use crate::gateway::error::plain;
use crate::gateway::observe::Event;
use crate::gateway::reason::Reason;
use crate::gateway::verify::{Effect, Passed};
use crate::gateway::wire::{Packet, Properties, Publish, Qos};
use crate::message::UnixMillis;
use std::time::Instant;

impl Turn<'_> {
    /// What a device is told whose key counts from now on. Errors: the commander cannot.
    pub(super) fn answer(&mut self, passed: &Passed, now: UnixMillis) -> Result<Option<Publish>, Error> {
        match (&passed.effect, &mut self.commander) {
            (Effect::Confirmed(confirmed), Some(commander)) => {
                let answer = commander.confirm(&passed.topic, confirmed, now)?;
                Ok(Some(Publish { qos: self.copy_qos(), ..answer }))
            }
            _ => Ok(None),
        }
    }

    /// Puts a message into the outbox.
    pub(super) fn owe(&mut self, publish: Publish) {
        let dead = &self.dead;
        if let Some(id) = self.store.owe(publish, |id| dead.contains(&id)) {
            self.unsent.push_back(id);
        }
    }

    pub(super) fn copy_qos(&self) -> Qos {
        if self.config.broker.publish_qos == 2 { Qos::ExactlyOnce } else { Qos::AtLeastOnce }
    }

    /// The clean copy of a message.
    pub(super) fn copy(&self, passed: Passed) -> Publish {
        let topics = self.rules.topics();
        let prefix = if passed.marks.any() { &topics.marked } else { &topics.clean };
        let mut properties = passed.properties;
        let mut say = |name: &str, value: String| properties.user.push((name.to_owned(), value));
        if let Some(signer) = &passed.signer {
            say("sealstone-device", signer.device.to_string());
            say("sealstone-key", signer.key.0.to_string());
            say("sealstone-seal", if signer.by == By::Mac { "tag" } else { "signature" }.to_owned());
            if let Some(level) = signer.by.level() {
                say("sealstone-level", level.name().to_owned());
            }
            say("sealstone-kind", signer.kind.name().to_owned());
            if signer.time.is_known() {
                say("sealstone-time", signer.time.0.to_string());
            }
            if let Some(number) = signer.number {
                say("sealstone-number", format!("{}.{}", number.epoch, number.sequence));
            }
        }
        if passed.marks.any() {
            say("sealstone-marks", passed.marks.names().collect::<Vec<_>>().join(","));
        }
        if let Effect::Released { template, index } = passed.effect {
            say("sealstone-release", format!("{template}.{index}"));
        }
        let topic = format!("{prefix}/{}", passed.topic);
        Publish { qos: self.copy_qos(), topic, properties, payload: passed.payload, ..Publish::default() }
    }

    /// Sends a refused message to where somebody may look at it. It is not kept: should it be lost with the connection, the broker
    /// delivers the message again.
    pub(super) fn bury(&mut self, publish: &Publish, reason: Reason, now: UnixMillis) {
        let prefix = &self.rules.topics().dead_letters;
        if prefix.is_empty()
            || !reason.is_dead_letter()
            || self.link.is_none()
            || !self.dead_letters.spend(now)
        {
            return;
        }
        let in_use = |id: u16| self.dead.contains(&id);
        let Some(id) = self.store.free_id(in_use) else { return };
        let topic = format!("{prefix}/{}/{}", reason.name(), publish.topic);
        if crate::Topic::new(&topic).is_err() {
            return;
        }
        self.dead.insert(id);
        let mut user = publish.properties.user.clone();
        user.retain(|(name, _)| !name.starts_with("sealstone-"));
        user.push(("sealstone-reason".into(), reason.name().into()));
        user.push(("sealstone-why".into(), reason.to_string()));
        if let Some(len) = publish.too_large {
            user.push(("sealstone-bytes".into(), len.to_string()));
        }
        self.out.push(Packet::Publish(Box::new(Publish {
            qos: Qos::AtLeastOnce,
            topic,
            id,
            properties: Properties { user, ..publish.properties.clone() },
            payload: publish.payload.clone(),
            ..Publish::default()
        })));
    }

    /// Tells an alert, on its topic if there is a broker.
    pub(super) fn alert(&mut self, alert: Option<Alert>) {
        let Some(alert) = alert else { return };
        self.observer.note(&Event::Alert { alert: &alert });
        let prefix = &self.config.alerts.topic;
        let dead = &self.dead;
        if prefix.is_empty() || self.link.is_none() {
            return;
        }
        let Some(id) = self.store.free_id(|id| dead.contains(&id)) else { return };
        self.dead.insert(id);
        let kind = alert.kind.name();
        let said = serde_json::json!({"alert": kind, "device": alert.device, "time_ms": alert.time.0});
        self.out.push(Packet::Publish(Box::new(Publish {
            qos: Qos::AtLeastOnce,
            topic: format!("{prefix}/{kind}"),
            id,
            payload: said.to_string().into_bytes(),
            ..Publish::default()
        })));
    }

    /// Writes what the commit has made true.
    pub(super) fn write(&mut self) {
        let Some(link) = &mut self.link else { return self.out.clear() };
        let mut packets = Vec::with_capacity(self.out.len());
        if matches!(self.out.first(), Some(Packet::Subscribe { .. })) {
            packets.push(self.out.remove(0));
        }
        while self.in_flight.len() < link.receive_maximum {
            let Some(id) = self.unsent.pop_front() else { break };
            let Some(owed) = self.store.owed(id) else { continue };
            self.in_flight.insert(id);
            packets.push(match owed.received {
                true => Packet::PubRel { id, reason: 0 },
                false => Packet::Publish(Box::new(owed.publish.clone())),
            });
            self.store.sent(id);
        }
        packets.append(&mut self.out);
        if packets.is_empty() && link.written_at.elapsed() * 2 >= link.keep_alive {
            packets.push(Packet::PingReq);
        }
        if packets.is_empty() {
            return;
        }
        link.written_at = Instant::now();
        if let Err(cause) = link.writer.send(&packets) {
            self.observer.note(&Event::Disconnected { what: &plain(&cause) });
            link.writer.close();
            self.link = None;
        }
    }
}
