//! What a predicate asks of single threads: a conjunct that speaks of one thread alone rules out places of that
//! thread, whatever the others do. If all conjuncts are of that kind the predicate is *conjunctive*, and
//! the least consistent state that fits is found in polynomial time (Garg and Waldecker; paper 2's reference 14):
//! where there is none, none is reachable.
//!
//! The same goes for a comparison whose greater side rises with one thread alone and whose lesser side only rises
//! (`mark(u, "received") >= mark(t, "sent")`): while it is false, that thread must go on. Such predicates are *linear*.

use super::evaluate::{Node, Predicate, Term};
use super::path::Path;
use crate::loset::Loset;

/// By thread and place: whether the conjuncts about this thread alone allow it.
pub(super) struct Places<'p> {
    pub(super) allowed: Vec<Vec<bool>>,
    /// Conjuncts that name a thread which must go on while they are false.
    pub(super) pushing: Vec<Pushing<'p>>,
    /// How the least state that fits can be found; `None`: there are other conjuncts.
    pub(super) path: Option<Path>,
}

/// While `node` is false, `thread` must go on.
pub(super) struct Pushing<'p> {
    node: &'p Node,
    thread: usize,
}

/// The threads a node speaks of.
enum Speaks {
    Nobody,
    One(usize),
    More,
}

impl Predicate {
    pub(super) fn places(&self, loset: &Loset) -> Places<'_> {
        let mut allowed: Vec<Vec<bool>> =
            loset.lengths.iter().map(|&length| vec![true; length as usize + 1]).collect();
        let (mut pushing, mut path) = (Vec::new(), Some(Path::Conjunctive));
        let mut conjuncts = vec![&self.root];
        let mut state = vec![0; loset.threads()];
        while let Some(node) = conjuncts.pop() {
            match (node, speaks(node)) {
                (Node::Binary("&&", both), _) => conjuncts.extend(both.iter()),
                (_, Speaks::One(thread)) => {
                    for place in 0..=loset.lengths[thread] {
                        state[thread] = place;
                        let holds = self.value(node, &state) != 0;
                        allowed[thread][place as usize] &= holds;
                    }
                    state[thread] = 0;
                }
                _ => match self.pushed_by(node) {
                    Some(thread) => {
                        pushing.push(Pushing { node, thread });
                        path = path.map(|_| Path::Linear);
                    }
                    None => path = None,
                },
            }
        }
        Places { allowed, pushing, path }
    }

    /// The one thread that can make a comparison true, if all the others can only make it false.
    fn pushed_by(&self, node: &Node) -> Option<usize> {
        let Node::Binary(sign, both) = node else { return None };
        let (greater, lesser) = match *sign {
            ">" | ">=" => (&both[0], &both[1]),
            "<" | "<=" => (&both[1], &both[0]),
            _ => return None,
        };
        let Speaks::One(thread) = speaks(greater) else { return None };
        (self.trend(greater).is_rising() && self.trend(lesser).is_rising()).then_some(thread)
    }
}

fn speaks(node: &Node) -> Speaks {
    match node {
        Node::Constant(_) => Speaks::Nobody,
        Node::Local(_, Term::Thread(thread)) => Speaks::One(*thread),
        Node::Local(_, Term::Slot(_))
        | Node::Sum(_)
        | Node::LastWriter(..)
        | Node::Same(..)
        | Node::Quantified(..) => Speaks::More,
        Node::Not(inner) | Node::Negative(inner) => speaks(inner),
        Node::Binary(_, both) => match (speaks(&both[0]), speaks(&both[1])) {
            (Speaks::Nobody, other) | (other, Speaks::Nobody) => other,
            (Speaks::One(a), Speaks::One(b)) if a == b => Speaks::One(a),
            _ => Speaks::More,
        },
    }
}

impl Places<'_> {
    /// The least consistent state whose every place is allowed and whom no conjunct pushes on, if there is one. Each round
    /// raises a thread.
    pub(super) fn least(&self, predicate: &Predicate, loset: &Loset) -> Option<Vec<u32>> {
        let mut state = vec![0; loset.threads()];
        loop {
            let before = state.clone();
            for thread in 0..state.len() {
                let places = state[thread]..=loset.lengths[thread];
                state[thread] = places.into_iter().find(|&p| self.allowed[thread][p as usize])?;
                for (other, &needed) in loset.needs(thread, state[thread]).iter().enumerate() {
                    state[other] = state[other].max(needed);
                }
            }
            for &Pushing { node, thread } in &self.pushing {
                while predicate.value(node, &state) == 0 {
                    if state[thread] == loset.lengths[thread] {
                        return None;
                    }
                    state[thread] += 1;
                }
            }
            if state == before {
                return Some(state);
            }
        }
    }
}
