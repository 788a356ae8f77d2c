//! Tokens that are malformed or hostile (RFC 8725, and what has gone wrong elsewhere) at each door of a running server where it
//! reads one. Unless the case is about the signature, the signature is good, by the very key that the door wants: nothing
//! else may be the reason. Each is refused with the one error of its door, none with a 5xx, and the good token of the door
//! still passes between them and at the end.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http_body_util::Full;
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::keys::{Sealer, Secret};
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::store::{Kind, Sqlite, Version};
use sealstone_auth::{
    AssertionAudience, AssertionKeys, Clock, CodeFlow, Grant, NewAuthentication, NewClient, RedirectUri,
    Store, TrustedIssuer,
};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::dpop::{self, but};
use crate::front::{Pairs, encoded, value, with};
use crate::hostile_cases::{Door, claims, headers, of_other_doors, sign, spellings};
use crate::oidc::{Op, Plan, Way, address, pairs};
use crate::support::{Answer, names};
use crate::whole_flow::{Browser, payload};

const CALLBACK: &str = "https://signer.example/callback";
const CI: &str = "https://ci.example";
/// What a door takes, ready to be spoiled.
pub struct Good {
    pub claims: Value,
    pub header: Value,
    pub key: PrivateKey,
}

/// A server, and everybody whose tokens it takes.
pub struct Street {
    op: Op,
    browser_cookies: Vec<(String, String)>,
    ci: PrivateKey,
    drawn: std::sync::atomic::AtomicU64,
    nonce: String,
    /// The server's own, which no client has.
    own: PrivateKey,
    proof: PrivateKey,
    signer: PrivateKey,
    tokens: Value,
}

impl Street {
    async fn build() -> Self {
        let op = Op::with(Plan::Basic, None, |config| {
            config.limits.address_failures_per_minute = 0;
            config.limits.failures_per_second = 0;
            config.limits.address_requests_per_minute = 0;
            config.limits.client_requests_per_minute = 0;
        })
        .await;
        let [signer, ci] = [(); 2].map(|()| PrivateKey::generate(Algorithm::Es256).unwrap());
        let keys = JwkSet::new([signer.public().clone()]).unwrap();
        let new = NewClient { algorithm: Algorithm::Es256, ..NewClient::default() };
        let signs = NewClient {
            authentication: NewAuthentication::PrivateKeyJwt(AssertionKeys {
                audience: AssertionAudience::Issuer,
                keys: keys.into(),
            }),
            code_flow: CodeFlow {
                redirect_uris: vec![RedirectUri::parse(CALLBACK).unwrap()],
                ..CodeFlow::default()
            },
            grants: [Grant::AuthorizationCode, Grant::ClientCredentials, Grant::JwtBearer].into(),
            id: Some("signer".into()),
            scopes: names(&["deploy"]),
            ..new.clone()
        };
        op.server.admin.add_client(signs).await.unwrap();
        let trusted = TrustedIssuer {
            clients: names(&["signer"]),
            family: None,
            issuer: CI.into(),
            keys: JwkSet::new([ci.public().clone()]).unwrap(),
            scopes: names(&["deploy"]),
            subject: TrustedIssuer::default_rule(CI),
        };
        op.server.admin.add_issuer(trusted).await.unwrap();
        op.server.enrol(new).await;
        let mut browser = Browser::new(&op.server);
        let tokens = op.succeeds_in(&mut browser, &op.one, &op.request(&op.one)).await;
        let browser_cookies = browser.cookies();
        let own = own_key(&op).await;
        let (nonce, drawn) = (String::new(), Default::default());
        let mut street =
            Self { op, browser_cookies, ci, drawn, nonce, own, proof: dpop::key(), signer, tokens };
        let first = street.good(Door::Proof);
        let asked = street.send(Door::Proof, &sign(&first.key, &first.header, &first.claims)).await;
        street.nonce = asked.header("dpop-nonce").to_owned();
        street
    }

    /// A token that passes, never the same twice.
    pub fn good(&self, door: Door) -> Good {
        let (now, issuer) = (self.op.clock.now().0, &self.op.server.issuer);
        let jti = format!("jti-{}", self.drawn.fetch_add(1, std::sync::atomic::Ordering::SeqCst));
        let named = |key: &PrivateKey| json!({"alg": key.algorithm().name(), "kid": key.kid(), "typ": "JWT"});
        let issued = |name: &str| {
            let token = self.tokens[name].as_str().unwrap();
            let header = URL_SAFE_NO_PAD.decode(token.split('.').next().unwrap()).unwrap();
            let header = serde_json::from_slice(&header).unwrap();
            Good { claims: payload(token), header, key: self.own.clone() }
        };
        match door {
            Door::AccessToken | Door::Introspection => issued("access_token"),
            Door::Hint => issued("id_token"),
            Door::Assertion => Good {
                claims: json!({"iss": "signer", "sub": "signer", "aud": issuer, "iat": now, "exp": now + 60, "jti": jti}),
                header: named(&self.signer),
                key: self.signer.clone(),
            },
            Door::Grant => Good {
                claims: json!({"iss": CI, "sub": "builder", "aud": issuer, "iat": now, "exp": now + 60, "jti": jti}),
                header: named(&self.ci),
                key: self.ci.clone(),
            },
            Door::Proof => Good {
                claims: json!({
                    "htm": "POST", "htu": format!("{issuer}/token"), "iat": now, "jti": jti, "nonce": self.nonce,
                }),
                header: dpop::header(&self.proof),
                key: self.proof.clone(),
            },
            Door::Request => Good {
                claims: json!({
                    "iss": "signer", "aud": issuer, "nbf": now, "exp": now + 300, "client_id": "signer",
                    "response_type": "code", "redirect_uri": CALLBACK, "scope": "deploy", "state": jti,
                    "code_challenge": crate::front::CHALLENGE, "code_challenge_method": "S256",
                }),
                header: but(&named(&self.signer), "typ", "oauth-authz-req+jwt"),
                key: self.signer.clone(),
            },
        }
    }

    fn identified(&self) -> Pairs {
        let good = self.good(Door::Assertion);
        let assertion = sign(&good.key, &good.header, &good.claims);
        pairs(&[("client_assertion_type", JWT_BEARER), ("client_assertion", &assertion)])
    }

    async fn post(&self, path: &str, form: &Pairs) -> Answer {
        let request = self.op.server.request("POST", path);
        let request = request.header("content-type", "application/x-www-form-urlencoded");
        self.op.server.send(request.body(Full::from(encoded(form))).unwrap()).await
    }

    async fn send(&self, door: Door, token: &str) -> Answer {
        let server = &self.op.server;
        match door {
            Door::AccessToken => self.post("/userinfo", &pairs(&[("access_token", token)])).await,
            Door::Introspection => {
                let Way::Basic(secret) = &self.op.one.way else { unreachable!() };
                let who = crate::support::Credentials { id: "one".into(), secret: secret.clone() };
                let mut request = server.form("/introspect", &encoded(&pairs(&[("token", token)])));
                request.headers_mut().insert("authorization", who.basic().parse().unwrap());
                server.send(request).await
            }
            Door::Hint => {
                let request = with(&self.op.request(&self.op.one), "prompt", "none");
                let request = with(&request, "id_token_hint", token);
                Browser::with(server, self.browser_cookies.clone()).get(&address(&request)).await
            }
            Door::Assertion => {
                let form = pairs(&[
                    ("grant_type", "client_credentials"),
                    ("client_assertion_type", JWT_BEARER),
                    ("client_assertion", token),
                ]);
                self.post("/token", &form).await
            }
            Door::Grant => {
                let mut form = pairs(&[("grant_type", Grant::JwtBearer.name()), ("assertion", token)]);
                form.extend(self.identified());
                self.post("/token", &form).await
            }
            Door::Proof => {
                let mut request = server.form("/token", "grant_type=client_credentials");
                request.headers_mut().insert("dpop", token.parse().unwrap());
                server.send(request).await
            }
            Door::Request => {
                let mut form = pairs(&[("request", token)]);
                form.extend(self.identified());
                self.post("/par", &form).await
            }
        }
    }

    /// What came of it: the status, and the error, if it is one.
    async fn knock(&self, door: Door, token: &str) -> (u16, String) {
        let answer = self.send(door, token).await;
        let status = answer.status.as_u16();
        let said = match door {
            Door::Hint if status == 303 => {
                let pairs = self.op.came_back(&self.op.one, &answer);
                value(&pairs, "error").unwrap_or_default()
            }
            Door::Introspection if status == 200 => {
                let said = answer.json();
                assert!(said["active"] == true || said == json!({"active": false}), "{said}");
                if said["active"] == true { String::new() } else { "inactive".into() }
            }
            _ => answer.json()["error"].as_str().unwrap_or_default().to_owned(),
        };
        (status, said)
    }

    async fn is_open(&self, door: Door) -> bool {
        let good = self.good(door);
        let (status, error) = self.knock(door, &sign(&good.key, &good.header, &good.claims)).await;
        status < 400 && error.is_empty()
    }
}

/// The server's RS256 key, as only the server can open it.
async fn own_key(op: &Op) -> PrivateKey {
    let data = op.data_dir();
    let store = Sqlite::open(&data.join("store.sqlite")).unwrap();
    let records = store.list(Kind::SigningKey, Version::ZERO, op.clock.now()).await.unwrap();
    let record = records.iter().find(|record| record.id == "RS256/1").unwrap();
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    let sealed = URL_SAFE_NO_PAD.decode(body["sealed"].as_str().unwrap()).unwrap();
    let sealer = Sealer::open(&data, false, &OsRandomness).unwrap();
    let secret = sealer.open_sealed(Secret::SigningKey, &record.id, &sealed).unwrap();
    PrivateKey::from_secret(Algorithm::Rs256, &secret).unwrap()
}

#[tokio::test]
async fn every_hostile_token_is_refused_at_every_door() {
    let street = Street::build().await;
    let (mut seen, mut wrong, mut count) = (BTreeSet::new(), Vec::new(), 0);
    for door in Door::ALL {
        assert!(street.is_open(door).await, "{door:?}: a good token passes");
        let mut cases = headers(&street, door);
        cases.extend(claims(&street, door));
        cases.extend(spellings(&street, door));
        cases.extend(of_other_doors(&street, door));
        for (name, token) in cases {
            // A header has no other letters, and does without spaces at its end: RFC 9110 §5.5.
            let fits = |byte: u8| byte.is_ascii_graphic() || byte == b' ';
            if door == Door::Proof && (!token.bytes().all(fits) || token.ends_with(' ')) {
                continue;
            }
            assert!(seen.insert((format!("{door:?}"), name.clone())), "{door:?}: {name} is there twice");
            assert!(seen.insert((format!("{door:?}"), token.clone())), "{door:?}: {name} is another's token");
            let (status, error) = street.knock(door, &token).await;
            let (expected, code) = door.refusal();
            if (status, error.as_str()) != (expected, code) {
                wrong.push(format!("{door:?}: {name}: {status} {error}"));
            }
            count += 1;
        }
        assert!(street.is_open(door).await, "{door:?}: a good token still passes");
    }
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 300, "{count}");
    for door in Door::ALL {
        assert!(street.is_open(door).await, "{door:?}: a good token passes at the end");
    }
    assert_eq!(street.op.server.get("/health/ready").await.status, 200);
    street.op.server.stop().await;
}
