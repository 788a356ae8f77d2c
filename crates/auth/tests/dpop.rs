//! DPoP: the twelve checks of RFC 9449 section 4.3, one test each, and what a proof must not be taken for.

use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use proptest::collection::vec;
use proptest::prelude::*;
use sealstone_auth::config::{Dpop as DpopConfig, Replay};
use sealstone_auth::protocol::dpop::{self, BoundToken, Dpop, Request, ath, is_bound_key, is_thumbprint};
use sealstone_auth::protocol::{Code, OAuthError};
use sealstone_auth::{Clock, clock::OsRandomness};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, PrivateKey};
use serde_json::{Map, Value, json};

use crate::support::{House, START};

pub const TOKEN_ENDPOINT: &str = "https://auth.example.org/token";
const USERINFO: &str = "https://auth.example.org/userinfo";

/// A node: its flows, and what it knows of proofs.
pub struct Node {
    pub house: House,
    pub dpop: Dpop,
}

impl Node {
    pub async fn build() -> Self {
        Self::with(DpopConfig::default()).await
    }

    pub async fn with(config: DpopConfig) -> Self {
        let house = House::build().await;
        let dpop = Dpop::new(&config, house.live.sealer(), &OsRandomness).unwrap();
        Self { house, dpop }
    }

    /// Another process on the same store.
    pub fn beside(&self, config: &DpopConfig) -> Dpop {
        Dpop::new(config, self.house.live.sealer(), &OsRandomness).unwrap()
    }

    pub fn nonce(&self) -> String {
        self.dpop.nonce(self.house.clock.now(), &OsRandomness).unwrap().unwrap()
    }

    /// A token request with these DPoP headers.
    pub async fn ask(&self, proofs: &[&str]) -> Result<Option<String>, OAuthError> {
        self.ask_as("client", proofs).await
    }

    pub async fn ask_as(&self, client: &str, proofs: &[&str]) -> Result<Option<String>, OAuthError> {
        self.check(Request { client, method: "POST", proofs: &[], token: None, url: TOKEN_ENDPOINT }, proofs)
            .await
    }

    pub async fn check(&self, request: Request<'_>, proofs: &[&str]) -> Result<Option<String>, OAuthError> {
        let proofs: Vec<&[u8]> = proofs.iter().map(|proof| proof.as_bytes()).collect();
        let (store, now) = (&*self.house.store, self.house.clock.now());
        self.dpop.check(Request { proofs: &proofs, ..request }, store, &OsRandomness, now).await
    }

    /// The claims of a good proof for a token request.
    pub fn claims(&self, jti: &str) -> Value {
        json!({"htm": "POST", "htu": TOKEN_ENDPOINT, "iat": self.house.clock.now().0, "jti": jti, "nonce": self.nonce()})
    }

    async fn refused(&self, proof: &str, why: &str) {
        self.refused_with(Code::InvalidDpopProof, proof, why).await;
    }

    async fn refused_with(&self, code: Code, proof: &str, why: &str) {
        assert_eq!(self.ask(&[proof]).await.map_err(|error| error.code), Err(code), "{why}");
    }
}

pub fn key() -> PrivateKey {
    PrivateKey::generate(Algorithm::Es256).unwrap()
}

/// A signed token with any header.
pub fn signed(key: &PrivateKey, header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let input = format!("{}.{}", part(header), part(claims));
    let signature = key.sign(input.as_bytes()).unwrap();
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(signature))
}

pub fn header(key: &PrivateKey) -> Value {
    let jwk: Value = serde_json::from_str(&key.public().to_jwk().to_json()).unwrap();
    json!({"alg": key.algorithm().name(), "jwk": jwk, "typ": "dpop+jwt"})
}

pub fn proof(key: &PrivateKey, claims: &Value) -> String {
    signed(key, &header(key), claims)
}

/// With one member changed; `null` takes it away.
pub fn but(value: &Value, name: &str, changed: impl Into<Value>) -> Value {
    let mut map: Map<String, Value> = value.as_object().unwrap().clone();
    match changed.into() {
        Value::Null => drop(map.remove(name)),
        changed => drop(map.insert(name.into(), changed)),
    }
    Value::Object(map)
}

#[tokio::test]
async fn rfc9449_s4_2_every_algorithm_of_the_house() {
    let node = Node::build().await;
    let others: Vec<_> =
        Algorithm::ALL.into_iter().filter(|known| !dpop::ALGORITHMS.contains(known)).collect();
    assert_eq!(others, [Algorithm::Rs256], "FAPI 2.0 Security Profile §5.4 leaves it out");
    for algorithm in dpop::ALGORITHMS {
        let key = PrivateKey::generate(algorithm).unwrap();
        let good = proof(&key, &node.claims("1"));
        assert!(good.len() <= dpop::MAX_PROOF, "{algorithm}: {}", good.len());
        let shown = node.ask(&[&good]).await.unwrap();
        assert_eq!(shown.as_deref(), Some(key.public().thumbprint()), "{algorithm}");
    }
    assert_eq!(dpop::ALGORITHMS[0], Algorithm::Es256, "a client that takes the first must know it");
    assert_eq!(node.ask(&[]).await.unwrap(), None, "a bearer's request has no proof");
}

#[tokio::test]
async fn rfc9449_s4_3_01_more_than_one_header() {
    let (node, key) = (Node::build().await, key());
    let (one, two) = (proof(&key, &node.claims("1")), proof(&key, &node.claims("2")));
    for proofs in [&[&*one, &*two][..], &[&one, &one], &[&one, ""]] {
        assert_eq!(node.ask(proofs).await.unwrap_err().code, Code::InvalidDpopProof);
    }
    assert!(node.ask(&[&one]).await.is_ok(), "the refused ones used nothing up");
}

#[tokio::test]
async fn rfc9449_s4_3_02_a_single_well_formed_jwt() {
    let (node, key) = (Node::build().await, key());
    let good = proof(&key, &node.claims("1"));
    let [header, payload, signature] = good.split('.').collect::<Vec<_>>()[..] else { panic!() };
    for malformed in [
        String::new(),
        ".".into(),
        "..".into(),
        "nonsense".into(),
        format!("{header}.{payload}"),
        format!("{header}.{payload}."),
        format!("{header}..{signature}"),
        format!(".{payload}.{signature}"),
        format!("{good}.{signature}"),
        format!("{good}.{header}.{payload}"),
        format!("{good}, {good}"),
        format!("{good},{good}"),
        format!("DPoP {good}"),
        format!(" {good}"),
        format!("{good} "),
        format!("{header}.{payload}.{signature}="),
        format!("{header}=.{payload}.{signature}"),
        format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode("[]")),
        format!("{}.{payload}.{signature}", URL_SAFE_NO_PAD.encode("{\"alg\":")),
        json!({"protected": header, "payload": payload, "signature": signature}).to_string(),
        proof(&key, &json!([1])),
        proof(&key, &json!("text")),
        proof(&key, &but(&node.claims("1"), "pad", "x".repeat(dpop::MAX_PROOF))),
    ] {
        node.refused(&malformed, &malformed).await;
    }
    let proofs: &[&[u8]] = &[&[0xff, 0xfe], &[]];
    for bytes in proofs {
        let request =
            Request { client: "c", method: "POST", proofs: &[bytes], token: None, url: TOKEN_ENDPOINT };
        let (store, now) = (&*node.house.store, node.house.clock.now());
        let error = node.dpop.check(request, store, &OsRandomness, now).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidDpopProof);
    }
    assert!(node.ask(&[&good]).await.is_ok());
}

#[tokio::test]
async fn rfc9449_s4_3_03_the_required_claims() {
    let (node, key) = (Node::build().await, key());
    let claims = node.claims("1");
    for name in ["jti", "htm", "htu", "iat"] {
        node.refused(&proof(&key, &but(&claims, name, Value::Null)), name).await;
        for value in [json!([claims[name]]), json!({}), json!(true), json!("")] {
            node.refused(&proof(&key, &but(&claims, name, value.clone())), &format!("{name} {value}")).await;
        }
    }
    node.refused(&proof(&key, &but(&claims, "iat", START.to_string())), "a number as text").await;
    node.refused(&proof(&key, &but(&claims, "jti", 7)), "a number").await;
    node.refused(&proof(&key, &but(&claims, "nonce", 7)), "a number").await;
    // Two readings of one text, where the claims matter and where they do not.
    for twice in ["\"jti\":\"2\"", "\"other\":1,\"other\":2"] {
        let text = claims.to_string().replacen('{', &format!("{{{twice},"), 1);
        let input =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header(&key).to_string()), URL_SAFE_NO_PAD.encode(text));
        let signature = URL_SAFE_NO_PAD.encode(key.sign(input.as_bytes()).unwrap());
        node.refused(&format!("{input}.{signature}"), twice).await;
    }
    assert!(node.ask(&[&proof(&key, &but(&claims, "other", json!({"a": [1]})))]).await.is_ok());
}

#[tokio::test]
async fn rfc9449_s4_3_04_the_type() {
    let (node, key) = (Node::build().await, key());
    let claims = node.claims("1");
    for typ in [Value::Null, json!("JWT"), json!("at+jwt"), json!("dpop"), json!("dpop+jwtx"), json!("")] {
        let header = but(&header(&key), "typ", typ.clone());
        node.refused(&signed(&key, &header, &claims), &typ.to_string()).await;
    }
    node.refused(&signed(&key, &but(&header(&key), "typ", json!(["dpop+jwt"])), &claims), "array").await;
    assert!(node.ask(&[&signed(&key, &but(&header(&key), "typ", "DPoP+JWT"), &claims)]).await.is_ok());
}

#[tokio::test]
async fn rfc9449_s4_3_05_the_algorithm() {
    let node = Node::build().await;
    for algorithm in [Algorithm::Es256, Algorithm::MlDsa44] {
        let key = PrivateKey::generate(algorithm).unwrap();
        let claims = node.claims("1");
        let names =
            ["none", "None", "NONE", "HS256", "HS512", "RS256", "PS256", "ES256K", "es256", "", "ES384"];
        for alg in names.into_iter().chain(["ML-DSA-65", "EdDSA"]) {
            let header = but(&header(&key), "alg", alg);
            node.refused(&signed(&key, &header, &claims), alg).await;
            let unsigned = signed(&key, &header, &claims);
            node.refused(unsigned.rsplit_once('.').unwrap().0, alg).await;
            node.refused(&format!("{}.", unsigned.rsplit_once('.').unwrap().0), alg).await;
        }
        for alg in [Value::Null, json!(1), json!(["ES256"])] {
            node.refused(&signed(&key, &but(&header(&key), "alg", alg), &claims), "alg").await;
        }
        // A key that says it is for another algorithm, or for something else.
        for (name, value) in [("alg", json!("ES512")), ("use", json!("enc")), ("key_ops", json!(["sign"]))] {
            let jwk = but(&header(&key)["jwk"], name, value);
            node.refused(&signed(&key, &but(&header(&key), "jwk", jwk), &claims), name).await;
        }
        assert!(node.ask(&[&proof(&key, &claims)]).await.is_ok());
    }
}

#[tokio::test]
async fn rfc9449_s4_3_06_the_signature() {
    let node = Node::build().await;
    for algorithm in dpop::ALGORITHMS {
        let (key, other) =
            (PrivateKey::generate(algorithm).unwrap(), PrivateKey::generate(algorithm).unwrap());
        let good = proof(&key, &node.claims("1"));
        node.refused(&signed(&other, &header(&key), &node.claims("1")), "signed by another key").await;
        let (input, signature) = good.rsplit_once('.').unwrap();
        let mut bytes = URL_SAFE_NO_PAD.decode(signature).unwrap();
        for at in [0, bytes.len() / 2, bytes.len() - 1] {
            bytes[at] ^= 1;
            node.refused(&format!("{input}.{}", URL_SAFE_NO_PAD.encode(&bytes)), "a flipped bit").await;
            bytes[at] ^= 1;
        }
        for bytes in [vec![0; bytes.len()], vec![0xff; bytes.len()], bytes[1..].to_vec(), vec![]] {
            node.refused(&format!("{input}.{}", URL_SAFE_NO_PAD.encode(&bytes)), "no signature").await;
        }
        let (head, rest) = good.split_once('.').unwrap();
        let claims = URL_SAFE_NO_PAD.encode(but(&node.claims("1"), "jti", "2").to_string());
        node.refused(&format!("{head}.{claims}.{}", rest.split_once('.').unwrap().1), "other claims").await;
        let more = URL_SAFE_NO_PAD.encode(but(&header(&key), "x", 1).to_string());
        node.refused(&format!("{more}.{rest}"), "another header").await;
        assert!(node.ask(&[&good]).await.is_ok(), "{algorithm}");
    }
    // Headers that would change what was signed.
    let key = key();
    for (name, value) in [("crit", json!(["exp"])), ("b64", json!(false)), ("zip", json!("DEF"))] {
        node.refused(&signed(&key, &but(&header(&key), name, value), &node.claims("2")), name).await;
    }
    assert!(node.ask(&[&signed(&key, &but(&header(&key), "other", 1), &node.claims("2"))]).await.is_ok());
}

#[tokio::test]
async fn rfc9449_s4_3_07_no_private_key() {
    let node = Node::build().await;
    for algorithm in dpop::ALGORITHMS {
        let key = PrivateKey::generate(algorithm).unwrap();
        let whole: Value = serde_json::from_str(&key.to_jwk().to_json()).unwrap();
        let claims = node.claims("1");
        let error = node.ask(&[&signed(&key, &but(&header(&key), "jwk", whole), &claims)]).await.unwrap_err();
        assert_eq!(error.description, "the DPoP proof's `jwk` holds a private key", "{algorithm}");
        for member in ["d", "priv", "seed", "k", "p", "q", "dp", "dq", "qi", "oth"] {
            let jwk = but(&header(&key)["jwk"], member, "AA");
            node.refused(&signed(&key, &but(&header(&key), "jwk", jwk), &claims), member).await;
        }
    }
    let (key, claims) = (key(), node.claims("1"));
    let symmetric = json!({"kty": "oct", "k": "AAAA"});
    for jwk in [
        Value::Null,
        symmetric,
        json!({}),
        json!("x"),
        json!([]),
        json!({"kty": "RSA", "n": "AQ", "e": "AQAB"}),
    ] {
        node.refused(&signed(&key, &but(&header(&key), "jwk", jwk.clone()), &claims), &jwk.to_string()).await;
    }
    // The key is the one in the header, and no other place is looked at.
    for name in ["jku", "x5u", "x5c", "kid"] {
        let header = but(&but(&header(&key), "jwk", Value::Null), name, key.kid());
        node.refused(&signed(&key, &header, &claims), name).await;
    }
    for (member, value) in [("x", json!("AA")), ("x", json!("A".repeat(43))), ("crv", json!("P-384"))] {
        let jwk = but(&header(&key)["jwk"], member, value);
        node.refused(&signed(&key, &but(&header(&key), "jwk", jwk), &claims), "no point").await;
    }
}

#[tokio::test]
async fn rfc9449_s4_3_08_the_method() {
    let (node, key) = (Node::build().await, key());
    for htm in ["GET", "post", "Post", "PUT", "POST ", "POST,GET"] {
        node.refused(&proof(&key, &but(&node.claims("1"), "htm", htm)), htm).await;
    }
    assert!(node.ask(&[&proof(&key, &node.claims("1"))]).await.is_ok());
}

#[tokio::test]
async fn rfc9449_s4_3_09_the_address() {
    let (node, key) = (Node::build().await, key());
    for (n, htu) in [
        "https://auth.example.org/token",
        "https://auth.example.org/token?a=b",
        "https://auth.example.org/token?",
        "https://auth.example.org/token#f",
        "https://auth.example.org/token?a=b#f?/",
        "HTTPS://AUTH.Example.ORG/token",
        "https://auth.example.org:443/token",
        "https://auth.example.org:/token",
        "https://auth.example.org:0443/token",
        "https://auth.example.org/./token",
        "https://auth.example.org/x/../token",
        "https://auth.example.org/x/%2E%2e/token",
        "https://auth.example.org/../token",
        "https://auth.example.org/%74oken",
        "https://auth.example.org/to%6ben",
        "https://%61uth.example.org/token",
    ]
    .into_iter()
    .enumerate()
    {
        let claims = but(&node.claims(&format!("good {n}")), "htu", htu);
        assert!(node.ask(&[&proof(&key, &claims)]).await.is_ok(), "{htu}");
    }
    for htu in [
        "http://auth.example.org/token",
        "https://auth.example.org",
        "https://auth.example.org/",
        "https://auth.example.org/token/",
        "https://auth.example.org//token",
        "https://auth.example.org/Token",
        "https://auth.example.org/token/.",
        "https://auth.example.org/token/x/..",
        "https://auth.example.org/%2Ftoken",
        "https://auth.example.org/token%3Fa",
        "https://auth.example.org/token%00",
        "https://auth.example.org:8443/token",
        "https://auth.example.org:443443/token",
        "https://auth.example.org:-443/token",
        "https://auth.example.org:443:443/token",
        "https://user@auth.example.org/token",
        "https://auth.example.org@evil.example/token",
        "https://evil.example/token",
        "https://auth.example.org.evil.example/token",
        "https://auth.example.org\\token",
        "https://auth.example.org/tok en",
        "https://auth.example.org/token ",
        " https://auth.example.org/token",
        "https:auth.example.org/token",
        "https:///token",
        "//auth.example.org/token",
        "/token",
        "token",
        "https://auth.example.org/%7",
        "https://auth.example.org/%zz",
        "https://auth.example.org/t\u{f6}ken",
        "?",
    ] {
        node.refused(&proof(&key, &but(&node.claims("bad"), "htu", htu)), htu).await;
    }
}

/// The address is compared as the issuer is configured, in whatever spelling.
#[tokio::test]
async fn rfc9449_s4_3_09_the_address_with_a_port_a_path_and_an_ipv6_host() {
    let (node, key) = (Node::build().await, key());
    for (n, (url, htu, good)) in [
        ("https://a.example:8443/t/token", "https://A.example:8443/t/token", true),
        ("https://a.example:8443/t/token", "https://a.example/t/token", false),
        ("https://A.Example:443/token", "https://a.example/token", true),
        ("https://[::1]:8443/token", "https://[::1]:8443/token?x", true),
        ("https://[2001:DB8::1]/token", "https://[2001:db8::1]:443/token", true),
        ("https://[::1]:8443/token", "https://[::1]/token", false),
        ("http://127.0.0.1:80/token", "http://127.0.0.1/token", true),
        ("https://a.example", "https://a.example/", true),
        ("https://a.example/a%2fb", "https://a.example/a%2Fb", true),
        ("https://a.example/a%2fb", "https://a.example/a/b", false),
        ("nonsense", "nonsense", false),
    ]
    .into_iter()
    .enumerate()
    {
        let request = Request { client: "c", method: "POST", proofs: &[], token: None, url };
        let claims = but(&node.claims(&n.to_string()), "htu", htu);
        assert_eq!(node.check(request, &[&proof(&key, &claims)]).await.is_ok(), good, "{url} {htu}");
    }
}

#[tokio::test]
async fn rfc9449_s4_3_10_the_nonce() {
    let (node, key) = (Node::build().await, key());
    let other = Node::build().await;
    let beside = node.beside(&DpopConfig::default());
    let shared = node.beside(&DpopConfig { replay: Replay::Shared, ..DpopConfig::default() });
    let nonce = node.nonce();
    let now = node.house.clock.now();
    let of = |dpop: &Dpop| dpop.nonce(now, &OsRandomness).unwrap().unwrap();
    assert!(nonce.len() == 32 && nonce.bytes().all(|byte| matches!(byte, 0x21 | 0x23..=0x5b | 0x5d..=0x7e)));
    let bytes = URL_SAFE_NO_PAD.decode(&nonce).unwrap();
    let flipped = |at: usize| {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1;
        json!(URL_SAFE_NO_PAD.encode(bytes))
    };
    for (what, value) in [
        ("none", Value::Null),
        ("empty", json!("")),
        ("made up", json!("nonce")),
        ("another store", json!(other.nonce())),
        ("another node, or this one before its restart", json!(of(&beside))),
        ("of all nodes", json!(of(&shared))),
        ("the minute changed", flipped(7)),
        ("the tag changed", flipped(8)),
        ("the end of the tag changed", flipped(23)),
        ("cut", json!(&nonce[..31])),
        ("cut further", json!(&nonce[..12])),
        ("only the minute", json!(URL_SAFE_NO_PAD.encode(&bytes[..8]))),
        ("longer", json!(format!("{nonce}AAAA"))),
        ("padded", json!(format!("{nonce}="))),
        ("long", json!("A".repeat(3000))),
    ] {
        let claims = but(&node.claims("1"), "nonce", value);
        node.refused_with(Code::UseDpopNonce, &proof(&key, &claims), what).await;
    }
    // What is wrong besides is said first: asking for another nonce would not help.
    let claims = but(&but(&node.claims("1"), "nonce", Value::Null), "htm", "GET");
    node.refused(&proof(&key, &claims), "the method").await;
    assert!(node.ask(&[&proof(&key, &node.claims("1"))]).await.is_ok());
}

/// Good in its own minute and the next, so that a client gets the next one before its own ends.
#[tokio::test]
async fn rfc9449_s8_a_nonce_overlaps_with_the_next() {
    for replay in [Replay::Node, Replay::Shared] {
        overlaps(Node::with(DpopConfig { replay, ..DpopConfig::default() }).await).await;
    }
}

async fn overlaps(node: Node) {
    let key = key();
    let first = node.claims("1");
    node.house.clock.advance(59);
    assert_eq!(node.nonce(), first["nonce"], "still the newest");
    node.house.clock.advance(1);
    assert_ne!(node.nonce(), first["nonce"]);
    assert!(node.ask(&[&proof(&key, &first)]).await.is_ok());
    node.house.clock.advance(59);
    assert!(node.ask(&[&proof(&key, &but(&first, "jti", "2"))]).await.is_ok(), "its last second");
    node.house.clock.advance(1);
    node.refused_with(Code::UseDpopNonce, &proof(&key, &but(&first, "jti", "3")), "over").await;
    // The minute is signed: nobody sets it on.
    let set_on = |minutes: u64| {
        let mut bytes = URL_SAFE_NO_PAD.decode(first["nonce"].as_str().unwrap()).unwrap();
        let minute = u64::from_be_bytes(bytes[..8].try_into().unwrap()) + minutes;
        bytes[..8].copy_from_slice(&minute.to_be_bytes());
        but(&but(&first, "jti", "4"), "nonce", URL_SAFE_NO_PAD.encode(bytes))
    };
    for minutes in [1, 2] {
        node.refused_with(Code::UseDpopNonce, &proof(&key, &set_on(minutes)), "set on").await;
    }
}

#[tokio::test]
async fn rfc9449_s4_3_11_the_time() {
    let (node, key) = (Node::build().await, key());
    for (jti, iat) in [
        ("1", json!(START)),
        ("2", json!(START - 10)),
        ("3", json!(START + 8)),
        ("4", json!(START + 60)),
        ("5", json!(START - 300)),
        ("6", json!(START as f64 + 0.5)),
    ] {
        let claims = but(&node.claims(jti), "iat", iat.clone());
        assert!(node.ask(&[&proof(&key, &claims)]).await.is_ok(), "{iat}");
    }
    for iat in [
        json!(START - 301),
        json!(START + 61),
        json!(START - 3600),
        json!(START + 3600),
        json!(START * 1000),
        json!(0),
        json!(-1),
        json!(-1e300),
        json!(1e300),
        json!(u64::MAX),
    ] {
        node.refused(&proof(&key, &but(&node.claims("7"), "iat", iat.clone())), &iat.to_string()).await;
    }
    // §4.2 lets a proof say more about its time; what it says holds.
    for (name, value) in [("exp", START - 60), ("exp", 0), ("nbf", START + 61), ("exp", START * 1000)] {
        node.refused(&proof(&key, &but(&node.claims("8"), name, value)), name).await;
    }
}

#[tokio::test]
async fn rfc9449_s4_3_12_the_token_and_its_key() {
    let (node, key, other) = (Node::build().await, key(), key());
    let (token, jkt) = ("the.access.token", key.public().thumbprint().to_owned());
    let request = |text, jkt| Request {
        client: "client",
        method: "GET",
        proofs: &[],
        token: Some(BoundToken { jkt, text }),
        url: USERINFO,
    };
    let claims =
        |jti: &str| but(&but(&but(&node.claims(jti), "htm", "GET"), "htu", USERINFO), "ath", ath(token));
    let code = async |proofs: &[&str], text, jkt| {
        node.check(request(text, jkt), proofs).await.map(|shown| shown.unwrap()).map_err(|error| error.code)
    };
    let wrong = Err(Code::InvalidDpopProof);
    assert_eq!(code(&[], token, &jkt).await, wrong, "a bound token without a proof");
    for ath in [
        Value::Null,
        json!(""),
        json!(token),
        json!(ath("another.access.token")),
        json!(ath(token).to_uppercase()),
        json!(format!("{}=", ath(token))),
        json!([ath(token)]),
    ] {
        let changed = but(&claims("1"), "ath", ath.clone());
        assert_eq!(code(&[&proof(&key, &changed)], token, &jkt).await, wrong, "{ath}");
    }
    assert_eq!(code(&[&proof(&key, &claims("1"))], "another.access.token", &jkt).await, wrong);
    assert_eq!(code(&[&proof(&other, &claims("1"))], token, &jkt).await, wrong, "a stolen token");
    assert_eq!(code(&[&proof(&key, &claims("1"))], token, other.public().thumbprint()).await, wrong);
    assert_eq!(code(&[&proof(&key, &claims("1"))], token, "").await, wrong);
    // A proof made for the token endpoint is none for a resource, and the other way round.
    let elsewhere = but(&claims("1"), "htu", TOKEN_ENDPOINT);
    assert_eq!(code(&[&proof(&key, &elsewhere)], token, &jkt).await, wrong);
    node.refused(&proof(&key, &claims("1")), "made for a resource").await;
    assert_eq!(code(&[&proof(&key, &claims("1"))], token, &jkt).await, Ok(jkt.clone()));
    assert_eq!(code(&[&proof(&key, &claims("1"))], token, &jkt).await, wrong, "once");
}

/// §10: the thumbprint that an authorization request names.
#[test]
fn rfc9449_s10_dpop_jkt() {
    let (key, other) = (key(), key());
    let (jkt, foreign) = (key.public().thumbprint(), other.public().thumbprint());
    assert!(is_bound_key(Some(jkt), Some(jkt)) && is_bound_key(None, Some(jkt)) && is_bound_key(None, None));
    assert!(!is_bound_key(Some(jkt), Some(foreign)) && !is_bound_key(Some(jkt), None));
    assert!(!is_bound_key(Some(""), None) && !is_bound_key(Some(jkt), Some("")));
    assert!(is_thumbprint(jkt));
    for text in ["", "x", &jkt[..42], &format!("{jkt}A"), &format!("{jkt}="), &format!("{}/", &jkt[..42])] {
        assert!(!is_thumbprint(text), "{text}");
    }
    // The last character has bits that must be zero: one thumbprint has one spelling.
    let last = ["B", "D", "Z", "_"].map(|last| format!("{}{last}", &jkt[..42]));
    assert!(last.iter().all(|text| !is_thumbprint(text)));
}

/// RFC 8725 §3.11: a proof is no client assertion, and no other token is a proof.
#[tokio::test]
async fn rfc8725_s3_11_no_other_kind_of_token() {
    let (node, key) = (Node::build().await, key());
    for typ in ["JWT", "at+jwt", "client-authentication+jwt", "logout+jwt", "oauth-authz-req+jwt"] {
        let claims = Claims::parse(&node.claims("1").to_string()).unwrap();
        node.refused(&jwt::sign(&key, typ, &claims).unwrap(), typ).await;
        node.refused(&signed(&key, &but(&header(&key), "typ", typ), &node.claims("1")), typ).await;
    }
    let nested = but(&header(&key), "cty", "JWT");
    node.refused(&signed(&key, &nested, &node.claims("1")), "a token within the token").await;
    let who = node.house.es256().await;
    node.refused(&node.house.token(&who), "an access token of ours").await;
}

/// One node for all cases of a property.
fn one_node() -> (tokio::runtime::Runtime, Node, PrivateKey) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let node = runtime.block_on(Node::build());
    (runtime, node, key())
}

#[test]
fn any_bytes_are_refused() {
    let (runtime, node, _) = one_node();
    proptest!(|(bytes in vec(any::<u8>(), 0..200), text in "[a-zA-Z0-9._-]{0,200}")| {
        for proof in [&bytes[..], text.as_bytes()] {
            let proofs = [proof];
            let request = Request { client: "c", method: "POST", proofs: &proofs, token: None, url: TOKEN_ENDPOINT };
            let now = node.house.clock.now();
            let answer = runtime.block_on(node.dpop.check(request, &*node.house.store, &OsRandomness, now));
            prop_assert_eq!(answer.unwrap_err().code, Code::InvalidDpopProof);
        }
    });
}

/// Whatever a signed proof claims: no panic, and only the right address and nonce pass.
#[test]
fn any_claims_are_read() {
    let (runtime, node, key) = one_node();
    let counter = AtomicU64::new(0);
    proptest!(ProptestConfig::with_cases(128), |(
        htu in "(https?://)?[a-z0-9.:@\\[\\]%/?#\u{e9} -]{0,40}",
        nonce in "[a-zA-Z0-9_=-]{0,40}",
        iat in any::<f64>(),
        jti in ".{1,40}",
    )| {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        let good = node.claims(&format!("{number} {jti}"));
        let ask = |claims: &Value| runtime.block_on(node.ask(&[&proof(&key, claims)])).map_err(|error| error.code);
        prop_assert!(ask(&good).is_ok());
        prop_assert_eq!(ask(&but(&good, "htu", htu)), Err(Code::InvalidDpopProof));
        prop_assert_eq!(ask(&but(&good, "nonce", nonce)), Err(Code::UseDpopNonce));
        if (iat - START as f64).abs() > 400.0 {
            prop_assert_eq!(ask(&but(&good, "iat", iat)), Err(Code::InvalidDpopProof));
        }
    });
}

/// A URL is itself however it is written: letters percent-encoded, dots put in, scheme and host in capitals.
#[test]
fn a_url_in_any_dress_is_itself() {
    let (runtime, node, key) = one_node();
    let counter = AtomicU64::new(0);
    proptest!(ProptestConfig::with_cases(128), |(
        segments in vec("[a-zA-Z0-9~_-]{1,6}", 1..4),
        encode in vec(any::<bool>(), 32),
        dots in vec(0..3_usize, 4),
        capitals in any::<bool>(),
        port in prop_oneof![Just(""), Just(":"), Just(":443"), Just(":00443")],
    )| {
        let plain = format!("https://auth.example.org/{}", segments.join("/"));
        let mut flags = encode.iter().cycle();
        let dressed: Vec<String> = segments.iter().zip(&dots).map(|(segment, dots)| {
            let letters: String = segment.bytes().map(|byte| match flags.next() {
                Some(true) => format!("%{byte:02x}"),
                _ => char::from(byte).to_string(),
            }).collect();
            [&letters[..], &format!("./{letters}"), &format!("x/%2e./{letters}")][*dots].to_owned()
        }).collect();
        let host = if capitals { "HTTPS://AUTH.Example.ORG" } else { "https://auth.example.org" };
        let htu = format!("{host}{port}/{}", dressed.join("/"));
        let number = counter.fetch_add(1, Ordering::Relaxed);
        let request = Request { client: "c", method: "POST", proofs: &[], token: None, url: &plain };
        let claims = but(&node.claims(&number.to_string()), "htu", htu.clone());
        let answer = runtime.block_on(node.check(request, &[&proof(&key, &claims)]));
        prop_assert!(answer.is_ok(), "{} {}", plain, htu);
    });
}
