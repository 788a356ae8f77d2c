//! The configuration: what it accepts, and where it says a fault is.

use std::path::Path;

use sealstone_auth::config::{LogFormat, Replay, TlsMode};
use sealstone_auth::{Config, ConfigError, Error};
use sealstone_jose::Algorithm;

#[test]
fn an_empty_file_is_the_default() {
    let config = Config::parse("", None).unwrap();
    assert_eq!(config.listen.to_string(), "127.0.0.1:8443");
    assert_eq!(config.tls.mode, TlsMode::SelfSigned);
    assert_eq!(config.tokens.algorithms, [Algorithm::MlDsa65, Algorithm::Es256]);
    assert_eq!(format!("{config:?}"), format!("{:?}", Config::default()));
}

#[test]
fn every_key_can_be_set() {
    let config = Config::parse(
        r#"
        data_dir = "/var/lib/sealstone"
        issuer = "https://auth.example.org/tenant"
        listen = "[::1]:0"
        [audit]
        enabled = true
        introspection = true
        journald = true
        journald_socket = "/run/journal"
        max_file_bytes = 65536
        queue = 1
        seal_lines = 2
        seal_seconds = 3
        when_full = "drop"
        [dpop]
        max_proofs = 1000
        nonces = false
        replay = "shared"
        [http]
        header_timeout_seconds = 1
        idle_timeout_seconds = 1
        max_body_bytes = 2
        max_connections = 3
        max_connections_per_address = 3
        max_requests = 4
        max_requests_per_address = 4
        proxies = ["10.0.0.0/8", "::1"]
        proxy_header = "forwarded"
        request_timeout_seconds = 4
        [keys]
        active_seconds = 5000
        publish_seconds = 600
        [limits]
        address_failures_per_minute = 0
        failures_per_second = 0
        address_requests_per_minute = 1
        client_requests_per_minute = 2
        [log]
        format = "json"
        level = "debug"
        [metrics]
        listen = "127.0.0.1:9464"
        [registration]
        enabled = true
        most = 7
        open = true
        pkce_optional = true
        scopes = ["openid"]
        token_endpoint_audience = true
        [shutdown]
        announce_seconds = 7
        grace_seconds = 8
        [store]
        poll_milliseconds = 9
        [tls]
        mode = "files"
        certificate = "c.pem"
        key = "k.pem"
        [tokens]
        algorithms = ["EdDSA", "Ed25519", "ES256", "ES384", "ES512", "ML-DSA-44", "ML-DSA-65", "ML-DSA-87", "PS256", "RS256", "ES256"]
        max_lifetime_seconds = 10
        sign_together = 16
        "#,
        None,
    )
    .unwrap();
    assert_eq!(config.tokens.algorithms, Algorithm::ALL, "a name given twice counts once");
    assert_eq!((config.log.format, config.tls.mode), (LogFormat::Json, TlsMode::Files));
    assert_eq!(config.http.max_connections.get(), 3);
    assert_eq!((config.dpop.replay, config.dpop.nonces), (Replay::Shared, false));
}

/// The text, line and column, what is said, and a part of the hint.
type Fault = (&'static str, Option<(usize, usize)>, &'static str, &'static str);

const FAULTS: &[Fault] = &[
    ("isuer = \"https://a\"", Some((1, 1)), "unknown key `isuer`", "did you mean `issuer`?"),
    (
        "[http]\nmax_conections = 1",
        Some((2, 1)),
        "unknown key `max_conections`",
        "did you mean `max_connections`?",
    ),
    ("\n[nonsense]", Some((2, 2)), "unknown key `nonsense`", "expected one of `admin`"),
    ("[http]\nproxies = [\"10.0.0.0/33\"]", Some((2, 11)), "`10.0.0.0/33` is not", "10.0.0.0/8"),
    ("[http]\nproxies = [\"proxy\"]", Some((2, 11)), "`proxy` is not", "an address"),
    ("[audit]\nmax_file_bytes = 4096", Some((2, 1)), "`max_file_bytes` is too small", "at least 65536"),
    ("[audit]\nwhen_full = \"wait\"", Some((2, 13)), "unknown value `wait`", "expected `drop` or `refuse`"),
    ("[http]\nmax_body_bytes = 0", Some((2, 18)), "invalid value: integer `0`", "nonzero"),
    ("[http]\nmax_body_bytes = -1", Some((2, 18)), "invalid value: integer `-1`", "nonzero"),
    (
        "[dpop]\nnonces = false",
        Some((2, 1)),
        "without nonces a node cannot tell which proofs are its own",
        "set `replay` to \"shared\"",
    ),
    ("[dpop]\nreplay = \"none\"", Some((2, 10)), "unknown value `none`", "did you mean `node`?"),
    ("[dpop]\nmax_proofs = 0", Some((2, 14)), "invalid value: integer `0`", "nonzero"),
    ("listen = \"nowhere\"", Some((1, 10)), "invalid socket address syntax", ""),
    ("listen = 8443", Some((1, 10)), "invalid type: integer `8443`", "socket address"),
    ("[log]\nlevel = \"loud\"", Some((2, 9)), "unknown value `loud`", "expected one of"),
    (
        "[tokens]\nalgorithms = [\"ML-DSA-66\"]",
        Some((2, 14)),
        "unknown algorithm `ML-DSA-66`",
        "did you mean `ML-DSA-65`?",
    ),
    ("[tokens]\nalgorithms = [\"none\"]", Some((2, 14)), "unknown algorithm `none`", "expected one of"),
    ("[tokens]\nalgorithms = []", Some((2, 1)), "`algorithms` is empty", "ML-DSA-65"),
    ("issuer = \"http://auth.example.org\"", Some((1, 1)), "`issuer` is http", "an https URL"),
    ("issuer = \"https://auth.example.org/\"", Some((1, 1)), "`issuer` ends with a slash", "an https URL"),
    ("issuer = \"https://a?b\"", Some((1, 1)), "`issuer` has a query or a fragment", "an https URL"),
    ("issuer = \"https://a/{x}\"", Some((1, 1)), "`issuer` has a path with other characters", "an https URL"),
    ("issuer = \"https://a//b\"", Some((1, 1)), "`issuer` has a path with other characters", "an https URL"),
    ("issuer = \"https://u:p@a\"", Some((1, 1)), "`issuer` has no plain host", "an https URL"),
    ("issuer = \"auth.example.org\"", Some((1, 1)), "`issuer` is not an https URL", "an https URL"),
    (
        "listen = \"0.0.0.0:443\"",
        Some((1, 1)),
        "the issuer cannot be derived from the address",
        "set `issuer`",
    ),
    (
        "listen = \"192.0.2.1:80\"\n[tls]\nmode = \"plain-loopback\"",
        Some((3, 1)),
        "plain HTTP on 192.0.2.1:80, which is not a loopback address",
        "plain-behind-proxy",
    ),
    (
        "[tls]\nmode = \"plain-behind-proxy\"",
        None,
        "the issuer cannot be derived from the address",
        "set `issuer`",
    ),
    ("[tls]\nmode = \"files\"", Some((2, 1)), "`mode`, `certificate` and `key` do not fit together", "both"),
    ("[tls]\nkey = \"k.pem\"", Some((2, 1)), "`mode`, `certificate` and `key` do not fit together", "both"),
    (
        "[tls]\nmode = \"plain-loopback\"\ncertificate = \"c.pem\"\nkey = \"k.pem\"",
        Some((3, 1)),
        "`mode`, `certificate` and `key` do not fit together",
        "every other mode with neither",
    ),
    (
        "[tls]\ncertificate = \"c.pem\"\nkey = \"k.pem\"",
        Some((2, 1)),
        "do not fit together",
        "mode \"files\"",
    ),
    ("[keys]\npublish_seconds = 60", Some((2, 1)), "`publish_seconds` is shorter", "at least 600"),
    ("[keys]\nactive_seconds = 60", Some((2, 1)), "`active_seconds` is not longer", "a key must sign"),
    ("listen =", Some((1, 9)), "", ""),
    ("listen = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:2\"", Some((2, 1)), "duplicate key", ""),
];

#[test]
fn each_fault_is_said_with_line_and_hint() {
    for (text, place, what, hint) in FAULTS {
        let fault = match Config::parse(text, Some(Path::new("sealstone.toml"))) {
            Err(Error::Config(fault)) => fault,
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(fault.line.zip(fault.column), *place, "{text}: {fault:?}");
        assert!(fault.what.contains(what), "{text}: {fault:?}");
        assert!(fault.hint.clone().unwrap_or_default().contains(hint), "{text}: {fault:?}");
    }
}

#[test]
fn a_fault_reads_as_one_line() {
    let fault = Error::Config(ConfigError {
        file: Some("sealstone.toml".into()),
        line: Some(3),
        column: Some(1),
        what: "unknown key `isuer`".into(),
        hint: None,
    });
    assert_eq!(fault.to_string(), "sealstone.toml:3:1: unknown key `isuer`");
}

#[test]
fn a_missing_file_is_named() {
    let Err(Error::Config(fault)) = Config::load(Path::new("/nonexistent/sealstone.toml")) else { panic!() };
    assert_eq!(fault.file.as_deref(), Some(Path::new("/nonexistent/sealstone.toml")));
    assert!(fault.what.starts_with("cannot be read"), "{fault:?}");
}
