//! The forms a report can be written in. Each is pinned on small examples, and held against what its readers demand.

use std::process::Command;

use serde_json::Value;

use crate::support::{PHILOSOPHERS, Workplace, example, recorded_race, with_source};

/// The file that a report of a trace is written to.
fn written(place: &Workplace, trace: &str, option: &str) -> String {
    let ran = place.run(&["predict", trace, "--quiet", option, "out"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    String::from_utf8(place.read("out")).expect("it is text")
}

fn account() -> Workplace {
    let place = Workplace::new();
    place.write("account.std", example());
    place
}

fn philosophers() -> Workplace {
    let place = Workplace::new();
    place.write("table.std", PHILOSOPHERS);
    place
}

#[test]
fn a_deadlock_is_told_with_its_cycle() {
    insta::assert_snapshot!(philosophers().run(&["predict", "table.std"]).seen());
}

#[test]
fn sarif() {
    insta::assert_snapshot!(written(&account(), "account.std", "--sarif"));
}

#[test]
fn junit() {
    insta::assert_snapshot!("junit_of_races", written(&account(), "account.std", "--junit"));
    insta::assert_snapshot!("junit_of_a_deadlock", written(&philosophers(), "table.std", "--junit"));
    let place = Workplace::new();
    place.write("t.std", "T1|w(x)|1\n");
    assert_eq!(place.run(&["predict", "t.std", "--junit", "out", "--quiet"]).code, Some(0));
    insta::assert_snapshot!("junit_of_nothing", String::from_utf8_lossy(&place.read("out")));
}

#[test]
fn markdown() {
    insta::assert_snapshot!(written(&account(), "account.std", "--markdown"));
}

#[test]
fn lines_for_editors() {
    insta::assert_snapshot!(
        account().run(&["predict", "account.std", "--only", "race", "--format", "unix"]).seen()
    );
}

#[test]
fn perfetto() {
    let text = written(&philosophers(), "table.std", "--perfetto");
    let json: Value = serde_json::from_str(&text).expect("it is JSON");
    let events = json["traceEvents"].as_array().expect("events");
    let lines: Vec<String> = events.iter().map(Value::to_string).collect();
    insta::assert_snapshot!(lines.join("\n"));
    let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).count();
    assert_eq!(of("s"), of("f"), "every arrow has both ends");
}

/// The public schema, from the package that carries it.
fn sarif_schema() -> Result<Value, String> {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--manifest-path"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))
        .output()
        .map_err(|error| error.to_string())?;
    let json: Value = serde_json::from_slice(&metadata.stdout)
        .map_err(|_| String::from_utf8_lossy(&metadata.stderr).into_owned())?;
    let packages = json["packages"].as_array().ok_or("no packages")?;
    let package = packages.iter().find(|package| package["name"] == "serde-sarif").ok_or("no serde-sarif")?;
    let manifest = package["manifest_path"].as_str().ok_or("no path")?;
    let schema = std::path::Path::new(manifest).with_file_name("src").join("schema.json");
    let text = std::fs::read(&schema).map_err(|error| format!("{}: {error}", schema.display()))?;
    serde_json::from_slice(&text).map_err(|error| error.to_string())
}

#[test]
fn sarif_is_what_the_public_schema_demands() {
    let schema = sarif_schema().expect("cargo has fetched the package with the SARIF schema");
    let mut schemas = boon::Schemas::new();
    let mut compiler = boon::Compiler::new();
    compiler.enable_format_assertions();
    compiler.add_resource("https://schema.test/sarif.json", schema).expect("it is a resource");
    let index = compiler.compile("https://schema.test/sarif.json", &mut schemas).expect("it is a schema");
    // Names that are no files, files that need escaping, and nothing at all.
    let odd = "T 1|w([x](1))|a b:c.c:3\nT2|r([x](1))|/abs/ü.c:7:2\nT3|w([x](1))|12\n";
    let place = with_source("apache-21285-buggy");
    place
        .write("account.std", example())
        .write("table.std", PHILOSOPHERS)
        .write("odd.std", odd)
        .write("none.std", "");
    for trace in ["apache-21285-buggy.std", "account.std", "table.std", "odd.std", "none.std"] {
        place.run(&["predict", trace, "--quiet", "--sarif", "out"]);
        let json: Value = serde_json::from_slice(&place.read("out")).expect("it is JSON");
        if let Err(error) = schemas.validate(&json, index) {
            panic!("{trace}: {error:#}");
        }
    }
    let mut wrong: Value = serde_json::from_slice(&place.read("out")).expect("it is JSON");
    wrong["runs"][0]["surprise"] = Value::Bool(true);
    assert!(schemas.validate(&wrong, index).is_err(), "the schema refuses what it does not know");
}

#[test]
fn the_page_explains_what_values_rule_out_of_every_kind() {
    // What T2 reads tells it that T1 is done: locks alone would let them block each other, and come between.
    let trace = "\
        T1|acq(a)|1\nT1|acq(b)|2\nT1|w(x)|3\nT1|w(x)|4\nT1|rel(b)|5\nT1|rel(a)|6\nT1|w(y)|12\nT1|w(y)|13\n\
        T1|acq(c)|14\nT1|w(flag)|7\nT1|rel(c)|15\n\
        T2|acq(c)|16\nT2|r(flag)|8\nT2|rel(c)|17\nT2|w(y)|18\n\
        T2|acq(b)|9\nT2|acq(a)|10\nT2|rel(a)|11\nT2|rel(b)|19\n";
    let place = Workplace::new();
    place.write("t.std", trace);
    let ran =
        place.run(&["predict", "t.std", "--quiet", "--only", "race,deadlock,atomicity", "--html", "out"]);
    assert_eq!(ran.code, Some(0), "{}", ran.seen());
    let page = String::from_utf8(place.read("out")).expect("it is text");
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: Value = serde_json::from_str(data.expect("data")).expect("it is JSON");
    let ruled_out = data["ruled_out"].as_array().expect("a list");
    for kind in ["race", "deadlock", "atomicity"] {
        let of_kind = ruled_out.iter().find(|candidate| candidate["kind"] == kind);
        let of_kind = of_kind.unwrap_or_else(|| panic!("{kind}: {ruled_out:#?}"));
        assert!(of_kind["explanation"].as_str().expect("words").contains("flag"), "{of_kind:#}");
    }
}

#[test]
fn saved_rungs_are_held_against_the_schedules() {
    // Feasible if the read may see anything.
    let trace =
        "T1|w(x)|1\nT1|acq(l)|2\nT1|w(f)|3\nT1|rel(l)|4\nT2|acq(l)|5\nT2|r(f)|6\nT2|rel(l)|7\nT2|w(x)|8\n";
    let place = Workplace::new();
    place.write("t.std", trace);
    let found = place.run(&["predict", "t.std", "--only", "race", "--model", "sync", "--json"]);
    let found = String::from_utf8(found.stdout).expect("it is text");
    assert!(found.contains("\"rung\":\"possible\""), "{found}");
    place.write("findings.json", &found);
    assert_eq!(place.run(&["report", "findings.json", "--quiet"]).code, Some(1));
    place.write("findings.json", found.replace("\"possible\"", "\"predicted\""));
    let refused = place.run(&["report", "findings.json"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("claims to be predicted"), "{}", refused.stderr);
    place.write("findings.json", found.replace("\"possible\"", "\"confirmed\""));
    let told = place.run(&["report", "findings.json"]);
    assert!(told.stderr.contains("replays are not repeated"), "{}", told.stderr);
}

#[test]
fn fingerprints_do_not_depend_on_when_events_happened() {
    let prints = |trace: &str| {
        let place = Workplace::new();
        place.write("t.std", trace);
        let json: Value = serde_json::from_str(&written(&place, "t.std", "--sarif")).expect("it is JSON");
        json["runs"][0]["results"][0]["partialFingerprints"].clone()
    };
    let race = "T1|w(x)|a.c:1\nT2|w(x)|b.c:1\n";
    let later = "T3|w(z)|c.c:9\nT2|w(x)|b.c:1\nT1|w(x)|a.c:1\n";
    let elsewhere = "T1|w(x)|a.c:1\nT2|w(x)|b.c:2\n";
    assert_eq!(prints(race), prints(later));
    assert_ne!(prints(race), prints(elsewhere));
}

#[test]
fn steps_that_code_scanning_would_cut_off_are_left_out_with_a_word() {
    let mut trace = String::from("T2|w(x)|b.c:1\n");
    trace.extend((0..1500).map(|line| format!("T1|w(y)|a.c:{}\n", line + 1)));
    trace.push_str("T1|w(x)|a.c:2000\n");
    let place = Workplace::new();
    place.write("t.std", trace);
    let json: Value = serde_json::from_str(&written(&place, "t.std", "--sarif")).expect("it is JSON");
    let flow = &json["runs"][0]["results"][0]["codeFlows"][0];
    let steps: usize = flow["threadFlows"]
        .as_array()
        .expect("threads")
        .iter()
        .map(|t| t["locations"].as_array().unwrap().len())
        .sum();
    assert_eq!(steps, 1000);
    assert_eq!(
        flow["message"]["text"],
        "The end of the schedule that shows it; 502 steps before are left out"
    );
}

#[test]
fn saved_findings_are_reported_without_searching_again() {
    let place = account();
    let saved = place.run(&["predict", "account.std", "--json"]).stdout;
    place.write("findings.json", &saved);
    let again = place.run(&["report", "findings.json", "--json", "--sarif", "a.sarif"]);
    assert_eq!(again.stdout, saved);
    assert_eq!(written(&place, "account.std", "--sarif").into_bytes(), place.read("a.sarif"));
    // A run directory is named by itself.
    std::fs::create_dir(place.path("run")).unwrap();
    place.run(&["convert", "account.std", "run/trace.ftr"]).succeeded();
    place.write("run/findings.json", &saved);
    assert_eq!(place.run(&["report", "run", "--json"]).stdout, saved);
    // What hunt adds is kept.
    let confirmed = String::from_utf8(saved).unwrap().replacen(
        "\"rung\":\"predicted\"",
        "\"replay\":{\"times\":20,\"confirmed\":20},\"rung\":\"confirmed\"",
        1,
    );
    place.write("run/findings.json", confirmed);
    insta::assert_snapshot!("a_confirmed_finding", place.run(&["report", "run"]).seen());
}

#[test]
fn findings_that_do_not_hold_are_refused() {
    let place = account();
    let saved = place.run(&["predict", "account.std", "--json"]).text();
    let refused = |findings: &str| {
        place.write("f.json", findings);
        let ran = place.run(&["report", "f.json"]);
        assert_eq!(ran.code, Some(2), "{}", ran.seen());
        ran.stderr
    };
    let cases = [
        saved.replacen("\"schedule\":[0,1,2,", "\"schedule\":[2,1,0,", 1),
        saved.replacen("\"schedule\":[0,", "\"schedule\":[4000000000,", 1),
        saved.replacen("\"race\":[6,15]", "\"race\":[6,7]", 1),
        saved.replacen("\"events\":[6,15]", "\"events\":[6,99]", 1),
        saved.replace("\"schema\":1", "\"schema\":9"),
        saved.replace("account.std", "gone.std"),
        "{}".to_owned(),
        "race!".to_owned(),
    ];
    insta::assert_snapshot!(cases.map(|case| refused(&case)).join("\n"));
}

#[test]
fn a_file_that_cannot_be_written_is_an_error() {
    let ran = account().run(&["predict", "account.std", "--sarif", "no/such/place.sarif"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("no/such/place.sarif"), "{}", ran.stderr);
}

#[test]
fn html_holds_what_the_page_is_drawn_from() {
    let text = written(&philosophers(), "table.std", "--html");
    let data =
        text.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next()).expect("data");
    let mut json: Value = serde_json::from_str(data).expect("it is JSON");
    let states = json["lattice"]["states"].as_array().expect("states").len();
    json["lattice"] = Value::from(states);
    insta::assert_snapshot!(serde_json::to_string_pretty(&json).expect("it was JSON"));
}

/// A page of a long trace stays one that a browser opens gladly.
#[test]
fn html_holds_no_more_of_a_long_trace_than_can_be_looked_at() {
    let place = Workplace::new();
    place
        .run(&["generate", "--quiet", "--events", "40k", "--threads", "4", "--seed", "1", "-o", "big.ftr"])
        .succeeded();
    place.run(&["predict", "big.ftr", "--quiet", "--only", "race", "--html", "out"]);
    let size = place.read("out").len();
    assert!(size < 30_000_000, "{size} bytes");
}

#[test]
fn call_stacks_and_the_way_to_replay_are_shown_where_they_were_recorded() {
    let place = Workplace::new();
    place.write("run.ftr", recorded_race());
    insta::assert_snapshot!(place.run(&["predict", "run.ftr", "--only", "race"]).seen());
    let json: Value = serde_json::from_str(&written(&place, "run.ftr", "--sarif")).expect("it is JSON");
    let stacks = &json["runs"][0]["results"][0]["stacks"];
    assert_eq!(stacks[0]["frames"][1]["location"]["message"]["text"], "run");
    assert!(written(&place, "run.ftr", "--html").contains("deposit bank.c:9"));
    assert!(written(&place, "run.ftr", "--html").contains("foretell replay run.ftr race-1"));
}

#[test]
fn suppressions_match_functions_of_call_stacks() {
    let place = Workplace::new();
    place.write("run.ftr", recorded_race());
    for (line, code) in
        [("race:^run$", 0), ("race_top:^deposit$", 0), ("race_top:^run$", 1), ("race:^runs$", 1)]
    {
        place.write("s", line);
        let ran = place.run(&["predict", "run.ftr", "--only", "race", "--suppressions", "s"]);
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.seen());
    }
    let ready =
        place.run(&["predict", "run.ftr", "--only", "race", "--quiet", "--print-suppressions"]).text();
    assert!(ready.contains("\nrace_top:^deposit$\n"), "{ready}");
}
