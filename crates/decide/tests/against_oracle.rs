//! The engine against the oracle: random tiny traces, every question, every model; every schedule and
//! refutation through the checker, and mutated ones refused.
//!
//! `cargo xtask fuzz-engine --seeds N` runs the same judge over more seeds (`FORETELL_FUZZ_SEEDS`,
//! `FORETELL_FUZZ_FROM`) and keeps what it breaks, shrunken, in `corpus/found/`.

use check::{End, Model, Question, Refutation, Step, check_refutation, check_schedule};
use decide::{Index, Options, Verdict, Witnesses, decide, race_order, simplify};
use trace::{EventId, Trace};

const MODELS: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

/// The branch model costs the oracle more than the others together, so it is asked about every fourth seed.
fn models(seed: u64) -> &'static [Model] {
    if seed.is_multiple_of(4) { &MODELS } else { &MODELS[..2] }
}

/// Windows so small that most questions need several, as well as the ordinary ones.
const REACHES: [u32; 2] = [2, 256];

#[derive(Default)]
struct Tally {
    traces: u64,
    questions: u64,
    feasible: u64,
    splits: u64,
    mutants: u64,
    /// A refutation of another question, perhaps about another trace.
    latest: Option<Refutation>,
}

/// What went wrong, if anything did.
fn judge(trace: &Trace, models: &[Model], tally: &mut Tally) -> Option<String> {
    judge_about(trace, models, &oracle::all_questions(trace), tally)
}

/// The same, asking only about races: nothing else depends on memory orders.
fn judge_races(trace: &Trace, models: &[Model], tally: &mut Tally) -> Option<String> {
    let mut questions = oracle::all_questions(trace);
    questions.retain(|question| matches!(question, Question::Race(..)));
    judge_about(trace, models, &questions, tally)
}

fn judge_about(trace: &Trace, models: &[Model], questions: &[Question], tally: &mut Tally) -> Option<String> {
    let index = Index::new(trace);
    tally.traces += 1;
    for &model in models {
        let answers = oracle::answer_all(trace, model, questions);
        for (number, (question, feasible)) in questions.iter().zip(answers).enumerate() {
            tally.questions += 1;
            tally.feasible += u64::from(feasible);
            let reach = REACHES[number % REACHES.len()];
            if let Err(what) = judge_one(&index, question, model, feasible, reach, tally) {
                return Some(format!("{question:?} under {model:?}: {what}"));
            }
        }
    }
    None
}

fn judge_one(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    feasible: bool,
    reach: u32,
    tally: &mut Tally,
) -> Result<(), String> {
    let options = Options { reach, ..Options::default() };
    let trace = index.trace();
    match decide(index, question, model, options).map_err(|error| error.to_string())? {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(index, question, model);
            check_schedule(trace, question, model, &schedule)
                .map_err(|fault| format!("schedule {schedule:?}: {fault}"))?;
            if !feasible {
                return Err("the checker accepts a schedule that the oracle does not know".to_owned());
            }
            let simple = simplify(index, &question.named(), &schedule);
            check_schedule(trace, question, model, &simple)
                .map_err(|fault| format!("simplified {schedule:?} to {simple:?}: {fault}"))?;
            if switches(trace, &simple) > switches(trace, &schedule) {
                return Err(format!("{simple:?} is no simpler than {schedule:?}"));
            }
            borrowed_refutation(trace, question, model, tally)?;
            mutated_schedules(trace, question, model, &schedule, tally)
        }
        Verdict::Infeasible(refutation) => {
            if feasible {
                return Err(format!("refuted, but the oracle knows a schedule: {refutation:?}"));
            }
            tally.splits += u64::from(refutation.steps.iter().any(|step| matches!(step, Step::Split { .. })));
            check_refutation(trace, question, model, &refutation)
                .map_err(|fault| format!("{fault}: {refutation:?}"))?;
            mutated_refutations(trace, question, model, &refutation, tally)?;
            tally.latest = Some(refutation);
            Ok(())
        }
        Verdict::Unknown { .. } => Err("unknown".to_owned()),
    }
}

fn switches(trace: &Trace, schedule: &[EventId]) -> usize {
    schedule.windows(2).filter(|pair| trace.thread(pair[0]) != trace.thread(pair[1])).count()
}

/// Schedules with an event dropped or two swapped. A mutant can be an answer too; but then the order it
/// puts events in must be legal, which the checker decides again from the start: what must never
/// happen is that it accepts an event twice or out of its thread's order.
fn mutated_schedules(
    trace: &Trace,
    question: &Question,
    model: Model,
    schedule: &[EventId],
    tally: &mut Tally,
) -> Result<(), String> {
    if let Some(&last) = schedule.last() {
        let twice: Vec<EventId> = schedule.iter().copied().chain([last]).collect();
        tally.mutants += 1;
        if check_schedule(trace, question, model, &twice).is_ok() {
            return Err(format!("the checker accepts an event twice: {twice:?}"));
        }
    }
    for index in 1..schedule.len() {
        if trace.thread(schedule[index - 1]) == trace.thread(schedule[index]) {
            let mut swapped = schedule.to_vec();
            swapped.swap(index - 1, index);
            tally.mutants += 1;
            if check_schedule(trace, question, model, &swapped).is_ok() {
                return Err(format!("the checker accepts a thread out of order: {swapped:?}"));
            }
        }
    }
    Ok(())
}

/// What refutes one question must not be accepted for one that has an answer.
fn borrowed_refutation(
    trace: &Trace,
    question: &Question,
    model: Model,
    tally: &mut Tally,
) -> Result<(), String> {
    let Some(borrowed) = &tally.latest else { return Ok(()) };
    tally.mutants += 1;
    match check_refutation(trace, question, model, borrowed) {
        Ok(()) => Err(format!("the checker accepts a refutation of another question: {borrowed:?}")),
        Err(_) => Ok(()),
    }
}

/// Refutations that cannot hold, whatever the trace: scopes that do not end, cases or ends left out, steps after the end.
/// And one whose steps are dropped, so that its cycle rests on nothing.
fn mutated_refutations(
    trace: &Trace,
    question: &Question,
    model: Model,
    refutation: &Refutation,
    tally: &mut Tally,
) -> Result<(), String> {
    let steps = &refutation.steps;
    // Another step each time.
    let at = tally.mutants as usize % steps.len();
    let mut forged = vec![steps[..at].to_vec(), [steps, &steps[at..]].concat()];
    if !matches!(steps[at], Step::Order { .. }) {
        forged.push([&steps[..at], &steps[at + 1..]].concat());
        forged.push([&steps[..at], &[Step::End { end: End::EveryCase }], &steps[at..]].concat());
    }
    if let [Step::Order { .. }, .., Step::End { end: End::Cycle(cycle) }] = &steps[..] {
        let reversed = cycle.iter().rev().copied().collect();
        forged.push(vec![Step::End { end: End::Cycle(reversed) }]);
    }
    for steps in forged {
        tally.mutants += 1;
        let mutant = Refutation { steps };
        if check_refutation(trace, question, model, &mutant).is_ok() {
            return Err(format!("the checker accepts a mutant: {mutant:?}"));
        }
    }
    Ok(())
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn text(trace: &Trace) -> String {
    let mut bytes = Vec::new();
    trace::text::write(trace, &mut bytes).expect("writing to memory");
    String::from_utf8(bytes).expect("text is UTF-8")
}

#[test]
fn engine_agrees_with_the_oracle() {
    let (from, seeds) = (setting("FORETELL_FUZZ_FROM", 0), setting("FORETELL_FUZZ_SEEDS", 300));
    let mut tally = Tally::default();
    for seed in from..from + seeds {
        let trace =
            generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
        if judge(&trace, models(seed), &mut tally).is_some() {
            let small = generate::shrink(&trace, |smaller| {
                judge(smaller, models(seed), &mut Tally::default()).is_some()
            });
            let found = judge(&small, models(seed), &mut Tally::default());
            if let Ok(folder) = std::env::var("FORETELL_FUZZ_KEEP") {
                std::fs::write(format!("{folder}/seed-{seed}.std"), text(&small)).expect("keeping the trace");
            }
            panic!("seed {seed}: {}\n{}", found.unwrap_or_default(), text(&small));
        }
    }
    println!(
        "{} traces (seeds {from} to {}), {} questions, {} feasible, {} refuted by cases, {} mutants refused, no disagreement",
        tally.traces,
        from + seeds - 1,
        tally.questions,
        tally.feasible,
        tally.splits,
        tally.mutants
    );
}

#[test]
fn engine_agrees_with_the_oracle_about_memory_orders() {
    let (from, seeds) = (setting("FORETELL_FUZZ_FROM", 0), setting("FORETELL_FUZZ_SEEDS", 3000));
    let (mut tally, mut by_order) = (Tally::default(), 0);
    for seed in from..from + seeds {
        let trace = generate::tiny_with_memory_orders(seed);
        let before = tally.feasible;
        if judge_races(&trace, models(seed), &mut tally).is_some() {
            let fails = |smaller: &Trace| judge_races(smaller, models(seed), &mut Tally::default());
            let small = generate::shrink(&trace, |smaller| fails(smaller).is_some());
            if let Ok(folder) = std::env::var("FORETELL_FUZZ_KEEP") {
                std::fs::write(format!("{folder}/order-{seed}.std"), text(&small))
                    .expect("keeping the trace");
            }
            panic!("seed {seed}: {}\n{}", fails(&small).unwrap_or_default(), text(&small));
        }
        let mut sequential = Tally::default();
        let strong = trace.without_memory_orders();
        assert_eq!(judge_races(&strong, models(seed), &mut sequential), None, "seed {seed}");
        assert!(sequential.feasible <= tally.feasible - before, "seed {seed}: weaker orders lose a race");
        by_order += tally.feasible - before - sequential.feasible;
    }
    println!(
        "{} traces (seeds {from} to {}), {} questions, {} feasible, {by_order} of them because of memory orders, no disagreement",
        tally.traces,
        from + seeds - 1,
        tally.questions,
        tally.feasible
    );
    assert!(by_order * 20 > seeds, "only {by_order} races because of memory orders");
}

/// What the search takes for granted about the order of two events, no schedule of a race contradicts.
#[test]
fn orders_that_screen_races_are_the_oracle_s() {
    let mut ordered = 0;
    for seed in 0..3000 {
        let trace = generate::tiny_with_memory_orders(seed);
        let index = Index::new(&trace);
        let must = race_order(&index, Model::ReadsFrom);
        let mut questions = oracle::all_questions(&trace);
        questions.retain(|question| matches!(question, Question::Race(..)));
        for (question, feasible) in
            questions.iter().zip(oracle::answer_all(&trace, Model::ReadsFrom, &questions))
        {
            let Question::Race(first, second) = *question else { continue };
            let run_up = must.run_up(&index, second, trace.thread(first));
            let is_ordered = (index.threads().place(first) as u32) < run_up;
            assert!(!(is_ordered && feasible), "seed {seed}: {question:?}\n{}", text(&trace));
            ordered += usize::from(is_ordered);
        }
    }
    assert!(ordered > 500, "only {ordered} pairs in order");
}

#[test]
fn shared_answers_are_the_oracle_s() {
    let mut asked = 0;
    for seed in 0..400 {
        let trace =
            generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
        let index = Index::new(&trace);
        for model in MODELS {
            let mut witnesses = Witnesses::new(&index, model, Options::default());
            for (read, _, op) in trace.events().filter(|(_, _, op)| op.reads().is_some()) {
                for (source, answer) in witnesses.of_read(read) {
                    let question = Question::Reads(read, Some(source));
                    let expected = oracle::decide(&trace, &question, model).is_some();
                    assert_eq!(
                        matches!(answer, Verdict::Feasible(_)),
                        expected,
                        "seed {seed}, {op:?}: {question:?} {model:?}"
                    );
                    asked += 1;
                }
            }
        }
    }
    assert!(asked > 1000, "only {asked} questions");
}
