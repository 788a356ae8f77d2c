//! TEMPORARY: to be replaced by the people room.
#![allow(missing_docs)]
use crate::Error;
use crate::store::Store;
use sealstone_jose::UnixSeconds;
#[derive(Clone, Debug)]
pub struct User {
    pub sub: String,
    pub username: String,
    pub name: Option<String>,
    pub email: Option<String>,
    pub email_verified: bool,
    pub disabled: bool,
}
impl User {
    pub async fn by_sub(_store: &dyn Store, _sub: &str, _now: UnixSeconds) -> Result<Option<User>, Error> {
        Ok(None)
    }
}
#[derive(Clone, Debug)]
pub struct Session {
    pub sid: String,
    pub username: String,
    pub sub: String,
    pub auth_time: UnixSeconds,
    pub amr: Vec<String>,
    pub acr: Option<String>,
}
