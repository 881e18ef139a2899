//! The keys alone, in each structure that they could be in: how large it is, and how fast all keys that begin at a place are told.

use crate::Outcome;
use crate::figures::median;
use crate::fold::fold;
use crate::trie;
use crawdad::{MpTrie, Trie};
use fst::Map;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::hint::black_box;
use std::time::Instant;
use yada::DoubleArray;
use yada::builder::DoubleArrayBuilder;

/// A structure with the keys in it.
struct Structure<'t> {
    name: &'static str,
    bytes: usize,
    build_s: f64,
    /// Reads a text; the sum of lengths and values of all that begin at each of its places, so that all can be seen to find the same.
    read: Box<dyn Fn(&str) -> u64 + 't>,
}

/// Compares them over texts, so many rounds in turn.
pub fn compare(keys: &str, texts: &[String], rounds: usize) -> Outcome<Value> {
    let keys: Vec<&str> = keys.lines().collect();
    let texts: Vec<String> = texts.iter().map(|text| text.chars().map(fold).collect()).collect();
    let positions: usize = texts.iter().map(|text| text.chars().count()).sum();
    let structures = [ours(&keys), of_fst(&keys)?, of_crawdad(&keys)?, of_crawdad_mp(&keys)?, of_yada(&keys)?];
    let mut ns = vec![Vec::new(); structures.len()];
    let mut sums = vec![0; structures.len()];
    for _ in 0..rounds {
        for (at, structure) in structures.iter().enumerate() {
            let started = Instant::now();
            sums[at] =
                (0..TIMES).map(|_| texts.iter().map(|text| (structure.read)(black_box(text))).sum::<u64>()).sum();
            ns[at].push(started.elapsed().as_nanos() as f64 / (positions * TIMES) as f64);
        }
    }
    if sums.iter().any(|sum| *sum != sums[0]) {
        return Err(format!("the structures do not find the same: {sums:?}").into());
    }
    let structures = structures.iter().zip(&ns).map(|(structure, ns)| {
        json!({"name": structure.name, "bytes": structure.bytes, "build_s": structure.build_s,
            "ns_per_position": median(ns), "rounds_ns": ns})
    });
    Ok(json!({"keys": keys.len(), "key_bytes": keys.iter().map(|key| key.len()).sum::<usize>(), "positions": positions,
        "structures": structures.collect::<Vec<_>>()}))
}

/// A round reads the texts so often.
const TIMES: usize = 10;

fn found(chars: usize, value: u64) -> u64 {
    (chars as u64) << 32 | value
}

fn ours(keys: &[&str]) -> Structure<'static> {
    let started = Instant::now();
    let mut counts = HashMap::<char, u64>::new();
    keys.iter().flat_map(|key| key.chars()).for_each(|c| *counts.entry(c).or_default() += 1);
    let mut chars: Vec<_> = counts.into_iter().collect();
    chars.sort_unstable_by_key(|(c, count)| (u64::MAX - count, *c));
    let mut codes = vec![0_u16; 1 << 18];
    for ((c, _), code) in chars.iter().zip(1..) {
        codes[*c as usize] = code;
    }
    let (mut text, mut ranges) = (Vec::new(), Vec::new());
    for (key, value) in keys.iter().zip(0..) {
        let from = text.len();
        text.extend(key.chars().map(|c| codes[c as usize]));
        ranges.push((from..text.len(), value));
    }
    let mut coded: Vec<_> = ranges.iter().map(|(range, value)| (&text[range.clone()], *value)).collect();
    coded.sort_unstable();
    let bytes = trie::build(&coded);
    let build_s = started.elapsed().as_secs_f64();
    let size = bytes.len() + (1 << 17);
    let read = move |text: &str| {
        let trie = trie::Trie::new(&bytes);
        let text: Vec<u32> = text.chars().map(|c| codes.get(c as usize).copied().unwrap_or(0).into()).collect();
        let mut sum = 0;
        for from in 0..text.len() {
            let mut node = trie.root();
            for (chars, code) in text[from..].iter().enumerate() {
                let Some(next) = trie.step(node, *code) else { break };
                node = next;
                sum += trie.value(node).map_or(0, |value| found(chars + 1, value.into()));
            }
        }
        sum
    };
    Structure { name: "ours: double array of characters by frequency", bytes: size, build_s, read: Box::new(read) }
}

fn of_fst(keys: &[&str]) -> Outcome<Structure<'static>> {
    let started = Instant::now();
    let map = Map::from_iter(keys.iter().zip(0..).map(|(key, value)| (*key, value)))?;
    let build_s = started.elapsed().as_secs_f64();
    let bytes = map.as_fst().as_bytes().len();
    let read = move |text: &str| {
        let fst = map.as_fst();
        let mut sum = 0;
        for (from, _) in text.char_indices() {
            let (mut node, mut output, mut chars) = (fst.root(), fst::raw::Output::zero(), 0);
            for byte in &text.as_bytes()[from..] {
                let Some(at) = node.find_input(*byte) else { break };
                let transition = node.transition(at);
                output = output.cat(transition.out);
                node = fst.node(transition.addr);
                // the last byte of a character is followed by the first one of another
                chars += usize::from(*byte < 0x80 || *byte >= 0xc0);
                if node.is_final() {
                    sum += found(chars, output.cat(node.final_output()).value());
                }
            }
        }
        sum
    };
    Ok(Structure { name: "fst 0.4.7, Map", bytes, build_s, read: Box::new(read) })
}

fn of_crawdad(keys: &[&str]) -> Outcome<Structure<'static>> {
    let started = Instant::now();
    let trie = Trie::from_records(keys.iter().copied().zip(0..)).map_err(|error| error.to_string())?;
    let build_s = started.elapsed().as_secs_f64();
    let bytes = trie.io_bytes();
    let read = move |text: &str| {
        let text: Vec<char> = text.chars().collect();
        let all = (0..text.len()).flat_map(|from| trie.common_prefix_search(text[from..].iter().copied()));
        all.map(|(value, chars)| found(chars, value.into())).sum()
    };
    Ok(Structure { name: "crawdad 0.4.1, Trie", bytes, build_s, read: Box::new(read) })
}

fn of_crawdad_mp(keys: &[&str]) -> Outcome<Structure<'static>> {
    let started = Instant::now();
    let trie = MpTrie::from_records(keys.iter().copied().zip(0..)).map_err(|error| error.to_string())?;
    let build_s = started.elapsed().as_secs_f64();
    let bytes = trie.io_bytes();
    let read = move |text: &str| {
        let text: Vec<char> = text.chars().collect();
        let all = (0..text.len()).flat_map(|from| trie.common_prefix_search(text[from..].iter().copied()));
        all.map(|(value, chars)| found(chars, value.into())).sum()
    };
    Ok(Structure { name: "crawdad 0.4.1, MpTrie", bytes, build_s, read: Box::new(read) })
}

fn of_yada(keys: &[&str]) -> Outcome<Structure<'static>> {
    let started = Instant::now();
    let pairs: Vec<_> = keys.iter().zip(0..).map(|(key, value)| (key.as_bytes(), value)).collect();
    let bytes = DoubleArrayBuilder::build(&pairs).map_err(|error| format!("yada cannot be built: {error:?}"))?;
    let build_s = started.elapsed().as_secs_f64();
    let size = bytes.len();
    let trie = DoubleArray::new(bytes).map_err(|error| format!("yada cannot be read: {error:?}"))?;
    let read = move |text: &str| {
        let mut sum = 0;
        for (from, _) in text.char_indices() {
            let behind = &text.as_bytes()[from..];
            for (value, len) in trie.common_prefix_search(behind) {
                let chars = behind[..len].iter().filter(|byte| **byte < 0x80 || **byte >= 0xc0).count();
                sum += found(chars, value.into());
            }
        }
        sum
    };
    Ok(Structure { name: "yada 0.7.0", bytes: size, build_s, read: Box::new(read) })
}
