//! What `--help` says is part of the program: a change of it must be meant.

use crate::support::Workplace;

fn help(arguments: &[&str]) -> String {
    Workplace::new().run(arguments).succeeded().text()
}

#[test]
fn of_the_program() {
    insta::assert_snapshot!(help(&["--help"]));
}

#[test]
fn of_convert() {
    insta::assert_snapshot!(help(&["convert", "--help"]));
}

#[test]
fn of_stats() {
    insta::assert_snapshot!(help(&["stats", "--help"]));
}

#[test]
fn of_generate() {
    insta::assert_snapshot!(help(&["generate", "--help"]));
}

#[test]
fn of_hunt() {
    insta::assert_snapshot!(help(&["hunt", "--help"]));
}

#[test]
fn of_predict() {
    insta::assert_snapshot!(help(&["predict", "--help"]));
}

#[test]
fn of_replay() {
    insta::assert_snapshot!(help(&["replay", "--help"]));
}

#[test]
fn of_show() {
    insta::assert_snapshot!(help(&["show", "--help"]));
}

#[test]
fn of_report() {
    insta::assert_snapshot!(help(&["report", "--help"]));
}

#[test]
fn of_decide() {
    insta::assert_snapshot!(help(&["decide", "--help"]));
}

#[test]
fn of_states() {
    insta::assert_snapshot!(help(&["states", "--help"]));
}

#[test]
fn of_compare() {
    insta::assert_snapshot!(help(&["compare", "--help"]));
}

#[test]
fn of_check() {
    insta::assert_snapshot!(help(&["check", "--help"]));
}

#[test]
fn of_cc() {
    insta::assert_snapshot!(help(&["cc", "--help"]));
}

#[test]
fn of_cpp() {
    insta::assert_snapshot!("of_c++", help(&["c++", "--help"]));
}

#[test]
fn of_cargo() {
    insta::assert_snapshot!(help(&["cargo", "--help"]));
}

#[test]
fn of_record() {
    insta::assert_snapshot!(help(&["record", "--help"]));
}

/// A command without its own snapshot above would change unseen.
#[test]
fn every_command_is_pinned() {
    let text = help(&["--help"]);
    let commands = text.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty()).filter(|line| !line.starts_with("   "));
    let names: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    let pinned = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/command_line/snapshots");
    for name in &names {
        assert!(
            pinned.join(format!("command_line__help__of_{name}.snap")).exists(),
            "{name} has no snapshot"
        );
    }
    assert!(names.len() >= 3, "{names:?}");
}

/// Examples stay copyable: on a terminal of 80 columns no line is wrapped in the middle of a command.
#[test]
fn what_follows_the_options_fits_80_columns() {
    use clap::CommandFactory;
    let program = foretell::arguments::Arguments::command();
    let mut examples = 0;
    for command in program.get_subcommands() {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        examples += usize::from(text.contains("Examples:"));
        for line in text.lines() {
            assert!(line.chars().count() <= 80, "{}: {line}", command.get_name());
        }
    }
    assert!(examples >= 16, "only {examples} commands have examples");
}

#[test]
fn the_version_is_the_packages() {
    assert_eq!(help(&["--version"]), format!("foretell {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn of_diff() {
    insta::assert_snapshot!(help(&["diff", "--help"]));
}
