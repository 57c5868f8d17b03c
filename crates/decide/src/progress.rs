//! How far each chain has come in a guess, and which chain waits for which. A chain that cannot continue
//! registers the event of another chain that it waits for, and is woken when that event has happened, so there
//! is no polling.

use order::Node;

use crate::state::{NONE, State};

/// How far a guess has come.
pub(crate) struct Progress {
    done: Vec<u32>,
    /// For each chain and other chain, how many steps of what it must wait for it has passed.
    cursors: Vec<u32>,
    /// The position of each chain up to which it has nothing more to wait for.
    horizon: Vec<u32>,
    /// For each chain, who waits for it to have done a certain number of its events.
    waiting: Vec<Vec<(u32, u32)>>,
    woken: Vec<u32>,
}

impl Progress {
    pub(crate) fn new(state: &State<'_>) -> Self {
        let mut progress = Progress {
            done: Vec::new(),
            cursors: Vec::new(),
            horizon: Vec::new(),
            waiting: Vec::new(),
            woken: Vec::new(),
        };
        progress.resume(state);
        progress
    }

    /// Goes on with a state that needs more, and knows more, than before.
    pub(crate) fn resume(&mut self, state: &State<'_>) {
        let chains = state.chains.len();
        self.done.extend(state.chains[self.done.len()..].iter().map(|chain| chain.floor));
        self.cursors.clear();
        self.cursors.resize(chains * chains, 0);
        self.horizon.clear();
        self.horizon.resize(chains, 0);
        self.waiting.clear();
        self.waiting.resize(chains, Vec::new());
    }

    /// The position of a chain's next event.
    #[inline]
    pub(crate) fn done(&self, chain: u32) -> u32 {
        self.done[chain as usize]
    }

    /// Whether something that is known to come before has not happened. The chain then waits for it.
    #[inline]
    pub(crate) fn must_wait(&mut self, state: &State<'_>, node: Node) -> bool {
        node.position >= self.horizon[node.chain as usize] && self.must_wait_here(state, node)
    }

    fn must_wait_here(&mut self, state: &State<'_>, node: Node) -> bool {
        let chains = self.done.len();
        let cursors = &mut self.cursors[node.chain as usize * chains..][..chains];
        let mut horizon = NONE;
        for (about, cursor) in cursors.iter_mut().enumerate() {
            let steps = state.order.steps(node.chain, about as u32);
            while steps.get(*cursor as usize).is_some_and(|step| step.position <= node.position) {
                *cursor += 1;
            }
            if let Some(passed) = cursor.checked_sub(1) {
                let count = steps[passed as usize].count;
                if count > self.done[about] {
                    self.waiting[about].push((count, node.chain));
                    return true;
                }
            }
            horizon = horizon.min(steps.get(*cursor as usize).map_or(NONE, |step| step.position));
        }
        self.horizon[node.chain as usize] = horizon;
        false
    }

    /// A chain waits for an event of another.
    pub(crate) fn wait(&mut self, chain: u32, event: Node) {
        self.waiting[event.chain as usize].push((event.position + 1, chain));
    }

    /// The next event of a chain has happened. Who waited for it is woken.
    #[inline]
    pub(crate) fn advance(&mut self, chain: u32) {
        self.done[chain as usize] += 1;
        let done = self.done[chain as usize];
        let waiting = &mut self.waiting[chain as usize];
        if !waiting.is_empty() {
            let woken = &mut self.woken;
            waiting.retain(|&(count, waiter)| {
                if count <= done {
                    woken.push(waiter);
                }
                count > done
            });
        }
    }

    /// A chain that was woken and may go on.
    #[inline]
    pub(crate) fn next_woken(&mut self) -> Option<u32> {
        self.woken.pop()
    }
}
