//! The papers' methods to find atomicity violations, against the oracle and the papers' tables.
//!
//! `cargo xtask fuzz-bugs --seeds N` makes the same comparisons over more seeds, as for the searches of `candidates`.

mod avfilter;
mod methods;
#[path = "../../../candidates/tests/bugs/support.rs"]
#[expect(dead_code, reason = "shared with the tests of `candidates`, which need more of it")]
mod support;
#[path = "../../../candidates/tests/bugs/violations.rs"]
mod violations;

use candidates::PatternLimits;
use candidates::atomicity::{Counts, Intent};
use check::Model;
use decide::Index;
use papers::atomicity::{Method, search_by};
use trace::Trace;

use support::{Reported, assert_schedules, settings};

fn run(trace: &Trace, model: Model, method: Method, limits: PatternLimits) -> (Reported, Counts) {
    let index = Index::new(trace);
    let mut reported = Reported::default();
    let counts = search_by(method, &index, settings(model), &Intent::Stated, limits, &mut |report| {
        reported.take(report)
    });
    assert_eq!(counts.tally.feasible, reported.found.len() as u64);
    assert_schedules(&index, method.model(model), &reported.found);
    (reported, counts)
}

/// What fuzzing once broke is compared ever after.
#[test]
fn what_was_found_is_compared_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/found");
    let entries = folder.read_dir().expect("the corpus has it");
    for path in entries.map(|entry| entry.expect("a folder that can be listed").path()) {
        if path.extension().is_some_and(|extension| extension == "std") {
            let trace = trace::text::read(std::fs::File::open(path).expect("a file")).expect("a trace");
            avfilter::compare(0, &trace);
        }
    }
}
