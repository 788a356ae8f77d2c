//! The LAN9118 of an AN386 (SMSC LAN9118 data sheet, 5), polled: as much of it as frames in and frames out need.

use core::ptr::{read_volatile, write_volatile};

const BASE: usize = 0x4020_0000;
const RX_DATA: usize = 0x00;
const TX_DATA: usize = 0x20;
const RX_STATUS: usize = 0x40;
const TX_STATUS: usize = 0x48;
const TX_CFG: usize = 0x70;
const HW_CFG: usize = 0x74;
const RX_FIFO_INF: usize = 0x7c;
const TX_FIFO_INF: usize = 0x80;
const MAC_CSR_CMD: usize = 0xa4;
const MAC_CSR_DATA: usize = 0xa8;
/// Registers behind the MAC's door.
const MAC_CR: u32 = 1;
const ADDRH: u32 = 2;
const ADDRL: u32 = 3;

/// Longest frame, without the check sequence.
pub const FRAME_MAX: usize = 1514;

/// The controller, running. There is one.
#[derive(Debug)]
pub struct Lan9118(());

impl Lan9118 {
    /// Resets it, gives it an address, turns both directions on.
    pub fn start(address: [u8; 6]) -> Self {
        let mut lan = Lan9118(());
        lan.write(HW_CFG, 1); // soft reset
        while lan.read(HW_CFG) & 1 != 0 {}
        lan.write(HW_CFG, 5 << 16); // 5 KiB of 16 for the way out
        let [a, b, c, d, e, f] = address;
        lan.write_mac(ADDRL, u32::from_le_bytes([a, b, c, d]));
        lan.write_mac(ADDRH, u32::from_le_bytes([e, f, 0, 0]));
        lan.write_mac(MAC_CR, 1 << 2 | 1 << 3); // receiver and transmitter
        lan.write(TX_CFG, 1 << 1);
        lan
    }

    /// Takes a frame that came; says its length, without the check sequence. What is longer than `out` is cut.
    pub fn receive(&mut self, out: &mut [u8]) -> Option<usize> {
        if self.read(RX_FIFO_INF) >> 16 & 0xff == 0 {
            return None;
        }
        let len = (self.read(RX_STATUS) >> 16 & 0x3fff) as usize;
        for i in 0..len.div_ceil(4) {
            let word = self.read(RX_DATA).to_le_bytes();
            for (byte, place) in word.iter().zip(out.iter_mut().skip(4 * i)) {
                *place = *byte;
            }
        }
        Some(len.saturating_sub(4).min(out.len()))
    }

    /// Sends a frame. Bounds: at most [`FRAME_MAX`] bytes.
    pub fn send(&mut self, frame: &[u8]) {
        let len = frame.len() as u32;
        self.write(TX_DATA, 1 << 13 | 1 << 12 | len); // the first and the last buffer of its frame
        self.write(TX_DATA, len);
        for four in frame.chunks(4) {
            let mut word = [0; 4];
            word[..four.len()].copy_from_slice(four);
            self.write(TX_DATA, u32::from_le_bytes(word));
        }
        while self.read(TX_FIFO_INF) >> 16 & 0xff != 0 {
            self.read(TX_STATUS);
        }
    }

    fn write_mac(&mut self, register: u32, value: u32) {
        self.write(MAC_CSR_DATA, value);
        self.write(MAC_CSR_CMD, 1 << 31 | register);
        while self.read(MAC_CSR_CMD) & 1 << 31 != 0 {}
    }

    fn read(&mut self, at: usize) -> u32 {
        // SAFETY: a register of the controller, which belongs to whoever holds `self`.
        unsafe { read_volatile((BASE + at) as *const u32) }
    }

    fn write(&mut self, at: usize, value: u32) {
        // SAFETY: as above.
        unsafe { write_volatile((BASE + at) as *mut u32, value) }
    }
}
