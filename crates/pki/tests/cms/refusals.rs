//! Signed messages that must not pass, each changed in one respect from one that does. Where the change is one that
//! only the signer could make, it is signed anew.

use sealstone_mldsa::Level;
use sealstone_pki::KeyAlgorithm;
use sealstone_pki::cms::{Error, Policy, Signer, Signing, Trust, Unverified};
use sealstone_pki::sign::{Signer as _, SigningKey};
use sealstone_pki::x509::Certificate;

use super::support::{Node, Said, certificate, certificate_of, key, ml_dsa, oid, seq, tlv};

const CONTENT: &[u8] = b"the harbour at nine";
const INFO: [usize; 4] = [1, 0, 4, 0];
const SHA512: &str = "2.16.840.1.101.3.4.2.3";

/// A message, its signer, and what is changed.
struct Case {
    key: SigningKey,
    certificate: Certificate,
    tree: Node,
}

impl Case {
    fn new() -> Self {
        Self::by(ml_dsa(Level::MlDsa65), true)
    }

    fn by(key: SigningKey, attributes: bool) -> Self {
        let certificate = certificate(&key);
        let signer = Signer::new(&certificate, &key).unwrap();
        let signer = if attributes { signer } else { signer.without_attributes().unwrap() };
        let tree = Node::parse(&Signing::new(signer.signing_time(1_790_000_000)).attached(CONTENT).unwrap());
        Self { key, certificate, tree }
    }

    fn info(&mut self, index: usize) -> &mut Node {
        self.tree.at(&INFO).at(&[index])
    }

    /// Other signed attributes, in this order, and a good signature over them.
    fn sign(&mut self, attributes: &[Vec<u8>]) {
        let whole = attributes.concat();
        let signature = self.key.sign(&tlv(0x31, &whole)).unwrap();
        *self.info(3) = Node::parse(&tlv(0xa0, &whole));
        *self.info(5).content() = signature;
    }

    fn attributes(&mut self) -> Vec<Vec<u8>> {
        self.info(3).children().iter().map(Node::bytes).collect()
    }

    /// The attribute with this object identifier, in another form.
    fn with(&mut self, name: &str, other: Option<Vec<u8>>) {
        let name = oid(name);
        let mut attributes = self.attributes();
        attributes.retain(|attribute| !attribute.windows(name.len()).any(|window| window == name));
        attributes.extend(other);
        attributes.sort();
        self.sign(&attributes);
    }

    fn result(&self) -> Result<(), Error> {
        let trusted = [self.certificate.clone()];
        let read = Unverified::from_der(&self.tree.bytes())?;
        read.verify(Trust::Certificates(&trusted), Policy::All).map(drop)
    }
}

fn attribute(name: &str, values: &[Vec<u8>]) -> Vec<u8> {
    seq(&[&oid(name), &tlv(0x31, &values.concat())])
}

const CONTENT_TYPE: &str = "1.2.840.113549.1.9.3";
const MESSAGE_DIGEST: &str = "1.2.840.113549.1.9.4";
const SIGNING_TIME: &str = "1.2.840.113549.1.9.5";
const PROTECTION: &str = "1.2.840.113549.1.9.52";
const DATA: &str = "1.2.840.113549.1.7.1";

fn protection(digest: &str, signature: &str) -> Vec<u8> {
    seq(&[&seq(&[&oid(digest)]), &tlv(0xa1, &oid(signature))])
}

/// Signing anew works, so that what is refused below is refused for its own sake.
#[test]
fn signed_anew_it_passes() {
    let mut case = Case::new();
    let attributes = case.attributes();
    case.sign(&attributes);
    case.result().unwrap();
    case.with(PROTECTION, None);
    case.result().unwrap();
    case.with(SIGNING_TIME, None);
    case.result().unwrap();
    case.with("1.2.840.113549.1.9.15", Some(attribute("1.2.840.113549.1.9.15", &[seq(&[])])));
    case.result().unwrap();
}

#[test]
fn attributes() {
    let signature = "2.16.840.1.101.3.4.3.18";
    let digest = |case: &mut Case| {
        let at = case
            .attributes()
            .iter()
            .position(|one| one.windows(11).any(|w| w == oid(MESSAGE_DIGEST)))
            .unwrap();
        case.info(3).at(&[at, 1, 0]).content().clone()
    };
    type Change = Box<dyn Fn(&mut Case)>;
    let with = |name: &'static str, value: Option<Vec<u8>>| -> Change {
        Box::new(move |case| case.with(name, value.clone()))
    };
    let cases: Vec<(&str, Change, &str)> = vec![
        ("content-type missing", with(CONTENT_TYPE, None), "the signed attribute content-type is missing"),
        (
            "message-digest missing",
            with(MESSAGE_DIGEST, None),
            "the signed attribute message-digest is missing",
        ),
        (
            "content-type of another type",
            with(CONTENT_TYPE, Some(attribute(CONTENT_TYPE, &[oid("1.2.3.4")]))),
            "the content type is 1.2.840.113549.1.7.1, and 1.2.3.4 was signed",
        ),
        (
            "content-type twice in one",
            with(CONTENT_TYPE, Some(attribute(CONTENT_TYPE, &[oid(DATA), oid(DATA)]))),
            "the signed attribute content-type: expected one value, found more",
        ),
        (
            "content-type without value",
            with(CONTENT_TYPE, Some(attribute(CONTENT_TYPE, &[]))),
            "found the end",
        ),
        (
            "content-type as a string",
            with(CONTENT_TYPE, Some(attribute(CONTENT_TYPE, &[tlv(0x0c, b"data")]))),
            "expected an OBJECT IDENTIFIER",
        ),
        (
            "message-digest of other content",
            with(MESSAGE_DIGEST, Some(attribute(MESSAGE_DIGEST, &[tlv(0x04, &[0; 64])]))),
            "the content is not what was signed",
        ),
        (
            "message-digest cut",
            Box::new(move |case| {
                let value = tlv(0x04, &digest(case)[..32]);
                case.with(MESSAGE_DIGEST, Some(attribute(MESSAGE_DIGEST, &[value])));
            }),
            "the content is not what was signed",
        ),
        (
            "message-digest empty",
            with(MESSAGE_DIGEST, Some(attribute(MESSAGE_DIGEST, &[tlv(0x04, &[])]))),
            "the signed attribute message-digest is missing",
        ),
        (
            "message-digest twice in one",
            Box::new(move |case| {
                let value = tlv(0x04, &digest(case));
                case.with(MESSAGE_DIGEST, Some(attribute(MESSAGE_DIGEST, &[value.clone(), value])));
            }),
            "the signed attribute message-digest: expected one value, found more",
        ),
        (
            "signing-time twice in one",
            with(
                SIGNING_TIME,
                Some(attribute(SIGNING_TIME, &[tlv(0x17, b"260101000000Z"), tlv(0x17, b"260101000001Z")])),
            ),
            "the signed attribute signing-time: expected one value, found more",
        ),
        (
            "signing-time is no time",
            with(SIGNING_TIME, Some(attribute(SIGNING_TIME, &[tlv(0x17, b"261301000000Z")]))),
            "expected a time as",
        ),
        (
            "signing-time without seconds",
            with(SIGNING_TIME, Some(attribute(SIGNING_TIME, &[tlv(0x17, b"2601010000Z")]))),
            "expected a time as",
        ),
        (
            "protection of another digest",
            with(PROTECTION, Some(attribute(PROTECTION, &[protection("2.16.840.1.101.3.4.2.2", signature)]))),
            "the digest algorithm is not the one that was signed",
        ),
        (
            "protection of another signature",
            with(PROTECTION, Some(attribute(PROTECTION, &[protection(SHA512, "2.16.840.1.101.3.4.3.17")]))),
            "the signature algorithm is not the one that was signed",
        ),
        (
            "protection of a MAC",
            with(
                PROTECTION,
                Some(attribute(PROTECTION, &[seq(&[&seq(&[&oid(SHA512)]), &tlv(0xa2, &oid(signature))])])),
            ),
            "expected the signature algorithm in [1]",
        ),
        (
            "protection of nothing",
            with(PROTECTION, Some(attribute(PROTECTION, &[seq(&[&seq(&[&oid(SHA512)])])]))),
            "expected the signature algorithm in [1]",
        ),
        (
            "protection twice in one",
            with(
                PROTECTION,
                Some(attribute(PROTECTION, &[protection(SHA512, signature), protection(SHA512, signature)])),
            ),
            "the signed attribute CMSAlgorithmProtection: expected one value",
        ),
        (
            "attributes in another order",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.reverse();
                case.sign(&attributes);
            }),
            "the signed attributes are not in the order of DER",
        ),
        (
            "an attribute twice, the same",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.push(attributes[0].clone());
                attributes.sort();
                case.sign(&attributes);
            }),
            "the signed attributes are not in the order of DER",
        ),
        (
            "an attribute twice, with two values",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.push(attribute(SIGNING_TIME, &[tlv(0x17, b"260101000000Z")]));
                attributes.sort();
                case.sign(&attributes);
            }),
            "the signed attribute signing-time stands twice",
        ),
        (
            "an unknown attribute twice",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.extend([attribute("1.2.3", &[oid("1.2.3")]), attribute("1.2.3", &[oid("1.2.4")])]);
                attributes.sort();
                case.sign(&attributes);
            }),
            "the signed attribute 1.2.3 stands twice",
        ),
        (
            "too many attributes",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.extend((0..125).map(|arc| attribute(&format!("1.2.{arc}"), &[])));
                attributes.sort();
                case.sign(&attributes);
            }),
            "signed attributes: expected at most 128, found 129",
        ),
        (
            "no attribute at all",
            Box::new(|case| case.sign(&[])),
            "the signed attribute content-type is missing",
        ),
        (
            "an attribute with a third part",
            Box::new(|case| {
                let mut attributes = case.attributes();
                attributes.push(seq(&[&oid("1.2.3"), &tlv(0x31, &[]), &tlv(0x05, &[])]));
                attributes.sort();
                case.sign(&attributes);
            }),
            "bytes too many",
        ),
        (
            "the signature is over the 0xa0 form",
            Box::new(|case| {
                let form = case.info(3).bytes();
                *case.info(5).content() = case.key.sign(&form).unwrap();
            }),
            "the signature does not verify",
        ),
        (
            "the signature is over the content",
            Box::new(|case| {
                *case.info(5).content() = case.key.sign(CONTENT).unwrap();
            }),
            "the signature does not verify",
        ),
        (
            "the attributes were taken away",
            Box::new(|case| {
                case.tree.at(&INFO).children().remove(3);
            }),
            "the signature does not verify",
        ),
        (
            "a signed attribute was added",
            Box::new(|case| {
                case.info(3)
                    .children()
                    .push(Node::parse(&attribute("1.2.840.113549.1.9.16.2.47", &[tlv(0x04, &[0xff; 200])])));
            }),
            "the signature does not verify",
        ),
    ];
    for (name, change, expected) in cases {
        let mut case = Case::new();
        change(&mut case);
        let refused = case.result().unwrap_err().to_string();
        assert!(refused.contains(expected), "{name}: {refused}");
    }
}

/// Content that is signed as it is must not pass for signed attributes, nor the other way round: RFC 5652 §5.3 and the
/// attack of Strenzke (2023).
#[test]
fn attributes_are_not_content() {
    let mut case = Case::new();
    let set = tlv(0x31, &case.attributes().concat());
    *case.tree.at(&[1, 0, 2, 1, 0]).content() = set;
    case.tree.at(&INFO).children().remove(3);
    // Without attributes, what was signed is the SET OF, and here it is the content: the signature is good. Nothing but
    // what the content looks like tells that it was meant otherwise.
    assert_eq!(case.result(), Err(Error::AttributesAsContent));
    // Content that only begins like attributes is content.
    let key = ml_dsa(Level::MlDsa65);
    let certificate = certificate(&key);
    let signer = Signer::new(&certificate, &key).unwrap().without_attributes().unwrap();
    for content in [&b"1\x00"[..], b"1", &[0x31; 70_000], &tlv(0x31, &seq(&[]))] {
        let message = Signing::new(signer.clone()).attached(content).unwrap();
        let trusted = [certificate.clone()];
        Unverified::from_der(&message).unwrap().verify(Trust::Certificates(&trusted), Policy::All).unwrap();
    }
    // As the content of another type it does not pass.
    *case.tree.at(&[1, 0, 2, 0]) = Node::parse(&oid("1.2.840.113549.1.9.16.1.4"));
    assert!(matches!(case.result(), Err(Error::AttributesRequired { .. })));
}

#[test]
fn structure() {
    type Change = fn(&mut Case);
    let cases: [(&str, Change, &str); 48] = [
        (
            "another kind",
            |case| *case.tree.at(&[0]) = Node::parse(&oid(DATA)),
            "expected a signed or encrypted message",
        ),
        (
            "an encrypted kind",
            |case| *case.tree.at(&[0]) = Node::parse(&oid("1.2.840.113549.1.7.3")),
            "expected",
        ),
        ("ContentInfo with more", |case| case.tree.children().push(Node::parse(&[5, 0])), "bytes too many"),
        ("two contents", |case| case.tree.at(&[1]).children().push(Node::parse(&[5, 0])), "bytes too many"),
        (
            "SignedData with more",
            |case| case.tree.at(&[1, 0]).children().push(Node::parse(&[5, 0])),
            "bytes too many",
        ),
        ("version 0", |case| *case.tree.at(&[1, 0, 0]).content() = vec![0], "expected version 1, 3, 4 or 5"),
        ("version 2", |case| *case.tree.at(&[1, 0, 0]).content() = vec![2], "expected version 1, 3, 4 or 5"),
        ("version 6", |case| *case.tree.at(&[1, 0, 0]).content() = vec![6], "expected version 1, 3, 4 or 5"),
        (
            "a long version",
            |case| *case.tree.at(&[1, 0, 0]).content() = vec![0, 1],
            "expected version 1, 3, 4 or 5",
        ),
        ("digests are no set", |case| *case.tree.at(&[1, 0, 1]) = Node::parse(&seq(&[])), "expected a SET"),
        (
            "a digest is no sequence",
            |case| *case.tree.at(&[1, 0, 1, 0]) = Node::parse(&[5, 0]),
            "expected a SEQUENCE",
        ),
        (
            "content is no string",
            |case| *case.tree.at(&[1, 0, 2, 1, 0]) = Node::parse(&seq(&[])),
            "expected an OCTET STRING",
        ),
        (
            "two strings of content",
            |case| case.tree.at(&[1, 0, 2, 1]).children().push(Node::parse(&[4, 0])),
            "bytes too many",
        ),
        (
            "content with more",
            |case| case.tree.at(&[1, 0, 2]).children().push(Node::parse(&[5, 0])),
            "bytes too many",
        ),
        (
            "no content",
            |case| drop(case.tree.at(&[1, 0, 2]).children().pop()),
            "the content is not in the message",
        ),
        ("no signer", |case| case.tree.at(&[1, 0, 4]).children().clear(), "expected one signer at least"),
        (
            "33 signers",
            |case| {
                let info = case.tree.at(&INFO).clone();
                *case.tree.at(&[1, 0, 4]).children() = vec![info; 33];
            },
            "signers: expected at most 32, found 33",
        ),
        (
            "101 certificates",
            |case| {
                let certificate = case.tree.at(&[1, 0, 3, 0]).clone();
                *case.tree.at(&[1, 0, 3]).children() = vec![certificate; 101];
            },
            "certificates: expected at most 100, found 101",
        ),
        (
            "101 revocation lists",
            |case| {
                let lists = Node::parse(&tlv(0xa1, &seq(&[]).repeat(101)));
                case.tree.at(&[1, 0]).children().insert(4, lists);
            },
            "revocation lists: expected at most 100, found 101",
        ),
        (
            "the signers are no set",
            |case| {
                let infos = case.tree.at(&[1, 0, 4]).children().clone();
                *case.tree.at(&[1, 0, 4]) = Node::Constructed(0x30, infos);
            },
            "expected a SET",
        ),
        ("a signer of version 0", |case| *case.info(0).content() = vec![0], "expected version 1 or 3"),
        ("a signer of version 2", |case| *case.info(0).content() = vec![2], "expected version 1 or 3"),
        (
            "version 3 with a serial number",
            |case| *case.info(0).content() = vec![3],
            "expected version 1 with an issuer",
        ),
        (
            "version 1 with a key identifier",
            |case| *case.info(1) = Node::parse(&tlv(0x80, &[7; 20])),
            "expected version 1 with an issuer",
        ),
        ("a signer without a name", |case| drop(case.tree.at(&INFO).children().remove(1)), "expected"),
        (
            "a signer of another kind",
            |case| *case.info(1) = Node::parse(&tlv(0x81, &[7; 20])),
            "expected a SEQUENCE",
        ),
        (
            "another serial number",
            |case| *case.info(1).at(&[1]).content() = vec![9],
            "the signer is not trusted: serial number 09",
        ),
        (
            "another issuer",
            |case| *case.info(1).at(&[0, 0, 0, 1]).content() = b"someone".to_vec(),
            "the signer is not trusted",
        ),
        (
            "a long serial number",
            |case| case.info(1).at(&[1]).content().resize(65, 1),
            "at most 64, found 65",
        ),
        (
            "a long key identifier",
            |case| {
                *case.info(0).content() = vec![3];
                *case.info(1) = Node::parse(&tlv(0x80, &[7; 65]));
            },
            "at most 64, found 65",
        ),
        (
            "an unknown key identifier",
            |case| {
                *case.info(0).content() = vec![3];
                *case.info(1) = Node::parse(&tlv(0x80, &[7; 20]));
            },
            "the signer is not trusted: key identifier 0707",
        ),
        (
            "an unknown digest",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("1.2.3.4")),
            "unknown or weak digest 1.2.3.4",
        ),
        (
            "MD5",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("1.2.840.113549.2.5")),
            "unknown or weak digest 1.2.840.113549.2.5",
        ),
        (
            "SHA-1",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("1.3.14.3.2.26")),
            "unknown or weak digest 1.3.14.3.2.26",
        ),
        (
            "SHA-224",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.2.4")),
            "unknown or weak digest",
        ),
        (
            "a digest too weak for the level",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.2.1")),
            "SHA-256 is too weak beside ML-DSA-65",
        ),
        (
            "SHAKE128 beside level 65",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.2.11")),
            "SHAKE128 is too weak",
        ),
        (
            "a digest with parameters",
            |case| case.info(2).children().push(Node::parse(&seq(&[]))),
            "bytes too many",
        ),
        (
            "another digest, strong enough",
            |case| *case.info(2).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.2.12")),
            "the digest algorithm is not the one that was signed",
        ),
        (
            "HashML-DSA",
            |case| *case.info(4).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.3.33")),
            "HashML-DSA-65 with SHA-512",
        ),
        (
            "an unknown signature",
            |case| *case.info(4).at(&[0]) = Node::parse(&oid("1.2.3.4")),
            "unknown key algorithm or curve 1.2.3.4",
        ),
        (
            "the signature of another level",
            |case| *case.info(4).at(&[0]) = Node::parse(&oid("2.16.840.1.101.3.4.3.17")),
            "the signature algorithm is not the one that was signed",
        ),
        (
            "the signature of another kind",
            |case| *case.info(4).at(&[0]) = Node::parse(&oid("1.3.101.112")),
            "the signature algorithm is not the one that was signed",
        ),
        (
            "a signature with NULL",
            |case| case.info(4).children().push(Node::parse(&[5, 0])),
            "expected none, found NULL",
        ),
        (
            "a composite signature",
            |case| *case.info(4).at(&[0]) = Node::parse(&oid("1.3.6.1.5.5.7.6.48")),
            "expected ML-DSA, ECDSA, Ed25519 or RSA",
        ),
        ("a short signature", |case| case.info(5).content().truncate(3308), "the signature does not verify"),
        ("a long signature", |case| case.info(5).content().push(0), "the signature does not verify"),
        ("an empty signature", |case| case.info(5).content().clear(), "the signature does not verify"),
    ];
    for (name, change, expected) in cases {
        let mut case = Case::new();
        change(&mut case);
        let refused = case.result().unwrap_err().to_string();
        assert!(refused.contains(expected), "{name}: {refused}");
    }
}

/// Whose certificate it is, where a chain is asked for and the certificates are those of the message.
#[test]
fn certificates() {
    let good = |_: &Certificate, _: &[Certificate]| Ok(());
    let by_chain =
        |tree: &Node| Unverified::from_der(&tree.bytes())?.verify(Trust::Chain(&good), Policy::All).map(drop);
    let key = ml_dsa(Level::MlDsa65);
    let named = Said { serial: 9, ..Said::default() };
    let (first, second) = (certificate(&key), certificate_of(key.spki(), &named, &key));
    let signer = Signer::new(&first, &key).unwrap().by_key_id();
    let message = |others: &[&Certificate], own: bool| {
        let signing =
            others.iter().fold(Signing::new(signer.clone()), |signing, other| signing.certificate(other));
        let signing = if own { signing } else { signing.without_certificates() };
        Node::parse(&signing.attached(CONTENT).unwrap())
    };
    by_chain(&message(&[], true)).unwrap();
    by_chain(&message(&[&first], true)).unwrap();
    assert!(matches!(by_chain(&message(&[], false)), Err(Error::CertificateMissing { .. })));
    // Two certificates of one key identifier.
    assert!(matches!(by_chain(&message(&[&second], true)), Err(Error::CertificateAmbiguous { .. })));
    let both = [first.clone(), second.clone()];
    let trusted = Unverified::from_der(&message(&[], true).bytes())
        .unwrap()
        .verify(Trust::Certificates(&both), Policy::All);
    assert!(matches!(trusted, Err(Error::CertificateAmbiguous { .. })));
    // Someone else's certificate with the same identifier in place of the signer's.
    let other = key_of(KeyAlgorithm::MlDsa(Level::MlDsa65), 8);
    let false_one = certificate(&other);
    assert!(matches!(by_chain(&message(&[&false_one], false)), Err(Error::BadSignature)));
    // A certificate that is not for signatures, and one whose key is of another kind.
    for usage in [&[2, 0x04][..], &[5, 0x20], &[1, 0x02]] {
        let certificate = certificate_of(key.spki(), &Said { usage: Some(usage), ..Said::default() }, &key);
        assert!(matches!(by_chain(&message(&[&certificate], false)), Err(Error::KeyUsage { .. })));
        assert!(matches!(Signer::new(&certificate, &key), Err(Error::KeyUsage { .. })));
    }
    let ec = certificate(&key_of(KeyAlgorithm::EcP256, 8));
    assert!(matches!(by_chain(&message(&[&ec], false)), Err(Error::BadSignature)));
    assert!(matches!(Signer::new(&ec, &key), Err(Error::CertificateMismatch)));
    // What cannot be read as a certificate is passed over, and then missing.
    let mut unreadable = message(&[], true);
    unreadable.at(&[1, 0, 3, 0]).children().pop();
    assert!(matches!(by_chain(&unreadable), Err(Error::CertificateMissing { .. })));
    let mut other_form = message(&[], true);
    let children = other_form.at(&[1, 0, 3]).children();
    *children = vec![Node::Constructed(0xa3, std::mem::take(children))];
    assert!(matches!(by_chain(&other_form), Err(Error::CertificateMissing { .. })));
}

fn key_of(algorithm: KeyAlgorithm, byte: u8) -> SigningKey {
    key(algorithm, byte)
}

/// Without signed attributes, and with the algorithms of before.
#[test]
fn other_algorithms() {
    for algorithm in KeyAlgorithm::ALL {
        for attributes in [true, false] {
            let mut case = Case::by(key(algorithm, 5), attributes);
            case.result().unwrap();
            case.tree.at(&[1, 0, 2, 1, 0]).content()[3] ^= 1;
            let refused = case.result().unwrap_err();
            let expected = if attributes { Error::ContentMismatch } else { Error::BadSignature };
            assert_eq!(refused, expected, "{algorithm}");
            case.tree.at(&[1, 0, 2, 1, 0]).content()[3] ^= 1;
            case.result().unwrap();
            let last = if attributes { 5 } else { 4 };
            let signature = case.info(last).content();
            let middle = signature.len() / 2;
            signature[middle] ^= 1;
            assert_eq!(case.result().unwrap_err(), Error::BadSignature, "{algorithm}");
        }
    }
    // RFC 5754 §3, RFC 8419 §3.1: the digest is that of the signature.
    for (algorithm, digest) in [
        (KeyAlgorithm::EcP256, SHA512),
        (KeyAlgorithm::EcP384, SHA512),
        (KeyAlgorithm::Ed25519, "2.16.840.1.101.3.4.2.1"),
    ] {
        let mut case = Case::by(key(algorithm, 5), true);
        *case.info(2).at(&[0]) = Node::parse(&oid(digest));
        assert!(matches!(case.result(), Err(Error::DigestMismatch { .. })), "{algorithm}");
    }
    // rsaEncryption with SHA-3, and an ECDSA signature with SHA-1.
    let mut case = Case::by(key(KeyAlgorithm::EcP256, 5), true);
    *case.info(4) = Node::parse(&seq(&[&oid("1.2.840.113549.1.1.1"), &[5, 0]]));
    *case.info(2) = Node::parse(&seq(&[&oid("2.16.840.1.101.3.4.2.10")]));
    assert!(matches!(case.result(), Err(Error::DigestMismatch { signature: "rsaEncryption", .. })));
    *case.info(4) = Node::parse(&seq(&[&oid("1.2.840.10045.4.1")]));
    assert!(matches!(case.result(), Err(Error::Encoding(_))));
}

#[test]
fn detached_and_attached_are_not_mixed_up() {
    let case = Case::new();
    let trusted = [case.certificate.clone()];
    let read = || Unverified::from_der(&case.tree.bytes()).unwrap();
    assert!(matches!(read().over(Trust::Certificates(&trusted), Policy::All), Err(Error::ContentPresent)));
    // An empty content is content.
    let signer = Signer::new(&case.certificate, &case.key).unwrap();
    let empty = Signing::new(signer.clone()).attached(b"").unwrap();
    let verified =
        Unverified::from_der(&empty).unwrap().verify(Trust::Certificates(&trusted), Policy::All).unwrap();
    assert_eq!(verified.content(), Some(&b""[..]));
    let detached = Signing::new(signer).detached().unwrap().finish().unwrap();
    let check =
        Unverified::from_der(&detached).unwrap().over(Trust::Certificates(&trusted), Policy::All).unwrap();
    assert!(check.finish().is_ok());
    // Nothing of an unverified message shows its content.
    assert!(!format!("{:?}", read()).contains("harbour"));
}
