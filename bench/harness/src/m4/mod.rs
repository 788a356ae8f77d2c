//! The engine on an emulated Cortex-M4: instructions, stack and flash, beside published crates that are counted in the same
//! way, and beside figures that others published.
//!
//! Counts are exact: the same program gives the same count on every machine. So a budget holds each row, and what was
//! computed is compared with what the engine computes here.

mod budget;
mod docs;
mod elf;
mod expected;
mod lines;
mod published;
mod table;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub(crate) use docs::write as write_docs;
pub(crate) use table::{Row, text};

use budget::Budget;
use expected::Expected;
use lines::Lines;

pub(crate) const LEVELS: [&str; 3] = ["44", "65", "87"];

/// The programs of `firmware/rivals`.
const RIVALS: [&str; 3] = ["libcrux", "ml-dsa", "fips204"];

/// Where `./dev bench m4` puts programs: what needs the board with much memory, and what runs on the one that has 128 KiB and
/// a timer that counts single instructions.
const COUNTERS: &str = "firmware/target/mps2/thumbv7em-none-eabihf";
const PROFILES: &str = "firmware/target/netduino/thumbv7em-none-eabihf";
const EXAMS: [&str; 2] = [
    "firmware/target/exam/thumbv7em-none-eabihf/release/exam",
    "firmware/target/exam/thumbv7em-none-eabihf/small/exam",
];
/// The compiler's settings for speed and for flash, and the group of rows of each.
const SETTINGS: [(&str, &str); 2] = [("release", "m4"), ("small", "m4-s")];
/// What is built for flash: one level, all of them, and the device of `firmware/device`: what signs and publishes, without and with lines to the
/// emulator; and with everything that it can.
const FLASH: [(&str, &str); 7] = [
    ("44", "quiet/thumbv7em-none-eabihf/small/flash-44"),
    ("65", "quiet/thumbv7em-none-eabihf/small/flash-65"),
    ("87", "quiet/thumbv7em-none-eabihf/small/flash-87"),
    ("engine", "quiet/thumbv7em-none-eabihf/small/flash-all"),
    ("all", "quiet/thumbv7em-none-eabihf/small/sealstone-device"),
    ("all-lines", "netduino/thumbv7em-none-eabihf/small/sealstone-device"),
    ("whole", "whole/thumbv7em-none-eabihf/small/sealstone-device"),
];
const THEIRS: &str = "firmware/rivals/target/thumbv7em-none-eabihf/release";

/// What came out.
pub(crate) struct Outcome {
    pub(crate) rows: Vec<Row>,
    /// What each method of the door costs: in our room and in the portable one.
    pub(crate) methods: Vec<(String, u64, u64)>,
    /// Comparisons of rooms, all of them equal.
    pub(crate) compared: u64,
    /// Rows above their budget, and rows without one.
    pub(crate) over: Vec<String>,
}

/// Runs everything that is built. Errors: a program that is missing or fails, an answer that is not ours.
pub(crate) fn measure(root: &Path, rivals: bool) -> Result<Outcome, String> {
    let expected = Expected::compute();
    let [exam, small] = EXAMS.map(|program| Lines::run("netduinoplus2", &root.join(program)));
    let (exam, small) = (exam?, small?);
    let mut others = Vec::new();
    for name in RIVALS.into_iter().filter(|_| rivals) {
        let program = root.join(THEIRS).join(name);
        let lines = Lines::run("mps2-an386", &program)?;
        expected.check_rival(name, &lines)?;
        others.push(Other { name, lines, flash: elf::flash(&program)? });
    }
    let mut values = BTreeMap::new();
    for (setting, group) in SETTINGS {
        for (board, folder, program) in
            [("mps2-an386", COUNTERS, "count"), ("netduinoplus2", PROFILES, "profiles")]
        {
            let ours = Lines::run(board, &root.join(folder).join(setting).join(program))?;
            expected.check_ours(&ours)?;
            count(&ours, &expected, group, &mut values)?;
        }
    }
    for (name, program) in FLASH {
        let bytes = elf::flash(&root.join("firmware/target").join(program))?;
        values.insert(format!("m4-flash/{name}"), bytes as f64);
    }
    let budget = Budget::read(&root.join("firmware/budget.txt"))?;
    let rows: Vec<Row> =
        values.into_iter().map(|(name, ours)| row(name, ours, &others, &budget, &expected)).collect();
    let over = budget.over(&rows);
    let compared = exam.sum("compared") + small.sum("compared");
    Ok(Outcome { rows, methods: exam.methods(), compared, over })
}

/// A rival that ran.
struct Other {
    name: &'static str,
    lines: Lines,
    flash: u64,
}

/// Our rows: the means of instructions, those of the message that is accepted at the first attempt, the most stack with the
/// workspace, and with that the key and an envelope.
fn count(
    ours: &Lines,
    expected: &Expected,
    group: &str,
    values: &mut BTreeMap<String, f64>,
) -> Result<(), String> {
    for level in LEVELS {
        for operation in ours.operations(level) {
            let counts = ours.counts(&operation, level);
            values.insert(format!("{group}/{operation}/{level}"), lines::mean(counts));
            let stack = ours.counts(&format!("stack/{operation}"), level);
            let most = stack.iter().max().copied().unwrap_or(0) as f64;
            values.insert(format!("{group}-stack/{operation}/{level}"), most);
            let Some(profile) = operation.strip_prefix("sign-") else { continue };
            let one =
                counts.get(expected.at_once(level)).ok_or("the message of one attempt was not signed")?;
            values.insert(format!("{group}/sign-one-{profile}/{level}"), *one as f64);
            if profile != "expanded" {
                let ram = most + expected.key_and_envelope(profile, level) as f64;
                values.insert(format!("{group}-ram/{profile}/{level}"), ram);
            }
        }
    }
    if let [tag] = ours.counts("tag", "all") {
        values.insert(format!("{group}/tag"), *tag as f64);
    }
    Ok(())
}

/// A row beside everybody who has something to hold against it.
fn row(name: String, ours: f64, others: &[Other], budget: &Budget, expected: &Expected) -> Row {
    let parts: Vec<_> = name.split('/').collect();
    let at_once = |level: &str| expected.at_once(level);
    let theirs =
        others.iter().filter_map(|other| Some((other.name.to_owned(), theirs(&parts, at_once, other)?)));
    let (most, goal) = budget.of(&name);
    Row { theirs: theirs.collect(), published: published::of(&parts), ours, most, goal, name }
}

fn theirs(parts: &[&str], at_once: impl Fn(&str) -> usize, other: &Other) -> Option<f64> {
    let [group, operation, level] = parts[..] else {
        return (parts == ["m4-flash", "all"]).then_some(other.flash as f64);
    };
    let kind = operation.split('-').next()?;
    // RustCrypto's live keys, which hold the matrix, stand against ours; everybody else's bytes against our bytes.
    let live = operation.ends_with("expanded");
    let counts = other.lines.counts(kind, level);
    if operation == "expand" || counts.is_empty() || kind != "keygen" && live != (other.name == "ml-dsa") {
        return None;
    }
    match group {
        "m4" if operation.starts_with("sign-one") => counts.get(at_once(level)).map(|count| *count as f64),
        "m4" => Some(lines::mean(counts)),
        "m4-stack" => Some(*other.lines.counts(&format!("stack/{kind}"), level).iter().max()? as f64),
        _ => None,
    }
}

/// The path of a program, or why it is not there.
fn built(program: &Path) -> Result<PathBuf, String> {
    if program.is_file() {
        Ok(program.to_owned())
    } else {
        Err(format!("{} is not built; ./dev bench m4 builds it", program.display()))
    }
}
