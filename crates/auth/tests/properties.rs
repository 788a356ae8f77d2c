//! Properties of everything that reads what others wrote: no panic, one kind of refusal, and nothing lost on the way.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::collection::vec;
use proptest::prelude::*;
use sealstone_auth::client::Clients;
use sealstone_auth::clock::OsRandomness;
use sealstone_auth::keys::Sealer;
use sealstone_auth::outbound::{KeySets, Outbound, SystemResolver};
use sealstone_auth::protocol::client_auth::{Means, Shown};
use sealstone_auth::protocol::client_certificate::Anchors;
use sealstone_auth::protocol::{Code, Parameters, access_token, client_auth};
use sealstone_auth::snapshot::Snapshot;
use sealstone_auth::verifiers::Verifiers;
use sealstone_auth::{Config, Error, Issuer};
use sealstone_jose::UnixSeconds;

use crate::support::{START, at_once};

/// Form-urlencoding as a careful client does it, RFC 6749 Appendix B.
fn encode(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b' ' => "+".to_owned(),
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

proptest! {
    #[test]
    fn a_form_is_read_as_it_was_written(pairs in proptest::collection::btree_map(".{1,8}", ".{1,40}", 0..20)) {
        let body: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let parameters = Parameters::parse(body.join("&").as_bytes()).unwrap();
        for (name, value) in &pairs {
            prop_assert_eq!(parameters.value(name), Some(value.as_str()));
        }
    }

    #[test]
    fn any_body_is_read_or_refused(body in vec(any::<u8>(), 0..200)) {
        if let Err(refused) = Parameters::parse(&body) {
            prop_assert_eq!(refused.code, Code::InvalidRequest);
        }
    }

    #[test]
    fn no_header_authenticates_where_nobody_is_registered(header in vec(any::<u8>(), 0..80), basic in any::<bool>()) {
        let header = if basic { format!("Basic {}", STANDARD.encode(&header)).into_bytes() } else { header };
        let parameters = Parameters::parse(b"").unwrap();
        let issuer = Issuer::parse("https://auth.example.org", false).unwrap();
        let (clients, anchors) = (Clients::default(), Anchors::default());
        let shown = Shown { authorization: &[&header], certificate: None, parameters: &parameters };
        let (now, sealer) = (UnixSeconds(START), Sealer::from_key(&[7; 32]).unwrap());
        let outbound = Outbound::new(&Default::default(), Arc::new(SystemResolver));
        let (key_sets, verifiers) = (KeySets::new(Arc::new(outbound)), Verifiers::new(1));
        let means = Means {
            anchors: &anchors,
            clients: &clients,
            issuer: &issuer,
            kerberos: None,
            key_sets: &key_sets,
            now,
            randomness: &OsRandomness,
            sealer: &sealer,
            verifiers: &verifiers,
        };
        let refused = at_once(client_auth::authenticate(shown, means)).unwrap_err();
        prop_assert_eq!(refused.code, Code::InvalidClient);
    }

    #[test]
    fn no_text_is_a_token_where_nothing_was_issued(token in "[a-zA-Z0-9_.=-]{0,300}") {
        let issuer = Issuer::parse("https://auth.example.org", false).unwrap();
        let refused = access_token::check(&token, &Snapshot::default(), &issuer, UnixSeconds(START));
        prop_assert_eq!(refused.unwrap_err(), access_token::Foreign::NotHeld);
    }

    #[test]
    fn any_text_is_a_configuration_or_a_fault_with_a_place(text in "(\\[?[a-z_]{0,9}\\]? ?=? ?[0-9\"a-z\u{e9}]{0,9}\n?){0,6}") {
        match Config::parse(&text, None) {
            Ok(_) => {}
            Err(Error::Config(fault)) => prop_assert!(fault.line.is_some() && !fault.what.is_empty(), "{fault:?}"),
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn an_issuer_ends_where_its_path_does(host in "[a-z]{1,8}", path in "(/[a-z0-9._~-]{1,5}){0,3}") {
        let issuer = Issuer::parse(&format!("https://{host}:8443{path}"), false).unwrap();
        prop_assert_eq!(issuer.path(), path);
        prop_assert_eq!(issuer.host(), host);
    }
}
