//! A connection to a broker: packets in, packets out. It blocks, for threads of its own.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::time::Duration;

use zeroize::Zeroizing;

use super::Error;
use super::config::Broker;
use super::wire::{Connect, Packet, Properties, Version};
use crate::packet::packet_len;

/// How long a connection may take to be made, and a packet to be written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Who connects where.
#[derive(Clone)]
pub struct Options {
    /// Host and port.
    pub address: String,
    /// The version of MQTT.
    pub version: Version,
    /// The largest packet that is read.
    pub max_packet_bytes: usize,
    /// What is said first.
    pub connect: Connect,
}

/// An open connection.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    version: Version,
    max_packet_bytes: usize,
    /// What was read and is not yet a packet.
    buffer: Vec<u8>,
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
    stream: TcpStream,
    version: Version,
}

impl Options {
    /// Those of a configuration. Errors: a file that cannot be read.
    pub fn of(broker: &Broker) -> Result<Self, Error> {
        let user = broker.user_file.as_deref().map(first_line).transpose()?;
        let password = broker.password_file.as_deref().map(first_line).transpose()?;
        Ok(Options {
            address: broker.address.clone(),
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
                    maximum_packet_size: Some(broker.max_packet_bytes.get()),
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
        let mut connection = Connection {
            stream,
            version: options.version,
            max_packet_bytes: options.max_packet_bytes,
            buffer: Vec::new(),
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

    /// The next packet. Errors: of the network, also after one and a half keep alives of silence; `InvalidData`.
    pub fn read(&mut self) -> io::Result<Packet> {
        loop {
            let no_packet = |_| invalid("it sends what is no packet of MQTT");
            if let Some(len) = packet_len(&self.buffer).map_err(no_packet)? {
                if len > self.max_packet_bytes {
                    return Err(invalid("a packet is larger than `max_packet_bytes`"));
                }
                if let Some(bytes) = self.buffer.get(..len) {
                    let packet = Packet::parse(self.version, bytes).map_err(no_packet);
                    self.buffer.drain(..len);
                    return packet;
                }
            }
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece) {
                Ok(0) => {
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it closed the connection"));
                }
                Ok(count) => self.buffer.extend(&piece[..count]),
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(cause) if matches!(cause.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "it is silent"));
                }
                Err(cause) => return Err(cause),
            }
        }
    }

    /// How long [`Self::read`] waits. For those who have something else to do.
    pub fn set_patience(&self, patience: Option<Duration>) -> io::Result<()> {
        self.stream.set_read_timeout(patience)
    }

    /// The other direction.
    pub fn writer(&self) -> io::Result<Writer> {
        Ok(Writer { stream: self.stream.try_clone()?, version: self.version })
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
        let _ = self.stream.shutdown(Shutdown::Both);
    }
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
