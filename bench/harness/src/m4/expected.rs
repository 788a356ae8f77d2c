//! What the engine computes on this machine, for the same key and the same messages.

use sealstone_mldsa::{Context, MlDsa44, MlDsa65, MlDsa87, ParameterSet, SigningKey, hazmat};
use sealstone_mqtt::form::By;
use sealstone_mqtt::seal::overhead;
use sealstone_mqtt::{Form, Message, Topic};

use super::LEVELS;
use super::lines::Lines;

const SEED: [u8; 32] = [7; 32];
const MESSAGES: u8 = 16;
const MESSAGE_LEN: usize = 50;

/// Of each level.
pub(crate) struct Expected(Vec<Level>);

struct Level {
    public_key: String,
    signatures: Vec<String>,
    c_tilde: Vec<String>,
    /// The message that is accepted at the first attempt.
    at_once: usize,
    key: usize,
    envelope: usize,
}

impl Expected {
    pub(crate) fn compute() -> Self {
        Self(vec![level::<MlDsa44>(), level::<MlDsa65>(), level::<MlDsa87>()])
    }

    fn of(&self, level: &str) -> &Level {
        let place = LEVELS.iter().position(|known| *known == level);
        &self.0[place.expect("levels come from LEVELS")]
    }

    /// The first message that takes one attempt; there is one at each level.
    pub(crate) fn at_once(&self, level: &str) -> usize {
        self.of(level).at_once
    }

    /// Bytes of what signing starts from, the seed or the key of FIPS 204, Algorithm 24, and of an envelope of the form v1 around
    /// one of the messages, signature included.
    pub(crate) fn key_and_envelope(&self, profile: &str, level: &str) -> usize {
        let of = self.of(level);
        of.envelope + if profile == "seed" { SEED.len() } else { of.key }
    }

    /// Errors: the board computed something else.
    pub(crate) fn check_ours(&self, lines: &Lines) -> Result<(), String> {
        for (level, expected) in LEVELS.into_iter().zip(&self.0) {
            let pk = lines.words(&format!("digest/pk/{level}"));
            if pk.is_empty() || pk.iter().any(|pk| *pk != expected.public_key) {
                return Err(format!("the board has another public key at level {level}"));
            }
            let signatures = lines.words(&format!("digest/sign/{level}"));
            // As often as there are profiles.
            let whole = !signatures.is_empty() && signatures.len().is_multiple_of(expected.signatures.len());
            if !whole || signatures.chunks(expected.signatures.len()).any(|all| all != expected.signatures) {
                return Err(format!("the board makes other signatures at level {level}"));
            }
        }
        Ok(())
    }

    /// Errors: a rival computed something else, so it was not measured on the same messages.
    pub(crate) fn check_rival(&self, name: &str, lines: &Lines) -> Result<(), String> {
        for (level, expected) in LEVELS.into_iter().zip(&self.0) {
            if lines.words(&format!("c_tilde/{level}")) != expected.c_tilde {
                return Err(format!("{name} makes other signatures at level {level}"));
            }
        }
        Ok(())
    }
}

fn level<P: ParameterSet>() -> Level {
    let key = SigningKey::<P>::from_seed(&SEED).expand();
    let mu = |bytes: &[u8]| {
        let mut hasher = key.message(Context::EMPTY);
        hasher.update(bytes);
        hasher.finish()
    };
    // A digest: the bytes are a message to the key, and it is that message's μ.
    let digest = |bytes: &[u8]| hexadecimal(&mu(bytes).as_bytes()[..16]);
    let mut level = Level {
        public_key: digest(key.verifying_key().encode()),
        signatures: Vec::new(),
        c_tilde: Vec::new(),
        at_once: usize::MAX,
        key: P::SK_LEN,
        envelope: MESSAGE_LEN + envelope(P::LEVEL),
    };
    for i in 0..MESSAGES {
        let mut refused = 0;
        let signed = hazmat::sign_mu_watched(&key, &mu(&[i; MESSAGE_LEN]), &[0; 32], |_| refused += 1);
        let signature = signed.expect("no message of the list takes too many attempts");
        if refused == 0 {
            level.at_once = level.at_once.min(i.into());
        }
        level.signatures.push(digest(signature.encode()));
        level.c_tilde.push(hexadecimal(&signature.encode()[..32]));
    }
    level
}

/// What an envelope has besides its payload; a v1 envelope does not hold its topic.
fn envelope(level: sealstone_mldsa::Level) -> usize {
    let topic = Topic::new("device/7/telemetry/temp").expect("a topic");
    overhead(Form::V1, &Message::new(topic, &[]), By::Signature(level)).expect("nothing of it is too long")
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::{Expected, Lines};
    use crate::m4::LEVELS;

    #[test]
    fn another_signature_is_noticed() {
        let expected = Expected::compute();
        let mut text = String::new();
        for (level, of) in LEVELS.into_iter().zip(&expected.0) {
            assert!(of.at_once < 16, "level {level}");
            text += &format!("digest/pk/{level},{}\n", of.public_key);
            of.signatures.iter().for_each(|digest| text += &format!("digest/sign/{level},{digest}\n"));
        }
        let check = |text: &str| expected.check_ours(&Lines::parse(text).expect("lines"));
        assert_eq!(check(&text), Ok(()));
        for digest in [&expected.0[1].public_key, &expected.0[2].signatures[15]] {
            assert!(check(&text.replace(digest, "00")).is_err());
        }
        assert!(check("").is_err());
    }
}
