//! Counts numbers that many threads report.

use std::sync::Mutex;

/// What was reported so far.
#[derive(Debug, Default)]
pub struct Tally {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    count: u64,
    sum: u64,
    #[cfg(feature = "highest")]
    highest: u64,
}

impl Tally {
    /// Takes in a number.
    pub fn add(&self, number: u64) {
        let sum = self.state.lock().unwrap().sum + number;
        let mut state = self.state.lock().unwrap();
        state.sum = sum;
        state.count += 1;
        #[cfg(feature = "highest")]
        {
            state.highest = state.highest.max(number);
        }
    }

    /// The mean of all numbers, rounded down.
    ///
    /// ```
    /// let tally = tally::Tally::default();
    /// std::thread::scope(|scope| {
    ///     scope.spawn(|| tally.add(4));
    /// });
    /// assert_eq!(tally.mean(), Some(4));
    /// ```
    pub fn mean(&self) -> Option<u64> {
        let state = self.state.lock().unwrap();
        state.sum.checked_div(state.count)
    }

    /// The highest number.
    #[cfg(feature = "highest")]
    pub fn highest(&self) -> u64 {
        self.state.lock().unwrap().highest
    }
}

#[cfg(test)]
mod tests {
    use super::Tally;

    #[test]
    fn nothing_has_no_mean() {
        assert_eq!(Tally::default().mean(), None);
    }
}
