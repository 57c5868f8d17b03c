//! Restrictions of a trace: what is looked up where threads stop, against walking through all that happens.

use check::{CutChecker, Model, Question, check_schedule};
use trace::{EventId, ThreadEvents, ThreadId, Trace};

/// Of each trace so many cuts at most.
const CUTS: usize = 3_000;

#[test]
fn a_cut_is_accepted_if_and_only_if_it_is_a_schedule_written_out() {
    let (mut accepted, mut refused) = (0u64, 0u64);
    for seed in 0..1_500 {
        let trace = generate::generate(&generate::Settings::tiny(seed)).expect("tiny settings are valid");
        let checker = CutChecker::new(&trace);
        let threads = ThreadEvents::of(&trace);
        for counts in cuts(&threads).take(CUTS) {
            let schedule = restricted(&trace, &threads, &counts);
            for question in questions(&trace, &threads, &counts) {
                let walked = check_schedule(&trace, &question, Model::ReadsFrom, &schedule);
                let looked_up = checker.check(&question, &counts);
                match (&walked, &looked_up) {
                    (Ok(walked), Ok(looked_up)) => assert_eq!(walked, looked_up, "seed {seed} {counts:?}"),
                    _ => assert_eq!(
                        walked.is_ok(),
                        looked_up.is_ok(),
                        "seed {seed} {counts:?} {question:?}: walked {walked:?}, looked up {looked_up:?}"
                    ),
                }
                *if walked.is_ok() { &mut accepted } else { &mut refused } += 1;
            }
        }
    }
    assert!(accepted > 10_000 && refused > 100_000, "{accepted} accepted, {refused} refused");
}

#[test]
fn what_is_no_cut_of_the_trace_is_refused() {
    let trace = generate::generate(&generate::Settings::tiny(1)).expect("tiny settings are valid");
    let checker = CutChecker::new(&trace);
    let none = Question::Cut(Vec::new());
    let threads = trace.symbols().threads.len();
    assert!(checker.check(&none, &vec![0; threads]).is_ok());
    assert!(checker.check(&none, &vec![0; threads + 1]).is_err());
    assert!(checker.check(&none, &vec![u32::MAX; threads]).is_err());
    let ordered = Question::Order(vec![EventId(0), EventId(1)]);
    assert!(checker.check(&ordered, &vec![0; threads]).is_err());
}

/// Every cut, in the order of counting.
fn cuts(threads: &ThreadEvents) -> impl Iterator<Item = Vec<u32>> {
    let lengths: Vec<u32> =
        (0..threads.threads()).map(|t| threads.of_thread(ThreadId::new(t)).len() as u32).collect();
    let first = Some(vec![0; lengths.len()]);
    std::iter::successors(first, move |counts: &Vec<u32>| {
        let mut next = counts.clone();
        let thread = (0..next.len()).find(|&thread| next[thread] < lengths[thread])?;
        next[..thread].fill(0);
        next[thread] += 1;
        Some(next)
    })
}

fn restricted(trace: &Trace, threads: &ThreadEvents, counts: &[u32]) -> Vec<EventId> {
    let happens = |event: &EventId| (threads.place(*event) as u32) < counts[trace.thread(*event).index()];
    (0..trace.len()).map(EventId::new).filter(happens).collect()
}

/// The cut itself, and every two accesses that threads stand at, whether they conflict or not; and one that no thread stands at.
fn questions(trace: &Trace, threads: &ThreadEvents, counts: &[u32]) -> Vec<Question> {
    let next: Vec<EventId> = (0..counts.len())
        .filter_map(|t| threads.of_thread(ThreadId::new(t)).get(counts[t] as usize).copied())
        .filter(|&event| trace.op(event).access().is_some())
        .collect();
    let mut questions = vec![Question::Cut(counts.to_vec())];
    for (index, &a) in next.iter().enumerate() {
        questions.extend(next[index + 1..].iter().map(|&b| Question::Race(a, b)));
    }
    if let [a, ..] = next[..] {
        questions.push(Question::Race(a, EventId(a.0.saturating_sub(1))));
    }
    questions
}
