//! The system call itself. The shim includes this file, too.

use core::arch::asm;

/// A system call with up to six arguments. Returns what the kernel returns: an error is a negative errno.
///
/// # Safety
/// As for the system call in question.
#[inline]
pub(crate) unsafe fn call(number: i64, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller answers for the system call; the instruction itself changes the registers that are named.
    unsafe {
        let result: isize;
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") arguments[0], in("rsi") arguments[1], in("rdx") arguments[2],
            in("r10") arguments[3], in("r8") arguments[4], in("r9") arguments[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
        result
    }
}
