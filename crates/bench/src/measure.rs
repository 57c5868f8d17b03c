//! What running a command costs: wall time, CPU time and the peak of its resident memory.
//!
//! The kernel keeps one peak for all children of a process together, so each command is run by a
//! fresh process that has no other children.

use std::ops::RangeInclusive;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

use xtask::Outcome;
use xtask::cargo::root;

/// What running a command cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    /// The most memory that was resident at once, files mapped included.
    pub(crate) peak_bytes: u64,
}

/// Runs a command and prints what it cost, as three whole numbers on the last line of standard
/// error: microseconds of wall time, microseconds of CPU time, bytes.
pub(crate) fn print(command: &[&str]) -> Outcome {
    let start = Instant::now();
    let status = Command::new(command[0])
        .args(&command[1..])
        .stdin(Stdio::null())
        .status()
        .map_err(|error| format!("cannot run {}: {error}", command[0]))?;
    let wall = start.elapsed();
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| error.to_string())?;
    // Foretell ends with 1 when it found something, and with 3 when not all was decided.
    if !matches!(status.code(), Some(0 | 1 | 3)) {
        return Err(format!("`{}` failed", command.join(" ")));
    }
    let cpu = micros(usage.user_time()) + micros(usage.system_time());
    // Linux counts it in KiB.
    let peak_bytes = u64::try_from(usage.max_rss()).unwrap_or(0) * 1024;
    eprintln!("{} {cpu} {peak_bytes}", wall.as_micros());
    Ok(())
}

fn micros(time: TimeVal) -> u64 {
    u64::try_from(time.tv_sec()).unwrap_or(0) * 1_000_000 + u64::try_from(time.tv_usec()).unwrap_or(0)
}

/// Runs a command in a fresh process, its standard output thrown away, and says what it cost.
pub(crate) fn cost_of(command: &[&str]) -> Result<Cost, String> {
    measured(command, Stdio::null()).map(|(cost, _)| cost)
}

/// Runs a command in a fresh process, and says what it cost and what it printed.
pub(crate) fn cost_and_output(command: &[&str]) -> Result<(Cost, String), String> {
    measured(command, Stdio::piped())
}

fn measured(command: &[&str], stdout: Stdio) -> Result<(Cost, String), String> {
    let this = std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))?;
    let child = Command::new(this)
        .args(["measure", "--"])
        .args(command)
        .current_dir(root())
        .stdout(stdout)
        .stderr(Stdio::piped())
        .spawn();
    let output = child.and_then(|child| child.wait_with_output());
    let output = output.map_err(|error| format!("cannot run {}: {error}", command[0]))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let figures = said.lines().last().unwrap_or_default().split(' ').map(str::parse::<u64>);
    match figures.collect::<Result<Vec<u64>, _>>().as_deref() {
        Ok(&[wall, cpu, peak_bytes]) => {
            let cost =
                Cost { wall: Duration::from_micros(wall), cpu: Duration::from_micros(cpu), peak_bytes };
            Ok((cost, String::from_utf8_lossy(&output.stdout).into_owned()))
        }
        _ => Err(format!("`{}` could not be measured: {said}", command.join(" "))),
    }
}

/// The middle of some figures.
pub(crate) fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}

/// The binary to be measured, and a sentence about it: the one that `FORETELL` names, or a release build of this source.
pub(crate) fn measured_binary() -> Result<(String, &'static str), String> {
    match std::env::var("FORETELL") {
        Ok(named) => {
            Ok((named, "The binary was one that `FORETELL` named, not a release build made for this."))
        }
        Err(_) => Ok((xtask::cargo::release_build()?, "The binary was a release build.")),
    }
}

/// The number that a variable holds, if it is set.
pub(crate) fn number(variable: &str, range: RangeInclusive<u64>) -> Result<Option<u64>, String> {
    let Ok(text) = std::env::var(variable) else {
        return Ok(None);
    };
    let number = text.parse().ok().filter(|number| range.contains(number));
    let wrong = || format!("{variable} is not a number from {} to {}", range.start(), range.end());
    number.map(Some).ok_or_else(wrong)
}
