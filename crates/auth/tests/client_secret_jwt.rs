//! `client_secret_jwt`, OpenID Connect Core §9: assertions with a MAC, and the secret that both sides know.

use std::sync::Arc;

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::clock::{OsRandomness, SystemClock};
use sealstone_auth::keys::{Sealer, Secret};
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::protocol::{Code, OAuthError};
use sealstone_auth::store::{Kind, NewRecord, Sqlite, Version};
use sealstone_auth::{
    Admin, AssertionAudience, AssertionKeys, Config, Error, NewAuthentication, NewClient, Server, World,
};
use sealstone_jose::jws::Header;
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::mac::{self, MacAlgorithm, MacKey};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::support::{Credentials, House, START};

const ISSUER: &str = "https://auth.example.org";

fn new(algorithm: MacAlgorithm) -> NewClient {
    NewClient {
        authentication: NewAuthentication::ClientSecretJwt(algorithm, AssertionAudience::Issuer),
        id: Some("worker".into()),
        ..NewClient::default()
    }
}

fn claims(jti: &str) -> Claims {
    let about = Claims::new().with("iss", "worker").with("sub", "worker").with("aud", ISSUER);
    about.with("iat", START).with("exp", START + 60).with("jti", jti)
}

/// By the library's own hand.
fn made(algorithm: MacAlgorithm, secret: &[u8], claims: &Claims) -> String {
    let key = MacKey::new(algorithm, secret).unwrap();
    mac::encode(&key, &Header::new().typ("JWT"), claims.to_json().as_bytes()).unwrap()
}

/// By hand: any header over any secret.
fn forged(header: &Value, algorithm: hmac::Algorithm, secret: &[u8], jti: &str) -> String {
    let part = |text: String| URL_SAFE_NO_PAD.encode(text);
    let input = format!("{}.{}", part(header.to_string()), part(claims(jti).to_json()));
    let tag = hmac::sign(&hmac::Key::new(algorithm, secret), input.as_bytes());
    format!("{input}.{}", URL_SAFE_NO_PAD.encode(tag))
}

async fn present(house: &House, assertion: &str) -> Result<String, OAuthError> {
    let kind = JWT_BEARER.replace(':', "%3A");
    let form = format!("client_assertion_type={kind}&client_assertion={assertion}");
    house.authenticate(&[], None, &form).await
}

async fn refused(house: &House, assertion: &str, why: &str) {
    let error = present(house, assertion).await.expect_err(why);
    assert_eq!(
        (error.code, &*error.description),
        (Code::InvalidClient, "client authentication failed"),
        "{why}"
    );
}

/// RFC 7518 §3.2: the secret has at least as many bytes as the hash, and they are its text: OpenID Connect Core §10.1.
#[tokio::test]
async fn rfc7518_s3_2_each_mac_and_its_secret() {
    for (algorithm, least) in
        [(MacAlgorithm::Hs256, 32), (MacAlgorithm::Hs384, 48), (MacAlgorithm::Hs512, 64)]
    {
        let house = House::build().await;
        let Credentials { secret, .. } = house.client(new(algorithm)).await;
        assert!(URL_SAFE_NO_PAD.decode(&secret).unwrap().len() >= least, "{algorithm}: {secret}");
        let good = made(algorithm, secret.as_bytes(), &claims("1"));
        assert_eq!(present(&house, &good).await.unwrap(), "worker");
        refused(&house, &good, "used before").await;
        // The text is the key, not what it encodes.
        let decoded = URL_SAFE_NO_PAD.decode(&secret).unwrap();
        refused(&house, &made(algorithm, &decoded, &claims("2")), "the decoded secret").await;
        let mut other = secret.clone().into_bytes();
        other[0] ^= 1;
        refused(&house, &made(algorithm, &other, &claims("2")), "another secret").await;
        // The registration decides, not the header.
        for named in MacAlgorithm::ALL.into_iter().filter(|named| *named != algorithm) {
            let long = [secret.as_bytes(), &[0; 64]].concat();
            let key = if secret.len() >= named.mac_len() { secret.as_bytes() } else { &long };
            refused(&house, &made(named, key, &claims("2")), "another MAC").await;
        }
        assert_eq!(
            present(&house, &made(algorithm, secret.as_bytes(), &claims("2"))).await.unwrap(),
            "worker"
        );
    }
}

/// RFC 8725 §2.1: a public key is no secret, a secret no key, whatever a header says.
#[tokio::test]
async fn rfc8725_s2_1_algorithm_confusion() {
    let house = House::build().await;
    let Credentials { secret, .. } = house.client(new(MacAlgorithm::Hs256)).await;
    // A signature for a client with a secret, by a key that is made from the secret too.
    for algorithm in Algorithm::ALL {
        let seeded = PrivateKey::from_secret(
            algorithm,
            &secret.as_bytes()[..algorithm.secret_len().unwrap_or(43).min(43)],
        );
        for key in [PrivateKey::generate(algorithm), seeded].into_iter().flatten() {
            refused(&house, &jwt::sign(&key, "JWT", &claims("1")).unwrap(), algorithm.name()).await;
        }
    }
    for alg in ["none", "hs256", "HS384", "HS512", "RS256", "ES256", "ML-DSA-65", "", "HS256 "] {
        let header = json!({"alg": alg, "typ": "JWT"});
        refused(&house, &forged(&header, hmac::HMAC_SHA256, secret.as_bytes(), "1"), alg).await;
    }
    for secret in ["", "worker", "null", ISSUER] {
        let header = json!({"alg": "HS256", "jwk": {"kty": "oct", "k": URL_SAFE_NO_PAD.encode(secret)}});
        refused(&house, &forged(&header, hmac::HMAC_SHA256, secret.as_bytes(), "1"), "its own key").await;
    }
    // A MAC for a client with a key: under everything of it that is public.
    for algorithm in Algorithm::ALL {
        let house = House::build().await;
        let key = PrivateKey::generate(algorithm).unwrap();
        let keys = JwkSet::new([key.public().clone()]).unwrap();
        let (set, audience) = (keys.to_json(), AssertionAudience::Issuer);
        let authentication = NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys: keys.into() });
        house.enrol(NewClient { authentication, ..new(MacAlgorithm::Hs256) }).await;
        let (jwk, raw) = (key.public().to_jwk().to_json(), key.public().as_bytes());
        for secret in [raw, set.as_bytes(), jwk.as_bytes(), key.kid().as_bytes(), b""] {
            for (alg, hash) in
                [("HS256", hmac::HMAC_SHA256), ("HS384", hmac::HMAC_SHA384), ("HS512", hmac::HMAC_SHA512)]
            {
                let header = json!({"alg": alg, "kid": key.kid(), "typ": "JWT"});
                refused(&house, &forged(&header, hash, secret, "1"), alg).await;
            }
        }
        assert!(present(&house, &jwt::sign(&key, "JWT", &claims("1")).unwrap()).await.is_ok());
    }
}

/// The rules of RFC 7523 §3 are those of every assertion; each is tested at length for `private_key_jwt`.
#[tokio::test]
async fn rfc7523_s3_the_same_rules() {
    let house = House::build().await;
    let Credentials { secret, .. } = house.client(new(MacAlgorithm::Hs256)).await;
    let with = |claims: Claims| made(MacAlgorithm::Hs256, secret.as_bytes(), &claims);
    for (name, value) in [
        ("iss", json!("other")),
        ("sub", json!("other")),
        ("aud", json!([ISSUER])),
        ("aud", json!(format!("{ISSUER}/token"))),
        ("exp", json!(START - 10)),
        ("exp", json!(START + 311)),
        ("nbf", json!(START + 11)),
        ("iat", json!(START + 11)),
        ("jti", json!("")),
    ] {
        refused(&house, &with(claims("1").with(name, value.clone())), &format!("{name} {value}")).await;
    }
    // RFC 7591 §2: the secret itself is no way in.
    let basic = Credentials { id: "worker".into(), secret: secret.clone() }.basic();
    assert_eq!(
        house.authenticate(&[basic.as_bytes()], None, "").await.unwrap_err().code,
        Code::InvalidClient
    );
    let form = format!("client_id=worker&client_secret={secret}");
    assert_eq!(house.authenticate(&[], None, &form).await.unwrap_err().code, Code::InvalidClient);
    assert!(present(&house, &with(claims("1"))).await.is_ok());
}

/// The secret is nowhere in the store; what is there opens for its client alone, and is no signing key.
#[tokio::test]
async fn a_secret_is_sealed_for_its_client() {
    let house = House::build().await;
    let Credentials { secret, .. } = house.client(new(MacAlgorithm::Hs256)).await;
    let now = sealstone_auth::Clock::now(&*house.clock);
    let record = house.store.read(Kind::Client, "worker", now).await.unwrap().unwrap();
    assert!(!String::from_utf8_lossy(&record.body).contains(&secret));
    let body: Value = serde_json::from_slice(&record.body).unwrap();
    let sealed = URL_SAFE_NO_PAD.decode(body["secret_sealed"].as_str().unwrap()).unwrap();
    let sealer = house.live.sealer();
    assert_eq!(*sealer.open_sealed(Secret::Client, "worker", &sealed).unwrap(), secret.as_bytes());
    assert!(sealer.open_sealed(Secret::Client, "other", &sealed).is_err(), "another client");
    assert!(sealer.open_sealed(Secret::SigningKey, "worker", &sealed).is_err(), "another kind");
    let key = sealer.seal(Secret::SigningKey, "worker", b"k", &OsRandomness).unwrap();
    assert!(sealer.open_sealed(Secret::Client, "worker", &key).is_err(), "the other way round");
    assert!(
        !format!("{:?}", house.admin.list_clients().await.unwrap())
            .contains(body["secret_sealed"].as_str().unwrap())
    );

    // Moved to another client it opens nothing: that client fails, as the server's fault, and nobody else.
    let good = made(MacAlgorithm::Hs256, secret.as_bytes(), &claims("1"));
    let moved =
        NewRecord { kind: Kind::Client, id: "thief".into(), expires_at: None, body: record.body.clone() };
    assert!(matches!(house.store.insert(moved, now).await.unwrap(), sealstone_auth::store::Write::Done(_)));
    house.refresh().await;
    let posed = claims("1").with("iss", "thief").with("sub", "thief");
    let stolen = present(&house, &made(MacAlgorithm::Hs256, secret.as_bytes(), &posed)).await.unwrap_err();
    assert_eq!(stolen.code, Code::ServerError);
    assert!(present(&house, &good).await.is_ok());
}

/// A key that an older version sealed still opens: its associated data is what it was.
#[test]
fn signing_keys_that_were_sealed_before() {
    use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
    let key = LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &[7; 32]).unwrap());
    let mut sealed = b"secret".to_vec();
    let aad = Aad::from(b"sealstone signing key v1\0ES256/1".to_vec());
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key([9; 12]), aad, &mut sealed).unwrap();
    let sealed = [&[9; 12][..], &sealed].concat();
    let sealer = Sealer::from_key(&[7; 32]).unwrap();
    assert_eq!(*sealer.open_sealed(Secret::SigningKey, "ES256/1", &sealed).unwrap(), b"secret");
}

/// A client can be registered before the first start; if `seal.key` is then lost, nothing is made in its place.
#[tokio::test]
async fn a_client_before_the_first_start() {
    let directory = tempfile::tempdir().unwrap();
    let config = || crate::support::config(directory.path());
    let (_, secret) = Admin::open(&config()).unwrap().add_client(new(MacAlgorithm::Hs256)).await.unwrap();
    let seal = config().data_dir.join("seal.key");
    let kept = std::fs::read(&seal).unwrap();
    std::fs::remove_file(&seal).unwrap();
    for _ in 0..2 {
        let error = Server::bind(config(), World::default()).await.unwrap_err();
        assert!(matches!(error, Error::Sealed { .. }), "{error}");
        let again = NewClient { id: None, ..new(MacAlgorithm::Hs256) };
        assert!(matches!(Admin::open(&config()).unwrap().add_client(again).await, Err(Error::Sealed { .. })));
        assert!(!seal.exists());
    }
    // Nor is what cannot be written down; what needs no seal goes on without an audit log.
    let error = Admin::open(&config()).unwrap().add_client(NewClient::default()).await.unwrap_err();
    assert!(matches!(error, Error::Sealed { .. }), "{error}");
    let mut without = config();
    without.audit.enabled = false;
    assert!(Admin::open(&without).unwrap().add_client(NewClient::default()).await.is_ok());
    std::fs::write(&seal, kept).unwrap();
    std::fs::set_permissions(&seal, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert!(Server::bind(config(), World::default()).await.is_ok());
    assert!(secret.is_some());

    // Without a sealer of its own and without a directory there is nothing to seal with.
    let config = Config { data_dir: directory.path().join("nowhere"), ..Config::default() };
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let admin = Admin::new(&config, store.clone(), Arc::new(SystemClock), Arc::new(OsRandomness));
    assert!(admin.add_client(new(MacAlgorithm::Hs256)).await.is_err());
    let clients =
        sealstone_auth::Store::list(&*store, Kind::Client, Version::ZERO, sealstone_jose::UnixSeconds(0));
    assert!(clients.await.unwrap().is_empty(), "no client without its secret");
}
