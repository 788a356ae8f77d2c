//! Clients that the configuration lists, for operators who keep it under version control.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use toml::Spanned;
use zeroize::Zeroizing;

use super::reading::place;
use crate::Error;
use crate::admin::NewClient;
use crate::client::SecretHash;
use crate::client::metadata::{Fault, Metadata};
use crate::error::ConfigError;

/// `[[static_clients]]`: a client in the words of its registration, RFC 7591 §2 and what the admin API has besides, with
/// `client_id` always. A secret is not among them: `client_secret_file` names the file that holds it,
/// `client_secret_sha256` is its hash in hexadecimal digits. `jwks_file` names the file of a JWK set.
#[derive(Clone)]
pub struct StaticClient {
    members: Map<String, Value>,
    /// Where each member stands: first as an offset, then as line and column.
    places: BTreeMap<String, (usize, usize)>,
    start: (usize, usize),
    file: Option<PathBuf>,
}

/// Where the secret of a static client comes from.
pub(crate) enum SecretSource {
    /// From this file.
    File(PathBuf),
    /// Its hash is all that is known.
    Hash(SecretHash),
    /// There is none.
    None,
}

/// A static client, read.
pub(crate) struct Wanted {
    pub(crate) id: String,
    pub(crate) new: NewClient,
    pub(crate) secret: SecretSource,
}

/// Larger than any key set.
const MAX_JWKS: u64 = 1 << 20;
/// The fewest characters of a secret: what 192 random bits take in base64. A hash of fewer could be guessed.
const SECRET_MIN: usize = 32;
/// The most.
const SECRET_MAX: u64 = 4096;

impl<'de> Deserialize<'de> for StaticClient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = Spanned::<BTreeMap<Spanned<String>, Value>>::deserialize(deserializer)?;
        let start = (table.span().start, 0);
        let (mut members, mut places) = (Map::new(), BTreeMap::new());
        for (name, value) in table.into_inner() {
            places.insert(name.get_ref().clone(), (name.span().start, 0));
            members.insert(name.into_inner(), value);
        }
        Ok(Self { members, places, start, file: None })
    }
}

impl fmt::Debug for StaticClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // What a careless hand has written there may be a secret.
        f.debug_struct("StaticClient").field("id", &self.id()).finish_non_exhaustive()
    }
}

impl StaticClient {
    /// Turns offsets into lines and columns of this text.
    pub(super) fn locate(&mut self, text: &str, file: Option<&Path>) {
        for at in self.places.values_mut().chain([&mut self.start]) {
            *at = place(text, at.0);
        }
        self.file = file.map(Path::to_owned);
    }

    /// Its identifier, if there is one.
    pub(crate) fn id(&self) -> &str {
        self.members.get("client_id").and_then(Value::as_str).unwrap_or_default()
    }

    /// What the members say together. The file of `jwks_file` is read; that of the secret is not.
    /// Errors: `Config`, with the line.
    pub(crate) fn wanted(&self) -> Result<Wanted, Error> {
        let mut members = self.members.clone();
        if self.id().is_empty() {
            return Err(self.fault(
                "client_id",
                "`client_id` is missing or empty",
                "each static client has one",
            ));
        }
        if members.contains_key("client_secret") {
            let hint = "`client_secret_file` names a file that holds it; `client_secret_sha256` is its hash";
            return Err(self.fault("client_secret", "a secret does not belong into the configuration", hint));
        }
        let hash = self.text(&mut members, "client_secret_sha256")?;
        let file = self.text(&mut members, "client_secret_file")?;
        let secret = match (hash, file) {
            (None, None) => SecretSource::None,
            (None, Some(file)) => SecretSource::File(file.into()),
            (Some(hash), None) => SecretSource::Hash(self.hash(&hash)?),
            (Some(_), Some(_)) => {
                let what = "`client_secret_file` and `client_secret_sha256` are both there";
                return Err(self.fault("client_secret_sha256", what, "one of them says what the secret is"));
            }
        };
        if let Some(file) = self.text(&mut members, "jwks_file")? {
            let jwks = read(Path::new(&file), MAX_JWKS).and_then(|text| {
                serde_json::from_str::<Value>(&text).map_err(|cause| format!("it is not JSON: {cause}"))
            });
            let jwks = jwks.map_err(|what| {
                self.fault("jwks_file", &format!("{file}: {what}"), "a JWK set, as {\"keys\": [...]}")
            })?;
            if members.insert("jwks".into(), jwks).is_some() {
                return Err(self.fault(
                    "jwks_file",
                    "`jwks` and `jwks_file` are both there",
                    "one of them says the keys",
                ));
            }
        }
        let metadata = serde_json::to_vec(&members).map_err(|cause| Error::store("read a client", cause))?;
        let new = Metadata::parse(&metadata).and_then(|metadata| metadata.by_administrator(None));
        let new = new.map_err(|fault| {
            let (member, what) = match &fault {
                Fault::Metadata(text) => match text.split_once(": ") {
                    Some((member, _)) => (member, text),
                    None => ("client_id", text),
                },
                Fault::RedirectUri(text) => ("redirect_uris", text),
            };
            let unknown = what.rsplit_once("that is called ").map(|(_, name)| name);
            // Which member has another type, reading all of them does not say.
            let alone = |(name, value): (&String, &Value)| {
                let text = Value::Object([(name.clone(), value.clone())].into_iter().collect()).to_string();
                let read = Metadata::parse(text.as_bytes()).and_then(|one| one.by_administrator(None));
                matches!(read, Err(Fault::Metadata(said)) if said == *what).then(|| name.clone())
            };
            let typed = what.contains("another type").then(|| members.iter().find_map(alone)).flatten();
            if let Some(name) = typed {
                let hint = "docs/admin.md names the members, and what they may be";
                return self.fault(&name, &format!("`{name}` has another type than it should"), hint);
            }
            self.fault(
                unknown.unwrap_or(member),
                what,
                "docs/admin.md names the members, and what they may be",
            )
        })?;
        Ok(Wanted { id: self.id().to_owned(), new, secret })
    }

    /// The secret in a file, for the server alone.
    /// Errors: `Config`.
    pub(crate) fn secret(&self, file: &Path) -> Result<Zeroizing<String>, Error> {
        let hint = "the file holds the secret alone, in one line: `openssl rand -hex 32` makes one";
        let fault =
            |what: &str| self.fault("client_secret_file", &format!("{}: {what}", file.display()), hint);
        let text = read(file, SECRET_MAX).map_err(|what| fault(&what))?;
        let secret = text.trim_end_matches(['\r', '\n']);
        if secret.len() < SECRET_MIN {
            return Err(fault("the secret has fewer than 32 characters"));
        }
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(fault("the secret has spaces, or characters that are not ASCII"));
        }
        Ok(Zeroizing::new(secret.to_owned()))
    }

    /// What was found out to be wrong with the whole of it, at the member that it is about.
    pub(crate) fn at(&self, cause: Error) -> Error {
        let Error::ClientInvalid { field, what, hint } = &cause else { return cause };
        let member = match *field {
            "id" => "client_id",
            "name" => "client_name",
            "audience" => "audiences",
            "resource" => "resources",
            "authentication method" => "token_endpoint_auth_method",
            "certificate" => "tls_client_certificate_bound_access_tokens",
            "JWK set" if self.places.contains_key("jwks_file") => "jwks_file",
            "JWK set" => "jwks",
            "grants" => "grant_types",
            "signed request" => "require_signed_request_object",
            "algorithm" => "id_token_signed_response_alg",
            "token lifetime" => "token_lifetime_seconds",
            "sector" => "sector_identifier_uri",
            "secret" => "client_secret_sha256",
            same => same,
        };
        self.fault(member, &format!("{field}: {what}"), hint)
    }

    /// A fault at a member, or where the client begins if it has no such member.
    pub(crate) fn fault(&self, member: &str, what: &str, hint: &str) -> Error {
        let (line, column) = self.places.get(member).copied().unwrap_or(self.start);
        let known = line > 0 && column > 0;
        Error::Config(ConfigError {
            file: self.file.clone(),
            line: known.then_some(line),
            column: known.then_some(column),
            what: format!("static client `{}`: {what}", self.id().escape_debug()),
            hint: Some(hint.to_owned()),
        })
    }

    fn text(&self, members: &mut Map<String, Value>, name: &str) -> Result<Option<String>, Error> {
        match members.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) if !text.is_empty() => Ok(Some(text)),
            Some(_) => Err(self.fault(name, &format!("`{name}` is not text"), "text in quotation marks")),
        }
    }

    fn hash(&self, digits: &str) -> Result<SecretHash, Error> {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        let byte = |pair: &[u8]| Some(value(*pair.first()?)? << 4 | value(*pair.get(1)?)?);
        let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
        bytes.and_then(|bytes| SecretHash::from_bytes(&bytes)).ok_or_else(|| {
            let hint = "64 hexadecimal digits: `printf %s \"$(cat FILE)\" | sha256sum`";
            self.fault("client_secret_sha256", "`client_secret_sha256` is no SHA-256", hint)
        })
    }
}

/// The text of a file, which may be a secret.
fn read(file: &Path, limit: u64) -> Result<Zeroizing<String>, String> {
    use std::io::Read as _;
    let mut text =
        Zeroizing::new(String::with_capacity(usize::try_from(limit).unwrap_or_default().min(8192)));
    let opened = std::fs::File::open(file).map_err(|cause| cause.to_string())?;
    opened.take(limit + 1).read_to_string(&mut text).map_err(|cause| cause.to_string())?;
    match text.len() as u64 > limit {
        true => Err(format!("it is larger than {limit} bytes")),
        false => Ok(text),
    }
}
