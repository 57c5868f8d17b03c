//! The columns of a trace as bytes that NumPy takes as they are: little endian numbers of a fixed width.

use pyo3::PyResult;
use trace::{Kind, MemoryOrder, Names, ObjectKind, Symbols, Trace};

use crate::wrong;

/// The names of all kinds of events, by their codes: a code without a kind has an empty name.
pub(crate) fn kinds() -> Vec<&'static str> {
    let last = Kind::ALL.iter().map(|&kind| kind as usize).max().unwrap_or(0);
    (0..=last).map(|code| Kind::from_code(code as u8).map_or("", Kind::name)).collect()
}

/// Whether events of a kind act on something that has a name.
pub(crate) fn has_object(kind: Kind) -> bool {
    kind.object() != ObjectKind::Nothing
}

/// The name of a memory order.
pub(crate) fn order_name(order: MemoryOrder) -> &'static str {
    order.name()
}

/// One column, one entry for each event.
pub(crate) fn column(trace: &Trace, name: &str) -> PyResult<Vec<u8>> {
    let events = || trace.events();
    Ok(match name {
        "thread" => events().flat_map(|(_, thread, _)| (thread.index() as u32).to_le_bytes()).collect(),
        "kind" => events().map(|(_, _, op)| op.kind() as u8).collect(),
        "object" => events().flat_map(|(_, _, op)| op.target().to_le_bytes()).collect(),
        "location" => {
            events().flat_map(|(event, _, _)| (trace.location(event).index() as u32).to_le_bytes()).collect()
        }
        "reads_from" => events()
            .flat_map(|(event, _, op)| {
                let source = op.reads().and_then(|_| trace.reads_from(event));
                source.map_or(-1, |write| write.index() as i64).to_le_bytes()
            })
            .collect(),
        _ => return Err(wrong(format!("there is no column `{name}`"))),
    })
}

/// The names in a table.
pub(crate) fn names(symbols: &Symbols, table: &str) -> PyResult<Vec<String>> {
    let names: &Names = match table {
        "threads" => &symbols.threads,
        "variables" => &symbols.variables,
        "locks" => &symbols.locks,
        "conditions" => &symbols.conditions,
        "barriers" => &symbols.barriers,
        "semaphores" => &symbols.semaphores,
        "blocks" => &symbols.blocks,
        "regions" => &symbols.regions,
        "marks" => &symbols.marks,
        "locations" => &symbols.locations,
        _ => return Err(wrong(format!("there is no table `{table}`"))),
    };
    Ok((0..names.len()).map(|index| names.get(index).to_owned()).collect())
}
