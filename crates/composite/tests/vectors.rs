//! The vectors of the drafts, where they lie beside the repository: of LAMPS -19, of JOSE -04, and of JOSE -03, whose ECDSA halves
//! are to be recognised and refused.

use std::fs;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use sealstone_composite::{Algorithm, Error, PrivateKey, PublicKey};
use serde_json::Value;

/// For a machine without vectors: SHA-256 of the deterministic ML-DSA half under no context and under one, which covers prefix, label,
/// context and pre-hash. Of code that passes the vectors below.
const KNOWN: [(Algorithm, [&str; 2]); 8] = [
    (
        Algorithm::MlDsa44Ed25519,
        [
            "8ace201496e4a4373d89029545818ab59be2bb2f249290c005d38cd0ba4626e9",
            "f64e0fc54c1aed24c9647b70defa39ce794b000feb1206006ffafd0ec3ddc109",
        ],
    ),
    (
        Algorithm::MlDsa44EcdsaP256,
        [
            "c7f45bcf8a68ed3a55c904dcfabc6cf0ddc6d98ac94ec86fcd3cba06f9fd6b57",
            "ad9d363640462e4697f9b56ea9a09d051abdcf3da86d7c9365b45cc64840af1c",
        ],
    ),
    (
        Algorithm::MlDsa65EcdsaP256,
        [
            "f910d55aece610a11312a6d14b33ae329822ddb2811edfbe83b66c8f75bab391",
            "4975cfe91d9e9ced4aa8d96e428ad315a61b081e38b194bffbd0701ebb0959ec",
        ],
    ),
    (
        Algorithm::MlDsa65EcdsaP384,
        [
            "bdee1115e0a95546313e9a8dbd1ed57ca77a63225dd952585b0653ccc088d4e5",
            "f80a9b6aabb36214729ccafee7c5962519a03439e91dbe89320fbd1b29c8048b",
        ],
    ),
    (
        Algorithm::MlDsa65Ed25519,
        [
            "b6a52eaf6af238bbb6cad801a2e8d5f53117fcbfd0f9499ae54f95a5e3404eeb",
            "236d4acb481c5e10e39f6b6c324132be8a7c9f4a2acdd6a43e35db00400170a9",
        ],
    ),
    (
        Algorithm::MlDsa87EcdsaP384,
        [
            "1c01edd0496a8c24dc9989cae4c0ea41fcdee9b7c65ac64d42c5cd6c1f6fd467",
            "228288036bb6157f51770a616fa34ef066797f3225b1c6ce61efb925ef547ed9",
        ],
    ),
    (
        Algorithm::MlDsa87Ed448,
        [
            "be5635328218c0485149e6cb72138f49b21915be17a42673f8c3e9ca1eca4029",
            "1314fa0111ba2f33ced9d79553c74ac8714fa94c1f987cfe59a2a82dc3616ece",
        ],
    ),
    (
        Algorithm::MlDsa87EcdsaP521,
        [
            "d9c7b46c8bcab162273de05a2166ce9b8b66f982b7ee38a78cb8de69b18ce64c",
            "cdf824c76e6834d70e88c8b2c53450a2efc2689f911fd2b2e793c9c931cc804c",
        ],
    ),
];

#[test]
fn known_halves() {
    for (algorithm, expected) in KNOWN {
        // The seed of zeros; the classical half signs M' beside it and does not change it.
        let mut secret = PrivateKey::generate(algorithm).unwrap().encode().to_vec();
        secret[..32].fill(0);
        let key = PrivateKey::decode(algorithm, &secret).unwrap();
        for (context, expected) in [&b""[..], b"context"].into_iter().zip(expected) {
            let signature = key.sign_deterministic(context, b"a message").unwrap();
            let half = &signature[..algorithm.level().signature_len()];
            let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, half);
            let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(digest, expected, "{algorithm}");
        }
    }
}

fn folder(name: &str) -> Option<PathBuf> {
    let beside = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let path = std::env::var_os("SEALSTONE_VECTORS").map_or(beside, PathBuf::from).join(name);
    if !path.is_dir() {
        println!("skipped: no vectors of {name}");
        return None;
    }
    Some(path)
}

fn read(path: PathBuf) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn bytes(value: &Value) -> Vec<u8> {
    STANDARD.decode(value.as_str().unwrap()).unwrap()
}

#[test]
fn lamps_19() {
    let Some(folder) = folder("x509/lamps-composite") else { return };
    let vectors = read(folder.join("testvectors.json"));
    let (message, context) = (bytes(&vectors["m"]), bytes(&vectors["ctx"]));
    let (mut found, mut left_out) = (0, Vec::new());
    for case in vectors["tests"].as_array().unwrap() {
        let name = case["tcId"].as_str().unwrap().trim_start_matches("id-");
        let Some(algorithm) = Algorithm::ALL.into_iter().find(|known| known.name() == name) else {
            left_out.push(name);
            continue;
        };
        let public = PublicKey::decode(algorithm, &bytes(&case["pk"])).unwrap();
        let private = PrivateKey::decode(algorithm, &bytes(&case["sk"])).unwrap();
        assert_eq!(private.public(), &public, "{name}");
        assert_eq!(public.verify(b"", &message, &bytes(&case["s"])), Ok(()), "{name}");
        assert_eq!(public.verify(&context, &message, &bytes(&case["sWithContext"])), Ok(()), "{name}");
        assert_eq!(
            public.verify(b"", &message, &bytes(&case["sWithContext"])),
            Err(Error::BadSignature),
            "{name}"
        );
        assert_eq!(public.verify(&context, &message, &bytes(&case["s"])), Err(Error::BadSignature), "{name}");
        let ours = private.sign(&context, &message).unwrap();
        assert_eq!(public.verify(&context, &message, &ours), Ok(()), "{name}");
        found += 1;
    }
    assert_eq!(found, Algorithm::ALL.len());
    // Three of ML-DSA alone, and what the cryptographic library has no curve for.
    left_out.retain(|name| !name.starts_with("ML-DSA-"));
    assert_eq!(
        left_out,
        ["MLDSA65-ECDSA-brainpoolP256r1-SHA512", "MLDSA87-ECDSA-brainpoolP384r1-SHA512"],
        "each is refused by name in sealstone-pki"
    );
    println!("LAMPS -19: {found} algorithms, {} signatures", 2 * found);
}

/// Key and token of a file: algorithm, `pub`, `priv`, what was signed, the signature.
fn token(file: &Value) -> (Algorithm, Vec<u8>, Vec<u8>, String, Vec<u8>) {
    let name = file["jwk"]["alg"].as_str().unwrap();
    let algorithm = Algorithm::ALL.into_iter().find(|known| known.jose_name() == Some(name)).unwrap();
    let part = |text: &Value| URL_SAFE_NO_PAD.decode(text.as_str().unwrap()).unwrap();
    let (input, signature) = file["jws"].as_str().unwrap().rsplit_once('.').unwrap();
    let signature = URL_SAFE_NO_PAD.decode(signature).unwrap();
    (algorithm, part(&file["jwk"]["pub"]), part(&file["jwk"]["priv"]), input.to_owned(), signature)
}

#[test]
fn jose_04() {
    let Some(folder) = folder("jose") else { return };
    let files = [
        "composite-04/ML-DSA-44-ES256",
        "composite/ML-DSA-44-Ed25519",
        "composite/ML-DSA-65-Ed25519",
        "composite/ML-DSA-87-Ed448",
    ];
    for file in files {
        let (algorithm, public, private, input, signature) =
            token(&read(folder.join(format!("{file}.jose.json"))));
        let public = PublicKey::decode(algorithm, &public).unwrap();
        let private = PrivateKey::decode(algorithm, &private).unwrap();
        assert_eq!(private.public(), &public, "{file}");
        assert_eq!(public.verify(b"", input.as_bytes(), &signature), Ok(()), "{file}");
        // ML-DSA was deterministic, and EdDSA always is.
        if !file.contains("ES256") {
            assert_eq!(private.sign_deterministic(b"", input.as_bytes()).unwrap(), signature, "{file}");
        }
    }
    println!("JOSE -04: {} tokens", files.len());
}

#[test]
fn jose_03_is_recognised() {
    let Some(folder) = folder("jose/composite") else { return };
    for name in ["ML-DSA-44-ES256", "ML-DSA-65-ES256", "ML-DSA-87-ES384"] {
        let (algorithm, public, private, input, signature) =
            token(&read(folder.join(format!("{name}.jose.json"))));
        let refused = Error::RawEcdsa { algorithm };
        assert_eq!(PublicKey::decode(algorithm, &public).map(drop), Err(refused), "{name}");
        assert_eq!(PrivateKey::decode(algorithm, &private).map(drop), Err(refused), "{name}");
        let today = PrivateKey::generate(algorithm).unwrap();
        assert_eq!(today.public().verify(b"", input.as_bytes(), &signature), Err(refused), "{name}");
        assert!(refused.to_string().contains("-03") && refused.hint().is_some());
    }
}
