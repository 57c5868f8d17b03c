//! From words to what they mean about a trace: names are looked up, types are checked, tables are filled.

use std::collections::HashMap;
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
        table_of: HashMap::new(),
        cells_left: most_cells(trace),
        writes: Vec::new(),
        writes_of: HashMap::new(),
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
    /// Which table says what: a condition may ask for the same a thousand times.
    table_of: HashMap<About, usize>,
    /// How many numbers further tables may have.
    cells_left: usize,
    writes: Vec<Writes>,
    writes_of: HashMap<VariableId, usize>,
    /// The names bound by quantifiers around, by slot.
    bound: Vec<String>,
    slots: usize,
}

/// What a table is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum About {
    Holding(LockId),
    /// As it is spelled.
    Location(String),
    SumOfMarks(u32),
    LastMark(u32),
    Done,
    Ended,
}

/// How many numbers the tables of a condition may have: many for a short trace, and as many as some tables of a long one.
fn most_cells(trace: &Trace) -> usize {
    const FEWEST: usize = 1 << 25;
    const TABLES: usize = 64;
    TABLES.saturating_mul(trace.len() + trace.symbols().threads.len()).max(FEWEST)
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
                let table = self.table(About::Holding(lock), span, |resolver| resolver.holds(lock))?;
                Ok(Typed::Condition(Node::Local(table, term)))
            }
            ("at", [thread, location]) => {
                let (term, name) = (self.term(thread)?, word(location, "a location")?);
                let about = About::Location(name.to_owned());
                // A name that has a table is one that the trace has.
                let meant = match self.table_of.contains_key(&about) {
                    true => Vec::new(),
                    false => self.locations(location)?,
                };
                let table = self.table(about, span, |resolver| {
                    resolver.by_place(|events, place| {
                        let next = events.get(place);
                        i64::from(next.is_some_and(|&event| meant[trace.location(event).index()]))
                    })
                })?;
                Ok(Typed::Condition(Node::Local(table, term)))
            }
            ("mark", [name]) => {
                let name = self.mark_name(name)?;
                Ok(Typed::Number(Node::Sum(self.sum_of_marks(name, span)?)))
            }
            ("mark", [thread, name]) => {
                let (term, name) = (self.term(thread)?, self.mark_name(name)?);
                Ok(Typed::Number(Node::Local(self.sum_of_marks(name, span)?, term)))
            }
            ("value", [thread, name]) => {
                let (term, name) = (self.term(thread)?, self.mark_name(name)?);
                let last = |resolver: &Self| resolver.marks(name, |_, value| value);
                Ok(Typed::Number(Node::Local(self.table(About::LastMark(name), span, last)?, term)))
            }
            ("done", [thread]) => {
                let term = self.term(thread)?;
                let done = |resolver: &Self| resolver.by_place(|_, place| place as i64);
                Ok(Typed::Number(Node::Local(self.table(About::Done, span, done)?, term)))
            }
            ("ended", [thread]) => {
                let term = self.term(thread)?;
                let ended =
                    |resolver: &Self| resolver.by_place(|events, place| i64::from(place == events.len()));
                Ok(Typed::Condition(Node::Local(self.table(About::Ended, span, ended)?, term)))
            }
            ("last_writer", [variable]) => {
                let variable = self.variable(variable)?;
                Ok(Typed::Writer(self.writes(variable, span)?))
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

    /// The table about this, made unless there is one.
    fn table(
        &mut self,
        about: About,
        span: &Range<usize>,
        make: impl FnOnce(&Self) -> Table,
    ) -> Result<usize, PredicateError> {
        if let Some(&table) = self.table_of.get(&about) {
            return Ok(table);
        }
        self.take_cells(self.trace.len() + self.threads.threads(), span)?;
        let table = make(self);
        self.tables.push(table);
        self.table_of.insert(about, self.tables.len() - 1);
        Ok(self.tables.len() - 1)
    }

    /// There is memory for this number of further cells.
    fn take_cells(&mut self, cells: usize, span: &Range<usize>) -> Result<(), PredicateError> {
        let left = self.cells_left.checked_sub(cells);
        self.cells_left = left.ok_or_else(|| {
            PredicateError::new(span.clone(), "the condition speaks of too much")
                .help("each lock, location, mark and variable in it needs memory in proportion to the trace")
        })?;
        Ok(())
    }

    fn by_place(&self, value: impl Fn(&[EventId], usize) -> i64) -> Table {
        let of_thread = |thread| {
            let events = self.threads.of_thread(ThreadId::new(thread));
            (0..=events.len()).map(|place| value(events, place)).collect()
        };
        (0..self.threads.threads()).map(of_thread).collect()
    }

    fn holds(&self, lock: LockId) -> Table {
        let mut table: Table =
            self.loset.lengths().iter().map(|&length| vec![0; length as usize + 1]).collect();
        for section in self.loset.sections().iter().filter(|section| section.lock == lock) {
            let places = &mut table[section.thread.index()];
            let last = section.release.map_or(places.len() - 1, |release| release as usize);
            places[section.acquire as usize + 1..=last].fill(1);
        }
        table
    }

    fn sum_of_marks(&mut self, name: u32, span: &Range<usize>) -> Result<usize, PredicateError> {
        self.table(About::SumOfMarks(name), span, |resolver| {
            resolver.marks(name, |sum, value| sum.saturating_add(value))
        })
    }

    fn marks(&self, name: u32, combine: impl Fn(i64, i64) -> i64) -> Table {
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
        (0..self.threads.threads()).map(of_thread).collect()
    }

    fn writes(&mut self, variable: VariableId, span: &Range<usize>) -> Result<usize, PredicateError> {
        if let Some(&writes) = self.writes_of.get(&variable) {
            return Ok(writes);
        }
        let is_write = |event: EventId| self.trace.op(event).writes() == Some(variable);
        let writes = self.trace.events().filter(|&(event, ..)| is_write(event)).count();
        self.take_cells(self.trace.len() + writes.saturating_mul(self.threads.threads()), span)?;
        let (mut last, mut needs) = (Vec::new(), Vec::new());
        for thread in 0..self.threads.threads() {
            let events = self.threads.of_thread(ThreadId::new(thread));
            let mut so_far = vec![0];
            for (place, &event) in events.iter().enumerate() {
                so_far.push(if is_write(event) { place as u32 + 1 } else { so_far[place] });
            }
            // Of other events nobody asks what they need.
            let needed = |place: usize| match so_far[place] as usize == place {
                true => self.loset.needs(thread, place as u32).to_vec(),
                false => Vec::new(),
            };
            needs.push((1..=events.len()).map(needed).collect());
            last.push(so_far);
        }
        self.writes.push(Writes { last, needs });
        self.writes_of.insert(variable, self.writes.len() - 1);
        Ok(self.writes.len() - 1)
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
