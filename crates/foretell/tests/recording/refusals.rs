//! Programs that cannot be seen into are refused before they run, with what to do.

use std::process::Output;

use crate::support::{Workshop, succeeded};

const PROGRAM: &str = "#include <stdio.h>\nint main(void) { puts(\"ran\"); return 0; }\n";

#[track_caller]
fn refused(workshop: &Workshop, command: &[&str], said: &str, help: &str) {
    let output = workshop.foretell(&[&["record", "--"], command].concat()).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(output.stdout.is_empty(), "it was run");
    assert!(error.contains(said) && error.contains(help), "{error}");
    assert!(!workshop.path("foretell.ftr").exists());
}

#[test]
fn what_cannot_be_seen_is_refused_before_it_runs() {
    let workshop = Workshop::new();
    workshop.write("program.c", PROGRAM);
    succeeded(&mut workshop.other("cc", &["program.c", "-o", "plain"]));
    refused(&workshop, &["./plain"], "it is not instrumented", "foretell cc");
    refused(&workshop, &["./plain"], "it is not instrumented", "--only-sync");
    refused(&workshop, &["./missing"], "cannot run `./missing`", "");
    refused(&workshop, &["./program.c"], "not executable", "");
    refused(&workshop, &["plain"], "the one here is `./plain`", "");
    workshop.write("directory/file", "");
    refused(&workshop, &["./directory"], "it is a directory", "");
    workshop.write("empty", "");
    succeeded(&mut workshop.other("chmod", &["+x", "empty"]));
    refused(&workshop, &["./empty"], "not a Linux executable", "");
    succeeded(&mut workshop.other("cc", &["-shared", "-fPIC", "program.c", "-o", "library.so"]));
    refused(&workshop, &["./library.so"], "it is a library", "the program that loads it");
    // Without a C library, which few machines have for 32 bits.
    workshop.write("narrow.c", "int main(void) { return 0; }\n");
    succeeded(&mut workshop.other("cc", &["-m32", "-nostdlib", "-Wl,-e,main", "narrow.c", "-o", "narrow"]));
    refused(&workshop, &["./narrow"], "not a 64-bit x86 program", "-m32");
    workshop.write("script", "#!/bin/sh\necho ran\n");
    succeeded(&mut workshop.other("chmod", &["+x", "script"]));
    refused(&workshop, &["./script"], "it is a script", "--children follow");
    succeeded(&mut workshop.other("cc", &["-static", "program.c", "-o", "static"]));
    refused(&workshop, &["./static"], "it is statically linked", "-static");
    // As clang links it always.
    let own = ["-fsanitize=thread", "-static-libtsan", "program.c", "-o", "own"];
    succeeded(&mut workshop.other("gcc", &own));
    refused(&workshop, &["./own"], "the sanitizer's own runtime", "foretell cc");
}

#[test]
fn a_program_of_another_user_is_refused() {
    let workshop = Workshop::new();
    workshop.write("program.c", PROGRAM);
    succeeded(&mut workshop.foretell(&["cc", "program.c", "-o", "program"]));
    succeeded(&mut workshop.other("chmod", &["u+s", "program"]));
    // Ours is ours.
    workshop.record(&[]);
    std::fs::remove_file(workshop.path("foretell.ftr")).expect("it is there");
    let as_root = |command: &str| {
        let ran = |output: std::io::Result<Output>| output.is_ok_and(|output| output.status.success());
        let sudo = ["--non-interactive", "sh", "-c", command];
        ran(workshop.other("sh", &["-c", command]).output()) || ran(workshop.other("sudo", &sudo).output())
    };
    if !as_root("chown 65534 program && chmod u+s program") {
        return testing::skip("only root can make it another user's program");
    }
    refused(&workshop, &["./program"], "with the rights of another user", "record a copy");
}

#[test]
fn wherever_it_is_loaded_and_whatever_it_says_of_its_source() {
    let workshop = Workshop::new();
    workshop.write("program.c", PROGRAM);
    succeeded(&mut workshop.foretell(&["cc", "-no-pie", "program.c", "-o", "program"]));
    assert!(!String::from_utf8_lossy(&workshop.record(&[]).output.stderr).contains("warning"));
    succeeded(&mut workshop.foretell(&["cc", "-s", "program.c", "-o", "program"]));
    let stripped = workshop.record(&[]);
    assert_eq!(stripped.stdout(), "ran\n");
    assert!(String::from_utf8_lossy(&stripped.output.stderr).contains("it has no debug information"));
}

#[test]
fn a_static_program_is_refused_where_it_is_linked() {
    let workshop = Workshop::new();
    workshop.write("program.c", PROGRAM);
    let output = workshop.foretell(&["cc", "-static", "program.c"]).output().expect("it runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{error}");
    assert!(error.contains("link without `-static`"), "{error}");
    succeeded(&mut workshop.foretell(&["cc", "-static", "-c", "program.c"]));
}

#[test]
fn recordings_are_native() {
    let workshop = Workshop::new();
    let output = workshop.foretell(&["record", "-o", "t.std", "--", "./x"]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("`.ftr`"));
}

#[test]
fn locks_and_threads_of_an_ordinary_program() {
    let workshop = Workshop::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/recording/programs/many.c");
    succeeded(&mut workshop.other("cc", &["-g", source, "-o", "program", "-pthread"]));
    succeeded(&mut workshop.foretell(&["record", "--only-sync", "--", "./program", "3"]));
    let trace = workshop.trace("foretell.ftr");
    assert_eq!(crate::support::count(&trace, "acq(lock)"), 3);
    assert_eq!(crate::support::count(&trace, "fork("), 3);
}
