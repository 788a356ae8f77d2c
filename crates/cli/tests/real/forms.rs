//! Requests as clients make them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use hyper::http::request::Builder;
use sealstone_jose::jwt::{self, Claims};

use super::{CI, House, ISSUER};

/// RFC 7636, Appendix B.
const CHALLENGE_OF: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
pub const AUTHORIZE: &str = "/authorize?client_id=shop&response_type=code\
    &redirect_uri=https%3A%2F%2Fshop.example%2Fcallback&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\
    &code_challenge_method=S256&state=s&scope=openid+offline_access";

/// A request that can be sent more than once: a form, or, without a body, a question by GET.
#[derive(Clone, Debug)]
pub struct Form {
    path: String,
    authorization: Option<String>,
    cookie: Option<String>,
    body: Option<Bytes>,
}

impl Form {
    pub fn request(&self) -> Request<Full<Bytes>> {
        let address = format!("{ISSUER}{}", self.path);
        let mut request = match self.body {
            Some(_) => Request::post(address).header("content-type", "application/x-www-form-urlencoded"),
            None => Request::get(address),
        };
        for (name, value) in [("authorization", &self.authorization), ("cookie", &self.cookie)] {
            if let Some(value) = value {
                request = request.header(name, value);
            }
        }
        if self.cookie.is_some() && self.body.is_some() {
            // As a browser sends it from the page that holds the form.
            request = request.header("sec-fetch-site", "same-origin").header("origin", "null");
        }
        request.body(Full::from(self.body.clone().unwrap_or_default())).unwrap()
    }

    fn new(path: &str, authorization: Option<&str>, body: String) -> Self {
        let authorization = authorization.map(str::to_owned);
        Self { path: path.to_owned(), authorization, cookie: None, body: Some(body.into()) }
    }
}

/// What a browser with this cookie asks for.
pub fn browse(path: &str, cookie: &str) -> Form {
    Form { path: path.to_owned(), authorization: None, cookie: Some(cookie.to_owned()), body: None }
}

/// A form that a browser with this cookie sends.
pub fn submit(path: &str, cookie: &str, fields: &[(&str, &str)]) -> Form {
    let fields: Vec<_> = fields.iter().map(|(name, value)| format!("{name}={}", encode(value))).collect();
    Form { body: Some(fields.join("&").into()), ..browse(path, cookie) }
}

/// The request of [`AUTHORIZE`], pushed.
pub fn push() -> Form {
    let (_, query) = AUTHORIZE.split_once('?').unwrap_or_default();
    Form::new("/par", None, query.to_owned())
}

pub fn device_authorization() -> Form {
    Form::new("/device_authorization", None, "client_id=tv&scope=openid".into())
}

pub fn device_code(code: &str) -> Form {
    let kind = "urn:ietf:params:oauth:grant-type:device_code";
    Form::new("/token", None, format!("grant_type={kind}&client_id=tv&device_code={code}"))
}

pub fn get(path: &str) -> Builder {
    Request::get(format!("{ISSUER}{path}"))
}

pub fn basic(id: &str, secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("{id}:{secret}")))
}

pub fn redeem(code: &str) -> Form {
    let form =
        format!("grant_type=authorization_code&client_id=shop&code={code}&code_verifier={CHALLENGE_OF}");
    Form::new("/token", None, form)
}

pub fn refresh(token: &str) -> Form {
    Form::new("/token", None, format!("grant_type=refresh_token&client_id=shop&refresh_token={token}"))
}

pub fn client_credentials(basic: &str) -> Form {
    Form::new("/token", Some(basic), "grant_type=client_credentials".into())
}

pub fn revoke(basic: &str, token: &str) -> Form {
    Form::new("/revoke", Some(basic), format!("token={token}"))
}

pub fn revoke_of_shop(token: &str) -> Form {
    Form::new("/revoke", None, format!("client_id=shop&token={token}"))
}

pub fn introspect(basic: &str, token: &str) -> Form {
    Form::new("/introspect", Some(basic), format!("token={token}"))
}

impl House {
    /// A token by `private_key_jwt`, with an id that no assertion had before.
    pub fn by_client_assertion(&self) -> Form {
        let claims = claims().with("iss", "worker").with("sub", "worker");
        let assertion = jwt::sign(&self.worker, "JWT", &claims).unwrap();
        let kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
        let form = format!(
            "grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}"
        );
        Form::new("/token", None, form)
    }

    /// A token for an assertion of another issuer, with an id that none had before.
    pub fn by_grant_assertion(&self) -> Form {
        let assertion = jwt::sign(&self.ci, "JWT", &claims().with("iss", CI).with("sub", "build")).unwrap();
        let kind = "urn:ietf:params:oauth:grant-type:jwt-bearer";
        Form::new("/token", Some(&self.service), format!("grant_type={kind}&assertion={assertion}"))
    }
}

fn claims() -> Claims {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let jti = format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    Claims::new().with("aud", ISSUER).with("iat", now).with("exp", now + 240).with("jti", jti)
}

/// Everything but letters and digits as %XX.
pub fn encode(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(one).collect()
}
