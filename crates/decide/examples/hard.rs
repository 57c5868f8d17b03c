//! How the cost of hard instances grows with their choices:
//! `cargo run --release -p foretell-decide --example hard [CHOICES]`
//!
//! Time is the best of three. Steps are the least power of two that is budget enough: the engine does not tell what it spent.

use std::time::{Duration, Instant};

use check::{Model, Question};
use decide::{Index, Options, Verdict, decide};
use generate::{Family, Hard, Outcome, hard};

const FAMILIES: [Family; 5] = [
    Family::Rings { threads: 3 },
    Family::Rings { threads: 4 },
    Family::Rings { threads: 5 },
    Family::Rings { threads: 6 },
    Family::Chain,
];

/// A family is left when an instance takes longer.
const PATIENCE: Duration = Duration::from_secs(5);

fn main() {
    let most = std::env::args().nth(1).and_then(|word| word.parse().ok()).unwrap_or(64);
    println!(
        "{:<22} {:<10} {:>7} {:>6} {:>12} {:>8} {:>8}",
        "family", "outcome", "choices", "events", "time", "steps <=", "leaves"
    );
    for family in FAMILIES {
        for outcome in [Outcome::Infeasible, Outcome::Feasible] {
            let sizes = (1..).scan(1u32, |size, _| {
                let this = *size;
                *size = this + (this / 4).max(1);
                Some(this)
            });
            for choices in sizes.take_while(|&size| size <= most) {
                if row(family, choices, outcome) > PATIENCE {
                    println!("(the next would take too long)");
                    break;
                }
            }
        }
    }
}

fn row(family: Family, choices: u32, outcome: Outcome) -> Duration {
    let Hard { trace, order } = hard(family, choices, outcome);
    let question = Question::Order(order);
    let index = Index::new(&trace);
    let ask = |budget| {
        let options = Options { budget, ..Options::default() };
        decide(&index, &question, Model::Sync, options).expect("a question about this trace")
    };
    let mut best = Duration::MAX;
    let mut verdict = Verdict::Unknown { budget: 0 };
    for _ in 0..3 {
        let start = Instant::now();
        verdict = ask(u64::MAX);
        best = best.min(start.elapsed());
        if best > PATIENCE {
            break;
        }
    }
    let steps = (0..63).find(|&power| !matches!(ask(1 << power), Verdict::Unknown { .. }));
    let leaves = match &verdict {
        Verdict::Infeasible(refutation) => refutation.contradictions().to_string(),
        Verdict::Feasible(_) | Verdict::Unknown { .. } => "-".to_owned(),
    };
    let steps = steps.map_or("-".to_owned(), |power| format!("2^{power}"));
    println!(
        "{:<22} {:<10} {choices:>7} {:>6} {:>12} {steps:>8} {leaves:>8}",
        format!("{family:?}"),
        format!("{outcome:?}"),
        trace.len(),
        format!("{best:.1?}")
    );
    best
}
