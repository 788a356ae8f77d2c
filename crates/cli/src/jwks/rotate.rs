//! `sealstone jwks rotate`: the set that is published, over the life of its keys.

use std::ffi::OsString;

use clap::{ArgGroup, Args};
use serde_json::{Map, Value, json};

use super::set::KeySet;
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::keyfile::any::{AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::{Safe, Terminal};

/// Options of `jwks rotate`.
#[derive(Args)]
#[command(
    group = ArgGroup::new("step").required(true).multiple(true).args(["add", "remove"]),
    after_help = "\
A key's life in a published set:
  1. sealstone jwks rotate jwks.json --add next.pem     published, and not yet used
  2. wait until every reader has fetched the set again (its Cache-Control, or 10 minutes for most), then \
sign with next.pem
  3. wait until the last token of the old key is over
  4. sealstone jwks rotate jwks.json --remove OLD-KID

The file is changed in place, whole or not at all. Keys that nobody here can use stay as they are.")]
pub(crate) struct Options {
    /// The key set, which is changed
    #[arg(value_name = "SET", value_parser = clap::value_parser!(OsString))]
    set: OsString,
    /// A key to add, in any form: its public half
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    add: Option<OsString>,
    /// The key id of a key to take out
    #[arg(long, value_name = "KID")]
    remove: Vec<String>,
    #[command(flatten)]
    password: PasswordFile,
    #[command(flatten)]
    gates: Gates,
    /// Take out the last key, too
    #[arg(long)]
    allow_empty: bool,
    /// Say in JSON what was changed
    #[arg(long)]
    json: bool,
}

pub(super) fn run(options: Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (source, out) = (Source::from(options.set.clone()), Target::from(options.set));
    let Target::Path(path) = &out else {
        return Err(Error::usage(
            "a set that comes by standard input has no place to be changed",
            "give a file",
        ));
    };
    let text = source.read_text(1 << 20)?;
    // Read with all care first: what follows is done on JSON, so that what is not known here stays.
    let set = KeySet::parse(&source.name(), text.as_bytes(), options.gates)?;
    let mut document: Map<String, Value> = serde_json::from_str(&text).unwrap_or_default();
    let Some(Value::Array(keys)) = document.get_mut("keys") else {
        return Err(Error::key(
            &source.name(),
            "this is no key set",
            Some("`sealstone jwks build` makes one"),
        ));
    };
    let named = |key: &Value, kid: &str| key["kid"].as_str() == Some(kid);
    let mut removed = Vec::new();
    for kid in &options.remove {
        // A key without an id goes by its thumbprint, which only the reader knows: it is found by its bytes.
        let by_reader = set.by_kid(kid).map(|key| key.to_jwk().to_json());
        let public: Option<Value> = by_reader.and_then(|json| serde_json::from_str(&json).ok());
        let is_it = |key: &Value| {
            let same = |member: &str| {
                public
                    .as_ref()
                    .is_some_and(|public| !public[member].is_null() && public[member] == key[member])
            };
            named(key, kid) || key["kid"].is_null() && ["pub", "x", "n"].into_iter().any(same)
        };
        let before = keys.len();
        keys.retain(|key| !is_it(key));
        if keys.len() == before {
            let what = format!("no key of the set has the id \"{}\"", Safe(kid));
            return Err(Error::key(&source.name(), what, Some("`sealstone jwks list` says which it has")));
        }
        removed.push(kid.clone());
    }
    let mut added = None;
    if let Some(file) = options.add {
        let key = AnyKey::load(&Source::from(file), &options.password, options.gates, terminal)?;
        let public = key.public();
        let taken = keys.iter().any(|other| named(other, public.kid()))
            || set.keys().any(|other| other.kid() == public.kid())
                && !removed.iter().any(|kid| kid == public.kid());
        if taken {
            let what = format!("the set has a key with the id \"{}\" already", Safe(public.kid()));
            return Err(Error::key(&source.name(), what, Some("the key may have been added before")));
        }
        keys.push(serde_json::from_str(&public.to_jwk().to_json()).unwrap_or_default());
        added = Some((public.kid().to_owned(), public.algorithm()));
    }
    if keys.is_empty() && !options.allow_empty {
        let what = "the set would be empty: no token of any key could be checked";
        return Err(Error::key(&source.name(), what, Some("--allow-empty takes the last key out")));
    }
    let lines: Vec<String> = keys.iter().map(Value::to_string).collect();
    let count = lines.len();
    document.remove("keys");
    let mut text = String::from("{");
    for (name, value) in &document {
        text.push_str(&format!("{}:{value},", Value::from(name.as_str())));
    }
    text.push_str(&format!("\"keys\":[\n{}\n]}}\n", lines.join(",\n")));
    // What was written must be readable: a rotation that breaks the set would stop everybody.
    KeySet::parse(&source.name(), text.as_bytes(), options.gates)?;
    out.write(text.as_bytes(), Readers::All, true, terminal)?;
    if options.json {
        let added = added.map(|(kid, _)| kid);
        return terminal
            .json(&json!({"added": added, "file": shown(path), "keys": count, "removed": removed}));
    }
    if let Some((kid, algorithm)) = added {
        terminal.line(format_args!("added    {algorithm}  {}", Safe(&kid)))?;
    }
    for kid in removed {
        terminal.line(format_args!("removed  {}", Safe(&kid)))?;
    }
    let keys = if count == 1 { "1 key".to_owned() } else { format!("{count} keys") };
    terminal.line(format_args!("{}  {keys}", shown(path)))
}
