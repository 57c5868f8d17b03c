//! The functions that ours stand before: found by name, once, in the libraries after this one.

use core::ffi::{CStr, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// A function found at its first use.
pub(crate) struct Real {
    name: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    /// The function with this name, which has a zero at its end.
    pub(crate) const fn named(name: &'static str) -> Real {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Real { name, found: AtomicPtr::new(ptr::null_mut()) },
            Err(_) => panic!(),
        }
    }

    /// Its address; null if no library has it.
    #[inline]
    pub(crate) fn get(&self) -> *mut c_void {
        let found = self.found.load(Ordering::Relaxed);
        if found.is_null() { self.find() } else { found }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: the name is a string; dlsym may allocate, which our allocating functions can take at any time.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the real function of this name and type: `real!(fork() -> i32)`.
macro_rules! real {
    ($name:ident($($value:expr => $type:ty),* $(,)?) $(-> $result:ty)?) => {{
        static REAL: $crate::real::Real = $crate::real::Real::named(concat!(stringify!($name), "\0"));
        let function: unsafe extern "C" fn($($type),*) $(-> $result)? = core::mem::transmute(REAL.get());
        function($($value),*)
    }};
}
pub(crate) use real;
