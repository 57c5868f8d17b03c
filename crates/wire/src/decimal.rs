//! Decimal numbers without allocation.

/// The number that this text is, if it is nothing but digits and fits.
pub fn parse_decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |number, &digit| {
        number
            .checked_mul(10)?
            .checked_add(u64::from(digit.wrapping_sub(b'0')))
            .filter(|_| digit.is_ascii_digit())
    })
}

/// The number as text.
pub fn decimal(mut number: u64, buffer: &mut [u8; 20]) -> &[u8] {
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &buffer[at..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_there_and_back() {
        for number in [0, 7, 10, 98, u64::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
            assert_eq!(parse_decimal(decimal(number, &mut [0; 20])), Some(number));
        }
        for text in ["", "-1", "1x", " 1", "18446744073709551616", "0x1"] {
            assert_eq!(parse_decimal(text.as_bytes()), None, "{text}");
        }
    }
}
