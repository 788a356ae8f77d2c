//! A server is killed while it works, again and again on one data directory, and must know afterwards everything that it
//! has acknowledged. The driver keeps its own ledger of that.
//!
//! It is killed at a random moment, while it starts, and (where there is strace, and the right to trace) at the entry of
//! its nth system call that writes: before a page of the log is written, between two, before the disk is told to keep
//! them, in the midst of a checkpoint.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::real::forms::{self, Form};
use crate::real::{Dice, House, Lost, Server, Wire, number, write_config};

/// Everything that the server has acknowledged and that has to hold.
#[derive(Default)]
struct Ledger {
    /// Codes, device codes that a person has agreed to and pushed requests that wait for their one use, and when they
    /// were issued.
    waiting: Vec<(Form, Instant)>,
    families: Vec<Family>,
    /// Revoked.
    ended: Vec<Family>,
    /// Assertions, device codes and pushed requests that were used.
    spent: Vec<Form>,
    /// Uses to which no answer came.
    unsure: Vec<Form>,
    /// Access tokens that were revoked.
    revoked: Vec<String>,
    /// `Basic` of clients that were added while the server worked.
    clients: Vec<String>,
    /// Answers that count, and how often one was looked for again.
    acknowledged: u64,
    checked: u64,
    /// What must not be.
    wrong: Vec<String>,
}

struct Family {
    /// The refresh token that was last heard of.
    token: String,
    /// The code that it began with.
    code: Form,
    /// A refresh to which no answer came: when it was sent.
    unsure: Option<Instant>,
}

/// A code lasts a minute; one that is younger than this has to be there.
const YOUNG: Duration = Duration::from_secs(40);
/// Of the ten seconds in which a refresh token may be exchanged again.
const GRACE: Duration = Duration::from_secs(7);
/// As many assertions are remembered: older ones have ended.
const REMEMBERED: usize = 400;

struct Driver {
    house: House,
    ledger: Mutex<Ledger>,
    dice: Mutex<Dice>,
}

impl Driver {
    fn below(&self, bound: usize) -> usize {
        self.dice.lock().unwrap().below(bound as u64) as usize
    }

    /// One of a list, if there is one.
    fn draw<T>(&self, of: impl FnOnce(&mut Ledger) -> &mut Vec<T>) -> Option<T> {
        let mut ledger = self.ledger.lock().unwrap();
        let list = of(&mut ledger);
        (!list.is_empty()).then(|| list.swap_remove(self.below(list.len())))
    }

    fn note(&self, what: impl FnOnce(&mut Ledger)) {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.acknowledged += 1;
        what(&mut ledger);
    }

    fn wrong(&self, what: String) {
        self.ledger.lock().unwrap().wrong.push(what);
    }

    /// Works until the server is gone.
    async fn work(&self, wire: &Wire) -> Lost {
        loop {
            if let Err(lost) = self.act(wire).await {
                return lost;
            }
        }
    }

    async fn act(&self, wire: &Wire) -> Result<(), Lost> {
        let cookie = &self.house.cookie;
        match self.below(12) {
            kind @ 0..3 => {
                let form = match kind {
                    0 => wire.code(cookie).await?.map(|code| forms::redeem(&code)),
                    1 => wire.pushed(cookie).await?,
                    _ => wire.device(&self.house).await?,
                };
                match form {
                    Some(form) => self.note(|ledger| ledger.waiting.push((form, Instant::now()))),
                    None => self.wrong("the session is lost".into()),
                }
            }
            3..7 => {
                let young = |(_, at): &(Form, Instant)| at.elapsed() < YOUNG;
                if let Some((form, _)) = self.draw(|ledger| &mut ledger.waiting).filter(young) {
                    self.use_once(wire, form).await?;
                }
            }
            7 => {
                if let Some(family) = self.draw(|ledger| &mut ledger.families) {
                    self.refresh(wire, family).await?;
                }
            }
            8 => {
                let Some(family) = self.draw(|ledger| &mut ledger.families) else { return Ok(()) };
                if wire.post(forms::revoke_of_shop(&family.token)).await?.status == 200 {
                    self.note(|ledger| ledger.ended.push(family));
                }
            }
            9 => self.use_once(wire, self.house.by_client_assertion()).await?,
            10 => self.use_once(wire, self.house.by_grant_assertion()).await?,
            _ => {
                let answer = wire.post(forms::client_credentials(&self.house.service)).await?;
                let token = answer.member("access_token").unwrap_or_default();
                if wire.post(forms::revoke(&self.house.service, &token)).await?.status == 200 {
                    self.note(|ledger| ledger.revoked.push(token));
                }
            }
        }
        Ok(())
    }

    /// Uses up what nobody has used, which must be granted.
    async fn use_once(&self, wire: &Wire, form: Form) -> Result<(), Lost> {
        let answer = match wire.post(form.clone()).await {
            Ok(answer) => answer,
            Err(lost) => {
                self.ledger.lock().unwrap().unsure.push(form);
                return Err(lost);
            }
        };
        if !answer.grants() {
            self.wrong(format!("what was issued is lost: {form:?}: {} {}", answer.status, answer.text()));
            return Ok(());
        }
        if let Some(token) = answer.member("refresh_token") {
            self.note(|ledger| ledger.families.push(Family { token, code: form, unsure: None }));
            return Ok(());
        }
        self.note(|ledger| {
            ledger.spent.push(form);
            if ledger.spent.len() > REMEMBERED {
                ledger.spent.remove(0);
            }
            if let Some(code) = answer.code() {
                ledger.waiting.push((forms::redeem(&code), Instant::now()));
            }
        });
        Ok(())
    }

    async fn refresh(&self, wire: &Wire, mut family: Family) -> Result<(), Lost> {
        let sent = Instant::now();
        match wire.post(forms::refresh(&family.token)).await {
            Err(lost) => {
                family.unsure = family.unsure.or(Some(sent));
                self.ledger.lock().unwrap().families.push(family);
                Err(lost)
            }
            Ok(answer) => {
                match answer.member("refresh_token") {
                    Some(token) => {
                        self.note(|ledger| ledger.families.push(Family { token, unsure: None, ..family }));
                    }
                    // The successor that nobody heard of was issued too long ago: reuse, as far as anybody can know.
                    None if family.unsure.is_some_and(|sent| sent.elapsed() > GRACE) => {}
                    None => {
                        self.wrong(format!("a refresh token is lost: {} {}", answer.status, answer.text()))
                    }
                }
                Ok(())
            }
        }
    }

    /// Looks for what must hold at a server that has just started.
    async fn check(&self, wire: &Wire) -> Result<(), Lost> {
        let mut checked = 0;
        let mut refused = async |form: Form, what: &str| {
            checked += 1;
            if wire.post(form).await?.grants() {
                self.wrong(format!("{what} a second time"));
            }
            Ok::<_, Lost>(())
        };
        // Whether the first use happened is not known; after this one, every other is the second.
        let unsure = std::mem::take(&mut self.ledger.lock().unwrap().unsure);
        for form in unsure {
            wire.post(form.clone()).await?;
            refused(form, "what was in flight at the kill is accepted").await?;
        }
        let spent: Vec<Form> = {
            let ledger = self.ledger.lock().unwrap();
            let last = ledger.spent.iter().rev().take(6).cloned();
            let any = (0..6).filter_map(|_| ledger.spent.get(self.below(ledger.spent.len().max(1))).cloned());
            last.chain(any).collect()
        };
        for form in spent {
            refused(form, "what was used is accepted").await?;
        }
        for _ in 0..8 {
            let Some(family) = self.ledger.lock().unwrap().ended.pop() else { break };
            refused(forms::refresh(&family.token), "a revoked refresh token is exchanged").await?;
            refused(family.code, "a code is redeemed").await?;
        }
        let revoked: Vec<String> =
            self.ledger.lock().unwrap().revoked.iter().rev().take(8).cloned().collect();
        for token in revoked {
            checked += 1;
            if wire.post(forms::introspect(&self.house.service, &token)).await?.json()["active"] == true {
                self.wrong("a revoked token is active".into());
            }
        }
        let clients = std::mem::take(&mut self.ledger.lock().unwrap().clients);
        for basic in clients {
            checked += 1;
            if wire.post(forms::client_credentials(&basic)).await?.status != 200 {
                self.wrong("a client that was added is lost".into());
            }
        }
        for _ in 0..6 {
            let Some(family) = self.draw(|ledger| &mut ledger.families) else { break };
            checked += 1;
            self.refresh(wire, family).await?;
        }
        for _ in 0..3 {
            let Some((form, at)) = self.ledger.lock().unwrap().waiting.pop() else { break };
            if at.elapsed() < YOUNG {
                checked += 1;
                self.use_once(wire, form).await?;
            }
        }
        self.ledger.lock().unwrap().checked += checked;
        Ok(())
    }

    /// The files as the kill left them: a copy is opened, read to its last page, and every sealed secret in it opened.
    fn look_at_the_wreck(&self) {
        let place = |name: &str| self.house.path(name);
        for name in ["wreck", "looked"] {
            let _ = fs::remove_dir_all(place(name));
        }
        let copied = Command::new("cp").arg("-a").arg(place("data")).arg(place("wreck")).status().unwrap();
        assert!(copied.success());
        let mut look = crate::real::sealstone(self.house.directory.path());
        let done = look.args(["backup", "--config", "wreck.toml", "looked"]).output().unwrap();
        if !done.status.success() {
            self.wrong(format!("the store does not open: {}", String::from_utf8_lossy(&done.stderr)));
        }
    }

    /// Registers a client by the command; now and then it is killed as well.
    fn add_client(&self, id: &str) {
        let line = format!("client add --id {id} --alg ES256 --json");
        let mut adding = self.house.command(&line);
        let mut child = adding.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if self.below(4) == 0 {
            std::thread::sleep(Duration::from_millis(self.below(40) as u64));
            let _ = child.kill();
        }
        let done = child.wait_with_output().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).unwrap_or_default();
        if let (true, Some(secret)) = (done.status.success(), said["client_secret"].as_str()) {
            self.note(|ledger| ledger.clients.push(forms::basic(id, secret)));
        }
    }
}

/// How a server is killed.
enum How {
    /// After so many milliseconds of work.
    After(u64),
    /// So many milliseconds after its process began.
    Starting(u64),
    /// When one of its threads enters its nth system call that writes.
    AtWrite(u64),
}

/// The calls by which SQLite and the server change files.
const WRITES: &str = "pwrite64,fdatasync,fsync,ftruncate,unlink,linkat,renameat";

/// A tracer that kills the server at its nth write; `None` where nothing can be traced.
fn trace(server: &Server, nth: u64) -> Option<Child> {
    let mut strace = Command::new("strace");
    let inject = format!("inject={WRITES}:signal=SIGKILL:when={nth}");
    strace.args(["-f", "-o", "/dev/null", "-e", &format!("trace={WRITES}"), "-e", &inject]);
    strace.args(["-p", &server.id().to_string()]).stdin(Stdio::null()).stdout(Stdio::null());
    let mut child = strace.stderr(Stdio::piped()).spawn().ok()?;
    let mut lines = BufReader::new(child.stderr.take()?).lines().map_while(Result::ok);
    if lines.any(|line| line.contains("attached")) {
        std::thread::spawn(move || lines.for_each(drop));
        return Some(child);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

async fn kill_and_look(rounds: u64) {
    let house = House::build().await;
    write_config(house.directory.path(), "wreck.toml", "wreck");
    let dice = Mutex::new(Dice::thrown("kill"));
    let driver = Arc::new(Driver { house, ledger: Mutex::default(), dice });
    let (mut by_write, mut starting, mut at_random, mut traced, mut nth) = (0, 0, 0, true, 0);
    // A checkpoint comes after a thousand pages; a short run is not to wait for one.
    let late = (rounds * 10).min(4_000);
    for round in 0..rounds {
        let how = match driver.below(12) {
            0 => How::Starting(driver.below(120) as u64),
            1..=6 if traced => {
                // The first ones in their order, so that each is met, and later ones anywhere: checkpoints come late.
                nth += 1;
                How::AtWrite(if driver.below(2) == 0 {
                    nth
                } else {
                    1 + driver.dice.lock().unwrap().below(late)
                })
            }
            _ => How::After(1 + driver.below(250) as u64),
        };
        if let How::Starting(millis) = how {
            let mut serve = crate::real::sealstone(driver.house.directory.path());
            let mut child =
                serve.args(["serve", "--config", "sealstone.toml"]).stderr(Stdio::null()).spawn().unwrap();
            tokio::time::sleep(Duration::from_millis(millis)).await;
            child.kill().unwrap();
            child.wait().unwrap();
            starting += 1;
        }
        driver.look_at_the_wreck();
        let mut server = driver.house.serve("sealstone.toml");
        let wire = server.wire().await;
        if driver.check(&wire).await.is_err() {
            driver.wrong("the server ended by itself".into());
        }
        let wires = [server.wire().await, server.wire().await, server.wire().await];
        let tracer = match how {
            How::AtWrite(nth) => trace(&server, nth),
            _ => None,
        };
        if matches!(how, How::AtWrite(_)) {
            traced = tracer.is_some();
            by_write += u64::from(traced);
        } else if matches!(how, How::After(_)) {
            at_random += 1;
        }
        drop(wire);
        let mut workers = Vec::new();
        for wire in &wires {
            for _ in 0..2 {
                let (driver, wire) = (driver.clone(), wire.clone());
                workers.push(tokio::spawn(async move { driver.work(&wire).await }));
            }
        }
        let adding = (driver.below(3) == 0).then(|| {
            let (driver, id) = (driver.clone(), format!("client-{round}"));
            tokio::task::spawn_blocking(move || driver.add_client(&id))
        });
        match (how, tracer) {
            (How::AtWrite(_), Some(mut tracer)) => {
                let begun = Instant::now();
                while !server.has_ended() && begun.elapsed() < Duration::from_secs(15) {
                    tokio::time::sleep(Duration::from_millis(2)).await;
                }
                server.kill();
                let _ = tracer.kill();
                let _ = tracer.wait();
            }
            (How::After(millis), _) => {
                tokio::time::sleep(Duration::from_millis(millis)).await;
                server.kill();
            }
            _ => server.kill(),
        }
        for worker in workers {
            worker.await.unwrap();
        }
        if let Some(adding) = adding {
            adding.await.unwrap();
        }
        let wrong = &driver.ledger.lock().unwrap().wrong;
        assert!(wrong.is_empty(), "round {round}: {wrong:#?}");
        if round % 50 == 49 {
            eprintln!("kill: {} rounds", round + 1);
        }
    }
    let server = driver.house.serve("sealstone.toml");
    driver.check(&server.wire().await).await.unwrap();
    let ledger = driver.ledger.lock().unwrap();
    assert!(ledger.wrong.is_empty(), "{:#?}", ledger.wrong);
    assert!(ledger.acknowledged > rounds, "{} acknowledged", ledger.acknowledged);
    eprintln!(
        "kill: {rounds} rounds: {at_random} kills at a random moment, {by_write} at a write, {starting} while starting; \
         {} answers acknowledged, {} looked for after a restart, 0 wrong",
        ledger.acknowledged, ledger.checked
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_killed_loses_nothing_that_it_acknowledged() {
    kill_and_look(20).await;
}

/// `./dev kill N`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes"]
async fn killed_many_times() {
    kill_and_look(number("SEALSTONE_KILLS", 1000)).await;
}
