//! `foretell cargo` as users have cargo: workspaces, features, profiles, tests of every kind, flags of their own.

use std::path::Path;
use std::process::{Command, Output};

use run::program::{Program, Recordability};

use super::rust::program;
use super::{foretell, json};

/// What a file of the project below has.
const WORKSPACE: &[(&str, &str)] = &[
    (
        "Cargo.toml",
        "[workspace]\nmembers = [\"queue\", \"answers\", \"tool\"]\nresolver = \"3\"\n\
         [profile.release]\nlto = true\n[profile.dist]\ninherits = \"release\"\n",
    ),
    (
        ".cargo/config.toml",
        "[build]\nrustflags = [\"--cfg\", \"from_config\"]\nrustdocflags = [\"--cfg\", \"from_config\"]\n\
         target-dir = \"built here\"\n[target.x86_64-unknown-linux-gnu]\nrunner = \"false\"\n",
    ),
    (
        "queue/Cargo.toml",
        "[package]\nname = \"queue\"\nedition = \"2024\"\n[features]\nloud = []\n[dependencies]\nanswers = { path = \"../answers\" }\n\
         [lints.rust]\nunexpected_cfgs = \"allow\"\n",
    ),
    ("queue/build.rs", "fn main() { println!(\"cargo::rustc-env=BUILT=yes\"); }\n"),
    (
        "queue/src/lib.rs",
        r#"//! ```
//! assert_eq!(queue::counted(), 3);
//! ```
use std::sync::Mutex;
#[cfg(not(from_config))]
compile_error!("the user's flags are lost");
pub fn counted() -> u32 {
    let count = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| *count.lock().unwrap() += 1);
        }
    });
    if cfg!(feature = "loud") {
        println!("loud {} {}", env!("BUILT"), answers::answer!());
    }
    count.into_inner().unwrap()
}
#[test]
fn unit() {
    assert_eq!(counted(), 3);
}
"#,
    ),
    ("queue/tests/first.rs", "#[test]\nfn first() { assert_eq!(queue::counted(), 3); }\n"),
    (
        "queue/tests/second.rs",
        "#[test]\nfn fails() { assert_eq!(queue::counted(), std::env::var(\"EXPECTED\").map_or(3, |n| n.parse().unwrap())); }\n",
    ),
    ("queue/examples/show.rs", "fn main() { println!(\"shown {}\", queue::counted()); }\n"),
    ("answers/Cargo.toml", "[package]\nname = \"answers\"\nedition = \"2024\"\n[lib]\nproc-macro = true\n"),
    (
        "answers/src/lib.rs",
        "#[proc_macro]\npub fn answer(_: proc_macro::TokenStream) -> proc_macro::TokenStream { \"42\".parse().unwrap() }\n",
    ),
    (
        "tool/Cargo.toml",
        "[package]\nname = \"tool\"\nedition = \"2024\"\n[dependencies]\nqueue = { path = \"../queue\", features = [\"loud\"] }\n",
    ),
    (
        "tool/src/main.rs",
        "fn main() { let code = std::env::args().count() as i32; queue::counted(); std::process::exit(code) }\n",
    ),
];

/// `foretell cargo` in a directory, with std as it is shipped: to build it takes minutes, where its source is installed.
fn cargo(here: &Path, arguments: &[&str]) -> Command {
    cargo_with_any_std(here, &[&["--no-build-std"], arguments].concat())
}

/// `foretell cargo` in a directory, with std built where its source is installed.
fn cargo_with_any_std(here: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foretell"));
    // What this test was built with is not for the program.
    for (variable, _) in std::env::vars_os() {
        let name = variable.to_string_lossy();
        if name.starts_with("CARGO") || name.starts_with("RUSTFLAGS") || name == "RUSTC" {
            command.env_remove(&variable);
        }
    }
    command.current_dir(here).env("CARGO_NET_OFFLINE", "true").arg("cargo").args(arguments);
    command
}

#[track_caller]
fn ends(command: &mut Command, status: i32) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{command:?}: {said}");
    output
}

fn names(directory: &Path, part: &str) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name.contains(part)).collect();
    names.sort();
    names
}

/// Builds these programs of corpus/crates, which need a feature, in a directory; none if their crates were not fetched.
fn crates(feature: &str, programs: [&str; 2], target: &Path) -> Option<[std::path::PathBuf; 2]> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/crates");
    let mut build = cargo(&corpus, &["build", "--locked", "--features", feature]);
    for program in programs {
        build.args(["--bin", program]);
    }
    let output = build.env("CARGO_TARGET_DIR", target).output().unwrap();
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("offline") || said.contains("network"), "{said}");
        testing::skip("the crates of corpus/crates were not fetched");
        return None;
    }
    Some(programs.map(|program| target.join("x86_64-unknown-linux-gnu/debug").join(program)))
}

#[test]
fn a_deadlock_of_parking_lots_mutexes_is_predicted_and_confirmed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let Some([correct, bug]) = crates("parking_lot", ["parking_lot", "parking_lot_bug"], here) else {
        return;
    };
    let trace = |program: &Path| {
        let program = program.to_str().unwrap();
        let runs = (0..50).map(|seed: u32| {
            foretell(here, &["record", "--seed", &seed.to_string(), "-o", "t.ftr", "--", program])
        });
        // In most schedules the program does not deadlock.
        assert!(runs.into_iter().any(|run| run.status.success()), "{program} never ends");
        json(&foretell(here, &["predict", "t.ftr", "--json", "--only", "deadlock,race"]))
    };
    let silence = trace(&correct);
    assert_eq!(silence["findings"], serde_json::json!([]));
    assert!(silence["trace"]["locks"].as_u64() >= Some(2), "{silence}");
    let found = trace(&bug);
    assert_eq!(found["findings"][0]["kind"], "deadlock", "{found}");
    let places = found["findings"][0]["locations"].as_array().unwrap();
    assert!(places.iter().all(|place| place.as_str().unwrap().contains("parking_lot_bug.rs:")), "{places:?}");
    let replayed = json(&foretell(here, &["replay", "t.ftr", "deadlock-1", "--times", "10", "--json"]));
    assert_eq!(
        (&replayed["result"], &replayed["confirmed"]),
        (&"confirmed".into(), &10.into()),
        "{replayed}"
    );
    let hunted = json(&foretell(
        here,
        &["hunt", "--json", "--quiet", "--only", "deadlock", "--", bug.to_str().unwrap()],
    ));
    let findings = hunted["findings"].as_array().unwrap();
    let is_confirmed = |kind: &str| findings.iter().any(|f| f["kind"] == kind && f["rung"] == "confirmed");
    assert!(is_confirmed("deadlock"), "{hunted}");
}

#[test]
fn a_workspace_in_a_directory_with_spaces() {
    if !testing::has("rustc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path().join("my project");
    for (name, content) in WORKSPACE {
        let path = here.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let said = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();

    // A program's arguments and status are its own; what is optimised across crates and stripped is seen all the same.
    let ran = ends(
        &mut cargo(
            &here,
            &["--record", "", "run", "--profile", "dist", "-p", "tool", "--", "--release", "-q"],
        ),
        3,
    );
    assert_eq!(said(&ran), "loud yes 42\n");
    let events = foretell(&here, &["convert", "foretell.ftr", "-"]);
    let events = String::from_utf8_lossy(&events.stdout).into_owned();
    assert_eq!(events.matches("|acq(").count(), 3, "{events}");
    assert!(events.contains("queue/src/lib.rs:11"), "{events}");

    // What is for the host is not instrumented.
    let target = here.join("built here");
    let script = names(&target.join("dist/build"), "queue")
        .into_iter()
        .map(|name| target.join("dist/build").join(name));
    let script = script.map(|path| path.join("build-script-build")).find(|path| path.exists()).unwrap();
    assert_eq!(Program::find(script.as_os_str()).unwrap().recordability, Recordability::SyncOnly);
    let tool = target.join("x86_64-unknown-linux-gnu/dist/tool");
    assert_eq!(Program::find(tool.as_os_str()).unwrap().recordability, Recordability::Full);

    // Every test program has a trace of its own, the doc tests included, in the directory of the user.
    std::fs::remove_file(here.join("foretell.ftr")).unwrap();
    let below = here.join("queue");
    let tested = ends(&mut cargo(&below, &["--record", "--seed 5", "test", "--features", "loud"]), 0);
    let traces = names(&below, ".ftr");
    let programs: Vec<&str> = traces.iter().map(|name| name.split('-').nth(1).unwrap()).collect();
    assert_eq!(programs, ["first", "queue", "rust_out.ftr", "second"], "{}", said(&tested));
    let stats = foretell(&below, &["stats", "--json", &traces[0]]);
    assert_eq!(json(&stats)["metadata"]["settings"]["seed"], "5", "{}", json(&stats));

    // One that fails fails, and is recorded.
    for trace in &traces {
        std::fs::remove_file(below.join(trace)).unwrap();
    }
    ends(cargo(&here, &["--record", "", "test", "--test", "second"]).env("EXPECTED", "4"), 101);
    assert_eq!(names(&here, ".ftr").len(), 1);

    let shown = ends(&mut cargo(&here, &["--record", "", "run", "-p", "queue", "--example", "show"]), 0);
    assert_eq!(said(&shown), "shown 3\n");
    assert!(here.join("foretell.ftr").is_file());
}

#[test]
fn flags_in_the_environment_are_kept() {
    if !testing::has("rustc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir(here.join("src")).unwrap();
    std::fs::write(here.join("Cargo.toml"), "[package]\nname = \"flags\"\nedition = \"2024\"\n").unwrap();
    std::fs::write(here.join("src/main.rs"), "#[cfg(given)]\nfn main() {}\n").unwrap();
    let mut build = cargo(here, &["build"]);
    ends(build.env("RUSTFLAGS", "--cfg given"), 0);
    let refused = ends(&mut cargo(here, &["build", "--target", "wasm32-wasip1"]), 2);
    assert!(
        String::from_utf8_lossy(&refused.stderr).contains("`wasm32-wasip1` cannot be recorded"),
        "{refused:?}"
    );
}

/// A compiler that has the source of std, and a cargo that says what it is asked for.
#[test]
fn std_is_built_with_the_program_where_its_source_is_there() {
    if !testing::has("rustc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let script = |name: &str, text: &str| {
        use std::os::unix::fs::PermissionsExt;
        let path = here.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let answers = format!("[ \"$2\" = sysroot ] && echo '{}' || exec rustc \"$@\"", here.display());
    let rustc = script("rustc", &answers);
    let asked = script("cargo", "echo \"asked $@\"; echo \"$RUSTC_WRAPPER\"");
    let run = |arguments: &[&str]| {
        let mut command = cargo_with_any_std(here, arguments);
        let output = ends(command.env("RUSTC", &rustc).env("CARGO", &asked), 0);
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let [without, said] = run(&["build"]);
    assert!(
        !without.contains("-Zbuild-std") && said.starts_with("note: std is precompiled"),
        "{without} {said}"
    );
    let library = here.join("lib/rustlib/src/rust/library");
    std::fs::create_dir_all(&library).unwrap();
    std::fs::write(library.join("Cargo.lock"), "").unwrap();
    let [with, said] = run(&["build"]);
    assert!(with.contains(" -Zbuild-std=std,") && said.is_empty(), "{with} {said}");
    let [without, said] = run(&["--no-build-std", "build", "-q"]);
    assert!(!without.contains("-Zbuild-std") && said.is_empty(), "{without} {said}");
    // Cargo runs rustc through us.
    let wrapper = with.lines().last().unwrap();
    let version = Command::new(wrapper).args(["rustc", "--version"]).output().unwrap();
    assert!(String::from_utf8_lossy(&version.stdout).starts_with("rustc "), "{version:?}");
}

#[test]
fn cargo_builds_what_can_be_hunted_in_and_records_what_it_runs() {
    if !testing::has("rustc") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let manifest = "[package]\nname = \"inverted\"\nedition = \"2024\"\n[profile.dev]\nlto = \"thin\"\n";
    std::fs::write(here.join("Cargo.toml"), manifest).unwrap();
    std::fs::create_dir(here.join("src")).unwrap();
    std::fs::copy(program("deadlock.rs"), here.join("src/main.rs")).unwrap();
    ends(&mut cargo(here, &["build"]), 0);
    let built = "target/x86_64-unknown-linux-gnu/debug/inverted";
    let hunted = foretell(here, &["hunt", "--json", "--quiet", "--", built]);
    let findings = json(&hunted);
    assert_eq!(findings["findings"][0]["rung"], "confirmed", "{findings:#}");
    ends(&mut cargo(here, &["--record", "", "run"]), 0);
    let predicted = foretell(here, &["predict", "foretell.ftr", "--json", "--only", "deadlock"]);
    assert_eq!(json(&predicted)["findings"].as_array().unwrap().len(), 1, "{predicted:?}");
    // Not that of core's that was inlined there.
    let told = foretell(here, &["predict", "foretell.ftr", "--only", "deadlock"]);
    assert!(String::from_utf8_lossy(&told.stdout).contains(" in inverted::main::{closure"), "{told:?}");
}

#[test]
fn what_core_does_is_seen_where_std_is_built() {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let source = Path::new(&sysroot.unwrap_or_default()).join("lib/rustlib/src/rust/library/Cargo.lock");
    if !source.is_file() {
        return testing::absent("the source of std is not installed (`rustup component add rust-src`)");
    }
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    std::fs::create_dir(here.join("src")).unwrap();
    std::fs::write(here.join("Cargo.toml"), "[package]\nname = \"hidden\"\nedition = \"2024\"\n").unwrap();
    let program = r#"static mut BYTES: [u8; 8] = *b"abcdefgh";
fn main() {
    let writer = std::thread::spawn(|| unsafe { (*&raw mut BYTES)[3] = b'x' });
    assert!(unsafe { std::str::from_utf8(&*&raw const BYTES).is_ok() });
    writer.join().unwrap();
}
"#;
    std::fs::write(here.join("src/main.rs"), program).unwrap();
    // What std needs may have to be fetched.
    for (arguments, races) in
        [(&["--record", "", "run"][..], 1), (&["--record", "", "--no-build-std", "run"], 0)]
    {
        ends(cargo_with_any_std(here, arguments).env_remove("CARGO_NET_OFFLINE"), 0);
        let predicted = json(&foretell(here, &["predict", "foretell.ftr", "--json", "--only", "race"]));
        assert_eq!(predicted["findings"].as_array().unwrap().len(), races, "{predicted:#}");
    }
}
