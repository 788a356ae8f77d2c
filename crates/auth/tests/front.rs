//! Two clients at the front door of a real server, over TLS: what they push, where a person goes, what comes back.
//! They act as the FAPI 2.0 plans of the OpenID conformance suite do, at version 5.2.4.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::protocol::dpop::ath;
use sealstone_auth::{
    AssertionAudience, AssertionKeys, Clock, CodeFlow, Grant, NewAuthentication, NewClient, NewUser,
    Password, Profile, RedirectUri, World,
};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::authority::{Authority, Identity, worker_with};
use crate::dpop::{header, key, signed};
use crate::mtls_wire;
use crate::support::{Answer, ManualClock, Running, names};
use crate::whole_flow::{Browser, PASSWORD, payload, text};

/// RFC 7636, Appendix B.
pub const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

pub type Pairs = Vec<(String, String)>;

/// A client with everything that it holds.
pub struct Party {
    pub id: String,
    pub callback: String,
    /// Signs its assertions.
    pub key: PrivateKey,
    /// Its tokens are bound to this one.
    pub dpop: PrivateKey,
    /// Instead of both.
    pub identity: Option<Identity>,
}

impl Party {
    fn new(id: &str, callback: &str) -> Self {
        let own = PrivateKey::generate(Algorithm::Es256).unwrap();
        Self { id: id.into(), callback: callback.into(), key: own, dpop: key(), identity: None }
    }

    fn new_client(&self) -> NewClient {
        let keys = JwkSet::new([self.key.public().clone()]).unwrap();
        let authentication = match &self.identity {
            Some(_) => NewAuthentication::TlsClientAuth(
                sealstone_auth::CertificateName::parse("tls_client_auth_san_dns", &self.dns()).unwrap(),
            ),
            None => NewAuthentication::PrivateKeyJwt(AssertionKeys {
                audience: AssertionAudience::Issuer,
                keys: keys.into(),
            }),
        };
        NewClient {
            algorithm: Algorithm::Es256,
            authentication,
            code_flow: CodeFlow {
                redirect_uris: vec![RedirectUri::parse(&self.callback).unwrap()],
                require_pushed_authorization_requests: true,
                ..CodeFlow::default()
            },
            dpop_bound_access_tokens: self.identity.is_none(),
            grants: [Grant::AuthorizationCode, Grant::ClientCredentials, Grant::RefreshToken].into(),
            id: Some(self.id.clone()),
            name: format!("Shop {}", self.id),
            scopes: names(&["openid", "profile", "email", "offline_access"]),
            tls_client_certificate_bound_access_tokens: self.identity.is_some(),
            ..NewClient::default()
        }
    }

    fn dns(&self) -> String {
        format!("{}.example", self.id)
    }
}

/// The server, and who comes to it.
pub struct Front {
    pub server: Running,
    pub clock: std::sync::Arc<ManualClock>,
    pub one: Party,
    pub two: Party,
    nonce: Mutex<String>,
    drawn: AtomicU64,
    _directory: tempfile::TempDir,
}

impl Front {
    /// Two clients that sign assertions, and whose tokens are bound to a DPoP key.
    pub async fn start() -> Self {
        Self::with(false, |new| new).await
    }

    /// Two clients that prove with a certificate who they are, and whose tokens are bound to it.
    pub async fn start_mtls() -> Self {
        Self::with(true, |new| new).await
    }

    /// The same two, held to the FAPI 2.0 Security Profile: K and D in the suite's words.
    pub async fn fapi() -> Self {
        Self::with(false, fapi2).await
    }

    /// With certificates for both.
    pub async fn fapi_mtls() -> Self {
        Self::with(true, fapi2).await
    }

    /// The first of them has a key of PS256, which is given back as one of RS256.
    pub async fn fapi_ps256(change: impl Fn(NewClient) -> NewClient) -> (Self, PrivateKey) {
        let own = PrivateKey::generate(Algorithm::Ps256).unwrap();
        let other = PrivateKey::from_secret(Algorithm::Rs256, &own.secret()).unwrap().with_kid(own.kid());
        let keys = JwkSet::new([own.public().clone()]).unwrap();
        let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys: keys.into() };
        let keyed = |new: NewClient| match new.id.as_deref() {
            Some("one") => {
                NewClient { authentication: NewAuthentication::PrivateKeyJwt(keys.clone()), ..new }
            }
            _ => new,
        };
        let mut front = Self::with(false, |new| change(keyed(new))).await;
        front.one.key = own;
        (front, other)
    }

    pub async fn with(mtls: bool, change: impl Fn(NewClient) -> NewClient) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let (authority, clock) = (Authority::new("root"), ManualClock::new());
        let config = mtls_wire::trusting(&directory, &authority);
        let world = World { clock: clock.clone(), ..World::default() };
        let server = Running::start_in(config, world).await;
        let ada = NewUser {
            email: Some("ada@example.org".into()),
            email_verified: true,
            name: Some("Ada Lovelace".into()),
            password: Some(Password::new(PASSWORD).unwrap()),
            username: "ada".into(),
        };
        server.admin.add_user(ada).await.unwrap();
        let mut one = Party::new("one", "https://one.example/callback");
        let mut two = Party::new("two", "https://two.example/callback?dummy1=lorem&dummy2=ipsum");
        for party in [&mut one, &mut two] {
            if mtls {
                let name = rcgen::SanType::DnsName(crate::authority::text(&party.dns()));
                party.identity =
                    Some(authority.certify(&worker_with(|params| params.subject_alt_names = vec![name])));
            }
            server.enrol(change(party.new_client())).await;
        }
        let (nonce, drawn) = (Mutex::default(), AtomicU64::new(0));
        Self { server, clock, one, two, nonce, drawn, _directory: directory }
    }

    pub fn now(&self) -> u64 {
        self.clock.now().0
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.issuer)
    }

    /// A value that was not used before.
    pub fn fresh(&self) -> String {
        format!("fresh-value-number-{}", self.drawn.fetch_add(1, Ordering::SeqCst))
    }

    /// The parameters of a good request.
    pub fn request(&self, party: &Party) -> Pairs {
        let pairs = [
            ("response_type", "code"),
            ("client_id", &party.id),
            ("redirect_uri", &party.callback),
            ("scope", "openid email"),
            ("state", "the-state"),
            ("nonce", "the-nonce"),
            ("code_challenge", CHALLENGE),
            ("code_challenge_method", "S256"),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// The claims of a good assertion.
    pub fn assertion_claims(&self, party: &Party) -> Value {
        let (now, id) = (self.now(), &party.id);
        json!({"iss": id, "sub": id, "aud": self.server.issuer, "iat": now, "exp": now + 60, "jti": self.fresh()})
    }

    /// An assertion with these claims, as form parameters.
    pub fn asserted(&self, key: &PrivateKey, claims: &Value) -> Pairs {
        let header = json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "JWT"});
        let assertion = signed(key, &header, claims);
        vec![("client_assertion_type".into(), JWT_BEARER.into()), ("client_assertion".into(), assertion)]
    }

    /// The claims of a good request object for these parameters.
    pub fn object_claims(&self, party: &Party, request: &Pairs) -> Value {
        let now = self.now();
        let mut claims = json!({"iss": party.id, "aud": self.server.issuer, "nbf": now, "exp": now + 300});
        for (name, value) in request {
            claims[name] = value.as_str().into();
        }
        claims
    }

    /// An object with these claims, as the parameter that is pushed.
    pub fn object(&self, key: &PrivateKey, claims: &Value) -> Pairs {
        let header = json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "oauth-authz-req+jwt"});
        vec![("request".into(), signed(key, &header, claims))]
    }

    /// What shows in a form who the client is.
    pub fn identified(&self, party: &Party) -> Pairs {
        match &party.identity {
            Some(_) => vec![("client_id".into(), party.id.clone())],
            None => self.asserted(&party.key, &self.assertion_claims(party)),
        }
    }

    /// The claims of a good proof for this request.
    pub fn proof_claims(&self, method: &str, path: &str, token: Option<&str>) -> Value {
        let mut claims = json!({
            "htm": method, "htu": self.url(path), "iat": self.now(), "jti": self.fresh(),
            "nonce": *self.nonce.lock().unwrap(),
        });
        if let Some(token) = token {
            claims["ath"] = ath(token).into();
        }
        claims
    }

    pub fn proof(&self, key: &PrivateKey, claims: &Value) -> String {
        signed(key, &header(key), claims)
    }

    /// Sends what `build` makes, and once more if a nonce is missing, as the suite does.
    pub async fn exchange(
        &self,
        identity: Option<&Identity>,
        build: impl Fn() -> Request<Full<Bytes>>,
    ) -> Answer {
        let mut answer = None;
        for _ in 0..2 {
            let sent = match identity {
                Some(_) => {
                    let tls = mtls_wire::tls(&self.server, "http/1.1", identity);
                    mtls_wire::send(&self.server, tls, build()).await.unwrap()
                }
                None => self.server.send(build()).await,
            };
            let nonces = sent.headers.get_all("dpop-nonce").iter().count();
            assert!(nonces <= 1, "at most one DPoP-Nonce");
            if nonces == 1 {
                *self.nonce.lock().unwrap() = sent.header("dpop-nonce").to_owned();
            }
            let again = matches!(sent.status.as_u16(), 400 | 401)
                && String::from_utf8_lossy(&sent.body).contains("\"use_dpop_nonce\"");
            answer = Some(sent);
            if !again {
                break;
            }
        }
        answer.unwrap()
    }

    /// A form as it stands, with a proof of this key.
    pub async fn post(
        &self,
        path: &str,
        form: &Pairs,
        identity: Option<&Identity>,
        dpop: Option<&PrivateKey>,
    ) -> Answer {
        let body = encoded(form);
        let build = || {
            let mut request = self.server.request("POST", path);
            if let Some(key) = dpop {
                request = request.header("dpop", self.proof(key, &self.proof_claims("POST", path, None)));
            }
            let request = request.header("content-type", "application/x-www-form-urlencoded");
            request.body(Full::from(body.clone())).unwrap()
        };
        self.exchange(identity, build).await
    }

    /// Pushes these parameters, without a proof.
    pub async fn push(&self, party: &Party, request: &Pairs) -> Answer {
        self.push_with(party, request, None).await
    }

    pub async fn push_with(&self, party: &Party, request: &Pairs, dpop: Option<&PrivateKey>) -> Answer {
        let mut form = request.clone();
        form.extend(self.identified(party).into_iter().filter(|(name, _)| value(request, name).is_none()));
        self.post("/par", &form, party.identity.as_ref(), dpop).await
    }

    /// The name of a request that was pushed.
    pub async fn pushed(&self, party: &Party, request: &Pairs) -> String {
        name_in(&self.push(party, request).await)
    }

    /// Where the browser goes. The suite repeats three parameters of the request beside its name.
    pub fn address(&self, party: &Party, request_uri: &str) -> String {
        let mut pairs = self.request(party);
        pairs.retain(|(name, _)| {
            ["response_type", "scope", "redirect_uri", "client_id"].contains(&name.as_str())
        });
        pairs.push(("request_uri".into(), request_uri.into()));
        format!("/authorize?{}", encoded(&pairs))
    }

    /// Nothing but the name.
    pub fn bare_address(&self, party: &Party, request_uri: &str) -> String {
        let pairs = vec![("client_id".into(), party.id.clone()), ("request_uri".into(), request_uri.into())];
        format!("/authorize?{}", encoded(&pairs))
    }

    /// A person goes there, signs in where that is asked, and decides.
    pub async fn visit(&self, browser: &mut Browser<'_>, address: &str, decision: &str) -> Answer {
        let page = browser.get(address).await;
        self.go_on(browser, page, decision).await
    }

    pub async fn go_on(&self, browser: &mut Browser<'_>, mut page: Answer, decision: &str) -> Answer {
        if page.status == 200 && text(&page).contains("action=\"login\"") {
            page = browser.sign_in(&page).await;
        }
        if page.status == 200 && text(&page).contains("action=\"consent\"") {
            page = browser.decide(&page, decision).await;
        }
        page
    }

    /// A browser in which a person has signed in and agreed: it is sent back at the first step, by what that alone says.
    pub async fn settled(&self, party: &Party) -> Browser<'_> {
        let mut browser = Browser::new(&self.server);
        let address = self.address(party, &self.pushed(party, &self.request(party)).await);
        self.came_back(party, &self.visit(&mut browser, &address, "allow").await);
        browser
    }

    /// What comes back to the client for what it pushed.
    pub async fn answer(&self, party: &Party, request: &Pairs) -> Pairs {
        let address = self.address(party, &self.pushed(party, request).await);
        let mut browser = Browser::new(&self.server);
        self.came_back(party, &self.visit(&mut browser, &address, "allow").await)
    }

    /// The parameters that came back: all that is checked of every answer.
    pub fn came_back(&self, party: &Party, answer: &Answer) -> Pairs {
        assert_eq!(answer.status, 303, "{}", text(answer));
        let location = answer.header("location");
        let (callback, query) = location.split_once('?').unwrap();
        assert_eq!(callback, party.callback.split('?').next().unwrap());
        assert!(!location.contains('#'), "nothing in the fragment");
        if let Some((_, own)) = party.callback.split_once('?') {
            assert!(query.starts_with(own), "what was registered stays: {query}");
        }
        let pairs: Pairs = form_urlencoded::parse(query.as_bytes()).into_owned().collect();
        assert_eq!(value(&pairs, "iss").as_deref(), Some(self.server.issuer.as_str()), "RFC 9207");
        pairs
    }

    pub async fn code(&self, party: &Party, request: &Pairs) -> String {
        let answer = self.answer(party, request).await;
        value(&answer, "code").unwrap_or_else(|| panic!("{answer:?}"))
    }

    /// The token request for a code, without what shows who asks.
    pub fn redemption(&self, party: &Party, code: &str) -> Pairs {
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", party.callback.as_str()),
            ("code_verifier", VERIFIER),
        ];
        pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
    }

    /// Asks the token endpoint as the client does it: it shows who it is, and its key.
    pub async fn token(&self, party: &Party, form: &Pairs) -> Answer {
        let dpop = party.identity.is_none().then_some(&party.dpop);
        self.token_with(party, form, dpop).await
    }

    pub async fn token_with(&self, party: &Party, form: &Pairs, dpop: Option<&PrivateKey>) -> Answer {
        let form: Pairs = form.iter().cloned().chain(self.identified(party)).collect();
        self.post("/token", &form, party.identity.as_ref(), dpop).await
    }

    pub async fn redeem(&self, party: &Party, code: &str) -> Answer {
        self.token(party, &self.redemption(party, code)).await
    }

    /// The userinfo endpoint, with this token in the header.
    pub async fn userinfo(&self, party: &Party, token: &str) -> Answer {
        self.userinfo_with(party.identity.as_ref(), token, Some(&party.dpop), |claims| claims).await
    }

    /// With another key or certificate, and claims of the proof changed.
    pub async fn userinfo_with(
        &self,
        identity: Option<&Identity>,
        token: &str,
        dpop: Option<&PrivateKey>,
        change: impl Fn(Value) -> Value,
    ) -> Answer {
        let build = || {
            let request = self.server.request("GET", "/userinfo");
            let request = match dpop.filter(|_| identity.is_none()) {
                Some(key) => {
                    let claims = change(self.proof_claims("GET", "/userinfo", Some(token)));
                    let request = request.header("dpop", self.proof(key, &claims));
                    request.header("authorization", format!("DPoP {token}"))
                }
                None => request.header("authorization", format!("Bearer {token}")),
            };
            request.body(Full::default()).unwrap()
        };
        self.exchange(identity, build).await
    }

    /// The whole flow for this request, with every check that the suite makes on its way (its sections on the
    /// authorization response, token response, ID token and resource). Returns what came back, and the tokens.
    pub async fn succeeds(&self, party: &Party, request: &Pairs) -> (Pairs, Value) {
        let answer = self.answer(party, request).await;
        let tokens = self.grants(party, request, &answer).await;
        (answer, tokens)
    }

    /// The second half.
    pub async fn grants(&self, party: &Party, request: &Pairs, answer: &Pairs) -> Value {
        assert_eq!(value(answer, "error"), None, "{answer:?}");
        assert_eq!(value(answer, "state"), value(request, "state"), "the state as it was sent, or none");
        let known = ["code", "state", "iss", "dummy1", "dummy2"];
        assert!(answer.iter().all(|(name, _)| known.contains(&name.as_str())), "{answer:?}");
        let code = value(answer, "code").unwrap();
        let granted = self.redeem(party, &code).await;
        self.check_granted(party, request, &granted);
        let tokens = granted.json();
        let claims = self.userinfo(party, tokens["access_token"].as_str().unwrap()).await;
        assert_eq!(claims.status, 200, "{}", text(&claims));
        assert_eq!(claims.header("content-type"), "application/json");
        if let Some(id_token) = tokens["id_token"].as_str() {
            assert_eq!(claims.json()["sub"], payload(id_token)["sub"]);
        }
        tokens
    }

    /// A token response.
    pub fn check_granted(&self, party: &Party, request: &Pairs, granted: &Answer) {
        assert_eq!(granted.status, 200, "{}", text(granted));
        assert_eq!(
            (granted.header("content-type"), granted.header("cache-control")),
            ("application/json", "no-store")
        );
        let tokens = granted.json();
        let kind = if party.identity.is_some() { "Bearer" } else { "DPoP" };
        assert_eq!(tokens["token_type"], kind);
        assert!((1..=31_536_000).contains(&tokens["expires_in"].as_u64().unwrap()));
        for name in ["access_token", "refresh_token"] {
            let long = |token: &str| token.len() >= 43 && token.bytes().all(|byte| byte.is_ascii_graphic());
            assert!(tokens[name].as_str().is_none_or(long), "{name}");
        }
        let Some(id_token) = tokens["id_token"].as_str() else { return };
        let header: Value =
            serde_json::from_slice(&URL_SAFE_NO_PAD.decode(id_token.split('.').next().unwrap()).unwrap())
                .unwrap();
        assert_eq!(header["alg"], "ES256");
        assert!(header["kid"].is_string());
        let claims = payload(id_token);
        assert_eq!((&claims["iss"], &claims["aud"]), (&json!(self.server.issuer), &json!(party.id)));
        let (iat, exp) = (claims["iat"].as_u64().unwrap(), claims["exp"].as_u64().unwrap());
        assert!(iat.abs_diff(self.now()) <= 300 && exp > self.now());
        assert_eq!(claims.get("nonce").and_then(Value::as_str).map(str::to_owned), value(request, "nonce"));
        let hash = aws_lc_rs::digest::digest(
            &aws_lc_rs::digest::SHA256,
            tokens["access_token"].as_str().unwrap().as_bytes(),
        );
        if let Some(at_hash) = claims.get("at_hash") {
            assert_eq!(*at_hash, json!(URL_SAFE_NO_PAD.encode(&hash.as_ref()[..16])));
        }
    }

    /// An error of the token endpoint, as the suite reads each of them.
    pub fn token_error(&self, answer: &Answer, status: u16, error: &str) {
        assert_eq!(answer.refusal(), (status, error.to_owned()), "{}", text(answer));
        assert_eq!(answer.header("content-type"), "application/json");
        let description = answer.json()["error_description"].as_str().unwrap().to_owned();
        assert!(description.bytes().all(|byte| matches!(byte, 0x20..=0x7e) && byte != b'"' && byte != b'\\'));
    }

    /// A page that says that the request cannot go on: nobody is sent anywhere.
    pub fn is_page(&self, answer: &Answer) {
        assert_eq!(answer.status, 400, "{}", text(answer));
        assert!(answer.header("content-type").starts_with("text/html"));
        assert_eq!(answer.header("location"), "");
    }
}

/// The name in an answer of the endpoint, which is checked as a whole: RFC 9126 §2.2.
pub fn name_in(answer: &Answer) -> String {
    assert_eq!(answer.status, 201, "{}", text(answer));
    assert_eq!(answer.header("content-type"), "application/json");
    assert_eq!(answer.header("cache-control"), "no-store");
    let said = answer.json();
    assert_eq!(said["expires_in"], 60);
    assert_eq!(said.as_object().unwrap().len(), 2);
    let name = said["request_uri"].as_str().unwrap();
    let random = name.strip_prefix("urn:ietf:params:oauth:request_uri:").unwrap();
    assert_eq!(random.len(), 43, "256 bits");
    name.to_owned()
}

/// Holds a client to the profile.
pub fn fapi2(new: NewClient) -> NewClient {
    let code_flow = CodeFlow { require_pushed_authorization_requests: false, ..new.code_flow };
    NewClient { code_flow, profile: Some(Profile::Fapi2), ..new }
}

pub fn encoded(pairs: &Pairs) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

pub fn value(pairs: &Pairs, name: &str) -> Option<String> {
    pairs.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// With one parameter set to this.
pub fn with(pairs: &Pairs, name: &str, value: &str) -> Pairs {
    let mut pairs = without(pairs, name);
    pairs.push((name.into(), value.into()));
    pairs
}

pub fn without(pairs: &Pairs, name: &str) -> Pairs {
    pairs.iter().filter(|(known, _)| known != name).cloned().collect()
}
