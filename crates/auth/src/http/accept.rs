//! What a request would rather have, RFC 9110 §12.5.1.

use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Whether `wanted`, which must be named to be given, is wanted at least as much as JSON, which is given otherwise.
pub(super) fn prefers(headers: &HeaderMap, wanted: &str) -> bool {
    let (mut named, mut json) = (0, 0);
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    for range in lines.flat_map(|line| line.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or(part.strip_prefix("Q=")));
        let weight = weight.map_or(1000, thousandths);
        if kind.eq_ignore_ascii_case(wanted) {
            named = weight;
        } else if ["application/json", "application/*", "*/*"]
            .iter()
            .any(|one| kind.eq_ignore_ascii_case(one))
        {
            json = json.max(weight);
        }
    }
    named > 0 && named >= json
}

/// A weight from 0 to 1 with three digits, in thousandths; what is none counts as nothing.
fn thousandths(text: &str) -> u32 {
    let weight: f64 = text.parse().unwrap_or(0.0);
    if (0.0..=1.0).contains(&weight) { (weight * 1000.0) as u32 } else { 0 }
}
