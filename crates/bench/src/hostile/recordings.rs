//! Real programs: recordings of Debian's and of crates.io's that there once was no end to, made from sources that are fetched, and hunts and
//! limited recordings in the same way. bench/peers.toml says how they are built, recorded and searched, and what each command may take.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::measure::{Cost, cost_and_output, cost_of};
use crate::peers::manifest::{Hostile, Measured, Sources};
use crate::peers::place::{Place, fetched};

/// When a command is stopped, in seconds.
const STOPPED: &str = "600";

/// The table; what cannot be had is listed below it.
pub(super) fn section(foretell: &str, directory: &Path) -> Result<String, String> {
    let mut section = String::from(
        "\nReal programs, fetched, built and recorded as bench/peers.toml says (its `hostile` entries); *events* are those of the \
         recording. A search of a recording for all kinds of findings may take 120 s of CPU time and 4096 MB, a command with limits 5 s longer than \
         asked for, and recording up to `--max-events` no more CPU time than recording everything:\n\n\
         | project | version | command | events | before | CPU s | wall s | peak MB | |\n|---|---|---|--:|---|--:|--:|--:|---|\n",
    );
    let foretell = Path::new(foretell);
    let mut skipped = Vec::new();
    for project in &Sources::debian(directory)?.manifest.hostile {
        eprintln!("measuring: {}", project.name);
        let place = directory.join(&project.name);
        let place = Place { foretell, directory: &place };
        match rows(project, &place, directory) {
            Ok(rows) => section.push_str(&rows),
            Err(reason) => {
                let first = reason.lines().next().unwrap_or_default();
                skipped.push(
                    format!("- {}: {first}\n", project.name).replace(&*directory.to_string_lossy(), ".."),
                );
            }
        }
        let _ = std::fs::remove_dir_all(place.directory);
    }
    if !skipped.is_empty() {
        let _ = write!(section, "\nNot measured:\n\n{}", skipped.concat());
    }
    Ok(section)
}

/// The lines of a project.
fn rows(project: &Hostile, place: &Place<'_>, directory: &Path) -> Result<String, String> {
    let Hostile { name, package, release, prepare, command } = project;
    let (source, version) = fetched(name, package.as_deref(), release.as_ref(), directory)?;
    place.fill(&source)?;
    place.shell(prepare, "prepare.log")?;
    let (mut rows, mut before) = (String::new(), None);
    for measured in command {
        let line = in_place(place, &measured.run);
        let cost = cost_of(&line.iter().map(String::as_str).collect::<Vec<_>>()).ok();
        let events = events(place);
        let Measured { shown, before: earlier, .. } = measured;
        let number = events.map_or("-".to_owned(), |events| events.to_string());
        let figures = figures(measured, cost, before, events);
        let _ = writeln!(rows, "| {name} | {version} | `{shown}` | {number} | {earlier} | {figures} |");
        before = cost.map(|cost| cost.cpu);
    }
    Ok(rows)
}

/// A command for the shell, where the project is. It ends with the status of the command.
fn in_place(place: &Place<'_>, run: &str) -> Vec<String> {
    let directory = format!("--chdir={}", place.directory.display());
    let before = ["timeout", "-k", "5", STOPPED, "env", &directory].map(str::to_owned);
    let variables = place.variables().map(|(name, value)| format!("{name}={value}"));
    let shell = ["sh", "-ec", run].map(str::to_owned);
    before.into_iter().chain(variables).chain(shell).collect()
}

/// How many events the recording has that lies where the project is.
fn events(place: &Place<'_>) -> Option<u64> {
    let file = place.directory.join("run.ftr");
    let command = [&*place.foretell.to_string_lossy(), "stats", "-q", "--json", &*file.to_string_lossy()];
    let (_, said) = cost_and_output(&command).ok()?;
    serde_json::from_str::<serde_json::Value>(&said).ok()?["trace"]["events"].as_u64()
}

/// The last columns: what it took, and whether that was too much.
fn figures(measured: &Measured, cost: Option<Cost>, before: Option<Duration>, events: Option<u64>) -> String {
    let Some(cost) = cost else { return "stopped | | | over".to_owned() };
    let seconds =
        |most: Option<u64>, took: Duration| most.is_some_and(|most| took > Duration::from_secs(most));
    let over = seconds(measured.cpu, cost.cpu)
        || seconds(measured.wall, cost.wall)
        || measured.megabytes.is_some_and(|most| cost.peak_bytes > most << 20)
        || (measured.as_before && before.is_none_or(|before| cost.cpu > before))
        || measured.events.is_some_and(|most| events.is_none_or(|events| events > most));
    format!(
        "{:.2} | {:.1} | {} | {}",
        cost.cpu.as_secs_f64(),
        cost.wall.as_secs_f64(),
        cost.peak_bytes >> 20,
        if over { "over" } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured() -> Measured {
        let text = "run = 'true'\nshown = 'true'\nbefore = '-'\ncpu = 2\nwall = 3\nmegabytes = 4\nevents = 5\nas_before = true\n";
        toml::from_str(text).unwrap()
    }

    #[test]
    fn what_exceeds_any_bound_is_marked() {
        let seconds = Duration::from_secs;
        let cost = Cost { wall: seconds(3), cpu: seconds(2), peak_bytes: 4 << 20 };
        let over = |cost, before, events| figures(&measured(), cost, before, events).ends_with("over");
        assert!(!over(Some(cost), Some(seconds(2)), Some(5)));
        assert!(over(None, Some(seconds(2)), Some(5)));
        assert!(over(Some(Cost { wall: seconds(4), ..cost }), Some(seconds(2)), Some(5)));
        assert!(over(Some(Cost { cpu: seconds(3), ..cost }), Some(seconds(9)), Some(5)));
        assert!(over(Some(Cost { peak_bytes: 5 << 20, ..cost }), Some(seconds(2)), Some(5)));
        assert!(over(Some(cost), Some(seconds(1)), Some(5)));
        assert!(over(Some(cost), None, Some(5)));
        assert!(over(Some(cost), Some(seconds(2)), Some(6)));
        assert!(over(Some(cost), Some(seconds(2)), None));
    }

    #[test]
    fn every_project_has_bounds() {
        let hostile = Sources::debian(Path::new("")).unwrap().manifest.hostile;
        assert!(!hostile.is_empty());
        for project in &hostile {
            assert!(project.package.is_some() != project.release.is_some(), "{}", project.name);
            assert!(project.command.iter().all(|command| command.megabytes.is_some()), "{}", project.name);
        }
    }
}
