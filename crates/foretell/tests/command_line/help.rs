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
fn of_every_command() {
    use clap::CommandFactory;
    let program = foretell::arguments::Arguments::command();
    for command in program.get_subcommands() {
        let name = command.get_name();
        insta::assert_snapshot!(format!("of_{name}"), help(&[name, "--help"]));
    }
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
