//! How commands speak to people and to shells: errors and warnings in the style of rustc ([`diagnostics`]), progress ([`observer`],
//! [`progress`], [`heartbeat`]), findings in all their forms ([`reporting`]), results on standard output or in files ([`output`]), exit
//! statuses ([`exit`]), and what happens on Ctrl-C and at the end of the time ([`interrupts`], [`limits`]).
//!
#![doc = include_str!("../README.md")]

pub mod diagnostics;
pub mod exit;
pub mod heartbeat;
pub mod interrupts;
pub mod limits;
pub mod mode;
pub mod observer;
pub mod output;
pub mod patience;
pub mod progress;
pub mod quantity;
pub mod reporting;
pub mod table;
