//! What is wiped holds zeros. That it is wiped when it leaves is seen by `./dev wipe`, which looks into memory.

use crate::ct::Wipe;
use crate::fips204::ring::{NttPoly, Poly, Small};
use crate::keccak::States;

#[test]
#[cfg_attr(feature = "leaky", ignore = "nothing is wiped")]
fn wiped_values_are_zeros() {
    let mut poly = Poly([-1; 256]);
    poly.wipe();
    assert_eq!(poly.0, [0; 256]);
    let mut poly = NttPoly([-1; 256]);
    poly.wipe();
    assert_eq!(poly.0, [0; 256]);
    let mut states = States([[u64::MAX; 8]; 25]);
    states.wipe();
    assert_eq!(states.0, [[0; 8]; 25]);
    let mut small = Small::ZERO;
    small.take(&[1; 256], 2);
    small.wipe();
    for start in [0, 256, 512] {
        assert_eq!(*small.window(start), [0; 256]);
    }
    let mut many = [[0xff; 5]; 3];
    many.wipe();
    assert_eq!(many, [[0; 5]; 3]);
}
