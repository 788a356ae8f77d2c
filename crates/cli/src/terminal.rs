//! What the person, or the next program in the pipe, gets to see.
//!
//! Colours go to terminals only. A reader that went away is no error: what it does not want is not written, and the
//! exit code stays that of the command. Text from outside cannot move the cursor or change direction.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal as _, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use serde_json::Value;

use crate::error::Error;

pub(crate) const BOLD: Style = Style::new().bold();
pub(crate) const DIM: Style = Style::new().dimmed();
pub(crate) const GOOD: Style = AnsiColor::Green.on_default().bold();
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// Standard output and standard error.
pub(crate) struct Terminal {
    out: Patient<AutoStream<io::Stdout>>,
    err: Patient<AutoStream<io::Stderr>>,
}

impl Terminal {
    pub(crate) fn new() -> Self {
        Self {
            out: Patient::new(AutoStream::auto(io::stdout())),
            err: Patient::new(AutoStream::auto(io::stderr())),
        }
    }

    /// Text on standard output, and the end of its line.
    pub(crate) fn line(&mut self, text: impl Display) -> Result<(), Error> {
        written(writeln!(self.out, "{text}").and_then(|()| self.out.flush()))
    }

    /// JSON on standard output, readable for people too.
    pub(crate) fn json(&mut self, value: &Value) -> Result<(), Error> {
        let text = format!("{value:#}");
        let lines: Vec<String> = text.lines().map(|line| Safe(line).to_string()).collect();
        self.line(lines.join("\n"))
    }

    /// Bytes on standard output, as they are: never through the filter for colours, which would change them.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let mut raw = Patient::new(io::stdout());
        written(raw.write_all(bytes).and_then(|()| raw.flush()))
    }

    /// Whether a person would get the bytes of [`bytes`](Self::bytes) on the screen.
    pub(crate) fn is_screen(&self) -> bool {
        io::stdout().is_terminal()
    }

    /// `warning:` and `hint:` on standard error. Nothing depends on it being read.
    pub(crate) fn warn(&mut self, what: impl Display, hint: &str) {
        let what = what.to_string();
        let _ = writeln!(self.err, "{WARNING}warning:{WARNING:#} {}", Safe(&what));
        let _ = writeln!(self.err, "{BOLD}hint:{BOLD:#} {}", Safe(hint));
    }

    /// `error:` and `hint:` on standard error.
    pub(crate) fn error(&mut self, error: &Error) {
        let _ = writeln!(self.err, "{BAD}error:{BAD:#} {}", Safe(&error.to_string()));
        if let Some(hint) = error.hint() {
            let _ = writeln!(self.err, "{BOLD}hint:{BOLD:#} {}", Safe(&hint));
        }
    }

    /// Help and version on standard output; wrong arguments in the form of every other error.
    pub(crate) fn usage(&mut self, wrong: &clap::Error) -> ExitCode {
        if !wrong.use_stderr() {
            let _ = write!(self.out, "{}", wrong.render().ansi());
            let _ = self.out.flush();
            return ExitCode::SUCCESS;
        }
        let text = wrong.render().to_string();
        if !text.starts_with("error:") {
            // The help itself, where a command is missing.
            let _ = write!(self.err, "{}", wrong.render().ansi());
            return ExitCode::from(2);
        }
        for (label, what) in regrouped(&text) {
            let style = if label == "error" { BAD } else { BOLD };
            let _ = writeln!(self.err, "{style}{label}:{style:#} {}", Safe(&what));
        }
        ExitCode::from(2)
    }
}

/// The parser's message as lines of ours: `error:` first, then `hint:`.
fn regrouped(text: &str) -> Vec<(&'static str, String)> {
    let mut lines: Vec<(&'static str, String)> = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(what) = line.strip_prefix("error: ") {
            lines.push(("error", what.to_owned()));
        } else if let Some(what) = line.strip_prefix("tip: ") {
            lines.push(("hint", what.to_owned()));
        } else if let Some(how) = line.strip_prefix("Usage: ") {
            lines.push(("hint", format!("usage: {how}")));
        } else if let Some(values) = line.strip_prefix("[possible values: ") {
            lines.push(("hint", format!("one of {}", values.trim_end_matches(']'))));
        } else if line.starts_with("For more information") {
            lines.push(("hint", "--help explains, with examples".to_owned()));
        } else if let Some((_, last)) = lines.last_mut() {
            last.push(' ');
            last.push_str(line);
        }
    }
    lines
}

fn written(done: io::Result<()>) -> Result<(), Error> {
    done.map_err(|cause| Error::file("standard output", "written", cause))
}

/// A writer whose reader may go away: what follows is dropped without a word.
struct Patient<W> {
    inner: W,
    gone: bool,
}

impl<W> Patient<W> {
    fn new(inner: W) -> Self {
        Self { inner, gone: false }
    }

    fn unless_gone<T>(&mut self, done: io::Result<T>, otherwise: T) -> io::Result<T> {
        match done {
            Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => {
                self.gone = true;
                Ok(otherwise)
            }
            done => done,
        }
    }
}

impl<W: Write> Write for Patient<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.gone {
            return Ok(bytes.len());
        }
        let done = self.inner.write(bytes);
        self.unless_gone(done, bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gone {
            return Ok(());
        }
        let done = self.inner.flush();
        self.unless_gone(done, ())
    }
}

/// Text from outside on one line, its control and direction characters written as escapes: it cannot pretend to be the
/// next line.
pub(crate) struct Safe<'a>(pub(crate) &'a str);

impl Display for Safe<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '\n' => f.write_str("\\n")?,
                // Directional embeddings, overrides and isolates, and the invisible marks around them.
                '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' => {
                    write!(f, "\\u{:04x}", character as u32)?;
                }
                control if control.is_control() => write!(f, "\\u{:04x}", control as u32)?,
                other => write!(f, "{other}")?,
            }
        }
        Ok(())
    }
}

/// A share of the whole as a bar, of `width` for all of it and of 1 for almost nothing.
pub(crate) fn bar(part: usize, whole: usize, width: usize) -> String {
    "#".repeat((part * width).div_ceil(whole.max(1)))
}

/// 4952 as `4 952`: a thin grouping that reads in every language.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}
