//! Messages in CMS, and the keys that open them.

use std::sync::OnceLock;

use sealstone_pki::cms::{Accept, Message, Policy, Trust};
use sealstone_pki::ml_kem::{DecapsulationKey, EncapsulationKey, MlKem};
use sealstone_pki::sign::{SigningKey, VerifyingKey};
use sealstone_pki::{KeyAlgorithm, PrivateKeyInfo};

/// The content of every message in the corpus that is signed by [`signer`] or encrypted for [`recipient`].
const CONTENT: &[u8] = b"fuzz";

/// Any bytes as a message: no panic, and only what the keys' holders made is found good.
pub fn cms(input: &[u8]) {
    let _ = DecapsulationKey::from_der(input);
    let _ = EncapsulationKey::from_der(input);
    let read = match std::str::from_utf8(input) {
        Ok(text) if text.starts_with('-') => Message::from_pem(text),
        _ => Message::from_der(input),
    };
    match read {
        Ok(Message::Signed(message)) if message.is_detached() => {
            let Ok(mut check) = message.over(Trust::Keys(signer()), Policy::Any) else { return };
            if check.update(CONTENT).is_ok() {
                let _ = check.finish();
            }
        }
        Ok(Message::Signed(message)) => {
            if let Ok(verified) = message.verify(Trust::Keys(signer()), Policy::Any) {
                assert_eq!(verified.content(), Some(CONTENT), "nothing else was ever signed");
            }
        }
        Ok(Message::Encrypted(message)) => {
            if let Ok(opened) = message.decrypt(recipient(), None, Accept::Unauthenticated) {
                assert!(
                    !opened.is_authenticated() || opened.content() == CONTENT,
                    "nothing else was encrypted"
                );
            }
        }
        _ => {}
    }
}

fn signer() -> &'static [VerifyingKey] {
    static KEY: OnceLock<[VerifyingKey; 1]> = OnceLock::new();
    KEY.get_or_init(|| {
        let info = PrivateKeyInfo::new(KeyAlgorithm::EcP256, &[7; 32], None).expect("a scalar in range");
        let key = SigningKey::from_info(&info).expect("a good key");
        [VerifyingKey::from_info(key.public()).expect("its own public key")]
    })
}

fn recipient() -> &'static DecapsulationKey {
    static KEY: OnceLock<DecapsulationKey> = OnceLock::new();
    KEY.get_or_init(|| DecapsulationKey::from_seed(MlKem::MlKem512, &[7; 64]))
}
