//! The goals of the authorization server: the tables `auth` of `bench/goals.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::rows::ROWS;

/// The bound of a row's ratio, or of its figure where it has no ratio.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn bound(self) -> f64 {
        match self {
            Goal::AtLeast(bound) | Goal::AtMost(bound) => bound,
        }
    }

    pub(crate) fn is_met(self, value: f64) -> bool {
        match self {
            Goal::AtLeast(bound) => value >= bound,
            Goal::AtMost(bound) => value <= bound,
        }
    }
}

/// Every goal, by the name of its row.
pub(crate) struct Goals(BTreeMap<String, Goal>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct File {
    auth: Tables,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct Tables {
    at_least: BTreeMap<String, f64>,
    at_most: BTreeMap<String, f64>,
}

impl Goals {
    /// Reads the file.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let path = root.join("bench/goals.toml");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Self::parse(&text).map_err(|why| format!("{}: {why}", path.display()))
    }

    /// A goal for a row that does not exist would never be missed, and one in the wrong direction always: refused.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let Tables { at_least, at_most } = toml::from_str::<File>(text).map_err(|why| why.to_string())?.auth;
        let at_least = at_least.into_iter().map(|(name, bound)| (name, Goal::AtLeast(bound)));
        let at_most = at_most.into_iter().map(|(name, bound)| (name, Goal::AtMost(bound)));
        let mut goals = BTreeMap::new();
        for (name, goal) in at_least.chain(at_most) {
            let row = ROWS.iter().find(|row| row.name == name).ok_or(format!("no row called {name}"))?;
            if row.rises() != matches!(goal, Goal::AtLeast(_)) {
                return Err(format!("{name} is better the other way"));
            }
            goals.insert(name, goal);
        }
        Ok(Self(goals))
    }

    pub(crate) fn of(&self, name: &str) -> Option<Goal> {
        self.0.get(name).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows::ROWS;
    use super::{Goal, Goals};

    #[test]
    fn every_row_has_a_goal_in_the_repository() {
        let goals = Goals::parse(include_str!("../../../goals.toml")).expect("goals are read");
        assert_eq!(goals.of("auth/token-es256/keycloak"), Some(Goal::AtLeast(10.0)));
        assert_eq!(goals.of("auth/latency/ML-DSA-65"), Some(Goal::AtMost(1.25)));
        let without: Vec<_> =
            ROWS.iter().map(|row| row.name).filter(|name| goals.of(name).is_none()).collect();
        assert!(without.is_empty(), "no goal: {without:?}");
    }

    #[test]
    fn a_goal_that_nothing_can_miss_is_refused() {
        let refused = |text: &str| Goals::parse(text).is_err();
        assert!(refused("[auth.at-least]\n\"auth/token-es256/fosit\" = 2.0"));
        assert!(refused("[auth.at-most]\n\"auth/token-es256/fosite\" = 2.0"));
        assert!(refused("[auth.at-least]\n\"auth/rss\" = 40.0"));
        assert!(refused("[auth.atleast]\n\"auth/token-es256/fosite\" = 2.0"));
        assert!(!refused("[auth.at-least]\n\"auth/token-es256/fosite\" = 2.0"));
    }

    #[test]
    fn a_bound_is_met_by_itself() {
        assert!(Goal::AtLeast(2.0).is_met(2.0) && !Goal::AtLeast(2.0).is_met(1.9));
        assert!(Goal::AtMost(2.0).is_met(2.0) && !Goal::AtMost(2.0).is_met(2.1));
    }
}
