//! The sessions in the README, docs/tour.md and docs/traces.md are run as they stand there.

use std::path::Path;
use std::process::Command;

use crate::support::{Workplace, example};

/// A command of a session and the lines it is to print, `..` standing for any others.
struct Step {
    command: String,
    expected: Vec<String>,
}

/// The commands of a page: indented, after a dollar sign, and what follows up to the next line of prose.
fn session(page: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let mut open = false;
    for line in page.lines().filter(|line| !line.is_empty()) {
        let Some(line) = line.strip_prefix("    ") else {
            open = false;
            continue;
        };
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => {
                open = true;
                steps.push(Step { command: command.to_owned(), expected: Vec::new() });
            }
            (None, Some(step)) if open => step.expected.push(line.to_owned()),
            _ => {}
        }
    }
    steps.retain(|step| !step.command.starts_with("cargo "));
    steps
}

#[test]
fn the_readme_tells_what_happens() {
    happens("README.md");
}

#[test]
fn the_tour_tells_what_happens() {
    happens("docs/tour.md");
}

#[test]
fn the_page_about_traces_tells_what_happens() {
    happens("docs/traces.md");
}

fn happens(page: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let page = std::fs::read_to_string(root.join(page)).unwrap();
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("corpus/examples")).unwrap();
    place.write("corpus/examples/account.std", example());
    std::fs::create_dir_all(place.path("examples")).unwrap();
    for program in ["weather_station", "mail_room", "cinema"] {
        let file = format!("examples/{program}.c");
        std::fs::copy(root.join(&file), place.path(&file)).unwrap();
    }
    let program = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());

    let steps = session(&page);
    assert!(steps.len() >= 4, "the session has {} commands", steps.len());
    for Step { command, expected } in steps {
        let shell = Command::new("sh")
            .args(["-c", &format!("{{ {}; }} 2>&1", command.split('#').next().unwrap())])
            .current_dir(place.path(""))
            .env("PATH", &path)
            .output()
            .unwrap();
        let printed = String::from_utf8(shell.stdout).unwrap();
        let mut lines = printed.lines();
        let mut any = false;
        for line in expected {
            if line == ".." {
                any = true;
                continue;
            }
            let found = if any { lines.any(|l| l == line) } else { lines.next() == Some(&*line) };
            assert!(found, "$ {command}\ndoes not print: {line}\nbut:\n{printed}");
            any = false;
        }
        assert!(any || lines.next().is_none(), "$ {command}\nprints more:\n{printed}");
    }
}
