//! The types of expressions in a line of source, from the declared types of the variables in scope: what `c->state` and
//! `sizeof *c` are about.
//!
//! This is no parser of C. It reads chains of names, `->`, `.` and `[..]`; a chain that it cannot follow is left out. What it finds
//! is compared with the offset and the size of the access, so that a wrong guess is not believed.

use super::debug::{DebugInfo, Scope, TypeNumber};
use super::source::Token;

/// Something that a line reaches through a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Reached {
    /// What the pointer points to.
    pub(super) pointee: TypeNumber,
    /// The part of it, without indices: `.jobs[].id`.
    pub(super) part: String,
}

/// The largest structure that is looked into.
const LARGEST: u64 = 4096;

impl Reached {
    /// Where in what the pointer points to something of a length lies that this can be.
    pub(super) fn places<'d>(
        &'d self,
        debug: &'d DebugInfo,
        length: Option<u64>,
    ) -> impl Iterator<Item = u64> + 'd {
        let types = debug.types();
        (0..types.size(self.pointee).min(LARGEST)).filter(move |&into| {
            let path = types.path(self.pointee, into, length);
            path.is_exact && without_indices(&path.text) == self.part
        })
    }
}

/// Where the names of a line are looked up.
pub(super) struct Typing<'d> {
    pub(super) debug: &'d mut DebugInfo,
    pub(super) scope: Option<&'d Scope>,
}

/// A chain of names as far as it was followed.
struct Chain {
    kind: TypeNumber,
    reached: Option<Reached>,
    /// Where the tokens continue.
    next: usize,
}

impl Typing<'_> {
    /// All that a line reaches through pointers.
    pub(super) fn reached(&mut self, tokens: &[Token<'_>]) -> Vec<Reached> {
        let mut all = Vec::new();
        for at in 0..tokens.len() {
            if !starts_a_chain(tokens, at) {
                continue;
            }
            let Some(chain) = self.chain(tokens, at, &mut all) else { continue };
            all.extend(chain.reached);
            let is_followed = at > 0 && tokens[at - 1] == Token::Sign("*");
            if let Some(pointee) = self.debug.pointee(chain.kind).filter(|_| is_followed) {
                all.push(Reached { pointee, part: String::new() });
            }
        }
        all
    }

    /// The type of the expression that these tokens are.
    pub(super) fn expression(&mut self, tokens: &[Token<'_>]) -> Option<TypeNumber> {
        let stars = tokens.iter().take_while(|&&token| token == Token::Sign("*")).count();
        let chain = self.chain(tokens, stars, &mut Vec::new())?;
        let mut kind = chain.kind;
        for _ in 0..stars {
            kind = self.debug.pointee(kind)?;
        }
        (chain.next == tokens.len()).then_some(kind)
    }

    /// The type of the variable or member that the word at a position starts with, followed as far as the chain goes.
    fn chain(&mut self, tokens: &[Token<'_>], at: usize, all: &mut Vec<Reached>) -> Option<Chain> {
        let Some(&Token::Word(first)) = tokens.get(at) else { return None };
        let mut chain = self.start(first, at + 1)?;
        loop {
            let step = match (tokens.get(chain.next), tokens.get(chain.next + 1)) {
                (Some(Token::Sign("->" | ".")), Some(&Token::Word(member))) => self.member(&chain, member),
                (Some(Token::Sign("[")), _) => self.element(&chain, tokens),
                _ => None,
            };
            let Some(next) = step else { return Some(chain) };
            all.extend(chain.reached.take());
            chain = next;
        }
    }

    fn start(&mut self, name: &str, next: usize) -> Option<Chain> {
        if let Some(local) = self.scope.and_then(|scope| scope.named(name)) {
            let kind = self.debug.number(local.kind()?)?;
            return Some(Chain { kind, reached: None, next });
        }
        // In a method, a member needs no more than its name.
        if let Some(this) = self.scope.and_then(|scope| scope.named("this")) {
            let this = self.debug.number(this.kind()?)?;
            let pointee = self.debug.pointee(this)?;
            if let Some(kind) = self.debug.types().member(pointee, name) {
                return Some(Chain {
                    kind,
                    reached: Some(Reached { pointee, part: format!(".{name}") }),
                    next,
                });
            }
        }
        let kind = self.debug.global_named(name)?;
        Some(Chain { kind, reached: None, next })
    }

    fn member(&mut self, chain: &Chain, member: &str) -> Option<Chain> {
        let next = chain.next + 2;
        if let Some(kind) = self.debug.types().member(chain.kind, member) {
            let reached = chain
                .reached
                .as_ref()
                .map(|reached| Reached { part: format!("{}.{member}", reached.part), ..reached.clone() });
            return Some(Chain { kind, reached, next });
        }
        let pointee = self.debug.pointee(chain.kind)?;
        let kind = self.debug.types().member(pointee, member)?;
        Some(Chain { kind, reached: Some(Reached { pointee, part: format!(".{member}") }), next })
    }

    fn element(&mut self, chain: &Chain, tokens: &[Token<'_>]) -> Option<Chain> {
        let next = closing(tokens, chain.next, "[", "]")? + 1;
        if let Some(kind) = self.debug.types().element(chain.kind) {
            let reached = chain
                .reached
                .as_ref()
                .map(|reached| Reached { part: format!("{}[]", reached.part), ..reached.clone() });
            return Some(Chain { kind, reached, next });
        }
        let pointee = self.debug.pointee(chain.kind)?;
        Some(Chain { kind: pointee, reached: Some(Reached { pointee, part: String::new() }), next })
    }

    /// The type of what a statement allocates, as far as it says: by `sizeof`, `new`, a cast, or what the result is assigned to. Returns
    /// each that it can be, the best first.
    pub(super) fn allocated(&mut self, tokens: &[Token<'_>]) -> Vec<TypeNumber> {
        let mut all = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let kind = match token {
                Token::Word("sizeof") => self.operand_of_sizeof(&tokens[at + 1..]),
                Token::Word("new") => self.named(after_placement(&tokens[at + 1..])).map(|(kind, _)| kind),
                Token::Word("make_unique" | "make_shared")
                    if tokens.get(at + 1) == Some(&Token::Sign("<")) =>
                {
                    self.named(&tokens[at + 2..]).map(|(kind, _)| kind)
                }
                _ => None,
            };
            all.extend(kind);
        }
        for at in 0..tokens.len() {
            // `sizeof(conn *)` is about a pointer, not about what it points to.
            let is_measured = at > 0 && tokens[at - 1] == Token::Word("sizeof");
            if tokens[at] == Token::Sign("(")
                && !is_measured
                && let Some((kind, length)) = self.named(&tokens[at + 1..])
                && tokens[at + 1 + length..].starts_with(&[Token::Sign("*"), Token::Sign(")")])
            {
                all.push(kind);
            }
        }
        let assigned = tokens.iter().position(|&token| token == Token::Sign("="));
        let assigned = assigned.and_then(|assigned| {
            // `conn *c`: the name that is assigned to comes last.
            let start = (0..assigned).rfind(|&at| starts_a_chain(tokens, at))?;
            let kind = self.expression(&tokens[start..assigned])?;
            self.debug.pointee(kind)
        });
        all.extend(assigned);
        all
    }

    fn operand_of_sizeof(&mut self, tokens: &[Token<'_>]) -> Option<TypeNumber> {
        if tokens.first() != Some(&Token::Sign("(")) {
            let end =
                1 + tokens.iter().skip(1).position(|token| matches!(token, Token::Sign(")" | "," | ";")))?;
            return self.expression(&tokens[..end]);
        }
        let within = &tokens[1..closing(tokens, 0, "(", ")")?];
        let named = self.named(within).filter(|&(_, length)| length == within.len());
        self.expression(within).or(named.map(|(kind, _)| kind))
    }

    /// The type whose name these tokens start with, and how many tokens that takes.
    fn named(&mut self, tokens: &[Token<'_>]) -> Option<(TypeNumber, usize)> {
        let mut at = 0;
        while matches!(tokens.get(at), Some(Token::Word("struct" | "class" | "union" | "const"))) {
            at += 1;
        }
        loop {
            let &Token::Word(name) = tokens.get(at)? else { return None };
            at += 1;
            if tokens.get(at) == Some(&Token::Sign("::")) {
                at += 1;
                continue;
            }
            if tokens.get(at) != Some(&Token::Sign("<")) {
                return Some((self.debug.type_named(name)?, at));
            }
            // As debug information spells it.
            let end = closing(tokens, at, "<", ">")?;
            let arguments: Vec<&str> = tokens[at + 1..end]
                .iter()
                .map(|token| match token {
                    Token::Sign(",") => ", ",
                    Token::Word(text) | Token::Sign(text) => text,
                })
                .collect();
            let name = format!("{name}<{}>", arguments.concat());
            return Some((self.debug.type_named(&name)?, end + 1));
        }
    }
}

/// What follows the arguments of `new` itself: the type in `new (std::nothrow) Node(1)`.
fn after_placement<'t, 's>(tokens: &'t [Token<'s>]) -> &'t [Token<'s>] {
    let end =
        tokens.first().filter(|&&first| first == Token::Sign("(")).and_then(|_| closing(tokens, 0, "(", ")"));
    match end.map(|end| &tokens[end + 1..]) {
        Some(rest @ [Token::Word(_), ..]) => rest,
        _ => tokens,
    }
}

/// Whether the word at a position is the first of a chain of names.
fn starts_a_chain(tokens: &[Token<'_>], at: usize) -> bool {
    let follows = at.checked_sub(1).map(|before| tokens[before]);
    let is_word = matches!(tokens[at], Token::Word(word) if !word.starts_with(|c: char| c.is_ascii_digit()));
    is_word && !matches!(follows, Some(Token::Sign("->" | "." | "::")))
}

/// Where what opens at a position closes.
fn closing(tokens: &[Token<'_>], at: usize, open: &str, close: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign(sign) if *sign == open => depth += 1,
            Token::Sign(sign) if *sign == close => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(index);
                }
            }
            _ => {}
        }
    }
    None
}

/// A part of something without its indices.
pub(super) fn without_indices(part: &str) -> String {
    let mut text = String::with_capacity(part.len());
    let mut within = false;
    for c in part.chars() {
        within &= c != ']';
        if !within {
            text.push(c);
        }
        within |= c == '[';
    }
    text
}
