//! [`Chains`] against a naive twin that keeps a matrix of what precedes what.

use order::{Chains, Node};
use proptest::prelude::*;

/// The order as a matrix, closed anew after each edge.
#[derive(Default)]
struct Naive {
    nodes: Vec<Node>,
    before: Vec<Vec<bool>>,
}

impl Naive {
    fn index(&self, node: Node) -> usize {
        self.nodes.iter().position(|&n| n == node).unwrap()
    }

    fn push(&mut self, node: Node) {
        for row in &mut self.before {
            row.push(false);
        }
        self.nodes.push(node);
        self.before.push(vec![false; self.nodes.len()]);
        if node.position > 0 {
            self.insert(Node { position: node.position - 1, ..node }, node);
        }
    }

    fn precedes(&self, a: Node, b: Node) -> bool {
        self.before[self.index(a)][self.index(b)]
    }

    fn insert(&mut self, a: Node, b: Node) {
        let (a, b) = (self.index(a), self.index(b));
        self.before[a][b] = true;
        let n = self.nodes.len();
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    self.before[i][j] |= self.before[i][k] && self.before[k][j];
                }
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Action {
    AddChain,
    Push(usize),
    Insert(usize, usize),
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        1 => Just(Action::AddChain),
        4 => any::<usize>().prop_map(Action::Push),
        5 => (any::<usize>(), any::<usize>()).prop_map(|(a, b)| Action::Insert(a, b)),
    ]
}

proptest! {
    #[test]
    fn answers_as_the_naive_twin(actions in prop::collection::vec(action(), 0..40)) {
        let (mut chains, mut naive) = (Chains::new(), Naive::default());
        for action in actions {
            match action {
                Action::AddChain if chains.chains() < 5 => {
                    chains.add_chain();
                }
                Action::Push(chain) if chains.chains() > 0 => {
                    naive.push(chains.push((chain % chains.chains()) as u32));
                }
                Action::Insert(a, b) if !naive.nodes.is_empty() => {
                    let (a, b) = (naive.nodes[a % naive.nodes.len()], naive.nodes[b % naive.nodes.len()]);
                    let known = naive.precedes(a, b);
                    match chains.insert(a, b) {
                        Ok(new) => {
                            prop_assert_eq!(new, !known);
                            naive.insert(a, b);
                        }
                        Err(_) => prop_assert!(a == b || naive.precedes(b, a)),
                    }
                }
                _ => {}
            }
        }
        for &a in &naive.nodes {
            for &b in &naive.nodes {
                prop_assert_eq!(chains.precedes(a, b), naive.precedes(a, b), "{:?} before {:?}", a, b);
            }
            for chain in 0..chains.chains() as u32 {
                let of_chain = |n: &&Node| n.chain == chain;
                let after = naive.nodes.iter().filter(of_chain).filter(|&&n| naive.precedes(a, n));
                let first = after.map(|n| n.position).min().unwrap_or_else(|| chains.len(chain).max(
                    if chain == a.chain { a.position + 1 } else { 0 }));
                prop_assert_eq!(chains.first_after(a, chain), first);
                let before = naive.nodes.iter().filter(of_chain).filter(|&&n| naive.precedes(n, a));
                prop_assert_eq!(chains.before(a, chain) as usize, before.count());
            }
        }
    }
}

/// Everything a caller can see.
fn state_of(chains: &Chains) -> Vec<(u32, Vec<Vec<order::ChainStep>>)> {
    let all = 0..chains.chains() as u32;
    all.clone()
        .map(|of| (chains.len(of), all.clone().map(|about| chains.steps(of, about).to_vec()).collect()))
        .collect()
}

#[derive(Clone, Debug)]
enum Change {
    Mark,
    Undo,
    Do(Action),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => Just(Change::Mark),
        1 => Just(Change::Undo),
        6 => action().prop_map(Change::Do),
    ]
}

proptest! {
    #[test]
    fn going_back_restores_what_was(changes in prop::collection::vec(change(), 0..120)) {
        let mut chains = Chains::new();
        let mut marks = Vec::new();
        let node = |chains: &Chains, index: usize| {
            let nodes: Vec<Node> = (0..chains.chains() as u32)
                .flat_map(|chain| (0..chains.len(chain)).map(move |position| Node { chain, position }))
                .collect();
            (!nodes.is_empty()).then(|| nodes[index % nodes.len()])
        };
        for change in changes {
            match change {
                Change::Mark => marks.push((state_of(&chains), chains.mark())),
                Change::Undo => {
                    if let Some((before, mark)) = marks.pop() {
                        chains.undo_to(mark);
                        prop_assert_eq!(state_of(&chains), before);
                    }
                }
                Change::Do(Action::AddChain) if chains.chains() < 5 => {
                    chains.add_chain();
                }
                Change::Do(Action::Push(chain)) if chains.chains() > 0 => {
                    chains.push((chain % chains.chains()) as u32);
                }
                Change::Do(Action::Insert(a, b)) => {
                    if let (Some(a), Some(b)) = (node(&chains, a), node(&chains, b)) {
                        let _ = chains.insert(a, b);
                    }
                }
                Change::Do(_) => {}
            }
        }
        // The outermost first, too: it undoes those within it.
        if let Some((before, mark)) = marks.into_iter().next() {
            chains.undo_to(mark);
            prop_assert_eq!(state_of(&chains), before);
        }
    }
}
