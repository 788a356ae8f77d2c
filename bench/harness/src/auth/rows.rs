//! The rows: what each compares with what.

use sealstone_jose::Algorithm;
use serde_json::{Value, json};

use super::goals::{Goal, Goals};
use super::parties::OURS;
use super::{Batch, CONCURRENCIES, Flood, Measured, What};
use crate::table::Stats;

const ES256: What = What::Token(Algorithm::Es256);
const ML_DSA_65: What = What::Token(Algorithm::MlDsa65);
const INTROSPECTION: What = What::Introspection(Algorithm::MlDsa65);
const THEIR_INTROSPECTION: What = What::Introspection(Algorithm::Es256);

/// Every row. A goal is for one of them.
pub(crate) const ROWS: [Definition; 19] = [
    row(
        "auth/token-es256/oidc-provider",
        ours(ES256, Figure::Most),
        theirs("oidc-provider", ES256, Figure::Most),
    ),
    row("auth/token-es256/keycloak", ours(ES256, Figure::Most), theirs("keycloak", ES256, Figure::Most)),
    row("auth/token-es256/fosite", ours(ES256, Figure::Most), theirs("fosite", ES256, Figure::Most)),
    // Tomorrow's signature of ours beside today's of theirs.
    row("auth/token-ML-DSA-65/fosite", ours(ML_DSA_65, Figure::Most), theirs("fosite", ES256, Figure::Most)),
    row("auth/throughput/ML-DSA-65", ours(ML_DSA_65, Figure::Rate(32)), ours(ES256, Figure::Rate(32))),
    // Verifies ES256.
    row(
        "auth/introspect-ML-DSA-65/fosite",
        ours(INTROSPECTION, Figure::Most),
        theirs("fosite", THEIR_INTROSPECTION, Figure::Most),
    ),
    // Looks the token up and verifies nothing.
    row(
        "auth/introspect-ML-DSA-65/spring",
        ours(INTROSPECTION, Figure::Most),
        theirs("spring", THEIR_INTROSPECTION, Figure::Most),
    ),
    row("auth/p99/fosite", ours(ES256, Figure::P99(32)), theirs("fosite", ES256, Figure::P99(32))),
    row("auth/latency/ML-DSA-44", latency(Algorithm::MlDsa44), latency(Algorithm::Es256)),
    row("auth/latency/ML-DSA-65", latency(Algorithm::MlDsa65), latency(Algorithm::Es256)),
    row("auth/latency/ML-DSA-87", latency(Algorithm::MlDsa87), latency(Algorithm::Es256)),
    row("auth/latency/ES384", latency(Algorithm::Es384), latency(Algorithm::Es256)),
    row("auth/latency/ES512", latency(Algorithm::Es512), latency(Algorithm::Es256)),
    row(
        "auth/private_key_jwt",
        ours(What::TokenByAssertion(Algorithm::Es256), Figure::P50(1)),
        latency(Algorithm::Es256),
    ),
    row("auth/code", ours(What::Code, Figure::P50(1)), latency(Algorithm::Es256)),
    // One connection among the 128 of a flood.
    row("auth/flood", ours(What::Flooded(Flood::ManyAddresses), Figure::P99(1)), ours(ES256, Figure::P99(1))),
    row(
        "auth/flood/one-address",
        ours(What::Flooded(Flood::OneAddress), Figure::P99(1)),
        ours(ES256, Figure::P99(1)),
    ),
    alone("auth/rss", Figure::IdleRss),
    alone("auth/start", Figure::Start),
];

/// A row before anything is measured.
pub(crate) struct Definition {
    pub(crate) name: &'static str,
    ours: Operand,
    against: Option<Operand>,
}

/// One side of a ratio.
#[derive(Clone, Copy)]
struct Operand {
    party: &'static str,
    what: What,
    figure: Figure,
}

/// What is read from the batches of one party and kind.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Figure {
    /// Answers a second, at the concurrency where they are most.
    Most,
    /// Answers a second at this concurrency.
    Rate(u32),
    /// Microseconds at this concurrency.
    P50(u32),
    P99(u32),
    /// Megabytes before any load.
    IdleRss,
    /// Milliseconds from the start to the first token.
    Start,
}

impl Figure {
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Figure::Most | Figure::Rate(_) => "1/s",
            Figure::P50(_) | Figure::P99(_) => "us",
            Figure::IdleRss => "MB",
            Figure::Start => "ms",
        }
    }

    /// Whether more is better.
    pub(crate) fn rises(self) -> bool {
        matches!(self, Figure::Most | Figure::Rate(_))
    }

    fn connections(self) -> Vec<u32> {
        match self {
            Figure::Most => CONCURRENCIES.to_vec(),
            Figure::Rate(connections) | Figure::P50(connections) | Figure::P99(connections) => {
                vec![connections]
            }
            Figure::IdleRss | Figure::Start => Vec::new(),
        }
    }
}

const fn row(name: &'static str, ours: Operand, against: Operand) -> Definition {
    Definition { name, ours, against: Some(against) }
}

const fn alone(name: &'static str, figure: Figure) -> Definition {
    Definition { name, ours: ours(ES256, figure), against: None }
}

const fn ours(what: What, figure: Figure) -> Operand {
    theirs(OURS.name, what, figure)
}

const fn theirs(party: &'static str, what: What, figure: Figure) -> Operand {
    Operand { party, what, figure }
}

/// One request at a time: the median.
const fn latency(algorithm: Algorithm) -> Operand {
    ours(What::Token(algorithm), Figure::P50(1))
}

/// The rows whose names contain this.
pub(crate) fn chosen(only: Option<&str>) -> Vec<&'static Definition> {
    ROWS.iter().filter(|row| only.is_none_or(|part| row.name.contains(part))).collect()
}

impl Definition {
    /// Whether more is better.
    pub(crate) fn rises(&self) -> bool {
        self.ours.figure.rises()
    }

    /// The batches that it needs of both sides.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        let sides = [Some(self.ours), self.against].into_iter().flatten();
        sides
            .flat_map(|Operand { party, what, figure }| {
                figure.connections().into_iter().map(move |connections| Batch { party, what, connections })
            })
            .collect()
    }

    pub(crate) fn resolve(&self, measured: &Measured, goals: &Goals) -> Row {
        Row {
            name: self.name,
            figure: self.ours.figure,
            ours: self.ours.value(measured),
            against: self.against.and_then(|operand| Some((operand.party, operand.value(measured)?))),
            absolute: self.against.is_none(),
            goal: goals.of(self.name),
        }
    }
}

impl Operand {
    fn value(self, measured: &Measured) -> Option<Stats> {
        let Self { party, what, figure } = self;
        let at = |connections| measured.cell(Batch { party, what, connections });
        match figure {
            Figure::Most => {
                let rates = CONCURRENCIES.iter().filter_map(|c| Some(at(*c)?.stats(|sample| sample.rate)));
                rates.max_by(|a, b| a.median.total_cmp(&b.median))
            }
            Figure::Rate(connections) => Some(at(connections)?.stats(|sample| sample.rate)),
            Figure::P50(connections) => Some(at(connections)?.stats(|sample| sample.p50)),
            Figure::P99(connections) => Some(at(connections)?.stats(|sample| sample.p99)),
            Figure::IdleRss => Some(measured.server(party)?.idle_rss),
            Figure::Start => Some(measured.server(party)?.start),
        }
    }
}

/// A row that was measured.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) figure: Figure,
    pub(crate) ours: Option<Stats>,
    /// What it is held against; nothing if that server did not run.
    pub(crate) against: Option<(&'static str, Stats)>,
    /// Its goal is for the figure itself.
    absolute: bool,
    goal: Option<Goal>,
}

impl Row {
    pub(crate) fn ratio(&self) -> Option<f64> {
        Some(self.ours?.median / self.against?.1.median)
    }

    /// The goal, where what it is for was measured, and whether it is met.
    pub(crate) fn goal(&self) -> Option<(Goal, bool)> {
        let value = if self.absolute { self.ours?.median } else { self.ratio()? };
        self.goal.map(|goal| (goal, goal.is_met(value)))
    }

    /// For a machine; the names of the members are a promise.
    pub(crate) fn json(&self) -> Value {
        let rounded = |x: f64| (x * 1000.0).round() / 1000.0;
        json!({
            "name": self.name,
            "ours": self.ours.map(|ours| rounded(ours.median)),
            "unit": self.figure.unit(),
            "better": if self.figure.rises() { "higher" } else { "lower" },
            "peer": self.against.map(|(party, _)| party),
            "peer_value": self.against.map(|(_, stats)| rounded(stats.median)),
            "ratio": self.ratio().map(rounded),
            "goal": self.goal().map(|(goal, _)| goal.bound()),
            "met": self.goal().map(|(_, met)| met),
            "spread": self.ours.map(|ours| rounded(ours.spread())),
            "quartiles": self.ours.map(|ours| [rounded(ours.lower), rounded(ours.upper)]),
        })
    }
}

#[cfg(test)]
mod tests {
    use sealstone_jose::Algorithm;

    use super::super::goals::Goals;
    use super::super::{Batch, Cell, Measured, Sample, What};
    use super::{ROWS, chosen};

    fn cell(party: &'static str, connections: u32, rates: &[f64]) -> Cell {
        let sample = |rate: &f64| Sample {
            rate: *rate,
            p50: 1e6 / rate,
            p99: 2e6 / rate,
            p999: 3e6 / rate,
            cpu_percent: 100.0,
            generator_cpu_percent: 10.0,
            rss: 20.0,
            body_bytes: 500.0,
        };
        let batch = Batch { party, what: What::Token(Algorithm::Es256), connections };
        Cell { batch, samples: rates.iter().map(sample).collect() }
    }

    #[test]
    fn throughput_is_each_ones_best_and_the_p99_is_at_32() {
        let measured = Measured {
            cells: vec![
                cell("sealstone", 8, &[29_000.0, 30_000.0, 31_000.0]),
                cell("sealstone", 32, &[20_000.0]),
                cell("fosite", 8, &[10_000.0]),
                cell("fosite", 32, &[12_000.0]),
            ],
            servers: Vec::new(),
        };
        let goals = Goals::parse("").expect("no goals");
        let of = |name| chosen(Some(name))[0].resolve(&measured, &goals);
        let throughput = of("auth/token-es256/fosite");
        assert_eq!((throughput.ratio(), throughput.json()["ours"].as_f64()), (Some(2.5), Some(30_000.0)));
        assert_eq!(throughput.json()["better"].as_str(), Some("higher"));
        let p99 = of("auth/p99/fosite").json();
        assert_eq!((p99["ratio"].as_f64(), p99["better"].as_str()), (Some(0.6), Some("lower")));
        let absent = of("auth/token-es256/keycloak");
        assert_eq!((absent.ratio(), absent.goal().is_none()), (None, true));
        assert!(absent.json()["peer"].is_null());
    }

    #[test]
    fn rows_are_told_apart_by_their_names() {
        for (index, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..index].iter().all(|other| other.name != row.name), "{} twice", row.name);
        }
    }

    #[test]
    fn a_latency_row_asks_for_one_connection_alone() {
        let batches = chosen(Some("auth/latency/ML-DSA-87"))[0].batches();
        let found: Vec<_> = batches.iter().map(|batch| (batch.what.name(), batch.connections)).collect();
        assert_eq!(found, [("token ML-DSA-87".to_owned(), 1), ("token ES256".to_owned(), 1)]);
    }
}
