//! Keys and rules in one object, for any number of threads: what a service makes once and asks for each token.

use std::sync::Arc;

use super::{Rules, Token, UnixSeconds};
use crate::error::Error;
use crate::jwk::JwkSet;
use crate::jws::{Unverified, Verified};
use crate::key::PublicKey;

/// Checks tokens: signature by one of its keys, claims by its rules. Cloning shares the keys, which are expanded once, when it
/// is made; `Send` and `Sync`, and it takes no lock.
///
/// ```
/// use std::thread;
/// use sealstone_jose::{Algorithm, JwkSet, PrivateKey, UnixSeconds, jwt};
///
/// # fn main() -> Result<(), sealstone_jose::Error> {
/// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
/// let now = UnixSeconds(1_800_000_000);
/// let claims = jwt::Claims::new().with("iss", "https://id.example").with("aud", "orders").with("exp", now.0 + 300);
/// let token = jwt::sign(&key, "at+jwt", &claims)?;
///
/// let rules = jwt::Rules::new().issuer("https://id.example").audience("orders").typ("at+jwt");
/// let verifier = jwt::Verifier::new(JwkSet::new([key.public().clone()])?, rules);
/// thread::scope(|scope| {
///     for _ in 0..4 {
///         scope.spawn(|| assert!(verifier.verify(&token, now).is_ok()));
///     }
/// });
/// assert!(verifier.verify(&token, UnixSeconds(now.0 + 300)).is_err(), "over");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Verifier {
    keys: Keys,
    rules: Arc<Rules>,
}

#[derive(Clone, Debug)]
enum Keys {
    One(PublicKey),
    Set(Arc<JwkSet>),
}

impl Verifier {
    /// For tokens of the keys of a set, each found by its `kid` ([`JwkSet::find`]).
    pub fn new(keys: JwkSet, rules: Rules) -> Self {
        keys.keys().iter().for_each(PublicKey::prepare);
        Self { keys: Keys::Set(Arc::new(keys)), rules: Arc::new(rules) }
    }

    /// For tokens of one key, whatever `kid` they name.
    pub fn of_key(key: PublicKey, rules: Rules) -> Self {
        key.prepare();
        Self { keys: Keys::One(key), rules: Arc::new(rules) }
    }

    /// The rules.
    ///
    /// ```
    /// use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds, jws, jwt};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44)?;
    /// let now = UnixSeconds(1_800_000_000);
    /// let token = jwt::sign(&key, "JWT", &jwt::Claims::new().with("sub", "alice").with("exp", now.0 + 300))?;
    /// let verifier = jwt::Verifier::of_key(key.public().clone(), jwt::Rules::new());
    ///
    /// // The same rules for a token whose signature was checked another way.
    /// let verified = jws::Unverified::parse(&token)?.verify(key.public())?;
    /// assert_eq!(verifier.rules().check(verified, now)?.claims().subject(), Some("alice"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Checks a token: everything that [`Unverified::parse`] does, then the signature, then the claims.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn verify(&self, token: &str, now: UnixSeconds) -> Result<Token, Error> {
        let (unverified, key) = self.read(token)?;
        self.rules.check(unverified.verify(key)?, now)
    }

    /// Checks many, ML-DSA signatures of one level side by side, which takes less time for each than alone. Each gets what
    /// [`verify`](Self::verify) would say of it, in the place where it was.
    ///
    /// ```
    /// # use sealstone_jose::{Algorithm, PrivateKey, UnixSeconds, jwt};
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// # let (key, now) = (PrivateKey::generate(Algorithm::MlDsa44)?, UnixSeconds(1_800_000_000));
    /// # let token = jwt::sign(&key, "JWT", &jwt::Claims::new().with("exp", now.0 + 300))?;
    /// let verifier = jwt::Verifier::of_key(key.public().clone(), jwt::Rules::new());
    /// let verdicts = verifier.verify_all(&[&token, "not a token", &token], now);
    /// assert!(verdicts[0].is_ok() && verdicts[1].is_err() && verdicts[2].is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub fn verify_all(&self, tokens: &[&str], now: UnixSeconds) -> Vec<Result<Token, Error>> {
        let mut verdicts: Vec<Option<Error>> = Vec::with_capacity(tokens.len());
        let mut pairs = Vec::with_capacity(tokens.len());
        for token in tokens {
            match self.read(token) {
                Ok(pair) => {
                    pairs.push(pair);
                    verdicts.push(None);
                }
                Err(error) => verdicts.push(Some(error)),
            }
        }
        let mut checked = Unverified::verify_all(pairs).into_iter();
        let judge = |verified: Result<Verified, Error>| self.rules.check(verified?, now);
        verdicts
            .into_iter()
            .map(|refused| match refused {
                Some(error) => Err(error),
                // As many as there was no error for.
                None => checked.next().map_or(Err(Error::BadSignature), judge),
            })
            .collect()
    }

    /// Takes a token apart, and finds its key.
    fn read<'t>(&self, token: &'t str) -> Result<(Unverified<'t>, &PublicKey), Error> {
        let unverified = Unverified::parse(token)?;
        let key = match &self.keys {
            Keys::One(key) => key,
            Keys::Set(keys) => unverified.key_in(keys)?,
        };
        Ok((unverified, key))
    }
}
