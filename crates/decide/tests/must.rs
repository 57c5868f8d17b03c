//! Orders that are said to hold in every schedule do, by the oracle.

use check::{Model, Question};
use decide::{Index, must_order};
use trace::{EventId, Trace};

fn read(text: &str) -> Trace {
    let lines: Vec<String> = text.lines().map(|line| format!("{}|here", line.trim())).collect();
    trace::text::read(lines.join("\n").as_bytes()).expect("a legal trace")
}

fn precedes(trace: &Trace, first: u32, second: u32) -> bool {
    let index = Index::new(trace);
    must_order(&index, Model::Sync).precedes(&index, EventId(first), EventId(second))
}

#[test]
fn no_schedule_has_them_the_other_way_round() {
    let (mut asked, mut of_takes) = (0, 0);
    for seed in 0..3_000 {
        let trace =
            generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
        for model in [Model::Sync, Model::ReadsFrom] {
            let index = Index::new(&trace);
            let must = must_order(&index, model);
            let takes = |event: EventId| matches!(trace.op(event), trace::Op::Take(_));
            let events = || (0..trace.len()).map(EventId::new);
            // A sample that has all orders of takes.
            let sampled = |a: EventId, b: EventId| {
                takes(b) || (a.index() * 7 + b.index() + seed as usize).is_multiple_of(11)
            };
            let questions: Vec<Question> = events()
                .flat_map(|a| events().map(move |b| (a, b)))
                .filter(|&(a, b)| {
                    trace.thread(a) != trace.thread(b) && sampled(a, b) && must.precedes(&index, a, b)
                })
                .map(|(a, b)| Question::Order(vec![b, a]))
                .collect();
            of_takes += questions.iter().filter(|question| takes(question.named()[0])).count();
            asked += questions.len();
            let answers = oracle::answer_all(&trace, model, &questions);
            let wrong = questions.iter().zip(answers).find(|(_, feasible)| *feasible);
            // A read that is asked about may see something else, so what it saw need not come first.
            let is_read =
                |question: &Question| question.named().iter().any(|&event| trace.op(event).reads().is_some());
            assert!(wrong.is_none_or(|(question, _)| is_read(question)), "seed {seed} {model:?}: {wrong:?}");
        }
    }
    assert!(asked > 4_000 && of_takes > 1_000, "{asked} orders, {of_takes} of takes");
}

#[test]
fn a_take_needs_the_posts_that_nobody_else_can_make() {
    let trace = read("T1|post(s)\nT2|take(s)\nT1|post(s)\nT2|take(s)\nT1|w(x)");
    let text: Vec<bool> = [(0, 1), (0, 3), (2, 3), (2, 1)].map(|(a, b)| precedes(&trace, a, b)).to_vec();
    assert_eq!(
        text,
        [true, true, true, false],
        "the second take needs the second post, the first only the first"
    );
    let two = read("T1|post(s)\nT3|post(s)\nT2|take(s)\nT2|take(s)");
    assert!(!precedes(&two, 0, 2) && !precedes(&two, 1, 2), "either will do for the first");
    assert!(precedes(&two, 0, 3) && precedes(&two, 1, 3), "the second needs both");
}

#[test]
fn what_comes_after_a_take_cannot_supply_it() {
    // The second post of T1 waits for T2, as after a barrier: only the first is left for the take.
    let trace = read(
        "T1|post(s)
         T2|take(s)
         T2|signal(c)
         T1|wait(c)
         T1|post(s)
         T3|post(s)
         T2|take(s)",
    );
    assert!(!precedes(&trace, 0, 1), "T3 may have posted first");
    assert!(precedes(&trace, 0, 6), "two of the three");
}
