//! A certificate authority for tests, and what it certifies.

use std::sync::Arc;

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyPair, SanType, SignatureAlgorithm,
};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sealstone_auth::protocol::client_certificate::{Anchors, PeerCertificate};

/// A certificate chain and the key of its first certificate.
pub struct Identity {
    pub chain: Vec<CertificateDer<'static>>,
    pub key: KeyPair,
}

impl Identity {
    /// A certificate signed by its own key.
    pub fn self_signed(params: &CertificateParams) -> Self {
        let key = KeyPair::generate().unwrap();
        Self { chain: vec![params.self_signed(&key).unwrap().der().clone()], key }
    }

    /// As a connection shows it.
    pub fn shown(&self) -> Arc<PeerCertificate> {
        Arc::new(PeerCertificate::new(self.chain.clone()).unwrap())
    }

    pub fn private_key(&self) -> PrivateKeyDer<'static> {
        PrivateKeyDer::try_from(self.key.serialize_der()).unwrap()
    }
}

/// An authority.
pub struct Authority {
    pub certificate: Certificate,
    /// What it sends along: its own certificates up to the root, which is left out.
    above: Vec<CertificateDer<'static>>,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let params = Self::params(name);
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, above: Vec::new(), issuer: Issuer::new(params, key) }
    }

    /// An authority below this one.
    pub fn below(&self, name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = Self::params(name);
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let above = [&[certificate.der().clone()], &self.above[..]].concat();
        Self { certificate, above, issuer: Issuer::new(params, key) }
    }

    pub fn certify(&self, params: &CertificateParams) -> Identity {
        self.certify_key(params, KeyPair::generate().unwrap())
    }

    pub fn certify_with(
        &self,
        params: &CertificateParams,
        algorithm: &'static SignatureAlgorithm,
    ) -> Identity {
        self.certify_key(params, KeyPair::generate_for(algorithm).unwrap())
    }

    fn certify_key(&self, params: &CertificateParams, key: KeyPair) -> Identity {
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Identity { chain: [&[certificate.der().clone()], &self.above[..]].concat(), key }
    }

    pub fn anchors(&self) -> Anchors {
        Anchors::new(&[self.certificate.der().clone()]).unwrap()
    }

    fn params(name: &str) -> CertificateParams {
        let mut params = subject(&[(DnType::CommonName, name)]);
        params.extended_key_usages = Vec::new();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
    }
}

/// A client's certificate for this subject, valid from 2020 to 2040.
pub fn subject(attributes: &[(DnType, &str)]) -> CertificateParams {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = DistinguishedName::new();
    for (kind, value) in attributes {
        params.distinguished_name.push(kind.clone(), *value);
    }
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2040, 1, 1);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

/// The usual one.
pub fn worker() -> CertificateParams {
    subject(&[(DnType::OrganizationName, "Example"), (DnType::CommonName, "worker")])
}

pub fn text(value: &str) -> Ia5String {
    value.try_into().unwrap()
}

/// The usual one, changed.
pub fn worker_with(change: impl FnOnce(&mut CertificateParams)) -> CertificateParams {
    let mut params = worker();
    change(&mut params);
    params
}

pub fn with_names(names: &[SanType]) -> CertificateParams {
    worker_with(|params| params.subject_alt_names = names.to_vec())
}
