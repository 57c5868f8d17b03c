//! How the tasks that one task creates depend on each other (`depend`).
//!
//! The tasks that name an address form sets in the order of their creation. Those in one set do not wait for each other: several that read
//! it, or one that writes it. Each comes after all of the set before.

use core::cell::Cell;
use core::ffi::c_void;
use core::ptr;

use super::blocks;
use super::task::{List, Task};
use crate::inside::Inside;

/// The dependences of a task as gcc lays them out.
pub(super) type Depend = *const *const c_void;

/// What a task does with an address.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    In,
    /// Also `mutexinoutset`: its tasks exclude each other, which an order does, too.
    Out,
    InOutSet,
}

/// C's numbers of what a task does with an address, in objects that hold dependences.
const IN: usize = 1;
const INOUTSET: usize = 5;

/// An address that tasks depend on.
struct Address {
    address: u64,
    access: Cell<Access>,
    current: List<*const Task>,
    previous: List<*const Task>,
    next: *mut Address,
}

/// The addresses that the children of a task depend on.
pub(super) struct Dependences {
    first: Cell<*mut Address>,
}

impl Dependences {
    pub(super) const fn new() -> Dependences {
        Dependences { first: Cell::new(ptr::null_mut()) }
    }

    /// A new child depends on these: it follows those that came before, and others will follow it.
    ///
    /// # Safety
    /// The list is as gcc makes it.
    pub(super) unsafe fn add(&self, inside: &Inside, task: &Task, list: Depend) {
        // SAFETY: by the contract of this function.
        unsafe { each(list, |address, access| self.add_one(inside, task, address, access)) };
    }

    /// What only waits for these follows those that came before.
    ///
    /// # Safety
    /// As for [`Dependences::add`].
    pub(super) unsafe fn follow(&self, inside: &Inside, task: &Task, list: Depend) {
        // SAFETY: by the contract of this function.
        unsafe { each(list, |address, access| self.follow_one(inside, task, address, access)) };
    }

    /// What only waits for what was done with this address follows those that came before.
    pub(super) fn follow_one(&self, inside: &Inside, task: &Task, address: u64, access: Access) {
        let Some(known) = self.find(address) else { return };
        let joins = access != Access::Out && access == known.access.get();
        follow_all(inside, task, if joins { &known.previous } else { &known.current });
    }

    fn find(&self, address: u64) -> Option<&Address> {
        let mut next = self.first.get();
        // SAFETY: addresses stay until the list is cleared.
        while let Some(known) = unsafe { next.as_ref() } {
            if known.address == address {
                return Some(known);
            }
            next = known.next;
        }
        None
    }

    /// A new child depends on this address.
    pub(super) fn add_one(&self, inside: &Inside, task: &Task, address: u64, access: Access) {
        let known = match self.find(address) {
            Some(known) => known,
            None => {
                let block = blocks::allocate(inside, size_of::<Address>()).cast::<Address>();
                if block.is_null() {
                    return;
                }
                // SAFETY: a new block of that size.
                unsafe {
                    block.write(Address {
                        address,
                        access: Cell::new(access),
                        current: List::new(),
                        previous: List::new(),
                        next: self.first.replace(block),
                    });
                    &*block
                }
            }
        };
        if known.current.iter().any(|&other| ptr::eq(other, task)) {
            return;
        }
        if access == Access::Out || access != known.access.get() {
            drop_all(inside, &known.previous);
            known.current.move_to(&known.previous);
            known.access.set(access);
        }
        follow_all(inside, task, &known.previous);
        task.hold();
        known.current.push(inside, task);
    }

    /// No more children will come.
    pub(super) fn clear(&self, inside: &Inside) {
        let mut next = self.first.replace(ptr::null_mut());
        while !next.is_null() {
            // SAFETY: addresses are blocks of this type, and nobody else looks at them.
            unsafe {
                let known = &*next;
                drop_all(inside, &known.previous);
                drop_all(inside, &known.current);
                let block = next;
                next = known.next;
                blocks::free(inside, block.cast(), size_of::<Address>());
            }
        }
    }
}

fn follow_all(inside: &Inside, task: &Task, others: &List<*const Task>) {
    for &other in others.iter() {
        // SAFETY: tasks in the sets are held.
        let other = unsafe { &*other };
        if !ptr::eq(other, task) {
            task.follow(inside, other);
        }
    }
}

fn drop_all(inside: &Inside, tasks: &List<*const Task>) {
    while let Some(task) = tasks.pop(inside) {
        // SAFETY: it was held.
        unsafe { (*task).release(inside) };
    }
}

/// The addresses of a list, and what is done with each. There are two layouts, distinguished by the first word: the newer one also has objects
/// that hold an address and a kind.
///
/// # Safety
/// The list is as gcc makes it.
unsafe fn each(list: Depend, mut visit: impl FnMut(u64, Access)) {
// SAFETY: the list itself says how many entries it has.
unsafe {
    let number = |index: usize| *list.add(index) as usize;
    let (total, out, inputs_end, first) = match number(0) {
        0 => (number(1), number(2) + number(3), number(2) + number(3) + number(4), 5),
        total => (total, number(1), total, 2),
    };
    for index in 0..total {
        let entry = *list.add(first + index);
        let (address, access) = match index {
            _ if index < out => (entry, Access::Out),
            _ if index < inputs_end => (entry, Access::In),
            _ => {
                let object = entry.cast::<*const c_void>();
                let access = match *object.add(1) as usize {
                    IN => Access::In,
                    INOUTSET => Access::InOutSet,
                    _ => Access::Out,
                };
                (*object, access)
            }
        };
        visit(address as u64, access);
    }
}
}
