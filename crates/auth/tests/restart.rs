//! What must survive: keys, clients, revocations; also a stop without warning.

use std::sync::Arc;

use hyper::StatusCode;
use sealstone_auth::store::{Kind, NewRecord, Sqlite, Store, Use, Version, Write};
use sealstone_auth::{Admin, Config, NewClient, Server, World};
use sealstone_jose::{Algorithm, UnixSeconds};

use crate::support::{Credentials, Running, START, config};

#[tokio::test]
async fn a_restart_keeps_keys_clients_and_revocations() {
    let directory = tempfile::tempdir().unwrap();
    // The issuer is part of a token, so it must not follow the port.
    let config = || Config { issuer: Some("https://auth.example.org".into()), ..config(directory.path()) };
    let first = Running::start(config()).await;
    let (kept, revoked) = (first.token().await, first.token().await);
    assert_eq!(first.post("/revoke", &format!("token={revoked}")).await.status, StatusCode::OK);
    let (jwks, who) = (first.get("/jwks").await.body, first.who.clone());
    first.stop().await;

    let mut second = Running::start(config()).await;
    second.who = who;
    assert_eq!(second.get("/jwks").await.body, jwks);
    assert!(second.is_active(&kept).await);
    assert!(!second.is_active(&revoked).await);
    assert_eq!(second.admin.list_clients().await.unwrap().len(), 2);
    second.stop().await;
}

/// Two servers on one data directory: what one revokes, the other refuses within a poll.
#[tokio::test]
async fn a_neighbour_notices_within_a_poll() {
    let directory = tempfile::tempdir().unwrap();
    let config = || Config { issuer: Some("https://auth.example.org".into()), ..config(directory.path()) };
    let first = Running::start(config()).await;
    let mut second = Running::start(config()).await;
    second.who = first.who.clone();
    assert_eq!(first.get("/jwks").await.body, second.get("/jwks").await.body);
    let token = first.token().await;
    assert!(second.is_active(&token).await);
    first.post("/revoke", &format!("token={token}")).await;
    assert!(!first.is_active(&token).await, "at once where it was revoked");
    let noticed = async {
        while second.is_active(&token).await {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(5), noticed).await.unwrap();
    first.stop().await;
    second.stop().await;
}

/// What the command does beside a running server: its changes are noticed within a poll.
#[tokio::test]
async fn an_administrator_beside_the_server() {
    let directory = tempfile::tempdir().unwrap();
    let config = config(directory.path());
    let mut server = Running::start(config.clone()).await;
    let beside = Admin::open(&config).unwrap();
    let new = NewClient { algorithm: Algorithm::Es256, ..NewClient::default() };
    let (client, secret) = beside.add_client(new).await.unwrap();
    assert_eq!(beside.list_clients().await.unwrap().len(), 2);
    let secret = secret.unwrap().reveal().to_owned();
    server.who = Credentials { id: client.id.clone(), secret };
    let status = async |wanted: StatusCode| {
        let asking = async {
            while server.post("/token", "grant_type=client_credentials").await.status != wanted {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(std::time::Duration::from_secs(5), asking).await.unwrap();
    };
    status(StatusCode::OK).await;
    beside.remove_client(&client.id, None).await.unwrap();
    status(StatusCode::UNAUTHORIZED).await;
    server.stop().await;
}

/// The files as they lie on the disk while the store is open are what a kill would leave: every write that was
/// acknowledged is in them.
#[tokio::test]
async fn every_acknowledged_write_survives_a_kill() {
    let (now, directory) = (UnixSeconds(START), tempfile::tempdir().unwrap());
    let path = directory.path().join("store.sqlite");
    let store = Arc::new(Sqlite::open(&path).unwrap());
    for round in 0..10 {
        let writes: Vec<_> = (0..20)
            .map(|n| {
                let store = store.clone();
                let id = format!("{round}-{n}");
                let new = NewRecord { kind: Kind::SingleUse, id, expires_at: None, body: vec![1; 500] };
                tokio::spawn(async move { store.insert(new, now).await.unwrap() })
            })
            .collect();
        for write in writes {
            assert_ne!(write.await.unwrap(), Write::Refused);
        }
        assert!(matches!(
            store.consume(Kind::SingleUse, &format!("{round}-0"), now).await.unwrap(),
            Use::First(_)
        ));

        let wreck = directory.path().join(format!("wreck-{round}.sqlite"));
        for suffix in ["", "-wal"] {
            copy(format!("{}{suffix}", path.display()), format!("{}{suffix}", wreck.display()));
        }
        let reopened = Sqlite::open(&wreck).unwrap();
        assert_eq!(reopened.list(Kind::SingleUse, Version::ZERO, now).await.unwrap().len(), 20 * (round + 1));
        let again = reopened.consume(Kind::SingleUse, &format!("{round}-0"), now).await.unwrap();
        assert!(matches!(again, Use::Again(_)), "a value used before the kill is used after it");
    }
}

/// Copies as another process, which takes no lock from this one.
fn copy(from: impl AsRef<std::ffi::OsStr>, to: impl AsRef<std::ffi::OsStr>) {
    assert!(std::process::Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap().success());
}

const VICTIM: &str = "SEALSTONE_TEST_VICTIM_STORE";

/// Run as a process of its own by the test below: writes and acknowledges until it is killed.
#[tokio::test]
#[allow(clippy::print_stdout)] // its parent listens
async fn victim() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let (now, store) = (UnixSeconds(START), Sqlite::open(path.as_ref()).unwrap());
    for n in 0..100_000 {
        let new =
            NewRecord { kind: Kind::SingleUse, id: n.to_string(), expires_at: None, body: vec![1; 300] };
        if store.insert(new, now).await.unwrap() != Write::Refused {
            println!("acknowledged {n}");
        }
    }
}

#[tokio::test]
async fn kill_9_loses_no_acknowledged_write() {
    use std::io::{BufRead, BufReader};
    let (now, directory) = (UnixSeconds(START), tempfile::tempdir().unwrap());
    let path = directory.path().join("store.sqlite");
    let mut acknowledged = Vec::new();
    for round in 1..=8 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "restart::victim", "--nocapture"])
            .env(VICTIM, &path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut heard =
            lines.by_ref().filter_map(|line| Some(line.split_once("acknowledged ")?.1.to_owned()));
        acknowledged.extend(heard.by_ref().take(20 * round));
        child.kill().unwrap();
        // What it had said before it died counts too.
        acknowledged.extend(heard);
        child.wait().unwrap();
        let store = Sqlite::open(&path).unwrap();
        for id in &acknowledged {
            assert!(
                store.read(Kind::SingleUse, id, now).await.unwrap().is_some(),
                "round {round}: {id} is lost"
            );
        }
    }
    assert!(acknowledged.len() >= 20 * 36);
}

#[tokio::test]
async fn a_store_that_is_closed_leaves_one_file() {
    let (now, directory) = (UnixSeconds(START), tempfile::tempdir().unwrap());
    let path = directory.path().join("store.sqlite");
    let store = Sqlite::open(&path).unwrap();
    let new = NewRecord { kind: Kind::Client, id: "a".into(), expires_at: None, body: vec![] };
    assert_ne!(store.insert(new, now).await.unwrap(), Write::Refused);
    drop(store);
    let names: Vec<_> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["store.sqlite"], "the write-ahead log is folded in");
    assert!(Sqlite::open(&path).unwrap().read(Kind::Client, "a", now).await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_killed_while_it_serves_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    let config = |name: &str| Config {
        issuer: Some("https://auth.example.org".into()),
        data_dir: directory.path().join(name),
        ..config(directory.path())
    };
    let first = Running::start(config("data")).await;
    let token = first.token().await;
    assert_eq!(first.post("/revoke", &format!("token={token}")).await.status, StatusCode::OK);
    let (wreck, jwks) = (config("wreck"), first.get("/jwks").await.body);
    let mut private = std::fs::DirBuilder::new();
    std::os::unix::fs::DirBuilderExt::mode(&mut private, 0o700).create(&wreck.data_dir).unwrap();
    for name in ["store.sqlite", "store.sqlite-wal", "seal.key"] {
        copy(directory.path().join("data").join(name), wreck.data_dir.join(name));
    }
    let mut second = Running::start(wreck).await;
    second.who = first.who.clone();
    assert_eq!(second.get("/jwks").await.body, jwks);
    assert!(!second.is_active(&token).await);
    assert!(second.is_active(&second.token().await).await);
    first.stop().await;
    second.stop().await;
}

/// What docs/formats/data-directory.md promises: a copy made while no server runs is a backup, with `seal.key` alone.
#[tokio::test]
async fn a_copy_of_the_data_directory_is_a_backup() {
    let directory = tempfile::tempdir().unwrap();
    let config = |name: &str| Config {
        issuer: Some("https://auth.example.org".into()),
        data_dir: directory.path().join(name),
        ..config(directory.path())
    };
    let first = Running::start(config("data")).await;
    let (kept, revoked) = (first.token().await, first.token().await);
    assert_eq!(first.post("/revoke", &format!("token={revoked}")).await.status, StatusCode::OK);
    let (jwks, who) = (first.get("/jwks").await.body, first.who.clone());
    first.stop().await;
    for name in ["copy", "unsealed"] {
        copy(config("data").data_dir, config(name).data_dir);
    }
    std::fs::remove_dir_all(config("data").data_dir).unwrap();

    let mut second = Running::start(config("copy")).await;
    second.who = who;
    assert_eq!(second.get("/jwks").await.body, jwks);
    assert!(second.is_active(&kept).await);
    assert!(!second.is_active(&revoked).await);
    assert!(second.is_active(&second.token().await).await);
    second.stop().await;

    std::fs::remove_file(config("unsealed").data_dir.join("seal.key")).unwrap();
    let refused = Server::bind(config("unsealed"), World::default()).await.unwrap_err();
    assert!(matches!(refused, sealstone_auth::Error::Sealed { .. }), "{refused}");
}

#[tokio::test]
async fn a_missing_key_file_is_said_and_not_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let config = config(directory.path());
    Running::start(config.clone()).await.stop().await;
    let path = config.data_dir.join("seal.key");
    std::fs::rename(&path, directory.path().join("kept")).unwrap();
    let refused = Server::bind(config.clone(), World::default()).await.unwrap_err();
    assert!(matches!(refused, sealstone_auth::Error::Sealed { .. }) && refused.hint().is_some(), "{refused}");
    assert!(!path.exists());
    std::fs::rename(directory.path().join("kept"), &path).unwrap();
    Running::start(config).await.stop().await;
}

#[tokio::test]
async fn a_data_directory_that_others_may_enter_is_refused() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let config = config(directory.path());
    std::fs::create_dir(&config.data_dir).unwrap();
    std::fs::set_permissions(&config.data_dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    let refused = Server::bind(config, World::default()).await.unwrap_err();
    assert!(refused.to_string().contains("0755"), "{refused}");
}

#[tokio::test]
async fn a_taken_port_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let holder = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let config = Config { listen: holder.local_addr().unwrap(), ..config(directory.path()) };
    let refused = Server::bind(config, World::default()).await.unwrap_err();
    assert!(refused.to_string().starts_with("cannot listen on 127.0.0.1:"), "{refused}");
    assert!(refused.hint().is_some());
}
