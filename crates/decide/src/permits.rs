//! Counting permits: which posts each take of a semaphore can rely on.
//!
//! Takes and the posts before them can be paired off, up to the initial permits, in exactly the
//! orders that are legal. So if no pairing exists with the posts that *can* come before each take, there is
//! no schedule (Hall's theorem names the takes at fault); and once it is settled for every post and
//! take which comes first, a pairing means that every order left is legal.

use check::Split;
use order::Node;
use trace::{EventId, Op};

use crate::state::{Conflict, State};

/// A post and a take whose order is open, if a pairing is still possible.
pub(crate) fn split(state: &mut State<'_>, blocked: EventId) -> Result<Split, Conflict> {
    let Op::Take(semaphore) = state.setup.trace().op(blocked) else {
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
    let Op::Take(semaphore) = state.setup.trace().op(take) else { return Vec::new() };
    let (setup, start) = (state.setup, state.window.start);
    let mut posts: Vec<Node> = Vec::new();
    for &post in setup.posts(semaphore).iter().filter(|&&post| post >= start) {
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

/// Finds a post for a take, moving others if need be.
fn pair(
    take: usize,
    can_supply: &[Vec<bool>],
    supplied_by: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for post in 0..supplied_by.len() {
        if can_supply[take][post] && !std::mem::replace(&mut tried[post], true) {
            let free = match supplied_by[post] {
                None => true,
                Some(rival) => pair(rival, can_supply, supplied_by, tried),
            };
            if free {
                supplied_by[post] = Some(take);
                return true;
            }
        }
    }
    false
}
