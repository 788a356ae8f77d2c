//! `sealstone tree extract` and `apply`: signatures leave a tree and come back, where archives and builds lose attributes.

use std::ffi::OsString;
use std::fs::File;
use std::path::PathBuf;

use clap::Args;
use sealstone_tree::manifest::{Header, Writer};
use sealstone_tree::{Applying, Entry, Error as TreeError, HashAlgorithm, Manifest, Rules, Verification};
use serde_json::json;

use super::summary::Report;
use super::{Attribute, Machine, Output, Selection, incomplete, keys, sign, usage};
use crate::clock;
use crate::error::Error;
use crate::files::shown;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Options of `tree extract`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree extract --store user-xattr usr               writes usr.manifest with signatures
  sealstone tree extract /usr --manifest usr.manifest --key ima.pem --cert ima.crt
                                                              signs the list too

Tar drops security.ima on extraction unless --xattrs-include='security.*' is given, and cp keeps it with -a \
alone: a manifest passes through everything. Without --key the list itself is not signed; each signature in \
it is checked by `tree apply`.

Exit code: 0 every file's signature is in the manifest, 1 some files have none and nothing is written, 2 \
anything else.")]
pub(crate) struct Extract {
    #[command(flatten)]
    selection: Selection,
    /// The manifest to write: DIR.manifest if not given
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// Where signatures are
    #[arg(long, value_name = "STORE", default_value = "xattr")]
    store: Attribute,
    /// Sign the list with this key
    #[arg(long, value_name = "KEY")]
    key: Option<OsString>,
    #[command(flatten)]
    password: PasswordFile,
    /// The key's certificate
    #[arg(long, value_name = "CERT", requires = "key")]
    cert: Option<OsString>,
    /// Leave out files that have no signature, instead of failing
    #[arg(long)]
    skip_unsigned: bool,
    /// Replace a manifest that is there
    #[arg(long)]
    force: bool,
}

pub(crate) fn extract(options: &Extract, terminal: &mut Terminal) -> Result<(), Error> {
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
    let dir = &options.selection.dir;
    let tree = options.selection.open()?;
    let place = match &options.manifest {
        Some(path) => path.clone(),
        None => sign::beside(dir)?,
    };
    let output = Output::create(&place, dir, options.force)?;
    let header = Header {
        created: i64::try_from(clock::now().0).unwrap_or(i64::MAX),
        label: sign::label(dir),
        hash: HashAlgorithm::Sha256,
        key: None,
        rules: options.selection.rules()?,
        cross_mounts: options.selection.machine.cross_mounts,
    };
    let failed = |cause: TreeError| usage(&shown(&place), &cause);
    let mut writer = Writer::new(output.writer()?, header, signer.as_ref()).map_err(failed)?;
    let total = tree.count(None).files;
    let mut report = Report::new(terminal, options.selection.machine.json, None, dir, Some(total))?;
    tree.extract(options.store.name(), HashAlgorithm::Sha256, |entry| {
        if let Some(line) = &entry.line {
            writer.line(line).map_err(failed)?;
        }
        match entry.outcome {
            Verification::Bad(TreeError::Unsigned) if options.skip_unsigned => {
                report.good(&entry.path, "unsigned", 0, json!({}))
            }
            Verification::Good(key_id) => {
                let key_id = key_id.map(|key_id| key_id.to_string());
                report.good(&entry.path, "extracted", entry.bytes, json!({ "key_id": key_id }))
            }
            Verification::Left(why) => report.left(&entry.path, why),
            Verification::Bad(why) => report.bad(&entry.path, "failed", &why, 0),
            // Kinds that later versions of the crate may have are not good.
            _ => report.bad(&entry.path, "failed", &TreeError::BadSignature, 0),
        }
    })?;
    let (bad, files) = (report.failed(), report.files());
    if bad == 0 {
        drop(writer.finish().map_err(failed)?);
        output.place()?;
    }
    report.finish(json!({ "manifest": if bad == 0 { Some(shown(&place)) } else { None } }))?;
    if bad > 0 {
        return Err(incomplete(
            format!("{bad} of {files} files have no signature to take, and no manifest was written"),
            Some("--skip-unsigned leaves them out"),
        ));
    }
    Ok(())
}

/// Options of `tree apply`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree apply usr.manifest /usr --cert ima.crt               writes security.ima, as root
  sealstone tree apply usr.manifest usr --cert ima.crt --store user-xattr

Each signature is checked against the file and the certificates before it is written. Nothing outside DIR \
is touched, whatever the manifest says. As by `tree sign`, a good signature by the same key is kept, one that \
is not good any more and a bare digest of IMA are overwritten; another key's signature, and what nobody can \
read, only with --replace.

Exit code: 0 every file of the manifest has a good signature by its key, 1 some have not, 2 anything else.")]
pub(crate) struct Apply {
    /// The manifest
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    /// The tree
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// A certificate that is trusted, in PEM or DER; may be given often
    #[arg(long, value_name = "CERT", required_unless_present = "key")]
    cert: Vec<OsString>,
    /// A public key that is trusted, in PEM, named by the SHA-1 of its bits; may be given often
    #[arg(long, value_name = "KEY")]
    key: Vec<OsString>,
    /// Where signatures go
    #[arg(long, value_name = "STORE", default_value = "xattr")]
    store: Attribute,
    /// Overwrite signatures of other keys, and what nobody can read
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    machine: Machine,
}

pub(crate) fn apply(options: &Apply, terminal: &mut Terminal) -> Result<(), Error> {
    let (appraiser, _) = keys::trusted(&options.cert, &options.key, terminal)?;
    let name = shown(&options.manifest);
    let file =
        File::open(&options.manifest).map_err(|cause| Error::path(&options.manifest, "read", cause))?;
    let manifest = Manifest::unverified(file).map_err(|cause| usage(&name, &cause))?;
    let tree = options.machine.open(&options.dir, Rules::default(), options.machine.cross_mounts)?;
    let mut report = Report::new(terminal, options.machine.json, None, &options.dir, None)?;
    let attribute = options.store.name();
    tree.apply(
        manifest,
        &appraiser,
        attribute,
        options.replace,
        |Entry { path, bytes, outcome, .. }| match outcome {
            Applying::Applied(key_id) => {
                report.good(&path, "applied", bytes, json!({ "key_id": key_id.to_string() }))
            }
            Applying::Kept(key_id) => {
                report.good(&path, "kept", bytes, json!({ "key_id": key_id.to_string() }))
            }
            Applying::Failed(why) => report.bad(&path, "failed", &why, 0),
            // Kinds that later versions of the crate may have are not good.
            _ => report.bad(&path, "failed", &TreeError::Unsigned, 0),
        },
    )?;
    let (bad, files) = (report.failed(), report.files());
    report.finish(json!({ "attribute": attribute }))?;
    if bad > 0 {
        return Err(incomplete(format!("{bad} of {files} signatures were not written"), None));
    }
    Ok(())
}
