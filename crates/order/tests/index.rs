//! The index of a trace against naive twins: the same answers, by looking at every event.

use generate::{TraceSettings, generate};
use order::{HeldLocks, Index, LockHold, MustOrder, ReadOrder, Section};
use trace::{EventId, Op, ThreadId, Trace};

/// Shows tiny traces of many kinds to a check.
fn on_tiny_traces(seeds: u64, mut check: impl FnMut(u64, &Trace, &Index<'_>)) {
    for seed in 0..seeds {
        let trace = generate(&TraceSettings::tiny(seed)).expect("tiny settings are valid");
        check(seed, &trace, &Index::new(&trace));
    }
}

fn events(trace: &Trace) -> impl Iterator<Item = EventId> + Clone {
    (0..trace.len()).map(EventId::new)
}

/// All sections, in the order of their acquires.
fn sections(trace: &Trace) -> Vec<Section> {
    let section = |acquire: EventId| {
        let (lock, shared) = match trace.op(acquire) {
            Op::Acquire(lock) => (lock, false),
            Op::AcquireShared(lock) => (lock, true),
            _ => return None,
        };
        let (release, thread) = (trace.section_end(acquire), trace.thread(acquire));
        (!trace.is_nested(acquire)).then_some(Section { acquire, release, thread, lock, shared })
    };
    events(trace).filter_map(section).collect()
}

fn is_open_after(section: &Section, event: EventId) -> bool {
    section.acquire <= event && section.release.is_none_or(|release| release > event)
}

#[test]
fn sections_are_found_by_thread_by_lock_and_where_they_are_open() {
    let mut compared = 0;
    on_tiny_traces(3_000, |seed, trace, index| {
        let all = sections(trace);
        let mut by_thread = all.clone();
        by_thread.sort_by_key(|section| (section.thread, section.acquire));
        assert_eq!(index.sections(), by_thread, "seed {seed}");
        for event in events(trace) {
            let thread = trace.thread(event);
            let place = index.threads().place(event) as u32;
            let open = all.iter().rev().filter(|s| s.thread == thread && is_open_after(s, event));
            let open: Vec<&Section> = open.collect();
            assert_eq!(index.open_after(event).collect::<Vec<_>>(), open, "seed {seed} {event}");
            assert_eq!(index.held_after(thread, place + 1).collect::<Vec<_>>(), open, "seed {seed} {event}");
            for lock in (0..trace.symbols().locks.len()).map(trace::LockId::new) {
                let before =
                    |s: &&Section| s.acquire < event && s.release.is_none_or(|release| release >= event);
                let open = all.iter().rev().filter(|s| s.lock == lock).filter(before).copied();
                let found: Vec<Section> = index.open_sections(lock, event).collect();
                assert_eq!(found, open.collect::<Vec<_>>(), "seed {seed} {event}");
            }
            for end in [place, place + 3] {
                let between = all.iter().filter(|s| {
                    let acquire = index.threads().place(s.acquire) as u32;
                    s.thread == thread && (place.saturating_sub(2)..end).contains(&acquire)
                });
                let found = index.sections_between(thread, place.saturating_sub(2), end);
                assert_eq!(found, between.copied().collect::<Vec<_>>(), "seed {seed} {event}");
            }
            compared += open.len();
        }
        for thread in (0..index.threads().threads()).map(ThreadId::new) {
            assert_eq!(index.held_after(thread, 0).count(), 0);
        }
    });
    assert!(compared > 10_000, "only {compared} open sections");
}

#[test]
fn sections_of_a_lock_by_thread_have_their_latest_release_and_last_exclusive_one() {
    on_tiny_traces(3_000, |seed, trace, index| {
        let all = sections(trace);
        let place = |event: EventId| index.threads().place(event) as u32;
        for lock in (0..trace.symbols().locks.len()).map(trace::LockId::new) {
            let mut found = 0;
            for (thread, uses) in index.thread_sections().of(lock.index()) {
                let own: Vec<&Section> =
                    all.iter().filter(|s| s.lock == lock && s.thread == thread).collect();
                assert_eq!(own.len(), uses.len(), "seed {seed}");
                let ends = |s: &Section| s.release.map_or(order::NONE, place);
                for (number, (section, entry)) in own.iter().zip(uses).enumerate() {
                    let exclusive = own[..=number].iter().rposition(|s| !s.shared);
                    let latest = own[..=number].iter().map(|s| ends(s)).max();
                    assert_eq!((entry.acquire, entry.release), (place(section.acquire), ends(section)));
                    assert_eq!(Some(entry.latest_release), latest, "seed {seed}");
                    assert_eq!(entry.shared, section.shared);
                    assert_eq!(entry.last_exclusive, exclusive.map_or(order::NONE, |index| index as u32));
                }
                assert_eq!(index.thread_sections().by(lock.index(), thread).len(), uses.len());
                found += uses.len();
            }
            assert_eq!(found, all.iter().filter(|s| s.lock == lock).count(), "seed {seed}");
        }
    });
}

/// The locks that a thread holds after an event, in their strongest form.
fn locks_after(trace: &Trace, event: EventId) -> Vec<LockHold> {
    let own = |s: &&Section| s.thread == trace.thread(event) && is_open_after(s, event);
    let mut holds: Vec<LockHold> = sections(trace).iter().filter(own).map(Section::hold).collect();
    holds.sort_unstable_by_key(|hold| (hold.lock, !hold.exclusive));
    holds.dedup_by_key(|hold| hold.lock);
    holds
}

#[test]
fn sets_of_locks_are_those_of_the_open_sections() {
    on_tiny_traces(2_000, |seed, trace, index| {
        let (open, mut streamed) = (index.open(), HeldLocks::default());
        for (event, thread, op) in trace.events() {
            streamed.step(thread, op);
            let expected = locks_after(trace, event);
            assert_eq!(open.sets().holds(open.locks_after(event)), expected, "seed {seed} {event}");
            assert_eq!(streamed.sets().holds(streamed.by(thread)), expected, "seed {seed} {event}");
        }
        let mut sets = open.sets().clone();
        for (a, b) in events(trace).flat_map(|a| events(trace).map(move |b| (a, b))) {
            let (of_a, of_b) = (locks_after(trace, a), locks_after(trace, b));
            let (set_a, set_b) = (open.locks_after(a), open.locks_after(b));
            let exclude = of_a.iter().any(|&x| of_b.iter().any(|&y| x.excludes(y)));
            assert_eq!(open.sets().exclude(set_a, set_b), exclude, "seed {seed} {a} {b}");
            let exclude_one = of_a.first().is_some_and(|&x| of_b.iter().any(|&y| x.excludes(y)));
            let first = of_a.first().copied();
            assert_eq!(first.is_some_and(|x| open.sets().excludes_one(set_b, x)), exclude_one);
            let within =
                of_a.iter().all(|x| of_b.iter().any(|y| x.lock == y.lock && y.exclusive >= x.exclusive));
            assert_eq!(open.sets().within(set_a, set_b), within, "seed {seed} {a} {b}");
            assert_eq!(sets.set_of(of_a.iter().rev().copied()), set_a);
        }
    });
}

#[test]
fn accesses_and_semaphores_are_listed_in_order() {
    on_tiny_traces(2_000, |seed, trace, index| {
        let list = |wanted: &dyn Fn(Op) -> bool| {
            events(trace).filter(|&event| wanted(trace.op(event))).collect::<Vec<EventId>>()
        };
        for variable in (0..trace.symbols().variables.len()).map(trace::VariableId::new) {
            let writes = list(&|op| op.writes() == Some(variable));
            assert_eq!(index.writes(variable), writes, "seed {seed}");
            for (thread, places) in index.thread_writes().of(variable.index()) {
                let own = writes.iter().filter(|&&write| trace.thread(write) == thread);
                let own: Vec<u32> = own.map(|&write| index.threads().place(write) as u32).collect();
                assert_eq!(places, own, "seed {seed}");
            }
            let reads = list(&|op| op.reads() == Some(variable));
            for start in events(trace) {
                let since: Vec<EventId> = reads.iter().copied().filter(|&read| read >= start).collect();
                assert_eq!(index.reads_since(variable, start), since, "seed {seed}");
            }
            for &write in &writes {
                let saw = reads.iter().copied().filter(|&read| trace.reads_from(read) == Some(write));
                let readers: Vec<EventId> = index.readers().of_write(write).collect();
                assert_eq!(readers, saw.collect::<Vec<_>>(), "seed {seed}");
            }
        }
        for semaphore in (0..trace.symbols().semaphores.len()).map(trace::SemaphoreId::new) {
            assert_eq!(index.posts(semaphore), list(&|op| op == Op::Post(semaphore)), "seed {seed}");
            assert_eq!(index.takes(semaphore), list(&|op| op == Op::Take(semaphore)), "seed {seed}");
        }
        let contested = |op: Op| {
            let Some(variable) = op.access().map(|access| access.variable) else { return false };
            let all = list(&|op| op.access().is_some_and(|access| access.variable == variable));
            let several = all.iter().any(|&event| trace.thread(event) != trace.thread(all[0]));
            several && all.iter().any(|&event| trace.op(event).writes().is_some())
        };
        for thread in (0..index.threads().threads()).map(ThreadId::new) {
            let own = index.threads().of_thread(thread);
            let places = |wanted: &dyn Fn(Op) -> bool| {
                let places = (0..own.len()).filter(|&place| wanted(trace.op(own[place])));
                places.map(|place| place as u32).collect::<Vec<u32>>()
            };
            let all = places(&contested);
            assert_eq!(index.contested_between(thread, 0, order::NONE), all, "seed {seed}");
            let branches = places(&|op| matches!(op, Op::Branch(1..)));
            for place in 0..own.len() as u32 {
                let next = branches.iter().copied().find(|&branch| branch > place);
                assert_eq!(index.branch_after(thread, place), next, "seed {seed}");
                let some: Vec<u32> = all.iter().copied().filter(|p| (place..place + 4).contains(p)).collect();
                assert_eq!(index.contested_between(thread, place, place + 4), some, "seed {seed}");
            }
        }
    });
}

/// `after[b][a]`: a is b or comes before it in every schedule, by the closure of all direct orders.
fn closure(trace: &Trace, index: &Index<'_>, reads: ReadOrder) -> Vec<Vec<bool>> {
    let mut after: Vec<Vec<bool>> = Vec::new();
    for (event, _, op) in trace.events() {
        let mut direct: Vec<EventId> = index.previous(event).into_iter().collect();
        match op {
            Op::Join(_) | Op::Wait(_) => direct.extend(trace.link(event).event()),
            Op::BarrierExit(_) => {
                let instance = trace.barrier_instance(event).index();
                direct.extend(&trace.matching().barrier_instances()[instance].enters);
            }
            _ if reads == ReadOrder::ReadsFrom => {
                direct.extend(op.reads().and_then(|_| trace.reads_from(event)))
            }
            _ => {}
        }
        let mut row = vec![false; trace.len()];
        row[event.index()] = true;
        for earlier in direct {
            row.iter_mut().zip(&after[earlier.index()]).for_each(|(own, other)| *own |= other);
        }
        after.push(row);
    }
    after
}

#[test]
fn orders_that_must_hold_are_the_closure_of_the_direct_ones() {
    on_tiny_traces(2_000, |seed, trace, index| {
        for reads in [ReadOrder::Free, ReadOrder::ReadsFrom] {
            // Which posts a take needs is a matter of counting, and compared with the oracle elsewhere.
            let must = MustOrder::uncounted(index, reads);
            let after = closure(trace, index, reads);
            for (a, b) in events(trace).flat_map(|a| events(trace).map(move |b| (a, b))) {
                let holds = after[b.index()][a.index()];
                assert_eq!(must.precedes(index, a, b), holds, "seed {seed} {reads:?} {a} {b}");
            }
            let lacks_takes = !trace.events().any(|(_, _, op)| matches!(op, Op::Take(_)));
            for read in events(trace).filter(|&event| trace.op(event).reads().is_some()) {
                let Some(previous) = index.previous(read) else { continue };
                let hides = |write: &EventId| after[previous.index()][write.index()];
                let all = events(trace).filter(|&e| trace.op(e).writes() == trace.op(read).reads());
                let mut last: Vec<EventId> = Vec::new();
                for write in all.filter(hides) {
                    last.retain(|&other| trace.thread(other) != trace.thread(write));
                    last.push(write);
                }
                last.sort_by_key(|&write| trace.thread(write));
                assert_eq!(must.hiding_writes(index, read), last, "seed {seed} {reads:?} {read}");
                let shared = index.must_order(reads).hiding_writes(index, read);
                assert!(!lacks_takes || shared == last, "seed {seed} {reads:?} {read}");
            }
        }
    });
}

/// What issue 19 asks for: memory does not grow with events times threads.
#[test]
fn thousands_of_threads_are_no_matter() {
    let mut text = String::new();
    for thread in 1..=10_000 {
        text.push_str(&format!("T0|fork(T{thread})|f\nT{thread}|w(x)|w\n"));
    }
    (1..=10_000).for_each(|thread| text.push_str(&format!("T0|join(T{thread})|j\n")));
    let trace = trace::text::read(text.as_bytes()).expect("a legal trace");
    let index = Index::new(&trace);
    let must = index.must_order(ReadOrder::ReadsFrom);
    let last = EventId::new(trace.len() - 1);
    assert!(events(&trace).all(|event| must.precedes(&index, event, last)));
    assert!(!must.precedes(&index, EventId(1), EventId(3)), "children are in no order");
}

/// What is built when there is no time or memory left has nothing in it, and can be asked all the same.
#[test]
fn an_index_that_is_cut_keeps_its_shape() {
    let bounds = bounds::Bounds::start(None, Some(4096));
    assert!(bounds.are_final(), "from the start");
    on_tiny_traces(300, |_, trace, _| {
        let index = Index::within(trace, bounds);
        assert!(index.sections().is_empty());
        for (event, thread, op) in trace.events() {
            assert_eq!(index.open_after(event).count(), 0);
            let held = index.open().locks_after(event);
            assert!(index.open().sets().holds(held).is_empty());
            assert_eq!(index.branch_after(thread, 0), None);
            assert!(index.contested_between(thread, 0, u32::MAX).is_empty());
            assert!(index.synchronisation().is_none_or(|weak| !weak.is_unordered(event)));
            if let Some(access) = op.access() {
                assert!(index.writes(access.variable).is_empty());
                assert!(index.reads_since(access.variable, EventId(0)).is_empty());
                assert!(index.thread_writes().by(access.variable.index(), thread).is_empty());
            }
        }
    });
}
