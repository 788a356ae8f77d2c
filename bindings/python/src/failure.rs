//! Errors on their way to Python, whose classes are in `_errors.py`.

use pyo3::prelude::*;

use crate::forms::Refused;

/// The name of a class of `_errors.py`, and what happened, in words.
#[derive(Debug)]
pub(crate) struct Failure {
    class: &'static str,
    words: String,
}

impl Failure {
    pub(crate) fn new(class: &'static str, words: impl Into<String>) -> Self {
        Self { class, words: words.into() }
    }

    pub(crate) fn length(name: &str, expected: usize, found: usize) -> Self {
        Self::new("WrongLength", format!("{name}: expected {expected} bytes, found {found}"))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| {
            let made = py
                .import("sealstone._errors")
                .and_then(|module| module.getattr(failure.class))
                .and_then(|class| class.call1((failure.words,)));
            match made {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            }
        })
    }
}

impl From<sealstone_mldsa::Error> for Failure {
    fn from(error: sealstone_mldsa::Error) -> Self {
        use sealstone_mldsa::Error;
        let class = match error {
            Error::BadKey => "BadKey",
            Error::BadSignature => "BadSignature",
            Error::ContextTooLong | Error::WrongLength { .. } => "WrongLength",
            Error::RngFailed => "RngFailed",
            _ => "FaultDetected",
        };
        Self::new(class, error.to_string())
    }
}

/// What is left of an error of sealstone-jose depends on what was read: `malformed` is the class for that.
pub(crate) fn of_jose(malformed: &'static str) -> impl Fn(sealstone_jose::Error) -> Failure {
    use sealstone_jose::Error;
    move |error| {
        let class = match &error {
            Error::AlgorithmMismatch { .. } => "AlgorithmMismatch",
            Error::AlgorithmUnknown { .. } | Error::KeyTypeUnknown { .. } => "UnknownAlgorithm",
            Error::AmbiguousKey { .. } | Error::UnknownKid { .. } => "UnknownKey",
            Error::AudienceMismatch { .. }
            | Error::ClaimMalformed { .. }
            | Error::ClaimMissing { .. }
            | Error::IssuerMismatch { .. }
            | Error::TypMismatch { .. } => "ClaimRefused",
            Error::BadSignature | Error::NoneVerifies { .. } | Error::SignatureLength { .. } => {
                "BadSignature"
            }
            Error::DuplicateKid { .. }
            | Error::KeyMalformed { .. }
            | Error::KeyMismatch { .. }
            | Error::KeyUseRefused { .. }
            | Error::PrivateMember { .. } => "BadKey",
            Error::Expired { .. } | Error::TooOld { .. } => "Expired",
            Error::IssuedInFuture { .. } | Error::NotYetValid { .. } => "NotYetValid",
            Error::Provider => "RngFailed",
            _ => malformed,
        };
        Failure::new(class, hinted(&error, error.hint()))
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        match refused {
            Refused::Engine(error) => Self { class: "BadKey", ..error.into() },
            Refused::Jose(error) => of_jose("BadKey")(error),
            Refused::NotMlDsa { .. } => Self::new("UnknownAlgorithm", refused.to_string()),
            Refused::NoSeed => Self::new("NoSeed", refused.to_string()),
            Refused::Other(_) => Self::new("BadKey", refused.to_string()),
            Refused::Pki(error) => {
                let class = match &error {
                    sealstone_pki::Error::AlgorithmUnknown { .. } => "UnknownAlgorithm",
                    sealstone_pki::Error::NoSeed => "NoSeed",
                    _ => "BadKey",
                };
                Self::new(class, hinted(&error, error.hint()))
            }
        }
    }
}

fn hinted(error: &impl core::fmt::Display, hint: Option<&str>) -> String {
    match hint {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    }
}
