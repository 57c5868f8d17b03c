//! Which source files are the system's: those of the C library, the compilers and their standard libraries. Nobody who looks for a bug of
//! a program wants to be led there. And which variables are the kernel's.

/// What an event counter of the kernel's is called, before its number.
pub const EVENTFD: &str = "eventfd ";
/// What a set of files to wait for is called, before its number.
pub const EPOLL: &str = "epoll ";

/// Whether a variable with this name is kept by the kernel: threads use it to wait for each other. No name in a program has a space there.
pub fn is_kernel_object(name: &str) -> bool {
    let number = name.strip_prefix(EVENTFD).or_else(|| name.strip_prefix(EPOLL));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Where they lie. The last are the crates that Rust's library is built with.
const PLACES: [&str; 5] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/", "/rust/deps/"];
/// Parts of paths that only installed compilers have.
const COMPILERS: [&str; 2] = ["/rustlib/src/", "/.rustup/"];

/// Whether a source file is the system's.
pub fn is_of_the_system(file: &str) -> bool {
    PLACES.iter().any(|place| file.starts_with(place)) || COMPILERS.iter().any(|part| file.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_objects_have_numbers() {
        assert!(is_kernel_object("eventfd 1") && is_kernel_object("epoll 12"));
        assert!(!["eventfd", "eventfd x", "epoll ", "poll 1", "x"].into_iter().any(is_kernel_object));
    }

    #[test]
    fn what_is_installed_is_of_the_system() {
        for file in [
            "/usr/include/c++/14/thread",
            "/rustc/59807616/library/std/src/sync/mutex.rs",
            "/home/me/.rustup/toolchains/stable/lib/rustlib/src/rust/library/core/src/cell.rs",
        ] {
            assert!(is_of_the_system(file), "{file}");
        }
        for file in ["src/main.rs", "/home/me/usr/include/queue.h", "/work/rustc.c", ""] {
            assert!(!is_of_the_system(file), "{file}");
        }
    }
}
