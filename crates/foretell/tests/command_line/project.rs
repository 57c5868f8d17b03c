//! `foretell.toml`: which file applies, and what it does.

use std::os::unix::fs::{PermissionsExt, chown};

use crate::support::{Ran, Workplace, example};

/// The example has races, and no deadlock.
const NO_RACES: &str = "[predict]\nonly = [\"deadlock\"]\n";

/// A project with a trace, and a directory in it.
fn project() -> Workplace {
    let place = Workplace::new();
    place.write("account.std", example()).write("foretell.toml", NO_RACES);
    std::fs::create_dir(place.path("below")).expect("it can be made");
    place
}

/// Predicts in the directory below; whether the file said which kinds.
fn predicted(place: &Workplace, arguments: &[&str], config: Option<&str>) -> (bool, Ran) {
    let words = [&["predict", "--json", "../account.std"], arguments].concat();
    let mut command = place.command(&words);
    command.current_dir(place.path("below")).env_remove("FORETELL_CONFIG");
    command.envs(config.map(|config| ("FORETELL_CONFIG", config)));
    let ran = Ran::of(command.output().expect("it starts"));
    let found = ran.json()["findings"].as_array().map_or(0, Vec::len);
    (found == 0, ran)
}

#[test]
fn a_file_above_applies_unless_the_command_line_says_otherwise() {
    let place = project();
    let (applies, ran) = predicted(&place, &[], None);
    assert!(applies && ran.code == Some(0), "{}", ran.stderr);
    assert!(!predicted(&place, &["--only", "race"], None).0, "the command line comes first");
    assert!(!predicted(&place, &[], Some("none")).0);
    place.write("below/foretell.toml", "[predict]\nonly = [\"race\"]\n");
    assert!(!predicted(&place, &[], None).0, "the nearest one counts");
    assert!(predicted(&place, &[], Some("../foretell.toml")).0, "the one that is named counts");
}

/// What lies in a directory that all can write to may be anybody's.
#[test]
fn a_file_above_that_somebody_else_could_have_written_is_not_used() {
    const SOMEBODY: Option<u32> = Some(65534);
    let (place, file) = (project(), "foretell.toml");
    let refused = |why: &str| {
        let (applies, ran) = predicted(&place, &[], None);
        assert!(!applies, "it was used: {why}");
        let path = place.path(file).canonicalize().expect("it is there");
        assert!(ran.stderr.contains(&format!("`{}` is not used: {why}", path.display())), "{}", ran.stderr);
        assert!(ran.stderr.contains("FORETELL_CONFIG=FILE"), "{}", ran.stderr);
    };
    let mode = |mode| std::fs::set_permissions(place.path(file), PermissionsExt::from_mode(mode));
    mode(0o666).expect("it can be changed");
    refused("others can write to it");
    mode(0o664).expect("it can be changed");
    assert!(predicted(&place, &[], None).0, "a group is of one's own choice");
    if chown(place.path(file), SOMEBODY, SOMEBODY).is_err() {
        return testing::absent("only root can give a file to somebody else");
    }
    refused("it belongs to another user");
    let (applies, ran) = predicted(&place, &[], Some("../foretell.toml"));
    assert!(applies && ran.stderr.is_empty(), "who names it wants it: {}", ran.stderr);
}
