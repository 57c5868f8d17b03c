//! A project as the pages assume it: `bank`, built by any build system, with its tests, a trace of it, and what a CI job has beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Two threads add to an account; a journal is written under a lock. The marks are those of the pages about conditions and rules.
const BANK: &str = r#"#include <pthread.h>
#include <stdio.h>
#if __has_include(<foretell.h>)
#include <foretell.h>
#else
#define FORETELL_MARK(name, value) (void)0
#endif
static int balance, journal;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *deposit(void *unused) {
    FORETELL_MARK("ready", 1);
    FORETELL_MARK("open", 1);
    FORETELL_MARK("writing", 1);
    balance = balance + 1;
    FORETELL_MARK("writing", -1);
    FORETELL_MARK("open", -1);
    pthread_mutex_lock(&lock);
    journal++;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
    printf("%d\n", journal);
    return 0;
}
"#;

const BANK_RS: &str = r#"use std::sync::{Arc, Mutex};
fn main() {
    let balance = Arc::new(Mutex::new(0));
    let other = Arc::clone(&balance);
    let thread = std::thread::spawn(move || *other.lock().unwrap() += 1);
    *balance.lock().unwrap() += 1;
    thread.join().unwrap();
}
#[test]
fn sums() {
    main();
}
"#;

const MAKEFILE: &str = "\
all tests: bank
bank: bank.c
\t$(CC) -g bank.c -o bank -pthread
check: bank
\t./bank
.PHONY: all tests check
";

const CONFIGURE: &str = "\
#!/bin/sh
# What autoconf's scripts do with their arguments, and no more.
for setting; do echo \"$setting\"; done > config.mk
{ echo 'include config.mk'; cat Makefile.in; } > Makefile
";

const CMAKE: &str = "\
cmake_minimum_required(VERSION 3.16)
project(bank C)
find_package(Threads REQUIRED)
add_executable(bank bank.c)
target_link_libraries(bank Threads::Threads)
enable_testing()
add_test(NAME bank COMMAND bank)
";

const MESON: &str = "\
project('bank', 'c')
bank = executable('bank', 'bank.c', dependencies: dependency('threads'))
test('bank', bank)
";

const CARGO: &str = "\
[package]
name = \"bank\"
version = \"0.1.0\"
edition = \"2021\"

[[bin]]
name = \"bank\"
path = \"bank.rs\"
";

const RULES: &str = "\
[[order]]
rule = \"log.c:40 < worker.c:12\"

[[predicate]]
name = \"two writers\"
possibly = 'exists t, u: t != u && mark(t, \"writing\") > 0 && mark(u, \"writing\") > 0'
";

/// Puts the files of the project into a directory. Programs and traces are made by [`PREPARE`].
pub(crate) fn write(directory: &Path) {
    let files = [
        ("bank.c", BANK),
        ("bank.rs", BANK_RS),
        ("Makefile", MAKEFILE),
        ("Makefile.in", MAKEFILE),
        ("CMakeLists.txt", CMAKE),
        ("meson.build", MESON),
        ("Cargo.toml", CARGO),
        ("rules.toml", RULES),
        ("ci/foretell.supp", "race:nothing_of_this_name\n"),
    ];
    let scripts = [
        ("configure", CONFIGURE),
        ("run-all-tests.sh", "#!/bin/sh\n./bank\n"),
        ("tests/run", "#!/bin/sh\n./bank\n"),
    ];
    for (name, content) in files.iter().chain(&scripts) {
        let path = directory.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
    }
    fs::create_dir_all(directory.join("home/bin")).unwrap();
    fs::create_dir_all(directory.join("examples")).unwrap();
    fs::copy(crate::root().join("examples/weather_station.c"), directory.join("examples/weather_station.c"))
        .unwrap();
    for (name, _) in scripts {
        fs::set_permissions(directory.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// What has been done in the project when a page is read: it is built, recorded, and was hunted in once.
pub(crate) const PREPARE: &str = "\
foretell cc -g bank.c -o bank -pthread
cp bank tests/queue_test
foretell record --quiet -o run.ftr -- ./bank
foretell hunt --quiet --timeout 5 -- ./bank
cp .foretell/latest/findings.json main-findings.json
cp run.ftr T
";
