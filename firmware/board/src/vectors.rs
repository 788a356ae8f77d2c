//! The vectors of the chip's own interrupts. No program here enables one, so each is the handler of what nobody expects.

/// As many as the STM32F405 has (RM0090, table 61). An AN386 has fewer.
const INTERRUPTS: usize = 82;

unsafe extern "C" {
    fn DefaultHandler();
}

// SAFETY: the name and the section are those where cortex-m-rt looks for the table, and each entry is a handler.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".vector_table.interrupts")]
static __INTERRUPTS: [unsafe extern "C" fn(); INTERRUPTS] = [DefaultHandler; INTERRUPTS];
