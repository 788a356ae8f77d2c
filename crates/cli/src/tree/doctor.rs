//! `sealstone tree doctor`: what a key, this kernel and a file system will say, before anything is signed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use sealstone_mldsa::Level;
use sealstone_tree::{
    Error as TreeError, Kernel, KeyId, Record, Rules, SECURITY_IMA, SignOptions, Tree, USER_IMA,
};
use serde_json::{Value, json};

use super::sign::stopped;
use super::{keys, usage};
use crate::error::Error;
use crate::files::shown;
use crate::password::PasswordFile;
use crate::terminal::{BOLD, DIM, Terminal, grouped};

/// Options of `tree doctor`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree doctor /usr                               what fits there, what this kernel checks
  sealstone tree doctor /usr --key ima.pem --cert ima.crt  and whether that key can sign it

What fits is tried on a file without a name, which is gone afterwards. With a key the disk's room is compared with \
what signatures of the whole tree take, as `tree sign` does before it begins.

Exit code: 0 that key can sign it, or none was given, 2 wrong options or keys, 3 it cannot, and why.")]
pub(crate) struct Options {
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// The private key that is to sign
    #[arg(long, value_name = "KEY")]
    key: Option<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// Its certificate
    #[arg(long, value_name = "CERT", requires = "key")]
    cert: Option<OsString>,
    /// Say it in JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let signer = match &options.key {
        None => None,
        Some(key) => Some(
            keys::Signing {
                key: key.clone(),
                password: options.password.clone(),
                cert: options.cert.clone(),
            }
            .load(terminal)?,
        ),
    };
    let name = shown(&options.dir);
    let tree = Tree::open(&options.dir, Rules::default(), false, 1).map_err(|cause| usage(&name, &cause))?;
    let room = tree.room().map_err(|cause| usage(&name, &cause))?;
    let kernel = Kernel::read(Path::new("/"));

    let mut lengths = vec![("P-384", Record::len_for(104))];
    lengths.extend(Level::ALL.map(|level| (level.name(), Record::len_for(level.signature_len()))));
    let probes: Vec<Probes> = lengths
        .into_iter()
        .map(|(of, bytes)| {
            (of, bytes, [SECURITY_IMA, USER_IMA].map(|name| tree.probe(name, bytes, KeyId(0))))
        })
        .collect();
    if options.json {
        let fits: Vec<Value> = probes.iter().map(|(of, bytes, probes)| row(of, *bytes, probes)).collect();
        terminal.json(&json!({
            "file_system": { "block": room.block, "fits": fits, "free": room.free, "name": room.file_system.name() },
            "kernel": {
                "appraise": kernel.appraise,
                "checks_ml_dsa": kernel.checks_ml_dsa(),
                "keyring": kernel.keyring,
                "ml_dsa": kernel.ml_dsa,
                "policy": kernel.active,
                "release": kernel.release,
            },
            "key": signer.as_ref().map(|signer| json!({
                "algorithm": signer.public().algorithm,
                "key_id": signer.public().key_id.to_string(),
            })),
        }))?;
    } else {
        show_kernel(&kernel, terminal)?;
        terminal.line(format_args!(
            "{BOLD}{name}{BOLD:#}  {}, blocks of {} bytes, {} bytes free",
            room.file_system,
            room.block,
            grouped(usize::try_from(room.free).unwrap_or(usize::MAX))
        ))?;
        for (of, bytes, probes) in &probes {
            terminal.line(format_args!(
                "  {of:<10}  {bytes:>4} bytes  security.ima: {}  {DIM}user.ima: {}{DIM:#}",
                said(&probes[0]),
                said(&probes[1])
            ))?;
        }
        if let Some(signer) = &signer {
            let public = signer.public();
            terminal.line(format_args!("{BOLD}key{BOLD:#}  {}, {}", public.algorithm, public.key_id))?;
        }
    }
    let Some(signer) = signer else { return Ok(()) };
    let how = SignOptions { attribute: Some(SECURITY_IMA), ..SignOptions::default() };
    let found = tree.preflight(&options.dir, &signer, &how, Some(&kernel));
    found.map(drop).map_err(|why| stopped(&options.dir, &why))
}

fn show_kernel(kernel: &Kernel, terminal: &mut Terminal) -> Result<(), Error> {
    let known = |fact: Option<bool>| match fact {
        Some(true) => "yes",
        Some(false) => "no",
        None => "not known",
    };
    terminal.line(format_args!("{BOLD}kernel{BOLD:#}  {}", kernel.release))?;
    let later = kernel.version.map(|version| version >= (7, 2));
    for (what, fact) in [
        ("signatures of ML-DSA over files (Linux 7.2)", later),
        ("built with CONFIG_CRYPTO_MLDSA", kernel.ml_dsa),
        ("built with CONFIG_IMA_APPRAISE", kernel.appraise),
        ("a keyring _ima or .ima", kernel.keyring),
    ] {
        terminal.line(format_args!("  {what:<44} {}", known(fact)))?;
    }
    if kernel.active.is_empty() {
        terminal.line(format_args!("  {DIM}no appraisal policy is seen{DIM:#}"))?;
    }
    for line in &kernel.active {
        terminal.line(format_args!("  {}", crate::terminal::Safe(line)))?;
    }
    Ok(())
}

fn said(probe: &Result<bool, TreeError>) -> String {
    match probe {
        Ok(true) => "fits".into(),
        Ok(false) => "cannot be tried".into(),
        Err(why) => why.code().into(),
    }
}

/// An algorithm, bytes of its attribute, and whether `security.ima` and `user.ima` take as many.
type Probes = (&'static str, usize, [Result<bool, TreeError>; 2]);

fn row(of: &str, bytes: usize, probes: &[Result<bool, TreeError>; 2]) -> Value {
    json!({ "algorithm": of, "bytes": bytes, "security.ima": said(&probes[0]), "user.ima": said(&probes[1]) })
}
