//! The paper's tables, as its own rules give them and as it prints them.

use sealstone_mldsa::Level;
use sealstone_mqtt::Form;
use sealstone_mqtt::form::By;
use sealstone_mqtt::level::{Class, Need, Policy};
use sealstone_mqtt::simulate::{Link, Outcome, Rule, State, Workload, envelope, paper, run};

fn papers(workload: &Workload, state: State, rule: &Rule) -> Outcome {
    run(workload, state, rule, Form::Paper, &paper::COSTS, &Link::SILENT, 0.0)
}

fn near(found: f64, wanted: f64, digits: i32) {
    assert!((found - wanted).abs() <= 0.5 * 10f64.powi(-digits) + 1e-9, "{found} is not {wanted}");
}

/// Table 12 by Algorithm 8, Table 3 and the middle rows of Table 5: none of the nine figures printed follows.
#[test]
fn table_12_as_its_own_rules_give_it() {
    let wanted = [[715.1, 675.3, 675.3], [795.6, 715.1, 715.1], [861.9, 748.3, 748.3]];
    for ((workload, wanted), printed) in Workload::papers().iter().zip(wanted).zip(&paper::PRINTED) {
        for (state, wanted) in State::ALL.into_iter().zip(wanted) {
            let found = papers(workload, state, &Rule::Paper).sign_ms;
            near(found, wanted, 1);
            assert!((found - printed.sign_ms(state)).abs() > 1.0, "{} {}", workload.name, state.name());
        }
    }
}

/// Whatever level each class had, and whichever payload of Table 5 was meant.
#[test]
fn some_figures_of_table_12_follow_from_no_rule() {
    let table_5 = [[657.0, 842.0, 1122.0], [663.0, 853.0, 1136.0], [669.0, 864.0, 1150.0]];
    let explained = |workload: &Workload, printed: f64| {
        table_5.iter().any(|ms| {
            (0..81).any(|assignment| {
                let level = |class: u32| assignment / 3usize.pow(class) % 3;
                let mean: f64 =
                    (0..4).zip(workload.shares).map(|(class, share)| share * ms[level(class)]).sum();
                (mean - printed).abs() <= 0.5
            })
        })
    };
    let found: Vec<[bool; 3]> = Workload::papers()
        .iter()
        .zip(&paper::PRINTED)
        .map(|(workload, printed)| printed.sign_ms.map(|ms| explained(workload, ms)))
        .collect();
    assert!(!found[2][2], "security, low");
    assert!(found.iter().flatten().any(|explained| *explained), "the search finds what is there: {found:?}");
}

#[test]
fn table_13_as_its_own_rules_give_it() {
    let wanted = [([95.0, 4.0, 1.0], 2.07), ([80.0, 15.0, 5.0], 2.30), ([70.0, 20.0, 10.0], 2.50)];
    for (workload, (levels, category)) in Workload::papers().iter().zip(wanted) {
        let found = papers(workload, State::Medium, &Rule::Paper);
        for (found, wanted) in found.levels.iter().zip(levels) {
            near(found * 100.0, wanted, 6);
        }
        near(found.category, category, 2);
    }
}

/// The shares that Table 13 prints for R ≈ 0.5 are those of R ≥ 0.7, and its means weigh level 87 with 4.
#[test]
fn table_13_prints_the_defaults_and_weighs_87_with_4() {
    for (workload, printed) in Workload::papers().iter().zip(&paper::PRINTED) {
        let found = papers(workload, State::High, &Rule::Paper);
        let by_four = found.levels[0] * 2.0 + found.levels[1] * 3.0 + found.levels[2] * 4.0;
        for (found, printed) in found.levels.iter().zip(printed.levels) {
            near(found * 100.0, printed, 6);
        }
        near(by_four, printed.category, 2);
    }
}

/// Table 14 is Table 12's row "High" times 50 mW times 100, although its text speaks of R ≈ 0.5.
#[test]
fn table_14_is_table_12s_first_state() {
    let wanted = [[3.58, 3.38], [3.98, 3.58], [4.31, 3.74]];
    let fixed = papers(&Workload::papers()[0], State::High, &Rule::Fixed(Level::MlDsa87)).joules();
    near(fixed, 5.68, 2);
    for ((workload, wanted), printed) in Workload::papers().iter().zip(wanted).zip(&paper::PRINTED) {
        near(papers(workload, State::High, &Rule::Paper).joules(), wanted[0], 2);
        near(papers(workload, State::Medium, &Rule::Paper).joules(), wanted[1], 2);
        near(printed.sign_ms[0] * 100.0 * 50e-6, printed.joules, 2);
        near((fixed / printed.joules - 1.0) * 100.0, printed.longer, 0);
    }
    near(paper::BATTERY_J / fixed, 4190.0, -1);
}

/// Table 9 counts eight bytes of framing; the layout of section 4.5 has twelve.
#[test]
fn table_9_is_four_bytes_short() {
    for (level, row) in Level::ALL.into_iter().zip(paper::SIGNED_BYTES) {
        for (payload, printed) in paper::PAYLOADS.into_iter().zip(row) {
            let found = envelope(Form::Paper, payload, By::Signature(level));
            near(found, f64::from(printed) + 4.0, 6);
        }
    }
}

/// Between the thresholds and below both the paper's table selects the same: the middle tier does nothing.
#[test]
fn the_middle_tier_does_nothing() {
    for class in Class::ALL {
        assert_eq!(paper::algorithm_8(class, 0.5, 1.0), paper::algorithm_8(class, 0.3, 1.0));
    }
}

/// The minimum "that cannot be violated" is, by lines 14 to 18; ours refuses there.
#[test]
fn the_papers_memory_override_breaks_the_minimum() {
    assert_eq!(paper::algorithm_8(Class::High, 1.0, 0.2), Level::MlDsa44);
    let rule = Rule::Ours { policy: Policy::BATTERY, need: Need([12_000, 16_000, 20_000]), free: 8_620 };
    assert_eq!(rule.level(Class::High, State::High), None);
}

#[test]
fn our_rules_choose_as_the_papers_where_memory_suffices() {
    let rule = Rule::Ours { policy: Policy::BATTERY, need: Need([12_000, 16_000, 20_000]), free: 128_000 };
    for class in Class::ALL {
        for state in State::ALL {
            assert_eq!(rule.level(class, state), Rule::Paper.level(class, state), "{class:?} {state:?}");
        }
    }
}

/// 7.5.3: nine of ten messages with a tag.
#[test]
fn the_papers_hybrid() {
    let workload = Workload { shares: [1.0, 0.0, 0.0, 0.0], ..Workload::papers()[0].clone() };
    let costs = sealstone_mqtt::simulate::Costs { sign_ms: [657.0; 3], ..paper::COSTS };
    let found = run(&workload, State::High, &Rule::Paper, Form::V1, &costs, &Link::SILENT, 0.9);
    near(found.sign_ms, 66.15, 2);
    near(found.bytes, 0.9 * 112.0 + 0.1 * 2500.0, 6);
}
