//! The shortest digits that read back as the same double, of nearly all doubles that are written in full: those below 2^52.
//!
//! One product has all that is needed, as in zmij (whose way is Giulietti's, "The Schubfach way to render doubles", 2021): its whole part and
//! the next number are the only candidates of fewer digits, and its fraction tells which of them is near enough. For these doubles the product is
//! exact in 128 bits, so that nothing else must be looked at.

use std::hint::select_unpredictable;

/// What a double is written as.
pub(crate) struct Shortest {
    /// Sixteen digits, of which the last may be zeros that do not count.
    pub(crate) sixteen: u64,
    /// One more; 0 where there is none.
    pub(crate) last: u8,
    /// How many of them stand before the point; if it is negative, there are so many zeros between the point and them.
    pub(crate) before: isize,
}

/// How many bits of a double's mantissa are stored.
const STORED_BITS: u32 = f64::MANTISSA_DIGITS - 1;

/// The mantissa's unit is 2^-69 in the smallest of these doubles, which are at least 2^-17: 1e-5 is more than that. In the largest it is 1/2.
const UNITS: usize = 69;
const BIASED_MIN: usize = 1023 - 17;

/// What a mantissa is multiplied by.
#[derive(Clone, Copy)]
struct Scale {
    /// The mantissa's unit times a power of ten, the largest with which it is less than 1, times 2^64.
    unit: u64,
    /// How many of sixteen digits stand before the point then.
    before: isize,
}

/// By the exponent of two, from that of the smallest unit on.
static SCALES: [Scale; UNITS] = {
    let mut scales = [Scale { unit: 0, before: 0 }; UNITS];
    let mut at = 0;
    while at < UNITS {
        let two = (UNITS - at) as u32;
        let mut ten = 0;
        while 10_u128.pow(ten + 1) < 1 << two {
            ten += 1;
        }
        scales[at] = Scale { unit: 5_u64.pow(ten) << (64 + ten - two), before: 16 - ten as isize };
        at += 1;
    }
    scales
};

/// The digits of a double without its sign; `None` if it is less than 2^-17, or not less than 2^52.
#[inline(always)]
pub(crate) fn shortest(value: f64) -> Option<Shortest> {
    let bits = value.to_bits();
    let scale = SCALES.get(((bits >> STORED_BITS) as usize).wrapping_sub(BIASED_MIN))?;
    let mantissa = bits & ((1 << STORED_BITS) - 1) | 1 << STORED_BITS;
    // The value in units of its sixteenth digit, or of its fifteenth: exact, since the mantissa has 53 bits. Those of the fraction that are
    // below its upper 49 are 0.
    let product = u128::from(mantissa) * u128::from(scale.unit);
    let (whole, fraction) = ((product >> 64) as u64, product as u64);
    // What is less than half a unit of the mantissa away is read as the same double. No whole number is just as far, since half a unit has
    // binary digits that no power of ten takes away; and a power of two, whose lower neighbour is nearer, is one itself.
    let (off, is_up) = fraction.overflowing_add(scale.unit / 2);
    let whole = whole + u64::from(is_up);
    // the nearest digit; a half is rounded to the even one, which is 2 behind a quarter and 8 behind three quarters
    let sixteenth = fraction / 16;
    let nearest = ((5 * sixteenth + (1 << 58) - 1 + (sixteenth >> 59)) >> 59) as u8;
    let last = select_unpredictable(off < scale.unit, 0, nearest);
    // fifteen digits or sixteen, and that one
    let is_short = whole < 10_u64.pow(15);
    Some(Shortest {
        sixteen: select_unpredictable(is_short, whole * 10 + u64::from(last), whole),
        last: select_unpredictable(is_short, 0, last),
        before: scale.before - isize::from(is_short),
    })
}
