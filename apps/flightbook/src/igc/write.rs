//! The lines of an IGC file, written.

use crate::fly::Header;
use crate::random::Random;
use std::fmt::Write;

pub(crate) fn write_header(text: &mut String, header: &Header<'_>) {
    let (day, month, year) = header.date;
    let _ = write!(
        text,
        "AXTHTLW Thalweg sample\r\nHFDTEDATE:{day:02}{month:02}{:02},01\r\nHFPLTPILOTINCHARGE:{}\r\n\
         HFGTYGLIDERTYPE:{}\r\nHFDTMGPSDATUM:WGS84\r\nHFRFWFIRMWAREVERSION:1.0\r\nHFRHWHARDWAREVERSION:1.0\r\n\
         HFFTYFRTYPE:Thalweg,Sample\r\nHFGPSRECEIVER:GENERIC,GENERIC,0,9999\r\nHFPRSPRESSALTSENSOR:GENERIC,GENERIC,9999\r\n\
         HFALGALTGPS:GEO\r\nHFALPALTPRESSURE:ISA\r\nHOSITSITE:{}\r\n",
        year % 100,
        header.pilot,
        header.glider,
        header.site
    );
}

/// A B record: time, position in degrees and thousandths of minutes, validity, pressure and GNSS altitude.
pub(crate) fn write_fix(text: &mut String, second: u32, latitude: f64, longitude: f64, pressure: f64, altitude: f64) {
    let angle = |degrees: f64| {
        let thousandths = (degrees.abs() * 60_000.0).round() as u32;
        (thousandths / 60_000, thousandths % 60_000)
    };
    let ((lat_degrees, lat_minutes), (lon_degrees, lon_minutes)) = (angle(latitude), angle(longitude));
    let (ns, ew) = (if latitude < 0.0 { 'S' } else { 'N' }, if longitude < 0.0 { 'W' } else { 'E' });
    let _ = write!(
        text,
        "B{:02}{:02}{:02}{lat_degrees:02}{lat_minutes:05}{ns}{lon_degrees:03}{lon_minutes:05}{ew}A{:05}{:05}\r\n",
        second / 3600 % 24,
        second / 60 % 60,
        second % 60,
        pressure.round().max(0.0) as i64,
        altitude.round().max(0.0) as i64,
    );
}

pub(crate) fn write_signature(text: &mut String, random: &mut Random) {
    for _ in 0..2 {
        let _ = write!(text, "G{:016X}{:016X}\r\n", random.next(), random.next());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fix_has_the_form_of_a_b_record() {
        let mut text = String::new();
        write_fix(&mut text, 36_061, -46.5, 7.000_016_7, 1234.4, 1230.0);
        assert_eq!(text, "B1001014630000S00700001EA0123401230\r\n");
    }
}
