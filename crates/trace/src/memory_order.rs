//! The memory orders of atomic operations and fences, as C, C++ and Rust define them.

/// The order that an atomic operation or a fence was asked for. `consume` counts as `acquire`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum MemoryOrder {
    /// Atomic, and nothing else.
    Relaxed = 1,
    /// Reads what others released.
    Acquire = 2,
    /// Publishes what came before.
    Release = 3,
    /// Both.
    AcqRel = 4,
    /// Both, and in one order with all others of this kind. What is not said otherwise.
    #[default]
    SeqCst = 0,
}

impl MemoryOrder {
    /// Every order, the strongest last.
    pub const ALL: [MemoryOrder; 5] = [
        MemoryOrder::Relaxed,
        MemoryOrder::Acquire,
        MemoryOrder::Release,
        MemoryOrder::AcqRel,
        MemoryOrder::SeqCst,
    ];

    /// Its name in the text format, in reports and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            MemoryOrder::Relaxed => "relaxed",
            MemoryOrder::Acquire => "acquire",
            MemoryOrder::Release => "release",
            MemoryOrder::AcqRel => "acq_rel",
            MemoryOrder::SeqCst => "seq_cst",
        }
    }

    /// The order with this name.
    pub fn from_name(name: &str) -> Option<MemoryOrder> {
        MemoryOrder::ALL.into_iter().find(|order| order.name() == name)
    }

    /// The order with this code in the native format.
    pub fn from_code(code: u8) -> Option<MemoryOrder> {
        MemoryOrder::ALL.into_iter().find(|&order| order as u8 == code)
    }

    /// The order with this number in C (`memory_order_relaxed` is 0).
    pub fn from_c(number: u64) -> Option<MemoryOrder> {
        Some(match number {
            0 => MemoryOrder::Relaxed,
            1 | 2 => MemoryOrder::Acquire,
            3 => MemoryOrder::Release,
            4 => MemoryOrder::AcqRel,
            5 => MemoryOrder::SeqCst,
            _ => return None,
        })
    }

    /// Whether a read or a fence of this order takes over what was released.
    #[inline]
    pub const fn acquires(self) -> bool {
        matches!(self, MemoryOrder::Acquire | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
    }

    /// Whether a write or a fence of this order releases what came before.
    #[inline]
    pub const fn releases(self) -> bool {
        matches!(self, MemoryOrder::Release | MemoryOrder::AcqRel | MemoryOrder::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_codes_go_there_and_back() {
        for order in MemoryOrder::ALL {
            assert_eq!(MemoryOrder::from_name(order.name()), Some(order));
            assert_eq!(MemoryOrder::from_code(order as u8), Some(order));
        }
        assert_eq!(MemoryOrder::from_code(5), None);
        assert_eq!(MemoryOrder::from_name("consume"), None);
        assert_eq!(MemoryOrder::default(), MemoryOrder::SeqCst);
    }
}
