//! However a recording is ended, from inside or outside: it ends soon, nothing of it survives, and what was recorded is kept.

use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Toolchain, Workshop, count};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

fn compiled(program: &str) -> Workshop {
    let workshop = Workshop::new();
    workshop.compile(CC, program, &[]);
    std::fs::create_dir(workshop.path("tmp")).expect("it can be made");
    workshop
}

/// Records in a temporary directory of its own, and waits until the program says that it is under way.
fn started(workshop: &Workshop, arguments: &[&str]) -> Child {
    let mut record = workshop.foretell(&[&["record", "--"], arguments].concat());
    record.env("TMPDIR", workshop.path("tmp")).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = record.spawn().expect("it starts");
    let mut byte = [0; 1];
    child.stdout.as_mut().expect("it is piped").read_exact(&mut byte).expect("it says so");
    child
}

fn send(signal: &str, process: u32) {
    let sent = Command::new("kill").args([signal, &process.to_string()]).status();
    assert!(sent.expect("it runs").success());
}

/// Whether a process of this command still runs, or one that was about to become it when its recorder was killed.
fn survives(workshop: &Workshop) -> bool {
    let canonical = |path: PathBuf| path.canonicalize().expect("it is there");
    let [program, foretell, here] =
        [workshop.path("program"), env!("CARGO_BIN_EXE_foretell").into(), workshop.path("")].map(canonical);
    let processes = std::fs::read_dir("/proc").expect("there are processes").flatten();
    let mut runs = processes.filter_map(|process| {
        let link = |name: &str| std::fs::read_link(process.path().join(name)).ok();
        Some((link("exe")?, link("cwd")?))
    });
    runs.any(|(file, directory)| file == program || file == foretell && directory == here)
}

#[track_caller]
fn gone_soon(workshop: &Workshop) {
    let since = Instant::now();
    while survives(workshop) {
        assert!(since.elapsed() < Duration::from_secs(5), "the program survives");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_program_that_ends_by_a_system_call_ends_with_its_status() {
    let workshop = compiled("sandbox.c");
    for (how, status) in [("exit", 3), ("exit_group", 5), ("unseen", 6), ("strict", 3)] {
        let since = Instant::now();
        let output = workshop.foretell(&["record", "--", "./program", how]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(status), "{how}: {output:?}");
        assert!(since.elapsed() < Duration::from_secs(20), "{how}");
        assert!(count(&workshop.trace("foretell.ftr"), "w(shared)") >= 2, "{how}");
    }
}

#[test]
fn a_stubborn_program_is_killed_after_a_while() {
    let workshop = compiled("sandbox.c");
    let mut record = started(&workshop, &["./program", "stubborn"]);
    let since = Instant::now();
    send("-TERM", record.id());
    assert_eq!(record.wait().expect("it ends").code(), Some(128 + 9));
    assert!(since.elapsed() > Duration::from_secs(1), "it has time to end by itself");
    assert!(since.elapsed() < Duration::from_secs(20));
    assert!(count(&workshop.trace("foretell.ftr"), "w(shared)") >= 2);
}

/// What a program has started ends with it where we end it, however fast the program itself goes; and after each run of a hunt.
#[test]
fn the_children_of_a_program_end_with_it() {
    let workshop = compiled("sandbox.c");
    let run = |arguments: &[&str]| workshop.foretell(arguments).output().expect("it runs").status.code();
    assert_eq!(run(&["record", "--timeout", "1", "--", "./program", "family"]), Some(128 + 15));
    gone_soon(&workshop);
    assert!(workshop.path("foretell.ftr").exists());
    let mut record = workshop.foretell(&["record", "--", "./program", "family"]);
    let mut child = record.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(700));
    send("-TERM", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 15));
    gone_soon(&workshop);
    assert!(matches!(run(&["hunt", "--timeout", "5", "--", "./program", "orphan"]), Some(0 | 1)));
    gone_soon(&workshop);
}

#[test]
fn whoever_asks_twice_is_obeyed_at_once() {
    let workshop = compiled("sandbox.c");
    let mut record = started(&workshop, &["./program", "stubborn"]);
    let since = Instant::now();
    send("-INT", record.id());
    std::thread::sleep(Duration::from_millis(200));
    send("-INT", record.id());
    assert_eq!(record.wait().expect("it ends").code(), Some(128 + 9));
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    assert!(workshop.path("foretell.ftr").exists());
}

#[test]
fn a_killed_recorder_leaves_a_recording_and_nothing_else() {
    let workshop = compiled("endless.c");
    let tmp = workshop.path("tmp");
    let foretell = |arguments: &[&str]| {
        let output = workshop.foretell(arguments).env("TMPDIR", &tmp).output().expect("it runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut record = started(&workshop, &["./program", "on"]);
    send("-KILL", record.id());
    record.wait().expect("it is gone");
    gone_soon(&workshop);
    assert!(!workshop.path("foretell.ftr").exists());

    // The next recording says so, and is not disturbed.
    let (_, said) = foretell(&["record", "-o", "other.ftr", "--", "./program", "kill"]);
    assert!(said.contains("a recording of `./program on` was interrupted"), "{said}");
    assert!(said.contains("`foretell recover`"), "{said}");
    let (status, said) = foretell(&["recover"]);
    assert_eq!(status, Some(0), "{said}");
    let trace = workshop.trace("foretell.ftr");
    assert!(count(&trace, "w(cells") > 1000, "{said}");
    assert_eq!(trace.metadata().command, ["./program", "on"]);
    assert!(trace.metadata().incomplete.contains("killed"));
    assert!(trace.can_be_replayed());

    let (status, said) = foretell(&["recover"]);
    assert_eq!(status, Some(2), "there is nothing more: {said}");
    let left: Vec<_> = walk(&tmp).into_iter().filter(|path| !path.ends_with("lock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn an_interrupted_recording_can_be_discarded_and_does_not_overwrite() {
    let workshop = compiled("endless.c");
    let tmp = workshop.path("tmp");
    workshop.write("foretell.ftr", "an older one");
    for round in 0..2 {
        let mut record = started(&workshop, &["./program", "on"]);
        send("-KILL", record.id());
        record.wait().expect("it is gone");
        let words: &[&str] = if round == 0 { &["recover", "--discard"] } else { &["recover"] };
        let status = workshop.foretell(words).env("TMPDIR", &tmp).status().expect("it runs");
        assert!(status.success());
        assert_eq!(workshop.path("foretell-recovered.ftr").exists(), round == 1);
    }
    assert_eq!(std::fs::read_to_string(workshop.path("foretell.ftr")).expect("it is text"), "an older one");
}

/// A hunt records first, and that may take most of its time.
#[test]
fn a_killed_hunt_leaves_its_recording() {
    let workshop = compiled("endless.c");
    let tmp = workshop.path("tmp");
    let mut hunt = workshop.foretell(&["hunt", "--quiet", "--timeout", "600", "--", "./program", "on"]);
    let mut child =
        hunt.env("TMPDIR", &tmp).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let (since, printed) = (Instant::now(), workshop.path(".foretell/1/output.txt"));
    while !printed.metadata().is_ok_and(|output| output.len() > 0) {
        assert!(since.elapsed() < Duration::from_secs(60), "the program says nothing");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    gone_soon(&workshop);
    assert!(!workshop.path(".foretell/1/trace.ftr").exists());
    let recover = workshop.foretell(&["recover"]).env("TMPDIR", &tmp).output().expect("it runs");
    assert_eq!(recover.status.code(), Some(0), "{recover:?}");
    let trace = workshop.trace(".foretell/1/trace.ftr");
    assert!(count(&trace, "w(cells") > 1000);
    assert!(trace.can_be_replayed());
    let left: Vec<_> = walk(&tmp).into_iter().filter(|path| !path.ends_with("lock")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// The files below a directory.
fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).expect("it can be read").flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Kills the recorder, or the program, at random moments: whatever was recorded is a trace, now or after `recover`.
fn kill_at_random(points: u64) {
    let workshop = compiled("endless.c");
    let tmp = workshop.path("tmp");
    // A busy machine takes seconds to start a program. Half of the moments are later than that.
    let since = Instant::now();
    let mut first = started(&workshop, &["./program", "on"]);
    let longest = 2 * since.elapsed() + Duration::from_millis(100);
    first.kill().expect("it can be killed");
    first.wait().expect("it is gone");
    let discarded =
        workshop.foretell(&["recover", "--discard"]).env("TMPDIR", &tmp).status().expect("it runs");
    assert!(discarded.success());
    let mut recovered = 0;
    for point in 0..points {
        let _ = std::fs::remove_file(workshop.path("foretell.ftr"));
        let mut record = workshop.foretell(&["record", "--", "./program", "on"]);
        record.env("TMPDIR", &tmp).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = record.spawn().expect("it starts");
        // From before the program starts to well into its run.
        let pause = point.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        std::thread::sleep(longest.mul_f64(pause as f64 / f64::from(u32::MAX)));
        let program = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", child.id()));
        match program.ok().and_then(|text| text.trim().parse::<u32>().ok()).filter(|_| point % 2 == 1) {
            Some(program) => drop(Command::new("kill").args(["-KILL", &format!("{program}")]).output()),
            None => child.kill().expect("it can be killed"),
        }
        child.wait().expect("it is gone");
        gone_soon(&workshop);
        if !workshop.path("foretell.ftr").exists() {
            let output = workshop.foretell(&["recover"]).env("TMPDIR", &tmp).output().expect("it runs");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // One that was killed before the first event has nothing to recover.
            assert!(matches!(output.status.code(), Some(0 | 2)), "{said}");
            recovered += usize::from(output.status.code() == Some(0));
        }
        if workshop.path("foretell.ftr").exists() {
            let trace = workshop.trace("foretell.ftr");
            assert!(!trace.is_empty(), "point {point}");
        }
        let left: Vec<_> = walk(&tmp).into_iter().filter(|path| !path.ends_with("lock")).collect();
        assert!(left.is_empty(), "point {point}: {left:?}");
        let parts =
            walk(&workshop.path("")).into_iter().filter(|path| path.extension().is_some_and(|e| e == "part"));
        assert!(parts.count() <= 1, "parts are removed when the next one is written");
    }
    assert!(recovered > 0, "some of {points} are recovered");
}

#[test]
fn killed_at_twenty_random_moments() {
    kill_at_random(20);
}

#[test]
#[ignore = "takes minutes; `cargo xtask test --ignored` runs it"]
fn killed_at_two_hundred_random_moments() {
    kill_at_random(200);
}
