//! Random tiny programs.

use crate::machine::{Instruction, Program};

/// Which instructions there are.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    pub(crate) kinds: &'static [Kind],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Load,
    Store,
    StoreFrom,
    Add,
    CompareExchange,
    Section,
    TrySection,
    SharedSection,
    Post,
    Take,
    Branch,
}

pub(crate) const MEMORY: Style = Style {
    kinds: &[
        Kind::Load,
        Kind::Load,
        Kind::Store,
        Kind::StoreFrom,
        Kind::Add,
        Kind::CompareExchange,
        Kind::Branch,
    ],
};
pub(crate) const LOCKS: Style = Style {
    kinds: &[
        Kind::Section,
        Kind::Section,
        Kind::TrySection,
        Kind::SharedSection,
        Kind::Load,
        Kind::StoreFrom,
    ],
};
pub(crate) const ALL: Style = Style {
    kinds: &[
        Kind::Load,
        Kind::Store,
        Kind::StoreFrom,
        Kind::Add,
        Kind::CompareExchange,
        Kind::Section,
        Kind::TrySection,
        Kind::SharedSection,
        Kind::Post,
        Kind::Take,
        Kind::Branch,
    ],
};

struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound
    }
}

/// The program with this number.
pub(crate) fn program(seed: u64, style: &Style) -> Program {
    let mut dice = Dice(seed.wrapping_add(17).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let threads = 2 + dice.below(2);
    let size = if threads == 2 { 5 } else { 3 };
    let scripts = (0..=threads).map(|thread| {
        // The first thread has little to do besides.
        let length = if thread == 0 { dice.below(2) } else { 1 + dice.below(size) };
        script(&mut dice, length, style)
    });
    Program { threads: scripts.collect() }
}

fn script(dice: &mut Dice, length: usize, style: &Style) -> Vec<Instruction> {
    let mut script = Vec::new();
    while script.len() < length {
        let (variable, register) = (dice.below(2), dice.below(2));
        let kind = style.kinds[dice.below(style.kinds.len())];
        match kind {
            Kind::Load => script.push(Instruction::Load { variable, register }),
            Kind::Store => script.push(Instruction::Store { variable, value: 1 + dice.below(2) as i64 }),
            Kind::StoreFrom => script.push(Instruction::StoreFrom { variable, register, plus: 1 }),
            Kind::Add => script.push(Instruction::Add { variable, register }),
            Kind::CompareExchange => script.push(Instruction::CompareExchange {
                variable,
                expected: dice.below(2) as i64,
                new: 1 + dice.below(2) as i64,
                register,
            }),
            Kind::Section => {
                let lock = dice.below(2);
                script.push(Instruction::Lock(lock));
                script.extend(nested(dice, lock));
                script.push(Instruction::Unlock(lock));
            }
            Kind::TrySection => {
                let lock = dice.below(2);
                script.push(Instruction::TryLock { lock, register });
                script.push(Instruction::SkipUnless { register, value: 1, skipped: 2 });
                script.push(Instruction::StoreFrom { variable, register, plus: 1 });
                script.push(Instruction::Unlock(lock));
            }
            Kind::SharedSection => {
                script.push(Instruction::LockShared(2));
                script.push(Instruction::Load { variable, register });
                script.push(Instruction::UnlockShared(2));
                script.push(Instruction::Lock(2));
                script.push(Instruction::Unlock(2));
            }
            Kind::Post => script.push(Instruction::Post(0)),
            Kind::Take => script.push(Instruction::Take(0)),
            Kind::Branch => {
                script.push(Instruction::Load { variable, register });
                script.push(Instruction::SkipUnless { register, value: dice.below(2) as i64, skipped: 1 });
                script.push(Instruction::Store { variable: 1 - variable, value: 2 });
            }
        }
    }
    script
}

/// What is in a critical section: an access, or another lock, so that there are deadlocks.
fn nested(dice: &mut Dice, lock: usize) -> Vec<Instruction> {
    match dice.below(3) {
        0 => vec![Instruction::Lock(1 - lock), Instruction::Unlock(1 - lock)],
        1 => vec![Instruction::Load { variable: 0, register: 0 }],
        _ => vec![Instruction::Store { variable: 0, value: 1 }],
    }
}
