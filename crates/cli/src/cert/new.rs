//! `sealstone cert new`.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::Name;
use sealstone_pki::x509::{CertificateBuilder, KeyUsage};

use super::certify::Said;
use super::load::{Out, Written, signer};
use super::{Names, Place, words};
use crate::error::Error;
use crate::files::Source;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Options of `cert new`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert new --authority --key root.pem --subject 'CN=Example Root,O=Example' --out root.crt
  sealstone cert new --key my.pem --subject CN=localhost --dns localhost --ip 127.0.0.1 --out my.crt
  sealstone cert new --ima --key build.pem --subject 'CN=Build host' --out build.der
  sealstone cert new --authority --key root.pem --subject CN=Root --permit dns:example.org --out root.crt

Such a certificate is signed by the key that it is about (RFC 5280 §3.2): others trust it because they \
were told to. The subject key identifier is the leftmost 160 bits of SHA-256 of the key (RFC 7093 §2, \
method 1). --ima makes what Linux takes into its keyring: digitalSignature, an identifier, in DER.")]
pub(crate) struct Options {
    /// The private key: PEM, DER or JWK; - is standard input
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// For Linux IMA: in DER, and with what the kernel wants
    #[arg(long, conflicts_with_all = ["is_authority", "draft", "key_usage", "purpose"])]
    ima: bool,
    /// Take a composite key, which is as draft-ietf-lamps-pq-composite-sigs-19 has it
    #[arg(long)]
    draft: bool,
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    out: Out,
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let target = options.out.target(terminal)?;
    let key = signer(&Source::from(options.key.clone()), &options.password, options.draft, terminal)?;
    if options.ima && !matches!(key.algorithm(), sealstone_pki::SignatureAlgorithm::MlDsa(_)) {
        terminal.warn(
            format_args!(
                "{} is not ML-DSA: Linux before 7.1 takes only signatures of version 2 from such a key",
                key.algorithm()
            ),
            "`sealstone key generate` makes an ML-DSA key",
        );
    }
    let Some(subject) = options.names.subject.clone().filter(|subject: &Name| !subject.is_empty()) else {
        return Err(Error::usage(
            "a certificate signed by its own key needs a subject",
            "--subject CN=billing,O=Example gives it one",
        ));
    };
    let said = Said {
        names: &options.names,
        place: &options.place,
        out: &options.out,
        target: &target,
        form: if options.ima { Written::Der } else { Written::Pem },
    };
    let mut profile = said.profile();
    if options.ima {
        profile.key_usage = Some(KeyUsage::DIGITAL_SIGNATURE);
    }
    let sign = |builder: CertificateBuilder| builder.self_sign(&*key);
    let certificate = said.certify(subject, profile, None, sign, terminal)?;
    if options.ima && !options.out.json {
        words::ima(&target, &certificate, terminal)?;
    }
    Ok(())
}
