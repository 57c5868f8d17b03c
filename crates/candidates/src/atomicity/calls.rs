//! Which call of a function each event belongs to, as its call stack tells it: the function and the stack it was called
//! from. Two calls from the same place one after the other look the same, and count as one.

use rustc_hash::FxHashMap;
use trace::native::{FrameNumber, ReadError, StackId};
use trace::{EventId, Trace};

/// A call of a function; none for events without a stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Call(u32);

impl Call {
    pub(super) fn is_known(self) -> bool {
        self != Call::default()
    }
}

/// The calls that the events of a trace belong to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    of_event: Vec<Call>,
}

impl Calls {
    /// Reads them from the notes of a trace; `None`: it has no call stacks.
    pub fn of(trace: &Trace) -> Result<Option<Calls>, ReadError> {
        let Some(notes) = trace.notes().filter(|notes| !notes.stacks().is_empty()) else { return Ok(None) };
        let name = |frame: FrameNumber| {
            let frame = notes.frames().get(frame as usize);
            frame.split('\t').next().unwrap_or(frame)
        };
        let mut numbers: FxHashMap<(Option<StackId>, &str), u32> = FxHashMap::default();
        let of_stack: Vec<Call> = notes
            .stacks()
            .iter()
            .map(|&(caller, frame)| {
                let next = numbers.len() as u32 + 1;
                Call(*numbers.entry((caller, name(frame))).or_insert(next))
            })
            .collect();
        let mut of_event = vec![Call::default(); trace.len()];
        for row in notes.rows() {
            let (event, note) = row?;
            if let (Some(call), Some(stack)) = (of_event.get_mut(event.index()), note.stack) {
                *call = of_stack[stack.raw() as usize - 1];
            }
        }
        Ok(Some(Calls { of_event }))
    }

    pub(super) fn call(&self, event: EventId) -> Call {
        self.of_event[event.index()]
    }
}
