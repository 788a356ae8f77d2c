//! The loop's part in payloads and signatures that come apart.

use std::sync::Arc;

use super::{Outcome, Turn};
use crate::gateway::Error;
use crate::gateway::pair::Met;
use crate::gateway::reason::Reason;
use crate::gateway::verify::{Judge, Looked};
use crate::gateway::wire::Publish;
use crate::message::UnixMillis;

impl Turn<'_> {
    /// What was refused for having no signature, or for being one, may wait for what belongs to it.
    pub(super) fn apart(&mut self, publish: &Arc<Publish>, reason: Reason, now: UnixMillis) -> Outcome {
        let directory = Arc::clone(&self.directory);
        let judge = Judge { rules: self.rules, directory: &directory };
        let Some(device) = self.pairs.device(&judge, publish, reason, now) else {
            return Outcome::Refused(reason);
        };
        if self.failures_of(device).is_spent(now) {
            return Outcome::Refused(Reason::OverBudget);
        }
        let mut failed = false;
        let met = self.pairs.meet(publish, device, &judge, &self.store, || failed = true, now);
        if failed {
            self.failures_of(device).spend(now);
        }
        match met {
            Met::Whole(number, verified) => Outcome::Whole(number, verified),
            Met::Refused(reason) => Outcome::Refused(reason),
            Met::Waits(number) if self.store.hold(number, publish) => Outcome::Waits,
            Met::Waits(number) => {
                self.pairs.release(number);
                Outcome::Refused(reason)
            }
        }
    }

    /// Halves whose others did not come: as if they had come now, and nothing ever waited. Without a broker nothing can come.
    /// Errors: the commander cannot answer.
    pub(super) fn unpaired(&mut self, now: UnixMillis) -> Result<(), Error> {
        if self.link.is_none() {
            return Ok(());
        }
        for number in self.pairs.due(now) {
            let Some(publish) = self.pairs.release(number) else { continue };
            self.store.release(number);
            let judge = Judge { rules: self.rules, directory: &self.directory };
            let passed = match judge.look(&publish, &self.store, now) {
                Ok(Looked::Unsigned(passed)) => Ok(*passed),
                Ok(Looked::Signed(_) | Looked::Release) => Err(Reason::SignatureTopic),
                Err(reason) => Err(reason),
            };
            self.decide(passed, &publish, now)?;
        }
        Ok(())
    }
}
