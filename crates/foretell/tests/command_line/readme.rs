//! The README's session is run as it stands there.

use std::path::Path;
use std::process::Command;

use crate::support::{Workplace, example};

/// A command of the session and the lines it is to print, `..` standing for any others.
struct Step {
    command: String,
    expected: Vec<String>,
}

fn session(readme: &str) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in readme.lines().filter_map(|line| line.strip_prefix("    ")) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(command), _) => steps.push(Step { command: command.to_owned(), expected: Vec::new() }),
            (None, Some(step)) => step.expected.push(line.to_owned()),
            (None, None) => {}
        }
    }
    steps.retain(|step| !step.command.starts_with("cargo install"));
    steps
}

#[test]
fn the_session_is_what_happens() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = std::fs::read_to_string(root.join("README.md")).unwrap();
    let place = Workplace::new();
    std::fs::create_dir_all(place.path("corpus/examples")).unwrap();
    place.write("corpus/examples/account.std", example());
    let program = Path::new(env!("CARGO_BIN_EXE_foretell")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());

    let steps = session(&readme);
    assert!(steps.len() >= 5, "the session has {} commands", steps.len());
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
