//! The server modules of `oidcc-basic-certification-test-plan` of the OpenID conformance suite, version 5.2.4, one test
//! each, B01 to B38, and the one of `oidcc-config-certification-test-plan`, C01. Names are the suite's, after `oidcc-`. The
//! modules themselves are in basic.rs: the form post plan asks them again. The table is docs/conformance-oidc.md.

use serde_json::{Value, json};

use crate::basic;
use crate::oidc::{Op, Plan};

const PLAN: Plan = Plan::Basic;

/// With the JWK set.
#[tokio::test]
async fn c01_discovery_endpoint_verification() {
    let op = Op::start(PLAN).await;
    let answer = op.server.get("/.well-known/openid-configuration").await;
    assert_eq!((answer.status.as_u16(), answer.header("content-type")), (200, "application/json"));
    let metadata = answer.json();
    assert_eq!(metadata["issuer"], op.server.issuer);
    let members = metadata.as_object().unwrap();
    for (name, value) in members {
        let is_address = name.ends_with("_endpoint") || name == "jwks_uri";
        assert!(!is_address || value.as_str().unwrap().starts_with("https://"), "{name}");
        let is_list = value.as_array().is_some_and(|all| !all.is_empty() && all.iter().all(Value::is_string));
        assert!(!name.ends_with("_supported") || value.is_boolean() || is_list, "{name}");
    }
    for name in
        ["authorization_endpoint", "token_endpoint", "userinfo_endpoint", "jwks_uri", "registration_endpoint"]
    {
        assert!(members.contains_key(name), "{name}");
    }
    let has = |name: &str, value: &str| metadata[name].as_array().unwrap().contains(&json!(value));
    assert!(has("id_token_signing_alg_values_supported", "RS256"));
    assert!(has("userinfo_signing_alg_values_supported", "RS256"));
    assert!(has("request_object_signing_alg_values_supported", "RS256"));
    assert!(!has("request_object_signing_alg_values_supported", "none"));
    assert!(has("response_types_supported", "code") && has("scopes_supported", "openid"));
    assert!(has("grant_types_supported", "authorization_code"));
    assert!(has("subject_types_supported", "public") && has("subject_types_supported", "pairwise"));
    assert!(has("token_endpoint_auth_methods_supported", "client_secret_basic"));
    assert!(has("claims_supported", "sub"));
    assert_eq!(metadata["request_uri_parameter_supported"], false);

    let keys = op.server.get("/jwks").await.json();
    let keys = keys["keys"].as_array().unwrap();
    let mut kids = std::collections::BTreeSet::new();
    for key in keys {
        assert!(kids.insert(key["kid"].as_str().unwrap()), "each key has a kid of its own");
        let members: &[&str] = match key["kty"].as_str().unwrap() {
            "RSA" => &["e", "n"],
            "EC" => &["x", "y"],
            "OKP" => &["x"],
            "AKP" => &["pub"],
            other => panic!("{other}"),
        };
        use base64::Engine as _;
        for name in members {
            let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(key[name].as_str().unwrap());
            let least = if *name == "n" { 256 } else { 1 };
            assert!(bytes.unwrap().len() >= least, "{name}");
        }
        for private in ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"] {
            assert!(key.get(private).is_none(), "{private}");
        }
    }
    op.server.stop().await;
}

#[tokio::test]
async fn b01_server() {
    basic::server(PLAN).await;
}

#[tokio::test]
async fn b02_response_type_missing() {
    basic::response_type_missing(PLAN).await;
}

#[tokio::test]
async fn b03_idtoken_signature() {
    basic::idtoken_signature(PLAN).await;
}

#[tokio::test]
async fn b04_idtoken_unsigned() {
    basic::idtoken_unsigned(PLAN).await;
}

#[tokio::test]
async fn b05_userinfo_get() {
    basic::userinfo_get(PLAN).await;
}

#[tokio::test]
async fn b06_userinfo_post_header() {
    basic::userinfo_post_header(PLAN).await;
}

#[tokio::test]
async fn b07_userinfo_post_body() {
    basic::userinfo_post_body(PLAN).await;
}

#[tokio::test]
async fn b08_ensure_request_without_nonce_succeeds_for_code_flow() {
    basic::ensure_request_without_nonce_succeeds_for_code_flow(PLAN).await;
}

#[tokio::test]
async fn b09_scope_profile() {
    basic::scope_profile(PLAN).await;
}

#[tokio::test]
async fn b10_scope_email() {
    basic::scope_email(PLAN).await;
}

#[tokio::test]
async fn b11_scope_address() {
    basic::scope_address(PLAN).await;
}

#[tokio::test]
async fn b12_scope_phone() {
    basic::scope_phone(PLAN).await;
}

#[tokio::test]
async fn b13_scope_all() {
    basic::scope_all(PLAN).await;
}

#[tokio::test]
async fn b14_alternate_happy_flow() {
    basic::alternate_happy_flow(PLAN).await;
}

#[tokio::test]
async fn b15_display_page() {
    basic::display_page(PLAN).await;
}

#[tokio::test]
async fn b16_display_popup() {
    basic::display_popup(PLAN).await;
}

#[tokio::test]
async fn b17_prompt_login() {
    basic::prompt_login(PLAN).await;
}

#[tokio::test]
async fn b18_prompt_none_not_logged_in() {
    basic::prompt_none_not_logged_in(PLAN).await;
}

#[tokio::test]
async fn b19_prompt_none_logged_in() {
    basic::prompt_none_logged_in(PLAN).await;
}

#[tokio::test]
async fn b20_max_age_1() {
    basic::max_age_1(PLAN).await;
}

#[tokio::test]
async fn b21_max_age_10000() {
    basic::max_age_10000(PLAN).await;
}

#[tokio::test]
async fn b22_ensure_request_with_unknown_parameter_succeeds() {
    basic::ensure_request_with_unknown_parameter_succeeds(PLAN).await;
}

#[tokio::test]
async fn b23_id_token_hint() {
    basic::id_token_hint(PLAN).await;
}

#[tokio::test]
async fn b24_login_hint() {
    basic::login_hint(PLAN).await;
}

#[tokio::test]
async fn b25_ui_locales() {
    basic::ui_locales(PLAN).await;
}

#[tokio::test]
async fn b26_claims_locales() {
    basic::claims_locales(PLAN).await;
}

#[tokio::test]
async fn b27_ensure_request_with_acr_values_succeeds() {
    basic::ensure_request_with_acr_values_succeeds(PLAN).await;
}

#[tokio::test]
async fn b28_codereuse() {
    basic::codereuse(PLAN).await;
}

#[tokio::test]
async fn b29_codereuse_30seconds() {
    basic::codereuse_30seconds(PLAN).await;
}

#[tokio::test]
async fn b30_ensure_registered_redirect_uri() {
    basic::ensure_registered_redirect_uri(PLAN).await;
}

#[tokio::test]
async fn b31_ensure_post_request_succeeds() {
    basic::ensure_post_request_succeeds(PLAN).await;
}

#[tokio::test]
async fn b32_server_client_secret_post() {
    basic::server_client_secret_post(PLAN).await;
}

#[tokio::test]
async fn b33_request_uri_unsigned_supported_correctly_or_rejected_as_unsupported() {
    basic::request_uri_unsigned_supported_correctly_or_rejected_as_unsupported(PLAN).await;
}

#[tokio::test]
async fn b34_unsigned_request_object_supported_correctly_or_rejected_as_unsupported() {
    basic::unsigned_request_object_supported_correctly_or_rejected_as_unsupported(PLAN).await;
}

#[tokio::test]
async fn b35_claims_essential() {
    basic::claims_essential(PLAN).await;
}

#[tokio::test]
async fn b36_ensure_request_object_with_redirect_uri() {
    basic::ensure_request_object_with_redirect_uri(PLAN).await;
}

#[tokio::test]
async fn b37_refresh_token() {
    basic::refresh_token(PLAN).await;
}

#[tokio::test]
async fn b38_ensure_request_with_valid_pkce_succeeds() {
    basic::ensure_request_with_valid_pkce_succeeds(PLAN).await;
}
