//! Our side of tokens: the same claims as the rivals', one key object, and the engine alone over the same bytes.

use std::hint::black_box;
use std::time::Duration;

use sealstone_jose::{Algorithm, PrivateKey, PublicKey, UnixSeconds, jws, jwt};
use sealstone_mldsa::{Context, Level, OsRandom, any};

use crate::clock;

/// How many bytes of claims a token has.
pub(crate) const CLAIMS_BYTES: usize = 250;
/// The same claims for everybody, rivals included: the year 2100 is their end.
const ISSUER: &str = "https://id.example";
const AUDIENCE: &str = "https://orders.example";
const NOW: UnixSeconds = UnixSeconds(1_800_000_000);
/// How many tokens a batch has, and how many are verified in turn.
pub(crate) const JOBS: usize = 64;

/// The claims' text, of [`CLAIMS_BYTES`] bytes.
pub(crate) fn claims() -> String {
    let start = format!(
        "{{\"aud\":\"{AUDIENCE}\",\"client_id\":\"c1d1b5a2-0b9e-4f6e-9f55\",\"exp\":4102444800,\"iat\":1767225600,\
         \"iss\":\"{ISSUER}\",\"jti\":\"01J9Z3M8Q2V7T4K6\",\"nbf\":1767225600,\"scope\":\"orders:read"
    );
    let end = "\",\"sub\":\"alice\"}";
    let fill = CLAIMS_BYTES.saturating_sub(start.len() + end.len());
    format!("{start}{}{end}", " orders:write".chars().cycle().take(fill).collect::<String>())
}

/// One key at one level, tokens of it, and the engine's form of the same.
pub(crate) struct Ours {
    key: PrivateKey,
    claims: jwt::Claims,
    verifier: jwt::Verifier,
    tokens: Vec<String>,
    engine: Engine,
}

struct Engine {
    level: Level,
    private: any::ExpandedSigningKey,
    public: any::ExpandedVerifyingKey,
    /// What the tokens' signatures cover, and the signatures.
    signed: Vec<(String, Vec<u8>)>,
}

impl Ours {
    /// Errors: in words.
    pub(crate) fn new(level: &str) -> Result<Self, String> {
        let (algorithm, level) = match level {
            "44" => (Algorithm::MlDsa44, Level::MlDsa44),
            "65" => (Algorithm::MlDsa65, Level::MlDsa65),
            "87" => (Algorithm::MlDsa87, Level::MlDsa87),
            _ => return Err(format!("no level {level}")),
        };
        let seed = [7; 32];
        let key = PrivateKey::from_secret(algorithm, &seed).map_err(said)?;
        let claims = jwt::Claims::parse(&claims()).map_err(said)?;
        let sign = |_| jwt::sign(&key, "JWT", &claims).map_err(said);
        let tokens = (0..JOBS).map(sign).collect::<Result<Vec<_>, _>>()?;
        let private = any::SigningKey::from_seed(level, &seed).expand();
        let public = private.verifying_key().expand();
        let signed = tokens.iter().map(|token| apart(token)).collect::<Result<_, _>>()?;
        let verifier = jwt::Verifier::of_key(key.public().clone(), rules());
        Ok(Self { key, claims, verifier, tokens, engine: Engine { level, private, public, signed } })
    }

    /// Nanoseconds an operation, over `runs` of them.
    pub(crate) fn time(&self, operation: &str, runs: u64) -> Result<f64, String> {
        let start = clock::now();
        let runs = match operation {
            "verify-batch" => {
                let batches = runs.div_ceil(JOBS as u64);
                (0..batches).try_for_each(|_| self.verify_batch())?;
                batches * JOBS as u64
            }
            _ => {
                (0..runs).try_for_each(|run| self.single(operation, run as usize % JOBS))?;
                runs
            }
        };
        Ok(nanoseconds(clock::now() - start) / runs as f64)
    }

    fn single(&self, operation: &str, number: usize) -> Result<(), String> {
        let Engine { level, private, public, signed } = &self.engine;
        let (input, signature) = &signed[number];
        match operation {
            "sign-token" => drop(black_box(jwt::sign(&self.key, "JWT", &self.claims).map_err(said)?)),
            "verify-token" => {
                drop(black_box(self.verifier.verify(black_box(&self.tokens[number]), NOW).map_err(said)?));
            }
            "parse-token" => {
                let token = jws::Unverified::parse(black_box(&self.tokens[number])).map_err(said)?;
                drop(black_box(token));
            }
            "engine-sign" => {
                let signature = private.sign(&mut OsRandom, Context::EMPTY, black_box(input.as_bytes()));
                black_box(signature.map_err(said)?);
            }
            "engine-verify" => {
                let signature = any::Signature::decode(*level, black_box(signature)).map_err(said)?;
                public.verify(Context::EMPTY, input.as_bytes(), &signature).map_err(said)?;
            }
            _ => return Err(format!("no operation {operation}")),
        }
        Ok(())
    }

    fn verify_batch(&self) -> Result<(), String> {
        let tokens: Vec<&str> = self.tokens.iter().map(String::as_str).collect();
        let found = self.verifier.verify_all(black_box(&tokens), NOW);
        found.into_iter().try_for_each(|token| token.map(|token| drop(black_box(token))).map_err(said))
    }

    /// A token, and the public key in JSON, for the tests of others.
    #[cfg(test)]
    pub(crate) fn shown(&self) -> (String, String) {
        (self.tokens[0].clone(), self.key.public().to_jwk().to_json())
    }
}

/// What a rival made is a token to us, with the claims that it was given, and no more once a character of its signature is
/// changed.
pub(crate) fn check(jwk: &str, token: &str) -> Result<(), String> {
    let key = PublicKey::from_jwk(jwk).map_err(said)?;
    let verifier = jwt::Verifier::of_key(key, rules());
    let found = verifier.verify(token, NOW).map_err(said)?;
    let expected = jwt::Claims::parse(&claims()).map_err(said)?;
    if found.claims() != &expected {
        return Err("other claims".to_owned());
    }
    let place = token.len() - 1000;
    let letter = if &token[place..=place] == "A" { "B" } else { "A" };
    match verifier.verify(&format!("{}{letter}{}", &token[..place], &token[place + 1..]), NOW) {
        Ok(_) => Err("a token that stays good when it is changed".to_owned()),
        Err(_) => Ok(()),
    }
}

fn rules() -> jwt::Rules {
    jwt::Rules::new().issuer(ISSUER).audience(AUDIENCE).typ("JWT")
}

/// What the signature covers, and the signature.
fn apart(token: &str) -> Result<(String, Vec<u8>), String> {
    use base64::Engine as _;
    let (input, signature) = token.rsplit_once('.').ok_or("a token without parts")?;
    let signature = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(signature);
    Ok((input.to_owned(), signature.map_err(|why| why.to_string())?))
}

fn nanoseconds(taken: Duration) -> f64 {
    taken.as_secs_f64() * 1e9
}

fn said(why: impl ToString) -> String {
    why.to_string()
}

#[cfg(test)]
mod tests {
    use super::{CLAIMS_BYTES, Ours, check, claims};

    #[test]
    fn the_claims_have_the_bytes_that_they_are_said_to_have() {
        assert_eq!(claims().len(), CLAIMS_BYTES);
        let compact: serde_json::Value = serde_json::from_str(&claims()).expect("the claims are JSON");
        assert_eq!(compact.to_string(), claims(), "in the order in which they are written again");
    }

    #[test]
    fn a_rivals_token_is_verified_with_its_claims() {
        let (token, jwk) = Ours::new("44").expect("it signs").shown();
        assert_eq!(check(&jwk, &token), Ok(()));
        let (other, _) = Ours::new("65").expect("it signs").shown();
        assert!(check(&jwk, &other).is_err());
        assert!(check(&jwk, &token.replace('.', ".a")).is_err());
    }
}
