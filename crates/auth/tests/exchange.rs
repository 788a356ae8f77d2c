//! Token exchange: what RFC 8693 gives, and everything that it must not.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::prelude::*;
use sealstone_auth::protocol::token::TokenResponse;
use sealstone_auth::protocol::token_exchange::{ACCESS_TOKEN, JWT, MAX_ACTORS};
use sealstone_auth::protocol::{Code, Confirmation, OAuthError, Parameters};
use sealstone_auth::store::{Kind, NewRecord, Version};
use sealstone_auth::{Clock, Exchange, Grant, NewAuthentication, NewClient};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Credentials, House, START, names};

const ORDERS: &str = "https://orders.example";
const STOCK: &str = "https://stock.example";
const BANK: &str = "https://bank.example";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// `app` calls `orders`, which may call `stock` and `bank` for it; `stock` may call `bank`.
struct Shop {
    house: House,
    app: Credentials,
    orders: Credentials,
    stock: Credentials,
}

impl Shop {
    async fn build() -> Self {
        let house = House::build().await;
        let app = NewClient {
            audiences: vec![ORDERS.into(), STOCK.into()],
            scopes: names(&["read", "write", "pay"]),
            ..client("app")
        };
        let orders = NewClient {
            exchange: policy(&[ORDERS], &[STOCK, BANK]),
            scopes: names(&["read", "write", "audit"]),
            ..exchanging("orders")
        };
        let stock = NewClient {
            exchange: policy(&[STOCK], &[BANK]),
            scopes: names(&["read"]),
            ..exchanging("stock")
        };
        let app = house.client(app).await;
        let orders = house.client(orders).await;
        let stock = house.client(stock).await;
        Self { house, app, orders, stock }
    }

    /// A token of `app` for one audience.
    fn token(&self, audience: &str, scope: &str) -> String {
        let form = format!("grant_type=client_credentials&resource={audience}&scope={scope}");
        self.house.ask(&self.app, &form).unwrap().access_token
    }

    fn exchange(&self, who: &Credentials, token: &str, more: &str) -> Result<TokenResponse, OAuthError> {
        self.exchange_with(who, token, more, Confirmation::default())
    }

    fn exchange_with(
        &self,
        who: &Credentials,
        token: &str,
        more: &str,
        shown: Confirmation,
    ) -> Result<TokenResponse, OAuthError> {
        let form =
            format!("grant_type={GRANT}&subject_token={token}&subject_token_type={ACCESS_TOKEN}&{more}");
        self.house.ask_with(who, &form, shown)
    }

    fn refused(&self, who: &Credentials, token: &str, more: &str, code: Code, why: &str) {
        assert_eq!(self.exchange(who, token, more).unwrap_err().code, code, "{why}");
    }

    fn claims(&self, token: &str) -> Value {
        let claims = |name: &str| self.house.check(token).unwrap().claim(name).cloned();
        ["act", "aud", "client_id", "cnf", "exp", "may_act", "scope", "sub", "acr", "auth_time"]
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), claims(name)?)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    }

    /// A token of the server's with any claims: what flows to come will put there.
    async fn signed(&self, claims: Claims) -> String {
        jwt::sign(&self.house.signing_key().await, "at+jwt", &claims).unwrap()
    }
}

fn client(id: &str) -> NewClient {
    NewClient { algorithm: Algorithm::Es256, id: Some(id.into()), ..NewClient::default() }
}

fn exchanging(id: &str) -> NewClient {
    NewClient { grants: BTreeSet::from([Grant::ClientCredentials, Grant::TokenExchange]), ..client(id) }
}

fn policy(from: &[&str], to: &[&str]) -> Exchange {
    Exchange { from: names(from), impersonation: false, to: names(to) }
}

/// What the server would say of a user who came through `app`.
fn user() -> Claims {
    Claims::new()
        .with("iss", "https://auth.example.org")
        .with("sub", "alice")
        .with("client_id", "app")
        .with("aud", ORDERS)
        .with("iat", START)
        .with("exp", START + 900)
        .with("jti", "family.first")
        .with("scope", "read write")
}

#[tokio::test]
async fn rfc8693_s2_2_1_the_answer() {
    let shop = Shop::build().await;
    let granted =
        shop.exchange(&shop.orders, &shop.token(ORDERS, "read"), &format!("audience={STOCK}")).unwrap();
    assert_eq!(granted.issued_token_type, Some(ACCESS_TOKEN));
    assert_eq!((granted.token_type, granted.scope.as_deref()), ("Bearer", Some("read")));
    let said = serde_json::from_slice::<Value>(&granted.json().unwrap()).unwrap();
    assert_eq!(said["issued_token_type"], ACCESS_TOKEN);
    let bearer = shop.house.ask(&shop.app, "grant_type=client_credentials").unwrap();
    assert!(
        !String::from_utf8(bearer.json().unwrap()).unwrap().contains("issued_token_type"),
        "only where it is needed"
    );
    assert_eq!(
        shop.claims(&granted.access_token),
        json!({
            "act": {"client_id": "orders", "sub": "orders"},
            "aud": STOCK,
            "client_id": "orders",
            "exp": START + 900,
            "scope": "read",
            "sub": "app",
        })
    );
    assert_eq!(
        shop.house.introspect(&shop.orders, &granted.access_token)["act"]["sub"],
        "orders",
        "RFC 8693 §4.1: introspection shows it"
    );
}

#[tokio::test]
async fn rfc8693_s2_1_the_types() {
    let shop = Shop::build().await;
    let token = shop.token(ORDERS, "read");
    let ask =
        |form: String| shop.house.ask(&shop.orders, &format!("grant_type={GRANT}&audience={STOCK}&{form}"));
    for kind in [ACCESS_TOKEN, JWT] {
        assert!(ask(format!("subject_token={token}&subject_token_type={kind}")).is_ok(), "{kind}");
    }
    let good = format!("subject_token={token}&subject_token_type={ACCESS_TOKEN}");
    assert!(ask(format!("{good}&requested_token_type={ACCESS_TOKEN}")).is_ok());
    let kind = |name: &str| format!("urn:ietf:params:oauth:token-type:{name}");
    for wrong in [
        String::new(),
        format!("subject_token={token}"),
        format!("subject_token={token}&subject_token_type="),
        format!("subject_token_type={ACCESS_TOKEN}"),
        format!("subject_token=&subject_token_type={ACCESS_TOKEN}"),
        format!("subject_token={token}&subject_token_type={}", kind("id_token")),
        format!("subject_token={token}&subject_token_type={}", kind("refresh_token")),
        format!("subject_token={token}&subject_token_type={}", kind("saml2")),
        format!("subject_token={token}&subject_token_type=access_token"),
        format!("{good}&requested_token_type={}", kind("refresh_token")),
        format!("{good}&requested_token_type={}", kind("id_token")),
        format!("{good}&requested_token_type={JWT}"),
        format!("{good}&actor_token={token}"),
        format!("{good}&actor_token_type={ACCESS_TOKEN}"),
        format!("{good}&actor_token={token}&actor_token_type={}", kind("id_token")),
        format!("{good}&subject_token={token}"),
    ] {
        assert_eq!(ask(wrong.clone()).unwrap_err().code, Code::InvalidRequest, "{wrong}");
    }
}

/// All of these look alike, and the log says which it was.
#[tokio::test]
async fn rfc8693_s2_2_2_tokens_that_do_not_hold() {
    let shop = Shop::build().await;
    let to = format!("audience={STOCK}");
    let stranger = PrivateKey::generate(Algorithm::Es256).unwrap();
    let signing = shop.house.signing_key().await;
    let good = shop.token(ORDERS, "read");
    let mut bytes = URL_SAFE_NO_PAD.decode(good.rsplit_once('.').unwrap().1).unwrap();
    bytes[0] ^= 1;
    let forged = format!("{}.{}", good.rsplit_once('.').unwrap().0, URL_SAFE_NO_PAD.encode(bytes));
    let posed = stranger.clone().with_kid(signing.kid());
    let tokens = [
        ("nonsense", "nonsense".to_owned()),
        ("a forged signature", forged),
        ("signed by a stranger", jwt::sign(&stranger, "at+jwt", &user()).unwrap()),
        ("signed by a stranger under our key id", jwt::sign(&posed, "at+jwt", &user()).unwrap()),
        ("another type of ours", jwt::sign(&signing, "JWT", &user()).unwrap()),
        ("no type", jwt::sign(&signing, "", &user()).unwrap()),
        ("another issuer", shop.signed(user().with("iss", "https://evil.example")).await),
        ("over", shop.signed(user().with("exp", START)).await),
        ("of a client that is gone", shop.signed(user().with("client_id", "gone")).await),
        ("from before its client", shop.signed(user().with("iat", START - 1)).await),
        ("no subject", shop.signed(user().with("sub", "")).await),
        ("for another audience", shop.token(STOCK, "read")),
        ("for no audience of the client", shop.signed(user().with("aud", json!([BANK, STOCK]))).await),
        ("for nobody", shop.signed(user().with("aud", json!([]))).await),
    ];
    let mut said = BTreeSet::new();
    for (why, token) in &tokens {
        for form in [to.clone(), format!("{to}&scope=read"), format!("audience={BANK}")] {
            let error = shop.exchange(&shop.orders, token, &form).unwrap_err();
            assert_eq!(error.code, Code::InvalidRequest, "{why}");
            assert!(error.hint.is_some(), "{why}");
            said.insert(error.description.to_string());
        }
    }
    assert_eq!(said.len(), 1, "they look alike: {said:?}");
    assert!(shop.exchange(&shop.orders, &good, &to).is_ok());
    assert!(shop.exchange(&shop.orders, &shop.signed(user()).await, &to).is_ok());
    let both = shop.signed(user().with("aud", json!([BANK, ORDERS]))).await;
    assert!(shop.exchange(&shop.orders, &both, &to).is_ok(), "one of its audiences is enough");
    shop.house.clock.advance(900);
    shop.refused(&shop.orders, &good, &to, Code::InvalidRequest, "over in this second");
}

#[tokio::test]
async fn by_default_a_client_exchanges_nothing() {
    let shop = Shop::build().await;
    let token = shop.token(ORDERS, "read");
    shop.refused(&shop.app, &token, &format!("audience={STOCK}"), Code::UnauthorizedClient, "no such grant");
    for (exchange, grants) in [
        (Exchange::default(), vec![Grant::TokenExchange]),
        (policy(&[ORDERS], &[]), vec![Grant::TokenExchange]),
        (policy(&[], &[STOCK]), vec![Grant::TokenExchange]),
        (policy(&[ORDERS], &[STOCK]), vec![Grant::ClientCredentials]),
        (policy(&[], &[STOCK]), vec![]),
        (Exchange { impersonation: true, ..Exchange::default() }, vec![]),
        (policy(&[ORDERS], &["two words"]), vec![Grant::TokenExchange]),
    ] {
        let new = NewClient { exchange, grants: grants.into_iter().collect(), ..client("half") };
        let refused = shop.house.admin.add_client(new).await;
        assert!(matches!(refused, Err(sealstone_auth::Error::ClientInvalid { field: "exchange", .. })));
    }
    // Whoever proves nothing brings no tokens of others.
    for grant in [Grant::TokenExchange, Grant::JwtBearer] {
        let exchange =
            if grant == Grant::TokenExchange { policy(&[ORDERS], &[STOCK]) } else { Exchange::default() };
        let authentication = NewAuthentication::None;
        let new = NewClient { authentication, exchange, grants: [grant].into(), ..client("public") };
        let refused = shop.house.admin.add_client(new).await;
        assert!(matches!(refused, Err(sealstone_auth::Error::ClientInvalid { field: "grants", .. })));
    }
    let listed = shop.house.admin.list_clients().await.unwrap();
    let stored: Vec<&Exchange> = listed.iter().map(|(client, _)| &client.exchange).collect();
    assert_eq!(
        stored,
        [&Exchange::default(), &policy(&[ORDERS], &[STOCK, BANK]), &policy(&[STOCK], &[BANK])]
    );
}

#[tokio::test]
async fn rfc8693_s2_1_targets() {
    let shop = Shop::build().await;
    let (orders, token) = (&shop.orders, shop.token(ORDERS, "read"));
    let aud = |form: &str| {
        let granted = shop.exchange(orders, &token, form).map_err(|error| error.code)?;
        Ok(shop.claims(&granted.access_token)["aud"].clone())
    };
    assert_eq!(aud(&format!("audience={STOCK}")), Ok(json!(STOCK)));
    assert_eq!(aud(&format!("resource={BANK}")), Ok(json!(BANK)));
    assert_eq!(aud(&format!("audience={STOCK}&resource={BANK}")), Ok(json!([BANK, STOCK])));
    assert_eq!(aud(&format!("audience={STOCK}&audience={BANK}&audience={STOCK}")), Ok(json!([STOCK, BANK])));
    for wrong in [
        String::new(),
        "audience=https://elsewhere.example".into(),
        format!("audience={ORDERS}"),
        format!("audience={STOCK}&resource=https://elsewhere.example"),
        format!("audience={STOCK}/"),
        format!("audience={}", STOCK.to_uppercase()),
        "audience=https://auth.example.org".into(),
        "audience=".into(),
    ] {
        assert_eq!(aud(&wrong), Err(Code::InvalidTarget), "{wrong}");
    }
    // With one target there is nothing to choose.
    let granted = shop.exchange(&shop.stock, &shop.token(STOCK, "read"), "").unwrap();
    assert_eq!(shop.claims(&granted.access_token)["aud"], BANK);
}

#[tokio::test]
async fn rfc8693_s2_1_scopes_are_those_that_all_three_share() {
    let shop = Shop::build().await;
    let scope = |held: &str, more: &str| {
        let form = format!("audience={STOCK}{more}");
        let granted =
            shop.exchange(&shop.orders, &shop.token(ORDERS, held), &form).map_err(|error| error.code)?;
        let claimed = shop.claims(&granted.access_token)["scope"].as_str().map(str::to_owned);
        assert_eq!(claimed, granted.scope, "the answer says which");
        Ok(claimed)
    };
    let some = |scope: &str| Ok(Some(scope.to_owned()));
    assert_eq!(scope("read%20write%20pay", ""), some("read write"));
    assert_eq!(scope("read%20pay", ""), some("read"));
    assert_eq!(scope("pay", ""), Ok(None), "nothing is shared");
    assert_eq!(scope("read%20write", "&scope=write"), some("write"));
    assert_eq!(scope("read", "&scope=write%20read"), some("read"), "RFC 6749 §3.3: a part");
    for wrong in ["audit", "pay", "write", "admin", "read%20%20write", "%20read", "r%22"] {
        assert_eq!(scope("read", &format!("&scope={wrong}")), Err(Code::InvalidScope), "{wrong}");
    }
    let bare =
        shop.signed(Claims::parse(&user().to_json().replace(",\"scope\":\"read write\"", "")).unwrap()).await;
    let granted = shop.exchange(&shop.orders, &bare, &format!("audience={STOCK}")).unwrap();
    assert_eq!(granted.scope, None, "a token without scopes gives none");
    shop.refused(
        &shop.orders,
        &bare,
        &format!("audience={STOCK}&scope=read"),
        Code::InvalidScope,
        "no scope",
    );
}

#[tokio::test]
async fn rfc8693_s4_1_a_chain_of_actors() {
    let shop = Shop::build().await;
    let first =
        shop.exchange(&shop.orders, &shop.signed(user()).await, &format!("audience={STOCK}")).unwrap();
    let second = shop.exchange(&shop.stock, &first.access_token, "").unwrap();
    let claims = shop.claims(&second.access_token);
    assert_eq!((&claims["sub"], &claims["client_id"]), (&json!("alice"), &json!("stock")));
    let inner = json!({"client_id": "orders", "sub": "orders"});
    assert_eq!(
        claims["act"],
        json!({"act": inner, "client_id": "stock", "sub": "stock"}),
        "the newest is outermost"
    );
}

#[tokio::test]
async fn rfc8693_s4_1_a_chain_has_an_end() {
    let shop = Shop::build().await;
    let loops = NewClient { exchange: policy(&[ORDERS], &[ORDERS]), ..exchanging("loops") };
    let loops = shop.house.client(loops).await;
    let mut token = shop.signed(user()).await;
    for hop in 0..MAX_ACTORS {
        token =
            shop.exchange(&loops, &token, "").unwrap_or_else(|error| panic!("{hop}: {error:?}")).access_token;
    }
    shop.refused(&loops, &token, "", Code::InvalidRequest, "one too many");
    // Also where a chain came from elsewhere, and where nobody is added to it.
    let mut act = json!({"sub": "0"});
    for n in 1..MAX_ACTORS {
        act = json!({"sub": n.to_string(), "act": act});
    }
    let long = shop.signed(user().with("act", act)).await;
    shop.refused(&loops, &long, "", Code::InvalidRequest, "one too many");
    let exchange = Exchange { impersonation: true, ..policy(&[ORDERS], &[ORDERS]) };
    let unseen = shop.house.client(NewClient { exchange, ..exchanging("unseen") }).await;
    assert!(shop.exchange(&unseen, &long, "").is_ok(), "as long as may be");
    let mut token = shop.signed(user()).await;
    for _ in 0..MAX_ACTORS {
        token = shop.exchange(&unseen, &token, "").unwrap().access_token;
    }
    shop.refused(&unseen, &token, "", Code::InvalidRequest, "too many exchanges");
}

#[tokio::test]
async fn rfc8693_s1_1_impersonation_only_where_registered() {
    let shop = Shop::build().await;
    let exchange = Exchange { impersonation: true, ..policy(&[ORDERS, STOCK], &[STOCK, BANK]) };
    let unseen =
        shop.house.client(NewClient { exchange, scopes: names(&["read"]), ..exchanging("unseen") }).await;
    let token = shop.token(ORDERS, "read");
    let to = format!("audience={BANK}");
    let plain = shop.exchange(&unseen, &token, &to).unwrap();
    assert_eq!(shop.claims(&plain.access_token).get("act"), None);
    assert!(
        shop.claims(&shop.exchange(&shop.orders, &token, &to).unwrap().access_token).get("act").is_some()
    );
    // Who acted before stays.
    let first = shop.exchange(&shop.orders, &token, &format!("audience={STOCK}")).unwrap();
    let second = shop.exchange(&unseen, &first.access_token, &to).unwrap();
    assert_eq!(shop.claims(&second.access_token)["act"], json!({"client_id": "orders", "sub": "orders"}));
    // Whoever names an actor does not leave it out.
    let own = shop.house.token(&unseen);
    let named = format!("{to}&actor_token={own}&actor_token_type={ACCESS_TOKEN}");
    let third = shop.exchange(&unseen, &token, &named).unwrap();
    assert_eq!(shop.claims(&third.access_token)["act"], json!({"client_id": "unseen", "sub": "unseen"}));
}

#[tokio::test]
async fn rfc8693_s2_1_the_actor_token() {
    let shop = Shop::build().await;
    let subject = shop.signed(user()).await;
    let act = async |actor: Claims| {
        let actor = shop.signed(actor).await;
        let form = format!("audience={STOCK}&actor_token={actor}&actor_token_type={ACCESS_TOKEN}");
        let granted = shop.exchange(&shop.orders, &subject, &form).map_err(|error| error.code)?;
        Ok(shop.claims(&granted.access_token))
    };
    let actor = || user().with("sub", "bob").with("jti", "actor");
    let claims = act(actor()).await.unwrap();
    assert_eq!(claims["act"], json!({"client_id": "app", "sub": "bob"}), "who called");
    assert_eq!((&claims["sub"], &claims["client_id"]), (&json!("alice"), &json!("orders")));
    let own = actor().with("client_id", "orders").with("aud", "https://anything.example");
    assert_eq!(act(own).await.unwrap()["act"]["sub"], "bob", "the client's own token, for whatever audience");
    assert_eq!(
        act(actor().with("exp", START + 60)).await.unwrap()["exp"],
        START + 60,
        "no longer than the actor's"
    );
    for (why, wrong) in [
        ("for another audience", actor().with("aud", STOCK)),
        ("over", actor().with("exp", START)),
        ("acted for itself", actor().with("act", json!({"sub": "x"}))),
        ("bound to a key", actor().with("cnf", json!({"jkt": "x"}))),
        ("another issuer", actor().with("iss", "https://evil.example")),
        ("of nobody", actor().with("sub", "")),
        ("of a client that is gone", actor().with("client_id", "gone")),
    ] {
        assert_eq!(act(wrong).await, Err(Code::InvalidRequest), "{why}");
    }
}

#[tokio::test]
async fn rfc8693_s4_4_may_act() {
    let shop = Shop::build().await;
    let exchange = async |may_act: Value| {
        let token = shop.signed(user().with("may_act", may_act)).await;
        shop.exchange(&shop.orders, &token, &format!("audience={STOCK}"))
    };
    for good in [
        json!({"sub": "orders"}),
        json!({"client_id": "orders"}),
        json!({"sub": "orders", "client_id": "orders", "iss": "https://auth.example.org"}),
    ] {
        let granted = exchange(good.clone()).await.unwrap();
        assert_eq!(shop.claims(&granted.access_token)["may_act"], good, "it holds further on");
        shop.refused(
            &shop.stock,
            &granted.access_token,
            "",
            Code::InvalidRequest,
            "somebody else, further on",
        );
    }
    for wrong in [
        json!({"sub": "stock"}),
        json!({"sub": "orders", "iss": "https://evil.example"}),
        json!({"sub": "orders", "client_id": "stock"}),
        json!({"iss": "https://auth.example.org"}),
        json!({"sub": "orders", "amr": ["hwk"]}),
        json!({}),
        json!([]),
        json!(null),
        json!("orders"),
        json!({"sub": ["orders"]}),
    ] {
        let refused = exchange(wrong.clone()).await.unwrap_err();
        assert_eq!(refused.code, Code::InvalidRequest, "{wrong}");
    }
    // The one who may act is the one of the actor token, not the client that brings it.
    let subject = shop.signed(user().with("may_act", json!({"sub": "bob"}))).await;
    let actor = shop.signed(user().with("sub", "bob").with("jti", "actor")).await;
    let form = format!("audience={STOCK}&actor_token={actor}&actor_token_type={ACCESS_TOKEN}");
    assert!(shop.exchange(&shop.orders, &subject, &form).is_ok());
    shop.refused(&shop.orders, &subject, &format!("audience={STOCK}"), Code::InvalidRequest, "not bob");
    // Impersonation is acting, too.
    let impersonating = Exchange { impersonation: true, ..policy(&[ORDERS], &[STOCK]) };
    let unseen = shop.house.client(NewClient { exchange: impersonating, ..exchanging("unseen") }).await;
    shop.refused(&unseen, &subject, "", Code::InvalidRequest, "not bob either");
}

#[tokio::test]
async fn rfc8693_s2_2_1_never_longer_life_than_the_subject_token() {
    let shop = Shop::build().await;
    let to = format!("audience={STOCK}");
    let token = shop.token(ORDERS, "read");
    for (passed, left) in [(0, 900), (600, 300), (299, 1)] {
        shop.house.clock.advance(passed);
        let granted = shop.exchange(&shop.orders, &token, &to).unwrap();
        assert_eq!(granted.expires_in, left);
        assert_eq!(shop.claims(&granted.access_token)["exp"], START + 900);
    }
    let long = shop.signed(user().with("exp", START + 100_000)).await;
    assert_eq!(shop.exchange(&shop.orders, &long, &to).unwrap().expires_in, 900, "nor than the client's");
}

/// A mark on the family, on the token, or on any token between ends all that came from it.
#[tokio::test]
async fn the_end_of_a_token_is_the_end_of_what_came_from_it() {
    for marked in ["family", "family.first", "first hop", "second hop"] {
        let shop = Shop::build().await;
        let subject = shop.signed(user()).await;
        let first = shop.exchange(&shop.orders, &subject, &format!("audience={STOCK}")).unwrap().access_token;
        let second = shop.exchange(&shop.stock, &first, "").unwrap().access_token;
        let other = shop.signed(user().with("jti", "family2.first")).await;
        let beside = shop.exchange(&shop.orders, &other, &format!("audience={STOCK}")).unwrap().access_token;
        let jti = |token: &str| shop.house.check(token).unwrap().jti().to_owned();
        let id = match marked {
            "first hop" => jti(&first),
            "second hop" => jti(&second),
            id => id.to_owned(),
        };
        let mark = NewRecord { kind: Kind::Revocation, id, expires_at: None, body: vec![] };
        assert!(shop.house.store.insert(mark, shop.house.clock.now()).await.is_ok());
        shop.house.refresh().await;
        let active = |token: &str| shop.house.check(token).unwrap().is_active(&shop.house.live.snapshot());
        let expected = match marked {
            "first hop" => [true, false, false],
            "second hop" => [true, true, false],
            _ => [false, false, false],
        };
        assert_eq!([&subject, &first, &second].map(|token| active(token)), expected, "{marked}");
        assert!(active(&beside), "{marked}: another family");
        if !expected[1] {
            shop.refused(&shop.stock, &first, "", Code::InvalidRequest, "revoked");
        }
    }
}

/// The same by the revocation endpoint: whoever gives a token up gives up what was exchanged from it.
#[tokio::test]
async fn rfc7009_s2_1_revocation_of_the_subject_token() {
    let shop = Shop::build().await;
    let token = shop.token(ORDERS, "read");
    let exchanged = shop.exchange(&shop.orders, &token, &format!("audience={STOCK}")).unwrap().access_token;
    assert_eq!(shop.house.introspect(&shop.orders, &exchanged)["active"], true);
    shop.house.revoke(&shop.app, &format!("token={token}")).await.unwrap();
    assert_eq!(shop.house.introspect(&shop.orders, &exchanged), json!({"active": false}));
    shop.refused(&shop.orders, &token, &format!("audience={STOCK}"), Code::InvalidRequest, "revoked");
    shop.house.admin.remove_client("orders", None).await.unwrap();
    shop.house.refresh().await;
    let other = shop.token(STOCK, "read");
    let exchanged = shop.exchange(&shop.stock, &other, "").unwrap().access_token;
    shop.house.admin.remove_client("stock", None).await.unwrap();
    shop.house.refresh().await;
    assert!(
        !shop.house.check(&exchanged).unwrap().is_active(&shop.house.live.snapshot()),
        "its client is gone"
    );
}

/// RFC 9700 §4.10: a bound token is worth nothing without its key, here too.
#[tokio::test]
async fn rfc9449_s7_a_bound_subject_token_needs_its_key() {
    let shop = Shop::build().await;
    let to = format!("audience={STOCK}");
    let jkt = |jkt: &str| Confirmation { jkt: Some(jkt.into()), ..Confirmation::default() };
    let x5t = |x5t: &str| Confirmation { x5t_s256: Some(x5t.into()), ..Confirmation::default() };
    let both = |key: &str, cert: &str| Confirmation { jkt: Some(key.into()), x5t_s256: Some(cert.into()) };
    for (cnf, shown, good) in [
        (json!({"jkt": "key"}), jkt("key"), true),
        (json!({"jkt": "key"}), both("key", "cert"), true),
        (json!({"jkt": "key"}), Confirmation::default(), false),
        (json!({"jkt": "key"}), jkt("other"), false),
        (json!({"jkt": "key"}), x5t("key"), false),
        (json!({"x5t#S256": "cert"}), x5t("cert"), true),
        (json!({"x5t#S256": "cert"}), Confirmation::default(), false),
        (json!({"x5t#S256": "cert"}), x5t("other"), false),
        (json!({"x5t#S256": "cert"}), jkt("cert"), false),
        (json!({"jkt": "key", "x5t#S256": "cert"}), both("key", "cert"), true),
        (json!({"jkt": "key", "x5t#S256": "cert"}), jkt("key"), false),
        (json!({"jkt": "key", "x5t#S256": "cert"}), x5t("cert"), false),
        (json!({"jkt": "key", "kid": "k"}), jkt("key"), false),
        (json!({}), jkt("key"), false),
        (json!({}), Confirmation::default(), false),
        (json!(null), Confirmation::default(), false),
        (json!("key"), jkt("key"), false),
        (json!({"jkt": null}), Confirmation::default(), false),
    ] {
        let token = shop.signed(user().with("cnf", cnf.clone())).await;
        let granted = shop.exchange_with(&shop.orders, &token, &to, shown.clone());
        assert_eq!(granted.as_ref().map_err(|error| error.code).is_ok(), good, "{cnf} {shown:?}");
        match granted {
            Ok(granted) => {
                let claims = shop.claims(&granted.access_token);
                assert_eq!(claims["cnf"], serde_json::to_value(&shown).unwrap(), "it stays bound");
                assert_eq!(granted.token_type, if shown.jkt.is_some() { "DPoP" } else { "Bearer" });
            }
            Err(error) => assert_eq!(error.code, Code::InvalidRequest),
        }
    }
    // One that is free becomes the key's that the request shows.
    let granted = shop.exchange_with(&shop.orders, &shop.token(ORDERS, "read"), &to, jkt("mine")).unwrap();
    assert_eq!(shop.claims(&granted.access_token)["cnf"], json!({"jkt": "mine"}));
}

/// How a user was authenticated is still so; nothing else comes along.
#[tokio::test]
async fn rfc9068_s2_2_1_what_comes_along() {
    let shop = Shop::build().await;
    let more = user().with("acr", "2").with("auth_time", START - 5).with("email", "alice@example.org");
    let more = more.with("authorization_details", json!([{"type": "all"}]));
    let granted =
        shop.exchange(&shop.orders, &shop.signed(more).await, &format!("audience={STOCK}")).unwrap();
    let claims = shop.claims(&granted.access_token);
    assert_eq!((&claims["acr"], &claims["auth_time"]), (&json!("2"), &json!(START - 5)));
    let payload = granted.access_token.split('.').nth(1).unwrap();
    let payload = String::from_utf8(URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap();
    assert!(!payload.contains("email") && !payload.contains("authorization_details"), "{payload}");
}

/// An exchange asks no store and writes nothing.
#[tokio::test]
async fn an_exchange_writes_nothing() {
    let shop = Shop::build().await;
    let before = shop.house.store.versions().await.unwrap();
    assert!(shop.exchange(&shop.orders, &shop.token(ORDERS, "read"), &format!("audience={STOCK}")).is_ok());
    assert_eq!(shop.house.store.versions().await.unwrap(), before);
    let used = shop.house.store.list(Kind::SingleUse, Version::ZERO, shop.house.clock.now()).await.unwrap();
    assert!(used.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the three have: the new token has no scope that one of them lacks, and lacks none that all three have.
    #[test]
    fn scopes_never_grow(held in scopes(), own in scopes(), asked in proptest::option::of(scopes())) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let shop = runtime.block_on(Shop::build());
        let new = NewClient { exchange: policy(&[ORDERS], &[STOCK]), scopes: own.clone(), ..exchanging("any") };
        let any = runtime.block_on(shop.house.client(new));
        let join = |scopes: &BTreeSet<String>, by: &str| scopes.iter().cloned().collect::<Vec<_>>().join(by);
        let subject = runtime.block_on(shop.signed(user().with("scope", join(&held, " "))));
        let form = asked.as_ref().map_or(String::new(), |asked| format!("scope={}", join(asked, "+")));
        let mut expected: BTreeSet<String> = held.intersection(&own).cloned().collect();
        if let Some(asked) = asked.as_ref().filter(|asked| !asked.is_empty()) {
            expected = expected.intersection(asked).cloned().collect();
        }
        match shop.exchange(&any, &subject, &form) {
            Ok(granted) => {
                let scope = granted.scope.unwrap_or_default();
                let got: BTreeSet<String> = scope.split_whitespace().map(str::to_owned).collect();
                prop_assert_eq!(got, expected);
            }
            Err(error) => prop_assert!(error.code == Code::InvalidScope && expected.is_empty()),
        }
    }

    /// No body makes it panic, and none but a good one gets a token.
    #[test]
    fn any_request_is_refused_or_answered(
        names in proptest::collection::vec(prop_oneof![
            Just("subject_token"), Just("subject_token_type"), Just("actor_token"), Just("actor_token_type"),
            Just("resource"), Just("audience"), Just("scope"), Just("requested_token_type")
        ], 0..9),
        values in proptest::collection::vec("[a-zA-Z0-9:._-]{0,60}", 9),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let shop = runtime.block_on(Shop::build());
        let body: Vec<String> = names.iter().zip(&values).map(|(name, value)| format!("{name}={value}")).collect();
        let body = format!("grant_type={GRANT}&{}", body.join("&"));
        if Parameters::parse(body.as_bytes()).is_ok() {
            prop_assert!(shop.house.ask(&shop.orders, &body).is_err());
        }
    }
}

fn scopes() -> impl Strategy<Value = BTreeSet<String>> {
    proptest::collection::btree_set("[a-e]", 0..5)
}
