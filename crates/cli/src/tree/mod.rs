//! `sealstone tree`: signatures of whole file trees. What is signed and how is in the crate; here are options, words and exit
//! codes: 0 all is good, 1 some files are not, 2 options or keys are wrong, 3 nothing was begun because it would not work out.

mod doctor;
mod keys;
mod moved;
mod report;
mod sign;
mod summary;
mod verify;

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand, ValueEnum};
use sealstone_tree::{Rules, SECURITY_IMA, Tree, USER_IMA};

use crate::error::{Error, Plain};
use crate::files::shown;
use crate::terminal::Terminal;

#[derive(Subcommand)]
#[command(after_help = "\
Examples:
  sealstone key generate --alg ML-DSA-65 --out ima.pem           a key that signs files
  sealstone cert new --ima --key ima.pem --subject CN=files --out ima.crt
                                                                 by which a kernel finds it
  sealstone tree doctor /usr --key ima.pem --cert ima.crt        whether it would work out
  sealstone tree sign --key ima.pem --cert ima.crt /usr          security.ima, as root
  sealstone tree verify --cert ima.crt /usr                      every file, or exit code 1

Whoever is not root signs into a manifest beside the tree, and `tree apply` writes its signatures where the tree is \
installed. docs/tree-tutorial.md goes from the first key to an update and the next key; docs/tree.md says what fits \
where, and what it costs.")]
pub(crate) enum Command {
    /// Sign every file of a tree
    Sign(sign::Options),
    /// Verify every file of a tree
    Verify(verify::Options),
    /// Look at a key, a kernel and a file system before anything is signed
    Doctor(doctor::Options),
    /// Say what signatures of a tree would cost, on each file system
    Report(report::Options),
    /// Copy the signatures of a tree into a manifest
    Extract(moved::Extract),
    /// Write the signatures of a manifest to the files of a tree
    Apply(moved::Apply),
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::Sign(options) => sign::run(&options, terminal),
        Command::Verify(options) => verify::run(&options, terminal),
        Command::Doctor(options) => doctor::run(&options, terminal),
        Command::Report(options) => report::run(&options, terminal),
        Command::Extract(options) => moved::extract(&options, terminal),
        Command::Apply(options) => moved::apply(&options, terminal),
    }
}

/// Which files of which tree.
#[derive(Args)]
pub(crate) struct Selection {
    /// The tree
    #[arg(value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Leave out what matches, as a line of .gitignore says it; may be given often
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Take only what matches one of these
    #[arg(long, value_name = "PATTERN")]
    include: Vec<String>,
    /// Leave out what the lines of this file say, which are those of .gitignore
    #[arg(long, value_name = "FILE")]
    ignore_file: Option<PathBuf>,
    /// Only files that somebody may execute
    #[arg(long)]
    only_executable: bool,
    /// Only files of so many bytes at least
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide_default_value = true)]
    min_size: u64,
    #[command(flatten)]
    pub(super) machine: Machine,
}

/// How a tree is walked.
#[derive(Args)]
pub(crate) struct Machine {
    /// Walk other file systems that are mounted in the tree too
    #[arg(long)]
    pub(super) cross_mounts: bool,
    /// Threads: as many as there are processors if not given
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: Option<u16>,
    /// Say it in JSON: a line for each file, and a last one that sums up
    #[arg(long)]
    pub(super) json: bool,
}

impl Machine {
    pub(super) fn open(&self, dir: &Path, rules: Rules, cross_mounts: bool) -> Result<Tree, Error> {
        let processors = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let jobs = self.jobs.map_or_else(processors, usize::from);
        Tree::open(dir, rules, cross_mounts, jobs).map_err(|cause| usage(&shown(dir), &cause))
    }
}

impl Selection {
    pub(super) fn rules(&self) -> Result<Rules, Error> {
        let mut exclude = Vec::new();
        if let Some(path) = &self.ignore_file {
            let text = std::fs::read_to_string(path).map_err(|cause| Error::path(path, "read", cause))?;
            exclude.extend(text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned));
            exclude.retain(|line| !line.starts_with('#'));
        }
        exclude.extend(self.exclude.iter().cloned());
        let rules = Rules::new(exclude, self.include.clone());
        let mut rules = rules.map_err(|cause| usage("the rules", &cause))?;
        rules.only_executable = self.only_executable;
        rules.min_size = self.min_size;
        Ok(rules)
    }

    pub(super) fn open(&self) -> Result<Tree, Error> {
        self.machine.open(&self.dir, self.rules()?, self.machine.cross_mounts)
    }
}

/// An attribute that keeps signatures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Attribute {
    /// security.ima, which the kernel reads and root writes
    Xattr,
    /// user.ima, with the same bytes, which the owner of a file writes
    UserXattr,
}

impl Attribute {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Xattr => SECURITY_IMA,
            Self::UserXattr => USER_IMA,
        }
    }
}

/// Wrong options, keys or input: exit code 2.
pub(super) fn usage(name: &str, cause: &sealstone_tree::Error) -> Error {
    let what = format!("{name}: {cause}");
    Error::Tree { code: 2, what, hint: cause.remedy().map(str::to_owned) }
}

/// Nothing was begun: exit code 3.
pub(super) fn refused(what: String, hint: &str) -> Error {
    Error::Tree { code: 3, what, hint: Some(hint.to_owned()) }
}

/// Some files are not as they should be: exit code 1.
pub(super) fn incomplete(what: String, hint: Option<&str>) -> Error {
    Error::Tree { code: 1, what, hint: hint.map(str::to_owned) }
}

/// A path that came from a tree.
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}

/// A file that is written as a whole, or not at all: beside its place until it is complete.
pub(super) struct Output {
    path: PathBuf,
    file: tempfile::NamedTempFile,
    force: bool,
}

impl Output {
    /// Refuses a place inside the tree, which the file would then be part of.
    pub(super) fn create(path: &Path, tree: &Path, force: bool) -> Result<Self, Error> {
        crate::files::Target::Path(path.to_owned()).check(force)?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let failed = |cause: io::Error| Error::path(path, "written", cause);
        let (folder, tree) = (folder.canonicalize().map_err(failed)?, tree.canonicalize().map_err(failed)?);
        if folder.starts_with(&tree) {
            let what = format!("{} would lie in the tree that it describes", shown(path));
            return Err(Error::usage(what, "--manifest FILE names a place outside"));
        }
        let file = tempfile::Builder::new()
            .prefix(".sealstone-")
            .permissions(std::os::unix::fs::PermissionsExt::from_mode(0o644))
            .tempfile_in(&folder)
            .map_err(|cause| Error::path(path, "written", cause.kind().into()))?;
        Ok(Self { path: path.to_owned(), file, force })
    }

    pub(super) fn writer(&self) -> Result<io::BufWriter<std::fs::File>, Error> {
        let file =
            self.file.as_file().try_clone().map_err(|cause| Error::path(&self.path, "written", cause))?;
        Ok(io::BufWriter::new(file))
    }

    pub(super) fn place(self) -> Result<(), Error> {
        let failed = |cause: io::Error| Error::path(&self.path, "written", cause);
        self.file.as_file().sync_all().map_err(failed)?;
        let placed = match self.force {
            true => self.file.persist(&self.path),
            false => self.file.persist_noclobber(&self.path),
        };
        placed.map(drop).map_err(|cause| {
            let what = format!("{} cannot be written: {}", shown(&self.path), Plain(&cause.error));
            Error::Usage { what, hint: None }
        })
    }
}
