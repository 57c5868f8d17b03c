//! A program for each primitive, with every compiler there is, unoptimised and optimised.

use trace::Kind;

use crate::support::{self, Recorded, assert_in_order, count};

/// Compiles and records a program with each toolchain, and looks at the result of it.
fn each(program: &str, look: impl Fn(&Recorded)) {
    support::each(program, |_, recorded| look(recorded));
}

#[test]
fn mutexes() {
    each("mutexes.c", |recorded| {
        let trace = &recorded.trace;
        assert_eq!(recorded.stdout(), "6\n");
        assert_eq!(count(trace, "acq(plain)"), 4);
        assert_eq!(count(trace, "rel(plain)"), 4);
        assert_eq!(count(trace, "acq(recursive)"), 4);
        assert_eq!(count(trace, "rel(recursive)"), 4);
        // A try that failed took nothing.
        assert_eq!(count(trace, "acq(tried)"), 1);
        assert_in_order(trace, &["main|begin(main)", "main|fork(T1)", "main|join(T1)"]);
        assert_in_order(
            trace,
            &["T1|begin(T1)", "T1|acq(plain)", "T1|r(counter)", "T1|w(counter)", "T1|rel(plain)"],
        );
    });
}

#[test]
fn rwlocks_and_spin_locks() {
    each("rwlocks.c", |recorded| {
        let trace = &recorded.trace;
        assert_eq!(count(trace, "T1|racq(lock)"), 1);
        assert_eq!(count(trace, "T1|rrel(lock)"), 1);
        assert_in_order(trace, &["main|acq(lock)", "main|w(shared)", "main|rel(lock)"]);
        assert_eq!(count(trace, "acq(spin)"), 2);
        assert_eq!(count(trace, "rel(spin)"), 2);
    });
}

#[test]
fn condition_variables() {
    each("conditions.c", |recorded| {
        let trace = &recorded.trace;
        assert_in_order(
            trace,
            &["T1|acq(lock)", "T1|rel(lock)", "main|signal(ready)", "T1|wait(ready)", "T1|acq(lock)"],
        );
        assert!(count(trace, "main|broadcast(everyone)") == 1);
        // The one whose time ran out was woken by nobody.
        assert_eq!(count(trace, "wait(never)"), 0);
    });
}

#[test]
fn barriers_and_semaphores() {
    each("barriers.c", |recorded| {
        let trace = &recorded.trace;
        assert_eq!(count(trace, "benter(barrier)"), 6);
        assert_eq!(count(trace, "bexit(barrier)"), 6);
        assert_eq!(count(trace, "post(semaphore)"), 2);
        assert_eq!(count(trace, "take(semaphore)"), 3);
        let semaphore = trace.symbols().semaphores.find("semaphore").expect("it is named");
        assert_eq!(trace.declared_permits(trace::SemaphoreId::new(semaphore)), Some(1));
    });
}

#[test]
fn atomics_and_fences() {
    each("atomics.c", |recorded| {
        let trace = &recorded.trace;
        assert_in_order(trace, &["main|aw.release(flag)", "main|rmw(number)", "main|fence()"]);
        assert!(count(trace, "T1|ar(flag)") >= 1);
        assert_eq!(count(trace, "T1|rmw(number)"), 2);
        assert_eq!(count(trace, "T1|w(plain)"), 1);
        // An exchange that fails reads, with an order of its own.
        assert_in_order(trace, &["T1|ar.relaxed(choice)", "T1|rmw.acq_rel(choice)", "T1|fence.release()"]);
        assert_eq!(count(trace, "main|ar.acquire(choice)"), 1);
    });
}

/// The orders of an exchange of sixteen bytes come in registers and on the stack.
#[test]
fn exchanges_of_two_registers() {
    each("wide_atomics.c", |recorded| {
        let atomic = |event: &String| event.starts_with("T1|ar") || event.starts_with("T1|rmw");
        let events: Vec<String> = support::events(&recorded.trace).into_iter().filter(atomic).collect();
        let orders = ["ar.relaxed", "ar.acquire", "ar.relaxed", "ar.acquire", "rmw.release", "rmw.relaxed"];
        assert_eq!(events, orders.map(|order| format!("T1|{order}(pair)")));
    });
}

#[test]
fn memory() {
    each("memory.c", |recorded| {
        let trace = &recorded.trace;
        // Of all the blocks only the one that both threads touch is kept.
        let blocks: Vec<&str> = trace.symbols().blocks.iter().collect();
        assert_eq!(blocks.len(), 1, "{blocks:?}");
        assert!(blocks[0].starts_with("pair (") && blocks[0].ends_with("memory.c:33)"), "{blocks:?}");
        let variables: Vec<&str> = trace.symbols().variables.iter().collect();
        assert!(variables.contains(&&*format!("{}->b", blocks[0])), "{variables:?}");
        assert_eq!((count(trace, "alloc("), count(trace, "T1|free(")), (1, 1));
        // A memcpy and a memset are accesses to all they touch.
        assert!(count(trace, "T1|w(copied") >= 1 && count(trace, "main|r(copied") >= 1);
        assert!(count(trace, "private") == 0 && count(trace, "constant") == 0);
        assert!(variables.contains(&"main::local"), "{variables:?}");
    });
}

#[test]
fn marks_regions_and_names() {
    each("marks.c", |recorded| {
        let trace = &recorded.trace;
        assert_in_order(trace, &["worker|abegin(transfer)", "worker|mark(open,1)", "worker|aend(transfer)"]);
        assert_eq!(count(trace, "mark(open,-1)"), 1);
    });
}

#[test]
fn once_orders_what_it_did() {
    each("once.c", |recorded| {
        let trace = &recorded.trace;
        assert_eq!(recorded.stdout(), "42 42\n");
        assert_eq!(trace.events().filter(|(_, _, op)| op.kind() == Kind::Fork).count(), 2);
    });
}

#[test]
fn cpp() {
    each("threads.cc", |recorded| {
        let trace = &recorded.trace;
        assert_eq!(recorded.stdout(), "4 1\n");
        let locks: Vec<&str> = trace.symbols().locks.iter().collect();
        assert!(locks.contains(&"bank::lock"), "{locks:?}");
        assert!(count(trace, "w(bank::balance)") >= 4);
        // Locations are the user's lines, not those of the library's headers.
        let accesses =
            trace.events().filter(|(_, _, op)| op.access().is_some() || op.kind() == Kind::Acquire);
        for (event, _, _) in accesses {
            let location = trace.symbols().location(trace.location(event));
            assert!(location.contains("threads.cc:"), "{location}");
        }
    });
}

#[test]
fn parts_of_globals_have_their_names() {
    each("parts.cc", |recorded| {
        let symbols = recorded.trace.symbols();
        let (variables, locks): (Vec<&str>, Vec<&str>) =
            (symbols.variables.iter().collect(), symbols.locks.iter().collect());
        for name in
            ["accounts[1].id", "accounts[2].at[1].y", "grid[1][2]", "shop::door.y", "accounts[0].visits"]
        {
            assert!(variables.contains(&name), "{name} is not among {variables:?}");
        }
        // Only one of a union's members has something that starts there.
        assert!(variables.contains(&"either.half.high"), "{variables:?}");
        assert!(locks.contains(&"accounts[1].lock") && locks.contains(&"accounts[2].other"), "{locks:?}");
    });
}

#[test]
fn memory_is_named_as_in_the_source() {
    support::each_toolchain("names.c", |toolchain, _, recorded| {
        let symbols = recorded.trace.symbols();
        let variables: Vec<&str> = symbols.variables.iter().collect();
        let locks: Vec<&str> = symbols.locks.iter().collect();
        for name in [
            "main::total",
            "main::first.id",
            "main::first.out",
            "conn (names.c:48)->io.state",
            "conn (names.c:48)->ring[2]",
            "conn (names.c:48)->next",
            "conn (names.c:49)->fd",
            "block (names.c:55)+5",
        ] {
            // clang does not instrument writes to a local that nobody else knows yet. So nobody writes this one, and what is only read
            // is left out of traces.
            let is_hidden = name == "main::first.out" && toolchain.cc == "clang";
            assert!(variables.contains(&name) || is_hidden, "{name} is not among {variables:?}");
        }
        // The call is at one of the lines of its statement.
        let elements = ["int (names.c:52)[3]", "int (names.c:53)[3]"];
        assert!(variables.iter().any(|known| elements.contains(known)), "{variables:?}");
        assert_eq!(locks, ["conn (names.c:48)->lock"]);
    });
}

#[test]
fn what_libraries_hold_is_named_as_in_the_source() {
    support::each_toolchain("library.cc", |_, _, recorded| {
        let variables: Vec<&str> = recorded.trace.symbols().variables.iter().collect();
        for name in [
            "Account (library.cc:20)[1].balance",
            "tree node of pair<string const, Account> (library.cc:35)->second.balance",
            "pairs[1].balance",
            "shared Account (library.cc:23)->balance",
            "main::counts[1]",
            "Account (library.cc:43)->balance",
        ] {
            assert!(variables.contains(&name), "{name} is not among {variables:?}");
        }
        let trace = &recorded.trace;
        let forks = trace.events().filter(|(_, _, op)| op.kind() == Kind::Fork);
        let lines: Vec<&str> = forks
            .map(|(event, ..)| trace.symbols().location(trace.location(event)))
            .filter_map(|location| location.rsplit(':').next())
            .collect();
        assert_eq!(lines, ["38", "40", "44"]);
    });
}

/// The library's own functions link the nodes of trees and lists.
#[test]
fn whoever_finds_a_node_comes_before_who_removes_it() {
    support::each("containers.cc", |workshop, recorded| {
        assert!(count(&recorded.trace, "w(endpoints._M_header._M_parent)") > 2, "the root changes");
        for seed in ["1", "4", "6", "9"] {
            workshop.record(&["--seed", seed]);
            let predict = ["predict", "foretell.ftr", "--only", "race", "--only", "order"];
            support::succeeded(&mut workshop.foretell(&predict));
        }
    });
}

/// Parts of a large block that a function hands out do not make the block one of them, but are named for what they are used as.
#[test]
fn a_pool_is_not_named_for_its_parts() {
    each("pool.c", |recorded| {
        let variables: Vec<&str> = recorded.trace.symbols().variables.iter().collect();
        for name in ["item (pool.c:20)[+0]->count", "item (pool.c:20)[+1024]->count"] {
            assert!(variables.contains(&name), "{name} is not among {variables:?}");
        }
        assert!(!variables.iter().any(|name| name.contains("->data[")), "{variables:?}");
    });
}

/// `sizeof(conn *)` says that a block holds pointers, and what a pointer leads to on the stack is no variable of who follows it.
#[test]
fn pointers_do_not_lead_names_astray() {
    each("pointers_in_names.c", |recorded| {
        let variables: Vec<&str> = recorded.trace.symbols().variables.iter().collect();
        for name in ["conn * (pointers_in_names.c:37)[3]", "conn (pointers_in_names.c:39)->state"] {
            assert!(variables.contains(&name), "{name} is not among {variables:?}");
        }
        let is_of_add = |name: &&&str| name.starts_with("add::") || name.starts_with("local of add");
        assert_eq!(variables.iter().find(is_of_add), None, "{variables:?}");
    });
}

#[test]
fn stacks_lead_to_main() {
    each("stacks.c", |recorded| {
        let trace = &recorded.trace;
        let notes = trace.notes().expect("a recording has notes");
        let write = trace.events().find(|(_, _, op)| op.kind() == Kind::Write).expect("it writes").0;
        let stack = notes.stack(write).unwrap().expect("it has a stack");
        let functions: Vec<&str> =
            notes.frames_of(stack).filter_map(|frame| frame.split('\t').next()).collect();
        assert_eq!(functions, ["inner", "middle", "main"]);
    });
}
