//! Structured logs: text for people or JSON lines for machines. No secret and no token is ever handed to them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

use serde_json::json;
use tracing::Dispatch;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;

use crate::Error;
use crate::config::{Log, LogFormat, LogLevel};

/// A subscriber that writes by the configuration to `writer`.
pub fn subscriber<W>(config: &Log, writer: W) -> Dispatch
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let level = match config.level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
    };
    let lines = tracing_subscriber::fmt().with_max_level(level).with_target(false).with_writer(writer);
    match config.format {
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).finish().into(),
        LogFormat::Text => lines.with_ansi(false).finish().into(),
    }
}

/// Writes the process's logs to standard error from now on, until the end of `main` if that holds the guard.
/// Errors: `Store` if the thread that writes cannot be started. A second call leaves the first one's settings.
pub fn init(config: &Log) -> Result<Guard, Error> {
    let lines = Background::start(io::stderr())?;
    let _ = tracing::dispatcher::set_global_default(subscriber(config, lines.clone()));
    Ok(Guard(lines))
}

/// Waits, when it is dropped, until every line before is written.
#[must_use]
#[derive(Debug)]
pub struct Guard(Background);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.flushed();
    }
}

/// Hands lines to a thread that writes them, so that no request waits for a disk or a pipe. When the reader of the
/// logs is too slow, lines are dropped and not requests; how many is said before the next line that gets through.
#[derive(Clone, Debug)]
pub struct Background {
    dropped: Arc<AtomicU64>,
    queue: SyncSender<Item>,
}

#[derive(Debug)]
enum Item {
    Line(Vec<u8>),
    /// Answered when everything before it is written.
    Flush(SyncSender<()>),
}

const QUEUE: usize = 8192;

impl Background {
    /// Starts the thread. It ends when the last clone is dropped and every line is written.
    pub fn start(mut sink: impl Write + Send + 'static) -> Result<Self, Error> {
        let (queue, waiting) = sync_channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let missing = Arc::clone(&dropped);
        let run = move || {
            // A closed standard error is no reason to stop serving: errors of the sink are nobody's.
            while let Ok(item) = waiting.recv() {
                let missing = missing.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let said = json!({"level": "WARN", "message": "log lines dropped", "lines": missing});
                    let _ = writeln!(sink, "{said}");
                }
                match item {
                    Item::Line(line) => drop(sink.write_all(&line)),
                    Item::Flush(done) => {
                        let _ = sink.flush();
                        let _ = done.send(());
                    }
                }
            }
        };
        let thread = std::thread::Builder::new().name("log".into()).spawn(run);
        thread.map(|_| Self { dropped, queue }).map_err(|cause| Error::store("start a thread", cause))
    }

    /// Waits until every line before is written, or the sink fails.
    pub fn flushed(&self) {
        let (done, waited) = sync_channel(1);
        if self.queue.send(Item::Flush(done)).is_ok() {
            let _ = waited.recv();
        }
    }
}

impl Write for Background {
    /// Takes a whole line at a time, as the subscriber gives it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.queue.try_send(Item::Line(line.to_vec())).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Background {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}
