//! The load generator of `./dev bench auth`: keeps some connections busy, each with one request at a time, and says how
//! long answers took. A process of its own, so that it can be pinned to another core than the server.
//!
//! Standard input has the [`Plan`] as its first line of JSON, a [`Request`] in each line after it, and then an empty line. It
//! stays open while the load is wanted: when it ends, because whoever held it has ended or was killed, this program ends too.
//! Standard output gets
//! `ready` before the first attempt, `answered` with the first good answer, and, if the plan asks for load, `begin` and
//! `end` at the moments between which answers count, and a [`report::Report`].
//!
//! Closed loop: a connection sends its next request when it has its answer. What is waiting at the server is therefore
//! never more than the number of connections, and a slow answer delays the requests behind it without being counted for
//! them.

mod code;
mod connection;
mod load;
mod report;

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::json;

use code::Browser;
use connection::{Connection, Target};

/// What to do.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    /// The server.
    address: SocketAddr,
    /// The certificate to trust, PEM; it is for `localhost`.
    certificate: PathBuf,
    /// The authorization code flow: each request is what it hands in but the code. Without it requests go out alone.
    #[serde(default)]
    code: Option<code::Code>,
    /// How many connections are kept busy.
    connections: usize,
    /// What each good answer holds.
    contains: String,
    /// Where connections come from, in turn; anywhere if there is none.
    #[serde(default)]
    from: Vec<IpAddr>,
    /// Each request is sent once, and the load ends with the last; otherwise they are sent in turn, again and again.
    once: bool,
    /// Where the requests go.
    path: String,
    /// How long the first answer may be waited for, while the server starts.
    patience_seconds: f64,
    /// Good answers are those that refuse.
    #[serde(default)]
    refused: bool,
    /// How long answers are counted; 0 ends the program with the first answer.
    seconds: f64,
    /// How long there is load before that.
    warm_seconds: f64,
}

/// One request, as it is sent.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// The value of `Authorization`, if there is one.
    authorization: Option<String>,
    /// The form.
    body: String,
}

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("error: {why}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), String> {
    let (plan, mut requests) = read()?;
    std::thread::spawn(end_with_input);
    let target = Target::new(&plan)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|why| format!("the runtime: {why}"))?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let first = requests.first().cloned().ok_or("the input has no request")?;
        say("ready");
        let (connection, browser, body) = first_answer(&plan, &target, first).await?;
        let body = String::from_utf8_lossy(&body);
        say(&format!("answered {}", json!({"body": body, "tls": connection.tls()})));
        drop(connection);
        if plan.seconds > 0.0 {
            requests.drain(..usize::from(plan.once));
            let report = load::run(&plan, target, requests, browser).await?;
            say(&report.json().to_string());
        }
        Ok(())
    })
}

/// The plan and its requests.
fn read() -> Result<(Plan, Vec<connection::Prepared>), String> {
    let mut lines = std::io::stdin().lines();
    let mut line = || lines.next().transpose().map_err(|why| format!("the input: {why}"));
    let plan = line()?.ok_or("the input has no plan")?;
    let plan: Plan = serde_json::from_str(&plan).map_err(|why| format!("the plan: {why}"))?;
    let mut requests = Vec::new();
    loop {
        let line = line()?.ok_or("the input ends before its empty line")?;
        if line.is_empty() {
            break;
        }
        let request: Request = serde_json::from_str(&line).map_err(|why| format!("a request: {why}"))?;
        requests.push(connection::prepare(&plan.path, request)?);
    }
    Ok((plan, requests))
}

/// Nobody is told: whoever would be is gone.
fn end_with_input() {
    let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
    std::process::exit(2);
}

/// The first good answer, and the connection that it came over. A server that starts refuses connections, and then
/// perhaps requests; it is asked again until patience ends.
async fn first_answer(
    plan: &Plan,
    target: &Target,
    request: connection::Prepared,
) -> Result<(Connection, Option<Browser>, hyper::body::Bytes), String> {
    let patience = Instant::now() + Duration::from_secs_f64(plan.patience_seconds);
    loop {
        let answered = async {
            let mut connection = Connection::open(target).await?;
            let browser = match &plan.code {
                Some(code) => Some(Browser::sign_in(code, &mut connection, target).await?),
                None => None,
            };
            let body = match &browser {
                Some(browser) => browser.flow(&mut connection, target, &request).await?,
                None => connection.send(target, &request).await?,
            };
            Ok::<_, String>((connection, browser, body))
        };
        match answered.await {
            Ok(answered) => return Ok(answered),
            Err(why) if Instant::now() >= patience => return Err(why),
            Err(_) => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// A line that is read at once.
fn say(line: &str) {
    let mut output = std::io::stdout().lock();
    // A reader that is gone wants no line.
    let _ = writeln!(output, "{line}").and_then(|()| output.flush());
}
