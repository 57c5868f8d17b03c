//! A predicate made ready: a tree over tables by thread and place, so that a state costs no look at the trace.

use super::parse::Quantifier;
use crate::budget::Exhausted;

/// A condition over global states.
#[derive(Clone, Debug)]
pub struct Predicate {
    pub(super) root: Node,
    pub(super) tables: Vec<Table>,
    pub(super) writes: Vec<Writes>,
    pub(super) threads: usize,
    /// How many threads are bound at once, at most.
    pub(super) slots: usize,
}

/// A number for each thread and place; conditions are 0 or 1.
pub(super) type Table = Vec<Vec<i64>>;

/// Who can have written a variable last: for each thread and place, the last write of it so far, as its place plus one (0:
/// none), and what that write needs of every thread.
#[derive(Clone, Debug)]
pub(super) struct Writes {
    pub(super) last: Vec<Vec<u32>>,
    /// By thread and place plus one of a write.
    pub(super) needs: Vec<Vec<Vec<u32>>>,
}

/// A thread: a certain one, or the one bound to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    Thread(usize),
    Slot(usize),
}

#[derive(Clone, Debug)]
pub(super) enum Node {
    Constant(i64),
    /// What a table has for where a thread stands.
    Local(usize, Term),
    /// The sum of what a table has for all threads.
    Sum(usize),
    /// The thread's last write of a variable can be the last of all.
    LastWriter(usize, Term),
    Same(Term, Term),
    Not(Box<Node>),
    Negative(Box<Node>),
    Binary(&'static str, Box<[Node; 2]>),
    Quantified(Quantifier, usize, Box<Node>),
}

impl Predicate {
    /// Whether it holds in a state.
    pub fn holds(&self, state: &[u32]) -> bool {
        let mut evaluation =
            Evaluation { predicate: self, state, slots: vec![0; self.slots], steps: u64::MAX };
        evaluation.value(&self.root).is_ok_and(|value| value != 0)
    }

    /// Whether it holds in a state, unless that takes more steps than these, or than [`FEWEST_STEPS`] if that is more: nested quantifiers
    /// try every combination of threads.
    pub fn holds_within(&self, state: &[u32], steps: u64) -> Result<bool, Exhausted> {
        let most = steps.max(FEWEST_STEPS);
        let mut evaluation = Evaluation { predicate: self, state, slots: vec![0; self.slots], steps: most };
        let value = evaluation.value(&self.root);
        value.map(|value| value != 0).map_err(|OutOfSteps| Exhausted::Condition(most))
    }

    /// The value of a part without quantifiers.
    pub(super) fn value(&self, node: &Node, state: &[u32]) -> i64 {
        let mut evaluation = Evaluation { predicate: self, state, slots: Vec::new(), steps: u64::MAX };
        evaluation.value(node).unwrap_or(0)
    }
}

/// A condition is evaluated so far, whatever the budget: a few milliseconds.
const FEWEST_STEPS: u64 = 1 << 18;

/// The steps are used up.
struct OutOfSteps;

/// A predicate in a state.
struct Evaluation<'p> {
    predicate: &'p Predicate,
    state: &'p [u32],
    /// The threads bound by the quantifiers around.
    slots: Vec<usize>,
    /// How many threads may still be bound to slots.
    steps: u64,
}

impl Evaluation<'_> {
    fn value(&mut self, node: &Node) -> Result<i64, OutOfSteps> {
        let (predicate, state) = (self.predicate, self.state);
        Ok(match node {
            Node::Constant(number) => *number,
            Node::Local(table, term) => {
                let thread = self.thread(*term);
                predicate.tables[*table][thread][state[thread] as usize]
            }
            Node::Sum(table) => {
                let rows = predicate.tables[*table].iter().zip(state);
                rows.map(|(row, &place)| row[place as usize]).fold(0, i64::saturating_add)
            }
            Node::LastWriter(writes, term) => {
                i64::from(predicate.writes[*writes].can_be_last(self.thread(*term), state))
            }
            Node::Same(a, b) => i64::from(self.thread(*a) == self.thread(*b)),
            Node::Not(inner) => i64::from(self.value(inner)? == 0),
            Node::Negative(inner) => self.value(inner)?.saturating_neg(),
            Node::Binary(sign, both) => self.binary(sign, both)?,
            Node::Quantified(quantifier, slot, body) => {
                // The one that settles it: an example, or a counterexample.
                let settles = *quantifier == Quantifier::Exists;
                for thread in 0..predicate.threads {
                    self.steps = self.steps.checked_sub(1).ok_or(OutOfSteps)?;
                    self.slots[*slot] = thread;
                    if (self.value(body)? != 0) == settles {
                        return Ok(i64::from(settles));
                    }
                }
                i64::from(!settles)
            }
        })
    }

    fn thread(&self, term: Term) -> usize {
        match term {
            Term::Thread(thread) => thread,
            Term::Slot(slot) => self.slots[slot],
        }
    }

    fn binary(&mut self, sign: &str, both: &[Node; 2]) -> Result<i64, OutOfSteps> {
        let left = self.value(&both[0])?;
        match sign {
            "&&" if left == 0 => return Ok(0),
            "||" if left != 0 => return Ok(1),
            _ => {}
        }
        let right = self.value(&both[1])?;
        Ok(match sign {
            "&&" | "||" => i64::from(right != 0),
            "==" => i64::from(left == right),
            "!=" => i64::from(left != right),
            "<" => i64::from(left < right),
            "<=" => i64::from(left <= right),
            ">" => i64::from(left > right),
            ">=" => i64::from(left >= right),
            "+" => left.saturating_add(right),
            "-" => left.saturating_sub(right),
            "*" => left.saturating_mul(right),
            _ => unreachable!("the grammar has no operator {sign}"),
        })
    }
}

impl Writes {
    /// Whether no write of another thread in the state happened after this thread's last one.
    fn can_be_last(&self, thread: usize, state: &[u32]) -> bool {
        let own = self.last[thread][state[thread] as usize];
        own > 0
            && (0..state.len()).filter(|&other| other != thread).all(|other| {
                let last = self.last[other][state[other] as usize];
                last == 0 || self.needs[other][last as usize - 1][thread] < own
            })
    }
}
