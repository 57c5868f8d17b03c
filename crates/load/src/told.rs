//! What a program tells of itself (foretell.h): marks with their values, and regions.

use std::io::{self, Write};

use rustc_hash::FxHashMap;
use trace::native::{Table, Writer};
use trace::{Mark, MarkId, RegionId};

use super::naming::Names;

/// The marks and regions there are so far.
#[derive(Debug)]
pub(super) struct Told {
    names: Names,
    marks: FxHashMap<Mark, MarkId>,
    regions: Names,
}

impl Told {
    /// Nothing yet.
    pub(super) fn new() -> Told {
        Told {
            names: Names::of(Table::MarkNames),
            marks: FxHashMap::default(),
            regions: Names::of(Table::Regions),
        }
    }

    /// The mark with this name and value.
    pub(super) fn mark<W: Write>(
        &mut self,
        name: &[u8],
        value: i64,
        writer: &mut Writer<W>,
    ) -> io::Result<MarkId> {
        let name = self.names.same(&String::from_utf8_lossy(name), writer)?;
        let mark = Mark { name, value };
        let next = MarkId::new(self.marks.len());
        if let Some(&known) = self.marks.get(&mark) {
            return Ok(known);
        }
        writer.mark(mark)?;
        self.marks.insert(mark, next);
        Ok(next)
    }

    /// The region with this name.
    pub(super) fn region<W: Write>(&mut self, name: &[u8], writer: &mut Writer<W>) -> io::Result<RegionId> {
        let name = String::from_utf8_lossy(name);
        Ok(RegionId(self.regions.same(&name, writer)?))
    }
}
