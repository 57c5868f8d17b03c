//! Races between the use of memory and its allocation or freeing, because of memory orders.
//!
//! Where every read must see what it saw, a use that can come on the wrong side of an allocation or a free is an order violation
//! ([`crate::orders`]). What is left is ordered only by reads that do not synchronise: a pointer published by a relaxed store, or
//! a reference count without a release. By the rules of C, C++ and Rust such an order does not hold for the memory itself, so
//! allocating and freeing race with the use as a write would.
//!
//! Promise: sound and complete for pairs that [`must_order`] puts in order under `rf`, but for the patterns counted as unknown.
//! Nothing is looked for under other models, which bind no read for its value alone. Cost: linear, and two comparisons for each use.

use check::{Model, Question};
use decide::{Index, must_order, race_order};
use trace::{EventId, LocationId};

use crate::families::{Families, FamilyId};
use crate::lives::{Life, lives};
use crate::orders::Counts;
use crate::pattern_search::{Instance, PatternSearch, ask};
use crate::{Object, PatternLimits, Remarks, Report, SearchSettings};

/// A block, or its like, and the places of the two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Pattern {
    block: FamilyId,
    sites: [LocationId; 2],
}

/// Finds uses of memory that race with its allocation or freeing, one for each pattern.
pub fn search(
    index: &Index<'_>,
    settings: SearchSettings,
    limits: PatternLimits,
    report: &mut dyn FnMut(Report),
) -> Counts {
    let trace = index.trace();
    let mut counts = Counts::default();
    if trace.is_sequential() || settings.model != Model::ReadsFrom {
        return counts;
    }
    let families = Families::of(trace);
    let mut asking = PatternSearch::new(index, settings, limits, report);
    for life in lives(trace).iter().take_while(|_| !index.bounds().are_reached()) {
        for pair in pairs(index, life) {
            counts.pairs += 1;
            if !is_by_memory_order(index, settings.model, pair) {
                counts.ordered += 1;
                continue;
            }
            let sites = pair.map(|event| trace.location(event));
            let pattern = asking.pattern(Pattern { block: families.of_block(life.block), sites });
            if asking.is_settled(pattern) {
                continue;
            }
            let [first, second] = pair;
            let object = Object::Named(trace.symbols().block(life.block).to_owned());
            let (question, events) = (Question::Race(first, second), vec![Some(first), Some(second)]);
            asking.ask(pattern, Instance { question, events, object, remarks: Remarks::default() });
        }
    }
    asking.second_look(ask);
    Counts { tally: asking.finish(), ..counts }
}

/// The uses of a life by other threads than the one that allocates or frees, with that, in the order of the trace.
fn pairs<'a>(index: &'a Index<'_>, life: &'a Life) -> impl Iterator<Item = [EventId; 2]> + use<'a> {
    let ends = std::iter::once(life.allocate).chain(life.free);
    ends.flat_map(move |end| {
        let thread = index.trace().thread(end);
        let others = life.uses.iter().filter(move |&&access| index.trace().thread(access) != thread);
        others.map(move |&access| [end.min(access), end.max(access)])
    })
}

/// Whether two events come in one order if every read sees what it saw, but not by what synchronises.
fn is_by_memory_order(index: &Index<'_>, model: Model, [first, second]: [EventId; 2]) -> bool {
    must_order(index, model).precedes(index, first, second)
        && !race_order(index, model).precedes(index, first, second)
}
