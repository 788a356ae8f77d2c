//! Key sets that a server publishes, fetched by the command.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::real::{Server, sealstone, write_config};

/// What the command says, and its exit code.
fn said(directory: &Path, words: &[&str]) -> (String, String, i32) {
    let done = sealstone(directory).args(words).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(done.stdout), text(done.stderr), done.status.code().unwrap())
}

#[test]
fn a_published_set_is_fetched_and_tokens_are_checked_with_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    write_config(here, "sealstone.toml", "data");
    let mut command = sealstone(here);
    command.args(["serve", "--config", "sealstone.toml"]);
    let mut server = Server::start(command, &here.join("data"));
    let url = format!("https://localhost:{}/jwks", server.address.port());
    let ca = here.join("data/tls-self-signed.pem").display().to_string();
    let all = ["jwks", "fetch", &url, "--allow-private", "--ca", &ca];

    let (out, err, code) = said(here, &all);
    assert_eq!((err.as_str(), code), ("", 0), "{out}");
    assert!(out.contains("Cache-Control") && out.contains("ETag") && out.contains("ES256"), "{out}");
    let (out, _, _) = said(here, &[&all[..], &["--json", "--out", "set.json"]].concat());
    let told: Value = serde_json::from_str(&out).unwrap();
    let written: Value = serde_json::from_slice(&fs::read(here.join("set.json")).unwrap()).unwrap();
    assert_eq!(told["keys"][0]["kid"], written["keys"][0]["kid"]);
    assert_eq!(told["keys"].as_array().unwrap().len(), written["keys"].as_array().unwrap().len());

    // A token of a key that is not published: the set was fetched, and says so.
    assert_eq!(said(here, &["key", "generate", "--alg", "ES256", "--out", "mine.pem"]).2, 0);
    let sign = ["jwt", "sign", "--key", "mine.pem", "--expires-in", "1m", "--out", "token.jwt"];
    assert_eq!(said(here, &sign).2, 0);
    let verify = ["jwt", "verify", "--jwks-url", &url, "--allow-private", "--ca", &ca, "token.jwt"];
    let (_, err, code) = said(here, &verify);
    assert!(err.contains("no key of the set has the kid"), "{err}");
    assert_eq!(code, 1);

    // What is not asked for is not done.
    let (_, err, code) = said(here, &["jwks", "fetch", &url, "--ca", &ca]);
    assert!(err.contains("is not public") && err.contains("--allow-private"), "{err}");
    assert_eq!(code, 2);
    let (_, err, code) = said(here, &["jwks", "fetch", &url, "--allow-private"]);
    assert!(err.contains("--ca FILE"), "{err}");
    assert_eq!(code, 2);
    let (_, err, code) =
        said(here, &["jwks", "fetch", "http://localhost/jwks", "--allow-private", "--ca", &ca]);
    assert!(err.contains("https"), "{err}");
    assert_eq!(code, 2);
    let (_, err, code) = said(here, &["jwt", "verify", "--key", "mine.pem", "--allow-private", "token.jwt"]);
    assert!(err.contains("nothing is fetched"), "{err}");
    assert_eq!(code, 2);
    server.stop();
    let (_, err, code) = said(here, &all);
    assert!(err.starts_with("error: fetching the key set: "), "{err}");
    assert_eq!(code, 2);
}
