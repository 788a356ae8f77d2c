//! Programs in QEMU, and the lines `name,value` that they print.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a program printed.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    counts: BTreeMap<String, Vec<u64>>,
    words: BTreeMap<String, Vec<String>>,
    /// Methods in the order in which they were counted.
    methods: Vec<String>,
}

impl Lines {
    /// Runs a program on a board, one instruction a nanosecond. Errors: it fails or prints what is no line.
    pub(crate) fn run(board: &str, program: &Path) -> Result<Self, String> {
        let program = super::built(program)?;
        let output = Command::new("qemu-system-arm")
            .args(["-M", board, "-display", "none", "-monitor", "none", "-serial", "null"])
            .args(["-icount", "shift=0", "-semihosting-config", "enable=on,target=native"])
            .arg("-kernel")
            .arg(&program)
            .stdin(Stdio::null())
            .output()
            .map_err(|why| format!("qemu-system-arm: {why}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let last = text.lines().last().unwrap_or_default();
            return Err(format!(
                "{name} on {board}: {} {last} {}",
                output.status,
                said.lines().next().unwrap_or_default()
            ));
        }
        Self::parse(&text).map_err(|line| format!("{name} on {board}: no line: {line}"))
    }

    /// Reads lines; those of digests hold words.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut lines = Self::default();
        for line in text.lines() {
            let (name, value) = line.rsplit_once(',').ok_or(line)?;
            if name.starts_with("digest/") || name.starts_with("c_tilde/") {
                lines.words.entry(name.to_owned()).or_default().push(value.to_owned());
                continue;
            }
            if let Some(method) = name.strip_prefix("method/armv7em/") {
                lines.methods.push(method.to_owned());
            }
            let value = value.parse().map_err(|_| line)?;
            lines.counts.entry(name.to_owned()).or_default().push(value);
        }
        Ok(lines)
    }

    /// Every count of an operation at a level, in order.
    pub(crate) fn counts(&self, operation: &str, level: &str) -> &[u64] {
        self.counts.get(&format!("{operation}/{level}")).map_or(&[], Vec::as_slice)
    }

    /// Every word of a name.
    pub(crate) fn words(&self, name: &str) -> &[String] {
        self.words.get(name).map_or(&[], Vec::as_slice)
    }

    /// The operations that were counted at a level.
    pub(crate) fn operations(&self, level: &str) -> Vec<String> {
        let names = self.counts.keys().filter_map(|name| name.strip_suffix(level)?.strip_suffix('/'));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    /// The sum of all counts whose name begins so.
    pub(crate) fn sum(&self, begin: &str) -> u64 {
        let begin = format!("{begin}/");
        self.counts.iter().filter(|(name, _)| name.starts_with(&begin)).flat_map(|(_, counts)| counts).sum()
    }

    /// Each method with its count in our room and in the portable one.
    pub(crate) fn methods(&self) -> Vec<(String, u64, u64)> {
        let count = |room: &str, name: &str| self.counts(&format!("method/{room}"), name).first().copied();
        let counted = self.methods.iter().map(|name| {
            let [ours, plain] = ["armv7em", "portable"].map(|room| count(room, name).unwrap_or(0));
            (name.clone(), ours, plain)
        });
        counted.collect()
    }
}

pub(crate) fn mean(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::{Lines, mean};

    #[test]
    fn lines_are_counts_or_words() {
        let text = "sign/44,10\nsign/44,20\nstack/sign/44,8\ndigest/pk/44,00ff\nmethod/armv7em/dot 1,5\nmethod/portable/dot 1,9";
        let lines = Lines::parse(text).expect("all are lines");
        assert_eq!(mean(lines.counts("sign", "44")), 15.0);
        assert_eq!(lines.operations("44"), ["sign"]);
        assert_eq!(lines.words("digest/pk/44"), ["00ff"]);
        assert_eq!(lines.methods(), [("dot 1".to_owned(), 5, 9)]);
        assert!(Lines::parse("sign/44").is_err() && Lines::parse("sign/44,x").is_err());
    }
}
