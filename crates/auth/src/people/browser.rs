//! What a browser proves before anybody has signed in: that it got our form, and who has signed in there before.
//! Both are MACs under keys of the store (see [`Sealer::mac_key`]), so every server of the store reads them.

use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use zeroize::Zeroizing;

use crate::Error;
use crate::clock::{Randomness, random_id};
use crate::keys::Sealer;

/// The keys of both proofs.
pub struct BrowserKeys {
    form: hmac::Key,
    known: hmac::Key,
}

impl BrowserKeys {
    /// Derives the keys.
    /// Errors: `Sealed`.
    pub fn derive(sealer: &Sealer) -> Result<Self, Error> {
        Ok(Self { form: sealer.mac_key("form token v1")?, known: sealer.mac_key("known browser v1")? })
    }

    /// The token of a form for one purpose: HMAC-SHA256 over the purpose and the secret of the browser's form cookie.
    /// Whoever cannot read that cookie cannot make the form.
    pub fn form_token(&self, secret: &str, purpose: &str) -> Zeroizing<String> {
        let tag = hmac::sign(&self.form, &form_message(secret, purpose));
        Zeroizing::new(URL_SAFE_NO_PAD.encode(tag))
    }

    /// Whether this is the token. Time: independent of the token.
    pub fn check_form_token(&self, secret: &str, purpose: &str, token: &str) -> bool {
        self.is_signed(&self.form, &form_message(secret, purpose), token)
    }

    /// The cookie of a browser in which `username` has just signed in: `NUMBER.MAC`.
    /// Errors: `Randomness`.
    pub fn mark(&self, username: &str, randomness: &dyn Randomness) -> Result<Zeroizing<String>, Error> {
        let number = random_id(randomness)?;
        let tag = hmac::sign(&self.known, &known_message(&number, username));
        Ok(Zeroizing::new(format!("{number}.{}", URL_SAFE_NO_PAD.encode(tag))))
    }

    /// The browser's number, if `username` has signed in there before.
    pub fn known<'a>(&self, cookie: &'a str, username: &str) -> Option<&'a str> {
        let (number, tag) = cookie.split_once('.')?;
        self.is_signed(&self.known, &known_message(number, username), tag).then_some(number)
    }

    fn is_signed(&self, key: &hmac::Key, message: &[u8], tag: &str) -> bool {
        let tag = URL_SAFE_NO_PAD.decode(tag);
        tag.is_ok_and(|tag| hmac::verify(key, message, &tag).is_ok())
    }
}

impl std::fmt::Debug for BrowserKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserKeys(..)")
    }
}

/// The purpose comes second: it is ours, and the secret has no zero byte, for a cookie cannot have one.
fn form_message(secret: &str, purpose: &str) -> Zeroizing<Vec<u8>> {
    Zeroizing::new([secret.as_bytes(), b"\0", purpose.as_bytes()].concat())
}

fn known_message(number: &str, username: &str) -> Vec<u8> {
    [number.as_bytes(), b"\0", username.as_bytes()].concat()
}
