//! `cargo xtask pictures`: the pictures of the README and the book, made from real runs, into docs/pictures.
//!
//! A hunt in the first example gives the picture of the terminal, the one of the report (by Chromium), and the diagrams of the recorded
//! run and of the predicted schedule. `FORETELL` names another program than a release build made for this.

mod diagram;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use xtask::Outcome;
use xtask::cargo::{release_build, root};
use xtask::scratch::with_directory;

use crate::tools::done;

const EXAMPLE: &str = "examples/weather_station.c";
/// The width of the terminal, in characters, and of the browser's window, in pixels.
const COLUMNS: usize = 100;
const WINDOW: &str = "--window-size=1280,900";

/// What the pictures need of findings.json.
#[derive(Deserialize)]
struct Findings {
    findings: Vec<Finding>,
}

#[derive(Deserialize)]
struct Finding {
    events: Vec<usize>,
    schedule: Vec<usize>,
}

pub(crate) fn run() -> Outcome {
    let foretell = match std::env::var_os("FORETELL") {
        Some(named) => PathBuf::from(named),
        None => PathBuf::from(release_build()?),
    };
    let pictures = root().join("docs/pictures");
    fs::create_dir_all(&pictures).map_err(|error| format!("{}: {error}", pictures.display()))?;
    with_directory(|place| {
        fs::create_dir(place.join("examples")).map_err(|error| error.to_string())?;
        fs::copy(root().join(EXAMPLE), place.join(EXAMPLE)).map_err(|error| format!("{EXAMPLE}: {error}"))?;
        let said = hunt(&foretell, place)?;
        let shown = format!("$ foretell hunt {EXAMPLE}\n{said}");
        write(&pictures.join("hunt.svg"), &terminal::picture(&shown, COLUMNS))?;
        let found = read(&place.join(".foretell/latest/findings.json"))?;
        let Findings { findings } = serde_json::from_str(&found).map_err(|error| error.to_string())?;
        let race = findings.first().ok_or("the hunt found nothing")?;
        let text = output(
            Command::new(&foretell).args(["convert", "--quiet", ".foretell/latest/trace.ftr", "-"]),
            place,
        )?;
        let run = diagram::Run::parse(&text)?;
        write(&pictures.join("recorded.svg"), &run.recorded(&race.events))?;
        write(&pictures.join("predicted.svg"), &run.predicted(&race.schedule, &race.events))?;
        screenshot(place, &pictures.join("report.png"))
    })?;
    println!("pictures in {}", pictures.display());
    Ok(())
}

/// What a hunt prints on a terminal, with its colours.
fn hunt(foretell: &Path, place: &Path) -> Result<String, String> {
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" \"$@\" 2>&1"]).arg(foretell).args(["hunt", EXAMPLE]).current_dir(place);
    shell.env("CLICOLOR_FORCE", "1").env("COLUMNS", COLUMNS.to_string());
    let output = shell.output().map_err(|error| format!("cannot run foretell: {error}"))?;
    match output.status.code() {
        Some(1) => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        code => Err(format!("the hunt ended with {code:?} where it should have found a race")),
    }
}

/// The report as a browser shows it.
fn screenshot(place: &Path, picture: &Path) -> Outcome {
    let page =
        place.join(".foretell/latest/report.html").canonicalize().map_err(|error| error.to_string())?;
    let mut chromium = Command::new("chromium");
    chromium.args(["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", WINDOW]);
    chromium.arg(format!("--screenshot={}", picture.display())).arg(format!("file://{}", page.display()));
    done(chromium.stdout(Stdio::null()).stderr(Stdio::null()))
}

fn output(command: &mut Command, place: &Path) -> Result<String, String> {
    let output = command.current_dir(place).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, content: &str) -> Outcome {
    fs::write(path, content).map_err(|error| format!("{}: {error}", path.display()))
}

/// Text as it may stand in SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
