//! States known to be reachable among those just walked: a feasible state is reachable as soon as one is from which
//! a single event leads to it. In lexical order most such neighbours have just been walked, so one bit a state,
//! for a window of fixed size, saves nearly all searching.
//!
//! The window is the last levels, as many as fit, and the one before it: what is known for the place before.

use crate::frames::Frames;

/// Words of each half of the window, at most.
const MOST_WORDS: usize = 1 << 14;

/// Bits for the states above the choices at the levels before the window.
pub(crate) struct ReachableWindow {
    /// The first level in the window as large as it can be, and for the stretch walked now.
    widest: usize,
    first: usize,
    /// By level: how many words apart neighbours are; 0 before the window.
    strides: Vec<usize>,
    now: Vec<u64>,
    /// The same for the place before at the level before the window, if that has been walked.
    before: Vec<u64>,
    place: Option<u32>,
}

impl ReachableWindow {
    /// A window over the last levels, whose last one has this number of words.
    pub(crate) fn new(frames: &Frames<'_>, words: usize) -> ReachableWindow {
        let last = frames.levels() - 1;
        let (mut strides, mut size, mut first) = (vec![0; last + 1], words, last);
        while first > 0 {
            let places = frames.rule.loset.lengths[frames.threads[first - 1]] as usize + 1;
            if size * places > MOST_WORDS {
                break;
            }
            strides[first - 1] = size;
            size *= places;
            first -= 1;
        }
        ReachableWindow {
            widest: first,
            first,
            strides,
            now: vec![0; size],
            before: vec![0; size],
            place: None,
        }
    }

    /// Starts a stretch whose first levels are given.
    pub(crate) fn start(&mut self, given: usize) {
        self.first = self.widest.max(given.min(self.strides.len() - 1));
        self.place = None;
        // Otherwise it is renewed before the first row.
        if self.first <= given {
            let size = self.size();
            self.now[..size].fill(0);
            self.before[..size].fill(0);
        }
    }

    /// The level after which the window starts again at each place.
    #[inline]
    pub(crate) fn renewed_after(&self) -> Option<usize> {
        self.first.checked_sub(1)
    }

    /// Other places were chosen at the levels before.
    pub(crate) fn forget(&mut self) {
        self.place = None;
    }

    /// A place was chosen at the level before the window.
    pub(crate) fn renew(&mut self, place: u32) {
        let size = self.size();
        if self.place.is_some_and(|before| before + 1 == place) {
            std::mem::swap(&mut self.now, &mut self.before);
        } else {
            self.before[..size].fill(0);
        }
        self.now[..size].fill(0);
        self.place = Some(place);
    }

    fn size(&self) -> usize {
        match self.first.checked_sub(1) {
            Some(level) if self.strides[level] > 0 => self.strides[level],
            _ => self.now.len(),
        }
    }

    /// Where the words of a row are. `places` are those chosen at each level before the last.
    #[inline]
    pub(crate) fn row(&self, places: impl Fn(usize) -> u32) -> usize {
        (self.first..self.strides.len() - 1).map(|level| places(level) as usize * self.strides[level]).sum()
    }

    /// Places of a word from which another thread's event leads here.
    #[inline]
    pub(crate) fn led_to_by_others(&self, places: impl Fn(usize) -> u32, word: usize) -> u64 {
        let mut found = self.before[word];
        for level in self.first..self.strides.len() - 1 {
            if places(level) > 0 {
                found |= self.now[word - self.strides[level]];
            }
        }
        found
    }

    /// Says which places of a word are reachable.
    #[inline]
    pub(crate) fn set(&mut self, word: usize, reachable: u64) {
        self.now[word] = reachable;
    }
}
