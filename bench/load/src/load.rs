//! The closed loop.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use crate::code::Browser;
use crate::connection::{Connection, Prepared, Target};
use crate::report::Report;
use crate::{Plan, say};

/// After so many errors the rest tells nothing.
const MOST_ERRORS: u64 = 20;

/// Opens every connection, keeps them busy for the time of the plan, and reports on the part that counts.
pub(crate) async fn run(
    plan: &Plan,
    target: Target,
    requests: Vec<Prepared>,
    browser: Option<Browser>,
) -> Result<Report, String> {
    if requests.is_empty() {
        return Err("the input has no request for the load".to_owned());
    }
    let shared = Rc::new(Shared {
        browser,
        once: plan.once,
        next: Cell::new(0),
        phase: Cell::new(Phase::Warm),
        report: RefCell::new(Report::with_room_for(1 << 20)),
        requests,
        target,
    });
    let mut opened = Vec::new();
    for _ in 0..plan.connections {
        opened.push(Connection::open(&shared.target).await?);
    }
    let mut loops = JoinSet::new();
    for connection in opened {
        loops.spawn_local(keep_busy(connection, Rc::clone(&shared)));
    }
    // Without it no loop has had a turn yet, so that every answer counts; a sleep of no length would be one of a millisecond.
    if plan.warm_seconds > 0.0 {
        tokio::time::sleep(Duration::from_secs_f64(plan.warm_seconds)).await;
    }
    let begun = Instant::now();
    shared.phase.set(Phase::Count);
    say("begin");
    let all_sent = async { while loops.join_next().await.is_some() {} };
    let _ = tokio::time::timeout(Duration::from_secs_f64(plan.seconds), all_sent).await;
    shared.phase.set(Phase::Over);
    let elapsed = begun.elapsed();
    say("end");
    // The last answers are waited for: a connection that breaks off is an error in many a server's log.
    while loops.join_next().await.is_some() {}
    let mut report = shared.report.take();
    report.elapsed = elapsed;
    Ok(report)
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Warm,
    Count,
    Over,
}

/// What the connections have in common. All of them are on one thread.
struct Shared {
    /// Of somebody who has signed in, where requests need one.
    browser: Option<Browser>,
    once: bool,
    next: Cell<usize>,
    phase: Cell<Phase>,
    report: RefCell<Report>,
    requests: Vec<Prepared>,
    target: Target,
}

impl Shared {
    fn next(&self) -> Option<&Prepared> {
        let next = self.next.get();
        self.next.set(next + 1);
        if self.once { self.requests.get(next) } else { self.requests.get(next % self.requests.len()) }
    }
}

/// One connection's loop. A connection that the server closed after an answer is opened again, and counted.
async fn keep_busy(mut connection: Connection, shared: Rc<Shared>) {
    while shared.phase.get() != Phase::Over {
        let Some(request) = shared.next() else { return };
        if connection.is_closed() {
            shared.report.borrow_mut().reconnects += 1;
            match Connection::open(&shared.target).await {
                Ok(opened) => connection = opened,
                Err(why) => return shared.report.borrow_mut().error(why),
            }
        }
        let sent = Instant::now();
        let answer = match &shared.browser {
            Some(browser) => browser.flow(&mut connection, &shared.target, request).await,
            None => connection.send(&shared.target, request).await,
        };
        let taken = sent.elapsed();
        let mut report = shared.report.borrow_mut();
        match answer {
            // An error counts at any time.
            Err(why) => {
                report.error(why);
                if report.error_count() >= MOST_ERRORS {
                    return;
                }
            }
            Ok(body) if shared.phase.get() == Phase::Count => report.answer(taken, body.len()),
            Ok(_) => {}
        }
    }
}
