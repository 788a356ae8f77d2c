//! Measures one thing at a time beside its rivals: `sealstone-bench NAME [--room ROOM] [--rounds N]
//! [--only PART] [--peers] [--against NAME,NAME] [--json FILE]`.
//! Without a name it lists the names. `./dev bench` builds the rivals, pins everything to one core and calls this.
//!
//! Each round runs one batch of ours and one of each rival for every row, so that whatever disturbs the machine
//! disturbs all alike; time is the thread's own. A row shows the median of the rounds and their quartiles.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

mod clock;
mod engine;
mod ours;
mod peer;
mod record;
mod rivals;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engine::{Against, Choice};

/// Everything that can be measured.
const NAMES: [(&str, &str); 1] =
    [("engine", "key generation, signing and verification: from bytes, from expanded keys, in batches")];

fn main() -> ExitCode {
    match Request::parse(std::env::args().skip(1)).and_then(|request| request.run()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

/// What the command line asks for.
#[derive(Default)]
struct Request {
    name: Option<String>,
    room: Option<String>,
    rounds: Option<usize>,
    json: Option<PathBuf>,
    only: Option<String>,
    against: Against,
}

impl Request {
    fn parse(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut words = words.peekable();
        let mut request = Self::default();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            match word.as_str() {
                "--room" => request.room = Some(value()?),
                "--rounds" => {
                    let rounds = value()?.parse().ok().filter(|&rounds| rounds > 0);
                    request.rounds = Some(rounds.ok_or("--rounds needs a number above zero")?);
                }
                "--json" => request.json = Some(value()?.into()),
                "--peers" => {
                    // As `--peers all`, too.
                    words.next_if(|word| word == "all");
                    request.against = Against::All;
                }
                "--against" => {
                    let names = value()?.split(',').map(str::to_owned).collect();
                    request.against = Against::Named(names);
                }
                "--only" => request.only = Some(value()?),
                flag if flag.starts_with("--") => return Err(format!("unknown flag {flag}")),
                _ if request.name.is_some() => return Err(format!("one name at a time, not {word} too")),
                _ => request.name = Some(word),
            }
        }
        Ok(request)
    }

    fn run(&self) -> Result<(), String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().unwrap_or(root);
        match self.name.as_deref() {
            None => NAMES.iter().for_each(|(name, what)| println!("{name:12} {what}")),
            Some("engine") => self.engine(&root)?,
            Some(other) => return Err(format!("nothing to measure is called {other}")),
        }
        Ok(())
    }

    fn engine(&self, root: &Path) -> Result<(), String> {
        let choice = Choice {
            room: self.room.as_deref(),
            rounds: self.rounds.unwrap_or(21),
            only: self.only.as_deref(),
            against: &self.against,
        };
        let outcome = engine::measure(root, &choice)?;
        print!("{}", table::text(&outcome.rows));
        if let Some(path) = &self.json {
            let rows = outcome.rows.iter().map(table::Row::json).collect::<Vec<_>>();
            let text = serde_json::to_string_pretty(&rows).map_err(|why| why.to_string())?;
            std::fs::write(path, text + "\n").map_err(|why| format!("{}: {why}", path.display()))?;
        }
        if matches!(self.against, Against::All) {
            print!("{}{}", table::everybody(&outcome), table::cycles(&outcome));
            // Only a whole run is a record.
            if self.only.is_none() && self.room.is_none() {
                println!("\nrecorded in {}", record::write(root, &outcome)?.display());
            }
        }
        Ok(())
    }
}
