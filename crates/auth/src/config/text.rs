//! The configuration as text: where a fault is, and what was probably meant.

use sealstone_jose::Algorithm;
use serde::{Deserialize, Deserializer};

pub(super) fn algorithms<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Algorithm>, D::Error> {
    struct Name(Algorithm);
    impl<'de> Deserialize<'de> for Name {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let name = String::deserialize(deserializer)?;
            let known = Algorithm::ALL.iter().find(|algorithm| algorithm.name() == name);
            known.map(|algorithm| Name(*algorithm)).ok_or_else(|| {
                let names: Vec<_> =
                    Algorithm::ALL.iter().map(|known| format!("`{}`", known.name())).collect();
                serde::de::Error::custom(format!(
                    "unknown algorithm `{name}`, expected one of {}",
                    names.join(", ")
                ))
            })
        }
    }
    let mut named: Vec<Algorithm> = Vec::new();
    for Name(algorithm) in Vec::<Name>::deserialize(deserializer)? {
        if !named.contains(&algorithm) {
            named.push(algorithm);
        }
    }
    Ok(named)
}

/// Turns "unknown field `a`, expected one of `b`, `c`" into a fault and a hint that names the nearest of them.
pub(super) fn say(message: &str) -> (String, Option<String>) {
    let (what, expected) = match message.split_once(", expected ") {
        Some((what, expected)) => (what, expected),
        None => return (message.replace('\n', " "), None),
    };
    let what = what.replace("unknown field", "unknown key").replace("unknown variant", "unknown value");
    let unknown = what.split('`').nth(1).unwrap_or_default();
    let nearest = expected.split('`').skip(1).step_by(2).min_by_key(|known| distance(unknown, known));
    let hint = match nearest {
        Some(known) if what.starts_with("unknown") && distance(unknown, known) <= 2 => {
            format!("did you mean `{known}`?")
        }
        _ => format!("expected {expected}"),
    };
    (what, Some(hint))
}

/// Levenshtein's distance: how many letters must be put in, taken out or changed.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

/// Line and column, counted from 1, of a byte offset.
pub(super) fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// Where `key` of `section` is set, for a rule that no single value breaks.
pub(super) fn locate(text: &str, section: &str, key: &str) -> Option<(usize, usize)> {
    let mut current = String::new();
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if let Some(name) = trimmed.strip_prefix('[') {
            current = name.trim_end_matches(']').trim().to_owned();
        } else if current == section && trimmed.split('=').next().is_some_and(|name| name.trim() == key) {
            return Some((number + 1, line.len() - line.trim_start().len() + 1));
        }
    }
    None
}
