//! Memory orders on the command line: the words of reports, and the option that takes them away.

use crate::support::{Ran, Workplace};

/// A flag that is relaxed publishes data.
const RELAXED: &str = "\
A|w(data)|flag.c:10
A|aw.relaxed(flag)|flag.c:11
B|ar.relaxed(flag)|flag.c:20
B|r(data)|flag.c:21
";

/// One operation of each order, before a race on what is written behind the fence.
const EVERY: &str = "\
main|fork(A)|flag.c:6
main|fork(B)|flag.c:7
main|fork(C)|flag.c:8
A|aw.release(turn)|flag.c:9
B|ar.acquire(turn)|flag.c:19
A|aw(turn)|flag.c:10
B|ar(turn)|flag.c:19
A|fence.release()|flag.c:11
A|w(late)|flag.c:12
A|aw.relaxed(flag)|flag.c:13
C|rmw.acq_rel(flag)|flag.c:15
C|fence()|flag.c:16
C|aw.release(seen)|flag.c:17
B|ar.acquire(seen)|flag.c:20
B|ar.relaxed(flag)|flag.c:21
B|fence.acquire()|flag.c:22
B|r(late)|flag.c:23
";

/// The flag goes through another thread's hands, which takes and gives it relaxed.
const RELAYED: &str = "\
A|w(data)|flag.c:10
A|aw.release(flag)|flag.c:11
B|ar.relaxed(flag)|flag.c:20
B|aw.relaxed(flag)|flag.c:21
C|ar.acquire(flag)|flag.c:30
C|r(data)|flag.c:31
";

fn predict(trace: &str, options: &[&str]) -> Ran {
    let place = Workplace::new();
    place.write("flag.std", trace);
    place.run(&[&["predict", "flag.std", "--only", "race"], options].concat())
}

#[test]
fn each_operation_is_shown_with_its_order() {
    insta::assert_snapshot!(predict(EVERY, &[]).seen());
}

#[test]
fn the_culprit_of_a_relaxed_flag_is_named() {
    insta::assert_snapshot!(predict(RELAXED, &[]).seen());
}

#[test]
fn the_culprits_of_a_relayed_flag_are_named() {
    let found = predict(RELAYED, &["--json"]).json();
    let orders = found["findings"][0]["memory_orders"].as_array().unwrap_or_else(|| panic!("{found:#}"));
    let change = |change: &serde_json::Value| {
        [&change["location"], &change["to"]].map(|word| word.as_str().unwrap_or_default().to_owned())
    };
    let orders: Vec<[String; 2]> = orders.iter().map(change).collect();
    assert_eq!(orders, [["flag.c:20", "acquire"], ["flag.c:21", "release"]], "{found:#}");
}

/// Traces in both forms, and the answer to a single question as well.
#[test]
fn without_memory_orders_a_relaxed_flag_publishes() {
    let place = Workplace::new();
    place.write("flag.std", RELAXED);
    assert_eq!(place.run(&["convert", "-q", "flag.std", "flag.ftr"]).code, Some(0));
    for file in ["flag.std", "flag.ftr"] {
        let races = |order: &str| {
            let ran = place.run(&["predict", file, "--only", "race", "--memory-order", order, "--json"]);
            (ran.code, ran.json()["findings"].as_array().map(Vec::len))
        };
        assert_eq!(races("recorded"), (Some(1), Some(1)), "{file}");
        assert_eq!(races("sc"), (Some(0), Some(0)), "{file}");
    }
}
