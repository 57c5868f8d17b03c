//! What a trace must not hold, and who may read it.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Toolchain, Workshop, succeeded};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };
const SECRET: &str = "correct-horse-battery-staple";

fn recorded(options: &[&str]) -> Workshop {
    let workshop = Workshop::new();
    workshop.compile(CC, "mutexes.c", &[]);
    let words = [&["record"], options, &["--", "./program"]].concat();
    succeeded(workshop.foretell(&words).env("API_TOKEN", SECRET));
    workshop
}

fn mode(workshop: &Workshop, name: &str) -> u32 {
    workshop.path(name).metadata().expect("it is there").permissions().mode() & 0o777
}

#[test]
fn a_trace_holds_names_and_lengths_but_no_values() {
    let workshop = recorded(&[]);
    let metadata = workshop.trace("foretell.ftr").metadata().clone();
    assert!(metadata.environment.is_empty());
    let token = metadata.variables.iter().find(|variable| variable.name == "API_TOKEN");
    assert_eq!(token.map(|token| token.length), Some(SECRET.len() as u64));
    assert!(!format!("{metadata:?}").contains(SECRET));
    assert_eq!(mode(&workshop, "foretell.ftr"), 0o600);
}

#[test]
fn values_are_kept_if_asked_for_and_can_be_removed() {
    let workshop = recorded(&["--keep-environment"]);
    let kept = format!("API_TOKEN={SECRET}");
    assert!(workshop.trace("foretell.ftr").metadata().environment.contains(&kept));
    // Whatever is printed or written from it does not have them.
    for words in [
        &["stats", "--json", "foretell.ftr"][..],
        &["predict", "--json", "--html", "page.html", "--sarif", "out.sarif", "foretell.ftr"],
        &["convert", "foretell.ftr", "text.std"],
    ] {
        let output = workshop.foretell(words).output().expect("it runs");
        assert!(!String::from_utf8_lossy(&output.stdout).contains(SECRET), "{words:?}");
    }
    for file in ["page.html", "out.sarif", "text.std"] {
        let content = std::fs::read_to_string(workshop.path(file)).expect("it is written");
        assert!(!content.contains(SECRET), "{file}");
    }
    let before = workshop.trace("foretell.ftr").len();
    let scrubbed = succeeded(&mut workshop.foretell(&["scrub", "--json", "foretell.ftr"])).stdout;
    let scrubbed: serde_json::Value = serde_json::from_slice(&scrubbed).expect("it is JSON");
    assert_eq!((&scrubbed["schema"], &scrubbed["file"]), (&1.into(), &"foretell.ftr".into()));
    assert!(scrubbed["values"].as_u64() > Some(0), "{scrubbed}");
    let trace = workshop.trace("foretell.ftr");
    assert!(!format!("{:?}", trace.metadata()).contains(SECRET));
    assert_eq!(trace.len(), before);
    assert!(trace.can_be_replayed());
}

#[test]
fn the_directory_of_a_hunt_is_private() {
    let workshop = Workshop::new();
    workshop.compile(CC, "mutexes.c", &[]);
    let mut hunt = workshop.foretell(&["hunt", "--times", "1", "--", "./program"]);
    let status = hunt.env("API_TOKEN", SECRET).output().expect("it runs").status.code();
    assert!(matches!(status, Some(0 | 1 | 3)), "{status:?}");
    assert_eq!(mode(&workshop, ".foretell"), 0o700);
    assert_eq!(mode(&workshop, ".foretell/1"), 0o700);
    for entry in std::fs::read_dir(workshop.path(".foretell/1")).expect("it is there").flatten() {
        let name = format!(".foretell/1/{}", entry.file_name().display());
        assert_eq!(mode(&workshop, &name) & 0o077, 0, "{name}");
        let content = std::fs::read(entry.path()).expect("it can be read");
        assert!(!String::from_utf8_lossy(&content).contains(SECRET), "{name}");
    }
}

#[test]
fn a_planted_link_is_refused() {
    let workshop = Workshop::new();
    workshop.compile(CC, "mutexes.c", &[]);
    let user = succeeded(&mut workshop.other("id", &["-u"])).stdout;
    let place = format!("tmp/foretell-{}", String::from_utf8_lossy(&user).trim());
    std::fs::create_dir_all(workshop.path("tmp")).expect("it can be made");
    std::fs::create_dir_all(workshop.path("elsewhere")).expect("it can be made");
    std::os::unix::fs::symlink(workshop.path("elsewhere"), workshop.path(&place)).expect("it can be made");
    let mut record = workshop.foretell(&["record", "--", "./program"]);
    let output = record.env("TMPDIR", workshop.path("tmp")).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("is not a directory of yours"), "{said}");
}

/// A directory for results, or a link in its place, that somebody else has put there.
#[test]
fn results_are_not_put_where_somebody_else_wants_them() {
    use std::os::unix::fs::lchown;
    const SOMEBODY: Option<u32> = Some(65534);
    let workshop = Workshop::new();
    workshop.compile(CC, "mutexes.c", &[]);
    let results = workshop.path(".foretell");
    std::fs::create_dir(workshop.path("elsewhere")).expect("it can be made");
    let plant: [&dyn Fn(); 2] = [&|| std::fs::create_dir(&results).expect("it can be made"), &|| {
        std::os::unix::fs::symlink(workshop.path("elsewhere"), &results).expect("it can be made")
    }];
    for plant in plant {
        plant();
        if lchown(&results, SOMEBODY, SOMEBODY).is_err() {
            return testing::absent("only root can give a directory to somebody else");
        }
        let output =
            workshop.foretell(&["hunt", "--times", "1", "--", "./program"]).output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains("`.foretell` belongs to another user"), "{said}");
        assert_eq!(std::fs::read_dir(&results).expect("it is there").count(), 0);
        match std::fs::symlink_metadata(&results).expect("it is there").is_dir() {
            true => std::fs::remove_dir(&results),
            false => std::fs::remove_file(&results),
        }
        .expect("it can be removed");
    }
}
