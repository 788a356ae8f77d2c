//! What a day of traffic leaves behind: no more than a few hours of it do. And what leaves nothing behind at all.

use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use sealstone_auth::{
    AssertionAudience, AssertionKeys, Clock, CodeFlow, Consent, NewAuthentication, NewClient, NewUser,
    Password, RefreshLifetime, World,
};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};

use crate::code::{query, shop, verifier};
use crate::support::{ManualClock, Running, config};
use crate::whole_flow::Browser;

/// The store's file, as another reader of it sees it.
struct Observer(rusqlite::Connection);

impl Observer {
    fn open(data_dir: &Path) -> Self {
        Self(rusqlite::Connection::open(data_dir.join("store.sqlite")).unwrap())
    }

    fn number(&self, question: &str) -> u64 {
        self.0.query_row(question, [], |row| row.get(0)).unwrap()
    }

    fn kinds(&self) -> Vec<(String, u64)> {
        let mut asked = self.0.prepare("SELECT kind, count(*) FROM records GROUP BY kind").unwrap();
        let rows = asked.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        rows.collect::<Result<_, _>>().unwrap()
    }

    /// Waits until what has ended by `now` is gone.
    async fn swept(&self, now: u64) {
        let sweeping = async {
            while self.number(&format!("SELECT count(*) FROM records WHERE expires_at <= {now}")) > 0 {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), sweeping).await.expect("a sweep");
    }
}

struct Day {
    clock: Arc<ManualClock>,
    server: Running,
    worker: PrivateKey,
    assertions: u64,
}

impl Day {
    async fn begin(directory: &Path) -> Self {
        let clock = ManualClock::new();
        let mut config = config(directory);
        config.sessions.idle_seconds = NonZeroU64::new(3_600).unwrap();
        config.sessions.absolute_seconds = NonZeroU64::new(14_400).unwrap();
        config.tokens.max_lifetime_seconds = NonZeroU64::new(3_600).unwrap();
        let server = Running::start_in(config, World { clock: clock.clone(), ..World::default() }).await;
        let password = Some(Password::new("correct horse battery staple").unwrap());
        let ada = NewUser { password, username: "ada".into(), ..NewUser::default() };
        server.admin.add_user(ada).await.unwrap();
        let code_flow = CodeFlow {
            consent: Consent::Implied,
            refresh_lifetime_seconds: RefreshLifetime(7_200),
            ..shop().code_flow
        };
        server.enrol(NewClient { authentication: NewAuthentication::None, code_flow, ..shop() }).await;
        let worker = PrivateKey::generate(Algorithm::Es256).unwrap();
        let keys = JwkSet::new([worker.public().clone()]).unwrap().into();
        let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys };
        let authentication = NewAuthentication::PrivateKeyJwt(keys);
        let client = NewClient {
            authentication,
            algorithm: Algorithm::Es256,
            id: Some("worker".into()),
            ..NewClient::default()
        };
        server.enrol(client).await;
        Self { clock, server, worker, assertions: 0 }
    }

    async fn form(&self, path: &str, form: String) -> serde_json::Value {
        let request =
            self.server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
        let answer = self.server.send(request.body(Full::from(form)).unwrap()).await;
        assert_eq!(answer.status, 200, "{}", String::from_utf8_lossy(&answer.body));
        serde_json::from_slice(&answer.body).unwrap_or_default()
    }

    /// A sign-in, two codes, a refresh, revocations of both kinds, assertions; what is not revoked is forgotten.
    async fn traffic(&mut self) {
        let mut browser = Browser::new(&self.server);
        let path = format!("/authorize?{}", query("&scope=openid+offline_access"));
        let page = browser.get(&path).await;
        let mut back = browser.sign_in(&page).await;
        for round in 0..3 {
            let location = back.header("location").to_owned();
            let code = location.split("code=").nth(1).unwrap().split('&').next().unwrap();
            // One of them is never redeemed.
            if round < 2 {
                let form = format!("grant_type=authorization_code&client_id=shop&code={code}{}", verifier());
                let tokens = self.form("/token", form).await;
                let refresh = tokens["refresh_token"].as_str().unwrap();
                let form = format!("grant_type=refresh_token&client_id=shop&refresh_token={refresh}");
                let next = self.form("/token", form).await;
                if round == 1 {
                    let next = next["refresh_token"].as_str().unwrap();
                    self.form("/revoke", format!("client_id=shop&token={next}")).await;
                }
            }
            back = browser.get(&path).await;
        }
        for _ in 0..3 {
            self.assertions += 1;
            let now = self.clock.now().0;
            let claims = Claims::new()
                .with("iss", "worker")
                .with("sub", "worker")
                .with("aud", self.server.issuer.as_str())
                .with("exp", now + 200)
                .with("jti", self.assertions.to_string());
            let assertion = jwt::sign(&self.worker, "JWT", &claims).unwrap();
            let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
            self.form(
                "/token",
                format!(
                    "grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}"
                ),
            )
            .await;
        }
        let token = self.server.token().await;
        self.server.post("/revoke", &format!("token={token}")).await;
    }
}

#[tokio::test]
async fn a_day_of_traffic_leaves_a_bounded_store() {
    let directory = tempfile::tempdir().unwrap();
    let mut day = Day::begin(directory.path()).await;
    let observer = Observer::open(&directory.path().join("data"));
    let (mut at_first, mut pages) = (0, 0);
    for half_hour in 1..=48 {
        day.traffic().await;
        day.clock.advance(1_800);
        observer.swept(day.clock.now().0).await;
        // What a session leaves stays as long as the session can last: four hours.
        if half_hour == 12 {
            at_first = observer.number("SELECT count(*) FROM records");
            pages = observer.number("PRAGMA page_count");
        }
    }
    let kinds = observer.kinds();
    let most = observer.number("SELECT count(*) FROM records");
    assert!(at_first > 10 && most <= at_first, "{most} after {at_first}: {kinds:?}");
    assert!(observer.number("PRAGMA page_count") <= pages + 2, "the file grows");
    assert_eq!(observer.number("SELECT count(*) FROM sqlite_schema WHERE type = 'table'"), 2);

    // When nobody comes any more, nothing of it stays but clients, people and keys.
    day.clock.advance(90_000);
    observer.swept(day.clock.now().0).await;
    let left: Vec<String> = observer.kinds().into_iter().map(|(kind, _)| kind).collect();
    assert_eq!(left, ["client", "signing-key", "subject", "user"]);
    day.server.stop().await;
}

/// Tokens by client credentials, and questions about them, leave the file as it is, to the last byte.
#[tokio::test]
async fn client_credentials_and_introspection_write_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let day = Day::begin(directory.path()).await;
    let data = directory.path().join("data");
    let observer = Observer::open(&data);
    let files = || {
        ["store.sqlite", "store.sqlite-wal"].map(|name| std::fs::read(data.join(name)).unwrap_or_default())
    };
    let (version, before) = (observer.number("PRAGMA data_version"), files());
    for _ in 0..50 {
        let token = day.server.token().await;
        assert!(day.server.is_active(&token).await);
    }
    assert_eq!(observer.number("PRAGMA data_version"), version);
    assert!(files() == before, "something was written");
    let token = day.server.token().await;
    day.server.post("/revoke", &format!("token={token}")).await;
    assert_ne!(observer.number("PRAGMA data_version"), version, "a write would have been seen");
    day.server.stop().await;
}
