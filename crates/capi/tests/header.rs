//! The header and the sources say the same, declaration by declaration: functions, structs, numbers.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// How types of the sources are called in the header.
const TYPES: [(&str, &str); 12] = [
    ("c_int", "int"),
    ("c_char", "char"),
    ("usize", "size_t"),
    ("u8", "uint8_t"),
    ("u32", "uint32_t"),
    ("u64", "uint64_t"),
    ("Handle<PrivateKey>", "sealstone_private_key"),
    ("Handle<PublicKey>", "sealstone_public_key"),
    ("Handle<MuHasher>", "sealstone_mu"),
    ("Handle<KeySet>", "sealstone_jwk_set"),
    ("SealstoneJwsHeader", "sealstone_jws_header"),
    ("SealstoneJwtRules", "sealstone_jwt_rules"),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn sources() -> String {
    let mut files: Vec<_> =
        fs::read_dir(root().join("src")).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

/// The header without comments and preprocessor lines, each run of white space as one space.
fn header() -> String {
    let text = fs::read_to_string(root().join("include/sealstone.h")).unwrap();
    let mut bare = String::new();
    let mut rest = text.as_str();
    while let Some((code, comment)) = rest.split_once("/*") {
        bare.push_str(code);
        rest = comment.split_once("*/").unwrap().1;
    }
    bare.push_str(rest);
    let code = bare.lines().filter(|line| !line.trim_start().starts_with('#')).collect::<Vec<_>>().join(" ");
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `*const *mut T` as C writes it: `T *const *`; read from the inside out.
fn c_type(rust: &str) -> String {
    let rust = rust.trim();
    if let Some(inner) = rust.strip_prefix("*const ") {
        return match c_type(inner) {
            pointer if pointer.ends_with('*') => format!("{pointer}const *"),
            plain => format!("const {plain} *"),
        };
    }
    if let Some(inner) = rust.strip_prefix("*mut ") {
        return match c_type(inner) {
            pointer if pointer.ends_with('*') => format!("{pointer}*"),
            plain => format!("{plain} *"),
        };
    }
    let found = TYPES.iter().find(|(name, _)| *name == rust);
    match (found, rust) {
        (Some((_, c)), _) => (*c).to_owned(),
        (None, "SealstoneSignJob") => "sealstone_sign_job".to_owned(),
        (None, "SealstoneVerifyJob") => "sealstone_verify_job".to_owned(),
        (None, other) => panic!("the table of types lacks {other}"),
    }
}

fn declared(kind: &str, name: &str) -> String {
    if kind.ends_with('*') { format!("{kind}{name}") } else { format!("{kind} {name}") }
}

fn parameters(rust: &str) -> Vec<(String, String)> {
    let split = rust.split(',').map(str::trim).filter(|parameter| !parameter.is_empty());
    split
        .map(|parameter| {
            let (name, kind) = parameter.split_once(':').unwrap();
            (name.trim().to_owned(), kind.split_whitespace().collect::<Vec<_>>().join(" "))
        })
        .collect()
}

/// Every exported function of the sources, as the header should declare it.
fn exported() -> BTreeMap<String, String> {
    let sources = sources();
    let mut found = BTreeMap::new();
    for after in sources.split("#[unsafe(no_mangle)]").skip(1) {
        let (_, after) = after.split_once("extern \"C\" fn ").unwrap();
        let (name, after) = after.split_once('(').unwrap();
        let (inside, after) = after.split_once(')').unwrap();
        let result = after.split_once('{').unwrap().0.trim();
        let result = result.strip_prefix("->").map_or("void".to_owned(), c_type);
        let inside: Vec<_> =
            parameters(inside).into_iter().map(|(name, kind)| declared(&c_type(&kind), &name)).collect();
        let inside = if inside.is_empty() { "void".to_owned() } else { inside.join(", ") };
        found.insert(name.to_owned(), format!("{}({inside});", declared(&result, name)));
    }
    // Only where a test asks for it.
    found.remove("sealstone_panic_for_test");
    found
}

#[test]
fn functions_are_declared_as_they_are() {
    let (header, exported) = (header(), exported());
    assert!(exported.len() >= 45, "only {} functions were found in the sources", exported.len());
    for (name, declaration) in &exported {
        assert!(
            header.contains(declaration.as_str()),
            "the header lacks: {declaration}\nor has {name} otherwise"
        );
    }
    let calls = header.split('(').filter_map(|before| before.rsplit([' ', '*']).next());
    let names: Vec<_> = calls.filter(|name| name.starts_with("sealstone_")).collect();
    for name in &names {
        assert!(exported.contains_key(*name), "the header declares {name}, which is not exported");
    }
    assert_eq!(names.len(), exported.len(), "a function is declared twice");
}

#[test]
fn structs_have_the_same_members_in_the_same_order() {
    let (header, sources) = (header(), sources());
    let mut seen = 0;
    for after in sources.split("#[repr(C)]\npub struct ").skip(1) {
        let (name, after) = after.split_once([' ', '<']).unwrap();
        if name == "Handle" {
            continue;
        }
        let (_, after) = after.split_once('{').unwrap();
        let (inside, _) = after.split_once("\n}").unwrap();
        let members = inside.lines().filter_map(|line| line.trim().strip_prefix("pub "));
        let members: String = members
            .map(|member| {
                let (name, kind) = member.trim_end_matches(',').split_once(':').unwrap();
                format!("{}; ", declared(&c_type(kind), name))
            })
            .collect();
        let name = c_type(name);
        let expected = format!("typedef struct {name} {{ {members}}} {name};");
        assert!(header.contains(&expected), "the header lacks: {expected}");
        seen += 1;
    }
    assert_eq!(seen, 4);
    let opaque = header.matches("typedef struct").count() - seen;
    assert_eq!(opaque, 4, "handles: private key, public key, mu, key set");
}

#[test]
fn numbers_are_the_same() {
    let (header, sources) = (header(), sources());
    let mut seen = 0;
    for after in sources.split("pub const SEALSTONE_").skip(1) {
        let (name, after) = after.split_once(':').unwrap();
        let value = after.split_once('=').unwrap().1.split_once(';').unwrap().0.trim();
        let expected = format!("SEALSTONE_{name} = {value}");
        let at = header.find(&format!("{expected} ")).or_else(|| header.find(&format!("{expected},")));
        assert!(at.is_some(), "the header lacks: {expected}");
        seen += 1;
    }
    assert_eq!(seen, 18 + 4, "statuses and flags");
}

#[test]
fn sizes_and_versions_are_those_of_the_library() {
    use sealstone_mldsa::{CONTEXT_MAX, Level, MU_LEN, SEED_LEN};
    let header = header();
    let has = |name: &str, value: usize| {
        let found = [" ", ","].iter().any(|end| header.contains(&format!("SEALSTONE_{name} = {value}{end}")));
        assert!(found, "the header lacks SEALSTONE_{name} = {value}");
    };
    has("SEED_LEN", SEED_LEN);
    has("MU_LEN", MU_LEN);
    has("CONTEXT_MAX", CONTEXT_MAX);
    for (level, name) in Level::ALL.into_iter().zip(["ML_DSA_44", "ML_DSA_65", "ML_DSA_87"]) {
        has(name, name[7..].parse().unwrap());
        has(&format!("{name}_PUBLIC_KEY_LEN"), level.verifying_key_len());
        has(&format!("{name}_EXPANDED_KEY_LEN"), level.signing_key_len());
        has(&format!("{name}_SIGNATURE_LEN"), level.signature_len());
    }
    let text = fs::read_to_string(root().join("include/sealstone.h")).unwrap();
    assert!(text.contains(concat!("#define SEALSTONE_VERSION \"", env!("CARGO_PKG_VERSION"), "\"")));
}

/// Nothing but what must be: every function goes through the one door that catches panics, or does nothing that could.
#[test]
fn every_function_goes_through_the_door() {
    /// These return a constant, or look one up.
    const QUIET: [&str; 6] = [
        "sealstone_version",
        "sealstone_status_name",
        "sealstone_last_error",
        "sealstone_public_key_len",
        "sealstone_expanded_key_len",
        "sealstone_signature_len",
    ];
    let sources = sources();
    let mut doors = 0;
    for after in sources.split("extern \"C\" fn ").skip(1) {
        let (name, after) = after.split_once('(').unwrap();
        let Some((_, body)) = after.split_once('{') else { continue };
        let (body, _) = body.split_once("\n}").unwrap();
        if QUIET.contains(&name) {
            continue;
        }
        // The last expression: what comes before it only names pointers and closures.
        let through = body.contains("\n    enter(") || body.contains("\n    number(");
        assert!(through, "{name} does not go through the door");
        let before = body.split("\n    enter(").next().unwrap().split("\n    number(").next().unwrap();
        for line in before.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//")) {
            // The pointers of two outputs stand on lines of their own.
            let pieces = ["(", ")", "};"];
            if line.starts_with("Block::") || pieces.contains(&line) {
                continue;
            }
            let names = ["let out = ", "let level = || ", "let count = || ", "let give = || ", "(Block::"];
            assert!(
                names.iter().any(|start| line.starts_with(start)),
                "{name}: work before the door: {line}"
            );
        }
        doors += 1;
    }
    assert_eq!(doors + QUIET.len(), exported().len() + 1, "with the one that panics");
}
