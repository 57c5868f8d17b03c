//! Counting permits: which posts each take of a semaphore can rely on.
//!
//! An order of posts and takes is legal exactly if each take beyond the initial permits can be paired with a
//! post before it. So if no pairing exists with the posts that *can* come before each take, there is no
//! schedule (Hall's theorem identifies the takes at fault). Once it is settled for every post and take which
//! comes first, a pairing means that every remaining order is legal.

use check::Split;
use order::Node;
use trace::{EventId, Op};

use crate::state::{Conflict, State};

/// A post and a take whose order is open, if a pairing is still possible.
pub(crate) fn split(state: &mut State<'_>, blocked: EventId) -> Result<Split, Conflict> {
    let Op::Take(semaphore) = state.index.trace().op(blocked) else {
        unreachable!("only takes wait for permits");
    };
    let takes = state.semaphores[state.semaphore_index[&semaphore]].takes.clone();
    let posts = available_posts(state, blocked);
    let can_supply: Vec<Vec<bool>> = takes
        .iter()
        .map(|&take| posts.iter().map(|&post| !comes_after(state, take, post)).collect())
        .collect();
    let initial = state.permits_at_start(semaphore).max(0) as usize;
    if let Some(starved) = starved(&can_supply, posts.len(), initial) {
        return Err(Conflict::NoPermits(starved.iter().map(|&take| state.event(takes[take])).collect()));
    }
    let first = takes.iter().position(|&take| state.event(take) == blocked).unwrap_or(0);
    let in_turn = (0..takes.len()).map(|offset| (first + offset) % takes.len());
    for take in in_turn {
        for (index, &post) in posts.iter().enumerate() {
            let settled = state.is_needed(post) && state.order.precedes(post, takes[take]);
            if can_supply[take][index] && !settled {
                return Ok(Split::Supply { post: state.event(post), take: state.event(takes[take]) });
            }
        }
    }
    unreachable!("with every post settled and a pairing, no take can be blocked")
}

/// The posts of the semaphore of a take that can happen at all, needed ones first.
pub(crate) fn available_posts(state: &mut State<'_>, take: EventId) -> Vec<Node> {
    let Op::Take(semaphore) = state.index.trace().op(take) else { return Vec::new() };
    let (index, start) = (state.index, state.window.start);
    let mut posts: Vec<Node> = Vec::new();
    for &post in index.posts(semaphore).iter().filter(|&&post| post >= start) {
        let node = state.locate(post);
        if node.position < state.chains[node.chain as usize].ceiling {
            posts.push(node);
        }
    }
    posts.sort_by_key(|&post| !state.is_needed(post));
    posts
}

/// Whether a post, if it happens at all, is known to come after a take.
pub(crate) fn comes_after(state: &mut State<'_>, take: Node, post: Node) -> bool {
    if state.order.first_after(take, post.chain) <= post.position
        && state.order.first_after(take, post.chain) < state.order.len(post.chain)
    {
        return true;
    }
    (0..state.deferred.len()).any(|index| {
        let (after, deferred, _) = state.deferred[index];
        let deferred = state.locate(deferred);
        deferred.chain == post.chain
            && deferred.position <= post.position
            && (after == take || state.order.precedes(take, after))
    })
}

/// Takes that cannot all be supplied, if there are such: those that a largest pairing leaves out
/// beyond the initial permits, and all that compete with them.
fn starved(can_supply: &[Vec<bool>], posts: usize, initial: usize) -> Option<Vec<usize>> {
    let mut supplied_by: Vec<Option<usize>> = vec![None; posts];
    let mut unpaired = Vec::new();
    for take in 0..can_supply.len() {
        if !pair(take, can_supply, &mut supplied_by, &mut vec![false; posts]) {
            unpaired.push(take);
        }
    }
    if unpaired.len() <= initial {
        return None;
    }
    let mut competing = vec![false; can_supply.len()];
    let mut work = unpaired;
    while let Some(take) = work.pop() {
        if !std::mem::replace(&mut competing[take], true) {
            let rivals =
                (0..posts).filter(|&post| can_supply[take][post]).filter_map(|post| supplied_by[post]);
            work.extend(rivals);
        }
    }
    Some((0..competing.len()).filter(|&take| competing[take]).collect())
}

/// A take on the path of displacements that [`pair`] follows.
struct Displaced {
    take: usize,
    /// The next post to try for it. The post before is the one it takes over if the path succeeds.
    next: usize,
}

/// Finds a post for a take, moving other takes to other posts if need be.
///
/// The path of displacements can be as long as there are posts, so it is kept on the heap.
fn pair(
    take: usize,
    can_supply: &[Vec<bool>],
    supplied_by: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    let mut path = vec![Displaced { take, next: 0 }];
    while let Some(Displaced { take, next }) = path.last_mut() {
        let Some(post) = (*next..tried.len()).find(|&post| can_supply[*take][post] && !tried[post]) else {
            path.pop();
            continue;
        };
        tried[post] = true;
        *next = post + 1;
        match supplied_by[post] {
            Some(rival) => path.push(Displaced { take: rival, next: 0 }),
            None => {
                for Displaced { take, next } in path {
                    supplied_by[next - 1] = Some(take);
                }
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The textbook form of [`pair`].
    fn pair_recursively(
        take: usize,
        can_supply: &[Vec<bool>],
        supplied_by: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> bool {
        for post in 0..supplied_by.len() {
            if can_supply[take][post] && !std::mem::replace(&mut tried[post], true) {
                let free = match supplied_by[post] {
                    None => true,
                    Some(rival) => pair_recursively(rival, can_supply, supplied_by, tried),
                };
                if free {
                    supplied_by[post] = Some(take);
                    return true;
                }
            }
        }
        false
    }

    #[test]
    fn pairs_as_the_recursive_form_does() {
        let mut random = 1_u64;
        let mut chance = |one_in: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33).is_multiple_of(one_in)
        };
        for round in 0..500 {
            let (takes, posts) = (1 + round % 9, 1 + round % 7);
            let can_supply: Vec<Vec<bool>> =
                (0..takes).map(|_| (0..posts).map(|_| chance(1 + round as u64 % 4)).collect()).collect();
            let (mut iterative, mut recursive) = (vec![None; posts], vec![None; posts]);
            for take in 0..takes {
                assert_eq!(
                    pair(take, &can_supply, &mut iterative, &mut vec![false; posts]),
                    pair_recursively(take, &can_supply, &mut recursive, &mut vec![false; posts]),
                );
                assert_eq!(iterative, recursive, "{can_supply:?}");
            }
        }
    }

    /// Take `i` can use posts `i` and `i + 1`, the last take only post 0: it displaces every other.
    #[test]
    fn a_path_through_every_post_needs_no_stack() {
        const TAKES: usize = 3_000;
        let mut can_supply = vec![vec![false; TAKES]; TAKES];
        for take in 0..TAKES - 1 {
            can_supply[take][take] = true;
            can_supply[take][take + 1] = true;
        }
        can_supply[TAKES - 1][0] = true;
        let judge = move || {
            assert_eq!(starved(&can_supply, TAKES, 0), None);
            for take in &mut can_supply {
                take[TAKES - 1] = false;
            }
            assert_eq!(starved(&can_supply, TAKES, 0), Some((0..TAKES).collect()));
        };
        let small = std::thread::Builder::new().stack_size(64 << 10).spawn(judge);
        small.expect("the thread starts").join().expect("the pairing fits a small stack");
    }
}
