//! Reading a configuration: its text, its rules, and what is said of a broken one.

use std::path::Path;

use sealstone_jose::Algorithm;
use serde::{Deserialize, Deserializer};

use super::{ClientCertificates, Config, JWKS_MAX_AGE_SECONDS, Replay, TlsMode};
use crate::client::AuthMethod;
use crate::error::ConfigError;
use crate::{Error, Issuer, kerberos};

impl Config {
    /// Reads a configuration file.
    /// Errors: `Config` with file, line and hint.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|cause| {
            Error::Config(ConfigError {
                file: Some(path.to_owned()),
                line: None,
                column: None,
                what: format!("cannot be read: {cause}"),
                hint: Some("every value has a default: an empty file is a configuration".into()),
            })
        })?;
        Self::parse(&text, Some(path))
    }

    /// Reads a configuration text; `file` is named in errors.
    /// Errors: `Config` with line and hint.
    pub fn parse(text: &str, file: Option<&Path>) -> Result<Self, Error> {
        let fault = |place: Option<(usize, usize)>, what: String, hint| {
            Error::Config(ConfigError {
                file: file.map(Path::to_owned),
                line: place.map(|(line, _)| line),
                column: place.map(|(_, column)| column),
                what,
                hint,
            })
        };
        let mut config: Self = toml::from_str(text).map_err(|e| {
            let (what, hint) = say(e.message());
            fault(e.span().map(|span| place(text, span.start)), what, hint)
        })?;
        config.static_clients.iter_mut().for_each(|client| client.locate(text, file));
        match config.check() {
            Ok(()) => Ok(config),
            Err(Fault { section, key, what, hint }) => {
                Err(fault(locate(text, section, key), what, Some(hint.to_owned())))
            }
        }
    }

    /// Whether a client can show a certificate: TLS ends here, and asks for one.
    pub(crate) fn asks_for_certificates(&self) -> bool {
        let here = matches!(self.tls.mode, TlsMode::Files | TlsMode::SelfSigned);
        here && self.tls.client_certificates == ClientCertificates::Ask
    }

    /// The methods by which clients can prove who they are.
    pub(crate) fn auth_methods(&self) -> Vec<AuthMethod> {
        let possible = |method: &AuthMethod| match method {
            AuthMethod::KerberosClientAuth => kerberos::BUILT && self.kerberos.keytab.is_some(),
            AuthMethod::SelfSignedTlsClientAuth => self.asks_for_certificates(),
            AuthMethod::TlsClientAuth => self.asks_for_certificates() && self.tls.client_ca.is_some(),
            _ => true,
        };
        AuthMethod::ALL.into_iter().filter(possible).collect()
    }

    /// The rules between values that no single value shows.
    pub(crate) fn check(&self) -> Result<(), Fault> {
        if let Some(text) = &self.issuer {
            Issuer::parse(text, self.tls.mode == TlsMode::PlainLoopback).map_err(Fault::issuer)?;
        } else if self.tls.mode == TlsMode::PlainBehindProxy || self.listen.ip().is_unspecified() {
            return Err(Fault {
                section: "",
                key: "listen",
                what: "the issuer cannot be derived from the address".into(),
                hint: "set `issuer` to the URL under which clients reach the server",
            });
        }
        if self.tls.mode == TlsMode::PlainLoopback && !self.listen.ip().is_loopback() {
            return Err(Fault {
                section: "tls",
                key: "mode",
                what: format!("plain HTTP on {}, which is not a loopback address", self.listen),
                hint: "listen on 127.0.0.1, or use `plain-behind-proxy` if a proxy terminates TLS",
            });
        }
        let (files, tls) = (self.tls.mode == TlsMode::Files, &self.tls);
        if (tls.certificate.is_some(), tls.key.is_some()) != (files, files) {
            let key = match (&tls.certificate, &tls.key) {
                (Some(_), _) => "certificate",
                (None, Some(_)) => "key",
                (None, None) => "mode",
            };
            return Err(Fault {
                section: "tls",
                key,
                what: "`mode`, `certificate` and `key` do not fit together".into(),
                hint: "mode \"files\" goes with both `certificate` and `key`, every other mode with neither",
            });
        }
        if tls.client_ca.is_some() && !self.asks_for_certificates() {
            return Err(Fault {
                section: "tls",
                key: "client_ca",
                what: "`client_ca` is set, and clients are not asked for certificates".into(),
                hint: "it goes with TLS on this server's own listener and `client_certificates = \"ask\"`",
            });
        }
        if self.tokens.algorithms.is_empty() {
            return Err(Fault {
                section: "tokens",
                key: "algorithms",
                what: "`algorithms` is empty".into(),
                hint: "name at least one, as in [\"ML-DSA-65\"]",
            });
        }
        if self.device.interval_seconds.get() > 60 || self.device.lifetime_seconds.get() > 3600 {
            return Err(Fault {
                section: "device",
                key: "lifetime_seconds",
                what: "`interval_seconds` or `lifetime_seconds` is too long".into(),
                hint: "at most 60 seconds between two questions, and an hour for a code",
            });
        }
        if !self.dpop.nonces && self.dpop.replay == Replay::Node {
            return Err(Fault {
                section: "dpop",
                key: "nonces",
                what: "without nonces a node cannot tell which proofs are its own to remember".into(),
                hint: "set `replay` to \"shared\", or leave `nonces` true",
            });
        }
        self.kerberos.check()?;
        if !(5..=599).contains(&self.par.lifetime_seconds.get()) {
            return Err(Fault {
                section: "par",
                key: "lifetime_seconds",
                what: format!("`lifetime_seconds` is {}", self.par.lifetime_seconds),
                hint: "5 to 599: a pushed request is opened at once, and must not lie around",
            });
        }
        if !self.passwords.cost().is_enough() {
            return Err(Fault {
                section: "passwords",
                key: "memory_kib",
                what: "`memory_kib`, `passes` and `lanes` are out of bounds".into(),
                hint: "at least 7168 KiB, and memory_kib times passes at least 35840; at most 4 GiB, 1000 passes, 64 lanes",
            });
        }
        if self.sessions.idle_seconds > self.sessions.absolute_seconds
            || self.sessions.absolute_seconds.get() > 366 * 86_400
        {
            return Err(Fault {
                section: "sessions",
                key: "idle_seconds",
                what: "`idle_seconds` and `absolute_seconds` do not fit together".into(),
                hint: "the idle time is within the absolute one, and that within a year",
            });
        }
        if self.audit.max_file_bytes.get() < 65_536 {
            return Err(Fault {
                section: "audit",
                key: "max_file_bytes",
                what: "`max_file_bytes` is too small for a block and its signature".into(),
                hint: "at least 65536",
            });
        }
        if self.keys.publish_seconds.get() < 2 * JWKS_MAX_AGE_SECONDS {
            return Err(Fault {
                section: "keys",
                key: "publish_seconds",
                what: "`publish_seconds` is shorter than verifiers may cache the JWK set".into(),
                hint: "at least 600, so that every verifier knows a key before it signs",
            });
        }
        if self.keys.active_seconds <= self.keys.publish_seconds {
            return Err(Fault {
                section: "keys",
                key: "active_seconds",
                what: "`active_seconds` is not longer than `publish_seconds`".into(),
                hint: "a key must sign for longer than its successor is announced",
            });
        }
        Ok(())
    }
}

/// A broken rule between values.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(super) section: &'static str,
    pub(super) key: &'static str,
    pub(super) what: String,
    pub(super) hint: &'static str,
}

impl Fault {
    pub(crate) fn issuer(what: &'static str) -> Self {
        Self {
            section: "",
            key: "issuer",
            what: format!("`issuer` {what}"),
            hint: "an https URL without query, fragment or trailing slash, as in https://auth.example.org",
        }
    }
}

impl From<Fault> for Error {
    /// For a configuration built in code: there is no line to name.
    fn from(fault: Fault) -> Self {
        let hint = Some(fault.hint.to_owned());
        Error::Config(ConfigError { file: None, line: None, column: None, what: fault.what, hint })
    }
}

/// Names of algorithms, each once.
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
fn say(message: &str) -> (String, Option<String>) {
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
fn locate(text: &str, section: &str, key: &str) -> Option<(usize, usize)> {
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
