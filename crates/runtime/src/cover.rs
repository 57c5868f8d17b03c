//! Branches, from the compilers' coverage hooks (`-fsanitize-coverage=trace-pc` or `trace-pc-guard`), and the parts of
//! libtsan's interface that have nothing to record.
//!
//! Programs may be built with more coverage hooks (`trace-cmp`, `inline-8bit-counters` and so on): those are there, so that
//! they link, and do nothing.
//!
//! A branch only leaves a bit behind, which the thread's next event takes along: these hooks are called as often as accesses are. What
//! `foretell cc` compiles with gcc for a program, not for a library, leaves the bit without calling them (compile/src/compiler/branches.s).

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

use crate::real::Real;

/// Hooks that the program calls for every basic block.
macro_rules! branches {
    ($($name:ident)*) => {
        $(
            #[unsafe(no_mangle)]
            #[unsafe(naked)]
            extern "C" fn $name() {
                core::arch::naked_asm!("mov byte ptr fs:[{at}], 1", "ret", at = const wire::BRANCHED_AT);
            }
        )*
    };
}

branches! { __sanitizer_cov_trace_pc __sanitizer_cov_trace_pc_guard }

#[unsafe(no_mangle)]
extern "C" fn __sanitizer_cov_trace_pc_guard_init(_start: *mut u32, _stop: *mut u32) {}

/// Functions of libtsan's interface that say nothing about the program's order of events.
macro_rules! nothing {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty = $value:expr)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                $($value)?
            }
        )*
    };
}

nothing! {
    __sanitizer_cov_trace_cmp(_left: u64, _right: u64);
    __sanitizer_cov_trace_cmp1(_left: u8, _right: u8);
    __sanitizer_cov_trace_cmp2(_left: u16, _right: u16);
    __sanitizer_cov_trace_cmp4(_left: u32, _right: u32);
    __sanitizer_cov_trace_cmp8(_left: u64, _right: u64);
    __sanitizer_cov_trace_const_cmp1(_left: u8, _right: u8);
    __sanitizer_cov_trace_const_cmp2(_left: u16, _right: u16);
    __sanitizer_cov_trace_const_cmp4(_left: u32, _right: u32);
    __sanitizer_cov_trace_const_cmp8(_left: u64, _right: u64);
    __sanitizer_cov_trace_cmpf(_left: f32, _right: f32);
    __sanitizer_cov_trace_cmpd(_left: f64, _right: f64);
    __sanitizer_cov_trace_switch(_value: u64, _cases: *const u64);
    __sanitizer_cov_trace_div4(_divisor: u32);
    __sanitizer_cov_trace_div8(_divisor: u64);
    __sanitizer_cov_trace_gep(_index: usize);
    __sanitizer_cov_trace_pc_indir(_callee: usize);
    __sanitizer_cov_load1(_address: *const u8);
    __sanitizer_cov_load2(_address: *const u16);
    __sanitizer_cov_load4(_address: *const u32);
    __sanitizer_cov_load8(_address: *const u64);
    __sanitizer_cov_load16(_address: *const c_void);
    __sanitizer_cov_store1(_address: *const u8);
    __sanitizer_cov_store2(_address: *const u16);
    __sanitizer_cov_store4(_address: *const u32);
    __sanitizer_cov_store8(_address: *const u64);
    __sanitizer_cov_store16(_address: *const c_void);
    __sanitizer_cov_8bit_counters_init(_start: *mut u8, _stop: *mut u8);
    __sanitizer_cov_bool_flag_init(_start: *mut u8, _stop: *mut u8);
    __sanitizer_cov_pcs_init(_start: *const usize, _stop: *const usize);
    __sanitizer_cov_dump();
    __sanitizer_cov_reset();
    __sanitizer_dump_coverage(_pcs: *const usize, _count: usize);
    __sanitizer_dump_trace_pc_guard_coverage();
    __sanitizer_print_memory_profile(_percent: usize, _contexts: usize);
    __tsan_flush_memory();
    __tsan_on_thread_idle();
    __tsan_external_register_tag(_name: *const c_char) -> *mut c_void = ptr::null_mut();
    __tsan_external_register_header(_tag: *mut c_void, _header: *const c_char);
    __tsan_external_assign_tag(_address: *mut c_void, _tag: *mut c_void);
    __tsan_external_read(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void);
    __tsan_external_write(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void);
    AnnotateNewMemory(_file: *const c_char, _line: c_int, _address: u64, _size: u64);
    AnnotateEnableRaceDetection();
    AnnotateExpectRace();
    AnnotateFlushExpectedRaces();
    AnnotateFlushState();
    AnnotateMemoryIsInitialized();
    AnnotateMemoryIsUninitialized();
    AnnotateMutexIsNotPHB();
    AnnotateMutexIsUsedAsCondVar();
    AnnotateNoOp();
    AnnotatePCQCreate();
    AnnotatePCQDestroy();
    AnnotatePCQGet();
    AnnotatePCQPut();
    AnnotatePublishMemoryRange();
    AnnotateTraceMemory();
    AnnotateUnpublishMemoryRange();
    RunningOnValgrind() -> c_int = 0;
    ValgrindSlowdown() -> f64 = 10.0;
    __sanitizer_set_death_callback(_callback: *mut c_void);
    __sanitizer_print_stack_trace();
    __sanitizer_set_report_path(_path: *const c_char);
    __sanitizer_set_report_fd(_file: *mut c_void);
    __sanitizer_get_report_path() -> *const c_char = c"".as_ptr();
    __sanitizer_report_error_summary(_summary: *const c_char);
    __sanitizer_sandbox_on_notify(_arguments: *mut c_void);
    __sanitizer_acquire_crash_state() -> c_int = 1;
    __sanitizer_get_module_and_offset_for_pc() -> c_int = 0;
    __sanitizer_get_estimated_allocated_size(size: usize) -> usize = size;
    __sanitizer_get_ownership(block: *const c_void) -> c_int = c_int::from(!block.is_null());
    __sanitizer_get_current_allocated_bytes() -> usize = 0;
    __sanitizer_get_heap_size() -> usize = 0;
    __sanitizer_get_free_bytes() -> usize = 0;
    __sanitizer_get_unmapped_bytes() -> usize = 0;
    __sanitizer_install_malloc_and_free_hooks() -> c_int = 0;
    __sanitizer_purge_allocator();
    __tsan_java_init(_heap: u64, _size: u64);
    __tsan_java_fini() -> c_int = 0;
    __tsan_java_free(_block: u64, _size: u64);
    __tsan_java_move(_from: u64, _to: u64, _size: u64);
    __tsan_java_find(_from: *mut u64, _to: u64) -> u64 = 0;
    __tsan_get_current_report() -> *mut c_void = ptr::null_mut();
    __tsan_get_report_data() -> c_int = 0;
    __tsan_get_report_loc() -> c_int = 0;
    __tsan_get_report_loc_object_type() -> c_int = 0;
    __tsan_get_report_mop() -> c_int = 0;
    __tsan_get_report_mutex() -> c_int = 0;
    __tsan_get_report_stack() -> c_int = 0;
    __tsan_get_report_tag() -> c_int = 0;
    __tsan_get_report_thread() -> c_int = 0;
    __tsan_get_report_unique_tid() -> c_int = 0;
    __tsan_get_alloc_stack() -> c_int = 0;
    __tsan_describe_mop() -> c_int = 0;
    __tsan_describe_loc() -> c_int = 0;
    __tsan_describe_mutex() -> c_int = 0;
    __tsan_describe_thread() -> c_int = 0;
    __tsan_locate_address() -> *const c_char = c"".as_ptr();
    __tsan_testonly_shadow_stack_current_size() -> u64 = 0;
}

/// What tool this is, for programs that declare their synchronisation by annotations: one that knows no order but that of the program's
/// synchronisation.
///
/// # Safety
/// The query is a string with its end.
#[unsafe(no_mangle)]
unsafe extern "C" fn ThreadSanitizerQuery(query: *const c_char) -> *const c_char {
    // SAFETY: by this function's contract.
    let query = unsafe { CStr::from_ptr(query) };
    if query == c"pure_happens_before" { c"1".as_ptr() } else { c"0".as_ptr() }
}

/// How large a block is that the C library has allocated.
///
/// # Safety
/// The block is one, or null.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_get_allocated_size(block: *mut c_void) -> usize {
    // SAFETY: by this function's contract.
    unsafe { libc::malloc_usable_size(block) }
}

/// Names are looked up when the trace is loaded: here nothing is called anything.
///
/// # Safety
/// There is room for this number of bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_pc(_pc: u64, _format: *const c_char, name: *mut c_char, size: usize) {
    if size > 0 {
        // SAFETY: by this function's contract.
        unsafe { name.write(0) };
    }
}

/// The same for data.
///
/// # Safety
/// As for [`__sanitizer_symbolize_pc`].
#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_symbolize_global(address: u64, format: *const c_char, name: *mut c_char, size: usize) {
    // SAFETY: by this function's contract.
    unsafe { __sanitizer_symbolize_pc(address, format, name, size) };
}

/// The real function.
extern "C" fn real_function(real: &Real) -> *mut c_void {
    real.get()
}

/// Functions of the C library that are left alone here, under the names that ThreadSanitizer gives its own: on to the real one, with the
/// arguments as they came.
macro_rules! left_alone {
    ($($name:ident)*) => {
        $(
            const _: () = {
                static REAL: Real = Real::named(concat!(stringify!($name), "\0"));

                /// # Safety
                /// As for the function of the C library: it gets the arguments as they came.
                #[unsafe(export_name = concat!("__interceptor_", stringify!($name)))]
                #[unsafe(naked)]
                unsafe extern "C" fn interceptor() {
                    core::arch::naked_asm!(
                        "push rdi",
                        "push rsi",
                        "push rdx",
                        "lea rdi, [rip + {}]",
                        "call {}",
                        "pop rdx",
                        "pop rsi",
                        "pop rdi",
                        "jmp rax",
                        sym REAL,
                        sym real_function,
                    );
                }
            };
        )*
    };
}

left_alone! {
    fopen fopen64 fdopen freopen freopen64 fclose fflush fputc fileno opendir closedir
    mktime getenv
}
