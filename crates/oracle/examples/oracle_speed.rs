//! What it costs to ask everything: `cargo run --release -p foretell-oracle --example oracle_speed [TRACES]`.

use std::time::Instant;

use check::{Model, Question};
use generate::{TraceSettings, generate};
use oracle::{all_questions, answer_all};

fn main() -> Result<(), generate::SettingsError> {
    let traces = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(2000u64);
    let traces: Vec<_> =
        (0..traces).map(|seed| generate(&TraceSettings::tiny(seed))).collect::<Result<_, _>>()?;
    for model in [Model::Sync, Model::ReadsFrom, Model::Branch] {
        let mut counts = [(0u64, 0u64); 5];
        let mut slowest = 0.0f64;
        let all = Instant::now();
        for trace in &traces {
            let questions = all_questions(trace);
            let start = Instant::now();
            let answers = answer_all(trace, model, &questions);
            slowest = slowest.max(start.elapsed().as_secs_f64());
            for (question, answer) in questions.iter().zip(answers) {
                let kind = match question {
                    Question::Race(..) => 0,
                    Question::Deadlock(_) => 1,
                    Question::Order(_) => 2,
                    Question::Reads(..) => 3,
                    Question::Cut(_) => 4,
                };
                counts[kind].0 += 1;
                counts[kind].1 += u64::from(answer);
            }
        }
        let mean = all.elapsed().as_secs_f64() / traces.len() as f64;
        println!("{model:?}: {:.3} ms a trace, {:.1} at most", mean * 1e3, slowest * 1e3);
        for (kind, (asked, yes)) in ["race", "deadlock", "order", "reads", "cut"].iter().zip(counts) {
            println!("  {kind}: {asked} asked, {yes} feasible");
        }
    }
    Ok(())
}
