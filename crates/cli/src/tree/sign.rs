//! `sealstone tree sign`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use sealstone_tree::manifest::{Header, Writer};
use sealstone_tree::{
    Entry, Error as TreeError, Kernel, SECURITY_IMA, SignOptions, Signer, Signing, Subject, Tree, USER_IMA,
};
use serde_json::json;

use super::keys::{self, Hash};
use super::summary::Report;
use super::{Output, Selection, incomplete, refused, usage};
use crate::clock;
use crate::error::Error;
use crate::files::shown;
use crate::terminal::{DIM, Terminal, grouped};

/// Where signatures go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Store {
    /// security.ima where this user may write it and it fits, otherwise a manifest; says which
    Auto,
    /// security.ima, which the kernel reads and root writes
    Xattr,
    /// user.ima, with the same bytes, which the owner of a file writes
    UserXattr,
    /// A signed list of all files and their digests, beside the tree
    Manifest,
}

/// What of a file is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Digest {
    /// The digest of its bytes
    File,
    /// The digest of fs-verity, where that is enabled; other files fail
    Verity,
    /// The digest that fs-verity will have, with blocks of 4 KiB and no salt
    FutureVerity,
}

impl Digest {
    fn subject(self) -> Subject {
        match self {
            Self::File => Subject::Bytes,
            Self::FutureVerity => Subject::FutureVerity,
            Self::Verity => Subject::Verity,
        }
    }
}

/// Options of `tree sign`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree sign --key ima.pem --cert ima.crt image/usr       writes security.ima, as root
  sealstone tree sign --key ima.pem --cert ima.crt --dry-run /usr  says what it would do and cost
  sealstone tree sign --key ima.pem --cert ima.crt --store manifest usr
                                                                   writes usr.manifest, as anybody
  sealstone tree sign --key ima.pem --cert ima.crt --only-executable --exclude '*.pyc' image

A file that this key signed already is kept, so that a run that was interrupted is finished by the same \
command; a signature by it that is not good any more is renewed. Another key's signature, and what nobody can \
read, is only overwritten with --replace. Links are not followed, and a file \
of several names is signed once. ML-DSA signatures are of version 3 (Linux 7.2).

Exit code: 0 every file that is meant is signed, 1 some are not, 2 wrong options or keys, 3 nothing was \
written because it would not work out.")]
pub(crate) struct Options {
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    signing: keys::Signing,
    /// Where signatures go
    #[arg(long, value_name = "STORE", default_value = "auto")]
    store: Store,
    /// The manifest to write: DIR.manifest if not given
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Put each file's signature into the manifest too, for `tree apply`
    #[arg(long)]
    keep_signatures: bool,
    /// Overwrite signatures of other keys, and what nobody can read
    #[arg(long)]
    replace: bool,
    /// Replace a manifest that is there
    #[arg(long)]
    force: bool,
    /// Write nothing, and say what would be written
    #[arg(long)]
    dry_run: bool,
    /// The hash function of files: sha256 if not given; P-384 keys take sha384
    #[arg(long, value_name = "HASH")]
    hash: Option<Hash>,
    /// What of each file is signed
    #[arg(long, value_name = "WHAT", default_value = "file")]
    digest: Digest,
    /// The version of signatures by P-256 and P-384: 2 for kernels before 7.1
    #[arg(long, value_name = "VERSION", value_parser = clap::value_parser!(u8).range(2..=3))]
    ima_version: Option<u8>,
    /// Write each file's outcome to FILE, as lines of JSON
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Sign although a policy is active and this kernel cannot check ML-DSA
    #[arg(long)]
    i_have_tested: bool,
}

/// What was decided before anything is written.
struct Plan {
    attribute: Option<&'static str>,
    manifest: Option<PathBuf>,
    /// Files to come.
    files: u64,
    /// Bytes of disk, at most.
    cost: u64,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let mut signer = options.signing.load(terminal)?;
    keys::set(&mut signer, options.hash, options.ima_version)?;
    signer.set_subject(options.digest.subject()).map_err(|cause| usage("the key", &cause))?;
    let tree = options.selection.open()?;
    let plan = plan(options, &signer, &tree, terminal)?;
    let dir = &options.selection.dir;

    let output = match &plan.manifest {
        Some(path) if !options.dry_run => Some(Output::create(path, dir, options.force)?),
        _ => None,
    };
    let header = Header {
        created: i64::try_from(clock::now().0).unwrap_or(i64::MAX),
        label: label(dir),
        hash: signer.hash(),
        key: None,
        rules: options.selection.rules()?,
        cross_mounts: options.selection.machine.cross_mounts,
    };
    let mut writer = match &output {
        Some(output) => Some(
            Writer::new(output.writer()?, header, Some(&signer))
                .map_err(|cause| usage("the manifest", &cause))?,
        ),
        None => None,
    };
    let json = options.selection.machine.json;
    let mut report = Report::new(terminal, json, options.report.as_deref(), dir, Some(plan.files))?;
    let how = SignOptions {
        attribute: plan.attribute,
        lines: writer.is_some(),
        keep_signatures: options.keep_signatures && plan.manifest.is_some(),
        replace: options.replace,
        dry_run: options.dry_run,
    };
    tree.sign(&signer, how, |entry| one(&mut report, writer.as_mut(), entry))?;

    let failed = report.failed();
    let done =
        report.count("signed") + report.count("kept") + report.count("listed") + report.count("would-sign");
    // A list with holes would pass for a whole one.
    let placed = match (writer, output) {
        (Some(writer), Some(output)) if failed == 0 => {
            drop(writer.finish().map_err(|cause| usage("the manifest", &cause))?);
            output.place()?;
            true
        }
        _ => false,
    };
    report.finish(json!({
        "attribute": plan.attribute,
        "cost_bytes_at_most": plan.cost,
        "dry_run": options.dry_run,
        "key_id": signer.public().key_id.to_string(),
        "manifest": plan.manifest.as_ref().filter(|_| placed).map(|path| shown(path)),
    }))?;
    if !json {
        if let (true, Some(path)) = (placed, &plan.manifest) {
            terminal.line(format_args!("{}", shown(path)))?;
        }
        if options.dry_run {
            let bytes = grouped(plan.cost as usize);
            terminal.line(format_args!(
                "{DIM}nothing was written; the disk would give at most {bytes} bytes{DIM:#}"
            ))?;
        }
    }
    if failed > 0 {
        let what = format!("{failed} of {} files are not signed", failed + done);
        return Err(incomplete(what, plan.manifest.as_ref().map(|_| "no manifest was written")));
    }
    Ok(())
}

fn one(
    report: &mut Report<'_>,
    writer: Option<&mut Writer<'_, std::io::BufWriter<std::fs::File>>>,
    entry: Entry<Signing>,
) -> Result<(), Error> {
    if let (Some(writer), Some(line)) = (writer, &entry.line) {
        writer.line(line).map_err(|cause| usage("the manifest", &cause))?;
    }
    let status = match entry.outcome {
        Signing::Failed(why) => return report.bad(&entry.path, "failed", &why, entry.bytes),
        Signing::Left(why) => return report.left(&entry.path, why),
        Signing::Kept => "kept",
        Signing::Listed => "listed",
        Signing::Signed => "signed",
        Signing::WouldSign => "would-sign",
        // Kinds that later versions of the crate may have.
        _ => "unknown",
    };
    report.good(&entry.path, status, entry.bytes, json!({ "bytes": entry.bytes }))
}

/// Looks before anything is written: whether it may be written, whether it fits, whether the kernel will like it.
fn plan(options: &Options, signer: &Signer, tree: &Tree, terminal: &mut Terminal) -> Result<Plan, Error> {
    let bytes = signer.attribute_len();
    let key_id = signer.public().key_id;
    let (attribute, to_manifest) = match options.store {
        Store::Xattr => (Some(SECURITY_IMA), options.manifest.is_some()),
        Store::UserXattr => (Some(USER_IMA), options.manifest.is_some()),
        Store::Manifest => (None, true),
        Store::Auto => match tree.probe(SECURITY_IMA, bytes, key_id) {
            // Whether there is room for all is asked below.
            Ok(true) | Err(TreeError::DiskFull) => {
                said(terminal, options, "store: security.ima, which may be written here")?;
                (Some(SECURITY_IMA), options.manifest.is_some())
            }
            other => {
                let why = match other {
                    Err(why) => why.to_string(),
                    Ok(_) => "it cannot be tried here".into(),
                };
                said(
                    terminal,
                    options,
                    &format!("store: a manifest, for security.ima cannot be written: {why}"),
                )?;
                (None, true)
            }
        },
    };
    if to_manifest && options.digest != Digest::File {
        return Err(Error::usage(
            "a manifest lists digests of bytes, not those of fs-verity",
            "--store xattr or user-xattr, and `sealstone tree extract` to take the signatures into a manifest",
        ));
    }
    if options.keep_signatures && !to_manifest {
        return Err(Error::usage(
            "--keep-signatures without a manifest to keep them in",
            "add --manifest FILE",
        ));
    }
    let manifest = match (&options.manifest, to_manifest) {
        (Some(path), _) => Some(path.clone()),
        (None, true) => Some(beside(&options.selection.dir)?),
        (None, false) => None,
    };
    if manifest.is_some() {
        signer.public().ml_dsa().map_err(|cause| usage("the key", &cause))?;
    }
    let how = SignOptions { attribute, dry_run: options.dry_run, ..SignOptions::default() };
    let kernel = (!options.i_have_tested).then(|| Kernel::read(Path::new("/")));
    let dir = &options.selection.dir;
    let found = tree.preflight(dir, signer, &how, kernel.as_ref()).map_err(|why| stopped(dir, &why))?;
    if found.copied > 0 {
        terminal.warn(
            format_args!(
                "overlayfs copies each file of a lower layer when it is signed: up to {} bytes",
                found.copied
            ),
            "sign the layers themselves where that is too much",
        );
    }
    Ok(Plan { attribute, manifest, files: found.files, cost: found.cost })
}

/// It would not work out, and why.
pub(super) fn stopped(dir: &Path, why: &TreeError) -> Error {
    refused(format!("{}: {why}", shown(dir)), why.remedy().unwrap_or("`sealstone tree doctor` shows more"))
}

fn said(terminal: &mut Terminal, options: &Options, what: &str) -> Result<(), Error> {
    if options.selection.machine.json {
        return terminal.line(crate::terminal::Safe(&json!({ "note": what }).to_string()));
    }
    terminal.line(crate::terminal::Safe(what))
}

/// `usr.manifest` beside `usr`.
pub(super) fn beside(dir: &Path) -> Result<PathBuf, Error> {
    match dir.file_name() {
        Some(name) => {
            let mut name = OsString::from(name);
            name.push(".manifest");
            Ok(dir.with_file_name(name))
        }
        None => Err(Error::usage(
            format!("{} has no name to call a manifest by", shown(dir)),
            "--manifest FILE names it",
        )),
    }
}

/// The last part of the directory's name.
pub(super) fn label(dir: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt as _;
    dir.file_name().map_or_else(|| b"/".to_vec(), |name| name.as_bytes().to_vec())
}
