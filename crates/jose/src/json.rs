//! JSON that has only one reading: no member twice at any depth, no more than [`MAX_DEPTH`] levels, one value.

use core::cell::Cell;
use core::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};
use zeroize::Zeroize as _;

use crate::error::{Error, shown};

/// Levels of arrays and objects within each other.
pub(crate) const MAX_DEPTH: usize = 32;

/// Reads one JSON object and nothing after it. `place` names the text in the error.
pub(crate) fn object(place: &'static str, text: &[u8]) -> Result<Map<String, Value>, Error> {
    object_of(place, text, usize::MAX)
}

/// The same with at most so many values in it: each costs its reader more than its two or three bytes.
pub(crate) fn object_of(
    place: &'static str,
    text: &[u8],
    values: usize,
) -> Result<Map<String, Value>, Error> {
    match value(place, text, values)? {
        Value::Object(map) => Ok(map),
        mut other => {
            let problem = format!("expected an object, found {}", kind(&other));
            wipe(&mut other);
            Err(Error::BadJson { place, line: 1, column: 1, problem })
        }
    }
}

fn value(place: &'static str, text: &[u8], values: usize) -> Result<Value, Error> {
    let refusal = |error: serde_json::Error| {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default().to_owned();
        Error::BadJson { place, line, column, problem }
    };
    // From a &str strings without escapes are copied once, straight into their value, so that `wipe` finds them.
    let text = core::str::from_utf8(text).map_err(|error| Error::BadJson {
        place,
        line: 1,
        column: error.valid_up_to() + 1,
        problem: "not UTF-8".into(),
    })?;
    let mut reader = serde_json::Deserializer::from_str(text);
    let left = Cell::new(values);
    let mut value = Strict { depth: MAX_DEPTH, left: &left }.deserialize(&mut reader).map_err(refusal)?;
    match reader.end() {
        Ok(()) => Ok(value),
        Err(error) => {
            wipe(&mut value);
            Err(refusal(error))
        }
    }
}

/// Writes a string of JSON.
pub(crate) fn quote(text: &str, out: &mut String) {
    // Most texts here hold nothing that must be escaped (RFC 8259 §7).
    if text.bytes().all(|byte| byte >= 0x20 && byte != b'"' && byte != b'\\') {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::String(text.to_owned()).to_string());
    }
}

/// What a value is, for an error: never the value itself.
pub(crate) const fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// Overwrites every string in a value that may hold a secret.
pub(crate) fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(map) => map.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Builds a [`Value`], with `depth` levels and `left` values left.
#[derive(Clone, Copy)]
struct Strict<'c> {
    depth: usize,
    left: &'c Cell<usize>,
}

impl Strict<'_> {
    fn deeper<E: serde::de::Error>(self) -> Result<Self, E> {
        match self.depth.checked_sub(1) {
            Some(depth) => Ok(Self { depth, ..self }),
            None => Err(E::custom(format_args!("more than {MAX_DEPTH} levels deep"))),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => return Err(D::Error::custom("too many values")),
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number that is not finite"))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut list = Vec::new();
        let read = (|| {
            while let Some(item) = items.next_element_seed(deeper)? {
                list.push(item);
            }
            Ok(())
        })();
        whole_or_wiped(Value::Array(list), read)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let deeper = self.deeper()?;
        let mut map = Map::new();
        let read = (|| {
            while let Some(name) = members.next_key::<String>()? {
                match map.entry(name) {
                    Entry::Vacant(entry) => entry.insert(members.next_value_seed(deeper)?),
                    Entry::Occupied(entry) => {
                        return Err(A::Error::custom(format_args!("member {} twice", shown(entry.key()))));
                    }
                };
            }
            Ok(())
        })();
        whole_or_wiped(Value::Object(map), read)
    }
}

/// What was read before a fault may hold a secret.
fn whole_or_wiped<E>(mut value: Value, read: Result<(), E>) -> Result<Value, E> {
    if read.is_err() {
        wipe(&mut value);
    }
    read.map(|()| value)
}
