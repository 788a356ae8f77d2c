//! What a load came to.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

/// Every answer's time, and every error.
#[derive(Default)]
pub(crate) struct Report {
    /// Between the first moment that counts and the last.
    pub(crate) elapsed: Duration,
    /// Connections opened again because the server had closed them.
    pub(crate) reconnects: u64,
    body_bytes: u64,
    errors: BTreeMap<String, u64>,
    nanoseconds: Vec<u64>,
}

impl Report {
    /// Empty; the first so many answers move no memory.
    pub(crate) fn with_room_for(answers: usize) -> Self {
        Self { nanoseconds: Vec::with_capacity(answers), ..Self::default() }
    }

    pub(crate) fn answer(&mut self, taken: Duration, body_bytes: usize) {
        self.nanoseconds.push(u64::try_from(taken.as_nanos()).unwrap_or(u64::MAX));
        self.body_bytes += body_bytes as u64;
    }

    pub(crate) fn error(&mut self, why: String) {
        *self.errors.entry(why).or_default() += 1;
    }

    pub(crate) fn error_count(&self) -> u64 {
        self.errors.values().sum()
    }

    /// Microseconds, seconds and counts. Percentiles are of every answer, not of a histogram.
    pub(crate) fn json(mut self) -> Value {
        self.nanoseconds.sort_unstable();
        let answers = self.nanoseconds.len();
        let at = |part| percentile(&self.nanoseconds, part).map(|ns| ns as f64 / 1000.0);
        json!({
            "answers": answers,
            "body_bytes": self.body_bytes.checked_div(answers as u64),
            "elapsed_seconds": self.elapsed.as_secs_f64(),
            "errors": self.errors,
            "p50_us": at(0.5),
            "p99_us": at(0.99),
            "p999_us": at(0.999),
            "max_us": at(1.0),
            "reconnects": self.reconnects,
        })
    }
}

/// The smallest value that at least this part of all values do not exceed; `sorted` rises.
fn percentile(sorted: &[u64], part: f64) -> Option<u64> {
    let rank = (part * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Report, percentile};

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<u64> = (1..=1000).collect();
        assert_eq!(percentile(&values, 0.5), Some(500));
        assert_eq!(percentile(&values, 0.99), Some(990));
        assert_eq!(percentile(&values, 0.999), Some(999));
        assert_eq!(percentile(&values, 1.0), Some(1000));
        assert_eq!(percentile(&[7], 0.5), Some(7));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn errors_are_counted_by_what_they_say() {
        let mut report = Report::default();
        report.answer(Duration::from_micros(3), 10);
        report.answer(Duration::from_micros(1), 20);
        report.error("status 503: ".to_owned());
        report.error("status 503: ".to_owned());
        assert_eq!(report.error_count(), 2);
        let json = report.json();
        assert_eq!((json["p50_us"].as_f64(), json["max_us"].as_f64()), (Some(1.0), Some(3.0)));
        assert_eq!(
            (json["body_bytes"].as_u64(), json["errors"]["status 503: "].as_u64()),
            (Some(15), Some(2))
        );
    }
}
