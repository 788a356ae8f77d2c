//! BoringSSL as a rival. Reads lines `OP LEVEL RUNS` and answers each with the nanoseconds of
//! its own time that RUNS took:
//!
//! | operation | times |
//! | --- | --- |
//! | `keygen` | public key and live private key from a seed |
//! | `sign` | live private key from a seed, then a hedged signature of a fresh message |
//! | `sign-expanded` | a hedged signature of a fresh message with a live private key |
//! | `verify` | public key parsed, then one signature verified |
//! | `verify-expanded` | one signature verified with a live public key |
//!
//! Messages have 64 bytes, the context is empty. `check LEVEL` is answered with a public key, a message and a signature in
//! hexadecimal, for somebody else to verify. The first line it writes is its name and version. With
//! PEER_VECTORS=0 in the environment it leaves out the four Keccak states at a time that BoringSSL runs on AVX2.

use std::io::{BufRead, Write};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout();
    let plain = std::env::var("PEER_VECTORS").is_ok_and(|wanted| wanted.starts_with('0'));
    writeln!(out, "boringssl (boring-sys 5.4.0{})", if plain { ", without AVX2" } else { "" })?;
    out.flush()?;
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let answer = answer(&line).unwrap_or_else(|| "none".to_owned());
        writeln!(out, "{answer}")?;
        out.flush()?;
    }
    Ok(())
}

fn answer(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let (operation, level) = (words.next()?, words.next()?);
    let level = match level {
        "44" => &LEVEL_44,
        "65" => &LEVEL_65,
        "87" => &LEVEL_87,
        _ => return None,
    };
    if operation == "check" {
        return Some(level.check_line());
    }
    let nanoseconds = level.time(operation, words.next()?.parse().ok()?);
    nanoseconds.map(|nanoseconds| nanoseconds.to_string())
}

/// BoringSSL's functions for one level, and its lengths.
struct Level {
    public_key: usize,
    signature: usize,
    private_size: unsafe extern "C" fn() -> usize,
    public_size: unsafe extern "C" fn() -> usize,
    keygen: unsafe extern "C" fn(*mut u8, *mut u8, *const u8) -> i32,
    sign: unsafe extern "C" fn(*mut u8, *const u8, *const u8, usize) -> i32,
    parse: unsafe extern "C" fn(*mut u8, *const u8, usize) -> i32,
    verify: unsafe extern "C" fn(*const u8, *const u8, *const u8, usize) -> i32,
}

macro_rules! level {
    ($name:ident, $pk:literal, $sig:literal, $private:ident $public:ident $keygen:ident $sign:ident $parse:ident $verify:ident) => {
        unsafe extern "C" {
            fn $private() -> usize;
            fn $public() -> usize;
            fn $keygen(pk: *mut u8, private: *mut u8, seed: *const u8) -> i32;
            fn $sign(sig: *mut u8, private: *const u8, msg: *const u8, len: usize) -> i32;
            fn $parse(public: *mut u8, pk: *const u8, len: usize) -> i32;
            fn $verify(public: *const u8, sig: *const u8, msg: *const u8, len: usize) -> i32;
        }
        static $name: Level = Level {
            public_key: $pk,
            signature: $sig,
            private_size: $private,
            public_size: $public,
            keygen: $keygen,
            sign: $sign,
            parse: $parse,
            verify: $verify,
        };
    };
}

level!(LEVEL_44, 1312, 2420, peer_private_size_44 peer_public_size_44 peer_keygen_44 peer_sign_44 peer_parse_44 peer_verify_44);
level!(LEVEL_65, 1952, 3309, peer_private_size_65 peer_public_size_65 peer_keygen_65 peer_sign_65 peer_parse_65 peer_verify_65);
level!(LEVEL_87, 2592, 4627, peer_private_size_87 peer_public_size_87 peer_keygen_87 peer_sign_87 peer_parse_87 peer_verify_87);

/// Memory for one of BoringSSL's structs, aligned for any of them.
struct Object(Vec<u64>);

impl Object {
    fn of(bytes: usize) -> Self {
        Self(vec![0; bytes.div_ceil(8)])
    }

    fn as_mut(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }
}

impl Level {
    fn time(&self, operation: &str, runs: u64) -> Option<u128> {
        let mut private = self.private();
        let mut public_key = vec![0; self.public_key];
        let mut signature = vec![0; self.signature];
        self.generate(&mut public_key, &mut private, 0);
        let mut public = self.public();
        self.read(&mut public, &public_key);
        let signed: Vec<_> = (0..32)
            .map(|i| {
                let mut signature = vec![0; self.signature];
                self.seal(&mut signature, &private, i);
                signature
            })
            .collect();
        let start = now();
        for (run, signed) in (0..runs).zip(signed.iter().cycle()) {
            match operation {
                "keygen" => self.generate(&mut public_key, &mut private, run),
                "sign" => {
                    self.generate(&mut public_key, &mut private, run);
                    self.seal(&mut signature, &private, run);
                }
                "sign-expanded" => self.seal(&mut signature, &private, run),
                "verify" => {
                    self.read(&mut public, &public_key);
                    self.check(&public, signed, run % 32);
                }
                "verify-expanded" => self.check(&public, signed, run % 32),
                _ => return None,
            }
        }
        Some((now() - start).as_nanos())
    }

    /// A public key, a message and a signature.
    fn check_line(&self) -> String {
        let mut private = self.private();
        let mut public_key = vec![0; self.public_key];
        let mut signature = vec![0; self.signature];
        self.generate(&mut public_key, &mut private, 7);
        self.seal(&mut signature, &private, 7);
        format!("{} {} {}", hex(&public_key), hex(&message(7)), hex(&signature))
    }

    fn private(&self) -> Object {
        // SAFETY: a function without arguments that returns a size.
        Object::of(unsafe { (self.private_size)() })
    }

    fn public(&self) -> Object {
        // SAFETY: a function without arguments that returns a size.
        Object::of(unsafe { (self.public_size)() })
    }

    fn generate(&self, public_key: &mut [u8], private: &mut Object, number: u64) {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&number.to_le_bytes());
        // SAFETY: the buffers have the lengths that BoringSSL's header gives for this level.
        let done = unsafe { (self.keygen)(public_key.as_mut_ptr(), private.as_mut(), seed.as_ptr()) };
        assert_eq!(done, 1, "key generation");
    }

    fn seal(&self, signature: &mut [u8], private: &Object, number: u64) {
        let message = message(number);
        // SAFETY: as above, and `private` was filled by `generate`.
        let done =
            unsafe { (self.sign)(signature.as_mut_ptr(), private.as_ptr(), message.as_ptr(), message.len()) };
        assert_eq!(done, 1, "signing");
    }

    fn read(&self, public: &mut Object, public_key: &[u8]) {
        // SAFETY: as above.
        let done = unsafe { (self.parse)(public.as_mut(), public_key.as_ptr(), public_key.len()) };
        assert_eq!(done, 1, "public key");
    }

    fn check(&self, public: &Object, signature: &[u8], number: u64) {
        let message = message(number);
        // SAFETY: as above, and `public` was filled by `read`.
        let done =
            unsafe { (self.verify)(public.as_ptr(), signature.as_ptr(), message.as_ptr(), message.len()) };
        assert_eq!(done, 1, "verification");
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn message(number: u64) -> [u8; 64] {
    let mut message = [0x5a; 64];
    message[..8].copy_from_slice(&number.to_le_bytes());
    message
}

/// Time that this thread has spent computing.
fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
