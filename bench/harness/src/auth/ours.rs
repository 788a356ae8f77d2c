//! Our server as it is measured: its configuration, its clients, and the certificate that everybody uses.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use sealstone_jose::{Algorithm, JwkSet, PrivateKey};
use serde_json::json;
use tempfile::TempDir;

use super::parties::{OURS, VARIANTS};
use super::server::{self, Command};

/// The algorithms that have a client.
const ALGORITHMS: [Algorithm; 6] = [
    Algorithm::Es256,
    Algorithm::Es384,
    Algorithm::Es512,
    Algorithm::MlDsa44,
    Algorithm::MlDsa65,
    Algorithm::MlDsa87,
];
/// The client that signs assertions, and with what.
pub(crate) const SIGNER: (&str, Algorithm) = ("bench-assertion", Algorithm::Es256);
/// The client in whose name bad assertions come.
pub(crate) const FLOODER: (&str, Algorithm) = ("bench-flood", Algorithm::MlDsa87);
/// The client of the code flow, where its answers go, and who signs in.
pub(crate) const CODE_CLIENT: &str = "bench-code";
pub(crate) const REDIRECT_URI: &str = "https://localhost/callback";
pub(crate) const PERSON: (&str, &str) = ("ada", "a sentence that nobody guesses");
/// What clients may ask for.
pub(crate) const SCOPE: &str = "api:read";
const AUDIENCE: &str = "urn:bench:api";

/// A folder with everything that our server needs, gone when the value is.
pub(crate) struct Ours {
    flooder: PrivateKey,
    folder: TempDir,
    jti: AtomicU64,
    program: PathBuf,
    signer: PrivateKey,
}

impl Ours {
    /// Makes the certificate, the configuration and the clients.
    pub(crate) fn prepare() -> Result<Self, String> {
        let folder = tempfile::Builder::new().prefix("sealstone-bench-").tempdir();
        let folder = folder.map_err(|why| format!("a temporary folder: {why}"))?;
        certificates(folder.path())?;
        let signer = PrivateKey::generate(SIGNER.1).map_err(|why| why.to_string())?;
        let flooder = PrivateKey::generate(FLOODER.1).map_err(|why| why.to_string())?;
        let program = server::program("sealstone")?;
        let ours = Self { flooder, folder, jti: AtomicU64::new(0), program, signer };
        ours.configure(OURS.name, OURS.ours.unwrap_or_default(), server::free_port()?)?;
        for algorithm in ALGORITHMS {
            let (id, secret) = (client(algorithm), ours.secret_file(algorithm));
            ours.add_client(&id, algorithm, &["--secret-out".into(), secret.display().to_string()])?;
        }
        for (id, key, algorithm) in [
            (SIGNER.0, &ours.signer, SIGNER.1),
            // What its tokens would be signed with.
            (FLOODER.0, &ours.flooder, Algorithm::Es256),
        ] {
            let jwks = ours.folder().join(format!("{id}.jwks"));
            let set = JwkSet::new([key.public().clone()]).map_err(|why| why.to_string())?;
            write(&jwks, set.to_json().as_bytes())?;
            let by_assertion = ["--auth-method", "private_key_jwt", "--jwks"].map(str::to_owned);
            let flags: Vec<_> = by_assertion.into_iter().chain([jwks.display().to_string()]).collect();
            ours.add_client(id, algorithm, &flags)?;
        }
        let secret = ours.folder().join("code.secret").display().to_string();
        let flags = [
            "--redirect-uri",
            REDIRECT_URI,
            "--consent-implied",
            "--scope",
            "openid",
            "--secret-out",
            &secret,
        ];
        ours.add_client(CODE_CLIENT, Algorithm::Es256, &flags.map(str::to_owned))?;
        ours.add_person()?;
        // Two servers on one store would wait for each other's locks, of which a stopped one could hold some.
        for variant in VARIANTS {
            copy(&ours.data(OURS.name), &ours.data(variant.name))?;
        }
        Ok(ours)
    }

    /// Where the certificate and the keys of every server lie.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn certificate(&self) -> PathBuf {
        self.folder().join("tls.crt")
    }

    /// How one of them is started.
    pub(crate) fn command(&self, name: &str, settings: &str, port: u16) -> Result<Command, String> {
        let configuration = self.configure(name, settings, port)?;
        let arguments = ["serve".to_owned(), "--config".to_owned(), configuration.display().to_string()];
        Ok(Command { program: self.program.clone(), arguments: arguments.into() })
    }

    pub(crate) fn version(&self) -> Result<String, String> {
        let output = process::Command::new(&self.program).arg("--version").output();
        let output = output.map_err(|why| format!("{}: {why}", self.program.display()))?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }

    /// The credentials of the client whose tokens have this algorithm.
    pub(crate) fn credentials(&self, algorithm: Algorithm) -> Result<(String, String), String> {
        let path = self.secret_file(algorithm);
        let secret = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok((client(algorithm), secret.trim().to_owned()))
    }

    /// Those of the client of the code flow.
    pub(crate) fn code_credentials(&self) -> Result<(String, String), String> {
        let path = self.folder().join("code.secret");
        let secret = fs::read_to_string(&path).map_err(|why| format!("{}: {why}", path.display()))?;
        Ok((CODE_CLIENT.to_owned(), secret.trim().to_owned()))
    }

    /// The key of the client in whose name bad assertions come.
    pub(crate) fn flooder(&self) -> &PrivateKey {
        &self.flooder
    }

    /// The key of the client that signs assertions.
    pub(crate) fn signer(&self) -> &PrivateKey {
        &self.signer
    }

    /// An id that no assertion of this run had before.
    pub(crate) fn next_jti(&self) -> String {
        format!("{:022x}", self.jti.fetch_add(1, Ordering::Relaxed))
    }

    /// The identifier that assertions are for. It does not follow the port, which changes with each start.
    pub(crate) fn issuer(&self) -> &'static str {
        "https://localhost"
    }

    fn configure(&self, name: &str, settings: &str, port: u16) -> Result<PathBuf, String> {
        // A JSON string is a TOML string.
        let text = format!(
            "data_dir = {}\nlisten = \"127.0.0.1:{port}\"\nissuer = \"{}\"\n{settings}\
             tls.mode = \"files\"\ntls.certificate = {}\ntls.key = {}\ntokens.algorithms = {:?}\n",
            json!(self.data(name)),
            self.issuer(),
            json!(self.certificate()),
            json!(self.folder().join("tls.key")),
            ALGORITHMS.map(Algorithm::name),
        );
        let path = self.folder().join(format!("{name}.toml"));
        write(&path, text.as_bytes())?;
        Ok(path)
    }

    fn data(&self, name: &str) -> PathBuf {
        self.folder().join(format!("{name}-data"))
    }

    fn add_client(&self, id: &str, algorithm: Algorithm, more: &[String]) -> Result<(), String> {
        let mut command = process::Command::new(&self.program);
        command.args(["client", "add", "--config"]).arg(self.folder().join(format!("{}.toml", OURS.name)));
        command.args(["--id", id, "--alg", algorithm.name(), "--scope", SCOPE, "--audience", AUDIENCE]);
        let output = command.args(more).output();
        let output = output.map_err(|why| format!("{}: {why}", self.program.display()))?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("client {id}: {}", String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    /// Who signs in. The password is no argument.
    fn add_person(&self) -> Result<(), String> {
        let fault = |why: std::io::Error| format!("{}: {why}", self.program.display());
        let mut command = process::Command::new(&self.program);
        command.args(["user", "add", "--config"]).arg(self.folder().join(format!("{}.toml", OURS.name)));
        command.args(["--password-stdin", PERSON.0]).stdin(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::null()).spawn().map_err(fault)?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(PERSON.1.as_bytes()).map_err(fault)?;
        }
        let output = child.wait_with_output().map_err(fault)?;
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("user {}: {}", PERSON.0, String::from_utf8_lossy(&output.stderr).trim())),
        }
    }

    fn secret_file(&self, algorithm: Algorithm) -> PathBuf {
        self.folder().join(format!("{}.secret", client(algorithm)))
    }
}

fn client(algorithm: Algorithm) -> String {
    format!("bench-{}", algorithm.name())
}

/// A P-256 certificate for `localhost`, and a P-256 key for the tokens of peers that bring none.
fn certificates(folder: &Path) -> Result<(), String> {
    let fault = |why: rcgen::Error| format!("the certificate: {why}");
    let key = rcgen::KeyPair::generate().map_err(fault)?;
    let parameters = rcgen::CertificateParams::new(["localhost".to_owned()]).map_err(fault)?;
    let certificate = parameters.self_signed(&key).map_err(fault)?;
    let tokens = rcgen::KeyPair::generate().map_err(fault)?;
    write(&folder.join("tls.crt"), certificate.pem().as_bytes())?;
    write(&folder.join("tls.key"), key.serialize_pem().as_bytes())?;
    write(&folder.join("sign.key"), tokens.serialize_pem().as_bytes())
}

/// Copies the files of a folder, and not what is in folders of its own: the audit log begins anew.
fn copy(from: &Path, to: &Path) -> Result<(), String> {
    let fault = |why: std::io::Error| format!("{}: {why}", to.display());
    fs::DirBuilder::new().mode(0o700).create(to).map_err(fault)?;
    for entry in fs::read_dir(from).map_err(fault)? {
        let entry = entry.map_err(fault)?;
        if entry.file_type().map_err(fault)?.is_dir() {
            continue;
        }
        fs::copy(entry.path(), to.join(entry.file_name())).map_err(fault)?;
    }
    Ok(())
}

/// A file for its owner alone.
fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let opened = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(path);
    let written = opened.and_then(|mut file| std::io::Write::write_all(&mut file, bytes));
    written.map_err(|why| format!("{}: {why}", path.display()))
}
