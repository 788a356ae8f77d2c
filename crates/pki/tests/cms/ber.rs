//! What streams in BER and what only looks like it. A signed message is the shortest thing that is read whole.

use sealstone_mldsa::Level;
use sealstone_pki::cms::{Error, Policy, Signer, Signing, Trust, Unverified};

use super::support::{Node, certificate, ml_dsa, tlv};

fn message() -> Vec<u8> {
    let key = ml_dsa(Level::MlDsa44);
    let certificate = certificate(&key);
    Signing::new(Signer::new(&certificate, &key).unwrap()).attached(b"the harbour at nine").unwrap()
}

fn refused(bytes: &[u8]) -> &'static str {
    match Unverified::from_der(bytes) {
        Err(Error::Ber { expected, .. }) => expected,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_two_forms_of_ber_are_read() {
    let der = message();
    let streamed = Node::parse(&der).streamed(5);
    assert!(Unverified::from_der(&streamed).is_ok());

    assert_eq!(refused(&[]), "as many bytes as the length says");
    assert_eq!(refused(&[0x30]), "as many bytes as the length says");
    assert_eq!(refused(&[0x30, 0x80]), "the end of an indefinite length");
    assert_eq!(refused(&[0x30, 0x80, 0]), "as many bytes as the length says");
    assert_eq!(refused(&streamed[..streamed.len() - 2]), "the end of an indefinite length");
    assert_eq!(refused(&[&streamed[..], &[0]].concat()), "nothing after the message");
    // Lengths that are longer than they need be, or too long for any message.
    assert_eq!(refused(&[0x30, 0x81, 0x05, 2, 1, 0, 5, 0]), "a length in its shortest form");
    assert_eq!(refused(&[0x30, 0x82, 0x00, 0x80]), "a length in its shortest form");
    assert_eq!(refused(&[0x30, 0x85, 1, 0, 0, 0, 0]), "a length of at most 4 bytes");
    assert_eq!(
        refused(&[0x30, 0x88, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
        "a length of at most 4 bytes"
    );
    assert_eq!(refused(&[0x30, 0xff]), "a length of at most 4 bytes");
    assert_eq!(refused(&[0x30, 0x84, 0xff, 0xff, 0xff, 0xff]), "as many bytes as the length says");
    // A tag of several bytes; a primitive value without a length.
    assert_eq!(refused(&[0x3f, 0x81, 0x01, 0x00]), "a tag of one byte");
    assert_eq!(refused(&[0x30, 0x80, 0x04, 0x80, 0, 0, 0, 0]), "a definite length of a primitive value");
    // An inner value that reaches out of the outer one.
    assert_eq!(refused(&[0x30, 4, 0x30, 3, 2, 1, 0, 0]), "an inner value that ends within the outer one");
    // Pieces that are none, and pieces of pieces.
    assert_eq!(refused(&[0x24, 3, 2, 1, 0]), "a piece of the OCTET STRING");
    assert_eq!(refused(&[0x24, 0x80, 0x24, 0x80, 4, 1, 0, 0, 0, 0, 0]), "a piece of the OCTET STRING");
    assert_eq!(refused(&[0x24, 0x80, 0x04, 0x80]), "a piece of the OCTET STRING");
}

/// Nesting costs the reader a level each, and the sender two bytes: a bound, not a stack.
#[test]
fn deep_nesting_is_refused() {
    let deep = |depth: usize, open: &[u8]| open.repeat(depth);
    assert_eq!(refused(&deep(33, &[0x30, 0x80])), "at most 32 structures in each other");
    assert_eq!(refused(&deep(10_000_000, &[0x30, 0x80])), "at most 32 structures in each other");
    let mut definite = vec![5, 0];
    for _ in 0..33 {
        definite = tlv(0x30, &definite);
    }
    assert_eq!(refused(&definite), "at most 32 structures in each other");
}

/// Many empty values, which cost two bytes each: read in a moment, and then refused for what they are.
#[test]
fn many_small_pieces_take_linear_time() {
    let mut message = Node::parse(&message());
    let pieces = tlv(0x04, &[7]).repeat(1 << 20);
    let whole = [&[0x24, 0x80][..], &pieces, &[0, 0]].concat();
    // Put in by hand: the tree would read it as what it is.
    let marker = message.at(&[1, 0, 2, 1, 0]).bytes();
    let der = message.bytes();
    let at = der.windows(marker.len()).position(|window| window == marker).unwrap();
    let streamed = Node::parse(&der).streamed(usize::MAX);
    let in_stream = streamed.windows(marker.len()).position(|window| window == marker).unwrap();
    assert!(at > 0);
    let bomb = [&streamed[..in_stream], &whole, &streamed[in_stream + marker.len()..]].concat();
    let start = std::time::Instant::now();
    let read = Unverified::from_der(&bomb).unwrap();
    assert_eq!(read.content_len(), Some(1 << 20));
    let key = ml_dsa(Level::MlDsa44);
    let trusted = [certificate(&key)];
    assert_eq!(read.verify(Trust::Certificates(&trusted), Policy::All).unwrap_err(), Error::ContentMismatch);
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[test]
fn every_cut_and_every_changed_bit_is_no_panic() {
    let der = message();
    let key = ml_dsa(Level::MlDsa44);
    let trusted = [certificate(&key)];
    for cut in 0..der.len() {
        assert!(Unverified::from_der(&der[..cut]).is_err());
    }
    // The structure before the signature, bit by bit; and the same in BER.
    for bytes in [der.clone(), Node::parse(&der).streamed(5)] {
        for index in (0..bytes.len()).filter(|index| index % 31 == 0 || *index < 120) {
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[index] ^= 1 << bit;
                let Ok(read) = Unverified::from_der(&changed) else { continue };
                let _ = read.verify(Trust::Certificates(&trusted), Policy::All);
            }
        }
    }
}
