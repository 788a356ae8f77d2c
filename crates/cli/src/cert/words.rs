//! Certificates in words, and in JSON.

use sealstone_jose::UnixSeconds;
use sealstone_pki::ml_kem::EncapsulationKey;
use sealstone_pki::x509::{Extensions, oids};
use sealstone_pki::{Certificate, KeyAlgorithm, composite, spki};
use serde_json::{Value, json};

use crate::clock;
use crate::error::Error;
use crate::files::{Target, shown};
use crate::terminal::{BOLD, DIM, Safe, Terminal, grouped};

/// `2026-11-22 04:00:00 UTC`; before 1970, which no certificate of ours is, in seconds.
pub(crate) fn time(seconds: i64) -> String {
    u64::try_from(seconds).map_or_else(|_| format!("{seconds} seconds"), |time| clock::utc(UnixSeconds(time)))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The key's algorithm, and what that means to someone who meets it for the first time.
pub(crate) fn key_words(spki_der: &[u8]) -> (String, &'static str) {
    if let Ok(info) = spki::from_der(spki_der) {
        let about = match info.algorithm() {
            KeyAlgorithm::MlDsa(_) => "post-quantum",
            _ => "not post-quantum",
        };
        return (info.algorithm().to_string(), about);
    }
    if let Ok((modulus, _)) = spki::rsa_from_der(spki_der) {
        let bits = 8 * modulus.len() - modulus.first().map_or(0, |first| first.leading_zeros() as usize);
        let padding = if spki::rsa_is_for_pss_alone(spki_der) { ", for PSS alone" } else { "" };
        return (format!("RSA of {bits} bits{padding}"), "not post-quantum");
    }
    if let Ok(key) = EncapsulationKey::from_der(spki_der) {
        return (key.algorithm().to_string(), "post-quantum, for encryption");
    }
    match composite::from_spki(spki_der) {
        Ok(key) => (key.algorithm().to_string(), "post-quantum and classical in one, a draft"),
        Err(cause) => (cause.to_string(), "not usable here"),
    }
}

/// A purpose by name, or else by number.
pub(crate) fn purpose(oid: &sealstone_pki::x509::Oid) -> String {
    oid.name().map_or_else(|| oid.to_string(), str::to_owned)
}

/// The rows of what extensions say, for people.
pub(crate) fn extension_rows(extensions: &Extensions) -> Vec<(&'static str, String)> {
    let mut rows = Vec::new();
    let list = |items: &mut dyn Iterator<Item = String>| items.collect::<Vec<_>>().join(", ");
    if let Some(names) = &extensions.subject_alt_names {
        rows.push(("names", list(&mut names.iter().map(ToString::to_string))));
    }
    if let Some(constraints) = extensions.basic_constraints {
        rows.push((
            "authority",
            match (constraints.ca, constraints.path_len) {
                (false, _) => "no: it may not sign certificates".into(),
                (true, None) => "yes: it may sign certificates".into(),
                (true, Some(0)) => "yes: it may sign certificates, but of no other authority".into(),
                (true, Some(limit)) => {
                    format!("yes: it may sign certificates, with {limit} authorities below it")
                }
            },
        ));
    }
    if let Some(usage) = extensions.key_usage {
        rows.push(("key usage", usage.to_string()));
    }
    if let Some(purposes) = &extensions.ext_key_usage {
        rows.push(("purposes", list(&mut purposes.iter().map(purpose))));
    }
    if let Some(constraints) = &extensions.name_constraints {
        if !constraints.permitted.is_empty() {
            rows.push(("permits", list(&mut constraints.permitted.iter().map(ToString::to_string))));
        }
        if !constraints.excluded.is_empty() {
            rows.push(("excludes", list(&mut constraints.excluded.iter().map(ToString::to_string))));
        }
    }
    if let Some(policies) = &extensions.certificate_policies {
        rows.push(("policies", list(&mut policies.iter().map(ToString::to_string))));
    }
    if let Some(points) = &extensions.crl_distribution_points {
        rows.push(("lists at", list(&mut points.iter().map(ToString::to_string))));
    }
    let known = [
        oids::SUBJECT_ALT_NAME,
        oids::BASIC_CONSTRAINTS,
        oids::KEY_USAGE,
        oids::EXT_KEY_USAGE,
        oids::NAME_CONSTRAINTS,
        oids::CERTIFICATE_POLICIES,
        oids::CRL_DISTRIBUTION_POINTS,
        oids::AUTHORITY_KEY_ID,
        oids::SUBJECT_KEY_ID,
    ];
    for other in extensions.all.iter().filter(|one| !known.contains(&one.oid.content().as_slice())) {
        let name =
            other.oid.name().map_or_else(|| other.oid.to_string(), |name| format!("{name} ({})", other.oid));
        let critical = if other.critical { ", critical" } else { "" };
        rows.push(("also", format!("{name}{critical}, {} bytes", other.value.len())));
    }
    rows
}

pub(crate) fn rows(terminal: &mut Terminal, rows: &[(&str, String)]) -> Result<(), Error> {
    for (name, value) in rows {
        terminal.line(format_args!("  {DIM}{name:<11}{DIM:#}  {}", Safe(value)))?;
    }
    Ok(())
}

/// A certificate for people.
pub(crate) fn describe(name: &str, certificate: &Certificate, terminal: &mut Terminal) -> Result<(), Error> {
    let subject = subject_words(certificate);
    terminal.line(format_args!("{BOLD}{name}{BOLD:#}  certificate about {}", Safe(&subject)))?;
    let (key, about) = key_words(certificate.public_key());
    let algorithm = certificate.signature_algorithm();
    let now = clock::now();
    let span = match (u64::try_from(certificate.not_before()), u64::try_from(certificate.not_after())) {
        (_, Ok(end)) if end < now.0 => format!("expired {}", clock::relative(UnixSeconds(end), now)),
        (Ok(start), _) if start > now.0 => format!("begins {}", clock::relative(UnixSeconds(start), now)),
        (_, Ok(end)) => format!("ends {}", clock::relative(UnixSeconds(end), now)),
        _ => "long over".into(),
    };
    let issuer = match certificate.is_self_issued() {
        true => "itself".to_owned(),
        false => certificate.issuer().to_string(),
    };
    let mut all = vec![
        ("key", format!("{key}  {about}")),
        ("issued by", issuer),
        ("signed with", algorithm.map_or_else(|cause| cause.to_string(), |known| known.to_string())),
        ("valid", format!("{} to {}, {span}", time(certificate.not_before()), time(certificate.not_after()))),
        ("serial", hex(certificate.serial())),
    ];
    all.extend(extension_rows(certificate.extensions()));
    if let Some(id) = certificate.subject_key_id() {
        all.push(("key id", format!("{}  (Linux IMA: {})", hex(id), ima_id(id))));
    }
    all.push(("size", format!("{} bytes", grouped(certificate.der().len()))));
    rows(terminal, &all)
}

/// The subject, or the names beside it where there is none.
pub(crate) fn subject_words(certificate: &Certificate) -> String {
    if !certificate.subject().is_empty() {
        return certificate.subject().to_string();
    }
    let names = certificate.extensions().subject_alt_names.iter().flatten();
    names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// The last 4 bytes, by which the kernel finds a key.
fn ima_id(id: &[u8]) -> String {
    hex(&id[id.len().saturating_sub(4)..])
}

/// Extensions in JSON.
pub(crate) fn extensions_json(extensions: &Extensions) -> Value {
    let texts = |list: &[sealstone_pki::x509::Oid]| -> Vec<String> {
        list.iter().map(|oid| oid.name().map_or_else(|| oid.to_string(), str::to_owned)).collect()
    };
    let constraints = extensions.name_constraints.as_ref().map(|constraints| {
        let texts = |list: &[sealstone_pki::x509::Subtree]| -> Vec<String> {
            list.iter().map(ToString::to_string).collect()
        };
        json!({"excluded": texts(&constraints.excluded), "permitted": texts(&constraints.permitted)})
    });
    json!({
        "alt_names": extensions.subject_alt_names.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        "authority": extensions.basic_constraints.is_some_and(|constraints| constraints.ca),
        "authority_key_id": extensions.authority_key_id.as_ref().and_then(|id| id.key_id.as_deref()).map(hex),
        "crl_distribution_points":
            extensions.crl_distribution_points.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        "extensions": extensions.all.iter().map(|one| json!({
            "critical": one.critical,
            "oid": one.oid.to_string(),
            "value": hex(&one.value),
        })).collect::<Vec<_>>(),
        "key_usage": extensions.key_usage.map(|usage| usage.names().collect::<Vec<_>>()),
        "name_constraints": constraints,
        "path_len": extensions.basic_constraints.and_then(|constraints| constraints.path_len),
        "policies": extensions.certificate_policies.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        "purposes": extensions.ext_key_usage.as_deref().map(texts),
        "subject_key_id": extensions.subject_key_id.as_deref().map(hex),
    })
}

/// A certificate for programs.
pub(crate) fn json(certificate: &Certificate) -> Value {
    let mut value = extensions_json(certificate.extensions());
    let algorithm = certificate.signature_algorithm();
    for (name, member) in [
        ("bytes", json!(certificate.der().len())),
        ("issuer", json!(certificate.issuer().to_string())),
        ("key", json!(key_words(certificate.public_key()).0)),
        ("not_after", json!(certificate.not_after())),
        ("not_before", json!(certificate.not_before())),
        ("serial", json!(hex(certificate.serial()))),
        ("signature_algorithm", json!(algorithm.map(|known| known.to_string()).ok())),
        ("subject", json!(certificate.subject().to_string())),
        ("version", json!(certificate.version())),
    ] {
        value[name] = member;
    }
    value
}

/// What was made. With a certificate on standard output there is no room for words.
pub(crate) fn written(
    target: &Target,
    certificate: &Certificate,
    in_json: bool,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let Target::Path(path) = target else { return Ok(()) };
    if in_json {
        let mut value = json(certificate);
        value["file"] = json!(shown(path));
        return terminal.json(&value);
    }
    let kind = if certificate.is_ca() { "authority" } else { "certificate" };
    terminal.line(format_args!(
        "{}  {} {kind} about {}, until {}",
        shown(path),
        key_words(certificate.public_key()).0,
        Safe(&subject_words(certificate)),
        time(certificate.not_after()),
    ))?;
    let id = certificate.subject_key_id().map(hex).unwrap_or_default();
    terminal.line(format_args!("{DIM}serial {}, key id {id}{DIM:#}", hex(certificate.serial())))
}

/// What to do with a certificate for IMA.
pub(crate) fn ima(target: &Target, certificate: &Certificate, terminal: &mut Terminal) -> Result<(), Error> {
    let Target::Path(path) = target else { return Ok(()) };
    let id = ima_id(certificate.subject_key_id().unwrap_or_default());
    terminal.line(format_args!(
        "{DIM}Linux will know it as id:{id}: keyctl padd asymmetric '' %keyring:.ima < {}{DIM:#}",
        shown(path)
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use sealstone_pki::Certificate;

    use super::key_words;

    #[test]
    fn an_rsa_key_for_pss_alone_is_named_so() {
        for (name, expected) in [("rsa", "RSA of 3072 bits"), ("pss-key", "RSA of 2048 bits, for PSS alone")]
        {
            let chain = format!("{}/../pki/tests/data/openssl/chains/{name}.pem", env!("CARGO_MANIFEST_DIR"));
            let chain = Certificate::all_from_pem(&std::fs::read_to_string(chain).unwrap()).unwrap();
            assert_eq!(key_words(chain.last().unwrap().public_key()).0, expected);
        }
    }
}
