//! A page that shows how it is: server-rendered, without scripts, without anything from elsewhere. It asks for itself again.

mod serve;

pub use serve::{Page, serve};

use std::collections::BTreeMap;
use std::fmt::{self, Display, Write as _};

use super::status::{Device, Now, SECONDS};
use crate::form::By;
use crate::message::UnixMillis;

/// The style, at `/style.css`.
pub const STYLE: &str = include_str!("style.css");
/// The most devices on the page; the latest seen come first.
const DEVICES: usize = 200;
/// Seconds until the page asks for itself again.
const REFRESH: u32 = 5;

/// The page.
pub fn html(status: &Now, now: UnixMillis) -> String {
    let mut page = String::with_capacity(16 * 1024);
    // A string takes whatever is written.
    let _ = write(status, now, &mut page);
    page
}

fn write(status: &Now, now: UnixMillis, page: &mut String) -> fmt::Result {
    let (word, class) = if status.connected { ("connected", "good") } else { ("no broker", "bad") };
    let refused: u64 = status.refused.values().sum();
    write!(
        page,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"refresh\" content=\"{REFRESH}\">\n<title>MQTT gateway</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n</head>\n<body>\n<main>\n\
         <h1>MQTT gateway <span class=\"{class}\">{word}</span></h1>\n<dl>\n"
    )?;
    for (name, value) in [
        ("genuine", status.passed.0),
        ("marked", status.passed.1),
        ("refused", refused),
        ("tags covered", status.tags.get("covered").copied().unwrap_or(0)),
        ("delivered", status.delivered.0),
        ("keys confirmed", status.confirmed),
        ("commands let go", status.released),
        ("devices known", status.directory as u64),
        ("devices seen", status.devices.len() as u64),
    ] {
        writeln!(page, "<div><dt>{name}</dt><dd>{value}</dd></div>")?;
    }
    page.push_str("</dl>\n<section>\n<h2>Messages a second</h2>\n");
    chart(status, page)?;
    page.push_str("</section>\n");
    alerts(status, now, page)?;
    page.push_str("<section>\n<h2>Refused</h2>\n<table>\n<thead><tr><th>reason</th><th class=\"n\">messages</th></tr></thead>\n<tbody>\n");
    if status.refused.is_empty() {
        page.push_str("<tr><td colspan=\"2\">none</td></tr>\n");
    }
    for (reason, count) in &status.refused {
        writeln!(page, "<tr><td>{reason}</td><td class=\"n\">{count}</td></tr>")?;
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
    devices(status, now, page)?;
    page.push_str("</main>\n</body>\n</html>\n");
    Ok(())
}

/// Bars, one a second; the text says the same for those who do not see them.
fn chart(status: &Now, page: &mut String) -> fmt::Result {
    let most = status.seconds.iter().copied().max().unwrap_or(0);
    let last = status.seconds.iter().rev().nth(1).copied().unwrap_or(0);
    write!(
        page,
        "<svg viewBox=\"0 0 {} 60\" role=\"img\" aria-label=\"the last {SECONDS} seconds, at most {most} a second\" \
         preserveAspectRatio=\"none\">",
        SECONDS * 4
    )?;
    let first = SECONDS - status.seconds.len().min(SECONDS);
    for (at, count) in status.seconds.iter().enumerate() {
        let height = (u64::from(*count) * 58).div_ceil(u64::from(most.max(1)));
        if height > 0 {
            write!(
                page,
                "<rect x=\"{}\" y=\"{}\" width=\"3\" height=\"{height}\"/>",
                (first + at) * 4,
                60 - height
            )?;
        }
    }
    writeln!(page, "</svg>\n<p>last second {last}, most in {SECONDS} seconds {most}</p>")
}

fn alerts(status: &Now, now: UnixMillis, page: &mut String) -> fmt::Result {
    page.push_str("<section>\n<h2>Alerts</h2>\n<table>\n<thead><tr><th>what</th><th>device</th><th>when</th></tr></thead>\n<tbody>\n");
    if status.latest.is_empty() {
        page.push_str("<tr><td colspan=\"3\">none</td></tr>\n");
    }
    for alert in &status.latest {
        let (kind, device) = (alert.kind.name(), Escaped(&alert.device));
        writeln!(
            page,
            "<tr class=\"bad\"><td>{kind}</td><td>{device}</td><td>{}</td></tr>",
            Ago(alert.time, now)
        )?;
    }
    page.push_str("</tbody>\n</table>\n</section>\n");
    Ok(())
}

fn devices(status: &Now, now: UnixMillis, page: &mut String) -> fmt::Result {
    page.push_str(
        "<section>\n<h2>Devices</h2>\n<table>\n<thead><tr><th>device</th><th>last seen</th><th>seal</th>\
         <th class=\"n\">genuine</th><th>tags</th><th>refused</th></tr></thead>\n<tbody>\n",
    );
    let mut listed: Vec<(&Box<str>, &Device)> = status.devices.iter().collect();
    listed.sort_by_key(|(_, device)| std::cmp::Reverse(device.seen));
    if listed.is_empty() {
        page.push_str("<tr><td colspan=\"6\">none has signed anything yet</td></tr>\n");
    }
    for (name, device) in listed.iter().take(DEVICES) {
        let seal = device.by.map_or("", By::name);
        let listed = |counts: &BTreeMap<&str, u64>| {
            counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
        };
        writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td>{seal}</td><td class=\"n\">{}</td><td>{}</td><td>{}</td></tr>",
            Escaped(name),
            Ago(device.seen, now),
            device.passed,
            listed(&device.tags),
            listed(&device.refused)
        )?;
    }
    page.push_str("</tbody>\n</table>\n");
    if listed.len() > DEVICES {
        writeln!(page, "<p>the {DEVICES} seen last of {}</p>", listed.len())?;
    }
    page.push_str("</section>\n");
    Ok(())
}

/// Text from outside, as text.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '&' => f.write_str("&amp;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                other => f.write_char(other)?,
            }
        }
        Ok(())
    }
}

/// `12 s ago`.
struct Ago(UnixMillis, UnixMillis);

impl Display for Ago {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.1.0.saturating_sub(self.0.0).div_euclid(1000) {
            seconds @ 0..120 => write!(f, "{seconds} s ago"),
            seconds @ 120..7200 => write!(f, "{} min ago", seconds.div_euclid(60)),
            seconds => write!(f, "{} h ago", seconds.div_euclid(3600)),
        }
    }
}
