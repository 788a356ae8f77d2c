//! What the gateway's one loop waits for: packets of the link's thread, answers of the workers, a directory that changed, the wish
//! to end.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Error;
use super::directory::Directory;
use super::link::{Welcome, Writer};
use super::wire::Packet;
use super::workers::Answer;

/// Packets that wait before the link reads no more: the broker feels it.
const PACKETS: usize = 512;

/// The letter box.
#[derive(Default)]
pub(super) struct Inbox {
    mail: Mutex<Mail>,
    came: Condvar,
    room: Condvar,
    over: Condvar,
}

/// What came.
#[derive(Default)]
pub(super) struct Mail {
    pub(super) news: VecDeque<News>,
    pub(super) answers: Vec<Answer>,
    /// Directories that were read, in order; or why one could not be.
    pub(super) directories: Vec<Result<Arc<Directory>, Error>>,
    /// Somebody wants the gateway to end.
    pub(super) stop: bool,
    ended: bool,
}

/// What the link says.
pub(super) enum News {
    Up(Writer, Welcome),
    Packet(Packet),
    Down(String),
}

impl Inbox {
    /// Waits until something comes, or for so long.
    pub(super) fn wait(&self, patience: Duration) -> Mail {
        let mut mail = self.lock();
        if mail.news.is_empty() && mail.answers.is_empty() && mail.directories.is_empty() {
            let (waited, _) = self.came.wait_timeout(mail, patience).unwrap_or_else(PoisonError::into_inner);
            mail = waited;
        }
        self.room.notify_all();
        let (news, answers) = (std::mem::take(&mut mail.news), std::mem::take(&mut mail.answers));
        let directories = std::mem::take(&mut mail.directories);
        Mail { news, answers, directories, stop: mail.stop, ended: mail.ended }
    }

    /// Adds what the link says; waits while there is no room. False after the end.
    pub(super) fn tell(&self, news: News) -> bool {
        let mut mail = self.lock();
        while mail.news.len() >= PACKETS && !mail.ended {
            mail = self.room.wait(mail).unwrap_or_else(PoisonError::into_inner);
        }
        mail.news.push_back(news);
        self.came.notify_all();
        !mail.ended
    }

    pub(super) fn answer(&self, answers: Vec<Answer>) {
        self.lock().answers.extend(answers);
        self.came.notify_all();
    }

    pub(super) fn directory(&self, read: Result<Arc<Directory>, Error>) {
        self.lock().directories.push(read);
        self.came.notify_all();
    }

    pub(super) fn stop(&self) {
        self.lock().stop = true;
        self.came.notify_all();
    }

    /// Nobody waits any more: the other threads end.
    pub(super) fn end(&self) {
        self.lock().ended = true;
        self.over.notify_all();
        self.room.notify_all();
        self.came.notify_all();
    }

    /// Sleeps, unless it is the end. True if it is.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let mail = self.lock();
        let (mail, _) = self
            .over
            .wait_timeout_while(mail, time, |mail| !mail.ended)
            .unwrap_or_else(PoisonError::into_inner);
        mail.ended
    }

    fn lock(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
