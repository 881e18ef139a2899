//! The SQL of a request, to be logged with it (`log-query`). Values are not part of it.

use std::cell::RefCell;
use std::future::Future;
use thalweg_wire::Query;

/// The target of its lines.
pub(super) const TARGET: &str = "sql";

/// How much of it is kept of one request, in bytes: a request may be tried again, and a statement be long.
const TEXTS_BYTES_MAX: usize = 256 * 1024;

tokio::task_local! {
    static TEXTS: RefCell<Vec<String>>;
}

/// Lets a request run, and returns what it has sent to the database if that is wanted.
pub(crate) async fn noting_queries<T>(is_wanted: bool, request: impl Future<Output = T>) -> (T, Vec<String>) {
    if !is_wanted {
        return (request.await, Vec::new());
    }
    let noting = async {
        let answer = request.await;
        (answer, TEXTS.with(RefCell::take))
    };
    TEXTS.scope(RefCell::default(), noting).await
}

/// Notes what is sent to the database, if the request at hand wants it.
pub(crate) fn note_queries(queries: &[Query<'_>]) {
    // outside of a request, and in one that does not want it, there is nothing to note it in
    let _ = TEXTS.try_with(|texts| {
        let mut texts = texts.borrow_mut();
        for query in queries {
            let kept: usize = texts.iter().map(String::len).sum();
            match kept + query.text.len() <= TEXTS_BYTES_MAX {
                true => texts.push(query.text.to_owned()),
                false => texts.push(format!("-- a statement of {} bytes", query.text.len())),
            }
        }
    });
}
