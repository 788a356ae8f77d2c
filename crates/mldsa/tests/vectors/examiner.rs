//! Puts cases to a subject. After each refusal a good case must still pass in the same process: a state left
//! dirty by a refused input has broken good signatures elsewhere.

use sealstone_mldsa::Level;

use super::bytes;
use super::shape::LEVELS;
use super::subject::{Input, Secret, Subject, Trouble};

/// A subject and, for each level, a case it is known to pass.
pub struct Examiner<'a> {
    /// The implementation under examination.
    pub subject: &'a dyn Subject,
    witnesses: Vec<Witness>,
}

/// A key and a signature made before the examination.
struct Witness {
    level: Level,
    public: Vec<u8>,
    expanded: Vec<u8>,
    signature: Vec<u8>,
}

const WITNESS: Input<'static> = Input::Pure { context: b"witness", message: b"a good case after a bad one" };

impl<'a> Examiner<'a> {
    /// Makes the witnesses.
    pub fn new(subject: &'a dyn Subject) -> Result<Self, String> {
        let witness = |level| {
            let (public, expanded) = subject.keygen(level, &[7; 32])?;
            let signature = subject.sign(level, Secret::Expanded(&expanded), WITNESS, &[0; 32])?;
            subject.verify(level, &public, WITNESS, &signature)?;
            Ok::<_, Trouble>(Witness { level, public, expanded, signature })
        };
        let witnesses =
            LEVELS.into_iter().map(witness).collect::<Result<_, _>>().map_err(|why| why.to_string())?;
        Ok(Self { subject, witnesses })
    }

    /// The public and the expanded private key of a seed; the import of the second gives the first again.
    pub fn keygen(&self, level: Level, seed: &[u8]) -> Result<(Vec<u8>, Vec<u8>), String> {
        let (public, expanded) =
            self.subject.keygen(level, seed).map_err(|why| format!("key generation {why}"))?;
        let again = self
            .subject
            .public_of(level, &expanded)
            .map_err(|why| format!("import of the private key {why}"))?;
        same("public key of the imported private key", &public, &again)?;
        Ok((public, expanded))
    }

    /// The public key of an expanded private key.
    pub fn public_of(&self, level: Level, expanded: &[u8]) -> Result<Vec<u8>, String> {
        self.subject.public_of(level, expanded).map_err(|why| format!("import of the private key {why}"))
    }

    /// Signs, and verifies what was signed.
    pub fn sign(
        &self,
        level: Level,
        secret: Secret<'_>,
        public: &[u8],
        input: Input<'_>,
        rnd: &[u8; 32],
    ) -> Result<Vec<u8>, String> {
        let signature =
            self.subject.sign(level, secret, input, rnd).map_err(|why| format!("signing {why}"))?;
        let verdict = self.subject.verify(level, public, input, &signature);
        verdict.map_err(|why| format!("verification of the signature just made {why}"))?;
        Ok(signature)
    }

    /// The signature is exactly this, and verifies.
    pub fn signs(
        &self,
        level: Level,
        secret: Secret<'_>,
        public: &[u8],
        input: Input<'_>,
        rnd: &[u8; 32],
        expected: &[u8],
    ) -> Result<(), String> {
        same("signature", expected, &self.sign(level, secret, public, input, rnd)?)
    }

    /// Signing is refused, and a good case still passes.
    pub fn refuses_to_sign(&self, level: Level, secret: Secret<'_>, input: Input<'_>) -> Result<(), String> {
        match self.subject.sign(level, secret, input, &[0; 32]) {
            Ok(_) => Err("signed what it had to refuse".to_owned()),
            Err(Trouble::Refused(_)) => self.still_good(level),
            Err(trouble) => Err(trouble.to_string()),
        }
    }

    /// The verdict is this; after a refusal a good case still passes.
    pub fn verifies(
        &self,
        level: Level,
        public: &[u8],
        input: Input<'_>,
        signature: &[u8],
        valid: bool,
    ) -> Result<(), String> {
        match self.subject.verify(level, public, input, signature) {
            Ok(()) if valid => Ok(()),
            Ok(()) => Err("accepted a bad signature".to_owned()),
            Err(Trouble::Refused(_)) if !valid => self.still_good(level),
            Err(why) => Err(format!("verification {why}")),
        }
    }

    /// μ is exactly this.
    pub fn mu(&self, level: Level, public: &[u8], input: Input<'_>, expected: &[u8]) -> Result<(), String> {
        let mu =
            self.subject.mu(level, public, input).map_err(|why| format!("message representative {why}"))?;
        same("message representative", expected, &mu)
    }

    fn still_good(&self, level: Level) -> Result<(), String> {
        let Some(witness) = self.witnesses.iter().find(|witness| witness.level == level) else {
            return Err("no witness for this level".to_owned());
        };
        let verdict = self.subject.verify(level, &witness.public, WITNESS, &witness.signature);
        verdict.map_err(|why| format!("rightly refused, but then a good signature: {why}"))?;
        let again = self.subject.sign(level, Secret::Expanded(&witness.expanded), WITNESS, &[0; 32]);
        let again = again.map_err(|why| format!("rightly refused, but then good signing: {why}"))?;
        same("signature after a refusal", &witness.signature, &again)
    }
}

/// Equal bytes, or where they differ.
pub fn same(what: &str, expected: &[u8], found: &[u8]) -> Result<(), String> {
    if expected == found {
        return Ok(());
    }
    if expected.len() != found.len() {
        return Err(format!("{what}: {} bytes expected, {} found", expected.len(), found.len()));
    }
    let at = expected.iter().zip(found).position(|(one, other)| one != other).unwrap_or(0);
    let shown = |bytes: &[u8]| bytes::encode(&bytes[at..bytes.len().min(at + 8)]);
    Err(format!("{what}: differs from byte {at}: {} expected, {} found", shown(expected), shown(found)))
}
