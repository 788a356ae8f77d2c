//! A server for clients of OpenID Connect as its plans in the OpenID conformance suite have them, at version 5.2.4: secrets
//! or RS256 keys, no PKCE unless the plan says so, RS256 ID tokens, `redirect_uri` at a web server, and a person.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use http_body_util::Full;
use sealstone_auth::{
    Clock, CodeFlow, Config, Grant, NewAuthentication, NewClient, NewUser, Password, RedirectUri, World,
};
use sealstone_jose::jws::Unverified;
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::signed;
use crate::form_post::form;
use crate::front::{Pairs, encoded, value, with};
use crate::publisher::{Publisher, Told};
use crate::support::{Answer, ManualClock, Running, config, names};
use crate::whole_flow::{Browser, PASSWORD, payload, text};

/// Which plan asks: the second one is the first with `response_mode=form_post`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plan {
    Basic,
    FormPost,
}

/// How a client shows who it is.
pub enum Way {
    Basic(String),
    Post(String),
    /// The key of its assertions, and their audience.
    Jwt(Box<PrivateKey>, String),
}

/// A relying party.
pub struct Party {
    pub id: String,
    pub callback: String,
    pub way: Way,
}

/// The server, and who comes to it.
pub struct Op {
    pub server: Running,
    pub clock: Arc<ManualClock>,
    pub plan: Plan,
    pub one: Party,
    pub two: Party,
    directory: tempfile::TempDir,
}

impl Op {
    pub async fn start(plan: Plan) -> Self {
        Self::with(plan, None, |_| {}).await
    }

    /// With clients that the publisher has keys of, and a configuration to taste.
    pub async fn with(plan: Plan, publisher: Option<&Publisher>, change: impl Fn(&mut Config)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = ManualClock::new();
        let mut config = config(directory.path());
        config.registration.enabled = true;
        config.registration.open = true;
        config.registration.pkce_optional = true;
        config.registration.token_endpoint_audience = true;
        config.tokens.algorithms = vec![Algorithm::MlDsa65, Algorithm::Es256, Algorithm::Rs256];
        let mut world = World { clock: clock.clone(), ..World::default() };
        if let Some(publisher) = publisher {
            let path = directory.path().join("ca.pem");
            std::fs::write(&path, &publisher.ca_pem).unwrap();
            config.outbound.ca = Some(path);
            config.outbound.allow_private_addresses = true;
            world.resolver = Arc::new(Told { addresses: vec![publisher.address], asked: Arc::default() });
        }
        change(&mut config);
        let server = Running::start_in(config, world).await;
        let ada = NewUser {
            email: Some("ada@example.org".into()),
            email_verified: true,
            name: Some("Ada Lovelace".into()),
            password: Some(Password::new(PASSWORD).unwrap()),
            username: "ada".into(),
        };
        server.admin.add_user(ada).await.unwrap();
        let one = enrolled(&server, "one", NewAuthentication::ClientSecretBasic).await;
        let two = enrolled(&server, "two", NewAuthentication::ClientSecretBasic).await;
        // The server has noticed both when it has noticed a later one.
        server.enrol(NewClient::default()).await;
        Self { server, clock, plan, one, two, directory }
    }

    /// Where the server keeps what it has.
    pub fn data_dir(&self) -> std::path::PathBuf {
        self.directory.path().join("data")
    }

    pub fn now(&self) -> u64 {
        self.clock.now().0
    }

    /// The parameters of a good request, without PKCE.
    pub fn request(&self, party: &Party) -> Pairs {
        let mut pairs: Pairs = [
            ("response_type", "code"),
            ("client_id", &party.id),
            ("redirect_uri", &party.callback),
            ("scope", "openid"),
            ("state", "state-4711"),
            ("nonce", "nonce-0815"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        if self.plan == Plan::FormPost {
            pairs.push(("response_mode".into(), "form_post".into()));
        }
        pairs
    }

    /// Goes on from a page to the answer: signs in and agrees where that is asked.
    pub async fn go_on(&self, browser: &mut Browser<'_>, mut page: Answer) -> Answer {
        if is_sign_in(&page) {
            page = browser.sign_in(&page).await;
        }
        if page.status == 200 && text(&page).contains("action=\"consent\"") {
            page = browser.decide(&page, "allow").await;
        }
        page
    }

    pub async fn visit(&self, browser: &mut Browser<'_>, request: &Pairs) -> Answer {
        let page = browser.get(&address(request)).await;
        self.go_on(browser, page).await
    }

    /// The parameters that came back to the client, in the plan's way and in no other.
    pub fn came_back(&self, party: &Party, answer: &Answer) -> Pairs {
        let pairs = match self.plan {
            Plan::Basic => {
                assert_eq!(answer.status, 303, "{}", text(answer));
                let location = answer.header("location");
                assert!(!location.contains('#'), "nothing in the fragment");
                let query = location.strip_prefix(&party.callback).expect(location);
                form_urlencoded::parse(&query.as_bytes()[1..]).into_owned().collect::<Pairs>()
            }
            Plan::FormPost => {
                let (action, fields) = form(answer);
                assert_eq!(action, party.callback, "nothing in its query");
                assert!(text(answer).contains("method=\"post\""));
                assert!(!text(answer).contains("enctype"), "application/x-www-form-urlencoded");
                fields
            }
        };
        assert_eq!(value(&pairs, "iss").as_deref(), Some(self.server.issuer.as_str()), "RFC 9207");
        pairs
    }

    /// The error that came back, with the state that was sent and without a code.
    pub fn error(&self, party: &Party, request: &Pairs, answer: &Answer) -> String {
        let told = self.came_back(party, answer);
        assert_eq!(value(&told, "state"), value(request, "state"));
        assert_eq!(value(&told, "code"), None);
        value(&told, "error").unwrap()
    }

    /// A page that says that the request cannot go on: nobody is sent anywhere.
    pub fn is_page(&self, answer: &Answer) {
        assert_eq!(answer.status, 400, "{}", text(answer));
        assert!(answer.header("content-type").starts_with("text/html"));
        assert_eq!(answer.header("location"), "");
        assert!(!text(answer).contains("<form"), "{}", text(answer));
    }

    /// A form to the token endpoint, by the client's way of showing who it is.
    pub async fn token(&self, party: &Party, form: &Pairs) -> Answer {
        let mut form = form.clone();
        let mut request = self.server.request("POST", "/token");
        match &party.way {
            Way::Basic(secret) => {
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let pair = format!("{}:{}", encoded(&party.id), encoded(secret));
                request = request.header("authorization", format!("Basic {}", STANDARD.encode(pair)));
            }
            Way::Post(secret) => form.extend(pairs(&[("client_id", &party.id), ("client_secret", secret)])),
            Way::Jwt(key, audience) => {
                let jti = URL_SAFE_NO_PAD.encode(
                    aws_lc_rs::rand::generate::<[u8; 16]>(&aws_lc_rs::rand::SystemRandom::new())
                        .unwrap()
                        .expose(),
                );
                let claims = json!({
                    "iss": party.id, "sub": party.id, "aud": audience, "iat": self.now(),
                    "exp": self.now() + 60, "jti": jti,
                });
                let header = json!({"alg": key.algorithm().name(), "kid": key.kid()});
                let assertion = signed(key, &header, &claims);
                let kind = sealstone_auth::protocol::client_assertion::JWT_BEARER;
                form.extend(pairs(&[("client_assertion_type", kind), ("client_assertion", &assertion)]));
            }
        }
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.server.send(request.body(Full::from(encoded(&form))).unwrap()).await
    }

    pub fn redemption(&self, party: &Party, code: &str) -> Pairs {
        pairs(&[("grant_type", "authorization_code"), ("code", code), ("redirect_uri", &party.callback)])
    }

    /// The second half of a flow, with every check that the suite makes on its way: the tokens.
    pub async fn grants(&self, party: &Party, request: &Pairs, answer: &Pairs) -> Value {
        assert_eq!(value(answer, "error"), None, "{answer:?}");
        assert_eq!(value(answer, "state"), value(request, "state"));
        assert!(
            answer.iter().all(|(name, _)| ["code", "state", "iss"].contains(&name.as_str())),
            "{answer:?}"
        );
        let code = value(answer, "code").unwrap();
        random(&code);
        let mut redemption = self.redemption(party, &code);
        if value(request, "code_challenge").is_some() {
            redemption.push(("code_verifier".into(), crate::front::VERIFIER.into()));
        }
        let granted = self.token(party, &redemption).await;
        let tokens = self.check_granted(party, &granted).await;
        let claims = self.check_id_token(party, tokens["id_token"].as_str().unwrap(), &tokens).await;
        assert_eq!(claims.get("nonce").and_then(Value::as_str).map(str::to_owned), value(request, "nonce"));
        let known = self.userinfo(tokens["access_token"].as_str().unwrap()).await;
        self.check_userinfo(&known, &claims);
        tokens
    }

    /// A token response.
    pub async fn check_granted(&self, _: &Party, granted: &Answer) -> Value {
        assert_eq!(granted.status, 200, "{}", text(granted));
        assert_eq!(granted.header("content-type"), "application/json");
        assert_eq!(granted.header("cache-control"), "no-store");
        let tokens = granted.json();
        assert_eq!(tokens["token_type"], "Bearer");
        assert!((1..=31_536_000).contains(&tokens["expires_in"].as_u64().unwrap()));
        random(tokens["access_token"].as_str().unwrap());
        if let Some(refresh) = tokens["refresh_token"].as_str() {
            random(refresh);
        }
        tokens
    }

    /// An ID token: its header, its signature by a key of the JWK set, its claims.
    pub async fn check_id_token(&self, party: &Party, token: &str, tokens: &Value) -> Value {
        let keys = JwkSet::parse(&self.server.get("/jwks").await.body).unwrap();
        let parsed = Unverified::parse(token).unwrap();
        assert_eq!(parsed.header().algorithm(), Algorithm::Rs256);
        assert!(parsed.header().kid().is_some());
        parsed.verify_with_set(&keys).unwrap();
        let claims = payload(token);
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(self.server.issuer), &json!(party.id)));
        let (iat, exp) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
        assert!(iat.abs_diff(self.now()) <= 300 && exp > self.now());
        assert!(claims["auth_time"].as_u64().unwrap() <= self.now());
        let sub = claims["sub"].as_str().unwrap();
        assert!((1..=255).contains(&sub.len()) && sub.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(
            claims.get("name").is_none() && claims.get("email").is_none(),
            "nobody has asked for it here"
        );
        let hash = aws_lc_rs::digest::digest(
            &aws_lc_rs::digest::SHA256,
            tokens["access_token"].as_str().unwrap().as_bytes(),
        );
        assert_eq!(claims["at_hash"], URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16]));
        claims
    }

    pub async fn userinfo(&self, token: &str) -> Answer {
        let request =
            self.server.request("GET", "/userinfo").header("authorization", format!("Bearer {token}"));
        self.server.send(request.body(Full::default()).unwrap()).await
    }

    /// The token ends: what ends it is taken in at the next poll.
    pub async fn ends(&self, token: &str) {
        let ended = async {
            while self.userinfo(token).await.status != 401 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(30), ended).await.unwrap();
    }

    pub fn check_userinfo(&self, known: &Answer, id_token: &Value) {
        assert_eq!(known.status, 200, "{}", text(known));
        assert_eq!(known.header("content-type"), "application/json");
        let known = known.json();
        assert_eq!(known["sub"], id_token["sub"]);
        for (name, value) in known.as_object().unwrap() {
            let fits = match name.as_str() {
                "email_verified" => value.is_boolean(),
                _ => value.as_str().is_some_and(|text| !text.is_empty() && text != "null"),
            };
            assert!(fits, "{name}: {value}");
        }
    }

    /// The whole flow in a new browser: the browser, and the tokens.
    pub async fn succeeds_in(&self, browser: &mut Browser<'_>, party: &Party, request: &Pairs) -> Value {
        let answer = self.visit(browser, request).await;
        self.grants(party, request, &self.came_back(party, &answer)).await
    }

    pub async fn succeeds(&self, party: &Party, request: &Pairs) -> Value {
        self.succeeds_in(&mut Browser::new(&self.server), party, request).await
    }

    /// An error of the token endpoint, as the suite reads each of them.
    pub fn token_error(&self, answer: &Answer, status: u16, error: &str) {
        assert_eq!(answer.refusal(), (status, error.to_owned()), "{}", text(answer));
        assert_eq!(answer.header("content-type"), "application/json");
        let description = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(description.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\'));
    }

    /// A registration, RFC 7591.
    pub async fn register(&self, metadata: &Value) -> Answer {
        let request = self.server.request("POST", "/register").header("content-type", "application/json");
        self.server.send(request.body(Full::from(metadata.to_string())).unwrap()).await
    }
}

/// A client that the operator has registered: OpenID Connect Core as it is, without PKCE.
async fn enrolled(server: &Running, id: &str, authentication: NewAuthentication) -> Party {
    let callback = format!("https://{id}.example/callback");
    let post = matches!(authentication, NewAuthentication::ClientSecretPost);
    let new = NewClient {
        algorithm: Algorithm::Rs256,
        authentication,
        code_flow: CodeFlow {
            nonce_optional: true,
            pkce_optional: true,
            redirect_uris: vec![RedirectUri::parse(&callback).unwrap()],
            ..CodeFlow::default()
        },
        grants: [Grant::AuthorizationCode, Grant::RefreshToken].into(),
        id: Some(id.to_owned()),
        scopes: names(&["openid", "profile", "email", "offline_access"]),
        ..NewClient::default()
    };
    let (client, secret) = server.admin.add_client(new).await.unwrap();
    let secret = secret.unwrap().reveal().to_owned();
    let way = if post { Way::Post(secret) } else { Way::Basic(secret) };
    Party { id: client.id, callback, way }
}

impl Op {
    /// One more, which sends its secret in the form.
    pub async fn with_secret_in_the_form(&self) -> Party {
        let party = enrolled(&self.server, "posts", NewAuthentication::ClientSecretPost).await;
        self.server.enrol(NewClient::default()).await;
        party
    }
}

pub fn address(request: &Pairs) -> String {
    format!("/authorize?{}", encoded(request))
}

pub fn is_sign_in(page: &Answer) -> bool {
    page.status == 200 && text(page).contains("action=\"login\"")
}

pub fn pairs(all: &[(&str, &str)]) -> Pairs {
    all.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// With the challenge of [`crate::front::VERIFIER`].
pub fn with_pkce(request: &Pairs) -> Pairs {
    let request = with(request, "code_challenge", crate::front::CHALLENGE);
    with(&request, "code_challenge_method", "S256")
}

/// At least 128 bits long, and more than 96 bits by the suite's estimate (Shannon).
pub fn random(text: &str) {
    assert!(text.len() >= 16 && text.bytes().all(|byte| byte.is_ascii_graphic()));
    let mut counts = std::collections::BTreeMap::<u8, f64>::new();
    text.bytes().for_each(|byte| *counts.entry(byte).or_default() += 1.0);
    let length = text.len() as f64;
    let bits: f64 = counts.values().map(|count| -count * (count / length).log2()).sum();
    assert!(bits > 96.0, "{bits} bits");
}
