//! Events that are near to each other in the trace are asked about first: what happened at about the same time can most
//! easily happen at the same time, and a question about them costs least. And what is near is looked for first.

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

/// How many of the first items are as wanted, if those are all that are. The fewer there are, the sooner it is known.
pub(crate) fn leading<T>(items: &[T], wanted: impl Fn(&T) -> bool) -> usize {
    let mut step = 1;
    while step <= items.len() && wanted(&items[step - 1]) {
        step *= 2;
    }
    let known = step / 2;
    known + items[known..items.len().min(step)].partition_point(wanted)
}

#[cfg(test)]
mod tests {
    use super::leading;

    #[test]
    fn leading_items_are_counted() {
        for length in 0..40 {
            for count in 0..=length {
                let items: Vec<usize> = (0..length).collect();
                assert_eq!(leading(&items, |&item| item < count), count, "{count} of {length}");
            }
        }
    }
}
