//! The authorization code grant: from a request to tokens, once. RFC 6749 §4.1, RFC 7636, RFC 9700 §4.

use std::sync::Arc;

use aws_lc_rs::digest;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::people::{Session, User, session};
use sealstone_auth::protocol::asked::Asked;
use sealstone_auth::protocol::authorize::{self, Next, Refused};
use sealstone_auth::protocol::token::TokenResponse;
use sealstone_auth::protocol::{OAuthError, Parameters};
use sealstone_auth::store::Sqlite;
use sealstone_auth::{CodeFlow, Consent, Grant, NewAuthentication, NewClient, RedirectUri};
use sealstone_jose::{Algorithm, UnixSeconds};
use serde_json::Value;

use crate::support::{Credentials, House, START, names};

const CALLBACK: &str = "https://shop.example/callback";
const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
/// RFC 7636, Appendix B.
const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub fn shop() -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        code_flow: CodeFlow {
            redirect_uris: vec![RedirectUri::parse(CALLBACK).unwrap()],
            ..CodeFlow::default()
        },
        grants: [Grant::AuthorizationCode, Grant::RefreshToken].into(),
        id: Some("shop".into()),
        scopes: names(&["openid", "email", "offline_access", "orders:read"]),
        ..NewClient::default()
    }
}

/// A query with the parameters that every request needs, and these.
pub fn query(more: &str) -> String {
    format!(
        "client_id=shop&response_type=code&redirect_uri=https%3A%2F%2Fshop.example%2Fcallback\
         &code_challenge={CHALLENGE}&code_challenge_method=S256&state=a%20state{more}"
    )
}

pub fn ada() -> User {
    User {
        passkeys: Vec::new(),
        created_at: UnixSeconds(START - 1000),
        disabled: false,
        email: Some("ada@example.org".into()),
        email_verified: true,
        generation: 0,
        name: Some("Ada Lovelace".into()),
        password: None,
        sub: "person-1".into(),
        username: "ada".into(),
    }
}

/// Ada signed in 100 seconds before the clocks of these tests begin.
pub async fn session() -> Session {
    session_of(&ada()).await
}

async fn session_of(user: &User) -> Session {
    let limits = session::Limits { absolute_seconds: 86_400, idle_seconds: 3_600 };
    let proof = session::Proof { acr: None, amr: &["pwd"] };
    let store = Sqlite::in_memory().unwrap();
    let now = UnixSeconds(START - 100);
    session::start(&store, user, proof, limits, now, &OsRandomness).await.unwrap().0
}

impl House {
    pub fn read(&self, query: &str) -> Result<authorize::Request, Refused> {
        let parameters = Parameters::parse(query.as_bytes()).unwrap();
        let (asked, key) = (Asked::said(parameters), &self.live.flow_keys().sign_in);
        authorize::Request::read(&asked, &self.live.snapshot(), &self.issuer, key, self.clock_now())
    }

    pub fn clock_now(&self) -> UnixSeconds {
        use sealstone_auth::Clock;
        self.clock.now()
    }

    /// The parameters that travel back to the client when the person has signed in and agreed.
    pub async fn issue(&self, query: &str) -> Vec<(String, String)> {
        let request = self.read(query).unwrap();
        let person = session().await;
        let redirect = authorize::issue(
            &request,
            &person,
            &self.issuer,
            &*self.store,
            self.live.randomness(),
            self.clock_now(),
        );
        answer_in(&redirect.await.unwrap().location())
    }

    pub async fn code(&self, query: &str) -> String {
        value(&self.issue(query).await, "code").unwrap()
    }

    pub async fn exchange(
        &self,
        who: &Credentials,
        code: &str,
        more: &str,
    ) -> Result<TokenResponse, OAuthError> {
        let form = format!("grant_type=authorization_code&code={code}{more}");
        self.ask_waiting(who, &form).await
    }

    /// What the error page or the client is told.
    fn refusal(&self, query: &str) -> (&'static str, &'static str) {
        match self.read(query).unwrap_err() {
            Refused::Page(error) => ("page", error.code.name()),
            Refused::Client(redirect, error) => {
                let answer = answer_in(&redirect.error(&error).location());
                assert_eq!(value(&answer, "iss").as_deref(), Some("https://auth.example.org"));
                assert_eq!(value(&answer, "state").as_deref(), Some("a state"));
                assert_eq!(value(&answer, "error").as_deref(), Some(error.code.name()));
                assert_eq!(value(&answer, "code"), None);
                ("client", error.code.name())
            }
        }
    }
}

fn answer_in(location: &str) -> Vec<(String, String)> {
    let (_, query) = location.split_once('?').unwrap();
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn value(answer: &[(String, String)], name: &str) -> Option<String> {
    answer.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

pub fn verifier() -> String {
    format!("&code_verifier={VERIFIER}")
}

fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

/// RFC 6749 §4.1, OpenID Connect Core §3.1.3: everything a client gets, said by everything it asked for.
#[tokio::test]
async fn a_code_becomes_tokens() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let answer = house.issue(&query("&scope=openid+offline_access+orders%3Aread&nonce=n-0S6")).await;
    assert_eq!(value(&answer, "state").as_deref(), Some("a state"));
    assert_eq!(value(&answer, "iss").as_deref(), Some("https://auth.example.org"), "RFC 9207");
    let code = value(&answer, "code").unwrap();
    assert_eq!(code.len(), 43, "256 bits");
    let tokens = house.exchange(&shop, &code, &verifier()).await.unwrap();
    assert_eq!(tokens.token_type, "Bearer");
    assert_eq!(tokens.scope.as_deref(), Some("offline_access openid orders:read"));
    let access = claims(&tokens.access_token);
    assert_eq!(access["sub"], "person-1");
    assert_eq!(access["client_id"], "shop");
    assert_eq!(access["auth_time"], START - 100);
    let id = claims(tokens.id_token.as_deref().unwrap());
    assert_eq!(id["aud"], "shop");
    assert_eq!(id["nonce"], "n-0S6");
    assert_eq!(id["sub"], "person-1");
    assert_eq!(id["auth_time"], START - 100);
    assert_eq!(id["amr"][0], "pwd");
    let hash = digest::digest(&digest::SHA256, tokens.access_token.as_bytes());
    assert_eq!(id["at_hash"], URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]));
    assert!(tokens.refresh_token.unwrap().starts_with("srt1~"));
    assert!(house.introspect(&shop, &tokens.access_token)["active"].as_bool().unwrap());
}

/// Without `openid` nobody is named, without `offline_access` nothing goes on.
#[tokio::test]
async fn only_what_was_asked_for_is_issued() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let code = house.code(&query("&scope=orders%3Aread")).await;
    let tokens = house.exchange(&shop, &code, &verifier()).await.unwrap();
    assert!(tokens.id_token.is_none() && tokens.refresh_token.is_none());
    assert_eq!(claims(&tokens.access_token)["scope"], "orders:read");
}

/// RFC 9700 §4.1, §4.11: an address that is not registered, byte by byte, is never redirected to.
#[tokio::test]
async fn redirect_uri_that_is_not_registered_is_an_error_page() {
    let house = House::build().await;
    house.client(shop()).await;
    for uri in [
        "https://shop.example/callback/",
        "https://shop.example/callback?x=1",
        "https://shop.example/callback%23",
        "https://shop.example/Callback",
        "https://SHOP.example/callback",
        "https://shop.example:443/callback",
        "https://shop.example/callback/../evil",
        "https://shop.example%40evil.example/callback",
        "https://evil.example/callback",
        "http://shop.example/callback",
        "javascript:alert(1)",
    ] {
        let uri: String = form_urlencoded::byte_serialize(uri.as_bytes()).collect();
        let query = query("").replace("https%3A%2F%2Fshop.example%2Fcallback", &uri);
        assert_eq!(house.refusal(&query), ("page", "invalid_request"), "{uri}");
    }
    assert_eq!(house.refusal(&query("").replace("client_id=shop", "client_id=other")).0, "page");
    let without = query("&scope=openid").replace("redirect_uri=", "redirect_uri_=");
    assert_eq!(house.refusal(&without).0, "page", "OpenID Connect Core §3.1.2.1");
}

/// RFC 8252 §7.3: the port of an application on the person's machine is known only when it runs; §8.3: `localhost` is
/// whatever a resolver says.
#[test]
fn loopback_redirects_may_have_another_port_and_nothing_else() {
    let registered = RedirectUri::parse("http://127.0.0.1/back").unwrap();
    assert!(registered.matches("http://127.0.0.1:49152/back"));
    let v6 = RedirectUri::parse("http://[::1]:8080/back").unwrap();
    assert!(v6.matches("http://[::1]:1/back"));
    for other in [
        "http://127.0.0.1:49152/back/",
        "http://127.0.0.1:99999/back",
        "http://127.0.0.2:49152/back",
        "http://localhost:49152/back",
        "http://[::1]:49152/back",
        "http://127.0.0.1:80@evil.example/back",
        "http://127.0.0.1.evil.example/back",
        "https://127.0.0.1:49152/back",
    ] {
        assert!(!registered.matches(other), "{other}");
    }
    for bad in [
        "http://localhost/back",
        "http://shop.example/back",
        "javascript:alert(1)",
        "data:text/html,x",
        "https://",
        "https:///path",
        "https://user@shop.example/",
        "https://shop.example/#fragment",
        "https://shop.example/a b",
        "//shop.example/",
        "/callback",
        "",
    ] {
        assert!(RedirectUri::parse(bad).is_err(), "{bad}");
    }
    assert!(RedirectUri::parse("org.example.app:/back").is_ok(), "RFC 8252 §7.1");
}

/// RFC 6749 §4.1.2.1: what else is wrong is told to the client.
#[tokio::test]
async fn a_request_that_is_wrong_is_told_to_the_client() {
    let house = House::build().await;
    house.client(shop()).await;
    let plain = query("").replace("S256", "plain");
    let short = query("").replace(CHALLENGE, "short");
    let without = query("").replace("code_challenge=", "x=").replace("code_challenge_method", "y");
    for (query, code) in [
        (query("").replace("response_type=code", "response_type=token"), "unsupported_response_type"),
        (query("").replace("response_type=code", "response_type=code+id_token"), "unsupported_response_type"),
        (query("").replace("response_type=code", ""), "invalid_request"),
        (plain, "invalid_request"),
        (short, "invalid_request"),
        (without, "invalid_request"),
        (query("&response_mode=fragment"), "invalid_request"),
        (query("&scope=admin"), "invalid_scope"),
        (query("&scope=openid++email"), "invalid_scope"),
        (query("&resource=https%3A%2F%2Fother.example"), "invalid_target"),
        (query("&prompt=none+login"), "invalid_request"),
        (query("&max_age=soon"), "invalid_request"),
        (query("&request=eyJ"), "request_not_supported"),
        (query("&request_uri=https%3A%2F%2Fx"), "request_uri_not_supported"),
    ] {
        assert_eq!(house.refusal(&query), ("client", code), "{query}");
    }
}

/// RFC 6749 §4.1.2, §10.5; RFC 9700 §4.5: the second use of a code gets nothing and revokes what the first one got.
#[tokio::test]
async fn code_redeemed_twice_revokes_the_tokens_of_the_first() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let code = house.code(&query("&scope=openid+offline_access")).await;
    let first = house.exchange(&shop, &code, &verifier()).await.unwrap();
    assert!(house.check(&first.access_token).unwrap().is_active(&house.live.snapshot()));
    let again = house.exchange(&shop, &code, &verifier()).await.unwrap_err();
    assert_eq!(again.code.name(), "invalid_grant");
    house.refresh().await;
    assert!(!house.check(&first.access_token).unwrap().is_active(&house.live.snapshot()));
    let refresh = format!("grant_type=refresh_token&refresh_token={}", first.refresh_token.unwrap());
    assert_eq!(house.ask_waiting(&shop, &refresh).await.unwrap_err().code.name(), "invalid_grant");
}

/// kanidm 2775: a code could be exchanged many times. Here exactly one of a thousand at once gets tokens, and then
/// nobody has any that hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn code_redeemed_a_thousand_times_at_once_has_one_winner() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(&directory.path().join("store.sqlite")).unwrap());
    let house = Arc::new(House::with(store, &[Algorithm::Es256]).await);
    let shop = house.client(shop()).await;
    let code = house.code(&query("&scope=openid")).await;
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let (house, shop, code) = (Arc::clone(&house), shop.clone(), code.clone());
        racers.spawn(async move { house.exchange(&shop, &code, &verifier()).await });
    }
    let results = racers.join_all().await;
    let won: Vec<_> = results.iter().filter_map(|result| result.as_ref().ok()).collect();
    assert_eq!(won.len(), 1);
    assert!(results.iter().filter_map(|r| r.as_ref().err()).all(|e| e.code.name() == "invalid_grant"));
    house.refresh().await;
    assert!(!house.check(&won[0].access_token).unwrap().is_active(&house.live.snapshot()));
}

/// RFC 7636 §4.6, RFC 9700 §4.8: each is `invalid_grant`, and the code is gone.
#[tokio::test]
async fn code_verifier_must_fit_the_challenge() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let wrong = VERIFIER.replace('d', "e");
    for more in [String::new(), format!("&code_verifier={wrong}"), format!("&code_verifier={CHALLENGE}")] {
        let code = house.code(&query("")).await;
        let refused = house.exchange(&shop, &code, &more).await.unwrap_err();
        assert_eq!(refused.code.name(), "invalid_grant", "{more}");
        let after = house.exchange(&shop, &code, &verifier()).await.unwrap_err();
        assert_eq!(after.code.name(), "invalid_grant", "a guess uses the code up");
    }
}

/// RFC 9700 §4.8.2: PKCE downgrade. An attacker drops the challenge from the request of a client that could do without:
/// the verifier that the client then sends shows it.
#[tokio::test]
async fn pkce_downgrade_is_noticed() {
    let house = House::build().await;
    let mut lenient = shop();
    lenient.code_flow.pkce_optional = true;
    let shop = house.client(lenient).await;
    let without = query("&scope=openid&nonce=n").replace("code_challenge=", "x=");
    let without = without.replace("code_challenge_method", "y");
    let code = house.code(&without).await;
    let refused = house.exchange(&shop, &code, &verifier()).await.unwrap_err();
    assert_eq!(refused.code.name(), "invalid_grant");
    let code = house.code(&without).await;
    assert!(house.exchange(&shop, &code, "").await.is_ok());
    let no_nonce = without.replace("&nonce=n", "");
    assert_eq!(house.refusal(&no_nonce), ("client", "invalid_request"), "RFC 9700 §2.1.1");
}

/// RFC 6749 §4.1.3, RFC 9700 §4.5: code injection. The other client gets nothing and cannot spoil it either.
#[tokio::test]
async fn code_of_another_client_is_refused_and_not_used_up() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let other = NewClient { id: Some("other".into()), ..self::shop() };
    let other = house.client(other).await;
    let code = house.code(&query("")).await;
    assert_eq!(house.exchange(&other, &code, &verifier()).await.unwrap_err().code.name(), "invalid_grant");
    assert!(house.exchange(&shop, &code, &verifier()).await.is_ok());
}

/// FAPI 2.0 Security Profile §5.3.2.1: a code is over after 60 seconds.
#[tokio::test]
async fn code_ends_after_a_minute() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    let (early, late) = (house.code(&query("")).await, house.code(&query("")).await);
    house.clock.advance(59);
    assert!(house.exchange(&shop, &early, &verifier()).await.is_ok());
    house.clock.advance(1);
    assert_eq!(house.exchange(&shop, &late, &verifier()).await.unwrap_err().code.name(), "invalid_grant");
}

/// RFC 6749 §4.1.3.
#[tokio::test]
async fn redirect_uri_of_the_token_request_must_be_that_of_the_authorization_request() {
    let house = House::build().await;
    let shop = house.client(shop()).await;
    for (uri, good) in [(CALLBACK, true), ("https://shop.example/other", false)] {
        let code = house.code(&query("")).await;
        let uri: String = form_urlencoded::byte_serialize(uri.as_bytes()).collect();
        let more = format!("{}&redirect_uri={uri}", verifier());
        assert_eq!(house.exchange(&shop, &code, &more).await.is_ok(), good, "{uri}");
    }
}

/// A client that was removed and registered anew is another client.
#[tokio::test]
async fn code_from_before_the_client_was_registered_anew_is_refused() {
    let house = House::build().await;
    house.client(shop()).await;
    let code = house.code(&query("")).await;
    house.admin.remove_client("shop", None).await.unwrap();
    house.clock.advance(1);
    let shop = house.client(shop()).await;
    assert_eq!(house.exchange(&shop, &code, &verifier()).await.unwrap_err().code.name(), "invalid_grant");
}

/// A public client has no secret: PKCE and its id stand for it. It cannot introspect, and gets no token for itself.
#[tokio::test]
async fn a_public_client_redeems_its_code() {
    let house = House::build().await;
    let new = NewClient { authentication: NewAuthentication::None, ..shop() };
    let app = house.client(new).await;
    assert_eq!(app.secret, "");
    let code = house.code(&query("&scope=orders%3Aread")).await;
    let more = format!("{}&client_id=shop", verifier());
    assert!(house.exchange(&app, &code, &more).await.is_ok());
    let own = house.ask_waiting(&app, "grant_type=client_credentials&client_id=shop").await;
    assert_eq!(own.unwrap_err().code.name(), "unauthorized_client");

    let itself = NewClient {
        authentication: NewAuthentication::None,
        grants: [Grant::ClientCredentials].into(),
        code_flow: CodeFlow::default(),
        id: Some("itself".into()),
        ..shop()
    };
    assert!(house.admin.add_client(itself).await.is_err());
}

/// RFC 6749 §2.3: a client that has a secret must give it.
#[tokio::test]
async fn a_confidential_client_does_not_pass_for_a_public_one() {
    let house = House::build().await;
    let mut shop = house.client(shop()).await;
    let code = house.code(&query("")).await;
    shop.secret.clear();
    let more = format!("{}&client_id=shop", verifier());
    assert_eq!(house.exchange(&shop, &code, &more).await.unwrap_err().code.name(), "invalid_client");
}

/// OpenID Connect Core §3.1.2.1 and §3.1.2.6: what each request shows to whom.
#[tokio::test]
async fn what_happens_next_follows_from_prompt_age_and_consent() {
    let house = House::build().await;
    house.client(shop()).await;
    let (person, all) = (session().await, vec!["openid".to_owned(), "email".to_owned()]);
    let next = |more: &str, session: Option<&Session>, consented: &[String], agreed: bool| {
        let request = house.read(&query(&format!("&scope=openid+email{more}"))).unwrap();
        match authorize::next(&request, session, consented, agreed, &house.issuer) {
            Next::AskConsent => "consent",
            Next::Issue => "issue",
            Next::SignIn => "sign in",
            Next::Tell(_, error) => error.code.name(),
        }
    };
    assert_eq!(next("", None, &[], false), "sign in");
    assert_eq!(next("&prompt=none", None, &[], false), "login_required");
    assert_eq!(next("", Some(&person), &[], false), "consent");
    assert_eq!(next("&prompt=none", Some(&person), &[], false), "consent_required");
    assert_eq!(next("", Some(&person), &all[..1], false), "consent", "one scope more than before");
    assert_eq!(next("", Some(&person), &all, false), "issue");
    assert_eq!(next("&prompt=none", Some(&person), &all, false), "issue");
    assert_eq!(next("&prompt=consent", Some(&person), &all, false), "consent");
    assert_eq!(next("&prompt=consent", Some(&person), &all, true), "issue");
    assert_eq!(next("&prompt=login", Some(&person), &all, false), "sign in");
    assert_eq!(next("&max_age=99", Some(&person), &all, false), "sign in");
    assert_eq!(next("&max_age=100", Some(&person), &all, false), "issue");
    assert_eq!(next("&max_age=0", Some(&person), &all, false), "sign in");
    assert_eq!(next("&max_age=99&prompt=none", Some(&person), &all, false), "login_required");

    let key = &house.live.flow_keys().sign_in;
    let after = |seconds| authorize::sealed_after("shop", key, UnixSeconds(START - 200 + seconds));
    let shown = |text: &str| format!("&prompt=login&sealstone_after={text}");
    assert_eq!(
        next(&shown(&after(0)), Some(&person), &all, false),
        "issue",
        "signed in after the page was shown"
    );
    assert_eq!(next(&shown(&after(150)), Some(&person), &all, false), "sign in", "signed in before");
    let foreign = authorize::sealed_after("other", key, UnixSeconds(START - 200));
    assert_eq!(next(&shown(&foreign), Some(&person), &all, false), "sign in", "shown for another client");
    let (time, tag) = after(0).split_once('.').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    let earlier = format!("{}.{tag}", time.parse::<u64>().unwrap() - 1);
    assert_eq!(next(&shown(&earlier), Some(&person), &all, false), "sign in", "a made-up time");
}

/// A consent is remembered for one person and one client, until the client is registered anew.
#[tokio::test]
async fn consent_is_remembered() {
    let house = House::build().await;
    house.client(shop()).await;
    let person = session().await;
    let now = house.clock_now();
    let request = house.read(&query("&scope=openid")).unwrap();
    let found = async |person: &Session, client: &sealstone_auth::Client| {
        authorize::consented(person, client, &*house.store, house.clock_now()).await.unwrap()
    };
    assert!(found(&person, request.client()).await.is_empty());
    authorize::remember_consent(&request, &person, &*house.store, now).await.unwrap();
    let more = house.read(&query("&scope=email")).unwrap();
    authorize::remember_consent(&more, &person, &*house.store, now).await.unwrap();
    assert_eq!(found(&person, request.client()).await, ["email", "openid"]);
    let somebody = session_of(&User { sub: "person-2".into(), ..ada() }).await;
    assert!(found(&somebody, request.client()).await.is_empty());
    house.admin.remove_client("shop", None).await.unwrap();
    house.clock.advance(1);
    house.client(shop()).await;
    let anew = house.read(&query("&scope=openid")).unwrap();
    assert!(found(&person, anew.client()).await.is_empty());
}

/// A client of the same house does not ask.
#[tokio::test]
async fn implied_consent_is_not_asked_for() {
    let house = House::build().await;
    let mut own = shop();
    own.code_flow.consent = Consent::Implied;
    house.client(own).await;
    let request = house.read(&query("&scope=openid")).unwrap();
    let next = authorize::next(&request, Some(&session().await), &[], false, &house.issuer);
    assert!(matches!(next, Next::Issue), "{next:?}");
}
