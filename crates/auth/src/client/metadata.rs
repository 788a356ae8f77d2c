//! A client as its registration says it in JSON: RFC 7591 §2, with the members that other RFCs have registered.

use std::collections::BTreeSet;

use sealstone_jose::Algorithm;
use sealstone_jose::mac::MacAlgorithm;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::{
    About, AssertionAudience, AssertionKeys, AuthMethod, CertificateName, Client, ClientKeys, CodeFlow,
    Consent, Exchange, Grant, HttpsUri, KeySource, Logout, Origin, Principal, Profile, RedirectUri,
    RefreshLifetime, SubjectType,
};
use crate::admin::{DEFAULT_TOKEN_LIFETIME_SECONDS, NewAuthentication, NewClient, NewSubject};

/// What is wrong with a registration, in the codes of RFC 7591 §3.2.2.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `invalid_client_metadata`: a member, and what is wrong with it.
    Metadata(String),
    /// `invalid_redirect_uri`.
    RedirectUri(String),
}

/// A registration as it is sent. Members that are not known are ignored, RFC 7591 §2.
#[derive(Debug, Deserialize)]
pub struct Metadata {
    /// OpenID Connect Back-Channel Logout 1.0 §2.2.
    #[serde(default)]
    pub backchannel_logout_session_required: bool,
    /// OpenID Connect Back-Channel Logout 1.0 §2.2.
    pub backchannel_logout_uri: Option<String>,
    /// A name for people.
    #[serde(default)]
    pub client_name: String,
    /// Its home page.
    pub client_uri: Option<String>,
    /// RFC 9449 §5.2.
    #[serde(default)]
    pub dpop_bound_access_tokens: bool,
    /// What it may ask the token endpoint for.
    pub grant_types: Option<Vec<String>>,
    /// OpenID Connect Registration §2: what signs its ID tokens, and here its access tokens too.
    pub id_token_signed_response_alg: Option<String>,
    /// RFC 9701 §6. RS256 would be the default there; here it is what signs its tokens.
    pub introspection_signed_response_alg: Option<String>,
    /// Its keys.
    pub jwks: Option<Value>,
    /// Where its keys are.
    pub jwks_uri: Option<String>,
    /// The principal of its tickets, for `kerberos_client_auth`. Not a registered member.
    pub kerberos_principal: Option<String>,
    /// How it handles what it learns of people.
    pub policy_uri: Option<String>,
    /// OpenID Connect RP-Initiated Logout 1.0 §3.1.
    #[serde(default)]
    pub post_logout_redirect_uris: Vec<String>,
    /// Where people may be sent back to.
    #[serde(default)]
    pub redirect_uris: Vec<String>,
    /// OpenID Connect Registration §2.
    pub request_object_signing_alg: Option<String>,
    /// RFC 9126 §6.
    #[serde(default)]
    pub require_pushed_authorization_requests: bool,
    /// RFC 9101 §10.5.
    #[serde(default)]
    pub require_signed_request_object: bool,
    /// What it may ask the authorization endpoint for.
    pub response_types: Option<Vec<String>>,
    /// The scopes it may ask for, with spaces between.
    pub scope: Option<String>,
    /// OpenID Connect Core §8.1.
    pub sector_identifier_uri: Option<String>,
    /// OpenID Connect Core §8.
    pub subject_type: Option<String>,
    /// RFC 8705 §3.4.
    #[serde(default)]
    pub tls_client_certificate_bound_access_tokens: bool,
    /// How it proves who it is.
    pub token_endpoint_auth_method: Option<String>,
    /// The algorithm of its assertions.
    pub token_endpoint_auth_signing_alg: Option<String>,
    /// Its terms of service.
    pub tos_uri: Option<String>,
    /// OpenID Connect Registration §2: what signs what the userinfo endpoint says.
    pub userinfo_signed_response_alg: Option<String>,
    /// RFC 8705 §2.1.2 and everything that is read by its name.
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl Metadata {
    /// Reads the JSON of a registration.
    /// Errors: the member that has another type than it should.
    pub fn parse(json: &[u8]) -> Result<Self, Fault> {
        // A member that is null is one that is left out: RFC 7592 §2.2.
        let mut map: Map<String, Value> = serde_json::from_slice(json)
            .map_err(|_| Fault::Metadata("the body is not a JSON object".into()))?;
        map.retain(|_, value| !value.is_null());
        serde_json::from_value(Value::Object(map))
            .map_err(|_| Fault::Metadata("a member has another type than RFC 7591 section 2 says".into()))
    }

    /// A member by its name.
    pub fn member(&self, name: &str) -> Option<&Value> {
        self.others.get(name)
    }

    /// What it may ask the token endpoint for; RFC 7591 §2: the authorization code, where nothing is said.
    pub fn grants(&self) -> Result<BTreeSet<Grant>, Fault> {
        let usual = [Grant::AuthorizationCode.name().to_owned()];
        let names = self.grant_types.as_deref().unwrap_or(&usual);
        let known = |name: &String| Grant::ALL.into_iter().find(|grant| grant.name() == name);
        let grants: Option<BTreeSet<Grant>> = names.iter().map(known).collect();
        let grants = grants.ok_or_else(|| fault("grant_types", "one of them is not possible here"))?;
        // RFC 7591 §2.1: what is asked for at one endpoint must fit what is asked for at the other.
        let code = grants.contains(&Grant::AuthorizationCode);
        match self.response_types.as_deref() {
            None => Ok(grants),
            Some([one]) if one == "code" && code => Ok(grants),
            Some([]) if !code => Ok(grants),
            Some(_) => Err(fault(
                "response_types",
                "`code` goes with the authorization_code grant, and there is no other",
            )),
        }
    }

    /// The client that an administrator asks for, who may give everything. `id` is whose registration is replaced. What
    /// is not known is refused: a member with a slip in it must not be lost.
    pub(crate) fn by_administrator(&self, id: Option<&str>) -> Result<NewClient, Fault> {
        let known = |name: &str| {
            CertificateName::MEMBERS.contains(&name)
                || Extras::MEMBERS.contains(&name)
                || SAID_ONLY.contains(&name)
        };
        if let Some(name) = self.others.keys().find(|name| !known(name)) {
            return Err(fault("a member", &format!("there is none that is called {name}")));
        }
        let named = self.member("client_id").and_then(Value::as_str);
        if id.is_some() && named.is_some() && named != id {
            return Err(fault("client_id", "it is not the client's"));
        }
        let extras: Extras = serde_json::from_value(Value::Object(self.others.clone()))
            .map_err(|_| fault("a member", "it has another type than the document says"))?;
        let algorithm = match &self.id_token_signed_response_alg {
            None => NewClient::default().algorithm,
            Some(name) => {
                name.parse().map_err(|_| fault("id_token_signed_response_alg", "it is not possible here"))?
            }
        };
        let grants = match self.grant_types.is_none() && self.redirect_uris.is_empty() {
            true => NewClient::default().grants,
            false => self.grants()?,
        };
        let scopes = self.scope.as_deref().unwrap_or_default().split(' ').filter(|one| !one.is_empty());
        Ok(NewClient {
            algorithm,
            audiences: extras.audiences,
            authentication: self.authentication()?,
            code_flow: CodeFlow {
                about: self.about()?,
                consent: extras.consent,
                nonce_optional: extras.nonce_optional,
                pkce_optional: extras.pkce_optional,
                redirect_uris: self.redirect_uris()?,
                refresh_lifetime_seconds: extras.refresh_lifetime_seconds,
                request_object_signing_alg: self.request_object_signing_alg()?,
                require_pushed_authorization_requests: self.require_pushed_authorization_requests,
                require_signed_request_object: self.require_signed_request_object,
                userinfo_signed_response_alg: self.userinfo_signed_response_alg()?,
            },
            dpop_bound_access_tokens: self.dpop_bound_access_tokens,
            exchange: extras.exchange,
            grants,
            id: id.or(named).map(str::to_owned),
            introspection_signed_response_alg: self.introspection_signed_response_alg()?,
            logout: self.logout()?,
            name: self.client_name.clone(),
            profile: extras.profile,
            resources: extras.resources,
            scopes: scopes.map(str::to_owned).collect(),
            subject: self.subject()?,
            tls_client_certificate_bound_access_tokens: self.tls_client_certificate_bound_access_tokens,
            token_lifetime_seconds: extras.token_lifetime_seconds.unwrap_or(DEFAULT_TOKEN_LIFETIME_SECONDS),
        })
    }

    /// What it says of itself to people.
    pub fn about(&self) -> Result<About, Fault> {
        let read = |name: &str, text: &Option<String>| {
            text.as_deref().map(HttpsUri::parse).transpose().map_err(|what| fault(name, what))
        };
        Ok(About {
            client_uri: read("client_uri", &self.client_uri)?,
            policy_uri: read("policy_uri", &self.policy_uri)?,
            tos_uri: read("tos_uri", &self.tos_uri)?,
        })
    }

    /// Where people may be sent back to.
    pub fn redirect_uris(&self) -> Result<Vec<RedirectUri>, Fault> {
        let parsed = self.redirect_uris.iter().map(|text| RedirectUri::parse(text));
        parsed.collect::<Result<_, _>>().map_err(|what| Fault::RedirectUri(format!("a redirect URI {what}")))
    }

    /// The one algorithm of its request objects, where there is one.
    pub fn request_object_signing_alg(&self) -> Result<Option<Algorithm>, Fault> {
        let parsed = self.request_object_signing_alg.as_ref().map(|name| name.parse()).transpose();
        parsed.map_err(|_| fault("request_object_signing_alg", "it is not possible here"))
    }

    /// What signs introspections for it, where that is said.
    pub fn introspection_signed_response_alg(&self) -> Result<Option<Algorithm>, Fault> {
        let parsed = self.introspection_signed_response_alg.as_ref().map(|name| name.parse()).transpose();
        parsed.map_err(|_| fault("introspection_signed_response_alg", "it is not possible here"))
    }

    /// What signs what the userinfo endpoint says to it, where something does.
    pub fn userinfo_signed_response_alg(&self) -> Result<Option<Algorithm>, Fault> {
        let parsed = self.userinfo_signed_response_alg.as_ref().map(|name| name.parse()).transpose();
        parsed.map_err(|_| fault("userinfo_signed_response_alg", "it is not possible here"))
    }

    /// What it sees of a person's `sub`.
    pub fn subject(&self) -> Result<NewSubject, Fault> {
        let sector = self.sector_identifier_uri.as_deref().map(HttpsUri::parse).transpose();
        let sector_identifier_uri = sector.map_err(|what| fault("sector_identifier_uri", what))?;
        match self.subject_type.as_deref() {
            Some("pairwise") => Ok(NewSubject::Pairwise { sector_identifier_uri }),
            None | Some("public") if sector_identifier_uri.is_none() => Ok(NewSubject::Public),
            None | Some("public") => {
                Err(fault("sector_identifier_uri", "it goes with the subject_type pairwise"))
            }
            Some(_) => Err(fault("subject_type", "it is public or pairwise")),
        }
    }

    /// How it takes part when a person signs out.
    pub fn logout(&self) -> Result<Logout, Fault> {
        let told = self.backchannel_logout_uri.as_deref().map(HttpsUri::parse).transpose();
        let addresses = self.post_logout_redirect_uris.iter().map(|text| RedirectUri::parse(text));
        Ok(Logout {
            backchannel_logout_session_required: self.backchannel_logout_session_required,
            backchannel_logout_uri: told.map_err(|what| fault("backchannel_logout_uri", what))?,
            post_logout_redirect_uris: addresses
                .collect::<Result<_, _>>()
                .map_err(|what| fault("post_logout_redirect_uris", what))?,
        })
    }

    /// How it will prove who it is; RFC 7591 §2: `client_secret_basic`, where nothing is said.
    pub fn authentication(&self) -> Result<NewAuthentication, Fault> {
        let name = self.token_endpoint_auth_method.as_deref().unwrap_or(AuthMethod::ClientSecretBasic.name());
        let method = AuthMethod::ALL.into_iter().find(|method| method.name() == name);
        let method = method.ok_or_else(|| fault("token_endpoint_auth_method", "it is not possible here"))?;
        let alg = self.token_endpoint_auth_signing_alg.as_deref();
        Ok(match method {
            AuthMethod::ClientSecretBasic => NewAuthentication::ClientSecretBasic,
            AuthMethod::ClientSecretJwt => {
                let mac: Result<MacAlgorithm, _> = alg.unwrap_or(MacAlgorithm::Hs256.name()).parse();
                let mac =
                    mac.map_err(|_| fault("token_endpoint_auth_signing_alg", "it is no MAC of RFC 7518"))?;
                NewAuthentication::ClientSecretJwt(mac, AssertionAudience::Issuer)
            }
            AuthMethod::ClientSecretPost => NewAuthentication::ClientSecretPost,
            AuthMethod::KerberosClientAuth => NewAuthentication::KerberosClientAuth(self.principal()?),
            AuthMethod::None => NewAuthentication::None,
            AuthMethod::PrivateKeyJwt => {
                if alg.is_some_and(|alg| alg.parse::<Algorithm>().is_err()) {
                    return Err(fault("token_endpoint_auth_signing_alg", "it is not possible here"));
                }
                let audience = AssertionAudience::Issuer;
                NewAuthentication::PrivateKeyJwt(AssertionKeys { audience, keys: self.keys()? })
            }
            AuthMethod::SelfSignedTlsClientAuth => NewAuthentication::SelfSignedTlsClientAuth(self.keys()?),
            AuthMethod::TlsClientAuth => NewAuthentication::TlsClientAuth(self.certificate_name()?),
        })
    }

    /// RFC 7591 §2: `jwks` or `jwks_uri`, never both.
    fn keys(&self) -> Result<KeySource, Fault> {
        match (&self.jwks, &self.jwks_uri) {
            (Some(jwks), None) => match ClientKeys::parse(jwks.to_string().as_bytes()) {
                Ok(keys) => Ok(KeySource::from(keys)),
                Err(what) => Err(fault("jwks", &what)),
            },
            (None, Some(uri)) => {
                HttpsUri::parse(uri).map(KeySource::from).map_err(|what| fault("jwks_uri", what))
            }
            _ => Err(fault("jwks", "one of `jwks` and `jwks_uri` goes with this authentication method")),
        }
    }

    fn principal(&self) -> Result<Principal, Fault> {
        let text = self.kerberos_principal.as_deref();
        let text = text.ok_or_else(|| fault("kerberos_principal", "it goes with kerberos_client_auth"))?;
        Principal::parse(text).map_err(|what| fault("kerberos_principal", what))
    }

    /// RFC 8705 §2.1.2: exactly one name.
    fn certificate_name(&self) -> Result<CertificateName, Fault> {
        let named = |member: &&str| self.others.contains_key(*member);
        let mut members = CertificateName::MEMBERS.into_iter().filter(|member| named(member));
        let (Some(member), None) = (members.next(), members.next()) else {
            return Err(fault("tls_client_auth_subject_dn", "exactly one name goes with tls_client_auth"));
        };
        let value =
            self.others.get(member).and_then(Value::as_str).ok_or_else(|| fault(member, "it is not text"))?;
        CertificateName::parse(member, value).map_err(|what| fault(member, &what))
    }
}

/// What an administrator may say of a client besides.
#[derive(Default, Deserialize, Serialize)]
#[serde(default)]
struct Extras {
    audiences: Vec<String>,
    consent: Consent,
    exchange: Exchange,
    nonce_optional: bool,
    pkce_optional: bool,
    profile: Option<Profile>,
    refresh_lifetime_seconds: RefreshLifetime,
    resources: Vec<String>,
    token_lifetime_seconds: Option<u64>,
}

impl Extras {
    const MEMBERS: [&'static str; 9] = [
        "audiences",
        "consent",
        "exchange",
        "nonce_optional",
        "pkce_optional",
        "profile",
        "refresh_lifetime_seconds",
        "resources",
        "token_lifetime_seconds",
    ];
}

/// What an answer says and a request may bring back.
const SAID_ONLY: [&str; 5] =
    ["client_id", "client_id_issued_at", "configured", "disabled", "registered_itself"];

fn fault(member: &str, what: &str) -> Fault {
    Fault::Metadata(plain(&format!("{member}: {what}")))
}

/// The characters that RFC 6749 §5.2 lets a description have.
pub(crate) fn plain(text: &str) -> String {
    let fits = |c: char| if matches!(c, ' '..='~') && !['"', '\\'].contains(&c) { c } else { '\'' };
    text.chars().map(fits).collect()
}

impl Client {
    /// The client's registration as RFC 7591 §3.2.1 answers it, without what is secret.
    pub fn metadata(&self) -> Map<String, Value> {
        let grants: Vec<&str> = self.grants.iter().map(|grant| grant.name()).collect();
        let scopes: Vec<&str> = self.scopes.iter().map(String::as_str).collect();
        let code = self.grants.contains(&Grant::AuthorizationCode);
        let mut all = Map::new();
        let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
        put("client_id", json!(self.id));
        put("client_id_issued_at", json!(self.created_at.0));
        put("client_name", json!(self.name));
        put("dpop_bound_access_tokens", json!(self.dpop_bound_access_tokens));
        put("grant_types", json!(grants));
        put("id_token_signed_response_alg", json!(self.algorithm.name()));
        if let Some(algorithm) = self.introspection_signed_response_alg {
            put("introspection_signed_response_alg", json!(algorithm.name()));
        }
        put("redirect_uris", json!(self.code_flow.redirect_uris));
        put(
            "require_pushed_authorization_requests",
            json!(self.code_flow.require_pushed_authorization_requests),
        );
        put("require_signed_request_object", json!(self.code_flow.require_signed_request_object));
        if let Some(algorithm) = self.code_flow.request_object_signing_alg {
            put("request_object_signing_alg", json!(algorithm.name()));
        }
        if let Some(algorithm) = self.code_flow.userinfo_signed_response_alg {
            put("userinfo_signed_response_alg", json!(algorithm.name()));
        }
        for (name, value) in json!(self.code_flow.about).as_object().into_iter().flatten() {
            put(name, value.clone());
        }
        for (name, value) in json!(self.logout).as_object().into_iter().flatten() {
            put(name, value.clone());
        }
        put("response_types", if code { json!(["code"]) } else { json!([]) });
        put("scope", json!(scopes.join(" ")));
        put(
            "tls_client_certificate_bound_access_tokens",
            json!(self.tls_client_certificate_bound_access_tokens),
        );
        put("subject_type", json!(self.subject.name()));
        if let SubjectType::Pairwise { sector_identifier_uri: Some(uri), .. } = &self.subject {
            put("sector_identifier_uri", json!(uri.as_str()));
        }
        put("token_endpoint_auth_method", json!(self.authentication.method().name()));
        if let Some(secret) = self.authentication.shared_secret() {
            put("token_endpoint_auth_signing_alg", json!(secret.algorithm.name()));
        }
        match self.authentication.keys() {
            Some(KeySource::Url(uri)) => put("jwks_uri", json!(uri.as_str())),
            Some(KeySource::Value(keys)) => put("jwks", keys.json().clone()),
            None => {}
        }
        if let Some(principal) = self.authentication.principal() {
            put("kerberos_principal", json!(principal.to_string()));
        }
        if let Some(name) = self.authentication.certificate_name() {
            put(name.member(), json!(name.value()));
        }
        all
    }

    /// The same with everything that an administrator may say of a client.
    pub fn for_administrators(&self) -> Map<String, Value> {
        let flow = &self.code_flow;
        let extras = json!(Extras {
            audiences: self.audiences.clone(),
            consent: flow.consent,
            exchange: self.exchange.clone(),
            nonce_optional: flow.nonce_optional,
            pkce_optional: flow.pkce_optional,
            profile: self.profile,
            refresh_lifetime_seconds: flow.refresh_lifetime_seconds,
            resources: self.resources.clone(),
            token_lifetime_seconds: Some(self.token_lifetime_seconds),
        });
        let mut all = self.metadata();
        all.extend(
            extras.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())),
        );
        all.insert("configured".into(), (self.origin == Origin::Configured).into());
        all.insert("disabled".into(), (self.origin == Origin::Withdrawn).into());
        all.insert("registered_itself".into(), self.registration.is_some().into());
        all
    }
}
