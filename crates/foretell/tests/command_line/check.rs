//! `foretell check`: what decides is believed only as far as its evidence goes.

use ::generate::{TraceSettings, generate};
use check::Question;
use serde_json::{Value, json};
use trace::{Trace, text};

use crate::support::{Ran, Workplace, example};

/// The example, evidence of a race in it, of a race that cannot be, and a schedule file.
fn with_evidence() -> Workplace {
    let place = Workplace::new();
    place.write("t.std", example());
    let race = place.run(&["decide", "t.std", "--race", "6,15", "--json", "--schedule-out", "race.txt"]);
    assert_eq!(race.code, Some(1));
    let none = place.run(&["decide", "t.std", "--reads", "5", "--json"]);
    assert_eq!(none.code, Some(0));
    place.write("race.json", race.stdout).write("none.json", none.stdout);
    place
}

fn json_of(place: &Workplace, name: &str) -> Value {
    serde_json::from_slice(&place.read(name)).unwrap()
}

#[track_caller]
fn check_json(place: &Workplace, value: &Value) -> Ran {
    place.write("changed.json", value.to_string());
    place.run(&["check", "changed.json"])
}

#[test]
fn what_holds_is_verified() {
    let place = with_evidence();
    let mut seen = String::new();
    for file in ["race.json", "none.json", "race.txt"] {
        seen.push_str(&place.run(&["check", file]).succeeded().seen());
    }
    insta::assert_snapshot!(seen);
    let json = place.run(&["check", "race.json", "--json"]).succeeded().json();
    let expected =
        json!({"schema": 1, "verified": true, "verdict": "feasible", "guaranteed": true, "fault": null});
    assert_eq!(json, expected);
    // Compressed, from a pipe, against another form of the trace.
    place.run(&["convert", "-q", "t.std", "t.ftr"]).succeeded();
    place.run_with_input(&["check", "-", "--trace", "t.ftr"], &place.read("race.json")).succeeded();
    let schedule = ["decide", "t.std", "--race", "6,15", "-q", "--schedule-out", "race.txt.gz"];
    assert_eq!(place.run(&schedule).code, Some(1));
    place.run(&["check", "race.txt.gz"]).succeeded();
}

#[test]
fn the_trace_is_found_beside_the_evidence() {
    let place = with_evidence();
    std::fs::create_dir(place.path("kept")).unwrap();
    for file in ["t.std", "race.json"] {
        std::fs::rename(place.path(file), place.path("kept").join(file)).unwrap();
    }
    place.run(&["check", "kept/race.json"]).succeeded();
}

/// A random program's every kind of question, through the commands as a user runs them.
#[test]
fn whatever_is_decided_can_be_checked() {
    let place = Workplace::new();
    let mut verdicts = [0, 0];
    for seed in 0..200 {
        let trace = generate(&TraceSettings::tiny(seed)).unwrap();
        let mut bytes = Vec::new();
        text::write(&trace, &mut bytes).unwrap();
        place.write("t.std", bytes);
        let questions = oracle::all_questions(&trace);
        let question = &questions[(seed as usize * 7919) % questions.len()];
        let model = ["rf", "sync"][seed as usize % 2];
        let asked = as_arguments(&trace, question);
        let mut arguments = vec!["decide", "t.std", "--json", "-q", "--model", model];
        arguments.extend(asked.iter().map(String::as_str));
        let ran = place.run(&arguments);
        let code = ran.code.filter(|code| (0..2).contains(code));
        let code = code.unwrap_or_else(|| panic!("seed {seed}: {arguments:?} {}", ran.seen()));
        verdicts[code as usize] += 1;
        place.write("e.json", ran.stdout);
        let checked = place.run(&["check", "e.json", "-q"]);
        assert_eq!(checked.code, Some(0), "seed {seed}: {arguments:?} {}", checked.seen());
    }
    assert!(verdicts.iter().all(|&count| count > 20), "{verdicts:?}");
}

fn as_arguments(trace: &Trace, question: &Question) -> [String; 2] {
    let list =
        |events: &[trace::EventId]| events.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    let (flag, value) = match question {
        Question::Race(a, b) => ("--race", list(&[*a, *b])),
        Question::Deadlock(events) => ("--deadlock", list(events)),
        Question::Order(events) => ("--order", list(events)),
        Question::Reads(read, None) => ("--reads", read.to_string()),
        Question::Reads(read, Some(check::Source::Initial)) => ("--reads", format!("{read}=initial")),
        Question::Reads(read, Some(check::Source::Write(write))) => ("--reads", format!("{read}={write}")),
        Question::Cut(counts) => {
            let threads = trace.symbols().threads.iter().zip(counts);
            (
                "--cut",
                threads.map(|(thread, count)| format!("{thread}={count}")).collect::<Vec<_>>().join(","),
            )
        }
    };
    [flag.to_owned(), value]
}

#[test]
fn what_does_not_hold_is_told() {
    let place = with_evidence();
    let (race, none) = (json_of(&place, "race.json"), json_of(&place, "none.json"));
    let changed = |base: &Value, pointer: &str, value: Value| {
        let mut changed = base.clone();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        changed
    };
    let steps = none["refutation"]["steps"].as_array().unwrap();
    let place_of = |field: &str, mut places: std::ops::Range<usize>| {
        let index =
            places.find(|&index| steps[index].get(field).is_some_and(|end| *end != json!("every-case")));
        format!("/refutation/steps/{}/{field}", index.unwrap())
    };
    let first_order = place_of("before", 0..steps.len());
    let last_end = place_of("end", steps.len() - 2..steps.len());
    let mut seen = String::new();
    for (what, value) in [
        ("an event that is not there", changed(&race, "/schedule/3", json!(4_000_000_000u32))),
        ("an event twice", changed(&race, "/schedule/9", json!(13))),
        ("a thread before its fork", changed(&race, "/schedule", json!([4]))),
        ("too short", changed(&race, "/schedule", json!([0, 1, 2, 3]))),
        ("too sure", changed(&race, "/guaranteed", json!(false))),
        ("not said how sure", changed(&race, "/guaranteed", json!(null))),
        ("another question", changed(&race, "/question", json!({"race": [8, 13]}))),
        ("a senseless question", changed(&race, "/question", json!({"race": [6, 7]}))),
        ("a thread that is not there", changed(&race, "/question", json!({"cut": {"nobody": 1}}))),
        ("no schedule", changed(&race, "/schedule", json!(null))),
        ("no refutation", changed(&none, "/refutation", json!(null))),
        (
            "no case",
            changed(&none, "/refutation/steps", json!([{"split": {"source": 5}}, {"end": "every-case"}])),
        ),
        ("a case left out", changed(&none, "/refutation/steps/1", json!({"case": 1}))),
        ("a refutation that stops", changed(&none, "/refutation/steps", json!([{"split": {"source": 5}}]))),
        ("a refutation of nothing", changed(&none, "/refutation/steps", json!([]))),
        ("a step that does not follow", changed(&none, &first_order, json!([3, 4]))),
        ("a step about nothing", changed(&none, &first_order, json!([3, 400]))),
        ("an end that does not follow", changed(&none, &last_end, json!({"cycle": [1, 2]}))),
        ("an end about nothing", changed(&none, &last_end, json!({"permits-left": 4_000_000_000u32}))),
    ] {
        let ran = check_json(&place, &value);
        assert_eq!(ran.code, Some(1), "{what}: {}", ran.seen());
        seen.push_str(&format!("{what}\n  {}", ran.text()));
    }
    insta::assert_snapshot!(seen);
    let json = changed(&race, "/schedule/9", json!(13));
    place.write("changed.json", json.to_string());
    let ran = place.run(&["check", "changed.json", "--json"]);
    assert_eq!(ran.code, Some(1));
    let json = ran.json();
    assert_eq!((&json["verified"], &json["fault"]["at"]), (&json!(false), &json!("schedule[9]")));
    assert_eq!(json["fault"]["event"], 13);
}

#[test]
fn schedule_files_that_do_not_hold() {
    let place = with_evidence();
    let file = String::from_utf8(place.read("race.txt")).unwrap();
    for (from, to, said) in [
        ("5|depositor|1|r(balance)", "5|depositor|1|w(balance)", "wrong: line 12: it says"),
        ("5|depositor|1|", "5|depositor|2|", "wrong: line 12: it says"),
        ("guaranteed yes", "guaranteed no", "wrong: guaranteed: it must be true for this schedule"),
        (
            "14|auditor|3|rel(journal_lock)|account.c:19\n",
            "",
            "wrong: schedule: the schedule does not end as asked",
        ),
        ("race 6 15", "race 6 19", "wrong: schedule: the schedule does not end as asked"),
        ("race 6 15", "race 6 99", "wrong: question: there is no event 99"),
    ] {
        assert!(file.contains(from), "{from}");
        place.write("changed.txt", file.replace(from, to));
        let ran = place.run(&["check", "changed.txt"]);
        assert!(ran.code == Some(1) && ran.text().starts_with(said), "{said}\n{}", ran.seen());
    }
    // Comments, empty lines and foreign line ends change nothing.
    place.write(
        "same.txt",
        format!("{}# the end\n\n", file.replace("model", "# why\n\nmodel").replace('\n', "\r\n")),
    );
    place.run(&["check", "same.txt"]).succeeded();
}

#[test]
fn files_that_cannot_be_read() {
    let place = with_evidence();
    let race = String::from_utf8(place.read("race.json")).unwrap();
    let schedule = String::from_utf8(place.read("race.txt")).unwrap();
    let mut seen = String::new();
    for (what, content) in [
        ("nothing", String::new()),
        ("a trace", String::from_utf8(example()).unwrap()),
        ("cut short", race[..100].to_owned()),
        ("two objects", format!("{race}{race}")),
        ("not JSON", "{schema: 1}".to_owned()),
        ("another schema", race.replace("\"schema\":1", "\"schema\":2")),
        ("another schema and shape", r#"{"schema":7,"verdict":{}}"#.to_owned()),
        ("no schema", r#"{"verdict":"feasible"}"#.to_owned()),
        ("another verdict", race.replace("feasible", "likely")),
        ("another model", race.replace("\"rf\"", "\"tso\"")),
        ("an id below 0", race.replace("[0,1,2", "[0,-1,2")),
        ("an id too large", race.replace("[0,1,2", "[0,99999999999,2")),
        ("an id that is a word", race.replace("[0,1,2", "[0,\"one\",2")),
        ("a fraction", race.replace("[0,1,2", "[0,1.5,2")),
        ("a schedule of another type", race.replace("[0,1,2", "{\"a\":2},[0,1,2")),
        ("another question", race.replace("\"race\":[6,15]", "\"luck\":[6]")),
        ("a race of three", race.replace("[6,15]", "[6,15,16]")),
        ("a read of nothing", race.replace("\"race\":[6,15]", "\"reads\":[]")),
        (
            "a refutation of another form",
            race.replace("\"refutation\":null", "\"refutation\":{\"steps\":[],\"end\":{\"cycle\":[0]}}"),
        ),
        (
            "a step of two kinds",
            race.replace(
                "\"refutation\":null",
                "\"refutation\":{\"steps\":[{\"case\":0,\"end\":\"every-case\"}]}",
            ),
        ),
        (
            "an unknown reason",
            race.replace(
                "\"refutation\":null",
                "\"refutation\":{\"steps\":[{\"before\":[0,1],\"because\":\"luck\"}]}",
            ),
        ),
        ("an unknown verdict", race.replace("\"feasible\"", "\"unknown\"")),
        ("another trace", race.replace("a9aaba22", "00000000")),
        ("no trace", race.replace("\"path\":\"t.std\"", "\"path\":null")),
        ("a trace that is gone", race.replace("t.std", "gone.std")),
        ("another version", schedule.replace("foretell-schedule 1", "foretell-schedule 3")),
        ("no version", schedule.replace("foretell-schedule 1", "foretell-schedule")),
        ("a schedule without its model", schedule.replace("model rf\n", "")),
        ("a schedule of another model", schedule.replace("model rf", "model tso")),
        ("a schedule of no question", schedule.replace("race 6 15", "race 6")),
        ("a schedule of no trace", schedule.replace(" 21 t.std", "")),
        ("a schedule that is maybe guaranteed", schedule.replace("guaranteed yes", "guaranteed maybe")),
        ("a schedule with another line", schedule.replace("5|depositor|1|", "5|depositor|")),
        ("a schedule cut in its header", schedule[..40].to_owned()),
    ] {
        place.write("e", content);
        let ran = place.run(&["check", "e"]);
        assert_eq!(ran.code, Some(2), "{what}: {}", ran.seen());
        assert!(ran.stdout.is_empty(), "{what}");
        seen.push_str(&format!("--- {what}\n{}", ran.stderr));
    }
    insta::assert_snapshot!(seen);
    assert_eq!(
        place.run(&["check", "missing.json"]).stderr,
        "error: cannot read `missing.json`: no such file or directory\n"
    );
    let both = place.run_with_input(&["check", "-", "--trace", "-"], race.as_bytes());
    assert_eq!(both.code, Some(2));
    place.write("e", b"foretell-schedule 1\nmodel \xff\n");
    assert!(place.run(&["check", "e"]).stderr.starts_with("error: the line is not UTF-8"));
}

/// Cases within cases cost no stack, and neither does JSON that is nested for nothing.
#[test]
fn hostile_files() {
    let place = with_evidence();
    let none = String::from_utf8(place.read("none.json")).unwrap();
    let start = none.find("\"refutation\":").unwrap() + "\"refutation\":".len();
    let end = none.find(",\"question\"").unwrap();
    let splits = r#"{"split":{"happens":0}},{"case":0},"#.repeat(100_000);
    let refutation = format!(r#"{{"steps":[{splits}{{"end":{{"cycle":[]}}}}]}}"#);
    place.write("deep.json", format!("{}{refutation}{}", &none[..start], &none[end..]));
    let ran = place.run(&["check", "deep.json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.text().starts_with("wrong: refutation.steps[200000]: "), "{}", ran.text());
    for bytes in [vec![b'['; 1_000_000], b"{\"a\":".repeat(500_000), b"{\"schedule\":[".repeat(9)] {
        let ran = place.write("e", bytes).run(&["check", "e"]);
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    }
    let long = format!("[{}0]", "0,".repeat(3_000_000));
    place.write(
        "long.json",
        json_of(&place, "race.json").to_string().replace("[0,1,2,3,4,5,11,12,13,14]", &long),
    );
    let ran = place.run(&["check", "long.json"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    place.write("e", format!("{{\"schema\":1,\"verdict\":\"{}", "\u{1b}[31m".repeat(1000)));
    let ran = place.run(&["check", "e"]);
    assert!(ran.code == Some(2) && !ran.stderr.contains('\u{1b}'), "{}", ran.stderr);
}
