//! Counts of any size. Nearly all fit into 128 bits and stay there, without allocation: counting multiplies and adds millions of them.

use std::fmt;
use std::ops::{AddAssign, Mul};

use num_bigint::BigUint;

/// A natural number. Equal numbers are stored alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Natural(Form);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    Small(u128),
    /// 2^128 or more.
    Large(BigUint),
}

impl Natural {
    /// Nothing.
    pub const ZERO: Natural = Natural(Form::Small(0));

    fn to_large(&self) -> BigUint {
        match &self.0 {
            Form::Small(number) => BigUint::from(*number),
            Form::Large(number) => number.clone(),
        }
    }
}

impl From<BigUint> for Natural {
    fn from(number: BigUint) -> Natural {
        match u128::try_from(number) {
            Ok(small) => Natural(Form::Small(small)),
            Err(large) => Natural(Form::Large(large.into_original())),
        }
    }
}

impl From<u128> for Natural {
    fn from(number: u128) -> Natural {
        Natural(Form::Small(number))
    }
}

impl From<u64> for Natural {
    fn from(number: u64) -> Natural {
        Natural(Form::Small(number.into()))
    }
}

impl PartialEq<u128> for Natural {
    fn eq(&self, other: &u128) -> bool {
        self.0 == Form::Small(*other)
    }
}

impl AddAssign<&Natural> for Natural {
    fn add_assign(&mut self, other: &Natural) {
        let sum = match (&self.0, &other.0) {
            (Form::Small(a), Form::Small(b)) => a.checked_add(*b).map(Natural::from),
            _ => None,
        };
        *self = sum.unwrap_or_else(|| (self.to_large() + other.to_large()).into());
    }
}

impl Mul<&Natural> for &Natural {
    type Output = Natural;

    fn mul(self, other: &Natural) -> Natural {
        let product = match (&self.0, &other.0) {
            (Form::Small(a), Form::Small(b)) => a.checked_mul(*b).map(Natural::from),
            _ => None,
        };
        product.unwrap_or_else(|| (self.to_large() * other.to_large()).into())
    }
}

/// Decimal digits.
impl fmt::Display for Natural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Small(number) => number.fmt(f),
            Form::Large(number) => number.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Long multiplication of decimal digits, as at school.
    fn naive_product(a: &str, b: &str) -> String {
        let digits = |text: &str| text.bytes().rev().map(|digit| u32::from(digit - b'0')).collect::<Vec<_>>();
        let (a, b) = (digits(a), digits(b));
        let mut product = vec![0; a.len() + b.len() + 1];
        for (i, a) in a.iter().enumerate() {
            for (j, b) in b.iter().enumerate() {
                product[i + j] += a * b;
                let mut at = i + j;
                while product[at] > 9 {
                    product[at + 1] += product[at] / 10;
                    product[at] %= 10;
                    at += 1;
                }
            }
        }
        let text: String = product.iter().rev().map(|digit| char::from(b'0' + *digit as u8)).collect();
        let text = text.trim_start_matches('0');
        if text.is_empty() { "0".to_owned() } else { text.to_owned() }
    }

    #[test]
    fn products_are_as_at_school() {
        let mut power = Natural::from(1u64);
        let mut digits = "1".to_owned();
        for factor in
            [u64::MAX, 3, 10, 1 << 63, 7, 1, 10_000_000_000_000_000_000, u64::MAX, 97, u64::MAX, 2].repeat(3)
        {
            power = &power * &Natural::from(factor);
            digits = naive_product(&digits, &factor.to_string());
            assert_eq!(power.to_string(), digits);
            let square = &power * &power;
            assert_eq!(square.to_string(), naive_product(&digits, &digits));
        }
        assert_eq!((&power * &Natural::ZERO), 0);
    }

    #[test]
    fn sums_carry_across_the_limbs() {
        let mut sum = Natural::from(u128::MAX);
        sum += &Natural::from(1u64);
        assert_eq!(sum.to_string(), "340282366920938463463374607431768211456");
        let mut doubled = sum.clone();
        doubled += &sum;
        assert_eq!(doubled, &sum * &Natural::from(2u64));
        let mut many = Natural::ZERO;
        (0..1000).for_each(|_| many += &sum);
        assert_eq!(many, &Natural::from(1000u64) * &sum);
    }
}
