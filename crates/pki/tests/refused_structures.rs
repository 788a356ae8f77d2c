//! Bad certificates, requests and revocation lists, each by name, each with the kind of error that it must get. The
//! structures are built here, not by the crate.

use sealstone_pki::x509::{Crl, Csr};
use sealstone_pki::{Certificate, Error};

use crate::refusals::{check, tlv};
use crate::unhex;

const ALGORITHM: &str = "300b0609608648016503040311";
const NAME: &str = "300c310a300806035504030c0141";
const OTHER_NAME: &str = "300c310a300806035504030c0142";

fn integer(content: &[u8]) -> Vec<u8> {
    tlv(2, &[content])
}

fn utc(text: &str) -> Vec<u8> {
    tlv(0x17, &[text.as_bytes()])
}

fn validity(from: &[u8], until: &[u8]) -> Vec<u8> {
    tlv(0x30, &[from, until])
}

fn extension(oid: &str, critical: &str, value: &[u8]) -> Vec<u8> {
    tlv(0x30, &[&tlv(6, &[&unhex(oid)]), &unhex(critical), &tlv(4, &[value])])
}

/// The parts of a certificate, in their order.
#[derive(Clone)]
struct Parts {
    version: Vec<u8>,
    serial: Vec<u8>,
    inside: Vec<u8>,
    issuer: Vec<u8>,
    validity: Vec<u8>,
    subject: Vec<u8>,
    key: Vec<u8>,
    extensions: Vec<u8>,
    outside: Vec<u8>,
    signature: Vec<u8>,
    behind: Vec<u8>,
}

impl Parts {
    fn good() -> Self {
        Self {
            version: tlv(0xa0, &[&integer(&[2])]),
            serial: integer(&[1]),
            inside: unhex(ALGORITHM),
            issuer: unhex(NAME),
            validity: validity(&utc("260101000000Z"), &utc("270101000000Z")),
            subject: unhex(OTHER_NAME),
            key: tlv(0x30, &[&unhex(ALGORITHM), &tlv(3, &[&[0], &[1; 1312]])]),
            extensions: Vec::new(),
            outside: unhex(ALGORITHM),
            signature: tlv(3, &[&[0], &[7; 2420]]),
            behind: Vec::new(),
        }
    }

    fn der(&self) -> Vec<u8> {
        let tbs = tlv(
            0x30,
            &[
                &self.version,
                &self.serial,
                &self.inside,
                &self.issuer,
                &self.validity,
                &self.subject,
                &self.key,
                &self.extensions,
            ],
        );
        tlv(0x30, &[&tbs, &self.outside, &self.signature, &self.behind])
    }
}

fn with(change: impl FnOnce(&mut Parts)) -> Vec<u8> {
    let mut parts = Parts::good();
    change(&mut parts);
    parts.der()
}

fn with_extensions(list: &[Vec<u8>]) -> Vec<u8> {
    with(|parts| parts.extensions = tlv(0xa3, &[&tlv(0x30, &[&list.concat()])]))
}

fn with_extension(oid: &str, value: &str) -> Vec<u8> {
    with_extensions(&[extension(oid, "", &unhex(value))])
}

fn with_times(from: Vec<u8>, until: Vec<u8>) -> Vec<u8> {
    with(|parts| parts.validity = validity(&from, &until))
}

#[test]
fn certificates() {
    let good = Parts::good().der();
    let read = Certificate::from_der(&good).unwrap();
    assert_eq!((read.version(), read.serial()), (3, &[1][..]));
    let key_usage = |value: &str| with_extension("551d0f", value);
    let basic = |value: &str| with_extension("551d13", value);
    let alt = |value: &str| with_extension("551d11", value);
    let constraints = |value: &str| with_extension("551d1e", value);
    let authority = |value: &str| with_extension("551d23", value);
    assert_eq!(
        Certificate::from_der(&key_usage("03020780")).unwrap().key_usage().unwrap().to_string(),
        "digitalSignature"
    );
    assert_eq!(
        Certificate::from_der(&key_usage("0303076080")).unwrap().key_usage().unwrap().to_string(),
        "nonRepudiation, keyEncipherment, decipherOnly"
    );
    assert!(Certificate::from_der(&basic("30060101ff020103")).unwrap().is_ca());
    assert!(Certificate::from_der(&alt("3003820161")).is_ok());
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", vec![], "der"),
        ("a byte after it", [good.clone(), vec![0]].concat(), "trailing"),
        ("itself twice", good.repeat(2), "trailing"),
        ("70 000 bytes", vec![0x30; 70_000], "too large"),
        ("a SET", [&[0x31], &good[1..]].concat(), "der"),
        ("text", b"-----BEGIN CERTIFICATE-----".to_vec(), "der"),
        ("a fourth part", with(|parts| parts.behind = vec![5, 0]), "trailing"),
        ("no signature", with(|parts| parts.signature = vec![]), "der"),
        ("a signature of 3 bits less", with(|parts| parts.signature = tlv(3, &[&[3], &[8; 9]])), "der"),
        ("a signature in an OCTET STRING", with(|parts| parts.signature = tlv(4, &[&[7; 9]])), "der"),
        ("no algorithm outside", with(|parts| parts.outside = vec![]), "der"),
        (
            "another algorithm outside",
            with(|parts| parts.outside = unhex("300b0609608648016503040312")),
            "der",
        ),
        ("NULL outside only", with(|parts| parts.outside = unhex("300d06096086480165030403110500")), "der"),
        ("no algorithm inside", with(|parts| parts.inside = vec![]), "der"),
        ("version 4", with(|parts| parts.version = tlv(0xa0, &[&integer(&[3])])), "der"),
        ("version 1 written out", with(|parts| parts.version = tlv(0xa0, &[&integer(&[0])])), "der"),
        ("version in two bytes", with(|parts| parts.version = tlv(0xa0, &[&integer(&[0, 2])])), "der"),
        ("an empty version", with(|parts| parts.version = vec![0xa0, 0]), "der"),
        (
            "two versions",
            with(|parts| parts.version = tlv(0xa0, &[&integer(&[2]), &integer(&[2])])),
            "trailing",
        ),
        ("no serial", with(|parts| parts.serial = vec![]), "der"),
        ("an empty serial", with(|parts| parts.serial = vec![2, 0]), "der"),
        ("a negative serial", with(|parts| parts.serial = integer(&[0x80])), "der"),
        ("a serial with a zero too many", with(|parts| parts.serial = integer(&[0, 1])), "der"),
        ("a serial of 21 bytes", with(|parts| parts.serial = integer(&[1; 21])), "der"),
        ("a serial in an OCTET STRING", with(|parts| parts.serial = tlv(4, &[&[1]])), "der"),
        ("no issuer", with(|parts| parts.issuer = vec![]), "der"),
        ("an issuer with an empty SET", with(|parts| parts.issuer = unhex("30023100")), "der"),
        ("an issuer without a value", with(|parts| parts.issuer = unhex("3009310730050603550403")), "der"),
        (
            "a subject with bad UTF-8",
            with(|parts| parts.subject = unhex("300c310a300806035504030c01ff")),
            "der",
        ),
        ("no validity", with(|parts| parts.validity = vec![]), "der"),
        ("a validity of one time", with(|parts| parts.validity = tlv(0x30, &[&utc("260101000000Z")])), "der"),
        (
            "a validity of three times",
            with(|parts| parts.validity = tlv(0x30, &[&utc("260101000000Z").repeat(3)])),
            "trailing",
        ),
        ("a time without seconds", with_times(utc("2601010000Z"), utc("270101000000Z")), "der"),
        ("a time with an offset", with_times(utc("260101000000+0100"), utc("270101000000Z")), "der"),
        ("a time without Z", with_times(utc("260101000000"), utc("270101000000Z")), "der"),
        ("month 13", with_times(utc("261301000000Z"), utc("270101000000Z")), "der"),
        ("day 0", with_times(utc("260100000000Z"), utc("270101000000Z")), "der"),
        ("30 February", with_times(utc("260230000000Z"), utc("270101000000Z")), "der"),
        ("29 February of no leap year", with_times(utc("260229000000Z"), utc("270101000000Z")), "der"),
        ("hour 24", with_times(utc("260101240000Z"), utc("270101000000Z")), "der"),
        ("second 60", with_times(utc("260101000060Z"), utc("270101000000Z")), "der"),
        (
            "a time with fractions",
            with_times(tlv(0x18, &[b"20260101000000.5Z"]), utc("270101000000Z")),
            "der",
        ),
        ("a time of other letters", with_times(utc("26o101000000Z"), utc("270101000000Z")), "der"),
        ("a time as text", with_times(tlv(0x0c, &[b"260101000000Z"]), utc("270101000000Z")), "der"),
        ("no key", with(|parts| parts.key = vec![]), "der"),
        (
            "extensions in version 1",
            with(|parts| {
                parts.version = vec![];
                parts.extensions = tlv(0xa3, &[&tlv(0x30, &[&extension("551d0f", "", &unhex("03020780"))])]);
            }),
            "trailing",
        ),
        (
            "extensions in version 2",
            with(|parts| {
                parts.version = tlv(0xa0, &[&integer(&[1])]);
                parts.extensions = tlv(0xa3, &[&tlv(0x30, &[&extension("551d0f", "", &unhex("03020780"))])]);
            }),
            "trailing",
        ),
        (
            "an issuer's id in version 1",
            with(|parts| {
                parts.version = vec![];
                parts.extensions = tlv(0x81, &[&[0, 1]]);
            }),
            "trailing",
        ),
        ("no extension in extensions", with_extensions(&[]), "der"),
        (
            "extensions twice",
            with(|parts| {
                let one = tlv(0xa3, &[&tlv(0x30, &[&extension("551d0f", "", &unhex("03020780"))])]);
                parts.extensions = one.repeat(2);
            }),
            "trailing",
        ),
        ("an extension twice", with_extensions(&vec![extension("551d0f", "", &unhex("03020780")); 2]), "der"),
        ("an unknown extension twice", with_extensions(&vec![extension("2a03", "", &[5, 0]); 2]), "der"),
        (
            "critical FALSE written out",
            with_extensions(&[extension("551d0f", "010100", &unhex("03020780"))]),
            "der",
        ),
        ("critical 1", with_extensions(&[extension("551d0f", "010101", &unhex("03020780"))]), "der"),
        (
            "critical of two bytes",
            with_extensions(&[extension("551d0f", "0102ffff", &unhex("03020780"))]),
            "der",
        ),
        (
            "an extension without a value",
            with_extensions(&[tlv(0x30, &[&tlv(6, &[&unhex("551d0f")])])]),
            "der",
        ),
        (
            "something behind an extension's value",
            with_extensions(&[tlv(
                0x30,
                &[&tlv(6, &[&unhex("551d0f")]), &tlv(4, &[&unhex("03020780")]), &[5, 0]],
            )]),
            "trailing",
        ),
        ("an empty key usage", key_usage("030100"), "der"),
        ("a key usage of zero bits", key_usage("03020000"), "der"),
        ("a key usage with zero bits at its end", key_usage("03020080"), "der"),
        ("a key usage with a zero byte at its end", key_usage("0303078000"), "der"),
        ("a key usage of a tenth bit", key_usage("0303060040"), "der"),
        ("a key usage of three bytes", key_usage("030407808080"), "der"),
        ("a key usage with 8 unused bits", key_usage("03020880"), "der"),
        ("a key usage as INTEGER", key_usage("020101"), "der"),
        ("something behind a key usage", key_usage("030207800500"), "trailing"),
        ("cA FALSE written out", basic("3003010100"), "der"),
        ("a path length without cA", basic("3003020101"), "der"),
        ("a negative path length", basic("30060101ff0201ff"), "der"),
        ("a path length in two bytes", basic("30070101ff02020001"), "der"),
        ("a path length of 2^32", basic("300a0101ff02050100000000"), "der"),
        ("an empty path length", basic("30050101ff0200"), "der"),
        ("something behind a path length", basic("30080101ff0201010500"), "trailing"),
        ("basic constraints as SET", basic("3100"), "der"),
        ("no name beside the subject", alt("3000"), "der"),
        ("a host beyond ASCII", alt("30038201e9"), "der"),
        ("an address of 5 bytes", alt("300787050102030405"), "der"),
        ("an empty address", alt("30028700"), "der"),
        ("a name of an unknown form", alt("3003890161"), "der"),
        ("a constructed host", alt("3003a20161"), "der"),
        ("a name with a tag of several bytes", alt("30049f220161"), "der"),
        ("a directory name that is none", alt("3004a4023100"), "der"),
        ("two directory names in one", alt("3006a40430003000"), "trailing"),
        ("something behind the names", alt("30038201610500"), "trailing"),
        ("no key identifier", with_extension("551d0e", "0400"), "der"),
        (
            "a key identifier of 65 bytes",
            with_extension("551d0e", &format!("0441{}", "aa".repeat(65))),
            "der",
        ),
        ("a key identifier in a SEQUENCE", with_extension("551d0e", "3003040161"), "der"),
        ("an authority's empty identifier", authority("30028000"), "der"),
        ("an authority's serial without issuer", authority("3003820101"), "der"),
        ("an authority's issuer without serial", authority("3005a103820161"), "der"),
        ("an authority's identifier twice", authority("3006800101800101"), "trailing"),
        ("an unknown member of an authority", authority("3003830101"), "trailing"),
        ("no purpose", with_extension("551d25", "3000"), "der"),
        ("a purpose as text", with_extension("551d25", "30030c0161"), "der"),
        ("no policy", with_extension("551d20", "3000"), "der"),
        ("a policy twice", with_extension("551d20", "300c30040602 2a03 30040602 2a03"), "der"),
        ("a policy without an identifier", with_extension("551d20", "30023000"), "der"),
        ("no distribution point", with_extension("551d1f", "3000"), "der"),
        ("an empty distribution point", with_extension("551d1f", "30023000"), "der"),
        ("a distribution point without a name", with_extension("551d1f", "30063004a002a000"), "der"),
        ("no constraint", constraints("3000"), "der"),
        ("no permitted subtree", constraints("3002a000"), "der"),
        ("a constraint with a minimum", constraints("300aa0083006820161800100"), "der"),
        ("a constraint with a maximum", constraints("300aa0083006820161810101"), "der"),
        ("a constraint of an address without mask", constraints("300aa0083006870401020304"), "der"),
        ("a constraint with a mask with a hole", constraints("300ea00c300a87080a000000ff00ff00"), "der"),
        ("a constraint of an unknown form", constraints("3007a0053003890161"), "der"),
        ("permitted after excluded", constraints("300ea1053003820161a0053003820162"), "trailing"),
    ];
    assert!(cases.len() >= 100, "{}", cases.len());
    check(cases, Certificate::from_der);
    for len in 0..good.len() {
        assert!(Certificate::from_der(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn certificates_in_pem() {
    let cases = [
        ("no block", "", "pem"),
        ("another block", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "pem"),
        ("no end", "-----BEGIN CERTIFICATE-----\nAAAA\n", "pem"),
        ("a begin within a line", "x-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "pem"),
        ("an empty block", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "pem"),
        ("no base64", "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n", "pem"),
        ("no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "der"),
    ];
    let cases = cases.map(|(name, text, kind)| (name, text.as_bytes().to_vec(), kind)).to_vec();
    check(cases, |bytes| Certificate::all_from_pem(std::str::from_utf8(bytes).unwrap()));
    let many = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".repeat(1001);
    assert!(matches!(Certificate::all_from_pem(&many), Err(Error::Pem { problem: "too many blocks", .. })));
}

#[test]
fn requests() {
    let key = Parts::good().key;
    let tail = [unhex(ALGORITHM), tlv(3, &[&[0], &[7; 9]])].concat();
    let request = |parts: &[&[u8]]| tlv(0x30, &[&tlv(0x30, parts), &tail]);
    let (version, name) = (integer(&[0]), unhex(NAME));
    let asking = |values: &[u8]| {
        let oid = tlv(6, &[&unhex("2a864886f70d01090e")]);
        tlv(0x30, &[&oid, &tlv(0x31, &[values])])
    };
    let with = |attributes: &[u8]| request(&[&version, &name, &key, &tlv(0xa0, &[attributes])]);
    let usage = tlv(0x30, &[&extension("551d0f", "", &unhex("03020780"))]);
    let good = with(&asking(&usage));
    assert!(Csr::from_der(&good).unwrap().extensions().key_usage.is_some());
    assert!(Csr::from_der(&with(&[])).is_ok());
    check(
        vec![
            ("nothing", vec![], "der"),
            ("a byte after it", [good.clone(), vec![0]].concat(), "trailing"),
            ("a certificate", Parts::good().der(), "der"),
            ("version 2", request(&[&integer(&[1]), &name, &key, &[0xa0, 0]]), "der"),
            ("no version", request(&[&name, &key, &[0xa0, 0]]), "der"),
            ("no subject", request(&[&version, &key, &[0xa0, 0]]), "der"),
            ("no key", request(&[&version, &name, &[0xa0, 0]]), "der"),
            ("no attributes", request(&[&version, &name, &key]), "der"),
            ("attributes twice", request(&[&version, &name, &key, &[0xa0, 0, 0xa0, 0]]), "trailing"),
            ("attributes as SET", request(&[&version, &name, &key, &[0x31, 0]]), "der"),
            ("an attribute that is none", with(&[5, 0]), "der"),
            ("an attribute without values", with(&tlv(0x30, &[&tlv(6, &[&[0x2a]])])), "der"),
            ("an attribute twice", with(&asking(&usage).repeat(2)), "der"),
            ("extensions twice in one", with(&asking(&usage.repeat(2))), "trailing"),
            ("no extensions in the attribute", with(&asking(&[])), "der"),
            ("no extension in extensions", with(&asking(&[0x30, 0])), "der"),
            ("a bad extension", with(&asking(&tlv(0x30, &[&extension("551d0f", "", &[5, 0])]))), "der"),
            ("no signature", tlv(0x30, &[&good[4..good.len() - tail.len()]]), "der"),
        ],
        Csr::from_der,
    );
    for len in 0..good.len() {
        assert!(Csr::from_der(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn lists() {
    let (version, algorithm, name) = (integer(&[1]), unhex(ALGORITHM), unhex(NAME));
    let (this, next) = (utc("260101000000Z"), utc("260201000000Z"));
    let tail = [algorithm.clone(), tlv(3, &[&[0], &[7; 9]])].concat();
    let list = |parts: &[&[u8]]| tlv(0x30, &[&tlv(0x30, parts), &tail]);
    let entry = |serial: &[u8], more: &[u8]| tlv(0x30, &[&integer(serial), &this, more]);
    let of = |entries: &[u8]| list(&[&version, &algorithm, &name, &this, &next, &tlv(0x30, &[entries])]);
    let reason = |value: &[u8]| of(&entry(&[1], &tlv(0x30, &[&extension("551d15", "", value)])));
    let number = |value: &[u8]| {
        let extensions = tlv(0xa0, &[&tlv(0x30, &[&extension("551d14", "", value)])]);
        list(&[&version, &algorithm, &name, &this, &next, &extensions])
    };
    let good = of(&entry(&[1], &[]));
    assert_eq!(Crl::from_der(&good).unwrap().revoked().len(), 1);
    assert!(Crl::from_der(&list(&[&algorithm, &name, &this])).unwrap().next_update().is_none());
    assert!(Crl::from_der(&reason(&[0x0a, 1, 1])).is_ok());
    assert!(Crl::from_der(&number(&integer(&[5]))).is_ok());
    check(
        vec![
            ("nothing", vec![], "der"),
            ("17 MiB", vec![0x30; 17 << 20], "too large"),
            ("a byte after it", [good.clone(), vec![0]].concat(), "trailing"),
            ("a certificate", Parts::good().der(), "der"),
            ("version 1 written out", list(&[&integer(&[0]), &algorithm, &name, &this]), "der"),
            ("version 3", list(&[&integer(&[2]), &algorithm, &name, &this]), "der"),
            (
                "another algorithm inside",
                list(&[&version, &unhex("300b0609608648016503040312"), &name, &this]),
                "der",
            ),
            ("no issuer", list(&[&version, &algorithm, &this]), "der"),
            ("no time", list(&[&version, &algorithm, &name]), "der"),
            ("an empty list", of(&[]), "der"),
            ("an entry that is none", of(&[5, 0]), "der"),
            ("an entry without a date", of(&tlv(0x30, &[&integer(&[1])])), "der"),
            ("an entry twice", of(&entry(&[1], &[]).repeat(2)), "der"),
            ("a negative serial", of(&entry(&[0xff], &[])), "der"),
            ("a serial of 21 bytes", of(&entry(&[1; 21], &[])), "der"),
            ("no extension of an entry", of(&entry(&[1], &[0x30, 0])), "der"),
            ("reason 7", reason(&[0x0a, 1, 7]), "der"),
            ("reason 11", reason(&[0x0a, 1, 11]), "der"),
            ("a reason in two bytes", reason(&[0x0a, 2, 0, 1]), "der"),
            ("a reason as INTEGER", reason(&[2, 1, 1]), "der"),
            ("something behind a reason", reason(&[0x0a, 1, 1, 5, 0]), "trailing"),
            ("a negative number", number(&integer(&[0x80])), "der"),
            ("a number of 21 bytes", number(&integer(&[1; 21])), "der"),
            ("an empty number", number(&[2, 0]), "der"),
            (
                "extensions in version 1",
                list(&[
                    &algorithm,
                    &name,
                    &this,
                    &tlv(0xa0, &[&tlv(0x30, &[&extension("2a03", "", &[5, 0])])]),
                ]),
                "trailing",
            ),
            (
                "extensions of an entry in version 1",
                list(&[
                    &algorithm,
                    &name,
                    &this,
                    &tlv(0x30, &[&entry(&[1], &tlv(0x30, &[&extension("2a03", "", &[5, 0])]))]),
                ]),
                "trailing",
            ),
        ],
        Crl::from_der,
    );
    for len in 0..good.len() {
        assert!(Crl::from_der(&good[..len]).is_err(), "cut at {len}");
    }
}

#[test]
fn signature_algorithms() {
    use sealstone_pki::SignatureAlgorithm;
    let identifier = |parts: &str| tlv(0x30, &[&unhex(parts)]);
    let hash = |arc: &str| format!("300d0609608648016503040{arc}0500");
    let pss = |parameters: &[u8]| tlv(0x30, &[&unhex("06092a864886f70d01010a"), &tlv(0x30, &[parameters])]);
    let explicit = |tag: u8, value: &[u8]| tlv(tag, &[value]);
    let sha256 = unhex(&hash("201"));
    let mgf = |of: &str| tlv(0x30, &[&unhex("06092a864886f70d010108"), &unhex(&hash(of))]);
    let good = [explicit(0xa0, &sha256), explicit(0xa1, &mgf("201")), explicit(0xa2, &[2, 1, 32])].concat();
    let salted = |salt: &[u8]| {
        pss(&[explicit(0xa0, &sha256), explicit(0xa1, &mgf("201")), explicit(0xa2, salt)].concat())
    };
    assert!(SignatureAlgorithm::from_der(&pss(&good)).is_ok());
    check(
        vec![
            ("ML-DSA-44 with NULL", identifier("06096086480165030403110500"), "parameters"),
            ("ML-DSA-65 with an OCTET STRING", identifier("06096086480165030403120400"), "parameters"),
            ("ML-DSA-87 with NULL", identifier("06096086480165030403130500"), "parameters"),
            ("HashML-DSA-44", identifier("0609608648016503040320"), "refused by name"),
            ("HashML-DSA-65", identifier("0609608648016503040321"), "refused by name"),
            ("HashML-DSA-87", identifier("0609608648016503040322"), "refused by name"),
            ("ecdsa-with-SHA1", identifier("06072a8648ce3d0401"), "refused by name"),
            ("ecdsa-with-SHA224", identifier("06082a8648ce3d040301"), "refused by name"),
            ("ecdsa-with-SHA256 with NULL", identifier("06082a8648ce3d0403020500"), "parameters"),
            ("md5WithRSAEncryption", identifier("06092a864886f70d0101040500"), "refused by name"),
            ("sha1WithRSAEncryption", identifier("06092a864886f70d0101050500"), "refused by name"),
            (
                "sha256WithRSAEncryption with a SEQUENCE",
                identifier("06092a864886f70d01010b3000"),
                "parameters",
            ),
            (
                "sha256WithRSAEncryption with two NULLs",
                identifier("06092a864886f70d01010b05000500"),
                "parameters",
            ),
            ("Ed25519 with NULL", identifier("06032b65700500"), "parameters"),
            ("Ed448", identifier("06032b6571"), "refused by name"),
            ("SLH-DSA-SHA2-128s", identifier("0609608648016503040314"), "algorithm"),
            ("a composite with brainpoolP256r1", identifier("06082b0601050507062f"), "refused by name"),
            ("a composite with brainpoolP384r1", identifier("06082b06010505070632"), "refused by name"),
            ("a composite with NULL", identifier("06082b060105050706300500"), "parameters"),
            ("Dilithium3 of round 3", identifier("060b2b0601040102820b070605"), "refused by name"),
            ("PSS without parameters", tlv(0x30, &[&unhex("06092a864886f70d01010a")]), "parameters"),
            ("PSS with defaults, which are SHA-1", pss(&[]), "parameters"),
            (
                "PSS with SHA-1 in MGF1",
                pss(&[explicit(0xa0, &sha256), explicit(0xa2, &[2, 1, 32])].concat()),
                "parameters",
            ),
            (
                "PSS with two hashes",
                pss(&[explicit(0xa0, &sha256), explicit(0xa1, &mgf("202")), explicit(0xa2, &[2, 1, 32])]
                    .concat()),
                "parameters",
            ),
            ("PSS with the default salt written out", salted(&[2, 1, 20]), "parameters"),
            ("PSS with a salt of -1", salted(&[2, 1, 0xff]), "parameters"),
            ("PSS with a salt of -2", salted(&[2, 1, 0xfe]), "parameters"),
            ("PSS with a salt of no bytes in its length", salted(&[2, 0]), "parameters"),
            ("PSS with a salt of 127 in two bytes", salted(&[2, 2, 0, 127]), "parameters"),
            ("PSS with a salt of 991, which fits no key", salted(&[2, 2, 0x03, 0xdf]), "parameters"),
            ("PSS with a salt of 2^16 + 32", salted(&[2, 3, 1, 0, 32]), "parameters"),
            ("PSS with two salts", salted(&[2, 1, 32, 2, 1, 32]), "trailing"),
            (
                "PSS without MGF1",
                pss(&[explicit(0xa0, &sha256), explicit(0xa2, &[2, 1, 32])].concat()),
                "parameters",
            ),
            ("PSS with a trailer", pss(&[good.clone(), explicit(0xa3, &[2, 1, 1])].concat()), "parameters"),
        ],
        SignatureAlgorithm::from_der,
    );
}
