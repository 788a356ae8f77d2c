//! Request objects, RFC 9101: by value in the query and pushed, and what must not pass for one. What the conformance suite
//! tests is in conformance_fapi_jar.rs.

use sealstone_auth::{AssertionAudience, AssertionKeys, Error, NewAuthentication, NewClient};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::{but, signed};
use crate::front::{Front, Pairs, encoded, name_in, value, with, without};
use crate::support::House;
use crate::whole_flow::{Browser, field};

/// Clients that need not push.
fn free(new: NewClient) -> NewClient {
    let mut new = new;
    new.code_flow.require_pushed_authorization_requests = false;
    new
}

fn address(client: &str, object: &Pairs, more: &[(&str, &str)]) -> String {
    let mut pairs = vec![("client_id".to_owned(), client.to_owned()), object[0].clone()];
    pairs.extend(more.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    format!("/authorize?{}", encoded(&pairs))
}

/// §5 and §6.3: what is signed counts, and nothing beside it.
#[tokio::test]
async fn rfc9101_s5_an_object_in_the_query() {
    let front = Front::with(false, free).await;
    let one = &front.one;
    let metadata = front.server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["request_parameter_supported"], true);
    assert_eq!(metadata["request_uri_parameter_supported"], false);
    assert_eq!(metadata["require_signed_request_object"], false);
    let algorithms = metadata["request_object_signing_alg_values_supported"].as_array().unwrap();
    assert!(algorithms.contains(&json!("ES256")) && !algorithms.contains(&json!("none")));

    let request = front.request(one);
    let claims = front.object_claims(one, &without(&request, "nonce"));
    let object = front.object(&one.key, &claims);
    let outside = [("nonce", "outside"), ("scope", "profile"), ("state", "outside"), ("max_age", "0")];
    let answer = front.settled(one).await.get(&address("one", &object, &outside)).await;
    let answer = front.came_back(one, &answer);
    front.grants(one, &without(&request, "nonce"), &answer).await;

    // What is not signed is not in the pages either.
    let page = Browser::new(&front.server).get(&address("one", &object, &outside)).await;
    assert!(!field(&page, "continue_query").contains("outside"));
    let both = address("one", &object, &[("request_uri", "urn:ietf:params:oauth:request_uri:x")]);
    front.is_page(&Browser::new(&front.server).get(&both).await);
    let by_address = with(&request, "request_uri", "https://one.example/request.jwt");
    let told = Browser::new(&front.server).get(&format!("/authorize?{}", encoded(&by_address))).await;
    assert_eq!(value(&front.came_back(one, &told), "error").as_deref(), Some("request_uri_not_supported"));
    front.server.stop().await;
}

/// §6.2, §6.3 and §10: whatever is wrong with an object, nobody is sent anywhere.
#[tokio::test]
async fn rfc9101_s6_3_what_is_no_object_of_the_client() {
    let front = Front::with(false, free).await;
    let (one, two) = (&front.one, &front.two);
    let claims = front.object_claims(one, &front.request(one));
    let headed = |typ: &str| {
        let header = json!({"alg": "ES256", "kid": one.key.kid(), "typ": typ});
        vec![("request".to_owned(), signed(&one.key, &header, &claims))]
    };
    let changed = |name: &str, value: Value| front.object(&one.key, &but(&claims, name, value));
    let mut wrong = vec![
        ("a client assertion", vec![front.identified(one)[1].clone()]),
        ("typ JWT", headed("JWT")),
        ("typ of a proof", headed("dpop+jwt")),
        ("iss of another", changed("iss", json!("two"))),
        ("client_id of another", changed("client_id", json!("two"))),
        ("no client_id", changed("client_id", Value::Null)),
        ("no aud", changed("aud", Value::Null)),
        ("the token endpoint", changed("aud", json!(front.url("/token")))),
        ("an object within", changed("request", json!("eyJ"))),
        ("a name within", changed("request_uri", json!("https://one.example/r"))),
        ("signed by another", front.object(&two.key, &claims)),
        ("exp as text", changed("exp", json!("2100"))),
        ("nothing", vec![("request".into(), "eyJ".into())]),
    ];
    // `but` takes a member away for null: here it stands there.
    let mut null = claims.clone();
    null["state"] = Value::Null;
    wrong.push(("a parameter that is null", front.object(&one.key, &null)));
    for (why, object) in &wrong {
        let mut object = object.clone();
        object[0].0 = "request".into();
        front.is_page(&Browser::new(&front.server).get(&address("one", &object, &[])).await);
        let answer = front.push(one, &object).await;
        assert_eq!(answer.refusal(), (400, "invalid_request_object".into()), "{why}");
    }
    let good = front.object(&one.key, &claims);
    assert_eq!(Browser::new(&front.server).get(&address("one", &good, &[])).await.status, 200);
    front.is_page(&Browser::new(&front.server).get(&address("two", &good, &[])).await);
    front.is_page(&Browser::new(&front.server).get(&address("nobody", &good, &[])).await);
    // §4: `typ` may be absent, and so may `iss`.
    let bare = json!({"alg": "ES256", "kid": one.key.kid()});
    let object = vec![("request".into(), signed(&one.key, &bare, &but(&claims, "iss", Value::Null)))];
    name_in(&front.push(one, &object).await);
    front.server.stop().await;
}

/// An hour and no second more, with the slack of clocks; and a person who takes their time.
#[tokio::test]
async fn fapi_message_signing_s5_3_1_times() {
    let front = Front::with(false, free).await;
    let one = &front.one;
    let (claims, now) = (front.object_claims(one, &front.request(one)), front.now());
    for (nbf, exp, good) in [
        (now, now + 3600, true),
        (now, now + 3601, false),
        (now - 3600, now, true),
        (now - 3609, now - 9, true),
        (now - 3601, now - 10, false),
        (now - 3611, now - 11, false),
        (now + 10, now + 60, true),
        (now + 11, now + 60, false),
    ] {
        let object = front.object(&one.key, &but(&but(&claims, "nbf", nbf), "exp", exp));
        let status = front.push(one, &object).await.status;
        assert_eq!(status == 201, good, "{} {}", nbf as i64 - now as i64, exp as i64 - now as i64);
    }
    let object = front.object(&one.key, &claims);
    let mut browser = Browser::new(&front.server);
    let page = browser.get(&address("one", &object, &[])).await;
    front.clock.advance(500);
    front.is_page(&Browser::new(&front.server).get(&address("one", &object, &[])).await);
    let answer = front.came_back(one, &front.go_on(&mut browser, page, "allow").await);
    assert!(value(&answer, "code").is_some());
    front.server.stop().await;
}

/// §4: numbers and lists; and a signature of ML-DSA, which leaves little of a query for the request.
#[tokio::test]
async fn rfc9101_s4_what_parameters_may_be() {
    let orders = "https://orders.example".to_owned();
    let front = Front::with(false, |new| NewClient { audiences: vec![orders.clone()], ..free(new) }).await;
    let one = &front.one;
    let request = front.request(one);
    let mut claims = front.object_claims(one, &request);
    claims["max_age"] = json!(3600);
    claims["resource"] = json!([orders]);
    claims["claims"] = json!({"userinfo": {"email": null}});
    claims["dpop_jkt"] = json!(one.dpop.public().thumbprint());
    let object = front.object(&one.key, &claims);
    let page = front.visit(&mut Browser::new(&front.server), &address("one", &object, &[]), "allow").await;
    front.grants(one, &request, &front.came_back(one, &page)).await;
    claims["resource"] = json!("https://elsewhere.example");
    let refused = front.push(one, &front.object(&one.key, &claims)).await;
    assert_eq!(refused.refusal(), (400, "invalid_target".into()));
    front.server.stop().await;

    for (algorithm, more, fits) in [
        (Algorithm::MlDsa44, 0, true),
        (Algorithm::MlDsa65, 1000, true),
        (Algorithm::MlDsa87, 0, true),
        (Algorithm::MlDsa87, 1000, false),
    ] {
        let own = PrivateKey::generate(algorithm).unwrap();
        let keys = JwkSet::new([own.public().clone()]).unwrap();
        let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys: keys.into() };
        let signing =
            |new| free(NewClient { authentication: NewAuthentication::PrivateKeyJwt(keys.clone()), ..new });
        let mut front = Front::with(false, signing).await;
        front.one.key = own;
        let one = &front.one;
        let request = with(&front.request(one), "state", &"s".repeat(8 + more));
        let object = front.object(&one.key, &front.object_claims(one, &request));
        let page = Browser::new(&front.server).get(&address("one", &object, &[])).await;
        assert_eq!(page.status == 200, fits, "{algorithm}");
        name_in(&front.push(one, &object).await);
        front.server.stop().await;
    }
}

/// What is registered: that it signs, and with what. The keys are those of its authentication.
#[tokio::test]
async fn rfc9101_s10_5_a_client_that_must_sign() {
    let signing = |new: NewClient| {
        let mut new = free(new);
        new.code_flow.require_signed_request_object = true;
        if new.id.as_deref() == Some("two") {
            new.code_flow.request_object_signing_alg = Some(Algorithm::EdDsa);
        }
        new
    };
    let front = Front::with(false, signing).await;
    let plain = |party| format!("/authorize?{}", encoded(&front.request(party)));
    front.is_page(&Browser::new(&front.server).get(&plain(&front.one)).await);
    for (party, status) in [(&front.one, 200), (&front.two, 400)] {
        let object = front.object(&party.key, &front.object_claims(party, &front.request(party)));
        let page = Browser::new(&front.server).get(&address(&party.id, &object, &[])).await;
        assert_eq!(page.status, status, "{}", party.id);
    }
    let listed = front.server.admin.list_clients().await.unwrap();
    let two = listed.iter().find(|(client, _)| client.id == "two").unwrap();
    assert_eq!(two.0.code_flow.request_object_signing_alg, Some(Algorithm::EdDsa), "kept with the client");
    front.server.stop().await;

    let house = House::build().await;
    for authentication in [NewAuthentication::ClientSecretBasic, NewAuthentication::None] {
        let new = NewClient { authentication, ..signing(crate::code::shop()) };
        match house.admin.add_client(new).await {
            Err(Error::ClientInvalid { field: "signed request", .. }) => {}
            other => panic!("{other:?}"),
        }
    }
}
