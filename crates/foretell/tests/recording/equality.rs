//! Recordings of one seed are one trace, wherever the kernel puts things.

use crate::support::{Toolchain, Workshop, succeeded};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

/// Runs a command that may not turn address space randomisation off: the recorder asks for that, and is refused.
const RANDOMISED: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int count, char **words)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        return 77;
    execv(words[1], words + 1);
    return count > 99;
}
"#;

/// The trace as text, without where its libraries were.
fn text(workshop: &Workshop) -> String {
    succeeded(&mut workshop.foretell(&["convert", "-q", "foretell.ftr", "text.std"]));
    let text = std::fs::read_to_string(workshop.path("text.std")).expect("it is text");
    text.lines().filter(|line| !line.starts_with("#! metadata")).map(|line| format!("{line}\n")).collect()
}

#[test]
fn thirty_recordings_of_one_seed_are_equal() {
    let workshop = Workshop::new();
    workshop.compile(CC, "deep.c", &[]);
    workshop.write("randomised.c", RANDOMISED);
    succeeded(&mut workshop.other("cc", &["randomised.c", "-o", "randomised"]));
    let foretell = env!("CARGO_BIN_EXE_foretell");
    let mut first: Option<String> = None;
    for round in 0..30 {
        let mut record = match round % 2 {
            0 => workshop.foretell(&["record", "--seed", "5", "--", "./program"]),
            _ => workshop.other("./randomised", &[foretell, "record", "--seed", "5", "--", "./program"]),
        };
        // Another length of the environment, as another shell has.
        record.env("SOMETHING", "x".repeat(round * 7));
        succeeded(&mut record);
        let text = text(&workshop);
        let known = first.get_or_insert_with(|| text.clone());
        if *known != text {
            let difference = known.lines().zip(text.lines()).find(|(one, other)| one != other);
            panic!("round {round}: {difference:?}");
        }
    }
}
