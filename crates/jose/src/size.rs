//! How large a token is, part by part, and which usual limits it breaks.
//!
//! The signature cannot be compressed and the limits are other people's defaults, so it is good to know before the
//! token meets them.
//!
//! ```
//! use sealstone_jose::{Algorithm, PrivateKey, jwt, size};
//!
//! # fn main() -> Result<(), sealstone_jose::Error> {
//! let key = PrivateKey::generate(Algorithm::Es256)?;
//! let claims = jwt::Claims::new().with("iss", "https://id.example").with("exp", 1_800_000_300);
//! let token = jwt::sign(&key, "at+jwt", &claims)?;
//! let report = size::report(&token)?;
//! assert_eq!(report.total, token.len());
//! assert_eq!(report.signature, 86); // 64 bytes as base64url
//! assert_eq!(report.broken().count(), 0);
//!
//! // What would change with ML-DSA? With the largest it is no cookie any more.
//! let all = size::compare(&token)?;
//! let largest = all.iter().find(|report| report.algorithm == Algorithm::MlDsa87).expect("all are there");
//! assert_eq!(largest.signature, 6170);
//! assert!(largest.broken().any(|limit| limit.name == "browser cookie"));
//!
//! // A limit by itself: the name of the cookie counts too.
//! let cookie = size::LIMITS[0];
//! assert_eq!(cookie.carrier.overhead(), "access_token=".len());
//! assert!(cookie.is_broken_by(4096) && !cookie.is_broken_by(4096 - 13));
//! # Ok(())
//! # }
//! ```

use serde_json::Value;

use crate::alg::Algorithm;
use crate::b64;
use crate::error::Error;
use crate::jws::Unverified;

/// The cookie's name that [`Carrier::Cookie`] counts.
pub const COOKIE_NAME: &str = "access_token";

/// How a token travels, which decides what is counted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// `access_token=…` in a cookie: name, `=` and value.
    Cookie,
    /// The line `Authorization: Bearer …` without its end.
    Header,
}

impl Carrier {
    /// Bytes beside the token.
    pub const fn overhead(self) -> usize {
        match self {
            Self::Cookie => COOKIE_NAME.len() + 1,
            Self::Header => "Authorization: Bearer ".len(),
        }
    }
}

/// A limit that tokens meet in practice: the default of a widespread program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Whose limit.
    pub name: &'static str,
    /// Most bytes.
    pub bytes: usize,
    /// What is counted.
    pub carrier: Carrier,
    /// Whether the limit is for all headers together, so that the token has less than this to itself.
    pub shared: bool,
    /// The setting that raises it, if there is one.
    pub setting: Option<&'static str>,
}

impl Limit {
    /// Whether a token of `token_len` bytes is too large for it.
    pub const fn is_broken_by(&self, token_len: usize) -> bool {
        token_len + self.carrier.overhead() > self.bytes
    }
}

/// The limits, smallest first.
pub const LIMITS: [Limit; 8] = [
    limit("browser cookie", 4096, Carrier::Cookie, false, None),
    limit("nginx response header", 4096, Carrier::Cookie, true, Some("proxy_buffer_size")),
    limit("Apache httpd header field", 8190, Carrier::Header, false, Some("LimitRequestFieldSize")),
    limit("nginx request header line", 8192, Carrier::Header, false, Some("large_client_header_buffers")),
    limit("Tomcat headers", 8192, Carrier::Header, true, Some("maxHttpHeaderSize")),
    limit("Jetty headers", 8192, Carrier::Header, true, Some("requestHeaderSize")),
    limit("HAProxy headers", 15_360, Carrier::Header, true, Some("tune.bufsize")),
    limit("Node.js headers", 16_384, Carrier::Header, true, Some("--max-http-header-size")),
];

/// Bytes of a token, part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report<A = Algorithm> {
    /// The signature algorithm.
    pub algorithm: A,
    /// The first part.
    pub header: usize,
    /// The second part.
    pub payload: usize,
    /// The third part.
    pub signature: usize,
    /// All of it, dots included.
    pub total: usize,
}

impl<A> Report<A> {
    /// The limits that the token breaks even when it travels alone.
    pub fn broken(&self) -> impl Iterator<Item = &'static Limit> {
        let total = self.total;
        LIMITS.iter().filter(move |limit| limit.is_broken_by(total))
    }

    fn new(algorithm: A, header: usize, payload: usize, signature: usize) -> Self {
        let signature = b64::encoded_len(signature);
        Self { algorithm, header, payload, signature, total: header + payload + signature + 2 }
    }
}

/// Bytes of a signature of an RSA key of 2048 bits.
const RSA_2048: usize = 256;

/// Measures a token. Its signature is not checked.
///
/// # Errors
/// Those of [`Unverified::parse`].
pub fn report(token: &str) -> Result<Report, Error> {
    let unverified = Unverified::parse(token)?;
    let part = |index| token.split('.').nth(index).map_or(0, str::len);
    Ok(Report::new(unverified.header().algorithm(), part(0), part(1), unverified.signature.len()))
}

/// What the same header and claims would measure under each algorithm, in the order of [`Algorithm::ALL`]; with RSA, under a
/// key of 2048 bits.
///
/// The key id is taken as it is: a thumbprint is as long for one algorithm as for another.
///
/// # Errors
/// Those of [`Unverified::parse`].
pub fn compare(token: &str) -> Result<Vec<Report>, Error> {
    Ok(standard(&Unverified::parse(token)?))
}

fn standard<A>(token: &Unverified<'_, A>) -> Vec<Report> {
    let len = |algorithm: Algorithm| algorithm.signature_len().unwrap_or(RSA_2048);
    Algorithm::ALL.map(|algorithm| under(token, algorithm, algorithm.name(), len(algorithm))).to_vec()
}

/// The same header and claims with another `alg` and a signature of so many bytes.
fn under<A, B>(token: &Unverified<'_, A>, algorithm: B, name: &str, signature: usize) -> Report<B> {
    let mut header = token.header().members().clone();
    header.insert("alg".to_owned(), Value::from(name));
    let header = b64::encoded_len(Value::Object(header).to_string().len());
    Report::new(algorithm, header, b64::encoded_len(token.peek_payload_untrusted().len()), signature)
}

/// The same beside tokens of two halves. Feature `composite`. A signature with an ECDSA half in DER is counted at its longest.
#[cfg(feature = "composite")]
pub mod composite {
    use super::{Report, standard, under};
    use crate::composite::Algorithm;
    use crate::error::Error;
    use crate::jws::Unverified;

    /// Measures a composite token. Its signature is not checked.
    ///
    /// # Errors
    /// Those of [`Unverified::parse_composite`].
    pub fn report(token: &str) -> Result<Report<Algorithm>, Error> {
        let unverified = Unverified::parse_composite(token)?;
        let part = |index| token.split('.').nth(index).map_or(0, str::len);
        Ok(Report::new(unverified.header().algorithm(), part(0), part(1), unverified.signature.len()))
    }

    /// What a token, standard or composite, would measure under each standard and each composite algorithm, as
    /// [`compare`](super::compare) says.
    ///
    /// ```
    /// use sealstone_jose::composite::{Algorithm, PrivateKey, encode};
    /// use sealstone_jose::{jws::Header, size};
    ///
    /// # fn main() -> Result<(), sealstone_jose::Error> {
    /// let key = PrivateKey::generate(Algorithm::MlDsa44Ed25519)?;
    /// let token = encode(&key, &Header::new(), b"{}")?;
    /// assert_eq!(size::composite::report(&token)?.total, token.len());
    ///
    /// // The second half costs next to nothing.
    /// let (standard, composite) = size::composite::compare(&token)?;
    /// let ml_dsa = standard.iter().find(|report| report.algorithm.name() == "ML-DSA-44").expect("all are there");
    /// let pair = composite.iter().find(|report| report.algorithm == Algorithm::MlDsa44Ed25519).expect("all are there");
    /// assert_eq!(pair.total, token.len());
    /// assert!(pair.total - ml_dsa.total < 100);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of [`Unverified::parse`].
    pub fn compare(token: &str) -> Result<(Vec<Report>, Vec<Report<Algorithm>>), Error> {
        fn all<A>(token: &Unverified<'_, A>) -> (Vec<Report>, Vec<Report<Algorithm>>) {
            let len = |algorithm: Algorithm| algorithm.pair().signature_max();
            let report = |algorithm: Algorithm| under(token, algorithm, algorithm.name(), len(algorithm));
            (standard(token), Algorithm::ALL.map(report).to_vec())
        }
        match (Unverified::parse(token), Unverified::parse_composite(token)) {
            (Ok(token), _) => Ok(all(&token)),
            (_, Ok(token)) => Ok(all(&token)),
            (Err(cause), _) => Err(cause),
        }
    }
}

const fn limit(
    name: &'static str,
    bytes: usize,
    carrier: Carrier,
    shared: bool,
    setting: Option<&'static str>,
) -> Limit {
    Limit { name, bytes, carrier, shared, setting }
}
