//! The sizes that people plan with.

use sealstone_jose::jws::{self, Header};
use sealstone_jose::size::{self, LIMITS};
use sealstone_jose::{Algorithm, PrivateKey};

/// A token as RFC 9068 wants it, with a payload of 400 bytes.
fn token(algorithm: Algorithm, payload: usize) -> String {
    let key = PrivateKey::from_secret(algorithm, &[1; 32]).unwrap();
    jws::encode(&key, &Header::new().typ("at+jwt"), &vec![b' '; payload]).unwrap()
}

#[test]
fn parts_add_up() {
    for algorithm in [Algorithm::Ed25519, Algorithm::MlDsa44, Algorithm::MlDsa65, Algorithm::MlDsa87] {
        let token = token(algorithm, 400);
        let report = size::report(&token).unwrap();
        let parts: Vec<usize> = token.split('.').map(str::len).collect();
        assert_eq!([report.header, report.payload, report.signature], parts[..]);
        assert_eq!(report.total, token.len());
        assert_eq!(report.algorithm, algorithm);
    }
    // base64url of 64, 2420, 3309 and 4627 bytes.
    let signatures = size::compare(&token(Algorithm::Ed25519, 9)).unwrap();
    let of = |algorithm| signatures.iter().find(|report| report.algorithm == algorithm).unwrap().signature;
    assert_eq!([of(Algorithm::Es256), of(Algorithm::Es384), of(Algorithm::Es512)], [86, 128, 176]);
    assert_eq!([of(Algorithm::MlDsa44), of(Algorithm::MlDsa65), of(Algorithm::MlDsa87)], [3227, 4412, 6170]);
}

/// The comparison says of each algorithm what that algorithm's own token then measures.
#[test]
fn comparison_holds() {
    let tokens: Vec<String> = [Algorithm::Ed25519, Algorithm::EdDsa, Algorithm::MlDsa44, Algorithm::MlDsa87]
        .into_iter()
        .map(|algorithm| token(algorithm, 333))
        .collect();
    for from in &tokens {
        let compared = size::compare(from).unwrap();
        assert_eq!(compared.len(), Algorithm::ALL.len());
        for to in &tokens {
            let own = size::report(to).unwrap();
            assert!(compared.contains(&own), "{own:?}");
        }
    }
}

#[test]
fn limits_break_where_they_say() {
    for (index, limit) in LIMITS.iter().enumerate() {
        let most = limit.bytes - limit.carrier.overhead();
        assert!(!limit.is_broken_by(most) && limit.is_broken_by(most + 1), "{}", limit.name);
        assert!(index == 0 || LIMITS[index - 1].bytes <= limit.bytes, "{} is out of order", limit.name);
    }
    let broken = |algorithm| -> Vec<&str> {
        size::report(&token(algorithm, 350)).unwrap().broken().map(|limit| limit.name).collect()
    };
    assert!(broken(Algorithm::Ed25519).is_empty());
    assert!(broken(Algorithm::MlDsa44).is_empty());
    assert_eq!(broken(Algorithm::MlDsa65), ["browser cookie", "nginx response header"]);
    assert_eq!(size::report(&token(Algorithm::MlDsa87, 1_500)).unwrap().broken().count(), 6);
}

/// Composite tokens beside standard ones: whichever kind it starts from, each measures what its own token does.
#[test]
fn composite_comparison_holds() {
    use sealstone_jose::composite::{self, Algorithm as Pair};

    let own = |algorithm: Pair| {
        let key = composite::PrivateKey::generate(algorithm).unwrap();
        composite::encode(&key, &Header::new().typ("at+jwt"), &[b' '; 333]).unwrap()
    };
    let standard = token(Algorithm::MlDsa65, 333);
    let fixed = [Pair::MlDsa44Ed25519, Pair::MlDsa65Ed25519, Pair::MlDsa87Ed448];
    let mut from = fixed.map(own).to_vec();
    from.push(standard.clone());
    for text in &from {
        let (singles, pairs) = size::composite::compare(text).unwrap();
        assert_eq!((singles.len(), pairs.len()), (Algorithm::ALL.len(), Pair::ALL.len()));
        assert!(singles.contains(&size::report(&standard).unwrap()));
        for (algorithm, signature) in fixed.into_iter().zip([3312, 4498, 6322]) {
            let expected = size::composite::report(&own(algorithm)).unwrap();
            assert!(pairs.contains(&expected), "{expected:?}");
            assert_eq!(expected.signature, signature);
        }
        // ECDSA in DER: the most.
        let most = pairs.iter().find(|report| report.algorithm == Pair::MlDsa65Es256).unwrap().signature;
        assert_eq!(most, 4508);
    }
    assert_eq!(size::compare(&standard).unwrap(), size::composite::compare(&standard).unwrap().0);
    assert!(size::compare(&from[0]).is_err(), "no feature changes what a standard reader takes");
}
