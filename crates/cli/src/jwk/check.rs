//! What is wrong with a JWK: all of it, in words, with the sentence of the RFC and a cure. The library stops at the first fault; here the
//! reader wants them all, and the library has the last word.

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, URL_SAFE_NO_PAD};
use sealstone_jose::{Algorithm, Error as Refusal, JwkSet, PrivateKey, PublicKey, composite, legacy};
use sealstone_mldsa::{Level, any as engine};
use sealstone_pki::form::Form;
use serde_json::{Map, Value};
use zeroize::{Zeroize as _, Zeroizing};

use crate::keyfile::any::Gates;

/// Members that hold a secret in any key type (RFC 7518 §6, RFC 9964 §4), and `seed` of early drafts.
const PRIVATE: [&str; 10] = ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"];

/// Something to say about a member.
#[derive(Debug)]
pub(crate) struct Finding {
    /// A fault makes the key unusable; the rest is good to know.
    pub(crate) fault: bool,
    pub(crate) member: String,
    pub(crate) what: String,
    /// Where that is written.
    pub(crate) source: &'static str,
    pub(crate) cure: String,
}

/// What was found in one key.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) findings: Vec<Finding>,
    /// The algorithm, and whether it is private, as far as that can be told.
    pub(crate) algorithm: Option<String>,
    pub(crate) private: bool,
}

impl Report {
    pub(crate) fn faults(&self) -> usize {
        self.findings.iter().filter(|finding| finding.fault).count()
    }

    fn fault(
        &mut self,
        member: &str,
        source: &'static str,
        what: impl Into<String>,
        cure: impl Into<String>,
    ) {
        let (member, what, cure) = (member.to_owned(), what.into(), cure.into());
        self.findings.push(Finding { fault: true, member, what, source, cure });
    }

    fn note(&mut self, member: &str, source: &'static str, what: impl Into<String>, cure: impl Into<String>) {
        let (member, what, cure) = (member.to_owned(), what.into(), cure.into());
        self.findings.push(Finding { fault: false, member, what, source, cure });
    }
}

/// Looks at a key, or at each key of a set. A set's reports are in the order of its keys.
pub(crate) fn examine(text: &str, gates: Gates) -> Vec<Report> {
    let strict = PublicKey::from_jwk(text);
    // Twice is once for the parser here, which keeps the last.
    let mut value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => {
            let mut report = Report::default();
            let what = strict.err().map_or_else(|| "no JSON".into(), |cause| cause.to_string());
            let cure = match Form::of(text.as_bytes()) {
                Some(Form::Pem(_)) => "this is a key in PEM: `sealstone convert --to jwk` writes it as a JWK",
                _ => "give one JSON object, {\"kty\":…}, as text",
            };
            report.fault("", "RFC 7517 §4", what, cure);
            return vec![report];
        }
    };
    let in_json = match strict {
        Err(cause @ Refusal::BadJson { .. }) => Some(cause.to_string()),
        _ => None,
    };
    let set = value.get("keys").and_then(Value::as_array).map(|keys| keys.iter().collect::<Vec<_>>());
    let mut reports: Vec<Report> = match (&set, &value) {
        (Some(keys), _) => keys.iter().map(|key| one(key, true, gates)).collect(),
        (None, other) => vec![one(other, false, gates)],
    };
    if let Some(what) = in_json {
        let cure = "two readers may take two different values: leave one of them out";
        match reports.first_mut() {
            Some(report) => report.fault("", "RFC 7517 §4", what, cure),
            None => {
                let mut report = Report::default();
                report.fault("", "RFC 7517 §4", what, cure);
                reports.push(report);
            }
        }
    }
    // What is wrong between the keys of a set: two of one id, too many.
    if set.is_some() {
        let cause = JwkSet::parse(text.as_bytes()).err();
        if let (Some(cause @ (Refusal::DuplicateKid { .. } | Refusal::TooLarge { .. })), Some(report)) =
            (cause, reports.first_mut())
        {
            let cure = "a token could mean either: give each key an id of its own, such as its thumbprint";
            report.fault("kid", "RFC 7517 §4.5", cause.to_string(), cure);
        }
    }
    wipe(&mut value);
    reports
}

/// Overwrites every text, any of which may be a secret.
fn wipe(value: &mut Value) {
    match value {
        Value::String(text) => text.zeroize(),
        Value::Array(items) => items.iter_mut().for_each(wipe),
        Value::Object(map) => map.values_mut().for_each(wipe),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn one(value: &Value, in_set: bool, gates: Gates) -> Report {
    let mut report = Report::default();
    let Value::Object(map) = value else {
        report.fault("", "RFC 7517 §4", "no JSON object", "a key is {\"kty\":…}");
        return report;
    };
    report.private = PRIVATE.iter().any(|member| map.contains_key(*member));
    match text(map, "kty") {
        Ok("AKP") => akp(map, gates, &mut report),
        Ok("EC") => coordinates(map, &["x", "y", "d"], &mut report),
        Ok("OKP") => coordinates(map, &["x", "d"], &mut report),
        Ok("RSA") => coordinates(map, &["n", "e", "d", "p", "q", "dp", "dq", "qi"], &mut report),
        Ok(other) => unknown_type(other, &mut report),
        Err(found) => {
            let what = format!("expected a string, found {found}");
            report.fault("kty", "RFC 7517 §4.1", what, "\"kty\":\"AKP\" for ML-DSA");
        }
    }
    if report.algorithm.is_none() {
        report.algorithm = text(map, "alg").ok().map(str::to_owned);
    }
    usage(map, &mut report);
    if in_set {
        for member in PRIVATE.iter().filter(|member| map.contains_key(**member)) {
            report.fault(
                member,
                "RFC 7517 §5, RFC 9964 §4",
                "a private member in a key set: whoever got the set can sign as its owner",
                "replace the key; `sealstone jwks build` never writes one",
            );
        }
    }
    last_word(map, in_set, gates, &mut report);
    report
}

/// What the library refuses for a reason that is not told yet.
fn last_word(map: &Map<String, Value>, in_set: bool, gates: Gates, report: &mut Report) {
    let json = Zeroizing::new(Value::Object(map.clone()).to_string());
    let read = match (report.private, gates.draft && is_composite(map)) {
        (true, true) if !in_set => composite::PrivateKey::from_jwk(&json)
            .map(|key| facts(key.public().kid(), key.public().thumbprint())),
        (false, true) => composite::PublicKey::from_jwk(&json).map(|key| facts(key.kid(), key.thumbprint())),
        (true, _) => PrivateKey::from_jwk(&json).map(|key| facts(key.kid(), key.public().thumbprint())),
        (false, false) => PublicKey::from_jwk(&json).map(|key| facts(key.kid(), key.thumbprint())),
    };
    match read {
        Ok((kid, thumbprint)) if kid != thumbprint && kid.len() == thumbprint.len() => report.note(
            "kid",
            "RFC 7638",
            "as long as a thumbprint, and not this key's",
            format!("its thumbprint is {thumbprint}"),
        ),
        Err(cause) if report.faults() == 0 => {
            let cure = cause.hint().unwrap_or("export the key again from where it was made");
            report.fault("", "as `sealstone` reads it", cause.to_string(), cure);
        }
        _ => {}
    }
}

fn facts(kid: &str, thumbprint: &str) -> (String, String) {
    (kid.to_owned(), thumbprint.to_owned())
}

fn is_composite(map: &Map<String, Value>) -> bool {
    text(map, "alg").is_ok_and(|name| name.parse::<composite::Algorithm>().is_ok())
}

/// A key of RFC 9964.
fn akp(map: &Map<String, Value>, gates: Gates, report: &mut Report) {
    for member in ["crv", "x", "y", "d", "n", "e", "k"].into_iter().filter(|member| map.contains_key(*member))
    {
        let what = "a member of another key type: one text could be two keys";
        report.fault(member, "RFC 9964 §3", what, "leave it out: an AKP key has `alg`, `pub` and `priv`");
    }
    if map.contains_key("seed") {
        let what = "early drafts had the seed here";
        match map.contains_key("priv") {
            // Readers pass over members that they do not know (RFC 7517 §4).
            true => {
                report.note("seed", "RFC 9964 §4", what, "leave it out: it is a secret, and `priv` has it")
            }
            false => report.fault("seed", "RFC 9964 §4", what, "its name is `priv`"),
        }
    }
    let level = match text(map, "alg") {
        Ok(name) => algorithm(name, gates, report),
        Err("nothing") => {
            let likely = public_len(map).and_then(by_public_len);
            let cure = likely.map_or_else(
                || "add it, as in \"alg\":\"ML-DSA-65\"".to_owned(),
                |level| format!("`pub` is as long as that of {level}: add \"alg\":\"{level}\""),
            );
            report.fault(
                "alg",
                "RFC 9964 §3",
                "is missing, and AKP alone does not say what the key is for",
                cure,
            );
            likely
        }
        Err(found) => {
            report.fault(
                "alg",
                "RFC 7517 §4.4",
                format!("expected a string, found {found}"),
                "a name, as in ML-DSA-65",
            );
            None
        }
    };
    if is_composite(map) {
        return;
    }
    let public = bytes(map, "pub", report);
    let private = bytes(map, "priv", report);
    if !map.contains_key("pub") {
        let cure = match (private.as_ref().map(|seed| seed.len()), level) {
            (Some(32), Some(level)) => {
                format!(
                    "the 32 bytes of `priv` are enough: `sealstone convert --from raw --alg {level} --to jwk` takes them"
                )
            }
            _ => "export the key again, with its public half".to_owned(),
        };
        report.fault("pub", "RFC 9964 §3", "is missing; private keys have it, too", cure);
    }
    let Some(level) = level else { return };
    if let Some(public) = &public
        && public.len() != level.verifying_key_len()
    {
        let expected = level.verifying_key_len();
        let other = by_public_len(public.len());
        let cure = other.map_or_else(
            || "export the key again: these bytes are not the key, or not all of it".to_owned(),
            |other| format!("that is as long as a key of {other}: `alg` or `pub` is another key's"),
        );
        report.fault(
            "pub",
            "FIPS 204 Table 2",
            format!("expected {expected} bytes for {level}, found {}", public.len()),
            cure,
        );
    }
    if let Some(private) = &private {
        secret(level, private, public.as_deref().map(Vec::as_slice), report);
    }
}

/// `alg` of an AKP key.
fn algorithm(name: &str, gates: Gates, report: &mut Report) -> Option<Level> {
    if let Ok(known) = name.parse::<Algorithm>() {
        if known.level().is_none() {
            report.fault(
                "alg",
                "RFC 9964 §5",
                format!("{known} is not for an AKP key"),
                "ML-DSA-44, ML-DSA-65 or ML-DSA-87",
            );
        }
        return known.level();
    }
    if let Ok(known) = name.parse::<composite::Algorithm>() {
        let what = format!("{known} is composite, of a draft: {}", composite::REVISION);
        match gates.draft {
            true => report.note("alg", "the draft", what, "the encoding may change with the next revision"),
            false => report.fault("alg", "RFC 9964 §5", what, "--draft looks at it as such"),
        }
        return None;
    }
    let likely = Level::ALL.into_iter().find(|level| {
        let short = level.name().replacen("ML-DSA-", "mldsa", 1);
        let found = name.to_ascii_lowercase().replace(['_', '-', ' '], "");
        found == short
    });
    let cure =
        match (likely, name.starts_with("EdDSA+"), name.starts_with("CRYDI") || name.contains("ilithium")) {
            (Some(level), _, _) => format!("names are exact, case included: \"{level}\""),
            (_, true, _) => {
                "the hybrid of jwt-pq is two keys, and has no JWK: give each half a JWK of its own".to_owned()
            }
            (_, _, true) => {
                "that is Dilithium before FIPS 204, whose keys are none of ML-DSA: make a new key".to_owned()
            }
            _ => "ML-DSA-44, ML-DSA-65 or ML-DSA-87".to_owned(),
        };
    let name: String = name.chars().take(64).collect();
    report.fault("alg", "RFC 9964 §5", format!("\"{name}\" is no name of an algorithm"), cure);
    likely
}

/// `priv` of an ML-DSA key.
fn secret(level: Level, private: &[u8], public: Option<&[u8]>, report: &mut Report) {
    let found = private.len();
    if found == 32 {
        let computed = engine::SigningKey::try_from_seed(level, private).map(|key| key.verifying_key());
        if let (Ok(computed), Some(public)) = (computed, public)
            && public.len() == level.verifying_key_len()
            && computed.encode() != public
        {
            report.fault(
                "pub",
                "RFC 9964 §7.4",
                "is not the public half of `priv`: what is signed with one does not verify with the other",
                "the file was edited or mixed from two keys: export the key again",
            );
        }
        return;
    }
    let what = match Level::ALL.into_iter().find(|other| other.signing_key_len() == found) {
        Some(other) if other == level => {
            format!("the expanded key of {found} bytes, as jwt-pq writes it; expected the 32-byte seed")
        }
        Some(other) => {
            format!("the expanded key of {other}, {found} bytes; expected the 32-byte seed of {level}")
        }
        None => format!("expected the 32-byte seed, found {found} bytes"),
    };
    let sound = legacy::ExpandedKey::from_bytes(level, private);
    let cure = match &sound {
        Ok(_) => {
            "the seed cannot be computed back. Sign with it for now (--legacy), write it as a PKCS#8 (`sealstone convert --legacy \
             --pkcs8-form expanded`), and make a new key"
        }
        Err(_) => "export the key again from where it was made",
    };
    report.fault("priv", "RFC 9964 §4", what, cure);
    if let (Ok(key), Some(public)) = (sound, public)
        && key.public().as_bytes() != public
    {
        let what = "is not the public half of `priv`";
        report.fault(
            "pub",
            "RFC 9964 §7.4",
            what,
            "the file was edited or mixed from two keys: export the key again",
        );
    }
}

fn by_public_len(len: usize) -> Option<Level> {
    Level::ALL.into_iter().find(|level| level.verifying_key_len() == len)
}

fn public_len(map: &Map<String, Value>) -> Option<usize> {
    mild(text(map, "pub").ok()?).map(|bytes| bytes.len())
}

/// A type that is none of ours.
fn unknown_type(found: &str, report: &mut Report) {
    let known = ["AKP", "EC", "OKP", "RSA"].into_iter().find(|known| known.eq_ignore_ascii_case(found));
    let upper = found.to_ascii_uppercase();
    let (what, cure) = match known {
        Some(known) => {
            (format!("\"{found}\" is no key type"), format!("names are exact, case included: \"{known}\""))
        }
        None if found == "oct" => (
            "a shared secret: no key pair, and nothing for a published set".to_owned(),
            "tokens that everybody can check need a key pair: `sealstone key generate --format jwk`"
                .to_owned(),
        ),
        None if upper.starts_with("ML-DSA")
            || upper.starts_with("MLDSA")
            || upper == "LWE"
            || upper == "PQK" =>
        {
            (format!("\"{found}\" was a name in drafts, at most"), "RFC 9964 §3 calls it \"AKP\"".to_owned())
        }
        None => {
            let found: String = found.chars().take(64).collect();
            (format!("\"{found}\" is not known"), "AKP (ML-DSA), EC, OKP or RSA".to_owned())
        }
    };
    report.fault("kty", "RFC 7517 §4.1", what, cure);
}

/// The encodings of the members of other key types; what they say is the library's to judge.
fn coordinates(map: &Map<String, Value>, members: &[&str], report: &mut Report) {
    for member in members {
        bytes(map, member, report);
    }
    for member in ["pub", "priv"].into_iter().filter(|member| map.contains_key(*member)) {
        report.fault(member, "RFC 9964 §3", "a member of AKP keys", "leave it out, or make `kty` AKP");
    }
}

/// `use` and `key_ops`, RFC 7517 §4.2 and §4.3.
fn usage(map: &Map<String, Value>, report: &mut Report) {
    match text(map, "use") {
        Ok("sig") | Err("nothing") => {}
        Ok(other) => {
            let what = format!("\"{}\": this key says that it is not for signatures", other.escape_debug());
            report.fault("use", "RFC 7517 §4.2", what, "\"sig\", or leave it out");
        }
        Err(found) => {
            report.fault("use", "RFC 7517 §4.2", format!("expected a string, found {found}"), "\"sig\"")
        }
    }
    match text(map, "kid") {
        Ok(kid) if kid.is_empty() || kid.len() > 512 || kid.chars().any(char::is_control) => {
            let what = "is empty, longer than 512 bytes, or has a control character in it";
            report.fault("kid", "RFC 7517 §4.5", what, "leave it out, and the thumbprint is the key's id");
        }
        Ok(_) | Err("nothing") => {}
        Err(found) => {
            report.fault("kid", "RFC 7517 §4.5", format!("expected a string, found {found}"), "a string")
        }
    }
    let Some(value) = map.get("key_ops") else { return };
    let names: Option<Vec<&str>> = value.as_array().and_then(|ops| ops.iter().map(Value::as_str).collect());
    let needed = if report.private { "sign" } else { "verify" };
    match names {
        None => report.fault(
            "key_ops",
            "RFC 7517 §4.3",
            "expected an array of strings",
            format!("[\"{needed}\"]"),
        ),
        Some(names) => {
            if names.iter().enumerate().any(|(index, name)| names[..index].contains(name)) {
                report.fault(
                    "key_ops",
                    "RFC 7517 §4.3",
                    "names an operation twice",
                    format!("[\"{needed}\"]"),
                );
            }
            if !names.contains(&needed) {
                let what = format!("does not allow this key to {needed}");
                report.fault("key_ops", "RFC 7517 §4.3", what, format!("[\"{needed}\"], or leave it out"));
            }
        }
    }
}

/// The bytes of a member, with what is wrong with their encoding. `None` also where there is none.
fn bytes(map: &Map<String, Value>, member: &str, report: &mut Report) -> Option<Zeroizing<Vec<u8>>> {
    let text = match text(map, member) {
        Ok(text) => text,
        Err("nothing") => return None,
        Err(found) => {
            let what = format!("expected a string, found {found}");
            report.fault(member, "RFC 7515 §2", what, "base64url of the bytes");
            return None;
        }
    };
    if URL_SAFE_NO_PAD.decode(text).map(Zeroizing::new).is_err() {
        let (what, cure) = if text.ends_with('=') {
            ("padded with =", "cut the = off: base64url has no padding here")
        } else if text.contains(['+', '/']) {
            ("plain base64, with + and /", "base64url writes - and _ instead: convert it with `tr '+/' '-_'`")
        } else if text.contains(char::is_whitespace) {
            ("spaces or line ends in it", "one line without spaces")
        } else if text.len() % 4 == 1 {
            ("a character too few or too many for base64url", "copy it again, whole")
        } else if mild(text).is_some() {
            ("the last character has bits that must be zero", "copy it again: it was changed or cut")
        } else {
            ("no base64url", "A to Z, a to z, 0 to 9, - and _")
        };
        report.fault(member, "RFC 7515 §2", what, cure);
    }
    mild(text)
}

/// Decoded although it is not as it should be, so that more can be said of it.
fn mild(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    let mild = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    let plain =
        Zeroizing::new(text.split_whitespace().collect::<String>().replace('+', "-").replace('/', "_"));
    GeneralPurpose::new(&base64::alphabet::URL_SAFE, mild).decode(plain.as_str()).ok().map(Zeroizing::new)
}

/// A member that is a string, or what it is instead.
fn text<'m>(map: &'m Map<String, Value>, member: &str) -> Result<&'m str, &'static str> {
    match map.get(member) {
        None => Err("nothing"),
        Some(Value::String(text)) => Ok(text),
        Some(Value::Null) => Err("null"),
        Some(Value::Bool(_)) => Err("a boolean"),
        Some(Value::Number(_)) => Err("a number"),
        Some(Value::Array(_)) => Err("an array"),
        Some(Value::Object(_)) => Err("an object"),
    }
}
