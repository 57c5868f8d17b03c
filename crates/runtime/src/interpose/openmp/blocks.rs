//! Memory for tasks: blocks of a few sizes from mappings of ours, used again after they were given back. The program's allocator is not
//! used, because it is recorded.

use core::cell::Cell;
use core::ptr;

use crate::inside::Inside;
use crate::sys;

/// The smallest block, as a power of two, and how many sizes there are; larger ones are mappings of their own.
const SMALLEST: u32 = 5;
const SIZES: usize = 12;
/// How much memory is mapped at once.
const CHUNK: usize = 1 << 18;
/// Every block begins at a multiple of its size, up to this.
pub(super) const ALIGNMENT: usize = 64;

/// A block that nobody uses.
struct Free {
    next: *mut Free,
}

/// The blocks of each size that nobody uses. For the holder of the token.
struct Pool {
    free: [Cell<*mut Free>; SIZES],
}

// SAFETY: used by the holder of the token alone.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool { free: [const { Cell::new(ptr::null_mut()) }; SIZES] };

/// The index of the size of blocks that this number of bytes fits in, and that size.
fn class(size: usize) -> (usize, usize) {
    let rounded = size.next_power_of_two().max(1 << SMALLEST);
    ((rounded.trailing_zeros() - SMALLEST) as usize, rounded)
}

/// A block of at least this number of bytes; null if there is no memory.
pub(super) fn allocate(_inside: &Inside, size: usize) -> *mut u8 {
    let (index, size) = class(size);
    let Some(list) = POOL.free.get(index) else { return sys::map_memory(size) };
    if list.get().is_null() {
        let chunk = sys::map_memory(CHUNK);
        if chunk.is_null() {
            return chunk;
        }
        for start in (0..CHUNK / size).rev() {
            // SAFETY: the chunk is new, and so long.
            unsafe {
                let block = chunk.add(start * size).cast::<Free>();
                block.write(Free { next: list.get() });
                list.set(block);
            }
        }
    }
    let block = list.get();
    // SAFETY: blocks in the list are free, and hold the next one.
    list.set(unsafe { (*block).next });
    block.cast()
}

/// Gives a block back.
///
/// # Safety
/// It came from [`allocate`] for this size, and nobody uses it.
pub(super) unsafe fn free(_inside: &Inside, block: *mut u8, size: usize) {
    let (index, size) = class(size);
    // SAFETY: by the contract of this function.
    unsafe {
        match POOL.free.get(index) {
            Some(list) => {
                block.cast::<Free>().write(Free { next: list.get() });
                list.set(block.cast());
            }
            None => sys::unmap(block, size),
        }
    }
}
