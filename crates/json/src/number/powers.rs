//! The powers of five, to 128 bits, that decimal exponents are turned into binary ones with.

/// The smallest exponent of ten that a mantissa of 64 bits does not turn into 0.
pub(crate) const EXPONENT_MIN: i32 = -342;
/// The largest that does not turn it into infinity.
pub(crate) const EXPONENT_MAX: i32 = 308;

/// The upper and the lower half of each power's 128 first bits, from [`EXPONENT_MIN`] on: cut off, but one more where the product can be
/// exact all the same, from -27 to -1 (Lemire, "Number parsing at a gigabyte per second", 2021).
pub(crate) static POWERS: [(u64, u64); (EXPONENT_MAX - EXPONENT_MIN + 1) as usize] = powers();

/// How many words of 32 bits the largest of the numbers needs that powers are taken from.
const WORDS: usize = 64;

const fn powers() -> [(u64, u64); (EXPONENT_MAX - EXPONENT_MIN + 1) as usize] {
    let mut powers = [(0, 0); (EXPONENT_MAX - EXPONENT_MIN + 1) as usize];
    let zero = -EXPONENT_MIN as usize;
    // 5^q, exact
    let mut number = [0_u32; WORDS];
    number[0] = 1;
    let mut at = zero;
    while at < powers.len() {
        powers[at] = halves(first_bits(&number));
        let (mut word, mut carry) = (0, 0_u64);
        while word < WORDS {
            let product = number[word] as u64 * 5 + carry;
            number[word] = product as u32;
            carry = product >> 32;
            word += 1;
        }
        at += 1;
    }
    // 2^n / 5^q: cut off at each step, it is cut off the same in the end
    let mut number = [0_u32; WORDS];
    number[WORDS - 1] = 1 << 31;
    let mut at = zero;
    while at > 0 {
        at -= 1;
        let (mut word, mut left) = (WORDS, 0_u64);
        while word > 0 {
            word -= 1;
            let dividend = left << 32 | number[word] as u64;
            number[word] = (dividend / 5) as u32;
            left = dividend % 5;
        }
        let is_rounded_up = zero - at <= 27;
        powers[at] = halves(first_bits(&number) + is_rounded_up as u128);
    }
    powers
}

const fn halves(bits: u128) -> (u64, u64) {
    ((bits >> 64) as u64, bits as u64)
}

/// The number's first 128 bits, of which the first is set.
const fn first_bits(number: &[u32; WORDS]) -> u128 {
    let mut top = WORDS - 1;
    while top > 0 && number[top] == 0 {
        top -= 1;
    }
    let (mut bits, mut word) = (0, 0);
    while word < 4 {
        let part = if top >= word { number[top - word] } else { 0 };
        bits = bits << 32 | part as u128;
        word += 1;
    }
    let zeros = bits.leading_zeros();
    let next = if top >= 4 { number[top - 4] } else { 0 };
    if zeros == 0 { bits } else { bits << zeros | (next >> (32 - zeros)) as u128 }
}
