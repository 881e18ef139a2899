//! Which of several names a text is, by a perfect hash that is found when the program is compiled.

use proc_macro2::TokenStream;

/// An expression for the number that belongs to a name, or `usize::MAX`. `text` is an expression for a `&str`.
pub(crate) fn number_of(json: &TokenStream, names: &[(&str, usize)], text: &TokenStream) -> TokenStream {
    match Table::of(names) {
        Some(Table { seed, shift, slots }) => {
            let slots = slots.into_iter().map(|slot| match slot.map(|slot| names[slot]) {
                Some((name, number)) => code!((#name, #number)),
                None => code!(("", usize::MAX)),
            });
            code! {{
                static SLOTS: &[(&str, usize)] = &[#(#slots),*];
                let text: &str = #text;
                let (name, number) = SLOTS[#json::derived::slot(text.as_bytes(), #seed, #shift)];
                if name == text { number } else { usize::MAX }
            }}
        }
        None => {
            let arms = names.iter().map(|(name, number)| code!(#name => #number,));
            code!(match #text { #(#arms)* _ => usize::MAX })
        }
    }
}

/// A table in which each name has a slot of its own.
struct Table {
    seed: u64,
    shift: u32,
    slots: Vec<Option<usize>>,
}

/// For fewer names a comparison with each is as fast.
const NAMES_MIN: usize = 4;
/// So many seeds are tried for a size, and so many sizes.
const SEEDS_MAX: u64 = 4096;
const SIZES_MAX: u32 = 4;

impl Table {
    fn of(names: &[(&str, usize)]) -> Option<Table> {
        if names.len() < NAMES_MIN {
            return None;
        }
        let bits = names.len().next_power_of_two().trailing_zeros();
        (bits..bits + SIZES_MAX).find_map(|bits| {
            (1..=SEEDS_MAX).find_map(|seed| {
                let (seed, shift) = (seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, 64 - bits);
                let mut slots = vec![None; 1 << bits];
                for (at, (name, _)) in names.iter().enumerate() {
                    let slot = &mut slots[slot(name.as_bytes(), seed, shift)];
                    if slot.replace(at).is_some() {
                        return None;
                    }
                }
                Some(Table { seed, shift, slots })
            })
        })
    }
}

/// As `thalweg_json::derived::slot`: a name that is not found in its slot would be found nowhere, and the tests of derived types fail.
fn slot(text: &[u8], seed: u64, shift: u32) -> usize {
    let eight = |text: &[u8]| text.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let len = text.len();
    let (first, last) = match len {
        8.. => (eight(&text[..8]), eight(&text[len - 8..])),
        4..=7 => (eight(&text[..4]), eight(&text[len - 4..])),
        1..=3 => (u64::from(text[0]) | u64::from(text[len / 2]) << 8, u64::from(text[len - 1])),
        0 => (0, 0),
    };
    ((first ^ last.rotate_left(29) ^ (len as u64) << 57).wrapping_mul(seed) >> shift) as usize
}
