//! Variadic functions, which stable Rust cannot define: a piece of assembly saves the registers and builds the
//! list that C's `va_start` would build, and an ordinary function continues with it.

/// C's `va_list` on x86-64.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Arguments {
    /// Where among the registers the next argument is that comes in one, in bytes.
    general: u32,
    /// The same for floating point numbers, which come after the others.
    floating: u32,
    on_stack: *const u64,
    registers: *const u64,
}

/// The number of bytes of the registers that hold arguments which are not floating point numbers.
const GENERAL: u32 = 48;
/// The bytes that hold arguments altogether.
const ALL: u32 = 176;

impl Arguments {
    /// The next argument, an integer or a pointer.
    ///
    /// # Safety
    /// There is one more.
    pub(crate) unsafe fn next(&mut self) -> u64 {
// SAFETY: there is one more argument, in a register or on the stack.
unsafe {
        if self.general < GENERAL {
            let value = self.registers.byte_add(self.general as usize).read();
            self.general += 8;
            return value;
        }
        let value = self.on_stack.read();
        self.on_stack = self.on_stack.add(1);
        value
    }
}

    /// Goes past a floating point number.
    ///
    /// # Safety
    /// It is the next argument.
    pub(crate) unsafe fn skip_floating(&mut self) {
        if self.floating < ALL {
            self.floating += 16;
        } else {
            // SAFETY: it is on the stack.
            self.on_stack = unsafe { self.on_stack.add(1) };
        }
    }

    /// Goes past a `long double`, which always lies on the stack.
    ///
    /// # Safety
    /// It is the next argument.
    pub(crate) unsafe fn skip_long_double(&mut self) {
        let from = (self.on_stack as usize).next_multiple_of(16) - self.on_stack as usize;
        // SAFETY: it has sixteen bytes there, behind what aligns it.
        self.on_stack = unsafe { self.on_stack.byte_add(from + 16) };
    }
}

/// Defines exported functions with a number of fixed arguments and any number of others.
macro_rules! variadic {
    ($($(#[$attribute:meta])* fn $name:ident([$($argument:ident: $type:ty),*], $rest:ident, $pc:ident) -> $result:ty $body:block)*) => {
        $(
            const _: () = {
                /// # Safety
                /// The assembly below calls it.
                unsafe extern "C" fn body(
                    mut fixed: *const u64,
                    $rest: *mut $crate::interpose::variadic::Arguments,
                    $pc: u64,
                ) -> $result {
                    // SAFETY: the assembly below has put the fixed arguments there; for the rest see the head of `interpose`.
                    unsafe {
                        $(
                            let $argument = fixed.cast::<$type>().read();
                            fixed = fixed.add(1);
                        )*
                        let _ = fixed;
                        $body
                    }
                }

                $(#[$attribute])*
                /// # Safety
                /// See the head of `interpose`.
                #[unsafe(no_mangle)]
                #[unsafe(naked)]
                unsafe extern "C" fn $name() {
                    core::arch::naked_asm!(
                        ".cfi_startproc",
                        "sub rsp, 216",
                        ".cfi_adjust_cfa_offset 216",
                        "mov [rsp], rdi",
                        "mov [rsp + 8], rsi",
                        "mov [rsp + 16], rdx",
                        "mov [rsp + 24], rcx",
                        "mov [rsp + 32], r8",
                        "mov [rsp + 40], r9",
                        "test al, al",
                        "jz 2f",
                        "movaps [rsp + 48], xmm0",
                        "movaps [rsp + 64], xmm1",
                        "movaps [rsp + 80], xmm2",
                        "movaps [rsp + 96], xmm3",
                        "movaps [rsp + 112], xmm4",
                        "movaps [rsp + 128], xmm5",
                        "movaps [rsp + 144], xmm6",
                        "movaps [rsp + 160], xmm7",
                        "2:",
                        "mov dword ptr [rsp + 176], {fixed}",
                        "mov dword ptr [rsp + 180], 48",
                        "lea rax, [rsp + 224]",
                        "mov [rsp + 184], rax",
                        "mov [rsp + 192], rsp",
                        "mov rdi, rsp",
                        "lea rsi, [rsp + 176]",
                        "mov rdx, [rsp + 216]",
                        "call {body}",
                        "add rsp, 216",
                        ".cfi_adjust_cfa_offset -216",
                        "ret",
                        ".cfi_endproc",
                        fixed = const 8 * [$(stringify!($argument)),*].len(),
                        body = sym body,
                    );
                }
            };
        )*
    };
}
pub(crate) use variadic;
