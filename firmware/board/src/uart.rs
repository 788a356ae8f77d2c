//! USART2 of an STM32F405 (RM0090, 30.6), polled. QEMU's second `-serial`.
//!
//! A real board needs more before it: clocks for GPIOA and USART2, pins PA2 and PA3 in their alternate function 7, the baud rate.

use core::ptr::{read_volatile, write_volatile};

const USART2: usize = 0x4000_4400;
const SR: *const u32 = USART2 as *const u32;
const DR: *mut u32 = (USART2 + 0x04) as *mut u32;
const CR1: *mut u32 = (USART2 + 0x0c) as *mut u32;

const RXNE: u32 = 1 << 5;
const TXE: u32 = 1 << 7;

/// The port, running. There is one.
#[derive(Debug)]
pub struct Uart(());

impl Uart {
    /// Turns it on: receiver, transmitter, USART.
    pub fn start() -> Self {
        // SAFETY: a register of USART2, which nobody else uses.
        unsafe { write_volatile(CR1, 1 << 2 | 1 << 3 | 1 << 13) }
        Uart(())
    }

    /// Sends a byte, if the last one has left.
    pub fn send(&mut self, byte: u8) -> bool {
        // SAFETY: registers of USART2, which nobody else uses.
        unsafe {
            let free = read_volatile(SR) & TXE != 0;
            if free {
                write_volatile(DR, u32::from(byte));
            }
            free
        }
    }

    /// The byte that came, if one did.
    pub fn receive(&mut self) -> Option<u8> {
        // SAFETY: registers of USART2, which nobody else uses; reading DR takes the byte.
        unsafe { (read_volatile(SR) & RXNE != 0).then(|| read_volatile(DR) as u8) }
    }
}
