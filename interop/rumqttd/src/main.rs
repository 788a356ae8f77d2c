//! rumqttd in a process of its own: `second-broker 3.1.1|5 PORT`, on loopback, until it is killed. It keeps sessions in memory.

use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};

use rumqttd::{Broker, Config, ConnectionSettings, RouterConfig, ServerSettings};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let version = arguments.next().ok_or("which version of MQTT?")?;
    let port = arguments.next().ok_or("on which port?")?.parse()?;
    let server = ServerSettings {
        name: "second".into(),
        listen: SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        tls: None,
        next_connection_delay_ms: 1,
        connections: ConnectionSettings {
            connection_timeout_ms: 60_000,
            max_payload_size: 1 << 20,
            max_inflight_count: 256,
            auth: None,
            external_auth: None,
            dynamic_filters: true,
        },
    };
    let servers = Some(HashMap::from([("second".to_owned(), server)]));
    let (v4, v5) = if version == "5" { (None, servers) } else { (servers, None) };
    let router = RouterConfig {
        max_connections: 100,
        max_outgoing_packet_count: 200,
        max_segment_size: 100 << 20,
        max_segment_count: 10,
        ..RouterConfig::default()
    };
    Broker::new(Config { id: 0, router, v4, v5, ..Config::default() }).start()?;
    Ok(())
}
