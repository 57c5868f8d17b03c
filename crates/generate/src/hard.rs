//! Hard instances: either-or choices whose every combination closes a cycle, though no choice alone does, and
//! their feasible twins.
//!
//! The building block is that of figures 2 and 3 of Wang and Hoang's paper on polygraphs and of figure 6 of Sinha,
//! Malik and Gupta's on nondeterminism: a *pair*, two threads with one section of a lock each. In each section the
//! way out (signals) comes before the way in (waits). So the ways in lead to a way out only through the order of
//! the two sections: from the first one's way in, past its release, to the second one's way out. Whichever comes
//! first, something gets through; but through which way out, nobody can tell before choosing.
//!
//! All orders are signals and their waits, so an instance says the same under every model. The first thread forks and
//! joins the others, and the last event asked about is its last join: every event is needed.

use trace::{EventId, LockId, Op, ThreadId, Trace, TraceBuilder};

/// How choices are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Independent: rings one after the other in the same threads, with no lock in common. A ring is half as many
    /// pairs as there are threads, each leading into the next, and the last into the first, through a relay of one
    /// thread if the number of threads is odd. With three threads it is figure 2, with four figure 3. `choices`
    /// counts rings. All but the last are feasible, though not in the order of the trace; the question goes
    /// through all of them.
    Rings {
        /// At least 3.
        threads: u32,
    },
    /// Six threads: a pair that chooses, and two pairs that take turns. Each choice, whichever way it is made,
    /// carries the order of one pair's sections over to the other pair's next ones; the first order is given, and
    /// the opposite of what follows is asked for. What follows rests on all choices together.
    Chain,
}

/// Whether there is an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// No: every combination of choices closes a cycle.
    Infeasible,
    /// Yes: one edge is left out.
    Feasible,
}

/// A trace, and events to ask for in this order.
#[derive(Clone, Debug)]
pub struct Hard {
    /// The recorded run, which does not have them in this order.
    pub trace: Trace,
    /// The order to ask for.
    pub order: Vec<EventId>,
}

/// The instance of a family with this number of choices (at least one).
///
/// # Panics
///
/// With no choice, or rings of less than three threads.
pub fn hard(family: Family, choices: u32, outcome: Outcome) -> Hard {
    assert!(choices > 0, "an instance needs a choice");
    match family {
        Family::Rings { threads } => rings(threads, choices, outcome),
        Family::Chain => chain(choices, outcome),
    }
}

fn rings(threads: u32, rings: u32, outcome: Outcome) -> Hard {
    assert!(threads >= 3, "a ring has at least three threads");
    let mut run = Run::start(threads);
    let mut order = Vec::new();
    for number in 0..rings {
        let is_last = number + 1 == rings;
        let outcome = if is_last { outcome } else { Outcome::Feasible };
        order.extend(Ring { number, pairs: threads / 2, relay: threads % 2 == 1, outcome }.record(&mut run));
    }
    run.finish(order)
}

/// A ring: each pair's ways out lead into both sections of the next. One edge from the last pair's second section back
/// to the beginning is missing in the trace and asked for; recorded is the run that its absence allows.
struct Ring {
    number: u32,
    pairs: u32,
    /// Whether a thread of its own stands between the last pair and the first.
    relay: bool,
    outcome: Outcome,
}

/// One of the two sections of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    First,
    Second,
}

const SIDES: [Side; 2] = [Side::First, Side::Second];

impl Ring {
    /// What to ask for, in order: an edge that the recorded run contradicts.
    fn record(&self, run: &mut Run) -> [EventId; 2] {
        let last = self.pairs - 1;
        self.acquire(run, last, Side::First);
        self.way_out(run, last, Side::First);
        let mut target = self.relay.then(|| self.relay(run));
        if self.pairs > 1 {
            self.first_pair(run, &mut target);
        }
        for pair in 1..last {
            for side in SIDES {
                self.acquire(run, pair, side);
                self.way_out(run, pair, side);
                self.way_in(run, pair, side);
                self.release(run, pair, side);
            }
        }
        self.way_in(run, last, Side::First);
        self.release(run, last, Side::First);
        self.acquire(run, last, Side::Second);
        let source = self.way_out(run, last, Side::Second);
        if self.pairs > 1 && !self.relay {
            self.way_in(run, 0, Side::Second);
            self.release(run, 0, Side::Second);
        }
        self.way_in(run, last, Side::Second);
        self.release(run, last, Side::Second);
        [source, target.expect("there is a relay, or several pairs")]
    }

    /// The first section of the first pair runs; so does the second, up to where it waits for the last pair's.
    fn first_pair(&self, run: &mut Run, target: &mut Option<EventId>) {
        self.acquire(run, 0, Side::First);
        self.way_out(run, 0, Side::First);
        let way_in = self.way_in(run, 0, Side::First);
        target.get_or_insert(way_in);
        self.release(run, 0, Side::First);
        self.acquire(run, 0, Side::Second);
        self.way_out(run, 0, Side::Second);
        if self.relay {
            self.way_in(run, 0, Side::Second);
            self.release(run, 0, Side::Second);
        }
    }

    /// The relay hears of the last pair's first section and tells the first pair. It is what the last pair's second
    /// section is asked to come before.
    fn relay(&self, run: &mut Run) -> EventId {
        let thread = ThreadId(2 * self.pairs);
        let heard = run.wait(thread, &self.edge(self.pairs - 1, Side::First, Side::First));
        for side in SIDES.into_iter().filter(|&side| !self.left_out(side)) {
            run.signal(thread, &self.relayed(side));
        }
        heard
    }

    /// Whether this edge into the first pair is the one that the feasible twin lacks.
    fn left_out(&self, into: Side) -> bool {
        self.outcome == Outcome::Feasible && into == Side::Second
    }

    fn edge(&self, pair: u32, from: Side, into: Side) -> String {
        format!("ring{}-pair{pair}-{}-{}", self.number, name(from), name(into))
    }

    fn relayed(&self, into: Side) -> String {
        format!("ring{}-relay-{}", self.number, name(into))
    }

    /// Into which sections of the next pair this section's way out leads in the trace.
    fn leads_into(&self, pair: u32, from: Side) -> Vec<Side> {
        let is_last = pair + 1 == self.pairs;
        match (is_last, self.relay, from) {
            (false, ..) => SIDES.to_vec(),
            // Through the relay, which is one thread; the other edge is the question's.
            (true, true, Side::First) => vec![Side::First],
            (true, true, Side::Second) => Vec::new(),
            (true, false, Side::First) => SIDES.into_iter().filter(|&into| !self.left_out(into)).collect(),
            // The edge into the first is the question's.
            (true, false, Side::Second) => vec![Side::Second],
        }
    }

    fn way_out(&self, run: &mut Run, pair: u32, side: Side) -> EventId {
        let thread = thread(pair, side);
        let first = run.mark(thread);
        for into in self.leads_into(pair, side) {
            run.signal(thread, &self.edge(pair, side, into));
        }
        first
    }

    fn way_in(&self, run: &mut Run, pair: u32, side: Side) -> EventId {
        let thread = thread(pair, side);
        let first = run.mark(thread);
        if pair == 0 && self.relay {
            if !self.left_out(side) {
                run.wait(thread, &self.relayed(side));
            }
            return first;
        }
        let before = pair.checked_sub(1).unwrap_or(self.pairs - 1);
        for from in SIDES {
            if self.leads_into(before, from).contains(&side) {
                run.wait(thread, &self.edge(before, from, side));
            }
        }
        first
    }

    fn acquire(&self, run: &mut Run, pair: u32, side: Side) {
        run.acquire(thread(pair, side), &format!("ring{}-pair{pair}", self.number));
    }

    fn release(&self, run: &mut Run, pair: u32, side: Side) {
        run.release(thread(pair, side), &format!("ring{}-pair{pair}", self.number));
    }
}

fn thread(pair: u32, side: Side) -> ThreadId {
    match side {
        Side::First => ThreadId(2 * pair),
        Side::Second => ThreadId(2 * pair + 1),
    }
}

fn name(side: Side) -> &'static str {
    match side {
        Side::First => "first",
        Side::Second => "second",
    }
}

/// Turn i is of pair i % 2, with a lock of its own; the choosers are pair 2. Recorded is: the first of each pair goes
/// first.
///
/// Say the first of turn i goes first, and turn i + 1 is to follow. In turn i + 1 the first's acquire comes before
/// the end of the first's section in turn i (`pull`), so before the second's section in turn i, which begins with
/// telling both choosers (`push`). Whichever chooser goes second hears of it before it says so (`said`), which
/// the second of turn i + 1 waits for in its section. So in turn i + 1 the first goes first as well.
fn chain(choices: u32, outcome: Outcome) -> Hard {
    const CHOOSERS: u32 = 2;
    let mut run = Run::start(6);
    let turn = |number: u32, side| thread(number % 2, side);
    let lock = |number: u32| format!("turn{number}");
    let edge = |what: &str, number: u32, side| format!("{what}{number}-{}", name(side));
    let pull = |number: u32| format!("pull{number}");
    // What the second chooser says in the middle of the chain goes unheard in the feasible twin.
    let heard = |number: u32, side| {
        outcome == Outcome::Infeasible || side == Side::First || number != choices.div_ceil(2)
    };

    let mut last_acquire = EventId(0);
    for number in 0..=choices {
        last_acquire = run.acquire(turn(number, Side::First), &lock(number));
        match number.checked_sub(1) {
            None => {
                run.signal(turn(0, Side::First), "given");
            }
            Some(before) => {
                run.signal(turn(number, Side::First), &pull(before));
                run.wait(turn(before, Side::First), &pull(before));
                run.release(turn(before, Side::First), &lock(before));
            }
        }
    }
    run.release(turn(choices, Side::First), &lock(choices));

    let mut last_release = EventId(0);
    for number in 0..=choices {
        let second = turn(number, Side::Second);
        run.acquire(second, &lock(number));
        if number < choices {
            for side in SIDES {
                run.signal(second, &edge("push", number, side));
            }
        }
        if number == 0 {
            run.wait(second, "given");
        } else {
            for side in SIDES.into_iter().filter(|&side| heard(number, side)) {
                run.wait(second, &edge("said", number, side));
            }
        }
        last_release = run.release(second, &lock(number));
        if number < choices {
            for side in SIDES {
                let chooser = thread(CHOOSERS, side);
                run.acquire(chooser, &format!("choice{number}"));
                run.signal(chooser, &edge("said", number + 1, side));
                run.wait(chooser, &edge("push", number, side));
                run.release(chooser, &format!("choice{number}"));
            }
        }
    }
    run.finish(vec![last_release, last_acquire])
}

/// A run being recorded. There are far fewer names than a trace can hold.
struct Run {
    builder: TraceBuilder,
    threads: u32,
}

const FEW: &str = "few names";

impl Run {
    /// The first thread forks the others.
    fn start(threads: u32) -> Run {
        let mut run = Run { builder: TraceBuilder::new(), threads };
        for number in 0..threads {
            run.builder.thread(&format!("T{number}")).expect(FEW);
        }
        for number in 1..threads {
            run.push(ThreadId(0), Op::Fork(ThreadId(number)));
        }
        run
    }

    /// The first thread joins the others, which the question asks for in the end.
    fn finish(mut self, mut order: Vec<EventId>) -> Hard {
        for number in 1..self.threads {
            let join = self.push(ThreadId(0), Op::Join(ThreadId(number)));
            if number + 1 == self.threads {
                order.push(join);
            }
        }
        Hard { trace: self.builder.finish().expect("the run can have happened"), order }
    }

    fn push(&mut self, thread: ThreadId, op: Op) -> EventId {
        let event = EventId::new(self.builder.len());
        let location = self.builder.location(&format!("hard:{event}")).expect(FEW);
        self.builder.push(thread, op, location);
        event
    }

    fn lock(&mut self, name: &str) -> LockId {
        self.builder.lock(name).expect(FEW)
    }

    fn acquire(&mut self, thread: ThreadId, lock: &str) -> EventId {
        let lock = self.lock(lock);
        self.push(thread, Op::Acquire(lock))
    }

    fn release(&mut self, thread: ThreadId, lock: &str) -> EventId {
        let lock = self.lock(lock);
        self.push(thread, Op::Release(lock))
    }

    fn signal(&mut self, thread: ThreadId, edge: &str) -> EventId {
        let condition = self.builder.condition(edge).expect(FEW);
        self.push(thread, Op::Signal(condition))
    }

    fn wait(&mut self, thread: ThreadId, edge: &str) -> EventId {
        let condition = self.builder.condition(edge).expect(FEW);
        self.push(thread, Op::Wait(condition))
    }

    /// An event to name.
    fn mark(&mut self, thread: ThreadId) -> EventId {
        let mark = self.builder.mark("way", 0).expect(FEW);
        self.push(thread, Op::Mark(mark))
    }
}
