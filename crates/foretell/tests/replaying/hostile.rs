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
    let words = ["predict", "foretell.ftr", "--json"];
    let found = workshop.foretell(&words).output().expect("it runs").stdout;
    let found: serde_json::Value = serde_json::from_slice(&found).expect("it is JSON");
    let ids: Vec<String> = found["findings"][0]["events"]
        .as_array()
        .into_iter()
        .flatten()
        .map(serde_json::Value::to_string)
        .collect();
    let words = ["decide", "foretell.ftr", "--race", &ids.join(","), "--schedule-out", "bug.sched"];
    workshop.foretell(&words).output().expect("it runs");
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
