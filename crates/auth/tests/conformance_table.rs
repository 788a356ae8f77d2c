//! docs/conformance.md and docs/conformance-oidc.md say of each module of the conformance suite which test of ours stands for
//! it. Here they are held to that.

use std::collections::{BTreeMap, BTreeSet};

const TABLES: [&str; 2] =
    [include_str!("../../../docs/conformance.md"), include_str!("../../../docs/conformance-oidc.md")];
const SOURCES: [&str; 7] = [
    include_str!("conformance_dynamic.rs"),
    include_str!("conformance_fapi.rs"),
    include_str!("conformance_fapi_jar.rs"),
    include_str!("conformance_fapi_par.rs"),
    include_str!("conformance_fapi_token.rs"),
    include_str!("conformance_formpost.rs"),
    include_str!("conformance_oidc.rs"),
];
/// How many modules there are of each letter.
const MODULES: [(char, usize); 6] = [('B', 38), ('C', 1), ('D', 23), ('F', 38), ('M', 14), ('S', 56)];

/// Every row of the table: id, module, and the tests that it names.
fn rows() -> Vec<(String, String, BTreeSet<String>)> {
    let lines = TABLES.iter().flat_map(|table| table.lines());
    let cells = lines.filter_map(|line| line.strip_prefix("| ")).map(|line| {
        line.trim_end_matches('|').split('|').map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    });
    let is_id = |text: &str| text.len() == 3 && text[1..].bytes().all(|byte| byte.is_ascii_digit());
    cells
        .filter(|cells| cells.len() == 6 && is_id(&cells[0]))
        .map(|cells| {
            let tests = cells[4].split(", ").map(|name| name.trim_matches('`').to_owned());
            (cells[0].clone(), cells[1].clone(), tests.collect())
        })
        .collect()
}

/// The tests that the sources have, each of which runs.
fn tests() -> BTreeSet<String> {
    let after_mark = SOURCES.iter().flat_map(|source| source.split("#[tokio::test]\n").skip(1));
    let names = after_mark.map(|text| {
        let signature = text.strip_prefix("async fn ").expect("nothing between the mark and its test");
        signature.split('(').next().unwrap().to_owned()
    });
    names.collect()
}

#[test]
fn conformance_table_names_a_test_for_each_module_and_no_other() {
    let (rows, tests) = (rows(), tests());
    let mut count: BTreeMap<char, usize> = BTreeMap::new();
    let mut named = BTreeSet::new();
    for (index, (id, module, own)) in rows.iter().enumerate() {
        assert!(rows[..index].iter().all(|(other, ..)| other != id), "{id} stands there twice");
        *count.entry(id.chars().next().unwrap()).or_default() += 1;
        let stem = format!("{}_{}", id.to_lowercase(), module.to_lowercase().replace(['-', '.'], "_"));
        assert!(own.contains(&stem), "{id}: no test is called {stem}");
        for test in own {
            assert!(tests.contains(test), "{id}: there is no test {test}");
            assert!(test.starts_with(&stem), "{id}: {test} is of another module");
        }
        named.extend(own.clone());
    }
    assert_eq!(count, BTreeMap::from(MODULES));
    assert_eq!(named, tests, "every test has a row");
}

/// Whether there is such a test: `file::test` of this crate, or after the name of another.
fn exists(name: &str) {
    let (place, test) = name.split_once("::").unwrap();
    let (crate_name, file) = place.split_once('/').unwrap_or(("auth", place));
    let path = format!("{}/../{crate_name}/tests/{file}.rs", env!("CARGO_MANIFEST_DIR"));
    let source = std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{path}: {cause}"));
    let before = source.split_once(&format!("fn {test}(")).map(|(before, _)| before);
    let before = before.unwrap_or_else(|| panic!("{place} has no test {test}"));
    let marks = ["#[tokio::test", "#[test]", "#[ignore", "#[cfg"];
    let mark = before.rfind("#[").map(|at| &before[at..]).unwrap_or_default();
    assert!(marks.iter().any(|known| mark.starts_with(known)), "{name} is no test");
}

fn named(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|name| name.contains("::")).collect()
}

/// docs/features.md names a test for each feature, as `file::test`.
#[test]
fn the_features_name_tests_that_exist() {
    let names = named(include_str!("../../../docs/features.md"));
    names.iter().for_each(|name| exists(name));
    assert!(names.len() > 30, "{}", names.len());
}

/// docs/attacks.md: every section of RFC 9700 and every attacker has a row, every row a test, and every test of the files
/// about attacks a row.
#[test]
fn the_attacks_name_tests_that_exist() {
    let text = include_str!("../../../docs/attacks.md");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| "))
        .map(|line| line.trim_end_matches('|').split('|').map(str::trim).collect())
        .filter(|cells: &Vec<&str>| cells[0] != "attack")
        .collect();
    for cells in &rows {
        assert_eq!(cells.len(), 5, "{cells:?}");
        let names = named(cells[3]);
        assert!(!names.is_empty(), "{}", cells[0]);
        names.iter().for_each(|name| exists(name));
        assert!(
            ["ours", "shared", "not there"].iter().any(|known| cells[4].starts_with(known)),
            "{}",
            cells[4]
        );
    }
    let of = |section: &str| {
        let within = |cell: &str| cell == section || cell.starts_with(&format!("{section}."));
        rows.iter().any(|cells| within(cells[1]))
    };
    (1..=17).for_each(|number| assert!(of(&format!("4.{number}")), "RFC 9700 section 4.{number}"));
    ["A1", "A1a", "A2", "A3a", "A3b", "A5", "A7"].iter().for_each(|one| assert!(of(one), "attacker {one}"));
    for (file, source) in [
        ("attacks_fapi", include_str!("attacks_fapi.rs")),
        ("attacks_rfc9700", include_str!("attacks_rfc9700.rs")),
        ("hostile_tokens", include_str!("hostile_tokens.rs")),
    ] {
        for test in source.split("#[tokio::test]\nasync fn ").skip(1) {
            let name = format!("`{file}::{}`", test.split('(').next().unwrap());
            assert!(text.contains(&name), "{name} has no row");
        }
    }
}
