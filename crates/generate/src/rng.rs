//! Random numbers that never change: xoshiro256++ (Blackman and Vigna), seeded by splitmix64. A
//! seed in a bug report must mean the same trace for as long as there is one to fix.

/// A source of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: [u64; 4],
}

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        let mut at = seed;
        let mut splitmix = || {
            at = at.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (at ^ at >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        Rng { state: [splitmix(), splitmix(), splitmix(), splitmix()] }
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `bound`; 0 if that is 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// True with this probability.
    #[inline]
    pub(crate) fn chance(&mut self, chance: Chance) -> bool {
        self.next() >> 32 < u64::from(chance.0)
    }

    /// One of these; they must not be none.
    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u32) as usize]
    }
}

/// A probability, ready to be compared with 32 random bits. Certainty is out of reach by 2^-32.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chance(u32);

impl From<f64> for Chance {
    fn from(probability: f64) -> Chance {
        // The cast saturates, and is 0 for what is not a number.
        Chance((probability * f64::from(u32::MAX)) as u32)
    }
}

/// Draws an index with a probability proportional to its weight, in constant time (Walker's alias
/// method as Vose builds it).
#[derive(Clone, Debug)]
pub(crate) struct Alias {
    /// For each column, below which 32-bit number to keep its own index, and the other index.
    columns: Vec<(u32, u8)>,
}

impl Alias {
    /// `None` if no weight is positive. At most 256 weights.
    pub(crate) fn new(weights: &[u32]) -> Option<Alias> {
        let total: u64 = weights.iter().copied().map(u64::from).sum();
        if total == 0 {
            return None;
        }
        // Scaled so that the mean is `total`.
        let mut scaled: Vec<u128> =
            weights.iter().map(|&weight| u128::from(weight) * weights.len() as u128).collect();
        let mean = u128::from(total);
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&index| scaled[index] < mean);
        let mut columns: Vec<(u32, u8)> = (0..weights.len()).map(|index| (u32::MAX, index as u8)).collect();
        while let (Some(&below), Some(&above)) = (small.last(), large.last()) {
            small.pop();
            columns[below] = ((scaled[below] * u128::from(u32::MAX) / mean) as u32, above as u8);
            scaled[above] -= mean - scaled[below];
            if scaled[above] < mean {
                large.pop();
                small.push(above);
            }
        }
        Some(Alias { columns })
    }

    #[inline]
    pub(crate) fn draw(&self, rng: &mut Rng) -> usize {
        let bits = rng.next();
        let column = (((bits >> 32) * self.columns.len() as u64) >> 32) as usize;
        let (keep, other) = self.columns[column];
        if bits as u32 <= keep && keep > 0 { column } else { usize::from(other) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_never_change() {
        let mut rng = Rng::new(0);
        let first = [rng.next(), rng.next(), rng.next()];
        assert_eq!(first, [0x5317_5d61_490b_23df, 0x61da_6f3d_c380_d507, 0x5c0f_df91_ec9a_7bfc]);
    }

    #[test]
    fn weights_are_kept_to() {
        let weights = [0, 1, 7, 0, 92];
        let alias = Alias::new(&weights).unwrap();
        let mut rng = Rng::new(1);
        let mut drawn = [0u32; 5];
        for _ in 0..100_000 {
            drawn[alias.draw(&mut rng)] += 1;
        }
        for (weight, drawn) in weights.iter().zip(drawn) {
            assert!((weight * 1000).abs_diff(drawn) < 400, "{weight} %: {drawn}");
            assert!(*weight > 0 || drawn == 0);
        }
        assert!(Alias::new(&[0, 0]).is_none());
    }

    #[test]
    fn bounds_hold() {
        let mut rng = Rng::new(2);
        assert_eq!(rng.below(0), 0);
        assert!((0..1000).all(|_| (3..=5).contains(&rng.between(3, 5))));
        assert!((0..1000).all(|_| !rng.chance(0.0.into())));
        assert!((0..1000).all(|_| rng.chance(1.0.into())));
        assert!((0..1000).all(|_| !rng.chance(f64::NAN.into())));
    }
}
