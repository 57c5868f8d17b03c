//! Violations of a region of the user's that are spread over two of its variables: `a < c < d < b`, with `a` on one
//! variable and `b` on another in one run through the region, and `c` and `d` of another thread, in the order of that
//! thread, in conflict with `a` and with `b`. Then `c` came after the region's beginning and `d` before its end: no order of the region
//! and the other thread, one after the other, has the same conflicts in the same order, so the region is not serialisable. (If both
//! are the same variable, one of the five patterns is among the four.) Asked of the engine as [`Question::Order`].
//!
//! Cycles of conflicts through a third thread are not looked for.

use check::Question;
use trace::{Access, EventId, ThreadId};

use super::pairs::{Inside, Pair, PointGroup, RegionRun};
use super::{Judge, Pattern, Search};
use crate::asking::{Instance, PatternId};
use crate::nearest::outward;
use crate::{Object, Remarks};

/// Whether two accesses to one variable are in conflict, given that they are of different threads.
fn conflicts(access: Access, points: &PointGroup) -> bool {
    access.writes || points.writes
}

impl Search<'_> {
    /// Looks at every run through a region, unless the method has no word for it.
    pub(super) fn regions(&mut self) {
        if matches!(self.judge, Judge::AvFilter(_)) {
            return;
        }
        let (all, total) = (self.all, self.all.regions.len() as u64);
        for (done, run) in all.regions.iter().enumerate() {
            for (index, b) in run.accesses.iter().enumerate() {
                for a in run.accesses[..index].iter().filter(|a| a.access.variable != b.access.variable) {
                    self.broken(run, a, b);
                }
            }
            if done.is_multiple_of(1024) {
                self.asking.progress(done as u64, total);
            }
        }
    }

    /// Looks at all that could come between two accesses of a region.
    fn broken(&mut self, run: &RegionRun, a: &Inside, b: &Inside) {
        let all = self.all;
        let admits = |inside: &Inside, points: &PointGroup| {
            let locked = b.sections.iter().filter(|section| section.acquire < a.event);
            points.thread != run.thread
                && conflicts(inside.access, points)
                && !locked.clone().any(|section| all.sets.excludes_one(points.held, section.hold))
        };
        let points = |inside: &Inside| &all.variables[inside.access.variable.index()].points;
        for after_a in points(a).iter().filter(|points| admits(a, points)) {
            let same_thread = points(b).iter().filter(|points| points.thread == after_a.thread);
            for before_b in same_thread.filter(|points| admits(b, points)) {
                self.between(run.thread, [a, b], [after_a, before_b]);
            }
        }
    }

    fn between(&mut self, thread: ThreadId, [a, b]: [&Inside; 2], [after_a, before_b]: [&PointGroup; 2]) {
        let location = |inside: &Inside| self.setup.trace().location(inside.event);
        let sites = [location(a), after_a.site, before_b.site, location(b)];
        let pattern = self.asking.pattern(Pattern::Spread(sites));
        if self.asking.is_settled(pattern) {
            return;
        }
        let (first, last) = (a.event, b.event);
        let pair = Pair { first, second: last };
        let early = self.band(&self.must, &pair, thread, after_a);
        // What c saw does not hold back d, since c is free to see something else.
        let late = self.band(self.always(), &pair, thread, before_b);
        for c in outward(&after_a.events, early, first).map(|index| after_a.events[index]) {
            let start = before_b.events.partition_point(|&d| d <= c).max(late.start);
            for d in outward(&before_b.events, start..late.end.max(start), c) {
                self.four([first, c, before_b.events[d], last], pattern);
                if self.asking.is_settled(pattern) {
                    return;
                }
            }
        }
    }

    fn four(&mut self, events: [EventId; 4], pattern: PatternId) {
        let question = Question::Order(events.to_vec());
        if !self.asking.looks_at(pattern, &question) {
            return;
        }
        let trace = self.setup.trace();
        let names = [0, 3].map(|index: usize| {
            let variable = trace.op(events[index]).access().map(|access| access.variable);
            variable.map_or("", |variable| trace.symbols().variable(variable))
        });
        let object = Object::Named(names.join(", "));
        let events = events.map(Some).to_vec();
        self.judge(pattern, Instance { question, events, object, remarks: Remarks::default() });
    }
}
