//! Integers, written where they belong.
#![allow(unsafe_code)]

/// What can be written as digits.
pub trait Digits: Copy {
    /// Writes the digits, and returns the place behind them.
    ///
    /// # Safety
    ///
    /// `at` must be valid for writes of forty bytes.
    #[doc(hidden)]
    unsafe fn put(self, at: *mut u8) -> *mut u8;
}

/// All pairs of digits.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut at = 0;
    while at < 100 {
        pairs[at] = [b'0' + (at / 10) as u8, b'0' + (at % 10) as u8];
        at += 1;
    }
    pairs
};

/// The smallest number with one digit more, for each number of digits.
static POWERS: [u64; 20] = {
    let mut powers = [1; 20];
    let mut at = 1;
    while at < 20 {
        powers[at] = powers[at - 1] * 10;
        at += 1;
    }
    powers
};

/// How many digits a number has.
#[inline(always)]
fn digits(value: u64) -> usize {
    // 1233 / 4096 is the logarithm of 2, a little too large for no number of 64 bits
    let about = (((64 - (value | 1).leading_zeros()) * 1233) >> 12) as usize;
    about + usize::from(value >= POWERS[about])
}

/// Writes the digits, and returns the place behind them.
///
/// # Safety
///
/// `at` must be valid for writes of as many bytes as the value has digits: at most twenty.
#[inline(always)]
pub(super) unsafe fn unsigned(mut value: u64, at: *mut u8) -> *mut u8 {
    // SAFETY: a number of 64 bits has at most twenty digits. Each step writes two of those that `digits` has counted, from the last on.
    unsafe {
        if value < 10 {
            at.write(b'0' + value as u8);
            return at.add(1);
        }
        let end = at.add(digits(value));
        let mut last = end;
        while value >= 10_000 {
            let four = (value % 10_000) as u32;
            value /= 10_000;
            last = last.sub(4);
            last.cast::<[u8; 2]>().write_unaligned(PAIRS[(four / 100) as usize]);
            last.add(2).cast::<[u8; 2]>().write_unaligned(PAIRS[(four % 100) as usize]);
        }
        let mut value = value as u32;
        if value >= 100 {
            last = last.sub(2);
            last.cast::<[u8; 2]>().write_unaligned(PAIRS[(value % 100) as usize]);
            value /= 100;
        }
        if value >= 10 {
            last.sub(2).cast::<[u8; 2]>().write_unaligned(PAIRS[value as usize]);
        } else {
            last.sub(1).write(b'0' + value as u8);
        }
        end
    }
}

macro_rules! digits {
    ($($type:ty as $wide:ty),*) => {$(
        impl Digits for $type {
            #[inline(always)]
            unsafe fn put(self, at: *mut u8) -> *mut u8 {
                // SAFETY: as the caller promises.
                unsafe { <$wide>::put(self as $wide, at) }
            }
        }
    )*};
}

digits!(u8 as u64, u16 as u64, u32 as u64, usize as u64, i8 as i64, i16 as i64, i32 as i64, isize as i64);

impl Digits for u64 {
    #[inline(always)]
    unsafe fn put(self, at: *mut u8) -> *mut u8 {
        // SAFETY: as the caller promises.
        unsafe { unsigned(self, at) }
    }
}

impl Digits for i64 {
    #[inline(always)]
    unsafe fn put(self, at: *mut u8) -> *mut u8 {
        // SAFETY: a sign and at most nineteen digits; where there is no sign, its place is written over.
        unsafe {
            at.write(b'-');
            unsigned(self.unsigned_abs(), at.add(usize::from(self < 0)))
        }
    }
}

macro_rules! large {
    ($($type:ty),*) => {$(
        impl Digits for $type {
            #[inline(never)]
            unsafe fn put(self, at: *mut u8) -> *mut u8 {
                let mut buffer = itoa::Buffer::new();
                let text = buffer.format(self).as_bytes();
                // SAFETY: no number of 128 bits has more than thirty-nine digits and a sign.
                unsafe {
                    std::ptr::copy_nonoverlapping(text.as_ptr(), at, text.len());
                    at.add(text.len())
                }
            }
        }
    )*};
}

large!(u128, i128);

#[cfg(test)]
mod tests {
    use super::*;

    fn text<T: Digits>(value: T) -> String {
        let mut room = [0; 40];
        // SAFETY: the room is forty bytes.
        let length = unsafe { value.put(room.as_mut_ptr()).offset_from_unsigned(room.as_ptr()) };
        String::from_utf8(room[..length].to_vec()).unwrap()
    }

    #[test]
    fn integers_have_their_digits() {
        for power in POWERS {
            for value in [power - 1, power, power + 1, power.wrapping_mul(9), u64::MAX / power] {
                assert_eq!(text(value), value.to_string());
                assert_eq!(text(value as i64), (value as i64).to_string());
                assert_eq!(text((value as i64).wrapping_neg()), (value as i64).wrapping_neg().to_string());
                assert_eq!(text(value as u32), (value as u32).to_string());
                assert_eq!(text(value as i8), (value as i8).to_string());
                assert_eq!(
                    text(u128::from(value) * u128::from(value)),
                    (u128::from(value) * u128::from(value)).to_string()
                );
            }
        }
        assert_eq!(text(u64::MAX), "18446744073709551615");
        assert_eq!(text(i64::MIN), "-9223372036854775808");
        assert_eq!(text(i128::MIN), "-170141183460469231731687303715884105728");
        assert_eq!(text(i8::MIN), "-128");
        for value in 0..20_000_u16 {
            assert_eq!(text(value), value.to_string());
        }
    }
}
