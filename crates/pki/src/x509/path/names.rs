//! Names against constraints (RFC 5280 §4.2.1.10), and against the name that is asked for (RFC 9525 §6).

use std::net::IpAddr;

use super::super::Certificate;
use super::super::extension::NameConstraints;
use super::super::general_name::{GeneralName, Subtree};
use super::{MAX_COMPARISONS, Refusal};

/// Every name of a certificate, the subject's too, against the constraints of an authority above it.
pub(super) fn check(
    certificate: &Certificate,
    constraints: &NameConstraints,
    comparisons: &mut usize,
) -> Result<(), Refusal> {
    let mut names: Vec<GeneralName> = certificate.extensions().subject_alt_names.clone().unwrap_or_default();
    let subject = certificate.subject();
    if !subject.is_empty() {
        names.push(GeneralName::Directory(subject.clone()));
    }
    names.extend(subject.emails().map(|mail| GeneralName::Email(mail.to_owned())));
    for name in &names {
        *comparisons += constraints.permitted.len() + constraints.excluded.len();
        if *comparisons > MAX_COMPARISONS {
            return Err(Refusal::TooMuchWork);
        }
        if let Some(by) = constraints.excluded.iter().find(|subtree| overlaps(name, subtree)) {
            let excluded_by = Some(by.to_string());
            return Err(Refusal::Constraint { name: name.to_string(), excluded_by });
        }
        let mut of_form = constraints.permitted.iter().filter(|subtree| same_form(name, subtree)).peekable();
        if of_form.peek().is_some() && !of_form.any(|subtree| is_within(name, subtree)) {
            return Err(Refusal::Constraint { name: name.to_string(), excluded_by: None });
        }
    }
    Ok(())
}

fn same_form(name: &GeneralName, subtree: &Subtree) -> bool {
    match (name, subtree) {
        (GeneralName::Other { form }, Subtree::Other { form: of }) => form == of,
        (GeneralName::Directory(_), Subtree::Directory(_))
        | (GeneralName::Dns(_), Subtree::Dns(_))
        | (GeneralName::Email(_), Subtree::Email(_))
        | (GeneralName::Ip(_), Subtree::Ip { .. })
        | (GeneralName::Uri(_), Subtree::Uri(_)) => true,
        _ => false,
    }
}

/// Whether all that the name stands for is in the subtree. A name that cannot be read is in none.
fn is_within(name: &GeneralName, subtree: &Subtree) -> bool {
    match (name, subtree) {
        (GeneralName::Directory(name), Subtree::Directory(base)) => name.is_within(base),
        (GeneralName::Dns(name), Subtree::Dns(base)) => {
            // `*` is a label like another: where the base is above it, so is all that it stands for.
            is_host(name.strip_prefix("*.").unwrap_or(name)) && below(name, base)
        }
        (GeneralName::Email(name), Subtree::Email(base)) => mail_within(name, base),
        (GeneralName::Ip(name), Subtree::Ip { address, prefix }) => in_block(*name, *address, *prefix),
        (GeneralName::Uri(uri), Subtree::Uri(base)) => {
            host_of(uri).is_some_and(|host| is_host(host) && host_within(host, base))
        }
        _ => false,
    }
}

/// Whether anything that the name stands for is in the subtree. A name of a constrained form that cannot be read may be.
fn overlaps(name: &GeneralName, subtree: &Subtree) -> bool {
    match (name, subtree) {
        (GeneralName::Other { .. }, Subtree::Other { .. }) => same_form(name, subtree),
        (GeneralName::Dns(name), Subtree::Dns(base)) => {
            let Some(parent) = name.strip_prefix("*.") else { return !is_host(name) || below(name, base) };
            // `*.example.org` stands for `a.example.org` too, and for nothing deeper.
            let one_deeper = base.trim_start_matches('.').split_once('.').map(|(_, rest)| rest);
            !is_host(parent)
                || below(name, base)
                || one_deeper.is_some_and(|rest| rest.eq_ignore_ascii_case(parent))
        }
        (GeneralName::Email(mail), Subtree::Email(_)) => {
            mail.rsplit_once('@').is_none_or(|(_, host)| !is_host(host)) || is_within(name, subtree)
        }
        (GeneralName::Uri(uri), Subtree::Uri(_)) => {
            host_of(uri).is_none_or(|host| !is_host(host)) || is_within(name, subtree)
        }
        _ => is_within(name, subtree),
    }
}

/// The base itself or below it; with a dot before it, below only; empty is above all.
fn below(name: &str, base: &str) -> bool {
    let Some(start) = name.len().checked_sub(base.len()) else { return false };
    // Text in ASCII: every byte is a boundary.
    let (before, tail) = (&name.as_bytes()[..start], &name.as_bytes()[start..]);
    tail.eq_ignore_ascii_case(base.as_bytes())
        && match base.as_bytes().first() {
            None => true,
            Some(b'.') => !before.is_empty(),
            Some(_) => before.last().is_none_or(|byte| *byte == b'.'),
        }
}

/// §4.2.1.10 of mail addresses and URIs: a host alone is that host; a dot before it means those below.
fn host_within(host: &str, base: &str) -> bool {
    if base.starts_with('.') { below(host, base) } else { host.eq_ignore_ascii_case(base) }
}

fn mail_within(mail: &str, base: &str) -> bool {
    let Some((user, host)) = mail.rsplit_once('@') else { return false };
    if user.is_empty() || !is_host(host) {
        return false;
    }
    match base.rsplit_once('@') {
        Some((base_user, base_host)) => user == base_user && host.eq_ignore_ascii_case(base_host),
        None => host_within(host, base),
    }
}

fn in_block(address: IpAddr, base: IpAddr, prefix: u8) -> bool {
    let bits = |octets: &[u8]| octets.iter().fold(0_u128, |bits, octet| bits << 8 | u128::from(*octet));
    let (address, base, width) = match (address, base) {
        (IpAddr::V4(address), IpAddr::V4(base)) => (bits(&address.octets()), bits(&base.octets()), 32),
        (IpAddr::V6(address), IpAddr::V6(base)) => (bits(&address.octets()), bits(&base.octets()), 128),
        _ => return false,
    };
    let shift = u32::saturating_sub(width, u32::from(prefix));
    address.checked_shr(shift).unwrap_or(0) == base.checked_shr(shift).unwrap_or(0)
}

/// The host of a URI with an authority (RFC 3986 §3.2).
fn host_of(uri: &str) -> Option<&str> {
    let (scheme, rest) = uri.split_once("://")?;
    if scheme.is_empty() {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next()?;
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.starts_with('[') { host } else { host.split(':').next()? };
    (!host.is_empty()).then_some(host)
}

/// Labels of letters, digits, hyphens and underlines, none empty, and not an address.
fn is_host(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
    };
    name.len() <= 253 && name.split('.').all(label) && name.parse::<IpAddr>().is_err()
}

/// Whether the certificate is about this name. The subject's CN does not count (RFC 9525 §1.2).
pub(super) fn has_name(certificate: &Certificate, wanted: &GeneralName) -> bool {
    let names = certificate.extensions().subject_alt_names.as_deref().unwrap_or_default();
    match wanted {
        GeneralName::Dns(host) => names.iter().any(|name| match name {
            GeneralName::Dns(pattern) => matches_host(pattern, host),
            _ => false,
        }),
        GeneralName::Email(mail) => names.iter().any(|name| match (name, mail.rsplit_once('@')) {
            (GeneralName::Email(found), Some((user, host))) => found
                .rsplit_once('@')
                .is_some_and(|(own_user, own_host)| own_user == user && own_host.eq_ignore_ascii_case(host)),
            _ => false,
        }),
        GeneralName::Directory(name) => certificate.subject() == name || names.contains(wanted),
        _ => names.contains(wanted),
    }
}

/// RFC 9525 §6.3: equal but for case; a wildcard is the whole first label, stands for one label, and has two below it.
///
/// ```
/// use sealstone_pki::x509::path::matches_host;
///
/// assert!(matches_host("Billing.example.org", "billing.example.org"));
/// assert!(matches_host("*.example.org", "billing.example.org"));
/// assert!(!matches_host("*.example.org", "a.billing.example.org"), "one label");
/// assert!(!matches_host("*.example.org", "example.org"));
/// assert!(!matches_host("*.org", "example.org"), "two labels below the wildcard");
/// ```
pub fn matches_host(pattern: &str, host: &str) -> bool {
    if !is_host(host) {
        return false;
    }
    match pattern.strip_prefix("*.") {
        Some(parent) => {
            is_host(parent)
                && parent.contains('.')
                && host.split_once('.').is_some_and(|(_, rest)| rest.eq_ignore_ascii_case(parent))
        }
        None => is_host(pattern) && pattern.eq_ignore_ascii_case(host),
    }
}
