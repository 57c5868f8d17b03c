//! Files from elsewhere that want something run or read: nothing is, unless the user names it.

use std::process::Output;

use trace::native::{self, Writer};
use trace::{Binary, Metadata};

use crate::support::{Toolchain, Workshop, succeeded};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

/// A recorded race in a directory.
fn recorded() -> Workshop {
    let workshop = Workshop::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/replay/race-buggy.c");
    succeeded(&mut workshop.foretell(&["cc", CC.optimise, source, "-o", "program", "-pthread"]));
    workshop.write("input.txt", "some input\n");
    let mut record = workshop.foretell(&["record", "--", "./program"]);
    let input = std::fs::File::open(workshop.path("input.txt")).expect("it is there");
    assert!(record.stdin(input).status().expect("it runs").success());
    workshop
}

/// Rewrites what the trace says of how it was recorded.
fn forge(workshop: &Workshop, change: impl FnOnce(&mut Metadata)) {
    let bytes = std::fs::read(workshop.path("foretell.ftr")).expect("it is there");
    let (trace, _) = native::read(&bytes).expect("it is a trace");
    let mut metadata = trace.metadata().clone();
    change(&mut metadata);
    let mut writer = Writer::new(Vec::new()).expect("it is memory");
    writer.trace(&trace).expect("it is memory");
    writer.metadata(&metadata).expect("it is memory");
    std::fs::write(workshop.path("forged.ftr"), writer.finish().expect("it is memory"))
        .expect("it can be written");
}

fn replay(workshop: &Workshop, words: &[&str]) -> (Option<i32>, String) {
    let Output { status, stdout, stderr } =
        workshop.foretell(&[&["replay"], words].concat()).output().expect("it runs");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

#[test]
fn the_recorded_program_is_shown_and_run() {
    let workshop = recorded();
    let (status, said) = replay(&workshop, &["foretell.ftr", "race-1"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("running ./program, the program "), "{said}");
    assert!(said.contains("input.txt"), "{said}");
}

#[test]
fn a_trace_cannot_have_a_shell_run() {
    let workshop = recorded();
    let shell = |metadata: &mut Metadata| {
        let script = format!("touch {}", workshop.path("hostile").display());
        metadata.command = ["/bin/sh", "-c", &script].map(String::from).to_vec();
        let found = run::program::Program::find("/bin/sh".as_ref()).expect("there is a shell");
        let (build_id, checksum) = (found.build_id, found.checksum);
        metadata.binary = Some(Binary { path: "/bin/sh".into(), build_id, checksum });
    };
    forge(&workshop, shell);
    for more in [&[][..], &["--gdb"], &["--tsan"]] {
        let (status, said) = replay(&workshop, &[&["forged.ftr", "race-1"], more].concat());
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("`/bin/sh` is not run: it is not instrumented"), "{said}");
    }
    forge(&workshop, |metadata| {
        shell(metadata);
        metadata.settings.insert("only-sync".into(), "yes".into());
        metadata.environment = vec!["LD_PRELOAD=/tmp/hostile.so".into()];
    });
    assert_eq!(replay(&workshop, &["forged.ftr", "race-1"]).0, Some(2));
    forge(&workshop, |metadata| {
        shell(metadata);
        metadata.binary = None;
    });
    assert_eq!(replay(&workshop, &["forged.ftr", "race-1"]).0, Some(2));
    assert!(!workshop.path("hostile").exists());
}

#[test]
fn a_schedule_cannot_either() {
    let workshop = recorded();
    let words = ["decide", "foretell.ftr", "--race", &first_race(&workshop), "--schedule-out", "bug.sched"];
    succeeded_with(&workshop, &words, 1);
    let text = std::fs::read_to_string(workshop.path("bug.sched")).expect("it is written");
    assert!(text.contains("\ncommand ./program\nprogram "), "{text}");
    assert_eq!(replay(&workshop, &["--schedule", "bug.sched"]).0, Some(1));
    let script = format!("command /bin/sh -c touch%20{}", workshop.path("hostile").display());
    let lines = |change: &dyn Fn(&str) -> Option<String>| {
        text.lines().filter_map(change).map(|line| line + "\n").collect::<String>()
    };
    let hostile = lines(&|line| match line {
        line if line.starts_with("command ") => Some(script.clone()),
        line if line.starts_with("program ") => None,
        line => Some(line.to_owned()),
    });
    let other = lines(&|line| match line.strip_prefix("program ") {
        Some(_) => Some("program 0123456789abcdef - /bin/sh".to_owned()),
        None => Some(line.to_owned()),
    });
    for (text, why) in [(hostile, "does not say which program"), (other, "not the program that was recorded")]
    {
        workshop.write("forged.sched", &text);
        let (status, said) = replay(&workshop, &["--schedule", "forged.sched"]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains(why) && said.contains("-- CMD"), "{said}");
    }
    assert!(!workshop.path("hostile").exists());
    let (status, said) = replay(&workshop, &["--schedule", "forged.sched", "--", "./program"]);
    assert_eq!(status, Some(1), "what the user names is run: {said}");
}

/// What a schedule says of the command is no part of its evidence, so it may differ; whoever checks it learns that it does.
#[test]
fn a_schedule_with_another_command_is_pointed_out() {
    let workshop = recorded();
    let words = ["decide", "foretell.ftr", "--race", &first_race(&workshop), "--schedule-out", "bug.sched"];
    succeeded_with(&workshop, &words, 1);
    let check = || {
        let output = workshop.foretell(&["check", "bug.sched"]).output().expect("it runs");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(!check().contains("another command"));
    let text = std::fs::read_to_string(workshop.path("bug.sched")).expect("it is written");
    workshop.write("bug.sched", &text.replace("\ncommand ./program\n", "\ncommand ./other 10\n"));
    let said = check();
    assert!(said.contains("warning: the schedule names another command than the trace"), "{said}");
    assert!(said.contains("the schedule: ./other 10") && said.contains("the trace: ./program"), "{said}");
}

fn succeeded_with(workshop: &Workshop, words: &[&str], status: i32) -> Output {
    let output = workshop.foretell(words).output().expect("it runs");
    assert_eq!(output.status.code(), Some(status), "{words:?}: {output:?}");
    output
}

/// The events of the first race that is predicted, as `decide` takes them.
fn first_race(workshop: &Workshop) -> String {
    let found = succeeded_with(workshop, &["predict", "foretell.ftr", "--json"], 1).stdout;
    let found: serde_json::Value = serde_json::from_slice(&found).expect("it is JSON");
    let events = found["findings"][0]["events"].as_array().into_iter().flatten();
    events.map(serde_json::Value::to_string).collect::<Vec<_>>().join(",")
}

#[test]
fn a_trace_cannot_have_a_file_read() {
    let workshop = recorded();
    workshop.write("secret.txt", "a secret\n");
    for checksum in ["", "0123456789abcdef"] {
        forge(&workshop, |metadata| {
            metadata.input = workshop.path("secret.txt").display().to_string();
            metadata.input_checksum = checksum.to_owned();
        });
        let (status, said) = replay(&workshop, &["forged.ftr", "race-1"]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("is not the input that was recorded"), "{said}");
    }
    let (status, said) = replay(&workshop, &["forged.ftr", "race-1", "--", "./program"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(!said.contains("secret.txt"), "{said}");
}

#[test]
fn a_program_that_changed_is_not_run_without_being_named() {
    let workshop = recorded();
    let mut program = std::fs::read(workshop.path("program")).expect("it is there");
    program.extend(b"changed");
    std::fs::write(workshop.path("program"), program).expect("it can be written");
    let (status, said) = replay(&workshop, &["foretell.ftr", "race-1"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("it is not the program that was recorded"), "{said}");
    let (status, said) = replay(&workshop, &["foretell.ftr", "race-1", "--", "./program"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("warning: `./program` is not the program that was recorded"), "{said}");
}

/// The directory of results of a suite with one test, as somebody else has written it.
fn plant_suite(workshop: &Workshop, test: &serde_json::Value) {
    let suite = serde_json::json!({
        "schema": 1, "command": [{"Unix": b"./check.sh"}], "status": 0, "tests": [test]
    });
    std::fs::create_dir_all(workshop.path(".foretell/1")).expect("it can be made");
    workshop.write(".foretell/1/suite.json", &suite.to_string());
    let latest = workshop.path(".foretell/latest");
    let _ = std::fs::remove_file(&latest);
    std::os::unix::fs::symlink("1", latest).expect("it can be made");
}

#[test]
fn a_suite_cannot_have_anything_run() {
    let workshop = recorded();
    let script = format!("touch {}", workshop.path("hostile").display());
    let test = |program: &str, only_sync: bool| {
        serde_json::json!({
            "name": "shell", "program": program, "directory": workshop.path(""), "input": null,
            "arguments": [{"Unix": b"-c"}, {"Unix": script.as_bytes()}], "only_sync": only_sync,
            "variables": [[{"Unix": b"LD_PRELOAD"}, {"Unix": b"/tmp/hostile.so"}]], "without": [],
            "outcome": "not-reached", "interrupted": false, "message": null, "milliseconds": 0,
            "results": "tests/001-shell"
        })
    };
    let resume = |command: &[&str]| {
        let words = [&["test", "--resume", "--timeout", "20"], command].concat();
        let Output { status, stdout, stderr } = workshop.foretell(&words).output().expect("it runs");
        (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
    };
    // The command that the file names is no better than its tests.
    workshop.write("check.sh", &format!("#!/bin/sh\n{script}\n"));
    succeeded(&mut workshop.other("chmod", &["+x", "check.sh"]));
    for (program, only_sync) in [("/bin/sh", true), ("/bin/sh", false), ("./program", false)] {
        plant_suite(&workshop, &test(program, only_sync));
        let (status, said) = resume(&[]);
        assert_eq!(status, Some(2), "{said}");
        assert!(said.contains("was not started here by you") && said.contains("-- CMD"), "{said}");
    }
    assert!(!workshop.path("hostile").exists());

    // Of a command that the user names, only what it starts is run.
    workshop.write("check.sh", "#!/bin/sh\n./program\n");
    plant_suite(&workshop, &test("/bin/sh", true));
    let (status, said) = resume(&["--", "./check.sh"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(said.contains("the test command did not start it again"), "{said}");
    assert!(!workshop.path("hostile").exists());

    // Results are not put where a link leads.
    std::fs::create_dir(workshop.path("precious")).expect("it can be made");
    workshop.write("precious/file", "precious");
    std::fs::remove_dir_all(workshop.path(".foretell/1")).expect("it can be removed");
    let mut own = test("./program", false);
    own["program"] =
        workshop.path("program").canonicalize().expect("it is there").display().to_string().into();
    own["directory"] = workshop.path("").canonicalize().expect("it is there").display().to_string().into();
    own["arguments"] = serde_json::json!([]);
    own["results"] = "tests/precious".into();
    plant_suite(&workshop, &own);
    std::os::unix::fs::symlink("../..", workshop.path(".foretell/1/tests")).expect("it can be made");
    let (status, said) = resume(&["--", "./check.sh"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("is a link"), "{said}");
    assert!(workshop.path("precious/file").exists());
}

/// The names of a trace and what the program prints are shown so that they are what they seem to be.
#[test]
fn a_replay_shows_what_cannot_be_seen() {
    let hidden = "a\u{202e}b\u{200b}c\u{1b}[2J";
    let workshop = Workshop::new();
    workshop.write(
        "program.c",
        &format!(
            "#include <pthread.h>\n#include <stdio.h>\nstatic int x;\n#line 1 \"{hidden}.c\"\n\
             static void *add(void *none) {{ x++; return none; }}\n\
             int main(void) {{ pthread_t t; puts(\"{hidden}\\tend\"); pthread_create(&t, NULL, add, NULL);\n\
             x++; pthread_join(t, NULL); return 0; }}\n"
        ),
    );
    succeeded(&mut workshop.foretell(&["cc", "-g", "-O1", "-pthread", "program.c", "-o", "program"]));
    succeeded(&mut workshop.foretell(&["record", "-q", "--", "./program"]));
    let (status, said) = replay(&workshop, &["foretell.ftr", "race-1"]);
    assert_eq!(status, Some(1), "{said}");
    let found = said.chars().find(|&c| report::is_hidden(c) && c != '\n' && c != '\t');
    assert_eq!(found, None, "{said:?}");
    assert!(said.contains(r"a\u{202e}b\u{200b}c") && said.contains("\tend"), "{said}");
}
