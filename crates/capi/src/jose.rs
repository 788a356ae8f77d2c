//! JSON Web Signatures, JSON Web Tokens and sets of keys.

use core::ffi::{c_char, c_int};
use core::slice;
use core::time::Duration;

use sealstone_jose::{JwkSet, UnixSeconds, jws, jwt};

use crate::door::{Block, Made, Wiped, bytes, enter, text, word};
use crate::engine::number;
use crate::handle::{Handle, Kind, PrivateKey, PublicKey, behind, free};
use crate::status::{Failure, SEALSTONE_BAD_ARGUMENT, SEALSTONE_BAD_KEY, SEALSTONE_BAD_TOKEN, of_jose};

/// A set of public keys, of every algorithm that sealstone-jose knows.
pub struct KeySet(JwkSet);

impl Kind for KeySet {
    const TAG: u64 = 0x62b8_e7c1_05fd_3a04;
    const NAME: &'static str = "key set";
}

/// What to write into a header. See sealstone.h.
#[repr(C)]
pub struct SealstoneJwsHeader {
    /// `typ`, or NULL.
    pub typ: *const c_char,
    /// `cty`, or NULL.
    pub cty: *const c_char,
    /// `kid`, or NULL for the key's own.
    pub kid: *const c_char,
}

/// What a token must say. See sealstone.h.
#[repr(C)]
pub struct SealstoneJwtRules {
    /// The time of the check.
    pub now: u64,
    /// How far clocks may differ.
    pub leeway: u64,
    /// The oldest `iat`, or 0.
    pub max_age: u64,
    /// `iss`, or NULL.
    pub issuer: *const c_char,
    /// `aud`, or NULL.
    pub audience: *const c_char,
    /// `typ`, or NULL.
    pub typ: *const c_char,
    /// Claims that must be there.
    pub required: *const *const c_char,
    /// How many.
    pub required_count: usize,
    /// What is loosened.
    pub flags: u32,
}

/// `iss` may be anything, or absent.
pub const SEALSTONE_ANY_ISSUER: u32 = 1;
/// `aud` may be anything, or absent.
pub const SEALSTONE_ANY_AUDIENCE: u32 = 2;
/// `typ` may be anything, or absent.
pub const SEALSTONE_ANY_TYP: u32 = 4;
/// `exp` may be absent.
pub const SEALSTONE_WITHOUT_EXPIRY: u32 = 8;

/// A header, and the key with the key id that it wants.
///
/// # Safety
/// The promise of `door`.
unsafe fn header(
    key: &PrivateKey,
    header: *const SealstoneJwsHeader,
    typ: Option<&str>,
) -> Result<(sealstone_jose::PrivateKey, jws::Header), Failure> {
    let mut key = key.whole()?.clone();
    let mut written = jws::Header::new();
    let mut typ = typ;
    if !header.is_null() {
        // SAFETY: not NULL, and the caller promises that it leads to a header and its texts.
        let (given, cty, kid) = unsafe {
            (word("typ", (*header).typ)?, word("cty", (*header).cty)?, word("kid", (*header).kid)?)
        };
        typ = given.or(typ);
        if let Some(cty) = cty {
            written = written.cty(cty);
        }
        if let Some(kid) = kid {
            key = key.with_kid(kid);
        }
    }
    if let Some(typ) = typ {
        written = written.typ(typ);
    }
    Ok((key, written))
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jws_sign(
    key: *const Handle<PrivateKey>,
    header: *const SealstoneJwsHeader,
    payload: *const u8,
    payload_len: usize,
    token: *mut *mut c_char,
    token_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("token", token, token_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let ((key, header), payload) =
            unsafe { (self::header(behind(key)?, header, None)?, bytes("payload", payload, payload_len)?) };
        let token = jws::encode(&key, &header, payload).map_err(of_jose(SEALSTONE_BAD_ARGUMENT))?;
        Ok(token.as_bytes().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jws_verify(
    key: *const Handle<PublicKey>,
    token: *const c_char,
    token_len: usize,
    payload: *mut *mut c_char,
    payload_len: *mut usize,
    header: *mut *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe {
        (
            Block::new("payload", payload, payload_len),
            Block::optional("header", header, core::ptr::null_mut()),
        )
    };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, token) = unsafe { (behind(key)?, text("token", token, token_len)?) };
        parts(unverified(token)?.verify(&key.jose))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jws_verify_with_set(
    set: *const Handle<KeySet>,
    token: *const c_char,
    token_len: usize,
    payload: *mut *mut c_char,
    payload_len: *mut usize,
    header: *mut *mut c_char,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe {
        (
            Block::new("payload", payload, payload_len),
            Block::optional("header", header, core::ptr::null_mut()),
        )
    };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (set, token) = unsafe { (behind(set)?, text("token", token, token_len)?) };
        parts(unverified(token)?.verify_with_set(&set.0))
    })
}

fn unverified(token: &str) -> Result<jws::Unverified<'_>, Failure> {
    jws::Unverified::parse(token).map_err(of_jose(SEALSTONE_BAD_TOKEN))
}

/// Payload and header.
fn parts(verified: Result<jws::Verified, sealstone_jose::Error>) -> Result<(Wiped, Wiped), Failure> {
    let verified = verified.map_err(of_jose(SEALSTONE_BAD_TOKEN))?;
    let members = verified.header().members();
    let header = jwt::Claims::new();
    let header = members.iter().fold(header, |header, (name, value)| header.with(name, value.clone()));
    Ok((verified.payload().into(), header.to_json().as_bytes().into()))
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwt_sign(
    key: *const Handle<PrivateKey>,
    header: *const SealstoneJwsHeader,
    claims: *const c_char,
    claims_len: usize,
    token: *mut *mut c_char,
    token_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("token", token, token_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let ((key, header), claims) = unsafe {
            (self::header(behind(key)?, header, Some("JWT"))?, text("claims", claims, claims_len)?)
        };
        let refused = of_jose(SEALSTONE_BAD_ARGUMENT);
        let claims = jwt::Claims::parse(claims).map_err(&refused)?;
        let token = jws::encode(&key, &header, claims.to_json().as_bytes()).map_err(&refused)?;
        Ok(token.as_bytes().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwt_verify(
    key: *const Handle<PublicKey>,
    token: *const c_char,
    token_len: usize,
    rules: *const SealstoneJwtRules,
    claims: *mut *mut c_char,
    claims_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("claims", claims, claims_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (key, token, (rules, now)) =
            unsafe { (behind(key)?, text("token", token, token_len)?, self::rules(rules)?) };
        checked(unverified(token)?.verify(&key.jose), &rules, now)
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwt_verify_with_set(
    set: *const Handle<KeySet>,
    token: *const c_char,
    token_len: usize,
    rules: *const SealstoneJwtRules,
    claims: *mut *mut c_char,
    claims_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("claims", claims, claims_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let (set, token, (rules, now)) =
            unsafe { (behind(set)?, text("token", token, token_len)?, self::rules(rules)?) };
        checked(unverified(token)?.verify_with_set(&set.0), &rules, now)
    })
}

fn checked(
    verified: Result<jws::Verified, sealstone_jose::Error>,
    rules: &jwt::Rules,
    now: UnixSeconds,
) -> Result<Wiped, Failure> {
    let refused = of_jose(SEALSTONE_BAD_TOKEN);
    let token = rules.check(verified.map_err(&refused)?, now).map_err(&refused)?;
    Ok(token.claims().to_json().as_bytes().into())
}

/// Rules, and the time to check them at.
///
/// # Safety
/// The promise of `door`.
unsafe fn rules(given: *const SealstoneJwtRules) -> Result<(jwt::Rules, UnixSeconds), Failure> {
    if given.is_null() {
        return Err(Failure::argument("rules is NULL: a token is checked against something"));
    }
    // SAFETY: not NULL, and the caller promises that it leads to rules.
    let given = unsafe { &*given };
    // Zeroed rules say 1970, a time at which no token has expired.
    if given.now == 0 {
        return Err(Failure::argument("rules.now is 0: give the seconds since 1970, such as time(NULL)"));
    }
    let known = SEALSTONE_ANY_ISSUER | SEALSTONE_ANY_AUDIENCE | SEALSTONE_ANY_TYP | SEALSTONE_WITHOUT_EXPIRY;
    if given.flags & !known != 0 {
        return Err(Failure::argument(format!("rules.flags: {:#x} is not known", given.flags & !known)));
    }
    // SAFETY: the caller's promise.
    let (issuer, audience, typ) = unsafe {
        (word("issuer", given.issuer)?, word("audience", given.audience)?, word("typ", given.typ)?)
    };
    for (name, named, flag) in [
        ("issuer", issuer, SEALSTONE_ANY_ISSUER),
        ("audience", audience, SEALSTONE_ANY_AUDIENCE),
        ("typ", typ, SEALSTONE_ANY_TYP),
    ] {
        if named.is_some() && given.flags & flag != 0 {
            return Err(Failure::argument(format!("rules: {name} is named, and any is allowed: choose one")));
        }
    }
    let mut rules = jwt::Rules::new().leeway(Duration::from_secs(given.leeway));
    rules = match issuer {
        Some(issuer) => rules.issuer(issuer),
        None if given.flags & SEALSTONE_ANY_ISSUER != 0 => rules.any_issuer(),
        None => rules,
    };
    rules = match audience {
        Some(audience) => rules.audience(audience),
        None if given.flags & SEALSTONE_ANY_AUDIENCE != 0 => rules.any_audience(),
        None => rules,
    };
    rules = match typ {
        Some(typ) => rules.typ(typ),
        None if given.flags & SEALSTONE_ANY_TYP != 0 => rules.any_typ(),
        None => rules,
    };
    if given.max_age != 0 {
        rules = rules.max_age(Duration::from_secs(given.max_age));
    }
    if given.flags & SEALSTONE_WITHOUT_EXPIRY != 0 {
        rules = rules.without_expiry();
    }
    // SAFETY: the caller's promise.
    for claim in unsafe { pointers("rules.required", given.required, given.required_count)? } {
        // SAFETY: the caller's promise.
        let claim = unsafe { word("rules.required", *claim)? };
        rules = rules.require(claim.ok_or_else(|| Failure::argument("rules.required: one of them is NULL"))?);
    }
    Ok((rules, UnixSeconds(given.now)))
}

/// # Safety
/// The promise of `door`.
unsafe fn pointers<'a, T>(name: &str, all: *const *const T, count: usize) -> Result<&'a [*const T], Failure> {
    match (all.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument(format!("{name} is NULL, their number {count}"))),
        _ if count > isize::MAX as usize / size_of::<*const T>() => {
            Err(Failure::argument(format!("{count} of {name} are more than fit in memory")))
        }
        // SAFETY: not NULL, no longer than an object can be, and the caller promises that the pointers are there.
        _ => Ok(unsafe { slice::from_raw_parts(all, count) }),
    }
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwk_set_parse(
    json: *const c_char,
    json_len: usize,
    set: *mut *mut Handle<KeySet>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(set) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let json = unsafe { bytes("json", json.cast(), json_len)? };
        Ok(KeySet(JwkSet::parse(json).map_err(of_jose(SEALSTONE_BAD_KEY))?))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwk_set_of(
    keys: *const *const Handle<PublicKey>,
    count: usize,
    set: *mut *mut Handle<KeySet>,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Made::new(set) };
    enter(out, || {
        // SAFETY: the caller's promise.
        let keys: Result<Vec<_>, Failure> = unsafe { pointers("keys", keys, count)? }
            .iter()
            // SAFETY: the caller's promise.
            .map(|key| Ok(unsafe { behind(*key)? }.jose.clone()))
            .collect();
        Ok(KeySet(JwkSet::new(keys?).map_err(of_jose(SEALSTONE_BAD_KEY))?))
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwk_set_count(set: *const Handle<KeySet>) -> c_int {
    // SAFETY: the caller's promise.
    let count = || Ok(unsafe { behind(set)? }.0.keys().len() as c_int);
    number(count)
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwk_set_write(
    set: *const Handle<KeySet>,
    json: *mut *mut c_char,
    json_len: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Block::new("json", json, json_len) };
    enter(out, || {
        // SAFETY: the caller's promise.
        Ok(unsafe { behind(set)? }.0.to_json().as_bytes().into())
    })
}

/// See sealstone.h.
///
/// # Safety
/// The promise of `door`, and nobody uses the set any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sealstone_jwk_set_free(set: *mut Handle<KeySet>) {
    // SAFETY: the caller's promise.
    enter((), || unsafe { free(set) });
}
