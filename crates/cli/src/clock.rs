//! The edge where the machine's clock is read, and times and spans as people write and read them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sealstone_jose::UnixSeconds;

/// Now. A clock before 1970 reads as 1970, at which every token is not yet valid.
pub(crate) fn now() -> UnixSeconds {
    UnixSeconds(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// `2026-11-21 03:05:00 UTC`, in the Gregorian calendar.
pub(crate) fn utc(time: UnixSeconds) -> String {
    let (days, second) = (time.0 / 86_400, time.0 % 86_400);
    let (year, month, day) = date(days);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// The date of a day counted from 1970-01-01. Years are counted from 1 March, so that the leap day comes last.
fn date(days: u64) -> (u64, u64, u64) {
    // Days since 0000-03-01; 146097 days are 400 years.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

/// `in 12 minutes`, `3 days ago`, `now`: the largest unit that fits at least twice, or seconds.
pub(crate) fn relative(time: UnixSeconds, now: UnixSeconds) -> String {
    let span = time.0.abs_diff(now.0);
    if span == 0 {
        return "now".into();
    }
    let (unit, length) = [("days", 86_400), ("hours", 3600), ("minutes", 60)]
        .into_iter()
        .find(|(_, length)| span >= 2 * length)
        .unwrap_or((if span == 1 { "second" } else { "seconds" }, 1));
    let count = span / length;
    if time > now { format!("in {count} {unit}") } else { format!("{count} {unit} ago") }
}

/// `90`, `90s`, `15m`, `8h`, `30d`: whole seconds.
pub(crate) fn parse_span(text: &str) -> Result<Duration, String> {
    let (digits, unit) = match text.find(|letter: char| !letter.is_ascii_digit()) {
        Some(at) => text.split_at(at),
        None => (text, "s"),
    };
    let scale = match unit {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => return Err("expected a number and s, m, h or d, as in 15m".into()),
    };
    let count: u64 =
        digits.parse().map_err(|_| "expected a number and s, m, h or d, as in 15m".to_owned())?;
    // A hundred thousand days: beyond it the year would have five digits.
    match count.checked_mul(scale) {
        Some(seconds) if seconds <= 8_640_000_000 => Ok(Duration::from_secs(seconds)),
        _ => Err("longer than 100000 days".into()),
    }
}

/// A duration that was measured: `0.41 ms`, `12.3 ms`, `1.23 s`.
pub(crate) fn measured(took: Duration) -> String {
    let millis = took.as_secs_f64() * 1e3;
    if millis >= 1000.0 {
        format!("{:.2} s", millis / 1e3)
    } else if millis >= 10.0 {
        format!("{millis:.1} ms")
    } else {
        format!("{millis:.2} ms")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_day_until_9999_follow_each_other() {
        let (mut year, mut month, mut day) = (1970, 1, 1);
        for days in 0..2_932_897 {
            assert_eq!(date(days), (year, month, day));
            let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
            let length = match month {
                2 => 28 + u64::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            day += 1;
            if day > length {
                (month, day) = (month + 1, 1);
            }
            if month > 12 {
                (year, month) = (year + 1, 1);
            }
        }
        assert_eq!((year, month, day), (10_000, 1, 1));
        assert_eq!(utc(UnixSeconds(1_800_000_000)), "2027-01-15 08:00:00 UTC");
    }

    #[test]
    fn spans_are_read_and_said() {
        assert_eq!(parse_span("15m"), Ok(Duration::from_secs(900)));
        assert_eq!(parse_span("90"), Ok(Duration::from_secs(90)));
        for wrong in ["", "m", "15 m", "1w", "-1s", "1.5h", "99999999999999999999", "100001d"] {
            assert!(parse_span(wrong).is_err(), "{wrong}");
        }
        let at = |seconds| relative(UnixSeconds(seconds), UnixSeconds(1_000_000));
        assert_eq!(at(1_000_000), "now");
        assert_eq!(at(1_000_001), "in 1 second");
        assert_eq!(at(999_881), "119 seconds ago");
        assert_eq!(at(1_000_120), "in 2 minutes");
        assert_eq!(at(1_000_000 - 3 * 86_400), "3 days ago");
    }
}
