//! `sealstone tree verify`.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use sealstone_tree::{Entry, Error as TreeError, Manifest, Patterns, Tree, Verification};
use serde_json::json;

use super::summary::Report;
use super::{Attribute, Selection, incomplete, keys, usage};
use crate::error::Error;
use crate::files::shown;
use crate::terminal::{DIM, Terminal, grouped};

/// Options of `tree verify`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree verify --cert ima.crt /usr                        by security.ima
  sealstone tree verify --cert ima.crt --store user-xattr usr      by user.ima
  sealstone tree verify --cert ima.crt --manifest usr.manifest usr by a signed manifest
  sealstone tree verify --cert old.crt --cert new.crt --allow-unsigned '*.conf' /usr

Every file has a verdict: good, does-not-verify (a changed file and a forged signature look alike), \
unsigned, unknown-key, malformed, unsupported-version, classical-not-checked, unreadable; by a manifest \
also content-differs, mode-differs, missing and unlisted. The rules of a manifest are those that it was \
made with. A file that is signed for fs-verity (type 6) is good if it is what was signed; where fs-verity is \
not enabled for it the last lines say so, for a kernel would refuse it.

Exit code: 0 all files are good, 1 some are not, 2 anything else, such as a certificate that cannot be \
used. The certificates are trusted as they stand: no chain is followed.")]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    /// A certificate that is trusted, in PEM or DER; may be given often
    #[arg(long, value_name = "CERT", required_unless_present = "key")]
    cert: Vec<OsString>,
    /// A public key that is trusted, in PEM, named by the SHA-1 of its bits; may be given often
    #[arg(long, value_name = "KEY")]
    key: Vec<OsString>,
    /// Where signatures are
    #[arg(long, value_name = "STORE", default_value = "xattr", conflicts_with = "manifest")]
    store: Attribute,
    /// Verify by this signed list, and not by attributes
    #[arg(long, value_name = "FILE", conflicts_with_all = ["exclude", "include", "ignore_file", "only_executable", "min_size"])]
    manifest: Option<PathBuf>,
    /// Files that may be unsigned, or not in the manifest, as a line of .gitignore; may be given often
    #[arg(long, value_name = "PATTERN", conflicts_with = "require_all")]
    allow_unsigned: Vec<String>,
    /// Fail also if something was left out: by a rule, or because another file system is mounted there
    #[arg(long)]
    require_all: bool,
    /// Write each file's verdict to FILE, as lines of JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let (appraiser, keys) = keys::trusted(&options.cert, &options.key, terminal)?;
    let allowed =
        Patterns::new(&options.allow_unsigned).map_err(|cause| usage("--allow-unsigned", &cause))?;
    let dir = &options.selection.dir;
    let machine = &options.selection.machine;

    let manifest = match &options.manifest {
        None => None,
        Some(path) => {
            let file = File::open(path).map_err(|cause| Error::path(path, "read", cause))?;
            let manifest =
                Manifest::verified(file, &keys).map_err(|cause| untrusted(&shown(path), &cause))?;
            Some(manifest)
        }
    };
    let tree: Tree = match &manifest {
        Some(manifest) => machine.open(dir, manifest.header.rules.clone(), manifest.header.cross_mounts)?,
        None => options.selection.open()?,
    };
    let total = tree.count(None).files;
    let mut report = Report::new(terminal, machine.json, options.report.as_deref(), dir, Some(total))?;
    let mut without_verity = 0;
    let take = |entry: Entry<Verification>| {
        without_verity += u64::from(matches!(entry.outcome, Verification::GoodWithoutVerity(_)));
        one(&mut report, &allowed, entry)
    };
    match manifest {
        Some(manifest) => tree.verify_manifest(manifest, take)?,
        None => tree.verify(&appraiser, options.store.name(), take)?,
    }
    let (failed, files, left_out) = (report.failed(), report.files(), report.left_out());
    let incomplete_by_rule = options.require_all && left_out > 0;
    let valid = failed == 0 && !incomplete_by_rule;
    report.finish(json!({ "valid": valid, "without_fs_verity": without_verity }))?;
    if without_verity > 0 && !machine.json {
        terminal.line(format_args!(
            "{DIM}no-verity: {} good here by a signature for fs-verity, which is not enabled: a kernel refuses that until it is{DIM:#}",
            grouped(without_verity as usize)
        ))?;
    }
    if failed > 0 {
        return Err(incomplete(format!("{failed} of {files} files are not good"), None));
    }
    if incomplete_by_rule {
        return Err(incomplete(format!("left out: {left_out}, and --require-all was given"), None));
    }
    Ok(())
}

/// A manifest that nobody whom we trust made says nothing about the tree.
pub(super) fn untrusted(name: &str, cause: &TreeError) -> Error {
    let hint = cause.remedy().map(str::to_owned);
    let code =
        if matches!(cause, TreeError::ManifestSignature | TreeError::ManifestUnsigned) { 1 } else { 2 };
    Error::Tree { code, what: format!("{name}: {cause}"), hint }
}

fn one(report: &mut Report<'_>, allowed: &Patterns, entry: Entry<Verification>) -> Result<(), Error> {
    match entry.outcome {
        Verification::Good(key_id) => {
            let key_id = key_id.map(|key_id| key_id.to_string());
            report.good(&entry.path, "good", entry.bytes, json!({ "key_id": key_id }))
        }
        Verification::GoodWithoutVerity(key_id) => {
            let more = json!({ "fs_verity": false, "key_id": key_id.to_string() });
            report.good(&entry.path, "good", entry.bytes, more)
        }
        Verification::Bad(TreeError::Unsigned | TreeError::Unlisted) if allowed.matches(&entry.path) => {
            report.good(&entry.path, "allowed-unsigned", 0, json!({}))
        }
        Verification::Bad(why) => report.bad(&entry.path, why.code(), &why, entry.bytes),
        Verification::Left(why) => report.left(&entry.path, why),
        // Kinds that later versions of the crate may have are not good.
        _ => report.bad(&entry.path, "unknown", &TreeError::BadSignature, entry.bytes),
    }
}
