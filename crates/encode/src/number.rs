//! `numeric`, from its digits in base 10,000 (`get_str_from_var`).

use thalweg_rows::{Cursor, Malformed};

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xc000;
const INFINITY: u16 = 0xd000;
const NEGATIVE_INFINITY: u16 = 0xf000;

/// Appends a `numeric` with all its digits and its scale; what is no number as a string.
pub(crate) fn numeric(out: &mut Vec<u8>, bytes: &[u8]) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(bytes);
    let count = usize::from(cursor.u16()?);
    let weight = i32::from(cursor.i16()?);
    let sign = cursor.u16()?;
    let scale = usize::from(cursor.u16()?);
    match sign {
        NAN => out.extend_from_slice(b"\"NaN\""),
        INFINITY => out.extend_from_slice(b"\"Infinity\""),
        NEGATIVE_INFINITY => out.extend_from_slice(b"\"-Infinity\""),
        _ => {
            let digits = cursor.take(count * 2)?;
            let digit = |at: i32| -> u16 {
                let at = usize::try_from(at).ok().and_then(|at| digits.get(at * 2..at * 2 + 2));
                at.map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
            };
            if sign == NEGATIVE {
                out.push(b'-');
            }
            if weight < 0 {
                out.push(b'0');
            } else {
                thalweg_json::write_int(out, digit(0));
                for at in 1..=weight {
                    four_digits(out, digit(at));
                }
            }
            if scale > 0 {
                out.push(b'.');
                let end = out.len() + scale;
                let mut at = weight + 1;
                while out.len() < end {
                    four_digits(out, digit(at));
                    at += 1;
                }
                out.truncate(end);
            }
        }
    }
    Ok(())
}

fn four_digits(out: &mut Vec<u8>, value: u16) {
    let digit = |power: u16| b'0' + (value / power % 10) as u8;
    thalweg_json::append(out, &[digit(1000), digit(100), digit(10), digit(1)]);
}
