//! A real server process with everybody around it: a person who is signed in, clients of several kinds, an issuer whose
//! assertions are taken; and connections over HTTP/2 and TLS to it.

pub mod forms;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http2;
use hyper::{HeaderMap, Request};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustix::process::{Pid, Signal, kill_process};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::Value;
use tokio::net::TcpStream;

pub const ISSUER: &str = "https://auth.example.org";
pub const CI: &str = "https://ci.example";
const PASSWORD: &str = "correct horse battery staple";

/// A data directory with its configuration and its parties.
pub struct House {
    pub directory: tempfile::TempDir,
    /// Signs assertions as a client.
    pub worker: PrivateKey,
    /// Signs assertions as an issuer.
    pub ci: PrivateKey,
    /// `Basic`, for the confidential client.
    pub service: String,
    /// The session cookie of the person.
    pub cookie: String,
    typing: tokio::sync::Mutex<()>,
}

impl House {
    /// Registers everybody by the command, and signs the person in at a server that then ends.
    pub async fn build() -> Self {
        let directory = tempfile::tempdir().unwrap();
        write_config(directory.path(), "sealstone.toml", "data");
        let key = || PrivateKey::generate(Algorithm::Es256).unwrap();
        let (worker, ci) = (key(), key());
        let (service, cookie, typing) = (String::new(), String::new(), tokio::sync::Mutex::default());
        let mut house = Self { directory, worker, ci, service, cookie, typing };
        let set = |key: &PrivateKey| JwkSet::new([key.public().clone()]).unwrap().to_json();
        fs::write(house.path("worker.jwks"), set(&house.worker)).unwrap();
        fs::write(house.path("ci.jwks"), set(&house.ci)).unwrap();
        house.run("client add --id shop --auth-method none --alg ES256 --redirect-uri https://shop.example/callback \
                   --scope openid --scope offline_access --consent-implied");
        house.run("client add --id tv --auth-method none --alg ES256 --grant device_code --scope openid");
        house.run("client add --id worker --auth-method private_key_jwt --alg ES256 --jwks worker.jwks");
        house.service =
            house.basic("service", "--grant client_credentials --grant jwt-bearer --scope deploy");
        house.run(&format!("issuer add {CI} --jwks ci.jwks --client service --scope deploy"));
        let mut adding =
            house.command("user add ada --password-stdin").stdin(Stdio::piped()).spawn().unwrap();
        adding.stdin.take().unwrap().write_all(PASSWORD.as_bytes()).unwrap();
        assert!(adding.wait().unwrap().success());
        let mut server = house.serve("sealstone.toml");
        house.cookie = sign_in(&mut server.wire().await).await;
        server.stop();
        house
    }

    /// Registers a confidential client; returns its `Basic`.
    pub fn basic(&self, id: &str, more: &str) -> String {
        let done = self.output(&format!("client add --id {id} --alg ES256 --json {more}"));
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let added: Value = serde_json::from_slice(&done.stdout).unwrap();
        forms::basic(id, added["client_secret"].as_str().unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The command, in the directory and with the configuration of this house.
    pub fn command(&self, line: &str) -> Command {
        let mut words: Vec<&str> = line.split_whitespace().collect();
        // Before the first option or value: after the verb.
        let verbs = words.iter().take_while(|word| !word.starts_with('-')).count();
        words.splice(verbs..verbs, ["--config", "sealstone.toml"]);
        let mut command = sealstone(self.directory.path());
        command.args(words);
        command
    }

    pub fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    pub fn run(&self, line: &str) {
        let done = self.output(line);
        assert!(done.status.success(), "{line}: {}", String::from_utf8_lossy(&done.stderr));
    }

    pub fn serve(&self, config: &str) -> Server {
        let mut command = sealstone(self.directory.path());
        command.args(["serve", "--config", config]);
        Server::start(command, &self.data_of(config))
    }

    /// The data directory of a configuration of this house.
    pub fn data_of(&self, config: &str) -> PathBuf {
        let text = fs::read_to_string(self.path(config)).unwrap();
        self.path(text.split('"').nth(1).unwrap())
    }
}

pub fn sealstone(directory: &Path) -> Command {
    // A long run takes a program that no build replaces meanwhile.
    let program = std::env::var_os("SEALSTONE_PROGRAM").unwrap_or(env!("CARGO_BIN_EXE_sealstone").into());
    let mut command = Command::new(program);
    command.current_dir(directory).env("TMPDIR", directory).stdin(Stdio::null());
    command
}

pub fn write_config(directory: &Path, name: &str, data: &str) {
    let text = format!(
        "data_dir = \"{data}\"\nlisten = \"127.0.0.1:0\"\nissuer = \"{ISSUER}\"\n[log]\nlevel = \"warn\"\n\
         [passwords]\nlanes = 1\nmemory_kib = 7168\npasses = 5\n[store]\npoll_milliseconds = 20\n\
         [tokens]\nalgorithms = [\"ES256\"]\n[limits]\naddress_failures_per_minute = 0\nfailures_per_second = 0\n"
    );
    // The one line at level info that is needed is the one that says where it listens.
    fs::write(directory.join(name), text.replace("\"warn\"", "\"info\"")).unwrap();
}

/// A server process. It is killed with the value.
pub struct Server {
    child: Child,
    pub address: SocketAddr,
    pub certificate: Vec<u8>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts it and waits until it listens.
    pub fn start(mut command: Command, data: &Path) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let log = Arc::new(Mutex::new(Vec::new()));
        let (said, listening) = std::sync::mpsc::channel();
        let kept = log.clone();
        std::thread::spawn(move || {
            for line in lines {
                if let Some((_, address)) = line.split_once("address=").filter(|_| line.contains("listening"))
                {
                    let _ = said.send(address.split(' ').next().unwrap().parse().unwrap());
                }
                // What the server refuses is a warning; what it could not do is an error.
                let mut kept = kept.lock().unwrap();
                if line.contains(" ERROR ") && kept.len() < 100 {
                    kept.push(line);
                }
            }
        });
        let address = listening.recv_timeout(Duration::from_secs(60));
        let address = address.unwrap_or_else(|_| panic!("it does not start: {:?}", log.lock().unwrap()));
        let certificate = fs::read(data.join("tls-self-signed.pem")).unwrap();
        Self { child, address, certificate, log }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and its good end.
    pub fn stop(&mut self) {
        kill_process(Pid::from_child(&self.child), Signal::TERM).unwrap();
        let deadline = Instant::now() + Duration::from_secs(60);
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                assert!(status.success());
                return;
            }
            assert!(Instant::now() < deadline, "it does not end");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    pub async fn wire(&self) -> Wire {
        Wire::open(self.address, &self.certificate).await.unwrap()
    }

    /// The errors in its log, as far as they are few.
    pub fn errors(&self) -> Vec<String> {
        self.log.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A connection over HTTP/2. Clones share it.
#[derive(Clone)]
pub struct Wire(http2::SendRequest<Full<Bytes>>);

/// There was no whole answer: whether the request was carried out is not known.
#[derive(Debug)]
pub struct Lost;

pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Answer {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// A member of the answer that is text.
    pub fn member(&self, name: &str) -> Option<String> {
        Some(self.json()[name].as_str()?.to_owned())
    }

    /// Whether it is what somebody wants who uses something up: a token, or a code on its way to the client.
    pub fn grants(&self) -> bool {
        (self.status == 200 && self.json()["access_token"].is_string()) || self.code().is_some()
    }

    /// The code that the person is sent back with.
    pub fn code(&self) -> Option<String> {
        let (_, query) = self.header("location").split_once('?')?;
        query.split('&').find_map(|pair| pair.strip_prefix("code=")).map(str::to_owned)
    }

    /// The value of a hidden field of a page.
    pub fn field(&self, name: &str) -> Option<String> {
        let html = self.text();
        let (_, rest) = html.split_once(&format!("name=\"{name}\" value=\""))?;
        Some(rest.split('"').next()?.replace("&#38;", "&").replace("&amp;", "&"))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

impl Wire {
    pub async fn open(address: SocketAddr, certificate: &[u8]) -> Result<Self, Lost> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(certificate).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.alpn_protocols = vec![b"h2".to_vec()];
        let stream = TcpStream::connect(address).await.map_err(|_| Lost)?;
        stream.set_nodelay(true).map_err(|_| Lost)?;
        let name = ServerName::try_from("auth.example.org").unwrap();
        let connector = tokio_rustls::TlsConnector::from(Arc::new(tls));
        let stream = connector.connect(name, stream).await.map_err(|_| Lost)?;
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await;
        let (sender, connection) = handshake.map_err(|_| Lost)?;
        tokio::spawn(connection);
        Ok(Self(sender))
    }

    pub async fn send(&self, request: Request<Full<Bytes>>) -> Result<Answer, Lost> {
        let response = self.0.clone().send_request(request).await.map_err(|_| Lost)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|_| Lost)?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// A form, as a client sends it.
    pub async fn post(&self, form: forms::Form) -> Result<Answer, Lost> {
        self.send(form.request()).await
    }

    /// A code for the person whose cookie this is.
    pub async fn code(&self, cookie: &str) -> Result<Option<String>, Lost> {
        Ok(self.post(forms::browse(forms::AUTHORIZE, cookie)).await?.code())
    }

    /// Opens a request that was pushed just now.
    pub async fn pushed(&self, cookie: &str) -> Result<Option<forms::Form>, Lost> {
        let Some(uri) = self.post(forms::push()).await?.member("request_uri") else { return Ok(None) };
        let path = format!("/authorize?client_id=shop&request_uri={}", forms::encode(&uri));
        Ok(Some(forms::browse(&path, cookie)))
    }

    /// Asks for the tokens of a device that the person has let in just now.
    pub async fn device(&self, house: &House) -> Result<Option<forms::Form>, Lost> {
        let cookie = &house.cookie;
        let device = self.post(forms::device_authorization()).await?;
        let (Some(code), Some(user_code)) = (device.member("device_code"), device.member("user_code")) else {
            return Ok(None);
        };
        // One person types one code after the other: whoever types many at once is guessing.
        let _typing = house.typing.lock().await;
        let mut page = self.post(forms::browse("/device", cookie)).await?;
        for decision in [None, Some(("decision", "allow"))] {
            let Some(token) = page.field("form_token") else { return Ok(None) };
            let fields: Vec<_> = [("user_code", user_code.as_str()), ("form_token", token.as_str())]
                .into_iter()
                .chain(decision)
                .collect();
            page = self.post(forms::submit("/device", cookie, &fields)).await?;
        }
        Ok((page.status == 200).then(|| forms::device_code(&code)))
    }
}

/// Signs Ada in as a browser does; returns the cookies that she has then.
async fn sign_in(wire: &mut Wire) -> String {
    let page = wire.send(forms::get(forms::AUTHORIZE).body(Full::default()).unwrap()).await.unwrap();
    let mut jar = BTreeMap::new();
    let mut keep = |answer: &Answer| {
        for value in answer.headers.get_all("set-cookie") {
            let pair = value.to_str().unwrap().split(';').next().unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            jar.insert(name.to_owned(), value.to_owned());
        }
        let held = jar.iter().filter(|(_, value)| !value.is_empty());
        held.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    };
    let (token, query) = (page.field("form_token").unwrap(), page.field("continue_query").unwrap());
    let fields = [
        ("username", "ada"),
        ("password", PASSWORD),
        ("form_token", token.as_str()),
        ("continue_query", query.as_str()),
    ];
    let answer = wire.post(forms::submit("/login", &keep(&page), &fields)).await.unwrap();
    assert_eq!(answer.status, 303, "{}", answer.text());
    // The next page with a form brings the cookie that its forms are bound to.
    let cookie = keep(&answer);
    keep(&wire.post(forms::browse("/device", &cookie)).await.unwrap())
}

/// Chance that can be repeated: splitmix64.
pub struct Dice(u64);

impl Dice {
    /// Seeded by `SEALSTONE_SEED`, or by the clock; says which seed it is.
    pub fn thrown(what: &str) -> Self {
        let named = std::env::var("SEALSTONE_SEED").ok().and_then(|text| text.parse().ok());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        let seed = named.unwrap_or(now.as_nanos() as u64);
        eprintln!("{what}: SEALSTONE_SEED={seed}");
        Self(seed)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// A number from the environment, for runs that are longer than the tests.
pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().expect("a number"))
}
