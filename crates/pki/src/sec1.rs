//! ECPrivateKey, RFC 5915 (SEC 1 §C.4): inside PKCS#8, and alone under the PEM label `EC PRIVATE KEY`.

use zeroize::Zeroizing;

use crate::algorithm::KeyAlgorithm;
use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::spki::PublicKeyInfo;

const PARAMETERS: Tag = Tag { byte: 0xa0, name: "the curve in [0]" };
const PUBLIC_KEY: Tag = Tag { byte: 0xa1, name: "the public key in [1]" };

/// What an ECPrivateKey holds.
pub(crate) struct EcKey<'a> {
    pub(crate) algorithm: KeyAlgorithm,
    pub(crate) scalar: &'a [u8],
    pub(crate) public: Option<&'a [u8]>,
}

/// Reads `SEQUENCE { 1, OCTET STRING, [0] curve, [1] BIT STRING }`. The curve may be left out where something around
/// it has named one, and must then not be another.
pub(crate) fn read<'a>(reader: &mut Reader<'a>, named: Option<KeyAlgorithm>) -> Result<EcKey<'a>, Error> {
    let mut fields = reader.take(der::SEQUENCE)?;
    fields.take_version(&[1], "version 1")?;
    let scalar = fields.take(der::OCTET_STRING)?.rest();
    let inner = match fields.take_optional(PARAMETERS)? {
        Some(mut parameters) => {
            let curve = parameters.take(der::OBJECT_IDENTIFIER)?;
            parameters.end()?;
            Some(KeyAlgorithm::by_curve(curve.rest())?)
        }
        None => None,
    };
    let algorithm = match (named, inner) {
        (Some(outer), Some(inner)) if outer != inner => {
            return Err(Error::Inconsistent { parts: "two different curves" });
        }
        (Some(algorithm), _) | (None, Some(algorithm)) => algorithm,
        (None, None) => return Err(fields.refusal(PARAMETERS.name, "nothing".into())),
    };
    let public = match fields.take_optional(PUBLIC_KEY)? {
        Some(mut public) => {
            let point = public.take_bits(der::BIT_STRING)?;
            public.end()?;
            PublicKeyInfo::new(algorithm, point)?;
            Some(point)
        }
        None => None,
    };
    fields.end()?;
    check_scalar(algorithm, scalar)?;
    Ok(EcKey { algorithm, scalar, public })
}

/// Writes what PKCS#8 holds: the curve is named outside (RFC 5958 §2), so not here.
pub(crate) fn write(scalar: &[u8], public: Option<&[u8]>) -> Zeroizing<Vec<u8>> {
    let version = der::write(der::INTEGER, &[&[1]]);
    let scalar = der::write(der::OCTET_STRING, &[scalar]);
    let public = match public {
        Some(point) => der::write(PUBLIC_KEY, &[&der::write_bits(der::BIT_STRING, point)]),
        None => Zeroizing::new(Vec::new()),
    };
    der::write(der::SEQUENCE, &[&version, &scalar, &public])
}

/// A scalar has field length and lies in 1..n. No branch depends on a byte of it; that it is in range is public, for
/// a key out of range is none.
pub(crate) fn check_scalar(algorithm: KeyAlgorithm, scalar: &[u8]) -> Result<(), Error> {
    algorithm.check_len("private scalar", algorithm.secret_len(), scalar.len())?;
    let order = algorithm.order().unwrap_or_default();
    let mut borrow = 0;
    let mut any = 0;
    for (digit, limit) in scalar.iter().zip(order).rev() {
        // scalar - n, from the lowest byte: the last borrow is 1 exactly when scalar < n.
        borrow = (i16::from(*digit) - i16::from(*limit) - borrow) >> 8 & 1;
        any |= digit;
    }
    if borrow == 1 && any != 0 { Ok(()) } else { Err(Error::ScalarRange { algorithm }) }
}
