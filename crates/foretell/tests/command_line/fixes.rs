//! Suggested fixes in every form of a report.

use serde_json::{Value, json};

use crate::support::Workplace;

/// Three accesses hold the lock, and one in `audit` does not.
const SOURCE: &str = "\
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static int balance, seen;
void pay(void)
{
    pthread_mutex_lock(&guard);
    balance++;
    pthread_mutex_unlock(&guard);
}
void audit(void)
{
    seen = balance;
    pthread_mutex_lock(&guard);
    balance = 0;
    pthread_mutex_unlock(&guard);
}
";
const TRACE: &str = "\
main|fork(T1)|bank.c:20
main|fork(T2)|bank.c:21
T1|acq(guard)|bank.c:5
T1|r(balance)|bank.c:6
T1|w(balance)|bank.c:6
T1|rel(guard)|bank.c:7
T2|r(balance)|bank.c:11
T2|acq(guard)|bank.c:12
T2|w(balance)|bank.c:13
T2|rel(guard)|bank.c:14
";

fn bank() -> Workplace {
    let place = Workplace::new();
    place.write("bank.c", SOURCE).write("run.std", TRACE);
    place
}

#[test]
fn the_lock_that_others_hold_is_suggested_where_it_is_missing() {
    let place = bank();
    let json = place.run(&["predict", "run.std", "--only", "race", "--json"]).json();
    let expected = json!({
        "mistake": "missing", "lock": "guard", "places": [{"from": "bank.c:11", "to": "bank.c:11"}], "held": 2, "accesses": 2
    });
    let finding = &json["findings"][0];
    assert_eq!((&finding["kind"], &finding["fix"]), (&json!("race"), &expected), "{json:#}");
    let text = place.run(&["predict", "run.std", "--only", "race"]).text().replace("\n  ", " ");
    let sentence = "Suggested fix: hold `guard` at bank.c:11, as at all other accesses. Verified on this recording: \
                    the data race is then infeasible, and no new deadlock is feasible.";
    assert!(text.contains(sentence), "{text}");
    place.run(&["predict", "run.std", "--only", "race", "--html", "out.html"]);
    assert!(
        String::from_utf8_lossy(&place.read("out.html")).contains("Suggested fix: hold `guard` at bank.c:11")
    );
}

/// What a file is after the edits of a fix, which are in the order of the file.
fn edited(source: &str, fix: &Value) -> String {
    let mut lines: Vec<String> = source.lines().map(str::to_owned).collect();
    let replacements = fix["artifactChanges"][0]["replacements"].as_array().expect("replacements");
    for replacement in replacements.iter().rev() {
        let region = &replacement["deletedRegion"];
        let number = |name: &str| region[name].as_u64().expect("a number") as usize - 1;
        let text = replacement["insertedContent"]["text"].as_str().expect("text");
        lines[number("startLine")].replace_range(number("startColumn")..number("endColumn"), text);
    }
    lines.join("\n") + "\n"
}

#[test]
fn sarif_has_the_edit() {
    let place = bank();
    place.run(&["predict", "run.std", "--only", "race", "--quiet", "--sarif", "out"]);
    let sarif: Value = serde_json::from_slice(&place.read("out")).expect("it is JSON");
    let fix = &sarif["runs"][0]["results"][0]["fixes"][0];
    let lines = "    pthread_mutex_lock(&guard);\n    seen = balance;\n    pthread_mutex_unlock(&guard);\n";
    assert_eq!(edited(SOURCE, fix), SOURCE.replace("    seen = balance;\n", lines), "{sarif:#}");
}

#[test]
fn a_check_and_an_act_are_to_be_one_section() {
    let place = Workplace::new();
    let trace = "\
main|fork(T1)|1
main|fork(T2)|2
T1|acq(m)|a.c:3
T1|r(x)|a.c:4
T1|rel(m)|a.c:5
T1|acq(m)|a.c:6
T1|w(x)|a.c:7
T1|rel(m)|a.c:8
T2|acq(m)|a.c:9
T2|w(x)|a.c:10
T2|rel(m)|a.c:11
";
    place.write("run.std", trace);
    let json = place.run(&["predict", "run.std", "--only", "atomicity", "--json"]).json();
    let fix = &json["findings"][0]["fix"];
    assert_eq!(
        (&fix["mistake"], &fix["lock"], &fix["places"][0]),
        (&json!("released"), &json!("m"), &json!({"from": "a.c:4", "to": "a.c:7"})),
        "{json:#}"
    );
}

/// The order that is to blame, as an edit of the source.
#[test]
fn sarif_has_the_memory_order() {
    const SOURCE: &str = "\
void publish(void)
{
    data = 1;
    atomic_store_explicit(&flag, 1, memory_order_relaxed);
}
void consume(void)
{
    if (atomic_load_explicit(&flag, memory_order_acquire))
        use(data);
}
";
    let trace = "\
main|fork(T1)|a.c:20
main|fork(T2)|a.c:21
T1|w(data)|a.c:3
T1|aw.relaxed(flag)|a.c:4
T2|ar.acquire(flag)|a.c:8
T2|r(data)|a.c:9
";
    let place = Workplace::new();
    place.write("a.c", SOURCE).write("run.std", trace);
    let ran = place.run(&["predict", "run.std", "--only", "race", "--quiet", "--sarif", "out"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let sarif: Value = serde_json::from_slice(&place.read("out")).expect("it is JSON");
    let fix = &sarif["runs"][0]["results"][0]["fixes"][0];
    assert_eq!(edited(SOURCE, fix), SOURCE.replace("relaxed", "release"), "{sarif:#}");
}
