//! What must not pass, case by case, each with its name and the reason that it is refused for. docs/mqtt-negative.md is this table.

mod forged;
mod handmade;
pub(crate) mod orders;
mod tagged;
pub(crate) mod world;

use crate::negative::world::{Case, NOW, World};
use sealstone_mqtt::UnixMillis;
use sealstone_mqtt::gateway::state::Recent;
use sealstone_mqtt::gateway::verify::Judge;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

fn cases() -> Vec<Case> {
    [forged::cases(), handmade::cases(), orders::cases(), tagged::cases()].concat()
}

#[test]
fn nothing_forged_passes() {
    let world = World::new();
    let (cases, mut accepted, mut wrong) = (cases(), 0, String::new());
    for case in &cases {
        let config = world.config(&case.config);
        let rules = config.rules().unwrap();
        let judge = Judge { rules: &rules, directory: &world.directory };
        let mut seen = Recent::default();
        for (at, before) in case.before.iter().enumerate() {
            let passed = judge.judge(&Arc::new(before.clone()), &mut seen, NOW);
            assert!(passed.is_ok(), "{}: message {at} before it: {passed:?}", case.name);
        }
        let now = UnixMillis(NOW.0 + case.later_ms);
        match judge.judge(&Arc::new(case.publish.clone()), &mut seen, now) {
            Ok(_) => accepted += 1,
            Err(reason) if reason.name() == case.reason => continue,
            Err(reason) => {
                writeln!(wrong, "{}: {}, expected {}", case.name, reason.name(), case.reason).unwrap()
            }
        }
        writeln!(wrong, "{}: not refused as expected", case.name).unwrap();
    }
    println!("{} cases, {accepted} accepted", cases.len());
    assert!(wrong.is_empty(), "{wrong}");
    assert_eq!(accepted, 0);
    assert!(cases.len() >= 120);
}

/// Without the forgery each message passes: so it is the forgery that is refused.
#[test]
fn what_is_not_forged_passes() {
    let world = World::new();
    let config = world.config("");
    let rules = config.rules().unwrap();
    let judge = Judge { rules: &rules, directory: &world.directory };
    for message in forged::genuine().into_iter().chain(tagged::genuine()) {
        let passed = judge.judge(&Arc::new(message), &mut Recent::default(), NOW).unwrap();
        assert!(!passed.marks.any());
    }
    for (message, under) in orders::genuine() {
        let config = world.config(under);
        let judge = Judge { rules: &config.rules().unwrap(), directory: &world.directory };
        let passed = judge.judge(&Arc::new(message), &mut Recent::default(), NOW).unwrap();
        assert!(!passed.marks.any());
    }
}

/// `NEGATIVE=write cargo test -p sealstone-mqtt --features std` writes it.
#[test]
fn the_list_is_the_document() {
    let cases = cases();
    let names: BTreeSet<_> = cases.iter().map(|case| &case.name).collect();
    assert_eq!(names.len(), cases.len(), "each case has a name of its own");
    let mut text = format!(
        "# What the gateway refuses\n\n{} cases, which a test makes and holds to their reasons \
         (crates/mqtt/tests/gateway/negative.rs). None is accepted.\n\n| case | refused as |\n|---|---|\n",
        cases.len()
    );
    for case in &cases {
        writeln!(text, "| {} | `{}` |", case.name, case.reason).unwrap();
    }
    text.push_str(
        "\n## Halves that come apart\n\nPayloads and signatures on `<topic>/$sig`, with `[policy] pair_within_ms` \
         (crates/mqtt/tests/gateway/apart.rs). What is signed passes, once; the rest is refused.\n\n\
         | case | passes | refused as |\n|---|---|---|\n",
    );
    for case in crate::apart::cases() {
        let (passes, refused): (Vec<_>, Vec<_>) =
            case.becomes.iter().map(|(becomes, _)| *becomes).partition(|becomes| *becomes == "clean");
        let refused: Vec<_> = refused.iter().map(|reason| format!("`{reason}`")).collect();
        let passes = if passes.is_empty() { "–" } else { "one" };
        writeln!(text, "| {} | {passes} | {} |", case.name, refused.join(", ")).unwrap();
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/mqtt-negative.md");
    if std::env::var_os("NEGATIVE").is_some_and(|mode| mode == "write") {
        std::fs::write(path, &text).unwrap();
    }
    assert!(std::fs::read_to_string(path).unwrap() == text, "NEGATIVE=write writes docs/mqtt-negative.md");
}
