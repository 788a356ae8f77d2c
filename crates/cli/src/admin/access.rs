//! How a server is reached, and as which client.

use std::path::{Path, PathBuf};

use clap::Args;
use sealstone_auth::Issuer;
use serde::Deserialize;
use zeroize::Zeroizing;

use super::api::Api;
use crate::error::Error;
use crate::files::{Source, shown};
use crate::keyfile::Private;
use crate::terminal::Terminal;

/// Options of every command below `admin`. Their ids differ from those of all others, which clap does not check.
#[derive(Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct Access {
    /// The file with all of this [default: $XDG_CONFIG_HOME/sealstone/admin.toml]
    #[arg(id = "access.access", long = "access", value_name = "FILE", global = true)]
    pub(super) access: Option<PathBuf>,
    /// The server's URL, which is its issuer
    #[arg(id = "access.server", long = "server", value_name = "URL", global = true)]
    pub(super) server: Option<String>,
    /// Dial this instead of the host in the URL, as for one server of several
    #[arg(id = "access.connect", long = "connect", value_name = "HOST:PORT", global = true)]
    pub(super) connect: Option<String>,
    /// Trust the certificates of these authorities alone, in PEM
    #[arg(id = "access.ca", long = "ca", value_name = "FILE", global = true)]
    pub(super) ca: Option<PathBuf>,
    /// The client to ask as
    #[arg(id = "access.client_id", long = "client-id", value_name = "ID", global = true)]
    pub(super) client_id: Option<String>,
    /// Its private key, as JWK, PEM or DER
    #[arg(id = "access.key", long = "key", value_name = "FILE", global = true)]
    pub(super) key: Option<PathBuf>,
    /// Its secret, instead of a key
    #[arg(id = "access.secret_file", long = "secret-file", value_name = "FILE", global = true)]
    pub(super) secret_file: Option<PathBuf>,
    /// In JSON, as the server says it; nothing where it says nothing
    #[arg(id = "access.json", long = "json", global = true)]
    pub(super) json: bool,
}

/// The file of [`Access`]. Paths count from its folder.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    ca: Option<PathBuf>,
    client_id: Option<String>,
    connect: Option<String>,
    key: Option<PathBuf>,
    secret_file: Option<PathBuf>,
    server: Option<String>,
}

/// Everything that it takes to ask a server.
pub(super) struct Reach {
    pub(super) ca: Option<PathBuf>,
    pub(super) client_id: String,
    pub(super) connect: Option<String>,
    pub(super) proof: Proof,
    pub(super) server: String,
}

/// What proves who asks.
pub(super) enum Proof {
    /// `private_key_jwt`; the file is named in errors.
    Key { key: Box<Private>, name: String },
    /// `client_secret_basic`.
    Secret(Zeroizing<String>),
}

/// Longer than any secret.
const MAX_SECRET: usize = 4096;
/// Longer than any such file.
const MAX_FILE: usize = 65_536;

impl Access {
    /// Connects, and gets a token.
    pub(super) async fn open(&self, terminal: &mut Terminal) -> Result<Api, Error> {
        Api::open(self.reach(terminal)?).await
    }

    /// The file, and what the options say instead.
    fn reach(&self, terminal: &mut Terminal) -> Result<Reach, Error> {
        let file = self.file(terminal)?;
        // An option for the key puts a secret of the file aside, and the other way round.
        let (key, secret) = match (&self.key, &self.secret_file) {
            (None, None) => (file.key, file.secret_file),
            given => (given.0.clone(), given.1.clone()),
        };
        let missing = |what: &str, option: &str| {
            let hint = format!(
                "{option}, or a line in {}; `sealstone admin init` on the server's machine makes all of it",
                self.path().map_or("admin.toml".into(), |path| shown(&path))
            );
            Error::usage(format!("{what} is not known"), &hint)
        };
        let server = self.server.clone().or(file.server);
        let server = server_url(&server.ok_or_else(|| missing("the server's URL", "--server URL"))?)?;
        let client_id = self.client_id.clone().or(file.client_id);
        let client_id = client_id.ok_or_else(|| missing("the client to ask as", "--client-id ID"))?;
        let proof = match (key, secret) {
            (Some(key), None) => key_of(key, terminal)?,
            (None, Some(secret)) => Proof::Secret(secret_of(secret, terminal)?),
            (None, None) => {
                return Err(missing("the client's key or secret", "--key FILE or --secret-file FILE"));
            }
            (Some(_), Some(_)) => {
                return Err(Error::usage("there are a key and a secret", "a client has one of them"));
            }
        };
        let (ca, connect) = (self.ca.clone().or(file.ca), self.connect.clone().or(file.connect));
        Ok(Reach { ca, client_id, connect, proof, server })
    }

    /// Where the file is; `None` where there is no home.
    pub(super) fn path(&self) -> Option<PathBuf> {
        let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let usual = || folder("XDG_CONFIG_HOME").or_else(|| folder("HOME").map(|home| home.join(".config")));
        self.access.clone().or_else(|| usual().map(|folder| folder.join("sealstone/admin.toml")))
    }

    fn file(&self, terminal: &mut Terminal) -> Result<File, Error> {
        let Some(path) = self.path().filter(|path| self.access.is_some() || path.exists()) else {
            return Ok(File::default());
        };
        let source = Source::Path(path.clone());
        if let Some(mode) = source.wide_mode().filter(|mode| mode & 0o022 != 0) {
            terminal.warn(
                format_args!("{} may be written by others (mode {mode:04o})", shown(&path)),
                &format!("it decides who gets your client's secret: chmod 600 {}", shown(&path)),
            );
        }
        let text = source.read_text(MAX_FILE)?;
        let mut file: File = toml::from_str(&text).map_err(|cause| {
            let line = cause.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let what = format!("{}:{line}: {}", shown(&path), cause.message().replace('\n', " "));
            Error::usage(what, "it may have server, connect, ca, client_id, and key or secret_file")
        })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        for place in [&mut file.ca, &mut file.key, &mut file.secret_file].into_iter().flatten() {
            *place = folder.join(&*place);
        }
        Ok(file)
    }
}

/// A server's URL: an issuer. Plain HTTP stays on this machine.
pub(super) fn server_url(text: &str) -> Result<String, Error> {
    let wrong = |what: &str| {
        Error::usage(format!("the server's URL {what}: {text}"), "as in https://auth.example.org")
    };
    // An issuer ends with no slash (RFC 8414 §2), and people type one.
    let url = text.trim_end_matches('/');
    let issuer = Issuer::parse(url, true).map_err(wrong)?;
    let host = issuer.host();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let here =
        host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    match url.starts_with("http://") && !here {
        true => Err(wrong("is http, which would show the token to everybody on the way")),
        false => Ok(url.to_owned()),
    }
}

fn key_of(path: PathBuf, terminal: &mut Terminal) -> Result<Proof, Error> {
    let key = Private::load(&Source::Path(path.clone()), terminal)?;
    Ok(Proof::Key { key: Box::new(key), name: shown(&path) })
}

fn secret_of(path: PathBuf, terminal: &mut Terminal) -> Result<Zeroizing<String>, Error> {
    let source = Source::Path(path);
    if let Some(mode) = source.wide_mode() {
        terminal.warn(
            format_args!("{} holds a secret and its mode {mode:04o} lets others in", source.name()),
            &format!("chmod 600 {}", source.name()),
        );
    }
    let text = source.read_text(MAX_SECRET)?;
    match text.trim() {
        "" => Err(Error::usage(format!("{} is empty", source.name()), "it must hold the client's secret")),
        secret => Ok(Zeroizing::new(secret.to_owned())),
    }
}
