//! Distinguished names: as text (RFC 4514) and as they stand in certificates (RFC 5280 §4.1.2.4).
//!
//! Names are compared as what they mean, never as text: `O=a\,CN\=b` is one attribute. Two names are equal if their
//! parts stand in the same order and each has the same attributes with the same values, letter for letter; in which
//! string type of ASN.1 a value was written does not count. RFC 5280 §7.1 would also let upper and lower case be the
//! same: here that makes two names, so that no name is taken for one that it is not.

use core::fmt::{self, Write as _};
use core::str::FromStr;

use crate::der::{self, Reader};
use crate::error::Error;

/// A distinguished name.
///
/// ```
/// use sealstone_pki::Name;
///
/// # fn main() -> Result<(), sealstone_pki::Error> {
/// let name: Name = "CN=billing,OU=Payments,O=Example,C=DE".parse()?;
/// assert_eq!(name.common_name(), Some("billing"));
/// assert_eq!(name.to_string(), "CN=billing,OU=Payments,O=Example,C=DE");
/// assert_eq!(name.to_der()?[..2], [0x30, 68]); // a SEQUENCE of 68 bytes
///
/// // The most general part stands last in the text and counts first.
/// assert!(name.is_within(&"O=Example,C=DE".parse()?));
/// assert!(!name.is_within(&"O=Other,C=DE".parse()?));
///
/// // A comma that belongs to a value is escaped: this is one part and not two.
/// let odd: Name = r"O=Example\, Inc.".parse()?;
/// assert!(!odd.is_within(&"O=Example".parse()?));
///
/// let old: Name = "emailAddress=billing@example.org,CN=billing".parse()?;
/// assert!(old.emails().eq(["billing@example.org"]));
/// assert!(Name::default().is_empty());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Name {
    /// In the order of the certificate, the most general first. The text has them the other way round. Each sorted:
    /// it is a set.
    parts: Vec<Vec<Attribute>>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Attribute {
    /// The content of its object identifier.
    oid: Vec<u8>,
    value: Value,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Value {
    /// Any other type, whole.
    Der(Vec<u8>),
    /// A string, whatever its type.
    Text(String),
}

impl Name {
    /// Whether it has no part at all.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether it begins, from the most general part, with all parts of another.
    pub fn is_within(&self, base: &Self) -> bool {
        self.parts.starts_with(&base.parts)
    }

    /// Writes the Name: country, serial number and qualifier as PrintableString, mail address and domain component as
    /// IA5String, everything else as UTF8String (RFC 5280 §4.1.2.4, appendix A).
    ///
    /// # Errors
    /// [`Error::Value`] for a value that is empty, longer than its upper bound in appendix A, or cannot be written in
    /// its type.
    pub fn to_der(&self) -> Result<Vec<u8>, Error> {
        let mut content = Vec::new();
        for part in &self.parts {
            let attributes = part.iter().map(Attribute::write).collect::<Result<Vec<_>, _>>()?;
            let mut set: Vec<&[u8]> = attributes.iter().map(Vec::as_slice).collect();
            // X.690 §11.6: a SET OF is in the order of its encodings.
            set.sort_unstable();
            content.extend_from_slice(&der::write(der::SET, &set));
        }
        Ok(der::write(der::SEQUENCE, &[&content]).to_vec())
    }

    /// The value of the last CN, if there is one.
    pub fn common_name(&self) -> Option<&str> {
        let is_text = |attribute: &Attribute| attribute.oid == [0x55, 4, 3];
        let found = self.parts.iter().flatten().rfind(|attribute| is_text(attribute))?;
        match &found.value {
            Value::Text(text) => Some(text),
            Value::Der(_) => None,
        }
    }

    /// The values of mail addresses among its parts (RFC 5280 §4.2.1.10 restricts these too).
    pub fn emails(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().flatten().filter(|attribute| attribute.oid == EMAIL_ADDRESS).filter_map(|found| {
            match &found.value {
                Value::Text(text) => Some(text.as_str()),
                Value::Der(_) => None,
            }
        })
    }

    /// Reads what is left of a Name's SEQUENCE.
    pub(crate) fn read(mut parts: Reader<'_>) -> Result<Self, Error> {
        let mut name = Self::default();
        while parts.peek().is_some() {
            let mut set = parts.take(der::SET)?;
            let mut attributes = Vec::new();
            loop {
                let mut fields = set.take(der::SEQUENCE)?;
                let oid = fields.take(der::OBJECT_IDENTIFIER)?.rest().to_vec();
                let offset = fields.offset();
                let value = Value::read(fields.rest(), offset)?;
                attributes.push(Attribute { oid, value });
                if set.peek().is_none() {
                    break;
                }
            }
            attributes.sort();
            name.parts.push(attributes);
        }
        Ok(name)
    }
}

/// RFC 4514 §3, as strict as it is written: no space beside a comma.
impl FromStr for Name {
    type Err = Error;

    /// # Errors
    /// [`Error::Name`], with the byte where the text ceases to be a name.
    fn from_str(text: &str) -> Result<Self, Error> {
        let mut rest = Text { text, offset: 0 };
        let mut name = Self::default();
        if text.is_empty() {
            return Ok(name);
        }
        let mut attributes = Vec::new();
        loop {
            attributes.push(rest.attribute()?);
            let next = rest.next();
            if next != Some('+') {
                attributes.sort();
                name.parts.push(core::mem::take(&mut attributes));
            }
            match next {
                Some('+' | ',') => {}
                Some(_) => return Err(rest.back().refusal("`,`, `+` or the end", "another character")),
                None => break,
            }
        }
        name.parts.reverse();
        Ok(name)
    }
}

/// RFC 4514 §2. Control characters are escaped too, so that a name stands on one line.
impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().rev().enumerate() {
            for (position, Attribute { oid, value }) in part.iter().enumerate() {
                f.write_str(match (index, position) {
                    (0, 0) => "",
                    (_, 0) => ",",
                    _ => "+",
                })?;
                let known = KNOWN.iter().find(|(_, known)| *known == oid.as_slice());
                match (known, value) {
                    (Some((keyword, _)), Value::Text(text)) => write!(f, "{keyword}={}", Escaped(text))?,
                    (Some((keyword, _)), Value::Der(der)) => write!(f, "{keyword}=#{}", Hex(der))?,
                    (None, Value::Der(der)) => write!(f, "{}=#{}", der::dotted(oid), Hex(der))?,
                    (None, Value::Text(text)) => {
                        let der = der::write(der::UTF8_STRING, &[text.as_bytes()]);
                        write!(f, "{}=#{}", der::dotted(oid), Hex(&der))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// The keywords of RFC 4514 §3, then others that are in wide use, by the names that OpenSSL and RFC 4519 give them.
const KNOWN: [(&str, &[u8]); 24] = [
    ("CN", &[0x55, 4, 3]),
    ("L", &[0x55, 4, 7]),
    ("ST", &[0x55, 4, 8]),
    ("O", &[0x55, 4, 10]),
    ("OU", &[0x55, 4, 11]),
    ("C", &[0x55, 4, 6]),
    ("STREET", &[0x55, 4, 9]),
    ("DC", &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25]),
    ("UID", &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1]),
    ("SN", &[0x55, 4, 4]),
    ("serialNumber", &[0x55, 4, 5]),
    ("title", &[0x55, 4, 12]),
    ("businessCategory", &[0x55, 4, 15]),
    ("postalCode", &[0x55, 4, 17]),
    ("name", &[0x55, 4, 41]),
    ("GN", &[0x55, 4, 42]),
    ("initials", &[0x55, 4, 43]),
    ("dnQualifier", &[0x55, 4, 46]),
    ("pseudonym", &[0x55, 4, 65]),
    ("organizationIdentifier", &[0x55, 4, 97]),
    ("emailAddress", &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1]),
    ("jurisdictionL", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 60, 2, 1, 1]),
    ("jurisdictionST", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 60, 2, 1, 2]),
    ("jurisdictionC", &[0x2b, 6, 1, 4, 1, 0x82, 0x37, 60, 2, 1, 3]),
];

/// emailAddress of PKCS#9.
const EMAIL_ADDRESS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 9, 1];
const COUNTRY: &[u8] = &[0x55, 4, 6];
const DOMAIN_COMPONENT: &[u8] = &[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25];
const PRINTABLE_STRING: der::Tag = der::Tag { byte: 0x13, name: "a PrintableString" };
const IA5_STRING: der::Tag = der::Tag { byte: 0x16, name: "an IA5String" };

impl Attribute {
    fn write(&self) -> Result<Vec<u8>, Error> {
        let oid = der::write(der::OBJECT_IDENTIFIER, &[&self.oid]);
        let value = match &self.value {
            Value::Der(whole) => whole.clone(),
            Value::Text(text) => self.write_text(text)?,
        };
        Ok(der::write(der::SEQUENCE, &[&oid, &value]).to_vec())
    }

    fn write_text(&self, text: &str) -> Result<Vec<u8>, Error> {
        let refused = |what, expected| Err(Error::Value { what, expected });
        let printable = |text: &str| {
            text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&byte))
        };
        let length = text.chars().count();
        if length == 0 {
            return refused("an attribute of a name", "some text");
        }
        let (tag, fits) = match self.oid.as_slice() {
            COUNTRY => (PRINTABLE_STRING, length == 2 && text.bytes().all(|byte| byte.is_ascii_uppercase())),
            // serialNumber and dnQualifier.
            [0x55, 4, 5 | 46] => (PRINTABLE_STRING, length <= 64 && printable(text)),
            EMAIL_ADDRESS => (IA5_STRING, length <= 255 && text.is_ascii()),
            DOMAIN_COMPONENT => (IA5_STRING, text.is_ascii()),
            // CN, L, ST, O, OU, title: the upper bounds of appendix A.1.
            [0x55, 4, 3 | 10 | 11 | 12] => (der::UTF8_STRING, length <= 64),
            [0x55, 4, 7 | 8] => (der::UTF8_STRING, length <= 128),
            _ => (der::UTF8_STRING, length <= 32_768),
        };
        match (fits, self.oid.as_slice()) {
            (true, _) => Ok(der::write(tag, &[text.as_bytes()]).to_vec()),
            (false, COUNTRY) => refused("the country C", "two letters of ISO 3166, such as DE"),
            (false, [0x55, 4, 5 | 46]) => {
                refused("an attribute of a name", "at most 64 printable characters")
            }
            (false, EMAIL_ADDRESS | DOMAIN_COMPONENT) => refused("an attribute of a name", "ASCII"),
            (false, [0x55, 4, 7 | 8]) => refused("an attribute of a name", "at most 128 characters"),
            (false, _) => refused("an attribute of a name", "at most 64 characters"),
        }
    }
}

impl Value {
    /// Reads one value with its tag, and nothing behind it.
    fn read(whole: &[u8], offset: usize) -> Result<Self, Error> {
        let mut reader = Reader::within(whole, offset);
        let tag = reader.peek();
        let content = reader.take_next("a value")?.rest();
        reader.end()?;
        let malformed =
            |expected| Error::Der { offset, expected, found: "bytes that are none in its type".into() };
        let text = match tag {
            Some(0x0c) => Some(String::from_utf8(content.to_vec()).ok().ok_or(malformed("text in UTF-8"))?),
            Some(0x13 | 0x16) if content.is_ascii() => ascii(content),
            Some(0x13 | 0x16) => return Err(malformed("ASCII")),
            // T.61 has no one meaning beyond ASCII: such a value is only equal to itself.
            Some(0x14) if content.is_ascii() => ascii(content),
            Some(0x1e) => Some(wide::<2>(content).ok_or(malformed("text in UCS-2"))?),
            Some(0x1c) => Some(wide::<4>(content).ok_or(malformed("text in UCS-4"))?),
            _ => None,
        };
        Ok(text.map_or_else(|| Self::Der(whole.to_vec()), Self::Text))
    }
}

fn ascii(content: &[u8]) -> Option<String> {
    Some(content.iter().copied().map(char::from).collect())
}

/// BMPString and UniversalString: characters of N bytes, big-endian, no surrogates.
fn wide<const N: usize>(content: &[u8]) -> Option<String> {
    if !content.len().is_multiple_of(N) {
        return None;
    }
    let code = |unit: &[u8]| unit.iter().fold(0, |code, byte| code << 8 | u32::from(*byte));
    content.chunks(N).map(|unit| char::from_u32(code(unit))).collect()
}

/// What is left of a text, and where that is in the whole.
struct Text<'t> {
    text: &'t str,
    offset: usize,
}

impl Text<'_> {
    /// `attributeTypeAndValue = attributeType EQUALS attributeValue`
    fn attribute(&mut self) -> Result<Attribute, Error> {
        let oid = self.attribute_type()?;
        let value = match self.peek() {
            Some('#') => self.hex_value()?,
            _ => Value::Text(self.string()?),
        };
        Ok(Attribute { oid, value })
    }

    /// A keyword, in any case, or a dotted object identifier; and the `=` behind it.
    fn attribute_type(&mut self) -> Result<Vec<u8>, Error> {
        let expected = "an attribute such as `CN=`, without a space before it";
        let Some((written, _)) = self.text.split_once('=') else {
            return Err(self.refusal(expected, "no `=`"));
        };
        let known = KNOWN.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(written));
        let oid = known.map(|(_, oid)| oid.to_vec()).or_else(|| der::undotted(written));
        let oid = oid.ok_or_else(|| self.refusal(expected, "a keyword that is not known"))?;
        let taken = written.len() + 1;
        (self.text, self.offset) = (&self.text[taken..], self.offset + taken);
        Ok(oid)
    }

    /// `hexstring = SHARP 1*hexpair`: the value in DER, with its tag.
    fn hex_value(&mut self) -> Result<Value, Error> {
        let start = self.offset;
        self.next();
        let mut der = Vec::new();
        while !matches!(self.peek(), None | Some(',' | '+')) {
            der.push(self.hex_pair()?);
        }
        Value::read(&der, start)
    }

    /// `string`: everything up to a comma or plus that is not escaped.
    fn string(&mut self) -> Result<String, Error> {
        let mut bytes: Vec<u8> = Vec::new();
        let mut spaces = 0;
        while let Some(character) = self.peek() {
            match character {
                ',' | '+' => break,
                '"' | ';' | '<' | '>' | '\0' => return Err(self.refusal("`\\` before it", "it bare")),
                ' ' if bytes.is_empty() => return Err(self.refusal("`\\` before a first space", "it bare")),
                '\\' => {
                    self.next();
                    spaces = 0;
                    match self.peek() {
                        Some(special) if "\"+,;<>\\ #=".contains(special) => {
                            self.next();
                            bytes.push(special as u8);
                        }
                        _ => bytes.push(self.hex_pair()?),
                    }
                }
                character => {
                    self.next();
                    spaces = if character == ' ' { spaces + 1 } else { 0 };
                    bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
            }
        }
        if spaces > 0 {
            return Err(self.refusal("`\\` before a last space", "it bare"));
        }
        String::from_utf8(bytes).map_err(|_| self.refusal("escaped bytes in UTF-8", "others"))
    }

    fn hex_pair(&mut self) -> Result<u8, Error> {
        let mut digit = || self.next().and_then(|character| character.to_digit(16));
        match (digit(), digit()) {
            (Some(high), Some(low)) => Ok((high << 4 | low) as u8),
            _ => Err(self.refusal("two hexadecimal digits before this", "something else")),
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let character = self.peek()?;
        (self.text, self.offset) = (&self.text[character.len_utf8()..], self.offset + character.len_utf8());
        Some(character)
    }

    /// To name the place of the character that was just taken.
    fn back(&self) -> Text<'_> {
        Text { text: self.text, offset: self.offset - 1 }
    }

    fn refusal(&self, expected: &'static str, found: &'static str) -> Error {
        Error::Name { offset: self.offset, expected, found }
    }
}

/// RFC 4514 §2.4.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let last = self.0.chars().count().saturating_sub(1);
        for (index, character) in self.0.chars().enumerate() {
            match character {
                '"' | '+' | ',' | ';' | '<' | '>' | '\\' => write!(f, "\\{character}")?,
                '#' | ' ' if index == 0 => write!(f, "\\{character}")?,
                ' ' if index == last => f.write_str("\\ ")?,
                control if control.is_control() => {
                    let mut bytes = [0; 4];
                    for byte in control.encode_utf8(&mut bytes).bytes() {
                        write!(f, "\\{byte:02x}")?;
                    }
                }
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

struct Hex<'b>(&'b [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
