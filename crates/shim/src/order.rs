//! The order, and each thread's way through it. The file that `FORETELL_ORDER` names is text:
//!
//! ```text
//! foretell-order 1
//! thread - 0      the program's first thread
//! thread 0 2      the second thread that thread 0 of this table creates
//! call 1 l        thread 1 makes its next call of this kind
//! ```

use core::cell::Cell;
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use crate::sys;

/// How long nothing may happen before the order is given up: rounds of so many milliseconds.
const ROUNDS: u32 = 50;
const ROUND: i64 = 100;
/// The position of an order that is over or given up.
const OVER: u32 = u32::MAX;

/// A call in the order.
#[derive(Clone, Copy)]
struct Call {
    thread: u32,
    kind: u8,
}

/// The order, read.
struct Order {
    calls: &'static [Call],
    threads: &'static [(u32, u32)],
}

/// How far it has come.
static NEXT: AtomicU32 = AtomicU32::new(0);
static ORDER: AtomicPtr<Order> = AtomicPtr::new(ptr::null_mut());
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
    let wanted = (me.role?, me.children + 1);
    order.threads.iter().position(|origin| *origin == wanted).map(|role| role as u32)
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
pub(crate) fn enter(kind: u8) -> Option<Turn> {
    let order = order()?;
    let me = me();
    let role = me.role?;
    let own = (me.at as usize..order.calls.len()).find(|&at| order.calls[at].thread == role);
    match own {
        Some(position) if order.calls[position].kind == kind => {
            let position = position as u32;
            wait_for(position);
            ME.set(Some(Me { at: position + 1, ..me }));
            Some(Turn { position, before: me })
        }
        // A call that the order does not know of: locks that are taken twice, and the like.
        Some(_) => None,
        None => {
            wait_for(order.calls.len() as u32);
            None
        }
    }
}

impl Turn {
    /// The call is done, or may be overtaken by what comes after it.
    pub(crate) fn done(self) {
        advance(self.position + 1);
    }

    /// The call came to nothing: its turn is still to come.
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

fn order() -> Option<&'static Order> {
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
    let text = sys::read(path);
    let count = text.iter().filter(|&&byte| byte == b'\n').count() + 1;
    let calls: *mut Call = sys::memory(count * size_of::<Call>()).cast();
    let threads: *mut (u32, u32) = sys::memory(count * size_of::<(u32, u32)>()).cast();
    let order: *mut Order = sys::memory(size_of::<Order>()).cast();
    if calls.is_null() || threads.is_null() || order.is_null() {
        return;
    }
    let (mut call_count, mut thread_count) = (0, 0);
    for line in text.split(|&byte| byte == b'\n') {
        let mut words = line.split(|&byte| byte == b' ');
        let (word, first, second) = (words.next(), words.next().unwrap_or(b""), words.next().unwrap_or(b""));
        // SAFETY: there is room for one of either in each line.
        unsafe {
            match word {
                Some(b"thread") => {
                    threads
                        .add(thread_count)
                        .write((number(first).unwrap_or(OVER), number(second).unwrap_or(0)));
                    thread_count += 1;
                }
                Some(b"call") => {
                    let kind = second.first().copied().unwrap_or(0);
                    calls.add(call_count).write(Call { thread: number(first).unwrap_or(OVER), kind });
                    call_count += 1;
                }
                _ => {}
            }
        }
    }
    // SAFETY: so many were written, and the memory stays.
    unsafe {
        order.write(Order {
            calls: core::slice::from_raw_parts(calls, call_count),
            threads: core::slice::from_raw_parts(threads, thread_count),
        });
    }
    ORDER.store(order, Ordering::Release);
}

fn number(text: &[u8]) -> Option<u32> {
    core::str::from_utf8(text).ok()?.parse().ok()
}
