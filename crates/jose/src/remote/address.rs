//! Which addresses the server may be sent to by what others registered.
//!
//! The address that is looked at is the one that is connected to: no name is resolved a second time in between, so that a
//! name cannot say one thing to the check and another to the connection (DNS rebinding).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether `address` is somewhere in the public Internet, or, with `private`, a host at all.
///
/// Public is what the registries of IANA call globally reachable. An IPv6 address that stands for an IPv4 address
/// (RFC 4291 §2.5.5.2, RFC 6052) is as good as that one; other ways to wrap one (6to4, Teredo) are refused.
///
/// ```
/// use sealstone_jose::remote::address::is_allowed;
///
/// let address = |text: &str| text.parse().expect("an address");
/// assert!(is_allowed(address("198.41.0.4"), false));
/// // The cloud's own service, and the same wrapped in IPv6.
/// assert!(!is_allowed(address("169.254.169.254"), false));
/// assert!(!is_allowed(address("::ffff:169.254.169.254"), false));
/// // Loopback, where that is wanted; what is no host never is.
/// assert!(!is_allowed(address("127.0.0.1"), false) && is_allowed(address("127.0.0.1"), true));
/// assert!(!is_allowed(address("0.0.0.0"), true));
/// ```
pub fn is_allowed(address: IpAddr, private: bool) -> bool {
    match address {
        IpAddr::V4(v4) if private => !v4.is_unspecified() && !v4.is_broadcast() && !v4.is_multicast(),
        IpAddr::V6(v6) if private => match v6.to_ipv4_mapped() {
            Some(v4) => is_allowed(v4.into(), private),
            None => !v6.is_unspecified() && !v6.is_multicast(),
        },
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => match inner(v6) {
            Some(v4) => is_public_v4(v4),
            None => is_public_v6(v6),
        },
    }
}

/// `::ffff:a.b.c.d` and `64:ff9b::a.b.c.d`.
fn inner(v6: Ipv6Addr) -> Option<Ipv4Addr> {
    match v6.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
        }
        _ => None,
    }
}

/// The IPv4 networks that are not in the public Internet: the IANA special-purpose registry (RFC 6890), multicast and
/// what is reserved.
const NOT_PUBLIC_V4: [(Ipv4Addr, u32); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 31, 196, 0), 24),
    (Ipv4Addr::new(192, 52, 193, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 3),
];

fn is_public_v4(v4: Ipv4Addr) -> bool {
    !NOT_PUBLIC_V4.iter().any(|(network, bits)| (v4.to_bits() ^ network.to_bits()) >> (32 - bits) == 0)
}

/// Global unicast is `2000::/3`; of it, not the IETF's own, Teredo and documentation (`2001::/23`, `2001:db8::/32`,
/// `3fff::/20`) and not 6to4 (`2002::/16`).
fn is_public_v6(v6: Ipv6Addr) -> bool {
    let [first, second, ..] = v6.segments();
    match (first, second) {
        (0x2001, 0..=0x01ff | 0x0db8) | (0x2002, _) | (0x3fff, 0..=0x0fff) => false,
        (0x2000..=0x3fff, _) => true,
        _ => false,
    }
}
