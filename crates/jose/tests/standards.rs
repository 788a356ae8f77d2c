//! The examples of the RFCs, and the vectors that do not come with the repository.

use std::fs;
use std::path::PathBuf;

use aws_lc_rs::digest;
use sealstone_jose::jws::{self, Detached, General, Header, Unverified};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey, PublicKey};
use sealstone_mldsa::{Context, Level, any};
use serde_json::Value;

use crate::{b64, signed, unb64};

/// RFC 9964 Appendix A.1, for a machine without vectors: thumbprint, SHA-256 of `pub` and of the whole token.
const RFC9964: [(Algorithm, &str, &str, &str); 3] = [
    (
        Algorithm::MlDsa44,
        "T4xl70S7MT6Zeq6r9V9fPJGVn76wfnXJ21-gyo0Gu6o",
        "a312d90f93899debad5ce433890c330aad9b4f854758d0b07eb264a75899347e",
        "2ae7b395a71470a610a0d8b6443fd4784d93ba2b7d0a752da58264eb0fd338e8",
    ),
    (
        Algorithm::MlDsa65,
        "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM",
        "1b79221726f2b876c87049ee20015ab0a55bf5abfa3cc5b1f9cbc5751be23a8a",
        "bb1a49c32f37f5f750e73fcc6fd7cbd8cf683e8b0270b1420c02e2e63e66bc01",
    ),
    (
        Algorithm::MlDsa87,
        "tRn1JNIkgMsABVQBlXeDHxAIcclh-2IX0UdDEzPt5XU",
        "79fa4619095f2e5eb020c9d2f871046402d038090738417198a42dcfae63f99c",
        "7102258ffe720c7430bf087b3283867b559d7479d1142162369fec672e1804aa",
    ),
];

const FRODO: &str = "It\u{2019}s a dangerous business, Frodo, going out your door.";

/// The token that `key` would make if it signed deterministically, as only the examples do.
fn deterministic_token(key: &PrivateKey) -> String {
    let token = jws::encode(key, &Header::new(), FRODO.as_bytes()).unwrap();
    let (input, _) = token.rsplit_once('.').unwrap();
    let seed: [u8; 32] = key.secret().as_slice().try_into().unwrap();
    let signature = any::SigningKey::from_seed(key.algorithm().level().unwrap(), &seed)
        .sign_deterministic(Context::EMPTY, input.as_bytes())
        .unwrap();
    format!("{input}.{}", b64(signature.encode()))
}

#[test]
fn rfc9964_a1_by_digest() {
    for (algorithm, thumbprint, pub_digest, token_digest) in RFC9964 {
        let key = PrivateKey::from_secret(algorithm, &[0; 32]).unwrap();
        assert_eq!(key.kid(), thumbprint);
        assert_eq!(hash(&b64(key.public().as_bytes())), pub_digest, "{algorithm}");
        let token = deterministic_token(&key);
        assert_eq!(hash(&token), token_digest, "{algorithm}");
        let verified = Unverified::parse(&token).unwrap().verify(key.public()).unwrap();
        assert_eq!(verified.payload(), FRODO.as_bytes());
    }
}

#[test]
fn rfc9964_a1_by_vector() {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let folder = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from).join("jose/ml-dsa");
    if !folder.is_dir() {
        println!("skipped: RFC 9964 vectors (no folder of vectors)");
        return;
    }
    for level in Level::ALL {
        let name = level.name().replace('-', "_");
        let text = fs::read_to_string(folder.join(format!("{name}.jose.json"))).unwrap();
        let vector: Value = serde_json::from_str(&text).unwrap();
        let (jwk, token) = (&vector["jwk"], vector["jws"].as_str().unwrap());

        let key = PrivateKey::from_jwk(&jwk.to_string()).unwrap();
        assert_eq!(key.public().thumbprint(), jwk["kid"]);
        assert_eq!(deterministic_token(&key), token, "{level}");
        let written: Value = serde_json::from_str(&key.to_jwk().to_json()).unwrap();
        for member in ["kty", "alg", "kid", "pub", "priv"] {
            assert_eq!(written[member], jwk[member], "{level} {member}");
        }

        let mut public = jwk.clone();
        public.as_object_mut().unwrap().remove("priv");
        let public = PublicKey::from_jwk(&public.to_string()).unwrap();
        assert_eq!(Unverified::parse(token).unwrap().verify(&public).unwrap().payload(), FRODO.as_bytes());
    }
    println!("RFC 9964 vectors: 3 keys, 3 tokens");
}

/// Key and token.
fn rfc7515_a3() -> (&'static str, &'static str) {
    let key = r#"{"kty":"EC","crv":"P-256",
        "x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y":"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
        "d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}"#;
    let token = "eyJhbGciOiJFUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
    (key, token)
}

#[test]
fn rfc7515_a3_es256() {
    let (key, token) = rfc7515_a3();
    let key = PrivateKey::from_jwk(key).unwrap();
    assert_eq!(key.algorithm(), Algorithm::Es256);
    let verified = Unverified::parse(token).unwrap().verify(key.public()).unwrap();
    assert!(verified.payload().starts_with(br#"{"iss":"joe","#));
}

/// Key and token.
fn rfc7515_a2() -> (&'static str, &'static str) {
    let key = r#"{"kty":"RSA","e":"AQAB",
        "n":"ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"}"#;
    let token = "eyJhbGciOiJSUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.\
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU\
        Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_d\
        O--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig\
        cN_IoypGlUPQGe77Rw";
    (key, token)
}

/// The parts of a token.
fn parts(token: &str) -> [&str; 3] {
    token.split('.').collect::<Vec<_>>().try_into().unwrap()
}

#[test]
fn rfc7515_a2_rs256() {
    let (key, token) = rfc7515_a2();
    let key = PublicKey::from_jwk(key).unwrap();
    let verified = Unverified::parse(token).unwrap().verify(&key).unwrap();
    assert!(verified.payload().starts_with(br#"{"iss":"joe","#));
}

/// RFC 7515 Appendix A.6 is the payload of A.2 and A.3 with both signatures, and A.7 with the second.
#[test]
fn rfc7515_a6_general_and_a7_flattened() {
    let (rsa, ec) = (rfc7515_a2(), rfc7515_a3());
    let [_, payload, first] = parts(rsa.1);
    let [_, _, second] = parts(ec.1);
    let (rsa_kid, ec_kid) = ("2010-12-29", "e9bc097a-ce51-4036-9562-d2ade882db0d");
    let general = format!(
        r#"{{"payload":"{payload}","signatures":[
            {{"protected":"eyJhbGciOiJSUzI1NiJ9","header":{{"kid":"{rsa_kid}"}},"signature":"{first}"}},
            {{"protected":"eyJhbGciOiJFUzI1NiJ9","header":{{"kid":"{ec_kid}"}},"signature":"{second}"}}]}}"#
    );
    let rsa = PublicKey::from_jwk(rsa.0).unwrap().with_kid(rsa_kid);
    let ec = PrivateKey::from_jwk(ec.0).unwrap().public().clone().with_kid(ec_kid);
    let both = JwkSet::new([rsa, ec.clone()]).unwrap();
    let document = General::parse(&general).unwrap();
    assert!(document.verify_all(&both).unwrap().starts_with(br#"{"iss":"joe","#));
    assert_eq!(document.headers().len(), 2);
    let flattened = format!(
        r#"{{"payload":"{payload}","protected":"eyJhbGciOiJFUzI1NiJ9","header":{{"kid":"{ec_kid}"}},"signature":"{second}"}}"#
    );
    let document = General::parse(&flattened).unwrap();
    assert_eq!(document.verify(&ec).unwrap().1.kid(), Some(ec_kid));
    // And its payload left out: Appendix F.
    let detached = ["eyJhbGciOiJFUzI1NiJ9", "", second].join(".");
    let payload = unb64(payload);
    assert!(Detached::parse(&detached).unwrap().verify(&ec, &payload).is_ok());
}

#[test]
fn rfc7638_s3_1_rsa_thumbprint() {
    let key = r#"{"kty":"RSA","e":"AQAB","alg":"RS256","kid":"2011-04-29",
        "n":"0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw"}"#;
    let key = PublicKey::from_jwk(key).unwrap();
    assert_eq!((key.kid(), key.thumbprint()), ("2011-04-29", "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"));
}

#[test]
fn rfc7515_a4_es512() {
    let key = r#"{"kty":"EC","crv":"P-521",
        "x":"AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
        "y":"ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
        "d":"AY5pb7A0UFiB3RELSD64fTLOSV_jazdF7fLYyuTw8lOfRhWg6Y6rUrPAxerEzgdRhajnu0ferB0d53vM9mE15j2C"}"#;
    let token = "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA.\
        AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZq\
        wqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8Kp\
        EHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
    let key = PrivateKey::from_jwk(key).unwrap();
    assert_eq!(key.algorithm(), Algorithm::Es512);
    assert_eq!(Unverified::parse(token).unwrap().verify(key.public()).unwrap().payload(), b"Payload");
}

/// RFC 8037 Appendix A: deterministic, so also byte for byte.
#[test]
fn rfc8037_a_ed25519() {
    let key = r#"{"kty":"OKP","crv":"Ed25519",
        "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
        "x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#;
    let token = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.\
        hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
    let key = PrivateKey::from_jwk(key).unwrap();
    assert_eq!(key.public().thumbprint(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
    let header = Header::new().without_kid();
    assert_eq!(jws::encode(&key, &header, b"Example of Ed25519 signing").unwrap(), token);
    assert!(Unverified::parse(token).unwrap().verify(key.public()).is_ok());
}

/// RFC 9449 §6.1 gives the thumbprint of this key of §4.1.
#[test]
fn rfc9449_s6_1_ec_thumbprint() {
    let key = r#"{"kty":"EC","crv":"P-256",
        "x":"l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
        "y":"9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA"}"#;
    let key = PublicKey::from_jwk(key).unwrap();
    assert_eq!(key.thumbprint(), "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I");
}

/// RFC 7515 §4: JSON escapes and spaces do not change what a header says.
#[test]
fn rfc7515_headers_in_other_spellings() {
    let key = PrivateKey::generate(Algorithm::Es256).unwrap();
    for header in [
        r#"{"alg":"ES256"}"#,
        " { \"alg\" :\r\n\t\"ES256\" } ",
        r#"{"\u0061lg":"\u0045S256"}"#,
        r#"{"x":[],"alg":"ES256"}"#,
    ] {
        let token = signed(&key, header, "payload");
        assert!(Unverified::parse(&token).unwrap().verify(key.public()).is_ok(), "{header}");
    }
}

/// RFC 9964 §5 and §7.2: pure ML-DSA with an empty context; neither a context nor a pre-hash gets through.
#[test]
fn rfc9964_s5_context_and_prehash_are_refused() {
    for (algorithm, ..) in RFC9964 {
        let key = PrivateKey::from_secret(algorithm, &[0; 32]).unwrap();
        let level = algorithm.level().unwrap();
        let signer = any::SigningKey::from_seed(level, &[0; 32]).expand();
        let context = Context::new(b"JOSE").unwrap();
        let other = signer.sign_deterministic(context, b"message").unwrap();
        assert!(key.public().verify(b"message", other.encode()).is_err());
        let digest = digest::digest(&digest::SHA512, b"message");
        let mu =
            signer.prehashed(Context::EMPTY, sealstone_mldsa::PreHash::Sha2_512, digest.as_ref()).unwrap();
        let other = signer.sign_mu_deterministic(&mu).unwrap();
        assert!(key.public().verify(b"message", other.encode()).is_err());
        let good = signer.sign_deterministic(Context::EMPTY, b"message").unwrap();
        assert!(key.public().verify(b"message", good.encode()).is_ok());
    }
}

/// Hedged: two signatures of one message differ.
#[test]
fn ml_dsa_tokens_are_hedged() {
    for (algorithm, ..) in RFC9964 {
        let key = PrivateKey::from_secret(algorithm, &[0; 32]).unwrap();
        assert_ne!(key.sign(b"message").unwrap(), key.sign(b"message").unwrap(), "{algorithm}");
    }
}

fn hash(text: &str) -> String {
    digest::digest(&digest::SHA256, text.as_bytes())
        .as_ref()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
