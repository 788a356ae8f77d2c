//! Pairwise subjects: OpenID Connect Core 1.0 §8. Nothing that a client gets has the person's own `sub` in it.

use std::path::Path;
use std::sync::Arc;

use sealstone_auth::people::user;
use sealstone_auth::{
    CodeFlow, Consent, Exchange, Grant, HttpsUri, NewClient, NewSubject, RedirectUri, SubjectType, World,
};
use sealstone_jose::Algorithm;
use serde_json::{Value, json};

use crate::code::{ada, query, shop, verifier};
use crate::device::payload;
use crate::logout::{client, enter};
use crate::publisher::{Manner, Publisher, Told};
use crate::support::{Credentials, House, Running, config};
use crate::whole_flow::Browser;

/// Of [`ada`].
const OWN: &str = "person-1";

fn pairwise() -> NewSubject {
    NewSubject::Pairwise { sector_identifier_uri: None }
}

async fn house() -> House {
    let house = House::build().await;
    let _ = user::insert(&*house.store, &ada(), house.clock_now()).await.unwrap();
    house
}

/// Everything that the shop gets for Ada.
async fn tokens(house: &House, who: &Credentials) -> Value {
    let code = house.code(&query("&scope=openid+offline_access")).await;
    let granted = house.exchange(who, &code, &verifier()).await.unwrap();
    serde_json::from_slice(&granted.json().unwrap()).unwrap()
}

fn text<'a>(tokens: &'a Value, name: &str) -> &'a str {
    tokens[name].as_str().unwrap()
}

fn sub(token: &str) -> String {
    let claims = payload(token);
    assert!(!claims.to_string().contains(OWN), "{claims}");
    claims["sub"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn oidc_core_s8_1_one_subject_in_everything_that_a_client_gets() {
    let house = house().await;
    let who = house.client(NewClient { subject: pairwise(), ..shop() }).await;
    let first = tokens(&house, &who).await;
    let seen = sub(text(&first, "id_token"));
    assert_eq!(seen.len(), 43, "an HMAC-SHA256");
    assert_eq!(sub(text(&first, "access_token")), seen);

    for token in ["access_token", "refresh_token"] {
        let said = house.introspect_waiting(&who, text(&first, token)).await;
        assert_eq!((&said["active"], &said["sub"]), (&json!(true), &json!(seen)), "{token}");
        assert!(!said.to_string().contains(OWN));
    }
    house.clock.advance(60);
    let form = format!("grant_type=refresh_token&refresh_token={}", text(&first, "refresh_token"));
    let refreshed = house.ask_waiting(&who, &form).await.unwrap();
    assert_eq!(sub(&refreshed.access_token), seen);
    assert_eq!(sub(refreshed.id_token.as_deref().unwrap()), seen);
    // For ever: the next time she comes, too.
    assert_eq!(sub(text(&tokens(&house, &who).await, "id_token")), seen);
}

/// Another sector, another subject; the same sector, the same; and none is the person's own.
#[tokio::test]
async fn oidc_core_s8_1_sectors() {
    let mut seen = Vec::new();
    for (host, subject) in [
        ("shop.example", pairwise()),
        ("SHOP.example", pairwise()),
        ("cafe.example", pairwise()),
        ("shop.example:8443", pairwise()),
        ("shop.example", NewSubject::Public),
    ] {
        // The same key and the same person in each house.
        let house = house().await;
        let callback = format!("https://{host}/callback");
        let code_flow =
            CodeFlow { redirect_uris: vec![RedirectUri::parse(&callback).unwrap()], ..CodeFlow::default() };
        let who = house.client(NewClient { code_flow, subject, ..shop() }).await;
        let query = query("&scope=openid").replace("shop.example", &host.replace(':', "%3A"));
        let redirect = house.issue(&query).await;
        let code = &redirect.iter().find(|(name, _)| name == "code").unwrap().1;
        let tokens = house.exchange(&who, code, &verifier()).await.unwrap();
        let claims = payload(&tokens.access_token);
        assert_eq!(claims["sub"], payload(tokens.id_token.as_deref().unwrap())["sub"]);
        seen.push(claims["sub"].as_str().unwrap().to_owned());
    }
    assert_eq!(
        (&seen[0], &seen[0]),
        (&seen[1], &seen[3]),
        "a sector is a host, without its port and in any case"
    );
    assert_ne!(seen[0], seen[2]);
    assert_eq!(seen[4], OWN);
}

/// RFC 8693: what is exchanged keeps the subject.
#[tokio::test]
async fn oidc_core_s8_1_token_exchange_keeps_it() {
    let house = house().await;
    let audiences = vec!["https://orders.example".to_owned()];
    let who = house.client(NewClient { audiences, subject: pairwise(), ..shop() }).await;
    let orders = house
        .client(NewClient {
            algorithm: Algorithm::Es256,
            exchange: Exchange {
                from: ["https://orders.example".to_owned()].into(),
                to: ["https://stock.example".to_owned()].into(),
                impersonation: false,
            },
            grants: [Grant::TokenExchange].into(),
            id: Some("orders".into()),
            scopes: ["openid".to_owned()].into(),
            ..NewClient::default()
        })
        .await;
    let first = tokens(&house, &who).await;
    let form = format!(
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token={}\
         &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token",
        text(&first, "access_token")
    );
    let exchanged = house.ask(&orders, &form).unwrap();
    assert_eq!(sub(&exchanged.access_token), sub(text(&first, "id_token")));
}

/// §5.3.2: over TLS, the userinfo endpoint knows the person by it, also after a restart; and nobody else by their own.
#[tokio::test]
async fn oidc_core_s5_3_2_userinfo_has_the_same_subject() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    server.know("ada").await;
    let own = server.admin.list_users().await.unwrap()[0].sub.clone();
    server.enrol(NewClient { subject: pairwise(), ..client("shop") }).await;
    let first = {
        let mut browser = Browser::new(&server);
        enter(&mut browser, &server, "shop", "openid").await
    };
    let said = userinfo(&server, text(&first, "access_token")).await;
    let seen = payload(text(&first, "id_token"))["sub"].clone();
    assert_eq!(said, json!({"sub": seen}));
    assert!(!first.to_string().contains(&own) && seen != json!(own));
    server.stop().await;

    let server = Running::start_in(config(directory.path()), World::default()).await;
    let mut browser = Browser::new(&server);
    let again = enter(&mut browser, &server, "shop", "openid").await;
    assert_eq!(payload(text(&again, "id_token"))["sub"], seen, "§8.1: the same for ever");
    assert_eq!(userinfo(&server, text(&again, "access_token")).await["sub"], seen);
    server.admin.set_disabled("ada", true).await.unwrap();
    let request = server.request("GET", "/userinfo");
    let request = request.header("authorization", format!("Bearer {}", text(&again, "access_token")));
    assert_eq!(server.send(request.body(http_body_util::Full::default()).unwrap()).await.status, 401);
    server.stop().await;
}

async fn userinfo(server: &Running, token: &str) -> Value {
    let request = server.request("GET", "/userinfo").header("authorization", format!("Bearer {token}"));
    let answer = server.send(request.body(http_body_util::Full::default()).unwrap()).await;
    assert_eq!(answer.status, 200, "{}", crate::whole_flow::text(&answer));
    answer.json()
}

/// §8.1: redirect URIs of one host name the sector; several need a list, and what names nobody is no sector.
#[tokio::test]
async fn oidc_core_s8_1_what_names_a_sector() {
    let house = house().await;
    let with = |uris: &[&str]| NewClient {
        code_flow: CodeFlow {
            consent: Consent::Implied,
            redirect_uris: uris.iter().map(|uri| RedirectUri::parse(uri).unwrap()).collect(),
            ..CodeFlow::default()
        },
        id: None,
        subject: pairwise(),
        ..shop()
    };
    let (client, _) =
        house.admin.add_client(with(&["https://A.example/x", "https://a.example:1/y"])).await.unwrap();
    let expected = SubjectType::Pairwise { sector: "a.example".into(), sector_identifier_uri: None };
    assert_eq!(client.subject, expected);
    for uris in [
        &["https://a.example/", "https://b.example/"][..],
        &["http://127.0.0.1/callback"],
        &["org.example.app:/callback"],
        &["https://a.example/", "org.example.app:/callback"],
        &["http://[::1]/", "https://a.example/"],
    ] {
        let refused = house.admin.add_client(with(uris)).await.unwrap_err();
        assert!(refused.to_string().contains("sector"), "{uris:?}: {refused}");
    }
    let without =
        NewClient { code_flow: CodeFlow::default(), grants: [Grant::DeviceCode].into(), ..with(&[]) };
    assert!(house.admin.add_client(without).await.is_err());
}

/// §8.1: the list is fetched when the client is registered, and has each of its redirect URIs.
#[tokio::test]
async fn oidc_core_s8_1_sector_identifier_uri() {
    let list = r#"["https://a.example/callback","https://b.example/callback","https://c.example/"]"#;
    let publisher = Publisher::start(Manner::Publish { body: list.into(), etag: "\"1\"" }).await;
    let directory = tempfile::tempdir().unwrap();
    let server = with_publisher(directory.path(), &publisher).await;
    let uri = HttpsUri::parse("https://keys.example/sector.json").unwrap();
    let new = |uris: &[&str]| NewClient {
        code_flow: CodeFlow {
            redirect_uris: uris.iter().map(|uri| RedirectUri::parse(uri).unwrap()).collect(),
            ..CodeFlow::default()
        },
        id: None,
        subject: NewSubject::Pairwise { sector_identifier_uri: Some(uri.clone()) },
        ..shop()
    };
    let listed = ["https://a.example/callback", "https://b.example/callback"];
    let (client, _) = server.admin.add_client(new(&listed)).await.unwrap();
    let expected =
        SubjectType::Pairwise { sector: "keys.example".into(), sector_identifier_uri: Some(uri.clone()) };
    assert_eq!(client.subject, expected);
    let stored = server.admin.list_clients().await.unwrap();
    assert!(stored.iter().any(|(stored, _)| *stored == client), "it is read back as it was written");

    for uri in ["https://a.example/other", "https://a.example/callback?", "https://d.example/callback"] {
        let refused = server.admin.add_client(new(&[listed[0], uri])).await.unwrap_err();
        assert!(refused.to_string().contains(&format!("its list does not have {uri}")), "{refused}");
    }
    let say = |said: &str| Manner::Say(said.to_owned());
    for manner in [
        Manner::Publish { body: "{}".into(), etag: "\"2\"" },
        Manner::Publish { body: "[1]".into(), etag: "\"2\"" },
        Manner::Publish { body: String::new(), etag: "\"2\"" },
        say("HTTP/1.1 302 Found\r\nlocation: https://keys.example/other\r\ncontent-length: 0\r\n\r\n"),
        say("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"),
    ] {
        publisher.set(manner);
        let refused = server.admin.add_client(new(&listed)).await.unwrap_err();
        assert!(refused.to_string().contains("the client's sector is not valid"), "{refused}");
    }
    server.stop().await;
}

async fn with_publisher(directory: &Path, publisher: &Publisher) -> Running {
    let path = directory.join("ca.pem");
    std::fs::write(&path, &publisher.ca_pem).unwrap();
    let mut config = config(directory);
    config.outbound.ca = Some(path);
    config.outbound.allow_private_addresses = true;
    let told = Told { addresses: vec![publisher.address], asked: Arc::default() };
    Running::start_in(config, World { resolver: Arc::new(told), ..World::default() }).await
}
