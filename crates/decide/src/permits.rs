//! Counting permits: which posts each take of a semaphore can rely on.
//!
//! An order of posts and takes is legal exactly if each take beyond the initial permits can be paired with a
//! post before it. So if no pairing exists with the posts that *can* come before each take, there is no
//! schedule (Hall's theorem identifies the takes at fault). Once it is settled for every post and take which
//! comes first, a pairing means that every remaining order is legal.
//!
//! Cost: a number for each take and each thread that posts, and for the pairing a look at each take and post. Where that is more than
//! [`MOST`], or takes longer than there is time, nothing is known.

use check::Split;
use order::Node;
use trace::{EventId, Op};

use crate::state::{Conflict, NONE, State};

/// How many numbers are kept.
const MOST: usize = 1 << if cfg!(test) { 12 } else { 26 };

/// A post and a take whose order is open, if a pairing is still possible.
pub(crate) fn split(state: &mut State<'_>, blocked: EventId) -> Result<Split, Conflict> {
    let Op::Take(semaphore) = state.index.trace().op(blocked) else {
        unreachable!("only takes wait for permits");
    };
    let takes = state.semaphores[state.semaphore_index[&semaphore]].takes.clone();
    let posts = available_posts(state, blocked);
    let limits = Limits::of(state, &takes, &posts)?;
    let can_supply = |take: usize, post: usize| limits.can_supply(take, posts[post]);
    let initial = state.permits_at_start(semaphore).max(0) as usize;
    let pairing =
        Pairing { takes: takes.len(), posts: posts.len(), can_supply, is_over: || state.is_over_budget() };
    if let Some(starved) = pairing.starved(initial)? {
        return Err(Conflict::NoPermits(starved.iter().map(|&take| state.event(takes[take])).collect()));
    }
    let first = takes.iter().position(|&take| state.event(take) == blocked).unwrap_or(0);
    let in_turn = (0..takes.len()).map(|offset| (first + offset) % takes.len());
    for take in in_turn {
        state.mind_budget()?;
        for &post in &posts {
            let settled = state.is_needed(post) && state.order.precedes(post, takes[take]);
            if limits.can_supply(take, post) && !settled {
                return Ok(Split::Supply { post: state.event(post), take: state.event(takes[take]) });
            }
        }
    }
    unreachable!("with every post settled and a pairing, no take can be blocked")
}

/// From where on posts come after takes.
struct Limits {
    /// By chain, the column of the table.
    columns: Vec<u32>,
    width: usize,
    /// For each take a row: the position in a chain from which on posts come after it.
    table: Vec<u32>,
}

impl Limits {
    fn of(state: &mut State<'_>, takes: &[Node], posts: &[Node]) -> Result<Self, Conflict> {
        let mut chains: Vec<u32> = posts.iter().map(|post| post.chain).collect();
        chains.sort_unstable();
        chains.dedup();
        if takes.len().saturating_mul(chains.len()) > MOST {
            return Err(Conflict::OutOfBudget);
        }
        let mut columns = vec![NONE; state.chains.len()];
        for (column, &chain) in chains.iter().enumerate() {
            columns[chain as usize] = column as u32;
        }
        let mut table = Vec::with_capacity(takes.len() * chains.len());
        for &take in takes {
            state.mind_budget()?;
            table.extend(chains.iter().map(|&chain| first_behind(state, take, chain)));
        }
        Ok(Limits { columns, width: chains.len(), table })
    }

    /// Whether a post is not known to come after the take of this number.
    fn can_supply(&self, take: usize, post: Node) -> bool {
        post.position < self.table[take * self.width + self.columns[post.chain as usize] as usize]
    }
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
    first_behind(state, take, post.chain) <= post.position
}

/// The position in a chain from which on posts, if they happen at all, are known to come after a take; [`NONE`] if no post is.
fn first_behind(state: &mut State<'_>, take: Node, chain: u32) -> u32 {
    let after = state.order.first_after(take, chain);
    let mut first = if after < state.order.len(chain) { after } else { NONE };
    for index in 0..state.deferred.len() {
        let (after, deferred, _) = state.deferred[index];
        let deferred = state.locate(deferred);
        if deferred.chain == chain
            && deferred.position < first
            && (after == take || state.order.precedes(take, after))
        {
            first = deferred.position;
        }
    }
    first
}

/// Takes and posts to be paired, by number.
struct Pairing<S, O> {
    takes: usize,
    posts: usize,
    /// Whether a take can use a post.
    can_supply: S,
    /// Whether there is no time to go on.
    is_over: O,
}

/// A take on the path of displacements that [`Pairing::pair`] follows.
struct Displaced {
    take: usize,
    /// The next post to try for it. The post before is the one it takes over if the path succeeds.
    next: usize,
}

impl<S: Fn(usize, usize) -> bool, O: Fn() -> bool> Pairing<S, O> {
    /// Takes that cannot all be supplied, if there are such: those that a largest pairing leaves out
    /// beyond the initial permits, and all that compete with them.
    fn starved(&self, initial: usize) -> Result<Option<Vec<usize>>, Conflict> {
        let mut supplied_by: Vec<Option<usize>> = vec![None; self.posts];
        let mut unpaired = Vec::new();
        for take in 0..self.takes {
            if !self.pair(take, &mut supplied_by, &mut vec![false; self.posts])? {
                unpaired.push(take);
            }
        }
        if unpaired.len() <= initial {
            return Ok(None);
        }
        let mut competing = vec![false; self.takes];
        let mut work = unpaired;
        while let Some(take) = work.pop() {
            self.mind_time()?;
            if !std::mem::replace(&mut competing[take], true) {
                let posts = (0..self.posts).filter(|&post| (self.can_supply)(take, post));
                work.extend(posts.filter_map(|post| supplied_by[post]));
            }
        }
        Ok(Some((0..self.takes).filter(|&take| competing[take]).collect()))
    }

    /// Finds a post for a take, moving other takes to other posts if need be.
    ///
    /// The path of displacements can be as long as there are posts, so it is kept on the heap.
    fn pair(
        &self,
        take: usize,
        supplied_by: &mut [Option<usize>],
        tried: &mut [bool],
    ) -> Result<bool, Conflict> {
        let mut path = vec![Displaced { take, next: 0 }];
        while let Some(Displaced { take, next }) = path.last_mut() {
            self.mind_time()?;
            let mut untried = (*next..self.posts).filter(|&post| !tried[post]);
            let Some(post) = untried.find(|&post| (self.can_supply)(*take, post)) else {
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
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    fn mind_time(&self) -> Result<(), Conflict> {
        if (self.is_over)() { Err(Conflict::OutOfBudget) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use check::{Model, Question};
    use order::Index;

    use super::*;
    use crate::{Options, Verdict, decide};

    fn of_table(
        can_supply: &[Vec<bool>],
        posts: usize,
    ) -> Pairing<impl Fn(usize, usize) -> bool, fn() -> bool> {
        let takes = can_supply.len();
        Pairing {
            takes,
            posts,
            can_supply: |take: usize, post: usize| can_supply[take][post],
            is_over: || false,
        }
    }

    /// The textbook form of [`Pairing::pair`].
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
            let pairing = of_table(&can_supply, posts);
            for take in 0..takes {
                assert_eq!(
                    pairing.pair(take, &mut iterative, &mut vec![false; posts]).ok(),
                    Some(pair_recursively(take, &can_supply, &mut recursive, &mut vec![false; posts])),
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
            assert_eq!(of_table(&can_supply, TAKES).starved(0).ok(), Some(None));
            for take in &mut can_supply {
                take[TAKES - 1] = false;
            }
            assert_eq!(of_table(&can_supply, TAKES).starved(0).ok(), Some(Some((0..TAKES).collect())));
        };
        let small = std::thread::Builder::new().stack_size(64 << 10).spawn(judge);
        small.expect("the thread starts").join().expect("the pairing fits a small stack");
    }

    /// One thread takes as many permits as there are threads that post one each, and the last take is to come before the first post.
    fn last_take_before_first_post(posters: u32) -> Verdict {
        let posts = (1..=posters).map(|thread| format!("T{thread}|post(s)|a\n"));
        let takes = (1..=posters).map(|_| "T0|take(s)|b\n".to_owned());
        let text: String = posts.chain(takes).collect();
        let trace = trace::text::read(text.as_bytes()).expect("the run can have happened");
        let question = Question::Order(vec![EventId(2 * posters - 1), EventId(0)]);
        let verdict = decide(&Index::new(&trace), &question, Model::Sync, Options::default());
        verdict.expect("it can be asked")
    }

    #[test]
    fn what_would_take_too_large_a_table_is_unknown() {
        assert!(matches!(last_take_before_first_post(60), Verdict::Infeasible(_)));
        assert!(matches!(last_take_before_first_post(70), Verdict::Unknown { .. }));
    }
}
