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

/// docs/features.md names a test for each feature, as `file::test`.
#[test]
fn the_features_name_tests_that_exist() {
    let text = include_str!("../../../docs/features.md");
    let names = text.split('`').skip(1).step_by(2).filter_map(|name| name.split_once("::"));
    let mut count = 0;
    for (file, test) in names {
        let path = format!("{}/tests/{file}.rs", env!("CARGO_MANIFEST_DIR"));
        let source = std::fs::read_to_string(&path).unwrap_or_else(|cause| panic!("{path}: {cause}"));
        let before = source.split_once(&format!("fn {test}(")).map(|(before, _)| before);
        let before = before.unwrap_or_else(|| panic!("{file} has no test {test}"));
        let marks = ["#[tokio::test", "#[test]"];
        let mark = before.rfind("#[").map(|at| &before[at..]).unwrap_or_default();
        assert!(marks.iter().any(|known| mark.starts_with(known)), "{file}::{test} is no test");
        count += 1;
    }
    assert!(count > 30, "{count}");
}
