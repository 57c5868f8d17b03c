//! Where a thread's last events were in each of the functions that it is in: what code without source does, it does for the function that called it.

/// At least this number of places of a function are kept: an exception that nobody catches is followed by many events in libraries.
const FEWEST: usize = 32;

/// The last places of each function that a thread is in.
#[derive(Clone, Debug, Default)]
pub(super) struct RecentPlaces {
    /// How many functions the thread is in.
    depth: u32,
    /// The depth of each function with its places, the innermost function and the latest place last.
    places: Vec<(u32, u64)>,
    /// How many of them are the innermost function's.
    own: usize,
}

impl RecentPlaces {
    /// The thread enters a function.
    pub(super) fn enter(&mut self) {
        self.depth += 1;
        self.own = 0;
    }

    /// It leaves the innermost one.
    pub(super) fn exit(&mut self) {
        self.places.truncate(self.places.len() - self.own);
        self.depth = self.depth.saturating_sub(1);
        self.own = self.places.iter().rev().take_while(|(depth, _)| *depth == self.depth).count();
    }

    /// It does something here.
    pub(super) fn note(&mut self, pc: u64) {
        if self.own == 2 * FEWEST {
            let first = self.places.len() - self.own;
            self.places.drain(first..first + FEWEST);
            self.own = FEWEST;
        }
        self.places.push((self.depth, pc));
        self.own += 1;
    }

    /// The places of the innermost function, the latest first.
    pub(super) fn innermost(&self) -> impl Iterator<Item = u64> + '_ {
        self.places.iter().rev().take(self.own).map(|&(_, pc)| pc)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_called_function_did_is_forgotten_when_it_returns() {
        let mut recent = RecentPlaces::default();
        recent.enter();
        recent.note(1);
        recent.note(2);
        recent.enter();
        assert_eq!(recent.innermost().count(), 0);
        (1..=100).for_each(|pc| recent.note(pc));
        let last: Vec<u64> = recent.innermost().take(FEWEST).collect();
        assert_eq!(last, (1..=100).rev().take(FEWEST).collect::<Vec<u64>>());
        assert!(recent.places.len() <= 2 * FEWEST + 2);
        recent.exit();
        assert_eq!(recent.innermost().collect::<Vec<_>>(), [2, 1]);
        recent.exit();
        recent.exit();
        assert_eq!(recent.innermost().count(), 0);
    }
}
