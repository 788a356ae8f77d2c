//! Client authentication by Kerberos tickets, without a KDC: tickets made here, field by field, so that each can be wrong.
//! RFC 4120, RFC 4121, RFC 4178. `kerberos_kdc` has a real one.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_auth::admin::NewAuthentication;
use sealstone_auth::client::metadata::{Fault, Metadata};
use sealstone_auth::kerberos::Acceptor;
use sealstone_auth::kerberos::crypto::Key;
use sealstone_auth::protocol::client_auth::{self, Means, Shown};
use sealstone_auth::protocol::{Code, OAuthError, Parameters};
use sealstone_auth::store::{Kind, Sqlite, Version};
use sealstone_auth::{Config, Error, NewClient, Principal, config};
use sealstone_jose::Algorithm;
use sealstone_pki::der::{Tag, write};

use crate::support::{House, START, names};

const SERVICE: &str = "HTTP/auth.example.org@EXAMPLE.ORG";
const FORM: &str = "grant_type=client_credentials&client_id=ci";
const KEY: [u8; 32] = [7; 32];
const SESSION: [u8; 32] = [8; 32];

fn tlv(byte: u8, parts: &[&[u8]]) -> Vec<u8> {
    write(Tag { byte, name: "anything" }, parts).to_vec()
}

fn member(number: u8, value: &[u8]) -> Vec<u8> {
    tlv(0xa0 | number, &[value])
}

fn sequence(members: &[Vec<u8>]) -> Vec<u8> {
    tlv(0x30, &[&members.concat()])
}

fn integer(value: i64) -> Vec<u8> {
    let bytes = value.to_be_bytes();
    let more =
        |at: &usize| bytes[*at] == 0 && bytes[at + 1] < 0x80 || bytes[*at] == 0xff && bytes[at + 1] >= 0x80;
    let start = (0..7).take_while(more).count();
    tlv(2, &[&bytes[start..]])
}

fn string(text: &str) -> Vec<u8> {
    tlv(0x1b, &[text.as_bytes()])
}

fn name(parts: &[&str]) -> Vec<u8> {
    let parts: Vec<Vec<u8>> = parts.iter().map(|part| string(part)).collect();
    sequence(&[member(0, &integer(1)), member(1, &sequence(&parts))])
}

/// A time near the clock's, which stands at 2027-01-15 08:00:00.
fn time(seconds: i64) -> Vec<u8> {
    let at = 8 * 3600 + seconds;
    assert!((0..86_400).contains(&at) && START == 1_800_000_000);
    tlv(0x18, &[format!("20270115{:02}{:02}{:02}Z", at / 3600, at / 60 % 60, at % 60).as_bytes()])
}

fn bits(set: &[usize]) -> Vec<u8> {
    let mut bits = [0u8; 4];
    set.iter().for_each(|bit| bits[bit / 8] |= 0x80 >> (bit % 8));
    tlv(3, &[&[0], &bits])
}

fn encrypted(key: &Key, usage: u32, etype: i64, kvno: Option<i64>, plain: &[u8]) -> Vec<u8> {
    let cipher = key.seal(usage, [5; 16], plain).unwrap();
    let version = kvno.map(|kvno| member(1, &integer(kvno))).unwrap_or_default();
    sequence(&[member(0, &integer(etype)), version, member(2, &tlv(4, &[&cipher]))])
}

/// A token with everything in it that can be wrong.
#[derive(Clone)]
struct Forged {
    authdata: Option<i64>,
    authenticator_client: &'static [&'static str],
    authenticator_key: [u8; 32],
    authenticator_realm: &'static str,
    authenticator_usage: u32,
    authorization: Option<i64>,
    checksum: Option<(i64, Vec<u8>)>,
    client: &'static [&'static str],
    ends: i64,
    flags: &'static [usize],
    inner_mechanism: &'static [u8],
    key: [u8; 32],
    kvno: Option<i64>,
    made: i64,
    mechanisms: &'static [&'static [u8]],
    options: &'static [usize],
    outer: &'static [u8],
    realm: &'static str,
    service: &'static [&'static str],
    service_realm: &'static str,
    session_etype: i64,
    starts: Option<i64>,
    ticket_etype: i64,
    token_id: [u8; 2],
    trailing: &'static [u8],
    transited: &'static [u8],
    version: i64,
}

const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];
const WINDOWS: &[u8] = &[0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 1, 2, 2];
const NTLM: &[u8] = &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 2, 2, 10];
const SPNEGO: &[u8] = &[0x2b, 6, 1, 5, 5, 2];

impl Forged {
    /// One with which nothing is wrong.
    fn good() -> Self {
        Self {
            authdata: None,
            authenticator_client: &["host", "ci.example.org"],
            authenticator_key: SESSION,
            authenticator_realm: "EXAMPLE.ORG",
            authenticator_usage: 11,
            authorization: None,
            checksum: Some((0x8003, [&[16, 0, 0, 0][..], &[0; 16], &[2, 0, 0, 0]].concat())),
            client: &["host", "ci.example.org"],
            ends: 600,
            flags: &[],
            inner_mechanism: KERBEROS,
            key: KEY,
            kvno: Some(3),
            made: 0,
            mechanisms: &[KERBEROS, NTLM],
            options: &[2],
            outer: SPNEGO,
            realm: "EXAMPLE.ORG",
            service: &["HTTP", "auth.example.org"],
            service_realm: "EXAMPLE.ORG",
            session_etype: 18,
            starts: Some(-60),
            ticket_etype: 18,
            token_id: [1, 0],
            trailing: &[],
            transited: &[],
            version: 5,
        }
    }

    fn token(&self) -> Vec<u8> {
        let data = |number: u8, kind: Option<i64>| {
            kind.map(|kind| {
                let element = sequence(&[member(0, &integer(kind)), member(1, &tlv(4, &[b"x"]))]);
                member(number, &sequence(&[element]))
            })
            .unwrap_or_default()
        };
        let session = [member(0, &integer(self.session_etype)), member(1, &tlv(4, &[&SESSION]))];
        let transited = [member(0, &integer(1)), member(1, &tlv(4, &[self.transited]))];
        let part = sequence(&[
            member(0, &bits(self.flags)),
            member(1, &sequence(&session)),
            member(2, &string(self.realm)),
            member(3, &name(self.client)),
            member(4, &sequence(&transited)),
            member(5, &time(-120)),
            self.starts.map(|starts| member(6, &time(starts))).unwrap_or_default(),
            member(7, &time(self.ends)),
            data(10, self.authorization),
        ]);
        let key = |bytes: &[u8]| Key::new(18, bytes).unwrap();
        let sealed = encrypted(&key(&self.key), 2, self.ticket_etype, self.kvno, &tlv(0x63, &[&part]));
        let ticket = sequence(&[
            member(0, &integer(5)),
            member(1, &string(self.service_realm)),
            member(2, &name(self.service)),
            member(3, &sealed),
        ]);
        let checksum = self.checksum.as_ref().map(|(kind, content)| {
            member(3, &sequence(&[member(0, &integer(*kind)), member(1, &tlv(4, &[content]))]))
        });
        let shown = sequence(&[
            member(0, &integer(5)),
            member(1, &string(self.authenticator_realm)),
            member(2, &name(self.authenticator_client)),
            checksum.unwrap_or_default(),
            member(4, &integer(123_456)),
            member(5, &time(self.made)),
            data(8, self.authdata),
        ]);
        let session = key(&self.authenticator_key);
        let shown = encrypted(&session, self.authenticator_usage, 18, None, &tlv(0x62, &[&shown]));
        let request = sequence(&[
            member(0, &integer(self.version)),
            member(1, &integer(14)),
            member(2, &bits(self.options)),
            member(3, &tlv(0x61, &[&ticket])),
            member(4, &shown),
        ]);
        let request = tlv(0x6e, &[&request]);
        let oid = tlv(6, &[self.inner_mechanism]);
        let inner = tlv(0x60, &[&oid, &self.token_id, &request]);
        let list: Vec<Vec<u8>> = self.mechanisms.iter().map(|oid| tlv(6, &[oid])).collect();
        let init = sequence(&[member(0, &sequence(&list)), member(2, &tlv(4, &[&inner]))]);
        let token = tlv(0x60, &[&tlv(6, &[self.outer]), &member(0, &init)]);
        [&token, self.trailing].concat()
    }

    fn header(&self) -> String {
        format!("Negotiate {}", STANDARD.encode(self.token()))
    }
}

/// A keytab of format 2 with one key, of type 18.
fn keytab(directory: &Path, principal: [&str; 3], kvno: u8) -> PathBuf {
    let counted = |bytes: &[u8]| [&(bytes.len() as u16).to_be_bytes(), bytes].concat();
    let [first, second, realm] = principal;
    let names = [counted(realm.as_bytes()), counted(first.as_bytes()), counted(second.as_bytes())].concat();
    let entry = [&[0, 2][..], &names, &[0, 0, 0, 1, 0, 0, 0, 0, kvno, 0, 18], &counted(&KEY)].concat();
    let path = directory.join("service.keytab");
    std::fs::write(&path, [&[5, 2][..], &(entry.len() as u32).to_be_bytes(), &entry].concat()).unwrap();
    restrict(&path, 0o600);
    path
}

fn restrict(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn kerberos(keytab: &Path, realms: &[&str]) -> config::Kerberos {
    config::Kerberos {
        keytab: Some(keytab.to_owned()),
        realms: realms.iter().map(|realm| (*realm).to_owned()).collect(),
        service: Some(SERVICE.to_owned()),
    }
}

pub fn ticketed(id: &str, principal: &str) -> NewClient {
    NewClient {
        algorithm: Algorithm::Es256,
        authentication: NewAuthentication::KerberosClientAuth(Principal::parse(principal).unwrap()),
        id: Some(id.to_owned()),
        ..NewClient::default()
    }
}

struct Realm {
    acceptor: Acceptor,
    house: House,
    _directory: tempfile::TempDir,
}

impl Realm {
    async fn build(realms: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = keytab(directory.path(), ["HTTP", "auth.example.org", "EXAMPLE.ORG"], 3);
        let acceptor = Acceptor::load(&kerberos(&path, realms)).unwrap().unwrap();
        let store = Arc::new(Sqlite::in_memory().unwrap());
        let mut house = House::with(store.clone(), &[Algorithm::Es256]).await;
        let config = Config {
            kerberos: kerberos(&path, realms),
            tokens: sealstone_auth::config::Tokens {
                algorithms: vec![Algorithm::Es256],
                ..Default::default()
            },
            ..Config::default()
        };
        let clock = house.clock.clone();
        let chance = Arc::new(sealstone_auth::clock::OsRandomness);
        house.admin = sealstone_auth::Admin::new(&config, store, clock, chance);
        Self { acceptor, house, _directory: directory }
    }

    async fn ask(&self, headers: &[&str], form: &str) -> Result<(String, Option<String>), OAuthError> {
        let snapshot = self.house.live.snapshot_owned();
        let parameters = Parameters::parse(form.as_bytes())?;
        let headers: Vec<&[u8]> = headers.iter().map(|header| header.as_bytes()).collect();
        let shown = Shown { authorization: &headers, certificate: None, parameters: &parameters };
        let means = Means { kerberos: Some(&self.acceptor), ..self.house.means(&snapshot) };
        let proof = client_auth::authenticate(shown, means).await?;
        let caller = proof.complete(&*self.house.store, self.house.clock.now()).await?;
        Ok((caller.client().id.clone(), caller.reply().map(str::to_owned)))
    }

    async fn try_one(&self, forged: &Forged) -> Result<String, OAuthError> {
        self.ask(&[&forged.header()], FORM).await.map(|(id, _)| id)
    }
}

use sealstone_auth::Clock as _;

#[tokio::test]
async fn rfc4120_s3_2_3_everything_is_checked() {
    let realm = Realm::build(&["EXAMPLE.ORG", "OTHER.ORG"]).await;
    realm.house.enrol(ticketed("ci", "host/ci.example.org@EXAMPLE.ORG")).await;
    realm.house.enrol(ticketed("abroad", "host/ci.example.org@OTHER.ORG")).await;
    let good = Forged::good();
    assert_eq!(realm.try_one(&good).await.unwrap(), "ci");
    // Each token has an authenticator of its own: that of the good one is used up.
    let mut made = 0;
    let mut next = || {
        made += 1;
        Forged { made, ..Forged::good() }
    };

    let bindings = |length: u8| Some((0x8003, [&[length, 0, 0, 0][..], &[1; 16], &[2, 0, 0, 0]].concat()));
    for accepted in [
        Forged { starts: None, ..next() },
        Forged { kvno: None, ..next() },
        Forged { options: &[], ..next() },
        Forged { made: 300, ..next() },
        Forged { made: -300, ..next() },
        Forged { ends: -299, ..next() },
        Forged { starts: Some(300), ..next() },
        Forged { mechanisms: &[WINDOWS, KERBEROS], ..next() },
        Forged { authorization: Some(1), authdata: Some(1), ..next() },
        // RFC 4121 §4.1.1.2: an acceptor that has no bindings ignores those of the initiator.
        Forged { checksum: bindings(16), ..next() },
    ] {
        let token = accepted.token();
        assert_eq!(realm.try_one(&accepted).await.unwrap(), "ci", "{token:02x?}");
    }

    let refused: Vec<(&str, Forged)> = vec![
        ("is for HTTP/other.example.org", Forged { service: &["HTTP", "other.example.org"], ..next() }),
        ("is for HTTP\\/auth.example.org", Forged { service: &["HTTP/auth.example.org"], ..next() }),
        ("is for HTTP/auth.example.org@OTHER", Forged { service_realm: "OTHER.ORG", ..next() }),
        ("no key of the keytab", Forged { key: [6; 32], ..next() }),
        ("key version 4", Forged { kvno: Some(4), ..next() }),
        ("encryption type 17", Forged { ticket_etype: 17, ..next() }),
        ("encryption type 23", Forged { ticket_etype: 23, ..next() }),
        ("session key is not one of AES", Forged { session_etype: 23, ..next() }),
        ("not sealed with the key of the ticket", Forged { authenticator_key: [6; 32], ..next() }),
        ("not sealed with the key of the ticket", Forged { authenticator_usage: 7, ..next() }),
        (
            "somebody else than the ticket",
            Forged { authenticator_client: &["host", "else.example.org"], ..next() },
        ),
        ("somebody else than the ticket", Forged { authenticator_realm: "OTHER.ORG", ..next() }),
        ("somebody else than the ticket", Forged { client: &["host/ci.example.org"], ..next() }),
        ("is over", Forged { ends: -301, ..next() }),
        ("not valid yet", Forged { starts: Some(301), ..next() }),
        ("not valid yet", Forged { flags: &[7], ..next() }),
        ("clocks are 301 seconds apart", Forged { made: 301, ..next() }),
        ("clocks are 301 seconds apart", Forged { made: -301, ..next() }),
        ("user to user", Forged { options: &[1, 2], ..next() }),
        ("restrictions", Forged { authorization: Some(4), ..next() }),
        ("restrictions", Forged { authdata: Some(4), ..next() }),
        ("not one of the GSS-API", Forged { checksum: None, ..next() }),
        ("not one of the GSS-API", Forged { checksum: Some((0x8003, vec![16, 0, 0, 0])), ..next() }),
        ("not one of the GSS-API", Forged { checksum: bindings(15), ..next() }),
        ("not one of the GSS-API", Forged { checksum: Some((7, vec![0; 24])), ..next() }),
        ("first choice", Forged { mechanisms: &[NTLM, KERBEROS], ..next() }),
        ("OBJECT IDENTIFIER", Forged { mechanisms: &[], ..next() }),
        ("mechanism of the token", Forged { inner_mechanism: WINDOWS, ..next() }),
        ("mechanism of the token", Forged { outer: KERBEROS, ..next() }),
        ("another Kerberos token", Forged { token_id: [2, 0], ..next() }),
        ("version and type", Forged { version: 4, ..next() }),
        ("", Forged { trailing: &[0], ..next() }),
        (
            "does not have the realm",
            Forged { realm: "THIRD.ORG", authenticator_realm: "THIRD.ORG", ..next() },
        ),
        ("another principal", Forged { realm: "OTHER.ORG", authenticator_realm: "OTHER.ORG", ..next() }),
        ("another principal", Forged { client: &["host"], authenticator_client: &["host"], ..next() }),
        (
            "another principal",
            Forged {
                client: &["host/ci.example.org"],
                authenticator_client: &["host/ci.example.org"],
                ..next()
            },
        ),
        (
            "another principal",
            Forged {
                client: &["HOST", "ci.example.org"],
                authenticator_client: &["HOST", "ci.example.org"],
                ..next()
            },
        ),
    ];
    for (why, forged) in &refused {
        let error = realm.try_one(forged).await.expect_err(why);
        assert_eq!((error.code, &*error.description), (Code::InvalidClient, "client authentication failed"));
        let hint = error.hint.unwrap();
        assert!(hint.contains(why), "{hint}, and not {why}");
    }
    // None of them has spent anything: the store has the marks of those that were accepted.
    let marks =
        realm.house.store.list(Kind::SingleUse, Version::ZERO, realm.house.clock.now()).await.unwrap();
    assert_eq!(marks.len(), 11);

    // RFC 4120 §2.7: the way from another realm must have been judged.
    let abroad = Forged { realm: "OTHER.ORG", authenticator_realm: "OTHER.ORG", ..next() };
    let form = "grant_type=client_credentials&client_id=abroad";
    assert_eq!(realm.ask(&[&abroad.header()], form).await.unwrap().0, "abroad");
    let unjudged = Forged { transited: b"BETWEEN.ORG", made: 201, ..abroad.clone() };
    assert!(realm.ask(&[&unjudged.header()], form).await.unwrap_err().hint.unwrap().contains("not judged"));
    let judged = Forged { transited: b"BETWEEN.ORG", flags: &[12], made: 202, ..abroad };
    assert_eq!(realm.ask(&[&judged.header()], form).await.unwrap().0, "abroad");
}

#[tokio::test]
async fn rfc4120_s3_2_3_an_authenticator_is_used_once() {
    let realm = Realm::build(&[]).await;
    realm.house.enrol(ticketed("ci", "host/ci.example.org@EXAMPLE.ORG")).await;
    let first = Forged::good();
    realm.try_one(&first).await.unwrap();
    // The same authenticator, with something else around it.
    for again in [
        first.clone(),
        Forged { mechanisms: &[WINDOWS], ..first.clone() },
        Forged { options: &[], ..first.clone() },
        Forged { ends: 700, ..first.clone() },
    ] {
        let error = realm.try_one(&again).await.unwrap_err();
        assert_eq!(&*error.description, "client authentication failed");
        assert!(error.hint.unwrap().contains("used before"));
    }
    // The mark is there for as long as the authenticator could be taken, and longer.
    realm.house.clock.advance(300);
    realm.house.store.prune(realm.house.clock.now()).await.unwrap();
    assert!(realm.try_one(&first).await.unwrap_err().hint.unwrap().contains("used before"));
    realm.house.clock.advance(1);
    assert!(realm.try_one(&first).await.unwrap_err().hint.unwrap().contains("301 seconds apart"));
}

#[tokio::test]
async fn what_stands_beside_a_token() {
    let realm = Realm::build(&[]).await;
    realm.house.enrol(ticketed("ci", "host/ci.example.org@EXAMPLE.ORG")).await;
    let basic = realm.house.client(NewClient { algorithm: Algorithm::Es256, ..NewClient::default() }).await;
    let header = Forged::good().header();
    let code = async |headers: &[&str], form: &str| {
        let error = realm.ask(headers, form).await.unwrap_err();
        (error.code, error.description.into_owned())
    };
    let two = (Code::InvalidRequest, "more than one client authentication method".to_owned());
    assert_eq!(code(&[&header], &format!("{FORM}&client_secret=x")).await, two);
    let assertion = "client_assertion=x&client_assertion_type=y";
    assert_eq!(code(&[&header], &format!("{FORM}&{assertion}")).await, two);
    let headers = (Code::InvalidRequest, "more than one Authorization header".to_owned());
    assert_eq!(code(&[&header, &basic.basic()], FORM).await, headers);
    assert_eq!(code(&[&header, &header], FORM).await, headers);

    let failed = (Code::InvalidClient, "client authentication failed".to_owned());
    // Another client's id, one that is nobody's, none; and a client of Kerberos by its id alone, or with a secret.
    assert_eq!(code(&[&header], &format!("client_id={}", basic.id)).await, failed);
    assert_eq!(code(&[&header], "client_id=nobody").await, failed);
    assert_eq!(code(&[&header], "grant_type=client_credentials").await, failed);
    assert_eq!(code(&[&format!("Basic {}", STANDARD.encode("ci:x"))], FORM).await, failed);
    assert_eq!(code(&[], FORM).await.0, Code::InvalidClient);
    for token in ["", "!", "YII=", "TlRMTVNTUAABAAAA", &STANDARD.encode([0x60; 16_385]), &"A".repeat(30_000)]
    {
        assert_eq!(code(&[&format!("Negotiate {token}")], FORM).await, failed, "{token:.20}");
    }
    // Nothing of all this has used it up. The scheme is one in any case (RFC 9110 §11.1).
    let (id, reply) = realm.ask(&[&header.replace("Negotiate ", "negOTIATE ")], FORM).await.unwrap();
    let reply = STANDARD.decode(reply.unwrap()).unwrap();
    assert_eq!((&*id, reply[0]), ("ci", 0xa1), "RFC 4178 §4.2.2");
    // Where no keytab is, Negotiate is a scheme like any other.
    let snapshot = realm.house.live.snapshot_owned();
    let parameters = Parameters::parse(FORM.as_bytes()).unwrap();
    let shown = Shown { authorization: &[header.as_bytes()], certificate: None, parameters: &parameters };
    let error = client_auth::authenticate(shown, realm.house.means(&snapshot)).await.unwrap_err();
    assert_eq!(&*error.description, "the Authorization header's scheme is not supported");
}

#[tokio::test]
async fn no_altered_byte_is_accepted_or_panics() {
    let realm = Realm::build(&[]).await;
    realm.house.enrol(ticketed("ci", "host/ci.example.org@EXAMPLE.ORG")).await;
    let token = Forged::good().token();
    let send = async |token: &[u8]| {
        let header = format!("Negotiate {}", STANDARD.encode(token));
        realm.ask(&[&header], FORM).await
    };
    for cut in 0..token.len() {
        assert!(send(&token[..cut]).await.is_err(), "{cut} bytes");
    }
    let mut taken = 0;
    for at in 0..token.len() {
        for with in [0x01, 0x80, 0xff] {
            let mut altered = token.clone();
            altered[at] ^= with;
            taken += usize::from(send(&altered).await.is_ok());
        }
    }
    // The list of mechanisms behind the first, name types and a flag or two are nobody's word, and they spend the
    // authenticator: of all alterations one is taken.
    assert_eq!(taken, 1);
    assert!(send(&token).await.is_err());
}

#[test]
fn a_keytab_that_cannot_be_used_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = keytab(directory.path(), ["HTTP", "auth.example.org", "EXAMPLE.ORG"], 3);
    let load = |path: &Path| match Acceptor::load(&kerberos(path, &[])) {
        Err(error @ Error::Config(_)) => (error.to_string(), error.hint().unwrap()),
        other => panic!("{other:?}"),
    };
    assert!(Acceptor::load(&kerberos(&path, &[])).unwrap().is_some());
    restrict(&path, 0o644);
    let (what, hint) = load(&path);
    assert!(
        what.contains("`kerberos.keytab`") && what.contains("service.keytab: mode 0644 lets everyone in"),
        "{what}"
    );
    assert!(hint.contains("chmod 0600"), "{hint}");
    let (what, hint) = load(&directory.path().join("missing.keytab"));
    assert!(what.contains("missing.keytab: No such file"), "{what}");
    assert!(hint.contains("must be able to read it"), "{hint}");
    std::fs::write(&path, b"not a keytab").unwrap();
    restrict(&path, 0o600);
    let (what, hint) = load(&path);
    assert!(what.contains("no keytab of format 2") && hint.contains("klist -ke"), "{what} {hint}");
    let (what, hint) = load(&keytab(directory.path(), ["HTTP", "old.example.org", "EXAMPLE.ORG"], 3));
    assert!(what.contains("no AES key of HTTP/auth.example.org@EXAMPLE.ORG"), "{what}");
    assert!(what.contains("keys of: HTTP/old.example.org@EXAMPLE.ORG"), "{what}");
    assert!(hint.contains("ktadd"), "{hint}");
}

#[test]
fn what_does_not_fit_together_in_the_configuration() {
    for (text, what) in [
        ("keytab = \"a\"", "`keytab` is set, and `service` is not"),
        ("service = \"HTTP/a@R\"", "`service` is set, and `keytab` is not"),
        ("realms = [\"R\"]", "`realms` is set, and `keytab` is not"),
        ("keytab = \"a\"\nservice = \"HTTP/a\"", "`service` is not of the form"),
        ("keytab = \"a\"\nservice = \"HTTP/*@R\"", "`service` has a wildcard"),
        ("keytab = \"a\"\nservice = \"HTTP/a@R\"\nrealms = [\"*\"]", "one of `realms` is no realm"),
        ("keytab = \"a\"\nservice = \"HTTP/a@R\"\nrealms = [\"\"]", "one of `realms` is no realm"),
        ("keytabs = \"a\"", "unknown key"),
    ] {
        let error = Config::parse(&format!("[kerberos]\n{text}\n"), None).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert!(error.hint().is_some());
    }
    Config::parse("[kerberos]\nkeytab = \"a\"\nservice = \"HTTP/a@R\"\n", None).unwrap();
}

#[tokio::test]
async fn a_client_registers_exactly_one_principal() {
    let realm = Realm::build(&["EXAMPLE.ORG", "OTHER.ORG"]).await;
    for wrong in ["", "a", "a@", "@R", "a/@R", "/a@R", "a@R@S", "a*@R", "a b@R", "a\\/b@R", "a@R/S", "é@R"] {
        assert!(Principal::parse(wrong).is_err(), "{wrong}");
    }
    assert!(Principal::parse(&format!("{}@R", "a".repeat(511))).is_err());
    for realm_name in ["THIRD.ORG", "example.org", "EXAMPLE.ORG."] {
        let error =
            realm.house.admin.add_client(ticketed("x", &format!("host/a@{realm_name}"))).await.unwrap_err();
        assert!(matches!(error, Error::ClientInvalid { field: "principal", .. }), "{error}");
        assert!(error.hint().unwrap().contains("kerberos.realms"));
    }
    // Without a keytab there is no such method.
    let other = House::with(Arc::new(Sqlite::in_memory().unwrap()), &[Algorithm::Es256]).await;
    let error = other.admin.add_client(ticketed("x", "host/a@EXAMPLE.ORG")).await.unwrap_err();
    assert!(error.to_string().contains("kerberos_client_auth is not possible here"), "{error}");
    assert!(error.hint().unwrap().contains("kerberos.keytab"));

    realm.house.enrol(ticketed("ci", "host/ci.example.org@OTHER.ORG")).await;
    let listed = realm.house.admin.list_clients().await.unwrap();
    let metadata = listed[0].0.for_administrators();
    assert_eq!(metadata["kerberos_principal"], "host/ci.example.org@OTHER.ORG");
    assert_eq!(metadata["token_endpoint_auth_method"], "kerberos_client_auth");
    // What was told can be sent back.
    let again = Metadata::parse(serde_json::to_string(&metadata).unwrap().as_bytes()).unwrap();
    assert!(matches!(again.authentication().unwrap(), NewAuthentication::KerberosClientAuth(_)));
    for json in [
        r#"{"token_endpoint_auth_method":"kerberos_client_auth"}"#,
        r#"{"token_endpoint_auth_method":"kerberos_client_auth","kerberos_principal":"host/*@R"}"#,
    ] {
        let fault = Metadata::parse(json.as_bytes()).unwrap().authentication().unwrap_err();
        assert!(matches!(fault, Fault::Metadata(what) if what.starts_with("kerberos_principal")));
    }
    assert_eq!(names(&["ci"]).len(), listed.len());
}
