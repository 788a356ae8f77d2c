//! Addresses in one form, so that two spellings of one address are equal: RFC 9449 §4.3, RFC 3986 §6.2.2 and §6.2.3.

/// The normal form of an `http` or `https` URL without its query and fragment. `None` for what is not one, and for one
/// that carries a user.
///
/// Scheme and host in lower case, no default port, percent-encoding in capitals and only where it is needed, no dot
/// segments, no empty path.
pub(super) fn normal(url: &str) -> Option<String> {
    let url = &url[..url.find(['?', '#']).unwrap_or(url.len())];
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (host, port) = split(authority)?;
    let host = decoded(host, |byte| b"[]:!$&'()*+,;=".contains(&byte))?.to_ascii_lowercase();
    let path = without_dots(&decoded(path, |byte| b"/:@!$&'()*+,;=".contains(&byte))?);
    Some(match port.unwrap_or(default) == default {
        true => format!("{scheme}://{host}{path}"),
        false => format!("{scheme}://{host}:{}{path}", port?),
    })
}

/// Host and port. An empty port is none (§6.2.3). The colons of an IPv6 address stand in brackets (§3.2.2).
fn split(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_bracket = authority.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match authority[after_bracket..].find(':') {
        Some(at) => authority.split_at(after_bracket + at),
        None => (authority, ""),
    };
    let digits = port.strip_prefix(':').unwrap_or(port);
    let port = match digits {
        "" => None,
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
        _ => return None,
    };
    (!host.is_empty()).then_some((host, port))
}

/// Undoes the percent-encoding of letters, digits and `-._~`, and writes the rest of it in capitals: §6.2.2.1 and
/// §6.2.2.2. `None` if a character is neither of these nor `allowed`.
fn decoded(text: &str, allowed: impl Fn(u8) -> bool) -> Option<String> {
    let unreserved = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    let mut normal = String::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            (unreserved(byte) || allowed(byte)).then(|| normal.push(char::from(byte)))?;
            continue;
        }
        let high = char::from(bytes.next()?).to_digit(16)?;
        let low = char::from(bytes.next()?).to_digit(16)?;
        let byte = (high * 16 + low) as u8;
        match unreserved(byte) {
            true => normal.push(char::from(byte)),
            false => normal.push_str(&format!("%{byte:02X}")),
        }
    }
    Some(normal)
}

/// Removes `.` and `..`, §5.2.4. The path is empty or begins with a slash.
fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let mut open = false;
    for segment in path.split('/').skip(1) {
        open = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            segment => kept.push(segment),
        }
    }
    let end = if open && !kept.is_empty() { "/" } else { "" };
    format!("/{}{end}", kept.join("/"))
}
