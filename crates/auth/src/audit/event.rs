//! The kinds of events that a server writes down.

use sealstone_audit::Kind;

/// What happened. The name of each is in [`What::name`] and, with its members, in docs/formats/audit.md.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// A request to the admin API was refused.
    AdminRefused,
    /// A client got an authorization code (RFC 6749 §4.1.2).
    AuthorizationIssued,
    /// An authorization request was refused.
    AuthorizationRefused,
    /// A client was registered in another way, or was given a new secret.
    ClientChanged,
    /// A client of the configuration is there no more.
    ClientDisabled,
    /// A client was registered.
    ClientRegistered,
    /// A client was removed.
    ClientRemoved,
    /// A person denied a client what it asked for.
    ConsentDenied,
    /// A person allowed a client what it asked for.
    ConsentGiven,
    /// A device asked for a person's answer (RFC 8628 §3.1).
    DeviceAsked,
    /// A device's request, or a person's code for one, was refused.
    DeviceRefused,
    /// An introspection was refused.
    IntrospectionRefused,
    /// An issuer is trusted no more.
    IssuerRemoved,
    /// An issuer is trusted from now on.
    IssuerTrusted,
    /// A signing key was made, or came to another state of its life.
    KeyMoved,
    /// An administrator took a signing key out of use at once.
    KeyRetired,
    /// An administrator began the life of the next signing key.
    KeyRotated,
    /// Lines that there was no room for: their number.
    LinesLost,
    /// The writer began to write to this chain, or to its next file.
    Opened,
    /// A person added a passkey.
    PasskeyAdded,
    /// A person's passkeys could not be changed.
    PasskeyRefused,
    /// A person removed a passkey, or an administrator all of them.
    PasskeyRemoved,
    /// A password was set.
    PasswordSet,
    /// An authorization request was pushed (RFC 9126).
    PushAccepted,
    /// A pushed authorization request was refused.
    PushRefused,
    /// A client managed its own registration (RFC 7591, RFC 7592).
    RegistrationDone,
    /// A registration was refused.
    RegistrationRefused,
    /// A request that decides something was given up by its client before the answer; what it changed is changed.
    RequestAbandoned,
    /// A revocation was refused.
    RevocationRefused,
    /// The end of a block: everything before it is signed.
    Seal,
    /// A client was given a new secret.
    SecretRenewed,
    /// The server began to serve.
    ServerStarted,
    /// The server ended.
    ServerStopped,
    /// An administrator ended a session, or all of a user.
    SessionEnded,
    /// Somebody could not sign in.
    SignInFailed,
    /// Somebody signed in.
    SignInSucceeded,
    /// An attempt to sign in was not judged: too many have failed.
    SignInThrottled,
    /// Somebody signed out.
    SignOut,
    /// Somebody was not signed out: the form was not that of the page.
    SignOutRefused,
    /// A token was looked at (RFC 7662). Only with `audit.introspection`.
    TokenIntrospected,
    /// An access token was issued.
    TokenIssued,
    /// A token request was refused.
    TokenRefused,
    /// A token was revoked (RFC 7009).
    TokenRevoked,
    /// A user was registered.
    UserAdded,
    /// A user may sign in no longer.
    UserDisabled,
    /// A user may sign in again.
    UserEnabled,
    /// A user was removed.
    UserRemoved,
    /// Somebody's claims were given out. Only with `audit.introspection`.
    UserinfoAnswered,
    /// A request for somebody's claims was refused.
    UserinfoRefused,
}

impl What {
    /// Every one, those of the log itself first.
    pub const ALL: [What; 49] = [
        What::Opened,
        What::LinesLost,
        What::Seal,
        What::AdminRefused,
        What::AuthorizationIssued,
        What::AuthorizationRefused,
        What::ClientChanged,
        What::ClientDisabled,
        What::ClientRegistered,
        What::ClientRemoved,
        What::ConsentDenied,
        What::ConsentGiven,
        What::DeviceAsked,
        What::DeviceRefused,
        What::IntrospectionRefused,
        What::IssuerRemoved,
        What::IssuerTrusted,
        What::KeyMoved,
        What::KeyRetired,
        What::KeyRotated,
        What::PasskeyAdded,
        What::PasskeyRefused,
        What::PasskeyRemoved,
        What::PasswordSet,
        What::PushAccepted,
        What::PushRefused,
        What::RegistrationDone,
        What::RegistrationRefused,
        What::RequestAbandoned,
        What::RevocationRefused,
        What::SecretRenewed,
        What::ServerStarted,
        What::ServerStopped,
        What::SessionEnded,
        What::SignInFailed,
        What::SignInSucceeded,
        What::SignInThrottled,
        What::SignOut,
        What::SignOutRefused,
        What::TokenIntrospected,
        What::TokenIssued,
        What::TokenRefused,
        What::TokenRevoked,
        What::UserAdded,
        What::UserDisabled,
        What::UserEnabled,
        What::UserRemoved,
        What::UserinfoAnswered,
        What::UserinfoRefused,
    ];

    /// The value of the member `event`.
    pub const fn name(self) -> &'static str {
        match self {
            What::AdminRefused => "admin.refused",
            What::AuthorizationIssued => "authorization.issued",
            What::AuthorizationRefused => "authorization.refused",
            What::ClientChanged => "client.changed",
            What::ClientDisabled => "client.disabled",
            What::ClientRegistered => "client.registered",
            What::ClientRemoved => "client.removed",
            What::ConsentDenied => "consent.denied",
            What::ConsentGiven => "consent.given",
            What::DeviceAsked => "device.asked",
            What::DeviceRefused => "device.refused",
            What::IntrospectionRefused => "introspection.refused",
            What::IssuerRemoved => "issuer.removed",
            What::IssuerTrusted => "issuer.trusted",
            What::KeyMoved => "key.moved",
            What::KeyRetired => "key.retired",
            What::KeyRotated => "key.rotated",
            What::LinesLost => sealstone_audit::LOST.name,
            What::Opened => sealstone_audit::OPENED.name,
            What::PasskeyAdded => "passkey.added",
            What::PasskeyRefused => "passkey.refused",
            What::PasskeyRemoved => "passkey.removed",
            What::PasswordSet => "password.set",
            What::PushAccepted => "push.accepted",
            What::PushRefused => "push.refused",
            What::RegistrationDone => "registration.done",
            What::RegistrationRefused => "registration.refused",
            What::RequestAbandoned => "request.abandoned",
            What::RevocationRefused => "revocation.refused",
            What::Seal => sealstone_audit::SEAL.name,
            What::SecretRenewed => "client.secret_renewed",
            What::ServerStarted => "server.started",
            What::ServerStopped => "server.stopped",
            What::SessionEnded => "session.ended",
            What::SignInFailed => "sign-in.failed",
            What::SignInSucceeded => "sign-in.succeeded",
            What::SignInThrottled => "sign-in.throttled",
            What::SignOut => "sign-out",
            What::SignOutRefused => "sign-out.refused",
            What::TokenIntrospected => "token.introspected",
            What::TokenIssued => "token.issued",
            What::TokenRefused => "token.refused",
            What::TokenRevoked => "token.revoked",
            What::UserAdded => "user.added",
            What::UserDisabled => "user.disabled",
            What::UserEnabled => "user.enabled",
            What::UserRemoved => "user.removed",
            What::UserinfoAnswered => "userinfo.answered",
            What::UserinfoRefused => "userinfo.refused",
        }
    }

    /// Whether it goes to the journal as a warning: something was refused or lost.
    pub const fn is_warning(self) -> bool {
        matches!(
            self,
            What::AdminRefused
                | What::AuthorizationRefused
                | What::DeviceRefused
                | What::PushRefused
                | What::RegistrationRefused
                | What::IntrospectionRefused
                | What::LinesLost
                | What::PasskeyRefused
                | What::RevocationRefused
                | What::SignInFailed
                | What::SignInThrottled
                | What::SignOutRefused
                | What::TokenRefused
                | What::UserinfoRefused
        )
    }
}

impl From<What> for Kind {
    fn from(what: What) -> Kind {
        Kind { name: what.name(), warning: what.is_warning() }
    }
}
