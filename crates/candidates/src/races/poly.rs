//! Every race that is feasible under a model, and no other: the engine behind a funnel.
//!
//! Of all conflicting pairs most fall cheaply, and each stage of the [`Funnel`] says how many:
//!
//! 1. variables that one thread touches, or nobody writes, have no pairs at all;
//! 2. pairs whose order holds in every schedule (fork and join, signals, barriers and, under `rf`, reads-from): for each
//!    access and other thread one binary search leaves the few accesses that are not ordered before it;
//! 3. pairs with a common lock that keeps them apart;
//! 4. pairs that race in the order of the trace's own synchronisation ([`super::syncp`]), whose schedules come almost for
//!    free and hold under every model, since every read sees what it saw;
//! 5. what is left is asked of the engine, on all cores ([`batch`]).
//!
//! Promise: sound and complete for the model, but for the pairs counted as unknown. Cost: linear for the first stages and the pairs left, each a question.

use check::Question;
use decide::{Setup, Verdict, Witness, must_order};
use findings::Funnel;
use order::{AccessKind, LockSetId, LockSets, MustOrder};
use trace::{EventId, ThreadId, VariableId};

use super::RacePair;
use super::batch::Batch;
use super::syncp::Syncp;
use crate::{Bug, Object, Remarks, Report, Settings};

/// Finds all races, in the order of the later event within each variable.
pub fn races(setup: &Setup<'_>, settings: Settings, report: &mut dyn FnMut(Report)) -> Funnel {
    let variables = Accesses::by_variable(setup);
    let must = must_order(setup, settings.model);
    let (lock_sets, syncp) = (setup.open().sets(), Syncp::new(setup));
    let funnel = Funnel::default();
    let batch = Batch::new(setup, settings);
    let mut search = Search { setup, must, syncp, lock_sets, funnel, batch, report, done: 0, total: 0 };
    search.total = variables.iter().filter(|v| v.can_race()).map(|v| v.all.len() as u64).sum();
    search.funnel.accesses = search.total;
    for (variable, accesses) in variables.iter().enumerate().filter(|(_, accesses)| accesses.can_race()) {
        search.variable(VariableId::new(variable), accesses);
    }
    search.settle();
    search.funnel
}

/// One access of a variable.
#[derive(Clone, Copy)]
struct AccessPoint {
    event: EventId,
    place: u32,
    kind: AccessKind,
    held: LockSetId,
}

/// The accesses of one variable.
#[derive(Default)]
struct Accesses {
    /// All of them in the order of the trace, with the index of their thread in `threads`.
    all: Vec<(u32, AccessPoint)>,
    threads: Vec<ThreadAccesses>,
    written: bool,
}

/// The accesses of one variable by one thread.
struct ThreadAccesses {
    thread: ThreadId,
    points: Vec<AccessPoint>,
    /// Before each access and at the end: how many of each kind there were.
    kinds: Vec<[u32; AccessKind::ALL.len()]>,
}

impl ThreadAccesses {
    fn push(&mut self, point: AccessPoint) {
        let mut kinds = self.kinds[self.points.len()];
        kinds[point.kind as usize] += 1;
        self.kinds.push(kinds);
        self.points.push(point);
    }

    /// How many of the first `count` accesses conflict with one of this kind.
    fn conflicting(&self, count: usize, kind: AccessKind) -> u64 {
        let kinds = &self.kinds[count];
        AccessKind::ALL
            .iter()
            .filter(|other| other.conflicts(kind))
            .map(|&other| u64::from(kinds[other as usize]))
            .sum()
    }
}

impl Accesses {
    fn by_variable(setup: &Setup<'_>) -> Vec<Accesses> {
        let trace = setup.trace();
        let mut variables: Vec<Accesses> = Vec::new();
        variables.resize_with(trace.symbols().variables.len(), Accesses::default);
        let open = setup.open();
        for (event, thread, op) in trace.events() {
            if let (Some(kind), Some(access)) = (AccessKind::of(op), op.access()) {
                let place = setup.threads().place(event) as u32;
                let point = AccessPoint { event, place, kind, held: open.locks_after(event) };
                variables[access.variable.index()].push(thread, point, access.writes);
            }
        }
        variables
    }

    fn push(&mut self, thread: ThreadId, point: AccessPoint, writes: bool) {
        let index = match self.threads.iter().position(|known| known.thread == thread) {
            Some(index) => index,
            None => {
                let kinds = vec![[0; AccessKind::ALL.len()]];
                self.threads.push(ThreadAccesses { thread, points: Vec::new(), kinds });
                self.threads.len() - 1
            }
        };
        self.threads[index].push(point);
        self.all.push((index as u32, point));
        self.written |= writes;
    }

    fn can_race(&self) -> bool {
        self.threads.len() > 1 && self.written
    }
}

struct Search<'a> {
    setup: &'a Setup<'a>,
    must: &'a MustOrder,
    syncp: Syncp<'a>,
    lock_sets: &'a LockSets,
    funnel: Funnel,
    /// Races and questions that are not yet reported.
    batch: Batch<'a, (VariableId, Question)>,
    report: &'a mut dyn FnMut(Report),
    done: u64,
    total: u64,
}

impl Search<'_> {
    fn variable(&mut self, variable: VariableId, accesses: &Accesses) {
        for &(own, second) in &accesses.all {
            for (index, earlier) in accesses.threads.iter().enumerate() {
                if index != own as usize {
                    self.against(variable, second, earlier);
                }
            }
            self.done += 1;
            if self.done.is_multiple_of(1024) {
                (self.report)(Report::Progress { done: self.done, total: self.total });
            }
        }
    }

    /// Pairs an access with the earlier ones of another thread.
    fn against(&mut self, variable: VariableId, second: AccessPoint, other: &ThreadAccesses) {
        let points = &other.points;
        let earlier = points.partition_point(|first| first.event < second.event);
        let run_up = self.must.run_up(self.setup, second.event, other.thread);
        let ordered = points[..earlier].partition_point(|first| first.place < run_up);
        self.funnel.pairs += other.conflicting(earlier, second.kind);
        self.funnel.ordered += other.conflicting(ordered, second.kind);
        for first in points[ordered..earlier].iter().filter(|first| first.kind.conflicts(second.kind)) {
            if self.lock_sets.exclude(first.held, second.held) {
                self.funnel.locked += 1;
            } else {
                self.ask(variable, first.event, second.event);
            }
        }
    }

    fn ask(&mut self, variable: VariableId, first: EventId, second: EventId) {
        let question = Question::Race(first, second);
        // What every read sees is kept, so it is a schedule under every model.
        if let Some(ideal) = self.syncp.ideal(RacePair { first, second }) {
            self.funnel.preserving += 1;
            self.batch.known((variable, question), Witness::ideal(ideal.0));
        } else {
            self.funnel.asked += 1;
            self.batch.ask((variable, question.clone()), question);
        }
        if self.batch.is_full() {
            self.settle();
        }
    }

    /// Has the questions of the batch answered, and reports what is in it.
    fn settle(&mut self) {
        for ((variable, question), verdict) in self.batch.settle() {
            match verdict {
                Verdict::Feasible(witness) => self.found(variable, question, witness),
                Verdict::Infeasible(_) => {}
                Verdict::Unknown { .. } => {
                    self.funnel.unknown += 1;
                    (self.report)(Report::Unknown(question));
                }
            }
        }
    }

    fn found(&mut self, variable: VariableId, question: Question, witness: Witness) {
        self.funnel.feasible += 1;
        let events = question.named().into_iter().map(Some).collect();
        let object = Object::Variable(variable);
        let remarks = Remarks::default();
        (self.report)(Report::Bug(Bug { question, events, object, witness, remarks }));
    }
}
