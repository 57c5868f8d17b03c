//! The machine that measurements run on, and what its programs print.

use std::process::Command;

/// When and on what.
pub fn circumstances() -> String {
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("unknown").to_owned();
    format!(
        "Measured on {}, {}, {cores} cores, {}, load {load} at the start.\n",
        output_of("date", &["-u", "+%Y-%m-%d"]),
        processor(),
        output_of("rustc", &["--version"])
    )
}

/// What a program prints on standard output, or `unknown` if it cannot be run.
pub fn output_of(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    output.map_or("unknown".to_owned(), |output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn processor() -> String {
    let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = information.lines().find(|line| line.starts_with("model name"));
    model.and_then(|line| line.split(':').nth(1)).unwrap_or("an unknown processor").trim().to_owned()
}
