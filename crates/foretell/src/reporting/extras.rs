//! What a page shows besides the findings: why other candidates cannot happen, and the states of a small trace.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use candidates::races::lockset;
use check::{Model, Question, Reason, Refutation, check_refutation};
use decide::{Options, Setup, Verdict};
use report::{
    Context, Extras, Finding, FindingKind, Lattice, ModelName, Predictions, RuledOut, explain,
    in_one_sentence, shown,
};
use states::{Class, Limits, Loset};
use trace::{LocationId, Trace};

/// In a longer trace no candidates are looked for: that would take longer than the search itself.
const LONGEST: usize = 1_000_000;
/// Pairs of events looked at, pairs of places asked about, and answers shown.
const LOOKED_AT: usize = 200_000;
const ASKED: usize = 60;
const SHOWN: usize = 20;
/// Steps for each question.
const BUDGET: u64 = 500_000;
/// An explanation longer than this is told in one sentence only.
const LONGEST_EXPLANATION: usize = 12_000;
/// States of a lattice that a person can take in.
const STATES: usize = 240;

/// Gathers them, within bounds.
pub(super) fn gather(context: &Context<'_>, predictions: &Predictions) -> Extras {
    let trace = context.trace;
    let ruled_out = match trace.len() <= LONGEST {
        true => ruled_out(context, &predictions.findings),
        false => Vec::new(),
    };
    Extras { ruled_out, lattice: lattice(trace) }
}

/// Pairs of accesses without a common lock that cannot race all the same: those whose reason is least obvious first.
fn ruled_out(context: &Context<'_>, findings: &[Finding]) -> Vec<RuledOut> {
    let trace = context.trace;
    let setup = Setup::new(trace);
    let races = findings.iter().filter(|finding| finding.kind == FindingKind::Race);
    let mut places: BTreeSet<[LocationId; 2]> = BTreeSet::new();
    for finding in races {
        let at: Vec<LocationId> = finding.named_events().map(|event| trace.location(event)).collect();
        if let [a, b] = at[..] {
            places.insert([a.min(b), a.max(b)]);
        }
    }
    let mut answers = Vec::new();
    let mut asked = 0;
    for pair in lockset::pairs(trace).take(LOOKED_AT) {
        let (a, b) = (trace.location(pair.first), trace.location(pair.second));
        if asked == ASKED {
            break;
        }
        if !places.insert([a.min(b), a.max(b)]) {
            continue;
        }
        asked += 1;
        let question = Question::Race(pair.first, pair.second);
        let options = Options { budget: BUDGET, ..Options::default() };
        let verdict = decide::decide(&setup, &question, Model::ReadsFrom, options);
        let Ok(Verdict::Infeasible(refutation)) = verdict else { continue };
        if check_refutation(trace, &question, Model::ReadsFrom, &refutation).is_ok() {
            answers.push((question, refutation));
        }
    }
    answers.sort_by_key(|(_, refutation)| std::cmp::Reverse(subtlety(refutation)));
    answers.truncate(SHOWN);
    answers.iter().map(|(question, refutation)| told(context, question, refutation)).collect()
}

fn told(context: &Context<'_>, question: &Question, refutation: &Refutation) -> RuledOut {
    let (trace, words) = (context.trace, context.words());
    let reason = in_one_sentence(trace, question, ModelName::Rf, refutation);
    let explanation = explain(trace, question, ModelName::Rf, refutation);
    let short = explanation.len() <= LONGEST_EXPLANATION;
    let events = question.named();
    let variable = events.first().and_then(|&event| trace.op(event).access()).map(|access| access.variable);
    RuledOut {
        kind: FindingKind::Race.name(),
        object: variable.map(|variable| shown(trace.symbols().variable(variable))).unwrap_or_default(),
        statement: words.impossible(question),
        explanation: if short { explanation } else { format!("{reason}.\n") },
        reason,
        locations: events.iter().map(|&event| words.location(event)).collect(),
    }
}

/// How much there is to a refutation: more than forks and joins, and cases.
fn subtlety(refutation: &Refutation) -> usize {
    match refutation {
        Refutation::Chain { steps, .. } => {
            steps.iter().filter(|step| !matches!(step.because, Reason::Fork | Reason::Join)).count()
        }
        Refutation::Split { steps, cases, .. } => steps.len() + 1 + cases.iter().map(subtlety).sum::<usize>(),
    }
}

/// All reachable states, if they are few.
fn lattice(trace: &Trace) -> Option<Lattice> {
    if trace.is_empty() || trace.len() > STATES {
        return None;
    }
    let mut states = Vec::new();
    let limits = Limits { states: 100 * STATES as u64, steps: BUDGET };
    let walked = states::walk(trace, &Loset::of(trace), Class::Reachable, limits, |state| {
        states.push(state.to_vec());
        if states.len() > STATES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    matches!(walked, Ok(ControlFlow::Continue(()))).then_some(Lattice { states })
}
