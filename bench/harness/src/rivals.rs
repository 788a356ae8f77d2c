//! Who is measured beside us, and which of a rival's forms stands against which of our rows.

/// A rival: a program below `bench/peers` that speaks the line protocol.
pub(crate) struct Rival {
    /// What tables, goals and records call it.
    pub(crate) name: &'static str,
    /// The program, below `bench/peers`; the first folder has the script that builds it.
    pub(crate) program: &'static str,
    /// PEER_VECTORS in its environment: "0" denies BoringSSL its vector instructions, "avx2" wolfSSL the wider ones.
    pub(crate) vectors: &'static str,
    /// What its live keys are.
    pub(crate) live: Live,
    /// Whether a goal names it: it then runs unasked where it is built.
    pub(crate) goal: bool,
}

/// What a rival's live keys are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Live {
    /// They hold the matrix, or it has none: not a form to hold our rows from bytes against.
    Apart,
    /// They hold no matrix: the better of both forms stands against our rows from bytes.
    Unexpanded,
}

/// Everybody, in the order of the tables.
pub(crate) const RIVALS: [Rival; 15] = [
    goal("wolfssl", "wolfssl/target/peer-plain", Live::Unexpanded),
    // The same with its three caches: the matrix and the transformed vectors stay in the key.
    goal("wolfssl-cached", "wolfssl/target/peer-cached", Live::Apart),
    goal("mldsa-native", "mldsa-native/target/peer", Live::Apart),
    // Its C code: what a portable room can be held against. It signs from a seed, as our row does.
    Rival { vectors: "0", ..goal("boringssl", "boringssl/target/release/peer", Live::Apart) },
    // As it is built for this machine, with AVX2 for four Keccak states at a time.
    other("boringssl-avx2", "boringssl/target/release/peer", Live::Apart),
    // Denied AVX-512: a rival of the AVX2 room, too.
    Rival { vectors: "avx2", ..other("wolfssl-avx2", "wolfssl/target/peer-plain", Live::Unexpanded) },
    other("aws-lc-rs", "rust/target/release/peer-aws-lc-rs", Live::Unexpanded),
    other("pqcrypto", "rust/target/release/peer-pqcrypto", Live::Apart),
    other("liboqs", "liboqs/target/peer", Live::Apart),
    other("libcrux", "rust/target/release/peer-libcrux", Live::Apart),
    other("openssl", "openssl/target/peer", Live::Unexpanded),
    other("circl", "go/target/circl", Live::Apart),
    other("filippo", "go/target/filippo", Live::Apart),
    other("fips204", "rust/target/release/peer-fips204", Live::Unexpanded),
    other("ml-dsa", "rust/target/release/peer-ml-dsa", Live::Apart),
];

/// The one whose ratio every table shows, beside the goal's and the best.
pub(crate) const YARDSTICK: &str = "aws-lc-rs";

/// The rival's operations of which the fastest stands against one of ours.
pub(crate) fn forms(operation: &str, live: Live) -> &'static [&'static str] {
    match (operation, live) {
        ("keygen", _) => &["keygen"],
        ("sign" | "sign-bytes", Live::Apart) => &["sign"],
        ("verify", Live::Apart) => &["verify"],
        // A rival without live keys, or with poor ones, uses the bytes.
        ("verify" | "verify-expanded" | "verify-batch", _) => &["verify-expanded", "verify"],
        _ => &["sign-expanded", "sign"],
    }
}

const fn goal(name: &'static str, program: &'static str, live: Live) -> Rival {
    Rival { name, program, vectors: "1", live, goal: true }
}

const fn other(name: &'static str, program: &'static str, live: Live) -> Rival {
    Rival { name, program, vectors: "1", live, goal: false }
}

#[cfg(test)]
mod tests {
    use super::{Live, forms};

    #[test]
    fn a_live_key_without_a_matrix_counts_as_one_from_bytes() {
        assert_eq!(forms("sign", Live::Unexpanded), ["sign-expanded", "sign"]);
        assert_eq!(forms("sign", Live::Apart), ["sign"]);
        assert_eq!(forms("sign-batch", Live::Apart), ["sign-expanded", "sign"]);
        assert_eq!(forms("verify", Live::Apart), ["verify"]);
        assert_eq!(forms("verify-batch", Live::Unexpanded), ["verify-expanded", "verify"]);
        assert_eq!(forms("keygen", Live::Unexpanded), ["keygen"]);
    }
}
