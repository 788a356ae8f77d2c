//! What is signed: a file, as ML-DSA sees it. `sign` and `verify` share these options, for both must use the same.

use clap::Args;
use sealstone_jose::PublicKey;
use sealstone_mldsa::{Context, MU_LEN, Mu, PreHash, PreHasher, any};

use crate::error::Error;
use crate::files::Source;
use crate::flags::{self, ContextBytes};

/// A classical signature needs its message in memory: this much of it.
const CLASSICAL_LIMIT: usize = 256 << 20;

/// How a file becomes what ML-DSA signs.
#[derive(Args)]
pub(crate) struct MessageOptions {
    /// The context that separates this use of the key from others: text, or hex:DIGITS; at most 255 bytes
    #[arg(long, value_name = "CONTEXT", value_parser = flags::context)]
    context: Option<ContextBytes>,
    /// By a digest of the file: HashML-DSA (FIPS 204, 5.4), another scheme than pure ML-DSA
    #[arg(long, value_name = "NAME", ignore_case = true, value_parser = flags::pre_hash())]
    pre_hash: Option<PreHash>,
    /// The file is no message but its representative μ, 64 bytes raw or as hexadecimal digits
    #[arg(long, conflicts_with_all = ["context", "pre_hash"])]
    mu: bool,
}

impl MessageOptions {
    /// The message representative of the file for this key, in constant memory whatever the size of the file.
    pub(crate) fn mu(&self, key: &any::VerifyingKey, file: &Source) -> Result<Mu, Error> {
        if self.mu {
            return read_mu(file);
        }
        let bytes = self.context.clone().unwrap_or_default().0;
        // The option's parser has checked the length.
        let ctx = Context::new(&bytes).map_err(Error::Engine)?;
        match self.pre_hash {
            None => {
                let mut hasher = key.message(ctx);
                file.each_piece(|piece| hasher.update(piece))?;
                Ok(hasher.finish())
            }
            Some(function) => {
                let mut hasher = PreHasher::new(function);
                file.each_piece(|piece| hasher.update(piece))?;
                key.prehashed(ctx, function, hasher.finish().as_ref()).map_err(Error::Engine)
            }
        }
    }

    /// The file itself, for a classical key, to which none of the options means anything.
    pub(crate) fn whole(&self, key: &PublicKey, file: &Source) -> Result<Vec<u8>, Error> {
        let options = [
            ("--context", self.context.is_some()),
            ("--pre-hash", self.pre_hash.is_some()),
            ("--mu", self.mu),
        ];
        if let Some((option, _)) = options.into_iter().find(|(_, given)| *given) {
            return Err(refused(option, key));
        }
        let mut message = Vec::new();
        let mut too_large = false;
        file.each_piece(|piece| {
            too_large |= message.len() + piece.len() > CLASSICAL_LIMIT;
            if !too_large {
                message.extend_from_slice(piece);
            }
        })?;
        if too_large {
            let what = format!(
                "{} is larger than {} MiB, the most that {} signs here",
                file.name(),
                CLASSICAL_LIMIT >> 20,
                key.algorithm()
            );
            return Err(Error::usage(what, "ML-DSA keys sign files of any size"));
        }
        Ok(message)
    }
}

/// An option that only ML-DSA has.
pub(crate) fn refused(option: &str, key: &PublicKey) -> Error {
    let what =
        format!("{option} belongs to ML-DSA; this key is for {}, which has nothing like it", key.algorithm());
    Error::usage(what, "leave it away, or use an ML-DSA key")
}

fn read_mu(file: &Source) -> Result<Mu, Error> {
    let bytes = file.read(4 * MU_LEN)?;
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    let digits = flags::hex(text.trim_end_matches(['\n', '\r'])).unwrap_or_default();
    Mu::decode(&bytes).or_else(|_| Mu::decode(&digits)).map_err(|_| {
        let what = format!(
            "{} is no μ: expected 64 bytes or 128 hexadecimal digits, found {} bytes",
            file.name(),
            bytes.len()
        );
        Error::usage(what, "`sealstone sign --compute-mu` makes one; without --mu the file itself is signed")
    })
}
