//! How many behaviours the classic programs of corpus/pairs have: each is written down here once more, and all its interleavings are
//! enumerated. `foretell hunt` must come to the same numbers (crates/foretell/tests/hunting/behaviours.rs).

use std::collections::BTreeSet;

/// One access of a variable, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    Load(usize),
    Store(usize, i64),
    Add(usize),
    CompareExchange(usize, i64, i64),
    Lock(usize),
    Unlock(usize),
}

/// A thread that is run from its start with what its accesses returned so far; it ends early at the next access.
struct Thread<'r> {
    results: &'r [i64],
    done: usize,
    next: Option<Access>,
}

/// The next access is not made yet.
struct NotYet;

type Step = Result<i64, NotYet>;
type Script = fn(&mut Thread<'_>, usize) -> Result<(), NotYet>;

impl Thread<'_> {
    fn access(&mut self, access: Access) -> Step {
        let Some(&result) = self.results.get(self.done) else {
            self.next = Some(access);
            return Err(NotYet);
        };
        self.done += 1;
        Ok(result)
    }

    fn load(&mut self, variable: usize) -> Step {
        self.access(Access::Load(variable))
    }

    fn store(&mut self, variable: usize, value: i64) -> Step {
        self.access(Access::Store(variable, value))
    }
}

/// The access that made what a variable holds: its thread, and its number there.
type Writer = Option<(usize, usize)>;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    results: Vec<Vec<i64>>,
    /// Each thread's accesses, and what they saw.
    events: Vec<Vec<(Access, Writer)>>,
    values: Vec<i64>,
    writers: Vec<Writer>,
}

impl State {
    fn next(&self, scripts: &[Script], thread: usize) -> Option<Access> {
        // The first script begins when all others have ended, as one that joins them.
        if thread == 0 && (1..scripts.len()).any(|other| self.next(scripts, other).is_some()) {
            return None;
        }
        let mut run = Thread { results: &self.results[thread], done: 0, next: None };
        let _ = scripts[thread](&mut run, thread.wrapping_sub(1));
        // A lock that is taken is waited for.
        run.next.filter(|access| !matches!(*access, Access::Lock(lock) if self.values[lock] != 0))
    }

    fn perform(&mut self, thread: usize, access: Access) {
        let own = Some((thread, self.events[thread].len()));
        let (variable, new) = match access {
            Access::Load(variable) => (variable, None),
            Access::Store(variable, value) => (variable, Some(value)),
            Access::Add(variable) => (variable, Some(self.values[variable] + 1)),
            Access::CompareExchange(variable, expected, new) => {
                (variable, (self.values[variable] == expected).then_some(new))
            }
            Access::Lock(variable) => (variable, Some(1)),
            Access::Unlock(variable) => (variable, Some(0)),
        };
        let sees = !matches!(access, Access::Store(..));
        self.results[thread].push(self.values[variable]);
        self.events[thread].push((access, self.writers[variable].filter(|_| sees)));
        if let Some(new) = new {
            self.values[variable] = new;
            self.writers[variable] = own;
        }
    }
}

/// How many behaviours there are of these threads, the first of which comes last, from these values.
fn count(scripts: &[Script], values: &[i64]) -> usize {
    let start = State {
        results: vec![Vec::new(); scripts.len()],
        events: vec![Vec::new(); scripts.len()],
        values: values.to_vec(),
        writers: vec![None; values.len()],
    };
    let (mut behaviours, mut visited, mut left) = (BTreeSet::new(), BTreeSet::new(), vec![start]);
    while let Some(state) = left.pop() {
        let able = (0..scripts.len()).filter_map(|thread| Some((thread, state.next(scripts, thread)?)));
        let able: Vec<(usize, Access)> = able.collect();
        if able.is_empty() {
            behaviours.insert(state.events.clone());
        }
        for (thread, access) in able {
            let mut next = state.clone();
            next.perform(thread, access);
            if visited.insert(next.clone()) {
                left.push(next);
            }
        }
    }
    behaviours.len()
}

const LOOKS: usize = 2;
/// Two variables, one for each thread, start here; so do the others.
const FIRST: usize = 0;
const SECOND: usize = 2;
const COUNTER: usize = 4;
const ENTRIES: usize = 5;
const TURN: usize = 7;
const OTHER_TURN: usize = 8;

/// What `main` does at the end.
fn check_entries(main: &mut Thread<'_>, _: usize) -> Result<(), NotYet> {
    main.load(COUNTER)?;
    main.load(ENTRIES)?;
    main.load(ENTRIES + 1).map(|_| ())
}

/// The critical section.
fn count_entry(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let counter = thread.load(COUNTER)?;
    thread.store(COUNTER, counter + 1)?;
    thread.store(ENTRIES + me, 1).map(|_| ())
}

fn peterson(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let other = 1 - me;
    thread.store(FIRST + me, 1)?;
    thread.store(TURN, other as i64)?;
    for _ in 0..LOOKS {
        if thread.load(FIRST + other)? == 0 || thread.load(TURN)? == me as i64 {
            count_entry(thread, me)?;
            break;
        }
    }
    thread.store(FIRST + me, 0).map(|_| ())
}

fn dekker(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let other = 1 - me;
    thread.store(FIRST + me, 1)?;
    for _ in 0..LOOKS {
        if thread.load(FIRST + other)? == 0 {
            count_entry(thread, me)?;
            thread.store(TURN, other as i64)?;
            return thread.store(FIRST + me, 0).map(|_| ());
        }
        if thread.load(TURN)? == other as i64 {
            thread.store(FIRST + me, 0)?;
            if thread.load(TURN)? == other as i64 {
                return Ok(());
            }
            thread.store(FIRST + me, 1)?;
        }
    }
    thread.store(FIRST + me, 0).map(|_| ())
}

/// `FIRST` is who is choosing, `SECOND` the numbers.
fn bakery(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let other = 1 - me;
    thread.store(FIRST + me, 1)?;
    let mine = 1 + thread.load(SECOND + other)?;
    thread.store(SECOND + me, mine)?;
    thread.store(FIRST + me, 0)?;
    for _ in 0..LOOKS {
        if thread.load(FIRST + other)? != 0 {
            continue;
        }
        let theirs = thread.load(SECOND + other)?;
        if theirs == 0 || mine < theirs || (mine == theirs && me < other) {
            count_entry(thread, me)?;
            break;
        }
    }
    thread.store(SECOND + me, 0).map(|_| ())
}

const NOBODY: i64 = -1;

/// `FIRST` is who is busy, `TURN` and `OTHER_TURN` the two gates.
fn lamport(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let own = me as i64;
    thread.store(FIRST + me, 1)?;
    thread.store(TURN, own)?;
    if thread.load(OTHER_TURN)? != NOBODY {
        return thread.store(FIRST + me, 0).map(|_| ());
    }
    thread.store(OTHER_TURN, own)?;
    if thread.load(TURN)? != own {
        thread.store(FIRST + me, 0)?;
        let mut is_idle = false;
        for _ in 0..LOOKS {
            if thread.load(FIRST + 1 - me)? == 0 {
                is_idle = true;
                break;
            }
        }
        if !is_idle || thread.load(OTHER_TURN)? != own {
            return Ok(());
        }
    }
    count_entry(thread, me)?;
    thread.store(OTHER_TURN, NOBODY)?;
    thread.store(FIRST + me, 0).map(|_| ())
}

/// `TURN` is the next ticket, `OTHER_TURN` the one that is served.
fn ticket_lock(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let ticket = thread.access(Access::Add(TURN))?;
    for _ in 0..LOOKS {
        if thread.load(OTHER_TURN)? == ticket {
            count_entry(thread, me)?;
            return thread.store(OTHER_TURN, ticket + 1).map(|_| ());
        }
    }
    Ok(())
}

/// Szymanski's places.
const OUTSIDE: i64 = 0;
const WANTS: i64 = 1;
const WAITS: i64 = 2;
const IN_DOORWAY: i64 = 3;
const CLOSED_DOOR: i64 = 4;

/// Looks at a thread's place until it is one of these.
fn await_place(
    thread: &mut Thread<'_>,
    whose: usize,
    wanted: std::ops::RangeInclusive<i64>,
) -> Result<bool, NotYet> {
    for _ in 0..LOOKS {
        if wanted.contains(&thread.load(FIRST + whose)?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `FIRST` is where each thread is.
fn szymanski(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let other = 1 - me;
    thread.store(FIRST + me, WANTS)?;
    let mut enters = await_place(thread, other, OUTSIDE..=WAITS)?;
    if enters {
        thread.store(FIRST + me, IN_DOORWAY)?;
        if thread.load(FIRST + other)? == WANTS {
            thread.store(FIRST + me, WAITS)?;
            enters = await_place(thread, other, CLOSED_DOOR..=CLOSED_DOOR)?;
        }
    }
    if enters {
        thread.store(FIRST + me, CLOSED_DOOR)?;
        if me == 0 || await_place(thread, 0, OUTSIDE..=WANTS)? {
            count_entry(thread, me)?;
        }
    }
    thread.store(FIRST + me, OUTSIDE).map(|_| ())
}

fn fibonacci(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    for _ in 0..3 {
        let own = thread.load(FIRST + me)?;
        let other = thread.load(FIRST + 1 - me)?;
        thread.store(FIRST + me, own + other)?;
    }
    Ok(())
}

fn look_at_both(main: &mut Thread<'_>, _: usize) -> Result<(), NotYet> {
    main.load(FIRST)?;
    main.load(FIRST + 1).map(|_| ())
}

const SLOTS: usize = 4;

fn indexer(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    let word = me + 1;
    let mut slot = word / 2 % SLOTS;
    while thread.access(Access::CompareExchange(slot, 0, word as i64))? != 0 {
        slot = (slot + 1) % SLOTS;
    }
    Ok(())
}

fn look_at_slots(main: &mut Thread<'_>, _: usize) -> Result<(), NotYet> {
    (0..SLOTS).try_for_each(|slot| main.load(slot).map(|_| ()))
}

fn clerk(thread: &mut Thread<'_>, me: usize) -> Result<(), NotYet> {
    for _ in 0..2 - me {
        thread.access(Access::Lock(TURN))?;
        let total = thread.load(COUNTER)?;
        thread.store(COUNTER, total + 1)?;
        thread.access(Access::Unlock(TURN))?;
    }
    Ok(())
}

fn look_at_total(main: &mut Thread<'_>, _: usize) -> Result<(), NotYet> {
    main.load(COUNTER).map(|_| ())
}

/// The numbers that the hunts in corpus/pairs must come to.
#[test]
fn behaviours_of_the_classics() {
    let zeroes = [0; 9];
    let two = |script: Script| count(&[check_entries, script, script], &zeroes);
    assert_eq!(two(peterson), 23, "peterson");
    assert_eq!(two(dekker), 20, "dekker");
    assert_eq!(two(bakery), 66, "bakery");
    assert_eq!(two(ticket_lock), 6, "ticket_lock");
    assert_eq!(two(szymanski), 546, "szymanski");
    let mut gates = zeroes;
    gates[OTHER_TURN] = NOBODY;
    assert_eq!(count(&[check_entries, lamport, lamport], &gates), 26, "lamport_fast");
    assert_eq!(count(&[look_at_both, fibonacci, fibonacci], &[1, 1]), 141, "fib_bench");
    let words = [look_at_slots as Script, indexer, indexer, indexer, indexer];
    assert_eq!(count(&words, &zeroes), 4, "indexer");
    assert_eq!(count(&[look_at_total, clerk, clerk], &zeroes), 3, "mutex_counter");
}
