//! What the writer tells and learns in one go against its naive twin: describe, then learn as the reader does.

use proptest::prelude::*;

use super::{Address, Branched, Context, Forecast, Guess, Key, SLOT_MASK, Site, Slot, Table};
use crate::kind::Kind;

/// The address as the shortest description that is true.
fn describe(slot: &Slot, context: &Context, address: u64) -> Address {
    if slot.favoured(context) == address {
        return Address::Favoured;
    }
    if let Some(guess) = Guess::ALL.into_iter().find(|&guess| slot.guess(guess, context) == address) {
        return Address::Guess(guess);
    }
    let from_guess = address.wrapping_sub(slot.favoured(context)) as i64;
    let from_previous = address.wrapping_sub(context.previous) as i64;
    if from_previous.unsigned_abs() < from_guess.unsigned_abs() {
        Address::FromPrevious(from_previous)
    } else {
        Address::FromGuess(from_guess)
    }
}

/// The site and the address as the reader is told; none: the site has no slot.
fn naive(table: &mut Table, context: &Context, key: Key, address: u64) -> Option<(Site, Address)> {
    let expected = context.expected as u16 & SLOT_MASK;
    let is_frame = key.enters() || key.exits();
    // The site may have the slot of another call of its function, which the salt does not lead to.
    let index = match table.slot(expected).key == key && !is_frame {
        true => expected,
        false => table.find(key, key.salt(context, address))?,
    };
    let other = table.slot(context.current as u16).other & SLOT_MASK;
    let site = match index {
        _ if u32::from(index) == context.expected => Site::Next,
        _ if index == other => Site::Other,
        _ => Site::Slot(index),
    };
    Some((site, describe(table.slot(index), context, address)))
}

fn code(site: Site) -> u8 {
    match site {
        Site::Next => Site::NEXT,
        Site::Other => Site::OTHER,
        Site::Slot(_) => Site::SLOT,
        Site::New(_) => Site::NEW,
    }
}

fn event() -> impl Strategy<Value = (Key, u64)> {
    let kinds = [Kind::Read8, Kind::Write4, Kind::FunctionEntry, Kind::FunctionExit];
    let branched = prop::sample::select(vec![Branched::default(), Branched::YES]);
    // One site in many is one of several thousand, so that slots are taken from others.
    let pc = prop_oneof![8 => 0..12u64, 1 => 0..20_000u64];
    let address =
        prop_oneof![(0..40u64).prop_map(|n| 0x1000 + n * 8), (0..4u64).prop_map(|n| n << 40), any::<u64>()];
    (prop::sample::select(kinds.to_vec()), pc, branched, address)
        .prop_map(|(kind, pc, branched, address)| (Key::new(kind, pc).after(branched), address))
}

proptest! {
    #[test]
    fn an_event_is_told_as_by_the_naive_twin(events in prop::collection::vec(event(), 0..400)) {
        let mut quick = (Box::<Table>::default(), Context::default());
        let mut slow = quick.clone();
        for (key, address) in [&events[..], &events].concat() {
            let is_frame = key.enters() || key.exits();
            let forecast = match is_frame {
                true if quick.0.hit(&mut quick.1, key, address) => Forecast::Right,
                true => Forecast::OtherSite,
                false => quick.0.forecast(&mut quick.1, key, address),
            };
            prop_assert_eq!(forecast == Forecast::Right, slow.0.hit(&mut slow.1, key, address));
            if forecast == Forecast::Right {
                continue;
            }
            let expected = naive(&mut slow.0, &slow.1, key, address);
            let told = match forecast {
                Forecast::OtherAddress => Some(quick.0.tell_address(&mut quick.1, address)),
                _ if is_frame => quick.0.tell(&mut quick.1, key, address),
                _ => quick
                    .0
                    .tell_turn(&mut quick.1, key, address)
                    .or_else(|| quick.0.tell(&mut quick.1, key, address)),
            };
            prop_assert_eq!(told.is_some(), expected.is_some());
            let (site, described) = match (told, expected) {
                (Some(told), Some((site, described))) => {
                    prop_assert_eq!((told.site, told.address), (code(site), described.code()));
                    if let Site::Slot(index) = site {
                        prop_assert_eq!(told.index, index);
                    }
                    if let Address::FromGuess(distance) | Address::FromPrevious(distance) = described {
                        prop_assert_eq!(told.distance, distance);
                    }
                    (site, described)
                }
                _ => (Site::New(key), Address::FromPrevious(quick.0.tell_new(&mut quick.1, key, address))),
            };
            prop_assert_eq!(slow.0.learn(&mut slow.1, site, described), (key, address));
            prop_assert_eq!(quick.1, slow.1);
        }
        prop_assert!(quick.0 == slow.0);
    }
}
