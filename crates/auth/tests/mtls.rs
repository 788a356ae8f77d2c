//! Mutual TLS, RFC 8705: who may come in by a certificate, and what is bound to one.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, GeneralSubtree, KeyPair, NameConstraints, SanType,
};
use sealstone_auth::client::{CertificateName, ClientKeys};
use sealstone_auth::protocol::{Code, OAuthError};
use sealstone_auth::{NewAuthentication, NewClient};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::{Value, json};

use crate::authority::{Authority, Identity, subject, text, with_names, worker, worker_with};
use crate::support::{Credentials, House};

pub fn named(member: &str, value: &str) -> NewClient {
    let name = CertificateName::parse(member, value).unwrap();
    client(NewAuthentication::TlsClientAuth(name))
}

pub fn client(authentication: NewAuthentication) -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        authentication,
        id: Some("worker".into()),
        ..NewClient::default()
    }
}

/// A house that trusts `authority`, with one client `worker`.
async fn house(authority: &Authority, new: NewClient) -> House {
    let mut house = House::build().await;
    house.anchors = authority.anchors();
    house.enrol(new).await;
    house
}

async fn show(house: &House, identity: &Identity) -> Result<String, OAuthError> {
    house.authenticate(&[], Some(&identity.shown()), "client_id=worker").await
}

async fn refused(house: &House, identity: &Identity, why: &str) -> String {
    let error = show(house, identity).await.expect_err(why);
    assert_eq!(
        (error.code, &*error.description),
        (Code::InvalidClient, "client authentication failed"),
        "{why}"
    );
    error.hint.unwrap().into_owned()
}

#[tokio::test]
async fn rfc8705_s2_1_2_subject_dn_is_a_name_and_not_text() {
    let authority = Authority::new("root");
    let house = house(&authority, named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    assert_eq!(show(&house, &authority.certify(&worker())).await.unwrap(), "worker");
    let (o, cn, ou) = (DnType::OrganizationName, DnType::CommonName, DnType::OrganizationalUnitName);
    for (attributes, why) in [
        (&[(cn.clone(), "worker,O=Example")][..], "the comma is part of the value"),
        (&[(cn.clone(), "worker\\,O=Example")], "so is the backslash"),
        (&[(cn.clone(), "worker+O=Example")], "so is the plus"),
        (&[(o.clone(), "Example,CN=worker")], "and the other way round"),
        (&[(cn.clone(), "worker"), (o.clone(), "Example")], "another order"),
        (&[(o.clone(), "Example")], "less"),
        (&[(ou.clone(), "x"), (o.clone(), "Example"), (cn.clone(), "worker")], "more"),
        (&[(o.clone(), "Example"), (cn.clone(), "Worker")], "other letters"),
        (&[(o.clone(), "Example"), (cn.clone(), "worker ")], "a space"),
        (&[(o.clone(), "Example"), (cn.clone(), "worker\0")], "a zero byte"),
        (&[(o.clone(), "Example"), (cn.clone(), "w\u{43e}rker")], "a letter that looks alike"),
        (&[(o.clone(), "Example"), (ou.clone(), "worker")], "another attribute"),
        (&[], "no subject"),
    ] {
        let hint = refused(&house, &authority.certify(&subject(attributes)), why).await;
        assert!(hint.contains("`tls_client_auth_subject_dn`"), "{hint}");
        assert!(!hint.contains('\0'), "{hint:?}");
    }
    // The names beside the subject are not the subject.
    let beside = worker_with(|params| {
        params.distinguished_name = Default::default();
        params.subject_alt_names = vec![dns("worker")];
    });
    refused(&house, &authority.certify(&beside), "a name beside the subject").await;
}

fn dns(name: &str) -> SanType {
    SanType::DnsName(text(name))
}

#[tokio::test]
async fn rfc8705_s2_1_2_names_beside_the_subject() {
    let authority = Authority::new("root");
    let uri = |value: &str| SanType::URI(text(value));
    let email = |value: &str| SanType::Rfc822Name(text(value));
    let ip = |value: &str| SanType::IpAddress(value.parse().unwrap());
    for (member, value, good, bad) in [
        (
            "tls_client_auth_san_dns",
            "a.example.org",
            vec![dns("a.example.org"), dns("A.Example.ORG")],
            vec![
                dns("*.example.org"),
                dns("a.example.org.evil.example"),
                dns("b.a.example.org"),
                dns("example.org"),
                dns("a.example.org."),
                uri("a.example.org"),
                email("a.example.org"),
            ],
        ),
        (
            "tls_client_auth_san_uri",
            "spiffe://example.org/a",
            vec![uri("spiffe://example.org/a")],
            vec![
                uri("spiffe://example.org/A"),
                uri("spiffe://example.org/a/"),
                uri("spiffe://example.org/a%00"),
                uri("SPIFFE://example.org/a"),
                dns("spiffe://example.org/a"),
            ],
        ),
        (
            "tls_client_auth_san_ip",
            "2001:DB8::7",
            vec![ip("2001:db8:0:0:0:0:0:7")],
            vec![ip("2001:db8::8"), ip("192.0.2.7"), dns("2001:db8::7")],
        ),
        (
            "tls_client_auth_san_ip",
            "192.0.2.7",
            vec![ip("192.0.2.7")],
            vec![ip("::ffff:192.0.2.7"), ip("192.0.2.8"), dns("192.0.2.7")],
        ),
        (
            "tls_client_auth_san_email",
            "Ops@example.org",
            vec![email("Ops@example.org"), email("Ops@EXAMPLE.org")],
            vec![
                email("ops@example.org"),
                email("Ops@example.org.evil.example"),
                email("x.Ops@example.org"),
                dns("Ops@example.org"),
            ],
        ),
    ] {
        let house = house(&authority, named(member, value)).await;
        for name in good {
            let others = [dns("first.example"), name.clone(), dns("last.example")];
            assert!(show(&house, &authority.certify(&with_names(&others))).await.is_ok(), "{name:?}");
        }
        for name in bad {
            refused(
                &house,
                &authority.certify(&with_names(std::slice::from_ref(&name))),
                &format!("{name:?}"),
            )
            .await;
        }
        // The common name was a host name once.
        refused(&house, &authority.certify(&subject(&[(DnType::CommonName, value)])), "a common name").await;
    }
}

#[test]
fn rfc8705_s2_1_2_what_cannot_be_registered() {
    for (member, values) in [
        ("tls_client_auth_subject_dn", &["", "worker", "CN=a, O=b", "/O=b/CN=a", "CN=a,"][..]),
        ("tls_client_auth_san_dns", &["", "*.example.org", "a b", "ä.example"]),
        ("tls_client_auth_san_ip", &["", "192.0.2", "192.0.2.7/32", "::1%eth0", "localhost"]),
        ("tls_client_auth_san_uri", &["", "a b", "ä"]),
        ("tls_client_auth_san_email", &["", "a b@example.org"]),
        ("tls_client_auth_san_xmpp", &["a"]),
    ] {
        for value in values {
            assert!(CertificateName::parse(member, value).is_err(), "{member} {value}");
        }
    }
    for member in CertificateName::MEMBERS {
        let value = if member.ends_with("dn") { "CN=a\\,b,O=c" } else { "192.0.2.7" };
        let name = CertificateName::parse(member, value).unwrap();
        assert_eq!((name.member(), &*name.value()), (member, value));
    }
}

#[tokio::test]
async fn rfc8705_s2_1_whose_authority_when_and_what_for() {
    let authority = Authority::new("root");
    let house = house(&authority, named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    // The same name from elsewhere: a namesake of the authority, and nobody.
    refused(&house, &Authority::new("root").certify(&worker()), "another authority of that name").await;
    refused(&house, &Identity::self_signed(&worker()), "signed by itself").await;
    let mut stranger = Authority::new("other").certify(&worker());
    stranger.chain.push(authority.certificate.der().clone());
    refused(&house, &stranger, "with our root beside it").await;
    // A client is no authority.
    let client = authority.certify(&worker());
    let posed = rcgen::Issuer::new(worker(), &client.key);
    let key = KeyPair::generate().unwrap();
    let forged = worker().signed_by(&key, &posed).unwrap();
    let forged = Identity { chain: vec![forged.der().clone(), client.chain[0].clone()], key };
    refused(&house, &forged, "signed by a client").await;
    // What for: RFC 5280 §4.2.1.12.
    for (usages, good) in [
        (vec![ExtendedKeyUsagePurpose::ServerAuth], false),
        (vec![ExtendedKeyUsagePurpose::CodeSigning, ExtendedKeyUsagePurpose::EmailProtection], false),
        (vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth], true),
        (vec![], true),
    ] {
        let identity = authority.certify(&worker_with(|params| params.extended_key_usages = usages.clone()));
        assert_eq!(show(&house, &identity).await.is_ok(), good, "{usages:?}");
    }
    // When, at the time of the request and not of the machine.
    for (from, to, good) in [(2020, 2026, false), (2028, 2040, false), (2026, 2028, true)] {
        let identity = authority.certify(&worker_with(|params| {
            params.not_before = rcgen::date_time_ymd(from, 1, 1);
            params.not_after = rcgen::date_time_ymd(to, 1, 1);
        }));
        assert_eq!(show(&house, &identity).await.is_ok(), good, "{from} to {to}");
    }
    // Between: an authority below ours, and one that may only certify others.
    let below = authority.below("below", |_| {});
    assert!(show(&house, &below.certify(&worker())).await.is_ok());
    let mut short = below.certify(&worker());
    short.chain.truncate(1);
    refused(&house, &short, "the one between is missing").await;
    let bounded = authority.below("bounded", |params| {
        let permitted_subtrees = vec![GeneralSubtree::DnsName("elsewhere.example".into())];
        params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    });
    refused(&house, &bounded.certify(&with_names(&[dns("a.example.org")])), "not in its subtree").await;
    // Nobody is trusted where no authority is configured.
    let house = House { anchors: Default::default(), ..house };
    refused(&house, &authority.certify(&worker()), "no authority").await;
}

/// One connection lives long: what was verified once ends with the certificate, and with the one between.
#[tokio::test]
async fn a_certificate_that_ends_while_the_connection_lasts() {
    let authority = Authority::new("root");
    let house = house(&authority, named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let soon = |params: &mut CertificateParams| params.not_after = rcgen::date_time_ymd(2027, 2, 1);
    let mut short = worker();
    soon(&mut short);
    for identity in [authority.certify(&short), authority.below("short", soon).certify(&worker())] {
        let shown = identity.shown();
        let ask = async || house.authenticate(&[], Some(&shown), "client_id=worker").await;
        assert!(ask().await.is_ok() && ask().await.is_ok());
        house.clock.advance(30 * 86_400);
        assert_eq!(ask().await.unwrap_err().code, Code::InvalidClient, "it has ended");
        house.clock.set_back(30 * 86_400);
        assert!(ask().await.is_ok());
    }
}

#[tokio::test]
async fn rfc8705_s2_1_every_kind_of_key() {
    let authority = Authority::new("root");
    let house = house(&authority, named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    for algorithm in [
        &rcgen::PKCS_ECDSA_P256_SHA256,
        &rcgen::PKCS_ECDSA_P384_SHA384,
        &rcgen::PKCS_ECDSA_P521_SHA512,
        &rcgen::PKCS_ED25519,
        &rcgen::PKCS_RSA_SHA256,
        &rcgen::PKCS_ML_DSA_44,
        &rcgen::PKCS_ML_DSA_65,
        &rcgen::PKCS_ML_DSA_87,
    ] {
        let identity = authority.certify_with(&worker(), algorithm);
        assert!(show(&house, &identity).await.is_ok(), "{algorithm:?}");
        let keys = ClientKeys::parse(jwks(&[jwk_of(&identity)]).as_bytes()).unwrap();
        assert_eq!(keys.certificates(), 1, "{algorithm:?}");
        let registered = House::build().await;
        registered.enrol(client(NewAuthentication::SelfSignedTlsClientAuth(keys))).await;
        assert!(show(&registered, &identity).await.is_ok(), "{algorithm:?} by its key");
    }
}

pub fn jwks(keys: &[Value]) -> String {
    json!({"keys": keys}).to_string()
}

/// The key of a certificate as a JWK, by other hands than the server's.
pub fn jwk_of(identity: &Identity) -> Value {
    let raw = identity.key.public_key_raw();
    let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    match raw.len() {
        32 => json!({"kty": "OKP", "crv": "Ed25519", "x": b64(raw)}),
        65 | 97 | 133 => {
            let (x, y) = raw[1..].split_at(raw.len() / 2);
            let crv = ["P-256", "P-384", "P-521"][(raw.len() - 65) / 32];
            json!({"kty": "EC", "crv": crv, "x": b64(x), "y": b64(y)})
        }
        // SEQUENCE { INTEGER 00 n (257 bytes), INTEGER 65537 }
        270 => json!({"kty": "RSA", "n": b64(&raw[9..265]), "e": b64(&raw[267..])}),
        1312 => json!({"kty": "AKP", "alg": "ML-DSA-44", "pub": b64(raw)}),
        1952 => json!({"kty": "AKP", "alg": "ML-DSA-65", "pub": b64(raw)}),
        2592 => json!({"kty": "AKP", "alg": "ML-DSA-87", "pub": b64(raw)}),
        other => panic!("a key of {other} bytes"),
    }
}

pub fn registered(keys: &str) -> NewClient {
    client(NewAuthentication::SelfSignedTlsClientAuth(ClientKeys::parse(keys.as_bytes()).unwrap()))
}

#[tokio::test]
async fn rfc8705_s2_2_the_certificates_that_are_registered() {
    let own = Identity::self_signed(&worker());
    // The same key in another certificate, and the same names on another key.
    let renewed = Identity {
        chain: vec![worker().self_signed(&own.key).unwrap().der().clone()],
        key: KeyPair::generate().unwrap(),
    };
    let other = Identity::self_signed(&worker());
    let x5c = STANDARD.encode(&own.chain[0]);
    let x5t = URL_SAFE_NO_PAD.encode(aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, &own.chain[0]));
    let with = |members: Value| {
        let mut key = jwk_of(&own);
        key.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        key
    };
    for (key, renewable) in [
        (jwk_of(&own), true),
        (with(json!({"use": "sig", "kid": "1"})), true),
        (with(json!({"x5c": [x5c]})), false),
        (with(json!({"x5c": [x5c, "AAAA"]})), false),
        (with(json!({"x5t#S256": x5t})), false),
        (with(json!({"x5c": [x5c], "x5t#S256": x5t})), false),
        (json!({"kty": "new", "x5t#S256": x5t}), false),
    ] {
        let house = House::build().await;
        house.enrol(registered(&jwks(&[json!({"kty": "unknown"}), key.clone()]))).await;
        assert_eq!(show(&house, &own).await.unwrap(), "worker", "{key}");
        assert_eq!(show(&house, &renewed).await.is_ok(), renewable, "{key}");
        let hint = refused(&house, &other, "another key").await;
        assert!(hint.contains("x5t#S256"), "{hint}");
    }
    // Its time counts, though its signer does not.
    let ended =
        Identity::self_signed(&worker_with(|params| params.not_after = rcgen::date_time_ymd(2026, 1, 1)));
    let house = House::build().await;
    house.enrol(registered(&jwks(&[jwk_of(&ended)]))).await;
    refused(&house, &ended, "it has ended").await;
}

#[test]
fn rfc7517_s4_7_what_is_not_a_key_set() {
    let (own, other) = (Identity::self_signed(&worker()), Identity::self_signed(&worker()));
    let x5c = |identity: &Identity| STANDARD.encode(&identity.chain[0]);
    let with = |member: &str, value: Value| {
        let mut key = jwk_of(&own);
        key[member] = value;
        jwks(&[key])
    };
    for (keys, why) in [
        (with("x5c", json!([x5c(&other)])), "another key's certificate"),
        (with("x5c", json!([])), "no certificate"),
        (with("x5c", json!("x")), "not a list"),
        (with("x5c", json!(["!"])), "not base64"),
        (with("x5c", json!(["MAA="])), "not a certificate"),
        (with("x5t#S256", json!("AAAA")), "too short"),
        (with("x5t#S256", json!(1)), "not text"),
        (with("d", json!("AAAA")), "a private key"),
        (jwks(&[json!({"kty": "oct", "k": "AAAA"})]), "a secret"),
    ] {
        assert!(ClientKeys::parse(keys.as_bytes()).is_err(), "{why}");
    }
    let mut both = jwk_of(&own);
    both["x5c"] = json!([x5c(&own)]);
    both["x5t#S256"] = json!(URL_SAFE_NO_PAD.encode([7; 32]));
    assert!(ClientKeys::parse(jwks(&[both]).as_bytes()).is_err(), "two certificates");
    assert_eq!(ClientKeys::parse(with("use", json!("enc")).as_bytes()).unwrap().certificates(), 0);
}

/// RFC 7591 §2, RFC 6749 §2.3: one method, and nothing else will do.
#[tokio::test]
async fn a_certificate_and_no_other_method() {
    let authority = Authority::new("root");
    let mut house = house(&authority, named("tls_client_auth_subject_dn", "CN=worker,O=Example")).await;
    let good = authority.certify(&worker()).shown();
    let code = |answer: Result<String, OAuthError>| answer.unwrap_err().code;
    for form in ["", "client_id=nobody", "client_id=worker&client_secret=x", "client_id="] {
        assert_eq!(code(house.authenticate(&[], Some(&good), form).await), Code::InvalidClient, "{form}");
    }
    assert_eq!(code(house.authenticate(&[], None, "client_id=worker").await), Code::InvalidClient);
    let basic = Credentials { id: "worker".into(), secret: String::new() }.basic();
    assert_eq!(code(house.authenticate(&[basic.as_bytes()], Some(&good), "").await), Code::InvalidClient);

    // A certificate is no way in for a client that has another way.
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    let keys = ClientKeys::from(JwkSet::new([key.public().clone()]).unwrap());
    let audience = Default::default();
    for (id, authentication) in [
        ("basic", NewAuthentication::ClientSecretBasic),
        ("post", NewAuthentication::ClientSecretPost),
        (
            "jwt",
            NewAuthentication::PrivateKeyJwt(sealstone_auth::AssertionKeys { audience, keys: keys.clone() }),
        ),
        ("pinned", NewAuthentication::SelfSignedTlsClientAuth(keys)),
    ] {
        house.enrol(NewClient { id: Some(id.into()), ..client(authentication) }).await;
        let form = format!("client_id={id}");
        assert_eq!(code(house.authenticate(&[], Some(&good), &form).await), Code::InvalidClient, "{id}");
    }
    // A trusted authority does not vouch for what is pinned, and a pin not for what is named.
    house.anchors = Default::default();
    assert_eq!(code(house.authenticate(&[], Some(&good), "client_id=worker").await), Code::InvalidClient);
}
