//! `sealstone client`: who may ask the token server.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use sealstone_auth::admin::DEFAULT_TOKEN_LIFETIME_SECONDS;
use sealstone_auth::{
    About, Admin, AuthMethod, Client, CodeFlow, Consent, Exchange, Grant, HttpsUri, Logout, NewClient,
    NewSubject, Origin, Profile, RedirectUri, RefreshLifetime, SubjectType,
};
use sealstone_jose::Algorithm;
use serde_json::{Value, json};
use tokio::runtime::{Builder, Runtime};

use crate::client_auth::{self, AuthOptions};
use crate::clock::{parse_span, utc};
use crate::error::Error;
use crate::files::{Readers, Target, shown};
use crate::flags;
use crate::serve::load;
use crate::terminal::{BOLD, DIM, Safe, Terminal};

/// The verbs.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Register a client and print its secret, once
    Add(Box<Add>),
    /// List the registered clients
    List(List),
    /// Remove a client; its tokens cease to be active
    Remove(Remove),
}

/// Options of `client add`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone client add --config /etc/sealstone.toml --id billing --scope orders:read
  sealstone client add --id billing --secret-out billing.secret
  sealstone client add --id gateway --resource https://orders.example --introspect-only
  sealstone client add --id billing --auth-method private_key_jwt --jwks billing.jwks
  sealstone client add --id billing --auth-method tls_client_auth --tls-client-auth-san-dns billing.example.org
  sealstone client add --id billing --auth-method self_signed_tls_client_auth --certificate billing.pem
  sealstone client add --id ci --auth-method kerberos_client_auth \
    --kerberos-principal host/ci.example.org@EXAMPLE.ORG
  sealstone client add --id orders --grant token-exchange --exchange-from https://orders.example \
    --exchange-to https://stock.example
  sealstone client add --id shop --redirect-uri https://shop.example/callback --scope openid --scope email
  sealstone client add --id tv --auth-method none --grant device_code --grant refresh_token --scope openid
  sealstone client add --id bank --profile fapi2 --auth-method private_key_jwt --jwks bank.jwks \
    --dpop-bound-access-tokens --redirect-uri https://bank.example/callback --scope accounts
  sealstone client add --id app --auth-method none --redirect-uri http://127.0.0.1/callback --scope openid

With private_key_jwt the client keeps its key and no secret travels: each request brings a token that the \
client has signed, with its id as iss and sub, the issuer as aud, an exp within 5 minutes and a jti that is \
used once. The server keeps the public keys of --jwks, or fetches them from --jwks-uri; `sealstone key show \
--public --format jwk` prints one for it. client_secret_jwt is the same with a MAC under the secret, which the \
server then keeps sealed.

With tls_client_auth the client shows a certificate in the TLS handshake that an authority of `tls.client_ca` \
has certified and that bears exactly the name given here. With self_signed_tls_client_auth it shows one that \
is registered itself: --certificate takes it as PEM, --jwks and --jwks-uri a JWK set with x5c, x5t#S256 or bare \
keys. A proxy that ends TLS shows the server no certificate, and no header is believed.

With kerberos_client_auth the client shows a Kerberos ticket for the server (`Authorization: Negotiate`), which is \
of exactly this principal. It goes with `kerberos.keytab`, in a build with the feature kerberos.

A secret is at least 256 random bits. The server keeps only its hash, or the secret sealed, so it is shown here and \
never again. A running server takes the client in within a second.")]
pub(crate) struct Add {
    #[command(flatten)]
    place: Place,
    /// Its identifier; drawn at random if not given
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// A name for people
    #[arg(long, value_name = "NAME", default_value = "")]
    name: String,
    /// What its tokens are signed with; ML-DSA-65 if not given, and ES256 with --profile fapi2
    #[arg(long, value_name = "ALG", ignore_case = true, value_parser = flags::algorithm())]
    alg: Option<Algorithm>,
    /// Hold it to a profile: fapi2 is the FAPI 2.0 Security Profile; what contradicts it is refused
    #[arg(long, value_name = "PROFILE", value_parser = flags::profile())]
    profile: Option<Profile>,
    #[command(flatten)]
    auth: AuthOptions,
    /// Refuse its token requests without a DPoP proof (RFC 9449), so that each of its tokens is bound to a key
    #[arg(long)]
    dpop_bound_access_tokens: bool,
    /// A scope it may have; may be given more than once
    #[arg(long, value_name = "SCOPE")]
    scope: Vec<String>,
    /// An audience of its tokens, the issuer if none is given; may be given more than once
    #[arg(long, value_name = "AUDIENCE")]
    audience: Vec<String>,
    /// An audience it answers for: it may introspect tokens for it; may be given more than once
    #[arg(long, value_name = "AUDIENCE")]
    resource: Vec<String>,
    /// How long its tokens live, as in 15m
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = parse_span)]
    lifetime: Duration,
    /// What it may ask the token endpoint for, a URN also by its last word; may be given more than once. Without it, what
    /// fits the rest
    #[arg(long, value_name = "GRANT", value_parser = flags::grant(), hide_possible_values = true)]
    grant: Vec<Grant>,
    /// An audience whose tokens it may exchange, as a rule one it answers for; may be given more than once
    #[arg(long, value_name = "AUDIENCE", requires = "exchange_to")]
    exchange_from: Vec<String>,
    /// An audience that it may exchange them for; may be given more than once
    #[arg(long, value_name = "AUDIENCE", requires = "exchange_from")]
    exchange_to: Vec<String>,
    /// Leave it out of the tokens it exchanges: nobody will see that it acts for their subject
    #[arg(long, requires = "exchange_to")]
    impersonation: bool,
    /// Where people are sent back to, which lets it use the authorization code grant; may be given more than once
    #[arg(long, value_name = "URI", value_parser = flags::redirect_uri)]
    redirect_uri: Vec<RedirectUri>,
    /// Do not ask people whether it may have its scopes: it belongs to the same house as the server
    #[arg(long, requires = "redirect_uri")]
    consent_implied: bool,
    /// Let it do without PKCE if it sends a nonce; only for a client that cannot be changed
    #[arg(long, requires = "redirect_uri")]
    pkce_optional: bool,
    /// Let it do without a nonce too, as OpenID Connect Core has it: a code can then be used by a browser that did not ask
    /// for it, and the server cannot see that
    #[arg(long, requires = "pkce_optional")]
    nonce_optional: bool,
    /// Its home page, to which the pages link
    #[arg(long, value_name = "URL", value_parser = flags::https_uri, requires = "redirect_uri")]
    client_uri: Option<HttpsUri>,
    /// Where it says how it handles what it learns of people, to which the pages link
    #[arg(long, value_name = "URL", value_parser = flags::https_uri, requires = "redirect_uri")]
    policy_uri: Option<HttpsUri>,
    /// Its terms of service, to which the pages link
    #[arg(long, value_name = "URL", value_parser = flags::https_uri, requires = "redirect_uri")]
    tos_uri: Option<HttpsUri>,
    /// Take its authorization requests only where it has pushed them itself (RFC 9126), never from a browser
    #[arg(long, requires = "redirect_uri")]
    require_pushed_authorization_requests: bool,
    /// Where people may be sent once they have signed out at its word, byte by byte; may be given more than once
    #[arg(long, value_name = "URI", value_parser = flags::redirect_uri)]
    post_logout_redirect_uri: Vec<RedirectUri>,
    /// Where it is told that a session in which it got tokens has ended (OpenID Connect Back-Channel Logout), over https
    #[arg(long, value_name = "URL", value_parser = flags::https_uri)]
    backchannel_logout_uri: Option<HttpsUri>,
    /// It needs the session's `sid` in what it is told; it is there for every client
    #[arg(long, requires = "backchannel_logout_uri")]
    backchannel_logout_session_required: bool,
    /// Take its authorization requests only where it has signed them (RFC 9101) with a key of its JWK set
    #[arg(long, requires = "redirect_uri")]
    require_signed_request_object: bool,
    /// The one algorithm of those signatures; that of any of its keys if not given
    #[arg(long, value_name = "ALG", requires = "redirect_uri", ignore_case = true, value_parser = flags::algorithm())]
    request_object_signing_alg: Option<Algorithm>,
    /// What signs introspections that it asks for as JWTs (RFC 9701); what signs its tokens if not given
    #[arg(long, value_name = "ALG", ignore_case = true, value_parser = flags::algorithm())]
    introspection_signed_response_alg: Option<Algorithm>,
    /// Sign what the userinfo endpoint says to it
    #[arg(long, value_name = "ALG", requires = "redirect_uri", ignore_case = true, value_parser = flags::algorithm())]
    userinfo_signed_response_alg: Option<Algorithm>,
    /// What it sees of a person: the same `sub` as all, or one that only the clients of its sector see
    #[arg(long, value_name = "TYPE", default_value = "public", value_parser = ["public", "pairwise"])]
    subject_type: String,
    /// Where the redirect URIs of its sector are listed, for pairwise subjects of clients with several hosts; fetched now
    #[arg(long, value_name = "URL", value_parser = flags::https_uri)]
    sector_identifier_uri: Option<HttpsUri>,
    /// How long a refresh token lives without being used, as in 30d
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = parse_span)]
    refresh_lifetime: Duration,
    /// It gets no tokens: it only asks about those of others
    #[arg(long, conflicts_with = "grant")]
    introspect_only: bool,
    /// Write the secret to this file, for its owner alone, instead of printing it
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    secret_out: Option<OsString>,
    /// Replace the secret's file if it is there
    #[arg(long, requires = "secret_out")]
    force: bool,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `client list`.
#[derive(Args)]
pub(crate) struct List {
    #[command(flatten)]
    place: Place,
    /// In JSON
    #[arg(long)]
    json: bool,
}

/// Options of `client remove`.
#[derive(Args)]
pub(crate) struct Remove {
    #[command(flatten)]
    place: Place,
    /// Its identifier
    #[arg(value_name = "ID")]
    id: String,
}

/// Where the clients and the users are.
#[derive(Args)]
pub(crate) struct Place {
    /// The server's configuration; without it every value is the default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Place {
    pub(crate) fn admin(&self) -> Result<Admin, Error> {
        Ok(Admin::open(&load(self.config.as_ref())?)?)
    }
}

pub(crate) fn run(command: Command, terminal: &mut Terminal) -> Result<(), Error> {
    let runtime = runtime()?;
    match command {
        Command::Add(options) => add(*options, &runtime, terminal),
        Command::List(options) => list(&options, &runtime, terminal),
        Command::Remove(options) => {
            let admin = options.place.admin()?;
            runtime.block_on(admin.remove_client(&options.id, None))?;
            terminal.line(format_args!("{} removed; its tokens are no longer active", Safe(&options.id)))
        }
    }
}

/// The runtime of a command that asks the store and ends.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    let built = Builder::new_current_thread().enable_all().build();
    built.map_err(|cause| Error::file("the runtime", "started", cause))
}

fn add(options: Add, runtime: &Runtime, terminal: &mut Terminal) -> Result<(), Error> {
    let secret_out = options.secret_out.clone().map(Target::from);
    if options.json && secret_out == Some(Target::Stdout) {
        return Err(Error::usage(
            "--json and the secret cannot share standard output",
            "leave --secret-out away",
        ));
    }
    let authentication = options.auth.read(secret_out.is_some())?;
    // Before the client is there: its secret must not be lost.
    secret_out.as_ref().map_or(Ok(()), |out| out.check(options.force))?;
    let grants = grants(&options);
    let subject = match (options.subject_type == "pairwise", options.sector_identifier_uri.clone()) {
        (true, sector_identifier_uri) => NewSubject::Pairwise { sector_identifier_uri },
        (false, None) => NewSubject::Public,
        (false, Some(_)) => {
            let hint = "--subject-type pairwise gives it a sector";
            return Err(Error::usage("--sector-identifier-uri goes with pairwise subjects", hint));
        }
    };
    let new = NewClient {
        algorithm: options.alg.unwrap_or(match options.profile {
            None => Algorithm::MlDsa65,
            Some(_) => Algorithm::Es256,
        }),
        audiences: options.audience,
        authentication,
        code_flow: CodeFlow {
            about: About {
                client_uri: options.client_uri,
                policy_uri: options.policy_uri,
                tos_uri: options.tos_uri,
            },
            consent: if options.consent_implied { Consent::Implied } else { Consent::Asked },
            nonce_optional: options.nonce_optional,
            pkce_optional: options.pkce_optional,
            redirect_uris: options.redirect_uri,
            refresh_lifetime_seconds: RefreshLifetime(options.refresh_lifetime.as_secs()),
            request_object_signing_alg: options.request_object_signing_alg,
            require_pushed_authorization_requests: options.require_pushed_authorization_requests,
            require_signed_request_object: options.require_signed_request_object,
            userinfo_signed_response_alg: options.userinfo_signed_response_alg,
        },
        dpop_bound_access_tokens: options.dpop_bound_access_tokens,
        exchange: Exchange {
            from: options.exchange_from.into_iter().collect(),
            impersonation: options.impersonation,
            to: options.exchange_to.into_iter().collect(),
        },
        grants,
        tls_client_certificate_bound_access_tokens: options.auth.tls_client_certificate_bound_access_tokens,
        id: options.id,
        introspection_signed_response_alg: options.introspection_signed_response_alg,
        logout: Logout {
            backchannel_logout_session_required: options.backchannel_logout_session_required,
            backchannel_logout_uri: options.backchannel_logout_uri,
            post_logout_redirect_uris: options.post_logout_redirect_uri,
        },
        name: options.name,
        profile: options.profile,
        resources: options.resource,
        scopes: options.scope.into_iter().collect(),
        subject,
        token_lifetime_seconds: options.lifetime.as_secs(),
    };
    let admin = options.place.admin()?;
    let (client, secret) = runtime.block_on(admin.add_client(new))?;
    if let (Some(out), Some(secret)) = (&secret_out, &secret) {
        let written =
            out.write(format!("{}\n", secret.reveal()).as_bytes(), Readers::Owner, options.force, terminal);
        if let Err(error) = written {
            // A client whose secret nobody has is of no use to anybody.
            runtime.block_on(admin.remove_client(&client.id, None))?;
            return Err(error);
        }
    }
    if options.json {
        let mut said = row(&client);
        said["client_id"] = client.id.as_str().into();
        if let (None, Some(secret)) = (&secret_out, &secret) {
            said["client_secret"] = secret.reveal().into();
        }
        return terminal.json(&said);
    }
    if secret_out == Some(Target::Stdout) {
        return Ok(());
    }
    terminal.line(format_args!("{DIM}client id{DIM:#}      {}", client.id))?;
    match (secret_out, secret) {
        (_, None) => match client_auth::known_by(&client) {
            Some((name, value)) => terminal.line(format_args!("{DIM}{name:<13}{DIM:#}  {value}")),
            None => Ok(()),
        },
        (Some(Target::Path(path)), _) => {
            terminal.line(format_args!("{DIM}client secret{DIM:#}  in {}, for you alone", shown(&path)))
        }
        (_, Some(secret)) => {
            terminal.line(format_args!("{DIM}client secret{DIM:#}  {}", secret.reveal()))?;
            terminal.line(format_args!(
                "\nThis is the only time the secret is shown; the server keeps {}.",
                match client.authentication.shared_secret() {
                    Some(_) => "it sealed",
                    None => "a hash of it",
                }
            ))
        }
    }
}

/// What is asked for, or what fits the rest: people for a client that they can be sent back to, itself for one that proves who it is.
fn grants(options: &Add) -> BTreeSet<Grant> {
    let mut grants = BTreeSet::new();
    if options.introspect_only {
        return grants;
    }
    if !options.grant.is_empty() {
        return options.grant.iter().copied().collect();
    }
    if options.auth.auth_method != AuthMethod::None {
        grants.insert(Grant::ClientCredentials);
    }
    if !options.redirect_uri.is_empty() {
        grants.extend([Grant::AuthorizationCode, Grant::RefreshToken]);
    }
    grants
}

fn list(options: &List, runtime: &Runtime, terminal: &mut Terminal) -> Result<(), Error> {
    let clients = runtime.block_on(options.place.admin()?.list_clients())?;
    if options.json {
        return terminal.json(&clients.iter().map(|(client, _)| row(client)).collect());
    }
    if clients.is_empty() {
        return terminal.line("no clients; `sealstone client add` registers one");
    }
    let width = clients.iter().map(|(client, _)| client.id.len()).max().unwrap_or(0);
    for (client, _) in &clients {
        terminal.line(format_args!(
            "{BOLD}{:<width$}{BOLD:#}  {:<9}  {}",
            client.id,
            client.algorithm.name(),
            Safe(&client.name)
        ))?;
        let scopes: Vec<&str> = client.scopes.iter().map(String::as_str).collect();
        let facts = [
            (
                "tokens",
                if client.grants.is_empty() { "none, introspection only".into() } else { lifetime(client) },
            ),
            ("scopes", scopes.join(" ")),
            ("audiences", client.audiences.join(" ")),
            ("answers for", client.resources.join(" ")),
            ("exchanges", exchanges(&client.exchange)),
            ("sends back to", uris(&client.code_flow.redirect_uris)),
            (
                "is told at",
                client
                    .logout
                    .backchannel_logout_uri
                    .as_ref()
                    .map_or(String::new(), |uri| uri.as_str().into()),
            ),
            ("signs out to", uris(&client.logout.post_logout_redirect_uris)),
            ("profile", client.profile.map(|profile| profile.name().to_owned()).unwrap_or_default()),
            ("requests", requests(client)),
            ("auth method", client.authentication.method().name().to_owned()),
            client_auth::known_by(client).unwrap_or_default(),
            (
                "tokens are",
                match client.tls_client_certificate_bound_access_tokens {
                    true => "bound to its certificate".into(),
                    false => String::new(),
                },
            ),
            ("subjects", sector(client)),
            (
                "state",
                match client.origin {
                    Origin::Configured => "of the configuration".into(),
                    Origin::Withdrawn => "disabled, because the configuration has it no more".into(),
                    _ => String::new(),
                },
            ),
            ("since", utc(client.created_at)),
        ];
        for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
            terminal.line(format_args!("  {DIM}{name:<13}{DIM:#}  {value}"))?;
        }
    }
    Ok(())
}

/// Who shares what the client sees of a person; empty if all do.
fn sector(client: &Client) -> String {
    match &client.subject {
        SubjectType::Pairwise { sector, .. } => format!("pairwise, shared within {sector}"),
        _ => String::new(),
    }
}

/// `tokens for A B into tokens for C`; empty if it may exchange none.
fn exchanges(policy: &Exchange) -> String {
    if policy.is_none() {
        return String::new();
    }
    let names = |names: &BTreeSet<String>| names.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
    let unseen = if policy.impersonation { ", unseen" } else { "" };
    format!("tokens for {} into tokens for {}{unseen}", names(&policy.from), names(&policy.to))
}

fn lifetime(client: &Client) -> String {
    let seconds = client.token_lifetime_seconds;
    let default = if seconds == DEFAULT_TOKEN_LIFETIME_SECONDS { ", the default" } else { "" };
    let bound = if client.dpop_bound_access_tokens { ", bound by DPoP" } else { "" };
    format!("for {seconds} seconds{default}{bound}")
}

/// What its authorization requests must be.
fn requests(client: &Client) -> String {
    match (client.must_push(), client.code_flow.require_signed_request_object) {
        (true, true) => "pushed and signed".into(),
        (true, false) => "pushed".into(),
        (false, true) => "signed".into(),
        (false, false) => String::new(),
    }
}

fn uris(uris: &[RedirectUri]) -> String {
    uris.iter().map(RedirectUri::as_str).collect::<Vec<_>>().join(" ")
}

fn row(client: &Client) -> Value {
    let mut row = json!({
        "algorithm": client.algorithm.name(),
        "audiences": client.audiences,
        "created_at": client.created_at.0,
        "grants": client.grants.iter().map(|grant| grant.name()).collect::<Vec<_>>(),
        "id": client.id,
        "name": client.name,
        "redirect_uris": client.code_flow.redirect_uris,
        "resources": client.resources,
        "scopes": client.scopes,
        "token_lifetime_seconds": client.token_lifetime_seconds,
    });
    client_auth::members(client, &mut row);
    if client.origin != Origin::Registered {
        row["origin"] = json!(client.origin);
    }
    if !client.exchange.is_none() {
        row["exchange"] = json!(client.exchange);
    }
    if let Some(profile) = client.profile {
        row["profile"] = profile.name().into();
    }
    if client.code_flow.require_pushed_authorization_requests {
        row["require_pushed_authorization_requests"] = true.into();
    }
    if let Some(algorithm) = client.introspection_signed_response_alg {
        row["introspection_signed_response_alg"] = algorithm.name().into();
    }
    if client.code_flow.require_signed_request_object {
        row["require_signed_request_object"] = true.into();
    }
    if let Some(algorithm) = client.code_flow.request_object_signing_alg {
        row["request_object_signing_alg"] = algorithm.name().into();
    }
    if let SubjectType::Pairwise { sector, sector_identifier_uri } = &client.subject {
        row["subject_type"] = client.subject.name().into();
        row["sector"] = sector.as_str().into();
        if let Some(uri) = sector_identifier_uri {
            row["sector_identifier_uri"] = uri.as_str().into();
        }
    }
    if !client.logout.is_none() {
        for (name, value) in json!(client.logout).as_object().into_iter().flatten() {
            row[name] = value.clone();
        }
    }
    if client.dpop_bound_access_tokens {
        row["dpop_bound_access_tokens"] = true.into();
    }
    row
}
