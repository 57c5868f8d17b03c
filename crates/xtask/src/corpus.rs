//! `cargo xtask corpus`: hunts in all programs of corpus/pairs, and prints what was found next to what is expected.

use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;
use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::machine::circumstances;
use xtask::results::store_report;

#[derive(Deserialize)]
struct Expected {
    program: Vec<Program>,
}

#[derive(Deserialize)]
struct Program {
    file: String,
    #[serde(default)]
    silent: bool,
    #[serde(default)]
    finding: Vec<Bug>,
}

#[derive(Deserialize)]
struct Bug {
    kind: String,
}

/// The result of a hunt.
enum Result {
    /// As it should be.
    Right,
    /// The program's mistake shows as a failure or hang, but is not called what it is.
    OnlyFailure,
    /// Something was found in a correct program.
    Noisy,
    /// Nothing that is expected was found.
    Missed,
}

impl Result {
    fn of(program: &Program, found: &[String]) -> Result {
        match program.silent {
            true if found.is_empty() => Result::Right,
            true => Result::Noisy,
            false if program.finding.iter().all(|bug| found.contains(&bug.kind)) => Result::Right,
            false if found.iter().any(|kind| kind == "failure") => Result::OnlyFailure,
            false => Result::Missed,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Result::Right => "ok",
            Result::OnlyFailure => "as failure",
            Result::Noisy => "NOISY",
            Result::Missed => "MISSED",
        }
    }
}

/// What to hunt in, and how.
#[derive(Default)]
struct Options<'a> {
    /// Seconds for each hunt.
    timeout: Option<&'a str>,
    /// The program to hunt with; none: a release build.
    foretell: Option<&'a str>,
    /// How often each failure is replayed.
    replays: u64,
    /// The programs; none: all.
    named: Vec<&'a str>,
}

impl<'a> Options<'a> {
    fn of(arguments: &[&'a str]) -> std::result::Result<Options<'a>, String> {
        let mut options = Options::default();
        let mut rest = arguments.iter();
        while let Some(&argument) = rest.next() {
            let mut value = || rest.next().copied().ok_or(format!("`{argument}` needs a value"));
            match argument {
                "--timeout" => options.timeout = Some(value()?),
                "--foretell" => options.foretell = Some(value()?),
                "--replays" => {
                    options.replays = value()?.parse().map_err(|_| "`--replays` needs a number")?
                }
                _ => options.named.push(argument),
            }
        }
        Ok(options)
    }
}

/// The results of all hunts.
#[derive(Default)]
struct Tally {
    programs: usize,
    as_failures: usize,
    noisy: Vec<String>,
    missed: Vec<String>,
    /// Findings that fail or hang, and those of them that did so in each replay.
    failures: usize,
    replayed: usize,
    rows: String,
}

/// Hunts in each program, or in those that are named, and fails if a correct program is not silent. Mistakes that are not found are listed.
/// With `--replays` each failure is replayed so often. What was found in all programs is stored.
pub(crate) fn run(arguments: &[&str]) -> Outcome {
    let options = Options::of(arguments)?;
    let foretell = match options.foretell {
        Some(program) => program.to_owned(),
        None => release_build()?,
    };
    let pairs = root().join("corpus/pairs");
    let text = std::fs::read_to_string(pairs.join("expected.toml")).map_err(|error| error.to_string())?;
    let expected: Expected = toml::from_str(&text).map_err(|error| error.to_string())?;
    let named = &options.named;
    if let Some(unknown) =
        named.iter().find(|name| !expected.program.iter().any(|program| program.file == **name))
    {
        return Err(format!("there is no `{unknown}` in corpus/pairs"));
    }
    let programs =
        expected.program.iter().filter(|program| named.is_empty() || named.contains(&program.file.as_str()));
    let circumstances = circumstances();
    let mut tally = Tally::default();
    println!("{:<28} {:<22} {:<34} {:<12} replays", "program", "expected", "found", "result");
    for program in programs {
        tally.add(program, hunt(&foretell, &pairs, &program.file, &options)?);
    }
    let Tally { programs, as_failures, noisy, missed, failures, replayed, rows } = tally;
    let summary = format!(
        "{programs} programs; not silent: {}; not found: {}; as a failure only: {as_failures}; \
         {replayed} of {failures} failures and hangs happened in each of {} replays",
        noisy.len(),
        missed.len(),
        options.replays
    );
    println!("\n{summary}");
    if named.is_empty() {
        let how = format!(
            "{} for each hunt, a {} build.\n",
            options.timeout.map_or("The default time".to_owned(), |seconds| format!("{seconds} s")),
            if options.foretell.is_some() { "given" } else { "release" }
        );
        let head = "| program | expected | found | result | replays |\n|---|---|---|---|---|\n";
        let title = "## Correct programs and their buggy twins\n\n";
        let what = "`cargo xtask corpus --replays 20`: hunts in the programs of corpus/pairs. *as failure* means that the mistake shows as \
                    a failure or hang, but its cause is not reported.\n\n";
        store_report(
            "pairs",
            &summary,
            &format!("{title}{circumstances}\n{what}{how}{summary}.\n\n{head}{rows}"),
        )?;
    }
    match noisy.is_empty() {
        true => Ok(()),
        false => Err(format!("findings in correct programs: {}", noisy.join(", "))),
    }
}

impl Tally {
    fn add(&mut self, program: &Program, hunted: Hunted) {
        let wanted: Vec<&str> = match program.silent {
            true => vec!["silence"],
            false => program.finding.iter().map(|bug| bug.kind.as_str()).collect(),
        };
        let Hunted { kinds, replays } = hunted;
        let result = Result::of(program, &kinds);
        let (wanted, found) = (wanted.join(", "), kinds.join(", "));
        let replayed: Vec<String> =
            replays.iter().map(|(id, seen, times)| format!("{id} {seen}/{times}")).collect();
        let (name, replayed) = (result.name(), replayed.join(", "));
        println!("{:<28} {wanted:<22} {found:<34} {name:<12} {replayed}", program.file);
        self.rows.push_str(&format!("| {} | {wanted} | {found} | {name} | {replayed} |\n", program.file));
        self.programs += 1;
        self.failures += replays.len();
        self.replayed += replays.iter().filter(|(_, seen, times)| seen == times).count();
        match result {
            Result::Right => {}
            Result::OnlyFailure => self.as_failures += 1,
            Result::Noisy => self.noisy.push(program.file.clone()),
            Result::Missed => self.missed.push(program.file.clone()),
        }
    }
}

/// What a hunt found.
struct Hunted {
    /// The kinds of the findings that are shown; a hunt that ended without a report is listed with its status.
    kinds: Vec<String>,
    /// Of each that fails or hangs: its id, how often it was seen, and in how many replays.
    replays: Vec<(String, u64, u64)>,
}

fn hunt(
    foretell: &str,
    pairs: &Path,
    file: &str,
    options: &Options<'_>,
) -> std::result::Result<Hunted, String> {
    let results = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(foretell);
    command.arg("hunt").arg(pairs.join(file)).args(["--json", "--quiet", "--results"]).arg(results.path());
    command.args(options.timeout.map(|seconds| format!("--timeout={seconds}")));
    let output = command.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        return Ok(Hunted { kinds: vec![format!("no report ({})", output.status)], replays: Vec::new() });
    };
    let findings = report["findings"].as_array().cloned().unwrap_or_default();
    let shown: Vec<&Value> = findings.iter().filter(|finding| finding["shown"] == true).collect();
    let mut kinds: Vec<String> =
        shown.iter().filter_map(|finding| finding["kind"].as_str().map(str::to_owned)).collect();
    kinds.sort();
    kinds.dedup();
    let fails = |finding: &&&Value| options.replays > 0 && finding["failure"].is_object();
    let ids = shown.iter().filter(fails).filter_map(|finding| finding["id"].as_str());
    let replays = ids.map(|id| replay(foretell, &results.path().join("latest"), id, options.replays));
    Ok(Hunted { kinds, replays: replays.collect::<std::result::Result<_, String>>()? })
}

/// Replays a finding so often; how often it was seen.
fn replay(
    foretell: &str,
    results: &Path,
    id: &str,
    times: u64,
) -> std::result::Result<(String, u64, u64), String> {
    let mut command = Command::new(foretell);
    command.arg("replay").arg(results).args([id, "--json", "--quiet", "--times", &times.to_string()]);
    let output = command.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    let summary = serde_json::from_slice::<Value>(&output.stdout).unwrap_or_default();
    Ok((id.to_owned(), summary["confirmed"].as_u64().unwrap_or(0), times))
}
