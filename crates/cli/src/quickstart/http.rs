//! What the tour asks of its own server, whose certificate is known beforehand.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use hyper::{Request, StatusCode, header};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::error::Error;
use crate::https::{self, Place, fault};

/// A connection to the server.
pub(super) struct Connection(https::Connection);

/// Who asks, by client_secret_basic (RFC 6749 §2.3.1).
pub(super) struct Credentials<'a> {
    pub(super) id: &'a str,
    pub(super) secret: &'a str,
}

impl Connection {
    /// Connects; trusts this certificate and no other.
    pub(super) async fn open(address: SocketAddr, certificate_pem: &str) -> Result<Self, Error> {
        let authority = address.to_string();
        let roots = Some(https::only(certificate_pem)?);
        let place = Place { address: authority.clone(), authority: &authority, roots };
        https::Connection::open(place).await.map(Self)
    }

    /// The name of the key exchange, such as `X25519MLKEM768`.
    pub(super) fn key_exchange(&self) -> &str {
        self.0.key_exchange()
    }

    /// The version of TLS.
    pub(super) fn tls(&self) -> &str {
        self.0.tls()
    }

    pub(super) async fn get(&mut self, doing: &'static str, path: &str) -> Result<Zeroizing<Vec<u8>>, Error> {
        let request = Request::get(path).body(Full::default());
        self.send(doing, request.map_err(|cause| fault(doing, cause))?).await
    }

    /// Sends a form, and reads the JSON that comes back.
    pub(super) async fn post(
        &mut self,
        doing: &'static str,
        path: &str,
        who: &Credentials<'_>,
        form: String,
    ) -> Result<Value, Error> {
        // Both are base64url here, so the form encoding of RFC 6749 §2.3.1 leaves them as they are.
        let pair = Zeroizing::new(format!("{}:{}", who.id, who.secret));
        let basic = Zeroizing::new(format!("Basic {}", STANDARD.encode(pair.as_bytes())));
        let mut basic = HeaderValue::from_str(&basic).map_err(|cause| fault(doing, cause))?;
        basic.set_sensitive(true);
        let request = Request::post(path)
            .header(header::AUTHORIZATION, basic)
            .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(Full::from(form));
        let body = self.send(doing, request.map_err(|cause| fault(doing, cause))?).await?;
        serde_json::from_slice(&body).map_err(|cause| fault(doing, cause))
    }

    async fn send(
        &mut self,
        doing: &'static str,
        request: Request<Full<Bytes>>,
    ) -> Result<Zeroizing<Vec<u8>>, Error> {
        let answer = self.0.send(doing, request).await?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(fault(doing, format_args!("the server said {status}"))),
        }
    }
}
