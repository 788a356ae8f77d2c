//! The page and the metrics as a browser and a monitor get them.

use crate::support::{message, sealed};
use sealstone_mldsa::Level;
use sealstone_mqtt::form::By;
use sealstone_mqtt::gateway::page::{Page, STYLE, html, serve};
use sealstone_mqtt::gateway::status::Status;
use sealstone_mqtt::gateway::tags::Tagged;
use sealstone_mqtt::gateway::verify::{Effect, Passed, Signer};
use sealstone_mqtt::gateway::{Alert, AlertKind, Event, Marks, Observer, Reason, Tally, metrics};
use sealstone_mqtt::{Form, KeyId, Kind, Number, UnixMillis};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

const NOW: UnixMillis = UnixMillis(1_800_000_000_000);

/// A gateway that has seen something, of a device with a name that wants to be a script.
fn status() -> Status {
    let status = Status::default();
    let device = "<script>alert('1')</script>";
    let passed = Passed {
        topic: "device/7/telemetry/temp".into(),
        payload: sealed(Form::V1, &message(Form::V1), Level::MlDsa44).unwrap(),
        properties: Default::default(),
        marks: Marks::default(),
        signer: Some(Signer {
            device: device.into(),
            key: KeyId(1),
            by: By::Signature(Level::MlDsa44),
            form: Form::V1,
            number: None,
            time: NOW,
            kind: Kind::Plain,
        }),
        class: None,
        tags: Tally::default(),
        effect: Effect::Nothing,
    };
    status.note(&Event::Started { devices: 3, owed: 0 });
    status.note(&Event::Connected { session_present: false });
    for _ in 0..5 {
        status.note(&Event::Received { bytes: 100 });
        status.note(&Event::Passed { message: &passed, now: NOW });
    }
    let tagged = Passed { signer: passed.signer.map(|signer| Signer { by: By::Mac, ..signer }), ..passed };
    status.note(&Event::Passed { message: &tagged, now: NOW });
    let one = Tagged { key: KeyId(17), number: Number { epoch: 1, sequence: 2 } };
    let tally = Tally { covered: 41, lost: vec![one, one], uncovered: vec![one], ..Tally::default() };
    for device in [device, "nobody"] {
        status.note(&Event::Tags { device, tally: &tally, now: NOW });
    }
    let refused = |device| Event::Refused { reason: Reason::Replay, topic: "x", device, now: NOW };
    status.note(&refused(Some(device)));
    status.note(&refused(Some("nobody")));
    let alert = Alert { kind: AlertKind::Replay, device: device.into(), time: NOW };
    status.note(&Event::Alert { alert: &alert });
    status
}

#[test]
fn the_page_says_what_was_seen_and_takes_no_name_for_markup() {
    let later = UnixMillis(NOW.0 + 61_000);
    let page = html(&status().now(later), later);
    for said in [
        "connected",
        "<dd>6</dd>",
        "<dt>tags covered</dt><dd>82</dd>",
        "<td>covered 41, lost 2, uncovered 1</td>",
        "replay",
        "KMAC256",
        "61 s ago",
        "&lt;script&gt;alert(&#39;1&#39;)",
        "most in 120 seconds 8",
    ] {
        assert!(page.contains(said), "{said}: {page}");
    }
    assert!(!page.contains("<script") && !page.contains("nobody"), "{page}");
    assert!(!page.contains("style=") && !page.contains("://"), "nothing inline, nothing from elsewhere");
    assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    // The bar of a minute ago, of the full height.
    assert!(page.contains("<rect x=\"232\" y=\"2\" width=\"3\" height=\"58\"/>"), "{page}");
}

#[test]
fn the_metrics_are_lines_that_monitoring_reads() {
    let text = metrics::text(&status().now(NOW));
    for line in [
        "sealstone_mqtt_connected 1",
        "sealstone_mqtt_received_total 5",
        "sealstone_mqtt_received_bytes_total 500",
        "sealstone_mqtt_passed_total{mark=\"none\"} 6",
        "sealstone_mqtt_tags_total{state=\"taken\"} 1",
        "sealstone_mqtt_tags_total{state=\"covered\"} 82",
        "sealstone_mqtt_tags_total{state=\"lost\"} 4",
        "sealstone_mqtt_tags_total{state=\"uncovered\"} 2",
        "sealstone_mqtt_refused_total{reason=\"replay\"} 2",
        "sealstone_mqtt_alerts_total{kind=\"replay\"} 1",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(name.starts_with("sealstone_mqtt_") && value.parse::<u64>().is_ok(), "{line}");
    }
}

#[test]
fn what_is_asked_for_by_address_is_answered_and_nothing_else() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap();
    // It answers for ever, which here is until the tests end.
    let page = Page { status: Arc::new(status()), now: Box::new(|| NOW) };
    std::thread::spawn(move || runtime.block_on(serve(listener, page)));
    let ask = |line: &str, host: &str| asked(address, line, host);
    let own = address.to_string();
    let page = ask("GET / HTTP/1.1", &own);
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("<h1>MQTT gateway"), "{page}");
    let policy = "content-security-policy: default-src 'none'; style-src 'self'; base-uri 'none'";
    for header in
        [policy, "x-content-type-options: nosniff", "referrer-policy: no-referrer", "cache-control: no-store"]
    {
        assert!(page.contains(header), "{header}: {page}");
    }
    assert!(ask("GET /metrics HTTP/1.1", &own).contains("sealstone_mqtt_connected 1"));
    assert!(ask("GET /style.css HTTP/1.1", "localhost").contains("text/css"));
    assert!(ask("GET /style.css HTTP/1.1", "[::1]:80").starts_with("HTTP/1.1 200"));
    assert!(ask("GET /other HTTP/1.1", &own).starts_with("HTTP/1.1 404"));
    assert!(ask("POST / HTTP/1.1", &own).starts_with("HTTP/1.1 405"));
    for elsewhere in ["evil.example", "127.0.0.1.evil.example", "", "localhost.evil.example:80"] {
        assert!(ask("GET / HTTP/1.1", elsewhere).starts_with("HTTP/1.1 421"), "{elsewhere}");
    }
}

fn asked(address: SocketAddr, line: &str, host: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{line}\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
