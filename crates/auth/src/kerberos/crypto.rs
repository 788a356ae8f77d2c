//! What seals tickets and authenticators: AES in CBC with ciphertext stealing, and an HMAC. RFC 3961 §5, RFC 3962,
//! RFC 8009. DES and RC4 are not here.

use std::fmt;

use aws_lc_rs::cipher::{
    AES_128, AES_256, Algorithm, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::hmac;
use aws_lc_rs::iv::FixedLength;
use zeroize::Zeroizing;

/// The block of AES, and the length of a confounder.
pub const BLOCK: usize = 16;

/// The two families of encryption types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// 17 and 18, RFC 3962.
    Sha1,
    /// 19 and 20, RFC 8009.
    Sha2,
}

/// A key with its encryption type. Wiped when it is dropped.
#[derive(Clone, PartialEq, Eq)]
pub struct Key {
    /// Its number in RFC 3961 §8.
    etype: i64,
    kind: Kind,
    bytes: Zeroizing<Vec<u8>>,
}

impl Key {
    /// A key of one of the types aes128-cts-hmac-sha1-96 (17), aes256-cts-hmac-sha1-96 (18),
    /// aes128-cts-hmac-sha256-128 (19) and aes256-cts-hmac-sha384-192 (20). `None` for any other, and for another length.
    pub fn new(etype: i64, bytes: &[u8]) -> Option<Self> {
        let (kind, len) = match etype {
            17 => (Kind::Sha1, 16),
            18 => (Kind::Sha1, 32),
            19 => (Kind::Sha2, 16),
            20 => (Kind::Sha2, 32),
            _ => return None,
        };
        (bytes.len() == len).then(|| Self { etype, kind, bytes: Zeroizing::new(bytes.to_vec()) })
    }

    /// The number of its encryption type.
    pub fn etype(&self) -> i64 {
        self.etype
    }

    /// Opens what was sealed for `usage` (RFC 4120 §7.5.1). `None` if it was not sealed with this key, for this usage, or
    /// is not whole.
    ///
    /// Time: the comparison of the MAC does not depend on it.
    pub fn open(&self, usage: u32, sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (ke, ki) = self.derive(usage).ok()?;
        let (cipher, mac) = sealed.split_at_checked(sealed.len().checked_sub(self.mac_len())?)?;
        if cipher.len() < BLOCK {
            return None;
        }
        // RFC 8009 §5: the MAC is over the cipher text, and is checked first. RFC 3961 §5.3: over the plain text.
        if self.kind == Kind::Sha2 && !self.is_mac(&ki, &[&[0; BLOCK], cipher], mac) {
            return None;
        }
        let mut plain = Zeroizing::new(cipher.to_vec());
        self.cts_decrypt(&ke, &mut plain).ok()?;
        if self.kind == Kind::Sha1 && !self.is_mac(&ki, &[&plain], mac) {
            return None;
        }
        Some(Zeroizing::new(plain[BLOCK..].to_vec()))
    }

    /// Seals for `usage`; the confounder is drawn anew each time. `None` if AES fails, which it does for no input.
    pub fn seal(&self, usage: u32, confounder: [u8; BLOCK], plain: &[u8]) -> Option<Vec<u8>> {
        let (ke, ki) = self.derive(usage).ok()?;
        let whole = Zeroizing::new([&confounder, plain].concat());
        let mut cipher = whole.to_vec();
        self.cts_encrypt(&ke, &mut cipher).ok()?;
        let mac = match self.kind {
            Kind::Sha1 => self.mac(&ki, &[&whole]),
            Kind::Sha2 => self.mac(&ki, &[&[0; BLOCK], &cipher]),
        };
        cipher.extend_from_slice(&mac.as_ref()[..self.mac_len()]);
        Some(cipher)
    }

    fn aes(&self) -> &'static Algorithm {
        if self.bytes.len() == 16 { &AES_128 } else { &AES_256 }
    }

    fn hash(&self) -> hmac::Algorithm {
        match (self.kind, self.bytes.len()) {
            (Kind::Sha1, _) => hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
            (Kind::Sha2, 16) => hmac::HMAC_SHA256,
            (Kind::Sha2, _) => hmac::HMAC_SHA384,
        }
    }

    /// RFC 3962 §6: 96 bits. RFC 8009 §5: half of the hash.
    fn mac_len(&self) -> usize {
        match (self.kind, self.bytes.len()) {
            (Kind::Sha1, _) => 12,
            (Kind::Sha2, 16) => 16,
            (Kind::Sha2, _) => 24,
        }
    }

    fn mac(&self, ki: &[u8], parts: &[&[u8]]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&hmac::Key::new(self.hash(), ki));
        parts.iter().for_each(|part| context.update(part));
        context.sign()
    }

    fn is_mac(&self, ki: &[u8], parts: &[&[u8]], given: &[u8]) -> bool {
        let mac = self.mac(ki, parts);
        aws_lc_rs::constant_time::verify_slices_are_equal(&mac.as_ref()[..self.mac_len()], given).is_ok()
    }

    /// Ke and Ki: RFC 3961 §5.3, RFC 8009 §5.
    fn derive(&self, usage: u32) -> Result<(Derived, Derived), Unspecified> {
        let constant = |last: u8| {
            let [a, b, c, d] = usage.to_be_bytes();
            [a, b, c, d, last]
        };
        let (ke, ki) = (constant(0xaa), constant(0x55));
        match self.kind {
            Kind::Sha1 => Ok((self.dk(&ke)?, self.dk(&ki)?)),
            Kind::Sha2 => Ok((self.kdf(&ke, self.bytes.len()), self.kdf(&ki, self.mac_len()))),
        }
    }

    /// DK(key, constant) = random-to-key(DR(key, constant)), RFC 3961 §5.1; random-to-key changes nothing, RFC 3962 §6.
    fn dk(&self, constant: &[u8]) -> Result<Derived, Unspecified> {
        let cipher = EncryptingKey::ecb(UnboundCipherKey::new(self.aes(), &self.bytes)?)?;
        let mut block = Zeroizing::new(fold(constant));
        let mut derived = Zeroizing::new(Vec::with_capacity(self.bytes.len()));
        while derived.len() < self.bytes.len() {
            cipher.encrypt(&mut *block)?;
            derived.extend_from_slice(&*block);
        }
        Ok(derived)
    }

    /// KDF-HMAC-SHA2(key, label, k), RFC 8009 §3: the first k bits of HMAC(key, 1 | label | 0 | k). `len` is in bytes.
    fn kdf(&self, label: &[u8], len: usize) -> Derived {
        let bits = (len as u32 * 8).to_be_bytes();
        let mac = self.mac(&self.bytes, &[&[0, 0, 0, 1], label, &[0], &bits]);
        Zeroizing::new(mac.as_ref()[..len].to_vec())
    }

    /// CBC-CS3 with a first block of zeros, RFC 3962 §5. At least one block.
    fn cts_encrypt(&self, ke: &[u8], data: &mut Vec<u8>) -> Result<(), Unspecified> {
        let len = data.len();
        debug_assert!(len >= BLOCK);
        data.resize(len.next_multiple_of(BLOCK), 0);
        let cipher = EncryptingKey::cbc(UnboundCipherKey::new(self.aes(), ke)?)?;
        cipher.less_safe_encrypt(data, EncryptionContext::Iv128(FixedLength::from([0; BLOCK])))?;
        if let Some(begin) = data.len().checked_sub(2 * BLOCK) {
            let (before, last) = data[begin..].split_at_mut(BLOCK);
            before.swap_with_slice(last);
        }
        data.truncate(len);
        Ok(())
    }

    /// The way back: the last block but one is whole, and holds what was stolen for the last.
    fn cts_decrypt(&self, ke: &[u8], data: &mut [u8]) -> Result<(), Unspecified> {
        debug_assert!(data.len() >= BLOCK);
        let aes = || UnboundCipherKey::new(self.aes(), ke);
        let tail = (data.len() - 1) / BLOCK * BLOCK;
        let (whole, stolen) = data.split_at_mut(tail);
        let zeros = DecryptionContext::Iv128(FixedLength::from([0; BLOCK]));
        let Some(before) = tail.checked_sub(BLOCK) else {
            // One block: CBC alone.
            DecryptingKey::cbc(aes()?)?.decrypt(data, zeros)?;
            return Ok(());
        };
        let mut block = Zeroizing::new([0; BLOCK]);
        block.copy_from_slice(&whole[before..]);
        DecryptingKey::ecb(aes()?)?.decrypt(&mut *block, DecryptionContext::None)?;
        for (byte, decrypted) in stolen.iter_mut().zip(block.iter_mut()) {
            let cipher = *byte;
            *byte ^= *decrypted;
            *decrypted = cipher;
        }
        whole[before..].copy_from_slice(&*block);
        DecryptingKey::cbc(aes()?)?.decrypt(whole, zeros)?;
        Ok(())
    }
}

type Derived = Zeroizing<Vec<u8>>;

/// 128-fold, RFC 3961 §5.1: copies of the text, each turned by 13 bits more, are laid side by side and added up in
/// blocks of 128 bits with the carry coming round. 1 to 15 bytes.
fn fold(text: &[u8]) -> [u8; BLOCK] {
    debug_assert!((1..BLOCK).contains(&text.len()));
    let width = 8 * text.len() as u32;
    let mask = (1u128 << width) - 1;
    let value = text.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    let turned = |by: u32| (value >> by | value << (width - by)) & mask;
    let copies = (0..BLOCK as u32).map(|copy| turned(13 * copy % width));
    let bytes: Vec<u8> = copies.flat_map(|copy| copy.to_be_bytes()[BLOCK - text.len()..].to_vec()).collect();
    // As many blocks as the least common multiple of both lengths has.
    let round = (1..=text.len()).find(|n| (n * BLOCK).is_multiple_of(text.len())).unwrap_or(text.len());
    let blocks = bytes.chunks_exact(BLOCK).take(round);
    let sum = blocks.fold(0u128, |sum, block| {
        let block = block.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
        let (sum, carry) = sum.overflowing_add(block);
        sum + u128::from(carry)
    });
    sum.to_be_bytes()
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("etype", &self.etype).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::{BLOCK, Key, fold};

    fn hex(text: &str) -> Vec<u8> {
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    }

    fn key(etype: i64, text: &str) -> Key {
        Key::new(etype, &hex(text)).unwrap()
    }

    /// RFC 3961 §A.1, its example of 128 bits.
    #[test]
    fn rfc3961_a_1_n_fold() {
        assert_eq!(fold(b"kerberos").to_vec(), hex("6b65726265726f737b9b5b2b93132b93"));
    }

    #[test]
    fn rfc3962_b_ciphertext_stealing() {
        let key = key(17, "636869636b656e207465726979616b69");
        let text = b"I would like the General Gau's Chicken, please, and wonton soup.";
        for (len, cipher) in [
            (17, "c6353568f2bf8cb4d8a580362da7ff7f97"),
            (31, "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5"),
            (32, "39312523a78662d5be7fcbcc98ebf5a897687268d6ecccc0c07b25e25ecfe584"),
            (
                48,
                "97687268d6ecccc0c07b25e25ecfe5849dad8bbb96c4cdc03bc103e1a194bbd839312523a78662d5be7fcbcc98ebf5a8",
            ),
        ] {
            let mut data = text[..len].to_vec();
            key.cts_encrypt(&key.bytes, &mut data).unwrap();
            assert_eq!(data, hex(cipher), "{len} bytes");
            key.cts_decrypt(&key.bytes, &mut data).unwrap();
            assert_eq!(data, text[..len]);
        }
    }

    #[test]
    fn rfc8009_a_derived_keys_and_sealing() {
        let small = key(19, "3705d96080c17728a0e800eab6e0d23c");
        let (ke, ki) = small.derive(2).unwrap();
        assert_eq!(*ke, hex("9b197dd1e8c5609d6e67c3e37c62c72e"));
        assert_eq!(*ki, hex("9fda0e56ab2d85e1569a688696c26a6c"));
        let confounder: [u8; BLOCK] = hex("7e5895eaf2672435bad817f545a37148").try_into().unwrap();
        let sealed = "ef85fb890bb8472f4dab20394dca781dad877eda39d50c870c0d5a0a8e48c718";
        assert_eq!(small.seal(2, confounder, b"").unwrap(), hex(sealed));

        let large = key(20, "6d404d37faf79f9df0d33568d320669800eb4836472ea8a026d16b7182460c52");
        let (ke, ki) = large.derive(2).unwrap();
        assert_eq!(*ke, hex("56ab22bee63d82d7bc5227f6773f8ea7a5eb1c825160c38312980c442e5c7e49"));
        assert_eq!(*ki, hex("69b16514e3cd8e56b82010d5c73012b622c4d00ffc23ed1f"));
        let confounder: [u8; BLOCK] = hex("f764e9fa15c276478b2c7d0c4e5f58e4").try_into().unwrap();
        let sealed = "41f53fa5bfe7026d91faf9be959195a058707273a96a40f0a01960621ac612748b9bbfbe7eb4ce3c";
        assert_eq!(large.seal(2, confounder, b"").unwrap(), hex(sealed));
    }

    #[test]
    fn what_is_sealed_is_opened_and_nothing_else() {
        for (etype, len) in [(17, 16), (18, 32), (19, 16), (20, 32)] {
            let key = Key::new(etype, &vec![7; len]).unwrap();
            let stranger = Key::new(etype, &vec![8; len]).unwrap();
            for size in 0..70 {
                let plain: Vec<u8> = (0..size).collect();
                let sealed = key.seal(11, [3; BLOCK], &plain).unwrap();
                assert_eq!(*key.open(11, &sealed).unwrap(), plain, "type {etype}, {size} bytes");
                assert!(key.open(12, &sealed).is_none(), "another usage");
                assert!(stranger.open(11, &sealed).is_none(), "another key");
                for at in 0..sealed.len() {
                    let mut altered = sealed.clone();
                    altered[at] ^= 1;
                    assert!(key.open(11, &altered).is_none(), "byte {at}");
                }
                for cut in 0..sealed.len() {
                    assert!(key.open(11, &sealed[..cut]).is_none(), "{cut} bytes are left");
                }
            }
        }
        for (etype, len) in [(1, 8), (3, 8), (16, 24), (23, 16), (17, 32), (18, 16), (20, 31), (-1, 16)] {
            assert!(Key::new(etype, &vec![0; len]).is_none(), "type {etype} with {len} bytes");
        }
    }
}
