//! Memory orders at random: for traces whose atomic operations are not all `seq_cst`.

use trace::{EventId, Kind, MemoryOrder, Trace};

use crate::names::generate;
use crate::rng::Rng;
use crate::settings::{TraceSettings, Weights};

/// The same run, with a memory order drawn for each atomic operation and each fence: any that the language allows there.
pub fn with_memory_orders(trace: Trace, seed: u64) -> Trace {
    let mut rng = Rng::new(seed ^ 0x6f72_6465_7273);
    // Some traces are mostly relaxed, some mostly strong.
    let relaxed = rng.pick(&[1, 2, 4]);
    let orders: Vec<(EventId, MemoryOrder)> = trace
        .events()
        .filter_map(|(event, _, op)| {
            let strong: &[MemoryOrder] = match op.kind() {
                Kind::AtomicRead => &[MemoryOrder::Acquire, MemoryOrder::SeqCst],
                Kind::AtomicWrite => &[MemoryOrder::Release, MemoryOrder::SeqCst],
                Kind::AtomicUpdate | Kind::Fence => {
                    &[MemoryOrder::Acquire, MemoryOrder::Release, MemoryOrder::AcqRel, MemoryOrder::SeqCst]
                }
                _ => return None,
            };
            let weak = op.kind() != Kind::Fence && rng.below(relaxed + 1) > 0;
            Some((event, if weak { MemoryOrder::Relaxed } else { rng.pick(strong) }))
        })
        .collect();
    trace.with_memory_orders(&orders)
}

/// A tiny trace about memory orders: as [`TraceSettings::tiny`], with many atomic operations, some fences, and every memory order.
pub fn tiny_with_memory_orders(seed: u64) -> Trace {
    let settings = TraceSettings::tiny(seed);
    let mut rng = Rng::new(seed ^ 0x7765_616b);
    let often = rng.between(6, 24);
    let weights = Weights {
        atomic_read: settings.weights.atomic_read + often,
        atomic_write: settings.weights.atomic_write + often,
        atomic_update: settings.weights.atomic_update + often / rng.pick(&[2, 4]),
        fence: settings.weights.fence + rng.pick(&[0, often / 4, often]),
        ..settings.weights
    };
    let settings = TraceSettings { weights, variables: rng.between(2, 4), ..settings };
    match generate(&settings) {
        Ok(trace) => with_memory_orders(trace, seed),
        Err(_) => unreachable!("tiny settings are valid"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_of_every_kind_is_drawn() {
        let mut drawn = std::collections::BTreeSet::new();
        for trace in (0..200).map(tiny_with_memory_orders) {
            drawn.extend(
                trace
                    .events()
                    .filter(|(_, _, op)| op.kind().has_memory_order())
                    .map(|(event, _, op)| (op.kind(), trace.memory_order(event))),
            );
        }
        // 3 of reads, 3 of writes, 5 of updates, 4 of fences.
        assert_eq!(drawn.len(), 15, "{drawn:?}");
    }
}
