//! What a predicate asks of single threads: a conjunct that speaks of one thread alone rules out places of that
//! thread, whatever the others do. If all conjuncts are of that kind the predicate is *conjunctive*, and
//! the least consistent state that fits is found in polynomial time (Garg and Waldecker; paper 2's reference 14):
//! where there is none, none is reachable.

use super::evaluate::{Node, Predicate, Term};
use crate::loset::Loset;

/// By thread and place: whether the conjuncts about this thread alone allow it.
pub(super) struct Places {
    pub(super) allowed: Vec<Vec<bool>>,
    /// There are no other conjuncts.
    pub(super) conjunctive: bool,
}

/// The threads a node speaks of.
enum Speaks {
    Nobody,
    One(usize),
    More,
}

impl Predicate {
    pub(super) fn places(&self, loset: &Loset) -> Places {
        let mut allowed: Vec<Vec<bool>> =
            loset.lengths.iter().map(|&length| vec![true; length as usize + 1]).collect();
        let mut conjunctive = true;
        let mut conjuncts = vec![&self.root];
        let mut state = vec![0; loset.threads()];
        while let Some(node) = conjuncts.pop() {
            match (node, speaks(node)) {
                (Node::Binary("&&", both), _) => conjuncts.extend(both.iter()),
                (_, Speaks::One(thread)) => {
                    for place in 0..=loset.lengths[thread] {
                        state[thread] = place;
                        let holds = self.value(node, &state, &mut []) != 0;
                        allowed[thread][place as usize] &= holds;
                    }
                    state[thread] = 0;
                }
                _ => conjunctive = false,
            }
        }
        Places { allowed, conjunctive }
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

impl Places {
    /// The least consistent state whose every place is allowed, if there is one. Each round raises a thread.
    pub(super) fn least(&self, loset: &Loset) -> Option<Vec<u32>> {
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
            if state == before {
                return Some(state);
            }
        }
    }
}
