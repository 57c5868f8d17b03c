//! A replay's files: the [`control`] file holds the instructions to follow, and the [`outcome`] file gets what came of it. The following itself
//! is in [`crate::schedule`].

mod control;
mod outcome;

pub(crate) use control::{Control, Instruction, NOBODY};

#[cfg(test)]
pub(crate) use control::Origin;
use outcome::Line;

use crate::schedule::{Fixed, Reason, Replay, Report, State, WaitsFor};
use crate::settings::{Settings, decimal};
use crate::sys;

/// Called where a debugger is to find the threads at the hold.
#[unsafe(no_mangle)]
#[inline(never)]
pub(crate) extern "C" fn foretell_stopped() {
    core::hint::black_box(());
}

/// Reads what is to be done. Without a control file that makes sense the program runs freely, and the outcome says so.
pub(crate) fn load(settings: &Settings) -> Option<Replay> {
    let Some(control) = Control::load(settings) else {
        Line::new("diverged 0 0 control 0 0").write(settings);
        return None;
    };
    let threads = control.origins.len();
    Some(Replay::new(control, Fixed::new(sys::map_array(threads)?), Fixed::new(sys::map_array(threads)?)))
}

/// Adds a report to the outcome.
pub(crate) fn write(report: &Report, settings: &Settings) {
    match *report {
        Report::Sees { role, position, pending } => Line::new("sees")
            .number(role.into())
            .number(position)
            .number(pending.kind.into())
            .address(pending.address)
            .number(pending.length)
            .address(pending.pc)
            .memory(pending.address, pending.length),
        Report::Nothing { role, position } => Line::new("nothing").number(role.into()).number(position),
        Report::Saw { role, address, length } => Line::new("saw").number(role.into()).memory(address, length),
        Report::Thread { role, state, position, waits_for, pc } => {
            let line = Line::new("thread").number(role.into()).word(state_word(state)).number(position);
            wait(line, waits_for).address(pc)
        }
        Report::Held => Line::new("held"),
        Report::Diverged { instruction, role, reason, position, waits_for } => {
            let line = Line::new("diverged").number(instruction as u64).number(role.into());
            wait(line.word(reason_word(reason)).number(position), waits_for)
        }
        Report::Freed => Line::new("freed"),
    }
    .write(settings);
}

fn wait(line: Line, waits_for: WaitsFor) -> Line {
    match waits_for {
        WaitsFor::Nothing => line.address(0),
        WaitsFor::Address(address) => line.address(address),
        WaitsFor::EndOf(role) => line.word(b"T").number(role.into()),
    }
}

fn state_word(state: State) -> &'static [u8] {
    match state {
        State::Ready => b"ready",
        State::Running => b"running",
        State::Waiting => b"waiting",
        State::Outside => b"outside",
        State::Finished => b"finished",
    }
}

fn reason_word(reason: Reason) -> &'static [u8] {
    match reason {
        Reason::Ended => b"ended",
        Reason::Absent => b"absent",
        Reason::Waits => b"waits",
        Reason::GoesOn => b"goes-on",
        Reason::Outside => b"outside",
    }
}

/// Tells the kernel what a thread is called; debuggers ask it.
pub(crate) fn name_thread(kernel_id: u32, name: &[u8]) {
    let mut digits = [0; 20];
    let kernel_id = decimal(kernel_id.into(), &mut digits);
    let mut path = [0; 64];
    let mut used = 0;
    for part in [b"/proc/self/task/", kernel_id, b"/comm\0"] {
        path[used..used + part.len()].copy_from_slice(part);
        used += part.len();
    }
    let file = sys::open(&path[..used], libc::O_WRONLY);
    if file >= 0 {
        sys::write_all(file, name);
        sys::close(file);
    }
}
