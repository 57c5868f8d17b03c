//! The functions that each thread is in, and where their frames are on its stack, as far as that is known.

/// A call that has not returned.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveFrame {
    /// An address in the function, at its start.
    pub(super) entry: u64,
    /// Where it returns to.
    pub(super) call: u64,
    /// The address that the offsets of its variables count from.
    pub(super) base: Option<u64>,
}

/// No thread's calls are followed deeper than this.
const DEEPEST: usize = 1 << 16;

/// The calls of all threads.
#[derive(Debug, Default)]
pub(super) struct Frames {
    threads: Vec<ThreadFrames>,
}

#[derive(Debug, Default)]
struct ThreadFrames {
    frames: Vec<LiveFrame>,
    /// Calls beyond the deepest that is followed.
    beyond: u64,
}

impl Frames {
    /// A thread enters the function that has this address, to return to another.
    #[inline]
    pub(super) fn enter(&mut self, thread: u32, entry: u64, call: u64) {
        if self.threads.len() <= thread as usize {
            self.threads.resize_with(thread as usize + 1, ThreadFrames::default);
        }
        let frames = &mut self.threads[thread as usize];
        match frames.frames.len() < DEEPEST {
            true => frames.frames.push(LiveFrame { entry, call, base: None }),
            false => frames.beyond += 1,
        }
    }

    /// A thread leaves the function that it entered last.
    #[inline]
    pub(super) fn exit(&mut self, thread: u32) {
        let Some(frames) = self.threads.get_mut(thread as usize) else { return };
        match frames.beyond.checked_sub(1) {
            Some(beyond) => frames.beyond = beyond,
            None => drop(frames.frames.pop()),
        }
    }

    /// The calls of a thread, the outermost first.
    pub(super) fn of(&self, thread: u32) -> &[LiveFrame] {
        self.threads.get(thread as usize).map_or(&[], |frames| &frames.frames)
    }

    /// Notes where the frame of the function is that a thread entered last.
    pub(super) fn set_base(&mut self, thread: u32, base: u64) {
        let last = self.threads.get_mut(thread as usize).and_then(|frames| frames.frames.last_mut());
        if let Some(frame) = last {
            frame.base = Some(base);
        }
    }
}
