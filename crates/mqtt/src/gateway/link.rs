//! A connection to a broker: packets in, packets out. It blocks, for threads of its own.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;

use super::Error;
use super::config::{Broker, Tls};
use super::tls::{Secured, Terms};
use super::wire::{Connect, Packet, Properties, Publish, Version};
use crate::packet::packet_len;

/// How long a connection may take to be made, and a packet to be written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who connects where.
#[derive(Clone)]
pub struct Options {
    /// Host and port.
    pub address: String,
    /// TLS; none: plain TCP.
    pub tls: Option<Terms>,
    /// The version of MQTT.
    pub version: Version,
    /// The largest packet that is read. The broker is not told: Mosquitto would count what is larger as under way for ever.
    pub max_packet_bytes: usize,
    /// What is said first.
    pub connect: Connect,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: Stream,
    version: Version,
    max_packet_bytes: usize,
    /// What was read and is not yet a packet.
    buffer: Vec<u8>,
    /// One that is too large, and how many bytes of it are still to come.
    too_large: Option<(Publish, usize)>,
}

/// What the broker answered.
#[derive(Clone, Debug)]
pub struct Welcome {
    /// It still had the session.
    pub session_present: bool,
    /// Its terms (MQTT 5).
    pub properties: Properties,
}

/// What is written to the other side.
#[derive(Debug)]
pub struct Writer {
    stream: Stream,
    version: Version,
}

/// Bytes both ways, of one who reads and of any who write.
#[derive(Clone, Debug)]
enum Stream {
    Plain(Arc<TcpStream>),
    Secured(Arc<Secured>),
}

impl Options {
    /// Those of a configuration. Errors: a file that cannot be read.
    pub fn of(broker: &Broker) -> Result<Self, Error> {
        let user = broker.user_file.as_deref().map(first_line).transpose()?;
        let password = broker.password_file.as_deref().map(first_line).transpose()?;
        let (address, secured) = address(&broker.address);
        let tls = match (&broker.tls, secured) {
            (None, false) => None,
            (given, _) => {
                let terms = given.clone().unwrap_or_else(Tls::default);
                Some(Terms::load(&terms, host(&address))?)
            }
        };
        Ok(Options {
            address,
            tls,
            version: broker.version,
            max_packet_bytes: usize::try_from(broker.max_packet_bytes.get()).unwrap_or(usize::MAX),
            connect: Connect {
                client_id: broker.client_id.clone(),
                clean_start: false,
                keep_alive_s: broker.keep_alive_s.get(),
                user: user.map(|user| user.to_string()),
                password: password.map(|password| Zeroizing::new(password.as_bytes().to_vec())),
                properties: Properties {
                    session_expiry_s: Some(broker.session_expiry_s),
                    receive_maximum: Some(broker.receive_maximum.get()),
                    ..Properties::default()
                },
            },
        })
    }
}

impl Connection {
    /// Connects and is let in. Errors: of the network; `InvalidData` for what is no MQTT; `PermissionDenied` with the
    /// broker's code.
    pub fn open(options: &Options) -> io::Result<(Self, Welcome)> {
        let mut last = io::Error::new(io::ErrorKind::NotFound, "the address has no host");
        for address in options.address.to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => return Self::greet(stream, options),
                Err(cause) => last = cause,
            }
        }
        Err(last)
    }

    fn greet(stream: TcpStream, options: &Options) -> io::Result<(Self, Welcome)> {
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let stream = match &options.tls {
            None => Stream::Plain(Arc::new(stream)),
            Some(terms) => Stream::Secured(Arc::new(Secured::new(stream, terms, PATIENCE)?)),
        };
        let mut connection = Connection {
            stream,
            version: options.version,
            max_packet_bytes: options.max_packet_bytes,
            buffer: Vec::new(),
            too_large: None,
        };
        connection.writer()?.send(&[Packet::Connect(Box::new(options.connect.clone()))])?;
        let Packet::ConnAck { session_present, code, properties } = connection.read()? else {
            return Err(invalid("its first packet is no CONNACK"));
        };
        if code != 0 {
            let what = format!("it refuses the connection: {}", refusal(options.version, code));
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
        let keep_alive_s = properties.server_keep_alive_s.unwrap_or(options.connect.keep_alive_s);
        let silence = (keep_alive_s > 0).then(|| Duration::from_millis(u64::from(keep_alive_s) * 1500));
        connection.stream.set_read_timeout(silence)?;
        Ok((connection, Welcome { session_present, properties: *properties }))
    }

    /// The next packet; of a message that is too large what stands before its properties, once all of it has come.
    /// Errors: of the network, also after one and a half keep alives of silence; `InvalidData`.
    pub fn read(&mut self) -> io::Result<Packet> {
        loop {
            if let Some(packet) = self.next()? {
                return Ok(packet);
            }
            match self.stream.read(&mut self.buffer) {
                Ok(true) => {}
                Ok(false) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it is silent"));
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// The first packet of what was read.
    fn next(&mut self) -> io::Result<Option<Packet>> {
        let no_packet = |_| invalid("it sends what is no packet of MQTT");
        if self.too_large.is_none() {
            match packet_len(&self.buffer).map_err(no_packet)? {
                Some(len) if len > self.max_packet_bytes => {
                    if self.buffer[0] >> 4 != 3 {
                        return Err(invalid("a packet is larger than `max_packet_bytes`"));
                    }
                    let have = self.buffer.len().min(len);
                    match Publish::begun(&self.buffer[..have], len) {
                        Ok(publish) => self.too_large = Some((publish, len)),
                        Err(crate::Error::Truncated) if have < len => return Ok(None), // at most 64 KiB of topic
                        Err(cause) => return Err(no_packet(cause)),
                    }
                }
                Some(len) if len <= self.buffer.len() => {
                    let packet = Packet::parse(self.version, &self.buffer[..len]).map_err(no_packet);
                    self.buffer.drain(..len);
                    return packet.map(Some);
                }
                _ => return Ok(None),
            }
        }
        if let Some((_, left)) = &mut self.too_large {
            let gone = self.buffer.len().min(*left);
            self.buffer.drain(..gone);
            *left -= gone;
        }
        let whole = self.too_large.take_if(|(_, left)| *left == 0);
        Ok(whole.map(|(publish, _)| Packet::Publish(Box::new(publish))))
    }

    /// How long [`Self::read`] waits. For those who have something else to do.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(patience)
    }

    /// The other direction.
    pub fn writer(&self) -> io::Result<Writer> {
        Ok(Writer { stream: self.stream.clone(), version: self.version })
    }
}

impl Writer {
    /// Writes packets in one go. Errors: of the network; `InvalidInput` for a packet that cannot be written.
    pub fn send(&mut self, packets: &[Packet]) -> io::Result<()> {
        let mut bytes = Zeroizing::new(Vec::new());
        for packet in packets {
            let emitted = packet.emit(self.version, &mut bytes);
            emitted.map_err(|cause| io::Error::new(io::ErrorKind::InvalidInput, cause))?;
        }
        self.stream.write_all(&bytes)
    }

    /// Ends the connection, for the reader too.
    pub fn close(&self) {
        self.stream.close();
    }
}

impl Stream {
    /// Waits for bytes and adds them to `out`; under TLS it may have been none. False at the end.
    fn read(&self, out: &mut Vec<u8>) -> io::Result<bool> {
        match self {
            Stream::Plain(stream) => {
                let mut piece = [0; 16 * 1024];
                let count = (&**stream).read(&mut piece)?;
                out.extend(&piece[..count]);
                Ok(count > 0)
            }
            Stream::Secured(secured) => secured.read(out),
        }
    }

    fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => (&**stream).write_all(bytes),
            Stream::Secured(secured) => secured.write_all(bytes),
        }
    }

    fn set_read_timeout(&self, patience: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.set_read_timeout(patience),
            Stream::Secured(secured) => secured.set_read_timeout(patience),
        }
    }

    fn close(&self) {
        match self {
            Stream::Plain(stream) => drop(stream.shutdown(Shutdown::Both)),
            Stream::Secured(secured) => secured.close(),
        }
    }
}

/// Host and port, and whether TLS is asked for: by `mqtts://`, where the port may be left out.
fn address(text: &str) -> (String, bool) {
    let Some(rest) = text.strip_prefix("mqtts://") else { return (text.to_owned(), false) };
    // A colon within brackets is of an IPv6 address.
    let has_port = rest.rsplit(']').next().unwrap_or_default().contains(':');
    (if has_port { rest.to_owned() } else { format!("{rest}:8883") }, true)
}

/// The host of an address, without its port and the brackets of IPv6.
fn host(address: &str) -> &str {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The first line of a file. Errors: `Data`.
fn first_line(path: &Path) -> Result<Zeroizing<String>, Error> {
    let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(|cause| Error::data(path, cause))?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().to_owned()))
}

/// A CONNACK's code in words (MQTT 3.1.1, 3.2.2.3; MQTT 5.0, 3.2.2.2).
fn refusal(version: Version, code: u8) -> String {
    let words = match (version, code) {
        (Version::V311, 1) | (Version::V5, 0x84) => "another version of MQTT is expected",
        (Version::V311, 2) | (Version::V5, 0x85) => "the client identifier is not allowed",
        (Version::V311, 3) | (Version::V5, 0x88) => "it is not available",
        (Version::V311, 4) | (Version::V5, 0x86) => "wrong user name or password",
        (Version::V311, 5) | (Version::V5, 0x87) => "not authorized",
        _ => return format!("code {code:#04x}"),
    };
    words.into()
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}
