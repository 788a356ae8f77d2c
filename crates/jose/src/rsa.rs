//! RSA keys: the numbers of PKCS #1 in its DER (RFC 8017 §A.1), and as the members of a JWK (RFC 7518 §6.3).
//!
//! RSA is here for the keys of others: no quantum computer is needed to make it slow.

use zeroize::Zeroizing;

use crate::error::Error;

/// The numbers of a private key as RFC 8017 §A.1.2 orders them, behind the version.
pub(crate) const PRIVATE_MEMBERS: [&str; 8] = ["n", "e", "d", "p", "q", "dp", "dq", "qi"];
/// Bits of a modulus: RFC 7518 §3.3 asks for 2048 or more; more than 4096 would cost who checks too much.
pub(crate) const MODULUS_BITS: core::ops::RangeInclusive<usize> = 2_048..=4_096;
/// The smallest exponent, FIPS 186-5 §A.1.1.
const LEAST_EXPONENT: u64 = 65_537;

const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const SEQUENCE: u8 = 0x30;

/// What an RSA key is not.
pub(crate) struct Fault {
    pub(crate) member: &'static str,
    pub(crate) expected: &'static str,
    pub(crate) found: String,
}

/// `RSAPublicKey`. The numbers are big-endian, without leading zeros.
pub(crate) fn public_der(n: &[u8], e: &[u8]) -> Vec<u8> {
    let mut out = Zeroizing::new(Vec::new());
    sequence(&[n, e], &mut out);
    core::mem::take(&mut out)
}

/// `RSAPrivateKey` of two primes, from the numbers of [`PRIVATE_MEMBERS`].
pub(crate) fn private_der(numbers: &[&[u8]; 8]) -> Zeroizing<Vec<u8>> {
    let mut all: Vec<&[u8]> = vec![&[]];
    all.extend(numbers);
    let mut out = Zeroizing::new(Vec::new());
    sequence(&all, &mut out);
    out
}

/// The modulus and the exponent of an `RSAPublicKey`, within the bounds.
pub(crate) fn public_numbers(der: &[u8]) -> Result<(&[u8], &[u8]), Fault> {
    let [n, e] = numbers(der).ok_or_else(not_der)?;
    check(n, e)?;
    Ok((n, e))
}

/// The numbers of an `RSAPrivateKey` of two primes, its modulus and exponent within the bounds.
pub(crate) fn private_numbers(der: &[u8]) -> Result<[&[u8]; 8], Fault> {
    let [version, numbers @ ..]: [&[u8]; 9] = numbers(der).ok_or_else(not_der)?;
    if !version.is_empty() {
        return Err(Fault { member: "oth", expected: "a key of two primes", found: "more".into() });
    }
    check(numbers[0], numbers[1])?;
    Ok(numbers)
}

/// The `RSAPrivateKey` inside a PKCS #8 `PrivateKeyInfo` (RFC 5208 §5).
pub(crate) fn of_pkcs8(der: &[u8]) -> Option<&[u8]> {
    let (info, _) = value(der, SEQUENCE)?;
    let (_version, rest) = value(info, INTEGER)?;
    let (_algorithm, rest) = value(rest, SEQUENCE)?;
    value(rest, OCTET_STRING).map(|(key, _)| key)
}

impl From<Fault> for Error {
    fn from(Fault { member, expected, found }: Fault) -> Self {
        Error::KeyMalformed { member, expected: expected.into(), found }
    }
}

fn check(n: &[u8], e: &[u8]) -> Result<(), Fault> {
    let bits = n.len() * 8 - n.first().map_or(0, |byte| byte.leading_zeros() as usize);
    if !MODULUS_BITS.contains(&bits) {
        return Err(Fault { member: "n", expected: "2048 to 4096 bits", found: format!("{bits} bits") });
    }
    let small = e.iter().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte));
    if e.len() > 4 || small < LEAST_EXPONENT || small % 2 == 0 {
        let expected = "an odd number from 65537 to 4294967295";
        return Err(Fault { member: "e", expected, found: "another".into() });
    }
    Ok(())
}

fn not_der() -> Fault {
    Fault { member: "n", expected: "an RSA key in the DER of RFC 8017", found: "something else".into() }
}

/// Exactly so many numbers that are not negative, in a sequence and nothing behind it. Zero is empty.
fn numbers<const COUNT: usize>(der: &[u8]) -> Option<[&[u8]; COUNT]> {
    let (mut rest, []) = value(der, SEQUENCE)? else { return None };
    let mut all: [&[u8]; COUNT] = [&[]; COUNT];
    for number in &mut all {
        let content;
        (content, rest) = value(rest, INTEGER)?;
        *number = match content {
            [0] => &[],
            [0, digits @ ..] if digits[0] >= 0x80 => digits,
            [1..0x80, ..] => content,
            _ => return None,
        };
    }
    rest.is_empty().then_some(all)
}

/// The content of the first value, which must be of this type, and what is behind it. Lengths in their one form.
fn value(der: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let [found, first, rest @ ..] = der else { return None };
    if *found != tag {
        return None;
    }
    let (len, rest) = match (*first, rest) {
        (0x81, [len, rest @ ..]) if *len >= 0x80 => (usize::from(*len), rest),
        (0x82, [high, low, rest @ ..]) if *high > 0 => (usize::from(u16::from_be_bytes([*high, *low])), rest),
        (len, rest) if len < 0x80 => (usize::from(len), rest),
        _ => return None,
    };
    rest.split_at_checked(len)
}

/// Writes a sequence of numbers. All room at once: a buffer that grew would leave copies behind.
fn sequence(numbers: &[&[u8]], out: &mut Zeroizing<Vec<u8>>) {
    let content_len =
        |number: &&[u8]| number.len() + usize::from(number.first().is_none_or(|byte| *byte >= 0x80));
    let inner = numbers.iter().map(content_len).map(|len| header_len(len) + len).sum();
    out.reserve_exact(header_len(inner) + inner);
    header(SEQUENCE, inner, out);
    for number in numbers {
        header(INTEGER, content_len(number), out);
        out.extend(core::iter::repeat_n(0, content_len(number) - number.len()));
        out.extend_from_slice(number);
    }
}

const fn header_len(len: usize) -> usize {
    match len {
        0..0x80 => 2,
        0x80..0x100 => 3,
        _ => 4,
    }
}

/// Lengths up to 65535, more than any key here has.
fn header(tag: u8, len: usize, out: &mut Vec<u8>) {
    out.push(tag);
    let [high, low] = u16::try_from(len).unwrap_or(u16::MAX).to_be_bytes();
    match len {
        0..0x80 => out.push(low),
        0x80..0x100 => out.extend([0x81, low]),
        _ => out.extend([0x82, high, low]),
    }
}
