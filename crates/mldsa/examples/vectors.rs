//! Runs published test vectors through the engine:
//! `cargo run --release -p sealstone-mldsa --example vectors -- [--room NAME] [--json] [--long] PATH...`
//!
//! Takes files or folders, plain or gzip, in the formats of NIST ACVP, Wycheproof, CCTV and others (the content
//! decides), prints what ran, passed and failed per file, and ends with `N passed, N failed`. Exit status: 0 if
//! everything passed, 1 if a case or a file failed, 2 if it was called wrongly.
#![allow(clippy::print_stdout, reason = "its output is what it is for")]
#![allow(clippy::integer_division_remainder_used, reason = "no secret here")]

#[path = "../tests/vectors/mod.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the tests, which use more of it")]
mod vectors;

use std::path::PathBuf;
use std::process::ExitCode;

use sealstone_mldsa::hazmat;
use vectors::Options;
use vectors::examiner::Examiner;
use vectors::subject::Sealstone;

const USAGE: &str = "vectors [--room NAME] [--json] [--long] PATH...

  PATH         a vector file or a folder of them
  --room NAME  use this backend
  --json       print one JSON document instead of lines
  --long       accumulated digests over more than 10 000 keys too (hours)";

fn main() -> ExitCode {
    let request = match Request::parse(std::env::args().skip(1)) {
        Ok(request) => request,
        Err(why) => {
            eprintln!("error: {why}\nhint: {USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(room) = &request.room
        && hazmat::force_room(Some(room)).is_err()
    {
        let rooms: Vec<_> = hazmat::rooms().collect();
        eprintln!("error: no room named {room} on this machine\nhint: there is {}", rooms.join(", "));
        return ExitCode::from(2);
    }
    let examiner = match Examiner::new(&Sealstone) {
        Ok(examiner) => examiner,
        Err(why) => {
            eprintln!("error: the engine does not verify its own signature: {why}");
            return ExitCode::from(1);
        }
    };
    if !request.json {
        println!(" passed  failed  file");
    }
    let report = vectors::run(&examiner, &request.paths, request.options, &mut |file| {
        if !request.json {
            print!("{}", file.lines());
        }
    });
    if request.json {
        println!("{:#}", report.json(hazmat::room()));
    } else {
        print!("{}", report.total());
    }
    ExitCode::from(u8::from(!report.is_good()))
}

struct Request {
    room: Option<String>,
    json: bool,
    options: Options,
    paths: Vec<PathBuf>,
}

impl Request {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut request = Self { room: None, json: false, options: Options::default(), paths: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--room" => request.room = Some(words.next().ok_or("--room needs a name")?),
                "--json" => request.json = true,
                "--long" => request.options.long = true,
                flag if flag.starts_with("--") => return Err(format!("unknown flag {flag}")),
                path => request.paths.push(path.into()),
            }
        }
        if request.paths.is_empty() { Err("no file or folder given".to_owned()) } else { Ok(request) }
    }
}
