//! Programs run under the runtime, and what their logs say.

mod behaviour;
mod recording;
mod support;
mod time;
