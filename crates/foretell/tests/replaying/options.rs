//! What else `foretell replay` can do.

use serde_json::json;

use crate::expectations::Bug;
use crate::judging::{Printed, Program};
use crate::support::succeeded;

pub(crate) fn race() -> (Program, String) {
    let program = Program::new("replay/race-buggy.c");
    let bug = Bug::Events("race".into(), vec![Some(28), Some(39)]);
    let (id, _) = program.find(&bug, &[]).expect("the race");
    (program, id)
}

#[test]
fn a_schedule_can_be_sent_to_somebody_else() {
    let (program, _) = race();
    let decide = [
        "decide",
        "run.ftr",
        "--race",
        "race-buggy.c:28,race-buggy.c:39",
        "-q",
        "--schedule-out",
        "bug.sched",
    ];
    let decided = program.shop.foretell(&decide).output().expect("it can be run");
    let said = String::from_utf8_lossy(&decided.stderr).into_owned();
    assert_eq!(decided.status.code(), Some(1), "{said}");
    succeeded(&mut program.shop.foretell(&["check", "bug.sched", "--trace", "run.ftr"]));
    std::fs::rename(program.shop.path("program"), program.shop.path("same")).expect("it can be renamed");
    let Printed { status, json } =
        program.json(&["replay", "--schedule", "bug.sched", "--json", "--", "./same"]);
    assert_eq!((status, &json["result"]), (Some(1), &json!("confirmed")), "{json:#}");
    assert_eq!(json["finding"], "bug.sched");
}

#[test]
fn one_order_shows_the_failure_and_the_other_does_not() {
    let (program, id) = race();
    let ends = |order: &str| {
        let Printed { json, .. } = program.json(&["replay", "run.ftr", &id, "--json", "--order", order]);
        let runs = json["runs"].as_array().expect("runs").clone();
        runs.iter().map(|run| (run["order"].clone(), run["end"].clone())).collect::<Vec<_>>()
    };
    assert_eq!(ends("ab"), [(json!("ab"), json!("exited"))]);
    assert_eq!(ends("ba"), [(json!("ba"), json!("killed"))]);
    assert_eq!(ends("both").len(), 2);
}

#[test]
fn a_replay_can_be_recorded_and_minimized() {
    let (program, id) = race();
    let arguments =
        ["replay", "run.ftr", &id, "--json", "--minimize", "--order", "ab", "--record", "again.ftr"];
    let Printed { json, .. } = program.json(&arguments);
    assert_eq!(json["result"], "confirmed", "{json:#}");
    let trace = program.shop.trace("again.ftr");
    assert!(trace.can_be_replayed(), "with notes and a command");
    let races = papers::races::hb::races(&trace).count();
    assert!(races > 0, "the two accesses are next to each other");
}

#[test]
fn a_program_that_was_changed_leaves_the_schedule() {
    let (program, id) = race();
    let source = "#include <pthread.h>\nstatic void *nothing(void *x) { return x; }\nint main(void) { pthread_t t; \
                  pthread_create(&t, 0, nothing, 0); pthread_join(t, 0); return 0; }\n";
    program.shop.write("other.c", source);
    succeeded(&mut program.shop.foretell(&["cc", "-g", "other.c", "-o", "program", "-pthread"]));
    let Printed { status, json } = program.json(&["replay", "run.ftr", &id, "--json", "--", "./program"]);
    assert_eq!(
        (status, &json["result"], &json["confirmed"]),
        (Some(0), &json!("diverged"), &json!(0)),
        "{json:#}"
    );
    let divergence = &json["divergence"];
    assert!(divergence["expected"].is_string() && divergence["came"].is_string(), "{json:#}");
}

#[test]
fn a_thread_that_is_blocked_outside_our_sight_is_told_of() {
    let (program, id) = race();
    let arguments = ["replay", "run.ftr", &id, "--json", "--timeout", "1", "--", "sleep", "30"];
    let Printed { status, json } = program.json(&arguments);
    assert_eq!((status, &json["result"]), (Some(3), &json!("not-reached")), "{json:#}");
    assert_eq!(json["runs"][0]["end"], "timed-out", "{json:#}");
}

#[test]
fn traces_from_elsewhere_stay_predicted() {
    let (program, id) = race();
    succeeded(&mut program.shop.foretell(&["convert", "run.ftr", "run.std"]));
    let refused = program.shop.foretell(&["replay", "run.std", &id]).output().expect("it can be run");
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(said.contains("cannot be replayed") && said.contains("predicted"), "{said}");
}

#[test]
fn a_replay_can_stop_on_the_way() {
    let (program, id) = race();
    let arguments = ["replay", "run.ftr", &id, "--json", "--until", "4", "--order", "ab"];
    let Printed { status, json } = program.json(&arguments);
    assert_eq!(
        (status, &json["result"], &json["confirmed"]),
        (Some(0), &json!("not-reached"), &json!(0)),
        "{json:#}"
    );
    assert!(json["divergence"].is_null(), "{json:#}");
    let run = &json["runs"][0];
    assert_eq!(run["end"], "ended", "{json:#}");
    assert!(!run["threads"].as_array().expect("threads").is_empty(), "{json:#}");
}

#[test]
fn there_must_be_something_to_replay() {
    let (program, _) = race();
    for wrong in
        [&["replay", "run.ftr", "race-99"][..], &["replay", "run.ftr"], &["replay", "--schedule", "run.ftr"]]
    {
        let refused = program.shop.foretell(wrong).output().expect("it can be run");
        assert_eq!(refused.status.code(), Some(2), "{wrong:?}");
    }
}
