//! Each way of scanning, on every length, place, byte and alignment around a vector's width.

use super::*;

/// All ways that this processor has, by name.
type Finder = fn(&[u8], usize) -> usize;

fn finders<S: Search>() -> Vec<(&'static str, Finder)> {
    /// # Safety
    ///
    /// As of [`find_blocks`], but that the text may be short.
    unsafe fn blocks<S: Search, B: Block>(text: &[u8], at: usize) -> usize {
        // SAFETY: as the caller promises.
        if text.len() < B::BYTES { find_end::<S>(text, at) } else { unsafe { find_blocks::<S, B>(text, at) } }
    }
    // SAFETY: each is there only where the processor has it.
    #[allow(unused_mut)]
    let mut all: Vec<(&'static str, Finder)> = vec![
        ("whole", find::<S>),
        ("far", find_far::<S>),
        ("end", find_end::<S>),
        ("portable", |text, at| unsafe { blocks::<S, portable::Word>(text, at) }),
    ];
    #[cfg(target_arch = "aarch64")]
    all.push(("neon", |text, at| unsafe { blocks::<S, neon::Neon>(text, at) }));
    #[cfg(target_arch = "x86_64")]
    {
        all.push(("sse2", |text, at| unsafe { blocks::<S, x86::Sse2>(text, at) }));
        if x86::has_avx2() {
            all.push(("avx2", |text, at| {
                if text.len() < 32 { find_end::<S>(text, at) } else { unsafe { x86::find_avx2::<S>(text, at) } }
            }));
        }
        if x86::has_avx512() {
            all.push(("avx512", |text, at| {
                if text.len() < 64 { find_end::<S>(text, at) } else { unsafe { x86::find_avx512::<S>(text, at) } }
            }));
        }
    }
    all
}

type Copy = unsafe fn(*mut u8, &[u8]) -> usize;

fn copiers() -> Vec<(&'static str, usize, Copy)> {
    #[allow(unused_mut)]
    let mut all: Vec<(&'static str, usize, Copy)> = vec![
        ("plain", 0, |to, text| unsafe { copy_plain(to, text) }),
        ("portable", 8, |to, text| unsafe { copy_blocks::<portable::Word>(to, text) }),
    ];
    #[cfg(target_arch = "aarch64")]
    all.push(("neon", 16, |to, text| unsafe { copy_blocks::<neon::Neon>(to, text) }));
    #[cfg(target_arch = "x86_64")]
    {
        all.push(("sse2", 16, |to, text| unsafe { copy_blocks::<x86::Sse2>(to, text) }));
        if x86::has_avx2() {
            all.push(("avx2", 32, |to, text| unsafe { x86::copy_avx2(to, text) }));
        }
        if x86::has_avx512() {
            all.push(("avx512", 64, |to, text| unsafe { x86::copy_avx512(to, text) }));
        }
    }
    all
}

/// So many lengths that the largest block is met with what lies around it; fewer where each step takes a thousand times as long.
const LENGTH_MAX: usize = if cfg!(miri) { 70 } else { 200 };

fn every_place<S: Search>(fill: u8, searched: u8) {
    for (name, find) in finders::<S>() {
        let mut text = vec![fill; LENGTH_MAX];
        for length in 0..LENGTH_MAX {
            for at in 0..=length.min(66) {
                assert_eq!(find(&text[..length], at), length, "{name}: nothing in {length} from {at}");
            }
        }
        for place in 0..LENGTH_MAX {
            text[place] = searched;
            // one more behind it must not be found before it
            for at in [0, 1, place / 2, place.saturating_sub(1), place] {
                if at <= place {
                    assert_eq!(find(&text, at), place, "{name}: at {place} from {at}");
                    assert_eq!(find(&text[..=place], at), place, "{name}: last at {place} from {at}");
                }
            }
            text[place] = fill;
        }
    }
}

#[test]
fn what_ends_a_run_is_found_at_every_place() {
    every_place::<Special>(b'x', b'"');
    every_place::<Special>(0xff, b'\\');
    every_place::<Special>(0x80, 0x1f);
    every_place::<Solid>(b' ', b'{');
    every_place::<Solid>(b'\n', 0);
}

#[test]
fn every_byte_is_told_apart_at_every_place_of_a_block() {
    fn all<S: Search>(fill: u8) {
        for (name, find) in finders::<S>() {
            for byte in 0..=255_u8 {
                for place in 0..64 {
                    let mut text = [fill; 64];
                    text[place] = byte;
                    let expected = if S::is(byte) { place } else { 64 };
                    assert_eq!(find(&text, 0), expected, "{name}: {byte:#x} at {place}");
                }
            }
        }
    }
    if cfg!(miri) {
        return;
    }
    all::<Special>(b'a');
    all::<Special>(0xe3);
    all::<Solid>(b'\t');
    all::<Solid>(b'\r');
}

#[test]
fn runs_are_copied_up_to_what_ends_them() {
    for (name, shortest, copy) in copiers() {
        for length in shortest..LENGTH_MAX {
            for place in (0..length).step_by(if cfg!(miri) { 13 } else { 1 }).chain([length]) {
                let mut text: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
                if place < length {
                    text[place] = b'\n';
                }
                let mut room = vec![b'.'; length + SMALL_BYTES];
                // SAFETY: the room is what every one of them asks for.
                let copied = unsafe { copy(room.as_mut_ptr(), &text) };
                assert_eq!(copied, place, "{name}: {length} bytes, ended at {place}");
                assert_eq!(room[..copied], text[..copied], "{name}");
            }
        }
    }
}

#[test]
fn every_byte_that_is_copied_is_told_apart() {
    for (name, _, copy) in copiers() {
        for byte in 0..=255_u8 {
            for length in [64, 65, 95, 128] {
                let mut text = vec![b'a'; length];
                text[length - 9] = byte;
                let mut room = vec![0; length + SMALL_BYTES];
                // SAFETY: the room is what every one of them asks for.
                let copied = unsafe { copy(room.as_mut_ptr(), &text) };
                assert_eq!(copied, if Special::is(byte) { length - 9 } else { length }, "{name}: {byte:#x}");
            }
        }
    }
}
