//! Commands that are signed beforehand and let go later, by somebody who has no key.
//!
//! A [`Template`] is the payload of a signed message: commands, each with a commitment to a secret token, and the time within which they
//! hold. Whoever has a token publishes it ([`Release`]), and the device does that command, once: [`Taken`] has it in flash before
//! the command is handed out. So a power cut can lose a command, and never do it twice.
//!
//! ```
//! use sealstone_mqtt::{UnixMillis, template::{Command, Release, Taken, Template}};
//! # use sealstone_mqtt::{Error, flash::Flash};
//! # struct Chip(Vec<u8>);
//! # impl Flash for Chip {
//! #     fn page_len(&self) -> usize { 128 }
//! #     fn read(&mut self, page: usize, at: usize, out: &mut [u8]) -> Result<(), Error> {
//! #         out.copy_from_slice(&self.0[128 * page + at..][..out.len()]);
//! #         Ok(())
//! #     }
//! #     fn write(&mut self, page: usize, at: usize, bytes: &[u8]) -> Result<(), Error> {
//! #         self.0[128 * page + at..][..bytes.len()].copy_from_slice(bytes);
//! #         Ok(())
//! #     }
//! #     fn erase(&mut self, page: usize) -> Result<(), Error> {
//! #         self.0[128 * page..][..128].fill(0xff);
//! #         Ok(())
//! #     }
//! # }
//! # fn main() -> Result<(), Error> {
//! # let mut chip = Chip(vec![0xff; 256]);
//! // Where the key is: two commands, each with a token by chance.
//! let commands = [Command { token: &[1; 32], bytes: b"open" }, Command { token: &[2; 32], bytes: b"close" }];
//! let (from, to) = (UnixMillis(1_000), UnixMillis(2_000));
//! let mut payload = [0; 200];
//! let len = Template::emit(5, from, to, &commands, &mut payload)?;
//!
//! // On the device, once the signature was verified.
//! let template = Template::parse(&payload[..len])?;
//! Taken::format(&mut chip)?; // at provisioning
//! let mut taken = Taken::open(&mut chip)?;
//! taken.begin(&template)?;
//!
//! // Later, from somebody with the token.
//! let release = Release { template: 5, index: 1, token: [2; 32] }.emit();
//! let release = Release::parse(&release)?;
//! assert_eq!(taken.take(&template, &release, UnixMillis(1_500))?, b"close");
//! assert_eq!(taken.take(&template, &release, UnixMillis(1_500)), Err(Error::AlreadyTaken));
//! # Ok(())
//! # }
//! ```

use crate::error::{Error, Field};
use crate::flash::{Flash, Store};
use crate::form::RELEASE_MARK;
use crate::message::UnixMillis;
use crate::open::Bytes;
use crate::seal::Writer;
use core::fmt;
use sealstone_mldsa::Shake256;

/// Most commands of a template.
pub const COMMANDS_MAX: usize = 256;

/// A command on its way into a template. `Debug` does not show the token.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    /// Who knows it can let the command go. By chance, for this command alone.
    pub token: &'a [u8; 32],
    /// The command.
    pub bytes: &'a [u8],
}

impl fmt::Debug for Command<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

/// Commands that were signed beforehand. docs/formats/mqtt.md, "template".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Template<'a> {
    /// Its id; a later template of a device has a higher one.
    pub id: u32,
    /// From when on its commands may be let go.
    pub not_before: UnixMillis,
    /// Until when, that moment included.
    pub not_after: UnixMillis,
    count: u16,
    commands: &'a [u8],
}

impl<'a> Template<'a> {
    /// Writes the payload of a template; returns its length.
    /// Errors: `TooLong`, for more than 256 commands too; `NotCanonical` for none, or times of which the second is not after the first.
    pub fn emit(
        id: u32,
        not_before: UnixMillis,
        not_after: UnixMillis,
        commands: &[Command<'_>],
        out: &mut [u8],
    ) -> Result<usize, Error> {
        if commands.len() > COMMANDS_MAX {
            return Err(Error::TooLong);
        }
        if commands.is_empty() || not_before >= not_after {
            return Err(Error::NotCanonical);
        }
        let mut to = Writer { out, at: 0 };
        to.put(&id.to_be_bytes())?;
        to.put(&not_before.0.to_be_bytes())?;
        to.put(&not_after.0.to_be_bytes())?;
        to.put(&(commands.len() as u16).to_be_bytes())?; // at most 256
        for (index, command) in commands.iter().enumerate() {
            let len = u16::try_from(command.bytes.len()).map_err(|_| Error::TooLong)?;
            to.put(&commitment(id, index as u16, command.token))?; // at most 255
            to.put(&len.to_be_bytes())?;
            to.put(command.bytes)?;
        }
        Ok(to.at)
    }

    /// Reads the payload of a message of kind `template` whose signature was verified, to its end.
    /// Errors: `Truncated`, `TrailingBytes`; `NotCanonical` as [`Self::emit`].
    pub fn parse(payload: &'a [u8]) -> Result<Self, Error> {
        let mut rest = Bytes(payload);
        let (id, not_before, not_after) = (rest.u32()?, UnixMillis(rest.u64()?), UnixMillis(rest.u64()?));
        let count = rest.u16()?;
        let commands = rest.0;
        for _ in 0..count {
            command(&mut rest)?;
        }
        rest.end()?;
        if count == 0 || usize::from(count) > COMMANDS_MAX || not_before >= not_after {
            return Err(Error::NotCanonical);
        }
        Ok(Template { id, not_before, not_after, count, commands })
    }

    /// How many commands it has.
    pub fn len(&self) -> usize {
        usize::from(self.count)
    }

    /// Never: a template has commands.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The commands, in the order of their indices, whether they were let go or not.
    pub fn commands(&self) -> impl Iterator<Item = &'a [u8]> {
        let mut rest = Bytes(self.commands);
        core::iter::from_fn(move || command(&mut rest).ok().map(|(_, bytes)| bytes))
    }

    /// The command that a release lets go now, if its token is the right one. It says nothing of whether it was taken before.
    ///
    /// Errors: `BadSignature` for another template, an index that is not there or a wrong token; `OutOfTime`, also for a device
    /// without a clock.
    pub fn released(&self, release: &Release, now: UnixMillis) -> Result<&'a [u8], Error> {
        let mut rest = Bytes(self.commands);
        let mut found = None;
        for index in 0..self.count {
            let (committed, bytes) = command(&mut rest)?;
            if index == release.index {
                found = Some((committed, bytes));
            }
        }
        let (committed, bytes) = found.filter(|_| release.template == self.id).ok_or(Error::BadSignature)?;
        if commitment(self.id, release.index, &release.token) != *committed {
            return Err(Error::BadSignature);
        }
        if !now.is_known() || now < self.not_before || now > self.not_after {
            return Err(Error::OutOfTime);
        }
        Ok(bytes)
    }
}

/// A command let go: no envelope, and no secret any more once it was published. docs/formats/mqtt.md, "A command let go".
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Release {
    /// Of which template.
    pub template: u32,
    /// Which command.
    pub index: u16,
    /// Its token.
    pub token: [u8; 32],
}

impl Release {
    /// Bytes of a release.
    pub const LEN: usize = 39;

    /// The message.
    pub fn emit(&self) -> [u8; Self::LEN] {
        let mut out = [0; Self::LEN];
        out[0] = RELEASE_MARK;
        out[1..5].copy_from_slice(&self.template.to_be_bytes());
        out[5..7].copy_from_slice(&self.index.to_be_bytes());
        out[7..].copy_from_slice(&self.token);
        out
    }

    /// Reads a message. Errors: `Unknown(Form)`, `Truncated`, `TrailingBytes`.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = Bytes(bytes);
        if rest.u8()? != RELEASE_MARK {
            return Err(Error::Unknown(Field::Form));
        }
        let release = Release { template: rest.u32()?, index: rest.u16()?, token: rest.array()? };
        rest.end()?;
        Ok(release)
    }
}

impl fmt::Debug for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Release { template, index, .. } = self;
        f.debug_struct("Release").field("template", template).field("index", index).finish_non_exhaustive()
    }
}

/// Bytes of the store: template id, then a bit for each command.
const TAKEN_LEN: usize = 4 + COMMANDS_MAX / 8;

/// Which commands of the latest template were taken, in flash.
///
/// Wear: a record of 48 bytes a command and a template (see [`Store`]).
#[derive(Debug)]
pub struct Taken<F> {
    store: Store<F, TAKEN_LEN>,
}

impl<F: Flash> Taken<F> {
    /// Makes two pages ready, before the first template: whose id is at least 1. Errors: `FlashFailed`.
    pub fn format(flash: F) -> Result<(), Error> {
        Store::format(flash, &[0; TAKEN_LEN]).map(|_| ())
    }

    /// Reads what there is. Errors: `FlashFailed`.
    pub fn open(flash: F) -> Result<Self, Error> {
        Ok(Taken { store: Store::open(flash)? })
    }

    /// The latest template; 0 before the first one.
    pub fn template(&self) -> u32 {
        let [a, b, c, d, ..] = *self.store.value();
        u32::from_be_bytes([a, b, c, d])
    }

    /// A template came: none of its commands was taken yet, and those of the one before are over. The same one again changes nothing.
    /// Errors: `AlreadyTaken` for one with a lower id, which is over; `FlashFailed`.
    pub fn begin(&mut self, template: &Template<'_>) -> Result<(), Error> {
        match template.id.cmp(&self.template()) {
            core::cmp::Ordering::Less => Err(Error::AlreadyTaken),
            core::cmp::Ordering::Equal => Ok(()),
            core::cmp::Ordering::Greater => {
                let mut value = [0; TAKEN_LEN];
                value[..4].copy_from_slice(&template.id.to_be_bytes());
                self.store.write(&value)
            }
        }
    }

    /// Takes a command, once: that it was taken is in flash when this returns it.
    ///
    /// Errors: `BadSignature` for a release that is none of this template, `OutOfTime`, `AlreadyTaken` (also for a template that is not the latest), `FlashFailed`.
    pub fn take<'t>(
        &mut self,
        template: &Template<'t>,
        release: &Release,
        now: UnixMillis,
    ) -> Result<&'t [u8], Error> {
        let command = template.released(release, now)?;
        let mut value = *self.store.value();
        let bit = 1 << (release.index & 7);
        let byte = value.get_mut(4 + usize::from(release.index >> 3)).ok_or(Error::BadSignature)?;
        if self.template() != template.id || *byte & bit != 0 {
            return Err(Error::AlreadyTaken);
        }
        *byte |= bit;
        self.store.write(&value)?;
        Ok(command)
    }
}

/// SHAKE256("sealstone-mqtt-token" || template id || index || token), 32 bytes.
fn commitment(id: u32, index: u16, token: &[u8; 32]) -> [u8; 32] {
    Shake256::new()
        .and(b"sealstone-mqtt-token")
        .and(&id.to_be_bytes())
        .and(&index.to_be_bytes())
        .and(token)
        .finish()
}

/// A commitment and its command.
fn command<'a>(rest: &mut Bytes<'a>) -> Result<(&'a [u8; 32], &'a [u8]), Error> {
    let commitment = rest.take(32)?.first_chunk().ok_or(Error::Truncated)?;
    let len = rest.u16()?;
    Ok((commitment, rest.take(usize::from(len))?))
}
