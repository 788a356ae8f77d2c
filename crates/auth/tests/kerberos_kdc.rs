//! Client authentication by Kerberos tickets of a real KDC, MIT's, which each test starts for itself; tokens are made by MIT's
//! GSS-API, or by curl. RFC 4120, RFC 4178, RFC 4559. `./dev test kerberos` runs them, because they need its programs.

use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use sealstone_auth::clock::SystemClock;
use sealstone_auth::store::Sqlite;
use sealstone_auth::{Clock, Grant, NewClient, World, config};
use sealstone_jose::UnixSeconds;
use serde_json::json;

use crate::kerberos::ticketed;
use crate::support::{Answer, Running, config as plain_config, log_capture};

const SERVICE: &str = "HTTP/auth.house.test@HOUSE.TEST";
const CI: &str = "host/ci.house.test@HOUSE.TEST";
const ETYPES: [&str; 4] = [
    "aes256-cts-hmac-sha1-96",
    "aes128-cts-hmac-sha1-96",
    "aes256-cts-hmac-sha384-192",
    "aes128-cts-hmac-sha256-128",
];
const FORM: &str = "grant_type=client_credentials&client_id=ci";

/// A KDC of two realms that trust each other, and all that its programs need.
struct Kdc {
    directory: tempfile::TempDir,
    process: Child,
}

impl Kdc {
    fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().display();
        // Nobody else takes a port that was free a moment ago, as a rule; whoever does, does not speak Kerberos.
        let port = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let realm = |name: &str| format!("{name} = {{\n kdc = 127.0.0.1:{port}\n}}\n");
        let base = |name: &str| {
            let files = format!("database_name = {path}/{name}\n key_stash_file = {path}/{name}.stash");
            format!(
                "{name} = {{\n {files}\n supported_enctypes = {}\n}}\n",
                ETYPES.map(|one| format!("{one}:normal")).join(" ")
            )
        };
        let krb5 = format!(
            "[libdefaults]\ndefault_realm = HOUSE.TEST\ndns_lookup_kdc = false\ndns_lookup_realm = false\n\
             dns_canonicalize_hostname = false\nrdns = false\n#enctypes\n[realms]\n{}{}[domain_realm]\nauth.house.test = HOUSE.TEST\n",
            realm("HOUSE.TEST"),
            realm("OTHER.TEST")
        );
        let kdc = format!(
            "[kdcdefaults]\nkdc_listen = 127.0.0.1:{port}\nkdc_tcp_listen = 127.0.0.1:{port}\n[realms]\n{}{}[logging]\nkdc = FILE:{path}/kdc.log\n",
            base("HOUSE.TEST"),
            base("OTHER.TEST")
        );
        std::fs::write(directory.path().join("krb5.conf"), krb5).unwrap();
        std::fs::write(directory.path().join("kdc.conf"), kdc).unwrap();
        let command = |program: &str| command(&directory.path().join("krb5.conf"), program, directory.path());
        for realm in ["HOUSE.TEST", "OTHER.TEST"] {
            run(command("kdb5_util").args(["-r", realm, "create", "-s", "-P", "master"]));
        }
        let mut process = command("krb5kdc");
        process
            .args(["-n", "-r", "HOUSE.TEST", "-r", "OTHER.TEST"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let kdc = Self { process: process.spawn().unwrap(), directory };
        let log = kdc.path("kdc.log");
        wait(|| std::fs::read_to_string(&log).is_ok_and(|log| log.contains("commencing operation")));
        kdc.admin("HOUSE.TEST", &["addprinc", "-randkey", "HTTP/auth.house.test"]);
        kdc.admin("HOUSE.TEST", &["addprinc", "-randkey", "HTTP/other.house.test"]);
        kdc.admin("HOUSE.TEST", &["ktadd", "-k", "http.keytab", "HTTP/auth.house.test"]);
        for host in ["ci", "else"] {
            kdc.admin("HOUSE.TEST", &["addprinc", "-randkey", &format!("host/{host}.house.test")]);
            kdc.admin("HOUSE.TEST", &["ktadd", "-k", "clients.keytab", &format!("host/{host}.house.test")]);
        }
        kdc.kinit(CI, "ci");
        kdc
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, program: &str) -> Command {
        command(&self.path("krb5.conf"), program, self.directory.path())
    }

    fn admin(&self, realm: &str, query: &[&str]) {
        run(self.command("kadmin.local").args(["-r", realm]).args(query));
    }

    /// Gets a ticket, into a cache with a name.
    fn kinit(&self, principal: &str, cache: &str) {
        let cache = format!("FILE:{}", self.path(cache).display());
        run(self.command("kinit").args(["-k", "-t", "clients.keytab", "-c", &cache, principal]));
    }

    fn initiate(&self, cache: &str, service: &str, mutual: bool) -> Initiator {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/kerberos_initiate.py");
        let mut command = self.command("/usr/bin/python3");
        command.args(["-B", script, service, if mutual { "mutual" } else { "alone" }]);
        command.env("KRB5CCNAME", format!("FILE:{}", self.path(cache).display()));
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()));
        let mut initiator = Initiator { input: Some(input), output, process, token: String::new() };
        initiator.token = initiator.line();
        assert!(initiator.token.starts_with("YI"), "no token: python3-gssapi may be missing");
        initiator
    }

    /// A token of the usual client for the server.
    fn token(&self) -> String {
        self.initiate("ci", SERVICE, true).token.clone()
    }

    fn settings(&self) -> config::Kerberos {
        config::Kerberos {
            keytab: Some(self.path("http.keytab")),
            realms: Vec::new(),
            service: Some(SERVICE.to_owned()),
        }
    }

    /// A server that accepts tickets, with a client `ci`.
    async fn server(&self, kerberos: config::Kerberos, world: World) -> Running {
        let mut config = plain_config(self.directory.path());
        config.issuer = Some("https://auth.house.test".to_owned());
        config.kerberos = kerberos;
        // A clock that is put back would make failures of different times those of one minute.
        config.limits.address_failures_per_minute = 0;
        Running::start_in(config, world).await
    }
}

impl Drop for Kdc {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// MIT's side of a context: its token, and what it says of the answer.
struct Initiator {
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    process: Child,
    token: String,
}

impl Initiator {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn hears(&mut self, answer: &Answer) -> String {
        let reply = answer.header("www-authenticate").strip_prefix("Negotiate ").unwrap().to_owned();
        writeln!(self.input.as_mut().unwrap(), "{reply}").unwrap();
        self.line()
    }
}

impl Drop for Initiator {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.wait();
    }
}

fn command(krb5: &std::path::Path, program: &str, directory: &std::path::Path) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command.current_dir(directory).env("PATH", format!("{path}:/usr/sbin:/sbin"));
    command.env("KRB5_CONFIG", krb5).env("KRB5_KDC_PROFILE", directory.join("kdc.conf"));
    command.env("KRB5RCACHENAME", "none:").env_remove("KRB5_KTNAME").stdin(Stdio::null());
    command
}

fn run(command: &mut Command) -> String {
    let done = command
        .output()
        .unwrap_or_else(|cause| panic!("{command:?}: {cause}: `./dev test kerberos` installs it"));
    assert!(done.status.success(), "{command:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

fn wait(mut until: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !until() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not come");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The machine's clock, put forward or back.
#[derive(Default)]
struct Shifted(AtomicI64);

impl Clock for Shifted {
    fn now(&self) -> UnixSeconds {
        UnixSeconds(SystemClock.now().0.saturating_add_signed(self.0.load(Ordering::SeqCst)))
    }
}

fn request(server: &Running, path: &str, headers: &[&str], form: &str) -> Request<Full<Bytes>> {
    let mut request =
        server.request("POST", path).header("content-type", "application/x-www-form-urlencoded");
    for header in headers {
        request = request.header("authorization", *header);
    }
    request.body(Full::from(form.to_owned())).unwrap()
}

async fn negotiate(server: &Running, path: &str, token: &str, form: &str) -> Answer {
    server.send(request(server, path, &[&format!("Negotiate {token}")], form)).await
}

fn challenges(answer: &Answer) -> Vec<&str> {
    answer.headers.get_all("www-authenticate").iter().map(|value| value.to_str().unwrap()).collect()
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc4559_s4_a_ticket_proves_a_client_at_every_endpoint() {
    let kdc = Kdc::start();
    let server = kdc.server(kdc.settings(), World::default()).await;
    let mut ci = ticketed("ci", CI);
    ci.grants.insert(Grant::DeviceCode);
    ci.grants.insert(Grant::AuthorizationCode);
    ci.code_flow.redirect_uris =
        vec![sealstone_auth::RedirectUri::parse("https://ci.house.test/back").unwrap()];
    ci.scopes.insert("openid".to_owned());
    server.enrol(ci).await;
    let metadata = server.get("/.well-known/oauth-authorization-server").await.json();
    for member in ["token", "introspection", "revocation"] {
        let methods = metadata[format!("{member}_endpoint_auth_methods_supported")].as_array().unwrap();
        assert!(methods.contains(&json!("kerberos_client_auth")), "{member}");
    }

    let mut initiator = kdc.initiate("ci", SERVICE, true);
    let answer = negotiate(&server, "/token", &initiator.token, FORM).await;
    assert_eq!(answer.status, 200, "{:?}", answer.body);
    assert_eq!(initiator.hears(&answer), "complete", "the server has proved itself too");
    let token = answer.json()["access_token"].as_str().unwrap().to_owned();
    // A client that does not ask for that gets an answer without an AP-REP.
    let mut initiator = kdc.initiate("ci", SERVICE, false);
    let asked = request(&server, "/token", &[&format!("Negotiate {}", initiator.token)], FORM);
    let answer = server.send_h2(asked).await;
    assert_eq!((answer.status.as_u16(), initiator.hears(&answer)), (200, "complete".to_owned()));

    let form = format!("token={token}&client_id=ci");
    let answer = negotiate(&server, "/introspect", &kdc.token(), &form).await;
    assert_eq!((&answer.json()["active"], &answer.json()["client_id"]), (&json!(true), &json!("ci")));
    // The same as a JWT (RFC 9701), and an answer without a body.
    let mut initiator = kdc.initiate("ci", SERVICE, true);
    let mut asked = request(&server, "/introspect", &[&format!("Negotiate {}", initiator.token)], &form);
    asked.headers_mut().insert("accept", "application/token-introspection+jwt".parse().unwrap());
    let answer = server.send(asked).await;
    assert_eq!(answer.header("content-type"), "application/token-introspection+jwt");
    assert_eq!(initiator.hears(&answer), "complete");
    let mut initiator = kdc.initiate("ci", SERVICE, true);
    let answer = negotiate(&server, "/revoke", &initiator.token, &form).await;
    assert_eq!((answer.status.as_u16(), initiator.hears(&answer)), (200, "complete".to_owned()));
    let answer = negotiate(&server, "/introspect", &kdc.token(), &form).await;
    assert_eq!(answer.json()["active"], false);
    let answer = negotiate(&server, "/device_authorization", &kdc.token(), "client_id=ci&scope=openid").await;
    assert!(answer.json()["device_code"].is_string(), "{:?}", answer.body);
    let pushed = "client_id=ci&response_type=code&redirect_uri=https%3A%2F%2Fci.house.test%2Fback&scope=openid\
                  &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256";
    let answer = negotiate(&server, "/par", &kdc.token(), pushed).await;
    assert_eq!(answer.status, 201, "{:?}", answer.body);
    assert!(answer.header("www-authenticate").starts_with("Negotiate o"));

    let log = log_capture().text();
    let first = kdc.token();
    for secret in [&token[..], &first[..40], "Negotiate"] {
        assert!(!log.contains(secret), "{secret} is in the log");
    }
    server.stop().await;
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc3962_and_rfc8009_every_encryption_type() {
    let kdc = Kdc::start();
    let settings = std::fs::read_to_string(kdc.path("krb5.conf")).unwrap();
    for etype in ETYPES {
        // The old keys go: what the KDC seals with is what the keytab has.
        std::fs::remove_file(kdc.path("http.keytab")).unwrap();
        kdc.admin(
            "HOUSE.TEST",
            &["ktadd", "-k", "http.keytab", "-e", &format!("{etype}:normal"), "HTTP/auth.house.test"],
        );
        let chosen = settings
            .replace("#enctypes", &format!("default_tkt_enctypes = {etype}\ndefault_tgs_enctypes = {etype}"));
        std::fs::write(kdc.path("krb5.conf"), chosen).unwrap();
        kdc.kinit(CI, "ci");
        let world = World { store: Some(Arc::new(Sqlite::in_memory().unwrap())), ..World::default() };
        let server = kdc.server(kdc.settings(), world).await;
        server.enrol(ticketed("ci", CI)).await;
        let mut initiator = kdc.initiate("ci", SERVICE, true);
        let answer = negotiate(&server, "/token", &initiator.token, FORM).await;
        assert_eq!(answer.status, 200, "{etype}");
        assert_eq!(initiator.hears(&answer), "complete");
        let cache = format!("FILE:{}", kdc.path("ci").display());
        let shown = run(kdc.command("klist").args(["-e", "-c", &cache]));
        assert!(shown.contains(&format!("Etype (skey, tkt): {etype}, {etype}")), "{shown}");
        server.stop().await;
    }
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_look_alike() {
    let kdc = Kdc::start();
    let clock = Arc::new(Shifted::default());
    let server = kdc.server(kdc.settings(), World { clock: clock.clone(), ..World::default() }).await;
    server.enrol(ticketed("ci", CI)).await;
    kdc.kinit("host/else.house.test@HOUSE.TEST", "else");
    let used = kdc.token();
    assert_eq!(negotiate(&server, "/token", &used, FORM).await.status, 200);
    let mut answers = vec![
        ("used before", negotiate(&server, "/token", &used, FORM).await),
        ("another principal", {
            let token = kdc.initiate("else", SERVICE, true).token.clone();
            negotiate(&server, "/token", &token, FORM).await
        }),
        ("ticket is for HTTP/other", {
            let token = kdc.initiate("ci", "HTTP/other.house.test@HOUSE.TEST", true).token.clone();
            negotiate(&server, "/token", &token, FORM).await
        }),
        ("registered for client_secret_basic", {
            let form = format!("grant_type=client_credentials&client_id={}", server.who.id);
            negotiate(&server, "/token", &kdc.token(), &form).await
        }),
        ("no client has the id", negotiate(&server, "/token", &kdc.token(), "client_id=nobody").await),
        ("no `client_id`", negotiate(&server, "/token", &kdc.token(), "a=b").await),
        ("longer than any", negotiate(&server, "/token", &STANDARD.encode([0x60; 16_600]), FORM).await),
        ("not base64", negotiate(&server, "/token", "!!!", FORM).await),
        ("expected", negotiate(&server, "/token", &STANDARD.encode(b"`\x03\x06\x01\x2a"), FORM).await),
    ];
    // What was made ten minutes ago, or will be.
    for shift in [600, -600] {
        let token = kdc.token();
        clock.0.store(shift, Ordering::SeqCst);
        answers.push(("seconds apart", negotiate(&server, "/token", &token, FORM).await));
        clock.0.store(0, Ordering::SeqCst);
    }
    // A day later the ticket is over, whoever's clock is wrong; the skew of the token comes after it.
    let token = kdc.token();
    clock.0.store(2 * 86_400, Ordering::SeqCst);
    answers.push(("the ticket is over", negotiate(&server, "/token", &token, FORM).await));
    clock.0.store(0, Ordering::SeqCst);

    let log = log_capture().text();
    for (why, answer) in &answers {
        assert_eq!(answer.status, 401, "{why}");
        assert_eq!(answer.body, answers[0].1.body, "{why}");
        let names = |answer: &Answer| answer.headers.keys().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(answer), names(&answers[0].1), "{why}");
        assert_eq!(
            challenges(answer),
            ["Basic realm=\"sealstone\", charset=\"UTF-8\"", "Negotiate"],
            "RFC 4559 §4.1"
        );
        assert!(log.contains(why), "the operator is not told: {why}");
    }
    assert_eq!(answers[0].1.json()["error"], "invalid_client");
    // And then a good one is good.
    assert_eq!(negotiate(&server, "/token", &kdc.token(), FORM).await.status, 200);
    // A client with a secret is asked as before, and one with a ticket and a secret is refused as by any two methods.
    assert_eq!(server.post("/token", "grant_type=client_credentials").await.status, 200);
    let both = [&format!("Negotiate {}", kdc.token())[..], &server.who.basic()];
    assert_eq!(
        server.send(request(&server, "/token", &both, FORM)).await.refusal(),
        (400, "invalid_request".into())
    );
    let form = format!("{FORM}&client_secret=x");
    assert_eq!(
        negotiate(&server, "/token", &kdc.token(), &form).await.refusal(),
        (400, "invalid_request".into())
    );
    server.stop().await;

    // Without a keytab nobody is told of Negotiate.
    let world = World { store: Some(Arc::new(Sqlite::in_memory().unwrap())), ..World::default() };
    let server = kdc.server(config::Kerberos::default(), world).await;
    let answer = negotiate(&server, "/token", &kdc.token(), FORM).await;
    assert_eq!((answer.status.as_u16(), challenges(&answer).len()), (401, 1));
    let metadata = server.get("/.well-known/openid-configuration").await;
    assert!(!String::from_utf8_lossy(&metadata.body).contains("kerberos"));
    server.stop().await;
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc4120_s3_2_3_of_many_at_once_on_two_nodes_one_is_served() {
    let kdc = Kdc::start();
    let store = Arc::new(Sqlite::in_memory().unwrap());
    let world = World { store: Some(store), ..World::default() };
    // One seal for both: the secrets in a store belong to it.
    let one = kdc.server(kdc.settings(), world.clone()).await;
    let two = kdc.server(kdc.settings(), world).await;
    one.enrol(ticketed("ci", CI)).await;
    two.enrol(ticketed("other", "host/else.house.test@HOUSE.TEST")).await;
    for _ in 0..5 {
        let token = kdc.token();
        let mut asked = tokio::task::JoinSet::new();
        for server in [&one, &two] {
            for _ in 0..10 {
                let request = request(server, "/token", &[&format!("Negotiate {token}")], FORM);
                let mut sender = sender(server).await;
                asked.spawn(async move { Answer::read(sender.send_request(request).await.unwrap()).await });
            }
        }
        let answers = asked.join_all().await;
        let served = answers.iter().filter(|answer| answer.status == 200).count();
        let refused = answers.iter().filter(|answer| answer.status == 401).count();
        assert_eq!((served, refused), (1, 19));
    }
    one.stop().await;
    two.stop().await;
}

async fn sender(server: &Running) -> hyper::client::conn::http1::SendRequest<Full<Bytes>> {
    let io = hyper_util::rt::TokioIo::new(server.connect("http/1.1").await);
    let (sender, connection) = hyper::client::conn::http1::handshake(io).await.unwrap();
    tokio::spawn(connection);
    sender
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_principal_of_another_realm_needs_the_realm_to_be_listed() {
    let kdc = Kdc::start();
    let abroad = "host/ci.other.test@OTHER.TEST";
    kdc.admin("OTHER.TEST", &["addprinc", "-randkey", "host/ci.other.test"]);
    kdc.admin("OTHER.TEST", &["ktadd", "-k", "clients.keytab", "host/ci.other.test"]);
    for realm in ["HOUSE.TEST", "OTHER.TEST"] {
        kdc.admin(realm, &["addprinc", "-pw", "between", "krbtgt/HOUSE.TEST@OTHER.TEST"]);
    }
    kdc.kinit(abroad, "abroad");
    let token = || kdc.initiate("abroad", SERVICE, true).token.clone();
    let world = World { store: Some(Arc::new(Sqlite::in_memory().unwrap())), ..World::default() };
    let both = vec!["HOUSE.TEST".to_owned(), "OTHER.TEST".to_owned()];
    let server = kdc.server(config::Kerberos { realms: both, ..kdc.settings() }, world.clone()).await;
    server.enrol(ticketed("ci", abroad)).await;
    assert_eq!(negotiate(&server, "/token", &token(), FORM).await.status, 200);
    server.stop().await;
    // The same store, and a configuration that lists the realm no more.
    let server = kdc.server(kdc.settings(), world).await;
    assert_eq!(negotiate(&server, "/token", &token(), FORM).await.refusal(), (401, "invalid_client".into()));
    assert!(
        log_capture()
            .text()
            .contains("`kerberos.realms` does not have the realm of host/ci.other.test@OTHER.TEST")
    );
    server.stop().await;
}

#[ignore = "needs a KDC: ./dev test kerberos"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rfc4559_curl_gets_a_token() {
    let kdc = Kdc::start();
    let server = kdc.server(kdc.settings(), World::default()).await;
    server.enrol(NewClient { name: "curl".into(), ..ticketed("ci", CI) }).await;
    std::fs::write(kdc.path("server.pem"), &server.certificate_pem).unwrap();
    let mut curl = kdc.command("curl");
    curl.env("KRB5CCNAME", format!("FILE:{}", kdc.path("ci").display()));
    let port = server.address.port();
    curl.args([
        "-sS",
        "--fail-with-body",
        "--noproxy",
        "*",
        "--negotiate",
        "-u",
        ":",
        "--cacert",
        "server.pem",
    ]);
    curl.args(["--resolve", &format!("auth.house.test:{port}:127.0.0.1"), "-d", FORM]);
    curl.arg(format!("https://auth.house.test:{port}/token"));
    let said: serde_json::Value = serde_json::from_str(&run(&mut curl)).unwrap();
    assert_eq!(said["token_type"], "Bearer");
    server.stop().await;
}
