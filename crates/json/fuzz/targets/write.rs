//! Any text and numbers: what is written, whole and in chunks, is what `serde_json` writes, and is read back.
#![no_main]

use libfuzzer_sys::fuzz_target;
use thalweg_json::{read, write, write_chunks};

fuzz_target!(|value: (u16, Vec<String>, Vec<u64>, Vec<i64>)| {
    let chunk_bytes = usize::from(value.0);
    let mut text = Vec::new();
    write(&value, &mut text);
    assert_eq!(text, serde_json::to_vec(&value).unwrap());
    let mut pieces = Vec::new();
    write_chunks(&value, chunk_bytes, |chunk| {
        assert!(!chunk.is_empty() && chunk.len() <= chunk_bytes.max(256));
        pieces.extend_from_slice(chunk);
        Ok(())
    })
    .unwrap();
    assert_eq!(pieces, text);
    assert_eq!(read::<(u16, Vec<String>, Vec<u64>, Vec<i64>)>(&text).unwrap(), value);
});
