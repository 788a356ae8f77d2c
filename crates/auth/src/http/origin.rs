//! Where a request comes from: the peer of the connection, or whom a proxy that is known says it is.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use hyper::HeaderMap;
use hyper::header::{FORWARDED, HeaderName};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// The header in which a proxy says for whom it asks.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyHeader {
    /// `Forwarded`, RFC 7239.
    Forwarded,
    /// `X-Forwarded-For`.
    #[default]
    XForwardedFor,
}

/// Addresses with the same first bits: `10.0.0.0/8`, `2001:db8::/32`, or one address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    address: IpAddr,
    bits: u32,
}

impl Block {
    /// Whether it holds the address.
    pub fn contains(&self, address: IpAddr) -> bool {
        // The first `bits` bits: a shift by all of them leaves nothing to compare.
        let same = |a: u128, b: u128, all: u32| (a ^ b).checked_shr(all - self.bits).unwrap_or(0) == 0;
        match (self.address, address.to_canonical()) {
            (IpAddr::V4(own), IpAddr::V4(other)) => same(own.to_bits().into(), other.to_bits().into(), 32),
            (IpAddr::V6(own), IpAddr::V6(other)) => same(own.to_bits(), other.to_bits(), 128),
            _ => false,
        }
    }
}

impl FromStr for Block {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const WHAT: &str = "an address or a block of them, as in 10.0.0.0/8";
        let (address, bits) = text.split_once('/').map_or((text, None), |(a, bits)| (a, Some(bits)));
        let address: IpAddr = address.parse().map_err(|_| WHAT)?;
        let all = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.map_or(Ok(all), |bits| bits.parse().map_err(|_| WHAT))?;
        if bits > all { Err(WHAT) } else { Ok(Self { address, bits }) }
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|what| D::Error::custom(format!("`{text}` is not what is expected, expected {what}")))
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// Who is believed about where a request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Origins {
    pub(crate) header: ProxyHeader,
    /// Whether the peer of a connection is the one who asks, if it is none of the proxies.
    pub(crate) peers: bool,
    pub(crate) proxies: Vec<Block>,
}

impl Origins {
    /// Whether this peer asks for others.
    pub(crate) fn is_proxy(&self, peer: IpAddr) -> bool {
        self.proxies.iter().any(|block| block.contains(peer))
    }

    /// Who asks, as far as that can be known. What a proxy says is believed from the right, where the last one wrote:
    /// the first address that is no proxy of ours. What stands before it anybody may have made up.
    pub(crate) fn of(&self, peer: SocketAddr, headers: &HeaderMap) -> Option<IpAddr> {
        let peer = peer.ip().to_canonical();
        if !self.is_proxy(peer) {
            return self.peers.then_some(peer);
        }
        let said = self.said(headers);
        let mut hops = said.into_iter().rev();
        loop {
            match hops.next() {
                Some(Some(address)) if self.is_proxy(address) => {}
                Some(found) => return found,
                None => return None,
            }
        }
    }

    /// Every hop that the header names, in its order; `None` for what is no address.
    fn said(&self, headers: &HeaderMap) -> Vec<Option<IpAddr>> {
        let name = match self.header {
            ProxyHeader::Forwarded => FORWARDED,
            ProxyHeader::XForwardedFor => HeaderName::from_static("x-forwarded-for"),
        };
        let lines = headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("?"));
        let hops = lines.flat_map(|line| line.split(','));
        hops.map(|hop| match self.header {
            ProxyHeader::XForwardedFor => node(hop.trim()),
            ProxyHeader::Forwarded => {
                let mut pairs = hop.split(';').filter_map(|pair| pair.trim().split_once('='));
                let by = pairs.find(|(name, _)| name.eq_ignore_ascii_case("for"));
                by.and_then(|(_, value)| node(value.trim_matches('"')))
            }
        })
        .collect()
    }
}

/// An address with or without a port, RFC 7239 §6.
fn node(text: &str) -> Option<IpAddr> {
    let bare = || text.strip_prefix('[')?.strip_suffix(']')?.parse().ok();
    let plain = text.parse::<IpAddr>().ok();
    let with_port = || text.parse::<SocketAddr>().ok().map(|address| address.ip());
    plain.or_else(bare).or_else(with_port).map(|address: IpAddr| address.to_canonical())
}
