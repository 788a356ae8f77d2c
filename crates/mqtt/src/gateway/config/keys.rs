//! The part `[keys]` of the configuration.

use std::path::PathBuf;

use serde::Deserialize;

/// `[keys]`: keys that devices announce, and who may tell devices something.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Keys {
    /// What becomes of keys that devices announce.
    pub announcements: Announcements,
    /// What the commander was given, with its private keys; the command reads it, for [`Commander`](crate::gateway::Commander).
    pub commander: Option<PathBuf>,
    /// The commander's entry in the directory. Its keys sign commands and confirmations, and nothing else.
    pub commander_name: String,
    /// How long a key counts after the next one of its level was confirmed.
    pub overlap_s: u32,
}

/// What becomes of keys that devices announce.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub enum Announcements {
    /// They are refused: who has which key is the operator's word alone.
    #[default]
    Refuse,
    /// A device that has proved with a key that counts may go on to the next one.
    Confirm,
}

impl Default for Keys {
    fn default() -> Self {
        Keys {
            announcements: Announcements::default(),
            commander: None,
            commander_name: "commander".into(),
            overlap_s: 7 * 86_400,
        }
    }
}
