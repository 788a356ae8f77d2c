//! The requests of a batch, all made before it begins.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sealstone_jose::jws::Unverified;
use sealstone_jose::{Algorithm, PrivateKey, jwt};
use serde_json::{Value, json};

use super::ours::{CODE_CLIENT, FLOODER, Ours, REDIRECT_URI, SCOPE, SIGNER};
use super::parties::{CLIENT, Party};
use super::{WARM, What};

/// How many assertions a second are enough, whatever the concurrency: more than one core can verify.
const ASSERTIONS_A_SECOND: f64 = 12_000.0;
/// How long an assertion holds. Servers take at most five minutes.
const ASSERTION_SECONDS: u64 = 280;
/// RFC 7523 §2.2.
const JWT_BEARER: &str = "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer";

/// What every good answer holds. Introspection answers 200 for a dead token, too.
pub(crate) fn sign_of_success(what: What) -> &'static str {
    match what {
        What::Token(_) | What::TokenByAssertion(_) | What::Flooded(_) => "\"access_token\":\"ey",
        What::Code => "\"id_token\":\"ey",
        What::Introspection(_) => "\"active\":true",
    }
}

/// The requests of a load of so many seconds: one that is sent again and again, or as many as can be used up.
pub(crate) fn for_load(
    ours: &Ours,
    party: &Party,
    what: What,
    token: Option<&str>,
    seconds: f64,
) -> Result<Vec<Value>, String> {
    match what {
        What::TokenByAssertion(_) => {
            // For the time before it counts as well.
            let count = (ASSERTIONS_A_SECOND * (seconds + WARM.as_secs_f64().min(seconds))) as u64;
            (0..count).map(|_| assertion(ours, ours.signer(), SIGNER.0)).collect()
        }
        What::Token(_) | What::Introspection(_) | What::Code | What::Flooded(_) => {
            of(ours, party, what, token)
        }
    }
}

/// One request.
pub(crate) fn of(ours: &Ours, party: &Party, what: What, token: Option<&str>) -> Result<Vec<Value>, String> {
    let (algorithm, body) = match what {
        What::TokenByAssertion(_) => return Ok(vec![assertion(ours, ours.signer(), SIGNER.0)?]),
        What::Code => {
            let (id, secret) = ours.code_credentials()?;
            return Ok(vec![json!({"authorization": basic(&id, &secret), "body": code_form()})]);
        }
        What::Flooded(_) => (Algorithm::Es256, form()),
        What::Token(algorithm) => (algorithm, form()),
        What::Introspection(algorithm) => (algorithm, format!("token={}", token.unwrap_or_default())),
    };
    let (id, secret) = match party.ours {
        Some(_) => ours.credentials(algorithm)?,
        None => (CLIENT.0.to_owned(), CLIENT.1.to_owned()),
    };
    Ok(vec![json!({"authorization": basic(&id, &secret), "body": body})])
}

/// Letters, digits, hyphens and underscores: the form encoding of RFC 6749 §2.3.1 leaves them as they are.
fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

/// What a browser asks for on behalf of the client of the code flow; RFC 7636 §4.3, with the pair of its appendix B.
pub(crate) fn authorize_path() -> String {
    format!(
        "/authorize?client_id={}&response_type=code&redirect_uri={}&scope=openid%20{}&state=bench&\
         code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256",
        CODE_CLIENT,
        REDIRECT_URI.replace(':', "%3A").replace('/', "%2F"),
        SCOPE.replace(':', "%3A"),
    )
}

/// All but the code, which the generator adds.
fn code_form() -> String {
    format!(
        "grant_type=authorization_code&redirect_uri={}&code_verifier=dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
        REDIRECT_URI.replace(':', "%3A").replace('/', "%2F")
    )
}

/// An assertion whose signature is not the client's: its last letters are others.
pub(crate) fn bad_assertion(ours: &Ours) -> Result<Value, String> {
    let mut request = assertion(ours, ours.flooder(), FLOODER.0)?;
    let body = request["body"].as_str().unwrap_or_default().to_owned();
    let (rest, last) = body.split_at(body.len() - 8);
    let other = if last == "AAAAAAAA" { "AAAABAAA" } else { "AAAAAAAA" };
    request["body"] = format!("{rest}{other}").into();
    Ok(request)
}

fn form() -> String {
    format!("grant_type=client_credentials&scope={}", SCOPE.replace(':', "%3A"))
}

/// RFC 7523 §3, with an id of its own.
fn assertion(ours: &Ours, key: &PrivateKey, client: &str) -> Result<Value, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|why| why.to_string())?.as_secs();
    let claims = jwt::Claims::new()
        .with("iss", client)
        .with("sub", client)
        .with("aud", ours.issuer())
        .with("exp", now + ASSERTION_SECONDS)
        .with("jti", ours.next_jti());
    let assertion = jwt::sign(key, "JWT", &claims).map_err(|why| why.to_string())?;
    let body = format!("{}&client_assertion_type={JWT_BEARER}&client_assertion={assertion}", form());
    Ok(json!({"authorization": null, "body": body}))
}

/// The token of an answer, if it is signed with the algorithm that is measured.
pub(crate) fn check_algorithm(body: &Value, algorithm: Algorithm) -> Result<String, String> {
    let token = body["access_token"].as_str().ok_or("an answer without a token")?;
    let found = Unverified::parse(token).map_err(|why| format!("the token: {why}"))?.header().algorithm();
    match found == algorithm {
        true => Ok(token.to_owned()),
        false => Err(format!("the token is signed with {found}, not with {algorithm}")),
    }
}
