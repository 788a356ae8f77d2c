//! The gateway's audit log: a chain of hashes with signed blocks, in `audit` within its data directory. `sealstone mqtt audit`
//! checks it.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use sealstone_audit::{CONTEXT, Chain, Kind, Log, Manner, Settings};
use sealstone_jose::{Algorithm, PublicKey, UnixSeconds};
use sealstone_mldsa::{Context, Level, OsRandom, any};
use sealstone_mqtt::gateway::verify::Effect;
use sealstone_mqtt::gateway::{Event, Observer};
use zeroize::Zeroizing;

use crate::clock::now;
use crate::error::Error;
use crate::files::{Readers, Source, Target};
use crate::keyfile::{Format, public_bytes};
use crate::terminal::Terminal;

/// Events that may wait for the disk; what comes then is counted in a line.
const BACKLOG: usize = 4096;
/// A file of the log is closed at this length, and the next one begun.
const FILE_BYTES: u64 = 64 << 20;

/// A log that is being written.
pub(super) struct Written(Log);

/// The key that signs its blocks.
struct BlockKey(any::ExpandedSigningKey, PublicKey);

impl Written {
    /// Opens the log of a data directory, and makes its key where there is none: `audit.key`, and `audit.pub.pem` for those who
    /// check.
    pub(super) fn open(data_dir: &Path) -> Result<Self, Error> {
        let failed = |cause| Error::path(data_dir, "made", cause);
        DirBuilder::new().recursive(true).mode(0o700).create(data_dir).map_err(failed)?;
        let key = Arc::new(BlockKey::open(data_dir)?);
        let place = data_dir.join("audit");
        let refused = |cause: sealstone_audit::Error| {
            Error::usage(cause.to_string(), "`audit = false` does without the log")
        };
        let names = ["gateway".to_owned()];
        let opened = Chain::open(&place, &names, key, FILE_BYTES, Manner::Lasting, now()).map_err(refused)?;
        let Some((chain, name)) = opened else {
            let what = format!("another gateway writes {}", place.display());
            return Err(Error::usage(what, "one data directory belongs to one gateway"));
        };
        let settings = Settings {
            clock: Box::new(now),
            journal: None,
            seal_after: Duration::from_secs(10),
            seal_lines: 1000,
        };
        let log = Log::start(chain, name, settings).map_err(|cause| Error::path(&place, "written", cause))?;
        Ok(Written(log))
    }

    /// Writes and seals what is left.
    pub(super) fn close(&self) {
        self.0.close();
    }
}

impl Observer for Written {
    fn note(&self, event: &Event<'_>) {
        let at = |now: sealstone_mqtt::UnixMillis| UnixSeconds(now.0.div_euclid(1000));
        let kind = |name, warning| Kind { name, warning };
        let begin = |name, warning| sealstone_audit::Event::new(kind(name, warning), now());
        let line = match event {
            Event::Started { devices, owed } => begin("mqtt.started", false)
                .with_number("devices", *devices as u64)
                .with_number("owed", *owed as u64),
            Event::Stopped { owed } => begin("mqtt.stopped", false).with_number("owed", *owed as u64),
            Event::Refused { reason, topic, device, now } => {
                sealstone_audit::Event::new(kind("mqtt.refused", false), at(*now))
                    .with_name("reason", reason.name())
                    .with("topic", topic)
                    .with_some("device", *device)
            }
            Event::Alert { alert } => sealstone_audit::Event::new(kind("mqtt.alert", true), at(alert.time))
                .with_name("alert", alert.kind.name())
                .with("device", &alert.device),
            Event::Tags { device, tally, now } => {
                let warning = !tally.contradicted.is_empty() || !tally.uncovered.is_empty();
                let line = sealstone_audit::Event::new(kind("mqtt.tags", warning), at(*now));
                let counted = |line: sealstone_audit::Event, (name, count): (&'static str, u64)| match count {
                    0 => line,
                    count => line.with_number(name, count),
                };
                let line = tally.counts().into_iter().fold(line.with("device", device), counted);
                tally.named().fold(line, |line, (name, which)| line.with(messages_of(name), &which))
            }
            Event::Passed { message, now } => {
                let begin = |name| sealstone_audit::Event::new(kind(name, false), at(*now));
                match (&message.effect, &message.signer) {
                    (Effect::Confirmed(confirmed), Some(signer)) => begin("mqtt.key_confirmed")
                        .with("device", &signer.device)
                        .with_number("key", u64::from(confirmed.key.id.0))
                        .with_name("level", confirmed.key.level.name())
                        .with_number("again", u64::from(confirmed.again)),
                    (Effect::Template(id), _) => begin("mqtt.template")
                        .with("topic", &message.topic)
                        .with_number("template", u64::from(*id)),
                    (Effect::Released { template, index }, _) => begin("mqtt.released")
                        .with("topic", &message.topic)
                        .with_number("template", u64::from(*template))
                        .with_number("index", u64::from(*index)),
                    _ => return,
                }
            }
            Event::Directory { devices } => {
                begin("mqtt.directory", false).with_number("devices", *devices as u64)
            }
            Event::DirectoryFault { cause } => {
                begin("mqtt.directory_fault", true).with("why", &cause.to_string())
            }
            Event::CopyRefused { reason } => {
                begin("mqtt.copy_refused", true).with_number("code", u64::from(*reason))
            }
            _ => return,
        };
        self.0.note(vec![line], BACKLOG);
    }
}

/// The member that names messages beside the one that counts them.
fn messages_of(name: &str) -> &'static str {
    match name {
        "lost" => "lost_messages",
        "contradicted" => "contradicted_messages",
        _ => "uncovered_messages",
    }
}

impl Observer for &Written {
    fn note(&self, event: &Event<'_>) {
        (**self).note(event);
    }
}

impl BlockKey {
    fn open(data_dir: &Path) -> Result<Self, Error> {
        let path = data_dir.join("audit.key");
        if !path.exists() {
            let key =
                any::SigningKey::generate_checked(Level::MlDsa65, &mut OsRandom).map_err(Error::Engine)?;
            let beside = data_dir.join("audit.key.new");
            let write = || -> std::io::Result<()> {
                let mut file =
                    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
                file.write_all(key.seed())?;
                file.sync_all()?;
                fs::rename(&beside, &path)
            };
            write().map_err(|cause| Error::path(&path, "written", cause))?;
        }
        let seed: Zeroizing<Vec<u8>> = Source::Path(path.clone()).read(64)?;
        let wrong = |cause: &dyn std::fmt::Display| Error::key(&path.display().to_string(), cause, None);
        let key = any::SigningKey::try_from_seed(Level::MlDsa65, &seed).map_err(|cause| wrong(&cause))?;
        let public = PublicKey::from_public(Algorithm::MlDsa65, key.verifying_key().encode());
        let public = public.map_err(|cause| wrong(&cause))?;
        let beside = Target::Path(data_dir.join("audit.pub.pem"));
        beside.write(&public_bytes(&public, Format::Pem)?, Readers::All, true, &mut Terminal::new())?;
        Ok(BlockKey(key.expand(), public))
    }
}

impl sealstone_audit::Key for BlockKey {
    fn kid(&self) -> &str {
        self.1.kid()
    }

    fn sign(&self, line: &[u8]) -> Result<Vec<u8>, sealstone_audit::Error> {
        let failed = |cause: sealstone_mldsa::Error| sealstone_audit::Error::Key { what: cause.to_string() };
        let context = Context::new(CONTEXT).map_err(failed)?;
        self.0.sign(&mut OsRandom, context, line).map(|signature| signature.encode().to_vec()).map_err(failed)
    }
}
