//! Measurements of Foretell, one file each: `cargo xtask bench NAME` runs them and stores what they measured in bench/data, with a line in bench/RESULTS.md.

mod behaviours;
mod cells;
mod expectations;
mod fleet;
mod growth;
mod hostile;
mod llvm;
mod manifest;
mod measure;
mod nidhugg;
mod openmp;
mod papers;
mod parallel;
mod peers;
mod plot;
mod races;
mod racy;
mod rapid;
mod record;
mod scenarios;
mod search;
mod tables;
mod verifier;

use std::process::ExitCode;

use xtask::Outcome;

/// One thing that can be measured.
struct Benchmark {
    name: &'static str,
    what: &'static str,
    run: fn() -> Outcome,
}

impl Benchmark {
    const fn new(name: &'static str, what: &'static str, run: fn() -> Outcome) -> Benchmark {
        Benchmark { name, what, run }
    }
}

const BENCHMARKS: &[Benchmark] = &[
    Benchmark::new("trace", "reading, writing and surveying traces", tables::trace),
    Benchmark::new("decide", "what questions to the engine cost", tables::decide),
    Benchmark::new("bugs", "finding bugs other than races", tables::bugs),
    Benchmark::new(
        "linear",
        "races by the methods that stream, compared with RAPID if RAPID_HOME names it",
        races::linear,
    ),
    Benchmark::new(
        "races",
        "races by the other methods, compared with RAPID if RAPID_HOME names it",
        races::run,
    ),
    Benchmark::new(
        "rapid",
        "which racy events RAPID reports and which we do; RAPID_HOME must name it",
        rapid::run,
    ),
    Benchmark::new("growth", "how cost grows with the trace, with pictures", growth::run),
    Benchmark::new("hostile", "small traces of odd shapes, within bounds of time and memory", hostile::run),
    Benchmark::new(
        "odd",
        "traces and other files that were written to be slow, with limits",
        hostile::odd::run,
    ),
    Benchmark::new("fleet", "hunts on many machines: what the queue costs", fleet::run),
    Benchmark::new("papers", "the papers' tables, ours next to theirs", papers::run),
    Benchmark::new("states", "enumerating and counting global states", tables::states),
    Benchmark::new("record", "recording, compared with ThreadSanitizer", record::run),
    Benchmark::new(
        "scenarios",
        "confirming the bugs of the corpus, compared with ThreadSanitizer",
        scenarios::run,
    ),
    Benchmark::new(
        "llvm",
        "hunting in LLVM's tests of ThreadSanitizer; FORETELL_LLVM_TSAN must name them",
        llvm::run,
    ),
    Benchmark::new(
        "openmp",
        "hunting in DataRaceBench, compared with ThreadSanitizer and Archer; FORETELL_DATARACEBENCH must name it",
        openmp::run,
    ),
    Benchmark::new(
        "peers",
        "hunting in real programs (Debian's, and those FORETELL_PEERS names), compared with ThreadSanitizer and Helgrind",
        peers::run,
    ),
    Benchmark::new(
        "projects",
        "hunting in real projects of Debian's and crates.io's as they are",
        peers::projects::run,
    ),
    Benchmark::new(
        "racy",
        "hunting in programs that Goblint's and Valgrind's tests say race (FORETELL_SUITES names them), compared with ThreadSanitizer",
        racy::run,
    ),
    Benchmark::new(
        "behaviours",
        "all behaviours of programs that are correct (FORETELL_SUITES names their suites), compared with Nidhugg if NIDHUGG names it",
        behaviours::run,
    ),
    Benchmark::new(
        "search",
        "runs until programs fail that are known to (FORETELL_SUITES names their suites), compared with policies, stress, and Nidhugg if NIDHUGG names it",
        search::run,
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["measure", "--", command @ ..] if !command.is_empty() => measure::print(command),
        [] | ["--help" | "-h" | "help"] => {
            println!("{}", usage());
            Ok(())
        }
        [name] => match BENCHMARKS.iter().find(|benchmark| benchmark.name == *name) {
            Some(benchmark) => (benchmark.run)(),
            None => Err(format!("there is no benchmark {name}\n\n{}", usage())),
        },
        _ => Err(format!("expected the name of one benchmark\n\n{}", usage())),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    let lines =
        BENCHMARKS.iter().map(|Benchmark { name, what, .. }| format!("cargo xtask bench {name:12} {what}"));
    format!(
        "{}\n\nEach stores its report in bench/data and its line in bench/RESULTS.md.",
        lines.collect::<Vec<_>>().join("\n")
    )
}
