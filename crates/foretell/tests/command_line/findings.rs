//! What is said of findings, and which of them are reported: by what replays saw, by whose code they are in, and with which stacks.

use serde_json::{Value, json};
use trace::{BlockId, LockId, Op, ThreadId, VariableId};

use crate::support::{Names, Ran, Workplace, recorded, recorded_race};

/// A place with the findings about a recorded race, changed as a hunt would change them.
fn hunted(change: impl FnOnce(&mut Value)) -> Workplace {
    let place = Workplace::new();
    place.write("run.ftr", recorded_race());
    let mut found = place.run(&["predict", "run.ftr", "--only", "race", "--json"]).json();
    change(&mut found["findings"][0]);
    place.write("findings.json", found.to_string());
    place
}

fn text(ran: &Ran) -> String {
    ran.text().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn harm_and_the_difference_are_in_every_form() {
    for (harm, words, difference) in [
        ("output", "the program prints something else", json!(["-balance 15", "+balance 10"])),
        ("status", "the program ends with another exit status", json!([])),
    ] {
        let place = hunted(|finding| {
            finding["rung"] = json!("confirmed");
            finding["harm"] = json!(harm);
            finding["difference"] = difference.clone();
            finding["replay"] = json!({"times": 3, "confirmed": 3});
        });
        let forms = ["--html", "page.html", "--sarif", "found.sarif", "--junit", "found.xml"];
        let ran = place.run(&[&["report", "findings.json"][..], &forms].concat());
        let said = text(&ran);
        assert!(said.contains(&format!("When it happens: {words}.")), "{said}");
        let json = place.run(&["report", "findings.json", "--json"]).json();
        let finding = &json["findings"][0];
        assert_eq!(finding["harm"], harm, "{json:#}");
        let read = |name: &str| String::from_utf8(place.read(name)).expect("it is text");
        let (page, junit) = (read("page.html"), read("found.xml"));
        assert!(page.contains(words) && junit.contains(&format!("; {words}")), "{junit}");
        for line in difference.as_array().expect("a list").iter().map(|line| line.as_str().expect("text")) {
            assert!(said.contains(line) && page.contains(line) && junit.contains(line), "{line}: {said}");
            assert_eq!(finding["difference"], difference, "{json:#}");
        }
        let sarif: Value = serde_json::from_slice(&place.read("found.sarif")).expect("it is JSON");
        let result = &sarif["runs"][0]["results"][0];
        assert_eq!((&result["level"], &result["properties"]["harm"]), (&json!("error"), &json!(harm)));
        assert!(result["message"]["text"].as_str().is_some_and(|text| text.contains(words)), "{result:#}");
    }
}

#[test]
fn what_is_not_shown_is_counted_and_does_not_change_the_exit_status() {
    let place = hunted(|finding| {
        finding["rung"] = json!("diverged");
        finding["shown"] = json!(false);
        finding["replay"] = json!({"times": 3, "confirmed": 0});
    });
    let ran = place.run(&["report", "findings.json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.seen());
    let line = "1 more finding is not shown: 1 diverged; `--show all` lists it.";
    assert!(ran.text().contains(line) && ran.text().contains("SUMMARY: nothing found"), "{}", ran.seen());
    let all = place.run(&["report", "findings.json", "--show", "all"]);
    assert_eq!(all.code, Some(1), "{}", all.seen());
    assert!(all.text().contains("race-1, diverged") || all.text().contains("data race on balance"));
    // What replays did not show, they will not show the next time.
    assert!(!all.text().contains("To see it happen"), "{}", all.text());
    let confirmed = hunted(|finding| finding["replay"] = json!({"times": 3, "confirmed": 3}));
    assert!(confirmed.run(&["report", "findings.json"]).text().contains("To see it happen"));
}

/// Races in the project, between the project and a dependency, and in the dependency alone.
const MIXED: &str = "#! metadata {\"directory\":\"/home/u/bank\"}\nmain|fork(T1)|main.c:1\nmain|fork(T2)|main.c:2\n\
                     T1|w(pool)|vendor/pool.h:3\nT2|w(pool)|vendor/pool.h:4\nT1|w(mixed)|main.c:5\n\
                     T2|w(mixed)|vendor/pool.h:6\nT1|w(total)|main.c:7\nT2|w(total)|src/a.c:8\n";

fn mixed(more: &[&str]) -> (Vec<(String, bool)>, Ran) {
    let place = Workplace::new();
    place.write("t.std", MIXED);
    let options = ["predict", "t.std", "--only", "race"];
    let json = place.run(&[&options[..], more, &["--json"]].concat()).json();
    let of = |finding: &Value| {
        (finding["object"].as_str().expect("text").to_owned(), finding["third_party"] == true)
    };
    let found = json["findings"].as_array().expect("a list").iter().map(of).collect();
    (found, place.run(&[&options[..], more].concat()))
}

#[test]
fn findings_in_other_code_come_last_or_not_at_all() {
    let names = |found: &[(String, bool)]| {
        found
            .iter()
            .map(|(name, other)| format!("{name}{}", if *other { "*" } else { "" }))
            .collect::<Vec<_>>()
    };
    // By default all below the directory of the recorded run is the user's own.
    let (found, _) = mixed(&[]);
    assert_eq!(names(&found), ["pool", "mixed", "total"]);
    let roots = ["--first-party-root", "/home/u/bank/main.c", "--first-party-root", "/home/u/bank/src"];
    let (found, ran) = mixed(&roots);
    assert_eq!(names(&found), ["mixed", "total", "pool*"]);
    assert!(!ran.text().contains("left out"), "{}", ran.text());
    let (found, ran) = mixed(&[&roots[..], &["--first-party"]].concat());
    assert_eq!(names(&found), ["mixed", "total"]);
    let line = "1 finding entirely in dependencies or the standard library left out (`--first-party`).";
    assert!(ran.text().contains(line), "{}", ran.text());
    let (found, _) = mixed(&["--first-party-root", "/home/u/bank/vendor"]);
    assert_eq!(names(&found), ["pool", "mixed", "total*"]);
}

/// Both threads come into the standard library from the user's own function; one is also in `main`.
fn through_the_library() -> Vec<u8> {
    let push = "std::vector<int>::push_back\t/usr/include/c++/12/bits/stl_vector.h:1280";
    let stacks: [&[&'static str]; 6] = [
        &["main\tbank.c:30"],
        &[push, "deposit\tbank.c:9", "run\tbank.c:14"],
        &[push, "main\tbank.c:31"],
        &["second\tbank.c:20"],
        &["main\tbank.c:33"],
        &["malloc\t/usr/include/c++/12/new:3", "open_bank\tbank.c:5", "main\tbank.c:29"],
    ];
    let events = [
        (0, Op::Allocate(BlockId(0)), 5),
        (0, Op::Fork(ThreadId(1)), 0),
        (0, Op::Fork(ThreadId(2)), 0),
        (1, Op::Write(VariableId(0)), 1),
        (0, Op::Write(VariableId(0)), 2),
        (2, Op::Write(VariableId(1)), 3),
        (0, Op::Write(VariableId(1)), 4),
    ];
    let names = Names {
        variables: &["bank (bank.c:5)->entries", "total"],
        blocks: &["bank (bank.c:5)"],
        ..Names::default()
    };
    recorded(&names, &stacks, &events)
}

#[test]
fn frames_of_the_library_are_shown_when_asked_for() {
    let place = Workplace::new();
    place.write("run.ftr", through_the_library());
    let predict = ["predict", "run.ftr", "--only", "race"];
    let short = place.run(&predict).text();
    assert!(short.contains("#0 deposit bank.c:9") && !short.contains("push_back"), "{short}");
    let full = place.run(&[&predict[..], &["--full-stacks"]].concat()).text();
    assert!(
        full.contains("#0 std::vector<int>::push_back /usr/include/c++/12/bits/stl_vector.h:1280"),
        "{full}"
    );
}

#[test]
fn allocations_have_their_stacks_in_every_form() {
    let place = Workplace::new();
    place.write("run.ftr", through_the_library());
    let forms = ["--html", "page.html", "--sarif", "found.sarif"];
    let said = place.run(&[&["predict", "run.ftr", "--only", "race"][..], &forms].concat()).text();
    assert!(said.contains("bank (bank.c:5) was allocated by main"), "{said}");
    assert!(said.contains("#0 open_bank bank.c:5\n      #1 main bank.c:29"), "{said}");
    let page = String::from_utf8(place.read("page.html")).expect("it is text");
    assert!(page.contains("open_bank bank.c:5"), "it is not in HTML");
    let sarif: Value = serde_json::from_slice(&place.read("found.sarif")).expect("it is JSON");
    let results = sarif["runs"][0]["results"].as_array().expect("a list").iter();
    let mut stacks = results.flat_map(|result| result["stacks"].as_array().expect("stacks"));
    let is_allocation = |stack: &&Value| {
        stack["message"]["text"].as_str().is_some_and(|text| text.contains("was allocated by main"))
    };
    let stack = stacks.find(is_allocation).unwrap_or_else(|| panic!("{sarif:#}"));
    assert_eq!(stack["frames"][0]["location"]["message"]["text"], "open_bank");
}

/// Two races, both with an access in `main`: what is proposed for one leaves the other.
#[test]
fn proposals_name_the_users_function_and_neither_main_nor_the_library() {
    let place = Workplace::new();
    place.write("run.ftr", through_the_library());
    let predict = ["predict", "run.ftr", "--only", "race", "--quiet"];
    let proposed = place.run(&[&predict[..], &["--print-suppressions"]].concat()).text();
    let lines: Vec<&str> = proposed.lines().filter(|line| line.starts_with("race")).collect();
    // `deposit` calls the library, so it is not at the top.
    assert_eq!(lines, ["race:^deposit$", "race_top:^second$"], "{proposed}");
    for (line, left) in lines.iter().zip(["total", "bank (bank.c:5)->entries"]) {
        place.write("s", line);
        let json = place.run(&[&predict[..], &["--suppressions", "s", "--json"]].concat()).json();
        let objects: Vec<&Value> =
            json["findings"].as_array().expect("a list").iter().map(|f| &f["object"]).collect();
        assert_eq!(objects, [left], "{line}");
    }
    // Where nothing of the user's own is, the object is.
    let elsewhere = ["--print-suppressions", "--first-party-root", "/elsewhere"];
    let proposed = place.run(&[&predict[..], &elsewhere].concat()).text();
    let lines: Vec<&str> = proposed.lines().filter(|line| line.starts_with("race")).collect();
    assert_eq!(lines, ["race:^bank (bank.c:5)->entries$", "race:^total$"], "{proposed}");
    assert!(!proposed.contains("main$") && !proposed.contains("std::"), "{proposed}");
}

/// The lock can be taken at one place of a finding; at the other, it would close a cycle, and so would the lock that is held there.
fn partly_fixable() -> Vec<u8> {
    let (m, n, x) = (LockId(0), LockId(1), VariableId(0));
    let stacks: [&[&'static str]; 8] = [
        &["main\ta.c:1"],
        &["add\ta.c:3"],
        &["add\ta.c:4"],
        &["add\ta.c:5"],
        &["take\ta.c:10"],
        &["take\ta.c:11"],
        &["take\ta.c:12"],
        &["take\ta.c:13"],
    ];
    let events = [
        (0, Op::Fork(ThreadId(1)), 0),
        (0, Op::Fork(ThreadId(2)), 0),
        (1, Op::Acquire(m), 1),
        (1, Op::Write(x), 2),
        (1, Op::Release(m), 1),
        (1, Op::Acquire(m), 3),
        (1, Op::Acquire(n), 3),
        (1, Op::Release(n), 3),
        (1, Op::Release(m), 3),
        (2, Op::Write(x), 4),
        (2, Op::Acquire(n), 6),
        (2, Op::Write(x), 5),
        (2, Op::Release(n), 6),
        (2, Op::Acquire(n), 7),
        (2, Op::Acquire(m), 7),
        (2, Op::Release(m), 7),
        (2, Op::Release(n), 7),
    ];
    recorded(&Names { variables: &["x"], locks: &["m", "n"], ..Names::default() }, &stacks, &events)
}

#[test]
fn a_fix_that_is_not_for_all_places_names_its_own() {
    let place = Workplace::new();
    place.write("run.ftr", partly_fixable());
    let json = place.run(&["predict", "run.ftr", "--only", "race", "--json"]).json();
    let finding = &json["findings"][0];
    assert_eq!(
        (&finding["locations"], &finding["more"][0]["locations"]),
        (&json!(["a.c:4", "a.c:10"]), &json!(["a.c:4", "a.c:11"]))
    );
    assert_eq!(
        (&finding["fix"]["lock"], &finding["fix"]["partial"]),
        (&json!("m"), &json!(true)),
        "{json:#}"
    );
    let said = text(&place.run(&["predict", "run.ftr", "--only", "race"]));
    let sentence = "the data race at a.c:4 and a.c:10 is then infeasible, and no new deadlock is feasible. The other places of this finding \
                    need more than that.";
    assert!(said.contains(sentence), "{said}");
}
