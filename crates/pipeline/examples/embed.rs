//! The product as a library: builds a C program, records one run, predicts the bugs of other runs, and confirms each by a replay.
//!
//! ```text
//! cargo run --package foretell-pipeline --example embed examples/weather_station.c
//! ```

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};

use pipeline::build::build;
use pipeline::confirm::{ConfirmOptions, confirm};
use pipeline::predict::{PredictOptions, predict};
use pipeline::recording::{RecordOptions, record};
use pipeline::{Budget, Silent, TraceFile};

fn main() -> Result<(), Box<dyn Error>> {
    let source: PathBuf = env::args_os().nth(1).ok_or("usage: embed PROGRAM.c")?.into();
    for line in bugs_of(&source)? {
        println!("{line}");
    }
    Ok(())
}

/// The bugs of a program, a line for each.
fn bugs_of(source: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let (program, trace) = (directory.path().join("program"), directory.path().join("run.ftr"));

    // Compile it with the flags that recording needs.
    build(source, &program, "")?;

    // Run it once, with the threads in the order of seed 1. `Silent` ignores progress and warnings: implement
    // `pipeline::Observer` to see them.
    let options = RecordOptions { command: vec![program.into()], ..RecordOptions::default() };
    record(&options, 1, &trace, &mut Silent)?;

    // Search the trace, with so many steps per question.
    let file = TraceFile::open(trace.as_os_str(), &mut Silent)?;
    let options = PredictOptions { budget: Budget::of_steps(10_000_000), ..PredictOptions::default() };
    let predictions = predict(&file, &options, &mut Silent)?;

    // Run the program into each finding.
    let mut lines = Vec::new();
    for finding in &predictions.findings {
        let confirmation = confirm(&file, finding, &ConfirmOptions::default())?;
        lines.push(format!(
            "{}: {} on {} at {}: {}",
            finding.id,
            finding.kind.title(),
            finding.object,
            finding.locations.join(" and "),
            confirmation.rung.name()
        ));
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use super::bugs_of;

    #[test]
    fn the_race_of_the_first_example_is_confirmed() {
        if !testing::has("gcc") {
            return testing::absent("gcc");
        }
        let source =
            std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/weather_station.c");
        let lines = bugs_of(&source).unwrap();
        assert!(lines[0].starts_with("race-1: data race on temperature at "), "{lines:?}");
        assert!(lines[0].ends_with(": confirmed"), "{lines:?}");
    }
}
