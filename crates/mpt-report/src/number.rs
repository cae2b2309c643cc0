//! The notation of figures.

/// Value from which figures are written with an exponent.
const HUGE: f64 = 1e15;

/// Returns a measured figure with about as many digits as the papers print.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        HUGE.. => format!("{value:e}"),
        1000.0.. => thousands(&format!("{value:.0}")),
        100.0.. => format!("{value:.1}"),
        1.0.. => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// Groups digits by threes.
fn thousands(digits: &str) -> String {
    let (sign, digits) = match digits.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", digits),
    };
    let mut shown = String::from(sign);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_papers_write_them() {
        let values = [0.0, 0.0456, 9.8, 98.612, 103.55, 999.96, 1020.4, 177_558.0, -1234.0, 12.0];
        let shown = values.map(number);
        let expected = [
            "0", "0.046", "9.80", "98.61", "103.5", "1000.0", "1,020", "177,558", "-1,234", "12.00",
        ];
        assert_eq!(shown, expected);
        assert_eq!(number(1e300), "1e300");
    }
}
