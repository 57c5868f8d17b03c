//! What programs do less often: other ways to wait, files that carry data between threads, what they say of themselves.

use std::fs;

use crate::support::{
    Recorded, Workshop, assert_in_order, count, each, each_toolchain, events, succeeded, toolchains,
};

/// What `predict` finds: each race as its two lines.
fn races(workshop: &Workshop) -> Vec<String> {
    let output = workshop.foretell(&["predict", "--only", "race", "--json", "foretell.ftr"]).output();
    let output = output.expect("it runs");
    let said: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let findings = said["findings"].as_array().expect("it has findings");
    findings.iter().map(|finding| finding["object"].as_str().unwrap_or_default().to_owned()).collect()
}

#[track_caller]
fn says(recorded: &Recorded, expected: &str) {
    assert_eq!(recorded.stdout(), expected);
}

#[test]
fn what_a_program_says_of_its_synchronisation_is_believed() {
    each("annotations.c", |workshop, recorded| {
        says(recorded, "1\n");
        assert_eq!(races(workshop), ["counted"]);
        assert_eq!(
            (count(&recorded.trace, "acq(own_lock)"), count(&recorded.trace, "rel(own_lock)")),
            (2, 2)
        );
        // What the lock does inside is not seen, nor is a write that is not to be seen.
        assert_eq!((count(&recorded.trace, "rmw(own_lock)"), count(&recorded.trace, "w(ignored)")), (0, 0));
        assert_in_order(
            &recorded.trace,
            &["T1|w(published)", "T1|aw(order at token)", "main|ar(order at token)"],
        );
    });
}

#[test]
fn data_that_comes_through_a_file_comes_after_what_was_done_before() {
    each("files.c", |workshop, recorded| {
        says(recorded, "4 1 bc\n");
        let mut races = races(workshop);
        races.sort();
        // What is given to the kernel is read.
        assert_eq!(races, ["racy", "sent[0]"]);
        assert_in_order(
            &recorded.trace,
            &["T1|w(through_pipe)", "T1|aw(pipe)", "main|ar(pipe)", "main|r(through_pipe)"],
        );
    });
}

#[test]
fn every_way_to_wait() {
    each("waiting.c", |workshop, recorded| {
        says(recorded, "12 2\n");
        assert_eq!(races(workshop), [""; 0]);
        assert_eq!((count(&recorded.trace, "T1|post("), count(&recorded.trace, "main|take(")), (2, 2));
        assert_eq!((count(&recorded.trace, "acq(spin)"), count(&recorded.trace, "rel(spin)")), (3, 3));
        assert_eq!(count(&recorded.trace, "join("), 2);
    });
}

#[test]
fn c11_threads() {
    each("c11.c", |workshop, recorded| {
        says(recorded, "2 1 42 1 1\n");
        assert_eq!(races(workshop), [""; 0]);
        assert_in_order(&recorded.trace, &["main|fork(T1)", "T1|acq(lock)", "T1|rel(lock)", "main|join(T1)"]);
    });
}

#[test]
fn initialisation_that_throws_is_tried_again() {
    each("once.cc", |workshop, recorded| {
        says(recorded, "2 42 14\n");
        assert_eq!(races(workshop), [""; 0]);
    });
}

#[test]
fn processes_that_are_started() {
    each("spawn.c", |_, recorded| says(recorded, "2 3 said\n"));
}

#[test]
fn memory_that_is_mapped_again_is_another_and_freed_memory_is_the_same() {
    each("mappings.c", |workshop, recorded| {
        says(recorded, "1\n");
        assert_eq!(races(workshop), [""; 0]);
        let predict = workshop.foretell(&["predict", "--only", "order", "--json", "foretell.ftr"]).output();
        let said = String::from_utf8_lossy(&predict.expect("it runs").stdout).into_owned();
        assert!(said.contains("mappings.c:37") && said.contains("mappings.c:22"), "{said}");
    });
}

#[test]
fn a_race_on_a_part_of_what_is_accessed_at_once_is_confirmed() {
    each("halves.c", |workshop, _| {
        let replay = workshop.foretell(&["replay", "foretell.ftr", "race-1", "--times", "2"]).output();
        let said = String::from_utf8_lossy(&replay.expect("it runs").stdout).into_owned();
        assert!(said.contains("confirmed"), "{said}");
    });
}

#[test]
fn what_was_done_before_a_handler_was_installed_or_a_signal_sent_comes_first() {
    each("signals.c", |workshop, recorded| {
        says(recorded, "2 2 2\n");
        assert_eq!(races(workshop), ["racy"]);
        // When the signal arrives cannot be arranged, but the rest can.
        let replay = workshop.foretell(&["replay", "foretell.ftr", "race-1"]).output();
        let said = String::from_utf8_lossy(&replay.expect("it runs").stdout).into_owned();
        assert!(said.contains("confirmed"), "{said}");
    });
}

/// A thread that a timer starts is no child of any thread; and who waits for it is not deadlocked.
#[test]
fn who_is_told_that_something_has_arrived_comes_after_who_sent_it() {
    each("readiness.c", |workshop, recorded| {
        assert_eq!(recorded.stdout(), "2 2\n");
        for seed in ["1", "2", "5"] {
            workshop.record(&["--seed", seed]);
            succeeded(&mut workshop.foretell(&["predict", "foretell.ftr", "--only", "race"]));
        }
    });
}

/// Each event counter is something of its own, however many epolls are between it and who waits.
#[test]
fn who_waits_for_one_event_counter_is_not_ordered_after_another() {
    each("eventfds.c", |workshop, recorded| {
        says(recorded, "2 1\n");
        for seed in ["1", "2", "5"] {
            workshop.record(&["--seed", seed]);
            assert_eq!(races(workshop), ["of_second"]);
        }
    });
}

/// A schedule that has the first event of a wait before what ends it cannot be followed.
#[test]
fn the_first_event_of_a_wait_is_that_of_the_file_it_was_for() {
    each("event_loop.c", |_, recorded| {
        says(recorded, "3\n");
        let events = events(&recorded.trace);
        let first = |what: &str| events.iter().position(|event| event.starts_with(what));
        let (counter, epoll) = (first("T1|ar(eventfd "), first("T1|ar(epoll "));
        assert!(counter.is_some() && counter < epoll, "{events:#?}");
    });
}

/// Threads of two functions wait in a library without source, whose calls are not recorded either.
#[test]
fn what_happens_in_a_library_is_shown_at_the_function_of_its_own_thread() {
    let workshop = Workshop::new();
    workshop.write(
        "quiet.c",
        "#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
void enter(void) { pthread_mutex_lock(&lock); }
void leave(void) { pthread_mutex_unlock(&lock); }
",
    );
    workshop.write(
        "loud.c",
        "#include <pthread.h>
void enter(void);
void leave(void);
static int count;
static void *one(void *none) { enter(); count++; leave(); return none; }
static void *other(void *none) { enter(); count--; leave(); return none; }
int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, one, 0);
    pthread_create(&threads[1], 0, other, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return count;
}
",
    );
    succeeded(&mut workshop.other("gcc", &["-O1", "-c", "quiet.c", "-o", "quiet.o"]));
    let build = ["cc", "-O1", "-g", "-pthread", "loud.c", "quiet.o", "-o", "loud"];
    succeeded(&mut workshop.foretell(&build));
    succeeded(&mut workshop.foretell(&["record", "-q", "--", "./loud"]));
    succeeded(&mut workshop.foretell(&["convert", "-q", "foretell.ftr", "text.std"]));
    let text = fs::read_to_string(workshop.path("text.std")).unwrap();
    for expected in ["T1|acq(lock)|loud.c:5", "T2|acq(lock)|loud.c:6"] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn what_was_done_before_a_timer_was_set_comes_before_what_it_does() {
    each("timers.c", |workshop, recorded| {
        says(recorded, "9 8\n");
        assert_eq!(races(workshop), [""; 0]);
    });
}

#[test]
fn a_call_that_blocks_lets_others_run_even_if_they_sleep_meanwhile() {
    each("blocking.c", |workshop, recorded| {
        says(recorded, "7 200 3\n");
        assert_eq!(races(workshop), [""; 0]);
    });
}

#[test]
fn what_newer_c_plus_plus_has_orders_threads() {
    for with in toolchains() {
        let workshop = Workshop::new();
        workshop.compile(with, "modern.cc", &["-std=c++20"]);
        let recorded = workshop.record(&["--seed", "3", "--policy", "pct"]);
        says(&recorded, "2 3 2 1 2 2 4 1 2 3 3\n");
        assert_eq!(races(&workshop), [""; 0]);
    }
}

#[test]
fn children_of_every_kind_end_as_they_should_and_leave_the_log_alone() {
    each("offspring.c", |workshop, recorded| {
        says(recorded, "37\n");
        assert_eq!(count(&recorded.trace, "main|fork("), 1);
        assert_eq!(count(&recorded.trace, "main|join("), 1);
        let children = workshop.record(&["--children", "follow"]);
        says(&children, "37\n");
        // Those with memory of their own have traces of their own.
        for child in 1..=5 {
            let trace = workshop.trace(&format!("foretell-child-{child}.ftr"));
            assert_eq!(trace.symbols().threads.len(), 1, "{child}");
        }
        assert!(!workshop.path("foretell-child-6.ftr").exists());
    });
}

#[test]
fn a_mutex_whose_owner_died_orders_what_the_owner_did() {
    each("robust.c", |workshop, recorded| {
        says(recorded, "1 1\n");
        assert_eq!(races(workshop), [""; 0]);
        assert_in_order(
            &recorded.trace,
            &["T1|acq(tried)", "T1|rel(tried)", "T1|end(T1)", "main|acq(tried)", "main|w(after_try)"],
        );
    });
}

#[test]
fn memory_that_the_c_library_fills_is_written() {
    each("filled.c", |workshop, recorded| {
        says(recorded, "1 2 3 4 5 6.5 seven 8|1 two 3.0|5 line\n");
        let races = races(workshop);
        let parts = |name: &str| races.iter().any(|race| race.starts_with(name));
        for name in [
            "error",
            "printed",
            "calendar_text",
            "calendar",
            "now",
            "copied",
            "catenated",
            "numbers",
            "sorted_text",
            "line",
        ] {
            assert!(parts(name), "{name} in {races:?}");
        }
        assert!(!parts("known_error") && !parts("source"), "{races:?}");
    });
}

/// What the functions look at or write races with a write of another thread, and nothing else does.
#[test]
fn what_is_printed_and_searched_is_read() {
    each("printed.c", |workshop, recorded| {
        let printed = "1 shown constant\n1 2 3 4 5 6 7 8 9 floats\n1 2 3 4 5 6.5 long\nab ab   7 abc\n5\nfour\nwide\n-\nlist 2\n3 checked\n";
        assert!(recorded.stdout().starts_with(printed), "{}", recorded.stdout());
        let races = races(workshop);
        let mut names: Vec<&str> = races.iter().filter_map(|race| race.split('[').next()).collect();
        names.sort();
        let mut expected = [
            "shown",
            "after_floats",
            "after_long",
            "in_list",
            "checked",
            "limited",
            "given",
            "format",
            "into",
            "into_checked",
            "into_sized",
            "made",
            "counted",
            "wide_shown",
            "spanned",
            "other_span",
            "broken",
            "found",
            "ended",
            "whole",
            "tokens",
            "delimiters",
            "more_tokens",
            "last_token",
            "wide_measured",
            "wide_copied",
            "wide_added",
            "random_bytes",
            "transformed",
            "sorted",
        ];
        expected.sort();
        assert_eq!(names, expected);
    });
}

/// The same of functions with several results, of encodings, of what is looked up, listed and matched. What one call returns in memory of the C
/// library, another overwrites.
#[test]
fn what_is_looked_up_is_written() {
    each_toolchain("looked_up.c", |with, workshop, recorded| {
        assert!(recorded.stdout().starts_with("20.2 10.1 "), "{}", recorded.stdout());
        let races = races(workshop);
        let of_the_library = |name: &&str| name.starts_with("block (") || name.starts_with("libc.so");
        let mut names: Vec<&str> = races.iter().map(String::as_str).collect();
        assert!(names.iter().any(of_the_library), "{names:?}");
        names.retain(|name| !of_the_library(name));
        names.iter_mut().for_each(|name| *name = name.split(['[', '.']).next().unwrap_or_default());
        // clang records no access of a `long double`, and drops a write of what the program never reads.
        let with_gcc_only = ["cosine_l", "group", "sine_l", "whole_part_l"];
        names.retain(|name| !with_gcc_only.contains(name) || with.cc == "gcc");
        names.sort();
        names.dedup();
        let mut expected = vec![
            "addresses",
            "converted",
            "cosine",
            "cosine_f",
            "date",
            "entries",
            "exponent",
            "exponent_f",
            "exponent_l",
            "first_name",
            "found_group",
            "found_host",
            "found_user",
            "hints",
            "host",
            "library_version",
            "matched",
            "mount",
            "narrow",
            "narrow_moved",
            "numeric_host",
            "numeric_port",
            "one_character",
            "option",
            "other_process",
            "own_name",
            "parsed",
            "parsed_address",
            "paths",
            "places",
            "quotient",
            "quotient_f",
            "quotient_l",
            "sign",
            "sign_f",
            "sign_l",
            "sine",
            "sine_f",
            "stack_size",
            "to_convert",
            "to_widen",
            "user",
            "user_texts",
            "whole_part",
            "whole_part_f",
            "wide",
            "wide_moved",
            "wide_transformed",
            "words",
        ];
        if with.cc == "gcc" {
            expected.extend(with_gcc_only);
        }
        expected.sort();
        assert_eq!(names, expected);
    });
}

#[test]
fn connections_are_told_apart() {
    each("sockets.c", |workshop, recorded| {
        says(recorded, "2 2 2 0 2\n");
        assert_eq!(races(workshop), ["not_through_pair"]);
    });
}

/// Messages are received after they were sent; what is filled, and what is sent or written to a file, is accessed.
#[test]
fn several_messages_and_parts_at_once() {
    each("vectors.c", |workshop, recorded| {
        says(recorded, "2 1 1 s\n");
        let races = races(workshop);
        for name in ["received[1]", "to_file[1]", "at_offset[0]", "status"] {
            assert!(races.iter().any(|race| race.starts_with(name)), "{name} in {races:?}");
        }
        assert!(
            !races.iter().any(|race| race == "through_messages" || race.starts_with("sent")),
            "{races:?}"
        );
    });
}

/// The test's pipe in the recording, a file in the replay.
#[test]
fn where_the_output_goes_does_not_matter_to_a_replay() {
    each("talks.c", |workshop, _| {
        let replay = workshop.foretell(&["replay", "foretell.ftr", "race-1"]).output();
        let said = String::from_utf8_lossy(&replay.expect("it runs").stdout).into_owned();
        assert!(said.contains("confirmed"), "{said}");
    });
}

#[test]
fn threads_begin_and_end_where_their_code_starts() {
    each("talks.c", |_, recorded| {
        let functions = [("main|begin(main)", 12), ("T1|begin(T1)", 6), ("T1|end(T1)", 6)];
        for (event, line) in functions {
            // The line of the name, or of the brace.
            let expected = [line, line + 1].map(|line| format!("talks.c:{line}"));
            let found = located(recorded, event);
            assert!(expected.contains(&found), "{event} at {found}");
        }
    });
    each("starts.cc", |_, recorded| {
        let begin = located(recorded, "T1|begin(T1)");
        assert!(["starts.cc:6", "starts.cc:7", "starts.cc:8"].contains(&begin.as_str()), "{begin}");
        // Optimised, the code of the other thread is part of the library's function.
        let begin = located(recorded, "T2|begin(T2)");
        assert_eq!(begin, "starts.cc:15");
    });
}

/// The file and line of an event, given without.
fn located(recorded: &Recorded, event: &str) -> String {
    let mut text = Vec::new();
    trace::text::write(&recorded.trace, &mut text).expect("every name can be written");
    let text = String::from_utf8(text).expect("text is UTF-8");
    let line = text.lines().find_map(|line| line.strip_prefix(event)?.strip_prefix('|'));
    let line = line.unwrap_or_else(|| panic!("{event} is not in\n{text}"));
    line.rsplit('/').next().unwrap_or(line).to_owned()
}
