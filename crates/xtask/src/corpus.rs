//! `cargo xtask corpus`: hunts in all programs of corpus/pairs, and prints what was found next to what is expected.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use testing::pairs::{Pairs, Program};
use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::machine::circumstances;
use xtask::results::store_report;

/// The result of a hunt.
enum Result {
    /// As it should be.
    Right,
    /// The program's mistake shows as a failure or hang, but is not called what it is.
    OnlyFailure,
    /// The mistake is found, but its object, harm or message is not what is expected.
    Otherwise,
    /// Something was found in a correct program.
    Noisy,
    /// Nothing that is expected was found.
    Missed,
}

impl Result {
    fn of(program: &Program, hunted: &Hunted) -> Result {
        let has = |kind: &String| hunted.kinds.contains(kind);
        match program.silent {
            true if hunted.kinds.is_empty() => Result::Right,
            true => Result::Noisy,
            false if hunted.lacks.is_empty() => Result::Right,
            false if program.finding.iter().all(|mistake| has(&mistake.kind)) => Result::Otherwise,
            false if has(&"failure".to_owned()) => Result::OnlyFailure,
            false => Result::Missed,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Result::Right => "ok",
            Result::OnlyFailure => "as failure",
            Result::Otherwise => "OTHERWISE",
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
    otherwise: Vec<String>,
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
    let expected = Pairs::read();
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
        tally.add(program, hunt(&foretell, &pairs, program, &options)?);
    }
    let Tally { programs, as_failures, noisy, missed, otherwise, failures, replayed, rows } = tally;
    let summary = format!(
        "{programs} programs; not silent: {}; not found: {}; as a failure only: {as_failures}; otherwise than expected: {}; \
         {replayed} of {failures} failures and hangs happened in each of {} replays",
        noisy.len(),
        missed.len(),
        otherwise.len(),
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
            false => program.finding.iter().map(|mistake| mistake.kind.as_str()).collect(),
        };
        let result = Result::of(program, &hunted);
        let Hunted { kinds, lacks, replays } = hunted;
        let (wanted, found) = (wanted.join(", "), kinds.join(", "));
        let replayed: Vec<String> =
            replays.iter().map(|(id, seen, times)| format!("{id} {seen}/{times}")).collect();
        let (name, replayed) = (result.name(), replayed.join(", "));
        println!("{:<28} {wanted:<22} {found:<34} {name:<12} {replayed}", program.file);
        lacks.iter().for_each(|lack| println!("{:<28} {lack}", ""));
        self.rows.push_str(&format!("| {} | {wanted} | {found} | {name} | {replayed} |\n", program.file));
        self.programs += 1;
        self.failures += replays.len();
        self.replayed += replays.iter().filter(|(_, seen, times)| seen == times).count();
        match result {
            Result::Right => {}
            Result::OnlyFailure => self.as_failures += 1,
            Result::Otherwise => self.otherwise.push(program.file.clone()),
            Result::Noisy => self.noisy.push(program.file.clone()),
            Result::Missed => self.missed.push(program.file.clone()),
        }
    }
}

/// What a hunt found.
struct Hunted {
    /// The kinds of the findings that are shown; a hunt that ended without a report is listed with its status.
    kinds: Vec<String>,
    /// What is expected and is not there.
    lacks: Vec<String>,
    /// Of each that fails or hangs: its id, how often it was seen, and in how many replays.
    replays: Vec<(String, u64, u64)>,
}

fn hunt(
    foretell: &str,
    pairs: &Path,
    program: &Program,
    options: &Options<'_>,
) -> std::result::Result<Hunted, String> {
    let results = tempfile::tempdir().map_err(|error| error.to_string())?;
    let mut command = Command::new(foretell);
    command
        .arg("hunt")
        .arg(pairs.join(&program.file))
        .args(["--json", "--quiet", "--results"])
        .arg(results.path());
    command.args(options.timeout.map(|seconds| format!("--timeout={seconds}")));
    let output = command.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        let kinds = vec![format!("no report ({})", output.status)];
        return Ok(Hunted { kinds, lacks: vec!["no report".to_owned()], replays: Vec::new() });
    };
    let shown = Program::shown(&report);
    let lacks = program.lacks(&report);
    let mut kinds: Vec<String> =
        shown.iter().filter_map(|finding| finding["kind"].as_str().map(str::to_owned)).collect();
    kinds.sort();
    kinds.dedup();
    let fails = |finding: &&&Value| options.replays > 0 && finding["failure"].is_object();
    let ids = shown.iter().filter(fails).filter_map(|finding| finding["id"].as_str());
    let replays = ids.map(|id| replay(foretell, &results.path().join("latest"), id, options.replays));
    Ok(Hunted { kinds, lacks, replays: replays.collect::<std::result::Result<_, String>>()? })
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
