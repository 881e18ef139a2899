//! Sixteen digits at once, a byte each.
#![allow(unsafe_code)]

#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(not(target_arch = "x86_64"))]
pub(crate) use portable::Sixteen;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86::Sixteen;

#[cfg(test)]
mod tests {
    use super::*;

    /// What both ways make of a number: the digits, the digits apart, and how many count.
    fn made(number: u64, last: u8, before: usize) -> [([u8; 16], [u8; 17], usize); 2] {
        macro_rules! made {
            ($sixteen:ty) => {{
                let digits = <$sixteen>::of(number);
                let (mut together, mut apart) = ([0; 16], [0; 17]);
                // SAFETY: the rooms are as large as they must be.
                unsafe {
                    digits.put(together.as_mut_ptr());
                    digits.put_apart(before, apart.as_mut_ptr());
                }
                apart[before] = b'.';
                (together, apart, digits.count(last))
            }};
        }
        [made!(Sixteen), made!(portable::Sixteen)]
    }

    /// Four digits at each place, and where eight digits are parted into them.
    #[test]
    fn each_lane_has_its_digits() {
        for four in (0..10_000_u64).step_by(if cfg!(miri) { 997 } else { 1 }) {
            for number in [
                four * 1_0001_0001_0001,
                four * 1_0000_0000_0000 + four * 1_0000,
                four * 1_0000_0000_0000 + 9999_0000_9999,
            ] {
                let expected = format!("{number:016}").into_bytes();
                let made = made(number, 1, 1).map(|(digits, _, count)| (digits.to_vec(), count));
                assert_eq!(made, [(expected.clone(), 17), (expected, 17)]);
            }
        }
    }

    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 1000 }))]

        #[test]
        fn sixteen_digits_are_those_of_the_number(
            number in 1..10_u64.pow(16), zeros in 0..16_u32, last in 0..10_u8, before in 1..=16_usize
        ) {
            for number in [number, number - number % 10_u64.pow(number.ilog10().min(zeros))] {
                let expected = format!("{number:016}");
                let apart = format!("{}.{}", &expected[..before], &expected[before..]);
                let count = if last > 0 { 17 } else { expected.trim_end_matches('0').len() };
                let expected = (expected.as_bytes().try_into().unwrap(), apart.as_bytes().try_into().unwrap(), count);
                proptest::prop_assert_eq!(made(number, last, before), [expected; 2]);
            }
        }
    }
}
