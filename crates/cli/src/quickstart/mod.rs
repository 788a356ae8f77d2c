//! `sealstone quickstart`: a real server, a real client and a real token, every step shown and timed.
//!
//! `tour.rs` does, `screen.rs` shows, `http.rs` is the client.

mod http;
mod screen;
mod tour;

use std::fs::Permissions;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use clap::Args;
use sealstone_auth::client::ClientSecret;
use sealstone_auth::{Config, NewClient, Server, World};
use sealstone_jose::Algorithm;
use tempfile::TempDir;
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::files::{Readers, Target};
use crate::serve::{Ending, runtime};
use crate::terminal::Terminal;

/// The client's id.
const CLIENT: &str = "quickstart";
/// The server's certificate, for curl's --cacert.
const CA_FILE: &str = "ca.pem";
/// The client's id and secret, for curl's -K.
const CREDENTIALS_FILE: &str = "client.conf";

/// Options of `quickstart`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone quickstart             shows the way of a token, then serves until Ctrl-C
  sealstone quickstart --once      shows it and ends

Nothing is installed and nothing stays: the server listens on this machine only, and its files are in \
a temporary directory that is removed at the end.")]
pub(crate) struct Options {
    /// End after the tour instead of serving
    #[arg(long)]
    once: bool,
    /// Say it in JSON
    #[arg(long)]
    json: bool,
}

/// What the tour needs to know of the server and its client.
struct Place<'a> {
    address: SocketAddr,
    certificate_pem: String,
    folder: &'a Path,
    issuer: String,
    secret: ClientSecret,
    took_to_register: Duration,
    took_to_start: Duration,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let folder = folder()?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let ending = Ending::watch(&[SignalKind::hangup()])?.first();
        tokio::select! {
            done = visit(options, folder.path(), terminal) => done,
            () = ending => Ok(()),
        }
    });
    // First the server, then its files: nothing writes to them any more, and a failure can be told.
    drop(runtime);
    let path = folder.path().to_owned();
    folder.close().map_err(|cause| Error::path(&path, "removed", cause))?;
    done
}

/// The whole visit; it goes on serving at the end unless it is to be over.
async fn visit(options: &Options, folder: &Path, terminal: &mut Terminal) -> Result<(), Error> {
    let (server, place) = start(folder, terminal).await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = tokio::spawn(server.run(async {
        // Also ready when the other half is dropped: the visit was cut short.
        let _ = stopped.await;
    }));
    let tour = tour::walk(&place).await?;
    if options.json {
        terminal.json(&screen::json(&place, &tour))?;
    } else {
        screen::show(&place, &tour, options.once, terminal)?;
    }
    if !options.once {
        std::future::pending::<()>().await;
    }
    let _ = stop.send(());
    let _ = server.await;
    Ok(())
}

/// Starts a server with one client, and lays out what curl needs to ask it.
async fn start<'a>(folder: &'a Path, terminal: &mut Terminal) -> Result<(Server, Place<'a>), Error> {
    let started = Instant::now();
    let mut config = Config { data_dir: folder.join("data"), ..Config::default() };
    config.listen.set_port(0);
    config.tokens.algorithms = vec![Algorithm::MlDsa65];
    let server = Server::bind(config, World::default()).await?;
    let took_to_start = started.elapsed();

    let started = Instant::now();
    let new = NewClient { id: Some(CLIENT.into()), name: "The quickstart".into(), ..NewClient::default() };
    let (_, secret) = server.admin().add_client(new).await?;
    let secret = secret.ok_or_else(|| {
        Error::usage("the quickstart's client has no secret", "this should not happen: please report it")
    })?;
    server.refresh().await?;
    let took_to_register = started.elapsed();

    let certificate_pem = server.certificate_pem().unwrap_or_default().to_owned();
    let ca = Target::Path(folder.join(CA_FILE));
    ca.write(certificate_pem.as_bytes(), Readers::All, false, terminal)?;
    let user = Zeroizing::new(format!("user = \"{CLIENT}:{}\"\n", secret.reveal()));
    let credentials = Target::Path(folder.join(CREDENTIALS_FILE));
    credentials.write(user.as_bytes(), Readers::Owner, false, terminal)?;

    let (address, issuer) = (server.local_addr(), server.issuer().to_string());
    let place = Place { address, certificate_pem, folder, issuer, secret, took_to_register, took_to_start };
    Ok((server, place))
}

/// A directory for this visit, for its owner alone.
fn folder() -> Result<TempDir, Error> {
    let made =
        tempfile::Builder::new().prefix("sealstone-").permissions(Permissions::from_mode(0o700)).tempdir();
    made.map_err(|cause| Error::file("a temporary directory", "made", cause))
}
