//! `sealstone mqtt simulate`: what a policy costs, beside what the paper prints.

mod bytes;
mod map;

use std::ffi::OsString;

use clap::{Args, ValueEnum};
use sealstone_mldsa::Level;
use sealstone_mqtt::Form;
use sealstone_mqtt::form::By;
use sealstone_mqtt::level::{Need, Policy};
use sealstone_mqtt::simulate::{
    Costs, Link, Outcome, Rule, State, Workload, envelope, measured, paper, run as simulate,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::error::Error;
use crate::files::Source;
use crate::terminal::{BOLD, DIM, Terminal};

/// Options of `mqtt simulate`.
#[derive(Args)]
#[command(after_help = "\
Examples:
  sealstone mqtt simulate
  sealstone mqtt simulate --workload pumps.toml --policy mains --form cose
  sealstone mqtt simulate --workload pumps.toml --tagged 90 --link modem --json

Without --workload: the three workloads of the paper \"ML-DSA Digital Signatures in Resource-Constrained MQTT \
Environments\", in three columns: what its Tables 9 and 12 to 14 print, what its own rules give, and what our rules \
give with costs that were measured. A workload file:

  name = \"pumps\"
  low = 70                 # per cent of the messages, by class; together 100
  medium = 20
  high = 9
  critical = 1
  messages_per_day = 1440
  payload_bytes = 24

A file of costs: sign_ms = [24.1, 40.2, 52.2], tag_ms = 0.3, cpu_mw = 132 and need_bytes = [12000, 16000, 20000], \
each for the levels 44, 65, 87.")]
pub(crate) struct Options {
    /// A workload instead of the paper's
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    workload: Option<OsString>,
    /// The rules of the third column
    #[arg(long, value_enum, default_value = "battery")]
    policy: Preset,
    /// How messages are laid out in the third column
    #[arg(long, value_enum, default_value = "v1")]
    form: FormName,
    /// Costs of the third column, instead of those that were measured
    #[arg(long, value_name = "FILE", value_parser = clap::value_parser!(OsString))]
    costs: Option<OsString>,
    /// Bytes of memory that are free for signing
    #[arg(long, value_name = "BYTES", default_value_t = 131_072)]
    free: u32,
    /// Per cent of the messages of class low that get a tag instead of a signature, in the third column
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=100))]
    tagged: u8,
    /// What sending and sleeping draw in the last table: modem, a serial line at 115,200 baud to a modem of 330 mW, awake for
    /// 50 ms a message, and 33 microwatts asleep; silent, nothing, as in the paper
    #[arg(long, value_enum, default_value = "modem")]
    link: LinkName,
    /// Joules of the battery
    #[arg(long, value_name = "JOULES", default_value_t = paper::BATTERY_J)]
    battery: f64,
    /// What is shown: the tables; the level for each class over energy and free memory; bytes a reading, alone and in batches
    #[arg(long, value_enum, default_value = "tables")]
    show: Show,
    /// In JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Show {
    Tables,
    Map,
    Bytes,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Preset {
    Battery,
    Mains,
    Industrial,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum FormName {
    Paper,
    V1,
    Cose,
    Detached,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum LinkName {
    Silent,
    Modem,
}

/// A workload's file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkloadFile {
    name: String,
    low: f64,
    medium: f64,
    high: f64,
    critical: f64,
    messages_per_day: f64,
    payload_bytes: usize,
}

/// A file of costs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CostsFile {
    sign_ms: [f64; 3],
    tag_ms: f64,
    cpu_mw: f64,
    need_bytes: [u32; 3],
}

/// Who is compared: the paper's rules with its costs, and ours.
struct Case {
    workload: Workload,
    printed: Option<&'static paper::Printed>,
    form: Form,
    rule: Rule,
    costs: Costs,
    link: Link,
    tagged: f64,
}

impl Case {
    /// The paper's own rules, with the paper's costs.
    fn derived(&self, state: State) -> Outcome {
        simulate(&self.workload, state, &Rule::Paper, Form::Paper, &paper::COSTS, &Link::SILENT, 0.0)
    }

    /// Level 87 for all, with the paper's costs.
    fn derived_fixed(&self) -> Outcome {
        simulate(&self.workload, State::High, &FIXED, Form::Paper, &paper::COSTS, &Link::SILENT, 0.0)
    }

    /// Our rules and costs; signing alone draws current, as in the paper.
    fn ours(&self, state: State) -> Outcome {
        simulate(&self.workload, state, &self.rule, self.form, &self.costs, &Link::SILENT, self.tagged)
    }

    /// Level 87 for all, with our costs.
    fn ours_fixed(&self) -> Outcome {
        simulate(&self.workload, State::High, &FIXED, self.form, &self.costs, &Link::SILENT, 0.0)
    }

    /// Under a rule, with what sending and sleeping draw.
    fn in_full(&self, rule: &Rule, state: State, tagged: f64) -> Outcome {
        simulate(&self.workload, state, rule, self.form, &self.costs, &self.link, tagged)
    }
}

/// What everything is compared with.
const FIXED: Rule = Rule::Fixed(Level::MlDsa87);

pub(crate) fn run(options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    match options.show {
        Show::Map => return map::show(&options.policy.rules(), &costs(options)?.1, options.json, terminal),
        Show::Bytes => return bytes::show(options.json, terminal),
        Show::Tables => {}
    }
    let cases = cases(options)?;
    match options.json {
        true => terminal.json(&Value::Array(cases.iter().map(|case| row(case, options.battery)).collect())),
        false => tables(&cases, options, terminal),
    }
}

impl Preset {
    fn rules(self) -> Policy {
        match self {
            Preset::Battery => Policy::BATTERY,
            Preset::Mains => Policy::MAINS,
            Preset::Industrial => Policy::INDUSTRIAL,
        }
    }
}

/// The costs of the third column, and the bytes that signing takes.
fn costs(options: &Options) -> Result<(Costs, Need), Error> {
    let Some(file) = &options.costs else { return Ok((measured::costs(), measured::NEED_SMALL)) };
    let CostsFile { sign_ms, tag_ms, cpu_mw, need_bytes } = read(file)?;
    Ok((Costs { sign_ms, tag_ms, cpu_mw }, Need(need_bytes)))
}

fn cases(options: &Options) -> Result<Vec<Case>, Error> {
    let (costs, need) = costs(options)?;
    let policy = options.policy.rules();
    let workloads = match &options.workload {
        None => Workload::papers().to_vec(),
        Some(file) => vec![workload(read(file)?)?],
    };
    Ok(workloads
        .into_iter()
        .map(|workload| Case {
            printed: paper::PRINTED
                .iter()
                .find(|row| options.workload.is_none() && row.workload == workload.name),
            form: match options.form {
                FormName::Paper => Form::Paper,
                FormName::V1 => Form::V1,
                FormName::Cose => Form::Cose,
                FormName::Detached => Form::Detached,
            },
            rule: Rule::Ours { policy, need, free: options.free },
            costs,
            link: match options.link {
                LinkName::Silent => Link::SILENT,
                LinkName::Modem => Link::MODEM,
            },
            tagged: f64::from(options.tagged) / 100.0,
            workload,
        })
        .collect())
}

/// A file in TOML.
fn read<T: for<'de> Deserialize<'de>>(file: &OsString) -> Result<T, Error> {
    let source = Source::from(file.clone());
    let text = source.read_text(64 * 1024)?;
    toml::from_str(&text).map_err(|cause| {
        Error::usage(
            format!("{}: {}", source.name(), cause.message()),
            "`sealstone mqtt simulate --help` shows such a file",
        )
    })
}

/// A workload whose figures make sense.
fn workload(file: WorkloadFile) -> Result<Workload, Error> {
    let WorkloadFile { name, low, medium, high, critical, messages_per_day, payload_bytes } = file;
    let shares = [low, medium, high, critical];
    let whole = shares.iter().all(|share| (0.0..=100.0).contains(share))
        && (shares.iter().sum::<f64>() - 100.0).abs() < 1e-6;
    if !whole {
        return Err(Error::usage(
            "the classes of the workload are not 100 per cent together",
            "low, medium, high and critical are per cent of the messages",
        ));
    }
    if !(messages_per_day > 0.0 && messages_per_day <= 1e9) || payload_bytes > 65_535 {
        return Err(Error::usage(
            "the workload has no messages, or a payload that no form holds",
            "messages_per_day is above 0, payload_bytes at most 65535",
        ));
    }
    Ok(Workload {
        name,
        shares: shares.map(|share| share / 100.0),
        per_day: messages_per_day,
        payload: payload_bytes,
    })
}

fn tables(cases: &[Case], options: &Options, terminal: &mut Terminal) -> Result<(), Error> {
    let title = |terminal: &mut Terminal, text: &str| terminal.line(format_args!("{BOLD}{text}{BOLD:#}"));
    let head = |terminal: &mut Terminal, first: &str| {
        terminal.line(format_args!("{DIM}{first:<24}{:<20}{:<20}ours{DIM:#}", "paper", "by its own rules"))
    };
    if options.workload.is_none() {
        title(terminal, "Table 9: bytes of a signed message, payloads of 10, 50 and 100 bytes")?;
        head(terminal, "")?;
        for (level, row) in Level::ALL.into_iter().zip(paper::SIGNED_BYTES) {
            let of =
                |form| paper::PAYLOADS.map(|payload| envelope(form, payload, By::Signature(level)) as u16);
            let three = |[a, b, c]: [u16; 3]| format!("{a} {b} {c}");
            let ours = of(cases.first().map_or(Form::V1, |case| case.form));
            terminal.line(format_args!(
                "{:<24}{:<20}{:<20}{}",
                level.name(),
                three(row),
                three(of(Form::Paper)),
                three(ours)
            ))?;
        }
        terminal.line("")?;
    }
    title(terminal, "Table 12: mean milliseconds of signing, against ML-DSA-87 for all")?;
    head(terminal, "")?;
    for case in cases {
        for state in State::ALL {
            let against = |ms: f64, fixed: f64| format!("{ms:.1} ({:+.1} %)", (ms / fixed - 1.0) * 100.0);
            let printed = case.printed.map_or(String::from("-"), |row| against(row.sign_ms(state), 1136.0));
            let derived = against(case.derived(state).sign_ms, case.derived_fixed().sign_ms);
            let ours = against(case.ours(state).sign_ms, case.ours_fixed().sign_ms);
            let name = format!("{}, {}", case.workload.name, state.name());
            terminal.line(format_args!("{name:<24}{printed:<20}{derived:<20}{ours}"))?;
        }
    }
    terminal.line("")?;
    title(terminal, "Table 13: per cent at levels 44, 65, 87, and the mean category, in the state medium")?;
    head(terminal, "")?;
    for case in cases {
        let shares = |levels: [f64; 3], category: f64| {
            let [a, b, c] = levels;
            format!("{a:.0} {b:.0} {c:.0}, {category:.2}")
        };
        let of = |outcome: Outcome| shares(outcome.levels.map(|share| share * 100.0), outcome.category);
        let printed = case.printed.map_or(String::from("-"), |row| shares(row.levels, row.category));
        let (derived, ours) = (of(case.derived(State::Medium)), of(case.ours(State::Medium)));
        terminal.line(format_args!("{:<24}{printed:<20}{derived:<20}{ours}", case.workload.name))?;
    }
    terminal.line("")?;
    title(
        terminal,
        "Table 14: joules a day, and how much longer a battery lasts than with ML-DSA-87 for all",
    )?;
    head(terminal, "")?;
    for case in cases {
        for state in [State::High, State::Medium] {
            let longer =
                |joules: f64, fixed: f64| format!("{joules:.2} ({:+.1} %)", (fixed / joules - 1.0) * 100.0);
            let printed = case.printed.filter(|_| state == State::Medium);
            let printed =
                printed.map_or(String::from("-"), |row| format!("{:.2} ({:+.1} %)", row.joules, row.longer));
            let derived = longer(case.derived(state).joules(), case.derived_fixed().joules());
            let ours = longer(case.ours(state).joules(), case.ours_fixed().joules());
            let name = format!("{}, {}", case.workload.name, state.name());
            terminal.line(format_args!("{name:<24}{printed:<20}{derived:<20}{ours}"))?;
        }
    }
    terminal.line("")?;
    title(
        terminal,
        "Ours in full: joules a day for signing, sending and sleeping; days of the battery; bytes a message",
    )?;
    for case in cases {
        let rows = State::ALL.map(|state| (state.name(), case.in_full(&case.rule, state, case.tagged)));
        let fixed = ("ML-DSA-87 for all", case.in_full(&FIXED, State::High, 0.0));
        for (name, outcome) in rows.into_iter().chain([fixed]) {
            let refused = match outcome.refused > 0.0 {
                true => format!("; {:.0} % may not be signed for want of memory", outcome.refused * 100.0),
                false => String::new(),
            };
            let Outcome { sign_j, radio_j, sleep_j, bytes, .. } = outcome;
            terminal.line(format_args!(
                "{:<34}{sign_j:.2} + {radio_j:.2} + {sleep_j:.2} J, {:.0} days, {bytes:.0} bytes{refused}",
                format!("{}, {name}", case.workload.name),
                outcome.days(options.battery),
            ))?;
        }
    }
    Ok(())
}

fn row(case: &Case, battery: f64) -> Value {
    // Millionths are enough, and their text does not show how a processor adds.
    let rounded = |figure: f64| (figure * 1e6).round() / 1e6;
    let outcome = |outcome: Outcome| {
        json!({
            "bytes": rounded(outcome.bytes),
            "category": rounded(outcome.category),
            "days": rounded(outcome.days(battery)),
            "joules_per_day": {"radio": rounded(outcome.radio_j), "sign": rounded(outcome.sign_j), "sleep": rounded(outcome.sleep_j)},
            "levels": outcome.levels.map(rounded),
            "refused": rounded(outcome.refused),
            "sign_ms": rounded(outcome.sign_ms),
        })
    };
    let states = |of: &dyn Fn(State) -> Outcome| {
        State::ALL
            .map(|state| (state.name().to_owned(), outcome(of(state))))
            .into_iter()
            .collect::<serde_json::Map<_, _>>()
    };
    json!({
        "derived": states(&|state| case.derived(state)),
        "derived_fixed_87": outcome(case.derived_fixed()),
        "ours": states(&|state| case.in_full(&case.rule, state, case.tagged)),
        "ours_fixed_87": outcome(case.in_full(&FIXED, State::High, 0.0)),
        "paper": case.printed.map(|row| json!({
            "category": row.category,
            "joules_per_day": row.joules,
            "levels": row.levels.map(|share| share / 100.0),
            "sign_ms": {"high": row.sign_ms[0], "medium": row.sign_ms[1], "low": row.sign_ms[2]},
        })),
        "workload": case.workload.name,
    })
}
