//! Independent parts: sets of threads that share neither orders nor wanted locks nor semaphores. The states of a
//! loset are all combinations of the states of its parts, in every class.

use crate::loset::Loset;

/// The threads of each part, in order.
pub(crate) fn parts(loset: &Loset) -> Vec<Vec<usize>> {
    let k = loset.threads();
    let mut leader: Vec<usize> = (0..k).collect();
    fn find(leader: &mut [usize], mut thread: usize) -> usize {
        while leader[thread] != thread {
            leader[thread] = leader[leader[thread]];
            thread = leader[thread];
        }
        thread
    }
    let mut join = |a: usize, b: usize| {
        let (a, b) = (find(&mut leader, a), find(&mut leader, b));
        leader[a.max(b)] = a.min(b);
    };
    for thread in 0..k {
        let needed = loset.recorded().needs(thread, loset.lengths[thread]);
        needed.iter().enumerate().filter(|&(_, &count)| count > 0).for_each(|(other, _)| join(thread, other));
    }
    for sections in &loset.rivals {
        sections.windows(2).for_each(|pair| {
            join(loset.section(pair[0]).thread.index(), loset.section(pair[1]).thread.index());
        });
    }
    for permits in &loset.permits {
        let users: Vec<usize> =
            (0..k).filter(|&t| permits.given[t].iter().any(|&given| given != 0)).collect();
        users.windows(2).for_each(|pair| join(pair[0], pair[1]));
    }
    let mut parts: Vec<Vec<usize>> = vec![Vec::new(); k];
    for thread in 0..k {
        parts[find(&mut leader, thread)].push(thread);
    }
    parts.retain(|part| !part.is_empty());
    parts
}
