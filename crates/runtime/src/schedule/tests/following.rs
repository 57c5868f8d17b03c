//! Following instructions: a run that was simulated is repeated exactly, whatever the policy and the seed; and every way to leave the
//! instructions is reported.

use super::scripts::{self, Op, Scripts};
use super::simulation::{Outcome, Simulation};
use wire::{Instruction, MemoryRange, Obstacle, OnDivergence, Origin, Policy, WaitsFor};

use crate::replay::Control;
use crate::schedule::{Chooser, Fixed, Replay, Report};

fn replay(threads: usize, instructions: Vec<Instruction>, on_divergence: OnDivergence) -> Replay {
    let mut origins = vec![Origin { parent: None, nth: 0 }];
    origins.extend((1..threads).map(|nth| Origin { parent: Some(0), nth: nth as u32 }));
    let control = Control {
        instructions: instructions.leak(),
        origins: origins.leak(),
        names: &[],
        descriptors: &[],
        on_divergence,
    };
    Replay::new(
        control,
        Fixed::new(Box::leak(Box::new_uninit_slice(threads))),
        Fixed::new(Box::leak(Box::new_uninit_slice(threads))),
    )
}

fn follow(scripts: Scripts, instructions: Vec<Instruction>, policy: Policy) -> (Outcome, Simulation) {
    let replay = replay(scripts.len(), instructions, OnDivergence::Continue);
    let chooser = Chooser::new(policy, 99, 3);
    let mut simulation = Simulation::new(scripts, chooser, |schedule| schedule.replay = replay);
    let outcome = simulation.run();
    (outcome, simulation)
}

fn run(thread: u32, until: u64) -> Instruction {
    Instruction::Run { thread, until }
}

#[test]
fn a_simulated_run_is_repeated() {
    for seed in 0..800 {
        let scripts = scripts::random(seed);
        let chooser = Chooser::new(Policy::Random, seed, 1 + seed % 5);
        let mut recorded = Simulation::new(scripts.clone(), chooser, |_| ());
        let outcome = recorded.run();
        let instructions = recorded.turns.iter().map(|&(thread, until)| run(thread as u32, until)).collect();
        let (replayed_outcome, replayed) = follow(scripts, instructions, Policy::RoundRobin);
        let reports = replayed.stage.reports.borrow();
        assert!(
            !reports.iter().any(|report| matches!(report, Report::Diverged { .. })),
            "{seed}: {reports:?}"
        );
        assert_eq!(replayed.events, recorded.events, "seed {seed}");
        assert_eq!(replayed_outcome, outcome, "seed {seed}");
    }
}

/// A debugger goes through a run step by step, and the run stays the same.
#[test]
fn a_run_is_repeated_in_single_steps() {
    for seed in 0..200 {
        let scripts = scripts::random(seed);
        let chooser = Chooser::new(Policy::Random, seed, 1 + seed % 5);
        let mut recorded = Simulation::new(scripts.clone(), chooser, |_| ());
        let outcome = recorded.run();
        let mut instructions = Vec::new();
        let mut reached = vec![0; scripts.len()];
        for &(thread, until) in &recorded.turns {
            for next in reached[thread] + 1..=until {
                instructions.push(Instruction::Stop { step: instructions.len() as u64 / 2 });
                instructions.push(run(thread as u32, next));
            }
            reached[thread] = until.max(reached[thread]);
        }
        let steps = instructions.len() as u64 / 2;
        let replay = replay(scripts.len(), instructions, OnDivergence::Continue);
        let chooser = Chooser::new(Policy::RoundRobin, 99, 3);
        let mut replayed = Simulation::new(scripts, chooser, |schedule| schedule.replay = replay);
        let awaited = steps / 2;
        // The first decision may have been taken already.
        let before = replayed.stage.stops.take();
        replayed.stage.awaited.set(awaited);
        assert_eq!(replayed.run(), outcome, "seed {seed}");
        assert_eq!(replayed.events, recorded.events, "seed {seed}");
        let all = u64::from(replayed.stage.stops.get());
        assert_eq!(all + if awaited == 0 { u64::from(before) } else { 0 }, steps - awaited, "seed {seed}");
    }
}

/// The first report of a divergence.
fn divergence(scripts: Scripts, instructions: Vec<Instruction>) -> Option<(u32, Obstacle, WaitsFor)> {
    let (_, simulation) = follow(scripts, instructions, Policy::RoundRobin);
    let reports = simulation.stage.reports.borrow();
    reports.iter().find_map(|report| match *report {
        Report::Diverged { thread, obstacle, waits_for, .. } => Some((thread, obstacle, waits_for)),
        _ => None,
    })
}

#[test]
fn every_way_to_leave_the_instructions_is_reported() {
    let two = || vec![vec![Op::Spawn(1), Op::Work(5)], vec![Op::Work(5)]];
    assert_eq!(divergence(two(), vec![run(1, 3)]), Some((1, Obstacle::Absent, WaitsFor::Nothing)));
    assert_eq!(
        divergence(two(), vec![run(0, 3), run(1, 9)]),
        Some((1, Obstacle::Ended, WaitsFor::Nothing)),
        "it has six events"
    );
    let held =
        vec![vec![Op::Lock(0), Op::Spawn(1), Op::Work(5), Op::Unlock(0)], vec![Op::Lock(0), Op::Work(5)]];
    assert_eq!(
        divergence(held.clone(), vec![run(0, 3), run(1, 1)]),
        Some((1, Obstacle::Waits, WaitsFor::Address(0x1000)))
    );
    let block = Instruction::Block { thread: 1, before: 0 };
    assert_eq!(divergence(held, vec![run(0, 3), block, run(0, 8)]), None, "it is blocked, as it should be");
    assert_eq!(
        divergence(two(), vec![run(0, 3), block]),
        Some((1, Obstacle::GoesOn, WaitsFor::Nothing)),
        "nothing blocks it"
    );
    let joins = vec![vec![Op::Spawn(1), Op::Join(1)], vec![Op::Work(5)]];
    assert_eq!(
        divergence(joins, vec![run(0, 1), run(1, 2), run(0, 2)]),
        Some((0, Obstacle::Waits, WaitsFor::EndOf(1)))
    );
}

#[test]
fn a_deadlock_is_held_and_the_program_ended() {
    let cross = |first, second| [Op::Lock(first), Op::Lock(second), Op::Unlock(second), Op::Unlock(first)];
    let scripts = vec![Vec::from_iter([Op::Spawn(1)].into_iter().chain(cross(0, 1))), cross(1, 0).to_vec()];
    let instructions = vec![
        run(0, 2),
        run(1, 1),
        Instruction::Block { thread: 0, before: 2 },
        Instruction::Block { thread: 1, before: 1 },
        Instruction::ReportThreads,
        Instruction::Stop { step: 4 },
        Instruction::End,
    ];
    let (outcome, simulation) = follow(scripts, instructions, Policy::Random);
    assert_eq!(outcome, Outcome::Ended);
    assert_eq!(simulation.stage.stops.get(), 1);
    let reports = simulation.stage.reports.borrow();
    let waits: Vec<WaitsFor> = reports
        .iter()
        .filter_map(|report| match *report {
            Report::Thread { waits_for, .. } => Some(waits_for),
            _ => None,
        })
        .collect();
    assert_eq!(waits, [WaitsFor::Address(0x1010), WaitsFor::Address(0x1000)]);
    assert_eq!(reports.last(), Some(&Report::AllReported));
}

#[test]
fn what_a_thread_is_about_to_do_is_seen() {
    let scripts = vec![vec![Op::Spawn(1), Op::Work(5)], vec![Op::Work(5)]];
    let see = Instruction::ReportAccess { thread: 1, place: 2 };
    let saw = Instruction::ReportMemory { thread: 1 };
    let (outcome, simulation) = follow(scripts, vec![run(0, 3), run(1, 2), see, saw], Policy::Random);
    assert_eq!(outcome, Outcome::AllDone);
    let reports = simulation.stage.reports.borrow();
    assert!(
        matches!(reports[0], Report::PendingAccess { thread: 1, place: 2, access, .. } if access.address == 1)
    );
    let memory = MemoryRange { address: 1, length: 1 };
    assert_eq!(reports[1..], [Report::MemoryContent { thread: 1, memory }, Report::Freed]);
}

/// It has just seen or done what the instructions are for: what it does next is what nobody has seen.
#[test]
fn the_last_thread_of_the_instructions_goes_on() {
    let scripts =
        || vec![vec![Op::Spawn(1), Op::Spawn(2), Op::Work(9)], vec![Op::Work(9)], vec![Op::Work(9)]];
    for policy in [Policy::Random, Policy::Pct, Policy::RoundRobin] {
        for last in [1, 2] {
            let instructions = vec![run(0, 2), run(1, 2), run(2, 2), run(last, 4)];
            let (outcome, simulation) = follow(scripts(), instructions, policy);
            assert_eq!(outcome, Outcome::AllDone);
            let turns: Vec<usize> = simulation.turns.iter().map(|&(thread, _)| thread).collect();
            let after =
                simulation.turns.iter().position(|&(thread, until)| thread == last as usize && until > 4);
            let others =
                turns[..after.expect("it goes on")].iter().filter(|&&thread| thread != last as usize);
            assert!(others.count() <= 3, "{policy:?}, {last}: {:?}", simulation.turns);
        }
    }
}
