//! Keys of every kind that a command of JOSE may meet: the standard ones, and behind a gate those of a draft and of jwt-pq.
//!
//! A gate is an option that says its name: `--draft`, `--legacy`. Whoever does not open it is told what the file holds and what the risk
//! is; nobody gets such a key by mistake.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use sealstone_jose::{Algorithm, Jwk, PrivateKey, PublicKey, any, composite};

pub(crate) use sealstone_jose::any::Algorithm as AnyAlgorithm;

use super::{Key, Opened, Private};
use crate::error::Error;
use crate::files::Source;
use crate::password::PasswordFile;
use crate::terminal::{Terminal, grouped};

/// What may be had beyond the standards.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct Gates {
    /// Allow composite keys, ML-DSA and a classical key in one, by draft-ietf-jose-pq-composite-sigs-04, which may still change
    #[arg(long)]
    pub(crate) draft: bool,
    /// Allow what jwt-pq (a Ruby library) writes and RFC 9964 does not have
    #[arg(long)]
    pub(crate) legacy: bool,
}

/// What is told to whoever meets a composite key with the gate shut.
pub(crate) const RISK: &str = "--draft allows it. The encoding has changed between revisions, and may again: what is made today may be \
                               unreadable tomorrow";

/// A composite key where none may be.
pub(super) fn shut(name: &str, algorithm: AnyAlgorithm, hint: &str) -> Error {
    let what = format_args!("this is a composite key, {algorithm}, of a draft: {}", composite::REVISION);
    Error::key(name, what, Some(hint))
}

/// All of which a key can be made, standard ones first: not RSA, which is for the clients of servers.
fn makeable() -> Vec<AnyAlgorithm> {
    let rsa = [Algorithm::Ps256, Algorithm::Rs256];
    let standard =
        Algorithm::ALL.into_iter().filter(|known| !rsa.contains(known)).map(AnyAlgorithm::Standard);
    standard.chain(composite::Algorithm::ALL.map(AnyAlgorithm::Composite)).collect()
}

impl Gates {
    /// Refuses a composite algorithm when the gate is shut.
    pub(crate) fn check(self, algorithm: AnyAlgorithm) -> Result<(), Error> {
        match algorithm {
            AnyAlgorithm::Composite(algorithm) if !self.draft => Err(Error::usage(
                format!("{algorithm} is of a draft, {}, and no standard", composite::REVISION),
                RISK,
            )),
            _ => Ok(()),
        }
    }
}

/// For `--alg`: by name in any case, and ML-DSA also as people write it in code, `mldsa65`.
pub(crate) fn parser() -> impl TypedValueParser<Value = AnyAlgorithm> {
    PossibleValuesParser::new(names()).try_map(|found| by_name(&found).ok_or("unknown algorithm"))
}

const SHORT: [(&str, &str); 3] =
    [("mldsa44", "ML-DSA-44"), ("mldsa65", "ML-DSA-65"), ("mldsa87", "ML-DSA-87")];

/// The names of the algorithms that keys are made for.
pub(crate) fn names() -> Vec<PossibleValue> {
    let value = |known: &AnyAlgorithm| {
        let aliases = SHORT.iter().filter(|(_, name)| *name == known.name()).map(|(short, _)| *short);
        PossibleValue::new(known.name()).aliases(aliases)
    };
    makeable().iter().map(value).collect()
}

/// The algorithm of one of these names.
pub(crate) fn by_name(found: &str) -> Option<AnyAlgorithm> {
    let short = SHORT.iter().find(|(short, _)| short.eq_ignore_ascii_case(found));
    let found = short.map_or(found, |(_, name)| name);
    makeable().into_iter().find(|known| known.name().eq_ignore_ascii_case(found))
}

/// What a key file holds.
pub(crate) enum AnyKey {
    Composite { key: Composite, encoding: &'static str },
    Standard(Key),
}

/// A key of two halves.
pub(crate) enum Composite {
    Private(composite::PrivateKey),
    Public(composite::PublicKey),
}

impl Composite {
    pub(crate) fn public(&self) -> &composite::PublicKey {
        match self {
            Composite::Private(key) => key.public(),
            Composite::Public(key) => key,
        }
    }
}

impl AnyKey {
    /// Reads a key in any form.
    pub(crate) fn load(
        source: &Source,
        password: &PasswordFile,
        gates: Gates,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        super::load(source, password, gates, RISK, terminal)
    }

    /// The same of a file that was opened before.
    pub(crate) fn parse(
        source: &Source,
        file: &Opened,
        gates: Gates,
        terminal: &mut Terminal,
    ) -> Result<Self, Error> {
        let key = super::parse(file, gates, RISK, terminal)?;
        if key.is_private() {
            file.warn_of_mode(source, terminal);
        }
        Ok(key)
    }

    /// The key, if it is private and its seed is there; `purpose` is what needs that, for the error.
    pub(crate) fn private(self, name: &str, purpose: &str) -> Result<any::PrivateKey, Error> {
        match self {
            AnyKey::Composite { key: Composite::Private(key), .. } => Ok(key.into()),
            AnyKey::Standard(Key::Private(private)) => private.whole(name, purpose).cloned().map(Into::into),
            AnyKey::Composite { .. } | AnyKey::Standard(Key::Public { .. }) => Err(super::not_private(name)),
        }
    }

    /// Makes a new one.
    pub(crate) fn generate(algorithm: AnyAlgorithm) -> Result<Self, sealstone_jose::Error> {
        Ok(match algorithm {
            AnyAlgorithm::Composite(algorithm) => {
                let key = Composite::Private(composite::PrivateKey::generate(algorithm)?);
                AnyKey::Composite { key, encoding: "new" }
            }
            AnyAlgorithm::Standard(algorithm) => {
                let key = PrivateKey::generate(algorithm)?;
                AnyKey::Standard(Key::Private(Private::Whole { key, encoding: "new" }))
            }
        })
    }

    pub(crate) fn is_private(&self) -> bool {
        matches!(
            self,
            AnyKey::Standard(Key::Private(_)) | AnyKey::Composite { key: Composite::Private(_), .. }
        )
    }

    pub(crate) fn public(&self) -> AnyPublic<'_> {
        match self {
            AnyKey::Composite { key, .. } => AnyPublic::Composite(key.public()),
            AnyKey::Standard(key) => AnyPublic::Standard(key.public()),
        }
    }

    /// How it came.
    pub(crate) fn encoding(&self) -> &'static str {
        match self {
            AnyKey::Composite { encoding, .. } => encoding,
            AnyKey::Standard(key) => key.encoding(),
        }
    }
}

/// The public half of any key.
#[derive(Clone, Copy)]
pub(crate) enum AnyPublic<'k> {
    Composite(&'k composite::PublicKey),
    Standard(&'k PublicKey),
}

impl<'k> From<&'k any::PublicKey> for AnyPublic<'k> {
    fn from(key: &'k any::PublicKey) -> Self {
        match key {
            any::PublicKey::Composite(key) => AnyPublic::Composite(key),
            any::PublicKey::Standard(key) => AnyPublic::Standard(key),
        }
    }
}

impl<'k> AnyPublic<'k> {
    pub(crate) fn algorithm(self) -> AnyAlgorithm {
        match self {
            AnyPublic::Composite(key) => AnyAlgorithm::Composite(key.algorithm()),
            AnyPublic::Standard(key) => AnyAlgorithm::Standard(key.algorithm()),
        }
    }

    pub(crate) fn kid(self) -> &'k str {
        match self {
            AnyPublic::Composite(key) => key.kid(),
            AnyPublic::Standard(key) => key.kid(),
        }
    }

    pub(crate) fn thumbprint(self) -> &'k str {
        match self {
            AnyPublic::Composite(key) => key.thumbprint(),
            AnyPublic::Standard(key) => key.thumbprint(),
        }
    }

    /// As the library takes it where a key may be of either kind.
    pub(crate) fn to_any(self) -> any::PublicKey {
        match self {
            AnyPublic::Composite(key) => key.clone().into(),
            AnyPublic::Standard(key) => key.clone().into(),
        }
    }

    pub(crate) fn as_bytes(self) -> &'k [u8] {
        match self {
            AnyPublic::Composite(key) => key.as_bytes(),
            AnyPublic::Standard(key) => key.as_bytes(),
        }
    }

    pub(crate) fn to_jwk(self) -> Jwk {
        match self {
            AnyPublic::Composite(key) => key.to_jwk(),
            AnyPublic::Standard(key) => key.to_jwk(),
        }
    }

    /// Bytes of its signatures, least and most: they differ where a half is ECDSA in DER.
    pub(crate) fn signature_len(self) -> (usize, usize) {
        match self {
            AnyPublic::Composite(key) => {
                let pair = key.algorithm().pair();
                (pair.signature_min(), pair.signature_max())
            }
            AnyPublic::Standard(key) => (key.signature_len(), key.signature_len()),
        }
    }

    pub(crate) fn signature_words(self) -> String {
        match self.signature_len() {
            (least, most) if least == most => format!("{} bytes", grouped(most)),
            (least, most) => format!("{} to {} bytes", grouped(least), grouped(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Probe {
        #[command(flatten)]
        _gates: Gates,
    }

    /// The text of the option cannot be computed, so it is compared.
    #[test]
    fn the_gate_names_the_revision() {
        let help =
            Probe::command().render_help().to_string().split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(help.contains(composite::REVISION), "{help}");
    }
}
