//! The server modules of `oidcc-formpost-basic-certification-test-plan` of the OpenID conformance suite, version 5.2.4: those
//! of the basic plan again, with every answer and every error in a form that goes to the redirect URI. The table is
//! docs/conformance-oidc.md.

use crate::basic;
use crate::oidc::Plan;

const PLAN: Plan = Plan::FormPost;

#[tokio::test]
async fn f01_server() {
    basic::server(PLAN).await;
}

#[tokio::test]
async fn f02_response_type_missing() {
    basic::response_type_missing(PLAN).await;
}

#[tokio::test]
async fn f03_idtoken_signature() {
    basic::idtoken_signature(PLAN).await;
}

#[tokio::test]
async fn f04_idtoken_unsigned() {
    basic::idtoken_unsigned(PLAN).await;
}

#[tokio::test]
async fn f05_userinfo_get() {
    basic::userinfo_get(PLAN).await;
}

#[tokio::test]
async fn f06_userinfo_post_header() {
    basic::userinfo_post_header(PLAN).await;
}

#[tokio::test]
async fn f07_userinfo_post_body() {
    basic::userinfo_post_body(PLAN).await;
}

#[tokio::test]
async fn f08_ensure_request_without_nonce_succeeds_for_code_flow() {
    basic::ensure_request_without_nonce_succeeds_for_code_flow(PLAN).await;
}

#[tokio::test]
async fn f09_scope_profile() {
    basic::scope_profile(PLAN).await;
}

#[tokio::test]
async fn f10_scope_email() {
    basic::scope_email(PLAN).await;
}

#[tokio::test]
async fn f11_scope_address() {
    basic::scope_address(PLAN).await;
}

#[tokio::test]
async fn f12_scope_phone() {
    basic::scope_phone(PLAN).await;
}

#[tokio::test]
async fn f13_scope_all() {
    basic::scope_all(PLAN).await;
}

#[tokio::test]
async fn f14_alternate_happy_flow() {
    basic::alternate_happy_flow(PLAN).await;
}

#[tokio::test]
async fn f15_display_page() {
    basic::display_page(PLAN).await;
}

#[tokio::test]
async fn f16_display_popup() {
    basic::display_popup(PLAN).await;
}

#[tokio::test]
async fn f17_prompt_login() {
    basic::prompt_login(PLAN).await;
}

#[tokio::test]
async fn f18_prompt_none_not_logged_in() {
    basic::prompt_none_not_logged_in(PLAN).await;
}

#[tokio::test]
async fn f19_prompt_none_logged_in() {
    basic::prompt_none_logged_in(PLAN).await;
}

#[tokio::test]
async fn f20_max_age_1() {
    basic::max_age_1(PLAN).await;
}

#[tokio::test]
async fn f21_max_age_10000() {
    basic::max_age_10000(PLAN).await;
}

#[tokio::test]
async fn f22_ensure_request_with_unknown_parameter_succeeds() {
    basic::ensure_request_with_unknown_parameter_succeeds(PLAN).await;
}

#[tokio::test]
async fn f23_id_token_hint() {
    basic::id_token_hint(PLAN).await;
}

#[tokio::test]
async fn f24_login_hint() {
    basic::login_hint(PLAN).await;
}

#[tokio::test]
async fn f25_ui_locales() {
    basic::ui_locales(PLAN).await;
}

#[tokio::test]
async fn f26_claims_locales() {
    basic::claims_locales(PLAN).await;
}

#[tokio::test]
async fn f27_ensure_request_with_acr_values_succeeds() {
    basic::ensure_request_with_acr_values_succeeds(PLAN).await;
}

#[tokio::test]
async fn f28_codereuse() {
    basic::codereuse(PLAN).await;
}

#[tokio::test]
async fn f29_codereuse_30seconds() {
    basic::codereuse_30seconds(PLAN).await;
}

#[tokio::test]
async fn f30_ensure_registered_redirect_uri() {
    basic::ensure_registered_redirect_uri(PLAN).await;
}

#[tokio::test]
async fn f31_ensure_post_request_succeeds() {
    basic::ensure_post_request_succeeds(PLAN).await;
}

#[tokio::test]
async fn f32_server_client_secret_post() {
    basic::server_client_secret_post(PLAN).await;
}

#[tokio::test]
async fn f33_request_uri_unsigned_supported_correctly_or_rejected_as_unsupported() {
    basic::request_uri_unsigned_supported_correctly_or_rejected_as_unsupported(PLAN).await;
}

#[tokio::test]
async fn f34_unsigned_request_object_supported_correctly_or_rejected_as_unsupported() {
    basic::unsigned_request_object_supported_correctly_or_rejected_as_unsupported(PLAN).await;
}

#[tokio::test]
async fn f35_claims_essential() {
    basic::claims_essential(PLAN).await;
}

#[tokio::test]
async fn f36_ensure_request_object_with_redirect_uri() {
    basic::ensure_request_object_with_redirect_uri(PLAN).await;
}

#[tokio::test]
async fn f37_refresh_token() {
    basic::refresh_token(PLAN).await;
}

#[tokio::test]
async fn f38_ensure_request_with_valid_pkce_succeeds() {
    basic::ensure_request_with_valid_pkce_succeeds(PLAN).await;
}
