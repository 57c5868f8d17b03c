//! Everything the engine answers about random tiny traces survives the way through files, can be told in
//! words, and stays verifiable; what is changed on the way is refused, or true all the same.

use check::{
    End, Model, Question, Reason, Refutation, RefutationFault, Split, Step, StepProblem, check_refutation,
    check_schedule,
};
use decide::{Index, Options, Verdict, decide};
use report::{
    About, ClaimedVerdict, Evidence, EvidenceError, Fingerprint, SCHEMA, ScheduleFile, Steps, event_line,
    explain, in_one_sentence, interleaving,
};
use trace::{EventId, Trace};

const MODELS: [Model; 3] = [Model::Sync, Model::ReadsFrom, Model::Branch];

fn tiny(seed: u64) -> Trace {
    generate::generate(&generate::TraceSettings::tiny(seed)).expect("tiny settings are valid")
}

fn answer(index: &Index<'_>, question: &Question, model: Model) -> Evidence {
    let trace = index.trace();
    let mut evidence = Evidence {
        schema: SCHEMA,
        verdict: ClaimedVerdict::Infeasible,
        guaranteed: None,
        model,
        schedule: None,
        refutation: None,
        question: question.written(trace),
        trace: About::new(Some("t.std".to_owned()), Fingerprint::of(trace)),
        budget: None,
    };
    match decide(index, question, model, Options::default()).expect("it makes sense") {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(index, question, model);
            let certainty = check_schedule(trace, question, model, &schedule).expect("it holds");
            evidence.verdict = ClaimedVerdict::Feasible;
            evidence.guaranteed = Some(certainty.guaranteed);
            evidence.schedule = Some(schedule);
        }
        Verdict::Infeasible(refutation) => evidence.refutation = Some(refutation),
        Verdict::Unknown { .. } => panic!("tiny questions have answers"),
    }
    evidence
}

/// Whether the checker accepts evidence, whatever is in it.
fn holds(trace: &Trace, evidence: &Evidence) -> bool {
    let Ok(question) = evidence.question.about(trace) else { return false };
    if question.validate(trace).is_err() {
        return false;
    }
    let model = evidence.model;
    match (evidence.verdict, &evidence.schedule, &evidence.refutation) {
        (ClaimedVerdict::Feasible, Some(schedule), None) => check_schedule(trace, &question, model, schedule)
            .is_ok_and(|certainty| Some(certainty.guaranteed) == evidence.guaranteed),
        (ClaimedVerdict::Infeasible, None, Some(refutation)) => {
            check_refutation(trace, &question, model, refutation).is_ok()
        }
        _ => false,
    }
}

/// Numbers that look random and are the same on every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

#[derive(Default)]
struct Tally {
    feasible: usize,
    infeasible: usize,
    split: usize,
    mutants: usize,
    refused: usize,
}

#[test]
fn evidence_travels() {
    let mut tally = Tally::default();
    for seed in 0..200 {
        let trace = tiny(seed);
        let index = Index::new(&trace);
        let questions = oracle::all_questions(&trace);
        let mut rng = Rng(seed);
        for _ in 0..20.min(questions.len()) {
            let question = &questions[rng.below(questions.len())];
            let model = MODELS[rng.below(3)];
            let evidence = answer(&index, question, model);
            travels(&trace, question, &evidence, &mut tally);
            mutants(&trace, &evidence, &mut rng, &mut tally);
        }
    }
    let Tally { feasible, infeasible, split, mutants, refused } = tally;
    assert!(feasible > 500 && infeasible > 500 && split > 10, "{feasible} {infeasible} {split}");
    assert!(refused * 2 > mutants, "{refused} of {mutants}");
}

fn travels(trace: &Trace, question: &Question, evidence: &Evidence, tally: &mut Tally) {
    let json = serde_json::to_vec(evidence).expect("it is JSON");
    let back = Evidence::parse(&json).unwrap_or_else(|error| panic!("{error}: {evidence:?}"));
    assert_eq!(back, *evidence);
    assert!(holds(trace, &back), "{evidence:?}");
    assert_eq!(back.question.about(trace).as_ref(), Ok(question), "the question is the same");
    match (&evidence.schedule, &evidence.refutation) {
        (Some(schedule), _) => {
            tally.feasible += 1;
            let table = interleaving(trace, question, schedule, Steps::All);
            assert!(table.lines().count() > schedule.len(), "{table}");
            let guaranteed = evidence.guaranteed == Some(true);
            let about = evidence.trace.clone();
            let file =
                ScheduleFile::new(trace, question, evidence.model, about, guaranteed, schedule).unwrap();
            let back = ScheduleFile::parse(file.to_string().as_bytes());
            let back = back.unwrap_or_else(|error| panic!("{error:?}\n{file}"));
            assert_eq!(back, file);
            assert_eq!(back.contradiction(trace, question).unwrap(), None);
            assert_eq!(back.into_evidence(), *evidence);
        }
        (_, Some(refutation)) => {
            tally.infeasible += 1;
            tally.split +=
                usize::from(refutation.steps.iter().any(|step| matches!(step, Step::Split { .. })));
            let prose = explain(trace, question, evidence.model, refutation);
            assert!(!prose.contains("not shown"), "a hop rests on nothing:\n{prose}");
            assert!(prose.lines().all(|line| line.len() < 120), "{prose}");
            let sentence = in_one_sentence(trace, question, evidence.model, refutation);
            assert!(!sentence.is_empty() && !sentence.contains('\n'));
        }
        (None, None) => panic!("no evidence"),
    }
}

/// Evidence with a number replaced. The checker must neither panic nor accept what the oracle denies.
fn mutants(trace: &Trace, evidence: &Evidence, rng: &mut Rng, tally: &mut Tally) {
    let json = serde_json::to_string(evidence).expect("it is JSON");
    for _ in 0..4 {
        let Some(mutant) = with_another_number(&json, rng) else { return };
        tally.mutants += 1;
        let Ok(evidence) = Evidence::parse(mutant.as_bytes()) else {
            tally.refused += 1;
            continue;
        };
        if !holds(trace, &evidence) {
            tally.refused += 1;
            continue;
        }
        let question = evidence.question.about(trace).expect("it holds");
        let feasible = oracle::answer_all(trace, evidence.model, &[question])[0];
        assert_eq!(feasible, evidence.verdict == ClaimedVerdict::Feasible, "accepted, but wrong: {mutant}");
    }
}

fn with_another_number(json: &str, rng: &mut Rng) -> Option<String> {
    let bytes = json.as_bytes();
    let numbers: Vec<usize> = (1..bytes.len())
        .filter(|&at| bytes[at].is_ascii_digit() && matches!(bytes[at - 1], b'[' | b',' | b':'))
        .collect();
    let start = *numbers.get(rng.below(numbers.len()))?;
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match rng.below(8) {
        0 => u64::from(u32::MAX),
        1 => 1 << 40,
        _ => rng.below(20) as u64,
    };
    Some(format!("{}{number}{}", &json[..start], &json[start + length..]))
}

/// Truncated and corrupt bytes give an error, never a panic.
#[test]
fn damaged_files_are_refused() {
    let mut rng = Rng(1);
    for seed in 0..30 {
        let trace = tiny(seed);
        let index = Index::new(&trace);
        let questions = oracle::all_questions(&trace);
        let question = &questions[rng.below(questions.len())];
        let evidence = answer(&index, question, Model::ReadsFrom);
        let json = serde_json::to_vec(&evidence).expect("it is JSON");
        for length in 0..json.len() {
            assert!(Evidence::parse(&json[..length]).is_err(), "cut at {length}");
        }
        for _ in 0..200 {
            let mut broken = json.clone();
            let at = rng.below(broken.len());
            broken[at] = rng.below(256) as u8;
            if let Ok(evidence) = Evidence::parse(&broken) {
                holds(&trace, &evidence);
            }
        }
        let Some(schedule) = &evidence.schedule else { continue };
        let about = evidence.trace.clone();
        let file =
            ScheduleFile::new(&trace, question, Model::ReadsFrom, about, true, schedule).unwrap().to_string();
        for _ in 0..200 {
            let mut broken = file.clone().into_bytes();
            let at = rng.below(broken.len());
            broken[at] = rng.below(256) as u8;
            if let Ok(file) = ScheduleFile::parse(&broken) {
                let _ = file.contradiction(&trace, question);
                holds(&trace, &file.into_evidence());
            }
        }
    }
}

#[test]
fn event_lines_are_those_of_text_traces() {
    for seed in 0..100 {
        let trace = tiny(seed);
        let mut text = Vec::new();
        trace::text::write(&trace, &mut text).expect("writing to memory");
        let text = String::from_utf8(text).expect("text is UTF-8");
        let written: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        let ours: Vec<String> =
            (0..trace.len()).map(|event| event_line(&trace, EventId::new(event))).collect();
        assert_eq!(ours, written);
    }
}

fn fingerprint(text: &str) -> Fingerprint {
    Fingerprint::of(&trace::text::read(text.as_bytes()).expect("it is a trace"))
}

#[test]
fn the_fingerprint_is_of_the_events_and_permits() {
    let plain = fingerprint("T1|w(x)|a.c:1\n");
    // As `crc32` prints for a file with this line.
    assert_eq!((plain.events, plain.checksum.as_str()), (1, CRC_OF_ONE_LINE));
    assert_eq!(plain, fingerprint("#! metadata {\"directory\":\"/srv\"}\n# a comment\nT1|w(x)|a.c:1\n"));
    for other in ["T2|w(x)|a.c:1\n", "T1|r(x)|a.c:1\n", "T1|w(y)|a.c:1\n", "T1|w(x)|a.c:2\n"] {
        assert_ne!(plain, fingerprint(other), "{other}");
    }
    let permits = |n: u32| fingerprint(&format!("#! semaphore s {n}\nT1|take(s)|a.c:1\n"));
    assert_ne!(permits(1), permits(2));
    assert_eq!(permits(1), fingerprint("T1|take(s)|a.c:1\n"), "one permit is what the take needs");
    let odd = fingerprint("#! threads as-written\n%23T|w(a%7Cb)|100%25\n");
    assert_eq!(odd.events, 1);
}

const CRC_OF_ONE_LINE: &str = "crc32:8214f8b8";

/// A refutation of an order in a circle, so many splits deep: each asks needlessly whether an event happens.
fn deep(splits: usize) -> (Trace, Question, Refutation) {
    let trace = trace::text::read("T1|w(x)|1\nT1|w(x)|2\n".as_bytes()).expect("it is a trace");
    let (x, y) = (EventId(0), EventId(1));
    let question = Question::Order(vec![y, x]);
    let mut steps = vec![Step::Order { before: (y, x), because: Reason::Asked }];
    let circle = || Step::End { end: End::Cycle(vec![x, y]) };
    for _ in 0..splits {
        steps.extend([Step::Split { split: Split::Happens(y) }, Step::Case { case: 0 }]);
    }
    steps.push(circle());
    for _ in 0..splits {
        steps.extend([Step::Case { case: 1 }, circle(), Step::End { end: End::EveryCase }]);
    }
    (trace, question, Refutation { steps })
}

/// Depth costs no stack: not to check, write, read, explain, compare or drop.
#[test]
fn deep_refutations_need_no_stack() {
    const SPLITS: usize = 20_000;
    let work = || {
        let (trace, question, refutation) = deep(SPLITS);
        assert_eq!(check_refutation(&trace, &question, Model::Sync, &refutation), Ok(()));
        let mut forged = refutation.clone();
        forged.steps[2 * SPLITS + 1] = Step::End { end: End::CannotHappen(EventId(1)) };
        let innermost = RefutationFault::Step { step: 2 * SPLITS + 1, problem: StepProblem::NotImpossible };
        assert_eq!(check_refutation(&trace, &question, Model::Sync, &forged), Err(innermost));
        let evidence = Evidence {
            schema: SCHEMA,
            verdict: ClaimedVerdict::Infeasible,
            guaranteed: None,
            model: Model::Sync,
            schedule: None,
            question: question.written(&trace),
            trace: About::new(None, Fingerprint::of(&trace)),
            budget: None,
            refutation: Some(refutation),
        };
        let json = serde_json::to_vec(&evidence).expect("it is JSON");
        assert_eq!(Evidence::parse(&json).as_ref(), Ok(&evidence));
        let refutation = evidence.refutation.expect("it has one");
        let prose = explain(&trace, &question, Model::Sync, &refutation);
        assert_eq!(prose.matches("Both cases are impossible.").count(), SPLITS);
        let sentence = in_one_sentence(&trace, &question, Model::Sync, &refutation);
        assert_eq!(sentence, "each of 20,001 cases ends in a contradiction");
    };
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(work).expect("it starts");
    worker.join().expect("no overflow");
}

#[test]
fn deep_nesting_is_refused_before_it_is_followed() {
    for nested in [vec![b'['; 1_000_000], br#"{"schema":1,"refutation":{"a":"#.repeat(100_000)] {
        let result = Evidence::parse(&nested);
        assert!(matches!(result, Err(EvidenceError::Json { .. })), "{result:?}");
    }
}
