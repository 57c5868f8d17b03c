//! A predicate made ready: a tree over tables by thread and place, so that a state costs no look at the trace.

use super::parse::Quantifier;

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
        let mut slots = vec![0; self.slots];
        self.value(&self.root, state, &mut slots) != 0
    }

    pub(super) fn value(&self, node: &Node, state: &[u32], slots: &mut [usize]) -> i64 {
        let thread = |term: Term, slots: &[usize]| match term {
            Term::Thread(thread) => thread,
            Term::Slot(slot) => slots[slot],
        };
        match node {
            Node::Constant(number) => *number,
            Node::Local(table, term) => {
                let thread = thread(*term, slots);
                self.tables[*table][thread][state[thread] as usize]
            }
            Node::Sum(table) => {
                let rows = self.tables[*table].iter().zip(state);
                rows.map(|(row, &place)| row[place as usize]).fold(0, i64::saturating_add)
            }
            Node::LastWriter(writes, term) => {
                i64::from(self.writes[*writes].can_be_last(thread(*term, slots), state))
            }
            Node::Same(a, b) => i64::from(thread(*a, slots) == thread(*b, slots)),
            Node::Not(inner) => i64::from(self.value(inner, state, slots) == 0),
            Node::Negative(inner) => self.value(inner, state, slots).saturating_neg(),
            Node::Binary(sign, both) => self.binary(sign, both, state, slots),
            Node::Quantified(quantifier, slot, body) => {
                let mut holds = |thread| {
                    slots[*slot] = thread;
                    self.value(body, state, slots) != 0
                };
                i64::from(match quantifier {
                    Quantifier::Exists => (0..self.threads).any(&mut holds),
                    Quantifier::ForAll => (0..self.threads).all(&mut holds),
                })
            }
        }
    }

    fn binary(&self, sign: &str, both: &[Node; 2], state: &[u32], slots: &mut [usize]) -> i64 {
        let left = self.value(&both[0], state, slots);
        match sign {
            "&&" if left == 0 => return 0,
            "||" if left != 0 => return 1,
            _ => {}
        }
        let right = self.value(&both[1], state, slots);
        match sign {
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
        }
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
