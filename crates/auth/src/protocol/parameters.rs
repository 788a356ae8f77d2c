//! Request parameters: `application/x-www-form-urlencoded`, read strictly.
//! RFC 6749 §3.2 and Appendix B.

use zeroize::Zeroizing;

use super::{Code, OAuthError};

/// The parameters of a request. Each name stands once, save those that their RFC lets repeat; values may be secrets,
/// so they are wiped and never printed.
#[derive(Clone)]
pub struct Parameters(Vec<(String, Zeroizing<String>)>);

/// RFC 8707 §2 lets `resource` repeat, RFC 8693 §2.1 `audience`.
const REPEATABLE: [&str; 2] = ["audience", "resource"];
/// More than any flow has; bounds the search for repeated names.
const MOST: usize = 64;

impl Parameters {
    /// Reads a form body.
    /// RFC 6749 §3.2: empty values count as omitted, unknown names are ignored, no name may repeat.
    /// Errors: `invalid_request`.
    pub fn parse(body: &[u8]) -> Result<Self, OAuthError> {
        let invalid = |what: &'static str| OAuthError::new(Code::InvalidRequest, what);
        let text = std::str::from_utf8(body).map_err(|_| invalid("the body is not text"))?;
        let mut parameters = Vec::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name =
                decode(name).ok_or_else(|| invalid("a parameter name is not form-urlencoded UTF-8"))?;
            let value =
                decode(value).ok_or_else(|| invalid("a parameter value is not form-urlencoded UTF-8"))?;
            if parameters.len() == MOST {
                return Err(invalid("too many parameters"));
            }
            let repeated = parameters.iter().any(|(known, _)| *known == *name);
            if repeated && !REPEATABLE.contains(&name.as_str()) {
                return Err(invalid("a parameter is repeated"));
            }
            parameters.push((name.to_string(), value));
        }
        Ok(Self(parameters))
    }

    /// These, whose names are known not to repeat where they must not.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), Zeroizing::new((*value).to_owned()));
        Self(pairs.iter().map(owned).collect())
    }

    /// Whether a parameter of this name may stand there more than once.
    pub(crate) fn repeats(name: &str) -> bool {
        REPEATABLE.contains(&name)
    }

    /// The value of a parameter, `None` if it is absent or empty.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// The values of a parameter that may repeat, empty ones left out.
    pub fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0
            .iter()
            .filter(move |(known, value)| known == name && !value.is_empty())
            .map(|(_, value)| value.as_str())
    }

    /// Every parameter that has a value, in the order of the request.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let given = self.0.iter().filter(|(_, value)| !value.is_empty());
        given.map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The value of a parameter that must be there.
    /// Errors: `invalid_request`.
    pub fn required(&self, name: &'static str) -> Result<&str, OAuthError> {
        self.value(name).ok_or_else(|| {
            OAuthError::new(Code::InvalidRequest, format!("the parameter `{name}` is missing"))
        })
    }
}

impl std::fmt::Debug for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

/// Undoes form-urlencoding, RFC 6749 Appendix B: `+` is a space, `%` starts two hexadecimal digits, the rest is UTF-8.
pub(crate) fn decode(text: &str) -> Option<Zeroizing<String>> {
    let mut decoded = Zeroizing::new(Vec::with_capacity(text.len()));
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'+' => b' ',
            b'%' => {
                let high = char::from(bytes.next()?).to_digit(16)?;
                let low = char::from(bytes.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            byte => byte,
        });
    }
    std::str::from_utf8(&decoded).ok().map(|text| Zeroizing::new(text.to_owned()))
}
