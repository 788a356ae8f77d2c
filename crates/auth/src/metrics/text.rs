//! Prometheus' text format, version 0.0.4.

use std::fmt::Write;

/// A text in the making.
#[derive(Debug, Default)]
pub(crate) struct Text {
    family: &'static str,
    text: String,
}

impl Text {
    /// The media type.
    pub(crate) const TYPE: &'static str = "text/plain; version=0.0.4; charset=utf-8";

    /// Begins a family; its samples follow.
    pub(crate) fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.family = name;
        // A string takes whatever is written.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// A family of one sample.
    pub(crate) fn single(&mut self, name: &'static str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.part("", &[], value);
    }

    /// A sample.
    pub(crate) fn sample(&mut self, labels: &[(&str, &str)], value: u64) {
        self.part("", labels, value as f64);
    }

    /// A sample, if it is not zero.
    pub(crate) fn unless_zero(&mut self, labels: &[(&str, &str)], value: u64) {
        if value > 0 {
            self.sample(labels, value);
        }
    }

    /// A sample whose name is that of the family and `suffix`. Values of labels are names of ours: nothing in them needs
    /// to be escaped.
    pub(crate) fn part(&mut self, suffix: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{value}\"")).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let _ = writeln!(self.text, "{}{suffix}{labels} {value}", self.family);
    }

    pub(crate) fn into_string(self) -> String {
        self.text
    }
}
