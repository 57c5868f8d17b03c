//! A run to a state by the first way that comes to mind, started at its reset point: every thread goes to its last place
//! where it holds nothing that others want; then one by one they go on, each as far as it can without keeping
//! what another one still needs. Getting there proves the state reachable at a fraction of what normalisation
//! costs; getting stuck proves nothing.

use crate::locks;
use crate::loset::Loset;

/// States of more threads are not tried: their places are kept on the stack.
const MOST_THREADS: usize = 64;

impl Loset {
    /// Whether the greedy run from `start` gets to a feasible state. `start` is reachable. Says no to all where there are
    /// semaphores.
    pub(crate) fn is_greedily_reached(&self, start: &[u32], goal: &[u32]) -> bool {
        if !self.permits.is_empty() || goal.len() > MOST_THREADS {
            return false;
        }
        let mut places = [0; MOST_THREADS];
        let places = &mut places[..goal.len()];
        places.copy_from_slice(start);
        let mut calm = [0; MOST_THREADS];
        let calm = &mut calm[..goal.len()];
        for (thread, calm) in calm.iter_mut().enumerate() {
            *calm = self.calm[thread][goal[thread] as usize].max(start[thread]);
        }
        self.advance(places, calm);
        let mut needed: Vec<u64> = Vec::with_capacity(self.held.width() * goal.len());
        for thread in 0..goal.len() {
            needed.resize(needed.len() + self.held.width(), 0);
            self.needed_on_the_way(thread, places[thread], goal[thread], self.of_thread(&mut needed, thread));
        }
        while (0..goal.len()).any(|thread| self.go_on(places, goal, &mut needed, thread)) {}
        self.advance(places, goal);
        places == goal
    }

    /// Lets a thread go on to the last place where it keeps nothing that another one still needs. `false`: it stays.
    fn go_on(&self, places: &mut [u32], goal: &[u32], needed: &mut [u64], thread: usize) -> bool {
        let (before, width) = (places[thread], self.held.width());
        let mut best = before;
        while places[thread] < goal[thread] && self.can_step(places, thread) {
            places[thread] += 1;
            let kept = self.held.at(thread, places[thread]);
            let needs = |other: usize| locks::exclude(kept, &needed[width * other..width * (other + 1)]);
            if !(0..goal.len()).any(|other| other != thread && needs(other)) {
                best = places[thread];
            }
        }
        places[thread] = best;
        if best > before {
            self.needed_on_the_way(thread, best, goal[thread], self.of_thread(needed, thread));
        }
        best > before
    }

    fn of_thread<'n>(&self, needed: &'n mut [u64], thread: usize) -> &'n mut [u64] {
        let width = self.held.width();
        &mut needed[width * thread..width * (thread + 1)]
    }

    /// The locks that a thread has anywhere after one place and up to another.
    fn needed_on_the_way(&self, thread: usize, from: u32, to: u32, needed: &mut [u64]) {
        needed.fill(0);
        (from + 1..=to).for_each(|place| locks::unite(needed, self.held.at(thread, place)));
    }

    /// Moves each thread towards where it should stop, until none can go on.
    fn advance(&self, places: &mut [u32], stops: &[u32]) {
        loop {
            let mut moved = false;
            for thread in 0..places.len() {
                while places[thread] < stops[thread] && self.can_step(places, thread) {
                    places[thread] += 1;
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Whether the next event of a thread can happen.
    #[inline]
    fn can_step(&self, places: &[u32], thread: usize) -> bool {
        let place = places[thread];
        let constraints = self.constraints[thread][place as usize];
        if constraints.waits
            && self
                .needs(thread, place + 1)
                .iter()
                .zip(places)
                .enumerate()
                .any(|(other, (needed, done))| other != thread && needed > done)
        {
            return false;
        }
        if !constraints.acquires {
            return true;
        }
        let held = self.held.at(thread, place + 1);
        let holds = |(other, &place): (usize, &u32)| {
            other != thread && locks::exclude(self.held.at(other, place), held)
        };
        !places.iter().enumerate().any(holds)
    }
}

/// What can keep an event from happening.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Constraints {
    /// It comes after an event of another thread.
    pub(crate) waits: bool,
    /// It acquires a lock that another thread wants.
    pub(crate) acquires: bool,
}
