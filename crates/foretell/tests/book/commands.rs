//! Commands without a dollar sign: they are run, in the order of their page, in a directory with a project.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::{page, pages, project, search_path};

/// A line of code is a command if it begins with one of these words.
const WORDS: &[&str] = &[
    "foretell ",
    "make",
    "./configure",
    "cmake ",
    "meson ",
    "gcc ",
    "cc ",
    "ln ",
    "mkdir ",
    "valgrind ",
    "CC=",
    "pip ",
    "cargo ",
    "FORETELL_",
];

/// Commands that are not run here, and why: they install, or another test runs them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("cargo install", "`cargo xtask package` installs from the packages"),
    ("pip install foretell", "`cargo xtask wheel` installs the wheel"),
    ("cargo run --package foretell-pipeline --example embed", "a test of foretell-pipeline runs it"),
    ("foretell fleet", "needs a server; tests of foretell-fleet run these commands with one"),
    ("cargo xtask", "chores of this repository"),
    ("FORETELL_LLVM_TSAN=", "a chore of this repository"),
    ("foretell test -- meson", "needs a configured build directory: the page about build systems has one"),
    ("foretell test -- ctest --test-dir build", "likewise"),
    ("foretell test --shard", "likewise"),
    ("foretell merge shard-*", "likewise"),
    ("foretell fleet", "the tests of foretell-fleet run them, with a server"),
];
/// Commands that say by their status what they found.
const SEARCHES: &[&str] = &["hunt", "predict", "test", "replay", "states", "report", "diff", "merge"];
/// The page on which nothing needs to be left out for want of a build directory.
const BUILD_SYSTEMS: &str = "docs/build-systems.md";

/// The commands of a page.
fn commands(text: &str) -> Vec<String> {
    let mut fenced = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            fenced = !fenced;
            continue;
        }
        let Some(code) = line.strip_prefix("    ").filter(|_| !fenced) else { continue };
        if WORDS.iter().any(|word| code.starts_with(word)) {
            found.push(code.split("  #").next().unwrap_or(code).trim().to_owned());
        }
    }
    found
}

/// Whether a command of a page is run by something else.
fn is_run_elsewhere(name: &str, command: &str) -> bool {
    let is_build = |why: &str| why == "likewise" || why.contains("build directory");
    ELSEWHERE
        .iter()
        .any(|(start, why)| command.starts_with(start) && !(name == BUILD_SYSTEMS && is_build(why)))
}

/// The pages with commands, each with a test of its name.
macro_rules! pages_with_commands {
    ($($name:ident: $page:literal),* $(,)?) => {
        $(#[test]
        fn $name() {
            are_run($page);
        })*

        #[test]
        fn no_command_is_left_out() {
            let tested = [$($page),*];
            for name in pages().into_iter().filter(|name| !tested.contains(&name.as_str())) {
                let commands = commands(&page(&name));
                let untested: Vec<_> = commands.iter().filter(|command| !is_run_elsewhere(&name, command)).collect();
                assert!(untested.is_empty(), "no test runs the commands of {name}: {untested:?}");
            }
        }
    };
}

pages_with_commands! {
    readme: "README.md",
    build_systems: "docs/build-systems.md",
    recording: "docs/recording.md",
    suites: "docs/suites.md",
    replay: "docs/replay.md",
    debugging: "docs/debugging.md",
    predicates: "docs/predicates.md",
    rules: "docs/rules.md",
    ci: "docs/ci.md",
    from_helgrind: "docs/from-helgrind.md",
    from_shuttle_and_loom: "docs/from-shuttle-and-loom.md",
    schedule_format: "docs/schedule-format.md",
}

/// Runs a page's commands. None may fail; searches say what they found by 1, and that their time was over by 3.
fn are_run(name: &str) {
    if !testing::has("gcc") {
        return testing::absent("gcc");
    }
    let place = tempfile::tempdir().unwrap();
    project::write(place.path());
    for command in project::PREPARE.lines() {
        let (status, said) = run(command, place.path());
        assert!(matches!(status, Some(0 | 1)), "{command} ended with {status:?}:\n{said}");
    }
    let text = page(name);
    let commands = commands(&text);
    let here: Vec<_> = commands.iter().filter(|command| !is_run_elsewhere(name, command)).collect();
    assert!(!here.is_empty(), "{name} has no commands");
    for command in here {
        for tool in ["cmake", "meson", "valgrind"] {
            if command.contains(tool) && !testing::has(tool) {
                return testing::absent(tool);
            }
        }
        let (status, said) = run(command, place.path());
        let is_well = match SEARCHES.iter().any(|search| command.contains(search)) {
            true => matches!(status, Some(0 | 1 | 3)),
            false => status == Some(0),
        };
        assert!(is_well, "{name}: {command}\nended with {status:?}:\n{said}");
    }
}

/// The status of a command, and what it printed.
fn run(command: &str, directory: &std::path::Path) -> (Option<i32>, String) {
    let start = Instant::now();
    let output = Command::new("sh")
        .args(["-c", &format!("{{ {command}; }} 2>&1")])
        .current_dir(directory)
        .env("PATH", format!("{}:{}", search_path(), directory.join("home/bin").display()))
        .env("HOME", directory.join("home"))
        .env("CARGO_HOME", cargo_home())
        .env("RUSTUP_HOME", rustup_home())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(start.elapsed() < Duration::from_secs(400), "{command} took {:?}", start.elapsed());
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where cargo and rustup are, since the commands have a home of their own.
fn cargo_home() -> String {
    home_of("CARGO_HOME", ".cargo")
}

fn rustup_home() -> String {
    home_of("RUSTUP_HOME", ".rustup")
}

fn home_of(variable: &str, name: &str) -> String {
    let home = || format!("{}/{name}", std::env::var("HOME").unwrap_or_default());
    std::env::var(variable).unwrap_or_else(|_| home())
}
