//! Pushed authorization requests, RFC 9126, over TLS: who may push what, how often it may be opened, and who wins.

use std::sync::Arc;

use sealstone_auth::protocol::client_auth::Shown;
use sealstone_auth::protocol::{Confirmation, OAuthError, Parameters, asked::Asked, authorize, par};
use sealstone_auth::store::Sqlite;
use sealstone_auth::{CodeFlow, Consent, Grant, NewAuthentication, NewClient, RedirectUri};
use sealstone_jose::Algorithm;
use serde_json::json;

use crate::code::session;
use crate::dpop::key;
use crate::front::{CHALLENGE, Front, Pairs, encoded, name_in, value, with, without};
use crate::support::{Credentials, House, config, log_capture, names};
use crate::whole_flow::{Browser, field, text};

fn pairs(list: &[(&str, &str)]) -> Pairs {
    list.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
}

/// §2 and §4: pushed, opened with nothing but its name, answered; and what the metadata says of it (§5).
#[tokio::test]
async fn rfc9126_s2_pushed_opened_and_answered() {
    let front = Front::start().await;
    let metadata = front.server.get("/.well-known/oauth-authorization-server").await.json();
    assert_eq!(metadata["pushed_authorization_request_endpoint"], front.url("/par"));
    assert_eq!(metadata["require_pushed_authorization_requests"], false);

    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let mut browser = Browser::new(&front.server);
    let page = browser.get(&front.bare_address(&front.one, &name)).await;
    assert_eq!(page.status, 200);
    let carried = field(&page, "continue_query");
    let told = ["the-state", CHALLENGE, "one.example"];
    assert!(!told.iter().any(|part| carried.contains(part)), "the browser carries the name alone: {carried}");
    let answer = front.came_back(&front.one, &front.go_on(&mut browser, page, "allow").await);
    assert_eq!(value(&answer, "state").as_deref(), Some("the-state"));
    let tokens = front.redeem(&front.one, &value(&answer, "code").unwrap()).await;
    assert_eq!(tokens.status, 200, "{}", text(&tokens));
    front.server.stop().await;
}

/// §2: as at the token endpoint, whatever the method, and an assertion is used once there too.
#[tokio::test]
async fn rfc9126_s2_who_may_push() {
    let directory = tempfile::tempdir().unwrap();
    let server = crate::support::Running::start(config(directory.path())).await;
    let shop = |authentication| NewClient {
        algorithm: Algorithm::Es256,
        authentication,
        code_flow: CodeFlow {
            redirect_uris: vec![RedirectUri::parse("https://shop.example/callback").unwrap()],
            ..CodeFlow::default()
        },
        grants: [Grant::AuthorizationCode].into(),
        scopes: names(&["email"]),
        ..NewClient::default()
    };
    let (basic, basic_secret) =
        server.admin.add_client(shop(NewAuthentication::ClientSecretBasic)).await.unwrap();
    let (post, post_secret) =
        server.admin.add_client(shop(NewAuthentication::ClientSecretPost)).await.unwrap();
    let public = NewClient { id: Some("app".into()), ..shop(NewAuthentication::None) };
    server.enrol(public).await;
    let request = format!(
        "response_type=code&redirect_uri=https%3A%2F%2Fshop.example%2Fcallback&code_challenge={CHALLENGE}\
         &code_challenge_method=S256"
    );
    let send = async |form: &str, authorization: Option<String>| {
        let mut asked = server.form("/par", form);
        asked.headers_mut().remove("authorization");
        if let Some(value) = authorization {
            asked.headers_mut().insert("authorization", value.parse().unwrap());
        }
        server.send(asked).await
    };
    let basic_who = Credentials { id: basic.id.clone(), secret: basic_secret.unwrap().reveal().into() };
    name_in(&send(&request, Some(basic_who.basic())).await);
    let with_secret =
        format!("{request}&client_id={}&client_secret={}", post.id, post_secret.unwrap().reveal());
    name_in(&send(&with_secret, None).await);
    name_in(&send(&format!("{request}&client_id=app"), None).await);

    let wrong = Credentials { secret: "wrong".into(), ..basic_who.clone() };
    assert_eq!(send(&request, Some(wrong.basic())).await.refusal(), (401, "invalid_client".into()));
    assert_eq!(send(&request, None).await.refusal(), (401, "invalid_client".into()));
    let other = send(&format!("{request}&client_id=app"), Some(basic_who.basic())).await;
    assert_eq!(other.refusal(), (400, "invalid_request".into()), "two clients in one request");
    // A client without the grant.
    let not_granted = send(&format!("{request}&client_id={}", server.who.id), Some(server.who.basic())).await;
    assert_eq!(not_granted.refusal().0, 400);
    let asked_by_get = server.get("/par").await;
    assert_eq!(asked_by_get.status, 405);
    server.stop().await;
}

/// §2 with a certificate, RFC 8705 §2. No certificate is demanded of others, even if their tokens are bound to one.
#[tokio::test]
async fn rfc8705_s2_a_client_with_a_certificate_pushes() {
    let front = Front::start_mtls().await;
    let code = front.code(&front.one, &front.request(&front.one)).await;
    let tokens = front.redeem(&front.one, &code).await;
    assert_eq!(tokens.status, 200, "{}", text(&tokens));
    let form = front.request(&front.one);
    let bare = front.post("/par", &form, None, None).await;
    assert_eq!(bare.refusal(), (401, "invalid_client".into()));
    front.server.stop().await;

    let bound = |new| NewClient { tls_client_certificate_bound_access_tokens: true, ..new };
    let front = Front::with(false, bound).await;
    front.pushed(&front.one, &front.request(&front.one)).await;
    front.server.stop().await;
}

/// §2.3: whatever the authorization endpoint would refuse is refused here, in JSON.
#[tokio::test]
async fn rfc9126_s2_3_what_is_wrong_is_said_at_once() {
    let front = Front::start().await;
    let good = front.request(&front.one);
    for (request, error) in [
        (with(&good, "response_type", "token"), "unsupported_response_type"),
        (with(&good, "redirect_uri", "https://one.example/other"), "invalid_request"),
        (with(&good, "code_challenge_method", "plain"), "invalid_request"),
        (with(&good, "scope", "admin"), "invalid_scope"),
        (with(&good, "resource", "https://elsewhere.example"), "invalid_target"),
        (with(&good, "response_mode", "fragment"), "invalid_request"),
        (with(&good, "request_uri", "urn:ietf:params:oauth:request_uri:x"), "invalid_request"),
        (with(&good, "client_id", "two"), "invalid_request"),
        (without(&good, "code_challenge"), "invalid_request"),
    ] {
        assert_eq!(front.push(&front.one, &request).await.refusal(), (400, error.into()), "{request:?}");
    }
    let mut twice = good.clone();
    twice.push(("state".into(), "another".into()));
    assert_eq!(
        front.push(&front.one, &twice).await.refusal(),
        (400, "invalid_request".into()),
        "RFC 6749 §3.2"
    );
    // One that may leave its id out of the request, because it has shown who it is.
    front.pushed(&front.one, &without(&good, "client_id")).await;
    front.server.stop().await;
}

/// §6: nothing that the browser says counts for a client that pushes, neither instead of the name nor beside it.
#[tokio::test]
async fn rfc9126_s6_a_client_that_must_push() {
    let front = Front::start().await;
    let mut browser = Browser::new(&front.server);
    let plain = format!("/authorize?{}", encoded(&front.request(&front.one)));
    front.is_page(&browser.get(&plain).await);
    let elsewhere = with(&front.request(&front.one), "request_uri", "https://one.example/request.jwt");
    front.is_page(&browser.get(&format!("/authorize?{}", encoded(&elsewhere))).await);

    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let changed = pairs(&[
        ("client_id", "one"),
        ("request_uri", &name),
        ("redirect_uri", "https://attacker.example/"),
        ("scope", "profile"),
        ("state", "attacker's"),
        ("response_type", "token"),
        ("prompt", "none"),
    ]);
    let changed = format!("/authorize?{}", encoded(&changed));
    let page = browser.get(&changed).await;
    assert!(!field(&page, "continue_query").contains("attacker"), "RFC 9101 §5");
    let answer = front.settled(&front.one).await.get(&changed).await;
    let answer = front.came_back(&front.one, &answer);
    assert_eq!(value(&answer, "state").as_deref(), Some("the-state"));
    let tokens = front.redeem(&front.one, &value(&answer, "code").unwrap()).await.json();
    assert_eq!(tokens["scope"], "email openid");
    front.server.stop().await;
}

/// §2.2, §4 and §7: made up, another client's, over, used: all look alike, and nobody is sent anywhere.
#[tokio::test]
async fn rfc9126_s4_names_that_are_not_good() {
    let logs = log_capture();
    let front = Front::start().await;
    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let mut browser = Browser::new(&front.server);
    let foreign = browser.get(&front.address(&front.two, &name)).await;
    let unknown = browser.get(&front.address(&front.one, "urn:ietf:params:oauth:request_uri:made-up")).await;
    front.is_page(&foreign);
    front.is_page(&unknown);
    assert_eq!(text(&foreign), text(&unknown));
    let nobody = browser.get(&format!("/authorize?request_uri={}", name.replace(':', "%3A"))).await;
    front.is_page(&nobody);

    // The last second is good, the one in which it ends is not.
    front.clock.advance(59);
    assert_eq!(browser.get(&front.address(&front.one, &name)).await.status, 200);
    front.clock.advance(1);
    let late = browser.get(&front.address(&front.one, &name)).await;
    front.is_page(&late);
    assert_eq!(text(&late), text(&unknown));
    let logged = logs.text();
    for hint in ["it was not opened in time", "it was pushed by another client", "it was not pushed here"] {
        assert!(logged.contains(hint), "the operator learns why: {hint}");
    }
    assert!(!logged.contains(&name), "and not the name");
    front.server.stop().await;
}

/// Who has opened it in time may sign in at leisure: for ten minutes, with a mark that nobody can make up.
#[tokio::test]
async fn rfc9126_s4_a_person_has_time_to_sign_in() {
    let front = Front::start().await;
    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let other = front.pushed(&front.one, &front.request(&front.one)).await;
    let mut browser = Browser::new(&front.server);
    front.clock.advance(59);
    let page = browser.get(&front.bare_address(&front.one, &name)).await;
    let carried = field(&page, "continue_query");
    front.clock.advance(300);
    let wrong = [
        carried.replace(&name.replace(':', "%3A"), &other.replace(':', "%3A")),
        carried.replace("sealstone_opened=", "sealstone_opened=1"),
        format!(
            "{}&sealstone_opened=1800000359.AAAA",
            front.bare_address(&front.one, &name).split_once('?').unwrap().1
        ),
    ];
    for query in wrong {
        assert_ne!(query, carried);
        front.is_page(&browser.get(&format!("/authorize?{query}")).await);
    }
    let answer = front.came_back(&front.one, &front.go_on(&mut browser, page, "allow").await);
    assert!(value(&answer, "code").is_some());

    let third = front.pushed(&front.one, &front.request(&front.one)).await;
    let address = front.bare_address(&front.one, &third);
    let mut slow = Browser::new(&front.server);
    let carried = field(&slow.get(&address).await, "continue_query");
    front.clock.advance(600);
    assert_eq!(slow.get(&format!("/authorize?{carried}")).await.status, 200);
    front.clock.advance(1);
    front.is_page(&slow.get(&format!("/authorize?{carried}")).await);
    front.server.stop().await;
}

/// §7.3: opened twice before it is finished, finished once. A code, a no and an error are each an answer.
#[tokio::test]
async fn rfc9126_s7_3_used_up_by_its_answer() {
    let front = Front::start().await;
    for decision in ["deny", "allow"] {
        let name = front.pushed(&front.one, &front.request(&front.one)).await;
        let address = front.address(&front.one, &name);
        let (mut browser, mut again) = (Browser::new(&front.server), Browser::new(&front.server));
        assert_eq!(again.get(&address).await.status, 200);
        let page = again.get(&address).await;
        let answer = front.came_back(&front.one, &front.visit(&mut browser, &address, decision).await);
        assert_eq!(value(&answer, "code").is_some(), decision == "allow");
        front.is_page(&browser.get(&address).await);
        // Somebody who had the page open before, too.
        front.is_page(&again.sign_in(&page).await);
    }
    let silent = with(&front.request(&front.one), "prompt", "none");
    let address = front.address(&front.one, &front.pushed(&front.one, &silent).await);
    let mut stranger = Browser::new(&front.server);
    let answer = front.came_back(&front.one, &stranger.get(&address).await);
    assert_eq!(value(&answer, "error").as_deref(), Some("login_required"));
    front.is_page(&stranger.get(&address).await);
    front.server.stop().await;
}

/// §7.3: a person's browser asks sixteen times at once. One request is answered with a code.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc9126_s7_3_of_sixteen_at_once_one_is_answered() {
    let implied = |new: NewClient| NewClient {
        code_flow: CodeFlow { consent: Consent::Implied, ..new.code_flow.clone() },
        ..new
    };
    let front = Arc::new(Front::with(false, implied).await);
    let first = front.pushed(&front.one, &front.request(&front.one)).await;
    let mut browser = Browser::new(&front.server);
    front
        .came_back(&front.one, &front.visit(&mut browser, &front.address(&front.one, &first), "allow").await);
    let name = front.pushed(&front.one, &front.request(&front.one)).await;
    let (address, cookies) = (front.bare_address(&front.one, &name), browser.cookies());
    let asked = (0..16).map(|_| {
        let (front, address, cookies) = (Arc::clone(&front), address.clone(), cookies.clone());
        tokio::spawn(async move { Browser::with(&front.server, cookies).get(&address).await.status.as_u16() })
    });
    let mut statuses = Vec::new();
    for asked in asked.collect::<Vec<_>>() {
        statuses.push(asked.await.unwrap());
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [&[303][..], &[400; 15]].concat());
}

/// The same in one process without HTTP, many times over: two nodes on one store, and what they issue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc9126_s7_3_two_nodes_race_for_each_of_a_hundred() {
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let house = Arc::new(House::with(store, &[Algorithm::Es256]).await);
    let who = house.client(crate::code::shop()).await;
    let person = session().await;
    for _ in 0..100 {
        let name = push(&house, &who).await.unwrap().request_uri;
        let racers = (0..4).map(|_| {
            let (house, name, person) = (Arc::clone(&house), name.clone(), person.clone());
            tokio::spawn(async move {
                let (now, key) = (house.clock_now(), &house.live.flow_keys().sign_in);
                let query =
                    Parameters::parse(format!("client_id=shop&request_uri={name}").as_bytes()).unwrap();
                let snapshot = house.live.snapshot_owned();
                let asked = Asked::open(query, house.means(&snapshot), &*house.store, key).await?;
                let request = authorize::Request::read(&asked, &snapshot, &house.issuer, key, now).unwrap();
                let randomness = house.live.randomness();
                authorize::issue(&request, &person, &house.issuer, &*house.store, randomness, now).await
            })
        });
        let mut won = 0;
        for racer in racers.collect::<Vec<_>>() {
            match racer.await.unwrap() {
                Ok(_) => won += 1,
                Err(error) => assert_eq!(error.code.name(), "invalid_request_uri"),
            }
        }
        assert_eq!(won, 1);
    }
}

async fn push(house: &House, who: &Credentials) -> Result<par::Pushed, OAuthError> {
    let form = crate::code::query("&scope=email");
    let parameters = Parameters::parse(form.as_bytes()).unwrap();
    let snapshot = house.live.snapshot_owned();
    let (basic, bearer) = (who.basic(), Confirmation::default());
    let shown = Shown { authorization: &[basic.as_bytes()], certificate: None, parameters: &parameters };
    let proof = sealstone_auth::protocol::client_auth::authenticate(shown, house.means(&snapshot)).await?;
    let caller = proof.complete(&*house.store, house.clock_now()).await?;
    let ground = house.ground(&snapshot, &bearer);
    par::push(&caller, &parameters, None, 60, &house.live.flow_keys().sign_in, house.means(&snapshot), ground)
        .await
}

/// A client that was removed, or registered anew under its id, has pushed nothing.
#[tokio::test]
async fn a_request_does_not_outlive_its_client() {
    let house = House::build().await;
    let who = house.client(crate::code::shop()).await;
    let name = push(&house, &who).await.unwrap().request_uri;
    let open = async || {
        let query = Parameters::parse(format!("client_id=shop&request_uri={name}").as_bytes()).unwrap();
        let (snapshot, key) = (house.live.snapshot_owned(), &house.live.flow_keys().sign_in);
        Asked::open(query, house.means(&snapshot), &*house.store, key).await.map(|_| ())
    };
    open().await.unwrap();
    house.admin.remove_client("shop", None).await.unwrap();
    house.refresh().await;
    assert_eq!(open().await.unwrap_err().code.name(), "invalid_request_uri");
    house.clock.advance(1);
    house.client(crate::code::shop()).await;
    assert_eq!(open().await.unwrap_err().code.name(), "invalid_request_uri");
}

/// RFC 9449 §10.1: a proof at this endpoint binds the code; one that contradicts `dpop_jkt` is refused. An assertion is
/// not used up by an answer that asks for a nonce, and is by any other.
#[tokio::test]
async fn rfc9449_s10_1_a_code_bound_by_the_proof_of_the_push() {
    let front = Front::start().await;
    let (one, request) = (&front.one, front.request(&front.one));
    let named = with(&request, "dpop_jkt", one.dpop.public().thumbprint());
    for (request, proof) in [(&request, Some(&one.dpop)), (&named, None), (&named, Some(&one.dpop))] {
        for (key, status) in [(&one.dpop, 200), (&key(), 400)] {
            let name = name_in(&front.push_with(one, request, proof).await);
            let mut browser = Browser::new(&front.server);
            let answer = front.visit(&mut browser, &front.address(one, &name), "allow").await;
            let code = value(&front.came_back(one, &answer), "code").unwrap();
            let tokens = front.token_with(one, &front.redemption(one, &code), Some(key)).await;
            assert_eq!(tokens.status, status, "{}", text(&tokens));
        }
    }
    let other = front.push_with(one, &named, Some(&key())).await;
    assert_eq!(other.refusal(), (400, "invalid_dpop_proof".into()));
    let wrong = front.proof(&one.dpop, &front.proof_claims("POST", "/token", None));
    let form: Pairs = request.iter().cloned().chain(front.identified(one)).collect();
    let mut sent = front.server.form("/par", &encoded(&form));
    sent.headers_mut().remove("authorization");
    sent.headers_mut().insert("dpop", wrong.parse().unwrap());
    let answer = front.server.send(sent).await;
    assert_eq!(answer.refusal(), (400, "invalid_dpop_proof".into()), "a proof for another endpoint");

    let form: Pairs = request.iter().cloned().chain(front.identified(one)).collect();
    assert_eq!(front.post("/par", &form, None, None).await.status, 201);
    let again = front.post("/par", &form, None, None).await;
    assert_eq!(again.refusal(), (401, "invalid_client".into()), "the assertion was used");
    front.server.stop().await;
}

/// What stands in the store opens nothing: names are kept by their hash, and no secret of the client is kept.
#[tokio::test]
async fn what_is_kept_of_a_pushed_request() {
    let house = House::build().await;
    let who = house.client(crate::code::shop()).await;
    let pushed = push(&house, &who).await.unwrap();
    use sealstone_auth::store::{Kind, Version};
    let kept = house.store.list(Kind::PushedRequest, Version::ZERO, house.clock_now()).await.unwrap();
    assert_eq!(kept.len(), 1);
    assert!(!pushed.request_uri.contains(&kept[0].id));
    let body: serde_json::Value = serde_json::from_slice(&kept[0].body).unwrap();
    assert_eq!(body["client_id"], "shop");
    assert!(!body.to_string().contains(&pushed.request_uri[34..]));
    let names: Vec<&serde_json::Value> =
        body["parameters"].as_array().unwrap().iter().map(|pair| &pair[0]).collect();
    for name in ["client_secret", "client_assertion", "client_assertion_type", "sealstone_after"] {
        assert!(!names.contains(&&json!(name)), "{name}");
    }
}
