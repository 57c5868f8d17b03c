//! Atomic operations: the compiler calls us instead of doing them, so we do them. The token makes them atomic
//! towards threads under the scheduler; real atomic instructions make them so towards everyone else, such as
//! other processes and threads that are outside.
//!
//! Every operation is done with sequential consistency: the orders asked for allow that, and the log is one order. The order that
//! was asked for is logged.

use core::arch::asm;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use wire::Kind;

use crate::inside::{Inside, enter_access, enter_point};
use crate::token::gate;
use crate::interpose::{hook, hook_of_seven, hook_of_six, safe_hook};

/// Sixteen bytes, changed by `cmpxchg16b`.
#[repr(C, align(16))]
struct AtomicU128(core::cell::UnsafeCell<u128>);

impl AtomicU128 {
    fn compare_exchange(&self, old: u128, new: u128, _: Ordering, _: Ordering) -> Result<u128, u128> {
        let (mut low, mut high) = (old as u64, (old >> 64) as u64);
        let same: u8;
        // SAFETY: the cell is ours to change. rbx, which cannot be an operand, is put back; the others are named, since the compiler may choose rbx
        // for an operand of its choice.
        unsafe {
            asm!(
                "xchg rbx, rsi",
                "lock cmpxchg16b [rdi]",
                "sete r8b",
                "mov rbx, rsi",
                inout("rsi") new as u64 => _,
                in("rdi") self.0.get(),
                out("r8b") same,
                in("rcx") (new >> 64) as u64,
                inout("rax") low,
                inout("rdx") high,
                options(nostack),
            );
        }
        let found = u128::from(high) << 64 | u128::from(low);
        if same != 0 { Ok(found) } else { Err(found) }
    }

    fn update(&self, change: impl Fn(u128) -> u128) -> u128 {
        let mut old = 0;
        loop {
            match self.compare_exchange(old, change(old), Ordering::SeqCst, Ordering::SeqCst) {
                Ok(found) => return found,
                Err(found) => old = found,
            }
        }
    }

    fn load(&self, _: Ordering) -> u128 {
        self.compare_exchange(0, 0, Ordering::SeqCst, Ordering::SeqCst).unwrap_or_else(|found| found)
    }

    fn store(&self, value: u128, _: Ordering) {
        self.update(|_| value);
    }

    fn swap(&self, value: u128, _: Ordering) -> u128 {
        self.update(|_| value)
    }

    fn fetch_add(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_add(value))
    }

    fn fetch_sub(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old.wrapping_sub(value))
    }

    fn fetch_and(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old & value)
    }

    fn fetch_or(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old | value)
    }

    fn fetch_xor(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| old ^ value)
    }

    fn fetch_nand(&self, value: u128, _: Ordering) -> u128 {
        self.update(|old| !(old & value))
    }
}

/// C's number of `memory_order_seq_cst`.
const SEQ_CST: u64 = 5;

/// Logs an atomic operation after its memory order, which is not said if it is `seq_cst`. The upper bits of an order are hints to
/// the processor.
fn log_ordered(inside: &Inside, kind: Kind, pc: u64, address: u64, order: u64) {
    let order = order & 0x7fff;
    if order < SEQ_CST {
        inside.simple(Kind::Order, pc, order);
    }
    inside.simple(kind, pc, address);
}

/// Compare-exchange where values fit in a register: the orders of success and of failure are at hand.
macro_rules! exchanges {
    ($atomic:ident, $value:ident, $exchange:ident, $through:ident, $pc:literal, $strong:ident $weak:ident $expected:ident) => {
        hook!(fn $strong(cell: *const $atomic, old: *mut $value, new: $value, order: u64, failure: u64; pc in $pc) -> i32 {
            $through(cell, old, new, [order, failure], pc)
        });
        hook!(fn $weak(cell: *const $atomic, old: *mut $value, new: $value, order: u64, failure: u64; pc in $pc) -> i32 {
            $through(cell, old, new, [order, failure], pc)
        });
        hook!(fn $expected(cell: *const $atomic, old: $value, new: $value, order: u64, failure: u64; pc in $pc) -> $value {
            $exchange(cell, old, new, [order, failure], pc).unwrap_or_else(|found| found)
        });
    };
}

/// The same for values of two registers: six registers hold arguments, so the return address comes on the stack.
macro_rules! wide_exchanges {
    ($atomic:ident, $value:ident, $exchange:ident, $through:ident, $pc:literal, $strong:ident $weak:ident $expected:ident) => {
        hook_of_six!(fn $strong(cell: *const $atomic, old: *mut $value, new: $value, order: u64, failure: u64; pc) -> i32 {
            $through(cell, old, new, [order, failure], pc)
        });
        hook_of_six!(fn $weak(cell: *const $atomic, old: *mut $value, new: $value, order: u64, failure: u64; pc) -> i32 {
            $through(cell, old, new, [order, failure], pc)
        });
        hook_of_seven!(fn $expected(cell: *const $atomic, old: $value, new: $value, order: u64; pc, failure: u64) -> $value {
            $exchange(cell, old, new, [order, failure], pc).unwrap_or_else(|found| found)
        });
    };
}

/// The hooks of one size: where the order is among the arguments depends on how many registers a value takes.
macro_rules! atomics {
    (
        $atomic:ident, $value:ident, $read:ident $write:ident $update:ident,
        pc after value and order $after_value:literal, after exchange $after_exchange:literal,
        $load:ident $store:ident $exchanges:ident $strong:ident $weak:ident $expected:ident,
        $($fetch:ident $operation:ident),*
    ) => {
        const _: () = {
            /// # Safety
            /// The cell is one.
            unsafe fn exchange(
                cell: *const $atomic,
                old: $value,
                new: $value,
                orders: [u64; 2],
                pc: u64,
            ) -> Result<$value, $value> {
                let inside = enter_access(Kind::$update, cell as u64, size_of::<$value>() as u64, pc);
                // SAFETY: the cell is the program's.
                let result = unsafe { (*cell).compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst) };
                if let Some(inside) = inside {
                    inside.thread().loaded.set(0);
                    let [succeeded, failed] = orders;
                    let (kind, order) =
                        if result.is_ok() { (Kind::$update, succeeded) } else { (Kind::$read, failed) };
                    log_ordered(&inside, kind, pc, cell as u64, order);
                }
                result
            }

            /// # Safety
            /// The cell is one, and so is what is expected.
            unsafe fn exchange_through(
                cell: *const $atomic,
                old: *mut $value,
                new: $value,
                orders: [u64; 2],
                pc: u64,
            ) -> i32 {
                // SAFETY: both are the program's.
                unsafe {
                    match exchange(cell, *old, new, orders, pc) {
                        Ok(_) => 1,
                        Err(found) => {
                            *old = found;
                            0
                        }
                    }
                }
            }

            hook!(fn $load(cell: *const $atomic, order: u64; pc in "rdx") -> $value {
                let inside = enter_access(Kind::$read, cell as u64, size_of::<$value>() as u64, pc);
                if let Some(inside) = &inside {
                    inside.thread().loaded.set(cell as u64);
                    log_ordered(inside, Kind::$read, pc, cell as u64, order);
                }
                (*cell).load(Ordering::SeqCst)
            });
            hook!(fn $store(cell: *const $atomic, value: $value, order: u64; pc in $after_value) {
                let inside = enter_access(Kind::$write, cell as u64, size_of::<$value>() as u64, pc);
                if let Some(inside) = &inside {
                    log_ordered(inside, Kind::$write, pc, cell as u64, order);
                }
                (*cell).store(value, Ordering::SeqCst);
            });
            $exchanges! {
                $atomic, $value, exchange, exchange_through, $after_exchange, $strong $weak $expected
            }
            $(
                hook!(fn $fetch(cell: *const $atomic, value: $value, order: u64; pc in $after_value) -> $value {
                    let inside = enter_access(Kind::$update, cell as u64, size_of::<$value>() as u64, pc);
                    let old = (*cell).$operation(value, Ordering::SeqCst);
                    if let Some(inside) = inside {
                        log_ordered(&inside, Kind::$update, pc, cell as u64, order);
                    }
                    old
                });
            )*
        };
    };
}

atomics! {
    AtomicU8, u8, AtomicRead1 AtomicWrite1 AtomicUpdate1,
    pc after value and order "rcx", after exchange "r9",
    __tsan_atomic8_load __tsan_atomic8_store exchanges __tsan_atomic8_compare_exchange_strong
    __tsan_atomic8_compare_exchange_weak __tsan_atomic8_compare_exchange_val,
    __tsan_atomic8_exchange swap, __tsan_atomic8_fetch_add fetch_add,
    __tsan_atomic8_fetch_sub fetch_sub, __tsan_atomic8_fetch_and fetch_and,
    __tsan_atomic8_fetch_or fetch_or, __tsan_atomic8_fetch_xor fetch_xor,
    __tsan_atomic8_fetch_nand fetch_nand
}

atomics! {
    AtomicU16, u16, AtomicRead2 AtomicWrite2 AtomicUpdate2,
    pc after value and order "rcx", after exchange "r9",
    __tsan_atomic16_load __tsan_atomic16_store exchanges __tsan_atomic16_compare_exchange_strong
    __tsan_atomic16_compare_exchange_weak __tsan_atomic16_compare_exchange_val,
    __tsan_atomic16_exchange swap, __tsan_atomic16_fetch_add fetch_add,
    __tsan_atomic16_fetch_sub fetch_sub, __tsan_atomic16_fetch_and fetch_and,
    __tsan_atomic16_fetch_or fetch_or, __tsan_atomic16_fetch_xor fetch_xor,
    __tsan_atomic16_fetch_nand fetch_nand
}

atomics! {
    AtomicU32, u32, AtomicRead4 AtomicWrite4 AtomicUpdate4,
    pc after value and order "rcx", after exchange "r9",
    __tsan_atomic32_load __tsan_atomic32_store exchanges __tsan_atomic32_compare_exchange_strong
    __tsan_atomic32_compare_exchange_weak __tsan_atomic32_compare_exchange_val,
    __tsan_atomic32_exchange swap, __tsan_atomic32_fetch_add fetch_add,
    __tsan_atomic32_fetch_sub fetch_sub, __tsan_atomic32_fetch_and fetch_and,
    __tsan_atomic32_fetch_or fetch_or, __tsan_atomic32_fetch_xor fetch_xor,
    __tsan_atomic32_fetch_nand fetch_nand
}

atomics! {
    AtomicU64, u64, AtomicRead8 AtomicWrite8 AtomicUpdate8,
    pc after value and order "rcx", after exchange "r9",
    __tsan_atomic64_load __tsan_atomic64_store exchanges __tsan_atomic64_compare_exchange_strong
    __tsan_atomic64_compare_exchange_weak __tsan_atomic64_compare_exchange_val,
    __tsan_atomic64_exchange swap, __tsan_atomic64_fetch_add fetch_add,
    __tsan_atomic64_fetch_sub fetch_sub, __tsan_atomic64_fetch_and fetch_and,
    __tsan_atomic64_fetch_or fetch_or, __tsan_atomic64_fetch_xor fetch_xor,
    __tsan_atomic64_fetch_nand fetch_nand
}

atomics! {
    AtomicU128, u128, AtomicRead16 AtomicWrite16 AtomicUpdate16,
    pc after value and order "r8", after exchange "r9",
    __tsan_atomic128_load __tsan_atomic128_store wide_exchanges __tsan_atomic128_compare_exchange_strong
    __tsan_atomic128_compare_exchange_weak __tsan_atomic128_compare_exchange_val,
    __tsan_atomic128_exchange swap, __tsan_atomic128_fetch_add fetch_add,
    __tsan_atomic128_fetch_sub fetch_sub, __tsan_atomic128_fetch_and fetch_and,
    __tsan_atomic128_fetch_or fetch_or, __tsan_atomic128_fetch_xor fetch_xor,
    __tsan_atomic128_fetch_nand fetch_nand
}

safe_hook! {
    fn __tsan_atomic_thread_fence(order: u64; pc in "rsi") {
        if let Some(inside) = enter_point()
            && !inside.thread().gated(gate::LOCKING)
        {
            inside.simple(Kind::Fence, pc, order & 0xff);
        }
        fence(Ordering::SeqCst);
    }
}

/// A fence against the thread's own signal handlers: nothing another thread could see.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: i32) {}
