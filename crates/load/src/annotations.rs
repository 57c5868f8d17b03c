//! What a program says about itself through foretell.h: marks with their values, and regions.

use std::io;

use rustc_hash::FxHashMap;
use trace::native::Table;
use trace::{Mark, MarkId, RegionId};

use super::naming::Names;
use super::sink::Sink;

/// The marks and regions there are so far.
#[derive(Debug)]
pub(super) struct Annotations {
    names: Names,
    marks: FxHashMap<Mark, MarkId>,
    regions: Names,
}

impl Annotations {
    /// Nothing yet.
    pub(super) fn new() -> Annotations {
        Annotations {
            names: Names::of(Table::MarkNames),
            marks: FxHashMap::default(),
            regions: Names::of(Table::Regions),
        }
    }

    /// The mark with this name and value.
    pub(super) fn mark<S: Sink>(&mut self, name: &[u8], value: i64, sink: &mut S) -> io::Result<MarkId> {
        let name = self.names.same(&String::from_utf8_lossy(name), sink)?;
        let mark = Mark { name, value };
        let next = MarkId::new(self.marks.len());
        if let Some(&known) = self.marks.get(&mark) {
            return Ok(known);
        }
        sink.mark(mark)?;
        self.marks.insert(mark, next);
        Ok(next)
    }

    /// The region with this name.
    pub(super) fn region<S: Sink>(&mut self, name: &[u8], sink: &mut S) -> io::Result<RegionId> {
        let name = String::from_utf8_lossy(name);
        Ok(RegionId(self.regions.same(&name, sink)?))
    }
}
