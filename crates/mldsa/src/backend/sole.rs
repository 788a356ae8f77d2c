//! A build with one room. Which one it is, the compiler knows at each call: so it leaves out what this room never does, and
//! on a microcontroller that is more than half of the program.

use super::Backend;
use super::armv7em::ROOM;
use core::ops::Deref;

/// The room in hand.
#[derive(Clone, Copy)]
pub(crate) struct Room(());

impl Deref for Room {
    type Target = dyn Backend;
    #[inline(always)]
    fn deref(&self) -> &(dyn Backend + 'static) {
        &ROOM
    }
}

/// The rooms of this build.
pub(crate) fn rooms() -> impl Iterator<Item = Room> {
    core::iter::once(Room(()))
}

/// The room that the next public call uses.
pub(crate) fn active() -> Room {
    Room(())
}
