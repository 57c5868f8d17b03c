//! Functions that look up users, groups, hosts, networks, protocols and mounts: the entry that they find is written.
//!
//! Those without `_r` return memory of the C library that the next call overwrites. It counts as written as well: who still reads it while another
//! thread calls the function has a race.

use core::ffi::{c_char, c_int, c_void};
use core::ptr;

use super::filled::{log_fill, log_text};
use super::ranges::{length, log_ranges};
use super::{hook, hook_of_eight, hook_of_seven, hook_of_six, outside};
use crate::inside::enter;
use crate::modules::is_constant;
use crate::real::real;

type Bytes = *mut c_void;
type Text = *mut c_char;
type Texts = *mut Text;

/// How many parts of an entry are recorded.
const MOST_PARTS: usize = 48;

/// The parts of memory that an entry consists of.
pub(super) struct Parts {
    parts: [(u64, usize); MOST_PARTS],
    used: usize,
}

impl Parts {
    pub(super) fn none() -> Parts {
        Parts { parts: [(0, 0); MOST_PARTS], used: 0 }
    }

    pub(super) fn bytes(&mut self, start: u64, size: usize) {
        if start != 0
            && let Some(part) = self.parts.get_mut(self.used)
        {
            *part = (start, size);
            self.used += 1;
        }
    }

    /// # Safety
    /// The text is null or ends with a zero.
    pub(super) unsafe fn text(&mut self, text: Text) {
        if !text.is_null() && !is_constant(text as u64) {
            // SAFETY: by this function's contract.
            self.bytes(text as u64, unsafe { length(text) } + 1);
        }
    }

    /// A list that ends with a null, and what its elements refer to.
    ///
    /// # Safety
    /// The list is null or one, and its elements are texts, or have this size if it is given.
    unsafe fn list(&mut self, list: Texts, element: Option<usize>) {
        if list.is_null() {
            return;
        }
        // SAFETY: by this function's contract.
        unsafe {
            let count = (0..).take_while(|&index| !(*list.add(index)).is_null()).count();
            self.bytes(list as u64, (count + 1) * size_of::<Text>());
            for index in 0..count.min(MOST_PARTS) {
                let start = *list.add(index);
                match element {
                    Some(size) => self.bytes(start as u64, size),
                    None => self.text(start),
                }
            }
        }
    }

    pub(super) fn log_writes(&self, pc: u64) {
        log_ranges(pc, &[], &self.parts[..self.used]);
    }
}

/// An entry of a database.
trait Entry: Copy {
    /// # Safety
    /// The entry is as the C library makes it.
    unsafe fn add_to(&self, parts: &mut Parts);
}

/// `netent`, whose numbers are not looked at.
#[derive(Clone, Copy)]
#[repr(C)]
struct Network {
    name: Text,
    aliases: Texts,
    kind: c_int,
    number: u32,
}

macro_rules! entries {
    ($($entry:ty: $($text:ident)*; $($list:ident)*;)*) => {
        $(
            impl Entry for $entry {
                /// # Safety
                /// As the trait says.
                unsafe fn add_to(&self, parts: &mut Parts) {
                    // SAFETY: by the contract of the trait.
                    unsafe {
                        $(parts.text(self.$text);)*
                        $(parts.list(self.$list, None);)*
                    }
                }
            }
        )*
    };
}

entries! {
    libc::passwd: pw_name pw_passwd pw_gecos pw_dir pw_shell;;
    libc::group: gr_name gr_passwd; gr_mem;
    libc::protoent: p_name; p_aliases;
    libc::mntent: mnt_fsname mnt_dir mnt_type mnt_opts;;
    Network: name; aliases;
}

impl Entry for libc::hostent {
    /// # Safety
    /// As the trait says.
    unsafe fn add_to(&self, parts: &mut Parts) {
        // SAFETY: by the contract of the trait.
        unsafe {
            parts.text(self.h_name);
            parts.list(self.h_aliases, None);
            parts.list(self.h_addr_list, Some(self.h_length.max(0) as usize));
        }
    }
}

/// Records that an entry was written, if there is one.
///
/// # Safety
/// The entry is null or as the C library makes it.
unsafe fn log_entry<E: Entry>(entry: *mut E, pc: u64) -> *mut E {
    let mut parts = Parts::none();
    if !entry.is_null() {
        parts.bytes(entry as u64, size_of::<E>());
        // SAFETY: by this function's contract.
        unsafe { (*entry).add_to(&mut parts) };
        parts.log_writes(pc);
    }
    entry
}

/// The same for a function that says with a pointer whether it has found one.
///
/// # Safety
/// As for [`log_entry`]; the pointer is valid.
unsafe fn log_found<E: Entry>(error: c_int, found: *mut *mut E, pc: u64) -> c_int {
    if !found.is_null() {
        log_fill(found.cast(), size_of::<Bytes>(), pc);
        if error == 0 {
            // SAFETY: by this function's contract.
            unsafe { log_entry(*found, pc) };
        }
    }
    error
}

/// Records that a name is read, unless it never changes.
///
/// # Safety
/// The text is null or ends with a zero.
pub(super) unsafe fn log_name(text: *const c_char, pc: u64) {
    if !text.is_null() && !is_constant(text as u64) {
        // SAFETY: by this function's contract.
        log_ranges(pc, &[(text as u64, unsafe { length(text) } + 1)], &[]);
    }
}

/// Functions that return an entry.
macro_rules! returns {
    ($($entry:ty { $(fn $name:ident($($argument:ident: $type:ty),*) in $register:literal $(reads $text:ident)?;)* })*) => {
        hook! {
            $($(fn $name($($argument: $type),*; pc in $register) -> *mut $entry {
                $(log_name($text, pc);)?
                log_entry(real!($name($($argument => $type),*) -> *mut $entry), pc)
            })*)*
        }
    };
}

returns! {
    libc::passwd {
        fn getpwnam(name: Text) in "rsi" reads name;
        fn getpwuid(user: u32) in "rsi";
        fn getpwent() in "rdi";
        fn fgetpwent(stream: Bytes) in "rsi";
    }
    libc::group {
        fn getgrnam(name: Text) in "rsi" reads name;
        fn getgrgid(group: u32) in "rsi";
        fn getgrent() in "rdi";
        fn fgetgrent(stream: Bytes) in "rsi";
    }
    libc::hostent {
        fn gethostbyname(name: Text) in "rsi" reads name;
        fn gethostbyname2(name: Text, family: c_int) in "rdx" reads name;
        fn gethostbyaddr(address: Bytes, size: u32, family: c_int) in "rcx";
        fn gethostent() in "rdi";
    }
    Network {
        fn getnetbyname(name: Text) in "rsi" reads name;
        fn getnetbyaddr(network: u32, kind: c_int) in "rdx";
        fn getnetent() in "rdi";
    }
    libc::protoent {
        fn getprotobyname(name: Text) in "rsi" reads name;
        fn getprotobynumber(number: c_int) in "rsi";
        fn getprotoent() in "rdi";
    }
    libc::mntent {
        fn getmntent(stream: Bytes) in "rsi";
        fn getmntent_r(stream: Bytes, entry: *mut libc::mntent, texts: Text, size: c_int) in "r8";
    }
}

/// Functions that fill an entry of the program, and say where it is.
macro_rules! fills_entry {
    ($($entry:ty { $(fn $name:ident($($argument:ident: $type:ty),*) in $register:literal $(reads $text:ident)?;)* })*) => {
        hook! {
            $($(fn $name($($argument: $type,)* found: *mut *mut $entry; pc in $register) -> c_int {
                $(log_name($text, pc);)?
                let error = real!($name($($argument => $type,)* found => *mut *mut $entry) -> c_int);
                log_found(error, found, pc)
            })*)*
        }
    };
}

fills_entry! {
    libc::passwd {
        fn getpwnam_r(name: Text, entry: Bytes, texts: Text, size: usize) in "r9" reads name;
        fn getpwuid_r(user: u32, entry: Bytes, texts: Text, size: usize) in "r9";
        fn getpwent_r(entry: Bytes, texts: Text, size: usize) in "r8";
        fn fgetpwent_r(stream: Bytes, entry: Bytes, texts: Text, size: usize) in "r9";
    }
    libc::group {
        fn getgrnam_r(name: Text, entry: Bytes, texts: Text, size: usize) in "r9" reads name;
        fn getgrgid_r(group: u32, entry: Bytes, texts: Text, size: usize) in "r9";
        fn getgrent_r(entry: Bytes, texts: Text, size: usize) in "r8";
        fn fgetgrent_r(stream: Bytes, entry: Bytes, texts: Text, size: usize) in "r9";
    }
    libc::protoent {
        fn getprotobyname_r(name: Text, entry: Bytes, texts: Text, size: usize) in "r9" reads name;
        fn getprotobynumber_r(number: c_int, entry: Bytes, texts: Text, size: usize) in "r9";
        fn getprotoent_r(entry: Bytes, texts: Text, size: usize) in "r8";
    }
}

type Host = *mut libc::hostent;

/// Records what a function has filled that looks for a host, and why it has failed if so.
///
/// # Safety
/// As for [`log_found`].
unsafe fn log_host(error: c_int, found: *mut Host, why: *mut c_int, pc: u64) -> c_int {
    // SAFETY: by this function's contract.
    unsafe { log_found(error, found, pc) };
    if error != 0 {
        log_fill(why.cast(), size_of::<c_int>(), pc);
    }
    error
}

hook! {
    fn gethostent_r(entry: Bytes, texts: Text, size: usize, found: *mut Host, why: *mut c_int; pc in "r9") -> c_int {
        let error = real!(gethostent_r(
            entry => Bytes, texts => Text, size => usize, found => *mut Host, why => *mut c_int
        ) -> c_int);
        log_host(error, found, why, pc)
    }
}

hook_of_six! {
    fn gethostbyname_r(name: Text, entry: Bytes, texts: Text, size: usize, found: *mut Host, why: *mut c_int; pc) -> c_int {
        log_name(name, pc);
        let error = real!(gethostbyname_r(
            name => Text, entry => Bytes, texts => Text, size => usize, found => *mut Host, why => *mut c_int
        ) -> c_int);
        log_host(error, found, why, pc)
    }
}

hook_of_seven! {
    fn gethostbyname2_r(name: Text, family: c_int, entry: Bytes, texts: Text, size: usize, found: *mut Host; pc, why: *mut c_int) -> c_int {
        log_name(name, pc);
        let error = real!(gethostbyname2_r(
            name => Text, family => c_int, entry => Bytes, texts => Text, size => usize, found => *mut Host, why => *mut c_int
        ) -> c_int);
        log_host(error, found, why, pc)
    }
    fn getnameinfo(address: Bytes, size: u32, host: Text, room: u32, service: Text, service_room: u32; pc, flags: c_int) -> c_int {
        log_ranges(pc, &[(address as u64, size as usize)], &[]);
        let error = abroad(|| real!(getnameinfo(
            address => Bytes, size => u32, host => Text, room => u32, service => Text, service_room => u32, flags => c_int
        ) -> c_int));
        if error == 0 {
            log_text(if room > 0 { host } else { ptr::null_mut() }, pc);
            log_text(if service_room > 0 { service } else { ptr::null_mut() }, pc);
        }
        error
    }
}

hook_of_eight! {
    fn gethostbyaddr_r(address: Bytes, length: u32, family: c_int, entry: Bytes, texts: Text, size: usize; found: *mut Host, why: *mut c_int, pc) -> c_int {
        log_ranges(pc, &[(address as u64, length as usize)], &[]);
        let error = real!(gethostbyaddr_r(
            address => Bytes, length => u32, family => c_int, entry => Bytes, texts => Text, size => usize, found => *mut Host, why => *mut c_int
        ) -> c_int);
        log_host(error, found, why, pc)
    }
}

/// Calls something that waits for other computers, perhaps.
fn abroad<R>(really: impl FnOnce() -> R) -> R {
    match enter() {
        Some(inside) => outside(inside, really),
        None => really(),
    }
}

hook! {
    fn getaddrinfo(node: Text, service: Text, hints: *const libc::addrinfo, found: *mut *mut libc::addrinfo; pc in "r8") -> c_int {
        log_name(node, pc);
        log_name(service, pc);
        if !hints.is_null() {
            log_ranges(pc, &[(hints as u64, size_of::<libc::addrinfo>())], &[]);
        }
        let error = abroad(|| real!(getaddrinfo(
            node => Text, service => Text, hints => *const libc::addrinfo, found => *mut *mut libc::addrinfo
        ) -> c_int));
        if error == 0 {
            let mut parts = Parts::none();
            parts.bytes(found as u64, size_of::<Bytes>());
            let mut next = *found;
            while let Some(entry) = next.as_ref() {
                parts.bytes(next as u64, size_of::<libc::addrinfo>());
                parts.bytes(entry.ai_addr as u64, entry.ai_addrlen as usize);
                parts.text(entry.ai_canonname);
                next = entry.ai_next;
            }
            parts.log_writes(pc);
        }
        error
    }
    fn getifaddrs(found: *mut *mut libc::ifaddrs; pc in "rsi") -> c_int {
        let error = real!(getifaddrs(found => *mut *mut libc::ifaddrs) -> c_int);
        if error == 0 {
            let mut parts = Parts::none();
            parts.bytes(found as u64, size_of::<Bytes>());
            let mut next = *found;
            while let Some(entry) = next.as_ref() {
                parts.bytes(next as u64, size_of::<libc::ifaddrs>());
                parts.text(entry.ifa_name);
                next = entry.ifa_next;
            }
            parts.log_writes(pc);
        }
        error
    }
}
