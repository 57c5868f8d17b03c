//! Ways to find data races. Each method is a file, and says what it promises:
//!
//! | method | file | every pair it reports is real | it reports every real pair | cost |
//! |---|---|---|---|---|
//! | `lockset` | [`lockset`] | no | yes | linear, streams |
//! | `hb` | [`hb`] | the first one | no | linear, streams |
//! | `cp` | [`cp`] | the first one, or a deadlock is | no | a few linear passes |
//! | `syncp` | [`candidates::races::syncp`] | yes | of its class | near linear |
//! | `ucg` | [`ucg`] | no | yes | a saturation a pair |
//! | `poly` | [`candidates::races::poly`], the engine | yes | yes | a question a pair |
//!
//! *Real* means feasible in the model `rf` of [`check::Model`]; `lockset` and `ucg` report all that is
//! feasible in the model `sync`.

mod clock;
pub mod cp;
pub mod hb;
pub mod lockset;
pub mod ucg;

use std::fmt;
use std::str::FromStr;

use candidates::races::RacePair;
use candidates::races::syncp::Syncp;
use check::Model;
use decide::Index;

use self::cp::{Cp, TooLarge};

/// A way to find races.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// No common lock held.
    Lockset,
    /// Not ordered by happens-before.
    Hb,
    /// Not ordered by causally-precedes.
    Cp,
    /// Sync-preserving races.
    Syncp,
    /// Not refuted by rule 1 and a cycle.
    Ucg,
    /// Decided by the engine.
    Poly,
}

impl Method {
    /// Every method, the weakest first.
    pub const ALL: &[Method] =
        &[Method::Lockset, Method::Hb, Method::Cp, Method::Syncp, Method::Ucg, Method::Poly];

    /// The name it is selected by.
    pub fn name(self) -> &'static str {
        match self {
            Method::Lockset => "lockset",
            Method::Hb => "hb",
            Method::Cp => "cp",
            Method::Syncp => "syncp",
            Method::Ucg => "ucg",
            Method::Poly => "poly",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A name that no method has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown method `{0}`; methods for races are {names}", names = names())]
pub struct UnknownMethod(String);

fn names() -> String {
    Method::ALL.iter().map(|method| method.name()).collect::<Vec<_>>().join(", ")
}

impl FromStr for Method {
    type Err = UnknownMethod;

    fn from_str(name: &str) -> Result<Self, UnknownMethod> {
        let method = Method::ALL.iter().find(|method| method.name() == name);
        method.copied().ok_or_else(|| UnknownMethod(name.to_owned()))
    }
}

/// Calls `take` with every pair that a method other than `poly` reports, in the order it finds them: all pairs for `lockset`,
/// `cp` and `ucg`; for `hb` and `syncp` each racy event with one partner. It stops where the bounds of the work are reached.
pub fn for_each_pair(
    method: Method,
    index: &Index<'_>,
    take: &mut dyn FnMut(RacePair),
) -> Result<(), TooLarge> {
    let (trace, bounds) = (index.trace(), index.bounds());
    let goes_on = |_: &RacePair| !bounds.are_reached();
    match method {
        Method::Lockset => lockset::pairs_within(trace, bounds).for_each(take),
        Method::Hb => hb::races_within(trace, bounds).for_each(take),
        Method::Syncp => {
            let syncp = Syncp::of_races(index, Model::ReadsFrom);
            syncp.races().map(|race| race.pair).for_each(take);
        }
        Method::Cp => Cp::new(index)?.pairs().take_while(goes_on).for_each(take),
        Method::Ucg => ucg::pairs(index).take_while(goes_on).for_each(take),
        Method::Poly => unreachable!("poly reports schedules, not pairs"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_known_by_their_names() {
        for &method in Method::ALL {
            assert_eq!(method.to_string().parse(), Ok(method));
        }
        let error = "hp".parse::<Method>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "unknown method `hp`; methods for races are lockset, hb, cp, syncp, ucg, poly"
        );
    }
}
