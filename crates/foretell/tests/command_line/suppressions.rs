//! Suppressions, `FORETELL_OPTIONS` and `--exit-code`.

use crate::support::{PHILOSOPHERS, Ran, Workplace};

const TRACE: &str = "main|fork(T1)|m.c:1\nmain|fork(worker)|m.c:2\nT1|w(x)|src/a.c:1\nworker|w(x)|src/b.c:1\n\
                     T1|w(counter)|src/a.c:9\nworker|w(counter)|lib.so+0x12\n";

fn predict(suppressions: &str, options: &[&str]) -> Ran {
    let place = Workplace::new();
    place.write("t.std", TRACE).write("table.std", PHILOSOPHERS).write("s.txt", suppressions);
    place.run(&[&["predict", "t.std", "--only", "race", "--suppressions", "s.txt"], options].concat())
}

fn left(suppressions: &str) -> Vec<String> {
    let json = predict(suppressions, &["--json"]).json();
    let objects =
        json["findings"].as_array().unwrap().iter().map(|f| f["object"].as_str().unwrap().to_owned());
    objects.collect()
}

#[test]
fn each_type_silences_what_it_names() {
    assert_eq!(left("race:b.c\n"), ["counter"]);
    assert_eq!(left("race:^src/b.c$\n"), ["counter"]);
    assert_eq!(left("race:^counter$\n"), ["x"]);
    assert_eq!(left("race_top:src/*.c\n"), [""; 0]);
    assert_eq!(left("called_from_lib:^lib.so$\n"), ["x"]);
    assert_eq!(left("thread:^worker$\n"), [""; 0]);
    for nothing in ["race:zzz", "deadlock:x", "mutex:x", "signal:x", "atomicity:x", "race:^b.c"] {
        assert_eq!(left(nothing), ["x", "counter"], "{nothing}");
    }
}

/// A race, a deadlock, an atomicity violation, a nondeterministic read and an order, each in a file of its own.
const KINDS: &str = "main|fork(T1)|m.c:1\nmain|fork(T2)|m.c:2\n\
                     T1|acq(l)|dead.c:1\nT1|acq(m)|dead.c:2\nT1|rel(m)|dead.c:3\nT1|rel(l)|dead.c:4\n\
                     T2|acq(m)|dead.c:5\nT2|acq(l)|dead.c:6\nT2|rel(l)|dead.c:7\nT2|rel(m)|dead.c:8\n\
                     T1|acq(m)|at.c:1\nT1|r(x)|at.c:2\nT1|rel(m)|at.c:3\nT1|acq(m)|at.c:4\nT1|w(x)|at.c:5\nT1|rel(m)|at.c:6\n\
                     T2|acq(m)|at.c:7\nT2|w(x)|at.c:8\nT2|rel(m)|at.c:9\n\
                     T1|w(y)|race.c:1\nT2|w(y)|race.c:2\n";

/// Each kind is silenced by its own `_top`, by no other kind's, and by no other file.
#[test]
fn the_top_of_each_kind_is_meant_by_its_kind_alone() {
    let place = Workplace::new();
    place.write("t.std", KINDS);
    let kinds_left = |line: &str| {
        place.write("s.txt", line);
        let options =
            ["predict", "t.std", "--order", "race.c:2 < race.c:1", "--suppressions", "s.txt", "--json"];
        let json = place.run(&options).json();
        let kinds = json["findings"].as_array().unwrap().iter();
        kinds.map(|f| f["kind"].as_str().unwrap().to_owned()).collect::<std::collections::BTreeSet<_>>()
    };
    let all = kinds_left("race_top:nowhere\n");
    let expected = ["atomicity", "deadlock", "nondeterminism", "order", "race"];
    assert_eq!(all.iter().collect::<Vec<_>>(), expected);
    for (kind, file) in [
        ("race", "race.c"),
        ("deadlock", "dead.c"),
        ("atomicity", "at.c"),
        ("nondeterminism", "at.c"),
        ("order", "race.c"),
    ] {
        let mut others = all.clone();
        others.remove(kind);
        assert_eq!(kinds_left(&format!("{kind}_top:^{file}$\n")), others, "{kind}");
        assert_eq!(kinds_left(&format!("{kind}_top:^elsewhere.c$\n")), all, "{kind}");
    }
}

#[test]
fn deadlocks_are_silenced_by_their_locks() {
    let place = Workplace::new();
    place.write("table.std", PHILOSOPHERS);
    for (line, code) in [("deadlock:fork2", 0), ("mutex:^fork2$", 0), ("mutex:^fork$", 1), ("race:fork2", 1)]
    {
        place.write("s.txt", line);
        let ran = place.run(&["predict", "table.std", "--suppressions", "s.txt"]);
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.seen());
    }
}

#[test]
fn what_was_silenced_and_what_matched_nothing_is_told() {
    insta::assert_snapshot!(predict("# ours\nrace:^x$\nrace:nobody\n\ndeadlock:old\n", &["--quiet"]).seen());
}

#[test]
fn mistakes_are_told_with_their_line() {
    let seen = ["race:x\nleak:y\n", "just words\n"].map(|text| predict(text, &[]).seen());
    insta::assert_snapshot!(seen.join("\n"));
}

#[test]
fn ready_ones_silence_their_findings() {
    let printed = predict("", &["--print-suppressions", "--quiet"]);
    insta::assert_snapshot!(printed.seen());
    let lines: Vec<String> =
        printed.text().lines().filter(|line| line.contains(":^")).map(str::to_owned).collect();
    assert_eq!(left(&lines.join("\n")), [""; 0]);
}

#[test]
fn the_exit_status_can_be_chosen() {
    assert_eq!(predict("", &["--exit-code", "66"]).code, Some(66));
    assert_eq!(predict("", &["--exit-code", "0"]).code, Some(0));
    assert_eq!(predict("race:*\n", &["--exit-code", "66"]).code, Some(0));
    assert_eq!(predict("", &["--exit-code", "256"]).code, Some(2));
}

#[test]
fn settings_come_from_the_environment_too() {
    let place = Workplace::new();
    place.write("t.std", TRACE).write("my s.txt", "race:^x$\n");
    let with = |options: &str, arguments: &[&str]| {
        let all = [&["predict", "t.std", "--only", "race", "--quiet"], arguments].concat();
        let output = place.command(&all).env("FORETELL_OPTIONS", options).output().expect("it starts");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    assert_eq!(with("suppressions='my s.txt':exitcode=5", &[]), (Some(5), String::new()));
    assert_eq!(with("exitcode=5", &["--exit-code", "6"]).0, Some(6), "the command line comes first");
    assert_eq!(with("junit=j.xml exitcode=0", &[]).0, Some(0));
    assert!(place.files().contains(&"j.xml".to_owned()));
    let (code, told) = with("history_size=7", &[]);
    assert!(code == Some(1) && told.contains("unknown option `history_size`"), "{told}");
    for wrong in ["exitcode=many", "print_suppressions=perhaps", "suppressions", "html='x"] {
        assert_eq!(with(wrong, &[]).0, Some(2), "{wrong}");
    }
}

/// A deadlock, a race with an atomic access, and what the program itself wants of ThreadSanitizer.
const WITH_REQUESTS: &str = "#! metadata {\"tsan_options\":\"report_atomic_races=0\",\"tsan_suppressions\":\"race:^quiet$\\n\"}\n\
                             main|fork(T1)|m.c:1\nmain|fork(T2)|m.c:2\nT1|w(x)|a.c:1\nT1|aw(flag)|a.c:2\nT1|w(quiet)|a.c:3\n\
                             T2|w(x)|b.c:1\nT2|r(flag)|b.c:2\nT2|w(quiet)|b.c:3\n";

#[test]
fn what_is_set_for_threadsanitizer_holds_here_too() {
    let place = Workplace::new();
    place.write("t.std", WITH_REQUESTS).write("s.txt", "race:^x$\n");
    let objects = |options: &str| {
        let arguments = ["predict", "t.std", "--only", "race", "--json"];
        let output = place.command(&arguments).env("TSAN_OPTIONS", options).output().expect("it starts");
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        let findings = json["findings"].as_array().unwrap().iter();
        findings.map(|finding| finding["object"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(objects(""), ["x"], "the program's own options and suppressions");
    assert_eq!(objects("report_atomic_races=1"), ["x", "flag"], "the environment comes before the program");
    assert_eq!(objects("suppressions=s.txt"), [""; 0]);
    assert_eq!(objects("halt_on_error=1 report_bugs=0"), [""; 0], "others are ignored");
    assert_eq!(objects("verbosity"), ["x"], "mistakes are ThreadSanitizer's to report");
}
