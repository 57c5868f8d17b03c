//! From words to what they mean about a trace: names are looked up, types are checked, tables are filled.

use std::ops::Range;

use trace::{EventId, LockId, Op, ThreadEvents, ThreadId, Trace, VariableId};

use super::PredicateError;
use super::evaluate::{Node, Predicate, Table, Term, Writes};
use super::parse::{Expression, ExpressionKind};
use crate::loset::Loset;

const FUNCTIONS: &str = "holds(t, lock), at(t, \"file:line\"), mark(t, \"name\"), mark(\"name\"), value(t, \"name\"), \
                         last_writer(x), done(t), ended(t)";

pub(super) fn resolve(expression: &Expression, trace: &Trace) -> Result<Predicate, PredicateError> {
    let threads = ThreadEvents::of(trace);
    let mut resolver = Resolver {
        trace,
        loset: Loset::of(trace),
        threads,
        tables: Vec::new(),
        writes: Vec::new(),
        bound: Vec::new(),
        slots: 0,
    };
    let root = resolver.condition(expression)?;
    Ok(Predicate {
        root,
        threads: resolver.threads.threads(),
        tables: resolver.tables,
        writes: resolver.writes,
        slots: resolver.slots,
    })
}

struct Resolver<'t> {
    trace: &'t Trace,
    loset: Loset,
    threads: ThreadEvents,
    tables: Vec<Table>,
    writes: Vec<Writes>,
    /// The names bound by quantifiers around, by slot.
    bound: Vec<String>,
    slots: usize,
}

/// What an expression is.
enum Typed {
    Condition(Node),
    Number(Node),
    Thread(Term),
    /// Some thread, or none, that is only known by comparing.
    Writer(usize),
}

impl Typed {
    fn named(&self) -> &'static str {
        match self {
            Typed::Condition(_) => "a condition",
            Typed::Number(_) => "a number",
            Typed::Thread(_) => "a thread",
            Typed::Writer(_) => "a writer",
        }
    }
}

fn mismatch(expression: &Expression, wanted: &str, found: &Typed) -> PredicateError {
    let error = PredicateError::new(
        expression.span.clone(),
        format!("expected {wanted}, but this is {}", found.named()),
    );
    match found {
        Typed::Number(_) if wanted == "a condition" => error.help("compare it with something, as in `> 0`"),
        Typed::Writer(_) => error.help("compare it with a thread, as in `last_writer(x) == T1`"),
        _ => error,
    }
}

impl Resolver<'_> {
    fn condition(&mut self, expression: &Expression) -> Result<Node, PredicateError> {
        match self.typed(expression)? {
            Typed::Condition(node) => Ok(node),
            other => Err(mismatch(expression, "a condition", &other)),
        }
    }

    fn number(&mut self, expression: &Expression) -> Result<Node, PredicateError> {
        match self.typed(expression)? {
            Typed::Number(node) => Ok(node),
            other => Err(mismatch(expression, "a number", &other)),
        }
    }

    fn typed(&mut self, expression: &Expression) -> Result<Typed, PredicateError> {
        let span = &expression.span;
        match &expression.what {
            ExpressionKind::Number(number) => Ok(Typed::Number(Node::Constant(*number))),
            ExpressionKind::Text(name) => self.thread(name, span).map(Typed::Thread),
            ExpressionKind::Name(name) if name == "true" || name == "false" => {
                Ok(Typed::Condition(Node::Constant(i64::from(name == "true"))))
            }
            ExpressionKind::Name(name) => self.thread(name, span).map(Typed::Thread),
            ExpressionKind::Call(function, arguments) => self.call(function, arguments, span),
            ExpressionKind::Unary("!", inner) => {
                Ok(Typed::Condition(Node::Not(Box::new(self.condition(inner)?))))
            }
            ExpressionKind::Unary(_, inner) => {
                Ok(Typed::Number(Node::Negative(Box::new(self.number(inner)?))))
            }
            ExpressionKind::Binary(sign @ ("&&" | "||"), both) => {
                let nodes = [self.condition(&both[0])?, self.condition(&both[1])?];
                Ok(Typed::Condition(Node::Binary(sign, Box::new(nodes))))
            }
            ExpressionKind::Binary(sign @ ("+" | "-" | "*"), both) => {
                let nodes = [self.number(&both[0])?, self.number(&both[1])?];
                Ok(Typed::Number(Node::Binary(sign, Box::new(nodes))))
            }
            ExpressionKind::Binary(sign, both) => self.comparison(sign, both).map(Typed::Condition),
            ExpressionKind::Quantified(quantifier, names, body) => {
                let first = self.bound.len();
                for (name, span) in names {
                    if self.bound.contains(name) {
                        return Err(PredicateError::new(span.clone(), format!("`{name}` is bound already")));
                    }
                    self.bound.push(name.clone());
                }
                self.slots = self.slots.max(self.bound.len());
                let body = self.condition(body)?;
                let last = self.bound.len();
                self.bound.truncate(first);
                let wrap = |body, slot| Node::Quantified(*quantifier, slot, Box::new(body));
                Ok(Typed::Condition((first..last).rev().fold(body, wrap)))
            }
        }
    }

    fn comparison(&mut self, sign: &'static str, both: &[Expression; 2]) -> Result<Node, PredicateError> {
        let (left, right) = (self.typed(&both[0])?, self.typed(&both[1])?);
        let equality = |node, sign| match sign {
            "==" => Some(node),
            "!=" => Some(Node::Not(Box::new(node))),
            _ => None,
        };
        let whole = both[0].span.start..both[1].span.end;
        let unordered =
            || PredicateError::new(whole.clone(), "threads have no order").help("use `==` or `!=`");
        match (left, right) {
            (Typed::Number(a), Typed::Number(b)) => Ok(Node::Binary(sign, Box::new([a, b]))),
            (Typed::Condition(a), Typed::Condition(b)) if matches!(sign, "==" | "!=") => {
                Ok(Node::Binary(sign, Box::new([a, b])))
            }
            (Typed::Thread(a), Typed::Thread(b)) => equality(Node::Same(a, b), sign).ok_or_else(unordered),
            (Typed::Writer(writes), Typed::Thread(thread))
            | (Typed::Thread(thread), Typed::Writer(writes)) => {
                equality(Node::LastWriter(writes, thread), sign).ok_or_else(unordered)
            }
            (left, right) => Err(PredicateError::new(
                whole,
                format!("{} cannot be compared with {} by `{sign}`", left.named(), right.named()),
            )),
        }
    }

    fn thread(&self, name: &str, span: &Range<usize>) -> Result<Term, PredicateError> {
        if let Some(slot) = self.bound.iter().position(|bound| bound == name) {
            return Ok(Term::Slot(slot));
        }
        let threads = &self.trace.symbols().threads;
        threads.find(name).map(Term::Thread).ok_or_else(|| {
            let known: Vec<&str> = threads.iter().take(10).collect();
            PredicateError::new(span.clone(), format!("there is no thread `{name}`")).help(format!(
                "the trace's threads are {}; `exists t: ..` binds another name",
                known.join(", ")
            ))
        })
    }

    fn call(
        &mut self,
        function: &str,
        arguments: &[Expression],
        span: &Range<usize>,
    ) -> Result<Typed, PredicateError> {
        let trace = self.trace;
        match (function, arguments) {
            ("holds", [thread, lock]) => {
                let (term, lock) = (self.term(thread)?, self.lock(lock)?);
                Ok(Typed::Condition(Node::Local(self.holds(lock), term)))
            }
            ("at", [thread, location]) => {
                let (term, meant) = (self.term(thread)?, self.locations(location)?);
                let table = self.by_place(|events, place| {
                    let next = events.get(place);
                    i64::from(next.is_some_and(|&event| meant[trace.location(event).index()]))
                });
                Ok(Typed::Condition(Node::Local(table, term)))
            }
            ("mark", [name]) => {
                let name = self.mark_name(name)?;
                Ok(Typed::Number(Node::Sum(self.marks(name, |sum, value| sum.saturating_add(value)))))
            }
            ("mark", [thread, name]) => {
                let (term, name) = (self.term(thread)?, self.mark_name(name)?);
                Ok(Typed::Number(Node::Local(self.marks(name, |sum, value| sum.saturating_add(value)), term)))
            }
            ("value", [thread, name]) => {
                let (term, name) = (self.term(thread)?, self.mark_name(name)?);
                Ok(Typed::Number(Node::Local(self.marks(name, |_, value| value), term)))
            }
            ("done", [thread]) => {
                let term = self.term(thread)?;
                Ok(Typed::Number(Node::Local(self.by_place(|_, place| place as i64), term)))
            }
            ("ended", [thread]) => {
                let term = self.term(thread)?;
                let table = self.by_place(|events, place| i64::from(place == events.len()));
                Ok(Typed::Condition(Node::Local(table, term)))
            }
            ("last_writer", [variable]) => {
                let variable = self.variable(variable)?;
                Ok(Typed::Writer(self.writes(variable)))
            }
            ("holds" | "at" | "mark" | "value" | "done" | "ended" | "last_writer", _) => {
                let message = format!("`{function}` does not take {} arguments", arguments.len());
                Err(PredicateError::new(span.clone(), message).help(format!("there are {FUNCTIONS}")))
            }
            _ => Err(PredicateError::new(span.clone(), format!("there is no `{function}`"))
                .help(format!("there are {FUNCTIONS}"))),
        }
    }

    fn term(&mut self, expression: &Expression) -> Result<Term, PredicateError> {
        match self.typed(expression)? {
            Typed::Thread(term) => Ok(term),
            other => Err(mismatch(expression, "a thread", &other)),
        }
    }

    fn lock(&self, expression: &Expression) -> Result<LockId, PredicateError> {
        let name = word(expression, "a lock")?;
        let found = self.trace.symbols().locks.find(name).map(LockId::new);
        found
            .ok_or_else(|| PredicateError::new(expression.span.clone(), format!("there is no lock `{name}`")))
    }

    fn variable(&self, expression: &Expression) -> Result<VariableId, PredicateError> {
        let name = word(expression, "a variable")?;
        let found = self.trace.symbols().variables.find(name).map(VariableId::new);
        let error = || PredicateError::new(expression.span.clone(), format!("there is no variable `{name}`"));
        found.ok_or_else(error)
    }

    fn mark_name(&self, expression: &Expression) -> Result<u32, PredicateError> {
        let name = word(expression, "the name of a mark")?;
        let found = self.trace.symbols().marks.find(name).map(|index| index as u32);
        found
            .ok_or_else(|| PredicateError::new(expression.span.clone(), format!("there is no mark `{name}`")))
    }

    /// By location, whether it is meant: as the trace spells it, or its end after a `/`.
    fn locations(&self, expression: &Expression) -> Result<Vec<bool>, PredicateError> {
        let name = word(expression, "a location")?;
        let known = &self.trace.symbols().locations;
        let exact: Vec<bool> = known.iter().map(|location| location == name).collect();
        if exact.contains(&true) {
            return Ok(exact);
        }
        let ends = |location: &str| location.strip_suffix(name).is_some_and(|start| start.ends_with('/'));
        let ending: Vec<bool> = known.iter().map(ends).collect();
        if ending.contains(&true) {
            return Ok(ending);
        }
        Err(PredicateError::new(expression.span.clone(), format!("no event is at `{name}`")))
    }

    fn by_place(&mut self, value: impl Fn(&[EventId], usize) -> i64) -> usize {
        let of_thread = |thread| {
            let events = self.threads.of_thread(ThreadId::new(thread));
            (0..=events.len()).map(|place| value(events, place)).collect()
        };
        let table = (0..self.threads.threads()).map(of_thread).collect();
        self.tables.push(table);
        self.tables.len() - 1
    }

    fn holds(&mut self, lock: LockId) -> usize {
        let mut table: Table =
            self.loset.lengths().iter().map(|&length| vec![0; length as usize + 1]).collect();
        for section in self.loset.sections().iter().filter(|section| section.lock == lock) {
            let places = &mut table[section.thread.index()];
            let last = section.release.map_or(places.len() - 1, |release| release as usize);
            places[section.acquire as usize + 1..=last].fill(1);
        }
        self.tables.push(table);
        self.tables.len() - 1
    }

    fn marks(&mut self, name: u32, combine: impl Fn(i64, i64) -> i64) -> usize {
        let trace = self.trace;
        let of_thread = |thread| {
            let mut values = vec![0i64];
            for &event in self.threads.of_thread(ThreadId::new(thread)) {
                let so_far = values[values.len() - 1];
                values.push(match trace.op(event) {
                    Op::Mark(mark) if trace.mark(mark).name == name => {
                        combine(so_far, trace.mark(mark).value)
                    }
                    _ => so_far,
                });
            }
            values
        };
        let table = (0..self.threads.threads()).map(of_thread).collect();
        self.tables.push(table);
        self.tables.len() - 1
    }

    fn writes(&mut self, variable: VariableId) -> usize {
        let (mut last, mut needs) = (Vec::new(), Vec::new());
        for thread in 0..self.threads.threads() {
            let events = self.threads.of_thread(ThreadId::new(thread));
            let mut so_far = vec![0];
            for (place, &event) in events.iter().enumerate() {
                let writes = self.trace.op(event).writes() == Some(variable);
                so_far.push(if writes { place as u32 + 1 } else { so_far[place] });
            }
            last.push(so_far);
            let needed = |place: u32| self.loset.needs(thread, place).to_vec();
            needs.push((1..=events.len() as u32).map(needed).collect());
        }
        self.writes.push(Writes { last, needs });
        self.writes.len() - 1
    }
}

/// A name, bare or in quotes.
fn word<'e>(expression: &'e Expression, wanted: &str) -> Result<&'e str, PredicateError> {
    match &expression.what {
        ExpressionKind::Name(name) | ExpressionKind::Text(name) => Ok(name),
        _ => Err(PredicateError::new(expression.span.clone(), format!("expected {wanted}"))
            .help("a name, in double quotes if it is not a plain word")),
    }
}
