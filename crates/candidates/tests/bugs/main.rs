//! The searches for bugs other than races, against the oracle and on traces written by hand.
//!
//! `cargo xtask fuzz-bugs --seeds N` makes the same comparisons over more seeds (`FORETELL_FUZZ_SEEDS`, `FORETELL_FUZZ_FROM`) and
//! keeps what they break, shrunken, in `corpus/found/`.

mod atomicity;
mod deadlocks;
mod fixes;
mod nondeterminism;
mod orders;
mod regions;
mod support;
mod violations;

use check::Model;

/// What fuzzing once broke is compared ever after.
#[test]
fn what_was_found_is_compared_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../corpus/found");
    let entries = folder.read_dir().expect("the corpus has it");
    for path in entries.map(|entry| entry.expect("a folder that can be listed").path()) {
        if path.extension().is_none_or(|extension| extension != "std") {
            continue;
        }
        let trace = trace::text::read(std::fs::File::open(path).expect("a file")).expect("a trace");
        for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
            deadlocks::compare(0, &trace, model, &mut deadlocks::Compared::default());
            nondeterminism::compare(0, &trace, model);
        }
        fixes::compare(0, &trace);
        for model in atomicity::MODELS {
            atomicity::compare(0, &trace, model, &mut atomicity::Compared::default());
        }
    }
}
