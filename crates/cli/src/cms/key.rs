//! `sealstone cms key`: `sealstone key generate` for who reads about messages.

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use sealstone_pki::ml_kem::MlKem;

use crate::error::Error;
use crate::key::generate::{Kind, Place, make};
use crate::keyfile::Format;
use crate::terminal::Terminal;

/// Options of `cms key`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone cms key --out bob.pem --public-out bob.pub.pem
  sealstone cms encrypt --to bob.pub.pem letter.txt && sealstone cms decrypt --key bob.pem letter.txt.cms
  sealstone cms key --encrypt --out bob.pem                       under a password

The private key is its 64-byte seed (RFC 9935), readable by its owner alone. An ML-KEM key does not \
sign. ML-KEM-768 is a good choice where nothing speaks for another. `sealstone key generate --alg \
ML-KEM-768` is the same.")]
pub(crate) struct Options {
    /// The parameter set
    #[arg(long, value_name = "ALG", default_value = "ML-KEM-768", ignore_case = true, value_parser = algorithm())]
    alg: MlKem,
    #[command(flatten)]
    place: Place,
}

fn algorithm() -> impl clap::builder::TypedValueParser<Value = MlKem> {
    PossibleValuesParser::new(MlKem::ALL.map(MlKem::name))
        .try_map(|name| name.to_ascii_uppercase().parse::<MlKem>().map_err(|cause| cause.to_string()))
}

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    make(Kind::MlKem(options.alg), Format::Pem, &options.place, terminal)
}
