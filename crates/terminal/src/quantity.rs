//! Numbers as people write them: `10000000`, `10_000_000`, `10M`, `1e7`, `2.5k`.

use std::time::Duration;

/// A whole number.
pub fn quantity(text: &str) -> Result<u64, String> {
    let plain: String = text.chars().filter(|&c| c != '_').collect();
    if let Ok(number) = plain.parse() {
        return Ok(number);
    }
    let (digits, unit) = match plain.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&plain[..at], 1e3),
        Some((at, 'm' | 'M')) => (&plain[..at], 1e6),
        Some((at, 'g' | 'G')) => (&plain[..at], 1e9),
        _ => (plain.as_str(), 1.0),
    };
    /// Up to here every whole number is exact in floating point.
    const EXACT: f64 = 9_007_199_254_740_992.0;
    // Only digits may start it: floating point also knows words such as `inf`.
    let number = digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse::<f64>());
    match number {
        Some(Ok(number)) => match number * unit {
            whole if whole.fract() == 0.0 && whole <= EXACT => Ok(whole as u64),
            whole if whole.fract() == 0.0 => Err("too large".to_owned()),
            _ => Err("not a whole number".to_owned()),
        },
        _ => Err("expected a number such as 10000000, 10_000_000, 10M or 1e7".to_owned()),
    }
}

/// An amount of memory in bytes: `500M`, `4G`, `2GiB`, `1GB`. Units are decimal unless they say otherwise.
pub fn bytes(text: &str) -> Result<u64, String> {
    let plain = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let amount = match plain.strip_suffix(['i', 'I']) {
        Some(binary) => {
            let at = binary.len().saturating_sub(1);
            let shift = match binary.get(at..).map(str::to_ascii_lowercase).as_deref() {
                Some("k") => 10,
                Some("m") => 20,
                Some("g") => 30,
                _ => return Err(BYTES.to_owned()),
            };
            quantity(&binary[..at]).ok().and_then(|number| number.checked_mul(1 << shift))
        }
        None => quantity(plain).ok(),
    };
    amount.filter(|&amount| amount > 0).ok_or_else(|| BYTES.to_owned())
}

const BYTES: &str = "expected an amount such as 500M, 4G or 2GiB";

/// A time in seconds: `60`, `0.5`, `500ms`, `90s`, `10m`, `2h`.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => f64::NAN,
    };
    let number =
        digits.starts_with(|c: char| c.is_ascii_digit()).then(|| digits.parse::<f64>().ok()).flatten();
    let time = number.and_then(|number| Duration::try_from_secs_f64(number * unit).ok());
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "expected a time such as 60, 0.5, 500ms, 10m or 2h".to_owned())
}

/// A whole number of objects.
pub fn count(text: &str) -> Result<u32, String> {
    u32::try_from(quantity(text)?).map_err(|_| "too large".to_owned())
}

/// A number from 0 to 100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse::<f64>().ok();
    number.filter(|p| (0.0..=100.0).contains(p)).ok_or("expected a number from 0 to 100".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_as_people_write_them() {
        for (text, number) in [
            ("0", 0),
            ("10000000", 10_000_000),
            ("10_000_000", 10_000_000),
            ("10M", 10_000_000),
            ("1e8", 100_000_000),
            ("1E3", 1000),
            ("2.5k", 2500),
            ("4g", 4_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(quantity(text), Ok(number), "{text}");
        }
        for text in
            ["", "k", "-1", "+1M", "1.5", "0.0001k", "inf", "nan", "1e400", "1e30", "ten", "1M M", ".5k", "é"]
        {
            assert!(quantity(text).is_err(), "{text}");
        }
        let millis = |text| seconds(text).map(|time| time.as_millis());
        assert_eq!(
            (millis("60"), millis("0.5"), millis("500ms"), millis("10m"), millis("1.5h")),
            (Ok(60_000), Ok(500), Ok(500), Ok(600_000), Ok(5_400_000))
        );
        let refused = ["", "0", "-1", "s", "-1s", "5 s", "inf", "1e300", "1e400h", "1d", "3x", "é"];
        assert!(refused.iter().all(|text| seconds(text).is_err()));
        assert_eq!(
            (bytes("500M"), bytes("1GB"), bytes("2GiB"), bytes("4096")),
            (Ok(500_000_000), Ok(1_000_000_000), Ok(2 << 30), Ok(4096))
        );
        assert!(
            ["", "0", "B", "iB", "GiB", "99999999999GiB", "1X", "é", "éiB"]
                .iter()
                .all(|text| bytes(text).is_err())
        );
        assert!(count("5G").is_err());
        assert_eq!(percent("99.9"), Ok(99.9));
        assert_eq!(percent("5%"), Ok(5.0));
        assert!(percent("101").is_err() && percent("nan").is_err() && percent("").is_err());
    }
}
