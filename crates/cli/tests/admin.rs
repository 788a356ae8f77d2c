//! `sealstone admin` against a real server: from its first client to everything that the API has, and what it says of
//! refusals.

use std::fs::{self, Permissions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use sealstone_auth::{Admin, Config, NewUser};
use serde_json::Value;

use crate::real::{House, ISSUER, Server, forms, sealstone, write_config};

/// Who administers, in a directory of their own, with what `admin init` has written.
struct Office {
    directory: tempfile::TempDir,
    /// Options of every command.
    always: Vec<String>,
}

/// What a command has said.
#[derive(Debug)]
struct Said {
    code: i32,
    out: String,
    err: String,
}

impl Office {
    /// The first client of a house, whose files are taken away from the server's machine.
    fn of(directory: &Path, server: &Server) -> Self {
        let office = Self { directory: tempfile::tempdir().unwrap(), always: Vec::new() };
        let file = office.path("admin.toml");
        let done = sealstone(directory)
            .args(["admin", "init", "--config", "sealstone.toml", "--access", file.to_str().unwrap()])
            .args(["--connect", &server.address.to_string()])
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        for name in ["admin.toml", "admin.pem"] {
            assert_eq!(
                fs::metadata(office.path(name)).unwrap().permissions().mode() & 0o777,
                0o600,
                "{name}"
            );
        }
        office
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, line: &str) -> Command {
        let mut command = sealstone(self.directory.path());
        command.arg("admin").args(line.split_whitespace()).args(&self.always);
        command.env("XDG_CONFIG_HOME", self.path("none")).env("HOME", self.path("none"));
        if self.always.is_empty() {
            command.args(["--access", "admin.toml"]);
        }
        command
    }

    fn says(&self, line: &str, input: &str) -> Said {
        let mut command = self.command(line);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // A command that reads nothing may have ended already.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let done = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Said { code: done.status.code().unwrap(), out: text(done.stdout), err: text(done.stderr) }
    }

    /// What a command prints that succeeds and warns of nothing.
    fn done(&self, line: &str, input: &str) -> String {
        let said = self.says(line, input);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{line}: {said:?}");
        said.out
    }

    fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(&format!("{line} --json"), "")).unwrap()
    }

    /// The error and the hint of a command that is refused.
    fn refused(&self, line: &str) -> (String, String) {
        let said = self.says(line, "");
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{line}: {said:?}");
        let after = |label: &str| {
            let mut found = said.err.lines().filter_map(|line| line.strip_prefix(label));
            found.next_back().unwrap_or_default().to_owned()
        };
        (after("error: "), after("hint: "))
    }
}

fn switch_on(directory: &Path) {
    let path = directory.join("sealstone.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("{text}[admin]\napi = true\n")).unwrap();
}

/// A word of a line of a table: that of the row that begins so.
fn cell(table: &str, row: &str, column: &str) -> String {
    let head = table.lines().next().unwrap();
    let (at, end) = (head.find(column).unwrap(), head.len());
    let line = table.lines().find(|line| line.split(' ').next() == Some(row));
    let line = line.unwrap_or_else(|| panic!("no {row} in\n{table}"));
    let rest = line.get(at..).unwrap_or_default();
    assert!(at <= end);
    rest.split("  ").next().unwrap().trim().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_administrator_does_everything_from_elsewhere() {
    let house = House::build().await;
    switch_on(house.directory.path());
    let mut server = house.serve("sealstone.toml");
    let office = Office::of(house.directory.path(), &server);
    let wire = server.wire().await;

    // Clients.
    let listed = office.done("client list", "");
    assert_eq!(cell(&listed, "shop", "METHOD"), "none");
    assert_eq!(cell(&listed, "tv", "GRANTS"), "device_code");
    let added = office.done(
        "client add --id billing --name Billing --scope a --scope b --alg es256 --secret-out billing.secret",
        "",
    );
    let secret = fs::read_to_string(office.path("billing.secret")).unwrap().trim().to_owned();
    assert!(added.starts_with("billing registered\n") && !added.contains(&secret), "{added}");
    assert_eq!(fs::metadata(office.path("billing.secret")).unwrap().permissions().mode() & 0o777, 0o600);
    let token = async |secret: &str| {
        let answer = wire.post(forms::client_credentials(&forms::basic("billing", secret))).await.unwrap();
        (answer.status, answer.json())
    };
    let (status, first) = token(&secret).await;
    assert_eq!((status, &first["expires_in"], &first["scope"]), (200, &900.into(), &"a b".into()));
    office.done("client change billing --lifetime 5m --scope a --set audiences=[\"https://a.example\"]", "");
    assert_eq!(token(&secret).await.1["expires_in"], 300);
    let shown = office.json("client show billing");
    assert_eq!(
        (&shown["audiences"][0], &shown["scope"], &shown["client_name"], &shown["client_secret"]),
        (&"https://a.example".into(), &"a".into(), &"Billing".into(), &Value::Null)
    );
    assert!(office.done("client show billing", "").contains("\n  audiences "), "for people");
    office.done("client change billing --unset audiences", "");
    assert_eq!(office.json("client show billing")["audiences"], serde_json::json!([]));
    let renewed = office.json("client secret billing")["client_secret"].as_str().unwrap().to_owned();
    assert_eq!((token(&secret).await.0, token(&renewed).await.0), (401, 200));
    fs::write(office.path("new.json"), office.done("client show billing --json", "")).unwrap();
    office.done("client add --id copy --metadata new.json", "");
    assert_eq!(office.json("client show copy")["token_lifetime_seconds"], 300);
    // From a secret to a key, and the members that go with either.
    fs::copy(house.path("worker.jwks"), office.path("worker.jwks")).unwrap();
    office.done("client change copy --auth-method private_key_jwt --jwks worker.jwks", "");
    assert_eq!(office.json("client show copy")["jwks"]["keys"].as_array().unwrap().len(), 1);

    // Tokens.
    let (_, issued) = token(&renewed).await;
    let issued = issued["access_token"].as_str().unwrap();
    let basic = forms::basic("billing", &renewed);
    let active =
        async || wire.post(forms::introspect(&basic, issued)).await.unwrap().json()["active"] == true;
    assert!(active().await);
    office.done("token revoke -", &format!("{issued}\n"));
    assert!(!active().await);
    assert_eq!(office.done("client remove billing --json", ""), "", "a machine has the exit code");
    assert_eq!(token(&renewed).await.0, 401);

    // What was decided, some milliseconds after it.
    let line = "audit show --limit 1000 --event client --client billing";
    let events = |lines: &Value| -> Vec<String> {
        let lines = lines.as_array().unwrap().iter();
        lines.map(|line| format!("{} {}", line["event"], line["client"]).replace('"', "")).collect()
    };
    let mut seen = (0..100).map(|_| events(&office.json(line)));
    let seen = seen.find(|seen| seen.last().is_some_and(|last| last == "client.removed billing")).unwrap();
    let verbs = ["registered", "changed", "changed", "secret_renewed", "removed"];
    assert_eq!(seen, verbs.map(|verb| format!("client.{verb} billing")));
    assert!(office.done(line, "").contains("  client.removed  by admin, client billing"), "for people");

    // Users.
    let added =
        office.done("user add bob --email bob@example.org --password-stdin", "a long enough sentence\n");
    assert_eq!(added, "bob added\n");
    office.done("user passwd bob --password-stdin", "another long sentence\n");
    assert_eq!(cell(&office.done("user list", ""), "bob", "EMAIL"), "bob@example.org");
    office.done("user disable bob", "");
    assert_eq!(cell(&office.done("user list", ""), "bob", "STATE"), "disabled");
    assert_eq!(office.json("user show bob")["disabled"], true);
    office.done("user enable bob", "");
    office.done("user remove-passkeys bob", "");
    assert!(office.done("user add carol --no-password", "").contains("user passwd"));
    assert_eq!(cell(&office.done("user list", ""), "carol", "STATE"), "cannot sign in");
    office.done("user remove bob", "");
    assert_eq!(office.json("user list").as_array().unwrap().len(), 2);

    // Sessions: Ada has one.
    let sessions = office.json("session list");
    let sid = sessions[0]["sid"].as_str().unwrap();
    assert_eq!((sessions.as_array().unwrap().len(), &sessions[0]["username"]), (1, &"ada".into()));
    assert_eq!(office.json("session list --user carol"), serde_json::json!([]));
    assert!(wire.code(&house.cookie).await.unwrap().is_some());
    office.done(&format!("session end {sid}"), "");
    assert!(wire.code(&house.cookie).await.unwrap().is_none());
    assert_eq!(office.done("session list", ""), "nobody is signed in\n");
    office.done("session end --user ada", "");

    // Keys.
    let keys = office.done("key list", "");
    assert_eq!(cell(&keys, "ES256/1", "STATE"), "active");
    assert_eq!(cell(&office.done("key rotate --alg ES256", ""), "ES256/2", "STATE"), "pre-published");
    let kid = cell(&keys, "ES256/1", "KID");
    assert!(office.done(&format!("key retire {kid}"), "").starts_with("ES256/1 is retired"));

    // Issuers.
    fs::copy(house.path("ci.jwks"), office.path("ci.jwks")).unwrap();
    let add = "issuer add https://id.example --jwks ci.jwks --client service --subject-prefix partner:";
    assert_eq!(office.done(add, ""), "https://id.example is trusted\n");
    assert_eq!(cell(&office.done("issuer list", ""), "https://id.example", "SUBJECTS"), "partner:SUB");
    office.done("issuer remove https://id.example", "");
    assert_eq!(office.json("issuer list").as_array().unwrap().len(), 1);
    server.stop();
}

/// Each refusal says what is wrong and what can be done, and no secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_says_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_config(path, "sealstone.toml", "data");
    let server = start(path);
    let mut office = Office::of(path, &server);
    let (what, hint) = office.refused("client list");
    assert_eq!(what, "the server refuses: there is no admin API at this server");
    assert!(hint.contains("api = true"), "{hint}");
    drop(server);
    switch_on(path);
    let server = start(path);
    let connect = server.address.to_string();
    let certificate = path.join("data/tls-self-signed.pem").display().to_string();
    let options = |more: &[&str]| {
        let all = ["--server", ISSUER, "--connect", &connect, "--ca", &certificate];
        all.iter().chain(more).map(|text| (*text).to_owned()).collect::<Vec<_>>()
    };
    let secret = |id: &str, scope: &str| {
        let done = sealstone(path)
            .args(["client", "add", "--config", "sealstone.toml", "--alg", "ES256", "--id", id])
            .args(["--scope", scope, "--secret-out", office.path(id).to_str().unwrap()])
            .status();
        assert!(done.unwrap().success());
    };
    secret("reader", "sealstone:clients:read");
    secret("stranger", "orders:read");

    let with = options(&["--client-id", "admin", "--key", "admin.pem"]);
    office.always = with.clone();
    assert_eq!(cell(&office.done("client list", ""), "admin", "METHOD"), "private_key_jwt");
    for (line, what, hint) in [
        ("client show nobody", "there is no client nobody", "`list` shows what there is"),
        ("session end nobody", "there is no session nobody", "`list` shows what there is"),
        (
            "client add --id admin --alg es256",
            "a client `admin` exists already",
            "choose another id, or remove the client first",
        ),
        ("client add --set nonsense=1", "a member: there is none that is called nonsense", ""),
    ] {
        assert_eq!(office.refused(line), (format!("the server refuses: {what}"), hint.to_owned()), "{line}");
    }
    let (what, hint) = office.refused("client add --alg es256 --lifetime 900d");
    assert!(what.contains("token lifetime") && hint.contains("max_lifetime_seconds"), "{what}; {hint}");

    // A role opens what it names.
    office.always = options(&["--client-id", "reader", "--secret-file", "reader"]);
    office.done("client list", "");
    let (_, hint) = office.refused("client remove stranger");
    assert_eq!(hint, "the client reader needs the scope sealstone:clients, or sealstone:admin");
    office.always = options(&["--client-id", "stranger", "--secret-file", "stranger"]);
    let (_, hint) = office.refused("user list");
    assert_eq!(hint, "the client stranger needs the scope sealstone:users:read, or sealstone:admin");

    // What proves who asks.
    fs::write(office.path("wrong"), "wrong-secret\n").unwrap();
    fs::set_permissions(office.path("wrong"), Permissions::from_mode(0o644)).unwrap();
    office.always = options(&["--client-id", "reader", "--secret-file", "wrong"]);
    let said = office.says("client list", "");
    assert!(
        said.err.starts_with("warning: wrong holds a secret and its mode 0644 lets others in\n"),
        "{said:?}"
    );
    assert!(said.err.contains("hint: is reader a client of this server"), "{said:?}");
    assert!(!said.err.contains("wrong-secret"), "{said:?}");
    fs::set_permissions(office.path("admin.pem"), Permissions::from_mode(0o640)).unwrap();
    office.always = with;
    assert!(office.says("client list", "").err.contains("mode 0640 lets others in"));
    fs::set_permissions(office.path("admin.pem"), Permissions::from_mode(0o600)).unwrap();

    // Whom it speaks with.
    let at = |server: &str, ca: &str| -> Vec<String> {
        let all = [
            "--server",
            server,
            "--connect",
            &connect,
            "--ca",
            ca,
            "--client-id",
            "admin",
            "--key",
            "admin.pem",
        ];
        all.map(str::to_owned).to_vec()
    };
    let other = certificate_of_another(&office);
    office.always = at(ISSUER, &other);
    let (what, hint) = office.refused("client list");
    assert!(what.starts_with("the TLS handshake: ") && hint.contains("--ca FILE"), "{what}; {hint}");
    office.always = at("https://localhost", &certificate);
    let (_, hint) = office.refused("client list");
    assert!(hint.contains("admin a client of this server"), "the assertion is for another issuer: {hint}");
    office.always = at("http://auth.example.org", &certificate);
    assert!(office.refused("client list").0.contains("is http"));
    office.always = vec!["--server".into(), ISSUER.into()];
    assert!(office.refused("client list").1.contains("sealstone admin init"));
    office.always = Vec::new();
    fs::write(office.path("admin.toml"), "server = \"https://a.example\"\nclient = \"admin\"\n").unwrap();
    assert!(office.refused("client list").0.contains("admin.toml:2: unknown field `client`"));
}

/// A client of the configuration: a wrong one stops the start, a right one is changed nowhere else.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_configuration_lists_clients() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_config(path, "sealstone.toml", "data");
    switch_on(path);
    let config = fs::read_to_string(path.join("sealstone.toml")).unwrap();
    let line = config.lines().count();
    let write = |clients: &str| fs::write(path.join("sealstone.toml"), format!("{config}{clients}")).unwrap();
    let shop = "[[static_clients]]\nclient_id = \"shop\"\nid_token_signed_response_alg = \"ES256\"\n";
    write(&format!("{shop}client_secret_file = \"shop.secret\"\n"));
    let done = sealstone(path).args(["serve", "--config", "sealstone.toml"]).output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    let place = format!("error: sealstone.toml:{}:1: static client `shop`: shop.secret: ", line + 4);
    assert_eq!(done.status.code(), Some(2));
    assert!(said.contains(&place) && said.contains("hint: the file holds the secret alone"), "{said}");

    fs::write(path.join("shop.secret"), "0123456789abcdef0123456789abcdef\n").unwrap();
    let server = start(path);
    let office = Office::of(path, &server);
    assert_eq!(cell(&office.done("client list", ""), "shop", "STATE"), "configured");
    let (what, hint) = office.refused("client remove shop");
    assert_eq!(what, "the server refuses: the client `shop` is of the configuration");
    assert_eq!(hint, "change `static_clients` there, and start the server anew");
    drop(server);
    write("");
    let server = start(path);
    let office = Office { directory: office.directory, always: Vec::new() };
    let toml = fs::read_to_string(office.path("admin.toml")).unwrap();
    let old = toml.lines().find(|line| line.starts_with("connect")).unwrap();
    fs::write(office.path("admin.toml"), toml.replace(old, &format!("connect = \"{}\"", server.address)))
        .unwrap();
    assert_eq!(cell(&office.done("client list", ""), "shop", "STATE"), "disabled");
    office.done("client remove shop", "");
}

/// A list that the server gives in parts arrives whole, in order.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_list_arrives_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    write_config(path, "sealstone.toml", "data");
    switch_on(path);
    let config = fs::read_to_string(path.join("sealstone.toml")).unwrap();
    fs::write(path.join("sealstone.toml"), format!("{config}[audit]\nenabled = false\n")).unwrap();
    let config = Config::parse(
        &fs::read_to_string(path.join("sealstone.toml"))
            .unwrap()
            .replace("\"data\"", &format!("{:?}", path.join("data"))),
        None,
    );
    let admin = Admin::open(&config.unwrap()).unwrap();
    for n in 0..2_001 {
        let new = NewUser { username: format!("user-{n:04}"), ..NewUser::default() };
        admin.add_user(new).await.unwrap();
    }
    let server = start(path);
    let office = Office::of(path, &server);
    let users = office.json("user list");
    let names: Vec<&str> =
        users.as_array().unwrap().iter().map(|user| user["username"].as_str().unwrap()).collect();
    let expected: Vec<String> = (0..2_001).map(|n| format!("user-{n:04}")).collect();
    assert_eq!(names, expected);
}

fn start(directory: &Path) -> Server {
    let mut command = sealstone(directory);
    command.args(["serve", "--config", "sealstone.toml"]);
    Server::start(command, &directory.join("data"))
}

/// The certificate of another server.
fn certificate_of_another(office: &Office) -> String {
    let other = tempfile::tempdir().unwrap();
    write_config(other.path(), "sealstone.toml", "data");
    let server = start(other.path());
    fs::write(office.path("other.pem"), &server.certificate).unwrap();
    "other.pem".to_owned()
}
