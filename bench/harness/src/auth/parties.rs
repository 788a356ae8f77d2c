//! Who is measured: our server and its peers, and where each answers.

use std::fs;
use std::path::{Path, PathBuf};

use sealstone_jose::Algorithm;

use super::What;
use super::server::{Command, free_port};

/// A server. A peer has a folder of its name in `bench/auth/peers` with two scripts: `build` leaves everything in
/// `target/auth-peers/NAME`, with a line about itself in the file `version`; `start CERTIFICATES DATA PORT SPARE_PORT`
/// runs it in the foreground on loopback. CERTIFICATES has `tls.crt` and `tls.key` for TLS and `sign.key`, a P-256 key
/// in PKCS #8 for tokens, all PEM; DATA is an empty folder.
pub(crate) struct Party {
    /// What tables, goals and records call it.
    pub(crate) name: &'static str,
    /// Machine code comes with the load: it is warmed on every core before it is pinned to one.
    pub(crate) compiles_while_running: bool,
    /// For a server of ours, what its configuration says besides.
    pub(crate) ours: Option<&'static str>,
    token: &'static str,
    /// If it introspects the tokens that it issues here.
    introspection: Option<&'static str>,
}

/// Ours. Its log has no line for each request, as no peer's has; its audit log has one, which no peer has at all.
pub(crate) const OURS: Party = Party {
    name: "sealstone",
    compiles_while_running: false,
    ours: Some("log.level = \"warn\"\n"),
    token: "/token",
    introspection: Some("/introspect"),
};

/// Ours in other settings, of which a whole run shows what they cost or bring. No row has them.
pub(crate) const VARIANTS: [Party; 3] = [
    // The log that it has by default.
    Party { name: "sealstone-logged", ours: Some("log.level = \"info\"\n"), ..OURS },
    Party {
        name: "sealstone-unaudited",
        ours: Some("log.level = \"warn\"\naudit.enabled = false\n"),
        ..OURS
    },
    // Each ML-DSA token is signed alone.
    Party { name: "sealstone-alone", ours: Some("log.level = \"warn\"\ntokens.sign_together = 1\n"), ..OURS },
];

/// The peers, in the order of the tables.
pub(crate) const PARTIES: [Party; 4] = [
    Party {
        name: "fosite",
        compiles_while_running: false,
        ours: None,
        token: "/token",
        // Verifies the token's signature, as ours does.
        introspection: Some("/introspect"),
    },
    Party {
        name: "oidc-provider",
        compiles_while_running: true,
        ours: None,
        token: "/token",
        // It refuses JWT access tokens: unsupported_token_type.
        introspection: None,
    },
    Party {
        name: "spring",
        compiles_while_running: true,
        ours: None,
        token: "/oauth2/token",
        // Looks the token up in memory.
        introspection: Some("/oauth2/introspect"),
    },
    Party {
        name: "keycloak",
        compiles_while_running: true,
        ours: None,
        token: "/realms/bench/protocol/openid-connect/token",
        introspection: Some("/realms/bench/protocol/openid-connect/token/introspect"),
    },
];

/// The one client of every peer. Its secret stands in the peers' own settings, too: they live on loopback for minutes.
pub(crate) const CLIENT: (&str, &str) = ("bench", "bench-secret-0123456789-0123456789");

impl Party {
    /// Where it is asked.
    pub(crate) fn path(&self, what: What) -> &'static str {
        match what {
            What::Token(_) | What::TokenByAssertion(_) | What::Flooded(_) | What::Code => self.token,
            What::Introspection(_) => self.introspection.unwrap_or_default(),
        }
    }

    pub(crate) fn introspects(&self, algorithm: Algorithm) -> Option<What> {
        self.introspection.map(|_| What::Introspection(algorithm))
    }

    /// What it says of itself, once it is built.
    pub(crate) fn version(&self, root: &Path) -> Option<String> {
        let text = fs::read_to_string(self.built(root).join("version")).ok()?;
        text.lines().next().map(str::to_owned)
    }

    /// How it is started.
    pub(crate) fn command(&self, root: &Path, certificates: &Path, port: u16) -> Result<Command, String> {
        let data = certificates.join(self.name);
        fs::create_dir_all(&data).map_err(|why| format!("{}: {why}", data.display()))?;
        let program = root.join("bench/auth/peers").join(self.name).join("start");
        let words = [certificates.display().to_string(), data.display().to_string(), port.to_string()];
        let arguments = words.into_iter().chain([free_port()?.to_string()]).collect();
        Ok(Command { program, arguments })
    }

    fn built(&self, root: &Path) -> PathBuf {
        root.join("target/auth-peers").join(self.name)
    }
}
