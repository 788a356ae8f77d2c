//! Passkeys: an authenticator in software against the relying party. The browser's half is in `interop/browser`.

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair as _, RSA_PKCS1_SHA256, RsaKeyPair,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sealstone_auth::people::cose::{CoseKey, OFFERED};
use sealstone_auth::people::login::{Assertion, Outcome, with_passkey};
use sealstone_auth::people::passkey::{self, Bound, CHALLENGE_SECONDS, Said};
use sealstone_auth::people::{Passkey, People, RelyingParty, user};
use sealstone_auth::{Clock, Issuer, NewUser, Session};
use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds};
use serde_json::{Value, json};

use crate::support::{House, cheap_passwords};

const ORIGIN: &str = "https://auth.example.org";
const BROWSER: Bound<'_> = Bound { purpose: "login", secret: "form-cookie" };

/// The private half of a passkey, by COSE algorithm.
enum Secret {
    Ecdsa(EcdsaKeyPair),
    Jose(i64, PrivateKey),
    Rsa(RsaKeyPair),
}

impl Secret {
    fn new(algorithm: i64) -> Self {
        let jose = |name| Secret::Jose(algorithm, PrivateKey::generate(name).unwrap());
        match algorithm {
            -7 => Secret::Ecdsa(EcdsaKeyPair::generate(&ECDSA_P256_SHA256_ASN1_SIGNING).unwrap()),
            -8 => jose(Algorithm::Ed25519),
            -48 => jose(Algorithm::MlDsa44),
            -49 => jose(Algorithm::MlDsa65),
            -50 => jose(Algorithm::MlDsa87),
            -257 => Secret::Rsa(RsaKeyPair::generate(KeySize::Rsa2048).unwrap()),
            other => panic!("{other}"),
        }
    }

    fn sign(&self, message: &[u8]) -> Vec<u8> {
        match self {
            Secret::Ecdsa(key) => key.sign(&SystemRandom::new(), message).unwrap().as_ref().to_vec(),
            Secret::Jose(_, key) => key.sign(message).unwrap(),
            Secret::Rsa(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).unwrap();
                signature
            }
        }
    }

    fn cose(&self) -> Vec<u8> {
        match self {
            Secret::Ecdsa(key) => {
                let point = key.public_key().as_ref();
                [
                    map(5),
                    pair(1, &int(2)),
                    pair(3, &int(-7)),
                    pair(-1, &int(1)),
                    pair(-2, &bstr(&point[1..33])),
                    pair(-3, &bstr(&point[33..])),
                ]
                .concat()
            }
            Secret::Jose(-8, key) => {
                let x = member(key, "x");
                [map(4), pair(1, &int(1)), pair(3, &int(-8)), pair(-1, &int(6)), pair(-2, &bstr(&x))].concat()
            }
            Secret::Jose(algorithm, key) => {
                let public = member(key, "pub");
                [map(3), pair(1, &int(7)), pair(3, &int(*algorithm)), pair(-1, &bstr(&public))].concat()
            }
            Secret::Rsa(key) => {
                // RSAPublicKey, RFC 8017 A.1.1: the modulus of 256 bytes begins at 9, the exponent is the last three.
                let der = key.public_key().as_ref();
                let (n, e) = (&der[9..265], &der[der.len() - 3..]);
                [map(4), pair(1, &int(3)), pair(3, &int(-257)), pair(-1, &bstr(n)), pair(-2, &bstr(e))]
                    .concat()
            }
        }
    }
}

fn member(key: &PrivateKey, name: &str) -> Vec<u8> {
    let jwk = serde_json::to_value(key.public().to_jwk()).unwrap();
    URL_SAFE_NO_PAD.decode(jwk[name].as_str().unwrap()).unwrap()
}

/// The head of a CBOR item in its shortest form, RFC 8949 §3.
fn head(major: u8, argument: u64) -> Vec<u8> {
    match argument {
        0..24 => vec![major << 5 | argument as u8],
        24..256 => vec![major << 5 | 24, argument as u8],
        256..65536 => [&[major << 5 | 25], &(argument as u16).to_be_bytes()[..]].concat(),
        _ => [&[major << 5 | 26], &(argument as u32).to_be_bytes()[..]].concat(),
    }
}

fn map(members: u64) -> Vec<u8> {
    head(5, members)
}

fn int(number: i64) -> Vec<u8> {
    if number < 0 { head(1, (-1 - number) as u64) } else { head(0, number as u64) }
}

fn bstr(bytes: &[u8]) -> Vec<u8> {
    [head(2, bytes.len() as u64), bytes.to_vec()].concat()
}

fn pair(label: i64, value: &[u8]) -> Vec<u8> {
    [int(label), value.to_vec()].concat()
}

fn client_data(what: &str, challenge: &str) -> Value {
    json!({"type": what, "challenge": challenge, "origin": ORIGIN, "crossOrigin": false, "more": [1]})
}

const PRESENT_AND_VERIFIED: u8 = 0b101;

fn authenticator_data(rp: &str, flags: u8, count: u32, rest: &[u8]) -> Vec<u8> {
    [digest(&SHA256, rp.as_bytes()).as_ref(), &[flags], &count.to_be_bytes(), rest].concat()
}

fn attested(id: &[u8], cose: &[u8]) -> Vec<u8> {
    [&[0; 16], &(id.len() as u16).to_be_bytes()[..], id, cose].concat()
}

/// A house with a user `alice`, who has one passkey.
struct Home {
    house: House,
    people: People,
    secret: Secret,
    sub: String,
}

/// One assertion, to be spoilt.
#[derive(Clone)]
struct Sent {
    authenticator_data: Vec<u8>,
    client_data: Value,
    id: String,
    signature: Option<Vec<u8>>,
    user: String,
}

impl Home {
    async fn build(algorithm: i64, sign_count: u32) -> Self {
        let house = House::build().await;
        let mut config = sealstone_auth::Config::default();
        cheap_passwords(&mut config);
        let people = People::new(&config, &house.issuer, house.live.sealer()).unwrap();
        let new = NewUser { username: "alice".into(), ..NewUser::default() };
        let alice = house.admin.add_user(new).await.unwrap();
        let home = Self { house, people, secret: Secret::new(algorithm), sub: alice.sub };
        let (data, said) = home.registration("webauthn.create", sign_count);
        let party = home.party();
        let made = party
            .register(Said { authenticator_data: &said, client_data: data.to_string().as_bytes() }, |_| true)
            .unwrap();
        let passkey = Passkey {
            created_at: 0,
            id: made.id,
            key: made.key,
            name: "phone".into(),
            sign_count: made.sign_count,
        };
        home.set_passkeys(vec![passkey]).await;
        home
    }

    fn party(&self) -> RelyingParty {
        self.people.party.clone().unwrap()
    }

    fn registration(&self, what: &str, count: u32) -> (Value, Vec<u8>) {
        let key = attested(b"credential", &self.secret.cose());
        let data = authenticator_data("auth.example.org", PRESENT_AND_VERIFIED | 0b0100_0000, count, &key);
        (client_data(what, "anything"), data)
    }

    async fn set_passkeys(&self, passkeys: Vec<Passkey>) {
        let store = &*self.house.store;
        let (mut alice, version) = user::find(store, "alice", self.now()).await.unwrap().unwrap();
        alice.passkeys = passkeys;
        let _ = store.replace(alice.to_record().unwrap(), version, self.now()).await.unwrap();
    }

    async fn sign_count(&self) -> u32 {
        let found = user::find(&*self.house.store, "alice", self.now()).await.unwrap();
        found.unwrap().0.passkeys[0].sign_count
    }

    fn now(&self) -> UnixSeconds {
        self.house.clock.now()
    }

    fn challenge(&self, bound: Bound<'_>) -> String {
        passkey::challenge(&self.people.browsers, bound, self.now(), self.house.live.randomness()).unwrap()
    }

    fn assertion(&self, count: u32) -> Sent {
        Sent {
            authenticator_data: authenticator_data("auth.example.org", PRESENT_AND_VERIFIED, count, &[]),
            client_data: client_data("webauthn.get", &self.challenge(BROWSER)),
            id: URL_SAFE_NO_PAD.encode("credential"),
            signature: None,
            user: self.sub.clone(),
        }
    }

    async fn try_in(&self, sent: &Sent) -> Result<Session, String> {
        let data = sent.client_data.to_string();
        let signed = [&sent.authenticator_data, digest(&SHA256, data.as_bytes()).as_ref()].concat();
        let signature = sent.signature.clone().unwrap_or_else(|| self.secret.sign(&signed));
        let said = Said { authenticator_data: &sent.authenticator_data, client_data: data.as_bytes() };
        let assertion = Assertion { id: &sent.id, said, signature: &signature, user: &sent.user };
        let (store, randomness) = (&*self.house.store, self.house.live.randomness());
        match with_passkey(&self.people, assertion, BROWSER, store, self.now(), randomness).await.unwrap() {
            Outcome::In(signed_in) => Ok(signed_in.session),
            Outcome::Refused { hint } => Err(hint),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn webauthn_s7_every_algorithm_that_is_offered_signs_in() {
    for algorithm in OFFERED {
        let home = Home::build(algorithm, 0).await;
        let session = home.try_in(&home.assertion(0)).await.unwrap();
        assert_eq!(session.username, "alice");
        assert_eq!(session.amr, ["hwk", "user", "mfa"], "RFC 8176 §2");
        assert_eq!(session.acr.as_deref(), Some("phr"));
        let sent = home.assertion(0);
        let signature = Some(home.secret.sign(b"something else"));
        let refused = home.try_in(&Sent { signature, ..sent }).await.unwrap_err();
        assert_eq!(refused, "user `alice`: the signature is not the passkey's", "{algorithm}");
    }
}

/// RFC 8176 §2: a key that may be on several devices is not held by hardware.
#[tokio::test]
async fn rfc8176_s2_a_passkey_that_is_synced() {
    let home = Home::build(-7, 0).await;
    for (flags, kind) in [(0, "hwk"), (0b1000, "swk"), (0b1_1000, "swk")] {
        let data = authenticator_data("auth.example.org", PRESENT_AND_VERIFIED | flags, 0, &[]);
        let session = home.try_in(&Sent { authenticator_data: data, ..home.assertion(0) }).await.unwrap();
        assert_eq!(session.amr, [kind, "user", "mfa"]);
    }
}

#[tokio::test]
async fn webauthn_s7_2_each_step_refuses() {
    let home = Home::build(-7, 0).await;
    let good = home.assertion(0);
    let spoilt = |spoil: &dyn Fn(&mut Sent)| {
        let mut sent = good.clone();
        spoil(&mut sent);
        sent
    };
    let flags = |flags: u8| authenticator_data("auth.example.org", flags, 0, &[]);
    let elsewhere = "user `alice`: the browser was at another site";
    let unverified = "user `alice`: the authenticator did not verify the person";
    let unread = "user `alice`: the authenticator's data cannot be read";
    let stranger = "user `alice`: the challenge is not this browser's, or the page was open for too long";
    let other_browser = home.challenge(Bound { secret: "another cookie", ..BROWSER });
    let other_purpose = home.challenge(Bound { purpose: "passkeys x", ..BROWSER });
    let cases: [(Sent, &str); 19] = [
        (
            spoilt(&|sent| sent.client_data["type"] = "webauthn.create".into()),
            "user `alice`: the browser did something else",
        ),
        (spoilt(&|sent| sent.client_data["origin"] = "https://evil.example".into()), elsewhere),
        (spoilt(&|sent| sent.client_data["origin"] = "http://auth.example.org".into()), elsewhere),
        (spoilt(&|sent| sent.client_data["origin"] = "https://auth.example.org:8443".into()), elsewhere),
        (spoilt(&|sent| sent.client_data["crossOrigin"] = true.into()), elsewhere),
        (spoilt(&|sent| sent.client_data["topOrigin"] = "https://evil.example".into()), elsewhere),
        (spoilt(&|sent| sent.client_data = json!([])), "user `alice`: the browser's data cannot be read"),
        (spoilt(&|sent| sent.client_data["challenge"] = "".into()), stranger),
        (spoilt(&|sent| sent.client_data["challenge"] = "A".repeat(75).into()), stranger),
        (spoilt(&|sent| sent.client_data["challenge"] = other_browser.clone().into()), stranger),
        (spoilt(&|sent| sent.client_data["challenge"] = other_purpose.clone().into()), stranger),
        (
            spoilt(&|sent| {
                sent.authenticator_data = authenticator_data("evil.example", PRESENT_AND_VERIFIED, 0, &[])
            }),
            "user `alice`: the authenticator was asked by another site",
        ),
        (spoilt(&|sent| sent.authenticator_data = flags(0b100)), unverified),
        (spoilt(&|sent| sent.authenticator_data = flags(0b001)), unverified),
        (spoilt(&|sent| sent.authenticator_data = flags(0b1_0101)), unread),
        (spoilt(&|sent| sent.authenticator_data.truncate(36)), unread),
        (spoilt(&|sent| sent.id.push('x')), "user `alice` has no such passkey"),
        (spoilt(&|sent| sent.user.push('x')), "no user has the passkey's subject"),
        (spoilt(&|sent| sent.user.clear()), "no user has the passkey's subject"),
    ];
    for (sent, why) in cases {
        assert_eq!(home.try_in(&sent).await.unwrap_err(), why);
    }
    home.house.admin.set_disabled("alice", true).await.unwrap();
    assert_eq!(home.try_in(&good).await.unwrap_err(), "user `alice` is disabled");
    home.house.admin.set_disabled("alice", false).await.unwrap();
    home.try_in(&good).await.unwrap();
    assert_eq!(home.try_in(&good).await.unwrap_err(), "user `alice`: the challenge was used before");
    home.house.admin.remove_user("alice").await.unwrap();
    assert_eq!(home.try_in(&home.assertion(0)).await.unwrap_err(), "no user has the passkey's subject");
}

#[tokio::test]
async fn a_challenge_ends() {
    let home = Home::build(-8, 0).await;
    let (last, late) = (home.assertion(0), home.assertion(0));
    home.house.clock.advance(CHALLENGE_SECONDS - 1);
    home.try_in(&last).await.unwrap();
    home.house.clock.advance(1);
    assert!(home.try_in(&late).await.unwrap_err().ends_with("or the page was open for too long"));
    let future = home.assertion(0);
    home.house.clock.set_back(300);
    home.try_in(&future).await.unwrap();
    let future = {
        home.house.clock.advance(301);
        let sent = home.assertion(0);
        home.house.clock.set_back(301);
        sent
    };
    assert!(home.try_in(&future).await.is_err(), "from a clock that is too far ahead");
}

/// WebAuthn §6.1.1: a passkey that counts must count on. Of two at once one wins.
#[tokio::test]
async fn a_copied_passkey_is_noticed() {
    let home = Home::build(-7, 5).await;
    for count in [5, 4, 0] {
        let refused = home.try_in(&home.assertion(count)).await.unwrap_err();
        assert!(refused.ends_with("there may be a copy"), "{count}: {refused}");
    }
    home.try_in(&home.assertion(6)).await.unwrap();
    assert_eq!(home.sign_count().await, 6);
    let (one, two) = (home.assertion(7), home.assertion(7));
    let (one, two) = tokio::join!(home.try_in(&one), home.try_in(&two));
    assert_eq!([one.is_ok(), two.is_ok()].iter().filter(|won| **won).count(), 1);
    assert_eq!(home.sign_count().await, 7);
}

#[tokio::test]
async fn an_administrator_takes_passkeys_away() {
    let home = Home::build(-7, 0).await;
    let session = home.try_in(&home.assertion(0)).await;
    assert!(session.is_ok());
    home.house.admin.remove_passkeys("Alice").await.unwrap();
    assert_eq!(home.try_in(&home.assertion(0)).await.unwrap_err(), "user `alice` has no such passkey");
}

/// Many send the same assertion: the store lets one in.
#[tokio::test]
async fn an_assertion_is_used_once() {
    let home = Home::build(-7, 0).await;
    let sent = home.assertion(0);
    let (a, b, c) = tokio::join!(home.try_in(&sent), home.try_in(&sent), home.try_in(&sent));
    assert_eq!([a, b, c].iter().filter(|answer| answer.is_ok()).count(), 1);
}

#[tokio::test]
async fn webauthn_s7_1_each_step_refuses() {
    let home = Home::build(-8, 0).await;
    let party = home.party();
    let (data, said) = home.registration("webauthn.create", 0);
    let try_with = |data: &Value, said: &[u8], ours: bool| {
        let data = data.to_string();
        party.register(Said { authenticator_data: said, client_data: data.as_bytes() }, |_| ours).map(drop)
    };
    assert_eq!(try_with(&data, &said, true), Ok(()));
    assert!(try_with(&data, &said, false).is_err());
    assert!(try_with(&client_data("webauthn.get", "x"), &said, true).is_err());
    let with = |flags: u8, rest: &[u8]| authenticator_data("auth.example.org", flags, 0, rest);
    let key = attested(b"credential", &home.secret.cose());
    assert_eq!(
        try_with(&data, &with(PRESENT_AND_VERIFIED, &key), true),
        Err("the authenticator sent no key")
    );
    let full = PRESENT_AND_VERIFIED | 0b0100_0000;
    let malformed = Err("the authenticator's key cannot be read");
    for end in 0..key.len() {
        assert_eq!(try_with(&data, &with(full, &key[..end]), true), malformed, "{end}");
    }
    let more = [&key[..], &[0xa0]].concat();
    assert_eq!(try_with(&data, &with(full, &more), true), malformed);
    assert_eq!(try_with(&data, &with(full | 0b1000_0000, &more), true), Ok(()), "extensions follow");
    assert_eq!(try_with(&data, &with(full, &attested(b"", &home.secret.cose())), true), malformed);
    let long = attested(&[7; 1024], &home.secret.cose());
    assert_eq!(try_with(&data, &with(full, &long), true), malformed);
    let long = attested(&[7; 1023], &home.secret.cose());
    assert_eq!(try_with(&data, &with(full, &long), true), Ok(()));
}

#[test]
fn rfc9052_s7_a_key_is_read_strictly() {
    let ec = match Secret::new(-7) {
        Secret::Ecdsa(key) => key.public_key().as_ref().to_vec(),
        _ => unreachable!(),
    };
    let (x, y) = (bstr(&ec[1..33]), bstr(&ec[33..]));
    let parts =
        |kty: i64, alg: i64, crv: i64| [pair(1, &int(kty)), pair(3, &int(alg)), pair(-1, &int(crv))].concat();
    let good = [map(5), parts(2, -7, 1), pair(-2, &x), pair(-3, &y)].concat();
    assert!(matches!(CoseKey::parse(&good), Some((CoseKey::Es256(_), []))));
    let mut off_curve = good.clone();
    *off_curve.last_mut().unwrap() ^= 1;
    let twice = [map(6), parts(2, -7, 1), pair(-2, &x), pair(-3, &y), pair(-3, &y)].concat();
    let more = [map(6), parts(2, -7, 1), pair(-2, &x), pair(-3, &y), pair(2, &bstr(b"kid"))].concat();
    let long_head = [&[0xb8, 5], &good[1..]].concat();
    let indefinite = [&[0xbf], &good[1..], &[0xff]].concat();
    let small_rsa = [
        map(4),
        pair(1, &int(3)),
        pair(3, &int(-257)),
        pair(-1, &bstr(&[255; 128])),
        pair(-2, &bstr(&[1, 0, 1])),
    ]
    .concat();
    for (what, bad) in [
        ("a point off the curve", off_curve),
        ("a member twice", twice),
        ("a member more", more),
        ("a long head", long_head),
        ("an indefinite length", indefinite),
        ("another algorithm", [map(5), parts(2, -35, 1), pair(-2, &x), pair(-3, &y)].concat()),
        ("another curve", [map(5), parts(2, -7, 2), pair(-2, &x), pair(-3, &y)].concat()),
        ("another type", [map(5), parts(1, -7, 1), pair(-2, &x), pair(-3, &y)].concat()),
        ("a number for bytes", [map(5), parts(2, -7, 1), pair(-2, &int(1)), pair(-3, &y)].concat()),
        ("RSA of 1024 bits", small_rsa),
        ("a huge length", vec![0xa1, 0x01, 0x5a, 0xff, 0xff, 0xff, 0xff]),
        ("nothing", vec![]),
    ] {
        assert!(CoseKey::parse(&bad).is_none(), "{what}");
    }
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = CoseKey::parse(&bytes);
        let party = RelyingParty::of(&Issuer::parse(ORIGIN, false).unwrap()).unwrap();
        let _ = party.register(Said { authenticator_data: &bytes, client_data: &bytes }, |_| true);
    }
}

/// WebAuthn §5.1.3: the RP ID is a domain.
#[test]
fn an_address_is_no_relying_party() {
    let of = |issuer: &str| RelyingParty::of(&Issuer::parse(issuer, true).unwrap()).map(|party| party.id);
    assert_eq!(of("https://Auth.Example.org:8443/tenant").as_deref(), Some("auth.example.org"));
    assert_eq!(of("http://localhost:8443").as_deref(), Some("localhost"));
    for address in ["https://127.0.0.1:8443", "https://[::1]:8443"] {
        assert_eq!(of(address), None, "{address}");
    }
}
