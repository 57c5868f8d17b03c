//! Threads as scripts, run by the schedule alone and watched by a naive model.

mod following;
mod policies;
mod scripts;
mod simulation;
mod times;

pub(crate) use simulation::room_for_tests;
