//! Which source files are the system's: those of the C library, the compilers and their standard libraries. Nobody who looks for a bug of
//! a program wants to be led there.

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
