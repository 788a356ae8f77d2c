//! The way over the board's own TCP/IP: smoltcp on the LAN9118. In QEMU's user network the device is 10.0.2.15, and 10.0.2.2 the host.

use sealstone_board::{FRAME_MAX, Lan9118};
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::publisher::{Closed, Transport};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet, SocketStorage};
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::socket::tcp;
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, IpAddress, IpCidr};

const ADDRESS: [u8; 6] = [0x02, 0, 0, 0x5e, 0xa1, 0x57];

/// Buffers of the connection.
pub(crate) struct Memory<'a> {
    came: [u8; 2048],
    goes: [u8; 6144],
    sockets: [SocketStorage<'a>; 1],
}

impl Memory<'_> {
    pub(crate) fn new() -> Self {
        Memory { came: [0; 2048], goes: [0; 6144], sockets: [SocketStorage::EMPTY] }
    }
}

pub(crate) struct Way<'a> {
    lan: Port,
    interface: Interface,
    sockets: SocketSet<'a>,
    socket: SocketHandle,
    broker: (IpAddress, u16),
    now: u64,
    opening: bool,
    local_port: u16,
}

impl<'a> Way<'a> {
    pub(crate) fn new(memory: &'a mut Memory<'a>, given: &Provision<'_>) -> Self {
        let mut lan = Port { lan: Lan9118::start(ADDRESS), frame: [0; FRAME_MAX] };
        let mut interface =
            Interface::new(Config::new(EthernetAddress(ADDRESS).into()), &mut lan, Instant::ZERO);
        interface.update_ip_addrs(|addresses| {
            let _ = addresses.push(IpCidr::new(IpAddress::v4(10, 0, 2, 15), 24)); // the first always fits
        });
        let Memory { came, goes, sockets } = memory;
        let mut sockets = SocketSet::new(&mut sockets[..]);
        let socket =
            tcp::Socket::new(tcp::SocketBuffer::new(&mut came[..]), tcp::SocketBuffer::new(&mut goes[..]));
        let socket = sockets.add(socket);
        let [a, b, c, d] = given.address;
        let broker = (IpAddress::v4(a, b, c, d), given.port);
        Way { lan, interface, sockets, socket, broker, now: 0, opening: false, local_port: 49_152 }
    }

    pub(crate) fn tick(&mut self, now: u64) {
        self.now = now;
        self.poll();
    }

    fn poll(&mut self) {
        let now = Instant::from_millis(self.now as i64);
        self.interface.poll(now, &mut self.lan, &mut self.sockets);
    }

    fn socket(&mut self) -> &mut tcp::Socket<'a> {
        self.sockets.get_mut(self.socket)
    }
}

impl Transport for Way<'_> {
    fn connect(&mut self) -> Result<bool, Closed> {
        if !self.opening {
            self.local_port = self.local_port.checked_add(1).unwrap_or(49_152);
            let (broker, local) = (self.broker, self.local_port);
            let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
            socket.connect(self.interface.context(), broker, local).map_err(|_| Closed)?;
            self.opening = true;
        }
        self.poll();
        let socket = self.socket();
        if !socket.is_active() {
            return Err(Closed);
        }
        Ok(socket.may_send())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        self.poll();
        let written = self.socket().send_slice(bytes).map_err(|_| Closed)?;
        self.poll();
        Ok(written)
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
        self.poll();
        self.socket().recv_slice(out).map_err(|_| Closed)
    }

    fn close(&mut self) {
        self.socket().abort();
        self.poll();
        self.opening = false;
    }
}

/// The controller as smoltcp wants it.
struct Port {
    lan: Lan9118,
    frame: [u8; FRAME_MAX],
}

struct Came<'a>(&'a [u8]);
struct Goes<'a>(&'a mut Lan9118);

impl phy::RxToken for Came<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl phy::TxToken for Goes<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut frame = [0; FRAME_MAX];
        let frame = &mut frame[..len.min(FRAME_MAX)];
        let answer = f(frame);
        self.0.send(frame);
        answer
    }
}

impl phy::Device for Port {
    type RxToken<'a> = Came<'a>;
    type TxToken<'a> = Goes<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Came<'_>, Goes<'_>)> {
        let len = self.lan.receive(&mut self.frame)?;
        Some((Came(&self.frame[..len]), Goes(&mut self.lan)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Goes<'_>> {
        Some(Goes(&mut self.lan))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = FRAME_MAX;
        capabilities
    }
}
