//! Users, passwords, sessions and the throttle, without HTTP.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::mpsc;
use std::task::{Context, Poll, Waker};

use sealstone_auth::people::login::{Attempt, Outcome, SignedIn, attempt};
use sealstone_auth::people::password::{Busy, Verdict};
use sealstone_auth::people::session::{self, Limits, Proof};
use sealstone_auth::people::throttle::{FORGET_SECONDS, Held, LONGEST_SECONDS, Subject};
use sealstone_auth::people::{Cost, PasswordHash, Passwords, People, Throttle, normalised, user};
use sealstone_auth::store::{Kind, NewRecord, Version};
use sealstone_auth::{Clock, Error, NewUser, Password, Session, User};
use sealstone_jose::UnixSeconds;

use crate::support::{House, START, cheap_passwords};

const SENTENCE: &str = "correct horse battery staple";
const LIMITS: Limits = Limits { absolute_seconds: 10_000, idle_seconds: 800 };

/// The weakest that may be configured.
const CHEAP: Cost = Cost { lanes: 1, memory_kib: 7168, passes: 5 };

/// A house with people.
struct Home {
    house: House,
    people: People,
}

impl Home {
    async fn build() -> Self {
        let house = House::build().await;
        let mut config = sealstone_auth::Config::default();
        cheap_passwords(&mut config);
        let mut people = People::new(&config, &house.issuer, house.live.sealer()).unwrap();
        people.sessions = LIMITS;
        Self { house, people }
    }

    /// With a user `alice`, whose password is [`SENTENCE`].
    async fn with_alice() -> (Self, User) {
        let home = Self::build().await;
        let alice = home.house.admin.add_user(new_user("alice")).await.unwrap();
        (home, alice)
    }

    fn now(&self) -> UnixSeconds {
        self.house.clock.now()
    }

    async fn start(&self, user: &User) -> (Session, String) {
        let proof = Proof { acr: None, amr: &["pwd"] };
        let (store, randomness) = (&*self.house.store, self.house.live.randomness());
        let (session, secret) =
            session::start(store, user, proof, LIMITS, self.now(), randomness).await.unwrap();
        (session, secret.to_string())
    }

    async fn find(&self, secret: &str) -> Option<Session> {
        session::find(&*self.house.store, secret, self.now()).await.unwrap()
    }

    async fn sign_in(&self, username: &str, password: &str) -> Outcome {
        self.sign_in_from(username, password, None, None).await
    }

    async fn sign_in_from(
        &self,
        username: &str,
        password: &str,
        address: Option<&str>,
        browser: Option<&str>,
    ) -> Outcome {
        let password = Password::typed(password);
        let address = address.map(|address| address.parse().unwrap());
        let tried = Attempt { address, browser, password: &password, username };
        let (store, randomness) = (&*self.house.store, self.house.live.randomness());
        attempt(&self.people, tried, store, self.now(), randomness).await.unwrap()
    }

    async fn signed_in(&self, username: &str, password: &str) -> SignedIn {
        match self.sign_in(username, password).await {
            Outcome::In(signed_in) => signed_in,
            other => panic!("{other:?}"),
        }
    }
}

fn new_user(username: &str) -> NewUser {
    NewUser {
        password: Some(Password::new(SENTENCE).unwrap()),
        username: username.into(),
        ..NewUser::default()
    }
}

/// Why it was refused, for the log.
fn hint(outcome: Outcome) -> String {
    match outcome {
        Outcome::Refused { hint } => hint,
        other => panic!("{other:?}"),
    }
}

fn held(outcome: Outcome) -> u64 {
    match outcome {
        Outcome::Held(Held { seconds }) => seconds,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_username_has_one_form() {
    for (typed, form) in
        [("alice", "alice"), ("Alice", "alice"), ("A.B-c_9@Example.org", "a.b-c_9@example.org")]
    {
        assert_eq!(normalised(typed).unwrap(), form);
        assert_eq!(normalised(form).unwrap(), form, "it stays what it is");
    }
    assert_eq!(normalised(&"a".repeat(64)).unwrap().len(), 64);
    let long = "a".repeat(65);
    // The Cyrillic а and the Turkish ı look like ours; the Kelvin sign becomes k in lower case.
    for refused in [
        "", " alice", "alice ", "al ice", ".alice", "@", "zoë", "аlice", "alıce", "\u{212a}", "a\0", "a/b",
        &long,
    ] {
        assert!(normalised(refused).is_err(), "{refused:?}");
    }
}

/// Hashes of the reference implementation in C, made with its Python binding.
#[test]
fn rfc9106_s3_1_the_reference_implementation_agrees() {
    let salt = "AAECAwQFBgcICQoLDA0ODw";
    for (cost, tag) in [
        (Cost::default(), "/v5sry5dAbf5um4byW3s/a9IxsG0BA48xpBfMZ9/7UE"),
        (CHEAP, "Q96kgmz18AOA9HUkJ9Zl1oCmegD+rUkhveWMn/5wSB4"),
    ] {
        let Cost { lanes, memory_kib, passes } = cost;
        let phc = format!("$argon2id$v=19$m={memory_kib},t={passes},p={lanes}${salt}${tag}");
        let known = PasswordHash::from_phc(&phc).unwrap();
        assert_eq!((known.to_phc(), known.cost()), (&*phc, cost));
        let verify = |typed: &str| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let pool = Passwords::new(cost, 1, 0);
            let password = Password::typed(typed);
            let verdict = pool.verify(&password, Some(&known), &sealstone_auth::clock::OsRandomness);
            runtime.block_on(verdict).unwrap().unwrap()
        };
        assert_eq!(verify("le mot de passé très long"), Verdict::Right(None));
        assert_eq!(verify("le mot de passe très long"), Verdict::Wrong);
    }
}

#[test]
fn a_hash_is_read_strictly() {
    let good =
        "$argon2id$v=19$m=7168,t=5,p=1$AAECAwQFBgcICQoLDA0ODw$Q96kgmz18AOA9HUkJ9Zl1oCmegD+rUkhveWMn/5wSB4";
    assert!(PasswordHash::from_phc(good).is_ok());
    for (from, to) in [
        ("argon2id", "argon2i"),
        ("v=19", "v=16"),
        ("m=7168", "m=07168"),
        ("m=7168", "m=+7168"),
        ("m=7168", "m=8"),
        ("m=7168", "m=4294967295"),
        ("t=5", "t=4"),
        ("t=5,p=1", "p=1,t=5"),
        ("p=1", "p=0"),
        ("p=1", "p=1,k=2"),
        ("ODw$", "OD$"),
        ("SB4", "SB"),
        ("SB4", "SB4="),
        ("SB4", "SB4$"),
    ] {
        assert!(PasswordHash::from_phc(&good.replace(from, to)).is_err(), "{from} -> {to}");
    }
}

#[test]
fn a_password_has_bounds() {
    let new = |text: &str| Password::new(text).map(drop);
    assert_eq!(new("1234567"), Err("is shorter than 8 characters"));
    assert_eq!(new("ééééééé"), Err("is shorter than 8 characters"), "of 14 bytes");
    assert_eq!(new("12345678"), Ok(()));
    assert_eq!(new(&"x".repeat(1024)), Ok(()));
    assert_eq!(new(&"x".repeat(1025)), Err("is longer than 1024 bytes"));
    assert_eq!(format!("{:?}", Password::typed(SENTENCE)), "Password(..)");
}

#[tokio::test]
async fn rfc8265_s4_2_composed_letters_and_spaces_of_every_kind() {
    let pool = Passwords::new(CHEAP, 1, 0);
    let randomness = sealstone_auth::clock::OsRandomness;
    let set = Password::new("caf\u{e9} au lait \u{1e69}").unwrap();
    let known = pool.hash(&set, &randomness).await.unwrap().unwrap();
    for (typed, verdict) in [
        ("cafe\u{301}\u{a0}au\u{3000}lait s\u{323}\u{307}", Verdict::Right(None)),
        ("cafe au lait \u{1e69}", Verdict::Wrong),
        // Compatibility is not equality: ﬁ is not fi.
        ("caf\u{e9} au lait s", Verdict::Wrong),
    ] {
        let password = Password::typed(typed);
        assert_eq!(pool.verify(&password, Some(&known), &randomness).await.unwrap().unwrap(), verdict);
    }
    let again = pool.hash(&set, &randomness).await.unwrap().unwrap();
    assert_ne!(again.to_phc(), known.to_phc(), "each has a salt of its own");
}

/// Counted in hashes, which are all of the cost.
#[tokio::test]
async fn an_unknown_user_costs_what_a_wrong_password_costs() {
    let (home, _) = Home::with_alice().await;
    let admin = &home.house.admin;
    admin.add_user(NewUser { password: None, ..new_user("bob") }).await.unwrap();
    admin.add_user(new_user("carol")).await.unwrap();
    admin.set_disabled("carol", true).await.unwrap();
    let long = "x".repeat(5000);
    let mut before = home.people.passwords.hashes();
    for (username, password, why) in [
        ("alice", "wrong", "user `alice` gave a wrong password"),
        ("alice", &long, "user `alice` gave a wrong password"),
        ("nobody", SENTENCE, "no user has the name that was given"),
        ("not a username!", SENTENCE, "no user has the name that was given"),
        ("bob", SENTENCE, "user `bob` has no password"),
        ("carol", SENTENCE, "user `carol` is disabled"),
        ("carol", "wrong", "user `carol` is disabled"),
    ] {
        assert_eq!(hint(home.sign_in(username, password).await), why);
        let after = home.people.passwords.hashes();
        assert_eq!(after - before, 1, "{username} {why}");
        before = after;
    }
    let signed_in = home.signed_in(" Alice ", SENTENCE).await;
    assert_eq!(signed_in.session.username, "alice", "a phone adds a space and a capital letter");
    assert_eq!(home.people.passwords.hashes() - before, 1);
}

#[tokio::test]
async fn a_hash_of_another_cost_is_renewed_at_the_next_login() {
    let (home, alice) = Home::with_alice().await;
    let old = alice.password.unwrap();
    assert_eq!(old.cost(), CHEAP);
    let today = Cost { lanes: 2, passes: 6, ..CHEAP };
    let people = People { passwords: Passwords::new(today, 1, 0), ..home.people };
    let home = Home { people, ..home };
    assert_eq!(hint(home.sign_in("alice", "wrong").await), "user `alice` gave a wrong password");
    let found = async || user::find(&*home.house.store, "alice", home.now()).await.unwrap().unwrap().0;
    assert_eq!(found().await.password.unwrap(), old, "a wrong password renews nothing");
    let first = home.signed_in("alice", SENTENCE).await;
    let renewed = found().await;
    assert_eq!(renewed.password.as_ref().unwrap().cost(), today);
    assert_eq!(home.people.passwords.hashes(), 3);
    assert!(home.find(&first.secret).await.is_some(), "it is the same password: the session goes on");
    home.signed_in("alice", SENTENCE).await;
    assert_eq!(home.people.passwords.hashes(), 4, "once is enough");
    assert_eq!(found().await, renewed);
}

/// The one thread that may be busy is held, so nothing here depends on time.
#[test]
fn the_pool_is_bounded_also_when_callers_go_away() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    let (release, gate) = mpsc::channel::<()>();
    runtime.spawn_blocking(move || gate.recv());
    runtime.block_on(async {
        let pool = Passwords::new(CHEAP, 1, 1);
        let (password, randomness) = (Password::typed(SENTENCE), sealstone_auth::clock::OsRandomness);
        let mut context = Context::from_waker(Waker::noop());
        {
            let mut first = pin!(pool.verify(&password, None, &randomness));
            assert!(first.as_mut().poll(&mut context).is_pending());
        }
        // The first caller is gone, its work is not: the second waits, and the third is turned away.
        let mut second = pin!(pool.verify(&password, None, &randomness));
        assert!(second.as_mut().poll(&mut context).is_pending());
        let mut third = pin!(pool.verify(&password, None, &randomness));
        match third.as_mut().poll(&mut context) {
            Poll::Ready(answer) => assert_eq!(answer.unwrap(), Err(Busy)),
            Poll::Pending => panic!("the line has no end"),
        }
        assert_eq!(pool.hashes(), 0);
        release.send(()).unwrap();
        assert_eq!(second.await.unwrap(), Ok(Verdict::Wrong));
        assert_eq!(pool.hashes(), 2);
        assert_eq!(pool.verify(&password, None, &randomness).await.unwrap(), Ok(Verdict::Wrong));
    });
}

#[tokio::test]
async fn users_come_and_go() {
    let (home, alice) = Home::with_alice().await;
    let admin = &home.house.admin;
    assert_eq!((alice.sub.len(), alice.created_at), (22, UnixSeconds(START)));
    assert!(matches!(admin.add_user(new_user("ALICE")).await, Err(Error::UserExists { .. })));
    for wrong in [
        NewUser { username: "no one".into(), ..NewUser::default() },
        NewUser { name: Some(String::new()), ..new_user("bob") },
        NewUser { name: Some("two\nlines".into()), ..new_user("bob") },
        NewUser { name: Some("x".repeat(257)), ..new_user("bob") },
        NewUser { email: Some("nowhere".into()), ..new_user("bob") },
        NewUser { email: Some("a b@example.org".into()), ..new_user("bob") },
    ] {
        assert!(matches!(admin.add_user(wrong.clone()).await, Err(Error::UserInvalid { .. })), "{wrong:?}");
    }
    let unknown = |answer: Result<(), Error>| assert!(matches!(answer, Err(Error::UserUnknown { .. })));
    unknown(admin.remove_user("bob").await);
    unknown(admin.set_disabled("bob", true).await.map(drop));
    unknown(admin.set_password("bob", &Password::new(SENTENCE).unwrap()).await.map(drop));
    assert_eq!(admin.list_users().await.unwrap(), std::slice::from_ref(&alice));
    admin.remove_user("Alice").await.unwrap();
    let again = admin.add_user(new_user("alice")).await.unwrap();
    assert_ne!(again.sub, alice.sub, "OpenID Connect Core 1.0 §2: a sub is never given to somebody else");
}

#[tokio::test]
async fn no_secret_is_printed_or_kept_in_the_open() {
    let (home, alice) = Home::with_alice().await;
    let signed_in = home.signed_in("alice", SENTENCE).await;
    let shown = format!("{alice:?} {signed_in:?} {:?}", home.people);
    let phc = alice.password.as_ref().unwrap().to_phc();
    // `SignedIn` holds the cookies that are to go out, so its secrets are hidden too.
    for secret in [phc, phc.rsplit('$').next().unwrap(), SENTENCE, &signed_in.secret, &signed_in.browser] {
        assert!(!shown.contains(secret), "{shown}");
    }
    let records = home.house.store.list(Kind::Session, Version::ZERO, home.now()).await.unwrap();
    assert_eq!(records.len(), 1);
    let kept = format!("{} {}", records[0].id, String::from_utf8_lossy(&records[0].body));
    assert!(!kept.contains(signed_in.secret.as_str()), "{kept}");
    assert!(home.find(&records[0].id).await.is_none(), "who reads the store has no session");
    assert!(home.find(&signed_in.session.sid).await.is_none(), "the sid is public");
}

#[tokio::test]
async fn a_record_of_a_later_version_is_refused() {
    let (home, alice) = Home::with_alice().await;
    let store = &*home.house.store;
    let (_, version) = user::find(store, "alice", home.now()).await.unwrap().unwrap();
    let record = store.read(Kind::User, "alice", home.now()).await.unwrap().unwrap();
    let body = String::from_utf8(record.body).unwrap().replacen('{', r#"{"must_change":true,"#, 1);
    let new = NewRecord { kind: Kind::User, id: alice.username, expires_at: None, body: body.into() };
    let _ = store.replace(new, version, home.now()).await.unwrap();
    let error = user::find(store, "alice", home.now()).await.unwrap_err().to_string();
    assert!(error.contains("must_change"), "{error}");
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle_and_at_its_absolute_end() {
    let (home, alice) = Home::with_alice().await;
    let (session, secret) = home.start(&alice).await;
    assert_eq!((session.auth_time, &*session.amr), (UnixSeconds(START), &["pwd".to_owned()][..]));
    assert_eq!(home.find(&secret).await.unwrap(), session);
    // 799 seconds of silence are allowed, again and again, up to the absolute end.
    for _ in 0..12 {
        home.house.clock.advance(799);
        assert_eq!(home.find(&secret).await.as_ref(), Some(&session));
    }
    home.house.clock.advance(10_000 - 12 * 799 - 1);
    assert!(home.find(&secret).await.is_some(), "one second before the end");
    home.house.clock.advance(1);
    assert!(home.find(&secret).await.is_none(), "OpenID Connect Core 1.0 §2 auth_time + the longest session");

    let (_, secret) = home.start(&alice).await;
    home.house.clock.advance(800);
    assert!(home.find(&secret).await.is_none(), "idle");
    assert!(home.find("").await.is_none());
    assert!(home.find(&secret.to_lowercase()).await.is_none());
}

#[tokio::test]
async fn most_requests_of_a_session_write_nothing() {
    let (home, alice) = Home::with_alice().await;
    let (_, secret) = home.start(&alice).await;
    let version =
        async || home.house.store.list(Kind::Session, Version::ZERO, home.now()).await.unwrap()[0].version;
    let first = version().await;
    home.house.clock.advance(100);
    home.find(&secret).await.unwrap();
    assert_eq!(version().await, first);
    home.house.clock.advance(1);
    home.find(&secret).await.unwrap();
    assert!(version().await > first, "an eighth of the idle time is over");
}

#[tokio::test]
async fn a_session_of_a_disabled_or_removed_user_does_not_hold() {
    let (home, alice) = Home::with_alice().await;
    let admin = &home.house.admin;
    let (_, secret) = home.start(&alice).await;
    admin.set_disabled("alice", true).await.unwrap();
    assert!(home.find(&secret).await.is_none());
    let alice = admin.set_disabled("alice", false).await.unwrap();
    assert!(home.find(&secret).await.is_none(), "it does not come back to life");

    let (_, secret) = home.start(&alice).await;
    let alice = admin.set_password("alice", &Password::new("another sentence").unwrap()).await.unwrap();
    assert!(home.find(&secret).await.is_none(), "whoever knew the old password is out");

    let (_, secret) = home.start(&alice).await;
    admin.remove_user("alice").await.unwrap();
    assert!(home.find(&secret).await.is_none());
    admin.add_user(new_user("alice")).await.unwrap();
    assert!(home.find(&secret).await.is_none(), "somebody else has the name now");
}

/// Requests of other tabs move the idle end on while the session is ended: it ends all the same.
#[tokio::test]
async fn an_ended_session_stays_ended() {
    let (home, alice) = Home::with_alice().await;
    let (_, other) = home.start(&alice).await;
    for _ in 0..20 {
        let (_, secret) = home.start(&alice).await;
        home.house.clock.advance(200);
        let store = &*home.house.store;
        let _ = tokio::join!(
            home.find(&secret),
            session::end(store, &secret, home.now()),
            home.find(&secret),
            home.find(&other),
        );
        assert!(home.find(&secret).await.is_none());
        session::end(store, &secret, home.now()).await.unwrap();
    }
    assert!(home.find(&other).await.is_some());
}

fn judged(throttle: &Throttle, subjects: &[Subject<'_>], now: u64) -> Result<(), u64> {
    throttle.begin(subjects, UnixSeconds(now)).map_err(|Held { seconds }| seconds)
}

#[test]
fn the_wait_doubles_up_to_a_bound_and_is_forgotten() {
    let throttle = Throttle::new(100);
    let alice = [Subject::Username("alice")];
    let mut now = 10_000;
    for _ in 0..5 {
        assert_eq!(judged(&throttle, &alice, now), Ok(()), "five mistakes are everybody's");
    }
    for wait in [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900] {
        assert_eq!(judged(&throttle, &alice, now), Err(wait));
        assert_eq!(judged(&throttle, &alice, now + wait - 1), Err(1), "asking does not prolong it");
        now += wait;
        assert_eq!(judged(&throttle, &alice, now), Ok(()));
    }
    assert_eq!(
        judged(&throttle, &alice, now - 5000),
        Err(900),
        "a clock that was set back holds nobody for longer"
    );
    assert_eq!(judged(&throttle, &[Subject::Username("bob")], now), Ok(()));
    now += FORGET_SECONDS;
    for _ in 0..5 {
        assert_eq!(judged(&throttle, &alice, now), Ok(()));
    }
    assert_eq!(judged(&throttle, &alice, now), Err(1), "and it begins anew");
}

#[test]
fn a_right_password_clears_the_name_and_not_the_address() {
    let throttle = Throttle::new(100);
    let address = Subject::Address(IpAddr::from([192, 0, 2, 1]));
    let mine = [Subject::Username("mallory"), address];
    // An account of one's own, to reset the count of guesses at others.
    for guess in 0..20 {
        let name = format!("victim-{guess}");
        assert_eq!(judged(&throttle, &[Subject::Username(&name), address], 1000), Ok(()));
        if guess < 19 {
            assert_eq!(judged(&throttle, &mine, 1000), Ok(()));
            throttle.succeeded(&mine);
        }
    }
    assert_eq!(judged(&throttle, &mine, 1000), Err(1));
    assert_eq!(judged(&throttle, &[Subject::Username("mallory")], 1000), Ok(()), "nothing against the name");
    throttle.withdraw(&[Subject::Username("mallory")]);
}

#[test]
fn what_was_not_judged_does_not_count() {
    let throttle = Throttle::new(100);
    let alice = [Subject::Username("alice")];
    for _ in 0..100 {
        assert_eq!(judged(&throttle, &alice, 1000), Ok(()));
        throttle.withdraw(&alice);
    }
}

#[test]
fn an_ipv6_subscriber_is_one_address() {
    let throttle = Throttle::new(100);
    let address = |text: &str| [Subject::Address(text.parse().unwrap())];
    for host in 0..20 {
        assert_eq!(judged(&throttle, &address(&format!("2001:db8:1:2:{host:x}::1")), 1000), Ok(()));
    }
    assert_eq!(judged(&throttle, &address("2001:db8:1:2:ffff::9"), 1000), Err(1));
    assert_eq!(judged(&throttle, &address("2001:db8:1:3::1"), 1000), Ok(()));
    for _ in 0..20 {
        assert_eq!(judged(&throttle, &address("192.0.2.1"), 1000), Ok(()));
    }
    assert_eq!(judged(&throttle, &address("::ffff:192.0.2.1"), 1000), Err(1), "the same IPv4 address");
    assert_eq!(judged(&throttle, &address("::ffff:192.0.2.2"), 1000), Ok(()), "and not all of them");
}

#[test]
fn the_table_is_bounded_and_cannot_be_washed_out() {
    let throttle = Throttle::new(50);
    let alice = [Subject::Username("alice")];
    for _ in 0..5 {
        judged(&throttle, &alice, 1000).unwrap();
    }
    for flood in 0..1000 {
        let name = format!("name-{flood}");
        assert_eq!(judged(&throttle, &[Subject::Username(&name)], 1000), Ok(()));
        assert!(throttle.len() <= 50);
    }
    assert_eq!(judged(&throttle, &alice, 1000), Err(1), "her count is still there");
    judged(&throttle, &[Subject::Username("late")], 1000 + FORGET_SECONDS).unwrap();
    assert_eq!(throttle.len(), 1, "what is forgotten goes first");
}

/// For a day somebody tries every second, from another address each time.
#[test]
fn guessing_is_slow_and_locks_nobody_out_for_ever() {
    let throttle = Throttle::new(1000);
    let mut guesses = 0;
    for second in 0..86_400 {
        let address = Subject::Address(IpAddr::from([198, 51, (second >> 8) as u8, second as u8]));
        match judged(&throttle, &[Subject::Username("alice"), address], second) {
            Ok(()) => guesses += 1,
            Err(wait) => assert!(wait <= LONGEST_SECONDS),
        }
        if second % 600 == 0 {
            let own = [Subject::Browser("number")];
            assert_eq!(
                judged(&throttle, &own, second),
                Ok(()),
                "where she has signed in before she still can"
            );
            throttle.succeeded(&own);
        }
    }
    assert!((90..=120).contains(&guesses), "{guesses}");
}

#[tokio::test]
async fn a_known_browser_is_counted_by_itself() {
    let (home, _) = Home::with_alice().await;
    home.house.admin.add_user(new_user("mallory")).await.unwrap();
    let browser = home.signed_in("alice", SENTENCE).await.browser;
    let of_mallory = home.signed_in("mallory", SENTENCE).await.browser;
    for _ in 0..5 {
        hint(home.sign_in("alice", "wrong").await);
    }
    let before = home.people.passwords.hashes();
    assert_eq!(held(home.sign_in("alice", SENTENCE).await), 1);
    // Neither the cookie of somebody else nor a made-up one helps.
    let forged = format!("{}x", &browser[..browser.len() - 1]);
    for no_help in [of_mallory.as_str(), &forged, "", ".", "number."] {
        assert_eq!(held(home.sign_in_from("alice", SENTENCE, None, Some(no_help)).await), 1, "{no_help}");
    }
    assert_eq!(home.people.passwords.hashes(), before, "who waits costs nothing");
    let inside = home.sign_in_from("alice", SENTENCE, None, Some(&browser)).await;
    assert!(matches!(inside, Outcome::In(_)));
    for _ in 0..5 {
        hint(home.sign_in_from("alice", "wrong", None, Some(&browser)).await);
    }
    assert_eq!(
        held(home.sign_in_from("alice", SENTENCE, None, Some(&browser)).await),
        1,
        "a stolen one neither"
    );
    home.house.clock.advance(1);
    let inside = home.sign_in_from("alice", SENTENCE, Some("192.0.2.1"), Some(&browser)).await;
    assert!(matches!(inside, Outcome::In(_)));
}
