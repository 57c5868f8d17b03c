//! Strongly connected components of a graph, without recursion: Tarjan, *Depth-first search and linear graph algorithms*
//! (1972). Linear in nodes and edges.

/// An edge between nodes, which are numbers below the graph's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) from: u32,
    pub(super) to: u32,
}

/// Not visited yet, or in no component yet.
const NONE: u32 = u32::MAX;

/// The component of each node. Two nodes are in the same one if each can be reached from the other.
pub(super) fn components(nodes: usize, edges: &[Edge]) -> Vec<u32> {
    let graph = Graph::new(nodes, edges);
    let mut search = Search {
        component: vec![NONE; nodes],
        index: vec![NONE; nodes],
        low: vec![NONE; nodes],
        open: Vec::new(),
        indices: 0,
        components: 0,
    };
    for root in 0..nodes as u32 {
        if search.index[root as usize] == NONE {
            search.visit_from(&graph, root);
        }
    }
    search.component
}

/// The edges by the node they leave.
struct Graph {
    /// Where each node's edges start in `targets`; one more at the end.
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    fn new(nodes: usize, edges: &[Edge]) -> Self {
        let mut starts = vec![0; nodes + 1];
        edges.iter().for_each(|edge| starts[edge.from as usize + 1] += 1);
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        let (mut next, mut targets) = (starts.clone(), vec![0; edges.len()]);
        for edge in edges {
            let slot = &mut next[edge.from as usize];
            targets[*slot as usize] = edge.to;
            *slot += 1;
        }
        Graph { starts, targets }
    }
}

struct Search {
    component: Vec<u32>,
    /// In which order nodes were visited.
    index: Vec<u32>,
    /// The earliest node in no component that is known to be reached from a node.
    low: Vec<u32>,
    /// Nodes visited and in no component, in the order of their visits.
    open: Vec<u32>,
    indices: u32,
    components: u32,
}

impl Search {
    fn visit_from(&mut self, graph: &Graph, root: u32) {
        // The path from the root, each node with its next edge.
        let mut path = vec![(root, self.enter(graph, root))];
        while let Some((node, next)) = path.last_mut() {
            let (node, edge) = (*node as usize, *next);
            if edge < graph.starts[node + 1] {
                *next += 1;
                let target = graph.targets[edge as usize];
                if self.index[target as usize] == NONE {
                    path.push((target, self.enter(graph, target)));
                } else if self.component[target as usize] == NONE {
                    self.low[node] = self.low[node].min(self.index[target as usize]);
                }
                continue;
            }
            path.pop();
            if let Some(&(parent, _)) = path.last() {
                self.low[parent as usize] = self.low[parent as usize].min(self.low[node]);
            }
            if self.low[node] == self.index[node] {
                self.close(node as u32);
            }
        }
    }

    /// Visits a node. Its first edge.
    fn enter(&mut self, graph: &Graph, node: u32) -> u32 {
        self.index[node as usize] = self.indices;
        self.low[node as usize] = self.indices;
        self.indices += 1;
        self.open.push(node);
        graph.starts[node as usize]
    }

    /// Makes a component of the open nodes from this one on.
    fn close(&mut self, first: u32) {
        while let Some(node) = self.open.pop() {
            self.component[node as usize] = self.components;
            if node == first {
                break;
            }
        }
        self.components += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The naive twin: who reaches whom, by trying every node in between.
    fn reaches(nodes: usize, edges: &[Edge]) -> Vec<Vec<bool>> {
        let mut reaches = vec![vec![false; nodes]; nodes];
        (0..nodes).for_each(|node| reaches[node][node] = true);
        edges.iter().for_each(|edge| reaches[edge.from as usize][edge.to as usize] = true);
        for (between, from, to) in
            (0..nodes.pow(3)).map(|n| (n / nodes / nodes, n / nodes % nodes, n % nodes))
        {
            reaches[from][to] |= reaches[from][between] && reaches[between][to];
        }
        reaches
    }

    #[test]
    fn nodes_of_a_component_reach_each_other() {
        let mut state = 1u32;
        let mut random = |below: usize| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as usize % below
        };
        for _ in 0..2_000 {
            let nodes = 1 + random(9);
            let edge = |_| Edge { from: random(nodes) as u32, to: random(nodes) as u32 };
            let edges: Vec<Edge> = (0..nodes * 3 / 2).map(edge).collect();
            let (found, reaches) = (components(nodes, &edges), reaches(nodes, &edges));
            for (a, b) in (0..nodes * nodes).map(|pair| (pair / nodes, pair % nodes)) {
                assert_eq!(found[a] == found[b], reaches[a][b] && reaches[b][a], "{edges:?}: {a} {b}");
            }
        }
    }

    #[test]
    fn a_path_of_any_length_fits_on_the_stack() {
        let edges: Vec<Edge> = (0..1_000_000).map(|from| Edge { from, to: from + 1 }).collect();
        assert_eq!(components(1_000_001, &edges).iter().max(), Some(&1_000_000));
    }
}
