//! Sessions: commands after a dollar sign, and what they print.

use std::path::Path;
use std::process::Command;

use testing::session::{SessionStep, compare, steps};

use crate::{page, pages, root, search_path};

/// The commands of a page, and what they print.
fn session(page: &str) -> Vec<(String, Vec<String>)> {
    let command = |step| match step {
        SessionStep::Command { command, expected } if !command.starts_with("cargo ") => {
            Some((command, expected))
        }
        _ => None,
    };
    steps(page).into_iter().filter_map(command).collect()
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

    let commands = session(&page(name));
    assert!(!commands.is_empty(), "{name} has no session");
    for (command, expected) in commands {
        let shell = Command::new("sh")
            .args(["-c", &format!("{{ {}; }} 2>&1", command.split(" #").next().unwrap())])
            .current_dir(directory)
            .env("PATH", search_path())
            .output()
            .unwrap();
        let printed = String::from_utf8(shell.stdout).unwrap();
        compare(&expected, &printed).unwrap_or_else(|why| panic!("$ {command}\n{why}; but:\n{printed}"));
    }
}
