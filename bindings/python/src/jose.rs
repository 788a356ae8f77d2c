//! JSON Web Signatures, JSON Web Tokens and key sets. JSON goes in and out as text; `jwt.py` and `jws.py` make it dictionaries.

use core::time::Duration;

use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sealstone_jose::{PublicKey, UnixSeconds, jws, jwt};

use crate::buffer::{small, text};
use crate::failure::{Failure, of_jose};
use crate::keys::{SigningKey, VerifyingKey};

/// A set of public keys (RFC 7517, 5), of every algorithm known here: ML-DSA, ES256, ES384, ES512, EdDSA, RS256, PS256.
///
/// >>> key = generate("ML-DSA-44")
/// >>> keys = JwkSet([key.verifying_key])
/// >>> len(JwkSet.parse(keys.to_json()))
/// 1
#[pyclass(frozen, module = "sealstone")]
pub(crate) struct JwkSet(sealstone_jose::JwkSet);

#[pymethods]
impl JwkSet {
    /// A set of these keys, each with its key id. Raises BadKey if two have the same.
    #[new]
    #[pyo3(signature = (keys, /))]
    fn new(keys: Vec<Bound<'_, VerifyingKey>>) -> PyResult<Self> {
        let keys = keys.iter().map(|key| key.get().jose.clone());
        Ok(Self(sealstone_jose::JwkSet::new(keys).map_err(of_jose("BadKey"))?))
    }

    /// Reads a set: at most a mebibyte and 512 keys. Keys of unknown kinds are passed over; a private member in any of them is
    /// refused. Raises BadKey.
    #[staticmethod]
    #[pyo3(signature = (json, /))]
    fn parse(py: Python<'_>, json: &Bound<'_, PyAny>) -> PyResult<Self> {
        let json = text("json", json)?;
        Ok(Self(py.detach(|| sealstone_jose::JwkSet::parse(&json)).map_err(of_jose("BadKey"))?))
    }

    /// The set in JSON, with public members only.
    fn to_json(&self) -> String {
        self.0.to_json()
    }

    /// The key ids, in their order.
    #[getter]
    fn kids(&self) -> Vec<String> {
        self.0.keys().iter().map(|key| key.kid().to_owned()).collect()
    }

    fn __len__(&self) -> usize {
        self.0.keys().len()
    }

    fn __repr__(&self) -> String {
        format!("<sealstone.JwkSet of {} keys>", self.0.keys().len())
    }
}

/// One key, or a set in which the token chooses by its kid.
enum Keys {
    One(PublicKey),
    Set(Py<JwkSet>),
}

fn keys(given: &Bound<'_, PyAny>) -> PyResult<Keys> {
    if let Ok(key) = given.cast::<VerifyingKey>() {
        return Ok(Keys::One(key.get().jose.clone()));
    }
    match given.cast::<JwkSet>() {
        Ok(set) => Ok(Keys::Set(set.clone().unbind())),
        Err(_) => Err(PyTypeError::new_err("key: expected a VerifyingKey or a JwkSet")),
    }
}

/// A token that is not text is no token.
fn verified(py: Python<'_>, token: &str, given: &Bound<'_, PyAny>) -> PyResult<jws::Verified> {
    let keys = keys(given)?;
    let check = || {
        let unverified = jws::Unverified::parse(token)?;
        match &keys {
            Keys::One(key) => unverified.verify(key),
            Keys::Set(set) => unverified.verify_with_set(&set.get().0),
        }
    };
    Ok(py.detach(check).map_err(of_jose("BadToken"))?)
}

fn header_json(verified: &jws::Verified) -> String {
    let members = verified.header().members().iter();
    members.fold(jwt::Claims::new(), |all, (name, value)| all.with(name, value.clone())).to_json()
}

/// Signs a payload into a compact token. See sealstone.jws.sign.
#[pyfunction]
#[pyo3(signature = (key, payload, typ, cty, kid, /))]
pub(crate) fn jws_sign(
    key: &Bound<'_, SigningKey>,
    payload: &Bound<'_, PyAny>,
    typ: Option<&str>,
    cty: Option<&str>,
    kid: Option<&str>,
) -> PyResult<String> {
    let payload = small("payload", payload)?;
    signed(key, &payload, typ, cty, kid)
}

/// Signs claims in JSON into a token. See sealstone.jwt.sign.
#[pyfunction]
#[pyo3(signature = (key, claims, typ, kid, /))]
pub(crate) fn jwt_sign(
    key: &Bound<'_, SigningKey>,
    claims: &str,
    typ: &str,
    kid: Option<&str>,
) -> PyResult<String> {
    let claims = jwt::Claims::parse(claims).map_err(of_jose("BadClaims"))?.to_json();
    signed(key, claims.as_bytes(), Some(typ), None, kid)
}

fn signed(
    key: &Bound<'_, SigningKey>,
    payload: &[u8],
    typ: Option<&str>,
    cty: Option<&str>,
    kid: Option<&str>,
) -> PyResult<String> {
    let mut header = jws::Header::new();
    if let Some(typ) = typ {
        header = header.typ(typ);
    }
    if let Some(cty) = cty {
        header = header.cty(cty);
    }
    let py = key.py();
    let key = key.get();
    let sign = || -> Result<String, Failure> {
        let key = key.whole()?.clone();
        let key = match kid {
            Some(kid) => key.with_kid(kid),
            None => key,
        };
        jws::encode(&key, &header, payload).map_err(of_jose("BadToken"))
    };
    Ok(py.detach(sign)?)
}

/// Checks a compact token: its payload, and its header in JSON. See sealstone.jws.verify.
#[pyfunction]
#[pyo3(signature = (token, key, /))]
pub(crate) fn jws_verify<'py>(
    token: &str,
    key: &Bound<'py, PyAny>,
) -> PyResult<(Bound<'py, PyBytes>, String)> {
    let verified = verified(key.py(), token, key)?;
    Ok((PyBytes::new(key.py(), verified.payload()), header_json(&verified)))
}

/// What a token must say; for each of issuer, audience and typ: whether any will do, and else which.
#[derive(FromPyObject)]
pub(crate) struct Rules {
    any_issuer: bool,
    issuer: Option<String>,
    any_audience: bool,
    audience: Option<String>,
    any_typ: bool,
    typ: Option<String>,
    leeway: u64,
    max_age: Option<u64>,
    required: Vec<String>,
    without_expiry: bool,
}

/// Checks a token and its claims: the claims and the header in JSON. See sealstone.jwt.verify.
#[pyfunction]
#[pyo3(signature = (token, key, rules, now, /))]
pub(crate) fn jwt_verify(
    token: &str,
    key: &Bound<'_, PyAny>,
    rules: Rules,
    now: u64,
) -> PyResult<(String, String)> {
    let verified = verified(key.py(), token, key)?;
    let header = header_json(&verified);
    let checked = rules.read().check(verified, UnixSeconds(now)).map_err(of_jose("BadToken"))?;
    Ok((checked.claims().to_json(), header))
}

impl Rules {
    fn read(&self) -> jwt::Rules {
        let mut rules = jwt::Rules::new().leeway(Duration::from_secs(self.leeway));
        rules = match &self.issuer {
            Some(issuer) => rules.issuer(issuer),
            None if self.any_issuer => rules.any_issuer(),
            None => rules,
        };
        rules = match &self.audience {
            Some(audience) => rules.audience(audience),
            None if self.any_audience => rules.any_audience(),
            None => rules,
        };
        rules = match &self.typ {
            Some(typ) => rules.typ(typ),
            None if self.any_typ => rules.any_typ(),
            None => rules,
        };
        if let Some(age) = self.max_age {
            rules = rules.max_age(Duration::from_secs(age));
        }
        if self.without_expiry {
            rules = rules.without_expiry();
        }
        self.required.iter().fold(rules, |rules, claim| rules.require(claim))
    }
}
