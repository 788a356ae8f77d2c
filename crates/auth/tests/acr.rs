//! How a person has signed in, and what a client cannot do without: OpenID Connect Core 1.0 §2, §5.5.1.1; RFC 8176.

use sealstone_auth::Session;
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::people::session::{self, Limits, Proof};
use sealstone_auth::protocol::authorize::{self, AFTER, Next, Refused};
use sealstone_auth::store::Sqlite;
use sealstone_jose::UnixSeconds;

use crate::code::{ada, query, shop};
use crate::support::{House, START};

const PASSKEY: Proof<'_> = Proof { acr: Some("phr"), amr: &["hwk", "user", "mfa"] };
const PASSWORD: Proof<'_> = Proof { acr: None, amr: &["pwd"] };

async fn signed_in(proof: Proof<'_>, ago: u64) -> Session {
    let limits = Limits { absolute_seconds: 86_400, idle_seconds: 3_600 };
    let store = Sqlite::in_memory().unwrap();
    session::start(&store, &ada(), proof, limits, UnixSeconds(START - ago), &OsRandomness).await.unwrap().0
}

fn claims(text: &str) -> String {
    let encoded = form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    query(&format!("&scope=openid&claims={encoded}"))
}

const ESSENTIAL: &str = r#"{"id_token":{"acr":{"essential":true,"values":["phr","phrh"]}}}"#;

impl House {
    /// What happens for somebody who has agreed to everything.
    fn next(&self, query: &str, session: &Session) -> String {
        let request = self.read(query).unwrap();
        match authorize::next(&request, Some(session), &[], true, &self.issuer) {
            Next::Issue => "issue".into(),
            Next::SignIn => "sign in".into(),
            Next::AskConsent => "consent".into(),
            Next::Tell(_, error) => error.code.name().into(),
        }
    }
}

#[tokio::test]
async fn oidc_core_s5_5_1_1_an_essential_acr_is_met_or_told() {
    let house = House::build().await;
    house.client(shop()).await;
    let (passkey, password) = (signed_in(PASSKEY, 100).await, signed_in(PASSWORD, 100).await);
    for text in [ESSENTIAL, r#"{"id_token":{"acr":{"essential":true,"value":"phr"}}}"#] {
        let asked = claims(text);
        assert_eq!(house.next(&asked, &passkey), "issue");
        assert_eq!(house.next(&asked, &password), "sign in");
        assert_eq!(house.next(&format!("{asked}&prompt=none"), &password), "login_required");
        assert_eq!(house.next(&format!("{asked}&prompt=none"), &passkey), "issue");
        // The page was shown, and the person took the password again: there is no second time round.
        let now = house.clock_now();
        let after = authorize::sealed_after("shop", &house.live.flow_keys().sign_in, now);
        let shown = format!("{asked}&{AFTER}={after}");
        assert_eq!(house.next(&shown, &signed_in(PASSWORD, 0).await), "unmet_authentication_requirements");
        assert_eq!(house.next(&shown, &signed_in(PASSKEY, 0).await), "issue");
        let made_up = format!("{asked}&{AFTER}={}.AAAA", now.0);
        assert_eq!(house.next(&made_up, &password), "sign in");
    }
}

/// §3.1.2.1 and §5.5.1.1: what is voluntary holds nobody up.
#[tokio::test]
async fn oidc_core_s3_1_2_1_a_voluntary_acr() {
    let house = House::build().await;
    house.client(shop()).await;
    let password = signed_in(PASSWORD, 100).await;
    for asked in [
        query("&scope=openid&acr_values=phr"),
        query("&scope=openid&acr_values=phr+urn%3Aother"),
        claims(r#"{"id_token":{"acr":{"values":["phr"]}}}"#),
        claims(r#"{"id_token":{"acr":{"essential":false,"values":["phr"]}}}"#),
        claims(r#"{"id_token":{"acr":null}}"#),
        claims(r#"{"id_token":{"acr":{"essential":true}}}"#),
        claims(r#"{"userinfo":{"name":{"essential":true},"email":null}}"#),
        claims(r#"{"id_token":{"auth_time":{"essential":true}},"other":1}"#),
        claims("{}"),
    ] {
        assert_eq!(house.next(&asked, &password), "issue", "{asked}");
    }
}

#[tokio::test]
async fn oidc_core_s5_5_what_is_no_request_of_claims() {
    let house = House::build().await;
    house.client(shop()).await;
    for text in [
        "x",
        "[]",
        "1",
        r#"{"id_token":1}"#,
        r#"{"id_token":{"acr":1}}"#,
        r#"{"id_token":{"acr":{"essential":"yes"}}}"#,
        r#"{"id_token":{"acr":{"essential":true,"values":"phr"}}}"#,
        r#"{"id_token":{"acr":{"essential":true,"value":1}}}"#,
        &format!(r#"{{"a":"{}"}}"#, "x".repeat(8 * 1024)),
        &format!("{}{}", "[".repeat(2_000), "]".repeat(2_000)),
    ] {
        let Err(Refused::Client(_, error)) = house.read(&claims(text)) else { panic!("{text}") };
        assert_eq!(error.code.name(), "invalid_request", "{text}");
    }
}

/// §2: what the session says is in the ID token and, RFC 9068 §2.2.1, in the access token.
#[tokio::test]
async fn oidc_core_s2_acr_amr_and_auth_time() {
    let house = House::build().await;
    let who = house.client(shop()).await;
    for (proof, acr) in [(PASSKEY, Some("phr")), (PASSWORD, None)] {
        let person = signed_in(proof, 7).await;
        let request = house.read(&query("&scope=openid")).unwrap();
        let (store, now) = (&*house.store, house.clock_now());
        let issued =
            authorize::issue(&request, &person, &house.issuer, store, house.live.randomness(), now).await;
        let location = issued.unwrap().location();
        let code = location.split("code=").nth(1).unwrap().split('&').next().unwrap().to_owned();
        let tokens = house.exchange(&who, &code, &crate::code::verifier()).await.unwrap();
        for token in [tokens.id_token.as_deref().unwrap(), &tokens.access_token] {
            let claims = crate::device::payload(token);
            assert_eq!(claims.get("acr").and_then(|acr| acr.as_str()), acr);
            assert_eq!((&claims["amr"], &claims["auth_time"]), (&proof.amr.into(), &(START - 7).into()));
        }
    }
}
