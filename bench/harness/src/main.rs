//! Measures one thing at a time beside its rivals: `sealstone-bench engine [--room ROOM]` or
//! `sealstone-bench auth [--seconds N] [--warm N]` or `sealstone-bench jose`, each with `[--rounds N] [--only PART] [--peers] [--against NAME,NAME]
//! [--json FILE]`; `sealstone-bench tree [--peers] [--rounds N] [--only PART] [--json FILE]`; `sealstone-bench gateway [--seconds N] [--devices N] [--rounds N] [--only rates|memory] [--json FILE]`; `sealstone-bench m4 [--check] [--docs] [--json FILE]`. Without a name it lists the names. `./dev bench` builds what is needed and calls this.
//!
//! Each round runs one batch of ours and one of each rival for every row, so that whatever disturbs the machine
//! disturbs all alike. A row shows the median of the rounds and their quartiles.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]

mod auth;
mod clock;
mod engine;
mod gateway;
mod jose;
mod m4;
mod ours;
mod peer;
mod record;
mod rivals;
mod table;
mod tree;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use engine::{Against, Choice};
use serde_json::Value;

/// Everything that can be measured.
const NAMES: [(&str, &str); 6] = [
    ("auth", "the authorization server under load: tokens, introspection, memory, start"),
    ("engine", "key generation, signing and verification: from bytes, from expanded keys, in batches"),
    ("gateway", "the verifying gateway with Mosquitto: messages a second, latencies, memory"),
    (
        "jose",
        "tokens: a JWT signed and verified beside other libraries, what that costs beyond the engine, batches",
    ),
    ("m4", "the engine on an emulated Cortex-M4: instructions, stack, flash"),
    (
        "tree",
        "file trees signed and verified beside evmctl and OpenSSL; memory for a million files; a copy of /usr",
    ),
];

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
    seconds: Option<f64>,
    warm: Option<f64>,
    devices: Option<usize>,
    json: Option<PathBuf>,
    only: Option<String>,
    against: Against,
    /// Of the microcontroller: without rivals, and a row above its budget is an error.
    check: bool,
    /// Of the microcontroller: writes the tables of its page.
    docs: bool,
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
                "--devices" => {
                    let devices = value()?.parse().ok().filter(|&devices| devices > 0);
                    request.devices = Some(devices.ok_or("--devices needs a number above zero")?);
                }
                "--seconds" => request.seconds = Some(seconds(&word, &value()?)?),
                "--warm" => request.warm = Some(seconds(&word, &value()?)?),
                "--check" => request.check = true,
                "--docs" => request.docs = true,
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
        if self.docs && self.name.as_deref() != Some("m4") {
            return Err("--docs is for m4".to_owned());
        }
        if self.devices.is_some() && self.name.as_deref() != Some("gateway") {
            return Err("--devices is for gateway".to_owned());
        }
        match self.name.as_deref() {
            None => NAMES.iter().for_each(|(name, what)| println!("{name:12} {what}")),
            Some("auth") => self.auth(&root)?,
            Some("engine") => self.engine(&root)?,
            Some(engine::ANSWERS) => engine::answer()?,
            Some("gateway") => self.gateway(&root)?,
            Some("jose") => self.jose(&root)?,
            Some("m4") => self.m4(&root)?,
            Some("tree") => self.tree(&root)?,
            Some(other) => return Err(format!("nothing to measure is called {other}")),
        }
        Ok(())
    }

    fn auth(&self, root: &Path) -> Result<(), String> {
        if self.room.is_some() {
            return Err("--room is for the engine".to_owned());
        }
        let choice = auth::Choice {
            against: &self.against,
            only: self.only.as_deref(),
            rounds: self.rounds.unwrap_or(3),
            seconds: self.seconds.unwrap_or(2.0),
            warm_seconds: self.warm.unwrap_or(90.0),
        };
        let outcome = auth::measure(root, &choice)?;
        print!("{}", auth::text(&outcome));
        self.write_json(outcome.rows.iter().map(auth::Row::json))?;
        print!("{}", auth::everybody(&outcome.measured));
        // Only a whole run is a record.
        if matches!(self.against, Against::All) && self.only.is_none() {
            println!("\nrecorded in {}", auth::record(root, &outcome)?.display());
        }
        Ok(())
    }

    fn gateway(&self, root: &Path) -> Result<(), String> {
        let alone = matches!(self.against, Against::Goals);
        if self.room.is_some() || self.warm.is_some() || self.check || !alone {
            return Err("gateway takes --seconds, --devices, --rounds, --only and --json".to_owned());
        }
        let choice = gateway::Choice {
            seconds: self.seconds.unwrap_or(3.0),
            rounds: self.rounds.unwrap_or(3),
            devices: self.devices.unwrap_or(256),
            only: self.only.as_deref(),
        };
        let outcome = gateway::measure(root, &choice)?;
        print!("{}", gateway::text(&outcome));
        self.write_json(outcome.rows.iter().map(gateway::Row::json))?;
        // Only a whole run is a record.
        if self.only.is_none() {
            println!("\nrecorded in {}", gateway::record(root, &outcome)?.display());
        }
        Ok(())
    }

    fn jose(&self, root: &Path) -> Result<(), String> {
        if self.room.is_some() || self.seconds.is_some() || self.warm.is_some() || self.check {
            return Err("jose takes --rounds, --only, --peers, --against and --json".to_owned());
        }
        let choice = jose::Choice {
            rounds: self.rounds.unwrap_or(15),
            only: self.only.as_deref(),
            against: &self.against,
        };
        let outcome = jose::measure(root, &choice)?;
        print!("{}", jose::text(&outcome.rows));
        self.write_json(outcome.rows.iter().map(jose::Row::json))?;
        // Only a whole run is a record.
        if matches!(self.against, Against::All) && self.only.is_none() {
            println!("\nrecorded in {}", jose::record(root, &outcome)?.display());
        }
        Ok(())
    }

    fn m4(&self, root: &Path) -> Result<(), String> {
        let timed = self.room.is_some() || self.rounds.is_some() || self.only.is_some();
        if timed || self.seconds.is_some() || self.warm.is_some() || !matches!(self.against, Against::Goals) {
            return Err("m4 counts everything once: it takes --check, --docs and --json".to_owned());
        }
        let outcome = m4::measure(root, !self.check)?;
        print!("{}", m4::text(&outcome));
        self.write_json(outcome.rows.iter().map(m4::Row::json))?;
        if self.docs {
            m4::write_docs(root, &outcome.rows, !self.check)?;
        }
        if self.check && !outcome.over.is_empty() {
            return Err(format!("not within firmware/budget.txt:\n  {}", outcome.over.join("\n  ")));
        }
        Ok(())
    }

    fn tree(&self, root: &Path) -> Result<(), String> {
        let against = matches!(self.against, Against::Named(_));
        if self.room.is_some() || self.seconds.is_some() || self.warm.is_some() || self.check || against {
            return Err("tree takes --rounds, --only, --peers and --json".to_owned());
        }
        let whole = matches!(self.against, Against::All) && self.only.is_none();
        let choice = tree::Choice { rounds: self.rounds.unwrap_or(5), only: self.only.as_deref(), whole };
        let outcome = tree::measure(root, &choice)?;
        print!("{}\n{}", tree::text(&outcome.rows), tree::everybody(&outcome));
        self.write_json(outcome.rows.iter().map(tree::Row::json))?;
        // Only a whole run is a record.
        if whole {
            println!("\nrecorded in {}", tree::record(root, &outcome)?.display());
        }
        Ok(())
    }

    fn engine(&self, root: &Path) -> Result<(), String> {
        if self.seconds.is_some() || self.warm.is_some() {
            return Err("--seconds is for auth and gateway, --warm for auth".to_owned());
        }
        let choice = Choice {
            room: self.room.as_deref(),
            rounds: self.rounds.unwrap_or(21),
            only: self.only.as_deref(),
            against: &self.against,
        };
        let outcome = engine::measure(root, &choice)?;
        print!("{}", table::text(&outcome.rows));
        self.write_json(outcome.rows.iter().map(table::Row::json))?;
        if matches!(self.against, Against::All) {
            print!("{}{}", table::everybody(&outcome), table::cycles(&outcome));
            // Only a whole run is a record.
            if self.only.is_none() && self.room.is_none() {
                println!("\nrecorded in {}", record::write(root, &outcome)?.display());
            }
        }
        Ok(())
    }

    fn write_json(&self, rows: impl Iterator<Item = Value>) -> Result<(), String> {
        let Some(path) = &self.json else { return Ok(()) };
        let text = serde_json::to_string_pretty(&rows.collect::<Vec<_>>()).map_err(|why| why.to_string())?;
        std::fs::write(path, text + "\n").map_err(|why| format!("{}: {why}", path.display()))
    }
}

fn seconds(flag: &str, text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds > 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| format!("{flag} needs a number above zero"))
}
