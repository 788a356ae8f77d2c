//! How a client proves who it is, as options of `client add` and in what `client list` says.

use std::ffi::OsString;

use clap::Args;
use sealstone_auth::{
    AssertionAudience, AssertionKeys, AuthMethod, Authentication, CertificateName, Client, ClientKeys,
    HttpsUri, KeySource, NewAuthentication, Principal,
};
use sealstone_jose::mac::MacAlgorithm;
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::Source;
use crate::flags;
use crate::terminal::Safe;

/// The most that a file of keys or certificates may be.
pub(crate) const MAX_KEYS: usize = 1_048_576;

/// Options of `client add`.
#[derive(Args)]
pub(crate) struct AuthOptions {
    /// How it proves who it is; it has this one method and no other
    #[arg(long, value_name = "METHOD", default_value = "client_secret_basic", value_parser = flags::auth_method())]
    pub(crate) auth_method: AuthMethod,
    /// Its public keys as a JWK set, for private_key_jwt and self_signed_tls_client_auth
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString), conflicts_with_all = ["jwks_uri", "certificate"])]
    jwks: Option<OsString>,
    /// Where it publishes them, over https; fetched when they are needed
    #[arg(long, value_name = "URL", conflicts_with = "certificate")]
    jwks_uri: Option<String>,
    /// Its certificates in PEM, for self_signed_tls_client_auth
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    certificate: Option<OsString>,
    /// The principal of its tickets, as in host/ci.example.org@EXAMPLE.ORG, for kerberos_client_auth
    #[arg(long, value_name = "PRINCIPAL")]
    kerberos_principal: Option<String>,
    /// The MAC of its assertions, for client_secret_jwt
    #[arg(long, value_name = "ALG", default_value = "HS256", value_parser = flags::mac())]
    token_endpoint_auth_signing_alg: MacAlgorithm,
    /// Let its assertions name the token endpoint as audience too; only for a client that cannot be changed
    #[arg(long)]
    token_endpoint_audience: bool,
    /// For tls_client_auth: the subject of its certificates, as in CN=billing,O=Example (RFC 4514)
    #[arg(long, value_name = "DN", group = "certificate_name")]
    tls_client_auth_subject_dn: Option<String>,
    /// A host name in its certificates, instead of the subject
    #[arg(long, value_name = "HOST", group = "certificate_name")]
    tls_client_auth_san_dns: Option<String>,
    /// An e-mail address in its certificates, instead of the subject
    #[arg(long, value_name = "ADDRESS", group = "certificate_name")]
    tls_client_auth_san_email: Option<String>,
    /// An IP address in its certificates, instead of the subject
    #[arg(long, value_name = "ADDRESS", group = "certificate_name")]
    tls_client_auth_san_ip: Option<String>,
    /// A URI in its certificates, as in spiffe://example.org/billing, instead of the subject
    #[arg(long, value_name = "URI", group = "certificate_name")]
    tls_client_auth_san_uri: Option<String>,
    /// Bind its tokens to the certificate of its connection (RFC 8705), whatever its method; without one it gets none
    #[arg(long)]
    pub(crate) tls_client_certificate_bound_access_tokens: bool,
}

impl AuthOptions {
    /// The method with what stands beside it; keys and certificates come from their files.
    pub(crate) fn read(&self, secret_out: bool) -> Result<NewAuthentication, Error> {
        let method = self.auth_method;
        let (secret, signs, keys, names) = match method {
            AuthMethod::ClientSecretBasic | AuthMethod::ClientSecretPost => (true, false, false, false),
            AuthMethod::ClientSecretJwt => (true, true, false, false),
            AuthMethod::PrivateKeyJwt => (false, true, true, false),
            AuthMethod::SelfSignedTlsClientAuth => (false, false, true, false),
            AuthMethod::TlsClientAuth => (false, false, false, true),
            AuthMethod::KerberosClientAuth | AuthMethod::None => (false, false, false, false),
            _ => {
                return Err(Error::usage(
                    format!("{} cannot be registered here", method.name()),
                    "see --help",
                ));
            }
        };
        let beside = |given: bool, fits: bool, option: &str, methods: &str| match given && !fits {
            true => Err(Error::usage(
                format!("{option} does not go with {}", method.name()),
                &format!("it is for {methods}; --auth-method chooses"),
            )),
            false => Ok(()),
        };
        let (with_keys, with_name) = ("private_key_jwt and self_signed_tls_client_auth", "tls_client_auth");
        beside(self.jwks.is_some(), keys, "--jwks", with_keys)?;
        beside(self.jwks_uri.is_some(), keys, "--jwks-uri", with_keys)?;
        let pinned = method == AuthMethod::SelfSignedTlsClientAuth;
        beside(self.certificate.is_some(), pinned, "--certificate", "self_signed_tls_client_auth")?;
        beside(
            self.token_endpoint_audience,
            signs,
            "--token-endpoint-audience",
            "a client that makes assertions",
        )?;
        let ticket = method == AuthMethod::KerberosClientAuth;
        beside(self.kerberos_principal.is_some(), ticket, "--kerberos-principal", "kerberos_client_auth")?;
        let name = self.name();
        beside(name.is_some(), names, "a name in certificates", with_name)?;
        if secret_out && !secret {
            let what = format!("a client with {} has no secret", method.name());
            return Err(Error::usage(what, "leave --secret-out away"));
        }
        let audience = match self.token_endpoint_audience {
            true => AssertionAudience::IssuerOrTokenEndpoint,
            false => AssertionAudience::Issuer,
        };
        Ok(match method {
            AuthMethod::ClientSecretJwt => {
                NewAuthentication::ClientSecretJwt(self.token_endpoint_auth_signing_alg, audience)
            }
            AuthMethod::ClientSecretPost => NewAuthentication::ClientSecretPost,
            AuthMethod::KerberosClientAuth => NewAuthentication::KerberosClientAuth(self.principal()?),
            AuthMethod::None => NewAuthentication::None,
            AuthMethod::PrivateKeyJwt => {
                NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys: self.keys()? })
            }
            AuthMethod::SelfSignedTlsClientAuth => NewAuthentication::SelfSignedTlsClientAuth(self.keys()?),
            AuthMethod::TlsClientAuth => {
                let (member, value) = name.ok_or_else(|| {
                    let hint = "one of --tls-client-auth-subject-dn, -san-dns, -san-email, -san-ip and -san-uri gives it";
                    Error::usage("tls_client_auth needs the name in the client's certificates", hint)
                })?;
                let name = CertificateName::parse(member, value).map_err(|what| {
                    let hint = "`openssl x509 -in FILE -noout -subject -nameopt RFC2253 -ext subjectAltName` shows the names";
                    Error::usage(format!("{member} {what}"), hint)
                })?;
                NewAuthentication::TlsClientAuth(name)
            }
            _ => NewAuthentication::ClientSecretBasic,
        })
    }

    fn keys(&self) -> Result<KeySource, Error> {
        if let Some(uri) = &self.jwks_uri {
            let parsed = HttpsUri::parse(uri);
            let hint = "an https URL such as https://billing.example.org/jwks.json";
            return parsed
                .map(KeySource::from)
                .map_err(|what| Error::usage(format!("--jwks-uri {what}"), hint));
        }
        if let Some(file) = self.certificate.clone().map(Source::from) {
            let keys = ClientKeys::from_certificates(&file.read(MAX_KEYS)?);
            let hint = "PEM blocks CERTIFICATE, as `openssl x509` writes them";
            return keys.map(KeySource::from).map_err(|what| Error::key(&file.name(), what, Some(hint)));
        }
        let Some(file) = self.jwks.clone().map(Source::from) else {
            let (what, hint) = match self.auth_method {
                AuthMethod::PrivateKeyJwt => ("keys", "--jwks FILE gives them, or --jwks-uri URL"),
                _ => ("certificates", "--certificate FILE gives them, or --jwks FILE, or --jwks-uri URL"),
            };
            return Err(Error::usage(format!("{} needs the client's {what}", self.auth_method.name()), hint));
        };
        let keys = ClientKeys::parse(&file.read(MAX_KEYS)?);
        let hint = "public keys as {\"keys\":[...]}, RFC 7517 §5";
        keys.map(KeySource::from).map_err(|what| Error::key(&file.name(), what, Some(hint)))
    }

    fn principal(&self) -> Result<Principal, Error> {
        let hint = "`klist -k` on the client's machine shows what it is called";
        let Some(text) = &self.kerberos_principal else {
            let what = "kerberos_client_auth needs the client's principal";
            return Err(Error::usage(
                what,
                "--kerberos-principal gives it, as in host/ci.example.org@EXAMPLE.ORG",
            ));
        };
        Principal::parse(text).map_err(|what| Error::usage(format!("--kerberos-principal {what}"), hint))
    }

    /// The name that was given, and of which kind. The argument parser lets through one.
    fn name(&self) -> Option<(&'static str, &str)> {
        let given = [
            &self.tls_client_auth_subject_dn,
            &self.tls_client_auth_san_dns,
            &self.tls_client_auth_san_email,
            &self.tls_client_auth_san_ip,
            &self.tls_client_auth_san_uri,
        ];
        CertificateName::MEMBERS
            .into_iter()
            .zip(given)
            .find_map(|(member, value)| Some((member, value.as_deref()?)))
    }
}

/// What a client without a secret is known by: `ES256 kid, ML-DSA-65 kid`; an address; a name.
pub(crate) fn known_by(client: &Client) -> Option<(&'static str, String)> {
    if let Some(name) = client.authentication.certificate_name() {
        return Some(("certificate", Safe(&format!("{}={}", name.member(), name.value())).to_string()));
    }
    if let Some(principal) = client.authentication.principal() {
        return Some(("principal", Safe(&principal.to_string()).to_string()));
    }
    Some(match client.authentication.keys()? {
        KeySource::Url(uri) => ("keys", Safe(uri.as_str()).to_string()),
        KeySource::Value(keys)
            if matches!(client.authentication, Authentication::SelfSignedTlsClientAuth(_)) =>
        {
            ("certificate", format!("{} registered", keys.certificates()))
        }
        KeySource::Value(keys) => {
            let keys = keys.set().keys().iter();
            let names = keys.map(|key| format!("{} {}", key.algorithm().name(), Safe(key.kid())));
            ("keys", names.collect::<Vec<_>>().join(", "))
        }
    })
}

/// The members of a client's JSON that are about its method, by the names of RFC 7591 and RFC 8705.
pub(crate) fn members(client: &Client, row: &mut Value) {
    let authentication = &client.authentication;
    row["token_endpoint_auth_method"] = authentication.method().name().into();
    match authentication.keys() {
        Some(KeySource::Url(uri)) => row["jwks_uri"] = uri.as_str().into(),
        Some(KeySource::Value(keys)) => row["jwks"] = keys.json().clone(),
        None => {}
    }
    if let Some(name) = authentication.certificate_name() {
        row[name.member()] = name.value().into();
    }
    if let Some(principal) = authentication.principal() {
        row["kerberos_principal"] = principal.to_string().into();
    }
    if let Some(secret) = authentication.shared_secret() {
        row["token_endpoint_auth_signing_alg"] = secret.algorithm.name().into();
    }
    if let Some(audience) = authentication.assertion_audience() {
        row["token_endpoint_audience"] = (audience == AssertionAudience::IssuerOrTokenEndpoint).into();
    }
    if client.tls_client_certificate_bound_access_tokens {
        row["tls_client_certificate_bound_access_tokens"] = json!(true);
    }
}
