//! The one way from what was said about a certificate to the file with it, whoever signs.

use sealstone_mldsa::OsRandom;
use sealstone_pki::x509::{CertificateBuilder, Profile, Serial};
use sealstone_pki::{Certificate, Error as Refused, Name};

use super::content::Number;
use super::load::{Out, Written};
use super::{Names, Place, words};
use crate::error::Error;
use crate::files::Target;
use crate::terminal::Terminal;

/// What was said.
pub(super) struct Said<'o> {
    pub(super) names: &'o Names,
    pub(super) place: &'o Place,
    pub(super) out: &'o Out,
    pub(super) target: &'o Target,
    /// How it is written, if that was not said.
    pub(super) form: Written,
}

impl Said<'_> {
    /// What is to be in it, so far as the options say.
    pub(super) fn profile(&self) -> Profile {
        let mut profile = self.names.profile();
        self.place.add_to(&mut profile);
        profile
    }

    /// Has it signed, writes it, and says what was made. `end_of_issuer` is where the authority's own certificate ends.
    pub(super) fn certify(
        &self,
        subject: Name,
        profile: Profile,
        end_of_issuer: Option<i64>,
        sign: impl FnOnce(CertificateBuilder) -> Result<Certificate, Refused>,
        terminal: &mut Terminal,
    ) -> Result<Certificate, Error> {
        let (not_before, not_after) = self.place.validity(self.names.is_authority, end_of_issuer)?;
        if end_of_issuer.is_some_and(|end| not_after > end) {
            terminal.warn(
                format_args!(
                    "it would be valid for longer than its authority, until {}",
                    words::time(not_after)
                ),
                "no chain holds after the authority's end: a shorter --valid-for says so",
            );
        }
        let serial = match &self.place.serial {
            Some(Number(digits)) => Serial::new(digits),
            None => Serial::random(&mut OsRandom),
        };
        let serial = serial.map_err(|cause| made(&cause))?;
        let builder = CertificateBuilder { not_after, not_before, profile, serial, subject };
        let certificate = sign(builder).map_err(|cause| made(&cause))?;
        let form = self.out.format.unwrap_or(self.form);
        self.out.write(self.target, form, certificate.to_pem(), certificate.der(), terminal)?;
        words::written(self.target, &certificate, self.out.json, terminal)?;
        Ok(certificate)
    }
}

/// What cannot be made is the fault of what was asked for.
pub(super) fn made(cause: &Refused) -> Error {
    Error::Usage { what: cause.to_string(), hint: cause.hint().map(str::to_owned) }
}
