//! The grammar, loosest first:
//!
//! ```text
//! expression = ("exists" | "forall") name {"," name} ":" expression | or
//! or         = and {"||" and}
//! and        = compare {"&&" compare}
//! compare    = sum [("==" | "!=" | "<" | "<=" | ">" | ">=") sum]
//! sum        = product {("+" | "-") product}
//! product    = unary {"*" unary}
//! unary      = ("!" | "-") unary | "(" expression ")" | number | text | name ["(" expression {"," expression} ")"]
//! ```

use std::ops::Range;

use super::PredicateError;
use super::token::{Token, tokens};

/// A part of a predicate and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expression {
    pub(super) what: ExpressionKind,
    pub(super) span: Range<usize>,
    /// How many parts lie in one another, at most: what follows an expression down calls itself that often.
    height: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpressionKind {
    Number(i64),
    Text(String),
    Name(String),
    Call(String, Vec<Expression>),
    Unary(&'static str, Box<Expression>),
    Binary(&'static str, Box<[Expression; 2]>),
    Quantified(Quantifier, Vec<(String, Range<usize>)>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Exists,
    ForAll,
}

/// Deeper ones are refused rather than overflow the stack.
const DEEPEST: usize = 200;
/// And so are higher ones: a sum of a thousand parts is as high as it is long.
const HIGHEST: usize = 500;

const LEVELS: [&[&str]; 5] = [&["||"], &["&&"], &["==", "!=", "<=", ">=", "<", ">"], &["+", "-"], &["*"]];
const COMPARISON: usize = 2;

pub(super) fn parse(text: &str) -> Result<Expression, PredicateError> {
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let expression = parser.expression()?;
    match parser.peek() {
        Token::End => Ok(expression),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn span(&self) -> Range<usize> {
        self.tokens[self.at].1.clone()
    }

    fn next(&mut self) -> Range<usize> {
        let span = self.span();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        span
    }

    /// The sign among these that comes next, taken.
    fn take(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let found = match self.peek() {
            Token::Sign(sign) => signs.iter().copied().find(|wanted| wanted == sign),
            _ => None,
        };
        if found.is_some() {
            self.next();
        }
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<Range<usize>, PredicateError> {
        let span = self.span();
        match self.take(&[sign]) {
            Some(_) => Ok(span),
            None => Err(self.unexpected(&format!("`{sign}`"))),
        }
    }

    fn unexpected(&self, wanted: &str) -> PredicateError {
        let found = match self.peek() {
            Token::End => "the end".to_owned(),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::Name(name) => format!("`{name}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Text(_) => "text".to_owned(),
        };
        PredicateError::new(self.span(), format!("expected {wanted}, found {found}"))
    }

    fn expression(&mut self) -> Result<Expression, PredicateError> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(PredicateError::new(self.span(), "this is nested too deeply"));
        }
        let quantifier = match self.peek() {
            Token::Name(name) if name == "exists" => Some(Quantifier::Exists),
            Token::Name(name) if name == "forall" => Some(Quantifier::ForAll),
            _ => None,
        };
        let expression = match quantifier {
            Some(quantifier) => self.quantified(quantifier),
            None => self.level(0),
        };
        self.depth -= 1;
        expression
    }

    fn quantified(&mut self, quantifier: Quantifier) -> Result<Expression, PredicateError> {
        let start = self.next().start;
        let mut names = Vec::new();
        loop {
            let Token::Name(name) = self.peek().clone() else {
                return Err(self.unexpected("a name for a thread"));
            };
            names.push((name, self.next()));
            if self.take(&[","]).is_none() {
                break;
            }
        }
        self.expect(":")?;
        let body = self.expression()?;
        let span = start..body.span.end;
        let height = body.height + names.len();
        expression(ExpressionKind::Quantified(quantifier, names, Box::new(body)), span, height)
    }

    /// Operators of this level and tighter ones, from left to right; comparisons do not chain.
    fn level(&mut self, level: usize) -> Result<Expression, PredicateError> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        if let [sign @ ("&&" | "||")] = signs {
            let mut parts = vec![left];
            while self.take(signs).is_some() {
                parts.push(self.operand(level + 1)?);
            }
            return joined(sign, parts);
        }
        while let Some(sign) = self.take(signs) {
            left = binary(sign, left, self.operand(level + 1)?)?;
            if level == COMPARISON && matches!(self.peek(), Token::Sign(sign) if signs.contains(sign)) {
                return Err(PredicateError::new(self.span(), "comparisons cannot be chained")
                    .help("write `a < b && b < c`"));
            }
        }
        Ok(left)
    }

    /// What follows an operator: a quantifier may stand there and reaches to the end.
    fn operand(&mut self, level: usize) -> Result<Expression, PredicateError> {
        match self.peek() {
            Token::Name(name) if name == "exists" || name == "forall" => self.expression(),
            _ => self.level(level),
        }
    }

    fn unary(&mut self) -> Result<Expression, PredicateError> {
        let span = self.span();
        if let Some(sign) = self.take(&["!", "-"]) {
            self.depth += 1;
            if self.depth > DEEPEST {
                return Err(PredicateError::new(span, "this is nested too deeply"));
            }
            let operand = self.unary()?;
            self.depth -= 1;
            let (span, height) = (span.start..operand.span.end, operand.height + 1);
            return expression(ExpressionKind::Unary(sign, Box::new(operand)), span, height);
        }
        if self.take(&["("]).is_some() {
            let inner = self.expression()?;
            let end = self.expect(")")?.end;
            return Ok(Expression { span: span.start..end, ..inner });
        }
        let what = match self.peek().clone() {
            Token::Number(number) => ExpressionKind::Number(number),
            Token::Text(text) => ExpressionKind::Text(text),
            Token::Name(name) => {
                self.next();
                return self.named(name, span);
            }
            Token::Sign(_) | Token::End => return Err(self.unexpected("a condition or a value")),
        };
        self.next();
        expression(what, span, 1)
    }

    fn named(&mut self, name: String, span: Range<usize>) -> Result<Expression, PredicateError> {
        if self.take(&["("]).is_none() {
            return expression(ExpressionKind::Name(name), span, 1);
        }
        let mut arguments = Vec::new();
        if self.take(&[")"]).is_none() {
            loop {
                arguments.push(self.expression()?);
                if self.take(&[","]).is_none() {
                    break;
                }
            }
            self.expect(")")?;
        }
        let end = self.tokens[self.at - 1].1.end;
        let height = 1 + arguments.iter().map(|argument| argument.height).max().unwrap_or(0);
        expression(ExpressionKind::Call(name, arguments), span.start..end, height)
    }
}

/// An expression, unless it is too high.
fn expression(what: ExpressionKind, span: Range<usize>, height: usize) -> Result<Expression, PredicateError> {
    match height > HIGHEST {
        true => Err(PredicateError::new(span, "this has too many parts")
            .help(format!("at most {HIGHEST} may lie in one another; `&&` and `||` join any number"))),
        false => Ok(Expression { what, span, height }),
    }
}

fn binary(sign: &'static str, left: Expression, right: Expression) -> Result<Expression, PredicateError> {
    let span = left.span.start..right.span.end;
    let height = 1 + left.height.max(right.height);
    expression(ExpressionKind::Binary(sign, Box::new([left, right])), span, height)
}

/// Parts joined by `&&` or by `||`, which may be grouped in any way: neighbours first, so that many parts are not high.
fn joined(sign: &'static str, mut parts: Vec<Expression>) -> Result<Expression, PredicateError> {
    while parts.len() > 1 {
        let mut pairs = Vec::with_capacity(parts.len().div_ceil(2));
        let mut rest = parts.into_iter();
        while let Some(left) = rest.next() {
            pairs.push(match rest.next() {
                Some(right) => binary(sign, left, right)?,
                None => left,
            });
        }
        parts = pairs;
    }
    Ok(parts.remove(0))
}
