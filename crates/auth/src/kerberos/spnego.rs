//! The token around a Kerberos message: SPNEGO (RFC 4178) outside, the Kerberos mechanism (RFC 4121 §4.1) inside.
//!
//! One exchange and no negotiation: the client's first choice must be Kerberos, with its token beside it. So nothing was
//! there to be chosen, and no MIC over the choice is due (RFC 4178 §5).

use sealstone_pki::Error;
use sealstone_pki::der::{self, OBJECT_IDENTIFIER, OCTET_STRING, Reader, SEQUENCE, Tag};

/// iso.org.dod.internet.security.mechanism.snego, 1.3.6.1.5.5.2.
const SPNEGO: &[u8] = &[0x2b, 6, 1, 5, 5, 2];
/// 1.2.840.113554.1.2.2, RFC 1964 §1.
const KERBEROS: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x12, 1, 2, 2];
/// 1.2.840.48018.1.2.2, by which Windows calls the same.
const KERBEROS_OF_WINDOWS: &[u8] = &[0x2a, 0x86, 0x48, 0x82, 0xf7, 0x12, 1, 2, 2];

const ENUMERATED: Tag = Tag { byte: 0x0a, name: "an ENUMERATED" };
/// RFC 2743 §3.1.
const INITIAL_TOKEN: Tag = Tag { byte: 0x60, name: "a GSS-API token" };
const NEG_TOKEN_INIT: Tag = member(0);
const NEG_TOKEN_RESP: Tag = member(1);

/// RFC 4121 §4.1: what the inner token is.
const TOK_ID_AP_REQ: &[u8] = &[1, 0];
const TOK_ID_AP_REP: &[u8] = &[2, 0];

const fn member(number: u8) -> Tag {
    Tag { byte: 0xa0 | number, name: "a member of the SPNEGO token" }
}

/// The first token of a client.
pub(super) struct Opening<'a> {
    pub(super) ap_req: &'a [u8],
    /// The object identifier that the client has chosen.
    mechanism: &'a [u8],
}

impl<'a> Opening<'a> {
    /// Takes it apart, RFC 4178 §4.2.1.
    pub(super) fn parse(token: &'a [u8]) -> Result<Self, Error> {
        let mut token = initial(token, SPNEGO)?;
        let mut init = token.take(NEG_TOKEN_INIT)?;
        token.end()?;
        let mut fields = init.take(SEQUENCE)?;
        init.end()?;
        let mut list = fields.take(member(0))?;
        let mut mechanisms = list.take(SEQUENCE)?;
        list.end()?;
        let at = mechanisms.clone();
        let mechanism = mechanisms.take(OBJECT_IDENTIFIER)?.rest();
        if ![KERBEROS, KERBEROS_OF_WINDOWS].contains(&mechanism) {
            return Err(at.refusal("Kerberos as the client's first choice", der::dotted(mechanism)));
        }
        fields.take_optional(member(1))?;
        let mut inner = fields.take(member(2))?;
        let content = inner.take(OCTET_STRING)?.rest();
        inner.end()?;
        fields.take_optional(member(3))?;
        fields.end()?;
        let inner = initial(content, KERBEROS)?;
        let at = inner.clone();
        match inner.rest().strip_prefix(TOK_ID_AP_REQ) {
            Some(ap_req) => Ok(Self { ap_req, mechanism }),
            None => Err(at.refusal("an AP-REQ", "another Kerberos token".into())),
        }
    }

    /// The answer that ends the exchange, RFC 4178 §4.2.2: accept-completed.
    pub(super) fn complete(&self, ap_rep: Option<&[u8]>) -> Vec<u8> {
        let state = der::write(member(0), &[&der::write(ENUMERATED, &[&[0]])]);
        let mechanism = der::write(member(1), &[&der::write(OBJECT_IDENTIFIER, &[self.mechanism])]);
        let inner = ap_rep.map(|ap_rep| {
            let oid = der::write(OBJECT_IDENTIFIER, &[KERBEROS]);
            let token = der::write(INITIAL_TOKEN, &[&oid, TOK_ID_AP_REP, ap_rep]);
            der::write(member(2), &[&der::write(OCTET_STRING, &[&token])])
        });
        let inner = inner.as_ref().map_or(&[][..], |inner| inner);
        der::write(NEG_TOKEN_RESP, &[&der::write(SEQUENCE, &[&state, &mechanism, inner])]).to_vec()
    }
}

/// What follows the mechanism's name in a token, RFC 2743 §3.1.
fn initial<'a>(token: &'a [u8], mechanism: &[u8]) -> Result<Reader<'a>, Error> {
    let mut whole = Reader::new(token)?;
    let mut token = whole.take(INITIAL_TOKEN)?;
    whole.end()?;
    let at = token.clone();
    let found = token.take(OBJECT_IDENTIFIER)?.rest();
    match found == mechanism {
        true => Ok(token),
        false => Err(at.refusal("the mechanism of the token", der::dotted(found))),
    }
}
