//! Which line each event stands on.

use crate::ids::EventId;

/// Event `n` stands on line `n + 1`, shifted by the lines before it that are no events. Only the
/// shifts are kept: a text without comments and blank lines costs nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct LineMap {
    shifts: Vec<Shift>,
}

/// From this event on, this many lines in all were no events.
#[derive(Clone, Copy, Debug)]
struct Shift {
    event: u32,
    skipped: u64,
}

impl LineMap {
    /// Notes that the line before this (next) event is none.
    pub(super) fn skip_before(&mut self, event: usize) {
        let event = event as u32;
        match self.shifts.last_mut() {
            Some(last) if last.event == event => last.skipped += 1,
            last => {
                let skipped = last.map_or(0, |last| last.skipped) + 1;
                self.shifts.push(Shift { event, skipped });
            }
        }
    }

    /// The line of an event, from 1.
    pub(super) fn line(&self, event: EventId) -> u64 {
        let after = self.shifts.partition_point(|shift| shift.event <= event.0);
        let skipped = after.checked_sub(1).map_or(0, |index| self.shifts[index].skipped);
        u64::from(event.0) + 1 + skipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_what_was_skipped() {
        let mut map = LineMap::default();
        for next in [0, 0, 2, 5] {
            map.skip_before(next);
        }
        let lines: Vec<u64> = (0..6).map(|event| map.line(EventId(event))).collect();
        assert_eq!(lines, [3, 4, 6, 7, 8, 10]);
    }
}
