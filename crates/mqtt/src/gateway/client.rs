//! A plain client, one call at a time: for the command line and for tests. The gateway itself needs more than that, and less.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::time::{Duration, Instant};

use super::link::{Connection, Options, Welcome, Writer};
use super::wire::{Packet, Publish, Qos};

/// How long the broker has to answer.
const PATIENCE: Duration = Duration::from_secs(30);

/// A connected client.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    writer: Writer,
    /// What came while something else was waited for.
    came: VecDeque<Publish>,
    /// Messages of QoS 2 that came and are not released yet.
    held: HashSet<u16>,
    last_id: u16,
    keep_alive: Duration,
    spoke_at: Instant,
}

impl Client {
    /// Connects. Errors: those of [`Connection::open`].
    pub fn connect(options: &Options) -> io::Result<(Self, Welcome)> {
        let (connection, welcome) = Connection::open(options)?;
        let writer = connection.writer()?;
        let asked = options.connect.keep_alive_s;
        let keep_alive_s = welcome.properties.server_keep_alive_s.unwrap_or(asked).max(1);
        let client = Client {
            connection,
            writer,
            came: VecDeque::new(),
            held: HashSet::new(),
            last_id: 0,
            keep_alive: Duration::from_secs(u64::from(keep_alive_s)),
            spoke_at: Instant::now(),
        };
        Ok((client, welcome))
    }

    /// Subscribes, and waits for the answer. Errors: of the network; `PermissionDenied`.
    pub fn subscribe(&mut self, filters: &[&str], qos: Qos) -> io::Result<()> {
        let id = self.next_id();
        let filters = filters.iter().map(|&filter| (filter.to_owned(), qos as u8)).collect();
        self.send(&Packet::Subscribe { id, filters })?;
        match self.until(|packet| matches!(packet, Packet::SubAck { id: answered, .. } if *answered == id))? {
            Packet::SubAck { codes, .. } if codes.iter().all(|code| *code < 0x80) => Ok(()),
            _ => Err(refused("the broker refuses the subscription")),
        }
    }

    /// Publishes, and waits until the broker has it. Errors: of the network; `PermissionDenied`.
    pub fn publish(&mut self, mut publish: Publish) -> io::Result<()> {
        if publish.qos == Qos::AtMostOnce {
            return self.send(&Packet::Publish(Box::new(publish)));
        }
        let id = self.next_id();
        publish.id = id;
        self.send(&Packet::Publish(Box::new(publish)))?;
        let about = |packet: &Packet| matches!(packet, Packet::PubAck { id: answered, .. } | Packet::PubRec { id: answered, .. } if *answered == id);
        match self.until(about)? {
            Packet::PubAck { reason, .. } if reason < 0x80 => Ok(()),
            Packet::PubRec { reason, .. } if reason < 0x80 => {
                self.send(&Packet::PubRel { id, reason: 0 })?;
                self.until(
                    |packet| matches!(packet, Packet::PubComp { id: answered, .. } if *answered == id),
                )?;
                Ok(())
            }
            _ => Err(refused("the broker refuses the message")),
        }
    }

    /// The next message, acknowledged; none if none comes within the time. Errors: of the network.
    pub fn next(&mut self, within: Duration) -> io::Result<Option<Publish>> {
        let end = Instant::now() + within;
        loop {
            if let Some(publish) = self.came.pop_front() {
                return Ok(Some(publish));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(None);
            }
            if self.spoke_at.elapsed() * 2 >= self.keep_alive {
                self.send(&Packet::PingReq)?;
            }
            self.connection.set_patience(Some(left.min(self.keep_alive / 2)))?;
            match self.connection.read() {
                Ok(packet) => drop(self.take(packet)?),
                Err(cause) if cause.kind() == io::ErrorKind::TimedOut => {}
                Err(cause) => return Err(cause),
            }
        }
    }

    /// Says goodbye.
    pub fn disconnect(mut self) -> io::Result<()> {
        self.send(&Packet::Disconnect { reason: 0 })
    }

    fn until(&mut self, wanted: impl Fn(&Packet) -> bool) -> io::Result<Packet> {
        self.connection.set_patience(Some(PATIENCE))?;
        loop {
            let packet = self.connection.read()?;
            if wanted(&packet) {
                return Ok(packet);
            }
            self.take(packet)?;
        }
    }

    fn take(&mut self, packet: Packet) -> io::Result<()> {
        match packet {
            Packet::Publish(publish) => {
                let id = publish.id;
                match publish.qos {
                    Qos::AtMostOnce => self.came.push_back(*publish),
                    Qos::AtLeastOnce => {
                        self.came.push_back(*publish);
                        self.send(&Packet::PubAck { id, reason: 0 })?;
                    }
                    Qos::ExactlyOnce => {
                        if self.held.insert(id) {
                            self.came.push_back(*publish);
                        }
                        self.send(&Packet::PubRec { id, reason: 0 })?;
                    }
                }
            }
            Packet::PubRel { id, .. } => {
                self.held.remove(&id);
                self.send(&Packet::PubComp { id, reason: 0 })?;
            }
            Packet::Disconnect { reason } => {
                return Err(io::Error::new(
                    io::ErrorKind::ConnectionAborted,
                    format!("the broker ends it: {reason:#04x}"),
                ));
            }
            _ => {}
        }
        Ok(())
    }

    fn send(&mut self, packet: &Packet) -> io::Result<()> {
        self.spoke_at = Instant::now();
        self.writer.send(std::slice::from_ref(packet))
    }

    fn next_id(&mut self) -> u16 {
        self.last_id = self.last_id.checked_add(1).unwrap_or(1);
        self.last_id
    }
}

fn refused(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, what)
}
