//! The lines of an IGC file: fixes (B), the date, and texts of its head.

use jiff::civil::Date;

/// Longer texts are cut.
const TEXT_CHARS_MAX: usize = 100;

/// A fix before its day is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct BRecord {
    pub(super) second_of_day: i64,
    pub(super) latitude: f64,
    pub(super) longitude: f64,
    pub(super) pressure_altitude_m: i32,
    pub(super) gnss_altitude_m: i32,
    pub(super) is_valid: bool,
}

impl BRecord {
    /// `B HHMMSS DDMMmmmN DDDMMmmmE A PPPPP GGGGG`, and extensions behind.
    pub(super) fn read(line: &[u8]) -> Option<Self> {
        let line: &[u8; 35] = line.first_chunk()?;
        let [hour, minute, second] = [number(&line[1..3])?, number(&line[3..5])?, number(&line[5..7])?];
        let latitude = angle(&line[7..9], &line[9..14], line[14], [b'N', b'S'], 90)?;
        let longitude = angle(&line[15..18], &line[18..23], line[23], [b'E', b'W'], 180)?;
        let is_valid = match line[24] {
            b'A' => true,
            b'V' => false,
            _ => return None,
        };
        // where recorders that have never seen a satellite believe to be
        let is_nowhere = !is_valid && latitude.abs() < 1e-9 && longitude.abs() < 1e-9;
        (hour < 24 && minute < 60 && second < 60 && !is_nowhere).then_some(())?;
        Some(Self {
            second_of_day: i64::from(hour * 3600 + minute * 60 + second),
            latitude,
            longitude,
            pressure_altitude_m: altitude(&line[25..30])?,
            gnss_altitude_m: altitude(&line[30..35])?,
            is_valid,
        })
    }
}

/// The day in a date line, of which `HFDTE` has been cut: `230718`, or `DATE:230718,01` since 2016.
pub(super) fn date(rest: &[u8]) -> Option<Date> {
    let from = rest.iter().position(u8::is_ascii_digit)?;
    let digits: &[u8; 6] = rest[from..].first_chunk()?;
    let [day, month, year] = [number(&digits[..2])?, number(&digits[2..4])?, number(&digits[4..])?];
    // the format is of 1995, but records were entered later
    let century = if year >= 80 { 1900 } else { 2000 };
    Date::new((century + year) as i16, month as i8, day as i8).ok()
}

/// What stands behind the colon, or all if there is none.
pub(super) fn text_after_colon(rest: &[u8]) -> Option<String> {
    let colon = rest.iter().position(|byte| *byte == b':');
    text(colon.map_or(rest, |at| &rest[at + 1..]))
}

/// A text in UTF-8 or, as most recorders write it, in Latin-1.
pub(super) fn text(bytes: &[u8]) -> Option<String> {
    let clean = |chars: &mut dyn Iterator<Item = char>| {
        chars.filter(|char| !char.is_control()).take(TEXT_CHARS_MAX).collect::<String>().trim().to_owned()
    };
    let text = match str::from_utf8(bytes) {
        Ok(text) => clean(&mut text.trim_start().chars()),
        Err(_) => clean(&mut bytes.trim_ascii_start().iter().map(|byte| char::from(*byte))),
    };
    (!text.is_empty()).then_some(text)
}

/// Degrees, from degrees and thousandths of minutes.
fn angle(degrees: &[u8], thousandths: &[u8], side: u8, sides: [u8; 2], degrees_max: u32) -> Option<f64> {
    let thousandths = number(thousandths).filter(|thousandths| *thousandths < 60_000)?;
    let all = number(degrees)? * 60_000 + thousandths;
    let angle = f64::from(all) / 60_000.0;
    (all <= degrees_max * 60_000).then_some(())?;
    match sides.iter().position(|known| *known == side)? {
        0 => Some(angle),
        _ => Some(-angle),
    }
}

/// Five places, of which one may be a minus, and those at the left blank.
fn altitude(text: &[u8]) -> Option<i32> {
    let text = text.trim_ascii_start();
    match text {
        [] => Some(0),
        [b'-', digits @ ..] => Some(-(number(digits)? as i32)),
        digits => Some(number(digits)? as i32),
    }
}

/// Some digits, and nothing else: at most five.
fn number(digits: &[u8]) -> Option<u32> {
    let value = |digit: &u8| digit.is_ascii_digit().then(|| u32::from(digit - b'0'));
    digits.iter().try_fold(0, |sum, digit| Some(sum * 10 + value(digit)?)).filter(|_| !digits.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_is_read_at_its_places() {
        let fix = BRecord::read(b"B2359590630000S17930000WA00115-0016extension").unwrap();
        assert_eq!((fix.second_of_day, fix.is_valid), (86_399, true));
        assert!((fix.latitude + 6.5).abs() < 1e-9 && (fix.longitude + 179.5).abs() < 1e-9);
        assert_eq!((fix.pressure_altitude_m, fix.gnss_altitude_m), (115, -16));
        assert!(!BRecord::read(b"B0000004630000N00700001EV    001230").unwrap().is_valid);
    }

    #[test]
    fn what_no_recorder_means_is_no_fix() {
        for line in [
            "B",
            "B1001014630000N00700001EA012340123",
            "B2401014630000N00700001EA0123401230",
            "B1060014630000N00700001EA0123401230",
            "B1001014660000N00700001EA0123401230",
            "B1001019000001N00700001EA0123401230",
            "B1001014630000N18000001EA0123401230",
            "B1001014630000X00700001EA0123401230",
            "B1001014630000N00700001EX0123401230",
            "B1001014630000N00700001EA01-3401230",
            "B1001014630000N00700001EA0123+01230",
            "B1001010000000N00000000EV0123401230",
            "B10010146ü000N00700001EA0123401230",
        ] {
            assert_eq!(BRecord::read(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn dates_are_read_in_both_forms_if_there_is_such_a_day() {
        let day = |text: &str| date(text.as_bytes()).map(|date| date.to_string());
        assert_eq!(day("230718").as_deref(), Some("2018-07-23"));
        assert_eq!(day("DATE:290224,01").as_deref(), Some("2024-02-29"));
        assert_eq!(day("DATE: 010199").as_deref(), Some("1999-01-01"));
        for wrong in ["", "000000", "290223", "DATE:", "DATE:3107", "320118", "011318", "23-07-18"] {
            assert_eq!(day(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn texts_are_utf_8_or_latin_1_without_what_no_text_has() {
        assert_eq!(text_after_colon("PILOT: Élodie ".as_bytes()).as_deref(), Some("Élodie"));
        assert_eq!(text_after_colon(b"PILOT:J\xfcrg\0 M.").as_deref(), Some("Jürg M."));
        assert_eq!(text_after_colon(b"PILOT:  "), None);
        assert_eq!(text(&[b'x'; 5000]).unwrap().len(), TEXT_CHARS_MAX);
    }
}
