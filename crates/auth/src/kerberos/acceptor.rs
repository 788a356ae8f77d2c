//! What a token proves: the server's part of RFC 4120 §3.2.3, with the bindings of RFC 4121 §4.1.1.

use std::borrow::Cow;

use aws_lc_rs::digest;
use sealstone_jose::UnixSeconds;

use super::crypto::BLOCK;
use super::keytab::Keys;
use super::message::{ApReq, Authenticator, TicketPart, ap_rep};
use super::spnego::Opening;
use super::{Accepted, CHANCE, CLOCK_SKEW_SECONDS, MAX_TOKEN};
use crate::client::Principal;
use crate::clock::later;
use crate::error::ConfigError;
use crate::{Error, config};

/// RFC 4120 §7.5.1.
const USAGE_TICKET: u32 = 2;
const USAGE_AP_REQ_AUTHENTICATOR: u32 = 11;
const USAGE_AP_REP: u32 = 12;

/// RFC 4121 §4.1.1: the checksum that is none.
const CHECKSUM_TYPE: i64 = 0x8003;

/// Accepts tokens for one service.
#[derive(Debug)]
pub struct Acceptor {
    keys: Keys,
    /// The realms whose principals are known.
    realms: Vec<String>,
    service: Principal,
}

impl Acceptor {
    /// Reads the keytab. `None` if there is none to be read.
    /// Errors: `Config`, if it cannot be read, lets everyone in, or has no key of the service.
    pub fn load(config: &config::Kerberos) -> Result<Option<Self>, Error> {
        let Some(path) = &config.keytab else { return Ok(None) };
        let fault = |what: String, hint: String| {
            Error::Config(ConfigError { file: None, line: None, column: None, what, hint: Some(hint) })
        };
        let service = config.service().map_err(|what| {
            fault(format!("`kerberos.service` {what}"), "as in HTTP/auth.example.org@EXAMPLE.ORG".into())
        })?;
        let keys = Keys::load(path, &service)
            .map_err(|(what, hint)| fault(format!("`kerberos.keytab`: {}: {what}", path.display()), hint))?;
        Ok(Some(Self { keys, realms: config.realms(), service }))
    }

    /// Checks a token: everything but that it was not used before.
    ///
    /// The ticket is sealed for this service and of a realm that is known, it is its time, and whoever sent it holds its
    /// key, now. Channel bindings are not looked at (RFC 4121 §4.1.1.2 lets the acceptor), nor are the addresses in a
    /// ticket: they say where a client was when it asked.
    /// Errors: what is wrong with it, for the operator; it holds nothing secret.
    pub(crate) fn accept(
        &self,
        token: &[u8],
        now: UnixSeconds,
        chance: [u8; CHANCE],
    ) -> Result<Accepted, Cow<'static, str>> {
        if token.len() > MAX_TOKEN {
            return Err("it is longer than any that could be accepted".into());
        }
        let opening = Opening::parse(token).map_err(|cause| cause.to_string())?;
        let request = ApReq::parse(opening.ap_req).map_err(|cause| cause.to_string())?;
        let ticket = self.open_ticket(&request)?;
        let key = ticket.session_key.as_ref().ok_or("the session key is not one of AES")?;
        let sealed = &request.authenticator;
        let shown =
            key.open(USAGE_AP_REQ_AUTHENTICATOR, sealed.cipher).filter(|_| sealed.etype == key.etype());
        let shown = shown.ok_or("the authenticator is not sealed with the key of the ticket")?;
        let shown = Authenticator::parse(&shown).map_err(|cause| cause.to_string())?;
        if shown.client != ticket.client {
            return Err("the authenticator is of somebody else than the ticket".into());
        }
        self.check_ticket(&ticket, now)?;
        check_authenticator(&shown, now)?;

        let (confounder, sequence) = chance.split_at(BLOCK);
        let (confounder, sequence) = (array(confounder), array(sequence));
        let reply = request.mutual.then(|| key.seal(USAGE_AP_REP, confounder, &shown.answer(sequence)));
        let reply = reply.map(|sealed| sealed.map(|sealed| ap_rep(key.etype(), &sealed)));
        let reply = reply.map(|reply| reply.ok_or("the answer could not be sealed")).transpose()?;
        Ok(Accepted {
            made_at: shown.made_at,
            principal: ticket.client,
            reply: opening.complete(reply.as_deref()),
            seal: array(digest::digest(&digest::SHA256, sealed.cipher).as_ref()),
        })
    }

    /// Opens the ticket with a key of the service.
    fn open_ticket(&self, request: &ApReq<'_>) -> Result<TicketPart, Cow<'static, str>> {
        if request.use_session_key {
            return Err("the ticket is for user to user authentication".into());
        }
        if request.service != self.service {
            return Err(format!("the ticket is for {}, and not for {}", request.service, self.service).into());
        }
        let sealed = &request.ticket;
        let (etype, kvno) = (sealed.etype, sealed.kvno);
        let opened = self.keys.for_ticket(etype, kvno).find_map(|key| key.open(USAGE_TICKET, sealed.cipher));
        let opened = opened.ok_or_else(|| {
            let version = kvno.map_or_else(|| "no".to_owned(), |kvno| kvno.to_string());
            format!("no key of the keytab opens the ticket: it names encryption type {etype} and key version {version}")
        })?;
        TicketPart::parse(&opened).map_err(|cause| cause.to_string().into())
    }

    /// RFC 4120 §3.2.3, with §2.7 for realms.
    fn check_ticket(&self, ticket: &TicketPart, now: UnixSeconds) -> Result<(), Cow<'static, str>> {
        if !self.realms.iter().any(|realm| realm == ticket.client.realm()) {
            return Err(format!("`kerberos.realms` does not have the realm of {}", ticket.client).into());
        }
        if ticket.transited_unchecked {
            return Err("the KDC has not judged the realms that the ticket came through".into());
        }
        if ticket.has_unknown_data {
            return Err("the ticket holds restrictions that are not understood".into());
        }
        if ticket.invalid || ticket.starts_at > later(now, CLOCK_SKEW_SECONDS) {
            return Err("the ticket is not valid yet".into());
        }
        if later(ticket.ends_at, CLOCK_SKEW_SECONDS) < now {
            return Err("the ticket is over".into());
        }
        Ok(())
    }
}

/// RFC 4120 §3.2.3 for the clock; RFC 4121 §4.1.1 for the checksum, which shows that the GSS-API made it.
fn check_authenticator(shown: &Authenticator, now: UnixSeconds) -> Result<(), Cow<'static, str>> {
    let apart = shown.made_at.0.abs_diff(now.0);
    if apart > CLOCK_SKEW_SECONDS {
        return Err(format!("the clocks are {apart} seconds apart, or the token is that old").into());
    }
    if shown.has_unknown_data {
        return Err("the authenticator holds restrictions that are not understood".into());
    }
    match &shown.checksum {
        // The length of the bindings, the bindings, and the flags at least.
        Some((CHECKSUM_TYPE, content)) if content.len() >= 24 && content[..4] == [16, 0, 0, 0] => Ok(()),
        _ => Err("the authenticator is not one of the GSS-API".into()),
    }
}

/// The first bytes; zeros where there are none.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    array
}
