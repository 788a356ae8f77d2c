//! `sealstone csr`: certificate requests are made, read and checked.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use sealstone_pki::x509::Csr;
use serde_json::{Value, json};

use crate::cert::load::{self, Out, Written, signer};
use crate::cert::{Names, words};
use crate::error::Error;
use crate::files::{Source, Target, shown};
use crate::password::PasswordFile;
use crate::terminal::{BOLD, GOOD, Safe, Terminal, grouped};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a request for a certificate
    New(Box<New>),
    /// Say what a request asks for, and check that its own key signed it
    Show(Show),
}

/// Options of `csr new`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone csr new --key my.pem --subject CN=billing,O=Example --dns billing.example.org --out my.csr
  sealstone csr new --key middle.pem --subject 'CN=Example Middle' --authority --out middle.csr

The request (PKCS#10, RFC 2986) holds the public key and is signed by the private one, which proves that \
you have it. The authority decides what it grants: `sealstone cert issue` is one.")]
pub(crate) struct New {
    /// The private key: PEM, DER or JWK; - is standard input
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// Take a composite key, which is as draft-ietf-lamps-pq-composite-sigs-19 has it
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    out: Out,
}

/// Options of `csr show`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone csr show my.csr
  sealstone csr show --json my.csr

Exit code 1 if the request is not signed by the key that it holds.")]
pub(crate) struct Show {
    /// The request: PEM or DER; - is standard input
    #[arg(value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    file: OsString,
    /// In JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    match command {
        Command::New(options) => new(&options, terminal),
        Command::Show(options) => show(&options, terminal),
    }
}

fn new(options: &New, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let key = signer(&Source::from(options.key.clone()), &options.password, options.draft, terminal)?;
    let subject = options.names.subject.clone().unwrap_or_default();
    if subject.is_empty() && options.names.alt_names().is_empty() {
        return Err(Error::usage(
            "a request about nobody",
            "--subject CN=billing,O=Example says whom it is about, or --dns, --email, --ip, --uri",
        ));
    }
    let request = Csr::new(&subject, &options.names.request(), &*key)
        .map_err(|cause| Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) })?;
    let form = options.out.format.unwrap_or(Written::Pem);
    options.out.write(&target, form, request.to_pem(), request.der(), terminal)?;
    let Target::Path(path) = &target else { return Ok(()) };
    if options.out.json {
        let mut value = described(&request);
        value["file"] = json!(shown(path));
        return terminal.json(&value);
    }
    terminal.line(format_args!(
        "{}  request for {}, {} bytes",
        shown(path),
        Safe(&about(&request)),
        grouped(request.der().len())
    ))
}

fn show(options: &Show, terminal: &mut Terminal) -> Result<(), Error> {
    let source = Source::from(options.file.clone());
    let name = source.name();
    let request = load::request(&name, &source.read(1 << 20)?)?;
    let verified = request.verify().map_err(|cause| Error::Signature {
        name: name.clone(),
        what: format!("the request is not signed by its own key: {cause}"),
        hint: Some("whoever made it may not have the private key: ask for another".into()),
    });
    if options.json {
        let mut value = described(&request);
        value["valid"] = json!(verified.is_ok());
        terminal.json(&value)?;
        return verified;
    }
    terminal.line(format_args!("{BOLD}{name}{BOLD:#}  request for {}", Safe(&about(&request))))?;
    let (key, words_about) = words::key_words(request.public_key());
    let algorithm = request.signature_algorithm();
    let mut rows = vec![
        ("key", format!("{key}  {words_about}")),
        ("signed with", algorithm.map_or_else(|cause| cause.to_string(), |known| known.to_string())),
    ];
    rows.extend(words::extension_rows(request.extensions()));
    rows.push(("size", format!("{} bytes", grouped(request.der().len()))));
    words::rows(terminal, &rows)?;
    verified?;
    terminal.line(format_args!("{GOOD}good{GOOD:#}  signed by its own key"))
}

fn about(request: &Csr) -> String {
    if !request.subject().is_empty() {
        return request.subject().to_string();
    }
    let names = request.extensions().subject_alt_names.iter().flatten();
    names.map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn described(request: &Csr) -> Value {
    let mut value = words::extensions_json(request.extensions());
    value["key"] = json!(words::key_words(request.public_key()).0);
    value["signature_algorithm"] = json!(request.signature_algorithm().map(|known| known.to_string()).ok());
    value["subject"] = json!(request.subject().to_string());
    value
}
