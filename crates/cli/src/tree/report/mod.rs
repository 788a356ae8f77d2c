//! `sealstone tree report`: what signatures of a tree would cost on each file system, before anything is written. The model is
//! `sealstone_tree::forecast`; here are its words, its table and, in `chart`, its picture. `measure` puts it to the test.

mod chart;
mod measure;
mod table;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use sealstone_mldsa::Level;
use sealstone_pki::KeyAlgorithm;
use sealstone_tree::forecast::{Attribute as Present, Forecast, Geometry};
use sealstone_tree::{Census, Record, Room, Rules, Tree};

use super::{Attribute, usage};
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::terminal::Terminal;

/// A file system, as mkfs makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Kind {
    /// What is usual of these
    All,
    /// ext4, blocks of 4 KiB and inodes of 256 bytes
    Ext4,
    /// ext4 with blocks of 1 KiB, as mkfs makes it below 512 MiB
    Ext4_1k,
    /// ext4 with inodes of 128 bytes, as old ones have
    #[value(name = "ext4-128")]
    Ext4Inode128,
    /// ext4 with inodes of 512 bytes
    #[value(name = "ext4-512")]
    Ext4Inode512,
    /// ext4 with inodes of 1024 bytes
    #[value(name = "ext4-1024")]
    Ext4Inode1024,
    /// ext4 with -O ea_inode
    Ext4EaInode,
    /// XFS
    Xfs,
    /// XFS with inodes of 1024 bytes
    #[value(name = "xfs-1024")]
    Xfs1024,
    /// XFS with inodes of 2048 bytes
    #[value(name = "xfs-2048")]
    Xfs2048,
    /// btrfs, nodes of 16 KiB, written twice
    Btrfs,
    /// btrfs with -m single
    BtrfsSingle,
    /// btrfs with nodes of 4 KiB
    #[value(name = "btrfs-4k")]
    Btrfs4k,
    /// btrfs with nodes of 64 KiB
    #[value(name = "btrfs-64k")]
    Btrfs64k,
    /// f2fs
    F2fs,
    /// tmpfs, which takes memory of the kernel
    Tmpfs,
    /// overlayfs with all files in the lower layer, the upper one on ext4
    Overlay,
}

impl Kind {
    fn geometries(self) -> Vec<Geometry> {
        let ext4 = |block, inode, ea_inode| vec![Geometry::Ext4 { block, inode, ea_inode }];
        let btrfs = |node, copies| vec![Geometry::Btrfs { node, copies }];
        let xfs = |inode| vec![Geometry::Xfs { block: 4096, inode }];
        match self {
            Self::All => Geometry::all(),
            Self::Ext4 => ext4(4096, 256, false),
            Self::Ext4_1k => ext4(1024, 256, false),
            Self::Ext4Inode128 => ext4(4096, 128, false),
            Self::Ext4Inode512 => ext4(4096, 512, false),
            Self::Ext4Inode1024 => ext4(4096, 1024, false),
            Self::Ext4EaInode => ext4(4096, 256, true),
            Self::Xfs => xfs(512),
            Self::Xfs1024 => xfs(1024),
            Self::Xfs2048 => xfs(2048),
            Self::Btrfs => btrfs(16_384, 2),
            Self::BtrfsSingle => btrfs(16_384, 1),
            Self::Btrfs4k => btrfs(4096, 2),
            Self::Btrfs64k => btrfs(65_536, 2),
            Self::F2fs => vec![Geometry::F2fs],
            Self::Tmpfs => vec![Geometry::Tmpfs],
            Self::Overlay => {
                let upper = Geometry::Ext4 { block: 4096, inode: 256, ea_inode: false };
                vec![Geometry::Overlay { upper: Box::new(upper) }]
            }
        }
    }
}

/// What would sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Algorithm {
    /// ECDSA on P-384, with which most signed trees are signed today
    #[value(name = "p-384")]
    P384,
    /// ML-DSA-44
    #[value(name = "ml-dsa-44", alias = "44")]
    MlDsa44,
    /// ML-DSA-65
    #[value(name = "ml-dsa-65", alias = "65")]
    MlDsa65,
    /// ML-DSA-87
    #[value(name = "ml-dsa-87", alias = "87")]
    MlDsa87,
}

impl Algorithm {
    const ALL: [Self; 4] = [Self::P384, Self::MlDsa44, Self::MlDsa65, Self::MlDsa87];

    fn level(self) -> Option<Level> {
        match self {
            Self::P384 => None,
            Self::MlDsa44 => Some(Level::MlDsa44),
            Self::MlDsa65 => Some(Level::MlDsa65),
            Self::MlDsa87 => Some(Level::MlDsa87),
        }
    }

    fn key(self) -> KeyAlgorithm {
        self.level().map_or(KeyAlgorithm::EcP384, KeyAlgorithm::MlDsa)
    }

    pub(super) fn name(self) -> &'static str {
        self.level().map_or("P-384", Level::name)
    }

    /// Bytes of the attribute. ECDSA's DER is at most this long.
    fn bytes(self) -> usize {
        Record::len_for(self.level().map_or(104, Level::signature_len))
    }
}

/// Options of `tree report`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone tree report /usr                            where it lies, and on all other file systems
  sealstone tree report --fs xfs --chart cost.svg /usr  one of them, and a picture
  sealstone tree report --files 27346 --mean-size 60000 --attribute security.selinux=30
                                                        a tree that is not here
  sealstone tree report --measure --fs xfs,btrfs /usr   as root: tries it on disks in files

Costs are what statfs would show. A value that is there under the same name is replaced. On ext4 and XFS they are \
exact, on btrfs within a tenth for ML-DSA; docs/tree.md explains each.

Exit code: 0 it is said, 2 wrong options or the tree cannot be read, 130 interrupted.")]
pub(crate) struct Options {
    /// The tree
    #[arg(value_name = "DIR", required_unless_present = "files", conflicts_with = "files")]
    dir: Option<PathBuf>,
    /// File systems to compare, separated by commas
    #[arg(
        long,
        value_name = "KIND",
        value_delimiter = ',',
        default_value = "all",
        hide_default_value = true
    )]
    fs: Vec<Kind>,
    /// What would sign, separated by commas: all if not given
    #[arg(long, value_name = "ALGORITHM", value_delimiter = ',')]
    algorithm: Vec<Algorithm>,
    /// Where signatures would go
    #[arg(long, value_name = "STORE", default_value = "xattr")]
    store: Attribute,
    /// Leave out what matches, as a line of .gitignore says it; may be given often
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Walk other file systems that are mounted in the tree too
    #[arg(long)]
    cross_mounts: bool,
    /// A tree of so many files, without one
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    files: Option<u64>,
    /// Their mean size
    #[arg(long, value_name = "BYTES", default_value_t = 50_000, requires = "files", value_parser = clap::value_parser!(u64).range(0..=1 << 40))]
    mean_size: u64,
    /// An attribute that each of them has already, with the bytes of its value; may be given often
    #[arg(long, value_name = "NAME=BYTES", requires = "files", value_parser = attribute)]
    attribute: Vec<Present>,
    /// Sign samples on disks in files, and show what they gave; needs root
    #[arg(long)]
    measure: bool,
    /// Files of a sample
    #[arg(long, value_name = "N", default_value_t = 1000, requires = "measure", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    sample: u32,
    /// Draw it, as SVG
    #[arg(long, value_name = "FILE")]
    chart: Option<OsString>,
    /// Replace a chart that is there
    #[arg(long, requires = "chart")]
    force: bool,
    /// Say it in JSON
    #[arg(long)]
    json: bool,
    /// Where the disks are, once nobody else sees what is mounted
    #[arg(long, value_name = "DIR", hide = true)]
    inside: Option<PathBuf>,
}

/// `security.selinux=30`. A signature is nobody else's; anything else is taken to be the same for all.
fn attribute(text: &str) -> Result<Present, String> {
    let expected =
        || "expected a name with its prefix and the bytes of its value, as in security.selinux=30".to_owned();
    let (name, len) = text.split_once('=').ok_or_else(expected)?;
    let len: usize = len.parse().ok().filter(|len| *len <= 65_536).ok_or_else(expected)?;
    if !name.contains('.') || name.len() > 255 {
        return Err(expected());
    }
    let is_signature =
        [sealstone_tree::SECURITY_IMA, sealstone_tree::USER_IMA, "security.evm"].contains(&name);
    Ok(if is_signature { Present::unique(name, len) } else { Present::shared(name, len) })
}

/// A file system, and what it would take.
pub(super) struct Row {
    pub(super) geometry: Geometry,
    /// Whether the tree lies on it.
    pub(super) here: bool,
    pub(super) assumed: Vec<&'static str>,
    /// One for each algorithm.
    pub(super) costs: Vec<Forecast>,
}

/// What is known, and what was computed of it.
pub(super) struct Findings {
    pub(super) title: String,
    pub(super) census: Census,
    pub(super) room: Option<Room>,
    pub(super) algorithms: Vec<Algorithm>,
    pub(super) name: &'static str,
    pub(super) rows: Vec<Row>,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    if options.measure && options.inside.is_none() {
        return measure::apart();
    }
    let chart = options.chart.clone().map(Target::from);
    if let Some(target) = &chart {
        if options.json && *target == Target::Stdout {
            return Err(Error::usage(
                "--json and the chart cannot share standard output",
                "--chart FILE names a file",
            ));
        }
        target.check(options.force)?;
    }
    let findings = find(options)?;
    if let Some(target) = &chart {
        target.write(chart::draw(&findings).as_bytes(), Readers::All, options.force, terminal)?;
        if *target == Target::Stdout {
            return Ok(());
        }
    }
    if !options.json {
        table::show(&findings, terminal)?;
    }
    let measured = match &options.inside {
        None => Vec::new(),
        Some(folder) => measure::all(&findings, options.sample as usize, folder, options.json, terminal)?,
    };
    if options.json {
        terminal.json(&table::json(&findings, measured))?;
    }
    Ok(())
}

fn find(options: &Options) -> Result<Findings, Error> {
    let name = options.store.name();
    let algorithms = match &options.algorithm[..] {
        [] => Algorithm::ALL.to_vec(),
        given => given.to_vec(),
    };
    let mut grounds: Vec<(Geometry, bool, Vec<&'static str>)> = Vec::new();
    let mut room = None;
    let (title, census) = match (&options.dir, options.files) {
        (Some(dir), _) => {
            let title = shown(dir);
            let failed = |cause: sealstone_tree::Error| usage(&title, &cause);
            let rules = Rules::new(options.exclude.clone(), Vec::new())
                .map_err(|cause| usage("the rules", &cause))?;
            let jobs = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            let tree = Tree::open(dir, rules, options.cross_mounts, jobs).map_err(failed)?;
            room = Some(tree.room().map_err(failed)?);
            if let Some(ground) = tree.ground(dir).map_err(failed)? {
                grounds.push((ground.geometry, true, ground.assumed));
            }
            (title, tree.census())
        }
        (None, files) => {
            let files = files.unwrap_or_default();
            ("a tree".into(), Census::of_files(files, options.mean_size, &options.attribute))
        }
    };
    for geometry in options.fs.iter().flat_map(|kind| kind.geometries()) {
        if !grounds.iter().any(|(known, _, _)| *known == geometry) {
            grounds.push((geometry, false, Vec::new()));
        }
    }
    let row = |(geometry, here, assumed): (Geometry, bool, Vec<&'static str>)| {
        let costs = algorithms.iter().map(|of| geometry.forecast(&census, name, of.bytes())).collect();
        Row { geometry, here, assumed, costs }
    };
    let rows = grounds.into_iter().map(row).collect();
    Ok(Findings { title, census, room, algorithms, name, rows })
}
