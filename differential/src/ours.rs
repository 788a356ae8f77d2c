//! The engine's answers: from bytes, from expanded keys, one by one and in batches, which must all be the same.

use crate::Altered;
use crate::peers::Case;
use sealstone_mldsa::{
    Context, CpuEngine, Engine, Error, ExpandedSigningKey, ExpandedVerifyingKey, Mu, ParameterSet,
    Randomness, Signature, SigningKey, VerifyJob, VerifyingKey,
};

/// A key and a signature.
pub struct Ours<P: ParameterSet> {
    key: Box<ExpandedSigningKey<P>>,
    public: Box<ExpandedVerifyingKey<P>>,
    signature: Signature<P>,
}

struct Given([u8; 32]);

impl Randomness for Given {
    fn fill(&mut self, bytes: &mut [u8]) -> Result<(), Error> {
        bytes.copy_from_slice(&self.0);
        Ok(())
    }
}

impl<P: ParameterSet> Ours<P> {
    /// Makes a key and signs; `thorough`: from the seed too.
    pub fn new(case: &Case, thorough: bool) -> Self {
        let context = Context::new(&case.context).expect("short");
        let seeded = SigningKey::<P>::from_seed(&case.seed);
        let key = Box::new(seeded.expand());
        let signature = key.sign(&mut Given(case.rnd), context, &case.message).expect("signs");
        if thorough {
            assert!(seeded.verifying_key() == *key.verifying_key(), "the seed gives another public key");
            let again = seeded.sign(&mut Given(case.rnd), context, &case.message).expect("signs");
            assert!(again == signature, "the seed gives another signature");
        }
        let public = Box::new(key.verifying_key().expand());
        let verdict = public.verify(context, &case.message, &signature);
        assert_eq!(verdict, Ok(()), "we refuse our signature");
        Ours { key, public, signature }
    }

    pub fn public(&self) -> &[u8] {
        self.key.verifying_key().encode()
    }

    pub fn signature(&self) -> &[u8] {
        self.signature.encode()
    }

    /// Our verdicts: one by one with the expanded key, or in a batch, in turn; every tenth case from bytes too. An altered
    /// public key is always read from bytes.
    pub fn verdicts(&self, case: &Case, altered: &[Altered], number: u64) -> Vec<bool> {
        let keys: Vec<Option<ExpandedVerifyingKey<P>>> = altered
            .iter()
            .map(|one| {
                (one.public != self.public())
                    .then(|| VerifyingKey::decode(&one.public).expect("length").expand())
            })
            .collect();
        let keys: Vec<&ExpandedVerifyingKey<P>> =
            keys.iter().map(|key| key.as_ref().unwrap_or(&self.public)).collect();
        let signatures: Vec<Signature<P>> =
            altered.iter().map(|one| Signature::decode(&one.signature).expect("length")).collect();
        let mus: Vec<Mu> = altered.iter().zip(&keys).map(|(one, key)| mu(key, case, one)).collect();
        let verdicts: Vec<bool> = if number.is_multiple_of(2) {
            let questions = keys.iter().zip(&mus).zip(&signatures);
            questions.map(|((key, mu), signature)| key.verify_mu(mu, signature).is_ok()).collect()
        } else {
            let questions = keys.iter().zip(&mus).zip(&signatures);
            let mut jobs: Vec<VerifyJob<'_, P>> = questions
                .map(|((key, mu), signature)| VerifyJob { key, mu, signature, verdict: None })
                .collect();
            CpuEngine::new().verify(&mut jobs);
            jobs.iter().map(|job| job.verdict == Some(Ok(()))).collect()
        };
        if number.is_multiple_of(10) {
            let from_bytes = altered.iter().map(|one| verifies(case, one));
            assert!(from_bytes.eq(verdicts.iter().copied()), "case {number}: bytes and expanded keys differ");
        }
        verdicts
    }
}

fn mu<P: ParameterSet>(key: &ExpandedVerifyingKey<P>, case: &Case, one: &Altered) -> Mu {
    let mut hasher = key.message(Context::new(&case.context).expect("short"));
    hasher.update(&one.message);
    hasher.finish()
}

/// Our verdict from bytes.
pub fn verifies(case: &Case, one: &Altered) -> bool {
    use sealstone_mldsa::any;
    let key = any::VerifyingKey::decode(case.level, &one.public).expect("length");
    let signature = any::Signature::decode(case.level, &one.signature).expect("length");
    key.verify(Context::new(&case.context).expect("short"), &one.message, &signature).is_ok()
}
