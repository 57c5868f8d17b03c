//! Real builds: the wrappers stand where a build system expects a compiler.

use crate::support::{Workshop, assert_in_order, count, is_there, succeeded};

const LIST_C: &str = "#include \"list.h\"\nint length;\nvoid add(void) { length++; }\n";
const LIST_H: &str = "#ifdef __cplusplus\nextern \"C\"\n#endif\nvoid add(void);\nextern int length;\n";
const MAIN_C: &str = r#"#include <pthread.h>
#include "list.h"
static void *work(void *arg) { add(); return arg; }
int main(void)
{
    pthread_t worker;
    pthread_create(&worker, 0, work, 0);
    add();
    pthread_join(worker, 0);
    return length != 2;
}
"#;

fn foretell() -> &'static str {
    env!("CARGO_BIN_EXE_foretell")
}

#[track_caller]
fn assert_records_the_race(workshop: &Workshop) {
    let recorded = workshop.record(&[]);
    assert_in_order(&recorded.trace, &["main|fork(T1)", "main|join(T1)"]);
    assert_eq!(count(&recorded.trace, "w(length)"), 2);
    let predict = workshop.foretell(&["predict", "foretell.ftr"]).output().expect("it runs");
    let said = String::from_utf8_lossy(&predict.stdout);
    assert_eq!(predict.status.code(), Some(1), "{said}");
    assert!(said.contains("length") && said.contains("list.c:3"), "{said}");
}

#[test]
fn make_with_a_static_library() {
    let workshop = Workshop::new();
    workshop.write("list.c", LIST_C);
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", MAIN_C);
    workshop.write(
        "Makefile",
        "CFLAGS = -O2 -Wall -Werror -MMD\nLDFLAGS = -pthread\nprogram: main.o liblist.a\n\t$(CC) $(LDFLAGS) -o $@ $^\n\
         liblist.a: list.o\n\t$(AR) rcs $@ $^\n",
    );
    succeeded(&mut workshop.other("make", &["-s", "-j2", &format!("CC={} cc", foretell())]));
    assert!(workshop.path("main.d").exists(), "the compiler wrote the dependencies it was asked for");
    assert_records_the_race(&workshop);
}

#[test]
fn cmake_with_a_shared_library() {
    if !is_there("cmake") {
        return;
    }
    let workshop = Workshop::new();
    workshop.write("list.c", LIST_C);
    workshop.write("list.h", LIST_H);
    workshop.write("main.cc", MAIN_C);
    workshop.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.10)\nproject(list C CXX)\nfind_package(Threads REQUIRED)\n\
         add_library(list SHARED list.c)\nadd_executable(program main.cc)\n\
         target_link_libraries(program list Threads::Threads)\n",
    );
    let link = |name: &str| {
        std::os::unix::fs::symlink(foretell(), workshop.path(name)).expect("it can be linked");
        workshop.path(name).display().to_string()
    };
    let (cc, cxx) = (link("foretell-cc"), link("foretell-c++"));
    let compilers = [format!("-DCMAKE_C_COMPILER={cc}"), format!("-DCMAKE_CXX_COMPILER={cxx}")];
    succeeded(&mut workshop.other("cmake", &["-S", ".", "-B", ".", &compilers[0], &compilers[1]]));
    succeeded(&mut workshop.other("cmake", &["--build", "."]));
    assert_records_the_race(&workshop);
}

#[test]
fn a_program_built_with_gcc_alone_is_recorded_as_it_is() {
    if !is_there("gcc") {
        return;
    }
    let workshop = Workshop::new();
    workshop.write("list.c", LIST_C);
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", MAIN_C);
    let arguments = ["-g", "-fsanitize=thread", "main.c", "list.c", "-o", "program", "-pthread"];
    let compiled = workshop.other("gcc", &arguments).output().expect("it runs");
    // Some systems have gcc without its sanitizer's library.
    if compiled.status.success() {
        assert_records_the_race(&workshop);
    }
}

#[test]
fn questions_to_the_compiler_are_passed_on() {
    let workshop = Workshop::new();
    for question in ["--version", "-dumpmachine", "-print-search-dirs"] {
        let plain = workshop.other("cc", &[question]).output().expect("it runs");
        let ours = workshop.foretell(&["cc", question]).env_remove("FORETELL_CC").output().expect("it runs");
        assert_eq!(ours.stdout, plain.stdout, "{question}");
        assert_eq!(ours.status.code(), plain.status.code(), "{question}");
    }
    // A program on standard input, a response file, and a mistake of the user's.
    workshop.write("answer.rsp", "-x c -o 'the answer' -");
    workshop.write("answer.c", "int main(void) { return 42; }");
    let input = std::fs::File::open(workshop.path("answer.c")).expect("it is there");
    succeeded(workshop.foretell(&["cc", "@answer.rsp"]).stdin(input));
    let ran = workshop.other("./the answer", &[""; 0]).status().expect("it runs");
    assert_eq!(ran.code(), Some(42), "without the recorder it is a program like any other");
    workshop.write("wrong.c", "int main(void) { return; ");
    let failed = workshop.foretell(&["cc", "-c", "wrong.c"]).output().expect("it runs");
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
fn branches_are_counted_when_asked_for() {
    let workshop = Workshop::new();
    let main = MAIN_C.replace("add();\n", "if (length < 9) add();\n");
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", &format!("{LIST_C}{main}"));
    succeeded(&mut workshop.foretell(&["cc", "--branches", "main.c", "-o", "program", "-pthread"]));
    let recorded = workshop.record(&["--branches"]);
    assert!(count(&recorded.trace, "branch(") > 0);
    assert!(!String::from_utf8_lossy(&recorded.output.stderr).contains("no branches"));
}
