//! `sealstone serve`: the token server in the foreground, until it is told to end.

use std::future::poll_fn;
use std::path::PathBuf;
use std::task::Poll;

use clap::Args;
use sealstone_auth::config::TlsMode;
use sealstone_auth::{Config, log};
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::error::Error;

/// Options of `serve`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone serve --config /etc/sealstone.toml
  sealstone serve                                   all defaults: 127.0.0.1:8443, data in ./sealstone-data
  sealstone serve --localhost                       a trial: http://localhost:8443, no certificate to trust

Every value of the configuration has a default; an empty file is one. The most useful:

  data_dir = \"/var/lib/sealstone\"         # keys and clients; mode 0700
  listen   = \"0.0.0.0:8443\"
  issuer   = \"https://auth.example.org\"   # as clients reach it

  [tls]
  mode        = \"files\"                   # without it: self-signed
  certificate = \"/etc/tls/chain.pem\"
  key         = \"/etc/tls/key.pem\"

  [tokens]
  algorithms = [\"ML-DSA-65\", \"ES256\"]   # a signing key each, rotated

Logs go to standard error. SIGTERM and Ctrl-C end the server after the last request in flight, a second \
one at once. Register clients with `sealstone client add`, also while the server runs.")]
pub(crate) struct Options {
    /// The configuration, in TOML; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// For a trial on this machine: plain HTTP at http://localhost:8443, which no other machine reaches
    #[arg(long, conflicts_with = "config")]
    localhost: bool,
}

pub(crate) fn run(options: &Options) -> Result<(), Error> {
    let config = match options.localhost {
        true => localhost(),
        false => load(options.config.as_ref())?,
    };
    // Held to the end, so that the last line is written too.
    let _logs = log::init(&config.log)?;
    let runtime = runtime()?;
    runtime.block_on(async {
        let ending = Ending::watch(&[])?;
        Ok(sealstone_auth::run(config, ending.first()).await?)
    })
}

/// Reads the configuration, if there is one.
pub(crate) fn load(file: Option<&PathBuf>) -> Result<Config, Error> {
    Ok(match file {
        Some(file) => Config::load(file)?,
        None => Config::default(),
    })
}

/// Everything by default, but without a certificate that every browser and library would have to be told to trust. By its
/// name and not its address, because browsers allow passkeys only there.
fn localhost() -> Config {
    let mut config = Config::default();
    config.issuer = Some(format!("http://localhost:{}", config.listen.port()));
    config.tls.mode = TlsMode::PlainLoopback;
    config
}

/// The runtime of a server: one thread per core.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let built = Builder::new_multi_thread().enable_all().build();
    built.map_err(|cause| Error::file("the runtime", "started", cause))
}

/// The signals that ask a process to end.
pub(crate) struct Ending(Vec<Signal>);

impl Ending {
    /// SIGTERM, SIGINT and what else is named.
    pub(crate) fn watch(more: &[SignalKind]) -> Result<Self, Error> {
        let kinds = [SignalKind::interrupt(), SignalKind::terminate()];
        let watched: Result<Vec<Signal>, _> = kinds.iter().chain(more).map(|kind| signal(*kind)).collect();
        watched.map(Self).map_err(|cause| Error::file("signals", "watched", cause))
    }

    /// Ready at the first signal; a second one then ends the process without waiting for anything.
    pub(crate) async fn first(mut self) {
        self.next().await;
        tokio::spawn(async move {
            self.next().await;
            std::process::exit(130);
        });
    }

    async fn next(&mut self) {
        poll_fn(|context| {
            let came = self.0.iter_mut().any(|signal| signal.poll_recv(context).is_ready());
            if came { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
