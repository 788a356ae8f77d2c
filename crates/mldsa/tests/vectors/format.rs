//! From the bytes of a file to the reader of its format. The content decides, never the name.

use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::examiner::Examiner;
use super::report::FileReport;
use super::{Options, acvp, cctv, crafted, fresh, kat, rejection, wycheproof};

/// A file read by the strict schema of its format, ready to run.
pub trait Vectors {
    /// What to call the format in the report.
    fn name(&self) -> &'static str;
    /// Puts every case to the subject. `Err`: the file itself is at fault.
    fn run(&self, examiner: &Examiner<'_>, options: Options, report: &mut FileReport) -> Result<(), String>;
}

/// The file's text, gunzipped where its first bytes say gzip.
pub fn unpack(bytes: &[u8]) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes.to_vec());
    }
    let mut text = Vec::new();
    MultiGzDecoder::new(bytes).read_to_end(&mut text).map_err(|why| format!("gzip: {why}"))?;
    Ok(text)
}

/// Whether the text can be one of ours at all.
pub fn is_json(text: &[u8]) -> bool {
    matches!(text.iter().find(|byte| !byte.is_ascii_whitespace()), Some(b'{' | b'['))
        && serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

/// Recognises the format and reads the text by its schema.
pub fn read(text: &[u8]) -> Result<Box<dyn Vectors>, String> {
    let shape: Value = serde_json::from_slice(text).map_err(|why| format!("not JSON: {why}"))?;
    let has = |value: &Value, names: &[&str]| names.iter().all(|name| value.get(name).is_some());
    match &shape {
        Value::Object(_) if has(&shape, &["algorithm", "mode", "testGroups"]) => match shape["mode"].as_str()
        {
            Some("keyGen") => boxed::<acvp::KeyGen>(text),
            Some("sigGen") => boxed::<acvp::SigGen>(text),
            Some("sigVer") => boxed::<acvp::SigVer>(text),
            _ => Err(format!("unknown ACVP mode {}", shape["mode"])),
        },
        Value::Object(_) if has(&shape, &["why", "group"]) => boxed::<acvp::Quarantine>(text),
        Value::Object(_) if has(&shape, &["schema", "testGroups"]) => match shape["schema"].as_str() {
            Some("mldsa_sign_noseed_schema.json") => boxed::<wycheproof::SignNoSeed>(text),
            Some("mldsa_sign_seed_schema.json") => boxed::<wycheproof::SignSeed>(text),
            Some("mldsa_verify_schema.json") => boxed::<wycheproof::Verify>(text),
            _ => Err(format!("unknown Wycheproof schema {}", shape["schema"])),
        },
        Value::Object(_) if has(&shape, &["interface", "sets"]) => boxed::<rejection::Paths>(text),
        Value::Object(_) if has(&shape, &["procedure", "field"]) => boxed::<cctv::Accumulated>(text),
        Value::Array(items) => match items.first() {
            None => Err("no cases in this file".to_owned()),
            Some(Value::String(_)) => boxed::<cctv::Messages>(text),
            Some(first) if has(first, &["key_generation_seed"]) => boxed::<kat::Libcrux>(text),
            Some(first) if has(first, &["xi", "rng"]) => boxed::<kat::AwsLc>(text),
            Some(first) if has(first, &["smlen", "context"]) => boxed::<kat::BouncyCastle>(text),
            Some(first) if has(first, &["set", "mutants"]) => boxed::<fresh::Fresh>(text),
            Some(first) if has(first, &["set", "comment", "valid"]) => boxed::<crafted::Crafted>(text),
            Some(_) => Err("unknown format".to_owned()),
        },
        _ => Err("unknown format".to_owned()),
    }
}

fn boxed<T: Vectors + DeserializeOwned + 'static>(text: &[u8]) -> Result<Box<dyn Vectors>, String> {
    serde_json::from_slice::<T>(text)
        .map(|vectors| Box::new(vectors) as Box<dyn Vectors>)
        .map_err(|why| why.to_string())
}
