//! Sessions: commands after a dollar sign, and what they print.

use std::path::Path;
use std::process::Command;

use crate::{page, pages, root, search_path};

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

/// The pages with sessions, each with a test of its name.
macro_rules! sessions {
    ($($name:ident: $page:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            happens($page);
        })*

        #[test]
        fn no_session_is_left_out() {
            let tested = [$($page),*];
            let untested = pages().into_iter().filter(|name| !tested.contains(&name.as_str()));
            let with_sessions: Vec<String> = untested.filter(|name| !session(&page(name)).is_empty()).collect();
            assert!(with_sessions.is_empty(), "no test runs the sessions of {with_sessions:?}");
        }
    };
}

sessions! {
    readme: "README.md",
    start: "docs/start.md",
    tour: "docs/tour.md",
    understanding_a_report: "docs/understanding-a-report.md",
    debugging: "docs/debugging.md",
    editors: "docs/editors.md",
    embedding: "docs/embedding.md",
    traces: "docs/traces.md",
    how_prediction_works: "docs/how-prediction-works.md",
    proof_format: "docs/proof-format.md",
}

/// The first page has two programs; the second is a change of the first.
fn write_programs_of_the_start(directory: &Path) {
    let start = page("docs/start.md");
    let programs: Vec<&str> =
        start.split("```c\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    let [tickets, change] = programs[..] else { panic!("the page has two programs") };
    let (before, rest) = tickets.split_once("static void *sell").unwrap();
    let (_, main) = rest.split_once("\n}\n").unwrap();
    std::fs::write(directory.join("tickets.c"), tickets).unwrap();
    std::fs::write(directory.join("fixed.c"), format!("{before}{change}{main}")).unwrap();
}

fn happens(name: &str) {
    let (root, place) = (root(), tempfile::tempdir().unwrap());
    let directory = place.path();
    for inside in ["corpus/examples", "examples/embedding"] {
        std::fs::create_dir_all(directory.join(inside)).unwrap();
    }
    let programs = ["weather_station", "mail_room", "cinema", "embedding/findings"];
    let files = programs.iter().map(|program| format!("examples/{program}.c"));
    for file in files.chain(["corpus/examples/account.std".to_owned()]) {
        std::fs::copy(root.join(&file), directory.join(&file)).unwrap();
    }
    write_programs_of_the_start(directory);

    let steps = session(&page(name));
    assert!(!steps.is_empty(), "{name} has no session");
    for Step { command, expected } in steps {
        let shell = Command::new("sh")
            .args(["-c", &format!("{{ {}; }} 2>&1", command.split(" #").next().unwrap())])
            .current_dir(directory)
            .env("PATH", search_path())
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
