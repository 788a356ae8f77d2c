//! The object identifiers of messages: the contents of their encodings.

use crate::der;

/// id-data, 1.2.840.113549.1.7.1 (RFC 5652 §4).
pub(super) const DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x01];
/// id-signedData, 1.2.840.113549.1.7.2 (RFC 5652 §5.1).
pub(super) const SIGNED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x02];
/// id-envelopedData, 1.2.840.113549.1.7.3 (RFC 5652 §6.1).
pub(super) const ENVELOPED_DATA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x07, 0x03];
/// id-ct-authEnvelopedData, 1.2.840.113549.1.9.16.1.23 (RFC 5083 §2.1).
pub(super) const AUTH_ENVELOPED_DATA: &[u8] =
    &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x01, 0x17];

/// id-contentType, 1.2.840.113549.1.9.3 (RFC 5652 §11.1).
pub(super) const CONTENT_TYPE: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x03];
/// id-messageDigest, 1.2.840.113549.1.9.4 (RFC 5652 §11.2).
pub(super) const MESSAGE_DIGEST: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x04];
/// id-signingTime, 1.2.840.113549.1.9.5 (RFC 5652 §11.3).
pub(super) const SIGNING_TIME: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x05];
/// id-aa-CMSAlgorithmProtect, 1.2.840.113549.1.9.52 (RFC 6211 §2).
pub(super) const ALGORITHM_PROTECTION: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x34];

/// id-ori-kem, 1.2.840.113549.1.9.16.13.3 (RFC 9629 §3).
pub(super) const ORI_KEM: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x0d, 0x03];
/// id-alg-hkdf-with-sha256, 1.2.840.113549.1.9.16.3.28 (RFC 8619 §2).
pub(super) const HKDF_SHA256: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x09, 0x10, 0x03, 0x1c];

/// What an attribute is called: its name, or its identifier with dots.
pub(super) fn attribute(oid: &[u8]) -> String {
    match oid {
        ALGORITHM_PROTECTION => "CMSAlgorithmProtection".into(),
        CONTENT_TYPE => "content-type".into(),
        MESSAGE_DIGEST => "message-digest".into(),
        SIGNING_TIME => "signing-time".into(),
        other => der::dotted(other),
    }
}
