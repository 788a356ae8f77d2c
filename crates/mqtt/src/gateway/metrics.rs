//! What monitoring reads: Prometheus' text format, version 0.0.4.

use std::fmt::Write as _;

use super::status::Now;

/// The media type.
pub const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The text. Label values are names of ours: nothing in them needs to be escaped. Devices are not named, for there may be many.
pub fn text(now: &Now) -> String {
    let mut text = Text(String::new());
    text.family(
        "sealstone_mqtt_connected",
        "gauge",
        "Whether the broker's connection stands",
        &[("", u64::from(now.connected))],
    );
    let connections =
        [("kind=\"new\"", now.new_sessions), ("kind=\"resumed\"", now.connections - now.new_sessions)];
    text.family(
        "sealstone_mqtt_sessions_total",
        "counter",
        "Connections by whether the broker had the session",
        &connections,
    );
    text.family("sealstone_mqtt_devices", "gauge", "Devices in the directory", &[("", now.directory as u64)]);
    text.family(
        "sealstone_mqtt_directory_faults_total",
        "counter",
        "Looks at a directory with a fault",
        &[("", now.directory_faults)],
    );
    text.family("sealstone_mqtt_received_total", "counter", "Messages that came", &[("", now.received.0)]);
    text.family(
        "sealstone_mqtt_received_bytes_total",
        "counter",
        "Bytes of their payloads",
        &[("", now.received.1)],
    );
    text.family(
        "sealstone_mqtt_dropped_total",
        "counter",
        "Messages of QoS 0 that were let go while the gateway was full",
        &[("", now.dropped)],
    );
    let passed = [("mark=\"none\"", now.passed.0), ("mark=\"some\"", now.passed.1)];
    text.family("sealstone_mqtt_passed_total", "counter", "Messages that passed", &passed);
    let delivered = [("by=\"taken\"", now.delivered.0), ("by=\"refused\"", now.delivered.1)];
    text.family(
        "sealstone_mqtt_copies_total",
        "counter",
        "Clean copies that the broker answered",
        &delivered,
    );
    text.family(
        "sealstone_mqtt_keys_confirmed_total",
        "counter",
        "Announced keys that were confirmed",
        &[("", now.confirmed)],
    );
    text.family(
        "sealstone_mqtt_commands_released_total",
        "counter",
        "Commands of templates that were let go",
        &[("", now.released)],
    );
    let refused: Vec<(String, u64)> =
        now.refused.iter().map(|(reason, count)| (format!("reason=\"{reason}\""), *count)).collect();
    text.family("sealstone_mqtt_refused_total", "counter", "Messages that were refused", &refused);
    let tags: Vec<(String, u64)> =
        now.tags.iter().map(|(state, count)| (format!("state=\"{state}\""), *count)).collect();
    text.family("sealstone_mqtt_tags_total", "counter", "Messages with tags, and what became of them", &tags);
    let alerts: Vec<(String, u64)> =
        now.alerts.iter().map(|(kind, count)| (format!("kind=\"{kind}\""), *count)).collect();
    text.family("sealstone_mqtt_alerts_total", "counter", "Alerts", &alerts);
    text.0
}

struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str, samples: &[(impl AsRef<str>, u64)]) {
        // A string takes whatever is written.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in samples {
            let _ = match labels.as_ref() {
                "" => writeln!(self.0, "{name} {value}"),
                labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
            };
        }
    }
}
