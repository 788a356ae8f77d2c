//! How much flash a program takes.

use std::path::Path;

/// Bytes of the program that are kept in flash: every section that is loaded and has contents (`.vector_table`, `.text`,
/// `.rodata`, `.data`). Errors: the file is no 32-bit little-endian ELF.
pub(crate) fn flash(program: &Path) -> Result<u64, String> {
    let file =
        std::fs::read(super::built(program)?).map_err(|why| format!("{}: {why}", program.display()))?;
    sections(&file).ok_or_else(|| format!("{}: no ELF of 32 bits", program.display()))
}

fn sections(file: &[u8]) -> Option<u64> {
    const NOBITS: u32 = 8;
    const ALLOC: u32 = 2;
    let half = |at: usize| Some(usize::from(u16::from_le_bytes(*file.get(at..)?.first_chunk()?)));
    let word = |at: usize| Some(u32::from_le_bytes(*file.get(at..)?.first_chunk()?));
    // Magic number, 32 bits, little-endian.
    file.starts_with(b"\x7fELF\x01\x01").then_some(())?;
    let (table, size, count) = (word(32)? as usize, half(46)?, half(48)?);
    let mut bytes = 0;
    for section in (0..count).map(|n| table + n * size) {
        if word(section + 4)? != NOBITS && word(section + 8)? & ALLOC != 0 {
            bytes += u64::from(word(section + 20)?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::sections;

    #[test]
    fn sections_that_are_loaded_and_have_contents_count() {
        let mut file = b"\x7fELF\x01\x01".to_vec();
        file.resize(52, 0);
        (file[32], file[46], file[48]) = (52, 40, 3);
        for (kind, flags, size) in [(1u8, 2u8, 100u8), (8, 2, 50), (1, 0, 25)] {
            let mut section = [0; 40];
            (section[4], section[8], section[20]) = (kind, flags, size);
            file.extend(section);
        }
        assert_eq!(sections(&file), Some(100));
        assert_eq!(sections(&file[..60]), None);
        assert_eq!(sections(b"something else"), None);
    }
}
