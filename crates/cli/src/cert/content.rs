//! What a certificate or a request is to say, as options.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use sealstone_pki::Name;
use sealstone_pki::x509::{GeneralName, KeyUsage, Oid, Profile, Subtree, oids};

use crate::clock;
use crate::error::Error;

/// Names and purposes.
#[derive(Args)]
pub(crate) struct Names {
    /// Whom it is about, as in CN=billing,O=Example (RFC 4514)
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub(crate) subject: Option<Name>,
    /// A host that it is about; *.example.org stands for one label
    #[arg(long, value_name = "HOST")]
    pub(crate) dns: Vec<String>,
    /// A mailbox that it is about
    #[arg(long, value_name = "MAIL")]
    pub(crate) email: Vec<String>,
    /// An address that it is about
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) ip: Vec<IpAddr>,
    /// A URI that it is about
    #[arg(long, value_name = "URI")]
    pub(crate) uri: Vec<String>,
    /// What the key may do: digitalSignature, nonRepudiation, keyCertSign, cRLSign, or another of RFC 5280 §4.2.1.3
    #[arg(long, value_name = "USE", value_parser = key_usage, value_delimiter = ',')]
    key_usage: Vec<KeyUsage>,
    /// What the key is for: serverAuth, clientAuth, codeSigning, emailProtection, timeStamping, OCSPSigning, or an OID
    #[arg(long, value_name = "PURPOSE", value_parser = purpose, value_delimiter = ',')]
    purpose: Vec<Oid>,
    /// An authority: it may sign certificates and revocation lists
    #[arg(long = "authority")]
    pub(crate) is_authority: bool,
    /// How many authorities may stand below it
    #[arg(long, value_name = "COUNT", requires = "is_authority")]
    path_len: Option<u32>,
}

impl Names {
    /// The profile that they make.
    pub(crate) fn profile(&self) -> Profile {
        let mut profile = match self.is_authority {
            true => Profile::authority(self.path_len),
            false => Profile::end_entity(),
        };
        profile.alt_names = self.alt_names();
        if !self.key_usage.is_empty() {
            profile.key_usage =
                Some(self.key_usage.iter().fold(KeyUsage::default(), |all, one| all.with(*one)));
        }
        profile.ext_key_usage = self.purpose.clone();
        profile
    }

    /// Those of what was said that can be asked for, and nothing by default.
    pub(crate) fn request(&self) -> Profile {
        let mut profile = match self.is_authority {
            true => Profile::authority(self.path_len),
            false => Profile::default(),
        };
        let said = self.profile();
        if !self.key_usage.is_empty() {
            profile.key_usage = said.key_usage;
        }
        Profile { alt_names: said.alt_names, ext_key_usage: said.ext_key_usage, ..profile }
    }

    /// Whether key uses were said.
    pub(crate) fn says_key_usage(&self) -> bool {
        !self.key_usage.is_empty()
    }

    pub(crate) fn alt_names(&self) -> Vec<GeneralName> {
        let dns = self.dns.iter().cloned().map(GeneralName::Dns);
        let email = self.email.iter().cloned().map(GeneralName::Email);
        let ip = self.ip.iter().copied().map(GeneralName::Ip);
        let uri = self.uri.iter().cloned().map(GeneralName::Uri);
        dns.chain(email).chain(ip).chain(uri).collect()
    }
}

/// What only the one who signs a certificate says.
#[derive(Args)]
pub(crate) struct Place {
    /// How long it is valid, as in 90d [default: 365d, 3650d of an authority, and no longer than its issuer]
    #[arg(long, value_name = "SPAN", value_parser = clock::parse_span)]
    valid_for: Option<Duration>,
    /// When its validity begins, as 2026-11-22 or 2026-11-22T04:00:00Z [default: now]
    #[arg(long, value_name = "TIME", value_parser = time)]
    not_before: Option<i64>,
    /// Its serial number in hexadecimal [default: 158 random bits]
    #[arg(long, value_name = "HEX", value_parser = serial)]
    pub(crate) serial: Option<Number>,
    /// Names that may follow below an authority, as in dns:example.org or ip:10.0.0.0/8
    #[arg(long, value_name = "NAMES", value_parser = subtree)]
    permit: Vec<Subtree>,
    /// Names that may not follow below an authority
    #[arg(long, value_name = "NAMES", value_parser = subtree)]
    exclude: Vec<Subtree>,
    /// Where the issuer's revocation list is
    #[arg(long, value_name = "URI")]
    crl_uri: Vec<String>,
    /// The object identifier of a policy under which it is issued
    #[arg(long, value_name = "OID", value_parser = oid)]
    policy: Vec<Oid>,
}

impl Place {
    /// The first and the last second; if it is not said how long, no longer than until `end_of_issuer`.
    pub(crate) fn validity(
        &self,
        is_authority: bool,
        end_of_issuer: Option<i64>,
    ) -> Result<(i64, i64), Error> {
        let days = if is_authority { 3650 } else { 365 };
        let span = self.valid_for.unwrap_or(Duration::from_secs(days * 86_400)).as_secs();
        let start = self.not_before.map_or_else(now, Ok)?;
        let end = i64::try_from(span).ok().and_then(|span| start.checked_add(span));
        let end = match (self.valid_for, end_of_issuer) {
            (None, Some(limit)) if limit > start => end.map(|end| end.min(limit)),
            _ => end.filter(|_| span > 0),
        };
        end.map(|end| (start, end))
            .ok_or_else(|| Error::usage("a validity that never begins or never ends", "--valid-for 90d"))
    }

    pub(crate) fn add_to(&self, profile: &mut Profile) {
        profile.name_constraints.permitted = self.permit.clone();
        profile.name_constraints.excluded = self.exclude.clone();
        profile.crl_distribution_points = self.crl_uri.clone();
        profile.certificate_policies = self.policy.clone();
    }
}

/// Now, in seconds from 1970.
pub(crate) fn now() -> Result<i64, Error> {
    i64::try_from(clock::now().0).map_err(|_| Error::usage("the clock is beyond all calendars", "set it"))
}

pub(crate) fn name(text: &str) -> Result<Name, String> {
    let refused = |cause: sealstone_pki::Error| match cause.hint() {
        Some(hint) => format!("{cause}; {hint}"),
        None => cause.to_string(),
    };
    text.parse().map_err(refused)
}

fn key_usage(text: &str) -> Result<KeyUsage, String> {
    KeyUsage::by_name(text).ok_or_else(|| {
        let known = KeyUsage::ALL.map(|one| one.to_string());
        format!("expected one of {}", known.join(", "))
    })
}

pub(crate) fn purpose(text: &str) -> Result<Oid, String> {
    oids::ext_key_usage(text).or_else(|| Oid::parse(text)).ok_or_else(|| {
        "expected serverAuth, clientAuth, codeSigning, emailProtection, timeStamping, OCSPSigning, or an OID".into()
    })
}

fn oid(text: &str) -> Result<Oid, String> {
    Oid::parse(text).ok_or_else(|| "expected an object identifier such as 2.23.140.1.2.1".into())
}

fn subtree(text: &str) -> Result<Subtree, String> {
    text.parse().map_err(|cause: sealstone_pki::Error| cause.to_string())
}

/// A serial number, big-endian. A type of its own: the parser of options takes a bare list for several values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Number(pub(crate) Vec<u8>);

fn serial(text: &str) -> Result<Number, String> {
    let digits: Option<Vec<u8>> =
        text.chars().filter(|digit| *digit != ':').map(|digit| digit.to_digit(16).map(|n| n as u8)).collect();
    let digits = digits.filter(|digits| (1..=40).contains(&digits.len()));
    let digits = digits.ok_or("expected 1 to 40 hexadecimal digits")?;
    let odd = digits.len() % 2;
    let padded: Vec<u8> = std::iter::repeat_n(0, odd).chain(digits).collect();
    Ok(Number(padded.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()))
}

/// `2026-11-22` or `2026-11-22T04:00:00Z` (RFC 3339 §5.6, in UTC and whole seconds).
pub(crate) fn time(text: &str) -> Result<i64, String> {
    let wrong = || "expected a time in UTC as 2026-11-22 or 2026-11-22T04:00:00Z".to_owned();
    let whole = if text.len() == 10 { format!("{text}T00:00:00Z") } else { text.to_owned() };
    let shape = "dddd-dd-ddTdd:dd:ddZ";
    let fits = |(have, want): (char, char)| if want == 'd' { have.is_ascii_digit() } else { have == want };
    if whole.len() != shape.len() || !whole.chars().zip(shape.chars()).all(fits) {
        return Err(wrong());
    }
    // The calendar is that of certificates: a GeneralizedTime.
    let digits: String = whole.chars().filter(|one| one.is_ascii_digit() || *one == 'Z').collect();
    let der = [&[0x18, 15], digits.as_bytes()].concat();
    let mut reader = sealstone_pki::der::Reader::new(&der).map_err(|_| wrong())?;
    reader.take_time().map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_serials() {
        assert_eq!(time("1970-01-02"), Ok(86_400));
        assert_eq!(time("2027-01-15T08:00:00Z"), Ok(1_800_000_000));
        for wrong in [
            "",
            "2026",
            "2026-13-01",
            "2026-02-29",
            "2026-01-01T24:00:00Z",
            "2026-01-01 00:00:00Z",
            "2026-01-01T00:00:00+",
        ] {
            assert!(time(wrong).is_err(), "{wrong}");
        }
        assert_eq!(serial("1"), Ok(Number(vec![1])));
        assert_eq!(serial("0a:ff"), Ok(Number(vec![10, 255])));
        assert!(serial("").is_err() && serial("g").is_err());
    }
}
