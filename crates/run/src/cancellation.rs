//! Calling work off: programs that are being replayed are ended when their caller wants to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the work is called off. Copies share one state.
#[derive(Clone, Debug, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    /// Calls the work off; whether it was called off before.
    pub fn cancel(&self) -> bool {
        self.0.swap(true, Ordering::SeqCst)
    }

    /// Whether the work is called off.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_state() {
        let one = Cancellation::default();
        let other = one.clone();
        assert!(!other.is_cancelled() && !one.cancel());
        assert!(other.is_cancelled() && other.cancel());
    }
}
