//! What may be used once is used by two at the same moment, over two connections, against a real server: one wins.

use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use crate::real::forms::{self, Form};
use crate::real::{House, Wire, number};

/// Each kind of value that may be used once: a new kind is one line, and how a lane draws it.
const KINDS: [Kind; 6] = [
    Kind { name: "authorization code", draw: |lane| Box::pin(lane.code()), rule: Rule::OneWinner },
    Kind { name: "refresh token", draw: |lane| Box::pin(lane.refresh_token()), rule: Rule::OneSuccessor },
    Kind { name: "pushed request", draw: |lane| Box::pin(lane.pushed()), rule: Rule::OneWinner },
    Kind { name: "device code", draw: |lane| Box::pin(lane.device()), rule: Rule::OneWinner },
    Kind { name: "client assertion", draw: |lane| Box::pin(lane.client_assertion()), rule: Rule::OneWinner },
    Kind {
        name: "assertion as a grant",
        draw: |lane| Box::pin(lane.grant_assertion()),
        rule: Rule::OneWinner,
    },
];

struct Kind {
    name: &'static str,
    draw: Draw,
    rule: Rule,
}

type Draw = for<'a> fn(&'a mut Lane) -> Pin<Box<dyn Future<Output = Form> + Send + 'a>>;

#[derive(Clone, Copy, PartialEq)]
enum Rule {
    /// Exactly one answer is good.
    OneWinner,
    /// Within the grace each answer may be good, and all of them bring the same successor.
    OneSuccessor,
}

/// Races that follow each other. Lanes run beside each other.
struct Lane {
    house: Arc<House>,
    wires: [Wire; RACERS],
    /// The refresh token that holds.
    token: Option<String>,
}

const LANES: usize = 12;
const RACERS: usize = 2;

impl Lane {
    async fn code(&mut self) -> Form {
        forms::redeem(&self.wires[0].code(&self.house.cookie).await.unwrap().expect("the session holds"))
    }

    async fn refresh_token(&mut self) -> Form {
        if self.token.is_none() {
            let form = self.code().await;
            self.token = self.wires[0].post(form).await.unwrap().member("refresh_token");
        }
        forms::refresh(self.token.as_deref().expect("a family"))
    }

    async fn pushed(&mut self) -> Form {
        self.wires[0].pushed(&self.house.cookie).await.unwrap().expect("a request_uri")
    }

    async fn device(&mut self) -> Form {
        self.wires[0].device(&self.house).await.unwrap().expect("the person agrees")
    }

    async fn client_assertion(&mut self) -> Form {
        self.house.by_client_assertion()
    }

    async fn grant_assertion(&mut self) -> Form {
        self.house.by_grant_assertion()
    }

    /// One race; says what is wrong with how it ended.
    async fn race(&mut self, kind: &Kind) -> Result<(), String> {
        let form = (kind.draw)(self).await;
        let [one, two] = &self.wires;
        let (one, two) = tokio::join!(one.post(form.clone()), two.post(form));
        let answers = [one.map_err(|_| "no answer")?, two.map_err(|_| "no answer")?];
        let good = answers.iter().filter(|answer| answer.grants()).count();
        let said: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
        match kind.rule {
            Rule::OneWinner if good == 1 => Ok(()),
            Rule::OneWinner => Err(format!("{good} winners: {said:?}")),
            Rule::OneSuccessor => {
                let next: BTreeSet<String> =
                    answers.iter().filter_map(|answer| answer.member("refresh_token")).collect();
                let fresh = next.iter().all(|next| self.token.as_ref() != Some(next));
                if (good, next.len(), fresh) != (RACERS, 1, true) {
                    return Err(format!("{good} answers, {} successors: {said:?}", next.len()));
                }
                self.token = next.into_iter().next();
                Ok(())
            }
        }
    }
}

async fn race_all(races: u64) {
    let house = Arc::new(House::build().await);
    let server = house.serve("sealstone.toml");
    for kind in &KINDS {
        let begun = Instant::now();
        let mut lanes = Vec::new();
        for lane in 0..LANES as u64 {
            let wires = [server.wire().await, server.wire().await];
            let mut runner = Lane { house: house.clone(), wires, token: None };
            let share = races / LANES as u64 + u64::from(lane < races % LANES as u64);
            lanes.push(tokio::spawn(async move {
                for race in 0..share {
                    runner
                        .race(kind)
                        .await
                        .unwrap_or_else(|wrong| panic!("{}, race {race}: {wrong}", kind.name));
                }
            }));
        }
        for lane in lanes {
            lane.await.unwrap();
        }
        eprintln!(
            "races: {races} of {}: one winner each ({:.0} s)",
            kind.name,
            begun.elapsed().as_secs_f64()
        );
    }
    assert_eq!(server.errors().first(), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_uses_at_once_one_wins() {
    race_all(200).await;
}

/// `./dev races N`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes"]
async fn many_races() {
    race_all(number("SEALSTONE_RACES", 100_000)).await;
}
