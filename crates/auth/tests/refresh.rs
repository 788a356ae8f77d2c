//! Refresh tokens: rotation, its grace, and what a second use means. RFC 6749 §6, RFC 9700 §4.14.

use std::sync::Arc;

use sealstone_auth::people::{User, user};
use sealstone_auth::protocol::OAuthError;
use sealstone_auth::protocol::token::TokenResponse;
use sealstone_auth::protocol::token_refresh::GRACE_SECONDS;
use sealstone_auth::store::Sqlite;
use sealstone_auth::{NewAuthentication, NewClient};
use sealstone_jose::Algorithm;

use crate::code::{ada, query, shop, verifier};
use crate::support::{Credentials, House};

impl House {
    /// A client for which Ada has signed in, and what it got.
    async fn granted(&self, new: NewClient) -> (Credentials, TokenResponse) {
        let (now, known) = (self.clock_now(), ada());
        let _ = user::insert(&*self.store, &known, now).await.unwrap();
        let who = self.client(new).await;
        let code = self.code(&query("&scope=openid+offline_access+orders%3Aread")).await;
        let tokens = self.exchange(&who, &code, &format!("{}{}", verifier(), as_public(&who))).await.unwrap();
        (who, tokens)
    }

    async fn exchange_refresh(
        &self,
        who: &Credentials,
        token: &str,
        more: &str,
    ) -> Result<TokenResponse, OAuthError> {
        let form = format!("grant_type=refresh_token&refresh_token={token}{more}{}", as_public(who));
        self.ask_waiting(who, &form).await
    }

    async fn is_active(&self, access_token: &str) -> bool {
        self.refresh().await;
        self.check(access_token).is_some_and(|token| token.is_active(&self.live.snapshot()))
    }
}

fn as_public(who: &Credentials) -> &'static str {
    if who.secret.is_empty() { "&client_id=shop" } else { "" }
}

fn refused(result: Result<TokenResponse, OAuthError>) -> &'static str {
    result.unwrap_err().code.name()
}

fn public() -> NewClient {
    NewClient { authentication: NewAuthentication::None, ..shop() }
}

fn refresh_token(tokens: &TokenResponse) -> String {
    tokens.refresh_token.clone().unwrap()
}

#[tokio::test]
async fn a_refresh_token_becomes_an_access_token_and_its_successor() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let second = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    assert_ne!(second.refresh_token, first.refresh_token);
    assert_eq!(second.scope, first.scope);
    assert!(second.id_token.is_some());
    assert!(house.is_active(&second.access_token).await);
    let third = house.exchange_refresh(&shop, &refresh_token(&second), "").await.unwrap();
    assert!(house.is_active(&third.access_token).await && house.is_active(&first.access_token).await);
}

/// thephpleague 1506, fastmcp 5037: a client whose answer was lost asks again and is not locked out. It gets the same
/// successor, so nothing branches.
#[tokio::test]
async fn a_lost_answer_is_given_again_within_the_grace() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let second = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    house.clock.advance(GRACE_SECONDS);
    let again = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    assert_eq!(again.refresh_token, second.refresh_token);
    assert!(house.exchange_refresh(&shop, &refresh_token(&again), "").await.is_ok());
}

/// RFC 9700 §4.14.2: the second use of a token, later, is a theft: nobody goes on with this family.
#[tokio::test]
async fn refresh_token_reused_after_the_grace_revokes_the_family() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let second = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    house.clock.advance(GRACE_SECONDS + 1);
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&first), "").await), "invalid_grant");
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&second), "").await), "invalid_grant");
    assert!(!house.is_active(&first.access_token).await);
    assert!(!house.is_active(&second.access_token).await);
}

/// A token two steps back is a theft at any time: its successor has been used, so its answer was not lost.
#[tokio::test]
async fn refresh_token_two_steps_back_revokes_the_family_at_once() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let second = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    let third = house.exchange_refresh(&shop, &refresh_token(&second), "").await.unwrap();
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&first), "").await), "invalid_grant");
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&third), "").await), "invalid_grant");
}

/// hydra 3604, keycloak 46054: many requests with one token at once. All get one and the same successor, and the family
/// has moved on once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_refreshes_have_one_successor() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(Sqlite::open(&directory.path().join("store.sqlite")).unwrap());
    let house = Arc::new(House::with(store, &[Algorithm::Es256]).await);
    let (shop, first) = house.granted(public()).await;
    let token = refresh_token(&first);
    let mut racers = tokio::task::JoinSet::new();
    for _ in 0..500 {
        let (house, shop, token) = (Arc::clone(&house), shop.clone(), token.clone());
        racers.spawn(async move {
            house.exchange_refresh(&shop, &token, "").await.unwrap().refresh_token.unwrap()
        });
    }
    let mut successors = racers.join_all().await;
    successors.sort();
    successors.dedup();
    assert_eq!(successors.len(), 1);
    assert!(house.exchange_refresh(&shop, &successors[0], "").await.is_ok());
}

/// keycloak 51312: a refresh and a revocation at the same time. Whatever the order, nothing is active afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revocation_races_with_refresh_and_wins() {
    for _ in 0..50 {
        let house = Arc::new(House::build().await);
        let (shop, first) = house.granted(public()).await;
        let token = refresh_token(&first);
        let refreshing = {
            let (house, shop, token) = (Arc::clone(&house), shop.clone(), token.clone());
            tokio::spawn(async move { house.exchange_refresh(&shop, &token, "").await })
        };
        house.revoke(&shop, &format!("token={token}&client_id=shop")).await.unwrap().unwrap();
        if let Ok(tokens) = refreshing.await.unwrap() {
            assert!(!house.is_active(&tokens.access_token).await);
            let successor = refresh_token(&tokens);
            assert_eq!(refused(house.exchange_refresh(&shop, &successor, "").await), "invalid_grant");
        }
        assert!(!house.is_active(&first.access_token).await);
    }
}

#[tokio::test]
async fn scopes_and_resources_can_only_shrink() {
    let house = House::build().await;
    let (shop, first) = house.granted(shop()).await;
    let token = refresh_token(&first);
    let less = house.exchange_refresh(&shop, &token, "&scope=orders%3Aread").await.unwrap();
    assert_eq!(less.scope.as_deref(), Some("orders:read"));
    assert!(less.id_token.is_none());
    let token = refresh_token(&less);
    let more = house.exchange_refresh(&shop, &token, "&scope=email").await;
    assert_eq!(refused(more), "invalid_scope");
    let other = house.exchange_refresh(&shop, &token, "&resource=https%3A%2F%2Fother.example").await;
    assert_eq!(refused(other), "invalid_target");
}

/// RFC 6749 §10.4: a token is its client's, and another one cannot spoil it either.
#[tokio::test]
async fn refresh_token_of_another_client_is_refused() {
    let house = House::build().await;
    let (shop, first) = house.granted(shop()).await;
    let other = house.client(NewClient { id: Some("other".into()), ..self::shop() }).await;
    let token = refresh_token(&first);
    assert_eq!(refused(house.exchange_refresh(&other, &token, "").await), "invalid_grant");
    let revoked = house.revoke(&other, &format!("token={token}")).await;
    assert_eq!(revoked.unwrap_err().code.name(), "invalid_grant");
    assert_eq!(house.introspect_waiting(&other, &token).await["active"], false);
    assert_eq!(house.introspect_waiting(&shop, &token).await["active"], true);
    assert!(house.exchange_refresh(&shop, &token, "").await.is_ok());
}

#[tokio::test]
async fn made_up_refresh_tokens_are_refused_without_a_read() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let token = refresh_token(&first);
    let parts: Vec<&str> = token.split('~').collect();
    for made_up in [
        format!("srt1~{}~2~{}", parts[1], parts[3]),
        format!("srt1~{}~01~{}", parts[1], parts[3]),
        format!("srt1~{}~1~", parts[1]),
        format!("srt1~~1~{}", parts[3]),
        token.replace("srt1", "srt2"),
        format!("{token}A"),
        "srt1~~~".into(),
        "srt1".into(),
    ] {
        assert_eq!(refused(house.exchange_refresh(&shop, &made_up, "").await), "invalid_grant", "{made_up}");
    }
    assert!(house.exchange_refresh(&shop, &token, "").await.is_ok());
}

#[tokio::test]
async fn refresh_ends_with_the_person_and_with_time() {
    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let second = house.exchange_refresh(&shop, &refresh_token(&first), "").await.unwrap();
    house.clock.advance(30 * 86_400);
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&second), "").await), "invalid_grant");

    let house = House::build().await;
    let (shop, first) = house.granted(public()).await;
    let (known, version) = user::find(&*house.store, "ada", house.clock_now()).await.unwrap().unwrap();
    let disabled = User { disabled: true, ..known };
    let _ = house.store.replace(disabled.to_record().unwrap(), version, house.clock_now()).await.unwrap();
    assert_eq!(refused(house.exchange_refresh(&shop, &refresh_token(&first), "").await), "invalid_grant");
}

/// RFC 7009 §2.1: revoking the refresh token revokes what came from it.
#[tokio::test]
async fn revoking_a_refresh_token_revokes_its_access_tokens() {
    let house = House::build().await;
    let (shop, first) = house.granted(shop()).await;
    let token = refresh_token(&first);
    house.revoke(&shop, &format!("token={token}&token_type_hint=refresh_token")).await.unwrap().unwrap();
    assert!(!house.is_active(&first.access_token).await);
    assert_eq!(refused(house.exchange_refresh(&shop, &token, "").await), "invalid_grant");
    assert_eq!(house.introspect_waiting(&shop, &token).await["active"], false);
    assert!(house.revoke(&shop, &format!("token={token}")).await.is_ok(), "§2.2: again is a success");
}
