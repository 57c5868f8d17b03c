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
        Ok(Expression { what: ExpressionKind::Quantified(quantifier, names, Box::new(body)), span })
    }

    /// Operators of this level and tighter ones, from left to right; comparisons do not chain.
    fn level(&mut self, level: usize) -> Result<Expression, PredicateError> {
        let Some(signs) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some(sign) = self.take(signs) {
            let right = self.operand(level + 1)?;
            let span = left.span.start..right.span.end;
            left = Expression { what: ExpressionKind::Binary(sign, Box::new([left, right])), span };
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
            let span = span.start..operand.span.end;
            return Ok(Expression { what: ExpressionKind::Unary(sign, Box::new(operand)), span });
        }
        if self.take(&["("]).is_some() {
            let inner = self.expression()?;
            let end = self.expect(")")?.end;
            return Ok(Expression { what: inner.what, span: span.start..end });
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
        Ok(Expression { what, span })
    }

    fn named(&mut self, name: String, span: Range<usize>) -> Result<Expression, PredicateError> {
        if self.take(&["("]).is_none() {
            return Ok(Expression { what: ExpressionKind::Name(name), span });
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
        Ok(Expression { what: ExpressionKind::Call(name, arguments), span: span.start..end })
    }
}
