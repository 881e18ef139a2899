//! Distinction between transactions that may have been committed and those that certainly were not.

use thalweg_wire::{Connection, Error, ErrorKind, Query, Texts};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[tag][..], &length, body].concat()
}

/// An error, with the routine that PostgreSQL names, or as poolers report one.
fn error(severity: &str, is_of_postgresql: bool) -> Vec<u8> {
    let mut body = format!("S{severity}\0V{severity}\0C57P01\0Mended\0");
    if is_of_postgresql {
        body.push_str("RProcessInterrupts\0");
    }
    message(b'E', format!("{body}\0").as_bytes())
}

/// Runs statements on a connection whose other end reads a part of them, answers, and closes the
/// connection. Returns the error.
async fn run(queries: &[Query<'_>], read_bytes_max: Option<usize>, answer: Vec<u8>) -> Error {
    let (ours, mut theirs) = tokio::io::duplex(read_bytes_max.unwrap_or(1 << 20));
    let mut connection = Connection::over_stream(ours);
    let other_end = async move {
        if read_bytes_max.is_none() {
            let mut sent = Vec::new();
            // The last message is Sync.
            while !sent.ends_with(b"S\0\0\0\x04") {
                theirs.read_buf(&mut sent).await.unwrap();
            }
        }
        theirs.write_all(&answer).await.unwrap();
    };
    let mut texts = Texts::default();
    let (outcome, ()) = tokio::join!(connection.run(queries, &mut texts), other_end);
    Error::from(outcome.unwrap_err())
}

#[tokio::test]
async fn an_error_reports_whether_the_transaction_may_have_been_committed() {
    let write = Query { writes: true, ..Query::unnamed("insert") };
    let (read, rollback) = (Query::unnamed("select"), Query::unnamed("ROLLBACK"));
    // The statement has been prepared and described, and has begun.
    let begun = [message(b'1', b""), message(b't', b"\0\0"), message(b'n', b""), message(b'2', b"")].concat();
    let done = [&begun[..], &message(b'C', b"INSERT 0 1\0")].concat();
    let then = |first: &[u8], next: Vec<u8>| [first, &next].concat();
    let cases = [
        ("no answer arrives", vec![write], vec![], true),
        ("a read", vec![read], vec![], false),
        ("a write that is rolled back", vec![write, rollback], vec![], false),
        ("a write that has begun", vec![write], begun.clone(), true),
        ("a write that is done", vec![write], done.clone(), true),
        ("a read that precedes the write", vec![read, write], done.clone(), true),
        ("an error of the write", vec![write], then(&begun, error("ERROR", true)), false),
        ("an error at the end", vec![write], then(&done, error("ERROR", true)), false),
        ("the session ends before the result", vec![write], then(&begun, error("FATAL", true)), false),
        ("the session ends before the last result", vec![write, write], then(&done, error("FATAL", true)), false),
        ("the session ends after the result", vec![write], then(&done, error("FATAL", true)), true),
        ("the server fails after the result", vec![write], then(&done, error("PANIC", true)), true),
        ("a pooler ends the session", vec![write], then(&begun, error("FATAL", false)), true),
        ("a pooler has lost the server", vec![write], then(&begun, error("ERROR", false)), true),
        ("a read that a pooler ends", vec![read], then(&begun, error("FATAL", false)), false),
        ("bytes that are not a message", vec![write], b"HTTP/1.1 400 Bad Request\r\n".to_vec(), true),
    ];
    for (name, queries, answer, expected) in cases {
        let failure = run(&queries, None, answer).await;
        assert_eq!(failure.may_have_committed(), expected, "{name}: {failure}");
    }
}

/// Statements that were not sent completely cannot have been committed.
#[tokio::test]
async fn a_transaction_whose_end_was_not_sent_was_not_committed() {
    let write = Query { writes: true, ..Query::unnamed("insert") };
    let failure = run(&[write], Some(8), vec![]).await;
    assert_eq!(*failure.kind(), ErrorKind::Broken);
    assert!(!failure.may_have_committed(), "{failure}");
}
