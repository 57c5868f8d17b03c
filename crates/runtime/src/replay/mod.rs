//! Following a schedule: the [`control`] file says which thread runs how far, the scheduler asks here instead of choosing,
//! and the [`outcome`] file tells what came of it.
//!
//! While a schedule is followed exactly one thread may run: the one of the current instruction, with a budget that ends where the
//! instruction does. So nothing but places is looked at on the way; whether the places are what they were in the recording is
//! for the launcher to see, from the log, which a replay writes like any recording.
//! All of this changes under the scheduler's lock, or by the holder of the token while no other thread can ask.

mod control;
mod outcome;

use core::cell::UnsafeCell;
use core::sync::atomic::Ordering;

use control::{Control, Growing, Instruction, NOBODY};
use outcome::Line;

use crate::scheduler::Scheduler;
use crate::settings::{Settings, decimal};
use crate::sys;
use crate::thread::{NEVER, State, Thread};

/// The exit status of a program that was ended because it left the schedule, or because it came to its end.
const ENDED_STATUS: i32 = 98;
/// The longest stretch a thread runs without the scheduler's being asked.
const LONGEST: u64 = 1 << 20;

/// What has become of a thread of the table.
#[derive(Clone, Copy)]
enum Actor {
    NotYet,
    Lives(*mut Thread),
    /// It has ended after so many places.
    Ended(u64),
}

/// Where a thread was last seen before an access.
#[derive(Clone, Copy)]
struct Seen {
    address: u64,
    length: u64,
}

/// Whether there is a schedule to follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Off,
    Following,
    Free,
}

/// What the scheduler is to do.
pub(crate) enum Next {
    /// This thread runs, and no other.
    Run(*mut Thread),
    /// Nobody: the thread whose turn it is is in a call outside.
    Await,
    /// The scheduler chooses.
    Choose,
}

/// The replay of this process.
pub(crate) struct Replay {
    phase: Phase,
    control: Control,
    actors: &'static mut [Actor],
    seen: &'static mut [Seen],
    /// The current instruction.
    at: usize,
}

struct Cell(UnsafeCell<Replay>);

// SAFETY: guarded by the scheduler's lock and the token; see the head of this file.
unsafe impl Sync for Cell {}

static REPLAY: Cell = Cell(UnsafeCell::new(Replay {
    phase: Phase::Off,
    control: Control::NONE,
    actors: &mut [],
    seen: &mut [],
    at: 0,
}));

/// The replay.
///
/// # Safety
/// The caller holds the token or the scheduler's lock, and keeps no other reference.
pub(crate) unsafe fn replay() -> &'static mut Replay {
    &mut *REPLAY.0.get()
}

/// Called where a debugger is to find the threads at the hold.
#[unsafe(no_mangle)]
#[inline(never)]
extern "C" fn foretell_stopped() {
    core::hint::black_box(());
}

impl Replay {
    /// Reads what is to be done. Without a control file that makes sense the program runs freely, and the outcome says so.
    pub(crate) fn load(&mut self, settings: &Settings) {
        let Some(control) = Control::load(settings) else {
            return Line::new("diverged 0 0 control 0 0").write(settings);
        };
        let threads = control.origins.len();
        let (Some(mut actors), Some(mut seen)) = (Growing::with_room(threads), Growing::with_room(threads))
        else {
            return;
        };
        for _ in 0..threads {
            actors.push(Actor::NotYet);
            seen.push(Seen { address: 0, length: 0 });
        }
        self.actors = actors.finish();
        self.seen = seen.finish();
        self.control = control;
        self.phase = Phase::Following;
    }

    /// This process follows no schedule: it is a child of the one that does.
    pub(crate) fn forget(&mut self) {
        self.phase = Phase::Off;
    }

    /// Whether a schedule is being followed.
    #[inline]
    pub(crate) fn is_following(&self) -> bool {
        self.phase == Phase::Following
    }

    /// The program's first thread.
    pub(crate) unsafe fn begun(&mut self, first: *mut Thread) {
        self.take_part(first, NOBODY, 0);
    }

    /// A thread has created another.
    pub(crate) unsafe fn created(&mut self, parent: *mut Thread, child: *mut Thread) {
        (*parent).children += 1;
        if let Some(role) = (*parent).role {
            self.take_part(child, role, (*parent).children);
        }
    }

    unsafe fn take_part(&mut self, thread: *mut Thread, parent: u32, nth: u32) {
        let mut origins = self.control.origins.iter();
        if let Some(role) = origins.position(|origin| origin.parent == parent && origin.nth == nth) {
            (*thread).role = Some(role as u32);
            self.actors[role] = Actor::Lives(thread);
        }
    }

    /// A thread has performed its last event.
    pub(crate) unsafe fn ended(&mut self, thread: *mut Thread) {
        if let Some(role) = (*thread).role
            && let Some(actor) = self.actors.get_mut(role as usize)
        {
            *actor = Actor::Ended((*thread).place());
        }
    }

    /// How many events the thread may perform now; none if that is not ours to say.
    pub(crate) unsafe fn budget(&self, thread: *mut Thread) -> Option<i64> {
        if !self.is_following() {
            return None;
        }
        let until = match self.control.instructions.get(self.at) {
            Some(&Instruction::Run { thread: role, until }) if (*thread).role == Some(role) => until,
            // If it gets that far it has not been held up.
            Some(&Instruction::Block { thread: role, before }) if (*thread).role == Some(role) => {
                before.saturating_add(1)
            }
            _ => 0,
        };
        Some(until.saturating_sub((*thread).place()).min(LONGEST) as i64)
    }

    /// Who runs next. Performs all instructions that need nobody to run.
    ///
    /// # Safety
    /// The scheduler's lock is held.
    pub(crate) unsafe fn next(&mut self, scheduler: &mut Scheduler) -> Next {
        while self.is_following() {
            let Some(&instruction) = self.control.instructions.get(self.at) else {
                Line::new("freed").write(&scheduler.settings);
                self.phase = Phase::Free;
                break;
            };
            let next = match instruction {
                Instruction::Run { thread, until } => self.run(thread, until, scheduler),
                Instruction::Block { thread, before } => self.block(thread, before, scheduler),
                Instruction::See { thread, place } => self.see(thread, place, scheduler),
                Instruction::Saw { thread } => {
                    let Seen { address, length } = self.seen[thread as usize];
                    Line::new("saw").number(thread.into()).memory(address, length).write(&scheduler.settings);
                    None
                }
                Instruction::Held => {
                    self.tell_threads(scheduler);
                    Line::new("held").write(&scheduler.settings);
                    None
                }
                Instruction::Stop => {
                    self.name_threads();
                    // Instructions count as performed before a debugger may end the program.
                    foretell_stopped();
                    None
                }
                Instruction::End => sys::exit_group(ENDED_STATUS),
            };
            match next {
                Some(next) => return next,
                None => self.at += 1,
            }
        }
        Next::Choose
    }

    /// Lets the thread run up to there; none if it has come so far.
    unsafe fn run(&mut self, role: u32, until: u64, scheduler: &mut Scheduler) -> Option<Next> {
        let thread = match self.actor(role) {
            Actor::Lives(thread) => thread,
            Actor::Ended(place) if place >= until => return None,
            Actor::Ended(place) => return Some(self.diverged(role, b"ended", place, scheduler)),
            Actor::NotYet => return Some(self.diverged(role, b"absent", 0, scheduler)),
        };
        let place = (*thread).place();
        if place >= until {
            return None;
        }
        Some(match (*thread).state {
            State::Ready | State::Running => Next::Run(thread),
            // Time passes as the schedule needs it.
            State::Waiting if (*thread).deadline != NEVER => Next::Run(thread),
            State::Waiting => self.diverged(role, b"waits", place, scheduler),
            State::Outside => Next::Await,
            State::Finished => self.diverged(role, b"ended", place, scheduler),
        })
    }

    /// Lets the thread run until it waits for good; none if it does.
    unsafe fn block(&mut self, role: u32, before: u64, scheduler: &mut Scheduler) -> Option<Next> {
        if let Actor::Lives(thread) = self.actor(role) {
            let place = (*thread).place();
            let waits = (*thread).state == State::Waiting && (*thread).deadline == NEVER;
            // What waits for a futex has tried before.
            let tried = place == before.saturating_add(1) && (*thread).key & 1 != 0;
            if waits && (place <= before || tried) {
                return None;
            }
            if place > before {
                return Some(self.diverged(role, b"goes-on", place, scheduler));
            }
        }
        self.run(role, before.saturating_add(1), scheduler)
    }

    /// Tells what the thread is about to do. A thread that is somewhere else at this place goes on, and past it.
    unsafe fn see(&mut self, role: u32, place: u64, scheduler: &mut Scheduler) -> Option<Next> {
        let thread = match self.actor(role) {
            Actor::Lives(thread) if (*thread).state == State::Outside => return Some(Next::Await),
            Actor::Lives(thread) if (*thread).place() == place && (*thread).stands_before.place == place => {
                thread
            }
            // It has come so far, but not yet to the access: it may sleep on the way.
            Actor::Lives(thread)
                if (*thread).place() == place
                    && ((*thread).state != State::Waiting || (*thread).deadline != NEVER) =>
            {
                return Some(Next::Run(thread));
            }
            _ => {
                Line::new("nothing").number(role.into()).number(place).write(&scheduler.settings);
                return None;
            }
        };
        let pending = &(*thread).stands_before;
        self.seen[role as usize] = Seen { address: pending.address, length: pending.length };
        Line::new("sees")
            .number(role.into())
            .number(place)
            .number(pending.kind.into())
            .address(pending.address)
            .number(pending.length)
            .address(pending.pc)
            .memory(pending.address, pending.length)
            .write(&scheduler.settings);
        None
    }

    fn actor(&self, role: u32) -> Actor {
        self.actors.get(role as usize).copied().unwrap_or(Actor::NotYet)
    }

    unsafe fn tell_threads(&self, scheduler: &Scheduler) {
        for (role, &actor) in self.actors.iter().enumerate() {
            if let Actor::Lives(thread) = actor {
                let line = Line::new("thread").number(role as u64).word(word_of((*thread).state));
                let line = self.key(line.number((*thread).place()), thread);
                let known = (*thread).stands_before.place == (*thread).place();
                let pc = if known { (*thread).stands_before.pc } else { 0 };
                line.address(pc).write(&scheduler.settings);
            }
        }
    }

    /// Tells the kernel what the threads are called; debuggers ask it.
    unsafe fn name_threads(&self) {
        for &(role, name) in self.control.names {
            let Actor::Lives(thread) = self.actor(role) else { continue };
            let mut digits = [0; 20];
            let kernel_id = decimal((*thread).kernel_id.load(Ordering::Relaxed).into(), &mut digits);
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
    }

    /// What a thread waits for.
    unsafe fn key(&self, line: Line, thread: *mut Thread) -> Line {
        let key = if (*thread).state == State::Waiting { (*thread).key } else { 0 };
        let joined = self
            .actors
            .iter()
            .position(|actor| matches!(actor, Actor::Lives(other) if key != 0 && *other as u64 == key));
        match joined {
            Some(role) => line.word(b"T").number(role as u64),
            None => line.address(key),
        }
    }

    /// The current instruction cannot be performed.
    unsafe fn diverged(&mut self, role: u32, reason: &[u8], place: u64, scheduler: &mut Scheduler) -> Next {
        self.phase = Phase::Free;
        self.tell_threads(scheduler);
        let line = Line::new("diverged").number(self.at as u64).number(role.into());
        let line = line.word(reason).number(place);
        match self.actor(role) {
            Actor::Lives(thread) => self.key(line, thread),
            _ => line.address(0),
        }
        .write(&scheduler.settings);
        if self.control.stops_at_divergence {
            sys::exit_group(ENDED_STATUS);
        }
        Next::Choose
    }

    /// The thread whose turn it is has been outside for so long that it will not come back.
    ///
    /// # Safety
    /// The scheduler's lock is held.
    pub(crate) unsafe fn give_up(&mut self, scheduler: &mut Scheduler) {
        let instruction = self.control.instructions.get(self.at);
        if let (true, Some(instruction)) = (self.is_following(), instruction) {
            let role = match *instruction {
                Instruction::See { thread, .. } => thread,
                instruction => instruction.runs().unwrap_or(0),
            };
            self.diverged(role, b"outside", 0, scheduler);
        }
    }

    /// Which of these waiters a signal wakes: the one the schedule wants first.
    pub(crate) unsafe fn waiter(&self, waiters: &[*mut Thread]) -> Option<usize> {
        if !self.is_following() {
            return None;
        }
        let rest = self.control.instructions.get(self.at..)?;
        rest.iter()
            .filter_map(|instruction| instruction.runs())
            .find_map(|role| waiters.iter().position(|&waiter| (*waiter).role == Some(role)))
    }
}

fn word_of(state: State) -> &'static [u8] {
    match state {
        State::Ready => b"ready",
        State::Running => b"running",
        State::Waiting => b"waiting",
        State::Outside => b"outside",
        State::Finished => b"finished",
    }
}
