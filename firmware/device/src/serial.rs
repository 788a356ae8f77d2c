//! The way over USART2 and a modem that passes bytes through: QEMU's `-chardev socket,…,reconnect=1`.
//!
//! Nobody tells the device whether the modem is connected. So a connection is over when an answer does not come, and CONNECT is tried until
//! one does.

use sealstone_board::Uart;
use sealstone_mqtt::provision::Provision;
use sealstone_mqtt::publisher::{Closed, Transport};

/// Nothing that must outlive the way.
pub(crate) struct Memory;

impl Memory {
    pub(crate) fn new() -> Self {
        Memory
    }
}

pub(crate) struct Way<'a> {
    uart: Uart,
    now: u64,
    /// Until then the device is silent, so that the modem connects anew.
    silent: u64,
    _memory: core::marker::PhantomData<&'a ()>,
}

impl<'a> Way<'a> {
    pub(crate) fn new(_: &'a mut Memory, _: &Provision<'_>) -> Self {
        Way { uart: Uart::start(), now: 0, silent: 0, _memory: core::marker::PhantomData }
    }

    pub(crate) fn tick(&mut self, now: u64) {
        self.now = now;
    }
}

impl Transport for Way<'_> {
    fn connect(&mut self) -> Result<bool, Closed> {
        // What is left of the connection before.
        while self.uart.receive().is_some() {}
        Ok(self.now >= self.silent)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<usize, Closed> {
        Ok(bytes.iter().take_while(|byte| self.uart.send(**byte)).count())
    }

    fn read(&mut self, out: &mut [u8]) -> Result<usize, Closed> {
        let mut read = 0;
        while let Some(place) = out.get_mut(read)
            && let Some(byte) = self.uart.receive()
        {
            *place = byte;
            read += 1;
        }
        Ok(read)
    }

    /// A DISCONNECT makes the broker close, if it is there and between two packets; then the modem connects again.
    fn close(&mut self) {
        for byte in [0xe0, 0] {
            while !self.uart.send(byte) {}
        }
        self.silent = self.now + 1_500;
    }
}
