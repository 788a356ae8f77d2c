//! What a token costs beyond its signature, what a batch saves, and how long a hostile token keeps its reader:
//! `cargo run --release -p sealstone-jose --example cost`.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use std::hint::black_box;
use std::time::{Duration, Instant};

use sealstone_jose::jws::Unverified;
use sealstone_jose::{Algorithm, PrivateKey, PublicKey, UnixSeconds, jws, jwt};
use sealstone_mldsa::{Context, OsRandom, any};

const NOW: UnixSeconds = UnixSeconds(1_800_000_000);

/// The least and the median of the time of one call, over batches of calls that take turns with each other: what else the
/// machine does falls on all of them alike.
fn measure(rounds: usize, each: usize, calls: &mut [&mut dyn FnMut()]) -> Vec<(Duration, Duration)> {
    let mut times = vec![Vec::new(); calls.len()];
    for _ in 0..rounds {
        for (call, times) in calls.iter_mut().zip(&mut times) {
            let start = Instant::now();
            (0..each).for_each(|_| call());
            times.push(start.elapsed() / u32::try_from(each).unwrap());
        }
    }
    times
        .into_iter()
        .map(|mut times| {
            times.sort_unstable();
            (times[0], times[times.len() / 2])
        })
        .collect()
}

fn claims() -> jwt::Claims {
    let claims = jwt::Claims::new()
        .with("iss", "https://id.example")
        .with("aud", "orders")
        .with("sub", "5f0c6b0e-2b7d-4c43-9a52-1f6c2a8be0aa")
        .with("jti", "0123456789abcdefghijkl")
        .with("exp", NOW.0 + 300)
        .with("iat", NOW.0)
        .with("scope", "read:orders write:orders read:stock");
    let pad = 250 - claims.to_json().len() - 9;
    let claims = claims.with("pad", "x".repeat(pad));
    assert_eq!(claims.to_json().len(), 250);
    claims
}

fn costs(algorithm: Algorithm) {
    let level = algorithm.level().unwrap();
    let key = PrivateKey::generate(algorithm).unwrap();
    let seed: [u8; 32] = key.secret().as_slice().try_into().unwrap();
    let signing = any::SigningKey::from_seed(level, &seed).expand();
    let verifying = signing.verifying_key().expand();
    let rules = jwt::Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt");
    let claims = claims();
    let token = jwt::sign(&key, "at+jwt", &claims).unwrap();
    let (input, _) = token.rsplit_once('.').unwrap();
    let signature = signing.sign(&mut OsRandom, Context::EMPTY, input.as_bytes()).unwrap();
    rules.check(Unverified::parse(&token).unwrap().verify(key.public()).unwrap(), NOW).unwrap();

    let mut engine_verify =
        || verifying.verify(Context::EMPTY, black_box(input.as_bytes()), &signature).unwrap();
    let mut token_verify = || {
        let verified = Unverified::parse(black_box(&token)).unwrap().verify(key.public()).unwrap();
        black_box(rules.check(verified, NOW).unwrap());
    };
    let mut token_parse = || drop(black_box(Unverified::parse(black_box(&token)).unwrap()));
    let mut engine_mu = || {
        let mut mu = verifying.message(Context::EMPTY);
        mu.update(black_box(input.as_bytes()));
        black_box(mu.finish());
    };
    let times =
        measure(400, 20, &mut [&mut engine_verify, &mut token_verify, &mut token_parse, &mut engine_mu]);
    let [engine, token_time, parse, mu] = times[..] else { return };
    println!(
        "verify {algorithm}: engine {:?}, token {:?}: {:?} more (medians; least {:?}); of it parse {:?}; mu within the engine {:?}",
        engine.1,
        token_time.1,
        token_time.1.saturating_sub(engine.1),
        token_time.0.saturating_sub(engine.0),
        parse.1,
        mu.1,
    );

    // Attempts differ from signature to signature, so what is around the engine is measured without it: the same steps with
    // a signature that is there.
    let bytes = signature.encode().to_vec();
    let mut around = || {
        let unsigned = jwt::unsigned(&key, "at+jwt", black_box(&claims)).unwrap();
        drop(black_box(unsigned));
    };
    let mut room = String::with_capacity(8_192);
    let mut sealed = || {
        use base64::Engine as _;
        room.clear();
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode_string(black_box(&bytes), &mut room);
        black_box(&room);
    };
    let mut engine_sign = || {
        black_box(signing.sign(&mut OsRandom, Context::EMPTY, black_box(input.as_bytes())).unwrap());
    };
    let mut token_sign = || drop(black_box(jwt::sign(&key, "at+jwt", black_box(&claims)).unwrap()));
    let times = measure(400, 40, &mut [&mut around, &mut sealed, &mut engine_sign, &mut token_sign]);
    let [around, sealed, engine, token_time] = times[..] else { return };
    println!(
        "sign {algorithm}: engine {:?}, token {:?}: {} ns more (medians); header and claims {:?}, base64 of the signature {:?}",
        engine.1,
        token_time.1,
        token_time.1.as_nanos() as i128 - engine.1.as_nanos() as i128,
        around.1,
        sealed.1,
    );
}

/// Sixty-four tokens of one key, at once and one by one.
fn batches(algorithm: Algorithm) {
    const COUNT: usize = 64;
    let key = PrivateKey::generate(algorithm).unwrap();
    let rules = jwt::Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt");
    let verifier = jwt::Verifier::of_key(key.public().clone(), rules);
    let token = |n: usize| jwt::sign(&key, "at+jwt", &claims().with("jti", format!("{n:022}"))).unwrap();
    let tokens: Vec<String> = (0..COUNT).map(token).collect();
    let texts: Vec<&str> = tokens.iter().map(String::as_str).collect();
    let signatures: Vec<Vec<u8>> = tokens.iter().map(|token| key.sign(token.as_bytes()).unwrap()).collect();
    let jobs: Vec<(&PublicKey, &[u8], &[u8])> = tokens
        .iter()
        .zip(&signatures)
        .map(|(text, bytes)| (key.public(), text.as_bytes(), bytes.as_slice()))
        .collect();
    let bytes = key.public().as_bytes().to_vec();

    let mut together = || assert!(verifier.verify_all(black_box(&texts), NOW).iter().all(Result::is_ok));
    let mut alone =
        || texts.iter().for_each(|text| drop(black_box(verifier.verify(black_box(text), NOW).unwrap())));
    let mut fresh = || {
        for (_, message, signature) in &jobs {
            let key = PublicKey::from_public(algorithm, black_box(&bytes)).unwrap();
            key.verify(message, signature).unwrap();
        }
    };
    let mut raw_together = || assert!(PublicKey::verify_all(black_box(&jobs)).iter().all(Result::is_ok));
    let mut raw_alone =
        || jobs.iter().for_each(|(key, message, signature)| key.verify(message, signature).unwrap());
    let times =
        measure(200, 1, &mut [&mut together, &mut alone, &mut fresh, &mut raw_together, &mut raw_alone]);
    let each: Vec<f64> = times.iter().map(|(_, median)| median.as_secs_f64() * 1e6 / COUNT as f64).collect();
    let [together, alone, fresh, raw_together, raw_alone] = each[..] else { return };
    println!(
        "batch {algorithm}, us for each of {COUNT}: tokens {together:.2} at once, {alone:.2} one by one: {:.2}; \
         signatures {raw_together:.2} and {raw_alone:.2}: {:.2}; with the key read for each {fresh:.2}: {:.2}",
        together / alone,
        raw_together / raw_alone,
        raw_together / fresh,
    );
}

/// Tokens of 64 kB that are refused.
fn hostile() {
    let header = |text: &str| {
        use base64::Engine as _;
        base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
    };
    let full = |head: &str, filler: &str, end: &str| {
        let room = jws::MAX_TOKEN - head.len() - end.len();
        format!("{head}{}{end}", filler.repeat(room / filler.len()))
    };
    let ml = header(r#"{"alg":"ML-DSA-44"}"#);
    let signature = "A".repeat(3_227);
    let es = header(r#"{"alg":"ES256"}"#);
    let long = |more: String| header(&format!("{{\"alg\":\"ES256\"{more}}}"));
    let members = |count: usize| (0..count).map(|n| format!(",\"{n}\":0")).collect::<String>();
    let tokens: Vec<(&str, String)> = vec![
        ("64 kB of dots", ".".repeat(65_536)),
        ("64 kB without a dot", "A".repeat(65_536)),
        ("spaces in front of a brace", format!("{}{{", " ".repeat(65_535))),
        ("over the limit", "A".repeat(65_537)),
        ("16 MB", "A".repeat(16 << 20)),
        ("a header of 60 kB", full("", "A", ".AA.AA")),
        (
            "a header of the most, not base64url at its end",
            full(&format!("{}*.", "A".repeat(8_190)), "A", ".AA"),
        ),
        ("a header of the most, not JSON", full(&format!("{}.", header(&"[".repeat(6_143))), "A", ".AA")),
        (
            "a header of the most, deep",
            full(&format!("{}.", long(format!(",\"x\":{}", "[".repeat(6_000)))), "A", ".AA"),
        ),
        (
            "a header of the most, one long number",
            full(&format!("{}.", long(format!(",\"x\":{}", "9".repeat(6_100)))), "A", ".AA"),
        ),
        (
            "a header of the most, one long string",
            full(&format!("{}.", long(format!(",\"x\":\"{}\",\"alg\":1", "a".repeat(6_080)))), "A", ".AA"),
        ),
        (
            "a header of the most, all escapes",
            full(
                &format!("{}.", long(format!(",\"x\":\"{}\",\"alg\":1", "\\u00e9".repeat(1_010)))),
                "A",
                ".AA",
            ),
        ),
        (
            "a header of the most, many members, the last twice",
            full(&format!("{}.", long(format!("{},\"1\":0", members(700)))), "A", ".AA"),
        ),
        (
            "a header of the most, many objects, then a fault",
            full(&format!("{}.", long(format!(",\"x\":[{}", "{},".repeat(2_000)))), "A", ".AA"),
        ),
        (
            "a header of the most, crit of many",
            full(&format!("{}.", long(format!(",\"crit\":[{}0]", "0,".repeat(3_000)))), "A", ".AA"),
        ),
        ("a wrong length of the signature", full(&format!("{ml}."), "A", ".AAAA")),
        ("no signature", full(&format!("{es}."), "A", ".")),
        (
            "a signature that is not base64url",
            full(&format!("{ml}."), "A", &format!(".{}*", &signature[1..])),
        ),
        (
            "a payload that is not base64url at its start",
            full(&format!("{ml}.*"), "A", &format!(".{signature}")),
        ),
        (
            "a payload that is not base64url at its end",
            full(&format!("{ml}."), "A", &format!("*.{signature}")),
        ),
        ("a payload of an impossible length", {
            let token = full(&format!("{ml}."), "A", &format!(".{signature}"));
            let payload = token.len() - ml.len() - signature.len() - 2;
            token.replacen("AAAA", &"A".repeat(4 - (payload + 3) % 4), 1)
        }),
        ("five parts", full(&format!("{es}.AA.AA.AA."), "A", "")),
        (
            "an unknown alg of 6 kB",
            full(&format!("{}.", header(&format!("{{\"alg\":\"{}\"}}", "x".repeat(6_100)))), "A", ".AA"),
        ),
        (
            "another alg than the key's",
            full(&format!("{}.", header(r#"{"alg":"ML-DSA-65"}"#)), "A", &format!(".{}", "A".repeat(4_412))),
        ),
    ];
    let key = PrivateKey::generate(Algorithm::MlDsa44).unwrap();
    let mut worst = Duration::ZERO;
    for (name, token) in &tokens {
        let mut error = None;
        let mut refuse = || {
            error =
                Some(Unverified::parse(black_box(token)).and_then(|it| it.verify(key.public())).unwrap_err())
        };
        let (least, median) = measure(60, 20, &mut [&mut refuse])[0];
        worst = worst.max(median);
        let shown: String = error.unwrap().to_string().chars().take(60).collect();
        println!("refuse {name}: median {median:?}, least {least:?}: {shown}");
    }
    println!("refuse: {} classes, the worst in {worst:?}", tokens.len());
}

fn main() {
    let name = |text: &str| std::env::args().any(|argument| argument == text);
    let all = std::env::args().len() == 1;
    for algorithm in [Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        if all || name("cost") {
            costs(algorithm);
        }
        if all || name("batch") {
            batches(algorithm);
        }
    }
    if all || name("refuse") {
        hostile();
    }
}
