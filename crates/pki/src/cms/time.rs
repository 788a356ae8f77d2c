//! Times as messages write them: UTCTime up to 2049, GeneralizedTime after (RFC 5652 §11.3).

use super::error::Error;
use crate::der::{self, Tag};

const UTC_TIME: Tag = Tag { byte: 0x17, name: "a UTCTime" };
const GENERALIZED_TIME: Tag = Tag { byte: 0x18, name: "a GeneralizedTime" };

/// Writes a time in seconds from 1970.
///
/// # Errors
/// [`Error::Time`] before 1950 and after 9999.
pub(super) fn write(seconds: i64) -> Result<Vec<u8>, Error> {
    let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date(days);
    if !(1950..=9999).contains(&year) {
        return Err(Error::Time { seconds });
    }
    let clock = format!("{:02}{:02}{:02}Z", of_day / 3600, of_day / 60 % 60, of_day % 60);
    Ok(match year {
        ..2050 => der::write(UTC_TIME, &[format!("{:02}{month:02}{day:02}{clock}", year % 100).as_bytes()]),
        _ => der::write(GENERALIZED_TIME, &[format!("{year:04}{month:02}{day:02}{clock}").as_bytes()]),
    }
    .to_vec())
}

/// Year, month and day of a day counted from 1970-01-01, in the Gregorian calendar: the reverse of what
/// [`Reader::take_time`](crate::der::Reader::take_time) does. Years begin in March; an era has 400 of them.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year_of_era + next, month, day)
}
