//! The program as its users meet it: every command, every style of error, every way to stop early.

mod baselines;
mod check;
mod compare;
mod convert;
mod decide;
mod errors;
mod everyday;
mod findings;
mod fixes;
mod fleet;
mod generate;
mod help;
mod hostile;
mod limits;
mod memory_orders;
mod predict;
mod project;
mod reports;
mod sarif_viewer;
mod schemas;
mod show;
mod states;
mod stats;
mod style;
mod support;
mod suppressions;
