//! Clients that register themselves, over TLS: RFC 7591 and RFC 7592.

use std::path::Path;

use http_body_util::Full;
use sealstone_auth::{Config, NewClient};
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Answer, Credentials, Running, config, names};

const CALLBACK: &str = "https://shop.example/callback";

fn enabled(directory: &Path) -> Config {
    let mut config = config(directory);
    config.registration.enabled = true;
    config.registration.open = true;
    config.tokens.algorithms = vec![Algorithm::MlDsa65, Algorithm::Es256, Algorithm::Rs256];
    config
}

async fn send(server: &Running, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let mut request = server.request(method, path).header("content-type", "application/json");
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(request.body(Full::from(body)).unwrap()).await
}

async fn register(server: &Running, body: Value) -> Answer {
    send(server, "POST", "/register", "", &body).await
}

fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap_or_default()
}

/// The path of the client's own address.
fn place(server: &Running, information: &Value) -> String {
    text(information, "registration_client_uri").strip_prefix(&server.issuer).unwrap().to_owned()
}

/// Takes a token by client_credentials with the registered secret.
async fn takes_a_token(server: &Running, information: &Value) -> u16 {
    let who = Credentials {
        id: text(information, "client_id").into(),
        secret: text(information, "client_secret").into(),
    };
    let request = server
        .request("POST", "/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("authorization", who.basic())
        .body(Full::from("grant_type=client_credentials"))
        .unwrap();
    server.send(request).await.status.as_u16()
}

#[tokio::test]
async fn rfc7591_s3_2_1_what_is_registered_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(enabled(directory.path())).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["registration_endpoint"], format!("{}/register", server.issuer));

    let answer = register(
        &server,
        json!({"redirect_uris": [CALLBACK], "client_name": "Shop", "logo_uri": "https://x.example/l"}),
    )
    .await;
    assert_eq!((answer.status.as_u16(), answer.header("cache-control")), (201, "no-store"));
    let said = answer.json();
    for (name, value) in [
        ("client_name", json!("Shop")),
        ("client_secret_expires_at", json!(0)),
        ("grant_types", json!(["authorization_code"])),
        ("id_token_signed_response_alg", json!("RS256")),
        ("redirect_uris", json!([CALLBACK])),
        ("response_types", json!(["code"])),
        ("scope", json!("email openid profile")),
        ("token_endpoint_auth_method", json!("client_secret_basic")),
    ] {
        assert_eq!(said[name], value, "{name}");
    }
    assert_eq!(said["logo_uri"], Value::Null, "what is not registered is not said");
    assert!(text(&said, "client_secret").len() >= 43 && text(&said, "registration_access_token").len() >= 43);
    assert_eq!(
        text(&said, "registration_client_uri"),
        format!("{}/register/{}", server.issuer, text(&said, "client_id"))
    );
    // It is a client at once: what it lacks is a grant.
    assert_eq!(takes_a_token(&server, &said).await, 400);
    server.stop().await;
}

/// Each of these is refused with its code, and nothing is registered.
#[tokio::test]
async fn rfc7591_s3_2_2_what_is_not_possible() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(enabled(directory.path())).await;
    let before = server.admin.list_clients().await.unwrap().len();
    let with = |name: &str, value: Value| {
        let mut all = json!({"redirect_uris": [CALLBACK]});
        all[name] = value;
        all
    };
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let private: Value = serde_json::from_str(&key.to_jwk().to_json()).unwrap();
    for (uri, what) in [
        ("https://shop.example/#f", "a fragment"),
        ("http://shop.example/", "http"),
        ("javascript:alert(1)", "a script"),
        ("/callback", "no scheme"),
        ("https://user@shop.example/", "a user"),
    ] {
        let answer = register(&server, json!({"redirect_uris": [uri]})).await;
        assert_eq!(answer.refusal(), (400, "invalid_redirect_uri".into()), "{what}");
    }
    let jwt = |jwks: Value| json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt", "jwks": jwks});
    let cases = [
        ("no redirect URI", json!({})),
        ("implicit", with("grant_types", json!(["implicit"]))),
        ("password", with("grant_types", json!(["password"]))),
        ("token exchange", with("grant_types", json!(["urn:ietf:params:oauth:grant-type:token-exchange"]))),
        ("response_types of the implicit grant", with("response_types", json!(["id_token"]))),
        ("two response types", with("response_types", json!(["code", "code token"]))),
        ("an unknown method", with("token_endpoint_auth_method", json!("kerberos"))),
        ("an unknown algorithm", with("id_token_signed_response_alg", json!("RS512"))),
        ("none", with("id_token_signed_response_alg", json!("none"))),
        ("an algorithm that is not enabled", with("id_token_signed_response_alg", json!("ES384"))),
        ("no key", json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt"})),
        ("an empty set", jwt(json!({"keys": []}))),
        ("a private key", jwt(json!({"keys": [private]}))),
        ("a set in text", jwt(json!("keys"))),
        (
            "keys twice",
            json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt",
                "jwks": {"keys": []}, "jwks_uri": "https://shop.example/jwks"}),
        ),
        (
            "keys of a private address",
            json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": "https://127.0.0.1/jwks"}),
        ),
        (
            "keys by http",
            json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "private_key_jwt",
                "jwks_uri": "http://shop.example/jwks"}),
        ),
        (
            "a public client with client_credentials",
            json!({"token_endpoint_auth_method": "none", "grant_types": ["client_credentials"]}),
        ),
        (
            "two names of a certificate",
            json!({"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "tls_client_auth",
            "tls_client_auth_san_dns": "a.example", "tls_client_auth_san_ip": "192.0.2.1"}),
        ),
        ("another type", with("redirect_uris", json!(CALLBACK))),
        ("a number for a name", with("client_name", json!(1))),
        ("a long name", with("client_name", json!("x".repeat(257)))),
        ("a name of two lines", with("client_name", json!("a\nb"))),
        ("an array", json!([1])),
    ];
    for (what, body) in cases {
        let answer = register(&server, body).await;
        assert_eq!(answer.status.as_u16(), 400, "{what}: {answer:?}");
        assert_eq!(answer.refusal(), (400, "invalid_client_metadata".into()), "{what}");
        let description = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(
            description.bytes().all(|b| (0x20..0x7f).contains(&b) && !b"\"\\".contains(&b)),
            "{description}"
        );
    }
    let form = server.request("POST", "/register").header("content-type", "text/plain");
    let answer = server.send(form.body(Full::from("{}")).unwrap()).await;
    assert_eq!(answer.refusal(), (400, "invalid_request".into()));
    let large = register(&server, json!({"client_name": "x".repeat(1 << 17)})).await;
    assert_eq!(large.status.as_u16(), 413);
    assert_eq!(server.admin.list_clients().await.unwrap().len(), before);
    server.stop().await;
}

/// A client cannot give itself what only the operator gives.
#[tokio::test]
async fn rfc7591_s5_no_more_than_the_policy() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = enabled(directory.path());
    config.registration.most = std::num::NonZeroUsize::new(2).unwrap();
    let server = Running::start(config).await;
    let answer = register(&server, json!({
        "redirect_uris": [CALLBACK], "grant_types": ["authorization_code", "refresh_token"],
        "scope": "openid sealstone:register sealstone:admin orders:write", "client_id": "mine", "client_secret": "mine",
        "audiences": ["https://orders.example"], "resources": ["https://orders.example"], "token_lifetime_seconds": 1_000_000,
    })).await;
    let said = answer.json();
    assert_eq!(said["scope"], "offline_access openid");
    assert!(said["client_id"] != "mine" && said["client_secret"] != "mine");
    let clients = server.admin.list_clients().await.unwrap();
    let (client, _) = clients.iter().find(|(client, _)| client.id == text(&said, "client_id")).unwrap();
    assert!(client.audiences.is_empty() && client.resources.is_empty() && !client.code_flow.pkce_optional);
    assert_eq!(client.token_lifetime_seconds, 900);

    assert_eq!(register(&server, json!({"redirect_uris": [CALLBACK]})).await.status.as_u16(), 201);
    let full = register(&server, json!({"redirect_uris": [CALLBACK]})).await;
    assert_eq!(full.refusal(), (503, "temporarily_unavailable".into()));
    server.stop().await;
}

/// RFC 7591 §3: the operator decides who may register.
#[tokio::test]
async fn rfc7591_s3_initial_access_tokens() {
    let directory = tempfile::tempdir().unwrap();
    let mut config = enabled(directory.path());
    config.registration.open = false;
    let server = Running::start(config).await;
    let body = json!({"redirect_uris": [CALLBACK]});
    let answer = register(&server, body.clone()).await;
    assert_eq!(answer.refusal(), (401, "invalid_token".into()));
    assert!(answer.header("www-authenticate").starts_with("Bearer "));
    // A token of this server that is for something else.
    let answer = send(&server, "POST", "/register", &server.token().await, &body).await;
    assert_eq!(answer.refusal(), (403, "insufficient_scope".into()));
    assert!(answer.header("www-authenticate").contains("scope=\"sealstone:register\""));

    let registrar = NewClient { scopes: names(&["sealstone:register"]), ..NewClient::default() };
    let (client, secret) = server.admin.add_client(registrar).await.unwrap();
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    let token = loop {
        let request = server
            .request("POST", "/token")
            .header("content-type", "application/x-www-form-urlencoded")
            .header("authorization", who.basic())
            .body(Full::from("grant_type=client_credentials&scope=sealstone%3Aregister"))
            .unwrap();
        let answer = server.send(request).await;
        if answer.status == 200 {
            break answer.json()["access_token"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    assert_eq!(send(&server, "POST", "/register", &token, &body).await.status.as_u16(), 201);
    let mut broken = token.clone();
    broken.replace_range(token.len() - 4.., "AAAA");
    let answer = send(&server, "POST", "/register", &broken, &body).await;
    assert_eq!(answer.refusal(), (401, "invalid_token".into()));
    server.stop().await;
}

#[tokio::test]
async fn rfc7592_s2_read_change_and_leave() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(enabled(directory.path())).await;
    let body = json!({"client_name": "Before", "grant_types": ["client_credentials"], "scope": "profile"});
    let made = register(&server, body).await.json();
    let (place, token) = (place(&server, &made), text(&made, "registration_access_token").to_owned());
    assert_eq!(takes_a_token(&server, &made).await, 200);

    let read = send(&server, "GET", &place, &token, &Value::Null).await;
    let (status, read) = (read.status.as_u16(), read.json());
    assert_eq!((status, text(&read, "client_name")), (200, "Before"));
    assert_eq!(
        (&read["registration_access_token"], &read["client_secret"]),
        (&made["registration_access_token"], &Value::Null)
    );

    // §2.2: what is left out is left out; the secret stays.
    let id = text(&made, "client_id");
    let change = json!({"client_id": id, "client_name": "After", "grant_types": ["client_credentials", "authorization_code"], "redirect_uris": [CALLBACK], "scope": null});
    let changed = send(&server, "PUT", &place, &token, &change).await;
    assert_eq!(changed.status.as_u16(), 200, "{changed:?}");
    let changed = changed.json();
    assert_eq!((text(&changed, "client_name"), text(&changed, "scope")), ("After", "email openid profile"));
    assert_eq!(
        (&changed["client_secret"], &changed["client_id_issued_at"]),
        (&Value::Null, &made["client_id_issued_at"])
    );
    assert_eq!(takes_a_token(&server, &made).await, 200, "the secret of before");

    for (what, wrong, code) in [
        ("another id", json!({"client_id": "other", "redirect_uris": [CALLBACK]}), "invalid_request"),
        ("no id", json!({"redirect_uris": [CALLBACK]}), "invalid_request"),
        (
            "another secret",
            json!({"client_id": id, "client_secret": "x", "redirect_uris": [CALLBACK]}),
            "invalid_request",
        ),
        (
            "its token",
            json!({"client_id": id, "registration_access_token": token, "redirect_uris": [CALLBACK]}),
            "invalid_request",
        ),
        (
            "its address",
            json!({"client_id": id, "registration_client_uri": "x", "redirect_uris": [CALLBACK]}),
            "invalid_request",
        ),
        (
            "a bad redirect URI",
            json!({"client_id": id, "redirect_uris": ["http://x.example/"]}),
            "invalid_redirect_uri",
        ),
        ("no redirect URI", json!({"client_id": id}), "invalid_client_metadata"),
    ] {
        let answer = send(&server, "PUT", &place, &token, &wrong).await;
        assert_eq!(answer.refusal(), (400, code.into()), "{what}");
    }
    // Another method has another secret.
    let change = json!({"client_id": id, "client_secret": made["client_secret"], "token_endpoint_auth_method": "client_secret_jwt", "grant_types": ["client_credentials"]});
    let jwt = send(&server, "PUT", &place, &token, &change).await.json();
    assert!(!text(&jwt, "client_secret").is_empty() && jwt["client_secret"] != made["client_secret"]);
    assert_eq!(takes_a_token(&server, &made).await, 401);

    let other = register(&server, json!({"redirect_uris": [CALLBACK]})).await.json();
    let theirs = text(&other, "registration_access_token");
    for method in ["GET", "PUT", "DELETE"] {
        for (what, wrong, place) in [
            ("another client's token", theirs, place.as_str()),
            ("no token", "", &place),
            ("an empty one", " ", &place),
            ("a client that is none", &token, "/register/nobody"),
            ("one that did not register itself", &token, &format!("/register/{}", server.who.id)),
        ] {
            let answer = send(&server, method, place, wrong, &json!({"client_id": id})).await;
            assert_eq!(answer.refusal(), (401, "invalid_token".into()), "{method}, {what}");
        }
    }
    let gone = send(&server, "DELETE", &place, &token, &Value::Null).await;
    assert_eq!((gone.status.as_u16(), gone.body.len()), (204, 0));
    let answer = send(&server, "GET", &place, &token, &Value::Null).await;
    assert_eq!(answer.refusal(), (401, "invalid_token".into()));
    assert_eq!(send(&server, "DELETE", &place, &token, &Value::Null).await.status.as_u16(), 401);
    server.stop().await;
}

/// Changes at once: one of them comes out.
#[tokio::test]
async fn changes_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(enabled(directory.path())).await;
    let made = register(&server, json!({"redirect_uris": [CALLBACK]})).await.json();
    let (place, token) = (place(&server, &made), text(&made, "registration_access_token").to_owned());
    let change = |name: &str| json!({"client_id": made["client_id"], "client_name": name, "redirect_uris": [CALLBACK]});
    let put = |name: &'static str| {
        let (body, server, place, token) = (change(name), &server, &place, &token);
        async move { send(server, "PUT", place, token, &body).await.status.as_u16() }
    };
    let all = tokio::join!(put("one"), put("two"), put("three"), put("four"));
    assert_eq!(all, (200, 200, 200, 200));
    let names = ["one", "two", "three", "four"];
    let after = send(&server, "GET", &place, &token, &Value::Null).await.json();
    assert!(names.contains(&text(&after, "client_name")));
    server.stop().await;
}

#[tokio::test]
async fn off_unless_enabled() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    assert_eq!(register(&server, json!({"redirect_uris": [CALLBACK]})).await.status.as_u16(), 404);
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata.get("registration_endpoint"), None);
    server.stop().await;
}
