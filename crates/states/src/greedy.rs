//! A run to a state by the first way that comes to mind, started at its reset point: every thread goes to its last place
//! where it holds nothing that others want; then one by one they go all the way, whoever keeps what nobody else
//! will still need first. Getting there proves the state reachable at a fraction of what normalisation
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
        while self.finish_one(places, goal) {}
        self.advance(places, goal);
        places == goal
    }

    /// Lets one thread go all the way whose locks nobody else still needs on its way. `false`: there is none.
    fn finish_one(&self, places: &mut [u32], goal: &[u32]) -> bool {
        let needed = |other: usize, kept: &[u64]| locks::exclude(kept, self.touched.at(other, goal[other]));
        (0..goal.len()).any(|thread| {
            let before = places[thread];
            let kept = self.held.at(thread, goal[thread]);
            let in_the_way = |other| other != thread && places[other] < goal[other] && needed(other, kept);
            if before == goal[thread] || (0..goal.len()).any(in_the_way) {
                return false;
            }
            while places[thread] < goal[thread] && self.can_step(places, thread) {
                places[thread] += 1;
            }
            let arrived = places[thread] == goal[thread];
            if !arrived {
                places[thread] = before;
            }
            arrived
        })
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
