//! The device authorization grant without HTTP: what a device is told, when, and how often it gets tokens. RFC 8628.

use std::collections::BTreeSet;
use std::num::NonZeroU64;
use std::sync::Arc;

use sealstone_auth::people::user;
use sealstone_auth::protocol::device::{self, UserCode};
use sealstone_auth::protocol::token::TokenResponse;
use sealstone_auth::protocol::token_device::SLOWEST_SECONDS;
use sealstone_auth::protocol::{Confirmation, OAuthError, Parameters};
use sealstone_auth::store::Sqlite;
use sealstone_auth::{Grant, NewAuthentication, NewClient, Session, config};
use sealstone_jose::Algorithm;
use sealstone_jose::jws::Unverified;
use serde_json::Value;

use crate::code::{ada, session};
use crate::support::{Credentials, House, names};

const PAGE: &str = "https://auth.example.org/device";

/// A television: it keeps no secret.
pub fn television() -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        authentication: NewAuthentication::None,
        grants: [Grant::DeviceCode, Grant::RefreshToken].into(),
        id: Some("tv".into()),
        name: "Tom & Jerry's television".into(),
        scopes: names(&["openid", "email", "offline_access", "films"]),
        ..NewClient::default()
    }
}

/// What a device got, by its names in RFC 8628 §3.2.
struct Asked {
    device_code: String,
    user_code: UserCode,
    said: Value,
}

impl House {
    async fn device(&self, who: &Credentials, more: &str) -> Result<Asked, OAuthError> {
        let snapshot = self.live.snapshot_owned();
        let parameters = Parameters::parse(format!("client_id={}{more}", who.id).as_bytes())?;
        let caller = self.caller(who, &parameters, &snapshot)?;
        let (terms, key) = (config::Device::default(), &self.live.flow_keys().user_code);
        let bearer = Confirmation::default();
        let ground = self.ground(&snapshot, &bearer);
        let told = device::authorize(&caller, &parameters, &terms, key, PAGE.into(), ground).await?;
        let said = serde_json::to_value(&told).unwrap();
        let text = |name: &str| said[name].as_str().unwrap().to_owned();
        let user_code = UserCode::parse(&text("user_code")).unwrap();
        Ok(Asked { device_code: text("device_code"), user_code, said })
    }

    async fn poll(&self, who: &Credentials, device_code: &str) -> Result<TokenResponse, OAuthError> {
        self.poll_with(who, device_code, Confirmation::default()).await
    }

    async fn poll_with(
        &self,
        who: &Credentials,
        device_code: &str,
        shown: Confirmation,
    ) -> Result<TokenResponse, OAuthError> {
        let grant = Grant::DeviceCode.name().replace(':', "%3A");
        let form = format!("grant_type={grant}&device_code={device_code}&client_id={}", who.id);
        self.wait_with(who, &form, shown).await
    }

    async fn told(&self, who: &Credentials, device_code: &str) -> &'static str {
        self.poll(who, device_code).await.map_or_else(|error| error.code.name(), |_| "tokens")
    }

    async fn answer(&self, code: &UserCode, person: &Session, allow: bool) -> bool {
        let (snapshot, key) = (self.live.snapshot_owned(), &self.live.flow_keys().user_code);
        let (store, now) = (&*self.store, self.clock_now());
        let Some(waiting) = device::find(code, key, &snapshot, store, now).await.unwrap() else {
            return false;
        };
        device::decide(waiting, person, allow, store, self.live.randomness(), now).await.unwrap()
    }
}

async fn house() -> (House, Credentials) {
    let house = House::build().await;
    let _ = user::insert(&*house.store, &ada(), house.clock_now()).await.unwrap();
    let who = house.client(television()).await;
    (house, who)
}

#[tokio::test]
async fn rfc8628_s3_2_what_a_device_is_told() {
    let (house, who) = house().await;
    let asked = house.device(&who, "&scope=openid").await.unwrap();
    let members: Vec<&str> = asked.said.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "device_code",
        "expires_in",
        "interval",
        "user_code",
        "verification_uri",
        "verification_uri_complete",
    ];
    assert_eq!(members, expected);
    assert_eq!((&asked.said["expires_in"], &asked.said["interval"]), (&600.into(), &5.into()));
    assert_eq!(asked.device_code.len(), 43, "256 bits in base64url");
    let shown = asked.said["user_code"].as_str().unwrap();
    assert_eq!(asked.said["verification_uri_complete"], format!("{PAGE}?user_code={shown}"));
    assert_eq!((shown.len(), &shown[4..5]), (9, "-"));
    assert!(!format!("{:?}", asked.user_code).contains(&shown[..4]));
}

/// §6.1: twenty consonants, all of them, in any case and with whatever a person puts between.
#[tokio::test]
async fn rfc8628_s6_1_user_codes() {
    let (house, who) = house().await;
    let (mut letters, mut codes) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..200 {
        let asked = house.device(&who, "").await.unwrap();
        let shown = asked.said["user_code"].as_str().unwrap().to_owned();
        letters.extend(shown.chars().filter(|letter| *letter != '-'));
        codes.insert(shown);
    }
    assert_eq!(letters.into_iter().collect::<String>(), "BCDFGHJKLMNPQRSTVWXZ");
    assert_eq!(codes.len(), 200);
    for typed in ["WDJB-MJHT", "wdjbmjht", " wdjb mjht ", "W.D.J.B-M_J:H/T", "WDJB\u{2013}MJHT"] {
        assert_eq!(UserCode::parse(typed).unwrap().to_string(), "WDJB-MJHT", "{typed}");
    }
    for typed in ["", "WDJB-MJH", "WDJB-MJHTB", "WDJB-MJHA", "WDJB-MJH1", "\u{428}DJB-MJHT", "--------"] {
        assert!(UserCode::parse(typed).is_none(), "{typed}");
    }
}

#[tokio::test]
async fn rfc8628_s3_5_pending_then_tokens_as_in_the_code_grant() {
    let (house, who) = house().await;
    let asked = house.device(&who, "&scope=openid+offline_access").await.unwrap();
    assert_eq!(house.told(&who, &asked.device_code).await, "authorization_pending");
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    let tokens = house.poll(&who, &asked.device_code).await.unwrap();
    assert_eq!(tokens.scope.as_deref(), Some("offline_access openid"));
    let id_token = payload(tokens.id_token.as_deref().unwrap());
    assert_eq!((&id_token["sub"], &id_token["aud"]), (&"person-1".into(), &"tv".into()));
    assert!(id_token.get("nonce").is_none());
    let refresh = tokens.refresh_token.unwrap();
    let form = format!("grant_type=refresh_token&refresh_token={refresh}&client_id=tv");
    assert!(house.ask_waiting(&who, &form).await.is_ok());
}

/// Without `offline_access` there is no refresh token, and without `openid` no ID token: OpenID Connect Core §11.
#[tokio::test]
async fn rfc8628_s3_5_no_more_than_was_asked_for() {
    let (house, who) = house().await;
    let asked = house.device(&who, "&scope=films").await.unwrap();
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    let tokens = house.poll(&who, &asked.device_code).await.unwrap();
    assert!(tokens.refresh_token.is_none() && tokens.id_token.is_none());
    assert_eq!(tokens.scope.as_deref(), Some("films"));
}

#[tokio::test]
async fn rfc8628_s3_5_slow_down_is_kept_in_the_store() {
    let (house, who) = house().await;
    let code = house.device(&who, "").await.unwrap().device_code;
    let mut said = Vec::new();
    // Asked at 0, then too soon at 4: from there on 10 seconds.
    for seconds in [0, 4, 4, 1, 1, 5, 15] {
        house.clock.advance(seconds);
        said.push(house.told(&who, &code).await);
    }
    // At 0, 4 (10 from now on), 8 (15), 9 (20), 10 (25), 15 (30) and 30: just in time.
    let expected = ["authorization_pending", "slow_down", "slow_down", "slow_down", "slow_down", "slow_down"];
    assert_eq!((&said[..6], said[6]), (&expected[..], "authorization_pending"));
    for _ in 0..20 {
        assert_eq!(house.told(&who, &code).await, "slow_down");
    }
    house.clock.advance(SLOWEST_SECONDS);
    assert_eq!(house.told(&who, &code).await, "authorization_pending", "there is a slowest pace");
}

#[tokio::test]
async fn rfc8628_s3_5_access_denied() {
    let (house, who) = house().await;
    let asked = house.device(&who, "").await.unwrap();
    let person = session().await;
    assert!(house.answer(&asked.user_code, &person, false).await);
    assert_eq!(house.told(&who, &asked.device_code).await, "access_denied");
    assert!(!house.answer(&asked.user_code, &person, true).await, "an answer is given once");
    assert_eq!(house.told(&who, &asked.device_code).await, "access_denied");
}

#[tokio::test]
async fn rfc8628_s3_5_expired_token() {
    let (house, who) = house().await;
    let (late, granted) = (house.device(&who, "").await.unwrap(), house.device(&who, "").await.unwrap());
    let person = session().await;
    assert!(house.answer(&granted.user_code, &person, true).await);
    house.clock.advance(600);
    assert_eq!(house.told(&who, &late.device_code).await, "expired_token");
    assert!(!house.answer(&late.user_code, &person, true).await);
    assert_eq!(
        house.told(&who, &granted.device_code).await,
        "expired_token",
        "granted, and not fetched in time"
    );
    house.clock.advance(600);
    assert_eq!(house.told(&who, &late.device_code).await, "invalid_grant", "nobody remembers it");
}

#[tokio::test]
async fn rfc8628_s3_4_only_for_the_client_that_asked() {
    let (house, who) = house().await;
    let other = house.client(NewClient { id: Some("radio".into()), ..television() }).await;
    let asked = house.device(&who, "").await.unwrap();
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    assert_eq!(house.told(&other, &asked.device_code).await, "invalid_grant");
    assert_eq!(house.told(&who, "never-issued").await, "invalid_grant");
    // Another client under the same id is another client.
    house.clock.advance(1);
    house.admin.remove_client("tv", None).await.unwrap();
    let again = house.client(television()).await;
    assert_eq!(house.told(&again, &asked.device_code).await, "invalid_grant");
    let without = NewClient { grants: [Grant::RefreshToken].into(), id: Some("lamp".into()), ..television() };
    let lamp = house.client(without).await;
    assert_eq!(house.device(&lamp, "").await.err().unwrap().code.name(), "unauthorized_client");
    assert_eq!(house.told(&lamp, &asked.device_code).await, "unauthorized_client");
    assert_eq!(house.device(&again, "&scope=admin").await.err().unwrap().code.name(), "invalid_scope");
}

/// A second use of a device code revokes what the first one got, as with an authorization code: RFC 6749 §4.1.2.
#[tokio::test]
async fn rfc8628_s3_5_a_device_code_is_used_once() {
    let (house, who) = house().await;
    let asked = house.device(&who, "&scope=openid+offline_access").await.unwrap();
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    let tokens = house.poll(&who, &asked.device_code).await.unwrap();
    assert_eq!(house.told(&who, &asked.device_code).await, "invalid_grant");
    house.refresh().await;
    let token = house.check(&tokens.access_token).unwrap();
    assert!(!token.is_active(&house.live.snapshot()));
    let form =
        format!("grant_type=refresh_token&refresh_token={}&client_id=tv", tokens.refresh_token.unwrap());
    assert_eq!(house.ask_waiting(&who, &form).await.err().unwrap().code.name(), "invalid_grant");
}

/// Many at once on one store in a file: one gets tokens, whoever it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rfc8628_s3_5_one_winner_of_many_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(&directory.path().join("store.sqlite")).unwrap());
    let house = Arc::new(House::with(store, &[Algorithm::Es256]).await);
    let _ = user::insert(&*house.store, &ada(), house.clock_now()).await.unwrap();
    let who = house.client(television()).await;
    let person = session().await;
    for _ in 0..20 {
        let asked = house.device(&who, "&scope=films").await.unwrap();
        assert!(house.answer(&asked.user_code, &person, true).await);
        let mut race = tokio::task::JoinSet::new();
        for _ in 0..32 {
            let (house, who, code) = (house.clone(), who.clone(), asked.device_code.clone());
            race.spawn(async move { house.told(&who, &code).await });
        }
        let all = race.join_all().await;
        let won = all.iter().filter(|said| **said == "tokens").count();
        let lost = all.iter().filter(|said| **said == "invalid_grant").count();
        assert_eq!((won, lost), (1, 31), "{all:?}");
    }
}

/// The person's answer and the device's questions meet in one record: neither is lost, and one answer counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rfc8628_s3_3_one_answer_counts_while_the_device_asks() {
    let (house, who) = house().await;
    let (house, person) = (Arc::new(house), session().await);
    for _ in 0..20 {
        let asked = house.device(&who, "").await.unwrap();
        let mut race = tokio::task::JoinSet::new();
        for n in 0..8 {
            let (house, who, person) = (house.clone(), who.clone(), person.clone());
            let (device, user) = (asked.device_code.clone(), asked.user_code.clone());
            race.spawn(async move {
                match n % 2 {
                    0 => house.answer(&user, &person, n % 4 == 0).await,
                    _ => house.told(&who, &device).await == "never",
                }
            });
        }
        let counted = race.join_all().await.into_iter().filter(|counted| *counted).count();
        assert_eq!(counted, 1);
        let said = house.told(&who, &asked.device_code).await;
        assert!(["tokens", "access_denied", "invalid_grant"].contains(&said), "{said}");
    }
}

#[tokio::test]
async fn rfc9449_s5_a_devices_tokens_are_bound_to_the_key_it_shows() {
    let (house, who) = house().await;
    let asked = house.device(&who, "&scope=openid+offline_access").await.unwrap();
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    let shown = Confirmation { jkt: Some("thumbprint".into()), x5t_s256: None };
    let tokens = house.poll_with(&who, &asked.device_code, shown.clone()).await.unwrap();
    assert_eq!(tokens.token_type, "DPoP");
    assert_eq!(payload(&tokens.access_token)["cnf"]["jkt"], "thumbprint");
    let form =
        format!("grant_type=refresh_token&refresh_token={}&client_id=tv", tokens.refresh_token.unwrap());
    let bearer = house.ask_waiting(&who, &form).await;
    assert_eq!(bearer.err().unwrap().code.name(), "invalid_grant", "a public client goes on with its key");
    assert!(house.wait_with(&who, &form, shown).await.is_ok());
}

#[tokio::test]
async fn nothing_for_somebody_who_was_disabled_meanwhile() {
    let (house, who) = house().await;
    let asked = house.device(&who, "").await.unwrap();
    assert!(house.answer(&asked.user_code, &session().await, true).await);
    house.admin.set_disabled("ada", true).await.unwrap();
    assert_eq!(house.told(&who, &asked.device_code).await, "invalid_grant");
}

#[test]
fn the_configuration_has_bounds() {
    let parsed = |text: &str| sealstone_auth::Config::parse(text, None).map(|config| config.device);
    let device = parsed("[device]\nlifetime_seconds = 300\ninterval_seconds = 2\n").unwrap();
    let seconds = |n| NonZeroU64::new(n).unwrap();
    assert_eq!((device.lifetime_seconds, device.interval_seconds), (seconds(300), seconds(2)));
    for text in ["lifetime_seconds = 3601", "interval_seconds = 61", "lifetime_seconds = 0"] {
        assert!(parsed(&format!("[device]\n{text}\n")).is_err(), "{text}");
    }
}

pub fn payload(token: &str) -> Value {
    use base64::Engine as _;
    Unverified::parse(token).unwrap();
    let part = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
}
