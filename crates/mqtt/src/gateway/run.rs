//! The gateway as a whole: one loop that owns everything, a thread that reads from the broker, one that reads the directory when it
//! changes, and the workers.
//!
//! Each turn of the loop takes what came, settles what is decided in the order of arrival, commits all of it at once, and only then
//! writes: copies, dead letters, acknowledgements. So nothing is acknowledged that is not on the disk.

mod apart;
mod out;

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Error;
use super::alerts::Alerts;
use super::budget::Budget;
use super::commander::Commander;
use super::config::{Announcements, Config, Rules};
use super::directory::Directory;
use super::error::plain;
use super::inbox::{Inbox, Mail, News};
use super::link::{Connection, Options, Welcome, Writer};
use super::observe::{Event, Observer};
use super::pair::Pairs;
use super::reason::Reason;
use super::state::Store;
use super::tags::Tally;
use super::verify::{Judge, Looked, Passed, Verified};
use super::watch;
use super::wire::{Packet, Publish, Qos, Version};
use super::workers::{Job, Workers};
use crate::message::UnixMillis;

/// Copies that may wait for the broker before no more messages are looked at.
const OUTBOX_MOST: usize = 4096;
/// Announcements of one device in a minute that are answered: each costs a signature and a number on the disk.
const ANSWERS_PER_MINUTE: u32 = 10;
/// How long the loop waits at most.
const TICK: Duration = Duration::from_millis(500);
/// How long copies have to be taken by the broker after the wish to end.
const GRACE: Duration = Duration::from_secs(5);

/// A gateway that can be run.
pub struct Gateway {
    config: Config,
    inbox: Arc<Inbox>,
    commander: Mutex<Option<Commander>>,
}

/// The wish to end, from any thread.
#[derive(Clone)]
pub struct Stop(Arc<Inbox>);

impl Stop {
    /// What is under way is finished, and [`Gateway::run`] returns.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Gateway {
    /// A gateway by its configuration.
    pub fn new(config: Config) -> Self {
        Gateway { config, inbox: Arc::default(), commander: Mutex::default() }
    }

    /// The same with the key that confirms what devices announce.
    pub fn with_commander(self, commander: Commander) -> Self {
        Gateway { commander: Mutex::new(Some(commander)), ..self }
    }

    /// To end it.
    pub fn stopper(&self) -> Stop {
        Stop(Arc::clone(&self.inbox))
    }

    /// Runs until it is told to end. `now` is the time in milliseconds since 1970. A broker that goes away is waited for.
    /// Errors: the configuration, the directory at the start, the data directory at any time, a subscription that the broker
    /// refuses.
    pub fn run(&self, now: impl Fn() -> UnixMillis, observer: &dyn Observer) -> Result<(), Error> {
        let rules = self.config.rules()?;
        let options = Options::of(&self.config.broker)?;
        let directory = Arc::new(Directory::load(&self.config.directory)?);
        let mut commander = self.commander.lock().unwrap_or_else(PoisonError::into_inner);
        match &*commander {
            Some(commander) => commander.check(&self.config, &directory, now())?,
            None if self.config.keys.announcements == Announcements::Confirm => {
                return Err(Error::Config {
                    file: None,
                    place: None,
                    what: "nobody has the commander's key, which confirms what devices announce".into(),
                    hint: "`Gateway::with_commander` gives it".into(),
                });
            }
            None => {}
        }
        let store = Store::open(&self.config.data_dir)?;
        let threads = self.config.workers.threads.or_else(|| std::thread::available_parallelism().ok());
        let inbox = Arc::clone(&self.inbox);
        let (threads, keys) = (threads.map_or(1, usize::from), self.config.workers.expanded_keys.get());
        let workers = Workers::start(threads, keys, move |answers| inbox.answer(answers))
            .map_err(|cause| Error::data(&self.config.data_dir, format!("no thread: {cause}")))?;
        observer.note(&Event::Started { devices: directory.len(), owed: store.outbox_len() });
        let judge = Judge { rules: &rules, directory: &directory };
        let pairs = Pairs::new(self.config.policy.pair_within_ms.into(), &judge, store.halves());
        let mut turn = Turn {
            config: &self.config,
            rules: &rules,
            observer,
            workers,
            directory: Arc::clone(&directory),
            store,
            commander: commander.as_mut(),
            link: None,
            epoch: 0,
            subscribed: false,
            waiting: VecDeque::new(),
            places: VecDeque::new(),
            first_place: 0,
            unsent: VecDeque::new(),
            in_flight: HashSet::new(),
            dead: HashSet::new(),
            failures: HashMap::new(),
            answers: HashMap::new(),
            dead_letters: Budget::new(self.config.topics.dead_letters_per_second.get(), 1000),
            alerts: Alerts::new(&self.config.alerts),
            looked_at: UnixMillis(0),
            pairs,
            out: Vec::new(),
        };
        std::thread::scope(|scope| {
            let inbox = &self.inbox;
            scope.spawn(move || follow(inbox, &options));
            scope.spawn(move || watch::run(inbox, &self.config.directory, directory));
            turn.reconcile(now());
            let done = turn.run(inbox, &now);
            inbox.end();
            if let Some(link) = &turn.link {
                link.writer.close();
            }
            observer.note(&Event::Stopped { owed: turn.store.outbox_len() });
            done
        })
    }
}

/// The device that a message's topic names.
fn named<'m>(rules: &Rules<'_>, publish: &'m Publish) -> Option<&'m str> {
    crate::Topic::new(&publish.topic).ok().and_then(|topic| rules.device(topic))
}

/// Connects, again and again, and reads.
fn follow(inbox: &Inbox, options: &Options) {
    let mut pause = Duration::from_millis(100);
    loop {
        let opened = Connection::open(options).and_then(|(connection, welcome)| {
            let writer = connection.writer()?;
            Ok((connection, writer, welcome))
        });
        let what = match opened {
            Ok((mut connection, writer, welcome)) => {
                pause = Duration::from_millis(100);
                if !inbox.tell(News::Up(writer, welcome)) {
                    return;
                }
                loop {
                    match connection.read().map(|packet| inbox.tell(News::Packet(packet))) {
                        Ok(true) => {}
                        Ok(false) => return,
                        Err(cause) => break plain(&cause),
                    }
                }
            }
            Err(cause) => plain(&cause),
        };
        if !inbox.tell(News::Down(what)) || inbox.pause(pause) {
            return;
        }
        pause = (pause * 2).min(Duration::from_secs(30));
    }
}

/// The loop's belongings.
struct Turn<'a> {
    config: &'a Config,
    rules: &'a Rules<'a>,
    observer: &'a dyn Observer,
    workers: Workers,
    directory: Arc<Directory>,
    store: Store,
    commander: Option<&'a mut Commander>,
    link: Option<Link>,
    /// Which connection this is: a message of an earlier one is acknowledged by nobody.
    epoch: u64,
    subscribed: bool,
    /// Messages that nobody has looked at.
    waiting: VecDeque<(u64, Arc<Publish>)>,
    /// Messages under way, in the order of arrival.
    places: VecDeque<Place>,
    first_place: u64,
    /// Identifiers of copies that this connection has not sent yet.
    unsent: VecDeque<u16>,
    /// Identifiers of copies that the broker has not answered yet.
    in_flight: HashSet<u16>,
    /// The same of dead letters and of the subscription.
    dead: HashSet<u16>,
    /// Failed verifications by device.
    failures: HashMap<Box<str>, Budget>,
    /// Answered announcements by device; those of the directory alone get so far.
    answers: HashMap<Box<str>, Budget>,
    dead_letters: Budget,
    alerts: Alerts,
    /// When it last looked for tags that nothing has named.
    looked_at: UnixMillis,
    /// Payloads and signatures that came apart.
    pairs: Pairs,
    /// To be written after the commit.
    out: Vec<Packet>,
}

struct Link {
    writer: Writer,
    receive_maximum: usize,
    keep_alive: Duration,
    written_at: Instant,
}

struct Place {
    epoch: u64,
    publish: Arc<Publish>,
    outcome: Option<Outcome>,
}

enum Outcome {
    Passed(Box<Passed>),
    Refused(Reason),
    Release,
    Verified(Box<Verified>),
    /// Half of a message, which waits for the other.
    Waits,
    /// One message together with the half of this number.
    Whole(u64, Box<Verified>),
}

impl Turn<'_> {
    fn run(&mut self, inbox: &Inbox, now: &impl Fn() -> UnixMillis) -> Result<(), Error> {
        let mut ending: Option<Instant> = None;
        loop {
            let Mail { news, answers, directories, stop, .. } = inbox.wait(TICK);
            for read in directories {
                self.take(read, now());
            }
            for news in news {
                match news {
                    News::Up(writer, welcome) => {
                        self.up(writer, &welcome);
                        self.pairs.renew(now());
                    }
                    News::Down(what) => self.down(&what),
                    News::Packet(packet) => self.packet(packet)?,
                }
            }
            for answer in answers {
                let outcome = self.checked(&answer.device, answer.verified, now());
                let place =
                    usize::try_from(answer.place.wrapping_sub(self.first_place)).unwrap_or(usize::MAX);
                if let Some(place) = self.places.get_mut(place) {
                    place.outcome = Some(outcome);
                }
            }
            if stop && ending.is_none() {
                ending = Some(Instant::now() + GRACE);
                // Nobody acknowledged them: the broker delivers them again.
                self.waiting.clear();
            }
            if ending.is_none() {
                self.look(now());
            }
            self.settle(now())?;
            self.overdue(now());
            if ending.is_none() {
                self.unpaired(now())?;
            }
            if self.store.must_commit() || ending.is_some() {
                self.store.commit(now())?;
            }
            self.write();
            if let Some(end) = ending {
                let idle = self.places.is_empty() && (self.store.outbox_len() == 0 || self.link.is_none());
                if idle || Instant::now() >= end {
                    self.out.push(Packet::Disconnect { reason: 0 });
                    self.write();
                    return Ok(());
                }
            }
        }
    }

    /// A new connection: everything that is owed is sent again, by the state that it is in (MQTT 5.0, 4.4).
    fn up(&mut self, writer: Writer, welcome: &Welcome) {
        let properties = &welcome.properties;
        // MQTT 3.1.1 has no receive maximum; what brokers hold without a word is 20 by default.
        let most = if self.config.broker.version == Version::V5 { u16::MAX } else { 20 };
        self.epoch += 1;
        self.link = Some(Link {
            writer,
            receive_maximum: usize::from(properties.receive_maximum.unwrap_or(most)).min(1024),
            keep_alive: Duration::from_secs(u64::from(
                properties.server_keep_alive_s.unwrap_or(self.config.broker.keep_alive_s.get()).max(1),
            )),
            written_at: Instant::now(),
        });
        self.out.clear();
        self.in_flight.clear();
        self.dead.clear();
        // Not acknowledged on this connection: they come again.
        self.waiting.clear();
        if !welcome.session_present {
            self.store.session_lost();
        }
        self.unsent = self.store.outbox().map(|owed| owed.publish.id).collect();
        if (!welcome.session_present || !self.subscribed)
            && let Some(id) = self.store.free_id(|_| false)
        {
            self.dead.insert(id);
            // QoS 1; MQTT 5: what the broker keeps comes only with a new subscription.
            let options = if self.config.broker.version == Version::V5 { 0x11 } else { 0x01 };
            let filters = self.config.topics.subscribe.iter().map(|text| (text.clone(), options)).collect();
            self.out.push(Packet::Subscribe { id, filters });
        }
        self.observer.note(&Event::Connected { session_present: welcome.session_present });
    }

    fn down(&mut self, what: &str) {
        if let Some(link) = self.link.take() {
            link.writer.close();
        }
        self.out.clear();
        self.observer.note(&Event::Disconnected { what });
    }

    fn packet(&mut self, packet: Packet) -> Result<(), Error> {
        match packet {
            Packet::Publish(mut publish) => {
                // No alias was allowed, so none says anything.
                publish.properties.topic_alias = None;
                let full = self.waiting.len() >= self.config.workers.queue.get();
                if publish.qos == Qos::AtMostOnce && full {
                    self.observer.note(&Event::Dropped);
                } else {
                    self.waiting.push_back((self.epoch, Arc::from(publish)));
                }
            }
            Packet::PubRec { id, reason } if reason < 0x80 => {
                let release = if self.store.received(id) { 0 } else { 0x92 };
                self.out.push(Packet::PubRel { id, reason: release });
            }
            Packet::PubAck { id, reason }
            | Packet::PubRec { id, reason }
            | Packet::PubComp { id, reason } => {
                self.in_flight.remove(&id);
                if !self.dead.remove(&id) && self.store.done(id) {
                    // Released twice, or nobody reads it: no fault.
                    let refused = reason >= 0x80 && reason != 0x92;
                    self.observer.note(&if refused {
                        Event::CopyRefused { reason }
                    } else {
                        Event::Delivered
                    });
                }
            }
            Packet::SubAck { id, codes } => {
                self.dead.remove(&id);
                let refused = codes.iter().position(|code| *code >= 0x80);
                if let Some(filter) = refused.and_then(|at| self.config.topics.subscribe.get(at)) {
                    let address = self.config.broker.address.clone();
                    return Err(Error::Broker {
                        address,
                        what: format!("it refuses the subscription to {filter:?}"),
                    });
                }
                self.subscribed = true;
                self.observer.note(&Event::Subscribed);
            }
            Packet::Disconnect { reason } => {
                self.observer
                    .note(&Event::Disconnected { what: &format!("the broker ends it: {reason:#04x}") });
            }
            _ => {}
        }
        Ok(())
    }

    /// Looks at what waits, and gives to the workers what is good up to its seal. A tag over a short message is checked here.
    fn look(&mut self, now: UnixMillis) {
        let mut jobs = Vec::new();
        while self.places.len() < self.config.workers.queue.get() && self.store.outbox_len() < OUTBOX_MOST {
            let Some((epoch, publish)) = self.waiting.pop_front() else { break };
            self.observer
                .note(&Event::Received { bytes: publish.too_large.unwrap_or(publish.payload.len()) });
            let judge = Judge { rules: self.rules, directory: &self.directory };
            let place = self.first_place + self.places.len() as u64;
            let outcome = match judge.look(&publish, &self.store, now) {
                Err(reason) => Some(self.apart(&publish, reason, now)),
                Ok(Looked::Unsigned(passed)) => Some(Outcome::Passed(passed)),
                Ok(Looked::Release) => Some(Outcome::Release),
                Ok(Looked::Signed(candidate)) => {
                    if self.failures_of(candidate.named()).is_spent(now) {
                        Some(Outcome::Refused(Reason::OverBudget))
                    } else if candidate.is_quick() {
                        let device = Box::from(candidate.named());
                        Some(self.checked(&device, candidate.check(), now))
                    } else {
                        jobs.push(Job { place, candidate });
                        None
                    }
                }
            };
            self.places.push_back(Place { epoch, publish, outcome });
        }
        self.workers.add(jobs);
    }

    /// What came of checking a seal; a bad one counts against its device's topics.
    fn checked(&mut self, device: &str, verified: Result<Verified, Reason>, now: UnixMillis) -> Outcome {
        match verified {
            Ok(verified) => Outcome::Verified(Box::new(verified)),
            Err(reason) => {
                self.failures_of(device).spend(now);
                Outcome::Refused(reason)
            }
        }
    }

    /// Carries out what is decided, in the order of arrival: so copies are in order, and acknowledgements too (MQTT 5.0, 4.6).
    /// Errors: the commander cannot answer.
    fn settle(&mut self, now: UnixMillis) -> Result<(), Error> {
        while self.places.front().is_some_and(|place| place.outcome.is_some()) {
            let Some(Place { epoch, publish, outcome: Some(outcome) }) = self.places.pop_front() else {
                break;
            };
            self.first_place += 1;
            let device = named(self.rules, &publish);
            let spent = device.is_some_and(|device| match outcome {
                Outcome::Release => self.failures_of(device).is_spent(now),
                Outcome::Verified(_) => self.asks_too_often(&publish, device, now),
                _ => false,
            });
            let judge = Judge { rules: self.rules, directory: &self.directory };
            match outcome {
                _ if spent => self.decide(Err(Reason::OverBudget), &publish, now)?,
                Outcome::Waits => {}
                Outcome::Refused(reason) => self.decide(Err(reason), &publish, now)?,
                Outcome::Passed(passed) => self.decide(Ok(*passed), &publish, now)?,
                Outcome::Verified(verified) => {
                    let passed = judge.accept(*verified, &mut self.store, now);
                    self.decide(passed, &publish, now)?;
                }
                Outcome::Release => {
                    let passed = judge.release(&publish, &mut self.store, now);
                    self.decide(passed, &publish, now)?;
                }
                Outcome::Whole(number, verified) => {
                    let whole = Arc::clone(verified.publish());
                    let passed = judge.accept(*verified, &mut self.store, now);
                    self.decide(passed, &whole, now)?;
                    self.pairs.release(number);
                    self.store.release(number);
                }
            }
            if publish.qos == Qos::AtLeastOnce && epoch == self.epoch {
                self.out.push(Packet::PubAck { id: publish.id, reason: 0 });
            }
        }
        Ok(())
    }

    /// Whether a verified message is an announcement, and its device had enough answers a short time ago.
    fn asks_too_often(&mut self, publish: &Publish, device: &str, now: UnixMillis) -> bool {
        let asks = crate::Topic::new(&publish.topic).is_ok_and(|topic| self.rules.is_announcement(topic));
        let budget = || Budget::new(ANSWERS_PER_MINUTE, 60_000);
        asks && !self.answers.entry(device.into()).or_insert_with(budget).spend(now)
    }

    /// Carries out what is decided about one message. Errors: the commander cannot answer.
    fn decide(
        &mut self,
        passed: Result<Passed, Reason>,
        publish: &Publish,
        now: UnixMillis,
    ) -> Result<(), Error> {
        match passed {
            Ok(passed) => {
                self.observer.note(&Event::Passed { message: &passed, now });
                let alert = self.alerts.passed(&passed, now);
                self.alert(alert);
                if let Some(signer) = &passed.signer {
                    self.tags(&signer.device, &passed.tags, now);
                }
                let answer = self.answer(&passed, now)?;
                let copy = self.copy(passed);
                self.owe(copy);
                answer.into_iter().for_each(|answer| self.owe(answer));
            }
            Err(reason) => {
                let device = named(self.rules, publish);
                self.observer.note(&Event::Refused { reason, topic: &publish.topic, device, now });
                // Only of devices that are known: others could be without end.
                let known = device.filter(|device| self.directory.device(device).is_some());
                let alert = known.and_then(|device| self.alerts.refused(reason, device, now));
                self.alert(alert);
                // Only on topics of devices that are known; a forged signature was counted where it was found.
                if let (Reason::WrongToken, Some(device)) = (reason, device) {
                    self.failures_of(device).spend(now);
                }
                self.bury(publish, reason, now);
            }
        }
        Ok(())
    }

    /// Tells of tags that no checkpoint has named in time.
    fn overdue(&mut self, now: UnixMillis) {
        if now.0.abs_diff(self.looked_at.0) < 1000 {
            return;
        }
        self.looked_at = now;
        let within_ms = u64::from(self.config.policy.checkpoint_within_s.get()) * 1000;
        for (device, tally) in self.store.overdue(now, within_ms) {
            self.tags(&device, &tally, now);
        }
    }

    /// Tells what became of tags.
    fn tags(&mut self, device: &str, tally: &Tally, now: UnixMillis) {
        if tally.is_empty() {
            return;
        }
        self.observer.note(&Event::Tags { device, tally, now });
        for alert in self.alerts.tags(device, tally, now) {
            self.alert(alert);
        }
    }

    /// Judges by this directory from now on. One with a fault changes nothing.
    fn take(&mut self, read: Result<Arc<Directory>, Error>, now: UnixMillis) {
        match read {
            Ok(directory) => {
                self.observer.note(&Event::Directory { devices: directory.len() });
                self.directory = directory;
                self.reconcile(now);
            }
            Err(cause) => self.observer.note(&Event::DirectoryFault { cause: &cause }),
        }
    }

    /// Holds what was learned to the directory, which is right where both speak of one id.
    fn reconcile(&mut self, now: UnixMillis) {
        for (device, _) in self.store.reconcile(&self.directory) {
            let alert = self.alerts.key_conflict(&device, now);
            self.alert(alert);
        }
    }

    fn failures_of(&mut self, device: &str) -> &mut Budget {
        if !self.failures.contains_key(device) {
            let budget = Budget::new(self.config.policy.failures_per_minute.get(), 60_000);
            self.failures.insert(device.into(), budget);
        }
        // It is there: the line above put it in.
        self.failures.entry(device.into()).or_insert_with(|| Budget::new(1, 60_000))
    }
}
