//! Whose turn it is.

use super::{GaveUp, NEVER, Schedule, Slot, State, World};
use crate::schedule::replay::Next;

/// What a thread finds when it comes back from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Return {
    /// It was not outside.
    WasHere,
    /// Somebody has the token: it waits for its turn.
    Waits,
    /// Nobody had the token; now this thread has, if any.
    Next(Option<Slot>),
}

impl Schedule {
    /// Whether the thread could run now.
    pub(super) fn can_run(&self, thread: Slot) -> bool {
        let entry = &self.entries[thread];
        match entry.state {
            State::Ready | State::Running => true,
            State::Waiting => entry.deadline <= self.now,
            State::Outside | State::Finished => false,
        }
    }

    /// Whether another thread than this one could run.
    pub(crate) fn others_can_run(&self, thread: Slot) -> bool {
        self.order.iter().any(|&other| other != thread && self.can_run(other))
    }

    /// Who runs next, made running; none if nobody can.
    pub(super) fn pick(
        &mut self,
        current: Option<Slot>,
        gave_up: GaveUp,
        world: &impl World,
    ) -> Option<Slot> {
        let next = self.replay.next(&self.entries, world);
        self.publish_phase();
        let next = match next {
            Next::Run(thread) => Some(thread),
            Next::Await => None,
            Next::Choose => self.choose(current, gave_up, world),
            Next::GoOn => {
                match current.filter(|&thread| gave_up == GaveUp::Quantum && self.can_run(thread)) {
                    Some(thread) => Some(thread),
                    None => self.choose(current, gave_up, world),
                }
            }
        };
        match next {
            Some(thread) => self.run(thread, world),
            None => {
                self.running = None;
                self.begin_pause(world);
            }
        }
        next
    }

    /// Who runs next by the policy; none if nobody can.
    fn choose(&mut self, current: Option<Slot>, gave_up: GaveUp, world: &impl World) -> Option<Slot> {
        self.candidates.clear();
        for index in 0..self.order.len() {
            let thread = self.order[index];
            if self.can_run(thread) {
                self.candidates.push(thread);
            }
        }
        match self.candidates[..] {
            [] => self.earliest_sleeper(world),
            [only] => Some(only),
            ref candidates => {
                Some(candidates[self.chooser.choose(current, candidates, &mut self.entries, gave_up, world)])
            }
        }
    }

    /// Gives the token to this thread.
    pub(super) fn run(&mut self, thread: Slot, world: &impl World) {
        self.end_pause(world);
        if self.entries[thread].state == State::Waiting {
            // A replay may have it go on before its time.
            if self.entries[thread].sleeps_out.is_none() {
                self.pass_until(self.entries[thread].deadline);
            }
            self.entries[thread].timed_out = true;
            self.end_wait(thread);
        }
        self.entries[thread].state = State::Running;
        self.running = Some(thread);
        self.give_budget(thread, world);
        world.switch_to(self.entries[thread].number);
    }

    /// The thread gives the token up: because it must, if its state says so, or because its turn is over. Who has it next, and whether
    /// the thread waits for another turn.
    pub(crate) fn give_up(
        &mut self,
        thread: Slot,
        gave_up: GaveUp,
        world: &impl World,
    ) -> (Option<Slot>, bool) {
        self.ticket += 1;
        self.entries[thread].since = self.ticket;
        let next = self.pick(Some(thread), gave_up, world);
        if next == Some(thread) {
            return (next, true);
        }
        let state = &mut self.entries[thread].state;
        if *state == State::Running {
            *state = State::Ready;
        }
        let comes_back = matches!(state, State::Ready | State::Waiting);
        if next.is_none() {
            self.look_for_deadlock(Some(thread), world);
        }
        (next, comes_back)
    }

    /// Nobody can run. If no thread will come back from outside and no signal can change that, it is a deadlock.
    fn look_for_deadlock(&self, found_by: Option<Slot>, world: &impl World) {
        if self.outside == 0 && self.someone_waits() && !world.signals_may_arrive() {
            world.deadlock(found_by);
        }
    }

    /// Whether the thread's turn goes on although its budget is used up: there is nobody else.
    pub(crate) fn goes_on(&mut self, thread: Slot, world: &impl World) -> bool {
        let alone = self.order.len() == 1 && !self.replay.is_following();
        if alone {
            self.give_budget(thread, world);
        }
        alone
    }

    /// Whether a new thread runs before the one that made it goes on.
    pub(crate) fn begins_at_once(&mut self, new: Slot, maker: Slot) -> bool {
        !self.replay.is_following() && self.chooser.begins_at_once(&self.entries[new], &self.entries[maker])
    }

    /// The thread, which has the token, goes on without it: in a call that ends at this time at the latest.
    pub(crate) fn leave(&mut self, thread: Slot, end: u64) {
        self.entries[thread].state = State::Outside;
        self.entries[thread].deadline = end;
        self.outside += 1;
    }

    /// A thread that ran without the token wants it.
    pub(crate) fn come_back(&mut self, thread: Slot, world: &impl World) -> Return {
        if self.entries[thread].state != State::Outside {
            return Return::WasHere;
        }
        // It counts until the pause is over.
        self.end_pause(world);
        self.outside -= 1;
        self.make_ready(thread);
        self.entries[thread].deadline = NEVER;
        if self.running.is_some() {
            return Return::Waits;
        }
        if self.replay.is_following() {
            return Return::Next(self.pick(Some(thread), GaveUp::Willingly, world));
        }
        self.run(thread, world);
        Return::Next(Some(thread))
    }

    /// Takes the token from its holder, which is stuck outside our sight. Who has it next.
    pub(crate) fn take_away(&mut self, holder: Slot, world: &impl World) -> Option<Slot> {
        self.leave(holder, NEVER);
        self.pick(Some(holder), GaveUp::Willingly, world)
    }

    /// Gives the token to anyone who can run, if nobody has it. Who has it next.
    pub(crate) fn pick_for_nobody(&mut self, world: &impl World) -> Option<Slot> {
        self.catch_up(world);
        if self.replay.is_following() || self.order.iter().any(|&thread| self.can_run(thread)) {
            self.pick(None, GaveUp::Willingly, world)
        } else {
            None
        }
    }

    /// The thread whose turn it is by a replay's instructions will not come back from outside: they are followed no longer.
    pub(crate) fn abandon_replay(&mut self, world: &impl World) {
        self.replay.abandon(&self.entries, world);
        self.publish_phase();
    }

    /// The thread whose turn it is by a replay's instructions.
    pub(crate) fn awaited(&self) -> Option<Slot> {
        self.replay.awaited()
    }

    /// Whether this process is a replay, also after its instructions.
    pub(crate) fn is_replaying(&self) -> bool {
        self.replay.is_on()
    }

    /// The number of the file that the thread opens, if it was given one in the recorded run.
    pub(crate) fn next_descriptor(&mut self, thread: Slot) -> Option<u32> {
        self.replay.next_descriptor(thread, &mut self.entries)
    }

    /// This process follows no instructions: it is a child of the one that does.
    pub(crate) fn forget_replay(&mut self) {
        self.replay.forget();
        self.publish_phase();
    }

    /// The thread, which has the token, has performed its last event; it is forgotten at once if nobody will join it. Who has the
    /// token next.
    pub(crate) fn finish(&mut self, thread: Slot, is_detached: bool, world: &impl World) -> Option<Slot> {
        self.replay.ended(thread, &self.entries, world);
        self.entries[thread].state = State::Finished;
        if is_detached {
            self.forget(thread);
        }
        let next = self.pick(Some(thread), GaveUp::Willingly, world);
        if next.is_none() {
            self.look_for_deadlock(None, world);
        }
        next
    }
}
