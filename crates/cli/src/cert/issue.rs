//! `sealstone cert issue`.

use std::ffi::OsString;

use clap::Args;
use sealstone_pki::ml_kem::EncapsulationKey;
use sealstone_pki::x509::{CertificateBuilder, KeyUsage, Profile};

use super::certify::Said;
use super::load::{self, Out, Subject, Written, signer};
use super::{Names, Place};
use crate::error::Error;
use crate::files::Source;
use crate::password::PasswordFile;
use crate::terminal::Terminal;

/// Options of `cert issue`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cert issue --ca root.crt --key root.pem billing.csr --out billing.crt
  sealstone cert issue --ca root.crt --key root.pem --authority --path-len 0 middle.csr --out middle.crt
  sealstone cert issue --ca root.crt --key root.pem --subject CN=billing --dns billing.example.org my.pub.pem
  sealstone cert issue --ca root.crt --key root.pem --subject CN=bob bob.pub.pem --out bob.crt     for `cms encrypt`

A request must be signed by the key that it is about; its subject and names are granted unless others \
are given, and what it says about itself otherwise (to be an authority, key uses, purposes) is not \
granted unless the options say so. Keys of an authority and of those below it may be of any kinds: \
ML-DSA below RSA or ECDSA, and the other way round.")]
pub(crate) struct Options {
    /// The request (PKCS#10), or a public key; - is standard input
    #[arg(value_name = "REQUEST", value_parser = clap::value_parser!(OsString))]
    request: OsString,
    /// The authority's certificate
    #[arg(long, value_name = "CERT", value_parser = clap::value_parser!(OsString))]
    ca: OsString,
    /// The authority's private key: PEM, DER or JWK
    #[arg(long, value_name = "KEY", value_parser = clap::value_parser!(OsString))]
    key: OsString,
    #[command(flatten)]
    password: PasswordFile,
    /// Grant the purposes and key uses that the request asks for
    #[arg(long)]
    as_requested: bool,
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
    let issuer = load::certificate(&options.ca)?;
    let key = signer(&Source::from(options.key.clone()), &options.password, options.draft, terminal)?;
    let wanted = Subject::load(&options.request)?;
    let said = Said {
        names: &options.names,
        place: &options.place,
        out: &options.out,
        target: &target,
        form: Written::Pem,
    };
    let mut profile = said.profile();
    let (mut subject, public_key) = match &wanted {
        Subject::Key(key) => (None, key.as_slice()),
        Subject::Request(request) => {
            let asked = Profile::requested(request.extensions());
            if profile.alt_names.is_empty() {
                profile.alt_names = asked.alt_names;
            }
            if options.as_requested {
                if profile.ext_key_usage.is_empty() {
                    profile.ext_key_usage = asked.ext_key_usage;
                }
                if !options.names.says_key_usage() && !options.names.is_authority {
                    profile.key_usage = asked.key_usage.or(profile.key_usage);
                }
            }
            (Some(request.subject().clone()), request.public_key())
        }
    };
    // RFC 9935 §5: a key for encapsulation is for nothing else.
    if !options.names.says_key_usage() && EncapsulationKey::from_der(public_key).is_ok() {
        profile.key_usage = Some(KeyUsage::KEY_ENCIPHERMENT);
    }
    if let Some(given) = &options.names.subject {
        subject = Some(given.clone());
    }
    let Some(subject) = subject else {
        return Err(Error::usage("a public key alone does not say whose it is", "--subject CN=... names it"));
    };
    if !options.draft && sealstone_pki::composite::from_spki(public_key).is_ok() {
        let what = format!(
            "the request is of a composite key, as {} has it, which is a draft",
            sealstone_pki::composite::DRAFT
        );
        return Err(Error::usage(what, "--draft takes it"));
    }
    let sign = |builder: CertificateBuilder| builder.issue(public_key, &issuer, &*key);
    said.certify(subject, profile, Some(issuer.not_after()), sign, terminal).map(drop)
}
