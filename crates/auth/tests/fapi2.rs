//! The FAPI 2.0 Security Profile as a client's profile: what a registration must not contradict, and which algorithms
//! count. What the conformance suite tests is in the files `conformance_fapi*`.

use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::{
    AssertionAudience, AssertionKeys, Error, Grant, HttpsUri, NewAuthentication, NewClient, Profile,
};
use sealstone_jose::mac::MacAlgorithm;
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};

use crate::dpop::key;
use crate::front::{Front, Party, fapi2};
use crate::support::{House, Running, config};

fn signer(key: &PrivateKey) -> NewAuthentication {
    let keys = JwkSet::new([key.public().clone()]).unwrap();
    NewAuthentication::PrivateKeyJwt(AssertionKeys { audience: AssertionAudience::Issuer, keys: keys.into() })
}

/// A client as the profile wants it.
fn held(key: &PrivateKey) -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        authentication: signer(key),
        dpop_bound_access_tokens: true,
        profile: Some(Profile::Fapi2),
        ..NewClient::default()
    }
}

/// §5.3.2.1, §5.3.2.2, §5.4.1. Without the profile each of these is a client.
#[tokio::test]
async fn a_registration_that_contradicts_the_profile_is_refused() {
    let house = House::build().await;
    let own = key();
    let foreign = |algorithm| PrivateKey::generate(algorithm).unwrap();
    let wide = AssertionKeys {
        audience: AssertionAudience::IssuerOrTokenEndpoint,
        keys: JwkSet::new([own.public().clone()]).unwrap().into(),
    };
    let mut without_pkce = held(&own);
    without_pkce.code_flow.pkce_optional = true;
    let refused = [
        ("a secret", NewClient { authentication: NewAuthentication::ClientSecretBasic, ..held(&own) }),
        ("a posted secret", NewClient { authentication: NewAuthentication::ClientSecretPost, ..held(&own) }),
        (
            "a MAC",
            NewClient {
                authentication: NewAuthentication::ClientSecretJwt(
                    MacAlgorithm::Hs256,
                    AssertionAudience::Issuer,
                ),
                ..held(&own)
            },
        ),
        ("nothing", NewClient { authentication: NewAuthentication::None, grants: [].into(), ..held(&own) }),
        (
            "the token endpoint",
            NewClient { authentication: NewAuthentication::PrivateKeyJwt(wide), ..held(&own) },
        ),
        ("no binding", NewClient { dpop_bound_access_tokens: false, ..held(&own) }),
        ("no PKCE", without_pkce),
        ("ES384", NewClient { authentication: signer(&foreign(Algorithm::Es384)), ..held(&own) }),
        ("ES512", NewClient { authentication: signer(&foreign(Algorithm::Es512)), ..held(&own) }),
    ];
    for (why, new) in refused {
        let free = NewClient { profile: None, ..new.clone() };
        house.admin.add_client(free).await.unwrap_or_else(|error| panic!("{why}: {error}"));
        match house.admin.add_client(new).await {
            Err(Error::ClientInvalid { field: "profile", what, .. }) => {
                assert!(what.starts_with("fapi2 "), "{what}")
            }
            other => panic!("{why}: {other:?}"),
        }
    }
    house.admin.add_client(held(&own)).await.unwrap();
    // ML-DSA is ours, and a key of it is a choice.
    let (kept, _) = house.admin.add_client(held(&foreign(Algorithm::MlDsa65))).await.unwrap();
    assert_eq!(kept.profile, Some(Profile::Fapi2));
    let listed = house.admin.list_clients().await.unwrap();
    assert_eq!(listed.iter().filter(|(client, _)| client.profile == Some(Profile::Fapi2)).count(), 2);
}

/// §5.4.1, at run time: keys at an address, and keys of proofs, are not known when the client is registered.
#[tokio::test]
async fn proofs_in_algorithms_that_the_profile_does_not_have() {
    let front = Front::fapi().await;
    let one = &front.one;
    let ask = async |dpop: &PrivateKey| {
        let form = vec![("grant_type".to_owned(), "client_credentials".to_owned())];
        front.token_with(one, &form, Some(dpop)).await
    };
    for algorithm in Algorithm::ALL {
        let expected = if [Algorithm::Es384, Algorithm::Es512, Algorithm::Rs256].contains(&algorithm) {
            400
        } else {
            200
        };
        let answer = ask(&PrivateKey::generate(algorithm).unwrap()).await;
        assert_eq!(answer.status, expected, "{algorithm}");
        if expected == 400 {
            assert_eq!(answer.refusal().1, "invalid_dpop_proof");
        }
    }
    front.server.stop().await;
}

/// The same for assertions: the algorithm is looked at before the keys are fetched.
#[tokio::test]
async fn assertions_in_algorithms_that_the_profile_does_not_have() {
    let directory = tempfile::tempdir().unwrap();
    let server = Running::start(config(directory.path())).await;
    let address = HttpsUri::parse("https://keys.invalid/jwks").unwrap();
    let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys: address.into() };
    let new = NewClient {
        authentication: NewAuthentication::PrivateKeyJwt(keys),
        grants: [Grant::ClientCredentials].into(),
        id: Some("one".into()),
        ..held(&key())
    };
    server.enrol(new).await;
    let now = sealstone_auth::Clock::now(&sealstone_auth::clock::SystemClock).0;
    let claims =
        serde_json::json!({"iss": "one", "sub": "one", "aud": server.issuer, "exp": now + 60, "jti": "1"});
    for (algorithm, error) in
        [(Algorithm::Es384, "invalid_client"), (Algorithm::Es256, "temporarily_unavailable")]
    {
        let key = PrivateKey::generate(algorithm).unwrap();
        let header = serde_json::json!({"alg": algorithm.name(), "kid": key.kid()});
        let assertion = crate::dpop::signed(&key, &header, &claims);
        let kind = JWT_BEARER.replace(':', "%3A");
        let form = format!(
            "grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}"
        );
        let mut request = server.form("/token", &form);
        request.headers_mut().remove("authorization");
        assert_eq!(server.send(request).await.refusal().1, error, "{algorithm}");
    }
    server.stop().await;
}

/// The profile holds its own clients; others on the same server stay as they are.
#[tokio::test]
async fn one_client_is_held_and_its_neighbour_is_not() {
    let mixed = |new: NewClient| match new.id.as_deref() {
        Some("one") => fapi2(new),
        _ => {
            let mut new = new;
            new.code_flow.require_pushed_authorization_requests = false;
            new
        }
    };
    let front = Front::with(false, mixed).await;
    let plain = |party: &Party| format!("/authorize?{}", crate::front::encoded(&front.request(party)));
    let mut browser = crate::whole_flow::Browser::new(&front.server);
    front.is_page(&browser.get(&plain(&front.one)).await);
    let answer = front.visit(&mut browser, &plain(&front.two), "allow").await;
    front.grants(&front.two, &front.request(&front.two), &front.came_back(&front.two, &answer)).await;
    front.server.stop().await;
}
