//! Eight and sixteen digits at once, a byte each.
#![allow(unsafe_code)]

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::Sixteen;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Sixteen;

/// Eight digits of a number below a hundred million, the first in the lowest byte.
#[inline(always)]
pub(crate) fn eight(value: u32) -> u64 {
    // in lanes of 32 bits, of 16 and of 8 each time: quotient below, remainder above. The reciprocals are exact for what is in a lane.
    let fours = u64::from(value / 10_000) | u64::from(value % 10_000) << 32;
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let pairs = hundreds | (fours - 100 * hundreds) << 16;
    let tens = ((pairs * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | (pairs - 10 * tens) << 8
}

/// Eight zeros as characters.
pub(crate) const ZEROS: u64 = u64::from_le_bytes([b'0'; 8]);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_digits_are_those_of_the_number() {
        for value in (0..100_000_000).step_by(if cfg!(miri) { 9_999_991 } else { 997 }).chain([99_999_999]) {
            let digits = (eight(value) | ZEROS).to_le_bytes();
            assert_eq!(std::str::from_utf8(&digits).unwrap(), format!("{value:08}"));
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 256 }))]

        #[test]
        fn sixteen_digits_are_those_of_the_number(number in 0..10_u64.pow(16), zeros in 0..16_u32) {
            for number in [number, number / 10_u64.pow(zeros) * 10_u64.pow(zeros)] {
                let expected = format!("{number:016}");
                let count = expected.trim_end_matches('0').len();
                let mut room = [0; 16];
                let digits = Sixteen::of(number);
                // SAFETY: the room is sixteen bytes.
                unsafe { digits.put(room.as_mut_ptr()) };
                proptest::prop_assert_eq!((std::str::from_utf8(&room).unwrap(), digits.count()), (&*expected, count));
                proptest::prop_assert_eq!(digits.text().to_le_bytes(), room);
                let digits = portable::Sixteen::of(number);
                // SAFETY: the room is sixteen bytes.
                unsafe { digits.put(room.as_mut_ptr()) };
                proptest::prop_assert_eq!((digits.text().to_le_bytes(), digits.count()), (room, count));
            }
        }
    }
}
