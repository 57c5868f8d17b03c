//! Locks that one thread alone takes in several orders, as in `a` then `b`, and later `b` then `a`. That thread cannot deadlock with itself, and
//! no schedule of the run shows a deadlock, but the code can as soon as two threads run it.
//!
//! A thread that waits for a lock while it holds others has an *order* of each of these and the new one. Orders that form a cycle are reported
//! if they could be those of as many threads: no two of them hold a common lock (a gate), and each waits for what the next one holds. What is
//! only tried has no order. Where another thread has an order of two locks of the cycle, nothing is reported: then the search for deadlocks
//! decides, which knows what can happen at once.
//!
//! Promise: no cycle is reported that is none; cycles of more than [`LONGEST`] locks are left out, and so is what exceeds [`MOST_HELD`],
//! [`MOST_ORDERS`] or [`MOST_STEPS`]. Cost: for each lock that is taken, the locks that are held then, unless they are too many; for each new order,
//! a search for cycles.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use trace::{LocationId, LockId};
use wire::Hold;

/// How many locks a cycle has at most.
const LONGEST: usize = 20;
/// A thread that holds more locks than this when it waits has no orders there: it has forgotten to give them back, and each of them would
/// be in an order with each later one.
const MOST_HELD: usize = 256;
/// How many orders are kept.
const MOST_ORDERS: usize = 200_000;
/// How many orders of the same two locks, with different other locks held, are kept.
const MOST_ALIKE: usize = 4;
/// How many orders all searches for cycles look at.
const MOST_STEPS: usize = 2_000_000;

/// A lock, and how often it was destroyed before: what is made at the same place is another.
type Life = (LockId, u32);

/// A lock as a thread holds it or waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taken {
    lock: Life,
    pub(super) address: u64,
    hold: Hold,
}

impl Taken {
    /// Whether nobody can have the lock in one form while another thread has it in the other.
    fn excludes(self, other: Taken) -> bool {
        self.lock == other.lock && (self.hold == Hold::Exclusive || other.hold == Hold::Exclusive)
    }
}

/// A thread waits for a lock while it holds another, and perhaps more.
#[derive(Clone, Debug)]
struct Order {
    holds: Taken,
    wants: Taken,
    all_held: Arc<[Taken]>,
    place: LocationId,
}

impl Order {
    /// Whether two threads can wait like this at once.
    fn goes_with(&self, other: &Order) -> bool {
        !self.all_held.iter().any(|one| other.all_held.iter().any(|two| one.excludes(*two)))
    }
}

/// What one thread does.
#[derive(Debug, Default)]
struct Orders {
    held: Vec<(Taken, u32)>,
    /// The locks of these.
    lives: FxHashSet<Life>,
    wanted: Option<LockId>,
    by_first: FxHashMap<Life, Vec<Life>>,
    known: FxHashMap<(Life, Life), Vec<Order>>,
}

/// A cycle that one thread's orders form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cycle {
    /// What it has waited for last, and what it held then.
    pub(super) wanted: Taken,
    pub(super) held: Taken,
    /// Where it has taken the one that it now held while it held another of them.
    pub(super) earlier: LocationId,
    thread: u32,
    locks: Vec<Life>,
}

/// The orders of all threads.
#[derive(Debug, Default)]
pub(super) struct LockOrders {
    threads: FxHashMap<u32, Orders>,
    /// How often each lock was destroyed, if it was.
    destroyed: FxHashMap<LockId, u32>,
    orders: usize,
    steps: usize,
}

impl LockOrders {
    /// A thread will wait until it has the lock.
    pub(super) fn request(&mut self, thread: u32, lock: LockId) {
        self.threads.entry(thread).or_default().wanted = Some(lock);
    }

    /// A lock is destroyed.
    pub(super) fn destroy(&mut self, lock: LockId) {
        *self.destroyed.entry(lock).or_default() += 1;
    }

    /// A thread has got a lock at an address. Returns the cycle that this closes, if it does.
    pub(super) fn acquire(
        &mut self,
        thread: u32,
        lock: LockId,
        address: u64,
        hold: Hold,
        place: LocationId,
    ) -> Option<Cycle> {
        let life = self.destroyed.get(&lock).copied().unwrap_or_default();
        let taken = Taken { lock: (lock, life), address, hold };
        let orders = self.threads.entry(thread).or_default();
        let waited = orders.wanted.take() == Some(lock);
        if !orders.lives.insert(taken.lock) {
            let held = orders.held.iter_mut().rev().find(|(held, _)| held.lock == taken.lock);
            held.into_iter().for_each(|(_, depth)| *depth += 1);
            return None;
        }
        let mut cycle = None;
        if waited && (1..=MOST_HELD).contains(&orders.held.len()) && self.orders < MOST_ORDERS {
            let all_held: Arc<[Taken]> = orders.held.iter().map(|&(held, _)| held).collect();
            for &holds in &*all_held {
                if self.orders == MOST_ORDERS {
                    break;
                }
                let order = Order { holds, wants: taken, all_held: all_held.clone(), place };
                if let Some(order) = orders.add(order) {
                    self.orders += 1;
                    cycle = cycle.or_else(|| orders.cycle(thread, order, &mut self.steps));
                }
            }
        }
        orders.held.push((taken, 1));
        cycle
    }

    /// A thread gives a lock back.
    pub(super) fn release(&mut self, thread: u32, lock: LockId) {
        let Some(orders) = self.threads.get_mut(&thread) else { return };
        if let Some(index) = orders.held.iter().rposition(|(held, _)| held.lock.0 == lock) {
            orders.held[index].1 -= 1;
            if orders.held[index].1 == 0 {
                let (taken, _) = orders.held.remove(index);
                orders.lives.remove(&taken.lock);
            }
        }
    }

    /// Whether no other thread has an order of two locks of a cycle.
    pub(super) fn is_of_one_thread(&self, cycle: &Cycle) -> bool {
        let others = self.threads.iter().filter(|&(&thread, _)| thread != cycle.thread);
        let pairs = || cycle.locks.iter().flat_map(|&a| cycle.locks.iter().map(move |&b| (a, b)));
        let mut others = others.map(|(_, orders)| orders);
        !others.any(|orders| pairs().any(|pair| orders.known.contains_key(&pair)))
    }
}

impl Orders {
    /// Keeps an order, and returns it, unless one is known that is no more restricted.
    fn add(&mut self, order: Order) -> Option<Order> {
        let (first, second) = (order.holds.lock, order.wants.lock);
        let alike = self.known.entry((first, second)).or_default();
        let covers = |known: &Order| {
            (known.holds, known.wants) == (order.holds, order.wants)
                && known.all_held.iter().all(|held| order.all_held.contains(held))
        };
        if alike.len() == MOST_ALIKE || alike.iter().any(covers) {
            return None;
        }
        if alike.is_empty() {
            self.by_first.entry(first).or_default().push(second);
        }
        alike.push(order.clone());
        Some(order)
    }

    /// A cycle that an order is part of.
    fn cycle(&self, thread: u32, last: Order, steps: &mut usize) -> Option<Cycle> {
        let mut path = vec![&last];
        let found = self.close(&mut path, steps);
        found.then(|| Cycle {
            wanted: last.wants,
            held: last.holds,
            earlier: path.last().map_or(last.place, |order| order.place),
            thread,
            locks: path.iter().map(|order| order.holds.lock).collect(),
        })
    }

    /// Extends a path of orders, each of which waits for what the next one holds, until the last waits for what the first holds.
    fn close<'a>(&'a self, path: &mut Vec<&'a Order>, steps: &mut usize) -> bool {
        let (Some(&first), Some(&last)) = (path.first(), path.last()) else { return false };
        if path.len() > 1 && last.wants.excludes(first.holds) {
            return true;
        }
        if path.len() == LONGEST {
            return false;
        }
        for &next in self.by_first.get(&last.wants.lock).into_iter().flatten() {
            for order in self.known.get(&(last.wants.lock, next)).into_iter().flatten() {
                if *steps == MOST_STEPS {
                    return false;
                }
                *steps += 1;
                let fits =
                    last.wants.excludes(order.holds) && path.iter().all(|other| other.goes_with(order));
                if fits {
                    path.push(order);
                    if self.close(path, steps) {
                        return true;
                    }
                    path.pop();
                }
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script: `1+a` takes a lock and waits for it, `1?a` tries, `1ra` takes it as a reader, `1-a` gives it back, `1xa` destroys it.
    fn cycles(script: &str) -> Vec<(char, char)> {
        let mut orders = LockOrders::default();
        let mut found = Vec::new();
        let name = |taken: Taken| char::from(taken.lock.0.0 as u8);
        for (number, step) in script.split_whitespace().enumerate() {
            let letters: Vec<char> = step.chars().collect();
            let [thread, what, lock] = letters[..] else { panic!("{step}") };
            let (thread, lock) = (thread as u32, LockId(lock as u32));
            match what {
                '-' => orders.release(thread, lock),
                'x' => orders.destroy(lock),
                _ => {
                    if what != '?' {
                        orders.request(thread, lock);
                    }
                    let hold = if what == 'r' { Hold::Shared } else { Hold::Exclusive };
                    found.extend(orders.acquire(thread, lock, 0, hold, LocationId(number as u32)));
                }
            }
        }
        let alone = found.iter().filter(|cycle| orders.is_of_one_thread(cycle));
        alone.map(|cycle| (name(cycle.held), name(cycle.wanted))).collect()
    }

    #[test]
    fn one_thread_takes_locks_in_both_orders() {
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1+b 1+a 1-a 1-b"), [('b', 'a')]);
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1+a 1+b"), []);
        // Not nested.
        assert_eq!(cycles("1+a 1-a 1+b 1-b 1+b 1-b 1+a"), []);
        // Three of them, and a lock that is given back early.
        assert_eq!(cycles("1+a 1+b 1-a 1+c 1-b 1+a"), [('c', 'a')]);
    }

    #[test]
    fn what_cannot_deadlock_is_not_told() {
        // A gate keeps the two orders apart.
        assert_eq!(cycles("1+g 1+a 1+b 1-b 1-a 1+b 1+a"), []);
        // Who only tries waits for nobody.
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1+b 1?a"), []);
        assert_eq!(cycles("1+a 1?b 1-b 1-a 1+b 1+a"), []);
        // Readers do not keep each other out, but a writer does.
        assert_eq!(cycles("1ra 1rb 1-b 1-a 1rb 1ra"), []);
        assert_eq!(cycles("1ra 1+b 1-b 1-a 1rb 1+a"), [('b', 'a')]);
        // A lock that is held already is not waited for.
        assert_eq!(cycles("1+a 1+b 1+a 1-a 1-b 1-a"), []);
        // What is made where a lock was destroyed is another lock.
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1xb 1+b 1+a"), []);
    }

    #[test]
    fn what_several_threads_do_is_left_to_the_search_for_deadlocks() {
        assert_eq!(cycles("1+a 1+b 1-b 1-a 2+b 2+a"), []);
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1+b 1+a 1-a 1-b 2+a 2+b"), []);
        assert_eq!(cycles("1+a 1+b 1-b 1-a 1+b 1+a 1-a 1-b 2+c 2+a"), [('b', 'a')]);
    }

    #[test]
    fn cycles_are_found_up_to_their_longest() {
        let ring = |locks: u8| {
            let name = |index: u8| char::from(b'A' + index % locks);
            let step = |index| format!("1+{0} 1+{1} 1-{0} 1-{1} ", name(index), name(index + 1));
            cycles(&(0..locks).map(step).collect::<String>()).len()
        };
        assert_eq!((ring(2), ring(5), ring(20), ring(21)), (1, 1, 1, 0));
    }

    #[test]
    fn a_thread_that_forgets_its_locks_costs_no_more_for_each() {
        let mut orders = LockOrders::default();
        let started = std::time::Instant::now();
        for lock in 0..30_000 {
            orders.request(1, LockId(lock));
            assert_eq!(orders.acquire(1, LockId(lock), 0, Hold::Exclusive, LocationId(lock)), None);
        }
        let kept: usize =
            orders.threads.values().flat_map(|orders| orders.known.values()).map(Vec::len).sum();
        assert_eq!(kept, (1..=MOST_HELD).sum::<usize>());
        assert!(started.elapsed() < std::time::Duration::from_secs(30), "{:?}", started.elapsed());
    }
}
