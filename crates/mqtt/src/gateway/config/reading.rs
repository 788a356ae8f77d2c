//! Reading a configuration: its text, the rules between its values, and what is said of a broken one.

use std::path::Path;

use super::{Announcements, Config, Rules};
use crate::gateway::Error;
use crate::gateway::announce;
use crate::gateway::error::plain;
use crate::level::Class;
use crate::topic::{Filter, Topic};
use sealstone_mldsa::Level;

impl Config {
    /// Reads a configuration file. Errors: `Config` with file, place and hint.
    pub fn load(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path).map_err(|cause| Error::Config {
            file: Some(path.to_owned()),
            place: None,
            what: format!("cannot be read: {}", plain(&cause)),
            hint: "every value has a default: an empty file is a configuration".into(),
        })?;
        Self::parse(&text, Some(path))
    }

    /// Reads a configuration text; `file` is named in errors. Errors: `Config` with place and hint.
    pub fn parse(text: &str, file: Option<&Path>) -> Result<Self, Error> {
        let fault = |place, what: String, hint: String| Error::Config {
            file: file.map(Path::to_owned),
            place,
            what,
            hint,
        };
        let config: Self = toml::from_str(text).map_err(|cause| {
            let (what, hint) = match cause.message().split_once(", expected ") {
                Some((what, expected)) => (what.to_owned(), format!("expected {expected}")),
                None => (cause.message().replace('\n', " "), "docs/mqtt-gateway.md lists every key".into()),
            };
            fault(cause.span().map(|span| place(text, span.start)), what, hint)
        })?;
        let broken = config.rules().err().or_else(|| config.check().err());
        match broken {
            None => Ok(config),
            Some(Fault { key, what, hint }) => Err(fault(locate(text, key), what, hint.to_owned())),
        }
    }

    /// The rules as they are used. Errors: a filter that is none.
    pub fn rules(&self) -> Result<Rules<'_>, Fault> {
        let identity = filter("identity", &self.topics.identity)?;
        let mut filters = Vec::new();
        for class in Class::ALL.into_iter().rev() {
            for text in self.class.of(class).topics.iter().flatten() {
                filters.push((filter("topics", text)?, class));
            }
        }
        let commands = self.topics.commands.iter().map(|text| filter("commands", text));
        Ok(Rules {
            policy: &self.policy,
            topics: &self.topics,
            keys: &self.keys,
            identity,
            commands: commands.collect::<Result<_, _>>()?,
            announcements: filter("announcements", announce::TOPIC)?,
            filters,
            floors: Class::ALL.map(|class| self.class.floor(class)),
            fresh_ms: Class::ALL.map(|class| self.class.fresh_ms(class)),
            tags: Class::ALL.map(|class| self.takes_tags(class)),
        })
    }

    /// Whether a class takes tags: a floor above the least level is a word against them.
    fn takes_tags(&self, class: Class) -> bool {
        let named = match &self.policy.tags {
            Some(names) => names.iter().any(|name| name.class() == class),
            None => class == Class::Low,
        };
        named && self.class.floor(class) == Level::MlDsa44
    }

    /// The rules between values that no single value shows.
    fn check(&self) -> Result<(), Fault> {
        let fault = |key, what: String, hint| Err(Fault { key, what, hint });
        let topics = &self.topics;
        if !topics.identity.split('/').any(|level| level == "+") {
            let what = format!("`identity` is {:?} and has no `+`", topics.identity);
            return fault("identity", what, "the first `+` stands for the device, as in \"device/+/#\"");
        }
        if topics.subscribe.is_empty() {
            return fault(
                "subscribe",
                "`subscribe` is empty".into(),
                "name at least one filter, as in [\"device/#\"]",
            );
        }
        for text in &topics.subscribe {
            let subscribed = filter("subscribe", text)?;
            for (key, prefix) in [
                ("clean", &topics.clean),
                ("marked", &topics.marked),
                ("dead_letters", &topics.dead_letters),
                ("topic", &self.alerts.topic),
            ] {
                if prefix.is_empty() {
                    continue;
                }
                let probe = format!("{prefix}/a");
                if Topic::new(&probe).is_ok_and(|probe| subscribed.matches(probe))
                    || text.starts_with(&format!("{prefix}/"))
                {
                    let what = format!(
                        "`{key}` lies within the filter {text:?}: the gateway would read what it wrote"
                    );
                    return fault(key, what, "choose a prefix that no filter of `subscribe` takes");
                }
            }
        }
        for (key, prefix, may_be_empty) in [
            ("clean", &topics.clean, false),
            ("marked", &topics.marked, false),
            ("dead_letters", &topics.dead_letters, true),
            ("topic", &self.alerts.topic, true),
        ] {
            if Topic::new(prefix).is_err() && !(may_be_empty && prefix.is_empty()) {
                let what = format!("`{key}` is {prefix:?}, which is no topic");
                return fault(
                    key,
                    what,
                    "a topic without wildcards, without a slash at its end, as in \"clean\"",
                );
            }
        }
        if [&topics.marked, &topics.dead_letters, &self.alerts.topic].contains(&&topics.clean) {
            let what = "`clean` is also another prefix".into();
            return fault("clean", what, "whoever reads the clean copies must see nothing else there");
        }
        for class in self.policy.tags.iter().flatten().map(|name| name.class()) {
            let floor = self.class.floor(class);
            if floor > Level::MlDsa44 {
                let what = format!("`tags` has {:?}, whose floor is {floor}", class.name());
                return fault(
                    "tags",
                    what,
                    "a tag is weaker than any floor above ML-DSA-44: leave it out, or lower the floor",
                );
            }
        }
        let name = &self.keys.commander_name;
        if Topic::new(name).is_err() || name.contains('/') {
            let what = format!("`commander_name` is {name:?}, which is no level of a topic");
            return fault("commander_name", what, "as in the directory, without `/`, `+` and `#`");
        }
        if self.keys.announcements == Announcements::Confirm && self.keys.commander.is_none() {
            let what = "`announcements` is \"confirm\" and `commander` is not set".into();
            return fault(
                "announcements",
                what,
                "`commander` in [keys] names what `sealstone mqtt provision` gave the commander",
            );
        }
        let answer = Topic::new("device/a/critical/key/confirmed");
        let is_theirs =
            |text: &String| Filter::new(text).is_ok_and(|of| answer.is_ok_and(|on| of.matches(on)));
        if self.keys.announcements == Announcements::Confirm && !topics.commands.iter().any(is_theirs) {
            let what = "`commands` leaves out where announced keys are confirmed".into();
            return fault(
                "commands",
                what,
                "add \"device/+/critical/key/confirmed\", or refuse announcements",
            );
        }
        if self.policy.forms.is_empty() {
            return fault("forms", "`forms` is empty".into(), "name at least one, as in [\"v1\"]");
        }
        if !(1..=2).contains(&self.broker.publish_qos) {
            let what = format!("`publish_qos` is {}", self.broker.publish_qos);
            return fault("publish_qos", what, "1, at least once, or 2, exactly once");
        }
        if self.broker.client_id.is_empty() {
            let what = "`client_id` is empty".into();
            return fault(
                "client_id",
                what,
                "the broker keeps the session under it: give it a name that stays",
            );
        }
        if let Some(tls) = &self.broker.tls
            && tls.certificate.is_some() != tls.key.is_some()
        {
            let what = "`certificate` and `key` of `tls` belong together, and one is missing".into();
            return fault("tls", what, "name both, for a broker that demands a certificate, or neither");
        }
        if self.broker.password_file.is_some() && self.broker.user_file.is_none() {
            let what = "`password_file` is set and `user_file` is not".into();
            return fault("password_file", what, "MQTT has no password without a user name");
        }
        Ok(())
    }
}

/// A broken rule.
#[derive(Debug)]
pub struct Fault {
    key: &'static str,
    what: String,
    hint: &'static str,
}

impl From<Fault> for Error {
    /// For a configuration built in code: there is no place to name.
    fn from(fault: Fault) -> Self {
        Error::Config { file: None, place: None, what: fault.what, hint: fault.hint.into() }
    }
}

fn filter<'a>(key: &'static str, text: &'a str) -> Result<Filter<'a>, Fault> {
    Filter::new(text).map_err(|_| Fault {
        key,
        what: format!("`{key}` has {text:?}, which is no topic filter"),
        hint: "`+` stands for one level and a last `#` for any further ones, as in \"device/+/alert/#\"",
    })
}

/// Line and column, from 1, of a byte offset.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// The first place where a key is set.
fn locate(text: &str, key: &str) -> Option<(usize, usize)> {
    let set = |line: &str| line.trim_start().split('=').next().is_some_and(|name| name.trim() == key);
    let (number, line) = text.lines().enumerate().find(|(_, line)| set(line))?;
    Some((number + 1, line.len() - line.trim_start().len() + 1))
}
