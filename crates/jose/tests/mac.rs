//! Tokens with a MAC: the example of the RFC, and everything that must not pass for one.

use sealstone_jose::jws::{self, Header, Unverified};
use sealstone_jose::jwt::{Claims, Rules};
use sealstone_jose::mac::{self, MacAlgorithm, MacKey};
use sealstone_jose::{Algorithm, Error, JwkSet, PrivateKey, UnixSeconds};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

fn key(algorithm: MacAlgorithm) -> MacKey {
    MacKey::new(algorithm, &[7; 64]).unwrap()
}

/// RFC 7515 Appendix A.1.
#[test]
fn rfc7515_a1_hs256() {
    let secret = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let token = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
                 eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
                 dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let key = MacKey::new(MacAlgorithm::Hs256, &URL_SAFE_NO_PAD.decode(secret).unwrap()).unwrap();
    let verified = Unverified::parse_mac(token).unwrap().verify_mac(&key).unwrap();
    assert_eq!(verified.header().algorithm(), MacAlgorithm::Hs256);
    let checked = Rules::new()
        .issuer("joe")
        .any_audience()
        .any_typ()
        .check(verified, UnixSeconds(1_300_819_379))
        .unwrap();
    assert_eq!(checked.claims().expires(), Some(UnixSeconds(1_300_819_380)));
    for (at, _) in token.char_indices().filter(|(_, letter)| *letter != '.') {
        let mut changed = token.as_bytes().to_vec();
        changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
        let changed = String::from_utf8(changed).unwrap();
        let accepted = Unverified::parse_mac(&changed).and_then(|token| token.verify_mac(&key));
        assert!(accepted.is_err(), "changed at {at}");
    }
}

#[test]
fn rfc7518_s3_2_length_of_the_secret() {
    for algorithm in MacAlgorithm::ALL {
        let (least, secret) = (algorithm.mac_len(), [7; 64]);
        assert_eq!(least, algorithm.name()[2..].parse::<usize>().unwrap() / 8);
        assert!(MacKey::new(algorithm, &secret[..least]).is_ok());
        let short = MacKey::new(algorithm, &secret[..least - 1]).unwrap_err();
        assert_eq!(short, Error::SecretTooShort { expected: least, found: least - 1 });
        assert!(MacKey::new(algorithm, b"").is_err());
    }
    assert!(!format!("{:?}", key(MacAlgorithm::Hs256)).contains('7'));
}

#[test]
fn rfc8725_s2_1_algorithm_confusion() {
    let header = Header::new().typ("JWT");
    // Each MAC for its own name alone, though the secret is the same.
    for made in MacAlgorithm::ALL {
        let token = mac::encode(&key(made), &header, b"{}").unwrap();
        for read in MacAlgorithm::ALL {
            let verified = Unverified::parse_mac(&token).unwrap().verify_mac(&key(read));
            assert_eq!(verified.is_ok(), made == read, "{made} read as {read}");
        }
        assert!(
            matches!(Unverified::parse(&token), Err(Error::AlgorithmUnknown { .. })),
            "{made}: no signature"
        );
    }
    for algorithm in Algorithm::ALL {
        let pair = PrivateKey::generate(algorithm).unwrap();
        let signed = jws::encode(&pair, &header, b"{}").unwrap();
        assert!(
            matches!(Unverified::parse_mac(&signed), Err(Error::AlgorithmUnknown { .. })),
            "{algorithm}: no MAC"
        );
        // A MAC under the public key, by every name of the key, is no signature.
        let set = JwkSet::new([pair.public().clone()]).unwrap();
        for secret in
            [pair.public().as_bytes(), set.to_json().as_bytes(), pair.public().to_jwk().to_json().as_bytes()]
        {
            let token =
                mac::encode(&MacKey::new(MacAlgorithm::Hs256, secret).unwrap(), &header, b"{}").unwrap();
            assert!(Unverified::parse(&token).is_err());
            let renamed = format!("{{\"alg\":\"{algorithm}\",\"kid\":\"{}\"}}", pair.kid());
            let renamed = format!("{}.{}", URL_SAFE_NO_PAD.encode(renamed), token.split_once('.').unwrap().1);
            assert!(Unverified::parse(&renamed).and_then(|token| token.verify_with_set(&set)).is_err());
        }
    }
    let body = URL_SAFE_NO_PAD.encode(Claims::new().to_json());
    for alg in ["none", "None", "", "hs256", "HS1", "HS2560", "HS256 "] {
        let token =
            format!("{}.{body}.{}", URL_SAFE_NO_PAD.encode(format!("{{\"alg\":\"{alg}\"}}")), "A".repeat(43));
        assert!(Unverified::parse_mac(&token).is_err(), "{alg}");
    }
}

#[test]
fn a_mac_that_is_cut_or_empty() {
    let key = key(MacAlgorithm::Hs512);
    let token = mac::encode(&key, &Header::new(), b"{}").unwrap();
    let (input, tag) = token.rsplit_once('.').unwrap();
    for length in 0..tag.len() {
        let cut = format!("{input}.{}", &tag[..length]);
        assert!(Unverified::parse_mac(&cut).and_then(|token| token.verify_mac(&key)).is_err(), "{length}");
    }
    assert!(Unverified::parse_mac(&format!("{token}AAAA")).is_err());
}
