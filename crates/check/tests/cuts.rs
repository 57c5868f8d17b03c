//! Restrictions of a trace: what is looked up where threads stop, against walking through all that happens.

use check::{CutChecker, Model, Question, Source, check_schedule};
use trace::{EventId, ThreadEvents, ThreadId, Trace};

/// Of each trace so many cuts at most.
const CUTS: usize = 3_000;

#[test]
fn a_cut_is_accepted_if_and_only_if_it_is_a_schedule_written_out() {
    let (mut accepted, mut refused) = (0u64, 0u64);
    for seed in 0..1_500 {
        let trace =
            generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid");
        let checker = CutChecker::new(&trace);
        let threads = ThreadEvents::of(&trace);
        for counts in cuts(&threads).take(CUTS) {
            let schedule = restricted(&trace, &threads, &counts);
            for question in questions(&trace, &threads, &counts) {
                let walked = check_schedule(&trace, &question, Model::ReadsFrom, &schedule);
                let looked_up = checker.check(&question, Model::ReadsFrom, &counts, &[]);
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
    let trace = generate::generate(&generate::TraceSettings::tiny(1)).expect("tiny settings are valid");
    let checker = CutChecker::new(&trace);
    let none = Question::Cut(Vec::new());
    let threads = trace.symbols().threads.len();
    let is_accepted = |question: &Question, counts: &[u32], tail: &[EventId]| {
        checker.check(question, Model::ReadsFrom, counts, tail).is_ok()
    };
    assert!(is_accepted(&none, &vec![0; threads], &[]));
    assert!(!is_accepted(&none, &vec![0; threads + 1], &[]));
    assert!(!is_accepted(&none, &vec![u32::MAX; threads], &[]));
    let ordered = Question::Order(vec![EventId(0), EventId(1)]);
    assert!(!is_accepted(&ordered, &vec![0; threads], &[]));
    assert!(!is_accepted(&none, &vec![0; threads], &[EventId::new(trace.len())]), "no event of the trace");
}

/// Cuts that go on with other events, against the same written out: under every model, for every kind of question.
#[test]
fn a_tail_is_accepted_if_and_only_if_it_is_a_schedule_written_out() {
    let mut random = Random(1);
    let (mut accepted, mut refused, mut uncertain) = ([0u64; 5], [0u64; 5], 0u64);
    for seed in 0..1_500 {
        let trace = match seed % 3 {
            0 => generate::tiny_with_memory_orders(seed),
            _ => generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid"),
        };
        let checker = CutChecker::new(&trace);
        let threads = ThreadEvents::of(&trace);
        let is_schedule = |counts: &Vec<u32>| {
            let question = Question::Cut(counts.clone());
            checker.check(&question, Model::ReadsFrom, counts, &[]).is_ok()
        };
        let cuts: Vec<Vec<u32>> = cuts(&threads).take(CUTS).filter(is_schedule).collect();
        for _ in 0..60 {
            let counts = &cuts[random.below(cuts.len())];
            let (schedule, tail) = continued(&trace, &threads, counts, &mut random);
            let question = random_question(&trace, &threads, &schedule, &mut random);
            for model in Model::ALL {
                if question.is_by_memory_order(model) && !trace.is_sequential() {
                    continue;
                }
                let walked = check_schedule(&trace, &question, model, &schedule);
                let looked_up = checker.check(&question, model, counts, &tail);
                // Of several things that are wrong, either may be named.
                assert_eq!(
                    walked.as_ref().ok(),
                    looked_up.as_ref().ok(),
                    "seed {seed} {counts:?} then {tail:?}: {question:?} {model:?}: {walked:?} {looked_up:?}"
                );
                let kind = kind_of(&question);
                *if walked.is_ok() { &mut accepted[kind] } else { &mut refused[kind] } += 1;
                uncertain += u64::from(walked.is_ok_and(|certainty| !certainty.guaranteed));
            }
        }
    }
    let enough = accepted.iter().chain(&refused).all(|&count| count > 100) && uncertain > 500;
    assert!(enough, "{accepted:?} accepted, {refused:?} refused, {uncertain} uncertain");
}

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

/// A cut written out with events that go on from it, and these events. Now and then one of them cannot happen.
fn continued(
    trace: &Trace,
    threads: &ThreadEvents,
    counts: &[u32],
    random: &mut Random,
) -> (Vec<EventId>, Vec<EventId>) {
    let (mut schedule, mut counts) = (restricted(trace, threads, counts), counts.to_vec());
    let length = schedule.len();
    for _ in 0..random.below(12) {
        if counts.is_empty() {
            break;
        }
        let thread = random.below(counts.len());
        let Some(&next) = threads.of_thread(ThreadId::new(thread)).get(counts[thread] as usize) else {
            continue;
        };
        schedule.push(next);
        counts[thread] += 1;
        let question = Question::Cut(counts.clone());
        if check_schedule(trace, &question, Model::Sync, &schedule).is_err() && random.below(40) > 0 {
            schedule.pop();
            counts[thread] -= 1;
        }
    }
    let tail = schedule[length..].to_vec();
    (schedule, tail)
}

/// A question that the schedule may well answer.
fn random_question(
    trace: &Trace,
    threads: &ThreadEvents,
    schedule: &[EventId],
    random: &mut Random,
) -> Question {
    let mut counts = vec![0u32; threads.threads()];
    schedule.iter().for_each(|&event| counts[trace.thread(event).index()] += 1);
    let all_next = |thread: usize| threads.of_thread(ThreadId::new(thread)).get(counts[thread] as usize);
    let mut next: Vec<EventId> = (0..counts.len()).filter_map(all_next).copied().collect();
    let any = |random: &mut Random| EventId::new(random.below(trace.len()));
    match random.below(6) {
        0 if next.len() > 1 => Question::Race(next[0], next[1 + random.below(next.len() - 1)]),
        1 | 2 if next.len() > 1 => {
            next.retain(|&event| !matches!(trace.op(event), trace::Op::Read(_) | trace::Op::Write(_)));
            let turn = random.below(next.len());
            next.rotate_left(turn);
            next.truncate(2);
            Question::Deadlock(next)
        }
        3 if schedule.len() > 1 => {
            let mut places = [random.below(schedule.len()), random.below(schedule.len())];
            if random.below(4) > 0 {
                places.sort_unstable();
            }
            Question::Order(places.into_iter().map(|place| schedule[place]).collect())
        }
        4 => {
            let is_read = |event: &EventId| trace.op(*event).reads().is_some();
            let reads: Vec<EventId> = schedule.iter().copied().filter(is_read).collect();
            let read = reads.get(random.below(reads.len())).copied().unwrap_or_else(|| any(random));
            let source = match random.below(3) {
                0 => None,
                1 => Some(Source::Initial),
                _ => Some(Source::Write(any(random))),
            };
            Question::Reads(read, source)
        }
        _ => Question::Cut(counts),
    }
}

fn kind_of(question: &Question) -> usize {
    match question {
        Question::Race(..) => 0,
        Question::Deadlock(_) => 1,
        Question::Order(_) => 2,
        Question::Reads(..) => 3,
        Question::Cut(_) => 4,
    }
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
