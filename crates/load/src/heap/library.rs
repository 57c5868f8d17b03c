//! What a function of the C++ or Rust library allocates, by the function's name: `std::__new_allocator<Node>::allocate`,
//! `<Box<ArcInner<Account>>>::new`, `<RawVec<u64>>::grow_one`.

/// A type that a function of a library allocates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Held {
    /// How people call the block.
    pub(super) name: String,
    /// The type in it, with the modules and namespaces that it is in.
    pub(super) within: String,
    pub(super) layout: Arrangement,
}

/// How a block holds something of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arrangement {
    /// One, or as many as there is room for.
    Plain,
    /// An array, if only of one.
    Array,
    /// One, behind the two counts of its owners.
    Counted(Counts),
    /// Pointers.
    Pointers,
    /// A table of Rust's `HashMap` or `HashSet`: a power of two of them, the first last, then a byte for each and 16 more.
    Table,
}

/// Who counts the owners of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Counts {
    /// `Arc` and `Rc`.
    Rust,
    /// `std::make_shared`.
    SharedPtr,
}

impl Counts {
    /// The bytes before what is counted.
    pub(super) const LENGTH: u64 = 16;

    /// The count at an offset.
    pub(super) fn named(self, offset: u64) -> Option<&'static str> {
        match (self, offset) {
            (Counts::Rust, 0) => Some("strong"),
            (Counts::Rust, 8) => Some("weak"),
            // The pipeline knows these names.
            (Counts::SharedPtr, 8) => Some("use_count"),
            (Counts::SharedPtr, 12) => Some("weak_count"),
            _ => None,
        }
    }
}

impl Held {
    /// What this function allocates.
    pub(super) fn by(function: &str) -> Option<Held> {
        by_cpp(function).or_else(|| by_rust(function))
    }
}

fn by_cpp(function: &str) -> Option<Held> {
    // The names of lambdas are not always demangled.
    if ["std::thread::thread<", "_ZNSt6threadC"].iter().any(|thread| function.starts_with(thread)) {
        let (name, within) = ("std::thread".to_owned(), String::new());
        return Some(Held { name, within, layout: Arrangement::Plain });
    }
    let element = arguments_after(function, "new_allocator<")?.first().copied()?;
    if let Some(shared) = arguments_after(element, "std::_Sp_counted_ptr_inplace<") {
        let within = shared.first()?.to_string();
        let name = format!("shared {}", short_name(&within));
        return Some(Held { name, within, layout: Arrangement::Counted(Counts::SharedPtr) });
    }
    let nodes = [
        ("std::_Rb_tree_node<", "tree node"),
        ("std::_List_node<", "list node"),
        ("std::_Fwd_list_node<", "list node"),
        ("std::__detail::_Hash_node<", "hash node"),
    ];
    let node = nodes.iter().find_map(|(node, name)| {
        let within = element.strip_prefix(node)?;
        Some(format!("{name} of {}", short_name(arguments(within).first()?)))
    });
    let (name, layout) = match node {
        Some(name) => (name, Arrangement::Plain),
        None if element == "std::__detail::_Hash_node_base*" => {
            ("hash buckets".to_owned(), Arrangement::Pointers)
        }
        None if element.ends_with('*') => (short_name(element), Arrangement::Pointers),
        None => (short_name(element), Arrangement::Plain),
    };
    Some(Held { name, within: element.to_owned(), layout })
}

fn by_rust(function: &str) -> Option<Held> {
    let of = |owner: &str, names: &[&str], within: &str, layout| {
        let names: Vec<String> = names.iter().map(|name| short_name(name)).collect();
        Held { name: format!("{owner}<{}>", names.join(", ")), within: within.to_owned(), layout }
    };
    // Whose function it is comes first. Older manglings have the parameters of a generic type for its arguments.
    let arguments_of = |owner: &str| {
        let arguments = arguments(function.strip_prefix('<').unwrap_or(function).strip_prefix(owner)?);
        arguments.iter().all(|argument| *argument != "T").then_some(arguments)
    };
    for (vector, owner) in [
        ("alloc::raw_vec::RawVec<", "Vec"),
        ("alloc::vec::Vec<", "Vec"),
        ("alloc::vec::from_elem::<", "Vec"),
        ("alloc::collections::vec_deque::VecDeque<", "VecDeque"),
    ] {
        if let Some([element, ..]) = arguments_of(vector).as_deref() {
            return Some(of(owner, &[element], element, Arrangement::Array));
        }
    }
    for node in ["LeafNode<", "InternalNode<"] {
        let path = format!("alloc::collections::btree::node::{node}");
        if let Some([key, value, ..]) = arguments_of(&path).as_deref() {
            let within = format!("{path}{key}, {value}>");
            return Some(of("BTreeMap node", &[key, value], &within, Arrangement::Plain));
        }
    }
    if let Some([entry, ..]) = arguments_of("hashbrown::raw::RawTable<").as_deref() {
        let both = entry.strip_prefix('(').map(arguments).filter(|both| both.len() == 2);
        return Some(match both.as_deref() {
            Some([key, "()"]) => of("HashSet", &[key], entry, Arrangement::Table),
            Some(both) => of("HashMap", both, entry, Arrangement::Table),
            None => of("HashTable", &[entry], entry, Arrangement::Table),
        });
    }
    let is_new = function.ends_with("::new") || function.contains("::new::<");
    let boxed = arguments_of("alloc::boxed::Box<").filter(|_| is_new)?;
    let within = boxed.first()?;
    let counted =
        [("alloc::sync::ArcInner<", "Arc"), ("alloc::rc::RcInner<", "Rc"), ("alloc::rc::RcBox<", "Rc")];
    let inner = counted.iter().find_map(|(inner, owner)| {
        let within = *arguments(within.strip_prefix(inner)?).first()?;
        Some(of(owner, &[within], within, Arrangement::Counted(Counts::Rust)))
    });
    Some(inner.unwrap_or_else(|| of("Box", &[within], within, Arrangement::Plain)))
}

/// The arguments in the `<..>` that these words open, if they occur.
fn arguments_after<'t>(text: &'t str, opening: &str) -> Option<Vec<&'t str>> {
    let start = text.find(opening)? + opening.len();
    Some(arguments(&text[start..]))
}

/// The arguments in brackets, without the opening bracket.
fn arguments(text: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let (mut depth, mut start) = (0i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            // The arrow of a function's type.
            '>' if text[..at].ends_with('-') => {}
            ',' if depth == 0 => {
                all.push(text[start..at].trim());
                start = at + 1;
            }
            '>' | ')' | ']' | '}' if depth == 0 => {
                all.push(text[start..at].trim());
                return all;
            }
            '<' | '(' | '[' | '{' => depth += 1,
            '>' | ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
    }
    all.push(text[start..].trim());
    all
}

/// A type as people write it: without modules and namespaces, and without what the C++ library adds by itself.
pub(super) fn short_name(kind: &str) -> String {
    const STRING: &str = "basic_string<char, char_traits<char>, allocator<char> >";
    const DEFAULTS: [&str; 5] = [", allocator<", ", less<", ", hash<", ", equal_to<", ", default_delete<"];
    if kind.contains("{closure#") {
        return "closure".to_owned();
    }
    let mut text = without_paths(kind).replace(STRING, "string").replace("const string", "string const");
    for default in DEFAULTS {
        while let Some(start) = text.find(default) {
            let within = &text[start + default.len()..];
            let length: usize = closing(within).unwrap_or(within.len());
            text.replace_range(start..start + default.len() + length, "");
        }
    }
    text.replace(" >", ">")
}

/// A type of C++ with `const` before what it belongs to: demanglers write it behind, debug information before names of classes.
pub(super) fn const_first(kind: &str) -> String {
    if let Some(rest) = kind.strip_suffix(" const") {
        return format!("const {}", const_first(rest));
    }
    let Some(start) = kind.find('<').filter(|_| kind.ends_with('>')) else { return kind.to_owned() };
    let all: Vec<String> = arguments(&kind[start + 1..]).into_iter().map(const_first).collect();
    let space = if all.last().is_some_and(|last| last.ends_with('>')) { " " } else { "" };
    format!("{}<{}{space}>", &kind[..start], all.join(", "))
}

/// Where what was opened before a text is closed: the length up to there, the sign included.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0i32;
    for (at, c) in text.char_indices() {
        match c {
            '>' if depth == 0 => return Some(at + 1),
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// A type without the modules and namespaces of what it is made of.
pub(super) fn without_paths(kind: &str) -> String {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(kind.len());
    let mut rest = kind;
    while let Some(first) = rest.chars().next() {
        let end =
            if is_word(first) { rest.find(|c| !is_word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (part, after) = rest.split_at(end);
        rest = match after.strip_prefix("::").filter(|_| is_word(first)) {
            Some(after) => after,
            None => {
                text.push_str(part);
                after
            }
        };
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn allocates(function: &str, name: &str, within: &str, layout: Arrangement) {
        let expected = Held { name: name.to_owned(), within: within.to_owned(), layout };
        assert_eq!(Held::by(function), Some(expected));
    }

    #[test]
    fn functions_of_the_cpp_library_name_what_they_allocate() {
        allocates(
            "std::__new_allocator<bank::Node<int, char> >::allocate(unsigned long, void const*)",
            "Node<int, char>",
            "bank::Node<int, char>",
            Arrangement::Plain,
        );
        allocates(
            "__gnu_cxx::new_allocator<std::_Sp_counted_ptr_inplace<Job, std::allocator<void>, (__gnu_cxx::_Lock_policy)2> >::allocate(unsigned long)",
            "shared Job",
            "Job",
            Arrangement::Counted(Counts::SharedPtr),
        );
        allocates(
            "std::__new_allocator<std::_Rb_tree_node<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, int> > >::allocate(unsigned long, void const*)",
            "tree node of pair<string const, int>",
            "std::_Rb_tree_node<std::pair<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> > const, int> >",
            Arrangement::Plain,
        );
        allocates(
            "std::__new_allocator<std::vector<int, std::allocator<int> > >::allocate(unsigned long, void const*)",
            "vector<int>",
            "std::vector<int, std::allocator<int> >",
            Arrangement::Plain,
        );
        assert_eq!(Held::by("main"), None);
    }

    #[test]
    fn functions_of_rusts_library_name_what_they_allocate() {
        allocates(
            "<alloc::boxed::Box<alloc::sync::ArcInner<std::sync::poison::mutex::Mutex<i32>>>>::new",
            "Arc<Mutex<i32>>",
            "std::sync::poison::mutex::Mutex<i32>",
            Arrangement::Counted(Counts::Rust),
        );
        allocates(
            "<alloc::boxed::Box<bank::Account>>::new",
            "Box<Account>",
            "bank::Account",
            Arrangement::Plain,
        );
        let shared = "<alloc::boxed::Box<alloc::sync::ArcInner<bank::Cell<alloc::vec::Vec<u64>>>>>::new";
        let within = "bank::Cell<alloc::vec::Vec<u64>>";
        allocates(shared, "Arc<Cell<Vec<u64>>>", within, Arrangement::Counted(Counts::Rust));
        allocates("<alloc::raw_vec::RawVec<u64>>::grow_one", "Vec<u64>", "u64", Arrangement::Array);
        allocates(
            "alloc::vec::from_elem::<bank::Account>",
            "Vec<Account>",
            "bank::Account",
            Arrangement::Array,
        );
        let table = "<hashbrown::raw::RawTable<(alloc::string::String, bank::Account)>>::reserve_rehash";
        let entry = "(alloc::string::String, bank::Account)";
        allocates(table, "HashMap<String, Account>", entry, Arrangement::Table);
        let set = "<hashbrown::raw::RawTable<(u32, ())>>::reserve_rehash";
        allocates(set, "HashSet<u32>", "(u32, ())", Arrangement::Table);
        let leaf = "<alloc::collections::btree::node::LeafNode<u32, bank::Account>>::new::<Global>";
        let within = "alloc::collections::btree::node::LeafNode<u32, bank::Account>";
        allocates(leaf, "BTreeMap node<u32, Account>", within, Arrangement::Plain);
        assert_eq!(Held::by("alloc::boxed::Box<T>::new"), None);
        assert_eq!(Held::by("alloc::vec::Vec<T>::push"), None);
        assert_eq!(Held::by("<alloc::boxed::Box<u32> as core::clone::Clone>::clone"), None);
    }

    #[test]
    fn what_is_constant_can_be_written_in_two_orders() {
        assert_eq!(
            const_first("std::_Rb_tree_node<std::pair<std::basic_string<char> const, int> >"),
            "std::_Rb_tree_node<std::pair<const std::basic_string<char>, int> >"
        );
        assert_eq!(const_first("Account"), "Account");
    }

    #[test]
    fn arguments_end_where_their_brackets_do() {
        assert_eq!(arguments("a<b, c>, (d, e), fn(f) -> g>::h"), ["a<b, c>", "(d, e)", "fn(f) -> g"]);
        assert_eq!(arguments("a"), ["a"]);
    }
}
