//! Names, as text and in certificates, and what else a certificate says of its subject.

use proptest::prelude::*;
use sealstone_pki::{AltName, Certificate, Error, Name, spki};

use crate::{data, unpem};

fn name(text: &str) -> Name {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// What OpenSSL made, and what OpenSSL says of it.
#[test]
fn a_certificate_of_openssl() {
    let der = unpem(&data("openssl/names.crt"));
    let certificate = Certificate::from_der(&der).unwrap();
    // `openssl x509 -nameopt RFC2253`, byte for byte.
    let printed = "1.3.6.1.4.1.99999.1=#0C06637573746F6D,organizationIdentifier=PSDSE-FINA-1,serialNumber=0017,\
                   emailAddress=ops@example.org,DC=example,CN=client one+UID=42,OU=middle  spaces,\
                   OU=\\  lead # and tail\\ ,O=M\\C3\\BCller \\, S\\C3\\B6hne \\+ Co quoted \\<a\\>\\;b=\\\\c,C=SE";
    assert_eq!(*certificate.subject(), name(printed));
    assert_eq!(name(&certificate.subject().to_string()), *certificate.subject(), "written and read again");
    let other = |text: &str| AltName::Dns(text.into());
    assert_eq!(
        certificate.alt_names(),
        [
            other("*.example.org"),
            other("Client.example.org"),
            AltName::Uri("spiffe://example.org/a".into()),
            AltName::Ip("192.0.2.7".parse().unwrap()),
            AltName::Ip("2001:db8::7".parse().unwrap()),
            AltName::Email("ops@example.org".into()),
            AltName::Other,
        ]
    );
    assert_eq!((certificate.not_before(), certificate.not_after()), (1_795_262_926, 2_572_862_926));
    let key = spki::from_der(certificate.public_key()).unwrap();
    assert_eq!(key, spki::from_pem(&data("openssl/names.pub")).unwrap());
}

/// RFC 4514 §4 has these examples.
#[test]
fn rfc4514_s4_examples() {
    for (text, same) in [
        ("UID=jsmith,DC=example,DC=net", "uid=jsmith,dc=example,dc=net"),
        ("OU=Sales+CN=J.  Smith,DC=example,DC=net", "CN=J.  Smith+OU=Sales,DC=example,DC=net"),
        (
            "CN=James \\\"Jim\\\" Smith\\, III,DC=example,DC=net",
            "CN=James \\22Jim\\22 Smith\\2C III,DC=example,DC=net",
        ),
        ("CN=Before\\0dAfter,DC=example,DC=net", "CN=Before\rAfter,DC=example,DC=net"),
        ("1.3.6.1.4.1.1466.0=#04024869", "1.3.6.1.4.1.1466.0=#04024869"),
        ("CN=Lu\\C4\\8Di\\C4\\87", "CN=Lučić"),
    ] {
        assert_eq!(name(text), name(same), "{text}");
        assert_eq!(name(&name(text).to_string()), name(text), "{text}");
    }
    assert_eq!(name("CN=Lu\\C4\\8Di\\C4\\87").to_string(), "CN=Lučić");
    assert_eq!(name("CN=a\\0ab").to_string(), "CN=a\\0ab", "on one line");
    assert!(name("").is_empty());
}

/// The string type does not count: PrintableString, UTF8String, IA5String, BMPString, UniversalString.
#[test]
fn rfc5280_s7_1_string_types() {
    for hex in ["13024142", "0c024142", "16024142", "14024142", "1e0400410042", "1c080000004100000042"] {
        assert_eq!(name(&format!("CN=#{hex},O=x")), name("CN=AB,O=x"), "{hex}");
        assert_eq!(name(&format!("2.5.4.3=#{hex},O=x")), name("CN=AB,O=x"), "{hex}");
    }
    // Teletex beyond ASCII has no one reading, an octet string none at all.
    assert_ne!(name("CN=#1401e4"), name("CN=ä"));
    assert_ne!(name("CN=#04024142"), name("CN=AB"));
}

/// Each pair is two names, though one can be mistaken for the other.
#[test]
fn names_that_are_not_the_same() {
    for (one, other) in [
        ("CN=a,O=b", "O=b,CN=a"),
        ("CN=a\\,O=b", "CN=a,O=b"),
        ("CN=a\\+O=b", "CN=a+O=b"),
        ("CN=a+O=b", "CN=a,O=b"),
        ("CN=a", "CN=a,O=b"),
        ("CN=a", "CN=A"),
        ("CN=a", "OU=a"),
        ("CN=a", "CN=a\\ "),
        ("CN=a", "CN=\\ a"),
        ("CN=a b", "CN=a  b"),
        ("CN=a", "CN=a\\00"),
        ("CN=a", "CN=а"),
        ("CN=a,CN=a", "CN=a"),
        ("CN=a+CN=a", "CN=a"),
        ("CN=a", ""),
    ] {
        assert_ne!(name(one), name(other));
    }
}

#[test]
fn rfc4514_s3_what_is_not_a_name() {
    for text in [
        "CN",
        "=a",
        "CN=a,",
        ",CN=a",
        "CN=a, O=b",
        "CN =a",
        " CN=a",
        "CN= a",
        "CN=a ",
        "CN=a+",
        "CN=a;O=b",
        "CN=\"a\"",
        "CN=a<b",
        "CN=a>b",
        "CN=a\\",
        "CN=a\\x",
        "CN=a\\4",
        "CN=a\0",
        "CN=\\FF",
        "XX=a",
        "CN=#",
        "CN=#0",
        "CN=#0c",
        "CN=#0c0141ff",
        "CN=#0c02ff41",
        "CN=#1301ff",
        "CN=#1e0141",
        "CN=#1ed800",
        "CN=#1f0141",
        "CN=#zz",
        "1=a",
        "1.=a",
        "1..2=a",
        "01.2=a",
        "1.40=a",
        "3.1=a",
        "1.2.99999999999999999999=a",
        "2.5.4.3.=a",
        "-1.2=a",
    ] {
        assert!(text.parse::<Name>().is_err(), "{text}");
    }
    let error = "CN=a, O=b".parse::<Name>().unwrap_err();
    assert!(matches!(error, Error::Name { offset: 5, .. }));
    assert!(error.hint().unwrap().contains("RFC2253") && error.to_string().contains("byte 5"), "{error}");
}

/// One TLV.
fn tlv(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let length = match content.len() {
        short @ 0..=127 => vec![short as u8],
        long => vec![0x82, (long >> 8) as u8, long as u8],
    };
    [&[tag], &length[..], &content].concat()
}

/// A certificate put together by hand.
fn certificate(validity: [&[u8]; 2], extensions: &[u8]) -> Vec<u8> {
    let nothing = tlv(0x30, &[]);
    let fields = tlv(
        0x30,
        &[
            &tlv(0xa0, &[&[2, 1, 2]]),
            &[2, 1, 1],
            &nothing,
            &nothing,
            &tlv(0x30, &validity),
            &nothing,
            &nothing,
            extensions,
        ],
    );
    tlv(0x30, &[&fields, &nothing, &[3, 1, 0]])
}

fn extension(oid: &[u8], value: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&tlv(6, &[oid]), &tlv(4, &[value])])
}

fn with(extensions: &[&[u8]]) -> Vec<u8> {
    let times = tlv(0x17, &[b"260101000000Z"]);
    certificate([&times, &times], &tlv(0xa3, &[&tlv(0x30, extensions)]))
}

/// A part of several attributes is a set: a certificate has them in the order of their encoding, not in ours.
#[test]
fn rfc5280_a_part_is_a_set() {
    let attribute = |oid: &[u8], text: &[u8]| tlv(0x30, &[&tlv(6, &[oid]), &tlv(0x0c, &[text])]);
    let (cn, uid) = (
        attribute(&[0x55, 4, 3], b"a"),
        attribute(&[0x09, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 1], b"b"),
    );
    for set in [[&cn[..], &uid], [&uid, &cn]] {
        let subject = tlv(0x30, &[&tlv(0x31, &set)]);
        let time = tlv(0x17, &[b"260101000000Z"]);
        let nothing = tlv(0x30, &[]);
        let fields = [&[2, 1, 1], &nothing[..], &nothing, &tlv(0x30, &[&time, &time]), &subject, &nothing];
        let der = tlv(0x30, &[&tlv(0x30, &fields), &nothing, &[3, 1, 0]]);
        assert_eq!(*Certificate::from_der(&der).unwrap().subject(), name("CN=a+UID=b"));
    }
}

const SAN: &[u8] = &[0x55, 0x1d, 0x11];

#[test]
fn rfc5280_s4_2_no_extension_twice() {
    let dns = |name: &[u8]| extension(SAN, &tlv(0x30, &[&tlv(0x82, &[name])]));
    assert_eq!(Certificate::from_der(&with(&[&dns(b"a")])).unwrap().alt_names(), [AltName::Dns("a".into())]);
    assert!(Certificate::from_der(&with(&[&dns(b"a"), &dns(b"b")])).is_err());
    assert!(Certificate::from_der(&with(&[&extension(&[1], b""), &extension(&[1], b"")])).is_err());
    assert!(Certificate::from_der(&with(&[&dns(b"\xff")])).is_err());
    let address = |bytes: &[u8]| extension(SAN, &tlv(0x30, &[&tlv(0x87, &[bytes])]));
    for bytes in [&b"123"[..], b"12345678", b""] {
        assert!(Certificate::from_der(&with(&[&address(bytes)])).is_err());
    }
}

#[test]
fn rfc5280_s4_1_2_5_times() {
    let read = |tag: u8, text: &[u8]| {
        let time = tlv(tag, &[text]);
        Certificate::from_der(&certificate([&time, &time], &[])).map(|certificate| certificate.not_after())
    };
    for (tag, text, expected) in [
        (0x17, &b"700101000000Z"[..], 0),
        (0x17, b"691231235959Z", -1),
        (0x17, b"500101000000Z", -631_152_000),
        (0x17, b"491231235959Z", 2_524_607_999),
        (0x18, b"20240229120000Z", 1_709_208_000),
        (0x18, b"20000301000000Z", 951_868_800),
        (0x18, b"99991231235959Z", 253_402_300_799),
    ] {
        assert_eq!(read(tag, text), Ok(expected), "{}", String::from_utf8_lossy(text));
    }
    for (tag, text) in [
        (0x17, &b"20240229120000Z"[..]),
        (0x18, b"240229120000Z"),
        (0x18, b"20230229120000Z"),
        (0x18, b"21000229120000Z"),
        (0x17, b"261301000000Z"),
        (0x17, b"260001000000Z"),
        (0x17, b"260100000000Z"),
        (0x17, b"260431000000Z"),
        (0x17, b"260101240000Z"),
        (0x17, b"260101006000Z"),
        (0x17, b"260101000060Z"),
        (0x17, b"2601010000Z"),
        (0x17, b"260101000000+0000"),
        (0x18, b"20260101000000.5Z"),
        (0x17, b"26010100000aZ"),
        (0x17, b""),
        (0x04, b"260101000000Z"),
    ] {
        assert!(read(tag, text).is_err(), "{}", String::from_utf8_lossy(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    /// Any text is a value, and a name that is written is read back the same.
    #[test]
    fn name_round_trip(values in prop::collection::vec(any::<String>(), 1..4), types in prop::collection::vec(0..4usize, 3)) {
        let types: Vec<&str> = types.iter().map(|index| ["CN", "O", "1.2.840.5", "DC"][*index]).collect();
        let hex = |text: &str| tlv(0x0c, &[text.as_bytes()]).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        let parts: Vec<String> = values.iter().zip(types).map(|(text, keyword)| format!("{keyword}=#{}", hex(text))).collect();
        let written = name(&parts.join(",")).to_string();
        prop_assert!(!written.chars().any(char::is_control));
        prop_assert_eq!(name(&written), name(&parts.join(",")));
    }

    #[test]
    fn no_panic_on_names(text in "\\PC{0,40}", near in "(CN=|O=|2\\.5\\.4\\.3=|#|\\\\|,|\\+|[0-9a-f]{2}| |ä){0,12}") {
        let _ = text.parse::<Name>();
        let _ = near.parse::<Name>();
    }

    #[test]
    fn no_panic_on_certificates(edits in prop::collection::vec((0..900usize, any::<u8>()), 0..4), cut in 0..1800usize) {
        let mut der = unpem(&data("openssl/names.crt"));
        for (at, value) in edits {
            let at = at % der.len();
            der[at] = value;
        }
        der.truncate(cut);
        if let Ok(certificate) = Certificate::from_der(&der) {
            prop_assert!(certificate.public_key().len() < der.len());
        }
    }
}
