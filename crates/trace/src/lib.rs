//! The recorded run: events, what each is matched with, and the names of everything.
//!
//! A [`Trace`] is a value. It is built once ([`TraceBuilder`]), checked to be a run that can have
//! happened ([`ImpossibleEvent`] says why not), and never changes. Everything else in Foretell starts
//! from one.
//!
#![doc = include_str!("../README.md")]

mod block_names;
mod builder;
mod ending;
mod expected_failure;
mod fault;
mod ids;
mod matching;
mod memory_order;
mod metadata;
mod names;
pub mod native;
mod op;
pub mod open;
mod stack_frame;
pub mod stream;
mod system;
pub mod text;
mod thread_path;
mod threads;
mod trace;
mod viewpoint;

pub use block_names::BlockNames;
pub use builder::TraceBuilder;
pub use ending::Ending;
pub use expected_failure::ExpectedFailure;
pub use fault::{Fault, ImpossibleEvent};
pub use ids::{
    BarrierId, BlockId, ConditionId, EventId, InstanceId, LocationId, LockId, MarkId, RegionId, SemaphoreId,
    ThreadId, VariableId,
};
pub use matching::{BarrierInstance, Link, Matching};
pub use memory_order::MemoryOrder;
pub use metadata::{Binary, LastWait, Library, Metadata, Misuse, MisuseKind, Module, Variable};
pub use names::{Interner, Names, TooManyNames};
pub use op::{Access, Kind, ObjectKind, Op};
pub use stack_frame::StackFrame;
pub use system::{EPOLL, EVENTFD, is_kernel_object, is_of_the_system};
pub use thread_path::{NotAThreadPath, ThreadPath};
pub use threads::ThreadEvents;
pub use trace::{Columns, Mark, Symbols, Trace};
pub use viewpoint::Viewpoint;
