//! What each method reports, as pairs.

use decide::Setup;

use super::cp::{Cp, TooLarge};
use super::syncp::Syncp;
use super::{Method, RacePair, hb, lockset, ucg};

/// Passes on every pair that a method other than `poly` reports, in the order it finds them: all pairs for `lockset`, `cp`
/// and `ucg`, and for `hb` and `syncp` each racy event with one partner.
pub fn reported(method: Method, setup: &Setup<'_>, take: &mut dyn FnMut(RacePair)) -> Result<(), TooLarge> {
    let trace = setup.trace();
    match method {
        Method::Lockset => lockset::pairs(trace).for_each(take),
        Method::Hb => hb::races(trace).for_each(take),
        Method::Syncp => Syncp::new(trace).races().for_each(|race| take(race.pair)),
        Method::Cp => Cp::new(trace)?.pairs().for_each(take),
        Method::Ucg => ucg::pairs(setup).for_each(take),
        Method::Poly => unreachable!("poly reports schedules, not pairs"),
    }
    Ok(())
}
