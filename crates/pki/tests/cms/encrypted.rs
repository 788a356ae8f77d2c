//! Encrypted messages: the example of RFC 9936, what is written read again, and what is refused.

use aws_lc_rs::kem;
use sealstone_mldsa::OsRandom;
use sealstone_pki::cms::{Accept, Cipher, Encrypted, Error, Identifier, Recipient, RecipientInfo, encrypt};
use sealstone_pki::ml_kem::{DecapsulationKey, MlKem};

use super::support::{Node, Said, certificate_of, ml_dsa, tlv};
use crate::{data, unhex};

const CONTENT: &[u8] = b"the harbour at nine";

fn recipient(set: MlKem) -> DecapsulationKey {
    DecapsulationKey::from_seed(set, &std::array::from_fn(|index| index as u8))
}

fn sealed(key: &DecapsulationKey, cipher: Cipher) -> Vec<u8> {
    encrypt(CONTENT, &[Recipient::key(&key.encapsulation_key()).unwrap()], cipher, &mut OsRandom).unwrap()
}

fn opened(message: &[u8], key: &DecapsulationKey) -> Result<Vec<u8>, Error> {
    let encrypted = Encrypted::from_der(message)?;
    Ok(encrypted.decrypt(key, None, Accept::Unauthenticated)?.content().to_vec())
}

/// RFC 9936, Appendix C: ML-KEM-512, AES-128 key wrap, AES-128-GCM. That it opens proves the secret, the derivation, the
/// wrap and the order of everything.
#[test]
fn rfc9936_example() {
    let key = DecapsulationKey::from_pem(&data("rfc9936/ML-KEM-512.priv")).unwrap();
    let message = Encrypted::from_pem(&data("rfc9936/ML-KEM-512.cms")).unwrap();
    assert_eq!(message.cipher(), Cipher::Aes128Gcm);
    let [RecipientInfo::Kem(recipient)] = message.recipients() else { panic!("one recipient") };
    let id = unhex("599788C37AED400EE405D1B2A3366AB17D824A51");
    assert_eq!(recipient.identifier(), &Identifier::KeyId(id.clone()));
    let opened = message.decrypt(&key, None, Accept::Authenticated).unwrap();
    assert_eq!(opened.content(), b"Hello, world!");
    assert!(opened.is_authenticated());

    // What is deterministic comes out the same: the algorithms, the order. (The key is named otherwise: by SHA-1 there.)
    let own = encrypt(
        b"Hello, world!",
        &[Recipient::key(&key.encapsulation_key()).unwrap()],
        Cipher::Aes256Gcm,
        &mut OsRandom,
    );
    let mut own = Node::parse(&own.unwrap());
    assert_eq!(own.at(&[1, 0, 1, 0, 1, 1]).content().len(), id.len());
    let mut theirs = Node::parse(&crate::unpem(&data("rfc9936/ML-KEM-512.cms")));
    assert_eq!(own.at(&[0]), theirs.at(&[0]));
    for path in [
        &[0][..],
        &[1, 0, 0],
        &[1, 0, 1, 0],
        &[1, 0, 1, 2],
        &[1, 0, 1, 4],
        &[1, 0, 1, 5],
        &[1, 0, 1, 6],
        &[2, 0],
        &[2, 1, 1, 1],
    ] {
        let path = [&[1, 0][..], path].concat();
        assert_eq!(own.at(&path), theirs.at(&path), "{path:?}");
    }
}

#[test]
fn every_key_and_cipher() {
    for set in MlKem::ALL {
        let key = recipient(set);
        for cipher in [Cipher::Aes256Gcm, Cipher::Aes256Cbc] {
            for len in [0, 1, 15, 16, 17, 1000, 70_000] {
                let content = vec![0x5a; len];
                let to = Recipient::key(&key.encapsulation_key()).unwrap();
                let message = encrypt(&content, &[to], cipher, &mut OsRandom).unwrap();
                assert_eq!(opened(&message, &key).unwrap(), content, "{set} {cipher:?} {len}");
                for size in [1000, 4096] {
                    assert_eq!(opened(&Node::parse(&message).streamed(size), &key).unwrap(), content);
                }
            }
        }
    }
}

#[test]
fn several_recipients_each_open_it() {
    let keys = MlKem::ALL.map(recipient);
    let to = keys.each_ref().map(|key| Recipient::key(&key.encapsulation_key()).unwrap());
    let message = encrypt(CONTENT, &to, Cipher::Aes256Gcm, &mut OsRandom).unwrap();
    for key in &keys {
        assert_eq!(opened(&message, key).unwrap(), CONTENT);
    }
    let stranger = DecapsulationKey::from_seed(MlKem::MlKem768, &[1; 64]);
    assert_eq!(opened(&message, &stranger), Err(Error::Decryption));
    let only = encrypt(CONTENT, &to[..1], Cipher::Aes256Gcm, &mut OsRandom).unwrap();
    assert_eq!(opened(&only, &stranger), Err(Error::NoRecipient), "a key of another parameter set");
    assert!(matches!(encrypt(CONTENT, &[], Cipher::Aes256Gcm, &mut OsRandom), Err(Error::None { .. })));
    let many = vec![to[0].clone(); 257];
    assert!(matches!(encrypt(CONTENT, &many, Cipher::Aes256Gcm, &mut OsRandom), Err(Error::TooLarge { .. })));
    let weak = encrypt(CONTENT, &to, Cipher::Aes128Gcm, &mut OsRandom);
    assert!(matches!(weak, Err(Error::Unsupported { .. })));
}

#[test]
fn certificates_name_the_recipient() {
    let (key, issuer) = (recipient(MlKem::MlKem768), ml_dsa(sealstone_mldsa::Level::MlDsa44));
    let spki = key.encapsulation_key().to_der();
    let encipherment: &[u8] = &[5, 0x20];
    let named = Said { key_id: Some(b"bob's key"), usage: Some(encipherment), ..Said::default() };
    let certificate = certificate_of(&spki, &named, &issuer);
    let nameless = certificate_of(&spki, &Said { key_id: None, serial: 77, ..named }, &issuer);
    for (to, other) in [(&certificate, &nameless), (&nameless, &certificate)] {
        let message =
            encrypt(CONTENT, &[Recipient::certificate(to).unwrap()], Cipher::Aes256Gcm, &mut OsRandom);
        let message = Encrypted::from_der(&message.unwrap()).unwrap();
        assert_eq!(message.decrypt(&key, Some(to), Accept::Authenticated).unwrap().content(), CONTENT);
        let wrong = message.decrypt(&key, Some(other), Accept::Authenticated);
        assert!(matches!(wrong, Err(Error::NoRecipient)));
    }
    // RFC 9935 §5: keyEncipherment and nothing else, where keyUsage is there.
    for usage in [&[7, 0x80][..], &[5, 0xa0], &[3, 0x28]] {
        let certificate = certificate_of(&spki, &Said { usage: Some(usage), ..Said::default() }, &issuer);
        assert!(matches!(Recipient::certificate(&certificate), Err(Error::KeyUsage { .. })), "{usage:?}");
    }
    let free = certificate_of(&spki, &Said { usage: None, ..Said::default() }, &issuer);
    assert!(Recipient::certificate(&free).is_ok());
    let signer = super::support::certificate(&issuer);
    assert!(matches!(Recipient::certificate(&signer), Err(Error::Encoding(_))));
}

/// Whoever changes a message in GCM learns nothing but that it does not open, and from CBC nothing without being allowed.
#[test]
fn nothing_that_was_changed_opens() {
    let key = recipient(MlKem::MlKem768);
    let message = sealed(&key, Cipher::Aes256Gcm);
    let mut tree = Node::parse(&message);
    // The ciphertext of the KEM, the wrapped key, the nonce, the content, the tag.
    let parts: [&[usize]; 5] =
        [&[1, 0, 1, 0, 1, 3], &[1, 0, 1, 0, 1, 7], &[1, 0, 2, 1, 1, 0], &[1, 0, 2, 2], &[1, 0, 3]];
    for path in parts {
        for bit in [0, 3, 7] {
            let content = tree.at(path).content();
            let middle = content.len() / 2;
            content[middle] ^= 1 << bit;
            assert_eq!(opened(&tree.bytes(), &key), Err(Error::Decryption), "{path:?}");
            let content = tree.at(path).content();
            content[middle] ^= 1 << bit;
        }
    }
    assert_eq!(opened(&tree.bytes(), &key).unwrap(), CONTENT);
    for cut in [0, 8, 16, 24, 32, 39] {
        let mut tree = Node::parse(&message);
        tree.at(&[1, 0, 1, 0, 1, 7]).content().truncate(cut);
        assert_eq!(opened(&tree.bytes(), &key), Err(Error::Decryption));
    }

    let cbc = Encrypted::from_der(&sealed(&key, Cipher::Aes256Cbc)).unwrap();
    assert!(matches!(cbc.decrypt(&key, None, Accept::default()), Err(Error::Unauthenticated)));
    assert!(!cbc.decrypt(&key, None, Accept::Unauthenticated).unwrap().is_authenticated());
}

/// RFC 9709 §1: content in GCM sent again as if it were in CBC. It takes being allowed to be tried at all.
#[test]
fn gcm_sent_again_as_cbc_is_not_tried_unasked() {
    let key = recipient(MlKem::MlKem768);
    let mut tree = Node::parse(&sealed(&key, Cipher::Aes256Gcm));
    *tree.at(&[0]) = Node::parse(&super::support::oid("1.2.840.113549.1.7.3"));
    tree.at(&[1, 0, 0]).content()[0] = 3;
    let identifier = [super::support::oid("2.16.840.1.101.3.4.1.42"), tlv(0x04, &[0; 16])].concat();
    *tree.at(&[1, 0, 2, 1]) = Node::parse(&tlv(0x30, &identifier));
    tree.at(&[1, 0]).children().pop();
    let changed = Encrypted::from_der(&tree.bytes()).unwrap();
    assert!(matches!(changed.decrypt(&key, None, Accept::Authenticated), Err(Error::Unauthenticated)));
}

/// Another implementation of ML-KEM: what it encapsulates for our key, ours opens, and the other way round.
#[test]
fn aws_lc_agrees() {
    let set = MlKem::MlKem768;
    let ours = recipient(set);
    let theirs = kem::EncapsulationKey::new(&kem::ML_KEM_768, &ours.encapsulation_key().to_bytes()).unwrap();
    let (ciphertext, secret) = theirs.encapsulate().unwrap();
    let context = {
        let wrap = super::support::seq(&[&super::support::oid("2.16.840.1.101.3.4.1.45")]);
        super::support::seq(&[&wrap, &tlv(0x02, &[32])])
    };
    let salt = aws_lc_rs::hkdf::Salt::new(aws_lc_rs::hkdf::HKDF_SHA256, &[]);
    let mut kek = [0; 32];
    salt.extract(secret.as_ref()).expand(&[&context], Bytes(32)).unwrap().fill(&mut kek).unwrap();
    let kek = aws_lc_rs::key_wrap::AesKek::new(&aws_lc_rs::key_wrap::AES_256, &kek).unwrap();
    let mut wrapped = [0; 40];
    aws_lc_rs::key_wrap::KeyWrap::wrap(kek, &[9; 32], &mut wrapped).unwrap();
    // A message whose recipient is written by the other side; the content's key is known.
    let mut tree = Node::parse(&sealed(&ours, Cipher::Aes256Gcm));
    *tree.at(&[1, 0, 1, 0, 1, 3]).content() = ciphertext.as_ref().to_vec();
    *tree.at(&[1, 0, 1, 0, 1, 7]).content() = wrapped.to_vec();
    let nonce = tree.at(&[1, 0, 2, 1, 1, 0]).content().clone();
    let content_key = aws_lc_rs::aead::UnboundKey::new(&aws_lc_rs::aead::AES_256_GCM, &[9; 32]).unwrap();
    let content_key = aws_lc_rs::aead::LessSafeKey::new(content_key);
    let mut content = CONTENT.to_vec();
    let nonce = aws_lc_rs::aead::Nonce::try_assume_unique_for_key(&nonce).unwrap();
    let tag =
        content_key.seal_in_place_separate_tag(nonce, aws_lc_rs::aead::Aad::empty(), &mut content).unwrap();
    *tree.at(&[1, 0, 2, 2]).content() = content;
    *tree.at(&[1, 0, 3]).content() = tag.as_ref().to_vec();
    assert_eq!(opened(&tree.bytes(), &ours).unwrap(), CONTENT);
}

struct Bytes(usize);

impl aws_lc_rs::hkdf::KeyType for Bytes {
    fn len(&self) -> usize {
        self.0
    }
}

#[test]
fn secrets_are_not_shown() {
    let key = recipient(MlKem::MlKem768);
    assert_eq!(format!("{key:?}"), "DecapsulationKey(ML-KEM-768)");
    let message = Encrypted::from_der(&sealed(&key, Cipher::Aes256Gcm)).unwrap();
    let opened = message.decrypt(&key, None, Accept::Authenticated).unwrap();
    assert_eq!(format!("{opened:?}"), "Decrypted(19 bytes)");
    assert!(!format!("{message:?}").contains("harbour"));
}
