//! What the server says, for people: tables, and one thing with all of its facts.

use sealstone_jose::UnixSeconds;
use serde_json::Value;

use crate::clock::utc;
use crate::error::Error;
use crate::terminal::{BOLD, DIM, Safe, Terminal};

/// A table with a head; `none` where it has no rows. Text is cut nowhere, so that it can be searched.
pub(super) fn table<const N: usize>(
    head: [&str; N],
    rows: Vec<[String; N]>,
    none: &str,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    if rows.is_empty() {
        return terminal.line(none);
    }
    let rows: Vec<[String; N]> =
        rows.into_iter().map(|row| row.map(|cell| Safe(&cell).to_string())).collect();
    let mut widths = head.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |cells: &[String; N]| {
        let padded = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    terminal.line(format_args!("{DIM}{}{DIM:#}", line(&head.map(str::to_owned))))?;
    rows.iter().try_for_each(|row| terminal.line(line(row)))
}

/// A thing by its name, and everything else that there is to say of it.
pub(super) fn facts(value: &Value, name: &str, terminal: &mut Terminal) -> Result<(), Error> {
    terminal.line(format_args!("{BOLD}{}{BOLD:#}", Safe(&shown(name, &value[name]))))?;
    let said = || {
        let members = value.as_object().into_iter().flatten().filter(|(member, _)| *member != name);
        members.map(|(member, value)| (member, shown(member, value))).filter(|(_, text)| !text.is_empty())
    };
    let width = said().map(|(member, _)| member.len()).max().unwrap_or(0);
    for (member, text) in said() {
        terminal.line(format_args!("  {DIM}{:<width$}{DIM:#}  {}", Safe(member), Safe(&text)))?;
    }
    Ok(())
}

/// A value on one line; empty where there is nothing to say.
pub(super) fn shown(member: &str, value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(all) if all.iter().all(Value::is_string) => {
            all.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" ")
        }
        Value::Number(number) => match (number.as_u64(), TIMES.contains(&member)) {
            (Some(seconds), true) => utc(UnixSeconds(seconds)),
            _ => number.to_string(),
        },
        Value::Object(members) if members.values().all(is_nothing) => String::new(),
        other => other.to_string(),
    }
}

/// The members that are seconds since 1970.
const TIMES: [&str; 5] = ["auth_time", "client_id_issued_at", "created_at", "next_at", "since"];

fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(all) => all.is_empty(),
        _ => false,
    }
}
