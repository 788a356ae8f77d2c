//! The admin API over TLS: roles, every address, and what must not be possible.

use std::path::Path;

use http_body_util::Full;
use sealstone_auth::{Config, NewClient};
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Answer, Credentials, Running, config, names};

fn enabled(directory: &Path) -> Config {
    let mut config = config(directory);
    config.admin.api = true;
    config
}

/// The server, and the tokens of administrators.
struct Api {
    server: Running,
    token: String,
}

impl Api {
    /// With an administrator of everything.
    async fn start(directory: &Path) -> Self {
        let server = Running::start(enabled(directory)).await;
        let token = administrator(&server, "sealstone:admin").await;
        Self { server, token }
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> Answer {
        send(&self.server, method, path, &self.token, &body).await
    }

    /// What is answered with this status.
    async fn done(&self, method: &str, path: &str, body: Value, status: u16) -> Value {
        let answer = self.send(method, path, body).await;
        assert_eq!(answer.status.as_u16(), status, "{method} {path}: {answer:?}");
        if answer.body.is_empty() { Value::Null } else { answer.json() }
    }
}

async fn send(server: &Running, method: &str, path: &str, token: &str, body: &Value) -> Answer {
    let mut request =
        server.request(method, &format!("/admin/v1{path}")).header("content-type", "application/json");
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = if body.is_null() { String::new() } else { body.to_string() };
    server.send(request.body(Full::from(body)).unwrap()).await
}

/// A token by client_credentials for a new client with these scopes.
async fn administrator(server: &Running, scopes: &str) -> String {
    let scopes: Vec<&str> = scopes.split(' ').collect();
    let new = NewClient { algorithm: Algorithm::Es256, scopes: names(&scopes), ..NewClient::default() };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    let who = Credentials { id: client.id, secret: secret.unwrap().reveal().to_owned() };
    loop {
        let answer = token(server, &who).await;
        if answer.status == 200 {
            return answer.json()["access_token"].as_str().unwrap().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

async fn token(server: &Running, who: &Credentials) -> Answer {
    let request = server
        .request("POST", "/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("authorization", who.basic());
    server.send(request.body(Full::from("grant_type=client_credentials")).unwrap()).await
}

fn who(said: &Value) -> Credentials {
    let text = |name: &str| said[name].as_str().unwrap().to_owned();
    Credentials { id: text("client_id"), secret: text("client_secret") }
}

#[tokio::test]
async fn clients() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    let new = json!({
        "client_id": "billing", "client_name": "Billing", "scope": "orders:read", "id_token_signed_response_alg": "ES256",
        "audiences": ["https://orders.example"], "token_lifetime_seconds": 60,
    });
    let added = api.done("POST", "/clients", new.clone(), 201).await;
    assert_eq!(
        (&added["client_id"], &added["grant_types"]),
        (&json!("billing"), &json!(["client_credentials"]))
    );
    let first = token(&api.server, &who(&added)).await.json();
    assert_eq!((&first["expires_in"], &first["scope"]), (&json!(60), &json!("orders:read")));
    assert_eq!(api.send("POST", "/clients", new).await.refusal().0, 409);

    let mut shown = api.done("GET", "/clients/billing", Value::Null, 200).await;
    assert_eq!(
        (&shown["client_secret"], &shown["audiences"]),
        (&Value::Null, &json!(["https://orders.example"]))
    );
    // What was read can be sent back with something changed.
    shown["token_lifetime_seconds"] = json!(30);
    let changed = api.done("PUT", "/clients/billing", shown, 200).await;
    assert_eq!((&changed["client_secret"], &changed["client_name"]), (&Value::Null, &json!("Billing")));
    assert_eq!(token(&api.server, &who(&added)).await.json()["expires_in"], 30);

    let renewed = api.done("POST", "/clients/billing/secret", json!({}), 200).await;
    assert_eq!(token(&api.server, &who(&added)).await.status, 401);
    let second = token(&api.server, &who(&renewed)).await;
    assert_eq!(second.status, 200);
    let second = second.json()["access_token"].as_str().unwrap().to_owned();

    api.done("POST", "/revocations", json!({"token": second}), 204).await;
    api.done("DELETE", "/clients/billing", Value::Null, 204).await;
    assert_eq!(api.send("GET", "/clients/billing", Value::Null).await.refusal().0, 404);
    assert_eq!(api.send("PUT", "/clients/billing", json!({})).await.refusal().0, 404);
    assert_eq!(api.send("DELETE", "/clients/billing", Value::Null).await.refusal().0, 404);
    assert_eq!(token(&api.server, &who(&renewed)).await.status, 401);
    for (what, wrong) in [
        ("a slip in a member", json!({"redirect_uri": ["https://shop.example/"]})),
        ("another type", json!({"audiences": "https://orders.example"})),
        ("a long life", json!({"token_lifetime_seconds": 1_000_000})),
        ("an id with a space", json!({"client_id": "a b"})),
        ("an unknown grant", json!({"grant_types": ["password"]})),
        ("no object", json!([])),
    ] {
        assert_eq!(api.send("POST", "/clients", wrong).await.refusal().0, 400, "{what}");
    }
    api.server.stop().await;
}

/// A list comes in parts; nothing is lost between them and nothing comes twice.
#[tokio::test]
async fn lists_come_in_parts() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    for n in 0..7 {
        api.done("POST", "/users", json!({"username": format!("user{n}")}), 201).await;
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let part = api.done("GET", &format!("/users?limit=3{after}"), Value::Null, 200).await;
        let users = part["users"].as_array().unwrap();
        assert!(users.len() <= 3);
        seen.extend(users.iter().map(|user| user["username"].as_str().unwrap().to_owned()));
        match part["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    assert_eq!(seen, (0..7).map(|n| format!("user{n}")).collect::<Vec<_>>());
    for query in ["limit=0", "limit=1001", "limit=x", "limit=-1", "page=2"] {
        assert_eq!(
            api.send("GET", &format!("/users?{query}"), Value::Null).await.refusal().0,
            400,
            "{query}"
        );
    }
    api.server.stop().await;
}

#[tokio::test]
async fn users_and_sessions() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    let new = json!({"username": "Ada", "name": "Ada Lovelace", "password": "correct horse battery staple"});
    let ada = api.done("POST", "/users", new.clone(), 201).await;
    assert_eq!((&ada["username"], &ada["has_password"]), (&json!("ada"), &json!(true)));
    assert_eq!(api.send("POST", "/users", new).await.refusal().0, 409);
    let mut browser = crate::whole_flow::Browser::new(&api.server);
    let sign_in = async |browser: &mut crate::whole_flow::Browser<'_>| {
        let page = browser.get("/login").await;
        let answer = browser.sign_in_plainly(&page).await;
        assert_eq!(answer.status, 303, "{}", crate::whole_flow::text(&answer));
    };
    sign_in(&mut browser).await;
    let sessions = api.done("GET", "/users/ada/sessions", Value::Null, 200).await;
    let session = &sessions["sessions"][0];
    assert_eq!((&session["username"], &session["amr"]), (&json!("ada"), &json!(["pwd"])));
    assert_eq!(api.done("GET", "/sessions", Value::Null, 200).await, sessions);
    api.done("DELETE", &format!("/sessions/{}", session["sid"].as_str().unwrap()), Value::Null, 204).await;
    assert_eq!(api.done("GET", "/sessions", Value::Null, 200).await, json!({"sessions": []}));
    assert!(
        crate::whole_flow::text(&browser.get("/login").await).contains("name=\"password\""),
        "signed out"
    );

    for (method, path, body) in [
        ("DELETE", "/users/ada/sessions", Value::Null),
        ("DELETE", "/users/ada/passkeys", Value::Null),
        ("PUT", "/users/ada/password", json!({"password": "correct horse battery staple"})),
        ("PUT", "/users/ada/disabled", json!({"disabled": true})),
    ] {
        sign_in(&mut browser).await;
        assert_ne!(api.done("GET", "/sessions", Value::Null, 200).await, json!({"sessions": []}), "{path}");
        let status = if method == "PUT" { 200 } else { 204 };
        api.done(method, path, body, status).await;
        assert_eq!(api.done("GET", "/sessions", Value::Null, 200).await, json!({"sessions": []}), "{path}");
    }
    assert_eq!(api.done("GET", "/users/ada", Value::Null, 200).await["disabled"], true);
    api.done("DELETE", "/users/ada", Value::Null, 204).await;
    assert_eq!(api.send("GET", "/users/ada", Value::Null).await.refusal().0, 404);
    assert_eq!(api.send("PUT", "/users/ada/password", json!({"password": "short"})).await.refusal().0, 400);
    assert_eq!(api.send("DELETE", "/sessions/nobody", Value::Null).await.refusal().0, 404);
    api.server.stop().await;
}

#[tokio::test]
async fn keys_and_issuers() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    let keys = api.done("GET", "/keys", Value::Null, 200).await;
    assert_eq!(keys["keys"][0]["name"], "ES256/1");
    let next = api.done("POST", "/keys/rotation", json!({"algorithms": ["ES256"]}), 200).await;
    assert_eq!(
        (&next["keys"][0]["name"], &next["keys"][0]["state"]),
        (&json!("ES256/2"), &json!("pre-published"))
    );
    assert_eq!(api.send("POST", "/keys/rotation", json!({"algorithms": ["RS256"]})).await.refusal().0, 400);
    // The token of this very administrator is signed with the key that goes.
    let gone = api.done("POST", "/keys/ML-DSA-65%2F1/retirement", json!({}), 200).await;
    assert_eq!(gone["state"], "retired");
    assert_eq!(api.send("POST", "/keys/none/retirement", json!({})).await.refusal().0, 404);

    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let jwks = json!({"keys": [key.public().to_jwk()]});
    let new = json!({"issuer": "https://ci.example/a", "jwks": jwks, "clients": ["deployer"], "scopes": ["deploy"]});
    let added = api.done("POST", "/issuers", new.clone(), 201).await;
    assert_eq!(added["subject"], json!({"prefix": "https://ci.example/a|"}));
    assert_eq!(api.send("POST", "/issuers", new).await.refusal().0, 409);
    let private: Value = serde_json::from_str(&key.to_jwk().to_json()).unwrap();
    let wrong =
        json!({"issuer": "https://ci.example/b", "jwks": {"keys": [private]}, "clients": ["deployer"]});
    assert_eq!(api.send("POST", "/issuers", wrong).await.refusal().0, 400);
    assert_eq!(api.done("GET", "/issuers", Value::Null, 200).await["issuers"][0], added);
    api.done("DELETE", "/issuers/https:%2F%2Fci.example%2Fa", Value::Null, 204).await;
    assert_eq!(api.done("GET", "/issuers", Value::Null, 200).await, json!({"issuers": []}));
    api.server.stop().await;
}

/// Every address of the document, asked without a token and with every role: only its own opens it, and no person's.
#[tokio::test]
async fn each_role_opens_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    let document = api.server.get("/admin/v1/openapi.json").await.json();
    let mut roles = vec![("other".to_owned(), api.server.token().await)];
    for area in ["admin", "clients", "issuers", "keys", "sessions", "users"] {
        for scope in [format!("sealstone:{area}"), format!("sealstone:{area}:read")] {
            roles.push((scope.clone(), administrator(&api.server, &scope).await));
        }
    }
    for scope in ["sealstone:tokens", "sealstone:audit:read"] {
        roles.push((scope.into(), administrator(&api.server, scope).await));
    }
    let mut asked = 0;
    for (path, methods) in document["paths"].as_object().unwrap() {
        let place = path.replace("{id}", "nobody").replace("{username}", "nobody").replace("{sid}", "nobody");
        let place = place.replace("{issuer}", "nobody").replace("{kid}", "nobody");
        for (method, operation) in
            methods.as_object().unwrap().iter().filter(|(name, _)| *name != "parameters")
        {
            let method = method.to_uppercase();
            let scope = operation["security"][0]["token"][0].as_str().unwrap();
            // A body that nothing takes: what is opened is then refused for it, or finds nobody.
            let body = json!({"no such member": 1});
            let answer = send(&api.server, &method, &place, "", &body).await;
            assert_eq!(answer.refusal(), (401, "invalid_token".into()), "{method} {path}");
            for (role, token) in &roles {
                let status = send(&api.server, &method, &place, token, &body).await.status.as_u16();
                let writes = scope.strip_suffix(":read").is_none();
                let opens = role == scope
                    || Some(role.as_str()) == scope.strip_suffix(":read")
                    || role == "sealstone:admin"
                    || (!writes && role == "sealstone:admin:read");
                assert_eq!(status == 403, !opens, "{method} {path}: {role} got {status}");
                asked += 1;
            }
        }
    }
    assert!(asked > 300, "{asked}");
    for (method, path) in
        [("GET", "/nothing"), ("GET", "/clients/"), ("GET", ""), ("POST", "/openapi.json/x")]
    {
        let answer = api.send(method, path, Value::Null).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (404, ""), "{method} {path}");
    }
    api.server.stop().await;
}

/// What an address takes is said with each refusal of a method, and HEAD is taken where GET is.
#[tokio::test]
async fn rfc9110_s15_5_6_allow() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    for (method, path, allow) in [
        ("PATCH", "/clients", "GET,HEAD,POST"),
        ("DELETE", "/keys", "GET,HEAD"),
        ("GET", "/keys/rotation", "POST"),
        ("HEAD", "/revocations", "POST"),
        ("POST", "/clients/x", "GET,HEAD,PUT,DELETE"),
        ("OPTIONS", "/users/x/sessions", "GET,HEAD,DELETE"),
        ("DELETE", "/openapi.json", "GET,HEAD"),
    ] {
        let answer = api.send(method, path, Value::Null).await;
        assert_eq!((answer.status.as_u16(), answer.header("allow")), (405, allow), "{method} {path}");
    }
    for path in ["/clients", "/openapi.json"] {
        let (head, get) =
            (api.send("HEAD", path, Value::Null).await, api.send("GET", path, Value::Null).await);
        assert_eq!((head.status.as_u16(), head.body.len()), (200, 0), "{path}");
        assert_eq!(head.header("content-length"), get.body.len().to_string(), "{path}");
    }
    api.server.stop().await;
}

/// A person's consent makes no administrator: the token is of a client that may have the scope, for a person.
#[tokio::test]
async fn a_persons_token_opens_nothing() {
    use sealstone_auth::client::{CodeFlow, Consent};
    use sealstone_auth::{Grant, RedirectUri};
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    let new = json!({"username": "ada", "password": "correct horse battery staple"});
    api.done("POST", "/users", new, 201).await;
    let shop = NewClient {
        algorithm: Algorithm::Es256,
        code_flow: CodeFlow {
            consent: Consent::Implied,
            redirect_uris: vec![RedirectUri::parse("https://shop.example/callback").unwrap()],
            ..CodeFlow::default()
        },
        grants: [Grant::AuthorizationCode].into(),
        id: Some("shop".into()),
        scopes: names(&["openid", "sealstone:admin"]),
        ..NewClient::default()
    };
    let (_, secret) = api.server.admin.add_client(shop).await.unwrap();
    let mut browser = crate::whole_flow::Browser::new(&api.server);
    let path = format!("/authorize?{}", crate::code::query("&scope=openid+sealstone%3Aadmin"));
    let page = loop {
        let page = browser.get(&path).await;
        if page.status == 200 {
            break page;
        }
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    };
    let back = browser.sign_in(&page).await;
    let code = back.header("location").split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
    let who = Credentials { id: "shop".into(), secret: secret.unwrap().reveal().to_owned() };
    let request = api
        .server
        .request("POST", "/token")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("authorization", who.basic());
    let form = format!("grant_type=authorization_code&code={code}{}", crate::code::verifier());
    let answer = api.server.send(request.body(Full::from(form)).unwrap()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    let answer = send(&api.server, "GET", "/clients", &token, &Value::Null).await;
    assert_eq!(answer.refusal(), (403, "insufficient_scope".into()));
    api.server.stop().await;
}

#[tokio::test]
async fn off_unless_enabled() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    for path in ["/clients", "/openapi.json"] {
        assert_eq!(send(&server, "GET", path, "", &Value::Null).await.status, 404);
    }
    server.stop().await;
}

/// The lines of the log as the files have them: the last ones, or part by part from a number on.
#[tokio::test]
async fn the_audit_log_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(directory.path()).await;
    for name in ["ada", "bob", "eve"] {
        let new = json!({"username": name, "password": "correct horse battery staple"});
        api.done("POST", "/users", new, 201).await;
    }
    // A line comes some milliseconds after what it is about.
    let written = async {
        loop {
            let last = api.done("GET", "/audit?limit=1", Value::Null, 200).await;
            if last["audit"][0]["user"] == "eve" {
                return last;
            }
        }
    };
    let last = tokio::time::timeout(std::time::Duration::from_secs(30), written).await.unwrap();
    assert_eq!((last["audit"].as_array().unwrap().len(), last.get("next")), (1, None));
    assert_eq!(last["audit"][0]["event"], "user.added");

    let all = api.done("GET", "/audit", Value::Null, 200).await;
    let all = all["audit"].as_array().unwrap();
    let (mut parts, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let part = api.done("GET", &format!("/audit?limit=2&after={after}"), Value::Null, 200).await;
        parts.extend(part["audit"].as_array().unwrap().iter().cloned());
        let Some(next) = part["next"].as_str() else { break };
        assert_eq!(parts.last().unwrap()["n"].to_string(), next);
        after = next.to_owned();
    }
    assert_eq!(&parts, all);
    let text = std::fs::read_to_string(directory.path().join("data/audit/server/000001.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[..parts.len()], parts, "as they stand");
    let beyond = api.done("GET", "/audit?after=1000000", Value::Null, 200).await;
    assert_eq!(beyond, json!({"audit": []}));
    assert_eq!(api.send("GET", "/audit?after=x", Value::Null).await.refusal().0, 400);
    api.server.stop().await;
}
