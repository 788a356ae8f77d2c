//! Backups made of a server that is working, and servers started from them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::real::forms::{self, Form};
use crate::real::{House, Wire, write_config};

/// What a server under load has acknowledged, in the order in which it did.
#[derive(Default)]
struct Acknowledged {
    /// Refresh tokens that were issued and never used.
    families: Vec<String>,
    /// Refresh tokens whose family was revoked.
    ended: Vec<String>,
    /// Assertions that were used.
    used: Vec<Form>,
    /// Tokens that were revoked.
    revoked: Vec<String>,
}

impl Acknowledged {
    fn counts(&self) -> [usize; 4] {
        [self.families.len(), self.ended.len(), self.used.len(), self.revoked.len()]
    }
}

async fn work(house: Arc<House>, wire: Wire, done: Arc<Mutex<Acknowledged>>, stop: Arc<AtomicBool>) {
    let mut round = 0;
    while !stop.load(Ordering::SeqCst) {
        let code = wire.code(&house.cookie).await.unwrap().unwrap();
        let token = wire.post(forms::redeem(&code)).await.unwrap().member("refresh_token").unwrap();
        if round % 2 == 0 {
            assert_eq!(wire.post(forms::revoke_of_shop(&token)).await.unwrap().status, 200);
            done.lock().unwrap().ended.push(token);
        } else {
            done.lock().unwrap().families.push(token);
        }
        for form in [house.by_client_assertion(), house.by_grant_assertion()] {
            assert_eq!(wire.post(form.clone()).await.unwrap().status, 200);
            done.lock().unwrap().used.push(form);
        }
        let answer = wire.post(forms::client_credentials(&house.service)).await.unwrap();
        let token = answer.member("access_token").unwrap();
        assert_eq!(wire.post(forms::revoke(&house.service, &token)).await.unwrap().status, 200);
        done.lock().unwrap().revoked.push(token);
        round += 1;
    }
}

/// Every write that was acknowledged before the backup began is in it; a code that waited for its use is not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_under_load_restores_everything_that_was_acknowledged() {
    let house = Arc::new(House::build().await);
    let mut server = house.serve("sealstone.toml");
    let (done, stop) = (Arc::new(Mutex::new(Acknowledged::default())), Arc::new(AtomicBool::new(false)));
    let mut workers = Vec::new();
    for _ in 0..4 {
        let (house, wire) = (house.clone(), server.wire().await);
        workers.push(tokio::spawn(work(house, wire, done.clone(), stop.clone())));
    }
    let wire = server.wire().await;
    let mut backups = Vec::new();
    for number in 0..3 {
        while done.lock().unwrap().counts().iter().any(|count| *count < 20 * (number + 1)) {
            tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        }
        let waiting = wire.code(&house.cookie).await.unwrap().unwrap();
        let late = house.basic(&format!("late-{number}"), "");
        let before = done.lock().unwrap().counts();
        let (making, name) = (house.clone(), format!("backup-{number}"));
        tokio::task::spawn_blocking(move || making.run(&format!("backup --json {name}"))).await.unwrap();
        assert!(done.lock().unwrap().counts()[0] >= before[0]);
        backups.push((before, waiting, late));
    }
    stop.store(true, Ordering::SeqCst);
    for worker in workers {
        worker.await.unwrap();
    }
    server.stop();

    let done = std::mem::take(&mut *done.lock().unwrap());
    for (number, (before, waiting, late)) in backups.iter().enumerate() {
        let config = format!("restored-{number}.toml");
        write_config(house.directory.path(), &config, &format!("restored-{number}"));
        let mut restore = crate::real::sealstone(house.directory.path());
        restore.args(["restore", "--config", &config, &format!("backup-{number}")]);
        let said = restore.output().unwrap();
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let data = house.data_of(&config);
        for (name, mode) in [("", 0o700), ("store.sqlite", 0o600), ("seal.key", 0o600)] {
            let found = fs::metadata(data.join(name)).unwrap().permissions().mode() & 0o777;
            assert_eq!(found, mode, "{name}");
        }

        let mut server = house.serve(&config);
        let wire = server.wire().await;
        let status = async |form: Form| wire.post(form).await.unwrap().status;
        for token in &done.families[..before[0]] {
            assert_eq!(status(forms::refresh(token)).await, 200, "a family is lost");
        }
        for token in &done.ended[..before[1]] {
            assert_eq!(status(forms::refresh(token)).await, 400, "an ended family lives again");
        }
        for form in &done.used[..before[2]] {
            assert_ne!(status(form.clone()).await, 200, "an assertion can be used again");
        }
        for token in &done.revoked[..before[3]] {
            let answer = wire.post(forms::introspect(&house.service, token)).await.unwrap();
            assert_eq!(answer.json()["active"], false, "a revoked token is active again");
        }
        assert_eq!(status(forms::client_credentials(late)).await, 200, "a client is lost");
        assert_eq!(status(forms::redeem(waiting)).await, 400, "a code that may have been used is there");
        assert!(wire.code(&house.cookie).await.unwrap().is_some(), "the session holds");
        server.stop();
    }
}
