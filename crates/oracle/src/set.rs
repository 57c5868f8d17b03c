//! A set of events of a tiny trace, as the bits of one number.

use trace::EventId;

/// The longest trace the oracle takes. (It would run out of patience long before.)
pub(crate) const MOST_EVENTS: usize = 128;

/// A set of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EventSet(u128);

impl EventSet {
    pub(crate) const EMPTY: EventSet = EventSet(0);

    pub(crate) fn contains(self, event: EventId) -> bool {
        self.0 >> event.0 & 1 == 1
    }

    pub(crate) fn contains_all(self, other: EventSet) -> bool {
        self.0 & other.0 == other.0
    }

    pub(crate) fn contains_any(self, other: EventSet) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn len(self) -> u64 {
        u64::from(self.0.count_ones())
    }

    pub(crate) fn insert(&mut self, event: EventId) {
        self.0 |= 1 << event.0;
    }

    pub(crate) fn with(mut self, event: EventId) -> EventSet {
        self.insert(event);
        self
    }

    pub(crate) fn and(self, other: EventSet) -> EventSet {
        EventSet(self.0 & other.0)
    }

    pub(crate) fn without(self, other: EventSet) -> EventSet {
        EventSet(self.0 & !other.0)
    }
}

impl FromIterator<EventId> for EventSet {
    fn from_iter<I: IntoIterator<Item = EventId>>(events: I) -> Self {
        events.into_iter().fold(EventSet::EMPTY, EventSet::with)
    }
}
