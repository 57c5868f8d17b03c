//! Which way a part of a predicate can change as events happen, as far as its form and tables tell.

use super::evaluate::{Node, Predicate, Term};

/// How a value can change from a state to a later one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    Constant,
    Rising,
    Falling,
    Either,
}

impl Trend {
    fn reversed(self) -> Trend {
        match self {
            Trend::Rising => Trend::Falling,
            Trend::Falling => Trend::Rising,
            same => same,
        }
    }

    /// Of what rises if both do.
    fn with(self, other: Trend) -> Trend {
        match (self, other) {
            (Trend::Constant, trend) | (trend, Trend::Constant) => trend,
            (a, b) if a == b => a,
            _ => Trend::Either,
        }
    }

    pub(super) fn is_rising(self) -> bool {
        matches!(self, Trend::Rising | Trend::Constant)
    }

    pub(super) fn is_falling(self) -> bool {
        matches!(self, Trend::Falling | Trend::Constant)
    }
}

impl Predicate {
    /// How a node's value can change. Truth rises from false to true.
    pub(super) fn trend(&self, node: &Node) -> Trend {
        match node {
            Node::Constant(_) | Node::Same(..) => Trend::Constant,
            Node::Local(table, Term::Thread(thread)) => of_row(&self.tables[*table][*thread]),
            Node::Local(table, Term::Slot(_)) | Node::Sum(table) => {
                self.tables[*table].iter().map(|row| of_row(row)).fold(Trend::Constant, Trend::with)
            }
            Node::LastWriter(..) => Trend::Either,
            Node::Not(inner) | Node::Negative(inner) => self.trend(inner).reversed(),
            Node::Quantified(_, _, body) => self.trend(body),
            Node::Binary(sign, both) => {
                let (left, right) = (self.trend(&both[0]), self.trend(&both[1]));
                match *sign {
                    "&&" | "||" | "+" => left.with(right),
                    "-" | ">" | ">=" => left.with(right.reversed()),
                    "<" | "<=" => left.reversed().with(right),
                    _ if left == Trend::Constant && right == Trend::Constant => Trend::Constant,
                    _ => Trend::Either,
                }
            }
        }
    }
}

fn of_row(row: &[i64]) -> Trend {
    let steps = row.windows(2).map(|pair| match pair[0].cmp(&pair[1]) {
        std::cmp::Ordering::Less => Trend::Rising,
        std::cmp::Ordering::Equal => Trend::Constant,
        std::cmp::Ordering::Greater => Trend::Falling,
    });
    steps.fold(Trend::Constant, Trend::with)
}
