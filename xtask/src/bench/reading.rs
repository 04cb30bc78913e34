//! Numbers as people read them: few digits, a unit that fits, and how many times as much.

/// A measured value in the unit that reads best.
pub(crate) fn told(value: f64, unit: &str) -> String {
    match unit {
        "ns" => scaled(value, &[("ns", 1.0), ("µs", 1e3), ("ms", 1e6), ("s", 1e9)]),
        "bytes" => scaled(value, &[("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9)]),
        "per second" => format!("{} a second", thousands(value)),
        other => format!("{} {other}", digits(value)),
    }
}

/// How many times as much, or what part of it.
pub(crate) fn times(ratio: f64) -> String {
    if ratio >= 999.5 {
        // More digits would promise what no clock keeps.
        let step = 10f64.powf(ratio.log10().floor() - 1.0);
        format!("{}×", thousands((ratio / step).round() * step))
    } else if ratio >= 9.95 {
        format!("{}×", thousands(ratio))
    } else if ratio >= 0.995 {
        format!("{ratio:.1}×")
    } else if ratio >= 0.0995 {
        format!("{ratio:.2}×")
    } else {
        format!("{ratio:.3}×")
    }
}

/// A number with its thousands apart.
pub(crate) fn thousands(value: f64) -> String {
    let plain = format!("{value:.0}");
    let mut apart = String::new();
    for (place, digit) in plain.chars().enumerate() {
        if place > 0 && (plain.len() - place).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

/// Whether more of this unit is better.
pub(crate) fn is_more_better(unit: &str) -> bool {
    unit == "per second"
}

fn scaled(value: f64, units: &[(&str, f64)]) -> String {
    // What would be shown as a thousand of one unit is one of the next.
    let fits = units.iter().rev().find(|(_, one)| value / one >= 0.9995).or(units.first());
    fits.map_or_else(|| digits(value), |(name, one)| format!("{} {name}", digits(value / one)))
}

fn digits(value: f64) -> String {
    if value < 9.95 { format!("{value:.1}") } else { thousands(value) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_told_in_the_unit_that_reads_best() {
        for (value, unit, text) in [
            (0.42, "ns", "0.4 ns"),
            (312.4, "ns", "312 ns"),
            (999.4, "ns", "999 ns"),
            (999.9, "ns", "1.0 µs"),
            (1_240.0, "ns", "1.2 µs"),
            (84_000.0, "ns", "84 µs"),
            (9_960_000.0, "ns", "10 ms"),
            (4.2e9, "ns", "4.2 s"),
            (123e9, "ns", "123 s"),
            (2_345e9, "ns", "2,345 s"),
            (512.0, "bytes", "512 B"),
            (1.5e6, "bytes", "1.5 MB"),
            (1_234_567.0, "per second", "1,234,567 a second"),
            (7.0, "lines", "7.0 lines"),
        ] {
            assert_eq!(told(value, unit), text);
        }
    }

    #[test]
    fn ratios_have_the_digits_that_matter() {
        for (ratio, text) in [
            (0.004, "0.004×"),
            (0.0999, "0.10×"),
            (0.78, "0.78×"),
            (0.994, "0.99×"),
            (0.996, "1.0×"),
            (1.0, "1.0×"),
            (9.94, "9.9×"),
            (9.96, "10×"),
            (190.4, "190×"),
            (999.4, "999×"),
            (999.6, "1,000×"),
            (1_260.0, "1,300×"),
            (12_345.0, "12,000×"),
            (996_000.0, "1,000,000×"),
        ] {
            assert_eq!(times(ratio), text);
        }
    }
}
