//! Clients of the configuration: what they may, who may change them, and what becomes of one that is there no more.

use std::fs;
use std::path::Path;

use http_body_util::Full;
use sealstone_auth::{Config, Error, NewClient, Server, World};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Answer, Credentials, Running, names};

const SECRET: &str = "0123456789abcdef0123456789abcdef";
/// The configuration of a directory with these clients.
fn parsed(directory: &Path, clients: &str) -> Result<Config, Error> {
    let data = directory.join("data");
    // The issuer stays the same while the port does not.
    let head = format!(
        "data_dir = {data:?}\nissuer = \"https://auth.example.org\"\nlisten = \"127.0.0.1:0\"\n[admin]\napi = true\n[tokens]\nalgorithms = [\"ES256\"]\n\
         [store]\npoll_milliseconds = 20\n[passwords]\nlanes = 1\nmemory_kib = 7168\npasses = 5\n"
    );
    Config::parse(&format!("{head}{clients}"), Some(Path::new("sealstone.toml")))
}

/// The lines of [`parsed`] before the clients.
const HEAD: usize = 13;

fn config(directory: &Path, clients: &str) -> Config {
    parsed(directory, clients).unwrap()
}

async fn refused(directory: &Path, clients: &str) -> (Option<usize>, String) {
    let bound = match parsed(directory, clients) {
        Ok(config) => Server::bind(config, World::default()).await.map(drop),
        Err(cause) => Err(cause),
    };
    let cause = bound.unwrap_err();
    let Error::Config(error) = &cause else { panic!("{cause}") };
    assert_eq!(error.file.as_deref(), Some(Path::new("sealstone.toml")));
    assert!(error.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{cause}");
    assert!(!format!("{cause:?}").contains("do-not-show"), "{cause:?}");
    (error.line.map(|line| line - HEAD), error.what.clone())
}

fn client(id: &str, more: &str) -> String {
    format!("[[static_clients]]\nclient_id = \"{id}\"\nid_token_signed_response_alg = \"ES256\"\n{more}\n")
}

/// One that is known by the secret in a file.
fn batch(directory: &Path) -> String {
    let file = directory.join("batch.secret");
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    client("batch", &format!("scope = \"orders:read\"\nclient_secret_file = {file:?}"))
}

async fn token(server: &Running, id: &str) -> Answer {
    let who = Credentials { id: id.into(), secret: SECRET.into() };
    let request = server
        .request("POST", "/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("authorization", who.basic());
    server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await
}

/// A request to the admin API by an administrator of everything.
async fn ask(server: &Running, method: &str, path: &str, body: Value) -> Answer {
    let new = NewClient {
        algorithm: Algorithm::Es256,
        scopes: names(&["sealstone:admin"]),
        ..NewClient::default()
    };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    let got = loop {
        let request = server
            .request("POST", "/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("authorization", who.basic());
        let got = server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await;
        if got.status == 200 {
            break got.json()["access_token"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let request = server
        .request(method, &format!("/admin/v1{path}"))
        .header("content-type", "application/json")
        .header("authorization", format!("Bearer {got}"));
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(request.body(Full::from(body)).unwrap()).await
}

#[tokio::test]
async fn the_configuration_decides() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let hashed = client("hashed", &format!("client_secret_sha256 = \"{}\"", sha256(SECRET)));
    let server = Running::start(config(path, &format!("{}{hashed}", batch(path)))).await;
    let got = token(&server, "batch").await.json();
    assert_eq!((&got["scope"], token(&server, "hashed").await.status.as_u16()), (&json!("orders:read"), 200));

    let shown = ask(&server, "GET", "/clients/batch", Value::Null).await.json();
    assert_eq!((&shown["configured"], &shown["disabled"]), (&json!(true), &json!(false)));
    let mut changed = shown.clone();
    changed["scope"] = json!("sealstone:admin");
    for (method, address, body) in [
        ("PUT", "/clients/batch", changed),
        ("DELETE", "/clients/batch", Value::Null),
        ("POST", "/clients/batch/secret", json!({})),
        ("POST", "/clients", json!({"client_id": "batch", "id_token_signed_response_alg": "ES256"})),
    ] {
        let answer = ask(&server, method, address, body).await;
        assert_eq!(answer.status.as_u16(), 409, "{method} {address}");
        if address != "/clients" {
            let said = answer.json()["error_description"].as_str().unwrap().to_owned();
            assert!(said.contains("is of the configuration; change"), "{said}");
        }
    }
    assert_eq!(ask(&server, "GET", "/clients/batch", Value::Null).await.json(), shown);
    assert_eq!(token(&server, "batch").await.status, 200);
    server.stop().await;
}

/// Without change nothing is written; what is gone is disabled with its tokens, and comes back as it was.
#[tokio::test]
async fn what_is_gone_is_disabled_and_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let file = path.join("mac.secret");
    fs::write(&file, SECRET).unwrap();
    let mac = client(
        "mac",
        &format!("token_endpoint_auth_method = \"client_secret_jwt\"\nclient_secret_file = {file:?}"),
    );
    let both = format!("{}{mac}", batch(path));
    let server = Running::start(config(path, &both)).await;
    let first = versions(&server).await;
    let got = token(&server, "batch").await.json();
    let got = got["access_token"].as_str().unwrap().to_owned();
    server.stop().await;

    let server = Running::start(config(path, &both)).await;
    assert_eq!(versions(&server).await, first, "nothing is written where nothing has changed");
    assert!(is_active(&server, &got).await);
    server.stop().await;

    let server = Running::start(config(path, &mac)).await;
    assert_eq!(token(&server, "batch").await.status, 401);
    assert!(!is_active(&server, &got).await);
    let shown = ask(&server, "GET", "/clients/batch", Value::Null).await.json();
    assert_eq!((&shown["configured"], &shown["disabled"]), (&json!(false), &json!(true)));
    let answer = ask(&server, "PUT", "/clients/batch", shown.clone()).await;
    assert_eq!(answer.status, 409);
    assert!(answer.json()["error_description"].as_str().unwrap().contains("disabled"));
    server.stop().await;

    let server = Running::start(config(path, &both)).await;
    assert_eq!(token(&server, "batch").await.status, 200);
    assert!(is_active(&server, &got).await);
    let again = ask(&server, "GET", "/clients/batch", Value::Null).await.json();
    assert_eq!(again["client_id_issued_at"], shown["client_id_issued_at"]);
    // A change of the file is a change of the client.
    server.stop().await;
    let other = both.replace("orders:read", "orders:write");
    let server = Running::start(config(path, &other)).await;
    assert_eq!(token(&server, "batch").await.json()["scope"], "orders:write");
    server.stop().await;

    // Gone for good: first from the file, then from the store.
    let server = Running::start(config(path, "")).await;
    assert_eq!(ask(&server, "DELETE", "/clients/batch", Value::Null).await.status, 204);
    assert_eq!(ask(&server, "GET", "/clients/batch", Value::Null).await.status, 404);
    server.stop().await;
}

/// Servers that start together on one store agree.
#[tokio::test]
async fn servers_that_start_together_agree() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let text =
        (0..8).map(|n| batch(path).replace("\"batch\"", &format!("\"batch-{n}\""))).collect::<String>();
    drop(Server::bind(config(path, ""), World::default()).await.unwrap());
    let mut own = config(path, &text);
    own.audit.enabled = false;
    let bind = || Server::bind(own.clone(), World::default());
    let (one, two, three) = tokio::join!(bind(), bind(), bind());
    let admin = one.unwrap().admin();
    drop((two.unwrap(), three.unwrap()));
    let mut versions: Vec<u64> =
        admin.list_clients().await.unwrap().iter().map(|(_, version)| version.0).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=8).collect::<Vec<u64>>(), "each was written once");
}

#[tokio::test]
async fn a_wrong_file_stops_the_start() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let (short, secret, keys) = (path.join("short"), path.join("secret"), path.join("keys.jwks"));
    fs::write(&short, "do-not-show").unwrap();
    fs::write(&secret, SECRET).unwrap();
    let private = PrivateKey::generate(Algorithm::Es256).unwrap();
    fs::write(&keys, JwkSet::new([private.public().clone()]).unwrap().to_json()).unwrap();
    let with_secret = format!("client_secret_file = {secret:?}");
    for (what, clients, line, words) in [
        ("no id", "[[static_clients]]\nscope = \"a\"\n".into(), 1, "`client_id` is missing"),
        ("an id with a space", client("a b", &with_secret), 2, "id: 3 bytes"),
        ("a secret", client("a", "client_secret = \"do-not-show\""), 4, "does not belong into"),
        ("no secret", client("a", ""), 1, "client_secret_basic needs a secret"),
        (
            "a secret too many",
            client(
                "a",
                &format!(
                    "token_endpoint_auth_method = \"none\"\nredirect_uris = [\"https://a.example/\"]\n{with_secret}"
                ),
            ),
            4,
            "has no secret",
        ),
        ("both", client("a", &format!("{with_secret}\nclient_secret_sha256 = \"00\"")), 5, "both there"),
        ("no hash", client("a", "client_secret_sha256 = \"abc\""), 4, "no SHA-256"),
        ("a short secret", client("a", &format!("client_secret_file = {short:?}")), 4, "fewer than 32"),
        ("no file", client("a", "client_secret_file = \"/nowhere/a\""), 4, "/nowhere/a: "),
        (
            "a hash for a MAC",
            client(
                "a",
                &format!(
                    "token_endpoint_auth_method = \"client_secret_jwt\"\nclient_secret_sha256 = \"{}\"",
                    sha256(SECRET)
                ),
            ),
            5,
            "needs the secret itself",
        ),
        (
            "a slip",
            client("a", &format!("{with_secret}\nredirect_uri = [\"https://a.example/\"]")),
            5,
            "called redirect_uri",
        ),
        (
            "another type",
            client("a", &format!("{with_secret}\nredirect_uris = \"https://a.example/\"")),
            5,
            "`redirect_uris` has another type",
        ),
        (
            "no redirect URI",
            client("a", &format!("{with_secret}\nredirect_uris = [\"/callback\"]")),
            5,
            "a redirect URI",
        ),
        (
            "a long life",
            client("a", &format!("{with_secret}\ntoken_lifetime_seconds = 9999999")),
            5,
            "token lifetime",
        ),
        (
            "no key set",
            client("a", &format!("token_endpoint_auth_method = \"private_key_jwt\"\njwks_file = {secret:?}")),
            5,
            "not JSON",
        ),
        (
            "two key sets",
            client(
                "a",
                &format!(
                    "token_endpoint_auth_method = \"private_key_jwt\"\njwks_file = {keys:?}\njwks = {{}}"
                ),
            ),
            5,
            "both there",
        ),
        ("twice", format!("{}{}", client("a", &with_secret), client("a", &with_secret)), 6, "there twice"),
        ("the second", format!("{}{}", client("good", &with_secret), client("a", "")), 5, "needs a secret"),
    ] {
        let (found, said) = refused(path, &clients).await;
        assert!(said.contains(words), "{what}: {said}");
        assert_eq!(found, Some(line), "{what}: {said}");
    }
    let admin = sealstone_auth::Admin::open(&config(path, "")).unwrap();
    assert_eq!(admin.list_clients().await.unwrap().len(), 0, "nothing is written beside what is wrong");

    // A key set in a file, and an id that somebody has registered.
    let signer = format!("token_endpoint_auth_method = \"private_key_jwt\"\njwks_file = {keys:?}");
    drop(Server::bind(config(path, &client("signer", &signer)), World::default()).await.unwrap());
    let new = NewClient { algorithm: Algorithm::Es256, id: Some("taken".into()), ..NewClient::default() };
    admin.add_client(new).await.unwrap();
    let (line, said) = refused(path, &client("taken", &with_secret)).await;
    assert_eq!((line, said.contains("registered already")), (Some(2), true), "{said}");
}

async fn versions(server: &Running) -> Vec<(String, u64)> {
    let clients = server.admin.list_clients().await.unwrap();
    let all = clients.into_iter().map(|(client, version)| (client.id, version.0));
    all.filter(|(id, _)| ["batch", "mac"].contains(&id.as_str())).collect()
}

/// Whether a token is active, as a resource server is told.
async fn is_active(server: &Running, token: &str) -> bool {
    let new = NewClient {
        algorithm: Algorithm::Es256,
        resources: vec![server.issuer.clone()],
        ..NewClient::default()
    };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    loop {
        let request = server
            .request("POST", "/introspect")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("authorization", who.basic());
        let answer = server.send(request.body(Full::from(format!("token={token}"))).unwrap()).await;
        if answer.status == 200 {
            return answer.json()["active"] == true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

fn sha256(text: &str) -> String {
    let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
