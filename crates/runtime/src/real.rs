//! The functions that ours stand before: found by name, once, in the libraries after this one.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

/// Calls the real function of this name and type: `real!(fork() -> i32)`, or one of a library that may not be loaded: `real!(in
/// c"libm.so.6"; modf(..) -> f64)`.
macro_rules! real {
    (in $library:expr; $name:ident($($value:expr => $type:ty),* $(,)?) $(-> $result:ty)?) => {
        $crate::real::real!(@ $crate::real::Real::of($library, concat!(stringify!($name), "\0")); $($value => $type),*; $($result)?)
    };
    ($name:ident($($value:expr => $type:ty),* $(,)?) $(-> $result:ty)?) => {
        $crate::real::real!(@ $crate::real::Real::named(concat!(stringify!($name), "\0")); $($value => $type),*; $($result)?)
    };
    (@ $real:expr; $($value:expr => $type:ty),*; $($result:ty)?) => {{
        static REAL: $crate::real::Real = $real;
        let function: unsafe extern "C" fn($($type),*) $(-> $result)? = core::mem::transmute(REAL.get());
        function($($value),*)
    }};
}
pub(crate) use real;

/// A function found at its first use.
pub(crate) struct Real {
    name: &'static CStr,
    /// Where to look if no library after this one has it.
    library: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Real {
    /// The function with this name, which has a zero at its end.
    pub(crate) const fn named(name: &'static str) -> Real {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Real { name, library: None, found: AtomicPtr::new(ptr::null_mut()) },
            Err(_) => panic!(),
        }
    }

    /// The same of a library that a program may be without, or have out of sight: a call that is linked to our function needs none, and a
    /// library that was loaded while the program ran has its own.
    pub(crate) const fn of(library: &'static CStr, name: &'static str) -> Real {
        let Real { name, found, .. } = Real::named(name);
        Real { name, library: Some(library), found }
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
        let mut found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        if let Some(library) = self.library
            && found.is_null()
        {
            // SAFETY: both names are strings. Nobody is told of the library: it has no instrumented code.
            found = unsafe {
                let library = real!(dlopen(library.as_ptr() => *const c_char, libc::RTLD_NOW => c_int) -> *mut c_void);
                if library.is_null() { library } else { libc::dlsym(library, self.name.as_ptr()) }
            };
        }
        if found.is_null() && is_of_openmp(self.name) {
            // SAFETY: the name is a string.
            found = unsafe { find_anywhere(self.name) };
        }
        self.found.store(found, Ordering::Relaxed);
        found
    }
}

/// Whether it is a function of an OpenMP library. A program may load one together with a module that needs it, for that module alone; the
/// module's calls come to ours all the same, which are there for everyone.
fn is_of_openmp(name: &CStr) -> bool {
    ["GOMP_", "__kmpc_", "omp_", "kmp_"].iter().any(|start| name.to_bytes().starts_with(start.as_bytes()))
}

/// What the loader keeps of a library, as far as it is public.
#[repr(C)]
struct Loaded {
    address: usize,
    name: *const c_char,
    dynamic: *const c_void,
    next: *const Loaded,
}

/// The function with this name in any library but ours; null if there is none.
///
/// # Safety
/// The name is a string.
#[cold]
unsafe fn find_anywhere(name: &CStr) -> *mut c_void {
    // SAFETY: the loader's list is complete, and libraries that are asked for again stay; a handle that is not closed does no harm.
    unsafe {
        let open = |library: *const c_char| {
            const FLAGS: c_int = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
            real!(dlopen(library => *const c_char, FLAGS => c_int) -> *mut c_void)
        };
        let mut next: *const Loaded = ptr::null();
        libc::dlinfo(open(ptr::null()), libc::RTLD_DI_LINKMAP, (&raw mut next).cast());
        while let Some(loaded) = next.as_ref() {
            let handle = open(loaded.name);
            if !handle.is_null() {
                let found = libc::dlsym(handle, name.as_ptr());
                if !found.is_null() && !is_ours(found) {
                    return found;
                }
            }
            next = loaded.next;
        }
        ptr::null_mut()
    }
}

/// Whether this is code of ours.
fn is_ours(code: *const c_void) -> bool {
    let base = |code: *const c_void| {
        // SAFETY: zero bytes are such a value, and the loader only looks the address up.
        unsafe {
            let mut known: libc::Dl_info = core::mem::zeroed();
            if libc::dladdr(code, &raw mut known) == 0 { ptr::null_mut() } else { known.dli_fbase }
        }
    };
    base(code) == base(is_ours as *const c_void)
}
