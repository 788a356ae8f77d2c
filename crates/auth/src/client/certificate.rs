//! What the server keeps of a client's certificate: the one name that its certificates bear (RFC 8705 §2.1.2), or the
//! certificates and keys themselves (RFC 8705 §2.2.2).

use std::net::IpAddr;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sealstone_jose::{JwkSet, PublicKey};
use sealstone_mldsa::Level;
use sealstone_pki::{AltName, Certificate, KeyAlgorithm, Name, PublicKeyInfo, spki};
use serde_json::{Map, Value};

/// The name that a client's certificate must bear. RFC 8705 §2.1.2: exactly one of five kinds.
///
/// A name is compared as what it is, never as text within text. Nothing stands for something else: a wildcard in a
/// certificate matches no client, and the subject's common name is no host name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateName {
    /// `tls_client_auth_subject_dn`: the whole subject, RFC 4514.
    SubjectDn(Name),
    /// `tls_client_auth_san_dns`: a dNSName, in any case.
    SanDns(String),
    /// `tls_client_auth_san_email`: an rfc822Name; the part after the `@` in any case (RFC 5280 §7.5).
    SanEmail(String),
    /// `tls_client_auth_san_ip`: an iPAddress.
    SanIp(IpAddr),
    /// `tls_client_auth_san_uri`: a uniformResourceIdentifier, byte for byte.
    SanUri(String),
}

impl CertificateName {
    /// The registered metadata names, RFC 8705 §2.1.2.
    pub const MEMBERS: [&str; 5] = [
        "tls_client_auth_subject_dn",
        "tls_client_auth_san_dns",
        "tls_client_auth_san_email",
        "tls_client_auth_san_ip",
        "tls_client_auth_san_uri",
    ];

    /// Reads the value of one of [`MEMBERS`](Self::MEMBERS).
    /// Errors: what is wrong with it, to follow the member's name.
    pub fn parse(member: &str, value: &str) -> Result<Self, String> {
        let plain = |what: &str| {
            let fits = (1..=512).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_graphic());
            match fits {
                true => Ok(value.to_owned()),
                false => Err(format!("is not {what}: 1 to 512 printable ASCII characters without spaces")),
            }
        };
        Ok(match member {
            "tls_client_auth_subject_dn" => {
                let name: Name =
                    value.parse().map_err(|cause| format!("is not an RFC 4514 name: {cause}"))?;
                if name.is_empty() {
                    return Err("is empty, as is the subject of many certificates".into());
                }
                Self::SubjectDn(name)
            }
            "tls_client_auth_san_dns" if value.contains('*') => {
                return Err("has a wildcard, which matches nothing here".into());
            }
            "tls_client_auth_san_dns" => Self::SanDns(plain("a host name")?),
            "tls_client_auth_san_email" => Self::SanEmail(plain("an e-mail address")?),
            "tls_client_auth_san_ip" => {
                Self::SanIp(value.parse().map_err(|_| "is not an IPv4 or IPv6 address".to_owned())?)
            }
            "tls_client_auth_san_uri" => Self::SanUri(plain("a URI")?),
            _ => return Err("is not a kind of name".into()),
        })
    }

    /// Its metadata name.
    pub const fn member(&self) -> &'static str {
        match self {
            Self::SubjectDn(_) => Self::MEMBERS[0],
            Self::SanDns(_) => Self::MEMBERS[1],
            Self::SanEmail(_) => Self::MEMBERS[2],
            Self::SanIp(_) => Self::MEMBERS[3],
            Self::SanUri(_) => Self::MEMBERS[4],
        }
    }

    /// Its value, as [`parse`](Self::parse) reads it.
    pub fn value(&self) -> String {
        match self {
            Self::SubjectDn(name) => name.to_string(),
            Self::SanIp(address) => address.to_string(),
            Self::SanDns(text) | Self::SanEmail(text) | Self::SanUri(text) => text.clone(),
        }
    }

    /// Whether the certificate bears it.
    pub(crate) fn is_in(&self, certificate: &Certificate) -> bool {
        let fits = |name: &AltName| match (self, name) {
            (Self::SanDns(expected), AltName::Dns(found)) => expected.eq_ignore_ascii_case(found),
            (Self::SanEmail(expected), AltName::Email(found)) => same_mailbox(expected, found),
            (Self::SanIp(expected), AltName::Ip(found)) => expected == found,
            (Self::SanUri(expected), AltName::Uri(found)) => expected == found,
            _ => false,
        };
        match self {
            Self::SubjectDn(expected) => expected == certificate.subject(),
            _ => certificate.alt_names().iter().any(fits),
        }
    }
}

/// RFC 5280 §7.5: only the host part is compared without case.
fn same_mailbox(one: &str, other: &str) -> bool {
    match (one.rsplit_once('@'), other.rsplit_once('@')) {
        (Some((local, host)), Some((local_too, host_too))) => {
            local == local_too && host.eq_ignore_ascii_case(host_too)
        }
        _ => false,
    }
}

/// A client's own keys, RFC 7517 §5: those that check what it signs, and the certificates that they stand for.
///
/// A key with `x5c` or `x5t#S256` stands for that certificate alone; any other for every certificate that has it, also
/// an RSA key, with which nothing is signed here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientKeys {
    certificates: Vec<Pin>,
    /// As registered: what is not known here is not lost.
    json: Value,
    set: JwkSet,
}

/// A certificate, or what it must have. SHA-256 of its DER, or of its SubjectPublicKeyInfo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pin {
    Certificate([u8; 32]),
    Key([u8; 32]),
}

impl ClientKeys {
    /// Reads a JWK set.
    /// Errors: what is wrong with it, to follow "its keys".
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let set = JwkSet::parse(text).map_err(|cause| cause.to_string())?;
        let json: Value = serde_json::from_slice(text).map_err(|cause| cause.to_string())?;
        let keys = json.get("keys").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut certificates = Vec::new();
        for key in keys.iter().filter_map(Value::as_object) {
            certificates.extend(pin(key)?);
        }
        Ok(Self { certificates, json, set })
    }

    /// The keys that check signatures.
    pub fn set(&self) -> &JwkSet {
        &self.set
    }

    /// As registered.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// How many certificates, or keys of certificates, it stands for.
    pub fn certificates(&self) -> usize {
        self.certificates.len()
    }

    /// Whether it stands for this certificate.
    pub(crate) fn stand_for(&self, der: &[u8], certificate: &Certificate) -> bool {
        let (whole, key) = (Pin::Certificate(sha256(der)), Pin::Key(sha256(certificate.public_key())));
        self.certificates.iter().any(|pin| *pin == whole || *pin == key)
    }
}

impl From<JwkSet> for ClientKeys {
    fn from(set: JwkSet) -> Self {
        let pins = set.keys().iter().filter_map(|key| Some(Pin::Key(sha256(&public_key_info(key)?))));
        let json = serde_json::json!({"keys": set.keys().iter().map(PublicKey::to_jwk).collect::<Vec<_>>()});
        Self { certificates: pins.collect(), json, set }
    }
}

/// What one key stands for; nothing if it is of an unknown type, or for encryption.
fn pin(key: &Map<String, Value>) -> Result<Option<Pin>, String> {
    if key.get("use").is_some_and(|purpose| purpose != "sig") {
        return Ok(None);
    }
    let named = match key.get("x5t#S256") {
        None => None,
        Some(Value::String(text)) => {
            let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| bytes.try_into().ok());
            Some(bytes.ok_or("a key's `x5t#S256` is not the base64url of a SHA-256")?)
        }
        Some(_) => return Err("a key's `x5t#S256` is not a string".into()),
    };
    let own = own_public_key(key);
    let Some(chain) = key.get("x5c") else {
        return Ok(named.map(Pin::Certificate).or(own.map(|own| Pin::Key(sha256(&own)))));
    };
    // RFC 7517 §4.7: base64, not base64url; the first certificate is of this key.
    let first = chain.as_array().and_then(|chain| chain.first()).and_then(Value::as_str);
    let der = first.and_then(|text| STANDARD.decode(text).ok()).ok_or("a key's `x5c` is not base64 text")?;
    let certificate = Certificate::from_der(&der)
        .map_err(|cause| format!("a key's `x5c` is not a certificate: {cause}"))?;
    if own.is_some_and(|own| own != certificate.public_key()) {
        return Err("a key's `x5c` is the certificate of another key".into());
    }
    let whole = sha256(&der);
    match named {
        Some(named) if named != whole => Err("a key's `x5c` and `x5t#S256` are of two certificates".into()),
        _ => Ok(Some(Pin::Certificate(whole))),
    }
}

/// The SubjectPublicKeyInfo of a JWK, if it is of a known type.
fn own_public_key(key: &Map<String, Value>) -> Option<Vec<u8>> {
    if key.get("kty")? == "RSA" {
        let number = |name: &str| URL_SAFE_NO_PAD.decode(key.get(name)?.as_str()?).ok();
        return Some(spki::rsa_to_der(&number("n")?, &number("e")?));
    }
    public_key_info(&PublicKey::from_members(key).ok()?)
}

fn public_key_info(key: &PublicKey) -> Option<Vec<u8>> {
    use sealstone_jose::Algorithm;
    let algorithm = match key.algorithm() {
        Algorithm::EdDsa | Algorithm::Ed25519 => KeyAlgorithm::Ed25519,
        Algorithm::Es256 => KeyAlgorithm::EcP256,
        Algorithm::Es384 => KeyAlgorithm::EcP384,
        Algorithm::Es512 => KeyAlgorithm::EcP521,
        Algorithm::MlDsa44 => KeyAlgorithm::MlDsa(Level::MlDsa44),
        Algorithm::MlDsa65 => KeyAlgorithm::MlDsa(Level::MlDsa65),
        Algorithm::MlDsa87 => KeyAlgorithm::MlDsa(Level::MlDsa87),
    };
    PublicKeyInfo::new(algorithm, key.as_bytes()).ok().map(|info| spki::to_der(&info))
}

pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest(&SHA256, bytes).as_ref());
    hash
}
