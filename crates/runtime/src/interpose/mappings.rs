//! Memory that the program maps itself. It is recorded as blocks, like memory from the allocator, so that a later
//! mapping at the same address is another block.

use core::ffi::{c_int, c_long, c_void};

use super::memory::{log_allocation, log_free};
use super::{hook, hook_of_six};
use crate::real::real;

type Block = *mut c_void;

/// More is address space to be filled later rather than memory.
const LARGEST: usize = 1 << 30;

fn mapped(block: Block, size: usize, protection: c_int, pc: u64) -> Block {
    if block == libc::MAP_FAILED || protection == libc::PROT_NONE || size > LARGEST {
        return block;
    }
    log_allocation(block, size, pc)
}

hook_of_six! {
    fn mmap(at: Block, size: usize, protection: c_int, flags: c_int, file: c_int, offset: c_long; pc) -> Block {
        let block = real!(mmap(
            at => Block, size => usize, protection => c_int, flags => c_int, file => c_int, offset => c_long
        ) -> Block);
        mapped(block, size, protection, pc)
    }
    fn mmap64(at: Block, size: usize, protection: c_int, flags: c_int, file: c_int, offset: c_long; pc) -> Block {
        let block = real!(mmap64(
            at => Block, size => usize, protection => c_int, flags => c_int, file => c_int, offset => c_long
        ) -> Block);
        mapped(block, size, protection, pc)
    }
}

hook! {
    fn munmap(block: Block, size: usize; pc in "rdx") -> c_int {
        // Before, since another thread may get the same place as soon as it is free.
        log_free(block, pc);
        real!(munmap(block => Block, size => usize) -> c_int)
    }
}
