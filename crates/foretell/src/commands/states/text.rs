//! States for a person.

use states::{Class, Loset};
use trace::Trace;

use super::list::Ending;
use crate::table::name;

/// The class as an adjective.
pub(super) fn adjective(class: Class) -> &'static str {
    match class {
        Class::Consistent => "consistent",
        Class::Feasible => "feasible",
        Class::Strong => "strongly feasible",
        Class::Reachable => "reachable",
        Class::LockFree => "lock-free",
    }
}

/// `28,697,813 reachable states`, from the digits.
pub(super) fn counted(count: &str, class: Class) -> String {
    format!("{} {} {}\n", grouped(count), adjective(class), if count == "1" { "state" } else { "states" })
}

/// Said after a list.
pub(super) fn listed(ending: &Ending, class: Class) -> String {
    let count = counted(&ending.listed.to_string(), class);
    if ending.whole { count.trim_end().to_owned() } else { format!("the first {}", count.trim_end()) }
}

/// Thousands set apart.
fn grouped(digits: &str) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A column for each thread.
pub(super) struct Columns {
    names: Vec<String>,
    widths: Vec<usize>,
}

impl Columns {
    pub(super) fn new(trace: &Trace, loset: &Loset) -> Self {
        let names: Vec<String> = trace.symbols().threads.iter().map(name).collect();
        let width = |(name, length): (&String, &u32)| name.chars().count().max(length.to_string().len());
        let widths = names.iter().zip(loset.lengths()).map(width).collect();
        Columns { names, widths }
    }

    pub(super) fn heading(&self) -> String {
        let cells = self.names.iter().zip(&self.widths).map(|(name, width)| format!("{name:>width$}"));
        cells.collect::<Vec<String>>().join("  ")
    }

    pub(super) fn row(&self, state: &[u32]) -> String {
        let cells = state.iter().zip(&self.widths).map(|(place, width)| format!("{place:>width$}"));
        cells.collect::<Vec<String>>().join("  ")
    }
}

/// `T1=3, T2=5`, without the threads that have done nothing.
pub(super) fn state(trace: &Trace, state: &[u32]) -> String {
    let threads = trace.symbols().threads.iter().zip(state).filter(|&(_, &place)| place > 0);
    let cells: Vec<String> = threads.map(|(thread, place)| format!("{}={place}", name(thread))).collect();
    if cells.is_empty() { "the start".to_owned() } else { cells.join(", ") }
}
