//! Counts of any size. Nearly all fit into 128 bits and stay there; the rest are limbs.

use std::fmt;
use std::ops::{AddAssign, Mul};

/// A natural number. Equal numbers are stored alike.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Natural(Form);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Form {
    Small(u128),
    /// 2^128 or more: limbs, lowest first, the highest not zero.
    Large(Vec<u64>),
}

/// The largest power of ten in a limb, and its exponent.
const TEN_TO_19: u64 = 10_000_000_000_000_000_000;
const DIGITS: usize = 19;

impl Natural {
    /// Nothing.
    pub const ZERO: Natural = Natural(Form::Small(0));

    fn limbs(&self) -> Vec<u64> {
        match &self.0 {
            Form::Small(number) => vec![*number as u64, (*number >> 64) as u64],
            Form::Large(limbs) => limbs.clone(),
        }
    }

    fn of_limbs(mut limbs: Vec<u64>) -> Natural {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        let at = |index: usize| u128::from(limbs.get(index).copied().unwrap_or(0));
        if limbs.len() <= 2 { Natural(Form::Small(at(0) | at(1) << 64)) } else { Natural(Form::Large(limbs)) }
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
        if let (Form::Small(a), Form::Small(b)) = (&self.0, &other.0)
            && let Some(sum) = a.checked_add(*b)
        {
            self.0 = Form::Small(sum);
            return;
        }
        let (mut sum, other) = (self.limbs(), other.limbs());
        sum.resize(sum.len().max(other.len()) + 1, 0);
        let mut carry = 0;
        for (index, limb) in sum.iter_mut().enumerate() {
            let whole = u128::from(*limb) + u128::from(other.get(index).copied().unwrap_or(0)) + carry;
            (*limb, carry) = (whole as u64, whole >> 64);
        }
        *self = Natural::of_limbs(sum);
    }
}

impl Mul<&Natural> for &Natural {
    type Output = Natural;

    fn mul(self, other: &Natural) -> Natural {
        if let (Form::Small(a), Form::Small(b)) = (&self.0, &other.0)
            && let Some(product) = a.checked_mul(*b)
        {
            return product.into();
        }
        let (a, b) = (self.limbs(), other.limbs());
        let mut product = vec![0u64; a.len() + b.len()];
        for (low, &limb) in a.iter().enumerate() {
            let mut carry = 0;
            for (index, &other) in b.iter().enumerate() {
                let whole = u128::from(product[low + index]) + u128::from(limb) * u128::from(other) + carry;
                (product[low + index], carry) = (whole as u64, whole >> 64);
            }
            product[low + b.len()] = carry as u64;
        }
        Natural::of_limbs(product)
    }
}

/// Decimal digits.
impl fmt::Display for Natural {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = match &self.0 {
            Form::Small(number) => return write!(f, "{number}"),
            Form::Large(limbs) => limbs.clone(),
        };
        let mut groups = Vec::new();
        while !rest.is_empty() {
            let mut remainder = 0;
            for limb in rest.iter_mut().rev() {
                let whole = remainder << 64 | u128::from(*limb);
                *limb = (whole / u128::from(TEN_TO_19)) as u64;
                remainder = whole % u128::from(TEN_TO_19);
            }
            groups.push(remainder);
            while rest.last() == Some(&0) {
                rest.pop();
            }
        }
        let mut groups = groups.into_iter().rev();
        write!(f, "{}", groups.next().unwrap_or(0))?;
        groups.try_for_each(|group| write!(f, "{group:0DIGITS$}"))
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
        for factor in [u64::MAX, 3, 10, 1 << 63, 7, 1, TEN_TO_19, u64::MAX, 97, u64::MAX, 2].repeat(3) {
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
