//! Real builds: the wrappers stand where a build system expects a compiler.

use crate::support::{Workshop, assert_in_order, count, events, succeeded};

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
    if !testing::has("cmake") {
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

const PLUGIN_MAIN_C: &str = r#"#include <dlfcn.h>
#include <pthread.h>
#include "list.h"
static void *work(void *plugin) { ((void (*)(void))dlsym(plugin, "plugged"))(); return 0; }
int main(int count, char **words)
{
    void *plugin = dlopen(words[count - 1], RTLD_NOW);
    if (!plugin)
        return 2;
    pthread_t worker;
    pthread_create(&worker, 0, work, plugin);
    add();
    pthread_join(worker, 0);
    return length != 2;
}
"#;

const CONFIGURE_AC: &str = "AC_INIT([list], [1.0])\nAM_INIT_AUTOMAKE([foreign])\nAC_PROG_CC\nAM_PROG_AR\nLT_INIT\n\
                            AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";

const MAKEFILE_AM: &str = "noinst_LTLIBRARIES = libfast.la\nlib_LTLIBRARIES = liblist.la plugin.la\nbin_PROGRAMS = main\n\
                           libfast_la_SOURCES = fast.c\nliblist_la_SOURCES = list.c\nliblist_la_LIBADD = libfast.la\n\
                           plugin_la_SOURCES = plugin.c\nplugin_la_LDFLAGS = -module -avoid-version\nplugin_la_LIBADD = liblist.la\n\
                           main_SOURCES = main.c\nmain_LDADD = liblist.la -ldl -lpthread\n";

/// A convenience library in a shared one, a plug-in that uses it, a program that loads the plug-in: with both compilers, every optimisation.
#[test]
fn autotools_with_libtool_and_a_plugin() {
    if !["autoreconf", "libtoolize", "automake"].into_iter().all(testing::has) {
        return;
    }
    let workshop = Workshop::new();
    workshop.write(
        "list.c",
        "#include \"list.h\"\nint length;\nvoid fast(int *);\nvoid add(void) { fast(&length); }\n",
    );
    workshop.write("fast.c", "void fast(int *);\nvoid fast(int *count) { (*count)++; }\n");
    workshop.write("plugin.c", "#include \"list.h\"\nvoid plugged(void);\nvoid plugged(void) { add(); }\n");
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", PLUGIN_MAIN_C);
    workshop.write("configure.ac", CONFIGURE_AC);
    workshop.write("Makefile.am", MAKEFILE_AM);
    succeeded(&mut workshop.other("autoreconf", &["--install"]));
    for cc in ["gcc", "clang"].into_iter().filter(|cc| testing::has(cc)) {
        let build = workshop.path(&format!("build-{cc}"));
        std::fs::create_dir(&build).expect("it can be made");
        let within = |program: &str, arguments: &[&str]| {
            let mut command = workshop.other(program, arguments);
            succeeded(command.current_dir(&build).env("FORETELL_CC", cc));
        };
        // Both kinds of library are made with one of them; it takes its time.
        let how = if cc == "gcc" { "--enable-static" } else { "--disable-static" };
        within("../configure", &[&format!("CC={} cc", foretell()), how, "-q"]);
        for level in ["-O0", "-O1", "-O2", "-O3"] {
            within("make", &["-s", "clean"]);
            within("make", &["-s", "-j2", &format!("CFLAGS={level} -g")]);
            let made = build.join(".libs");
            let [program, plugin] = ["main", "plugin.so"].map(|name| made.join(name));
            let words = ["record".as_ref(), "--".as_ref(), program.as_os_str(), plugin.as_os_str()];
            succeeded(workshop.foretell(&words).env("LD_LIBRARY_PATH", &made));
            let trace = workshop.trace("foretell.ftr");
            assert_eq!(count(&trace, "w(length)"), 2, "{cc} {level}");
            assert!(trace.symbols().locations.find("fast.c:2").is_some(), "{cc} {level}");
        }
    }
}

#[test]
fn a_program_built_with_gcc_alone_is_recorded_as_it_is() {
    if !testing::has("gcc") {
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

/// Runs the compiler and ours with the same words, and compares what they leave.
#[test]
fn what_compilers_are_asked_for_besides_programs() {
    let workshop = Workshop::new();
    workshop.write("list.c", LIST_C);
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", MAIN_C);
    workshop.write("start.S", ".globl answer\nanswer: mov $42, %eax\nret\n.section .note.GNU-stack,\"\"\n");
    for cc in ["gcc", "clang"].into_iter().filter(|cc| testing::has(cc)) {
        let ours = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            let mut command = workshop.foretell(&[&["cc"], &words[..]].concat());
            command.env("FORETELL_CC", cc);
            command
        };
        let said = |line: &str| String::from_utf8_lossy(&succeeded(&mut ours(line)).stdout).into_owned();
        let plain = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            String::from_utf8_lossy(&succeeded(&mut workshop.other(cc, &words)).stdout).into_owned()
        };
        for same in ["-MM list.c", "-dumpversion", "-print-file-name=libc.so", "-E -P list.c", "-v"] {
            assert_eq!(said(same), plain(same), "{cc} {same}");
        }
        assert!(said("-S -o - list.c").contains("__tsan_"), "{cc}");
        // Link-time optimisation, a pipe for the assembler, several sources, assembly among them.
        let several = "-O2 -pipe main.c list.c start.S -o program -pthread";
        succeeded(&mut ours(several));
        assert_records_the_race(&workshop);
        if workshop
            .other(cc, &["-flto", "list.c", "main.c", "-o", "lto", "-pthread"])
            .output()
            .is_ok_and(|o| o.status.success())
        {
            succeeded(&mut ours(&format!("-flto {several}")));
            assert_records_the_race(&workshop);
        }
        // A header that is compiled before.
        succeeded(&mut ours(if cc == "gcc" { "list.h" } else { "list.h -o list.h.pch" }));
        succeeded(&mut ours("-c list.c -o list.o"));
        // Without any library of the compiler's own.
        succeeded(&mut ours("-nostdlib -shared -fPIC list.c -o liblist.so -lc"));
        succeeded(&mut ours("main.c ./liblist.so -o program -pthread -Wl,--no-undefined"));
        assert_records_the_race(&workshop);
        assert_eq!(ours("-c missing.c").output().expect("it runs").status.code(), Some(1), "{cc}");
        for made in ["list.h.gch", "list.h.pch"] {
            let _ = std::fs::remove_file(workshop.path(made));
        }
    }
}

#[test]
fn a_compiler_behind_another_program_is_used() {
    let workshop = Workshop::new();
    workshop.write("list.c", "int main(void) { return 0; }\n");
    workshop.write("cache", "#!/bin/sh\necho cached >> calls\nexec \"$@\"\n");
    succeeded(&mut workshop.other("chmod", &["+x", "cache"]));
    let mut compile = workshop.foretell(&["cc", "list.c", "-o", "program"]);
    succeeded(compile.env("FORETELL_CC", format!("{} cc", workshop.path("cache").display())));
    assert!(workshop.path("calls").exists());
    workshop.record(&[]);
    let mut endless = workshop.foretell(&["cc", "list.c"]);
    let output = endless.env("FORETELL_CC", format!("{} cc", foretell())).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("FORETELL_CC names foretell itself"), "{said}");
}

#[test]
fn branches_are_counted_unless_that_is_turned_off() {
    let workshop = Workshop::new();
    let main = MAIN_C.replace("add();\n", "if (length < 9) add();\n");
    workshop.write("list.h", LIST_H);
    workshop.write("main.c", &format!("{LIST_C}{main}"));
    let counts = |first: &[&str], asked: Option<&str>| {
        let mut command =
            workshop.foretell(&[&["cc"], first, &["-O1", "main.c", "-o", "program", "-pthread"]].concat());
        asked.map(|asked| command.env("FORETELL_BRANCHES", asked));
        succeeded(&mut command);
        let recorded = workshop.record(&["--branches"]);
        let warns = String::from_utf8_lossy(&recorded.output.stderr).contains("no branches");
        let counts = count(&recorded.trace, "branch(") > 0;
        assert_eq!(counts, !warns);
        counts
    };
    assert!(counts(&[], None));
    assert!(!counts(&["--no-branches"], None));
    assert!(!counts(&[], Some("0")));
    assert!(counts(&["--branches"], Some("0")));
    // With these, counting would cost more.
    assert!(!counts(&["-masm=intel"], None));
    assert!(counts(&["-masm=intel"], Some("1")));
}

/// A value that is only passed on, and values that decide what comes next: by a jump, a call of a computed address, a table of jumps, and in
/// a library.
const DECIDING_C: &str = r#"
#include <pthread.h>
volatile int passed, decided, chosen, library, written;
static void write_four(void) { written = 4; }
void (*volatile called)(void) = write_four;
int decide_in_library(volatile int *variable);
static void *work(void *argument)
{
    written = passed + 1;
    if (decided)
        written = 2;
    called();
    switch (chosen & 7) {
    case 0: __asm__ volatile("nop"); written = 3; break;
    case 1: __asm__ volatile("cld"); written = 5; break;
    case 2: __asm__ volatile("nop; nop"); written = 8; break;
    case 3: __asm__ volatile("cld; cld"); written = 1; break;
    case 4: __asm__ volatile("nop; cld"); written = 9; break;
    case 5: __asm__ volatile("cld; nop"); written = 7; break;
    case 6: __asm__ volatile("nop; nop; nop"); written = 6; break;
    case 7: __asm__ volatile("cld; cld; cld"); written = 2; break;
    }
    written = decide_in_library(&library);
    __asm__ volatile("jne 1f\n1:");
    return argument;
}
int main(void)
{
    pthread_t thread;
    pthread_create(&thread, 0, work, 0);
    passed = decided = chosen = library = written = 0;
    called = write_four;
    return pthread_join(thread, 0);
}
"#;
/// The optimiser must not find the choice in a table or an instruction that moves one of two values.
const LIBRARY_C: &str = r#"
int decide_in_library(volatile int *variable)
{
    if (*variable) {
        __asm__ volatile("nop");
        return 4;
    }
    return 3;
}
"#;

#[test]
fn branches_are_noted_however_a_program_is_built() {
    let gcc =
        ["-O0", "-O2", "-O2 -pipe", "-O2 -fPIC", "-O2 -flto", "-O2 -masm=intel"].map(|how| ("gcc", how));
    for (compiler, how) in gcc.into_iter().chain([("clang", "-O0"), ("clang", "-O2")]) {
        if !testing::has(compiler) {
            continue;
        }
        let workshop = Workshop::new();
        workshop.write("main.c", DECIDING_C);
        workshop.write("library.c", LIBRARY_C);
        let build = |arguments: &str| {
            let words: Vec<&str> = arguments.split_whitespace().collect();
            let mut command = workshop.foretell(&[&["cc", "--branches"], &words[..]].concat());
            succeeded(command.env("FORETELL_CC", compiler));
        };
        build(&format!("{how} -fPIC -shared library.c -o liblibrary.so"));
        build(&format!("{how} -c main.c -o main.o"));
        build(&format!("{how} main.o -o program -pthread -L. -llibrary -Wl,-rpath,."));
        let recorded = workshop.record(&["--branches"]);
        let own: Vec<String> =
            events(&recorded.trace).into_iter().filter(|event| event.starts_with("T1|")).collect();
        let after = |variable: &str| {
            let at = own.iter().position(|event| *event == format!("T1|r({variable})"));
            own[at.unwrap_or_else(|| panic!("{compiler} {how}: no read of {variable} in {own:#?}")) + 1]
                .as_str()
        };
        assert_eq!(after("passed"), "T1|w(written)", "{compiler} {how}");
        for variable in ["decided", "called", "chosen", "library"] {
            assert!(after(variable).starts_with("T1|branch("), "{compiler} {how}: {variable} in {own:#?}");
        }
    }
}
