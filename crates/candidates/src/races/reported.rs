//! What each method reports, as pairs.

use decide::Setup;

use super::{Method, RacePair, hb, lockset, syncp};

/// Passes on every pair that a method other than `poly` reports, in the order it finds them: all pairs for `lockset`
/// and `ucg`, and for the others each racy event with one partner.
pub fn reported(method: Method, setup: &Setup<'_>, take: &mut dyn FnMut(RacePair)) {
    let trace = setup.trace();
    match method {
        Method::Lockset => lockset::pairs(trace).for_each(take),
        Method::Hb => hb::races(trace).for_each(take),
        Method::Syncp => syncp::Syncp::new(trace).races().for_each(|race| take(race.pair)),
        Method::Cp => unreachable!("cp"),
        Method::Ucg => unreachable!("ucg"),
        Method::Poly => unreachable!("poly reports schedules, not pairs"),
    }
}
