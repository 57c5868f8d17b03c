//! Memory that the program maps itself. It is recorded as blocks, like memory from the allocator, so that a later
//! mapping at the same address is another block.

use core::ffi::{c_int, c_long, c_void};

use super::memory::{log_allocation, log_free};
use super::ranges::log_ranges;
use super::{hook, hook_of_six};
use crate::inside::enter;
use crate::numbers::Numbers;
use crate::real::real;

type Block = *mut c_void;

/// More is address space to be filled later rather than memory.
const LARGEST: usize = 1 << 30;
/// A larger part of a mapping that ends is no write: loading it would take memory for all of it.
const LARGEST_PART: usize = 1 << 24;

const PAGE: usize = 4096;

/// How many pages each mapping has; none if it is not recorded.
static PAGES: Numbers<4096> = Numbers::new();

fn pages(size: usize) -> u32 {
    u32::try_from(size.div_ceil(PAGE)).unwrap_or(u32::MAX)
}

fn mapped(block: Block, size: usize, protection: c_int, pc: u64) -> Block {
    if block == libc::MAP_FAILED {
        return block;
    }
    let is_recorded = protection != libc::PROT_NONE && size <= LARGEST;
    if let Some(_inside) = enter() {
        PAGES.set(block as u64, if is_recorded { pages(size) } else { 0 });
    }
    if is_recorded { log_allocation(block, size, pc) } else { block }
}

/// Writes that a mapping ends, or a part of it: a write of that part. What is not recorded ends no block that was there before.
fn log_end(block: Block, size: usize, pc: u64) {
    let Some(inside) = enter() else { return };
    let known = PAGES.get(block as u64);
    PAGES.remove(block as u64);
    drop(inside);
    match known {
        Some(0) => {}
        Some(whole) if whole <= pages(size) => log_free(block, pc),
        // A part of one, or a whole one that did not fit in the table.
        None => {
            log_part(block as u64, size, pc);
            log_free(block, pc);
        }
        Some(_) => log_part(block as u64, size, pc),
    }
}

fn log_part(at: u64, size: usize, pc: u64) {
    if size <= LARGEST_PART {
        log_ranges(pc, &[], &[(at, size)]);
    }
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
        log_end(block, size, pc);
        real!(munmap(block => Block, size => usize) -> c_int)
    }
    fn mremap(old: Block, old_size: usize, size: usize, flags: c_int, at: Block; pc in "r9") -> Block {
        let new = real!(mremap(
            old => Block, old_size => usize, size => usize, flags => c_int, at => Block
        ) -> Block);
        if new == libc::MAP_FAILED {
            return new;
        }
        if new != old {
            log_end(old, old_size, pc);
            return mapped(new, size, libc::PROT_READ | libc::PROT_WRITE, pc);
        }
        if let Some(_inside) = enter()
            && PAGES.get(old as u64).is_some_and(|pages| pages > 0)
        {
            PAGES.set(old as u64, pages(size));
        }
        let left = pages(size) as usize * PAGE;
        log_part(old as u64 + left as u64, (pages(old_size) as usize * PAGE).saturating_sub(left), pc);
        new
    }
}
