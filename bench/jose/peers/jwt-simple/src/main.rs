//! jwt-simple as a rival, with RustCrypto's ml-dsa. The lines are those of bench/README.md, "Measuring tokens".

use std::io::{BufRead, Write};
use std::time::Duration;

use jwt_simple::prelude::*;
use rustix::time::{ClockId, clock_gettime};

type Values = std::collections::BTreeMap<String, serde_json::Value>;

const TOKENS: usize = 32;

macro_rules! answer_at {
    ($pair:ty, $prepared:expr, $operation:expr, $runs:expr) => {{
        let (pair, tokens, claims): &($pair, Vec<String>, JWTClaims<Values>) = $prepared;
        let public = pair.public_key();
        let options = || VerificationOptions {
            allowed_issuers: Some([claims.issuer.clone().expect("iss")].into()),
            allowed_audiences: Some([AUDIENCE.to_owned()].into()),
            ..Default::default()
        };
        match $operation {
            "check" => Some(format!("{} {}", public_jwk(&pair.to_jwk()), tokens[0])),
            "sign-token" => Some(timed(|| {
                for _ in 0..$runs {
                    std::hint::black_box(pair.sign(claims.clone()).expect("it signs"));
                }
            })),
            "verify-token" => {
                let options = options();
                Some(timed(|| {
                    for token in tokens.iter().cycle().take($runs) {
                        let found = public.verify_token::<Values>(token, Some(options.clone())).expect("it is good");
                        std::hint::black_box(found);
                    }
                }))
            }
            _ => None,
        }
    }};
}

macro_rules! prepare {
    ($pair:ty, $claims:expr) => {{
        let pair = <$pair>::generate();
        let tokens: Vec<_> = (0..TOKENS).map(|_| pair.sign($claims.clone()).expect("it signs")).collect();
        let options = VerificationOptions { allowed_audiences: Some([AUDIENCE.to_owned()].into()), ..Default::default() };
        let good = |token: &str| pair.public_key().verify_token::<Values>(token, Some(options.clone())).is_ok();
        assert!(tokens.iter().all(|token| good(token)), "its own token");
        assert!(!good(&altered(&tokens[0])), "an altered token");
        (pair, tokens, $claims.clone())
    }};
}

const AUDIENCE: &str = "https://orders.example";

fn main() {
    let text = std::env::var("PEER_CLAIMS").expect("PEER_CLAIMS holds the claims");
    let claims: JWTClaims<Values> = serde_json::from_str(&text).expect("the claims are JSON");
    let at_44 = prepare!(MLDSA44KeyPair, claims);
    let at_65 = prepare!(MLDSA65KeyPair, claims);
    let at_87 = prepare!(MLDSA87KeyPair, claims);
    say("jwt-simple 0.15.0");
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("lines are text");
        let mut words = line.split(' ');
        let (operation, level) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let runs: usize = words.next().and_then(|runs| runs.parse().ok()).unwrap_or(1);
        let answer = match level {
            "44" => answer_at!(MLDSA44KeyPair, &at_44, operation, runs),
            "65" => answer_at!(MLDSA65KeyPair, &at_65, operation, runs),
            "87" => answer_at!(MLDSA87KeyPair, &at_87, operation, runs),
            _ => None,
        };
        say(answer.as_deref().unwrap_or("none"));
    }
}

/// The private member left out.
fn public_jwk(private: &str) -> String {
    let mut key: Values = serde_json::from_str(private).expect("a JWK is JSON");
    key.remove("priv");
    serde_json::to_string(&key).expect("a JWK is JSON")
}

/// The token with a character in the middle of its signature changed.
fn altered(token: &str) -> String {
    let place = token.len() - 1000;
    let letter = if &token[place..=place] == "A" { "B" } else { "A" };
    format!("{}{letter}{}", &token[..place], &token[place + 1..])
}

fn timed(work: impl FnOnce()) -> String {
    let start = now();
    work();
    (now() - start).as_nanos().to_string()
}

fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("somebody reads");
}

/// Time that this thread has spent computing.
fn now() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}
