//! Virtual time: when it passes, and when it does not.

use super::room_for_tests;
use super::simulation::Stage;
use crate::schedule::{
    Chooser, End, GaveUp, Key, NEVER, Return, Schedule, Slot, UnlockedView, Witness, World,
};
use wire::Policy;

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000 * MILLISECOND;

/// This number of threads under a schedule. The first has the token.
fn begin(threads: usize) -> (Schedule, Stage, Vec<Slot>) {
    let stage = Stage::default();
    let mut schedule = Schedule::empty(Box::leak(Box::new(UnlockedView::new())));
    schedule.set_room(room_for_tests(threads));
    let chooser = Chooser::new(Policy::Random, 1, 50);
    let first = schedule.begin(chooser, u64::MAX, &stage).expect("there is room");
    let others = (1..threads).map(|_| schedule.add(&stage).expect("there is room"));
    let slots = [first].into_iter().chain(others.collect::<Vec<_>>()).collect();
    (schedule, stage, slots)
}

/// The holder of the token sleeps so long.
fn sleep(schedule: &mut Schedule, stage: &Stage, length: u64) {
    let thread = schedule.running().expect("somebody has the token");
    let end = schedule.now(thread, stage) + length;
    schedule.count(thread, stage);
    schedule.wait(thread, Key::NONE, End { virtual_time: end, real_time: end });
    schedule.give_up(thread, GaveUp::Willingly, stage);
}

fn now(schedule: &mut Schedule, stage: &Stage) -> u64 {
    schedule.now(Slot(0), stage)
}

#[test]
fn when_all_sleep_the_first_to_wake_goes_on_at_once() {
    let (mut schedule, stage, slots) = begin(3);
    let lengths = [3 * SECOND, SECOND, 2 * SECOND];
    for _ in 0..3 {
        let thread = schedule.running().expect("somebody has the token");
        let index = slots.iter().position(|&slot| slot == thread).expect("it is one of them");
        sleep(&mut schedule, &stage, lengths[index]);
    }
    for (woken, time) in [(1, SECOND), (2, 2 * SECOND), (0, 3 * SECOND)] {
        assert_eq!((schedule.running(), now(&mut schedule, &stage)), (Some(slots[woken]), time));
        assert!(schedule.resume(slots[woken]).timed_out);
        schedule.wait(slots[woken], Key::NONE, End::NEVER);
        schedule.give_up(slots[woken], GaveUp::Willingly, &stage);
    }
    assert_eq!((schedule.running(), stage.deadlocks.get()), (None, 1));
}

#[test]
fn a_program_that_sleeps_for_ever_sleeps_really_in_the_end() {
    let (mut schedule, stage, slots) = begin(1);
    let mut at_once = 0;
    let real = loop {
        sleep(&mut schedule, &stage, SECOND);
        match schedule.resume(slots[0]).sleep {
            None => at_once += 1,
            Some(sleep) => break sleep,
        }
    };
    assert!((1_000..10_000).contains(&at_once), "{at_once}");
    assert_eq!(real.length, SECOND);
}

#[test]
fn who_waits_by_reading_the_clock_reads_seldom() {
    let (mut schedule, stage, slots) = begin(1);
    let (mut count, mut last) = (0, 0);
    let mut is_given_way = false;
    while last < SECOND {
        let reading = schedule.read_clock(slots[0], &stage);
        assert!(reading.now > last && reading.now - last <= MILLISECOND / 10, "{} after {last}", reading.now);
        (count, last, is_given_way) = (count + 1, reading.now, is_given_way || reading.is_waiting);
    }
    assert!(count < 15_000 && is_given_way, "{count} readings");
}

#[test]
fn who_reads_the_clock_between_events_reads_the_events_time() {
    let (mut schedule, stage, slots) = begin(1);
    for _ in 0..1_000 {
        schedule.read_clock(slots[0], &stage);
        stage.set_budget(slots[0], stage.budget(slots[0]) - 100);
    }
    let passed = now(&mut schedule, &stage);
    assert!(passed < 10 * MILLISECOND, "{passed}: a thousand readings, and 100,000 events of 50 ns");
}

#[test]
fn while_a_thread_is_outside_time_does_not_jump() {
    let (mut schedule, stage, slots) = begin(2);
    let outside = schedule.running().expect("somebody has the token");
    schedule.count(outside, &stage);
    schedule.leave(outside, NEVER);
    schedule.give_up(outside, GaveUp::Willingly, &stage);
    sleep(&mut schedule, &stage, 100 * MILLISECOND);
    assert_eq!((schedule.running(), schedule.pick_for_nobody(&stage)), (None, None));
    assert!(now(&mut schedule, &stage) < MILLISECOND, "a short pause is none");
    stage.time.set(stage.time.get() + 60 * MILLISECOND);
    assert_eq!(schedule.pick_for_nobody(&stage), None);
    let passed = now(&mut schedule, &stage);
    assert!((60 * MILLISECOND..70 * MILLISECOND).contains(&passed), "{passed}");
    stage.time.set(stage.time.get() + 60 * MILLISECOND);
    let sleeper = slots.into_iter().find(|&slot| slot != outside);
    assert_eq!(schedule.pick_for_nobody(&stage), sleeper, "its time has come");
}

#[test]
fn a_call_outside_that_takes_long_takes_as_long_in_virtual_time() {
    for (pause, least) in [(MILLISECOND, 0), (50 * MILLISECOND, 50 * MILLISECOND)] {
        let (mut schedule, stage, slots) = begin(1);
        schedule.count(slots[0], &stage);
        schedule.leave(slots[0], NEVER);
        schedule.give_up(slots[0], GaveUp::Willingly, &stage);
        stage.time.set(stage.time.get() + pause);
        assert_eq!(schedule.come_back(slots[0], &stage), Return::Next(Some(slots[0])));
        let passed = now(&mut schedule, &stage);
        assert!((least..=least + MILLISECOND).contains(&passed), "{passed} for {pause}");
    }
}

#[test]
fn a_call_with_a_time_limit_takes_no_longer() {
    let (mut schedule, stage, slots) = begin(1);
    schedule.count(slots[0], &stage);
    schedule.leave(slots[0], 100 * MILLISECOND);
    schedule.give_up(slots[0], GaveUp::Willingly, &stage);
    for _ in 0..5 {
        stage.time.set(stage.time.get() + 60 * MILLISECOND);
        assert_eq!(schedule.pick_for_nobody(&stage), None);
    }
    assert_eq!(schedule.come_back(slots[0], &stage), Return::Next(Some(slots[0])));
    assert_eq!(now(&mut schedule, &stage), 100 * MILLISECOND, "the machine was busy");
}

#[test]
fn with_a_timer_time_does_not_fall_behind() {
    let (mut schedule, stage, slots) = begin(1);
    stage.witness.set(Witness::OwnTimers);
    schedule.keep_up(&stage);
    stage.time.set(stage.time.get() + SECOND);
    let reading = schedule.read_clock(slots[0], &stage);
    assert!((SECOND..SECOND + 2 * MILLISECOND).contains(&reading.now), "{reading:?}");
    stage.witness.set(Witness::Nothing);
    stage.time.set(stage.time.get() + SECOND);
    assert!(now(&mut schedule, &stage) < SECOND + 2 * MILLISECOND, "children are gone");
}

#[test]
fn with_peers_sleeps_are_real_and_can_be_interrupted() {
    let (mut schedule, stage, slots) = begin(1);
    stage.witness.set(Witness::Peers);
    for (interrupted_after, passed) in [(None, SECOND), (Some(MILLISECOND), MILLISECOND)] {
        let before = now(&mut schedule, &stage);
        sleep(&mut schedule, &stage, SECOND);
        let sleep = schedule.resume(slots[0]).sleep.expect("it sleeps really");
        assert_eq!((sleep.length, now(&mut schedule, &stage)), (SECOND, before));
        schedule.has_slept(sleep, interrupted_after);
        assert_eq!(now(&mut schedule, &stage), before + passed);
    }
}
