//! `sealstone key generate`, and the one place where keys of any kind are made.

use std::ffi::OsString;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sealstone_mldsa::OsRandom;
use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};
use sealstone_pki::{pbes2, pkcs8};
use serde_json::json;
use zeroize::Zeroizing;

use super::{convert, refuse_screen};
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::key_password;
use crate::keyfile::Format;
use crate::keyfile::any::{self, AnyAlgorithm, AnyKey, Gates};
use crate::password::PasswordFile;
use crate::terminal::{DIM, Terminal};

/// Options of `key generate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone key generate --out my.pem --public-out my.pub.pem
  sealstone key generate --encrypt --out my.pem                       under a password, which is asked for
  sealstone key generate --alg ES256 --format jwk --out token-key.jwk
  sealstone key generate --alg ML-DSA-65-Ed25519 --draft --format jwk --out both.jwk
  sealstone key generate --alg ML-KEM-768 --out bob.pem --public-out bob.pub.pem    for `cms decrypt`
  sealstone key generate | sealstone key show -

An ML-DSA private key is its 32-byte seed, in every form. ML-DSA-65 is a good choice where nothing \
speaks for another: 44 is smaller, 87 has the larger margin. The file is readable by its owner alone. \
Algorithms of two names are composite and need --draft: a forger has to break both halves. ML-KEM keys \
do not sign: others encrypt to them.")]
pub(crate) struct Options {
    /// What the key is for
    #[arg(long, value_name = "ALG", default_value = "ML-DSA-65", ignore_case = true, value_parser = parser())]
    alg: Kind,
    /// How the key is written
    #[arg(long, value_enum, default_value_t = Format::Pem)]
    format: Format,
    #[command(flatten)]
    place: Place,
    /// Allow composite keys, ML-DSA and a classical key in one, by draft-ietf-jose-pq-composite-sigs-04, which may still change
    #[arg(long)]
    draft: bool,
}

/// Where a new key goes.
#[derive(Args)]
pub(crate) struct Place {
    /// Where the private key goes; - is standard output
    #[arg(long, value_name = "FILE", default_value = "-", value_parser = clap::value_parser!(OsString))]
    out: OsString,
    /// Where the public key goes, if it is wanted at once
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    public_out: Option<OsString>,
    /// Put the private key under a password, as `sealstone key encrypt` does, before it is written
    #[arg(long)]
    encrypt: bool,
    /// Read the password from the first line of this file instead of asking for it
    #[arg(long, value_name = "FILE", requires = "encrypt", value_parser = clap::value_parser!(OsString))]
    password_file: Option<OsString>,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Say in JSON what was made
    #[arg(long)]
    json: bool,
}

/// What a key can be made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Signatures.
    Signature(AnyAlgorithm),
    /// Encryption to its holder.
    MlKem(MlKem),
}

fn parser() -> impl TypedValueParser<Value = Kind> {
    let names = any::names().into_iter().chain(MlKem::ALL.map(|set| PossibleValue::new(set.name())));
    PossibleValuesParser::new(names).try_map(|found| {
        let ml_kem = MlKem::ALL.into_iter().find(|set| set.name().eq_ignore_ascii_case(&found));
        ml_kem
            .map(Kind::MlKem)
            .or_else(|| any::by_name(&found).map(Kind::Signature))
            .ok_or("unknown algorithm")
    })
}

pub(super) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    if let Kind::Signature(algorithm) = options.alg {
        Gates { draft: options.draft, legacy: false }.check(algorithm)?;
    }
    make(options.alg, options.format, &options.place, terminal)
}

/// A new key: looked at first is whether it can be written.
pub(crate) fn make(kind: Kind, format: Format, place: &Place, terminal: &mut Terminal) -> Result<(), Error> {
    let (out, public_out) = (Target::from(place.out.clone()), place.public_out.clone().map(Target::from));
    if public_out.as_ref().is_some_and(|public| *public == out) {
        return Err(Error::usage(
            "--out and --public-out are the same",
            "give the public key a file of its own",
        ));
    }
    if place.json && (out == Target::Stdout || public_out == Some(Target::Stdout)) {
        return Err(Error::usage("--json and a key cannot share standard output", "give --out a file"));
    }
    if place.encrypt && !matches!(format, Format::Pem | Format::Der) {
        return Err(Error::usage(
            "a key under a password is a PKCS#8, in PEM or DER; JWK, COSE_Key and raw bytes have no such form",
            "leave --format out",
        ));
    }
    refuse_screen(format, &out, terminal)?;
    out.check(place.force)?;
    public_out.as_ref().map_or(Ok(()), |public| public.check(place.force))?;

    let key = New::make(kind)?;
    let bytes = match (place.encrypt, format) {
        (false, _) => key.private_bytes(format)?,
        (true, format) => {
            let form = if format == Format::Der { key_password::Form::Der } else { key_password::Form::Pem };
            let password = PasswordFile::of(place.password_file.clone());
            let plain = key.private_bytes(Format::Der)?;
            let sealed = key_password::sealed(NEW, &plain, form, pbes2::Cost::default(), &password)?;
            Zeroizing::new(sealed)
        }
    };
    out.write(&bytes, Readers::Owner, place.force, terminal)?;
    if let Some(public_out) = &public_out {
        public_out.write(&key.public_bytes(format)?, Readers::All, place.force, terminal)?;
    }
    let path = |target: &Target| match target {
        Target::Path(path) => Some(shown(path)),
        Target::Stdout => None,
    };
    let (private, public) = (path(&out), public_out.as_ref().and_then(path));
    let (algorithm, kid) = (key.algorithm(), key.kid());
    if place.json {
        let mut row = json!({"algorithm": algorithm, "private": private, "public": public});
        if let Some(kid) = kid {
            row["kid"] = json!(kid);
        }
        return terminal.json(&row);
    }
    // With a key on standard output there is no room for words.
    let (Some(private), false) = (private, public_out == Some(Target::Stdout)) else { return Ok(()) };
    let width = private.chars().count().max(public.as_ref().map_or(0, |public| public.chars().count()));
    let whose = if place.encrypt { "under the password" } else { "for you alone" };
    terminal.line(format_args!("{private:<width$}  {algorithm} private key, {whose}"))?;
    if let Some(public) = public {
        terminal.line(format_args!("{public:<width$}  its public half, for everyone"))?;
    }
    match kid {
        Some(kid) => terminal.line(format_args!("{DIM}key id {kid}{DIM:#}")),
        None => Ok(()),
    }
}

const NEW: &str = "the new key";

/// A key that was made.
enum New {
    Signature(AnyKey),
    MlKem(DecapsulationKey),
}

impl New {
    fn make(kind: Kind) -> Result<Self, Error> {
        match kind {
            Kind::Signature(algorithm) => AnyKey::generate(algorithm)
                .map(Self::Signature)
                .map_err(|cause| Error::key(NEW, &cause, cause.hint())),
            Kind::MlKem(set) => DecapsulationKey::generate(set, &mut OsRandom)
                .map(Self::MlKem)
                .map_err(|cause| Error::key(NEW, &cause, cause.hint())),
        }
    }

    fn private_bytes(&self, format: Format) -> Result<Zeroizing<Vec<u8>>, Error> {
        let key = match self {
            Self::Signature(key) => return convert::private_bytes(NEW, key, format, pkcs8::Form::Seed),
            Self::MlKem(key) => key,
        };
        let bytes = match format {
            Format::Pem => key.to_pem().map(|text| Zeroizing::new(text.as_bytes().to_vec())),
            Format::Der => key.to_der(),
            Format::Jwk | Format::Cose | Format::Raw => return Err(only_pkcs8()),
        };
        bytes.map_err(|cause| Error::key(NEW, &cause, cause.hint()))
    }

    fn public_bytes(&self, format: Format) -> Result<Vec<u8>, Error> {
        match (self, format) {
            (Self::Signature(key), _) => convert::public_bytes(key.public(), format),
            (Self::MlKem(key), Format::Pem) => Ok(key.encapsulation_key().to_pem().into_bytes()),
            (Self::MlKem(key), Format::Der) => Ok(key.encapsulation_key().to_der()),
            (Self::MlKem(_), _) => Err(only_pkcs8()),
        }
    }

    fn algorithm(&self) -> &'static str {
        match self {
            Self::Signature(key) => key.public().algorithm().name(),
            Self::MlKem(key) => key.algorithm().name(),
        }
    }

    fn kid(&self) -> Option<&str> {
        match self {
            Self::Signature(key) => Some(key.public().kid()),
            Self::MlKem(_) => None,
        }
    }
}

fn only_pkcs8() -> Error {
    Error::usage("an ML-KEM key is written as PKCS#8 or SPKI (RFC 9935), in PEM or DER", "leave --format out")
}
