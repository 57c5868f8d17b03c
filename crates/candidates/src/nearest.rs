//! Events that are near to each other in the trace are asked about first: what happened at about the same time can most
//! easily happen at the same time, and a question about them costs least.

use std::ops::Range;

use trace::EventId;

/// The indices of a band of events, the nearest to `centre` first.
pub(crate) fn outward(
    events: &[EventId],
    band: Range<usize>,
    centre: EventId,
) -> impl Iterator<Item = usize> {
    let middle = events.partition_point(|&event| event < centre).clamp(band.start, band.end);
    let gap = move |index: usize| events[index].0.abs_diff(centre.0);
    let (mut below, mut above) = (middle, middle);
    std::iter::from_fn(move || {
        let lower = (below > band.start).then(|| gap(below - 1));
        let upper = (above < band.end).then(|| gap(above));
        match (lower, upper) {
            (None, None) => None,
            (Some(low), high) if high.is_none_or(|high| low < high) => {
                below -= 1;
                Some(below)
            }
            _ => {
                above += 1;
                Some(above - 1)
            }
        }
    })
}
