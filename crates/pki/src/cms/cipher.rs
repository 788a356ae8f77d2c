//! How the content of a message is encrypted: AES in GCM (RFC 5084 §3.2) or CBC (RFC 3565 §2.3).

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    self, DecryptionContext, EncryptionContext, PaddedBlockDecryptingKey, PaddedBlockEncryptingKey,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;
use sealstone_mldsa::Randomness;
use zeroize::Zeroizing;

use super::error::Error;
use crate::der::{self, Reader};

/// NIST's arc of AES, 2.16.840.1.101.3.4.1; the last arc follows.
const AES: [u8; 8] = [0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x01];
/// Bytes of a nonce of GCM (RFC 5084 §3.2 recommends them).
const NONCE_LEN: usize = 12;
const IV_LEN: usize = 16;
/// Bytes of a tag of GCM. RFC 5084 lets it be shorter, and would take 12 where nothing is said.
pub(super) const TAG_LEN: usize = 16;

/// What encrypts the content.
///
/// ```
/// use sealstone_pki::cms::Cipher;
///
/// assert_eq!(Cipher::Aes256Gcm.name(), "AES-256-GCM");
/// assert_eq!(Cipher::Aes256Gcm.key_len(), 32);
/// assert!(Cipher::Aes256Gcm.is_authenticated());
/// assert!(!Cipher::Aes256Cbc.is_authenticated());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// AES-128 in CBC: secret, and not authenticated. For reading.
    Aes128Cbc,
    /// AES-192 in CBC: secret, and not authenticated. For reading.
    Aes192Cbc,
    /// AES-256 in CBC, in EnvelopedData: secret, and not authenticated.
    Aes256Cbc,
    /// AES-128 in GCM. For reading.
    Aes128Gcm,
    /// AES-192 in GCM. For reading.
    Aes192Gcm,
    /// AES-256 in GCM, in AuthEnvelopedData: what was changed is refused.
    Aes256Gcm,
}

impl Cipher {
    const ALL: [Self; 6] = [
        Self::Aes128Cbc,
        Self::Aes192Cbc,
        Self::Aes256Cbc,
        Self::Aes128Gcm,
        Self::Aes192Gcm,
        Self::Aes256Gcm,
    ];

    /// The name, such as `AES-256-GCM`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aes128Cbc => "AES-128-CBC",
            Self::Aes192Cbc => "AES-192-CBC",
            Self::Aes256Cbc => "AES-256-CBC",
            Self::Aes128Gcm => "AES-128-GCM",
            Self::Aes192Gcm => "AES-192-GCM",
            Self::Aes256Gcm => "AES-256-GCM",
        }
    }

    /// Whether content that was changed is refused.
    pub const fn is_authenticated(self) -> bool {
        matches!(self, Self::Aes128Gcm | Self::Aes192Gcm | Self::Aes256Gcm)
    }

    /// Bytes of its key.
    pub const fn key_len(self) -> usize {
        match self {
            Self::Aes128Cbc | Self::Aes128Gcm => 16,
            Self::Aes192Cbc | Self::Aes192Gcm => 24,
            Self::Aes256Cbc | Self::Aes256Gcm => 32,
        }
    }

    const fn last_arc(self) -> u8 {
        match self {
            Self::Aes128Cbc => 2,
            Self::Aes192Cbc => 22,
            Self::Aes256Cbc => 42,
            Self::Aes128Gcm => 6,
            Self::Aes192Gcm => 26,
            Self::Aes256Gcm => 46,
        }
    }

    const fn aead(self) -> Option<&'static aead::Algorithm> {
        match self {
            Self::Aes128Gcm => Some(&aead::AES_128_GCM),
            Self::Aes192Gcm => Some(&aead::AES_192_GCM),
            Self::Aes256Gcm => Some(&aead::AES_256_GCM),
            Self::Aes128Cbc | Self::Aes192Cbc | Self::Aes256Cbc => None,
        }
    }

    const fn block(self) -> &'static cipher::Algorithm {
        match self {
            Self::Aes128Cbc | Self::Aes128Gcm => &cipher::AES_128,
            Self::Aes192Cbc | Self::Aes192Gcm => &cipher::AES_192,
            Self::Aes256Cbc | Self::Aes256Gcm => &cipher::AES_256,
        }
    }
}

/// A cipher with its nonce or IV: ContentEncryptionAlgorithmIdentifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Chosen {
    pub(super) cipher: Cipher,
    start: [u8; IV_LEN],
}

impl Chosen {
    /// With a new nonce or IV.
    pub(super) fn new(cipher: Cipher, rng: &mut impl Randomness) -> Result<Self, Error> {
        let mut start = [0; IV_LEN];
        rng.fill(&mut start).map_err(|_| crate::Error::Provider)?;
        Ok(Self { cipher, start })
    }

    /// RFC 5084 §3.2, GCMParameters: a nonce of 12 bytes and a tag of 16; RFC 3565 §2.3: an IV.
    pub(super) fn read(outer: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = outer.take(der::SEQUENCE)?;
        let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest();
        let arc = oid.strip_prefix(&AES).filter(|rest| rest.len() == 1).and_then(|rest| rest.first());
        let known = Cipher::ALL.into_iter().find(|cipher| Some(&cipher.last_arc()) == arc);
        let cipher = known.ok_or_else(|| Error::Unsupported {
            part: "the cipher of the content",
            expected: "AES in GCM or CBC",
            found: der::dotted(oid),
        })?;
        let mut start = [0; IV_LEN];
        if cipher.is_authenticated() {
            let mut parameters = fields.take(der::SEQUENCE)?;
            let at = parameters.clone();
            let nonce = parameters.take(der::OCTET_STRING)?.rest();
            if nonce.len() != NONCE_LEN {
                return Err(at.refusal("a nonce of 12 bytes", nonce.len().to_string()).into());
            }
            start[..NONCE_LEN].copy_from_slice(nonce);
            // The default is 12 bytes.
            let at = parameters.clone();
            let tag_len =
                if parameters.peek().is_some() { parameters.take(der::INTEGER)?.rest() } else { &[12] };
            if tag_len != [TAG_LEN as u8] {
                return Err(at.refusal("a tag of 16 bytes", "another length".into()).into());
            }
            parameters.end()?;
        } else {
            let at = fields.clone();
            let iv = fields.take(der::OCTET_STRING)?.rest();
            start = iv.try_into().map_err(|_| at.refusal("an IV of 16 bytes", iv.len().to_string()))?;
        }
        fields.end()?;
        Ok(Self { cipher, start })
    }

    pub(super) fn write(&self) -> Vec<u8> {
        let mut oid = [0; 9];
        oid[..8].copy_from_slice(&AES);
        oid[8] = self.cipher.last_arc();
        let parameters = if self.cipher.is_authenticated() {
            let nonce = der::write(der::OCTET_STRING, &[&self.start[..NONCE_LEN]]);
            let tag_len = der::write(der::INTEGER, &[&[TAG_LEN as u8]]);
            der::write(der::SEQUENCE, &[&nonce, &tag_len])
        } else {
            der::write(der::OCTET_STRING, &[&self.start])
        };
        der::write(der::SEQUENCE, &[&der::write(der::OBJECT_IDENTIFIER, &[&oid]), &parameters]).to_vec()
    }

    fn nonce(&self) -> Nonce {
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&self.start[..NONCE_LEN]);
        Nonce::assume_unique_for_key(nonce)
    }

    /// Encrypts in place. The tag is empty in CBC.
    pub(super) fn encrypt(&self, key: &[u8], aad: &[u8], content: &mut Vec<u8>) -> Result<Vec<u8>, Error> {
        let failed = |_| crate::Error::Provider;
        if let Some(algorithm) = self.cipher.aead() {
            let key = LessSafeKey::new(UnboundKey::new(algorithm, key).map_err(failed)?);
            let tag =
                key.seal_in_place_separate_tag(self.nonce(), Aad::from(aad), content).map_err(failed)?;
            return Ok(tag.as_ref().to_vec());
        }
        let key = UnboundCipherKey::new(self.cipher.block(), key).map_err(failed)?;
        let key = PaddedBlockEncryptingKey::cbc_pkcs7(key).map_err(failed)?;
        key.less_safe_encrypt(content, EncryptionContext::Iv128(FixedLength::from(self.start)))
            .map_err(failed)?;
        Ok(Vec::new())
    }

    /// Decrypts. Every failure is one and the same.
    pub(super) fn decrypt(
        &self,
        key: &[u8],
        aad: &[u8],
        encrypted: &[u8],
        tag: &[u8],
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        if let Some(algorithm) = self.cipher.aead() {
            let key = LessSafeKey::new(UnboundKey::new(algorithm, key).map_err(|_| Error::Decryption)?);
            let mut content = Zeroizing::new(vec![0; encrypted.len()]);
            key.open_separate_gather(self.nonce(), Aad::from(aad), encrypted, tag, &mut content)
                .map_err(|_| Error::Decryption)?;
            return Ok(content);
        }
        let key = UnboundCipherKey::new(self.cipher.block(), key).map_err(|_| Error::Decryption)?;
        let key = PaddedBlockDecryptingKey::cbc_pkcs7(key).map_err(|_| Error::Decryption)?;
        let mut buffer = Zeroizing::new(encrypted.to_vec());
        let context = DecryptionContext::Iv128(FixedLength::from(self.start));
        let len = key.decrypt(&mut buffer, context).map_err(|_| Error::Decryption)?.len();
        buffer.truncate(len);
        Ok(buffer)
    }
}
