//! PEM as RFC 7468 §3 has it: one block and nothing around it. Lines of 64 characters are written; lines of any
//! length are read, as §3 allows, because others write them.
//!
//! Base64 is done by arithmetic, not by tables: the text may be a private key, and no memory address depends on it.

use zeroize::Zeroizing;

use crate::error::Error;

/// Most bytes of text: what 64 KiB of DER becomes, with room for line ends.
const MAX: usize = 98_304;
/// Characters of a line as it is written.
const LINE: usize = 64;

/// The block's label and content. `expected` names the labels that would do, for errors.
pub(crate) fn decode<'t>(
    text: &'t str,
    expected: &'static str,
) -> Result<(&'t str, Zeroizing<Vec<u8>>), Error> {
    decode_large(text, expected, MAX / 3 * 2)
}

/// The same for blocks of up to so many bytes.
pub(crate) fn decode_large<'t>(
    text: &'t str,
    expected: &'static str,
    limit: usize,
) -> Result<(&'t str, Zeroizing<Vec<u8>>), Error> {
    let limit = limit / 2 * 3;
    if text.len() > limit {
        return Err(Error::TooLarge { limit, found: text.len() });
    }
    let mut lines =
        text.trim_end_matches(['\n', '\r']).split('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let label = first
        .strip_prefix("-----BEGIN ")
        .and_then(|rest| rest.strip_suffix("-----"))
        .ok_or(Error::Pem { line: 1, problem: "expected a BEGIN line and nothing before it" })?;
    if !label_is_sane(label) {
        return Err(Error::Pem { line: 1, problem: "the label is not upper-case words" });
    }

    let mut out = Zeroizing::new(Vec::with_capacity(text.len() / 4 * 3));
    // What a line leaves of a group of four characters that goes on in the next.
    let mut group = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut line = 1;
    let mut padded = false;
    while let Some(content) = lines.next() {
        line += 1;
        let refused = |problem| Error::Pem { line, problem };
        if let Some(end) = content.strip_prefix("-----END ") {
            if end.strip_suffix("-----") != Some(label) {
                return Err(refused("the END line does not match the BEGIN line"));
            }
            if lines.next().is_some() {
                return Err(Error::Pem { line: line + 1, problem: "expected nothing after the END line" });
            }
            if !group.is_empty() {
                return Err(refused("the base64 before it is not a multiple of 4 characters"));
            }
            if out.is_empty() {
                return Err(refused("the block is empty"));
            }
            return match label {
                "ENCRYPTED PRIVATE KEY" if label != expected => Err(Error::Encrypted),
                _ if expected.split(" or ").any(|allowed| allowed == label) => Ok((label, out)),
                _ => Err(Error::PemLabel { expected, found: label.to_owned() }),
            };
        }
        if content.contains(':') {
            return Err(refused("header lines are not allowed"));
        }
        if padded {
            return Err(refused("padding ends the block"));
        }
        if content.is_empty() {
            return Err(refused("a blank line"));
        }
        padded = content.ends_with('=');
        group.extend_from_slice(content.as_bytes());
        let whole = group.len() & !3;
        decode_groups(&group[..whole], &mut out).map_err(refused)?;
        group.drain(..whole);
    }
    Err(Error::Pem { line, problem: "the END line is missing" })
}

/// The blocks of this label in a text, whole, at most `limit`; what stands around them is passed over (RFC 7468 §2).
pub(crate) fn blocks<'t>(text: &'t str, label: &'static str, limit: usize) -> Result<Vec<&'t str>, Error> {
    let (begin, end) = (format!("-----BEGIN {label}-----"), format!("-----END {label}-----"));
    let line_of = |offset: usize| 1 + text[..offset].matches('\n').count();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(start) = text[from..].find(&begin).map(|at| from + at) {
        let refused = |problem| Err(Error::Pem { line: line_of(start), problem });
        if start > 0 && text.as_bytes()[start - 1] != b'\n' {
            return refused("a BEGIN line stands on a line of its own");
        }
        let Some(stop) = text[start..].find(&end).map(|at| start + at + end.len()) else {
            return refused("the END line is missing");
        };
        if found.len() == limit {
            return refused("too many blocks");
        }
        found.push(&text[start..stop]);
        from = stop;
    }
    match found.is_empty() {
        true => Err(Error::Pem { line: 1, problem: "there is no block of this kind in it" }),
        false => Ok(found),
    }
}

/// Writes one block. The text is wiped when dropped and was never moved.
pub(crate) fn encode(label: &str, content: &[u8]) -> Zeroizing<String> {
    let characters = content.len().div_ceil(3) * 4;
    let room = characters + characters.div_ceil(LINE) + 2 * label.len() + 32;
    let mut out = Zeroizing::new(String::with_capacity(room));
    out.push_str("-----BEGIN ");
    out.push_str(label);
    out.push_str("-----\n");
    for line in content.chunks(LINE / 4 * 3) {
        for group in line.chunks(3) {
            let octet = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
            let bits = octet(0) << 16 | octet(1) << 8 | octet(2);
            for index in 0..4 {
                let padding = index > group.len();
                out.push(if padding { '=' } else { encode_6(bits >> (18 - 6 * index) & 0x3f) });
            }
        }
        out.push('\n');
    }
    out.push_str("-----END ");
    out.push_str(label);
    out.push_str("-----\n");
    out
}

/// RFC 7468 §3 allows more; these are the labels in use.
fn label_is_sane(label: &str) -> bool {
    (1..=64).contains(&label.len())
        && label.bytes().all(|byte| byte == b' ' || byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Decodes whole groups of four; padding may stand in the last group only, over bits that are zero.
fn decode_groups(groups: &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let padding = groups.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let (symbols, mut bad) = (groups.len() - padding, 0);
    for (group_index, group) in groups.chunks(4).enumerate() {
        let mut bits: i32 = 0;
        for (index, byte) in group.iter().enumerate() {
            let value = if group_index * 4 + index < symbols { decode_6(*byte) } else { 0 };
            bad |= value;
            bits = bits << 6 | i32::from(value & 0x3f);
        }
        out.extend_from_slice(&bits.to_be_bytes()[1..]);
    }
    if bad < 0 {
        return Err("not a base64 character");
    }
    let (kept, spare) = out.split_at(out.len() - padding);
    if spare.iter().any(|byte| *byte != 0) {
        return Err("the last character has bits that must be zero");
    }
    let kept = kept.len();
    out.truncate(kept);
    Ok(())
}

/// The value of one character, or -1; each range adds its part or nothing, without a branch.
fn decode_6(character: u8) -> i16 {
    let c = i16::from(character);
    // All ones where low <= c <= high, else zero.
    let within = |low: u8, high: u8| ((i16::from(low) - 1 - c) & (c - i16::from(high) - 1)) >> 8;
    let mut value = -1;
    value += within(b'A', b'Z') & (c - 64);
    value += within(b'a', b'z') & (c - 70);
    value += within(b'0', b'9') & (c + 5);
    value += within(b'+', b'+') & 63;
    value += within(b'/', b'/') & 64;
    value
}

/// The character of a value below 64, without a branch.
fn encode_6(value: u32) -> char {
    debug_assert!(value < 64, "a 6-bit value");
    let v = value as i16;
    let mut c = v + i16::from(b'A');
    c += ((25 - v) >> 8) & 6;
    c -= ((51 - v) >> 8) & 75;
    c -= ((61 - v) >> 8) & 15;
    c += ((62 - v) >> 8) & 3;
    char::from(c as u8)
}
