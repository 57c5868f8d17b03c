//! Small traces of odd shapes: each is easy to write, and costs a tool far more than its size if one structure or one loop is
//! quadratic in the wrong thing. As text, since reading it is part of what it costs.

use std::fmt::Write as _;

/// What is odd about a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A semaphore with as many permits as there can be, taken and posted once. It has no size.
    Permits,
    /// One thread acquires N locks and releases none.
    NestedLocks,
    /// Two threads take N locks in the same order, and release them in that order.
    Stripes,
    /// A hundred threads write a variable N times, each time at another location.
    Writes,
    /// The same at one location.
    RepeatedWrites,
    /// A hundred threads read and write a variable N times, in turns, each time at another location.
    ReadsAndWrites,
    /// Each of N threads forks the next.
    ForkChain,
    /// N threads at one barrier.
    Barrier,
    /// N waiters, and one broadcast.
    Broadcast,
    /// N threads with an event each.
    Threads,
    /// N threads that one forks and joins, each with a section of the same lock.
    Workers,
    /// A ring buffer of ten slots with flags under one lock, N items sent and received.
    RingBuffer,
    /// Sixty threads hold many locks each while they update an atomic variable this number of times in turns.
    HeldLocks,
    /// Two threads take two locks this number of times each, in opposite orders, each time at another location.
    OppositeLocks,
    /// One thread posts this number of permits, another one takes them.
    Posts,
    /// Of three threads, each waits this number of times for a signal of the one before.
    Relay,
    /// One thread reads and writes a variable under this number of nested locks, one more each time.
    LocksAroundAccesses,
    /// This number of threads access a variable under a lock of all and one of their own, and one more without a lock.
    OwnLocks,
}

impl Shape {
    /// All of them.
    pub const ALL: [Shape; 18] = [
        Shape::Permits,
        Shape::NestedLocks,
        Shape::Stripes,
        Shape::Writes,
        Shape::RepeatedWrites,
        Shape::ReadsAndWrites,
        Shape::ForkChain,
        Shape::Barrier,
        Shape::Broadcast,
        Shape::Threads,
        Shape::Workers,
        Shape::RingBuffer,
        Shape::HeldLocks,
        Shape::OppositeLocks,
        Shape::Posts,
        Shape::Relay,
        Shape::LocksAroundAccesses,
        Shape::OwnLocks,
    ];

    /// What it is, for tables and file names.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Permits => "permits",
            Shape::NestedLocks => "nested-locks",
            Shape::Stripes => "stripes",
            Shape::Writes => "writes",
            Shape::RepeatedWrites => "repeated-writes",
            Shape::ReadsAndWrites => "reads-and-writes",
            Shape::ForkChain => "fork-chain",
            Shape::Barrier => "barrier",
            Shape::Broadcast => "broadcast",
            Shape::Threads => "threads",
            Shape::Workers => "workers",
            Shape::RingBuffer => "ring-buffer",
            Shape::HeldLocks => "held-locks",
            Shape::OppositeLocks => "opposite-locks",
            Shape::Posts => "posts",
            Shape::Relay => "relay",
            Shape::LocksAroundAccesses => "locks-around-accesses",
            Shape::OwnLocks => "own-locks",
        }
    }

    /// A size at which it once took a machine down, or minutes.
    pub fn size(self) -> u32 {
        match self {
            Shape::Permits => 1,
            Shape::NestedLocks => 2_000,
            Shape::Stripes => 1_024,
            Shape::Writes | Shape::RepeatedWrites | Shape::ReadsAndWrites => 60_000,
            Shape::ForkChain => 50_000,
            Shape::Barrier | Shape::Workers => 20_000,
            Shape::Broadcast => 5_000,
            Shape::Threads => 1_000_000,
            Shape::RingBuffer => 20,
            Shape::HeldLocks | Shape::OppositeLocks | Shape::Posts | Shape::Relay => 20_000,
            Shape::LocksAroundAccesses => 2_000,
            Shape::OwnLocks => 10_000,
        }
    }

    /// The trace of this shape, of a size.
    pub fn text(self, size: u32) -> String {
        let mut run = Run::default();
        match self {
            Shape::Permits => {
                run.line(format_args!("#! semaphore s {}", u32::MAX));
                run.line(format_args!("T0|take(s)|permits:1"));
                run.line(format_args!("T0|post(s)|permits:2"));
            }
            Shape::NestedLocks => (0..size).for_each(|lock| run.event(0, format_args!("acq(l{lock})"), 1)),
            Shape::Stripes => stripes(&mut run, size),
            Shape::Writes => (0..size).for_each(|write| run.event(write % 100, format_args!("w(x)"), write)),
            Shape::RepeatedWrites => {
                (0..size).for_each(|write| run.event(write % 100, format_args!("w(x)"), 1));
            }
            Shape::ReadsAndWrites => (0..size).for_each(|access| {
                let op = if access / 100 % 2 == 0 { "r" } else { "w" };
                run.event(access % 100, format_args!("{op}(x)"), access);
            }),
            Shape::ForkChain => {
                (0..size).for_each(|thread| run.event(thread, format_args!("fork(T{})", thread + 1), 1));
                run.event(size, format_args!("w(x)"), 2);
            }
            Shape::Barrier => {
                (0..size).for_each(|thread| run.event(thread, format_args!("benter(b)"), 1));
                (0..size).for_each(|thread| run.event(thread, format_args!("bexit(b)"), 2));
            }
            Shape::Broadcast => broadcast(&mut run, size),
            Shape::Threads => (0..size).for_each(|thread| run.event(thread, format_args!("w(x{thread})"), 1)),
            Shape::Workers => workers(&mut run, size),
            Shape::RingBuffer => ring_buffer(&mut run, size),
            Shape::HeldLocks => held_locks(&mut run, size),
            Shape::OppositeLocks => opposite_locks(&mut run, size),
            Shape::Posts => {
                (0..size).for_each(|_| run.event(0, format_args!("post(s)"), 1));
                (0..size).for_each(|_| run.event(1, format_args!("take(s)"), 2));
            }
            Shape::Relay => relay(&mut run, size),
            Shape::LocksAroundAccesses => locks_around_accesses(&mut run, size),
            Shape::OwnLocks => own_locks(&mut run, size),
        }
        run.text
    }
}

#[derive(Default)]
struct Run {
    text: String,
}

impl Run {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "{line}");
    }

    fn event(&mut self, thread: u32, op: std::fmt::Arguments<'_>, line: u32) {
        self.line(format_args!("T{thread}|{op}|a:{line}"));
    }
}

fn stripes(run: &mut Run, locks: u32) {
    (1..=2).for_each(|thread| run.event(0, format_args!("fork(T{thread})"), 1));
    for thread in 1..=2 {
        for lock in 0..locks {
            run.event(thread, format_args!("acq(m{lock})"), 2);
            run.event(thread, format_args!("r(x{lock})"), 3);
            run.event(thread, format_args!("w(x{lock})"), 3);
            run.event(thread, format_args!("rel(m{lock})"), 4);
        }
        (0..locks).for_each(|lock| run.event(thread, format_args!("acq(m{lock})"), 5));
        (0..locks).for_each(|lock| run.event(thread, format_args!("rel(m{lock})"), 6));
    }
    (1..=2).for_each(|thread| run.event(0, format_args!("join(T{thread})"), 7));
}

fn broadcast(run: &mut Run, waiters: u32) {
    for thread in 1..=waiters {
        run.event(thread, format_args!("acq(l)"), 1);
        run.event(thread, format_args!("rel(l)"), 2);
    }
    run.event(0, format_args!("broadcast(c)"), 3);
    for thread in 1..=waiters {
        run.event(thread, format_args!("wait(c)"), 2);
        run.event(thread, format_args!("acq(l)"), 2);
        run.event(thread, format_args!("rel(l)"), 4);
    }
}

fn workers(run: &mut Run, threads: u32) {
    (1..=threads).for_each(|thread| run.event(0, format_args!("fork(T{thread})"), 1));
    for thread in 1..=threads {
        run.event(thread, format_args!("acq(l)"), 2);
        run.event(thread, format_args!("w(x)"), 3);
        run.event(thread, format_args!("rel(l)"), 4);
    }
    (1..=threads).for_each(|thread| run.event(0, format_args!("join(T{thread})"), 5));
}

fn ring_buffer(run: &mut Run, items: u32) {
    (1..=2).for_each(|thread| run.event(0, format_args!("fork(T{thread})"), thread));
    for item in 0..items {
        let slot = item % 10;
        for (thread, index, flags) in [(1, "next", ["send", "receive"]), (2, "first", ["receive", "send"])] {
            let line = 10 * thread;
            run.event(thread, format_args!("acq(m)"), line);
            run.event(thread, format_args!("r({})", flags[0]), line + 1);
            run.event(thread, format_args!("r({index})"), line + 2);
            run.event(
                thread,
                format_args!("{}(buffer{slot})", if thread == 1 { "w" } else { "r" }),
                line + 3,
            );
            run.event(thread, format_args!("r({index})"), line + 4);
            run.event(thread, format_args!("w({index})"), line + 4);
            run.event(thread, format_args!("w({})", flags[0]), line + 5);
            run.event(thread, format_args!("w({})", flags[1]), line + 6);
            run.event(thread, format_args!("rel(m)"), line + 7);
        }
    }
    (1..=2).for_each(|thread| run.event(0, format_args!("join(T{thread})"), 2 + thread));
}

fn held_locks(run: &mut Run, updates: u32) {
    const THREADS: u32 = 60;
    const LOCKS: u32 = 200;
    for thread in 0..THREADS {
        (0..LOCKS).for_each(|lock| run.event(thread, format_args!("acq(l{thread}.{lock})"), 1));
    }
    (0..updates).for_each(|update| run.event(update % THREADS, format_args!("rmw(x)"), 2));
    for thread in 0..THREADS {
        (0..LOCKS).for_each(|lock| run.event(thread, format_args!("rel(l{thread}.{lock})"), 3));
    }
}

fn opposite_locks(run: &mut Run, times: u32) {
    for time in 0..times {
        for (thread, [outer, inner]) in [(0, ["l", "m"]), (1, ["m", "l"])] {
            run.event(thread, format_args!("acq({outer})"), 1);
            run.event(thread, format_args!("acq({inner})"), 10 + time);
            run.event(thread, format_args!("rel({inner})"), 2);
            run.event(thread, format_args!("rel({outer})"), 3);
        }
    }
}

fn relay(run: &mut Run, times: u32) {
    for _ in 0..times {
        run.event(0, format_args!("signal(c)"), 1);
        run.event(1, format_args!("wait(c)"), 2);
        run.event(1, format_args!("signal(d)"), 3);
        run.event(2, format_args!("wait(d)"), 4);
    }
}

fn locks_around_accesses(run: &mut Run, locks: u32) {
    run.event(1, format_args!("w(x)"), 1);
    for lock in 0..locks {
        run.event(0, format_args!("acq(l{lock})"), 2);
        run.event(0, format_args!("r(x)"), 3);
        run.event(0, format_args!("w(x)"), 4);
    }
    run.event(1, format_args!("w(x)"), 5);
}

fn own_locks(run: &mut Run, threads: u32) {
    for thread in 1..=threads {
        run.event(thread, format_args!("acq(l)"), 1);
        run.event(thread, format_args!("acq(l{thread})"), 2);
        run.event(thread, format_args!("w(x)"), 3);
        run.event(thread, format_args!("rel(l{thread})"), 4);
        run.event(thread, format_args!("rel(l)"), 5);
    }
    run.event(0, format_args!("w(x)"), 6);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shape_can_have_happened() {
        for shape in Shape::ALL {
            let text = shape.text(shape.size().min(30));
            let trace = trace::text::read(text.as_bytes());
            assert!(trace.is_ok_and(|trace| !trace.is_empty()), "{}", shape.name());
        }
    }
}
