//! The order, and each thread's way through it. `FORETELL_ORDER` names the file: see [`wire::CallOrder`].

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use wire::{CallOrder, Origin, SyncCall};

use crate::sys;

/// How long nothing may happen before the order is given up: rounds of this number of milliseconds.
const ROUNDS: u32 = 50;
const ROUND: i64 = 100;
/// The position of an order that is over or given up.
const OVER: u32 = u32::MAX;

/// How far it has come.
static NEXT: AtomicU32 = AtomicU32::new(0);
static ORDER: AtomicPtr<CallOrder<'static>> = AtomicPtr::new(ptr::null_mut());
static LOADING: AtomicU32 = AtomicU32::new(0);

/// A thread on its way.
#[derive(Clone, Copy)]
pub(crate) struct Me {
    /// Its number in the table; none: it has no part in the order.
    role: Option<u32>,
    children: u32,
    /// Where in the order it looks for its next call.
    at: u32,
}

thread_local! {
    static ME: Cell<Option<Me>> = const { Cell::new(None) };
}

/// The calling thread is the one with this number.
pub(crate) fn begin(role: Option<u32>) {
    ME.set(Some(Me { role, children: 0, at: 0 }));
}

fn me() -> Me {
    ME.get().unwrap_or(Me { role: sys::is_first_thread().then_some(0), children: 0, at: 0 })
}

/// The number of the next thread that the calling one creates.
pub(crate) fn child() -> Option<u32> {
    let (me, order) = (me(), order()?);
    let wanted = Origin { parent: Some(me.role?), nth: me.children + 1 };
    order.threads().position(|origin| origin == wanted).map(|role| role as u32)
}

/// The calling thread has created a thread.
pub(crate) fn has_created() {
    let me = me();
    ME.set(Some(Me { children: me.children + 1, ..me }));
}

/// A call's turn in the order.
pub(crate) struct Turn {
    position: u32,
    before: Me,
}

/// Waits for the turn of a call of this kind. None: it is not in the order, and all of the order is done.
pub(crate) fn enter(call: SyncCall) -> Option<Turn> {
    let order = order()?;
    let me = me();
    let role = me.role?;
    let own = (me.at..order.len() as u32).find_map(|at| {
        let next = order.get(at as usize).filter(|next| next.thread == role)?;
        Some((at, next.call))
    });
    match own {
        Some((position, next)) if next == call => {
            wait_for(position);
            ME.set(Some(Me { at: position + 1, ..me }));
            Some(Turn { position, before: me })
        }
        // A call that the order does not know of: locks that are taken twice, and the like.
        Some(_) => None,
        None => {
            wait_for(order.len() as u32);
            None
        }
    }
}

impl Turn {
    /// The call is done, or may be overtaken by what comes after it.
    pub(crate) fn done(self) {
        advance(self.position + 1);
    }

    /// The call had no effect: its turn is still to come.
    pub(crate) fn again(self) {
        ME.set(Some(self.before));
    }
}

fn advance(to: u32) {
    let _ = NEXT.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |next| (next < to).then_some(to));
    sys::wake(&NEXT);
}

fn wait_for(position: u32) {
    let mut last = OVER;
    let mut rounds = 0;
    loop {
        let next = NEXT.load(Ordering::SeqCst);
        if next >= position {
            return;
        }
        rounds = if next == last { rounds + 1 } else { 0 };
        last = next;
        if rounds > ROUNDS {
            return advance(OVER);
        }
        sys::wait(&NEXT, next, ROUND);
    }
}

fn order() -> Option<&'static CallOrder<'static>> {
    let known = ORDER.load(Ordering::Acquire);
    if known.is_null() && LOADING.swap(1, Ordering::SeqCst) == 0 {
        load();
    }
    // SAFETY: an order that is set stays.
    unsafe { ORDER.load(Ordering::Acquire).as_ref() }
}

/// Reads the order: by the first thread that synchronises, which is alone.
#[cold]
fn load() {
    // SAFETY: the name is a string with its end; nobody changes the environment so early.
    let path = unsafe { libc::getenv(c"FORETELL_ORDER".as_ptr()) };
    if path.is_null() {
        return;
    }
    let Some(read) = CallOrder::parse(sys::read(path)) else { return };
    let order: *mut CallOrder<'static> = sys::memory(size_of::<CallOrder<'static>>()).cast();
    if order.is_null() {
        return;
    }
    // SAFETY: the memory is fresh, large enough and aligned to a page; it stays.
    unsafe { order.write(read) };
    ORDER.store(order, Ordering::Release);
}
