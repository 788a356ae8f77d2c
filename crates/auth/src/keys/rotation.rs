//! The life of a signing key, as pure functions of time: published, then active, then retiring, then retired.
//!
//! A verifier that caches the JWK set never meets a token whose key it cannot know: a key is published for
//! `Policy::publish_seconds` before its first signature, and stays published for `Policy::retire_seconds` after its
//! last one. (The first key of an algorithm, and one that is enabled again after [`withdraw`], is active at once, for there
//! is nothing else to sign with. A verifier that has cached the set without it must fetch it again at an unknown key id.)

use sealstone_jose::{Algorithm, UnixSeconds};
use serde::{Deserialize, Serialize};

use crate::clock::CLOCK_SLACK_SECONDS;
use crate::config::Config;

/// Where a key stands in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// In the JWK set, not signing yet.
    PrePublished,
    /// In the JWK set, signing.
    Active,
    /// In the JWK set, no longer signing; tokens it signed may live.
    Retiring,
    /// Gone from the JWK set; its secret is deleted.
    Retired,
}

impl State {
    /// The state's name, as it is stored.
    pub const fn name(self) -> &'static str {
        match self {
            State::PrePublished => "pre-published",
            State::Active => "active",
            State::Retiring => "retiring",
            State::Retired => "retired",
        }
    }

    /// Whether the JWK set shows a key in this state.
    pub const fn is_published(self) -> bool {
        !matches!(self, State::Retired)
    }
}

/// How long a key stays in each state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Active: how long it signs.
    pub active_seconds: u64,
    /// Pre-published: at least as long as a JWK set may be cached.
    pub publish_seconds: u64,
    /// Retiring: at least as long as the longest token lives.
    pub retire_seconds: u64,
}

impl Policy {
    /// That of a configuration. A retiring key stays published until the last token it may have signed has ended.
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            active_seconds: config.keys.active_seconds.get(),
            publish_seconds: config.keys.publish_seconds.get(),
            retire_seconds: config.tokens.max_lifetime_seconds.get().saturating_add(CLOCK_SLACK_SECONDS),
        }
    }
}

/// What the plan needs to know of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its place in the line of its algorithm's keys, from 1.
    pub sequence: u64,
    /// When its state began.
    pub since: UnixSeconds,
    /// Its state.
    pub state: State,
}

/// One change of the key set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Make the key with this number.
    Create {
        /// Its algorithm.
        algorithm: Algorithm,
        /// Its number.
        sequence: u64,
        /// The state it starts in.
        state: State,
    },
    /// Move a key on.
    Move {
        /// Its algorithm.
        algorithm: Algorithm,
        /// Its number.
        sequence: u64,
        /// The state it comes to.
        state: State,
    },
}

impl Stage {
    /// The state that time alone allows at `now`. A key that is due to become active or retiring still waits for its
    /// counterpart: see [`plan`].
    pub fn next_state(&self, now: UnixSeconds, policy: &Policy) -> State {
        let age = now.0.saturating_sub(self.since.0);
        match self.state {
            State::PrePublished if age >= policy.publish_seconds => State::Active,
            State::Active if age >= policy.active_seconds => State::Retiring,
            State::Retiring if age >= policy.retire_seconds => State::Retired,
            state => state,
        }
    }

    fn shift(&self, state: State) -> Step {
        Step::Move { algorithm: self.algorithm, sequence: self.sequence, state }
    }
}

/// What must change at `now` so that each enabled algorithm has exactly one signing key and, in time, its successor,
/// and so that keys that have retired long enough go. Promotions stand before retirements: if only some steps happen,
/// an algorithm never lacks a signing key.
///
/// Keys of other algorithms are left to whoever enabled them: see [`withdraw`].
pub fn plan(keys: &[Stage], enabled: &[Algorithm], now: UnixSeconds, policy: &Policy) -> Vec<Step> {
    let mut steps: Vec<Step> =
        enabled.iter().flat_map(|algorithm| renew(keys, *algorithm, now, policy)).collect();
    let over = |key: &&Stage| key.state == State::Retiring && key.next_state(now, policy) == State::Retired;
    steps.extend(keys.iter().filter(over).map(|key| key.shift(State::Retired)));
    steps
}

/// What must change so that algorithms that are no longer enabled cease to sign. Their keys retire, so that tokens
/// they signed can be verified to their end.
///
/// Done once, when a server starts, and not at each look at the keys: two servers on one store whose configurations
/// differ would undo each other's keys without end.
pub fn withdraw(keys: &[Stage], enabled: &[Algorithm]) -> Vec<Step> {
    let signing = |key: &&Stage| matches!(key.state, State::PrePublished | State::Active);
    let gone = keys.iter().filter(signing).filter(|key| !enabled.contains(&key.algorithm));
    gone.map(|key| key.shift(State::Retiring)).collect()
}

/// What begins an algorithm's next key before its time; nothing if it is published already. The rest is [`plan`]'s.
pub fn successor(keys: &[Stage], algorithm: Algorithm) -> Option<Step> {
    let has = |state| keys.iter().any(|key| key.algorithm == algorithm && key.state == state);
    let sequence = next_sequence(keys, algorithm);
    match (has(State::PrePublished), has(State::Active)) {
        (true, _) => None,
        (false, true) => Some(Step::Create { algorithm, sequence, state: State::PrePublished }),
        (false, false) => Some(Step::Create { algorithm, sequence, state: State::Active }),
    }
}

/// What takes a key out of use at once, whatever its state. Where it signs, its successor comes first: the algorithm never
/// lacks a signing key.
pub fn retire_at_once(keys: &[Stage], key: &Stage, enabled: &[Algorithm]) -> Vec<Step> {
    let algorithm = key.algorithm;
    let others =
        || keys.iter().filter(|other| other.algorithm == algorithm && other.sequence != key.sequence);
    let newer = |other: &&Stage| other.sequence > key.sequence;
    let mut steps = Vec::new();
    if key.state == State::Active
        && enabled.contains(&algorithm)
        && !others().filter(newer).any(|other| other.state == State::Active)
    {
        let heir = others().filter(newer).find(|other| other.state == State::PrePublished);
        let sequence = next_sequence(keys, algorithm);
        steps.push(match heir {
            Some(heir) => heir.shift(State::Active),
            None => Step::Create { algorithm, sequence, state: State::Active },
        });
    }
    steps.push(key.shift(State::Retired));
    steps
}

fn next_sequence(keys: &[Stage], algorithm: Algorithm) -> u64 {
    keys.iter().filter(|key| key.algorithm == algorithm).map(|key| key.sequence).max().unwrap_or(0) + 1
}

/// The steps of one enabled algorithm.
fn renew(keys: &[Stage], algorithm: Algorithm, now: UnixSeconds, policy: &Policy) -> Vec<Step> {
    let of = |state| keys.iter().filter(move |key| key.algorithm == algorithm && key.state == state);
    let sequence = next_sequence(keys, algorithm);
    let newest = of(State::Active).max_by_key(|key| key.sequence);
    let heir = of(State::PrePublished).min_by_key(|key| key.sequence);
    // Two active keys are the trace of a promotion that was interrupted: the older ones retire now.
    let older = of(State::Active).filter(|key| newest.is_some_and(|newest| key.sequence < newest.sequence));
    let mut steps: Vec<Step> = older.map(|key| key.shift(State::Retiring)).collect();
    match (newest, heir) {
        (None, Some(heir)) => steps.push(heir.shift(State::Active)),
        (None, None) => steps.push(Step::Create { algorithm, sequence, state: State::Active }),
        (Some(active), Some(heir)) => {
            // An heir is made so long before its time that it is ready when the active key's time is over; one that
            // was asked for earlier takes over earlier.
            if heir.next_state(now, policy) == State::Active {
                steps.push(heir.shift(State::Active));
                steps.push(active.shift(State::Retiring));
            }
        }
        (Some(active), None) => {
            let age = now.0.saturating_sub(active.since.0);
            if age.saturating_add(policy.publish_seconds) >= policy.active_seconds {
                steps.push(Step::Create { algorithm, sequence, state: State::PrePublished });
            }
        }
    }
    steps
}
