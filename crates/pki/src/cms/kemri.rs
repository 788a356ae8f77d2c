//! KEMRecipientInfo (RFC 9629 §3): the content's key, wrapped under a secret that a KEM carries (RFC 9936).

use core::fmt;

use aws_lc_rs::hkdf;
use aws_lc_rs::key_wrap::{AES_128, AES_256, AesKek, KeyWrap as _};
use sealstone_mldsa::Randomness;
use zeroize::Zeroizing;

use super::error::Error;
use super::oid;
use super::signed::Identifier;
use crate::der::{self, Reader, Tag};
use crate::ml_kem::{DecapsulationKey, EncapsulationKey, MlKem};

pub(super) const ORI: Tag = Tag { byte: 0xa4, name: "another recipient in [4]" };
const UKM: Tag = Tag { byte: 0xa0, name: "user keying material in [0]" };

/// id-aes128-wrap and id-aes256-wrap, 2.16.840.1.101.3.4.1.5 and .45 (RFC 3565 §2.3.2).
const AES128_WRAP: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x05];
const AES256_WRAP: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01, 0x2d];

/// What AES key wrap adds to a key (RFC 3394 §2.2.1).
const WRAP_OVERHEAD: usize = 8;

/// A recipient of a message, by its own account.
#[non_exhaustive]
#[derive(Clone, PartialEq, Eq)]
pub enum RecipientInfo {
    /// Who holds an ML-KEM key.
    Kem(KemRecipient),
    /// Another kind: RSA, key agreement, a shared key, a password, another KEM.
    Other {
        /// Which.
        kind: String,
    },
}

/// Who holds an ML-KEM key, and what was wrapped for it.
///
/// ```
/// use sealstone_mldsa::OsRandom;
/// use sealstone_pki::cms::{self, Cipher, Identifier, RecipientInfo};
/// use sealstone_pki::ml_kem::MlKem;
/// use sealstone_pki::x509::subject_key_id;
///
/// # fn main() -> Result<(), sealstone_pki::cms::Error> {
/// // `bob`: Bob's key of ML-KEM-768.
/// # let bob = sealstone_pki::ml_kem::DecapsulationKey::generate(
/// #     sealstone_pki::ml_kem::MlKem::MlKem768, &mut sealstone_mldsa::OsRandom)?;
/// let key = bob.encapsulation_key();
/// let message = cms::encrypt(b"nine", &[cms::Recipient::key(&key)?], Cipher::Aes256Gcm, &mut OsRandom)?;
///
/// // Which of my keys is it for?
/// let message = cms::Encrypted::from_der(&message)?;
/// let [RecipientInfo::Kem(recipient)] = message.recipients() else { panic!("one, with ML-KEM") };
/// assert_eq!(recipient.algorithm(), MlKem::MlKem768);
/// assert_eq!(recipient.identifier(), &Identifier::KeyId(subject_key_id(&key.to_der())?.to_vec()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct KemRecipient {
    id: Identifier,
    kem: MlKem,
    ciphertext: Vec<u8>,
    wrap: Wrap,
    ukm: Option<Vec<u8>>,
    encrypted_key: Vec<u8>,
}

impl KemRecipient {
    /// How it is named.
    pub fn identifier(&self) -> &Identifier {
        &self.id
    }

    /// The parameter set of its key.
    pub fn algorithm(&self) -> MlKem {
        self.kem
    }
}

impl fmt::Debug for RecipientInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kem(recipient) => write!(f, "Kem({}, {})", recipient.kem, recipient.id),
            Self::Other { kind } => write!(f, "Other({kind})"),
        }
    }
}

/// The key wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrap {
    Aes128,
    Aes256,
}

impl Wrap {
    /// What RFC 9936 §2.2 demands: a key no weaker than the KEM.
    const fn of(kem: MlKem) -> Self {
        match kem {
            MlKem::MlKem512 => Self::Aes128,
            MlKem::MlKem768 | MlKem::MlKem1024 => Self::Aes256,
        }
    }

    const fn key_len(self) -> usize {
        match self {
            Self::Aes128 => 16,
            Self::Aes256 => 32,
        }
    }

    fn algorithm(self) -> Vec<u8> {
        let oid = match self {
            Self::Aes128 => AES128_WRAP,
            Self::Aes256 => AES256_WRAP,
        };
        der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[oid])]).to_vec()
    }

    fn kek(self, key: &[u8]) -> Result<AesKek, Error> {
        let cipher = match self {
            Self::Aes128 => &AES_128,
            Self::Aes256 => &AES_256,
        };
        AesKek::new(cipher, key).map_err(|_| crate::Error::Provider.into())
    }

    /// CMSORIforKEMOtherInfo in DER (RFC 9629 §5): the context of the derivation.
    fn other_info(self, ukm: Option<&[u8]>) -> Vec<u8> {
        let len = der::write(der::INTEGER, &[&[self.key_len() as u8]]);
        let ukm = match ukm {
            Some(ukm) => der::write(UKM, &[&der::write(der::OCTET_STRING, &[ukm])]).to_vec(),
            None => Vec::new(),
        };
        der::write(der::SEQUENCE, &[&self.algorithm(), &len, &ukm]).to_vec()
    }

    /// The key-encryption key: HKDF with SHA-256 and no salt (RFC 9936 §2.2.1).
    fn derive(self, secret: &[u8; 32], ukm: Option<&[u8]>) -> Result<Zeroizing<Vec<u8>>, Error> {
        struct Len(usize);
        impl hkdf::KeyType for Len {
            fn len(&self) -> usize {
                self.0
            }
        }
        let info = self.other_info(ukm);
        let mut kek = Zeroizing::new(vec![0; self.key_len()]);
        let pseudorandom = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]).extract(secret);
        let filled = pseudorandom.expand(&[&info], Len(self.key_len())).and_then(|okm| okm.fill(&mut kek));
        filled.map_err(|_| crate::Error::Provider)?;
        Ok(kek)
    }
}

/// A RecipientInfo, `[4] OtherRecipientInfo`, that carries this content-encryption key.
pub(super) fn write(
    id: &[u8],
    key: &EncapsulationKey,
    content_key: &[u8],
    rng: &mut impl Randomness,
) -> Result<Vec<u8>, Error> {
    let wrap = Wrap::of(key.algorithm());
    let (ciphertext, secret) = key.encapsulate(rng)?;
    let kek = wrap.derive(&secret, None)?;
    let mut wrapped = vec![0; content_key.len() + WRAP_OVERHEAD];
    wrap.kek(&kek)?.wrap(content_key, &mut wrapped).map_err(|_| crate::Error::Provider)?;

    let kdf = der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[oid::HKDF_SHA256])]);
    let info = der::write(
        der::SEQUENCE,
        &[
            &der::write(der::INTEGER, &[&[0]]),
            id,
            &key.algorithm().write(),
            &der::write(der::OCTET_STRING, &[&ciphertext]),
            &kdf,
            &der::write(der::INTEGER, &[&[wrap.key_len() as u8]]),
            &wrap.algorithm(),
            &der::write(der::OCTET_STRING, &[&wrapped]),
        ],
    );
    Ok(der::write(ORI, &[&der::write(der::OBJECT_IDENTIFIER, &[oid::ORI_KEM]), &info]).to_vec())
}

impl RecipientInfo {
    /// Reads one RecipientInfo (RFC 5652 §6.2).
    pub(super) fn read(list: &mut Reader<'_>) -> Result<Self, Error> {
        let named = |kind: &str| Ok(Self::Other { kind: kind.into() });
        match list.peek() {
            Some(tag) if tag == ORI.byte => {
                let mut other = list.take(ORI)?;
                let kind = other.take(der::OBJECT_IDENTIFIER)?.rest();
                if kind != oid::ORI_KEM {
                    return Ok(Self::Other { kind: der::dotted(kind) });
                }
                let recipient = KemRecipient::read(&mut other)?;
                other.end()?;
                Ok(recipient)
            }
            tag => {
                list.take_next("a recipient")?;
                match tag {
                    Some(0x30) => named("key transport"),
                    Some(0xa1) => named("key agreement"),
                    Some(0xa2) => named("a shared key"),
                    Some(0xa3) => named("a password"),
                    _ => Err(list.refusal("a recipient", "another tag".into()).into()),
                }
            }
        }
    }
}

impl KemRecipient {
    /// Reads a KEMRecipientInfo (RFC 9629 §3). Of a KEM that is not known, nothing more is looked at.
    fn read(outer: &mut Reader<'_>) -> Result<RecipientInfo, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        fields.take_version(&[0], "version 0")?;
        let id = Identifier::read(&mut fields)?;
        let kem = match MlKem::read(&mut fields) {
            Ok(kem) => kem,
            Err(crate::Error::AlgorithmUnknown { oid }) => {
                return Ok(RecipientInfo::Other { kind: format!("the KEM {oid}") });
            }
            Err(cause) => return Err(cause.into()),
        };
        let at = fields.clone();
        let ciphertext = fields.take(der::OCTET_STRING)?.rest();
        if ciphertext.len() != kem.ciphertext_len() {
            return Err(at.refusal("a ciphertext of the KEM's length", ciphertext.len().to_string()).into());
        }
        let unsupported =
            |part, expected, oid: &[u8]| Err(Error::Unsupported { part, expected, found: der::dotted(oid) });
        let kdf = plain_oid(&mut fields)?;
        if kdf != oid::HKDF_SHA256 {
            return unsupported("the key derivation", "HKDF with SHA-256", kdf);
        }
        let at = fields.clone();
        let kek_len = fields.take(der::INTEGER)?.rest();
        let ukm = match fields.take_optional(UKM)? {
            Some(mut explicit) => {
                let ukm = explicit.take(der::OCTET_STRING)?.rest().to_vec();
                explicit.end()?;
                Some(ukm)
            }
            None => None,
        };
        // RFC 9936 §2.2: no key wrap that is weaker than the KEM.
        let wrap = match plain_oid(&mut fields)? {
            AES256_WRAP => Wrap::Aes256,
            AES128_WRAP if kem == MlKem::MlKem512 => Wrap::Aes128,
            other => return unsupported("the key wrap", "AES-256 key wrap", other),
        };
        if kek_len != [wrap.key_len() as u8] {
            return Err(at.refusal("the length of a key of the key wrap", "another length".into()).into());
        }
        let encrypted_key = fields.take(der::OCTET_STRING)?.rest().to_vec();
        fields.end()?;
        let ciphertext = ciphertext.to_vec();
        Ok(RecipientInfo::Kem(Self { id, kem, ciphertext, wrap, ukm, encrypted_key }))
    }

    /// The content-encryption key, if it was wrapped for this key. Every failure is one and the same.
    pub(super) fn unwrap(&self, key: &DecapsulationKey) -> Result<Zeroizing<Vec<u8>>, Error> {
        let failed = |_| Error::Decryption;
        let secret = key.decapsulate(&self.ciphertext).map_err(failed)?;
        let kek = self.wrap.derive(&secret, self.ukm.as_deref())?;
        let len = self.encrypted_key.len().checked_sub(WRAP_OVERHEAD).ok_or(Error::Decryption)?;
        let mut content_key = Zeroizing::new(vec![0; len]);
        let unwrapped = self.wrap.kek(&kek)?.unwrap(&self.encrypted_key, &mut content_key);
        match unwrapped.map(|key| key.len()) {
            Ok(found) if found == len => Ok(content_key),
            _ => Err(Error::Decryption),
        }
    }
}

/// The object identifier of an AlgorithmIdentifier whose parameters are absent.
fn plain_oid<'a>(fields: &mut Reader<'a>) -> Result<&'a [u8], Error> {
    let mut algorithm = fields.take(der::SEQUENCE)?;
    let oid = algorithm.take(der::OBJECT_IDENTIFIER)?.rest();
    algorithm.end()?;
    Ok(oid)
}
