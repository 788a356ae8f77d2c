//! A real HTTPS server on loopback that publishes keys, counts who comes, and can be told to misbehave.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rcgen::{ExtendedKeyUsagePurpose, SanType};
use rustls::ServerConfig;
use sealstone_auth::outbound::{Addresses, Resolver};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::authority::{Authority, Identity, text, worker_with};

/// How requests are answered.
#[derive(Clone)]
pub enum Manner {
    /// 200 with this body and ETag; 304 to who knows it.
    Publish { body: String, etag: &'static str },
    /// The same after a while.
    Slow { body: String, after: Duration },
    /// These bytes, and then nothing while the connection lasts.
    Stall(String),
    /// This head, then bytes without end.
    Flood(&'static str),
    /// These bytes.
    Say(String),
}

pub struct Publisher {
    pub address: SocketAddr,
    pub ca_pem: String,
    manner: Arc<Mutex<Manner>>,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

/// A certificate for these names and for 127.0.0.1.
pub fn server_identity(authority: &Authority, names: &[&str]) -> Identity {
    authority.certify(&worker_with(|params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.subject_alt_names = names.iter().map(|name| SanType::DnsName(text(name))).collect();
        params.subject_alt_names.push(SanType::IpAddress("127.0.0.1".parse().unwrap()));
        params.subject_alt_names.push(SanType::IpAddress("::1".parse().unwrap()));
    }))
}

impl Publisher {
    /// A server whose certificate is for `keys.example`, `localhost` and the loopback addresses.
    pub async fn start(manner: Manner) -> Self {
        let authority = Authority::new("publisher's root");
        let identity = server_identity(&authority, &["keys.example", "localhost"]);
        Self::start_as(manner, &authority, identity).await
    }

    pub async fn start_as(manner: Manner, authority: &Authority, identity: Identity) -> Self {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let key = identity.private_key();
        let tls = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(identity.chain, key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let publisher = Self {
            address: listener.local_addr().unwrap(),
            ca_pem: authority.certificate.pem(),
            manner: Arc::new(Mutex::new(manner)),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (manner, connections, requests) =
            (publisher.manner.clone(), publisher.connections.clone(), publisher.requests.clone());
        tokio::spawn(async move {
            loop {
                let Ok((stream, _)) = listener.accept().await else { return };
                connections.fetch_add(1, Ordering::SeqCst);
                let (acceptor, manner, requests) = (acceptor.clone(), manner.clone(), requests.clone());
                tokio::spawn(async move {
                    let Ok(mut stream) = acceptor.accept(stream).await else { return };
                    let mut head = Vec::new();
                    while !head.ends_with(b"\r\n\r\n") {
                        match stream.read_u8().await {
                            Ok(byte) => head.push(byte),
                            Err(_) => return,
                        }
                    }
                    let head = String::from_utf8(head).unwrap();
                    requests.lock().unwrap().push(head.clone());
                    let manner = manner.lock().unwrap().clone();
                    let _ = answer(manner, &head, &mut stream).await;
                });
            }
        });
        publisher
    }

    pub fn set(&self, manner: Manner) {
        *self.manner.lock().unwrap() = manner;
    }

    /// Connections that came, whatever became of them.
    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The heads of the requests that came.
    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

async fn answer(
    manner: Manner,
    head: &str,
    stream: &mut (impl AsyncWriteExt + Unpin),
) -> std::io::Result<()> {
    let ok = |etag: &str, body: &str| {
        let length = body.len();
        format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n{etag}connection: close\r\n\r\n{body}")
    };
    let said = match manner {
        Manner::Publish { body, etag } => {
            let known = head.to_ascii_lowercase().contains(&format!("if-none-match: {etag}\r\n"));
            match known {
                true => format!("HTTP/1.1 304 Not Modified\r\netag: {etag}\r\n\r\n"),
                false => ok(&format!("etag: {etag}\r\n"), &body),
            }
        }
        Manner::Slow { body, after } => {
            tokio::time::sleep(after).await;
            ok("", &body)
        }
        Manner::Say(said) => said,
        Manner::Stall(said) => {
            stream.write_all(said.as_bytes()).await?;
            stream.flush().await?;
            return std::future::pending().await;
        }
        Manner::Flood(said) => {
            stream.write_all(said.as_bytes()).await?;
            loop {
                stream.write_all(&[b' '; 4096]).await?;
            }
        }
    };
    stream.write_all(said.as_bytes()).await?;
    stream.shutdown().await
}

/// A resolver that knows what it was told, and counts.
pub struct Told {
    pub addresses: Vec<SocketAddr>,
    pub asked: Arc<AtomicUsize>,
}

impl Resolver for Told {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Addresses<'a> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let found = self.addresses.clone();
        Box::pin(async move { Ok(found) })
    }
}
