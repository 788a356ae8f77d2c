//! The threads that check the signatures of others: whose turn it is, and who is turned away.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use http_body_util::Full;
use hyper_util::rt::{TokioExecutor, TokioIo};
use sealstone_auth::protocol::Code;
use sealstone_auth::protocol::client_assertion::JWT_BEARER;
use sealstone_auth::verifiers::{Busy, MOST, MOST_PER_CLIENT, Verifiers};
use sealstone_auth::{AssertionAudience, AssertionKeys, Clock, NewAuthentication, NewClient};
use sealstone_jose::jwt::{self, Claims};
use sealstone_jose::{Algorithm, JwkSet, PrivateKey};

use crate::mtls::client;
use crate::support::{House, Running};

/// One thread that stands still until the sender is dropped.
async fn held() -> (Verifiers, mpsc::Sender<()>) {
    let verifiers = Verifiers::new(1);
    let (release, gate) = mpsc::channel::<()>();
    let (at_work, started) = tokio::sync::oneshot::channel();
    let held = verifiers.clone();
    tokio::spawn(async move {
        held.run("holder", move || {
            let _ = at_work.send(());
            let _ = gate.recv();
        })
        .await
    });
    started.await.unwrap();
    (verifiers, release)
}

/// A job that is in its line: the first poll puts it there.
fn queue<T: Send + 'static>(
    verifiers: &Verifiers,
    client: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Pin<Box<dyn Future<Output = Result<T, Busy>> + Send>> {
    let (verifiers, client) = (verifiers.clone(), client.to_owned());
    let mut job = Box::pin(async move { verifiers.run(&client, work).await });
    match job.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(done) => Box::pin(std::future::ready(done)),
        Poll::Pending => job,
    }
}

#[tokio::test]
async fn lines_take_turns() {
    let (verifiers, release) = held().await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let mut jobs = Vec::new();
    let mut add = |client: &'static str| {
        let order = order.clone();
        jobs.push(queue(&verifiers, client, move || order.lock().unwrap().push(client)));
    };
    (0..200).for_each(|_| add("flood"));
    add("honest");
    add("honest");
    add("other");
    drop(release);
    for job in jobs {
        job.await.unwrap();
    }
    let order = order.lock().unwrap();
    let place = |client: &str| {
        order.iter().enumerate().filter(|(_, who)| **who == client).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(order.len(), 203);
    assert_eq!((place("honest"), place("other")), (vec![1, 4], vec![2]), "one of the flood before each");
}

#[tokio::test]
async fn a_line_has_an_end() {
    let (verifiers, release) = held().await;
    let mut jobs: Vec<_> = (0..MOST_PER_CLIENT).map(|_| queue(&verifiers, "flood", || ())).collect();
    assert_eq!(verifiers.run("flood", || ()).await, Err(Busy), "at once");
    for n in 1..MOST / MOST_PER_CLIENT {
        jobs.extend((0..MOST_PER_CLIENT).map(|_| queue(&verifiers, &format!("client {n}"), || ())));
    }
    assert_eq!(verifiers.run("newcomer", || ()).await, Err(Busy), "nobody has room");
    drop(release);
    assert_eq!(jobs.len(), MOST);
    for job in jobs {
        assert_eq!(job.await, Ok(()));
    }
    assert_eq!(verifiers.run("flood", || 7).await, Ok(7), "and then there is room again");
}

#[tokio::test]
async fn what_nobody_waits_for_is_not_done() {
    let (verifiers, release) = held().await;
    let done = Arc::<AtomicUsize>::default();
    for _ in 0..100 {
        let done = done.clone();
        drop(queue(&verifiers, "gone", move || done.fetch_add(1, Ordering::SeqCst)));
    }
    drop(release);
    assert_eq!(verifiers.run("gone", || 1).await, Ok(1));
    assert_eq!(done.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_job_that_panics_takes_no_thread_along() {
    let verifiers = Verifiers::new(1);
    for _ in 0..10 {
        assert_eq!(verifiers.run("bad", || panic!("on purpose")).await, Err::<(), _>(Busy));
        assert_eq!(verifiers.run("good", || 7).await, Ok(7));
    }
}

/// No job is left in a line when the last thread goes: 100 000 times near that moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_job_is_forgotten() {
    let verifiers = Verifiers::new(2);
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..4 {
        let verifiers = verifiers.clone();
        tasks.spawn(async move {
            for n in 0..25_000 {
                assert_eq!(verifiers.run(["a", "b"][task % 2], move || n).await, Ok(n));
            }
        });
    }
    let all = async {
        while let Some(done) = tasks.join_next().await {
            done.unwrap()
        }
    };
    tokio::time::timeout(Duration::from_secs(300), all).await.expect("a job was forgotten");
}

fn signer(key: &PrivateKey, id: &str) -> NewClient {
    let keys = JwkSet::new([key.public().clone()]).unwrap().into();
    let keys = AssertionKeys { audience: AssertionAudience::Issuer, keys };
    NewClient { id: Some(id.into()), ..client(NewAuthentication::PrivateKeyJwt(keys)) }
}

fn assertion(key: &PrivateKey, id: &str, issuer: &str, now: u64, jti: &str) -> String {
    let about = Claims::new().with("iss", id).with("sub", id).with("aud", issuer);
    jwt::sign(key, "JWT", &about.with("exp", now + 60).with("jti", jti)).unwrap()
}

fn form(assertion: &str) -> String {
    let kind = JWT_BEARER.replace(':', "%3A");
    format!("grant_type=client_credentials&client_assertion_type={kind}&client_assertion={assertion}")
}

/// When the budget of a client is spent, it hears so; nobody else does, and a wrong key name costs none of it.
#[tokio::test]
async fn a_spent_budget_is_temporarily_unavailable() {
    let (verifiers, release) = held().await;
    let mut house = House::build().await;
    house.verifiers = verifiers.clone();
    let (key, other) =
        (PrivateKey::generate(Algorithm::Es256).unwrap(), PrivateKey::generate(Algorithm::Es256).unwrap());
    house.enrol(signer(&key, "flooded")).await;
    house.enrol(signer(&other, "other")).await;
    let jobs: Vec<_> = (0..MOST_PER_CLIENT).map(|_| queue(&verifiers, "flooded", || ())).collect();
    let (issuer, now) = (house.issuer.to_string(), house.clock.now().0);
    let good = form(&assertion(&key, "flooded", &issuer, now, "1"));
    let refused = house.authenticate(&[], None, &good).await.unwrap_err();
    assert_eq!(refused.code, Code::TemporarilyUnavailable);
    // Cheap checks stand before the line.
    for wrong in [
        assertion(&key, "flooded", &issuer, now - 120, "over"),
        assertion(&other, "flooded", &issuer, now, "a kid that is not registered"),
    ] {
        assert_eq!(house.authenticate(&[], None, &form(&wrong)).await.unwrap_err().code, Code::InvalidClient);
    }
    let theirs = form(&assertion(&other, "other", &issuer, now, "1"));
    let (answer, ()) = tokio::join!(house.authenticate(&[], None, &theirs), async { drop(release) });
    assert_eq!(answer.unwrap(), "other");
    for job in jobs {
        job.await.unwrap();
    }
    assert_eq!(house.authenticate(&[], None, &good).await.unwrap(), "flooded", "nothing was used up");
}

/// Thousands of bad ML-DSA-87 assertions in one client's name, over a real connection, while others come and go.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_flood_of_bad_signatures_starves_nobody_else() {
    let directory = tempfile::tempdir().unwrap();
    let server = Arc::new(Running::start(crate::support::config(directory.path())).await);
    let (flooded, honest) = (
        PrivateKey::generate(Algorithm::MlDsa87).unwrap(),
        PrivateKey::generate(Algorithm::MlDsa65).unwrap(),
    );
    server.admin.add_client(signer(&flooded, "flooded")).await.unwrap();
    server.enrol(signer(&honest, "honest")).await;
    let now = sealstone_auth::clock::SystemClock.now().0;
    let good = assertion(&flooded, "flooded", &server.issuer, now, "flood");
    let middle = good.len() - 3000;
    let letter = if &good[middle..=middle] == "A" { "B" } else { "A" };
    let bad = [&good[..middle], letter, &good[middle + 1..]].concat();
    let mut flood = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (server, bad) = (server.clone(), form(&bad));
        flood.spawn(async move {
            let io = TokioIo::new(server.connect("h2").await);
            let (sender, connection) =
                hyper::client::conn::http2::handshake(TokioExecutor::new(), io).await.unwrap();
            tokio::spawn(connection);
            let mut statuses = Vec::new();
            for _ in 0..2 {
                let mut wave = tokio::task::JoinSet::new();
                for _ in 0..100 {
                    let mut request = server.form("/token", "");
                    request.headers_mut().remove("authorization");
                    *request.body_mut() = Full::from(bad.clone());
                    let mut sender = sender.clone();
                    wave.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() });
                }
                statuses.extend(wave.join_all().await);
            }
            statuses
        });
    }
    for n in 0..20 {
        let mut request =
            server.form("/token", &form(&assertion(&honest, "honest", &server.issuer, now, &n.to_string())));
        request.headers_mut().remove("authorization");
        assert_eq!(server.send(request).await.status, 200, "request {n}");
        assert_eq!(server.post("/token", "grant_type=client_credentials").await.status, 200);
    }
    let statuses: Vec<u16> = flood.join_all().await.into_iter().flatten().collect();
    assert_eq!(statuses.len(), 1600);
    assert!(statuses.iter().all(|status| [401, 503].contains(status)), "{statuses:?}");
}
