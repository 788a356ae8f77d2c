//! Structured logs: text for people or JSON lines for machines. No secret and no token is ever handed to them.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};

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

/// Writes the process's logs to standard error from now on. Call it once, first.
/// Errors: `Store` never; a second call is ignored.
pub fn init(config: &Log) -> Result<(), Error> {
    let _ = tracing::dispatcher::set_global_default(subscriber(config, Background::start(io::stderr())?));
    Ok(())
}

/// Hands lines to a thread that writes them, so that no request waits for a disk or a pipe. When the reader of the
/// logs is too slow, lines are dropped and not requests; how many is said in the next line that gets through.
#[derive(Clone, Debug)]
pub struct Background {
    dropped: Arc<AtomicU64>,
    lines: SyncSender<Vec<u8>>,
}

const QUEUE: usize = 8192;

impl Background {
    /// Starts the thread. It ends when the last clone is dropped and every line is written.
    pub fn start(mut sink: impl Write + Send + 'static) -> Result<Self, Error> {
        let (lines, waiting) = sync_channel::<Vec<u8>>(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let missing = Arc::clone(&dropped);
        let run = move || {
            while let Ok(line) = waiting.recv() {
                // A closed standard error is no reason to stop serving: its errors are nobody's.
                let missing = missing.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let _ = writeln!(
                        sink,
                        "{{\"level\":\"WARN\",\"message\":\"log lines dropped\",\"lines\":{missing}}}"
                    );
                }
                let _ = sink.write_all(&line);
            }
        };
        let thread = std::thread::Builder::new().name("log".into()).spawn(run);
        thread.map(|_| Self { dropped, lines }).map_err(|cause| Error::store("start a thread", cause))
    }
}

impl Write for Background {
    /// Takes a whole line at a time, as the subscriber gives it.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if self.lines.try_send(line.to_vec()).is_err() {
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
