//! What our methods report, and what is true, as sets of racy events: the later ones of racing pairs.

use std::collections::BTreeSet;

use candidates::races::syncp::Syncp;
use candidates::races::{RacePair, poly};
use candidates::{Report, SearchSettings};
use check::{Model, Question};
use decide::{Index, Options};
use papers::races::{Method, hb, lockset};
use trace::{EventId, Trace};

pub(crate) type Racy = BTreeSet<EventId>;

/// What a method reports.
pub(crate) fn racy(method: Method, trace: &Trace) -> Racy {
    let later = |pair: RacePair| pair.second;
    match method {
        Method::Hb => hb::races(trace).map(later).collect(),
        Method::Lockset => lockset::races(trace).map(later).collect(),
        Method::Syncp => Syncp::new(&Index::new(trace)).races().map(|race| race.pair.second).collect(),
        Method::Poly => decided(trace).expect("nothing unknown"),
        Method::Cp | Method::Ucg => unreachable!("no engine of RAPID is compared with it"),
    }
}

/// The racy events there are, by the engine; none if it left a pair unknown.
pub(crate) fn decided(trace: &Trace) -> Option<Racy> {
    let settings = SearchSettings { model: Model::ReadsFrom, options: Options::default() };
    let mut racy = Racy::new();
    let funnel = poly::races(&Index::new(trace), settings, &mut |report| {
        if let Report::Bug(found) = report {
            racy.extend(found.question.named().into_iter().max());
        }
    });
    (funnel.unknown == 0).then_some(racy)
}

/// The racy events there are, by brute force.
pub(crate) fn true_ones(trace: &Trace) -> Racy {
    let pairs: Vec<RacePair> = lockset::pairs(trace).collect();
    let questions: Vec<Question> = pairs.iter().map(|pair| Question::Race(pair.first, pair.second)).collect();
    let feasible = oracle::answer_all(trace, Model::ReadsFrom, &questions);
    pairs.iter().zip(feasible).filter(|(_, feasible)| *feasible).map(|(pair, _)| pair.second).collect()
}
