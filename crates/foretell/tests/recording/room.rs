//! Too little room for the log: the program goes on, and what could not be recorded is an error or a shorter trace that says so.

use std::process::{Command, Output};

use crate::support::{Toolchain, Workshop};

const CC: Toolchain = Toolchain { cc: "", cxx: "", optimise: "-O1" };

fn compiled() -> Workshop {
    let workshop = Workshop::new();
    workshop.compile(CC, "room.c", &[]);
    workshop
}

/// Runs a shell script in the directory; `$FORETELL` is this program.
fn script(workshop: &Workshop, text: &str) -> Output {
    let mut shell = workshop.other("sh", &["-c", text]);
    shell.env("FORETELL", env!("CARGO_BIN_EXE_foretell")).output().expect("it runs")
}

/// The result of a recording: its status, and what was said.
fn said(output: &Output) -> (Option<i32>, String) {
    let text = [&output.stdout[..], &output.stderr].concat();
    (output.status.code(), String::from_utf8_lossy(&text).into_owned())
}

/// Asserts that there is a trace and that every command says it is not whole, or that there is none and why.
#[track_caller]
fn assert_no_silent_loss(workshop: &Workshop, output: &Output) {
    let (status, text) = said(output);
    if text.contains("cannot record `./program`") {
        // There is no room for what comes before the program.
        return assert_eq!(status, Some(2), "{text}");
    }
    assert!(text.starts_with("done\n"), "the program goes on: {text}");
    if workshop.path("foretell.ftr").exists() {
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("the recording ends early: "), "{text}");
        let predicted = workshop.foretell(&["predict", "foretell.ftr"]).output().expect("it runs");
        let (_, text) = said(&predicted);
        assert!(text.contains("the recording ends early: "), "{text}");
    } else {
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("nothing was recorded"), "{text}");
    }
}

#[test]
fn a_temporary_directory_that_is_nearly_full() {
    let mount = |size: &str, then: &str| {
        format!("unshare -rm sh -c 'mkdir small && mount -t tmpfs -o size={size} none small && {then}'")
    };
    let possible = Command::new("sh").args(["-c", "unshare -rm mount -t tmpfs none /mnt"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        return testing::absent("a small file system cannot be mounted here");
    }
    let record = "TMPDIR=$PWD/small $FORETELL record -- ./program";
    for size in ["4k", "24k", "64k", "200k"] {
        let workshop = compiled();
        assert_no_silent_loss(&workshop, &script(&workshop, &mount(size, record)));
    }
}

/// A real quota: btrfs copies what is overwritten, so even the log's head, which has its room, can no longer be written.
#[test]
fn a_quota_that_is_used_up() {
    let workshop = compiled();
    let mounted = script(
        &workshop,
        "mkdir disk && truncate -s 128M image && mkfs.btrfs -q image && mount -o loop image disk \
         && btrfs subvolume create disk/limited && btrfs quota enable disk",
    );
    if !mounted.status.success() {
        // It takes root, a loop device and btrfs: not everywhere to be had. The next test has the same loss without them.
        return testing::absent(&format!("btrfs with a quota cannot be mounted here: {}", said(&mounted).1));
    }
    let outcomes = ["32K", "128K", "200K", "256K", "300K", "512K"].map(|limit| {
        let text = format!(
            "rm -f foretell.ftr; btrfs qgroup limit {limit} disk/limited && TMPDIR=$PWD/disk/limited exec $FORETELL record -- ./program"
        );
        script(&workshop, &text)
    });
    let unmounted = script(&workshop, "umount disk");
    assert!(unmounted.status.success(), "{}", said(&unmounted).1);
    for output in outcomes {
        let (status, text) = said(&output);
        let is_told = ["cannot record `./program`", "nothing was recorded", "the recording ends early: "];
        assert!(is_told.iter().any(|part| text.contains(part)), "{status:?}: {text}");
        assert_eq!(status == Some(0), text.contains("the recording ends early: "), "{text}");
    }
}

/// Nobody could say so, but the log has no end: the loss is known all the same.
#[test]
fn a_log_that_does_not_say_how_the_program_ended() {
    let workshop = Workshop::new();
    workshop.compile(CC, "sandbox.c", &[]);
    let (status, text) =
        said(&workshop.foretell(&["record", "--", "./program", "unseen_group"]).output().expect("it runs"));
    assert_eq!(status, Some(7), "{text}");
    assert!(text.contains("the recording ends early: the log does not say how the program ended"), "{text}");
    let (_, text) = said(&workshop.foretell(&["predict", "foretell.ftr"]).output().expect("it runs"));
    assert!(text.contains("the recording ends early: "), "{text}");
}

#[test]
fn files_that_may_not_grow() {
    // In blocks of 512 bytes. The last leaves room for a log of some length and for its trace.
    for blocks in [1, 12, 40, 300] {
        let workshop = compiled();
        let text = format!("ulimit -f {blocks} && $FORETELL record -- ./program | cat; exit 0");
        let output = script(&workshop, &text);
        let (_, text) = said(&output);
        let expected: &[&str] = match workshop.path("foretell.ftr").exists() {
            true => &["ends early: "],
            false => &["nothing was recorded", "cannot record `./program`", "cannot write"],
        };
        assert!(expected.iter().any(|part| text.contains(part)), "{text}");
    }
    let workshop = compiled();
    let (status, text) = said(&script(&workshop, "ulimit -f 0 && exec $FORETELL record -- ./program"));
    assert_eq!(status, Some(2), "{text}");
}

#[test]
fn a_directory_that_cannot_be_written() {
    let workshop = compiled();
    let (status, text) = said(&script(&workshop, "TMPDIR=/proc exec $FORETELL record -- ./program"));
    assert_eq!(status, Some(2), "{text}");
    assert!(!workshop.path("foretell.ftr").exists());
}

#[test]
fn a_log_that_is_cut_while_it_is_written() {
    let workshop = compiled();
    let output = workshop.foretell(&["record", "--", "./program", "cut"]).output().expect("it runs");
    assert_no_silent_loss(&workshop, &output);
}

#[test]
fn nothing_found_is_not_said_of_nothing() {
    let workshop = Workshop::new();
    workshop.write("empty.std", "");
    for arguments in [&["predict", "empty.std"][..], &["predict", "--raw", "--method", "hb", "empty.std"]] {
        let (status, text) = said(&workshop.foretell(arguments).output().expect("it runs"));
        assert_eq!(status, Some(2), "{text}");
        assert!(text.contains("error: the trace has no events"), "{text}");
    }
}
