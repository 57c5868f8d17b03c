//! Reads of a thread that spins: it looks at the same variables again and again until another thread writes one of them.
//!
//! A read is left out if its thread has read the same variable at the same place a few times, nobody else has touched the variable since,
//! and the thread itself has done nothing but read. All these reads see the same write and have the same synchronisation before them, so
//! the first of them is in every race that any of them is in. The read that ends the loop sees another write and is kept. So are the first
//! [`MOST`] of each loop: short loops stay as they are.

use trace::{LocationId, VariableId};

/// How many reads of a variable are kept before repeated ones are left out.
const MOST: u16 = 16;
/// How many places of a loop that read the same variable are distinguished. Reads at further ones are all kept.
const PLACES: usize = 4;

/// The latest reads of a variable by one thread. There is one for each variable, so it is small.
#[derive(Clone, Copy, Debug)]
struct Reads {
    /// [`NOBODY`] if nobody has read the variable since it was written.
    thread: u32,
    /// What the thread had done by then, other than reading.
    segment: u32,
    /// Where the first of them was.
    place: LocationId,
    count: u16,
    place_count: u16,
}

const NOBODY: u32 = u32::MAX;

impl Reads {
    const NONE: Reads = Reads { thread: NOBODY, segment: 0, place: LocationId(0), count: 0, place_count: 0 };
}

/// What each variable was last read by, and how often.
#[derive(Debug, Default)]
pub(super) struct Spinning {
    by_variable: Vec<Reads>,
    /// The places of a variable's reads besides the first. Only loops that read it at several have some.
    other_places: Vec<[LocationId; PLACES - 1]>,
    /// How many reads were left out.
    pub(super) repeated: u64,
}

impl Spinning {
    /// Whether a read repeats others. `segment` is how many events the thread has performed that are not reads.
    #[inline]
    pub(super) fn repeats(
        &mut self,
        thread: u32,
        segment: u32,
        variable: VariableId,
        place: LocationId,
    ) -> bool {
        if self.by_variable.len() <= variable.index() {
            self.by_variable.resize(variable.index() + 1, Reads::NONE);
        }
        let reads = &mut self.by_variable[variable.index()];
        if (reads.thread, reads.segment) != (thread, segment) {
            *reads = Reads { thread, segment, place, count: 1, place_count: 1 };
            return false;
        }
        self.repeats_in_segment(variable, place)
    }

    /// The same for a variable that the thread has read in this segment.
    fn repeats_in_segment(&mut self, variable: VariableId, place: LocationId) -> bool {
        if self.other_places.len() <= variable.index() {
            self.other_places.resize(self.by_variable.len(), [LocationId(0); PLACES - 1]);
        }
        let reads = &mut self.by_variable[variable.index()];
        let others = &mut self.other_places[variable.index()];
        let other_count = usize::from(reads.place_count) - 1;
        reads.count = reads.count.saturating_add(1);
        if reads.place == place || others[..other_count].contains(&place) {
            let is_repeated = reads.count > MOST;
            reads.count = reads.count.min(MOST);
            self.repeated += u64::from(is_repeated);
            return is_repeated;
        }
        if let Some(next) = others.get_mut(other_count) {
            *next = place;
            reads.place_count += 1;
        }
        false
    }

    /// Who has read a variable since it was written: [`NOBODY`] if nobody has, or it is not known yet.
    #[inline]
    pub(super) fn reader(&self, variable: VariableId) -> u32 {
        self.by_variable.get(variable.index()).map_or(NOBODY, |reads| reads.thread)
    }

    /// A variable is written.
    #[inline]
    pub(super) fn write(&mut self, variable: VariableId) {
        if let Some(reads) = self.by_variable.get_mut(variable.index()) {
            reads.thread = NOBODY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const X: VariableId = VariableId(0);
    const Y: VariableId = VariableId(1);

    /// How many of a hundred rounds of a loop are kept, in which a thread reads these variables at these places.
    fn kept(spinning: &mut Spinning, thread: u32, segment: u32, reads: &[(VariableId, u32)]) -> usize {
        let rounds = std::iter::repeat_n(reads, 100).flatten();
        rounds
            .filter(|&&(variable, place)| !spinning.repeats(thread, segment, variable, LocationId(place)))
            .count()
    }

    #[test]
    fn long_loops_are_cut_short_and_new_places_are_kept() {
        let mut spinning = Spinning::default();
        assert_eq!(kept(&mut spinning, 1, 0, &[(X, 1)]), 16);
        assert_eq!(spinning.repeated, 84);
        assert!(!spinning.repeats(1, 0, X, LocationId(2)), "the first read of this place");
        // Two variables, one of them at two places.
        assert_eq!(kept(&mut Spinning::default(), 1, 0, &[(X, 1), (Y, 2), (X, 3)]), 32);
        // More places than are distinguished: those beyond are kept.
        let places: Vec<_> = (0..5).map(|place| (X, place)).collect();
        assert_eq!(kept(&mut Spinning::default(), 1, 0, &places), 100 + 13);
    }

    #[test]
    fn whatever_may_change_the_value_or_the_order_starts_anew() {
        let mut spinning = Spinning::default();
        kept(&mut spinning, 1, 0, &[(X, 1)]);
        spinning.write(X);
        assert!(!spinning.repeats(1, 0, X, LocationId(1)), "it was written");
        kept(&mut spinning, 1, 0, &[(X, 1)]);
        assert!(!spinning.repeats(2, 0, X, LocationId(1)), "another thread");
        assert!(!spinning.repeats(1, 0, X, LocationId(1)), "another thread has read it since");
        kept(&mut spinning, 1, 0, &[(X, 1)]);
        assert!(!spinning.repeats(1, 1, X, LocationId(1)), "the thread has done something else");
    }
}
