//! What stands in for a verifier when its programs are run: values that a verifier would choose, and sections that it would treat as atomic.

use std::path::Path;

/// The variable that says which values are chosen, unless the macro `VERIFIER_CHOICE` does: one value after the other, and again from the first.
pub(crate) const CHOICE: &str = "FORETELL_BENCH_CHOICE";

/// A source to be compiled with the programs, or to be included before them. A program that gives up a run (`abort`) ends without a failure if
/// it is included; a failed assertion aborts as ever. The sections are included only, for they need other names: some tools know the usual ones.
const SOURCE: &str = r#"#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int choice(void)
{
#ifdef VERIFIER_CHOICE
    return VERIFIER_CHOICE;
#else
    static unsigned asked;
    const char *choices = getenv("FORETELL_BENCH_CHOICE");
    return choices ? choices[__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED) % strlen(choices)] - '0' : 0;
#endif
}
_Bool __VERIFIER_nondet_bool(void) { return choice(); }
char __VERIFIER_nondet_char(void) { return choice(); }
int __VERIFIER_nondet_int(void) { return choice(); }
unsigned __VERIFIER_nondet_uint(void) { return choice(); }
long __VERIFIER_nondet_long(void) { return choice(); }
unsigned long __VERIFIER_nondet_ulong(void) { return choice(); }
void *__VERIFIER_nondet_pointer(void) { return choice() ? malloc(64) : 0; }
#if __INCLUDE_LEVEL__ > 0
static pthread_mutex_t verifier_section = PTHREAD_MUTEX_INITIALIZER;
static void verifier_begin(void) { pthread_mutex_lock(&verifier_section); }
static void verifier_end(void) { pthread_mutex_unlock(&verifier_section); }
void verifier_give_up(void) { _exit(0); }
#define __VERIFIER_atomic_begin verifier_begin
#define __VERIFIER_atomic_end verifier_end
#define abort verifier_give_up
#endif
"#;

pub(crate) fn write(file: &Path) -> Result<(), String> {
    std::fs::write(file, SOURCE).map_err(|error| format!("{}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// It asks for three values, and gives up unless they are as expected.
    const PROGRAM: &str = "\
extern void abort(void);
extern int __VERIFIER_nondet_int(void);
extern void __VERIFIER_atomic_begin(void);
extern void __VERIFIER_atomic_end(void);
int main(void)
{
    __VERIFIER_atomic_begin();
    int sum = 100 * __VERIFIER_nondet_int() + 10 * __VERIFIER_nondet_int() + __VERIFIER_nondet_int();
    __VERIFIER_atomic_end();
    if (sum == 999)
        abort();
    return sum;
}
";

    /// The status that the program ends with when it is built with these options and these values are chosen.
    fn status(options: &[&str], choices: &str) -> Option<i32> {
        let place = tempfile::tempdir().unwrap();
        let (source, made) = (place.path().join("program.c"), place.path().join("program"));
        write(&place.path().join("verifier.c")).unwrap();
        std::fs::write(&source, PROGRAM).unwrap();
        let compiler = Command::new("gcc")
            .args(options)
            .args(["program.c", "-o", "program", "-pthread"])
            .current_dir(place.path())
            .status();
        assert!(compiler.unwrap().success());
        Command::new(made).env(CHOICE, choices).status().unwrap().code()
    }

    #[test]
    fn the_values_are_those_that_were_chosen() {
        let included = ["-include", "verifier.c"];
        assert_eq!(status(&included, "012"), Some(12));
        assert_eq!(status(&included, "01"), Some(10));
        assert_eq!(status(&["-DVERIFIER_CHOICE=1", "-include", "verifier.c"], "012"), Some(111));
        assert_eq!(status(&included, "9"), Some(0), "giving up is no failure");
    }
}
