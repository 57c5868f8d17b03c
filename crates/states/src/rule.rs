//! What a class asks of each place by itself and of places in pairs, in the form that walking and counting share:
//! which places a thread may stand at, and locks that must not exclude each other.

use crate::class::Class;
use crate::locks::Sets;
use crate::loset::Loset;

/// The conditions on states beyond consistency that can be checked thread by thread.
#[derive(Clone, Copy)]
pub(crate) struct Rule<'a> {
    /// The order that states are consistent with.
    pub(crate) loset: &'a Loset,
    /// Locks of places that must not exclude each other; `None`: no such condition.
    pub(crate) sets: Option<&'a Sets>,
    admits: Admits<'a>,
}

#[derive(Clone, Copy)]
enum Admits<'a> {
    All,
    /// By thread and place: these.
    Only(&'a [Vec<bool>]),
    /// Places where no lock is held.
    Free,
    /// Places that easy states can have.
    Tight,
}

impl<'a> Rule<'a> {
    /// For a class, or the narrowest such conditions that contain it.
    pub(crate) fn of(loset: &'a Loset, class: Class) -> Rule<'a> {
        let held = (loset.held.width() > 0).then_some(&loset.held);
        match class {
            Class::Consistent => Rule { loset, sets: None, admits: Admits::All },
            Class::Feasible | Class::Strong | Class::Reachable => {
                Rule { loset, sets: held, admits: Admits::All }
            }
            Class::LockFree => Rule { loset: loset.recorded(), sets: None, admits: Admits::Free },
        }
    }

    /// For feasible states with these places only, by thread and place.
    pub(crate) fn within(loset: &'a Loset, places: &'a [Vec<bool>]) -> Rule<'a> {
        Rule { admits: Admits::Only(places), ..Rule::of(loset, Class::Feasible) }
    }

    /// For easy states.
    pub(crate) fn easy(loset: &'a Loset) -> Rule<'a> {
        let touched = (loset.touched.width() > 0).then_some(&loset.touched);
        Rule { loset, sets: touched, admits: Admits::Tight }
    }

    #[inline]
    pub(crate) fn admits(&self, thread: usize, place: u32) -> bool {
        match self.admits {
            Admits::All => true,
            Admits::Only(places) => places[thread][place as usize],
            Admits::Free => self.loset.free[thread][place as usize] == place,
            Admits::Tight => !self.loset.leaks[thread][place as usize],
        }
    }

    /// Whether it admits every place by itself.
    pub(crate) fn admits_all(&self) -> bool {
        matches!(self.admits, Admits::All)
    }

    /// Words of a set of locks.
    pub(crate) fn width(&self) -> usize {
        self.sets.map_or(0, Sets::width)
    }
}
