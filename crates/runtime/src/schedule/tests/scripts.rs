//! What simulated threads do.

/// Random numbers for tests: xorshift64*.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) % bound
    }
}

/// One step of a script. Each is one event, or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Work(u32),
    Lock(usize),
    Unlock(usize),
    /// Gives the lock back, waits for the condition, and takes the lock again.
    Wait {
        condition: usize,
        lock: usize,
    },
    NotifyOne(usize),
    NotifyAll(usize),
    Sleep(u64),
    /// A call that blocks in the outside world.
    CallOut,
    Yield,
    Spawn(usize),
    Join(usize),
}

/// One script a thread; the first thread starts the others.
pub(super) type Scripts = Vec<Vec<Op>>;

pub(super) const LOCKS: usize = 3;
pub(super) const CONDITIONS: usize = 2;

/// Random scripts. Locks are taken in any order and conditions waited for in hope, so some of them deadlock.
pub(super) fn random(seed: u64) -> Scripts {
    let mut random = Random::new(seed);
    let threads = 2 + random.below(4) as usize;
    let mut scripts: Scripts = (0..threads).map(|_| script(&mut random)).collect();
    let spawns = (1..threads).map(Op::Spawn);
    let mut joins: Vec<Op> = (1..threads).filter(|_| random.below(3) > 0).map(Op::Join).collect();
    let own = std::mem::take(&mut scripts[0]);
    scripts[0] = spawns.chain(own).collect();
    scripts[0].append(&mut joins);
    scripts
}

fn script(random: &mut Random) -> Vec<Op> {
    let mut ops = Vec::new();
    for _ in 0..1 + random.below(6) {
        let lock = random.below(LOCKS as u64) as usize;
        let condition = random.below(CONDITIONS as u64) as usize;
        match random.below(9) {
            0 | 1 => ops.push(Op::Work(1 + random.below(30) as u32)),
            2 => ops.extend([Op::Lock(lock), Op::Work(1 + random.below(5) as u32), Op::Unlock(lock)]),
            3 => {
                let other = (lock + 1 + random.below(LOCKS as u64 - 1) as usize) % LOCKS;
                ops.extend([Op::Lock(lock), Op::Lock(other), Op::Unlock(other), Op::Unlock(lock)]);
            }
            4 => ops.extend([Op::Lock(lock), Op::Wait { condition, lock }, Op::Unlock(lock)]),
            5 => ops.push(Op::NotifyOne(condition)),
            6 => ops.push(Op::NotifyAll(condition)),
            7 => ops.push(Op::Sleep(random.below(3000))),
            _ => ops.push(if random.below(2) == 0 { Op::CallOut } else { Op::Yield }),
        }
    }
    ops
}
