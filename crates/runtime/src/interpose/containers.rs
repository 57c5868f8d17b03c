//! Trees and lists of the C++ library (libstdc++). The functions that link their nodes are compiled in the library, without instrumentation:
//! what they read and write is recorded here. Without it, a pointer to a node would seem never to change, and nothing would keep a
//! thread that found the node from coming after the one that removed it.

use core::cell::UnsafeCell;
use core::ffi::c_void;

use wire::Kind;

use super::hook;
use crate::hooks::range;
use crate::inside::{Inside, enter};
use crate::program::is_following;
use crate::real::real;

type Node = *mut c_void;

/// A node of a tree: its colour, and where its parent and its children are.
const PARENT: u64 = 8;
const LEFT: u64 = 16;
const RIGHT: u64 = 24;
/// The parts of a node: where they are, and how long.
const PARTS: [(u64, u64); 4] = [(0, 4), (PARENT, 8), (LEFT, 8), (RIGHT, 8)];

/// A node of a list: the next one, and the one before.
const NEXT: u64 = 0;
const PREVIOUS: u64 = 8;

/// A tree that is balanced and higher has more nodes than there is memory.
const HIGHEST: usize = 96;

/// Nodes change colour on the way up, and the links of a few. More changes are not recorded.
const MOST_CHANGES: usize = 128;

/// Records what is read and written. It stands at one place of the schedule, unless one is followed.
struct NodeAccesses<'i> {
    inside: &'i Inside,
    pc: u64,
    first: bool,
}

impl NodeAccesses<'_> {
    fn record(&mut self, reads: bool, address: u64, length: u64) {
        let kind = if reads { Kind::ReadRange } else { Kind::WriteRange };
        if self.first || is_following() {
            self.inside.stop_before(kind, address, length, self.pc);
        }
        self.first = false;
        range(self.inside, reads, address, length, self.pc);
    }

    /// Reads a pointer of the program.
    ///
    /// # Safety
    /// There is one.
    unsafe fn read(&mut self, address: u64) -> u64 {
        self.record(true, address, 8);
        // SAFETY: by the contract of this function.
        unsafe { word(address) }
    }

    fn write(&mut self, address: u64) {
        self.record(false, address, 8);
    }

    fn record_changes(&mut self, changes: [(u64, u64); MOST_CHANGES]) {
        for (address, length) in changes.into_iter().take_while(|(_, length)| *length > 0) {
            self.record(false, address, length);
        }
    }
}

/// # Safety
/// There is a pointer at this address.
unsafe fn word(address: u64) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe { (address as *const u64).read() }
}

/// The way from a node to the one after it, or with the sides exchanged to the one before.
///
/// # Safety
/// It is a node of a tree.
unsafe fn walk(accesses: &mut NodeAccesses<'_>, node: u64, [before, after]: [u64; 2]) {
    // SAFETY: nodes lead to nodes, and the tree has an end above and below.
    unsafe {
        let mut next = accesses.read(node + after);
        if next != 0 {
            for _ in 0..HIGHEST {
                next = accesses.read(next + before);
                if next == 0 {
                    return;
                }
            }
            return;
        }
        let (mut node, mut parent) = (node, accesses.read(node + PARENT));
        for _ in 0..HIGHEST {
            if accesses.read(parent + after) != node {
                return;
            }
            (node, parent) = (parent, accesses.read(parent + PARENT));
        }
    }
}

/// A node as it was.
#[derive(Clone, Copy)]
struct Before {
    node: u64,
    parts: [u64; 4],
}

/// The nodes of a tree that a change can concern, as they were: those from a node up to the root, their siblings, and what hangs on
/// that.
struct Neighbourhood(UnsafeCell<([Before; Neighbourhood::MOST], usize)>);

// SAFETY: who uses it has the token.
unsafe impl Sync for Neighbourhood {}

static NEIGHBOURHOOD: Neighbourhood =
    Neighbourhood(UnsafeCell::new(([Before { node: 0, parts: [0; 4] }; Neighbourhood::MOST], 0)));

impl Neighbourhood {
    const MOST: usize = 4 * HIGHEST + 16;

    /// Looks at the nodes around one, before a change.
    ///
    /// # Safety
    /// It is a node of the tree with this header, and the caller has the token.
    unsafe fn note(&self, lowest: u64, header: u64) {
        // SAFETY: by the contract of this function.
        let (kept, count) = unsafe { &mut *self.0.get() };
        *count = 0;
        let mut keep = |node: u64| {
            if node != 0 && *count < Self::MOST {
                // SAFETY: it is a node.
                let parts = PARTS.map(|(offset, length)| unsafe { part(node + offset, length) });
                kept[*count] = Before { node, parts };
                *count += 1;
            }
            node != 0
        };
        // SAFETY: nodes lead to nodes.
        unsafe {
            keep(header);
            for side in [LEFT, RIGHT] {
                keep_with_children(&mut keep, word(lowest + side));
            }
            keep(lowest);
            let (mut node, mut parent) = (lowest, word(lowest + PARENT));
            for _ in 0..HIGHEST {
                if parent == header || parent == 0 {
                    return;
                }
                keep(parent);
                let sibling = if word(parent + LEFT) == node { RIGHT } else { LEFT };
                keep_with_children(&mut keep, word(parent + sibling));
                (node, parent) = (parent, word(parent + PARENT));
            }
        }
    }

    /// What has changed since: addresses and lengths, then zeroes. Others may use the neighbourhood when this is recorded.
    ///
    /// # Safety
    /// The caller has the token.
    unsafe fn changes(&self) -> [(u64, u64); MOST_CHANGES] {
        // SAFETY: by the contract of this function.
        let (kept, count) = unsafe { &*self.0.get() };
        let mut changes = [(0, 0); MOST_CHANGES];
        let mut found = 0;
        for Before { node, parts } in &kept[..*count] {
            for ((offset, length), before) in PARTS.into_iter().zip(parts) {
                // SAFETY: nodes are freed by who called, later.
                let is_changed = unsafe { part(node + offset, length) } != *before;
                if is_changed && found < MOST_CHANGES {
                    changes[found] = (node + offset, length);
                    found += 1;
                }
            }
        }
        changes
    }
}

/// # Safety
/// It is a node or null.
unsafe fn keep_with_children(keep: &mut dyn FnMut(u64) -> bool, node: u64) {
    if keep(node) {
        // SAFETY: it is a node.
        let children = unsafe { [word(node + LEFT), word(node + RIGHT)] };
        children.into_iter().for_each(|child| {
            keep(child);
        });
    }
}

/// # Safety
/// There is such a part of a node at the address.
unsafe fn part(address: u64, length: u64) -> u64 {
    // SAFETY: by the contract of this function.
    unsafe {
        match length {
            4 => u64::from((address as *const u32).read()),
            _ => word(address),
        }
    }
}

/// The lowest node that is concerned when a node is taken out: the one that takes its place, if it has two children.
///
/// # Safety
/// It is a node of a tree.
unsafe fn lowest_of_erased(node: u64) -> u64 {
    // SAFETY: nodes lead to nodes.
    unsafe {
        let (left, mut next) = (word(node + LEFT), word(node + RIGHT));
        if left == 0 || next == 0 {
            return node;
        }
        while word(next + LEFT) != 0 {
            next = word(next + LEFT);
        }
        next
    }
}

/// Tells which way is taken in a tree.
///
/// # Safety
/// It is a node of a tree.
unsafe fn tell_walk(node: Node, sides: [u64; 2], pc: u64) {
    if let Some(inside) = enter() {
        let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
        // SAFETY: by the contract of this function.
        unsafe { walk(&mut accesses, node as u64, sides) };
    }
}

hook! {
    fn _ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node: Node; pc in "rsi") -> Node {
        tell_walk(node, [LEFT, RIGHT], pc);
        real!(_ZSt18_Rb_tree_incrementPSt18_Rb_tree_node_base(node => Node) -> Node)
    }
    fn _ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(node: Node; pc in "rsi") -> Node {
        tell_walk(node, [LEFT, RIGHT], pc);
        real!(_ZSt18_Rb_tree_incrementPKSt18_Rb_tree_node_base(node => Node) -> Node)
    }
    fn _ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node: Node; pc in "rsi") -> Node {
        tell_walk(node, [RIGHT, LEFT], pc);
        real!(_ZSt18_Rb_tree_decrementPSt18_Rb_tree_node_base(node => Node) -> Node)
    }
    fn _ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(node: Node; pc in "rsi") -> Node {
        tell_walk(node, [RIGHT, LEFT], pc);
        real!(_ZSt18_Rb_tree_decrementPKSt18_Rb_tree_node_base(node => Node) -> Node)
    }
    fn _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
        left: bool, node: Node, parent: Node, header: Node; pc in "r8"
    ) {
        let insert = || {
            real!(_ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_(
                left => bool, node => Node, parent => Node, header => Node
            ));
        };
        let Some(inside) = enter() else { return insert() };
        let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
        // What it leads to is not set yet.
        for (offset, length) in PARTS {
            accesses.record(false, node as u64 + offset, length);
        }
        NEIGHBOURHOOD.note(parent as u64, header as u64);
        insert();
        accesses.record_changes(NEIGHBOURHOOD.changes());
    }
    fn _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node: Node, header: Node; pc in "rdx") -> Node {
        let erase = || {
            real!(_ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_(node => Node, header => Node) -> Node)
        };
        let Some(inside) = enter() else { return erase() };
        let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
        for (offset, length) in PARTS {
            accesses.record(true, node as u64 + offset, length);
        }
        NEIGHBOURHOOD.note(lowest_of_erased(node as u64), header as u64);
        let erased = erase();
        accesses.record_changes(NEIGHBOURHOOD.changes());
        erased
    }
    fn _ZNSt8__detail15_List_node_base7_M_hookEPS0_(node: Node, before: Node; pc in "rdx") {
        if let Some(inside) = enter() {
            let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
            let (node, before) = (node as u64, before as u64);
            let previous = accesses.read(before + PREVIOUS);
            [node + NEXT, node + PREVIOUS, previous + NEXT, before + PREVIOUS]
                .into_iter()
                .for_each(|address| accesses.write(address));
        }
        real!(_ZNSt8__detail15_List_node_base7_M_hookEPS0_(node => Node, before => Node));
    }
    fn _ZNSt8__detail15_List_node_base9_M_unhookEv(node: Node; pc in "rsi") {
        if let Some(inside) = enter() {
            let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
            let next = accesses.read(node as u64 + NEXT);
            let previous = accesses.read(node as u64 + PREVIOUS);
            accesses.write(previous + NEXT);
            accesses.write(next + PREVIOUS);
        }
        real!(_ZNSt8__detail15_List_node_base9_M_unhookEv(node => Node));
    }
    fn _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node: Node, first: Node, end: Node; pc in "rcx") {
        if node != end
            && let Some(inside) = enter()
        {
            let mut accesses = NodeAccesses { inside: &inside, pc, first: true };
            let places = [node as u64, first as u64, end as u64];
            let previous = places.map(|place| accesses.read(place + PREVIOUS));
            previous.into_iter().for_each(|previous| accesses.write(previous + NEXT));
            places.into_iter().for_each(|place| accesses.write(place + PREVIOUS));
        }
        real!(_ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_(node => Node, first => Node, end => Node));
    }
}
