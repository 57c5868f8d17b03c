//! Branch counts, from the compilers' coverage hooks (`-fsanitize-coverage=trace-pc` or `trace-pc-guard`), and the parts of
//! libtsan's interface that have nothing to record.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::Ordering;

use crate::thread::{self, gate};

#[inline(always)]
unsafe fn branch() {
    let thread = thread::current();
    if thread.is_null() {
        return;
    }
    (*thread).branches += 1;
    if !(*thread).gated(gate::BRANCHES) {
        (*thread).gate.fetch_or(gate::BRANCHES, Ordering::Relaxed);
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_cov_trace_pc() {
    branch();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_cov_trace_pc_guard(_guard: *mut u32) {
    branch();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __sanitizer_cov_trace_pc_guard_init(_start: *mut u32, _stop: *mut u32) {}

/// Functions of libtsan's interface that say nothing about the program's order of events.
macro_rules! nothing {
    ($($name:ident($($argument:ident: $type:ty),*) $(-> $result:ty = $value:expr)?;)*) => {
        $(
            #[unsafe(no_mangle)]
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                $($value)?
            }
        )*
    };
}

nothing! {
    __tsan_flush_memory();
    __tsan_ignore_thread_begin();
    __tsan_ignore_thread_end();
    __tsan_on_thread_idle();
    __tsan_acquire(_address: *mut c_void);
    __tsan_release(_address: *mut c_void);
    __tsan_get_current_fiber() -> *mut c_void = ptr::null_mut();
    __tsan_create_fiber(_flags: u32) -> *mut c_void = ptr::null_mut();
    __tsan_destroy_fiber(_fiber: *mut c_void);
    __tsan_switch_to_fiber(_fiber: *mut c_void, _flags: u32);
    __tsan_set_fiber_name(_fiber: *mut c_void, _name: *const c_char);
    __tsan_mutex_create(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_destroy(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_pre_lock(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_post_lock(_mutex: *mut c_void, _flags: u32, _recursion: c_int);
    __tsan_mutex_pre_unlock(_mutex: *mut c_void, _flags: u32) -> c_int = 0;
    __tsan_mutex_post_unlock(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_pre_signal(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_post_signal(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_pre_divert(_mutex: *mut c_void, _flags: u32);
    __tsan_mutex_post_divert(_mutex: *mut c_void, _flags: u32);
    __tsan_external_register_tag(_name: *const c_char) -> *mut c_void = ptr::null_mut();
    __tsan_external_register_header(_tag: *mut c_void, _header: *const c_char);
    __tsan_external_assign_tag(_address: *mut c_void, _tag: *mut c_void);
    __tsan_external_read(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void);
    __tsan_external_write(_address: *mut c_void, _caller: *mut c_void, _tag: *mut c_void);
    AnnotateHappensBefore(_file: *const c_char, _line: c_int, _address: u64);
    AnnotateHappensAfter(_file: *const c_char, _line: c_int, _address: u64);
    AnnotateBenignRaceSized(_file: *const c_char, _line: c_int, _address: u64, _size: u64, _why: *const c_char);
    AnnotateBenignRace(_file: *const c_char, _line: c_int, _address: u64, _why: *const c_char);
    AnnotateIgnoreReadsBegin(_file: *const c_char, _line: c_int);
    AnnotateIgnoreReadsEnd(_file: *const c_char, _line: c_int);
    AnnotateIgnoreWritesBegin(_file: *const c_char, _line: c_int);
    AnnotateIgnoreWritesEnd(_file: *const c_char, _line: c_int);
    AnnotateIgnoreSyncBegin(_file: *const c_char, _line: c_int);
    AnnotateIgnoreSyncEnd(_file: *const c_char, _line: c_int);
    AnnotateNewMemory(_file: *const c_char, _line: c_int, _address: u64, _size: u64);
    AnnotateRWLockCreate(_file: *const c_char, _line: c_int, _lock: u64);
    AnnotateRWLockDestroy(_file: *const c_char, _line: c_int, _lock: u64);
    AnnotateRWLockAcquired(_file: *const c_char, _line: c_int, _lock: u64, _writes: u64);
    AnnotateRWLockReleased(_file: *const c_char, _line: c_int, _lock: u64, _writes: u64);
    AnnotateThreadName(_file: *const c_char, _line: c_int, _name: *const c_char);
    AnnotateCondVarSignal();
    AnnotateCondVarSignalAll();
    AnnotateCondVarWait();
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
    AnnotateRWLockCreateStatic();
    AnnotateTraceMemory();
    AnnotateUnpublishMemoryRange();
    WTFAnnotateBenignRaceSized();
    WTFAnnotateHappensAfter();
    WTFAnnotateHappensBefore();
    RunningOnValgrind() -> c_int = 0;
    __sanitizer_set_death_callback(_callback: *mut c_void);
    __sanitizer_print_stack_trace();
}
