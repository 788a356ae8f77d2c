//! What is forecast beside what disks say: to the byte on ext4 and XFS, within a tenth on btrfs (nodes of 64 KiB: a fifth). Each disk is signed again and
//! again, with another key each time, so that signatures also take the place of smaller and of larger ones.

use std::fs;
use std::path::Path;

use sealstone_mldsa::Level;
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};
use sealstone_tree::forecast::Geometry;
use sealstone_tree::{SECURITY_IMA, SignOptions, Signer, Tree};

use crate::file_systems::free;
use crate::world::{Disk, open, sign, signer};

/// Files of a tree, by what they have before they are signed.
#[derive(Clone, Copy, Debug)]
enum Mix {
    /// Nothing.
    Bare,
    /// A label each, as SELinux has them.
    Labelled,
    /// A label each, and a signature by P-384.
    Classical,
    /// Some nothing, some a label, some also an access control list, a capability, and a note that is the same for all.
    Mixed,
}

const SIZES: [usize; 7] = [0, 7, 300, 2047, 5000, 9000, 40_000];

fn fill(at: &Path, files: usize, mix: Mix) {
    for number in 0..files {
        let folder = at.join(format!("folder {}", number / 100));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join(format!("file {number:05}"));
        fs::write(&path, vec![number as u8; SIZES[number % SIZES.len()]]).unwrap();
        let set = |name: &str, value: &[u8]| {
            rustix::fs::setxattr(&path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
        };
        let label = || {
            let labels = ["system_u:object_r:bin_t:s0\0", "system_u:object_r:locale_t:s0\0"];
            set("security.selinux", labels[number / 3 % 2].as_bytes());
        };
        match mix {
            Mix::Bare => {}
            Mix::Labelled => label(),
            Mix::Classical => {
                label();
                let mut value = vec![3, 2, 5, 0, 0, 0, 1, 0, 104];
                value.extend((0..26).flat_map(|word| (number as u32 + word).to_le_bytes()));
                set(SECURITY_IMA, &value);
            }
            Mix::Mixed => {
                if number % 3 > 0 {
                    label();
                }
                if number % 5 == 0 {
                    set("system.posix_acl_access", &acl(number as u32 % 2));
                }
                if number % 7 == 0 {
                    set("user.note", &[b'n'; 150]);
                }
                if number % 11 == 0 {
                    set("security.capability", &[1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
                }
                if number % 13 == 0 {
                    set("user.comment", format!("of number {number}").repeat(20).as_bytes());
                }
            }
        }
    }
}

/// The owner, a user, the group, the mask, the rest (linux/posix_acl_xattr.h).
fn acl(user: u32) -> Vec<u8> {
    let mut list = 2_u32.to_le_bytes().to_vec();
    for (tag, id) in [(1_u16, u32::MAX), (2, 1000 + user), (4, u32::MAX), (16, u32::MAX), (32, u32::MAX)] {
        list.extend(tag.to_le_bytes());
        list.extend(6_u16.to_le_bytes());
        list.extend(id.to_le_bytes());
    }
    list
}

fn p384() -> Signer {
    let info = PrivateKeyInfo::new(KeyAlgorithm::EcP384, &[7; 48], None).unwrap();
    Signer::new(&info, None, 0).unwrap()
}

/// Bytes by the forecast and in truth, and files without room by the forecast and in truth.
type Round = ([i64; 2], [u64; 2]);

/// Signs with each key in turn: what [`round`] says.
fn rounds(disk: &Disk, expected: &Geometry, files: usize, mix: Mix) -> Vec<(&'static str, Round)> {
    let place = disk.path().join("tree");
    fs::create_dir(&place).unwrap();
    fill(&place, files, mix);
    let tree = open(&place);
    let ground = tree.ground(&place).unwrap().unwrap();
    assert_eq!((&ground.geometry, &ground.assumed[..]), (expected, &[][..]));
    let census = tree.census();
    assert_eq!((census.files(), census.unreadable), (files as u64, 0));
    assert_eq!(census.directories, files.div_ceil(100) as u64);
    let keys = [
        ("P-384", p384()),
        ("44", signer(Level::MlDsa44, 1)),
        ("65", signer(Level::MlDsa65, 1)),
        ("87", signer(Level::MlDsa87, 1)),
        ("P-384", p384()),
        ("65", signer(Level::MlDsa65, 2)),
    ];
    keys.into_iter().map(|(name, key)| (name, round(disk, &tree, expected, &key))).collect()
}

/// Signs every file: the bytes that were forecast and that the disk gave, and files that found no room by the forecast and in
/// truth.
fn round(disk: &Disk, tree: &Tree, geometry: &Geometry, key: &Signer) -> Round {
    let before = free(disk.path());
    let census = tree.census();
    let forecast = geometry.forecast(&census, SECURITY_IMA, key.attribute_len());
    let options = SignOptions { attribute: Some(SECURITY_IMA), replace: true, ..SignOptions::default() };
    let found = sign(tree, key, options);
    let unfit = found.values().filter(|word| *word == "too-large").count();
    // What did not fit in between left a signature by the same key.
    let fit = found.values().filter(|word| ["signed", "kept"].contains(&&word[..])).count();
    assert_eq!((unfit + fit) as u64, census.files());
    let measured = before as i64 - free(disk.path()) as i64;
    ([forecast.added, measured], [forecast.unfit(), unfit as u64])
}

const MIXES: [Mix; 4] = [Mix::Bare, Mix::Labelled, Mix::Classical, Mix::Mixed];

/// Every round, to the byte.
fn exact(megabytes: u64, tool: &str, options: &[&str], geometry: &Geometry) {
    for mix in MIXES {
        let Some(disk) = Disk::new(megabytes, tool, options, "") else { return };
        for (key, ([forecast, measured], [unfit, refused])) in rounds(&disk, geometry, 1400, mix) {
            eprintln!(
                "{geometry}, {mix:?}, {key}: {forecast} forecast, {measured} measured, {unfit} do not fit"
            );
            assert_eq!((forecast, unfit), (measured, refused), "{geometry}, {mix:?}, {key}");
        }
    }
}

#[test]
fn ext4_is_forecast_to_the_byte() {
    for (options, block, inode, ea_inode) in [
        (&["-q", "-F", "-b", "4096"][..], 4096, 256, false),
        (&["-q", "-F", "-b", "4096", "-I", "128"], 4096, 128, false),
        (&["-q", "-F", "-b", "4096", "-I", "512"], 4096, 512, false),
        (&["-q", "-F", "-b", "4096", "-I", "1024"], 4096, 1024, false),
        (&["-q", "-F", "-b", "4096", "-I", "4096", "-N", "4000"], 4096, 4096, false),
        (&["-q", "-F", "-b", "4096", "-N", "20000", "-O", "ea_inode"], 4096, 256, true),
        (&["-q", "-F", "-b", "1024"], 1024, 256, false),
    ] {
        exact(160, "mkfs.ext4", options, &Geometry::Ext4 { block, inode, ea_inode });
    }
}

#[test]
fn xfs_is_forecast_to_the_byte() {
    for (options, inode) in [
        (&["-q", "-f"][..], 512),
        (&["-q", "-f", "-i", "size=1024"], 1024),
        (&["-q", "-f", "-i", "size=2048"], 2048),
    ] {
        exact(400, "mkfs.xfs", options, &Geometry::Xfs { block: 4096, inode });
    }
}

/// Splits are played through for files in a row. What is there before decides with: nothing, and signatures of P-384 that came
/// with the files, as packages bring them.
#[test]
fn btrfs_is_forecast_within_a_tenth() {
    for (options, node, copies) in [
        (&["-q", "-f"][..], 16_384, 2),
        (&["-q", "-f", "-m", "single", "-n", "4096"], 4096, 1),
        (&["-q", "-f", "-m", "single", "-n", "65536"], 65_536, 1),
    ] {
        let geometry = Geometry::Btrfs { node, copies };
        for (mix, level) in [
            (Mix::Bare, None),
            (Mix::Bare, Some(Level::MlDsa44)),
            (Mix::Labelled, Some(Level::MlDsa65)),
            (Mix::Classical, Some(Level::MlDsa65)),
            (Mix::Mixed, Some(Level::MlDsa65)),
            (Mix::Mixed, Some(Level::MlDsa87)),
        ] {
            if node == 4096 && level == Some(Level::MlDsa87) {
                continue;
            }
            let Some(disk) = Disk::new(512, "mkfs.btrfs", options, "") else { return };
            let place = disk.path().join("tree");
            fs::create_dir(&place).unwrap();
            fill(&place, 4000, mix);
            let tree = open(&place);
            let ground = tree.ground(&place).unwrap().unwrap();
            assert_eq!((&ground.geometry, &ground.assumed[..]), (&geometry, &[][..]));
            let key = level.map_or_else(p384, |level| signer(level, 1));
            let [forecast, measured] = round(&disk, &tree, &geometry, &key).0;
            let off = (forecast - measured) as f64 / measured as f64 * 100.0;
            eprintln!("{geometry}, {mix:?}, {key:?}: {forecast} forecast, {measured} measured: {off:.1} %");
            // Leaves have room for some small values, by their history: of these the amount is bounded, not the share.
            let near = (forecast - measured).unsigned_abs() < 400 * 4000 * copies;
            // Nodes of 64 KiB are few, and nobody's default.
            let share = if node > 16_384 { 20.0 } else { 10.0 };
            assert!(
                if level.is_some() { off.abs() < share } else { near },
                "{geometry}, {mix:?}: {off:.1} %"
            );
        }
    }
}
