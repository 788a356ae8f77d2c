//! The crate `openidconnect`: the OpenID Connect client of Rust programs. A JSON request per line in, a JSON answer per line
//! out (see ../README.md).

use std::error::Error;
use std::io::BufRead;
use std::thread::sleep;
use std::time::Duration;

use openidconnect::core::*;
use openidconnect::reqwest::blocking::Client as Http;
use openidconnect::*;
use serde_json::{Value, json};

/// The document with the addresses that the library keeps apart: RFC 8628 §4 and RP-Initiated Logout §2.1.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
struct More {
    device_authorization_endpoint: DeviceAuthorizationUrl,
    end_session_endpoint: EndSessionUrl,
}

impl AdditionalProviderMetadata for More {}

type Metadata = ProviderMetadata<
    More,
    CoreAuthDisplay,
    CoreClientAuthMethod,
    CoreClaimName,
    CoreClaimType,
    CoreGrantType,
    CoreJweContentEncryptionAlgorithm,
    CoreJweKeyManagementAlgorithm,
    CoreJsonWebKey,
    CoreResponseMode,
    CoreResponseType,
    CoreSubjectIdentifierType,
>;
type Client = openidconnect::core::CoreClient<
    EndpointSet,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointMaybeSet,
    EndpointMaybeSet,
>;
type Answer = Result<Value, Box<dyn Error>>;

const ASKS: [&str; 8] =
    ["discover", "redeem", "redeem-device", "refresh", "sign-out", "start", "start-device", "userinfo"];

fn main() {
    let mut partner: Option<Partner> = None;
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let answer = answer(&mut partner, &line).unwrap_or_else(|why| match why.downcast_ref::<Refused>() {
            Some(Refused(code)) => json!({"refused": code}),
            None => json!({"error": told(&*why)}),
        });
        println!("{answer}");
    }
}

fn answer(partner: &mut Option<Partner>, line: &str) -> Answer {
    let request: Value = serde_json::from_str(line)?;
    let text = |name: &str| request[name].as_str().unwrap_or_default().to_owned();
    match text("ask").as_str() {
        "hello" => {
            let ways = ["code", "code, public client", "device"];
            let known = json!({
                "version": version(), "engine": "none", "asks": ASKS, "ways": ways, "id_tokens": ["ES256"],
            });
            return Ok(known);
        }
        "discover" => {
            let secret = request["client_secret"].as_str().map(str::to_owned);
            *partner = Some(Partner::discover(text("issuer"), &text("ca"), text("client_id"), secret)?);
            return Ok(json!({"metadata": {"issuer": text("issuer")}}));
        }
        _ => {}
    }
    let partner = partner.as_mut().ok_or("nothing is discovered yet")?;
    match text("ask").as_str() {
        "start" => partner.start(text("redirect_uri"), &text("scope")),
        "redeem" => partner.redeem(&text("url")),
        "userinfo" => partner.userinfo(),
        "refresh" => partner.refresh(),
        "sign-out" => partner.sign_out(text("post_logout_redirect_uri")),
        "start-device" => partner.start_device(&text("scope")),
        "redeem-device" => partner.redeem_device(),
        other => Err(format!("{other} is not known").into()),
    }
}

/// A client of the server, and what it has got there.
struct Partner {
    client: Client,
    device: Option<CoreDeviceAuthorizationResponse>,
    end_session: EndSessionUrl,
    http: Http,
    sent: Option<Sent>,
    tokens: Option<CoreTokenResponse>,
}

struct Sent {
    nonce: Nonce,
    redirect_uri: RedirectUrl,
    state: CsrfToken,
    verifier: String,
}

impl Partner {
    fn discover(
        issuer: String,
        ca: &str,
        id: String,
        secret: Option<String>,
    ) -> Result<Self, Box<dyn Error>> {
        let ca = reqwest::Certificate::from_pem(&std::fs::read(ca)?)?;
        let http =
            Http::builder().add_root_certificate(ca).no_proxy().redirect(reqwest::redirect::Policy::none());
        let http = http.build()?;
        let metadata = Metadata::discover(&IssuerUrl::new(issuer)?, &http)?;
        let More { device_authorization_endpoint, end_session_endpoint } =
            metadata.additional_metadata().clone();
        let secret = secret.map(ClientSecret::new);
        let client = CoreClient::from_provider_metadata(metadata, ClientId::new(id), secret)
            .set_device_authorization_url(device_authorization_endpoint);
        Ok(Self { client, device: None, end_session: end_session_endpoint, http, sent: None, tokens: None })
    }

    fn start(&mut self, redirect_uri: String, scope: &str) -> Answer {
        let redirect_uri = RedirectUrl::new(redirect_uri)?;
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let flow = CoreAuthenticationFlow::AuthorizationCode;
        let request = self.client.authorize_url(flow, CsrfToken::new_random, Nonce::new_random);
        let request = request.add_scopes(scopes(scope)).set_pkce_challenge(challenge);
        let (url, state, nonce) = request.set_redirect_uri(std::borrow::Cow::Borrowed(&redirect_uri)).url();
        self.sent = Some(Sent { nonce, redirect_uri, state, verifier: verifier.secret().clone() });
        Ok(json!({"url": url}))
    }

    fn redeem(&mut self, url: &str) -> Answer {
        let sent = self.sent.as_ref().ok_or("nothing was started")?;
        let url = reqwest::Url::parse(url)?;
        let value =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        // The library leaves `state` to its caller.
        if value("state").as_ref() != Some(sent.state.secret()) {
            return Err("another state came back".into());
        }
        let code = AuthorizationCode::new(value("code").ok_or("no code came back")?);
        let request =
            self.client.exchange_code(code)?.set_pkce_verifier(PkceCodeVerifier::new(sent.verifier.clone()));
        let request = request.set_redirect_uri(std::borrow::Cow::Borrowed(&sent.redirect_uri));
        let tokens = request.request(&self.http).map_err(refused)?;
        let claims = self.verified(&tokens, Some(&sent.nonce))?;
        self.tokens = Some(tokens);
        Ok(json!({"claims": claims}))
    }

    /// What the library verifies: signature, issuer, audience, times, nonce and `at_hash`.
    fn verified(&self, tokens: &CoreTokenResponse, nonce: Option<&Nonce>) -> Answer {
        let token = tokens.id_token().ok_or("no ID token came")?;
        let verifier = self.client.id_token_verifier();
        let claims = match nonce {
            Some(nonce) => token.claims(&verifier, nonce)?,
            None => token.claims(&verifier, |_: Option<&Nonce>| Ok(()))?,
        };
        if let Some(expected) = claims.access_token_hash() {
            let (alg, key) = (token.signing_alg()?, token.signing_key(&verifier)?);
            if AccessTokenHash::from_token(tokens.access_token(), alg, key)? != *expected {
                return Err("`at_hash` is of another token".into());
            }
        }
        let mut claims = serde_json::to_value(claims)?;
        // The library's own writing of `aud` is a list, whatever came.
        if let Some([one]) = claims["aud"].as_array().map(Vec::as_slice) {
            claims["aud"] = one.clone();
        }
        Ok(claims)
    }

    fn tokens(&self) -> Result<&CoreTokenResponse, Box<dyn Error>> {
        self.tokens.as_ref().ok_or_else(|| "there are no tokens".into())
    }

    fn userinfo(&self) -> Answer {
        let request = self.client.user_info(self.tokens()?.access_token().clone(), None)?;
        let claims: CoreUserInfoClaims = request.request(&self.http)?;
        Ok(json!({"response": claims}))
    }

    fn refresh(&mut self) -> Answer {
        let token = self.tokens()?.refresh_token().ok_or("there is no refresh token")?.clone();
        let tokens = self.client.exchange_refresh_token(&token)?.request(&self.http).map_err(refused)?;
        // OpenID Connect Core §12.2: an ID token that is given anew has a nonce or none.
        let claims = self.verified(&tokens, None)?;
        self.tokens = Some(tokens);
        Ok(json!({"claims": claims}))
    }

    fn sign_out(&self, to: String) -> Answer {
        let state = CsrfToken::new_random();
        let hint = self.tokens()?.id_token().ok_or("there is no ID token")?;
        let url = LogoutRequest::from(self.end_session.clone())
            .set_id_token_hint(hint)
            .set_post_logout_redirect_uri(PostLogoutRedirectUrl::new(to)?)
            .set_state(state.clone())
            .http_get_url();
        Ok(json!({"url": url, "state": state.secret()}))
    }

    fn start_device(&mut self, scope: &str) -> Answer {
        let request = self.client.exchange_device_code().add_scopes(scopes(scope));
        let device: CoreDeviceAuthorizationResponse = request.request(&self.http).map_err(refused)?;
        let response = serde_json::to_value(&device)?;
        self.device = Some(device);
        Ok(json!({"response": response}))
    }

    fn redeem_device(&mut self) -> Answer {
        let device = self.device.as_ref().ok_or("no device has started")?;
        let request = self.client.exchange_device_access_token(device)?;
        let tokens =
            request.request(&self.http, sleep, Some(Duration::from_secs(20))).map_err(|why| match why {
                RequestTokenError::ServerResponse(said) => Refused(said.error().as_ref().to_owned()).into(),
                other => Box::<dyn Error>::from(told(&other)),
            })?;
        let claims = self.verified(&tokens, None)?;
        self.tokens = Some(tokens);
        Ok(json!({"claims": claims}))
    }
}

/// The library asks for `openid` by itself.
fn scopes(list: &str) -> Vec<Scope> {
    list.split(' ').filter(|scope| *scope != "openid").map(|scope| Scope::new(scope.to_owned())).collect()
}

/// What the server answered with an OAuth error.
#[derive(Debug)]
struct Refused(String);

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Refused {}

fn refused<E: Error + 'static>(why: RequestTokenError<E, CoreErrorResponse>) -> Box<dyn Error> {
    match why {
        RequestTokenError::ServerResponse(said) => Refused(said.error().as_ref().to_owned()).into(),
        other => told(&other).into(),
    }
}

type CoreErrorResponse = StandardErrorResponse<CoreErrorResponseType>;

/// An error with its causes.
fn told(why: &dyn Error) -> String {
    match why.source() {
        Some(cause) => format!("{why}: {}", told(cause)),
        None => why.to_string(),
    }
}

/// The library's, as the lock file has it.
fn version() -> &'static str {
    let lock = include_str!("../Cargo.lock");
    let after = lock.split_once("name = \"openidconnect\"\nversion = \"").map_or("", |(_, after)| after);
    after.split('"').next().unwrap_or_default()
}
