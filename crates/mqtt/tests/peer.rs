//! The broker's end of a connection to the gateway, played by a test: packets of MQTT 5 over any stream.

use std::io::{Read, Write};
use std::net::TcpStream;

use sealstone_mqtt::gateway::wire::{Packet, Version};
use sealstone_mqtt::packet::packet_len;

pub(crate) struct Peer<S = TcpStream> {
    pub(crate) stream: S,
    buffer: Vec<u8>,
}

impl<S: Read + Write> Peer<S> {
    pub(crate) fn over(stream: S) -> Self {
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, packet: Packet) {
        let mut bytes = Vec::new();
        packet.emit(Version::V5, &mut bytes).unwrap();
        self.stream.write_all(&bytes).unwrap();
    }

    pub(crate) fn read(&mut self) -> Packet {
        loop {
            if let Some(len) = packet_len(&self.buffer).unwrap()
                && let Some(bytes) = self.buffer.get(..len)
            {
                let packet = Packet::parse(Version::V5, bytes).unwrap();
                self.buffer.drain(..len);
                return packet;
            }
            let mut piece = [0; 16_384];
            let count = self.stream.read(&mut piece).expect("the gateway says nothing");
            assert!(count > 0, "the gateway left");
            self.buffer.extend(&piece[..count]);
        }
    }

    /// Confirms the subscription that comes next.
    pub(crate) fn subscribed(&mut self) {
        match self.read() {
            Packet::Subscribe { id, .. } => self.send(Packet::SubAck { id, codes: vec![1] }),
            other => panic!("{other:?}"),
        }
    }
}
