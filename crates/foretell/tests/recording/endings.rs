//! However a program ends, and whatever else it does, what it did is recorded and it does not notice.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::support::{Toolchain, Workshop, count};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

fn compiled(program: &str) -> Workshop {
    let workshop = Workshop::new();
    workshop.compile(CC, program, &["-ldl"]);
    workshop
}

/// The status, the standard output and the standard error of a recorded command.
fn recorded(workshop: &Workshop, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = workshop.foretell(&[&["record"], arguments].concat()).output().expect("it runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn the_status_and_the_output_are_the_programs() {
    let workshop = compiled("endings.c");
    let (status, out, error) = recorded(&workshop, &["--", "./program", "exit"]);
    assert_eq!((status, out.as_str()), (Some(7), "said\n"));
    assert!(error.starts_with("complained\nrecorded "), "{error}");
    assert!(error.contains(" events of 2 threads to foretell.ftr ("), "{error}");
    for (how, status) in [("abort", 128 + 6), ("_exit", 5), ("segv", 128 + 11), ("thread-exit", 3)] {
        let (found, _, error) = recorded(&workshop, &["-q", "--", "./program", how]);
        assert_eq!((found, error.as_str()), (Some(status), "complained\n"), "{how}");
        assert!(count(&workshop.trace("foretell.ftr"), "w(shared)") >= 2, "{how}");
    }
}

#[test]
fn a_program_killed_in_the_middle_leaves_what_it_did() {
    let workshop = compiled("endless.c");
    let started = Instant::now();
    let (status, _, _) = recorded(&workshop, &["--", "./program", "kill"]);
    assert_eq!(status, Some(128 + 9));
    let trace = workshop.trace("foretell.ftr");
    assert!(trace.len() > 1000, "{} events", trace.len());
    assert!(trace.can_be_replayed());
    // And one that goes on for ever is ended after the time it is given.
    let (status, _, _) =
        recorded(&workshop, &["--duration", "1s", "--max-events", "100k", "--", "./program", "on"]);
    assert_eq!(status, Some(128 + 15));
    assert!(workshop.trace("foretell.ftr").len() > 1000);
    assert!(started.elapsed() < Duration::from_secs(60));
}

#[test]
fn a_signal_goes_to_the_program_and_the_trace_is_kept() {
    let workshop = compiled("endless.c");
    let mut record = workshop.foretell(&["record", "--", "./program", "on"]);
    let mut child = record.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut started = [0; 1];
    std::io::Read::read_exact(child.stdout.as_mut().expect("it is piped"), &mut started).expect("it says so");
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("it runs").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(128 + 2));
    assert!(workshop.trace("foretell.ftr").len() > 100);
}

#[test]
fn recording_stops_at_the_limit_and_the_program_goes_on() {
    let workshop = compiled("many.c");
    let (status, out, error) = recorded(&workshop, &["--max-events", "50", "--", "./program", "20"]);
    assert_eq!((status, out.as_str()), (Some(0), "20\n"), "{error}");
    assert!(error.contains("recording stopped at the limit"), "{error}");
    // A request belongs to its acquire.
    let trace = workshop.trace("foretell.ftr");
    assert!(trace.events().filter(|(_, _, op)| op.kind() != trace::Kind::Request).count() <= 50);
}

#[test]
fn three_hundred_threads() {
    let workshop = compiled("many.c");
    let (status, out, error) = recorded(&workshop, &["--", "./program", "300"]);
    assert_eq!((status, out.as_str()), (Some(0), "300\n"), "{error}");
    let trace = workshop.trace("foretell.ftr");
    assert_eq!(trace.symbols().threads.len(), 301);
    assert_eq!((count(&trace, "fork("), count(&trace, "join(")), (300, 300));
    assert_eq!(count(&trace, "acq(lock)"), 300);
}

#[test]
fn child_processes_get_traces_of_their_own_when_asked() {
    let workshop = compiled("children.c");
    let (status, out, error) = recorded(&workshop, &["--", "./program"]);
    assert_eq!((status, out.as_str()), (Some(0), "child 4\n"), "{error}");
    assert!(!workshop.path("foretell-child-1.ftr").exists());
    assert!(error.contains("1 process that the program started was not recorded"), "{error}");
    assert!(error.contains("--children follow"), "{error}");
    let (status, out, error) = recorded(&workshop, &["--children", "follow", "--", "./program"]);
    assert_eq!((status, out.as_str()), (Some(0), "child 4\n"), "{error}");
    assert!(!error.contains("not recorded"), "{error}");
    let child = workshop.trace("foretell-child-1.ftr");
    assert!(count(&child, "fork(") >= 1 && count(&child, "w(number)") >= 1);
}

#[test]
fn a_plugin_that_is_loaded_later_is_seen() {
    let workshop = compiled("plugins.c");
    workshop.write("plugin.c", "int plugged;\nvoid plugin(void) { plugged++; }\n");
    let plugin = ["cc", "-shared", "-fPIC", "plugin.c", "-o", "plugin.so"];
    assert!(workshop.foretell(&plugin).status().expect("it runs").success());
    let (status, _, error) = recorded(&workshop, &["--", "./program"]);
    assert_eq!(status, Some(0), "{error}");
    let trace = workshop.trace("foretell.ftr");
    assert_eq!(count(&trace, "w(plugged)"), 2);
    assert!(trace.symbols().locations.find("plugin.c:2").is_some());
}

#[test]
fn several_runs_have_several_seeds() {
    let workshop = compiled("many.c");
    let (status, _, error) =
        recorded(&workshop, &["--runs", "2", "-o", "t.ftr", "--seed", "5", "--", "./program", "4"]);
    assert_eq!(status, Some(0), "{error}");
    let seeds = ["t-1.ftr", "t-2.ftr"].map(|name| workshop.trace(name).metadata().settings["seed"].clone());
    assert_eq!(seeds, ["5", "6"]);
}

#[test]
fn a_program_that_another_takes_the_place_of_leaves_what_it_did() {
    let workshop = compiled("exec.c");
    let (status, out, error) = recorded(&workshop, &["--", "./program"]);
    assert_eq!((status, out.as_str()), (Some(5), "a b c d e f g\n"), "{error}");
    assert!(error.contains("another program replaced the recorded one"), "{error}");
    let first = workshop.trace("foretell.ftr");
    assert_eq!((count(&first, "fork("), count(&first, "join(")), (2, 2));
    assert_eq!(count(&first, "second_image"), 0);
    assert!(!workshop.path("foretell-child-1.ftr").exists());
    let (status, _, error) = recorded(&workshop, &["--children", "follow", "--", "./program"]);
    assert_eq!(status, Some(5), "{error}");
    assert_eq!(count(&workshop.trace("foretell.ftr"), "w(first_image)"), 3);
    let second = workshop.trace("foretell-child-1.ftr");
    assert_eq!((count(&second, "w(second_image)"), count(&second, "first_image")), (2, 0));
    assert!(second.symbols().locations.iter().any(|location| location.ends_with("exec.c:16")));
}
