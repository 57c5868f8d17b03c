//! The engine's answer to a question, once the checker has accepted its evidence.

use check::{Model, Question, Refutation, Split, Step, check_refutation, check_schedule};
use decide::{Index, Options, Verdict, decide};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    Feasible { guaranteed: bool },
    Infeasible { cases: Cases },
}

/// Whether a refutation had to look at cases, or one chain of orders sufficed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cases {
    Needed,
    NotNeeded,
}

impl Judged {
    pub(crate) fn is_feasible(self) -> bool {
        matches!(self, Judged::Feasible { .. })
    }
}

/// Asks the engine and the checker; what is wrong, if the checker refuses or there is no answer.
pub(crate) fn judge(
    index: &Index<'_>,
    question: &Question,
    model: Model,
    options: Options,
) -> Result<Judged, String> {
    let trace = index.trace();
    match decide(index, question, model, options).map_err(|error| error.to_string())? {
        Verdict::Feasible(witness) => {
            let schedule = witness.schedule(index, question, model);
            match check_schedule(trace, question, model, &schedule) {
                Ok(certainty) => Ok(Judged::Feasible { guaranteed: certainty.guaranteed }),
                Err(fault) => Err(format!("the checker refuses the schedule {schedule:?}: {fault}")),
            }
        }
        Verdict::Infeasible(refutation) => match check_refutation(trace, question, model, &refutation) {
            Ok(()) => Ok(Judged::Infeasible { cases: cases(&refutation) }),
            Err(fault) => Err(format!("the checker refuses the refutation {refutation:?}: {fault}")),
        },
        Verdict::Unknown { budget } => Err(format!("no answer within {budget} steps")),
    }
}

/// What a read sees is a case for each source by definition of the question, so that does not count.
fn cases(refutation: &Refutation) -> Cases {
    let is_choice = |step: &Step| matches!(step, Step::Split { split } if !matches!(split, Split::Source(_)));
    if refutation.steps.iter().any(is_choice) { Cases::Needed } else { Cases::NotNeeded }
}
