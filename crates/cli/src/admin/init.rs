//! `sealstone admin init`: the first client that may administer. Whoever can write the server's store may make it.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use clap::Args;
use sealstone_auth::config::TlsMode;
use sealstone_auth::{
    Admin, AssertionAudience, AssertionKeys, ClientKeys, Config, KeySource, NewAuthentication, NewClient,
};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::json;

use super::access::{Access, server_url};
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::keyfile::{Format, private_bytes};
use crate::serve::load;
use crate::terminal::{DIM, Safe, Terminal};

/// Options of `admin init`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone admin init --config /etc/sealstone.toml
  sudo -u sealstone sealstone admin init --config /etc/sealstone.toml --access /srv/admin.toml
  sealstone admin init --config /etc/sealstone.toml --id dashboard --scope sealstone:admin:read --access dashboard.toml

On the server's machine, as a user who may write its data directory; the server may be running. It makes a key, \
registers a client that proves by it who it is (private_key_jwt), and writes two files for you alone: admin.toml, and \
the key beside it. Take both along to administer from elsewhere.

The token of a command lives for 5 minutes. To end an administrator's rights: `sealstone client remove ID`.")]
pub(super) struct Options {
    /// The server's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The identifier of the client
    #[arg(long, value_name = "ID", default_value = "admin")]
    id: String,
    /// What it may do; may be given more than once
    #[arg(long, value_name = "SCOPE", default_value = "sealstone:admin")]
    scope: Vec<String>,
    /// Replace the two files if they are there
    #[arg(long)]
    force: bool,
}

/// How long its tokens live.
const LIFETIME_SECONDS: u64 = 300;

pub(super) async fn run(options: Options, access: &Access, terminal: &mut Terminal) -> Result<(), Error> {
    let config = load(options.config.as_ref())?;
    let file = access.path().ok_or_else(|| {
        Error::usage("there is no home directory to write admin.toml to", "--access FILE says where")
    })?;
    let key_file = file.with_extension("pem");
    if key_file == file {
        return Err(Error::usage(
            format!("{} is the name of the key's file", shown(&file)),
            "a name such as admin.toml",
        ));
    }
    let text = written(&config, &options.id, access, &key_file)?;
    let (toml, pem) = (Target::Path(file.clone()), Target::Path(key_file.clone()));
    let admin = Admin::open(&config)?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|cause| Error::path(folder, "made", cause))?;
    }
    toml.check(options.force)?;
    pem.check(options.force)?;

    let (algorithm, tokens) = algorithms(&config);
    let key = PrivateKey::generate(algorithm).map_err(failed)?;
    let set = JwkSet::new([key.public().clone()]).map_err(failed)?;
    let keys =
        ClientKeys::parse(set.to_json().as_bytes()).map_err(|what| Error::key("the new key", what, None))?;
    let authentication = NewAuthentication::PrivateKeyJwt(AssertionKeys {
        audience: AssertionAudience::Issuer,
        keys: KeySource::from(keys),
    });
    let new = NewClient {
        algorithm: tokens,
        authentication,
        id: Some(options.id.clone()),
        name: "Administration".into(),
        scopes: options.scope.iter().cloned().collect(),
        token_lifetime_seconds: LIFETIME_SECONDS.min(config.tokens.max_lifetime_seconds.get()),
        ..NewClient::default()
    };
    let (client, _) = admin.add_client(new).await?;
    let bytes = private_bytes(&key, Format::Pem)?;
    let written = pem
        .write(&bytes, Readers::Owner, options.force, terminal)
        .and_then(|()| toml.write(text.as_bytes(), Readers::Owner, options.force, terminal));
    if let Err(cause) = written {
        // A client whose key nobody has is of no use to anybody.
        admin.remove_client(&client.id, None).await?;
        return Err(cause);
    }
    if !config.admin.api {
        terminal.warn(
            "the admin API is off in this configuration",
            "add `[admin]` with `api = true`, and start the server anew",
        );
    }
    let scopes: Vec<&str> = client.scopes.iter().map(String::as_str).collect();
    if access.json {
        return terminal.json(&json!({
            "access": shown(&file), "client_id": client.id, "key": shown(&key_file), "scope": scopes.join(" "),
        }));
    }
    terminal.line(format_args!("{} may administer: {}", Safe(&client.id), scopes.join(" ")))?;
    terminal.line(format_args!("  {DIM}how to use it{DIM:#}  {}", shown(&file)))?;
    terminal.line(format_args!("  {DIM}its key{DIM:#}        {}, for you alone", shown(&key_file)))?;
    let option = access.access.as_ref().map_or(String::new(), |file| format!(" --access {}", shown(file)));
    terminal.line(format_args!("\nTry: sealstone admin client list{option}"))
}

/// Of its key and of its tokens: ML-DSA-65 where there is a choice.
fn algorithms(config: &Config) -> (Algorithm, Algorithm) {
    let enabled = &config.tokens.algorithms;
    let wanted = Algorithm::MlDsa65;
    let tokens = if enabled.contains(&wanted) { wanted } else { enabled.first().copied().unwrap_or(wanted) };
    (wanted, tokens)
}

/// The text of admin.toml.
fn written(config: &Config, id: &str, access: &Access, key: &Path) -> Result<String, Error> {
    let plain = config.tls.mode == TlsMode::PlainLoopback;
    let derived = || match config.listen.port() {
        0 => Err(Error::usage(
            "the server's URL is not in its configuration",
            "--server URL, as its log says after `listening`",
        )),
        _ => Ok(format!("{}://{}", if plain { "http" } else { "https" }, config.listen)),
    };
    let server = match access.server.as_ref().or(config.issuer.as_ref()) {
        Some(url) => server_url(url)?,
        None => derived()?,
    };
    let ca = match (&access.ca, config.tls.mode) {
        (Some(ca), _) => Some(ca.clone()),
        (None, TlsMode::SelfSigned) => Some(config.data_dir.join("tls-self-signed.pem")),
        _ => None,
    };
    let absolute = |path: PathBuf| {
        let whole = std::path::absolute(&path).map_err(|cause| Error::path(&path, "named", cause))?;
        Ok::<_, Error>(fs::canonicalize(&whole).unwrap_or(whole))
    };
    let ca = ca.map(absolute).transpose()?.map(|path| path.display().to_string());
    let key = key.file_name().map(|name| name.to_string_lossy().into_owned());
    let lines = [
        ("server", Some(server)),
        ("connect", access.connect.clone()),
        ("client_id", Some(id.to_owned())),
        ("key", key),
        ("ca", ca),
    ];
    let lines = lines.into_iter().filter_map(|(name, value)| Some(format!("{name} = {}\n", quoted(&value?))));
    Ok(format!(
        "# How `sealstone admin` reaches the server, and as which client.\n{}",
        lines.collect::<String>()
    ))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            control if control.is_control() => quoted.push_str(&format!("\\u{:04X}", control as u32)),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

fn failed(cause: sealstone_jose::Error) -> Error {
    Error::key("the new key", &cause, cause.hint())
}
