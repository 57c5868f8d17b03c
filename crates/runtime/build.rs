//! The library answers to the name under which programs look for gcc's own runtime.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libtsan.so.2");
    // Its own calls of functions it exports must not be taken over by someone else's.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-Bsymbolic");
}
