//! Questions about a trace, and evidence: the same texts as on the command line, the same JSON.

use candidates::races::RacePair;
use check::{Model, check_refutation, check_schedule};
use order::Index;
use papers::races::{Method, for_each_pair};
use pipeline::answer::answer;
use pipeline::condition::{Modality, ask_condition};
use pipeline::predict::refuse_without_branches;
use pipeline::question::QuestionText;
use pipeline::{Budget, Silent, TraceFile};
use pyo3::PyResult;
use report::{About, ClaimedVerdict, Evidence, Fingerprint, Steps};
use states::{Class, Loset, Predicate, StateLimits};
use trace::Trace;

use crate::{json, refused, wrong};

/// Decides a question; the evidence, as `decide --json` prints it.
pub(crate) fn ask(file: &TraceFile, kind: &str, text: &str, model: &str, budget: u64) -> PyResult<String> {
    let trace = &file.trace;
    let model: Model = model.parse().map_err(wrong)?;
    if model == Model::Branch {
        refuse_without_branches(trace).map_err(refused)?;
    }
    let written = match kind {
        "race" => QuestionText::Race(text),
        "order" => QuestionText::Order(text),
        "deadlock" => QuestionText::Deadlock(text),
        "reads" => QuestionText::Reads(text),
        "cut" => QuestionText::Cut(text),
        _ => return Err(wrong(format!("there is no question `{kind}`"))),
    };
    let question = written.parse(trace).map_err(refused)?;
    let answer = answer(trace, &question, model, &Budget::of_steps(budget)).map_err(refused)?;
    let about = About::new(file.path(), Fingerprint::of(trace));
    json(&answer.evidence(trace, &question, model, about))
}

/// Evidence about this trace, and no other.
fn about(trace: &Trace, text: &str) -> PyResult<(Evidence, check::Question)> {
    let evidence = Evidence::parse(text.as_bytes()).map_err(wrong)?;
    let fingerprint = Fingerprint::of(trace);
    if (evidence.trace.events, &evidence.trace.checksum) != (fingerprint.events, &fingerprint.checksum) {
        return Err(wrong("the evidence is about another trace"));
    }
    let question = evidence.question.about(trace).map_err(wrong)?;
    Ok((evidence, question))
}

/// Verifies evidence.
pub(crate) fn check(trace: &Trace, text: &str) -> PyResult<()> {
    let (evidence, question) = about(trace, text)?;
    match (evidence.verdict, &evidence.schedule, &evidence.refutation) {
        (ClaimedVerdict::Feasible, Some(schedule), _) => {
            let certainty = check_schedule(trace, &question, evidence.model, schedule).map_err(wrong)?;
            match evidence.guaranteed == Some(true) && !certainty.guaranteed {
                true => Err(wrong(
                    "the evidence claims that the program follows its schedule, which is not certain",
                )),
                false => Ok(()),
            }
        }
        (ClaimedVerdict::Infeasible, _, Some(refutation)) => {
            check_refutation(trace, &question, evidence.model, refutation).map_err(wrong)
        }
        (ClaimedVerdict::Unknown, ..) => Err(wrong("an unknown answer has no evidence")),
        _ => Err(wrong("the evidence lacks the schedule or the refutation that its verdict needs")),
    }
}

/// Evidence in words.
pub(crate) fn explain(trace: &Trace, text: &str) -> PyResult<String> {
    // What is explained is verified first: words about a wrong proof would be wrong words.
    check(trace, text)?;
    let (evidence, question) = about(trace, text)?;
    Ok(match (&evidence.schedule, &evidence.refutation) {
        (Some(schedule), _) => report::interleaving(trace, &question, schedule, Steps::All),
        (None, Some(refutation)) => report::explain(trace, &question, evidence.model, refutation),
        (None, None) => String::new(),
    })
}

fn limits(budget: u64) -> StateLimits {
    StateLimits { states: budget, ..StateLimits::default() }
}

/// How many states of a class there are.
pub(crate) fn count_states(trace: &Trace, class: &str, budget: u64) -> PyResult<String> {
    let class = Class::ALL.into_iter().find(|known| known.name() == class);
    let class = class
        .ok_or_else(|| wrong("the classes are consistent, feasible, strong, reachable and lock-free"))?;
    let counted = states::count(trace, &Loset::of(trace), class, limits(budget), |_| {});
    counted.map(|count| count.to_string()).map_err(wrong)
}

/// A schedule to a state in which a condition holds.
pub(crate) fn possibly(trace: &Trace, condition: &str, budget: u64) -> PyResult<Option<Vec<u32>>> {
    let predicate = Predicate::parse(condition, trace).map_err(wrong)?;
    let asked =
        ask_condition(trace, &Loset::of(trace), Modality::Possibly, &predicate, limits(budget), &mut Silent);
    let answered = asked.map_err(refused)?.map_err(wrong)?;
    let schedule = |example: pipeline::condition::Example| {
        example.schedule.iter().map(|event| event.index() as u32).collect()
    };
    Ok(answered.example.filter(|_| answered.holds).map(schedule))
}

/// The pairs that a method other than `poly` reports.
pub(crate) fn reported(trace: &Trace, method: &str) -> PyResult<Vec<(u32, u32)>> {
    let method: Method = method.parse().map_err(wrong)?;
    if method == Method::Poly {
        return Err(wrong("`poly` decides what it reports: ask for its findings"));
    }
    let mut pairs = Vec::new();
    let take = &mut |pair: RacePair| pairs.push((pair.first.index() as u32, pair.second.index() as u32));
    for_each_pair(method, &Index::new(trace), take).map_err(wrong)?;
    Ok(pairs)
}
