//! Options and words that several verbs share.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sealstone_mldsa::Level;
use sealstone_mqtt::gateway::Config;
use sealstone_mqtt::gateway::config::{Broker, Tls};
use sealstone_mqtt::gateway::wire::Version;
use sealstone_mqtt::{Form, Kind, UnixMillis};

use crate::error::Error;

/// Which broker, and who connects.
#[derive(Args)]
pub(crate) struct BrokerOptions {
    /// The broker; mqtts:// before it is TLS, by default on port 8883
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:1883")]
    broker: String,
    /// The version of MQTT
    #[arg(long, value_enum, default_value_t = VersionName::V5)]
    mqtt: VersionName,
    /// The client identifier
    #[arg(long, value_name = "NAME", default_value = "sealstone")]
    client_id: String,
    /// A file with the user name on its first line
    #[arg(long, value_name = "FILE")]
    user_file: Option<PathBuf>,
    /// A file with the password on its first line
    #[arg(long, value_name = "FILE", requires = "user_file")]
    password_file: Option<PathBuf>,
    /// TLS: a PEM file of authorities that the broker's certificate may be of; those of the system if not given
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// TLS: a PEM file with the client's certificate
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,
    /// TLS: a PEM file with the private key of the client's certificate
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,
    /// TLS: the name in the broker's certificate; the host of --broker if not given
    #[arg(long, value_name = "NAME")]
    tls_name: Option<String>,
}

impl BrokerOptions {
    pub(crate) fn broker(&self) -> Broker {
        let tls = Tls {
            ca: self.tls_ca.clone(),
            certificate: self.tls_certificate.clone(),
            key: self.tls_key.clone(),
            server_name: self.tls_name.clone(),
        };
        Broker {
            address: self.broker.clone(),
            client_id: self.client_id.clone(),
            password_file: self.password_file.clone(),
            user_file: self.user_file.clone(),
            version: self.mqtt.version(),
            session_expiry_s: 0,
            tls: (tls != Tls::default()).then_some(tls),
            ..Broker::default()
        }
    }
}

/// A version of MQTT by its name.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum VersionName {
    /// MQTT 3.1.1
    #[value(name = "3.1.1")]
    V311,
    /// MQTT 5.0
    #[value(name = "5")]
    V5,
}

impl VersionName {
    fn version(self) -> Version {
        match self {
            VersionName::V311 => Version::V311,
            VersionName::V5 => Version::V5,
        }
    }
}

/// A form by its name.
pub(crate) fn form() -> impl TypedValueParser<Value = Form> {
    PossibleValuesParser::new(Form::ALL.map(Form::name)).try_map(|name| {
        let known = Form::ALL.into_iter().find(|form| form.name() == name);
        known.ok_or("unknown form")
    })
}

/// A kind by its name.
pub(crate) fn kind() -> impl TypedValueParser<Value = Kind> {
    PossibleValuesParser::new(Kind::ALL.map(Kind::name)).try_map(|name| {
        let known = Kind::ALL.into_iter().find(|kind| kind.name() == name);
        known.ok_or("unknown kind")
    })
}

/// A level by its name, in any case.
pub(crate) fn level() -> impl TypedValueParser<Value = Level> {
    PossibleValuesParser::new(Level::ALL.map(Level::name)).try_map(|name| {
        let known = Level::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(&name));
        known.ok_or("unknown level")
    })
}

/// A gateway's configuration; without a file every value is the default.
pub(crate) fn config(file: Option<&Path>) -> Result<Config, Error> {
    Ok(match file {
        Some(file) => Config::load(file)?,
        None => Config::default(),
    })
}

/// Now. A clock before 1970 reads as 1970.
pub(crate) fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    UnixMillis(since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX)))
}

/// `2026-11-21 03:05:00 UTC`.
pub(crate) fn utc(time: UnixMillis) -> String {
    crate::clock::utc(sealstone_jose::UnixSeconds(time.0.div_euclid(1000)))
}
