//! A number for each of a fixed count of addresses, for the holder of the token: no allocation, no growth.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// How many places an address can be at.
const PLACES: usize = 16;

/// Numbers by address. What does not fit is forgotten.
pub(crate) struct Numbers<const N: usize> {
    /// 0: a free place.
    keys: [AtomicU64; N],
    values: [AtomicU32; N],
}

impl<const N: usize> Numbers<N> {
    pub(crate) const fn new() -> Self {
        Numbers { keys: [const { AtomicU64::new(0) }; N], values: [const { AtomicU32::new(0) }; N] }
    }

    fn places(key: u64) -> impl Iterator<Item = usize> {
        let start = (key.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20) as usize;
        (0..PLACES.min(N)).map(move |step| start.wrapping_add(step) % N)
    }

    fn place_of(&self, key: u64) -> Option<usize> {
        Self::places(key).find(|&place| self.keys[place].load(Ordering::Relaxed) == key)
    }

    /// The number of an address, if it has one.
    #[inline]
    pub(crate) fn get(&self, key: u64) -> Option<u32> {
        self.place_of(key).map(|place| self.values[place].load(Ordering::Relaxed))
    }

    /// Gives an address a number, if there is room.
    pub(crate) fn set(&self, key: u64, value: u32) {
        let is_free = |&place: &usize| self.keys[place].load(Ordering::Relaxed) == 0;
        let place = self.place_of(key).or_else(|| Self::places(key).find(is_free));
        if let Some(place) = place {
            self.values[place].store(value, Ordering::Relaxed);
            self.keys[place].store(key, Ordering::Relaxed);
        }
    }

    /// Takes the number of an address away.
    pub(crate) fn remove(&self, key: u64) {
        if let Some(place) = self.place_of(key) {
            self.keys[place].store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_a_map_as_long_as_there_is_room() {
        let numbers = Numbers::<64>::new();
        let mut map = std::collections::HashMap::new();
        let mut random = 1_u64;
        for _ in 0..10_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let (key, value) = (1 + (random >> 60), (random >> 40) as u32);
            match random >> 58 & 3 {
                0 => {
                    numbers.remove(key);
                    map.remove(&key);
                }
                _ => {
                    numbers.set(key, value);
                    map.insert(key, value);
                }
            }
            assert_eq!(numbers.get(key), map.get(&key).copied());
        }
    }

    #[test]
    fn what_does_not_fit_is_forgotten() {
        let numbers = Numbers::<4>::new();
        (1..=6).for_each(|key| numbers.set(key, 7));
        assert_eq!((1..=6).filter(|&key| numbers.get(key).is_some()).count(), 4);
    }
}
