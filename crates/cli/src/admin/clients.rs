//! `sealstone admin client`: the clients, in the words of RFC 7591.

use std::ffi::OsString;
use std::time::Duration;

use clap::{Args, Subcommand};
use sealstone_auth::{AuthMethod, Grant, Profile};
use sealstone_jose::Algorithm;
use serde_json::{Map, Value, json};
use zeroize::Zeroizing;

use super::access::Access;
use super::api::body_of;
use super::{done, screen, text};
use crate::client_auth::MAX_KEYS;
use crate::clock::parse_span;
use crate::error::Error;
use crate::files::{Readers, Source, Target, shown};
use crate::flags;
use crate::terminal::{DIM, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(super) enum Command {
    /// List the clients
    List,
    /// Show everything about a client but its secret
    Show(Named),
    /// Register a client and print its secret, once
    Add(Box<Add>),
    /// Change members of a client's registration
    Change(Box<Change>),
    /// Draw a new secret for a client; the old one is over at once
    Secret(Secret),
    /// Remove a client; its tokens cease to be active
    Remove(Named),
}

/// A client.
#[derive(Args)]
pub(super) struct Named {
    /// Its identifier
    #[arg(value_name = "ID")]
    id: String,
}

/// Options of `client add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin client add --id billing --scope orders:read --secret-out billing.secret
  sealstone admin client add --id shop --redirect-uri https://shop.example/callback --scope openid --scope email
  sealstone admin client add --id app --auth-method none --redirect-uri http://127.0.0.1/callback --scope openid
  sealstone admin client add --id billing --auth-method private_key_jwt --jwks billing.jwks
  sealstone admin client add --metadata shop.json --set client_name='Shop (test)'
  sealstone admin client add --id bank --metadata bank.json --set dpop_bound_access_tokens=true

--set takes every member of the API's document, which GET /admin/v1/openapi.json shows: its value is JSON, or else \
text. What nothing is said about is as the server has it: client_secret_basic, client_credentials, 15 minutes.")]
pub(super) struct Add {
    /// Its identifier; drawn at random if not given
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    #[command(flatten)]
    members: Members,
    #[command(flatten)]
    secret: SecretOut,
}

/// Options of `client change`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin client change billing --lifetime 5m
  sealstone admin client change shop --redirect-uri https://shop.example/a --redirect-uri https://shop.example/b
  sealstone admin client change shop --set consent=implied --unset backchannel_logout_uri
  sealstone admin client change billing --auth-method private_key_jwt --jwks billing.jwks

A member that is given is replaced as a whole: --scope says all of its scopes. Everything else stays as it is, and so does \
the secret, unless the method changes. With --metadata the whole registration is replaced.")]
pub(super) struct Change {
    /// Its identifier
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    members: Members,
    /// A member to be as if it had never been said; may be given more than once
    #[arg(long, value_name = "MEMBER")]
    unset: Vec<String>,
    #[command(flatten)]
    secret: SecretOut,
}

/// Options of `client secret`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin client secret billing --secret-out billing.secret --force

The old secret ends at once, so the client is refused until it has the new one. A client with private_key_jwt has no secret, and \
changes its keys without a gap: `admin client change ID --jwks FILE` with both keys, and later with the new one.")]
pub(super) struct Secret {
    /// Its identifier
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    secret: SecretOut,
}

/// Where a secret goes.
#[derive(Args)]
struct SecretOut {
    /// Write the secret to this file, for its owner alone, instead of printing it
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    secret_out: Option<OsString>,
    /// Replace that file if it is there
    #[arg(long, requires = "secret_out")]
    force: bool,
}

/// Members of a registration.
#[derive(Args)]
struct Members {
    /// The registration as a JSON object, as `client show --json` prints it; options count over it; - is standard input
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    metadata: Option<OsString>,
    /// A name for people
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// A scope it may have; may be given more than once
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// What it may ask the token endpoint for, a URN also by its last word; may be given more than once
    #[arg(long, value_name = "GRANT", value_parser = flags::grant(), hide_possible_values = true)]
    grant: Vec<Grant>,
    /// Where people are sent back to; may be given more than once
    #[arg(long, value_name = "URI")]
    redirect_uri: Vec<String>,
    /// An audience of its tokens; may be given more than once
    #[arg(long, value_name = "AUDIENCE")]
    audience: Vec<String>,
    /// An audience it answers for; may be given more than once
    #[arg(long, value_name = "AUDIENCE")]
    resource: Vec<String>,
    /// How it proves who it is
    #[arg(long, value_name = "METHOD", value_parser = flags::auth_method())]
    auth_method: Option<AuthMethod>,
    /// Its public keys as a JWK set
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    jwks: Option<OsString>,
    /// Where it publishes them
    #[arg(long, value_name = "URL", conflicts_with = "jwks")]
    jwks_uri: Option<String>,
    /// What its tokens are signed with
    #[arg(long, value_name = "ALG", ignore_case = true, value_parser = flags::algorithm())]
    alg: Option<Algorithm>,
    /// How long its tokens live, as in 15m
    #[arg(long, value_name = "TIME", value_parser = parse_span)]
    lifetime: Option<Duration>,
    /// Hold it to a profile
    #[arg(long, value_name = "PROFILE", value_parser = flags::profile())]
    profile: Option<Profile>,
    /// Any other member; may be given more than once
    #[arg(long, value_name = "MEMBER=VALUE")]
    set: Vec<String>,
}

/// Longer than any registration.
const MAX_METADATA: usize = 1 << 20;

pub(super) async fn run(command: Command, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::List => list(access, terminal).await,
        Command::Show(Named { id }) => {
            let client = access.open(terminal).await?.get(&["clients", &id]).await?;
            match access.json {
                true => terminal.json(&client),
                false => screen::facts(&client, "client_id", terminal),
            }
        }
        Command::Add(options) => add(*options, access, terminal).await,
        Command::Change(options) => change(*options, access, terminal).await,
        Command::Secret(Secret { id, secret }) => {
            let out = secret.target()?;
            let body = body_of(&json!({}))?;
            let client = access.open(terminal).await?.post(&["clients", &id, "secret"], body).await?;
            say(client, "has a new secret; the old one is over", out, &secret, access, terminal)
        }
        Command::Remove(Named { id }) => {
            access.open(terminal).await?.delete(&["clients", &id]).await?;
            done(access, &format!("{id} removed; its tokens are no longer active"), terminal)
        }
    }
}

async fn list(access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let clients = access.open(terminal).await?.list(&["clients"]).await?;
    if access.json {
        return terminal.json(&Value::Array(clients));
    }
    let row = |client: &Value| {
        let last = |grant: &Value| grant.as_str().and_then(|urn| urn.rsplit(':').next()).map(str::to_owned);
        let grants: Vec<String> =
            client["grant_types"].as_array().into_iter().flatten().filter_map(last).collect();
        let known = |member: &str| text(client, member).to_owned();
        [
            known("client_id"),
            known("client_name"),
            known("token_endpoint_auth_method"),
            grants.join(" "),
            state(client).to_owned(),
            known("scope"),
        ]
    };
    let none = "no clients; `sealstone admin client add` registers one";
    let head = ["ID", "NAME", "METHOD", "GRANTS", "STATE", "SCOPES"];
    screen::table(head, clients.iter().map(row).collect(), none, terminal)
}

/// Who decides about it, if that is not an administrator.
fn state(client: &Value) -> &'static str {
    match (&client["configured"], &client["disabled"], &client["registered_itself"]) {
        (Value::Bool(true), ..) => "configured",
        (_, Value::Bool(true), _) => "disabled",
        (.., Value::Bool(true)) => "registered itself",
        _ => "",
    }
}

async fn add(options: Add, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let out = options.secret.target()?;
    let mut registration = options.members.document()?.unwrap_or_default();
    options.members.put(&mut registration)?;
    if let Some(id) = options.id {
        registration.insert("client_id".into(), id.into());
    }
    let body = body_of(&registration)?;
    let client = access.open(terminal).await?.post(&["clients"], body).await?;
    say(client, "registered", out, &options.secret, access, terminal)
}

/// Reads, changes and writes back: of two changes at once the later one counts.
async fn change(options: Change, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let out = options.secret.target()?;
    let document = options.members.document()?;
    let mut given = Map::new();
    options.members.put(&mut given)?;
    if document.is_none() && given.is_empty() && options.unset.is_empty() {
        return Err(Error::usage("nothing is to be changed", "--help shows what can be"));
    }
    let mut api = access.open(terminal).await?;
    let address = ["clients", options.id.as_str()];
    let mut registration = match document {
        Some(document) => document,
        None => match api.get(&address).await? {
            Value::Object(registration) => registration,
            _ => Map::new(),
        },
    };
    // Of two that say the same in different words, the one that is given counts.
    let instead = |one: &str, other: &str| given.contains_key(one).then(|| other.to_owned());
    let methods = given.contains_key("token_endpoint_auth_method");
    let replaced = [instead("jwks", "jwks_uri"), instead("jwks_uri", "jwks")];
    let beside = ["jwks", "jwks_uri", "token_endpoint_auth_signing_alg"].into_iter().filter(|_| methods);
    let grants = instead("grant_types", "response_types");
    let gone = replaced.into_iter().flatten().chain(beside.map(str::to_owned)).chain(grants);
    for member in gone.chain(options.unset) {
        registration.remove(&member);
    }
    registration.extend(given);
    let client = api.put(&address, body_of(&registration)?).await?;
    say(client, "changed", out, &options.secret, access, terminal)
}

impl SecretOut {
    /// Where it is to go, which must be possible before anything is changed.
    fn target(&self) -> Result<Option<Target>, Error> {
        let target = self.secret_out.clone().map(Target::from);
        target.iter().try_for_each(|target| target.check(self.force))?;
        Ok(target)
    }
}

impl Members {
    /// The document that is given.
    fn document(&self) -> Result<Option<Map<String, Value>>, Error> {
        let Some(source) = self.metadata.clone().map(Source::from) else { return Ok(None) };
        let read = serde_json::from_slice(&source.read(MAX_METADATA)?);
        read.map(Some).map_err(|cause| {
            let what = format!("{} is not a JSON object: {cause}", source.name());
            Error::usage(what, "a registration, as `sealstone admin client show ID --json` prints it")
        })
    }

    /// Writes what the options say into a registration.
    fn put(&self, all: &mut Map<String, Value>) -> Result<(), Error> {
        let mut put = |member: &str, value: Option<Value>| {
            if let Some(value) = value {
                all.insert(member.to_owned(), value);
            }
        };
        let many = |values: &[String]| (!values.is_empty()).then(|| json!(values));
        put("client_name", self.name.clone().map(Value::from));
        put("scope", (!self.scope.is_empty()).then(|| self.scope.join(" ").into()));
        let grants: Vec<&str> = self.grant.iter().map(|grant| grant.name()).collect();
        put("grant_types", (!grants.is_empty()).then(|| json!(grants)));
        put("redirect_uris", many(&self.redirect_uri));
        put("audiences", many(&self.audience));
        put("resources", many(&self.resource));
        put("token_endpoint_auth_method", self.auth_method.map(|method| method.name().into()));
        put("jwks", self.jwks.clone().map(jwks).transpose()?);
        put("jwks_uri", self.jwks_uri.clone().map(Value::from));
        put("id_token_signed_response_alg", self.alg.map(|alg| alg.name().into()));
        put("token_lifetime_seconds", self.lifetime.map(|span| span.as_secs().into()));
        put("profile", self.profile.map(|profile| profile.name().into()));
        for pair in &self.set {
            let Some((member, value)) = pair.split_once('=').filter(|(member, _)| !member.is_empty()) else {
                let hint = "as in --set dpop_bound_access_tokens=true";
                return Err(Error::usage(format!("--set: expected MEMBER=VALUE, found `{pair}`"), hint));
            };
            put(member, Some(serde_json::from_str(value).unwrap_or_else(|_| value.into())));
        }
        Ok(())
    }
}

/// A JWK set of a file.
pub(super) fn jwks(file: OsString) -> Result<Value, Error> {
    let source = Source::from(file);
    let read: Result<Value, _> = serde_json::from_slice(&source.read(MAX_KEYS)?);
    let hint = "public keys as {\"keys\":[...]}, RFC 7517 §5";
    let set = read.map_err(|cause| Error::key(&source.name(), cause, Some(hint)))?;
    // The server says what is wrong with a set; what is secret must not even get there.
    let secret = |key: &Value| ["d", "priv", "k", "p", "q"].iter().any(|member| key.get(member).is_some());
    match set["keys"].as_array() {
        Some(keys) if keys.iter().any(secret) => {
            let hint = "`sealstone key show --public --format jwk` prints the public half";
            Err(Error::key(&source.name(), "it holds a private key, and stays here", Some(hint)))
        }
        Some(_) => Ok(set),
        None => Err(Error::key(&source.name(), "this is no JWK set", Some(hint))),
    }
}

/// What became of a client, and its secret if there is a new one.
fn say(
    mut client: Value,
    what: &str,
    out: Option<Target>,
    options: &SecretOut,
    access: &Access,
    terminal: &mut Terminal,
) -> Result<(), Error> {
    let id = text(&client, "client_id").to_owned();
    let secret = match client["client_secret"].take() {
        Value::String(secret) => Some(Zeroizing::new(secret)),
        _ => None,
    };
    if let Some(members) = client.as_object_mut() {
        members.remove("client_secret");
    }
    if let (Some(out), Some(secret)) = (&out, &secret) {
        let written =
            out.write(format!("{}\n", **secret).as_bytes(), Readers::Owner, options.force, terminal);
        if let Err(cause) = written {
            terminal.warn(
                format_args!("{id} has a secret that nobody has seen"),
                &format!("`sealstone admin client secret {id}` draws another"),
            );
            return Err(cause);
        }
        if *out == Target::Stdout {
            return Ok(());
        }
    }
    if access.json {
        if let (None, Some(secret)) = (&out, &secret) {
            client["client_secret"] = secret.as_str().into();
        }
        return terminal.json(&client);
    }
    terminal.line(format_args!("{} {what}", Safe(&id)))?;
    match (out, secret) {
        (_, None) => Ok(()),
        (Some(Target::Path(path)), _) => {
            terminal.line(format_args!("{DIM}client secret{DIM:#}  in {}, for you alone", shown(&path)))
        }
        (_, Some(secret)) => {
            terminal.line(format_args!("{DIM}client secret{DIM:#}  {}", Safe(&secret)))?;
            terminal.line("\nThis is the only time the secret is shown.")
        }
    }
}
