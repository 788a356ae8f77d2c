//! GeneralName, RFC 5280 §4.2.1.6: names beside the subject; and GeneralSubtree, which admits or excludes them
//! (§4.2.1.10).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::der::{self, Reader, Tag};
use crate::error::Error;
use crate::name::Name;

const EMAIL: Tag = Tag { byte: 0x81, name: "an rfc822Name" };
const DNS: Tag = Tag { byte: 0x82, name: "a dNSName" };
const DIRECTORY: Tag = Tag { byte: 0xa4, name: "a directoryName" };
const URI: Tag = Tag { byte: 0x86, name: "a uniformResourceIdentifier" };
const IP: Tag = Tag { byte: 0x87, name: "an iPAddress" };

/// A name beside the subject, as far as users of single forms need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AltName {
    /// dNSName, as it stands: a wildcard is one of its letters.
    Dns(String),
    /// rfc822Name.
    Email(String),
    /// iPAddress.
    Ip(IpAddr),
    /// A form that is not read.
    Other,
    /// uniformResourceIdentifier.
    Uri(String),
}

impl From<&GeneralName> for AltName {
    fn from(name: &GeneralName) -> Self {
        match name {
            GeneralName::Dns(text) => Self::Dns(text.clone()),
            GeneralName::Email(text) => Self::Email(text.clone()),
            GeneralName::Ip(address) => Self::Ip(*address),
            GeneralName::Uri(text) => Self::Uri(text.clone()),
            GeneralName::Directory(_) | GeneralName::Other { .. } => Self::Other,
        }
    }
}

/// A GeneralName.
///
/// ```
/// use sealstone_pki::x509::GeneralName;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let name: GeneralName = "dns:billing.example.org".parse()?;
/// assert_eq!(name, GeneralName::Dns("billing.example.org".into()));
/// assert_eq!(name.to_string(), "dns:billing.example.org");
/// assert_eq!(name.to_der()?[..2], [0x82, 19]);
///
/// let address: GeneralName = "ip:192.0.2.7".parse()?;
/// assert_eq!(address.to_der()?, [0x87, 4, 192, 0, 2, 7]);
/// assert!("billing.example.org".parse::<GeneralName>().is_err(), "of which form?");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GeneralName {
    /// directoryName.
    Directory(Name),
    /// dNSName, as it stands.
    Dns(String),
    /// rfc822Name.
    Email(String),
    /// iPAddress.
    Ip(IpAddr),
    /// A form that is not read: otherName, x400Address, ediPartyName, registeredID.
    Other {
        /// Its tag in the CHOICE, 0 to 8.
        form: u8,
    },
    /// uniformResourceIdentifier.
    Uri(String),
}

impl GeneralName {
    /// Reads one, by its tag.
    pub(crate) fn read(list: &mut Reader<'_>) -> Result<Self, Error> {
        let (tag, at) = (list.peek(), list.clone());
        let mut content = list.take_next("a name")?;
        if tag == Some(DIRECTORY.byte) {
            let name = Name::read(content.take(der::SEQUENCE)?)?;
            content.end()?;
            return Ok(Self::Directory(name));
        }
        let content = content.rest();
        Ok(match tag {
            Some(0x81) => Self::Email(ascii(&at, content)?),
            Some(0x82) => Self::Dns(ascii(&at, content)?),
            Some(0x86) => Self::Uri(ascii(&at, content)?),
            Some(0x87) => match (<[u8; 4]>::try_from(content), <[u8; 16]>::try_from(content)) {
                (Ok(v4), _) => Self::Ip(Ipv4Addr::from(v4).into()),
                (_, Ok(v6)) => Self::Ip(Ipv6Addr::from(v6).into()),
                _ => {
                    return Err(at.refusal("an address of 4 or 16 bytes", content.len().to_string()));
                }
            },
            Some(0xa0 | 0xa3 | 0xa5 | 0x88) => Self::Other { form: tag.unwrap_or(0) & 0x0f },
            Some(other) => return Err(at.refusal("a GeneralName", format!("tag {other:#04x}"))),
            None => return Err(at.refusal("a GeneralName", "the end".into())),
        })
    }

    /// Writes it.
    ///
    /// # Errors
    /// [`Error::Value`] for text that is not ASCII or empty, and for a form that is not written.
    pub fn to_der(&self) -> Result<Vec<u8>, Error> {
        let text = |tag, text: &str| {
            if text.is_empty() || !text.is_ascii() || text.bytes().any(|byte| byte.is_ascii_control()) {
                return Err(Error::Value { what: "a name beside the subject", expected: "printable ASCII" });
            }
            Ok(der::write(tag, &[text.as_bytes()]).to_vec())
        };
        match self {
            Self::Directory(name) => Ok(der::write(DIRECTORY, &[&name.to_der()?]).to_vec()),
            Self::Dns(name) => text(DNS, name),
            Self::Email(name) => text(EMAIL, name),
            Self::Ip(IpAddr::V4(address)) => Ok(der::write(IP, &[&address.octets()]).to_vec()),
            Self::Ip(IpAddr::V6(address)) => Ok(der::write(IP, &[&address.octets()]).to_vec()),
            Self::Other { .. } => {
                Err(Error::Value { what: "a name beside the subject", expected: "dns, email, ip, uri or dn" })
            }
            Self::Uri(name) => text(URI, name),
        }
    }

    /// Reads GeneralNames that are not empty.
    pub(crate) fn read_list(mut list: Reader<'_>) -> Result<Vec<Self>, Error> {
        let mut names = Vec::new();
        loop {
            names.push(Self::read(&mut list)?);
            if list.peek().is_none() {
                return Ok(names);
            }
        }
    }
}

/// As `dns:example.org`, `email:`, `ip:`, `uri:` or `dn:`.
impl core::fmt::Display for GeneralName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Directory(name) => write!(f, "dn:{name}"),
            Self::Dns(name) => write!(f, "dns:{name}"),
            Self::Email(name) => write!(f, "email:{name}"),
            Self::Ip(address) => write!(f, "ip:{address}"),
            Self::Other { form } => write!(f, "another form [{form}]"),
            Self::Uri(name) => write!(f, "uri:{name}"),
        }
    }
}

/// As it is shown: `dns:`, `email:`, `ip:`, `uri:` or `dn:` and the name.
impl core::str::FromStr for GeneralName {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let (form, name) = text.split_once(':').unwrap_or_default();
        Ok(match form {
            "dn" => Self::Directory(name.parse()?),
            "dns" => Self::Dns(name.to_owned()),
            "email" => Self::Email(name.to_owned()),
            "ip" => {
                Self::Ip(name.parse().map_err(|_| Error::Value { what: "an address", expected: ADDRESS })?)
            }
            "uri" => Self::Uri(name.to_owned()),
            _ => return Err(Error::Value { what: "a name beside the subject", expected: FORMS }),
        })
    }
}

const FORMS: &str = "dns:, email:, ip:, uri: or dn: before it";
const ADDRESS: &str = "one as 192.0.2.1 or 2001:db8::1, of a block with /24 behind it";

/// The base of a GeneralSubtree.
///
/// ```
/// use sealstone_pki::x509::{NameConstraints, Subtree};
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// // An authority for one domain and one network.
/// let permitted: Vec<Subtree> = vec!["dns:example.org".parse()?, "ip:10.0.0.0/8".parse()?];
/// assert_eq!(permitted[0], Subtree::Dns("example.org".into()));
/// assert_eq!(permitted[1].to_string(), "ip:10.0.0.0/8");
///
/// let constraints = NameConstraints { permitted, excluded: vec!["dns:test.example.org".parse()?] };
/// assert_eq!(constraints.to_der()?[0], 0x30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subtree {
    /// Names that begin with these parts.
    Directory(Name),
    /// This name and all below it; empty for all.
    Dns(String),
    /// A mailbox, all of a host, or with a dot before it all of a domain's hosts.
    Email(String),
    /// Addresses in a block.
    Ip {
        /// The first.
        address: IpAddr,
        /// Its first bits that count.
        prefix: u8,
    },
    /// A form that is not read.
    Other {
        /// Its tag in the CHOICE, 0 to 8.
        form: u8,
    },
    /// A host, or with a dot before it all hosts of a domain.
    Uri(String),
}

impl Subtree {
    /// Reads one GeneralSubtree. RFC 5280 §4.2.1.10: minimum is zero, which DER leaves out, and maximum is absent.
    pub(crate) fn read(list: &mut Reader<'_>) -> Result<Self, Error> {
        let mut fields = list.take(der::SEQUENCE)?;
        let at = fields.clone();
        let base = if fields.peek() == Some(IP.byte) {
            let content = fields.take(IP)?.rest();
            match content.len() {
                8 => {
                    let (mut address, mut mask) = ([0; 4], [0; 4]);
                    address.copy_from_slice(&content[..4]);
                    mask.copy_from_slice(&content[4..]);
                    let prefix = prefix(&mask);
                    let prefix =
                        prefix.ok_or_else(|| at.refusal("a mask of leading ones", "another".into()))?;
                    Self::Ip { address: Ipv4Addr::from(address).into(), prefix }
                }
                32 => {
                    let (mut address, mut mask) = ([0; 16], [0; 16]);
                    address.copy_from_slice(&content[..16]);
                    mask.copy_from_slice(&content[16..]);
                    let prefix = prefix(&mask);
                    let prefix =
                        prefix.ok_or_else(|| at.refusal("a mask of leading ones", "another".into()))?;
                    Self::Ip { address: Ipv6Addr::from(address).into(), prefix }
                }
                other => {
                    return Err(at.refusal("an address with its mask, 8 or 32 bytes", other.to_string()));
                }
            }
        } else {
            match GeneralName::read(&mut fields)? {
                GeneralName::Directory(name) => Self::Directory(name),
                GeneralName::Dns(name) => Self::Dns(name),
                GeneralName::Email(name) => Self::Email(name),
                GeneralName::Uri(name) => Self::Uri(name),
                GeneralName::Other { form } => Self::Other { form },
                GeneralName::Ip(_) => return Err(at.refusal("an address with its mask", "none".into())),
            }
        };
        if fields.peek().is_some() {
            return Err(fields.refusal("neither minimum nor maximum", "one of them".into()));
        }
        Ok(base)
    }

    /// Writes one GeneralSubtree.
    ///
    /// # Errors
    /// As [`GeneralName::to_der`], and for a block of more bits than its addresses have.
    pub fn to_der(&self) -> Result<Vec<u8>, Error> {
        let base = match self {
            Self::Directory(name) => GeneralName::Directory(name.clone()).to_der()?,
            // Empty means all, which GeneralName would not write.
            Self::Dns(name) if name.is_empty() => der::write(DNS, &[]).to_vec(),
            Self::Dns(name) => GeneralName::Dns(name.clone()).to_der()?,
            Self::Email(name) => GeneralName::Email(name.clone()).to_der()?,
            Self::Uri(name) => GeneralName::Uri(name.clone()).to_der()?,
            Self::Ip { address, prefix } => {
                let address = match address {
                    IpAddr::V4(address) => address.octets().to_vec(),
                    IpAddr::V6(address) => address.octets().to_vec(),
                };
                if usize::from(*prefix) > 8 * address.len() {
                    return Err(Error::Value {
                        what: "a block of addresses",
                        expected: "as many bits as it has",
                    });
                }
                let mask: Vec<u8> = (0..address.len())
                    .map(|index| {
                        let bits = usize::from(*prefix).saturating_sub(8 * index).min(8) as u32;
                        0xff_u8.checked_shl(8 - bits).unwrap_or(0)
                    })
                    .collect();
                let masked: Vec<u8> = address.iter().zip(&mask).map(|(byte, mask)| byte & mask).collect();
                der::write(IP, &[&masked, &mask]).to_vec()
            }
            Self::Other { .. } => {
                return Err(Error::Value {
                    what: "a name constraint",
                    expected: "dns, email, ip, uri or dn",
                });
            }
        };
        Ok(der::write(der::SEQUENCE, &[&base]).to_vec())
    }
}

impl core::fmt::Display for Subtree {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Directory(name) => write!(f, "dn:{name}"),
            Self::Dns(name) => write!(f, "dns:{name}"),
            Self::Email(name) => write!(f, "email:{name}"),
            Self::Ip { address, prefix } => write!(f, "ip:{address}/{prefix}"),
            Self::Other { form } => write!(f, "another form [{form}]"),
            Self::Uri(name) => write!(f, "uri:{name}"),
        }
    }
}

/// As it is shown: `dns:`, `email:`, `ip:`, `uri:` or `dn:` and the base, as in `ip:10.0.0.0/8`.
impl core::str::FromStr for Subtree {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let refused = || Error::Value { what: "a block of addresses", expected: ADDRESS };
        if let Some(block) = text.strip_prefix("ip:") {
            let (address, prefix) = block.split_once('/').ok_or_else(refused)?;
            let address: IpAddr = address.parse().map_err(|_| refused())?;
            let prefix: u8 = prefix.parse().map_err(|_| refused())?;
            let width = if address.is_ipv4() { 32 } else { 128 };
            return if prefix <= width { Ok(Self::Ip { address, prefix }) } else { Err(refused()) };
        }
        Ok(match text.parse()? {
            GeneralName::Directory(name) => Self::Directory(name),
            GeneralName::Dns(name) => Self::Dns(name),
            GeneralName::Email(name) => Self::Email(name),
            GeneralName::Uri(name) => Self::Uri(name),
            GeneralName::Ip(_) | GeneralName::Other { .. } => return Err(refused()),
        })
    }
}

/// The length of a mask of leading ones.
fn prefix(mask: &[u8]) -> Option<u8> {
    let ones: u32 = mask.iter().map(|byte| byte.count_ones()).sum();
    let leading: u32 = {
        let full = mask.iter().take_while(|byte| **byte == 0xff).count();
        8 * full as u32 + mask.get(full).map_or(0, |byte| byte.leading_ones())
    };
    (ones == leading).then_some(ones as u8)
}

fn ascii(at: &Reader<'_>, content: &[u8]) -> Result<String, Error> {
    match content.is_ascii() {
        true => Ok(content.iter().copied().map(char::from).collect()),
        false => Err(at.refusal("a name in ASCII", "other bytes".into())),
    }
}
